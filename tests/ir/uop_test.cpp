// Adding UOps: what is found again, what is refused, and the short forms.
#include "strata/ir/uop.h"

#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <vector>

#include "strata/base/check.h"

namespace strata {
namespace {

using dtypes::boolean;
using dtypes::float32;
using dtypes::int32;
using dtypes::int64;
using dtypes::none;

/// A graph with one of what the cases need.
struct Fixture {
  UOpGraph g;
  UOp data = g.add(UOps::DEFINE_GLOBAL, float32.pointer(), {}, Global{0, "data0"});
  UOp i = g.constant(int32, 3);
  UOp wide = g.constant(int64, 3);
  UOp f = g.constant(float32, 2);
  UOp f4 = g.broadcast(f, 4);
  UOp yes = g.constant(Scalar(true));
  UOp yes4 = g.broadcast(yes, 4);
  UOp acc = g.add(UOps::DEFINE_ACC, float32, {f});
  UOp loop = g.add(UOps::LOOP, int32, {i, i}, {}, false);
  UOp carry = g.add(UOps::CARRY, float32, {f, loop});
  UOp branch = g.add(UOps::IF, none, {yes}, {}, false);
  UOp store = g.add(UOps::STORE, none, {data, i, f});
};

/// The message with which `add` refuses, or "" where it does not.
std::string refusal(const std::function<void(Fixture&)>& add) {
  Fixture x;
  const std::size_t before = x.g.size();
  try {
    add(x);
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::domain);
    EXPECT_EQ(x.g.size(), before);
    return error.what();
  }
  return "";
}

#define ACCEPTS(...) EXPECT_EQ(refusal([](Fixture& x) { x.g.add(__VA_ARGS__); }), "")
#define REFUSES(message, ...) EXPECT_EQ(refusal([](Fixture& x) { x.g.add(__VA_ARGS__); }), message)

TEST(UOpGraph, FindsWhatIsThere) {
  UOpGraph g;
  const UOp a = g.constant(float32, 2), b = g.constant(float32, 3);
  EXPECT_EQ(g.constant(Scalar(2.0F)), a);
  EXPECT_NE(a, b);
  EXPECT_NE(g.constant(int32, 2), a);
  EXPECT_NE(g.constant(float32.vec(2), 2), a);
  const UOp sum = g.alu(Ops::ADD, {a, b});
  EXPECT_EQ(g.alu(Ops::ADD, {a, b}), sum);
  EXPECT_NE(g.alu(Ops::ADD, {b, a}), sum);
  EXPECT_NE(g.alu(Ops::MUL, {a, b}), sum);
  EXPECT_EQ(g.alu(Ops::ADD, {a, b}).num(), sum.num());
}

TEST(UOpGraph, ConstantsAreFoundByTheirBits) {
  UOpGraph g;
  const UOp zero = g.constant(Scalar(0.0F)), minus = g.constant(Scalar(-0.0F));
  EXPECT_NE(zero, minus);
  const UOp nan = g.constant(Scalar::from_bits(float32, 0x7fc00000));
  EXPECT_EQ(g.constant(Scalar::from_bits(float32, 0x7fc00000)), nan);
  EXPECT_NE(g.constant(Scalar::from_bits(float32, 0x7fc00001)), nan);
}

TEST(UOpGraph, ArgumentsOfEveryKindAreToldApart) {
  UOpGraph g;
  const DType p = float32.pointer();
  const auto same_twice = [&](UOps op, DType dtype, const UOpArg& a, const UOpArg& b) {
    const UOp first = g.add(op, dtype, {}, a);
    EXPECT_EQ(g.add(op, dtype, {}, a), first);
    EXPECT_NE(g.add(op, dtype, {}, b), first);
  };
  same_twice(UOps::DEFINE_GLOBAL, p, Global{0, "data0"}, Global{1, "data0"});
  same_twice(UOps::DEFINE_GLOBAL, p, Global{0, "data0"}, Global{0, "out"});
  same_twice(UOps::DEFINE_LOCAL, p, Local{"temp0", 8}, Local{"temp0", 9});
  same_twice(UOps::DEFINE_LOCAL, p, Local{"temp0", 8}, Local{"temp1", 8});
  same_twice(UOps::SPECIAL, int32, Special{"gidx0", 0, 8}, Special{"gidx0", 1, 8});
  same_twice(UOps::SPECIAL, int32, Special{"gidx0", 0, 8}, Special{"gidx0", 0, 9});
  same_twice(UOps::DEFINE_VAR, int32, Variable("n", 1, 10), Variable("n", 1, 11));
}

TEST(UOpGraph, AVariableIsWithoutItsValue) {
  UOpGraph g;
  const Variable n("n", 1, 10);
  const UOp u = g.add(UOps::DEFINE_VAR, int32, {}, n);
  EXPECT_EQ(g.add(UOps::DEFINE_VAR, int32, {}, n.bind(7)), u);
  const UOp other = g.add(UOps::DEFINE_VAR, int32, {}, Variable("m", 1, 10).bind(7));
  EXPECT_FALSE(std::get<Variable>(other.arg()).bound_value().has_value());
}

TEST(UOpGraph, WhatIsNotCachableIsNew) {
  UOpGraph g;
  const UOp a = g.constant(int32, 0);
  const UOp loop = g.add(UOps::LOOP, int32, {a, a}, {}, false);
  EXPECT_NE(g.add(UOps::LOOP, int32, {a, a}, {}, false), loop);
  EXPECT_NE(g.add(UOps::LOOP, int32, {a, a}), loop);
  EXPECT_EQ(g.size(), 4u);
}

TEST(UOpGraph, MovingKeepsHandles) {
  UOpGraph g;
  const UOp a = g.constant(float32, 2);
  UOpGraph moved = std::move(g);
  EXPECT_EQ(moved[0], a);
  EXPECT_EQ(moved.constant(float32, 2), a);
  UOpGraph assigned;
  assigned.constant(int32, 1);
  assigned = std::move(moved);
  EXPECT_EQ(assigned[0], a);
  EXPECT_EQ(assigned.alu(Ops::NEG, {a}).src(0), a);
  EXPECT_EQ(assigned.size(), 2u);
}

TEST(UOpGraph, Iteration) {
  Fixture x;
  std::size_t k = 0;
  for (const UOp u : x.g) EXPECT_EQ(u.num(), k++);
  EXPECT_EQ(k, x.g.size());
  for (const UOp u : x.g)
    if (u.op() == UOps::CONST) x.g.add(UOps::CONST, u.dtype(), {}, u.arg(), false);
  EXPECT_GT(x.g.size(), k);
  static_assert(std::bidirectional_iterator<UOpGraph::Iterator>);
  EXPECT_EQ(std::prev(x.g.end()).operator*().num(), x.g.size() - 1);
}

TEST(UOpGraph, ForeignAndEmptySources) {
  UOpGraph other;
  const UOp foreign = other.constant(float32, 2);
  Fixture x;
  EXPECT_THROW(x.g.alu(Ops::NEG, {foreign}), Error);
  EXPECT_THROW(x.g.alu(Ops::NEG, {UOp()}), Error);
  EXPECT_THROW(x.g.add(UOps::ENDLOOP, none, {UOp()}), Error);
  EXPECT_THROW(x.g.cast(UOp(), int32), Error);
  EXPECT_THROW(x.g.bitcast(UOp(), int32), Error);
  EXPECT_THROW(x.g.broadcast(UOp(), 1), Error);
  EXPECT_THROW(x.g.lane(UOp(), 0), Error);
}

TEST(UOpGraph, CastAndBitcast) {
  Fixture x;
  EXPECT_EQ(x.g.cast(x.f, float32), x.f);
  EXPECT_EQ(x.g.cast(x.f, int32).op(), UOps::CAST);
  EXPECT_EQ(x.g.cast(x.f4, int32).dtype(), int32.vec(4));
  EXPECT_EQ(x.g.cast(x.f4, float32), x.f4);
  EXPECT_EQ(x.g.cast(x.f4, int32.vec(2)).dtype(), int32.vec(4));
  EXPECT_EQ(x.g.bitcast(x.f4, int32).dtype(), int32.vec(4));
  EXPECT_EQ(x.g.bitcast(x.f4, int32).op(), UOps::BITCAST);
  EXPECT_EQ(x.g.bitcast(x.f, float32), x.f);
  EXPECT_THROW(x.g.bitcast(x.f, int64), Error);
  EXPECT_THROW(x.g.cast(x.data, int32), Error);
  EXPECT_THROW(x.g.cast(x.f, float32.pointer()), Error);
  EXPECT_THROW(x.g.cast(x.store, int32), Error);
  EXPECT_THROW(x.g.cast(x.f, none), Error);
}

TEST(UOpGraph, BroadcastAndLanes) {
  Fixture x;
  EXPECT_EQ(x.g.broadcast(x.f, 1), x.f);
  EXPECT_EQ(x.f4.op(), UOps::CONST);
  EXPECT_EQ(x.f4.dtype(), float32.vec(4));
  EXPECT_EQ(x.g.lane(x.f4, 3), x.f);
  EXPECT_EQ(x.g.lane(x.f, 0), x.f);
  const UOp loaded = x.g.add(UOps::LOAD, float32, {x.data, x.i});
  const UOp many = x.g.broadcast(loaded, 64);
  EXPECT_EQ(many.op(), UOps::VECTORIZE);
  EXPECT_EQ(many.src().size(), 64u);
  EXPECT_EQ(x.g.lane(many, 63), loaded);
  const UOp vector = x.g.add(UOps::LOAD, float32.vec(3), {x.data, x.i});
  EXPECT_EQ(x.g.lane(vector, 2).op(), UOps::GEP);
  EXPECT_EQ(x.g.lane(vector, 2).dtype(), float32);
  // The vector holds what the accumulator was.
  EXPECT_EQ(x.g.lane(x.g.broadcast(x.acc, 2), 0).op(), UOps::GEP);
  EXPECT_THROW(x.g.lane(vector, 3), Error);
  EXPECT_THROW(x.g.lane(vector, -1), Error);
  EXPECT_THROW(x.g.broadcast(x.f, 65), Error);
  EXPECT_THROW(x.g.broadcast(x.f, 0), Error);
  EXPECT_THROW(x.g.broadcast(x.f4, 2), Error);
  EXPECT_THROW(x.g.broadcast(x.data, 2), Error);
}

TEST(UOpChecks, Definitions) {
  REFUSES("[DEFINE_GLOBAL] has dtype f32, which is not a pointer to a scalar", UOps::DEFINE_GLOBAL, float32, {},
          Global{1, "data1"});
  REFUSES("[DEFINE_GLOBAL] has dtype f32x4*, which is not a pointer to a scalar", UOps::DEFINE_GLOBAL,
          float32.vec(4).pointer(), {}, Global{1, "data1"});
  REFUSES("[DEFINE_GLOBAL] 'a-b' is not a name", UOps::DEFINE_GLOBAL, float32.pointer(), {}, Global{1, "a-b"});
  REFUSES("[DEFINE_GLOBAL] slot -1 is negative", UOps::DEFINE_GLOBAL, float32.pointer(), {}, Global{-1, "data1"});
  REFUSES("[DEFINE_GLOBAL] takes a Global as its argument, not nothing", UOps::DEFINE_GLOBAL, float32.pointer());
  ACCEPTS(UOps::DEFINE_LOCAL, float32.pointer(), {}, Local{"temp0", 1});
  REFUSES("[DEFINE_LOCAL] size 0 is not a size of memory", UOps::DEFINE_LOCAL, float32.pointer(), {},
          Local{"temp0", 0});
  REFUSES("[DEFINE_LOCAL] size 4611686018427387904 is not a size of memory", UOps::DEFINE_LOCAL, float32.pointer(), {},
          Local{"temp0", std::int64_t{1} << 62});
  ACCEPTS(UOps::DEFINE_VAR, int64, {}, Variable("n", 0, std::int64_t{1} << 40));
  REFUSES("[DEFINE_VAR] values from 0 to 1099511627776 do not fit in i32", UOps::DEFINE_VAR, int32, {},
          Variable("n", 0, std::int64_t{1} << 40));
  REFUSES("[DEFINE_VAR] has dtype f32, which is not i32 or i64", UOps::DEFINE_VAR, float32, {}, Variable("n", 0, 1));
  REFUSES("[SPECIAL] axis 3 is not 0, 1 or 2", UOps::SPECIAL, int32, {}, Special{"gidx0", 3, 8});
  REFUSES("[SPECIAL] size 0 is not positive", UOps::SPECIAL, int32, {}, Special{"gidx0", 0, 0});
  ACCEPTS(UOps::SPECIAL, int32, {}, Special{"gidx0", 2, std::int64_t{1} << 31});
  REFUSES("[SPECIAL] values from 0 to 2147483648 do not fit in i32", UOps::SPECIAL, int32, {},
          Special{"gidx0", 2, (std::int64_t{1} << 31) + 1});
  REFUSES("[CONST] has dtype i32, but a constant of dtype f32", UOps::CONST, int32, {}, Scalar(2.0F));
  REFUSES("[CONST] has dtype f32*, which has no constants", UOps::CONST, float32.pointer(), {}, Scalar(2.0F));
}

TEST(UOpChecks, LoopsAndConditions) {
  REFUSES("[LOOP] takes 2 sources or more, not 1", UOps::LOOP, int32, {x.i});
  REFUSES("[LOOP] runs from i32 to i64, which are not integers of one dtype", UOps::LOOP, int32, {x.i, x.wide});
  REFUSES("[LOOP] runs from f32 to f32, which are not integers of one dtype", UOps::LOOP, float32, {x.f, x.f});
  REFUSES("[LOOP] has dtype i64, which is not i32", UOps::LOOP, int64, {x.i, x.i});
  ACCEPTS(UOps::ENDLOOP, none, {x.loop});
  REFUSES("[ENDLOOP] ends UOps.CONST, not UOps.LOOP", UOps::ENDLOOP, none, {x.i});
  REFUSES("[ENDLOOP] has dtype i32, which is not none", UOps::ENDLOOP, int32, {x.loop});
  ACCEPTS(UOps::ENDIF, none, {x.branch});
  REFUSES("[ENDIF] ends UOps.LOOP, not UOps.IF", UOps::ENDIF, none, {x.loop});
  REFUSES("[IF] depends on i32, which is not bool", UOps::IF, none, {x.i});
  ACCEPTS(UOps::IF, none, {x.yes4});
  REFUSES("[IF] has dtype bool, which is not none", UOps::IF, boolean, {x.yes});
  ACCEPTS(UOps::BARRIER, none);
  REFUSES("[BARRIER] takes 0 sources or fewer, not 1", UOps::BARRIER, none, {x.i});
}

TEST(UOpChecks, Memory) {
  ACCEPTS(UOps::LOAD, float32, {x.data, x.i});
  ACCEPTS(UOps::LOAD, float32.vec(7), {x.data, x.wide});
  ACCEPTS(UOps::LOAD, float32, {x.data, x.i, x.yes, x.f});
  ACCEPTS(UOps::LOAD, float32.vec(4), {x.data, x.i, x.yes, x.f4});
  ACCEPTS(UOps::LOAD, float32.vec(4), {x.data, x.i, x.yes4, x.f4});
  REFUSES("[LOAD] has a gate, but no value for a false gate", UOps::LOAD, float32, {x.data, x.i, x.yes});
  REFUSES("[LOAD] accesses f32, which is not a pointer", UOps::LOAD, float32, {x.f, x.i});
  REFUSES("[LOAD] has index f32, which is not an integer", UOps::LOAD, float32, {x.data, x.f});
  REFUSES("[LOAD] moves i32 through f32*", UOps::LOAD, int32, {x.data, x.i});
  REFUSES("[LOAD] moves none through f32*", UOps::LOAD, none, {x.data, x.i});
  REFUSES("[LOAD] has gate boolx4, which is not a bool or one for each lane of f32", UOps::LOAD, float32,
          {x.data, x.i, x.yes4, x.f});
  REFUSES("[LOAD] has gate i32, which is not a bool or one for each lane of f32", UOps::LOAD, float32,
          {x.data, x.i, x.i, x.f});
  REFUSES("[LOAD] gives f32x4, but f32 for a false gate", UOps::LOAD, float32.vec(4), {x.data, x.i, x.yes, x.f});
  ACCEPTS(UOps::STORE, none, {x.data, x.i, x.f4});
  ACCEPTS(UOps::STORE, none, {x.data, x.i, x.f4, x.yes4});
  REFUSES("[STORE] has dtype f32, which is not none", UOps::STORE, float32, {x.data, x.i, x.f});
  REFUSES("[STORE] moves i32 through f32*", UOps::STORE, none, {x.data, x.i, x.i});
  REFUSES("[STORE] moves none through f32*", UOps::STORE, none, {x.data, x.i, x.store});
  REFUSES("[STORE] takes 3 sources or more, not 2", UOps::STORE, none, {x.data, x.i});
}

TEST(UOpChecks, Elements) {
  ACCEPTS(UOps::ALU, boolean, {x.f, x.f}, Ops::CMPLT);
  REFUSES("[ALU] has dtype f32, which is not bool", UOps::ALU, float32, {x.f, x.f}, Ops::CMPLT);
  REFUSES("[ALU] ReduceOps.SUM is not arithmetic", UOps::ALU, float32, {x.f}, Ops::SUM);
  REFUSES("[ALU] UnaryOps.CAST is not arithmetic", UOps::ALU, int32, {x.f}, Ops::CAST);
  REFUSES("[ADD] takes 2 operands, not 1", UOps::ALU, float32, {x.f}, Ops::ADD);
  REFUSES("[ADD] is not defined on f32x4, f32: it takes operands of one dtype, of equal lanes", UOps::ALU,
          float32.vec(4), {x.f4, x.f}, Ops::ADD);
  ACCEPTS(UOps::CAST, int32.vec(4), {x.f4});
  REFUSES("[CAST] has dtype i32, which is not i32x4", UOps::CAST, int32, {x.f4});
  REFUSES("[BITCAST] no conversion from f32 to i64", UOps::BITCAST, int64, {x.f});
  ACCEPTS(UOps::VECTORIZE, float32.vec(2), {x.f, x.acc});
  REFUSES("[VECTORIZE] joins f32 and i32", UOps::VECTORIZE, float32.vec(2), {x.f, x.i});
  REFUSES("[VECTORIZE] joins f32x4, which is not a scalar", UOps::VECTORIZE, float32.vec(2), {x.f4, x.f4});
  REFUSES("[VECTORIZE] joins f32*, which is not a scalar", UOps::VECTORIZE, float32.vec(2), {x.data, x.data});
  REFUSES("[VECTORIZE] has dtype f32x3, which is not f32x2", UOps::VECTORIZE, float32.vec(3), {x.f, x.f});
  ACCEPTS(UOps::GEP, float32, {x.f4}, std::int64_t{3});
  REFUSES("[GEP] lane 4 is not in f32x4", UOps::GEP, float32, {x.f4}, std::int64_t{4});
  REFUSES("[GEP] of f32, which is not a vector", UOps::GEP, float32, {x.f}, std::int64_t{0});
}

// The number of a STORE: its bytes, all of a vector's, where it goes past the caches.
TEST(UOpChecks, StoresPastTheCaches) {
  ACCEPTS(UOps::STORE, none, {x.data, x.i, x.f4}, std::int64_t{16});
  REFUSES("[STORE] goes past the caches with 32 bytes, but f32x4 has 16", UOps::STORE, none, {x.data, x.i, x.f4},
          std::int64_t{32});
  REFUSES("[STORE] goes past the caches with 4 bytes, but f32 has 4", UOps::STORE, none, {x.data, x.i, x.f},
          std::int64_t{4});
}

TEST(UOpChecks, Accumulators) {
  ACCEPTS(UOps::DEFINE_ACC, float32.vec(4), {x.f4});
  REFUSES("[DEFINE_ACC] has dtype i32, which is not f32", UOps::DEFINE_ACC, int32, {x.f});
  REFUSES("[DEFINE_ACC] has a first value of dtype f32*, which is not a dtype of values", UOps::DEFINE_ACC,
          float32.pointer(), {x.data});
  ACCEPTS(UOps::PHI, float32, {x.acc, x.f});
  REFUSES("[PHI] assigns to UOps.CONST, not to an accumulator", UOps::PHI, float32, {x.f, x.f});
  REFUSES("[PHI] assigns i32 to f32", UOps::PHI, float32, {x.acc, x.i});
  REFUSES("[PHI] has dtype i32, which is not f32", UOps::PHI, int32, {x.acc, x.f});
  ACCEPTS(UOps::REDUCE, float32, {x.f, x.acc, x.loop}, (LoopReduction{Ops::SUM, 1}));
  ACCEPTS(UOps::REDUCE, float32, {x.f, x.acc, x.acc, x.loop, x.loop}, (LoopReduction{Ops::SUM, 2}));
  REFUSES("[REDUCE] BinaryOps.ADD is not a reduction", UOps::REDUCE, float32, {x.f, x.f, x.loop},
          (LoopReduction{Ops::ADD, 1}));
  REFUSES("[REDUCE] reduces over UOps.CONST, not over loops", UOps::REDUCE, float32, {x.f, x.f, x.i},
          (LoopReduction{Ops::SUM, 1}));
  REFUSES(
      "[REDUCE] 0 loops among 3 sources: the sources are a first value, other values, then at "
      "least one loop",
      UOps::REDUCE, float32, {x.f, x.acc, x.loop}, (LoopReduction{Ops::SUM, 0}));
  REFUSES(
      "[REDUCE] -1 loops among 3 sources: the sources are a first value, other values, then at "
      "least one loop",
      UOps::REDUCE, float32, {x.f, x.acc, x.loop}, (LoopReduction{Ops::SUM, -1}));
  REFUSES(
      "[REDUCE] 9223372036854775807 loops among 3 sources: the sources are a first value, other values, then at "
      "least one loop",
      UOps::REDUCE, float32, {x.f, x.acc, x.loop}, (LoopReduction{Ops::SUM, INT64_MAX}));
  REFUSES(
      "[REDUCE] 1 loops among 2 sources: the sources are a first value, other values, then at "
      "least one loop",
      UOps::REDUCE, float32, {x.f, x.loop}, (LoopReduction{Ops::SUM, 1}));
  REFUSES("[REDUCE] combines f32 and i32", UOps::REDUCE, float32, {x.f, x.i, x.loop}, (LoopReduction{Ops::SUM, 1}));
}

TEST(UOpChecks, Carry) {
  ACCEPTS(UOps::CARRY, float32, {x.f, x.loop});
  REFUSES("[CARRY] is carried by UOps.CONST, not by a loop", UOps::CARRY, float32, {x.f, x.i});
  REFUSES("[CARRY] has dtype i32, which is not f32", UOps::CARRY, int32, {x.f, x.loop});
  ACCEPTS(UOps::CARRIED, float32, {x.carry, x.f});
  REFUSES("[CARRIED] carries UOps.CONST, not an accumulator of a loop", UOps::CARRIED, float32, {x.f, x.f});
  REFUSES("[CARRIED] makes f32 i32", UOps::CARRIED, float32, {x.carry, x.i});
}

}  // namespace
}  // namespace strata
