// Every View and ShapeTracker example of the specification, with the value and the text it states.
#include <gtest/gtest.h>

#include "strata/view/equal.h"
#include "strata/view/shape_tracker.h"

namespace strata {
namespace {

using Exprs = std::vector<Expr>;

TEST(ViewSpec, RowTimesTwoPlusColumn) {
  const View a = View::create({2, 2}, Ints{2, 1});
  const auto [idx, valid] = a.to_indexed_uops();
  EXPECT_EQ(idx.render(), "((ridx0*2)+ridx1)");
  EXPECT_EQ(valid.render(), "True");
  EXPECT_EQ(idx.tree(),
            "Expr(Op.ADD, src=(\n"
            "  Expr(Op.MUL, src=(\n"
            "    Expr(Op.RANGE, arg=ridx0, src=(\n"
            "      x2:=Expr(Op.CONST, arg=0),\n"
            "      x3:=Expr(Op.CONST, arg=2),)),\n"
            "    x3,)),\n"
            "  Expr(Op.RANGE, arg=ridx1, src=(\n"
            "    x2,\n"
            "    x3,)),))");
}

TEST(ViewSpec, StrideOfZeroRepeats) {
  const ShapeTracker st = ShapeTracker::from_shape({1, 3}).expand({4, 3});
  EXPECT_EQ(st.render(),
            "ShapeTracker(views=(View(shape=(4, 3), strides=(0, 1), offset=0, mask=None, "
            "contiguous=False),))");
  EXPECT_EQ(addresses(st), (std::vector<std::int64_t>{0, 1, 2, 0, 1, 2, 0, 1, 2, 0, 1, 2}));
}

TEST(ViewSpec, ElementsWithGaps) {
  const View v = View::create({2, 2}, Ints{4, 1});
  EXPECT_EQ(v.to_indexed_uops().index.render(), "((ridx0*4)+ridx1)");
  EXPECT_EQ(addresses(ShapeTracker({v})), (std::vector<std::int64_t>{0, 1, 4, 5}));
}

TEST(ViewSpec, MasksAreHalfOpen) {
  const View v = View::create({2, 2}, Ints{2, 1}, 0, Mask{{0, 1}, {0, 2}});
  EXPECT_EQ(addresses(ShapeTracker({v})), (std::vector<std::int64_t>{0, 1, -1, -1}));
}

TEST(ViewSpec, OneViewCannotSayTransposeAndReshape) {
  const View a = View::create({3, 2}, Ints{2, 1}).permute({1, 0});
  EXPECT_EQ(a.shape(), (Ints{2, 3}));
  EXPECT_EQ(a.strides(), (Ints{1, 2}));
  EXPECT_EQ(a.reshape({3, 2}), std::nullopt);
}

TEST(ViewSpec, TwoViewsSayTransposeAndReshape) {
  const ShapeTracker a = ShapeTracker::from_shape({3, 2}).permute({1, 0}).reshape({3, 2});
  EXPECT_EQ(a.render(),
            "ShapeTracker(views=(View(shape=(2, 3), strides=(1, 2), offset=0, mask=None, "
            "contiguous=False), View(shape=(3, 2), strides=(2, 1), offset=0, mask=None, "
            "contiguous=True)))");
  const auto [idx, valid] = a.to_indexed_uops();
  EXPECT_EQ(idx.render(), "(((((ridx0*2)+ridx1)%3)*2)+(((ridx0*2)+ridx1)//3))");
  EXPECT_EQ(valid.render(), "True");
  EXPECT_EQ(addresses(a), (std::vector<std::int64_t>{0, 2, 4, 1, 3, 5}));
  EXPECT_EQ(a.simplify(), a);
}

TEST(ViewSpec, TheTrackerOfTheAbstractions) {
  ShapeTracker a = ShapeTracker::from_shape({10, 10});
  EXPECT_EQ(a.render(),
            "ShapeTracker(views=(View(shape=(10, 10), strides=(10, 1), offset=0, mask=None, "
            "contiguous=True),))");
  a = a.permute({1, 0});
  EXPECT_EQ(a.views()[0].strides(), (Ints{1, 10}));
  a = a.reshape({5, 2, 5, 2});
  ASSERT_EQ(a.views().size(), 1U);
  EXPECT_EQ(a.views()[0].strides(), (Ints{2, 1, 20, 10}));
  a = a.reshape({100});
  EXPECT_EQ(a.render(),
            "ShapeTracker(views=(View(shape=(5, 2, 5, 2), strides=(2, 1, 20, 10), offset=0, "
            "mask=None, contiguous=False), View(shape=(100,), strides=(1,), offset=0, mask=None, "
            "contiguous=True)))");
  EXPECT_EQ(a.expr_idxs().index.render(), "(((idx0%10)*10)+(idx0//10))");
  a = a.reshape({10, 10});
  EXPECT_EQ(a.views().size(), 2U);
  EXPECT_EQ(a.expr_idxs().index.render(), "((idx1*10)+idx0)");
  a = a.simplify();
  EXPECT_EQ(a.render(),
            "ShapeTracker(views=(View(shape=(10, 10), strides=(1, 10), offset=0, mask=None, "
            "contiguous=False),))");
  a = a.permute({1, 0});
  EXPECT_EQ(a.views()[0].strides(), (Ints{10, 1}));
  EXPECT_TRUE(a.contiguous());
}

TEST(ViewSpec, ASizeThatVaries) {
  const Variable k("k", 1, 100), x("x", 0, 100), y("y", 0, 100);
  const IndexExprs e = ShapeTracker::from_shape({k, 3}).expr_idxs(Exprs{x, y});
  EXPECT_EQ(e.index.render(), "((x*3)+y)");
  EXPECT_EQ(e.valid.render(), "1");
}

TEST(ViewSpec, MasksOfASizeThatVaries) {
  const Variable x("x", 0, 100), y("y", 0, 100);
  const View view = View::create({x, 3}, std::nullopt, 0, Mask{{0, 2}, {0, 2}});
  const IndexExprs e = ShapeTracker({view}).expr_idxs(Exprs{x, y});
  EXPECT_EQ(e.index.render(), "((x*3)+y)");
  EXPECT_EQ(e.valid.render(), "((x<2) and (y<2))");
}

TEST(ViewSpec, OneRowOfASizeThatVaries) {
  const Variable size("k", 1, 100), x("x", 0, 100), y("y", 0, 100);
  const View view = View::create({size, 3}, std::nullopt, 0, Mask{{1, 2}, {0, 2}});
  const IndexExprs e = ShapeTracker({view}).expr_idxs(Exprs{x, y});
  EXPECT_EQ(e.index.render(), "(3+y)");
  EXPECT_EQ(e.valid.render(), "(((x*-1)<0) and (x<2) and (y<2))");
}

TEST(ViewSpec, StridesOfAShape) {
  EXPECT_EQ(View::create({3, 4}).strides(), (Ints{4, 1}));
  EXPECT_EQ(View::create({3, 4, 5}).strides(), (Ints{20, 5, 1}));
}

}  // namespace
}  // namespace strata
