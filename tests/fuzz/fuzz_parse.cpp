// libFuzzer: the parser throws nothing but Error; what parses reads back from its own text as the same node.
//
// The first two bytes choose the variables' bounds, the rest is the text.
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

#include "strata/base/check.h"
#include "strata/expr/expr.h"
#include "strata/expr/parse.h"
#include "strata/expr/render.h"

using namespace strata;

namespace {

void require(bool holds, const char* what, std::string_view text) {
  if (holds) return;
  std::fprintf(stderr, "%s: %.*s\n", what, static_cast<int>(text.size()), text.data());
  std::abort();
}

void read_back(const Expr& e, const std::vector<Variable>& variables) {
  for (const Notation notation : {Notation::spec, Notation::python, Notation::latex}) {
    const std::string text = render(e, notation);
    try {
      require(same(parse(text, variables), e), "reads back as another node", text);
    } catch (const Error& error) {
      // Brackets alone may carry a legal depth over the parser's limit.
      require(error.kind() == ErrorKind::budget, error.what(), text);
    }
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size < 2) return 0;
  const std::int64_t low = (data[0] ^ 0x80) - 128;
  const std::int64_t extent = data[1];
  const std::vector<Variable> variables = {Variable("a", low, low + extent), Variable("b", 0, extent),
                                           Variable("idx0", -3, 3), Variable("n", 1, 1 + extent)};
  const std::string_view text(reinterpret_cast<const char*>(data) + 2, size - 2);
  try {
    read_back(parse(text, variables), variables);
  } catch (const Error& error) {
    require(error.column() <= text.size() + 1, "a column outside of the text", text);
    require(error.column() == 0 || !show_caret(text, error.column()).empty(), "no caret", text);
  }
  return 0;
}
