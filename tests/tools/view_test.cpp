// `view` and `equal_view` of `strata batch`: the specification's examples, every kind of error, random
// stacks against their definition, pictures.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <sstream>
#include <string>
#include <vector>

#include "strata/base/int_math.h"
#include "strata/expr/parse.h"
#include "tests/tools/answers.h"
#include "tools/batch.h"
#include "tools/cli.h"

namespace strata::tools {
namespace {

/// The members of an answer, as JSON.
std::map<std::string, std::string, std::less<>> fields(const std::string& line, const BatchOptions& options = {}) {
  JsonDocument document;
  document.read(answer(line, options));
  std::map<std::string, std::string, std::less<>> out;
  for (const auto& m : document.root().as_object("answer")) out[std::string(m.key)] = m.value.raw();
  return out;
}

std::string text_of(const std::string& json) {
  JsonDocument document;
  document.read(json);
  return std::string(document.root().as_string("text"));
}

TEST(BatchView, ContractExample) {
  EXPECT_EQ(answer(R"({"do":"view","shape":[3,2],"ops":[["permute",[1,0]],["reshape",[3,2]]],"addresses":true})"),
            R"({"shape":[3,2],"views":[{"shape":[2,3],"strides":[1,2],"offset":0,"mask":null,"contiguous":false},)"
            R"({"shape":[3,2],"strides":[2,1],"offset":0,"mask":null,"contiguous":true}],)"
            R"("text":"ShapeTracker(views=(View(shape=(2, 3), strides=(1, 2), offset=0, mask=None, contiguous=False), )"
            R"j(View(shape=(3, 2), strides=(2, 1), offset=0, mask=None, contiguous=True)))",)j"
            R"j("idx":"(((((ridx0*2)+ridx1)%3)*2)+(((ridx0*2)+ridx1)//3))","valid":"1",)j"
            R"("real_strides":[null,null],"contiguous":false,"size":6,"real_size":6,"addresses":[0,2,4,1,3,5]})");
}

TEST(BatchView, SpecificationExamples) {
  const std::string permuted = R"({"do":"view","shape":[10,10],"ops":[["permute",[1,0]])";
  const std::string there = permuted + R"(,["reshape",[5,2,5,2]])";
  EXPECT_EQ(integers(fields(permuted + "]}")["real_strides"]), (std::vector<std::int64_t>{1, 10}));
  EXPECT_EQ(integers(fields(there + "]}")["real_strides"]), (std::vector<std::int64_t>{2, 1, 20, 10}));
  auto flat = fields(there + R"(,["reshape",[100]]],"idxs":["idx0"]})");
  EXPECT_EQ(flat["idx"], R"j("(((idx0%10)*10)+(idx0//10))")j");
  const std::string back = there + R"(,["reshape",[100]],["reshape",[10,10]])";
  auto kept = fields(back + R"(],"simplify":false,"idxs":["idx0","idx1"]})");
  EXPECT_EQ(kept["idx"], R"j("((idx1*10)+idx0)")j");
  EXPECT_EQ(std::count(kept["views"].begin(), kept["views"].end(), '{'), 2);
  auto merged = fields(back + "]}");
  EXPECT_EQ(merged["views"], R"([{"shape":[10,10],"strides":[1,10],"offset":0,"mask":null,"contiguous":false}])");
  auto home = fields(back + R"(,["permute",[1,0]]]})");
  EXPECT_EQ(home["contiguous"], "true");
  EXPECT_EQ(home["views"], R"([{"shape":[10,10],"strides":[10,1],"offset":0,"mask":null,"contiguous":true}])");
}

TEST(BatchView, Masks) {
  const std::string head = R"({"do":"view","views":[{"shape":[4,3],"mask":)";
  auto f = fields(head + R"([[0,2],[0,2]]}],"idxs":["x","y"],"addresses":true})");
  EXPECT_EQ(f["idx"], R"j("((x*3)+y)")j");
  EXPECT_EQ(f["valid"], R"j("((x<2) and (y<2))")j");
  EXPECT_EQ(f["addresses"], "[0,1,-1,3,4,-1,-1,-1,-1,-1,-1,-1]");
  EXPECT_EQ(f["real_size"], "5");
  EXPECT_EQ(f["size"], "12");
  auto row = fields(head + R"([[1,2],[0,2]]}],"idxs":["x","y"]})");
  EXPECT_EQ(row["idx"], R"j("(3+y)")j");
  EXPECT_EQ(row["valid"], R"j("(((x*-1)<0) and (x<2) and (y<2))")j");
  auto none = fields(head + R"([[1,1],[0,2]]}],"addresses":true})");
  EXPECT_EQ(none["valid"], R"("0")");
  EXPECT_EQ(none["real_size"], "0");
  EXPECT_EQ(none["addresses"], "[-1,-1,-1,-1,-1,-1,-1,-1,-1,-1,-1,-1]");
  EXPECT_EQ(fields(head + "null}]}")["contiguous"], "true");
}

TEST(BatchView, EveryOp) {
  const std::vector<std::pair<std::string, std::string>> cases = {
      {R"(["reshape",[3,2]])", "[0,1,2,3,4,5]"},
      {R"(["permute",[1,0]])", "[0,3,1,4,2,5]"},
      {R"(["pad",[[1,0],[0,1]]])", "[-1,-1,-1,-1,0,1,2,-1,3,4,5,-1]"},
      {R"(["shrink",[[0,2],[1,3]]])", "[1,2,4,5]"},
      {R"(["flip",[1]])", "[2,1,0,5,4,3]"},
      {R"(["flip",[0,1]])", "[5,4,3,2,1,0]"},
      {R"(["stride",[1,2]])", "[0,2,3,5]"},
      {R"(["stride",[-1,-2]])", "[5,3,2,0]"},
      {R"(["reshape",[2,1,3]],["expand",[2,2,3]])", "[0,1,2,0,1,2,3,4,5,3,4,5]"},
      {R"(["shrink",[[0,0],[1,3]]])", "[]"},
  };
  for (const auto& [ops, addresses] : cases) {
    const std::string line = R"({"do":"view","shape":[2,3],"ops":[)" + ops + R"(],"addresses":true})";
    EXPECT_EQ(fields(line)["addresses"], addresses) << answer(line);
  }
}

TEST(BatchView, ScalarsAndEmptyShapes) {
  auto scalar = fields(R"({"do":"view","shape":[],"addresses":true})");
  EXPECT_EQ(scalar["addresses"], "[0]");
  EXPECT_EQ(scalar["size"], "1");
  EXPECT_EQ(scalar["idx"], R"("0")");
  auto empty = fields(R"({"do":"view","shape":[3,0,2],"addresses":true})");
  EXPECT_EQ(empty["addresses"], "[]");
  EXPECT_EQ(empty["size"], "0");
  EXPECT_EQ(empty["real_size"], "0");
  auto ones = fields(R"({"do":"view","shape":[1,3,1],"idxs":["a","b","c"]})");
  EXPECT_EQ(ones["idx"], R"("b")");
}

TEST(BatchView, ErrorKinds) {
  const std::vector<std::pair<std::string, std::string>> cases = {
      {R"("shape":[2,-3])", "shape"},
      {R"("views":[{"shape":[2,3],"strides":[1]}])", "shape"},
      {R"("views":[{"shape":[2],"mask":[[0,3]]}])", "shape"},
      {R"("views":[{"shape":[2],"mask":[[2,1]]}])", "shape"},
      {R"("views":[{"shape":[2],"mask":[]}])", "shape"},
      {R"("views":[])", "shape"},
      {R"("shape":[2,3],"ops":[["reshape",[4,2]]])", "shape"},
      {R"("shape":[2,3],"ops":[["reshape",[-1,2]]])", "shape"},
      {R"("shape":[2,3],"ops":[["permute",[0,0]]])", "shape"},
      {R"("shape":[2,3],"ops":[["permute",[0]]])", "shape"},
      {R"("shape":[2,3],"ops":[["permute",[0,2]]])", "shape"},
      {R"("shape":[2,3],"ops":[["expand",[4,3]]])", "shape"},
      {R"("shape":[1],"ops":[["expand",[2,1]]])", "shape"},
      {R"("shape":[2],"ops":[["pad",[[-1,0]]]])", "shape"},
      {R"("shape":[2],"ops":[["pad",[]]])", "shape"},
      {R"("shape":[2],"ops":[["shrink",[[0,3]]]])", "shape"},
      {R"("shape":[2],"ops":[["flip",[1]]])", "shape"},
      {R"("shape":[2],"ops":[["flip",[0,0]]])", "shape"},
      {R"("shape":[2],"ops":[["flip",[-1]]])", "shape"},
      {R"("shape":[2],"ops":[["stride",[0]]])", "shape"},
      {R"("shape":[2,3],"idxs":["x"])", "shape"},
      {R"("shape":[2,3],"idxs":[])", "shape"},
      {R"("shape":[2,3],"idxs":["x","x"])", "parse"},
      {R"("shape":[2,3],"idxs":["x","2y"])", "parse"},
      {R"("shape":[2,3],"idxs":["x","and"])", "parse"},
      {R"("shape":[4294967296,4294967296])", "overflow"},
      {R"("shape":[9223372036854775808])", "overflow"},
      {R"("views":[{"shape":[3],"strides":[9223372036854775807]}])", "overflow"},
      {R"("shape":[9223372036854775807],"ops":[["pad",[[1,0]]]])", "overflow"},
      {R"("shape":[100000,100000],"addresses":true)", "budget"},
      {R"("shape":[0])", "no error"},
      {R"("ops":[])", "request"},
      {R"("shape":[1],"views":[])", "request"},
      {R"("shape":3)", "request"},
      {R"("shape":[1.5])", "request"},
      {R"("shape":["n"])", "request"},
      {R"("shape":[2],"strides":[1])", "request"},
      {R"("shape":[2],"addresses":1)", "request"},
      {R"("shape":[2],"simplify":null)", "request"},
      {R"("shape":[2],"idxs":"x")", "request"},
      {R"("shape":[2],"idxs":[1])", "request"},
      {R"("shape":[2],"ops":[["squeeze",[0]]])", "request"},
      {R"("shape":[2],"ops":[["flip"]])", "request"},
      {R"("shape":[2],"ops":[["flip",0]])", "request"},
      {R"("shape":[2],"ops":[["pad",[1]]])", "request"},
      {R"("shape":[2],"ops":[["pad",[[1]]]])", "request"},
      {R"("shape":[2],"ops":[[1,[0]]])", "request"},
      {R"("shape":[2],"ops":["flip"])", "request"},
      {R"("shape":[2],"ops":{})", "request"},
      {R"("views":[{"strides":[1]}])", "request"},
      {R"("views":[{"shape":[1],"contiguous":true}])", "request"},
      {R"("views":[{"shape":[1],"offset":"0"}])", "request"},
      {R"("views":[[1]])", "request"},
      {R"("views":{})", "request"},
  };
  for (const auto& [members, kind] : cases) {
    const std::string line = R"({"do":"view",)" + members + "}";
    EXPECT_EQ(error_kind(line), kind) << line << '\n' << answer(line);
  }
}

TEST(BatchView, ErrorsOfJsonHaveAColumn) {
  EXPECT_EQ(answer(R"({"do":"view","shape":[2],"ops":[["squeeze",[0]]]})"),
            R"({"error":{"kind":"request","message":"[request] there is no op 'squeeze'","column":34}})");
  EXPECT_EQ(answer(R"({"id":7,"do":"view","shape":[2],"ops":[["flip",[3]]]})").find("column"), std::string::npos);
}

TEST(BatchView, BudgetIsChargedBeforeTheWork) {
  const std::string line = R"({"do":"view","shape":[1000,1000],"addresses":true})";
  EXPECT_EQ(error_kind(line, {.budget = 1000000}), "budget");
  EXPECT_EQ(fields(line).count("addresses"), 1U);
  EXPECT_EQ(error_kind(R"({"do":"view","shape":[9223372036854775807],"addresses":true})"), "budget");
  EXPECT_EQ(fields(R"({"do":"view","shape":[9223372036854775807]})")["size"], "9223372036854775807");
}

TEST(BatchView, RealSizeOfAStackOfManyPieces) {
  // The second has more pieces than the exact procedure takes: its elements are looked at one by one.
  for (const std::int64_t inner : {1, 37}) {
    const std::string line = R"({"do":"view","views":[{"shape":[101,103,107],"strides":[7919,4729,1]},)"
                             R"({"shape":[103,211,51],"strides":[10007,47,)" +
                             std::to_string(inner) + R"(],"mask":[[1,90],[3,200],[2,50]]}]})";
    std::int64_t largest = -1;
    for (std::int64_t i = 1; i < 90; ++i)
      for (std::int64_t j = 3; j < 200; ++j)
        for (std::int64_t k = 2; k < 50; ++k) {
          const std::int64_t n = i * 10007 + j * 47 + k * inner;
          const std::int64_t row = n / 107;  // of 103 in a plane
          largest = std::max(largest, row / 103 % 101 * 7919 + row % 103 * 4729 + n % 107);
        }
    EXPECT_EQ(fields(line)["real_size"], std::to_string(largest + 1));
  }
}

std::string repeated(const std::string& item, int count) {
  std::string out = item;
  for (int i = 1; i < count; ++i) out += "," + item;
  return out;
}

TEST(BatchView, LongRequestsEndSoon) {
  const std::vector<std::string> lines = {
      R"({"do":"view","shape":[)" + repeated("1", 1000) + "]}",
      R"({"do":"view","shape":[)" + repeated("2", 62) + "]}",
      R"({"do":"view","shape":[)" + repeated("1", 200000) + "]}",
      R"({"do":"view","shape":[6,6],"ops":[)" + repeated(R"(["permute",[1,0]],["reshape",[4,9]])", 40) + "]}",
      R"({"do":"view","shape":[6,6],"ops":[)" + repeated(R"(["permute",[1,0]],["reshape",[4,9]])", 3000) + "]}",
      R"({"do":"view","shape":[6,6],"simplify":false,"ops":[)" +
          repeated(R"(["permute",[1,0]],["reshape",[4,9]])", 60) + "]}",
      R"({"do":"view","views":[)" +
          repeated(R"({"shape":[7,11,13],"strides":[143,13,1],"mask":[[1,6],[1,10],[1,12]]})", 100) + "]}",
      R"({"do":"view","views":[)" + repeated(R"({"shape":[5,7],"strides":[3,2],"offset":1})", 1000) + "]}",
  };
  for (const std::string& line : lines) {
    const std::string got = answer(line);
    EXPECT_TRUE(got.starts_with(R"({"shape")") || error_kind(line) == "budget") << got.substr(0, 200);
  }
}

TEST(BatchEqualView, Answers) {
  const std::string a = R"({"do":"equal_view","a":{"shape":[4,6],"ops":[["permute",[1,0]],["permute",[1,0]]]},)";
  EXPECT_EQ(answer(a + R"("b":{"shape":[4,6]}})"), R"({"equal":true,"witness":null})");
  EXPECT_EQ(answer(a + R"("b":{"shape":[6,4]}})"), R"({"equal":false,"witness":null})");
  EXPECT_EQ(answer(a + R"("b":{"shape":[24]}})"), R"({"equal":false,"witness":null})");
  const auto masked = fields(a + R"("b":{"views":[{"shape":[4,6],"mask":[[0,4],[0,5]]}]}})");
  EXPECT_EQ(masked.at("equal"), "false");
  EXPECT_EQ(integers(masked.at("witness"))[1], 5);
  EXPECT_EQ(error_kind(a + R"("b":{}})"), "request");
  EXPECT_EQ(error_kind(a + R"("b":[4,6]})"), "request");
  EXPECT_EQ(error_kind(a + R"("b":{"shape":[4,6],"do":"view"}})"), "request");
  EXPECT_EQ(error_kind(a + R"("b":{"shape":[4,6]},"vars":{}})"), "request");
  EXPECT_EQ(error_kind(R"({"do":"equal_view","a":{"shape":[4]}})"), "request");
  EXPECT_EQ(error_kind(a + R"("b":{"shape":[4,6],"ops":[["flip",[2]]]}})"), "shape");
}

// --- random stacks, against the definition ---

std::string list(const Numbers& numbers) {
  std::string out;
  for (const std::int64_t n : numbers) out += (out.empty() ? "" : ",") + std::to_string(n);
  return "[" + out + "]";
}
std::string pairs(const std::vector<std::pair<std::int64_t, std::int64_t>>& items) {
  std::string out;
  for (const auto& [a, b] : items) out += (out.empty() ? "" : ",") + list({a, b});
  return "[" + out + "]";
}

std::int64_t product_of(const Numbers& shape) {
  std::int64_t out = 1;
  for (const std::int64_t n : shape) out *= n;
  return out;
}

/// The tuple that is number `flat` of `shape`.
Numbers unravelled(std::int64_t flat, const Numbers& shape) {
  Numbers at(shape.size());
  for (std::size_t i = shape.size(); i-- > 0;) {
    at[i] = floor_mod(flat, shape[i]);
    flat = floor_div(flat, shape[i]);
  }
  return at;
}

/// Row-major values of a tensor; movement on it is copying. -1 is invalid.
struct Copied {
  Numbers shape, cells;

  std::int64_t at(const Numbers& index) const {
    std::int64_t flat = 0;
    for (std::size_t i = 0; i < shape.size(); ++i) flat = flat * shape[i] + index[i];
    return cells[static_cast<std::size_t>(flat)];
  }
  /// The tensor of shape `to` whose element at i is this one's at f(i), or -1 where f(i) is outside.
  template <class F>
  Copied gathered(const Numbers& to, const F& f) const {
    Copied out{to, {}};
    for (std::int64_t n = 0; n < product_of(to); ++n) {
      const Numbers index = f(unravelled(n, to));
      bool inside = true;
      for (std::size_t i = 0; i < shape.size(); ++i) inside = inside && index[i] >= 0 && index[i] < shape[i];
      out.cells.push_back(inside ? at(index) : -1);
    }
    return out;
  }
};

Copied row_major(const Numbers& shape) {
  Copied out{shape, {}};
  for (std::int64_t n = 0; n < product_of(shape); ++n) out.cells.push_back(n);
  return out;
}

Numbers random_factors(std::int64_t size, Random& random) {
  Numbers out;
  for (std::int64_t d = 2; size > 1; ++d) {
    for (; size % d == 0; size /= d) {
      if (!out.empty() && random.below(2) == 0) {
        out.back() *= d;
      } else {
        out.push_back(d);
      }
    }
  }
  if (out.empty() || random.below(4) == 0) out.push_back(1);
  for (std::size_t i = out.size(); i-- > 1;)
    std::swap(out[i], out[static_cast<std::size_t>(random.below(static_cast<std::int64_t>(i) + 1))]);
  return out;
}

/// One random movement on `t`; the op as JSON.
std::string random_op(Copied& t, Random& random) {
  const std::size_t rank = t.shape.size();
  Numbers to = t.shape;
  std::vector<std::pair<std::int64_t, std::int64_t>> ends;
  switch (random.below(7)) {
    case 0: {
      to = random_factors(product_of(t.shape), random);
      t.shape = to;
      return R"(["reshape",)" + list(to) + "]";
    }
    case 1: {
      Numbers order;
      for (std::size_t i = 0; i < rank; ++i) order.push_back(static_cast<std::int64_t>(i));
      for (std::size_t i = rank; i-- > 1;)
        std::swap(order[i], order[static_cast<std::size_t>(random.below(static_cast<std::int64_t>(i) + 1))]);
      for (std::size_t i = 0; i < rank; ++i) to[i] = t.shape[static_cast<std::size_t>(order[i])];
      t = t.gathered(to, [&](const Numbers& i) {
        Numbers j(rank);
        for (std::size_t k = 0; k < rank; ++k) j[static_cast<std::size_t>(order[k])] = i[k];
        return j;
      });
      return R"(["permute",)" + list(order) + "]";
    }
    case 2: {
      for (std::int64_t& n : to)
        if (n == 1) n = random.between(1, 3);
      const Numbers from = t.shape;
      t = t.gathered(to, [&](Numbers i) {
        for (std::size_t k = 0; k < rank; ++k) i[k] = from[k] == 1 ? 0 : i[k];
        return i;
      });
      return R"(["expand",)" + list(to) + "]";
    }
    case 3: {
      for (std::int64_t& n : to) {
        const bool small = product_of(t.shape) < 200;
        ends.emplace_back(small ? random.below(3) : 0, small ? random.below(2) : 0);
        n += ends.back().first + ends.back().second;
      }
      t = t.gathered(to, [&](Numbers i) {
        for (std::size_t k = 0; k < rank; ++k) i[k] -= ends[k].first;
        return i;
      });
      return R"(["pad",)" + pairs(ends) + "]";
    }
    case 4: {
      for (std::int64_t& n : to) {
        const std::int64_t begin = random.below(std::min<std::int64_t>(n, 3));
        ends.emplace_back(begin, random.between(std::max(begin + 1, n - 2), n));
        n = ends.back().second - begin;
      }
      t = t.gathered(to, [&](Numbers i) {
        for (std::size_t k = 0; k < rank; ++k) i[k] += ends[k].first;
        return i;
      });
      return R"(["shrink",)" + pairs(ends) + "]";
    }
    case 5: {
      Numbers axes;
      for (std::size_t i = 0; i < rank; ++i)
        if (random.below(2) == 0) axes.push_back(static_cast<std::int64_t>(i));
      const Numbers from = t.shape;
      t = t.gathered(to, [&](Numbers i) {
        for (const std::int64_t a : axes)
          i[static_cast<std::size_t>(a)] = from[static_cast<std::size_t>(a)] - 1 - i[static_cast<std::size_t>(a)];
        return i;
      });
      return R"(["flip",)" + list(axes) + "]";
    }
    default: {
      Numbers steps;
      const Numbers from = t.shape;
      for (std::int64_t& n : to) {
        steps.push_back(random.below(3) == 0 ? -random.between(1, 2) : random.between(1, 2));
        const std::int64_t step = std::abs(steps.back());
        n = (n + step - 1) / step;
      }
      t = t.gathered(to, [&](Numbers i) {
        for (std::size_t k = 0; k < rank; ++k) i[k] = steps[k] > 0 ? i[k] * steps[k] : from[k] - 1 + i[k] * steps[k];
        return i;
      });
      return R"(["stride",)" + list(steps) + "]";
    }
  }
}

/// Checks an answer with addresses against the tensor that copying gives.
void check_answer(const std::string& line, const Copied& expected) {
  auto f = fields(line);
  ASSERT_EQ(f.count("error"), 0U) << line << '\n' << answer(line);
  EXPECT_EQ(integers(f["shape"]), expected.shape) << line;
  EXPECT_EQ(integers(f["addresses"]), expected.cells) << line;
  EXPECT_EQ(f["size"], std::to_string(product_of(expected.shape)));
  const std::int64_t largest = *std::max_element(expected.cells.begin(), expected.cells.end());
  EXPECT_EQ(f["real_size"], std::to_string(largest + 1)) << line;

  std::vector<std::string> names;
  for (std::size_t i = 0; i < expected.shape.size(); ++i) names.push_back("ridx" + std::to_string(i));
  const ExprProgram index = compile(text_of(f["idx"]), names);
  const ExprProgram valid = compile(text_of(f["valid"]), names);
  for (std::int64_t n = 0; n < product_of(expected.shape); ++n) {
    const Numbers at = unravelled(n, expected.shape);
    const std::int64_t address = expected.cells[static_cast<std::size_t>(n)];
    ASSERT_EQ(valid.evaluate(at) != 0, address >= 0) << line << f["valid"];
    if (address < 0) continue;
    ASSERT_EQ(index.evaluate(at), address) << line << f["idx"];
  }

  JsonDocument document;
  document.read(f["real_strides"]);
  const auto strides = document.root().as_array("real_strides");
  ASSERT_EQ(strides.size(), expected.shape.size());
  for (std::size_t k = 0; k < strides.size(); ++k) {
    if (strides[k].is(JsonKind::null)) continue;
    for (std::int64_t n = 0; n < product_of(expected.shape); ++n) {
      Numbers at = unravelled(n, expected.shape);
      const std::int64_t here = expected.at(at);
      if (++at[k] == expected.shape[k] || here < 0 || expected.at(at) < 0) continue;
      ASSERT_EQ(expected.at(at) - here, strides[k].as_integer("stride")) << line << " dimension " << k;
    }
  }
}

TEST(BatchView, RandomMovementsAgreeWithCopying) {
  Random random(20);
  for (int round = 0; round < 400; ++round) {
    Numbers shape;
    for (std::int64_t i = random.between(1, 3); i-- > 0;) shape.push_back(random.between(1, 6));
    Copied t = row_major(shape);
    std::string ops;
    for (std::int64_t i = random.between(0, 6); i-- > 0;) ops += (ops.empty() ? "" : ",") + random_op(t, random);
    const std::string view = R"("shape":)" + list(shape) + R"(,"ops":[)" + ops + "]";
    for (const std::string simplify : {"true", "false"})
      check_answer(R"({"do":"view",)" + view + R"(,"addresses":true,"simplify":)" + simplify + "}", t);
    if (testing::Test::HasFailure()) return;
  }
}

TEST(BatchEqualView, RandomPairs) {
  Random random(21);
  int equal = 0;
  for (int round = 0; round < 300; ++round) {
    const Numbers shape = {random.between(1, 4), random.between(1, 4)};
    std::string sides[2];
    Copied t[2] = {row_major(shape), row_major(shape)};
    for (int side = 0; side < 2; ++side) {
      std::string ops;
      for (std::int64_t i = random.between(0, 3); i-- > 0;)
        ops += (ops.empty() ? "" : ",") + random_op(t[side], random);
      sides[side] = R"({"shape":)" + list(shape) + R"(,"ops":[)" + ops + "]}";
    }
    const std::string line = R"({"do":"equal_view","a":)" + sides[0] + R"(,"b":)" + sides[1] + "}";
    auto f = fields(line);
    const bool same = t[0].shape == t[1].shape && t[0].cells == t[1].cells;
    ASSERT_EQ(f["equal"], same ? "true" : "false") << line;
    equal += same ? 1 : 0;
    if (same || t[0].shape != t[1].shape) {
      ASSERT_EQ(f["witness"], "null") << line;
    } else {
      const Numbers at = integers(f["witness"]);
      ASSERT_NE(t[0].at(at), t[1].at(at)) << line << f["witness"];
    }
  }
  EXPECT_GT(equal, 20);
}

}  // namespace
}  // namespace strata::tools
