// The op table, names, and the dtypes of results.
#include "strata/ir/ops.h"

#include <gtest/gtest.h>

#include <set>
#include <string>
#include <vector>

#include "strata/base/check.h"

namespace strata {
namespace {

using dtypes::boolean;
using dtypes::float32;
using dtypes::int32;
using dtypes::uint8;

TEST(Ops, RowsStandInTheirOrder) {
  ASSERT_FALSE(op_rows().empty());
  for (std::size_t k = 0; k < op_rows().size(); ++k) {
    EXPECT_EQ(static_cast<std::size_t>(op_rows()[k].op), k);
    EXPECT_EQ(&row(op_rows()[k].op), &op_rows()[k]);
  }
}

TEST(Ops, NamesAreUniqueWithTheirClassAndFindTheirOp) {
  std::set<std::string> names;
  for (const OpRow& r : op_rows()) {
    EXPECT_TRUE(names.insert(spec_name(r.op)).second) << spec_name(r.op);
    EXPECT_EQ(find_op(spec_name(r.op)), r.op);
    EXPECT_TRUE(find_op(r.name).has_value());
  }
}

TEST(Ops, NamesOfTheSpecification) {
  const std::vector<std::pair<Ops, std::string>> cases = {
      {Ops::EXP2, "UnaryOps.EXP2"},       {Ops::ADD, "BinaryOps.ADD"},         {Ops::MULACC, "TernaryOps.MULACC"},
      {Ops::REDUCE_MAX, "ReduceOps.MAX"}, {Ops::SHRINK, "MovementOps.SHRINK"}, {Ops::CONTIGUOUS, "LoadOps.CONTIGUOUS"},
      {Ops::STORE, "BufferOps.STORE"}};
  for (const auto& [op, name] : cases) EXPECT_EQ(spec_name(op), name);
}

TEST(Ops, BareNames) {
  EXPECT_EQ(find_op("MAX"), Ops::MAX);
  EXPECT_EQ(find_op("MIN"), Ops::MIN);
  EXPECT_EQ(find_op("SUM"), Ops::SUM);
  for (const char* unknown : {"", ".", "MAXIMUM", "ReduceOps.ADD", "ReduceOps.", ".ADD", "BinaryOps.ADD ",
                              "BinaryOps.BinaryOps.ADD", "add", "REDUCE_MAX"})
    EXPECT_EQ(find_op(unknown), std::nullopt) << unknown;
}

TEST(Ops, Predicates) {
  EXPECT_TRUE(is_elementwise(Ops::ADD) && is_elementwise(Ops::CAST) && is_elementwise(Ops::WHERE));
  EXPECT_FALSE(is_elementwise(Ops::SUM) || is_elementwise(Ops::PAD) || is_elementwise(Ops::CONST));
  EXPECT_TRUE(is_reduce(Ops::REDUCE_MIN));
  EXPECT_FALSE(is_reduce(Ops::MIN));
  EXPECT_TRUE(is_movement(Ops::STRIDE));
  EXPECT_FALSE(is_movement(Ops::CONTIGUOUS));
}

TEST(Ops, CombiningOp) {
  EXPECT_EQ(combining_op(Ops::SUM), Ops::ADD);
  EXPECT_EQ(combining_op(Ops::PROD), Ops::MUL);
  EXPECT_EQ(combining_op(Ops::REDUCE_MAX), Ops::MAX);
  EXPECT_EQ(combining_op(Ops::REDUCE_MIN), Ops::MIN);
  EXPECT_THROW(combining_op(Ops::ADD), InternalError);
}

// The result's name, or "-" where it is not defined.
std::string typed(Ops op, std::vector<DType> operands, DType to = dtypes::none) {
  try {
    return result_dtype(op, operands, to).name();
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::domain);
    return "-";
  }
}

TEST(ResultDType, ByTyping) {
  EXPECT_EQ(typed(Ops::ADD, {boolean, boolean}), "bool");
  EXPECT_EQ(typed(Ops::ADD, {int32, float32}), "-");
  EXPECT_EQ(typed(Ops::SUB, {uint8, uint8}), "u8");
  EXPECT_EQ(typed(Ops::SUB, {boolean, boolean}), "-");
  EXPECT_EQ(typed(Ops::SQRT, {float32}), "f32");
  EXPECT_EQ(typed(Ops::SQRT, {int32}), "-");
  EXPECT_EQ(typed(Ops::MOD, {int32, int32}), "i32");
  EXPECT_EQ(typed(Ops::MOD, {float32, float32}), "f32");
  EXPECT_EQ(typed(Ops::MOD, {boolean, boolean}), "-");
  EXPECT_EQ(typed(Ops::IDIV, {float32, float32}), "-");
  EXPECT_EQ(typed(Ops::SHL, {boolean, boolean}), "-");
  EXPECT_EQ(typed(Ops::XOR, {boolean, boolean}), "bool");
  EXPECT_EQ(typed(Ops::XOR, {float32, float32}), "-");
  EXPECT_EQ(typed(Ops::CMPLT, {float32, float32}), "bool");
  EXPECT_EQ(typed(Ops::CMPLT, {float32, int32}), "-");
  EXPECT_EQ(typed(Ops::WHERE, {boolean, int32, int32}), "i32");
  EXPECT_EQ(typed(Ops::WHERE, {int32, int32, int32}), "-");
  EXPECT_EQ(typed(Ops::WHERE, {boolean, int32, float32}), "-");
  EXPECT_EQ(typed(Ops::MULACC, {int32, int32, float32}), "-");
  EXPECT_EQ(typed(Ops::SUM, {int32}), "i32");
}

TEST(ResultDType, VectorsLaneByLane) {
  const DType f4 = float32.vec(4);
  EXPECT_EQ(typed(Ops::ADD, {f4, f4}), "f32x4");
  EXPECT_EQ(typed(Ops::ADD, {f4, float32}), "-");
  EXPECT_EQ(typed(Ops::ADD, {f4, float32.vec(3)}), "-");
  EXPECT_EQ(typed(Ops::CMPNE, {f4, f4}), "boolx4");
  EXPECT_EQ(typed(Ops::WHERE, {boolean.vec(4), f4, f4}), "f32x4");
  EXPECT_EQ(typed(Ops::WHERE, {boolean, f4, f4}), "-");
  EXPECT_EQ(typed(Ops::CAST, {f4}, int32), "i32x4");
  EXPECT_EQ(typed(Ops::CAST, {f4}, int32.vec(4)), "i32x4");
  EXPECT_EQ(typed(Ops::CAST, {f4}, int32.vec(8)), "-");
}

TEST(ResultDType, Conversions) {
  EXPECT_EQ(typed(Ops::CAST, {boolean}, dtypes::float16), "f16");
  EXPECT_EQ(typed(Ops::CAST, {float32}), "-");
  EXPECT_EQ(typed(Ops::CAST, {float32}, float32.pointer()), "-");
  EXPECT_EQ(typed(Ops::BITCAST, {float32}, int32), "i32");
  EXPECT_EQ(typed(Ops::BITCAST, {float32}, dtypes::float64), "-");
}

TEST(ResultDType, RefusesWhatIsNoElement) {
  EXPECT_EQ(typed(Ops::ADD, {float32.pointer(), float32.pointer()}), "-");
  EXPECT_EQ(typed(Ops::NEG, {dtypes::none}), "-");
  EXPECT_EQ(typed(Ops::PAD, {float32}), "-");
  EXPECT_EQ(typed(Ops::ADD, {float32}), "-");
  EXPECT_EQ(typed(Ops::ADD, {}), "-");
  EXPECT_EQ(typed(Ops::NEG, {float32, float32}), "-");
}

TEST(ResultDType, EveryOpOnEveryDTypeIsDefinedOrRefused) {
  for (const OpRow& r : op_rows())
    for (const DType dtype : dtypes::all()) typed(r.op, std::vector<DType>(r.arity, dtype), int32);
}

TEST(ResultDType, MessagesNameOpAndDTypes) {
  try {
    result_dtype(Ops::XOR, std::vector{float32, int32});
    FAIL();
  } catch (const Error& error) {
    EXPECT_STREQ(error.what(),
                 "[XOR] is not defined on f32, i32: it takes operands of one integer dtype or "
                 "bool, of equal lanes");
  }
}

}  // namespace
}  // namespace strata
