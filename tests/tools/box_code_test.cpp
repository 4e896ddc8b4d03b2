// The C++ of the box is compiled here: each row is the form's text and that code at once.
#include <gtest/gtest.h>

#include <string>
#include <string_view>

#include "strata/expr/parse.h"
#include "strata/layout/layout_by_mode.h"
#include "strata/layout/swizzle.h"
#include "strata/ops/kernel_text.h"
#include "tools/box_forms.h"

namespace strata::tools {
namespace {

Box box_saying(std::string_view text) {
  Work work(default_budget);
  return read_box(text, work);
}

/// The last line of the C++ of `text`, and its variables in front of it.
std::string cpp_of(std::string_view text) {
  Work work(default_budget);
  for (const BoxForm& form : forms_of(box_saying(text), work))
    if (form.name == "C++") return form.text.substr(form.text.rfind('\n') + 1);
  return "none";
}

// The code as the preprocessor spells it has the blanks that the form has.
#define STRATA_EXPECT_CODE(text, ...)    \
  EXPECT_EQ(cpp_of(text), #__VA_ARGS__); \
  EXPECT_EQ(meaning(box_saying(text)), as_text(__VA_ARGS__)) << (text)

std::string as_text(const ShapeTracker& stack) { return stack.render(); }
std::string as_text(const View& view) { return ShapeTracker({view}).render(); }
std::string as_text(const Layout& layout) { return render(layout); }
std::string as_text(const Int& n) { return n.render(); }
std::string as_text(const Coordinate& c) { return render(c); }
std::string as_text(const Expr& e) { return e.render(); }
std::string as_text(const Swizzle& s) { return std::to_string(s.size()); }
std::string as_text(const KernelText& k) { return k.kernel.text(); }

std::string meaning(const Box& box) {
  if (box.view) return box.view->stack.render();
  if (box.expr) return parse(box.expr->text, box.variables).render();
  if (box.kernel) return parse_kernel(box.kernel->text).kernel.text();
  const LayoutAnswer& answer = box.layout->answer;
  if (answer.layout) return render(*answer.layout);
  return answer.value ? render(*answer.value) : std::to_string(answer.table->size());
}

TEST(BoxCode, OfViews) {
  STRATA_EXPECT_CODE("View(shape=(2, 2), strides=(2, 1))", View::create({2, 2}, Ints{2, 1}));
  STRATA_EXPECT_CODE("View((4,), (-1,), 3)", View::create({4}, Ints{-1}, 3));
  STRATA_EXPECT_CODE("View((4,), mask=((1, 3),))", View::create({4}, Ints{1}, 0, Mask{{1, 3}}));
  STRATA_EXPECT_CODE("View(())", View::create({}, Ints{}));
  STRATA_EXPECT_CODE("(3,2).permute(1,0).reshape(3,2)",
                     ShapeTracker::from_shape({3, 2}).permute({1, 0}).reshape({3, 2}));
  STRATA_EXPECT_CODE("(4,).pad((1,2)).shrink((0,5)).flip(0).stride(2).simplify()",
                     ShapeTracker::from_shape({4}).pad({{1, 2}}).shrink({{0, 5}}).flip({0}).stride({2}).simplify());
  STRATA_EXPECT_CODE("ShapeTracker(views=(View((6,)), View((2, 3))))",
                     ShapeTracker({View::create({6}, Ints{1}), View::create({2, 3}, Ints{3, 1})}));
  STRATA_EXPECT_CODE("().reshape(1).expand(3)", ShapeTracker::from_shape({}).reshape({1}).expand({3}));
}

TEST(BoxCode, OfSymbolicSizes) {
  const Variable n("n", 1, 100);
  STRATA_EXPECT_CODE("n: 1..100; (n, 3).reshape(n*3)",
                     ShapeTracker::from_shape({Int(n), 3}).reshape({parse("(n*3)", {n})}));
  STRATA_EXPECT_CODE("n: 1..100; (n, 4):(4, 1)", parse_layout("(n,4):(4,1)", {n}));
  STRATA_EXPECT_CODE("n: 1..100; n*2 + 1", parse("(1+(n*2))", {n}));
}

TEST(BoxCode, OfLayouts) {
  STRATA_EXPECT_CODE("((2,4),8):((1,16),2)", parse_layout("((2,4),8):((1,16),2)"));
  STRATA_EXPECT_CODE("composition((6,2):(8,2), (4,3):(3,1))",
                     composition(parse_layout("(6,2):(8,2)"), parse_layout("(4,3):(3,1)")));
  STRATA_EXPECT_CODE("logical_divide(8, 2:4)", logical_divide(Layout(8), parse_layout("2:4")));
  STRATA_EXPECT_CODE("zipped_divide((8,8):(1,8), <4:1, 2:2>)",
                     zipped_divide(parse_layout("(8,8):(1,8)"), Tiler{parse_layout("4:1"), parse_layout("2:2")}));
  STRATA_EXPECT_CODE("complement(4:2, 24)", complement(parse_layout("4:2"), 24));
  STRATA_EXPECT_CODE("swizzle(2, 0, 2)", Swizzle(2, 0, 2));
  STRATA_EXPECT_CODE("cosize((2,4):(4,1))", parse_layout("(2,4):(4,1)").cosize());
  STRATA_EXPECT_CODE("crd2idx((2,4):(4,1), (1,2))", crd2idx(parse_layout("(2,4):(4,1)"), parse_coordinate("(1,2)")));
  STRATA_EXPECT_CODE("idx2crd((2,4):(4,1), 5)", idx2crd(parse_layout("(2,4):(4,1)"), 5));
}

TEST(BoxCode, OfExpressionsAndKernels) {
  STRATA_EXPECT_CODE("1 + 2 * 3", parse("7", {}));
  STRATA_EXPECT_CODE("a: f32[4]\nb = a + 1", parse_kernel("a: f32[4]; b = a + 1"));
}

TEST(BoxCode, WordsOfTheLanguagesAreNoVariables) {
  EXPECT_EQ(cpp_of("int: 1..9; (int, 3)"), "none");
  EXPECT_EQ(cpp_of("lambda: 1..9; lambda*2"), "none");
}

}  // namespace
}  // namespace strata::tools
