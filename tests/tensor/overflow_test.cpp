// Sizes beyond 64 bits: each error has them, and says where.

#include <gtest/gtest.h>

#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "strata/tensor/functional.h"
#include "tests/base/errors.h"

namespace strata::test {
namespace {

constexpr std::int64_t kLarge = std::int64_t{1} << 62;
const std::string kText = "4611686018427387904";

TEST(SizesBeyond64Bits, AreNamedByTheShape) {
  const Tensor x = Tensor::zeros({4}), wide = Tensor::zeros({kLarge});
  const std::vector<std::pair<const char*, std::function<Tensor()>>> calls = {
      {"zeros", [] { return Tensor::zeros({kLarge, 4}); }},
      {"empty", [] { return Tensor::empty({kLarge, 4}); }},
      {"full", [] { return Tensor::full({kLarge, 4}, 1.5); }},
      {"eye", [] { return Tensor::eye(kLarge); }},
      {"reshape", [&] { return x.reshape({kLarge, 4}); }},
      {"expand", [&] { return x.reshape({1, 4}).expand({kLarge, 4}); }},
      {"repeat", [&] { return x.repeat({kLarge}); }},
      {"repeat_interleave", [&] { return x.repeat_interleave(kLarge); }},
      {"outer", [&] { return wide.outer(x); }},
      {"kron", [&] { return wide.kron(x); }},
      {"add", [&] { return wide.reshape({1, kLarge}) + x.reshape({4, 1}); }},
      {"matmul", [&] { return wide.reshape({kLarge, 1}).matmul(x.reshape({1, 4})); }},
      {"cat", [&] { return Tensor::cat(std::vector{wide, wide}); }},
      {"stack", [&] { return Tensor::stack(std::vector{wide, wide, wide, wide}); }},
      {"unfold", [&] { return wide.unfold(0, 4, 1); }},
      {"pad", [&] { return wide.pad({{kLarge, 0}}); }},
  };
  for (const auto& [name, call] : calls) {
    const std::optional<Error> error = thrown_by(call);
    ASSERT_TRUE(error) << name;
    const std::string text = error->what();
    EXPECT_EQ(error->kind(), ErrorKind::overflow) << name << ": " << text;
    EXPECT_NE(text.find(kText), std::string::npos) << name << ": " << text;
    EXPECT_NE(text.find("64 bits"), std::string::npos) << name << ": " << text;
    EXPECT_EQ(text.find("coefficient"), std::string::npos) << name << ": " << text;
  }
}

}  // namespace
}  // namespace strata::test
