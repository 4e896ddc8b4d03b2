// What makes a list a program, and the words for what does not.
#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <vector>

#include "strata/base/check.h"
#include "strata/ir/uop.h"

namespace strata {
namespace {

using dtypes::int32;
using dtypes::none;

/// What `verify` says of a list in text form; "" where nothing is wrong.
std::string verdict(std::string_view text) {
  try {
    verify(parse_uops(text));
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::domain);
    return error.what();
  }
  return "";
}

/// Five lines that each case goes on from: a buffer, two bounds, true, and a loop over them.
std::string in_loop(std::string_view rest) {
  return std::string(R"(0 UOps.DEFINE_GLOBAL : ptr.dtypes.int [] ('data0', dtypes.int)
1 UOps.CONST : dtypes.int [] 0
2 UOps.CONST : dtypes.int [] 8
3 UOps.CONST : dtypes.bool [] True
4 UOps.LOOP : dtypes.int [1, 2] None
)")
      .append(rest);
}

TEST(Verify, AcceptsPrograms) {
  EXPECT_EQ(verdict(""), "");
  EXPECT_EQ(verdict(in_loop("5 UOps.STORE : [0, 4, 4] None\n6 UOps.ENDLOOP : [4] None")), "");
  EXPECT_EQ(verdict(in_loop(R"(5 UOps.IF : [3] None
6 UOps.LOOP : dtypes.int [1, 4] None
7 UOps.STORE : [0, 6, 4] None
8 UOps.ENDLOOP : [6] None
9 UOps.ENDIF : [5] None
10 UOps.LOOP : dtypes.int [4, 2] None
11 UOps.ENDLOOP : [10] None
12 UOps.ENDLOOP : [4] None)")),
            "");
}

TEST(Verify, AccumulatorsAreReadAfterTheLoop) {
  const std::string list = R"(0 UOps.DEFINE_GLOBAL : ptr.dtypes.int [] ('data0', dtypes.int)
1 UOps.CONST : dtypes.int [] 0
2 UOps.CONST : dtypes.int [] 8
3 UOps.DEFINE_ACC : dtypes.int [1] None
4 UOps.LOOP : dtypes.int [1, 2] None
5 UOps.ALU : dtypes.int [3, 4] BinaryOps.ADD
6 UOps.PHI : dtypes.int [3, 5] None
7 UOps.ENDLOOP : [4] None
)";
  EXPECT_EQ(verdict(list + "8 UOps.STORE : [0, 1, 3] None"), "");
  EXPECT_EQ(verdict(list + "8 UOps.STORE : [0, 1, 6] None"),
            "[verify] 8 UOps.STORE uses 6 UOps.PHI outside of the block of 4 UOps.LOOP, "
            "where the source is defined");
}

TEST(Verify, AnAccumulatorOfALoopStaysInIt) {
  EXPECT_EQ(verdict(in_loop(R"(5 UOps.DEFINE_ACC : dtypes.int [1] None
6 UOps.PHI : dtypes.int [5, 4] None
7 UOps.STORE : [0, 1, 5] None
8 UOps.ENDLOOP : [4] None
9 UOps.STORE : [0, 1, 5] None)")),
            "[verify] 9 UOps.STORE uses 5 UOps.DEFINE_ACC outside of the block of 4 UOps.LOOP, "
            "where the source is defined");
}

TEST(Verify, WhatIsNotClosed) {
  EXPECT_EQ(verdict(in_loop("")), "[verify] 4 UOps.LOOP is not closed");
  EXPECT_EQ(verdict(in_loop("5 UOps.IF : [3] None")), "[verify] 5 UOps.IF is not closed");
  EXPECT_EQ(verdict(in_loop("5 UOps.IF : [3] None\n6 UOps.ENDIF : [5] None")), "[verify] 4 UOps.LOOP is not closed");
}

TEST(Verify, BlocksNest) {
  EXPECT_EQ(verdict(in_loop("5 UOps.IF : [3] None\n6 UOps.ENDLOOP : [4] None")),
            "[verify] 6 UOps.ENDLOOP closes 4 UOps.LOOP before 5 UOps.IF, which is inside of it");
  EXPECT_EQ(verdict(in_loop("5 UOps.ENDLOOP : [4] None\n6 UOps.ENDLOOP : [4] None")),
            "[verify] 6 UOps.ENDLOOP closes 4 UOps.LOOP, which is closed already");
}

TEST(Verify, ValuesStayInTheirBlock) {
  EXPECT_EQ(verdict(in_loop("5 UOps.ENDLOOP : [4] None\n6 UOps.STORE : [0, 4, 1] None")),
            "[verify] 6 UOps.STORE uses 4 UOps.LOOP outside of the block of 4 UOps.LOOP, "
            "where the source is defined");
  EXPECT_EQ(verdict(in_loop(R"(5 UOps.ALU : dtypes.int [4] UnaryOps.NEG
6 UOps.ENDLOOP : [4] None
7 UOps.LOOP : dtypes.int [1, 2] None
8 UOps.STORE : [0, 7, 5] None
9 UOps.ENDLOOP : [7] None)")),
            "[verify] 8 UOps.STORE uses 5 UOps.ALU outside of the block of 4 UOps.LOOP, "
            "where the source is defined");
  EXPECT_EQ(verdict(in_loop(R"(5 UOps.IF : [3] None
6 UOps.CONST : dtypes.int [] 1
7 UOps.ENDIF : [5] None
8 UOps.STORE : [0, 4, 6] None
9 UOps.ENDLOOP : [4] None)")),
            "[verify] 8 UOps.STORE uses 6 UOps.CONST outside of the block of 5 UOps.IF, "
            "where the source is defined");
}

TEST(Verify, NoReductions) {
  EXPECT_EQ(verdict(in_loop("5 UOps.REDUCE : dtypes.int [1, 2, 4] (ReduceOps.SUM, 1)\n"
                            "6 UOps.ENDLOOP : [4] None")),
            "[verify] 5 UOps.REDUCE is not allowed in a list");
  EXPECT_EQ(verdict(in_loop("5 UOps.CARRY : dtypes.int [1, 4] None\n6 UOps.ENDLOOP : [4] None")),
            "[verify] 5 UOps.CARRY is not allowed in a list");
}

TEST(Verify, NamesAndSlotsStandForOneThing) {
  const std::string first = "0 UOps.DEFINE_GLOBAL : ptr.dtypes.int [] ('data0', dtypes.int)\n";
  EXPECT_EQ(verdict(first + "1 UOps.DEFINE_GLOBAL : ptr.dtypes.int [] ('out', dtypes.int, 0)"),
            "[verify] 1 UOps.DEFINE_GLOBAL defines slot 0 again");
  EXPECT_EQ(verdict(first + "1 UOps.DEFINE_GLOBAL : ptr.dtypes.int [] ('data0', dtypes.int, 1)"),
            "[verify] 1 UOps.DEFINE_GLOBAL defines 'data0' again");
  EXPECT_EQ(verdict(first + "1 UOps.DEFINE_LOCAL : ptr.dtypes.int [] ('data0', 4)"),
            "[verify] 1 UOps.DEFINE_LOCAL defines 'data0' again");
  EXPECT_EQ(verdict(first + "1 UOps.DEFINE_VAR : dtypes.int [] Variable('data0', 1, 4)"),
            "[verify] 1 UOps.DEFINE_VAR defines 'data0' again");
  EXPECT_EQ(verdict(first + "1 UOps.SPECIAL : dtypes.int [] ('data0', 0, 4)"),
            "[verify] 1 UOps.SPECIAL defines 'data0' again");
}

TEST(Verify, AConstantIsOnlyFoundWhereItStands) {
  UOpGraph g;
  const UOp zero = g.constant(int32, 0);
  const UOp loop = g.add(UOps::LOOP, int32, {zero, zero}, {}, false);
  const UOp inside = g.constant(int32, 5);
  g.add(UOps::ENDLOOP, none, {loop});
  EXPECT_EQ(g.constant(int32, 5), inside);
  EXPECT_NO_THROW(verify(g));
  g.alu(Ops::NEG, {g.constant(int32, 5)});
  EXPECT_THROW(verify(g), Error);
}

/// `depth` loops inside each other, all closed but `open` of them.
UOpGraph nest(int depth, int open) {
  UOpGraph g;
  const UOp zero = g.constant(int32, 0), one = g.constant(int32, 1);
  std::vector<UOp> loops;
  for (int k = 0; k < depth; ++k) loops.push_back(g.add(UOps::LOOP, int32, {zero, one}, {}, false));
  g.alu(Ops::ADD, {loops.front(), loops.back()});
  for (; static_cast<int>(loops.size()) > open; loops.pop_back()) g.add(UOps::ENDLOOP, none, {loops.back()});
  return g;
}

TEST(Verify, DeepNests) {
  EXPECT_NO_THROW(verify(nest(10'000, 0)));
  EXPECT_THROW(verify(nest(10'000, 1)), Error);
  EXPECT_NO_THROW(verify(nest(50'000, 0)));
}

}  // namespace
}  // namespace strata
