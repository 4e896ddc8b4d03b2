// The interpreter: what each UOp does, and the words for what goes wrong while a list runs.
#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "strata/base/check.h"
#include "strata/ir/uop.h"
#include "tests/base/errors.h"
#include "tests/ir/lists.h"

namespace strata {
namespace {

using dtypes::boolean;
using dtypes::float32;
using dtypes::int32;
using dtypes::int64;
using dtypes::none;

/// What `interpret` says; "" where all went well.
std::string complaint_of(const UOpGraph& g, std::vector<Memory> buffers,
                         std::vector<std::pair<std::string, std::int64_t>> values = {},
                         std::uint64_t budget = 1'000'000) {
  return complaint([&] { interpret(g, buffers, values, budget); });
}

TEST(Interpret, SumsRowsIntoAnAccumulator) {
  UOpGraph g;
  const UOp out = global(g, 0, float32), in = global(g, 1, float32);
  const UOp zero = g.constant(int32, 0), rows = g.constant(int32, 3), columns = g.constant(int32, 4);
  const UOp start = g.constant(Scalar(0.5F));
  const UOp i = g.add(UOps::LOOP, int32, {zero, rows});
  const UOp acc = g.add(UOps::DEFINE_ACC, float32, {start}, {}, false);
  const UOp j = g.add(UOps::LOOP, int32, {zero, columns});
  const UOp index = g.alu(Ops::ADD, {g.alu(Ops::MUL, {i, columns}), j});
  const UOp value = g.add(UOps::LOAD, float32, {in, index});
  g.add(UOps::PHI, float32, {acc, g.alu(Ops::ADD, {acc, value})});
  g.add(UOps::ENDLOOP, none, {j});
  g.add(UOps::STORE, none, {out, i, acc});
  g.add(UOps::ENDLOOP, none, {i});
  std::vector<float> result(3), data{1, 2, 3, 4, 10, 20, 30, 40, 0, 0, 0, 1};
  interpret(g, std::vector{memory(result), memory(data)});
  EXPECT_EQ(result, (std::vector<float>{10.5F, 100.5F, 1.5F}));
}

TEST(Interpret, VectorsAndGates) {
  UOpGraph g;
  const UOp out = global(g, 0, int32), in = global(g, 1, int32);
  const UOp zero = g.constant(int32, 0), two = g.constant(int32, 2);
  const UOp yes = g.constant(Scalar(true)), no = g.constant(Scalar(false));
  const UOp gate = g.add(UOps::VECTORIZE, boolean.vec(4), {yes, no, yes, no});
  // Lanes 1 and 3 lie outside of the three elements, and are not touched.
  const UOp loaded = g.add(UOps::LOAD, int32.vec(4), {in, two, gate, g.constant(int32.vec(4), -7)});
  const UOp sum = g.alu(Ops::ADD, {loaded, g.broadcast(two, 4)});
  g.add(UOps::STORE, none, {out, zero, sum});
  g.add(UOps::STORE, none, {out, g.constant(int32, 4), g.lane(sum, 2)});
  g.add(UOps::STORE, none, {out, g.constant(int32, 99), two, no});
  std::vector<int> result(5, 1), data{0, 0, 5, 0, 9};
  interpret(g, std::vector{memory(result), memory(data)});
  EXPECT_EQ(result, (std::vector<int>{7, -5, 11, -5, 11}));
}

TEST(Interpret, IfAndEmptyLoops) {
  UOpGraph g;
  const UOp out = global(g, 0, int32);
  const UOp zero = g.constant(int32, 0), five = g.constant(int32, 5), two = g.constant(int32, 2);
  const UOp i = g.add(UOps::LOOP, int32, {zero, five});
  const UOp even = g.alu(Ops::CMPEQ, {g.alu(Ops::MOD, {i, two}), zero});
  const UOp block = g.add(UOps::IF, none, {even});
  g.add(UOps::STORE, none, {out, i, i});
  g.add(UOps::ENDIF, none, {block});
  const UOp never = g.add(UOps::LOOP, int32, {five, two});
  g.add(UOps::STORE, none, {out, zero, five});
  g.add(UOps::ENDLOOP, none, {never});
  g.add(UOps::ENDLOOP, none, {i});
  std::vector<int> result(5, -1);
  interpret(g, std::vector{memory(result)});
  EXPECT_EQ(result, (std::vector<int>{0, -1, 2, -1, 4}));
}

TEST(Interpret, LoopsOverSpecialsAndVariables) {
  UOpGraph g;
  const UOp out = global(g, 0, int32);
  const UOp n = g.add(UOps::DEFINE_VAR, int32, {}, Variable("n", 1, 10));
  const UOp x = g.add(UOps::SPECIAL, int32, {}, Special{"gidx0", 0, 3});
  const UOp y = g.add(UOps::SPECIAL, int32, {}, Special{"gidx1", 1, 2});
  const UOp index = g.alu(Ops::ADD, {g.alu(Ops::MUL, {y, g.constant(int32, 3)}), x});
  g.add(UOps::STORE, none, {out, index, g.alu(Ops::MUL, {index, n})});
  std::vector<int> result(6);
  interpret(g, std::vector{memory(result)}, std::vector{std::pair<std::string, std::int64_t>{"n", 7}});
  EXPECT_EQ(result, (std::vector<int>{0, 7, 14, 21, 28, 35}));
  EXPECT_EQ(complaint_of(g, {memory(result)}), "[interpret] 1 UOps.DEFINE_VAR n has no value");
  EXPECT_EQ(complaint_of(g, {memory(result)}, {{"n", 11}}), "[interpret] 1 UOps.DEFINE_VAR n is 11, not from 1 to 10");
}

TEST(Interpret, BarriersShowWhatOthersWrote) {
  UOpGraph g;
  const UOp out = global(g, 0, int32);
  const UOp scratch = g.add(UOps::DEFINE_LOCAL, int32.pointer(), {}, Local{"temp0", 4});
  const UOp x = g.add(UOps::SPECIAL, int32, {}, Special{"lidx0", 0, 4});
  g.add(UOps::STORE, none, {scratch, x, g.alu(Ops::MUL, {x, x})});
  g.add(UOps::BARRIER, none, {}, {}, false);
  const UOp other = g.alu(Ops::SUB, {g.constant(int32, 3), x});
  g.add(UOps::STORE, none, {out, x, g.add(UOps::LOAD, int32, {scratch, other})});
  std::vector<int> result(4);
  interpret(g, std::vector{memory(result)});
  EXPECT_EQ(result, (std::vector<int>{9, 4, 1, 0}));
}

TEST(Interpret, CountersOfAnyInteger) {
  // To the largest of u8, and across zero in i64.
  UOpGraph g;
  const UOp out = global(g, 0, int64);
  const UOp zero = g.constant(int32, 0);
  const UOp acc = g.add(UOps::DEFINE_ACC, int64, {g.constant(int64, 0)}, {}, false);
  const UOp i = g.add(UOps::LOOP, dtypes::uint8, {g.constant(dtypes::uint8, 250), g.constant(dtypes::uint8, 255)});
  const UOp j = g.add(UOps::LOOP, int64, {g.constant(int64, -2), g.constant(int64, 1)});
  const UOp sum = g.alu(Ops::ADD, {g.cast(i, int64), j});
  g.add(UOps::PHI, int64, {acc, g.alu(Ops::ADD, {acc, sum})});
  g.add(UOps::ENDLOOP, none, {j});
  g.add(UOps::ENDLOOP, none, {i});
  g.add(UOps::STORE, none, {out, zero, acc});
  std::vector<std::int64_t> result(1);
  interpret(g, std::vector{memory(result)});
  EXPECT_EQ(result[0], 3 * (250 + 251 + 252 + 253 + 254) - 5 * 3);
}

/// A list that reads element `index` of four, and writes it to element `to` of one.
UOpGraph copy_one(std::int64_t index, std::int64_t to, int lanes = 1) {
  UOpGraph g;
  const UOp out = global(g, 0, int32), in = global(g, 1, int32);
  const DType dtype = lanes == 1 ? int32 : int32.vec(lanes);
  const UOp value = g.add(UOps::LOAD, dtype, {in, g.constant(int64, index)});
  g.add(UOps::STORE, none, {out, g.constant(int64, to), g.lane(value, 0)});
  return g;
}

TEST(Interpret, ChecksEachAccess) {
  std::vector<int> result(1), data(4);
  const std::vector<Memory> buffers{memory(result), memory(data)};
  EXPECT_EQ(complaint_of(copy_one(3, 0), buffers), "");
  EXPECT_EQ(complaint_of(copy_one(4, 0), buffers), "[interpret] 3 UOps.LOAD reads element 4 of data1, which has 4");
  EXPECT_EQ(complaint_of(copy_one(-1, 0), buffers), "[interpret] 3 UOps.LOAD reads element -1 of data1, which has 4");
  EXPECT_EQ(complaint_of(copy_one(3, 0, 2), buffers),
            "[interpret] 3 UOps.LOAD reads element 3 + 1 of data1, which has 4");
  EXPECT_EQ(complaint_of(copy_one(0, 1), buffers), "[interpret] 5 UOps.STORE writes element 1 of data0, which has 1");
  EXPECT_EQ(complaint_of(copy_one(INT64_MAX, 0, 2), buffers),
            "[interpret] 3 UOps.LOAD reads element 9223372036854775807 of data1, which has 4");
  EXPECT_EQ(complaint_of(copy_one(0, 0), {memory(result)}), "[interpret] 1 UOps.DEFINE_GLOBAL data1 is buffer 1 of 1");
  EXPECT_EQ(complaint_of(copy_one(0, 0), {memory(result), Memory{nullptr, 4}}),
            "[interpret] 1 UOps.DEFINE_GLOBAL data1 has no memory for 4 elements");
}

TEST(Interpret, StopsAtTheBudget) {
  UOpGraph g;
  const UOp i = g.add(UOps::LOOP, int64, {g.constant(int64, 0), g.constant(int64, INT64_MAX)});
  g.add(UOps::ENDLOOP, none, {i});
  try {
    interpret(g, {}, {}, 1000);
    ADD_FAILURE() << "ran 2^63 iterations";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::budget);
    EXPECT_EQ(std::string_view(error.what()), "[interpret] 3 UOps.ENDLOOP exceeds the budget of UOps");
  }
}

TEST(Interpret, RefusesWhatVerifyRefuses) {
  UOpGraph g;
  g.add(UOps::LOOP, int32, {g.constant(int32, 0), g.constant(int32, 2)});
  EXPECT_THROW(interpret(g, {}), Error);
  UOpGraph large;
  large.add(UOps::DEFINE_LOCAL, int32.pointer(), {}, Local{"temp0", std::int64_t{1} << 40});
  EXPECT_EQ(complaint_of(large, {}),
            "[interpret] 0 UOps.DEFINE_LOCAL temp0 of 1099511627776 elements is more scratch "
            "memory than 4294967296 bytes");
}

TEST(Interpret, LongListsDoNotRecurse) {
  UOpGraph g;
  const UOp out = global(g, 0, int32);
  const UOp one = g.constant(int32, 1);
  UOp sum = one;
  for (int k = 0; k < 100'000; ++k) sum = g.alu(Ops::ADD, {sum, one});
  g.add(UOps::STORE, none, {out, g.constant(int32, 0), sum});
  std::vector<int> result(1);
  interpret(g, std::vector{memory(result)});
  EXPECT_EQ(result[0], 100'001);
}

}  // namespace
}  // namespace strata
