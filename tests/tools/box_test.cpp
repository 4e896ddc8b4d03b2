// The box: every kind of text, the older spellings, errors with their column, and all forms read back.
#include "tools/box_text.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "strata/expr/evaluate.h"
#include "strata/expr/parse.h"
#include "strata/layout/layout_convert.h"
#include "strata/view/equal.h"
#include "tests/tools/answers.h"
#include "tests/tools/command_line.h"
#include "tools/box_forms.h"

namespace strata::tools {
namespace {

Box box_of(std::string_view text) {
  Work work(default_budget);
  return read_box(text, work);
}

ShapeTracker stack_in(std::string_view text) {
  const Box box = box_of(text);
  EXPECT_TRUE(box.view) << text;
  return box.view ? box.view->stack : ShapeTracker::from_shape({});
}

std::vector<BoxForm> forms_in(const Box& box) {
  Work work(default_budget);
  return forms_of(box, work);
}

std::string form_in(std::string_view text, std::string_view name) {
  for (const BoxForm& form : forms_in(box_of(text)))
    if (form.name == name) return form.text;
  return "none";
}

/// "kind@column: message" of the error.
std::string refusal(std::string_view text) {
  try {
    box_of(text);
  } catch (const Error& e) {
    return detail::message(to_string(e.kind()), "@", e.column(), ": ", e.what());
  }
  return "none";
}

void expect_same(std::string_view text, const ShapeTracker& wanted) { EXPECT_EQ(stack_in(text), wanted) << text; }

TEST(Box, OlderAndOtherSpellingsOfViews) {
  const ShapeTracker rows({View::create({10, 10}, Ints{10, 1})});
  for (const char* text : {"ShapeTracker(shape=(10, 10), views=[View((10, 10), (10, 1), 0)])", "View((10,10),(10,1))",
                           ("ShapeTracker(views=(View(shape=(10, 10), strides=(10, 1), offset=0, mask=None, "
                            "contiguous=True),))"),
                           "ShapeTracker((10, 10))", "ShapeTracker.from_shape(shape=(10, 10))", "(10, 10)", "[10, 10]",
                           "View::create({10, 10}, Ints{10, 1})", "strata.View.create([10, 10], strides=[10, 1])",
                           "ShapeTracker([View((10, 10), strides=(10, 1), offset=0)])", "View(shape=(10,10)),"})
    expect_same(text, rows);
  const ShapeTracker moved = ShapeTracker::from_shape({3, 2}).permute({1, 0}).reshape({3, 2});
  for (const char* text : {"ShapeTracker.from_shape((3,2)).permute((1,0)).reshape((3,2))",
                           "(3,2).permute(1,0).reshape(3,2)", "(3, 2)\n  .permute([1, 0])\n  .reshape(shape=(3, 2))",
                           "import strata\nShapeTracker.from_shape((3, 2)).permute(order=(1, 0)).reshape((3, 2))\n",
                           "ShapeTracker::from_shape({3, 2}).permute({1, 0}).reshape({3, 2})"})
    expect_same(text, moved);
  const ShapeTracker line = ShapeTracker::from_shape({4});
  for (const char* text :
       {"(4,).pad(((1, 2),))", "(4,).pad((1, 2))", "(4,).pad(1:2)", "[4].pad([[1,2]])", "[4].pad({{1, 2}})"})
    expect_same(text, line.pad({{1, 2}}));
  expect_same("(4,).shrink(:3).flip(0).stride(-2)", line.shrink({{0, 3}}).flip({0}).stride({-2}));
  expect_same("(3,1).expand(3,4).pad(((1,1),(0,2))).shrink(((0,4),(1,5)))",
              ShapeTracker::from_shape({3, 1}).expand({3, 4}).pad({{1, 1}, {0, 2}}).shrink({{0, 4}, {1, 5}}));
}

TEST(Box, SimplifyIsALinkOfTheChain) {
  const std::string chain = "(10,10).permute(1,0).reshape(5,2,5,2).reshape(100).reshape(10,10)";
  EXPECT_EQ(stack_in(chain).views().size(), 2u);
  EXPECT_EQ(stack_in(chain + ".simplify()"), ShapeTracker({View::create({10, 10}, Ints{1, 10})}));
  expect_same(chain + ".simplify().permute(1,0)", ShapeTracker::from_shape({10, 10}));
}

TEST(Box, MasksOfThreeDimensions) {
  const Mask mask{{0, 1}, {1, 3}, {0, 2}};
  expect_same("View(shape=(2, 3, 4), mask=((0, 1), (1, 3), (0, 2)))",
              ShapeTracker({View::create({2, 3, 4}, std::nullopt, 0, mask)}));
  EXPECT_EQ(form_in("View((2,3,4), mask=(0:1, 1:3, :2))", "command"),
            "strata view --shape 2,3,4 --strides 0,4,1 --mask 0:1,1:3,0:2");
}

TEST(Box, SymbolicSizes) {
  const Variable n("n", 1, 100);
  const ShapeTracker wanted = ShapeTracker::from_shape({Int(n), 3}).permute({1, 0});
  for (const char* text : {"n: 1..100; ShapeTracker.from_shape((n, 3)).permute((1, 0))",
                           "n = Variable(\"n\", 1, 100)\n(n, 3).permute(1, 0)",
                           "const Variable n(\"n\", 1, 100);\nShapeTracker::from_shape({Int(n), 3}).permute({1, 0})",
                           "n: 1..100\n(parse(\"n\", {n}), 3).permute(1, 0)"})
    expect_same(text, wanted);
  EXPECT_EQ(box_of("a, b = Variable(\"a\", 0, 10), Variable('b', -1, 10)\na + b").variables.size(), 2u);
}

TEST(Box, Expressions) {
  const auto value = [](std::string_view text) { return parse(box_of(text).expr->text, {}).constant(); };
  EXPECT_EQ(value("1 + 2 * 3"), 7);
  EXPECT_EQ(value("10 - 2 - 3"), 5);
  EXPECT_EQ(value("(1-2) % 3"), 2);
  EXPECT_EQ(form_in("a: 0..10; b: 0..10; (a + b*10) % 10", "text"), "a: 0..10; b: 0..10; (a%10)");
  EXPECT_EQ(answer(R"({"do":"expr","text":"x % 3","vars":{"x":[-4,4]}})").find(R"("min":0,"max":2,"exact":true)"),
            answer(R"({"do":"expr","text":"x % 3","vars":{"x":[-4,4]}})").find(R"("min")"));
  const Box box = box_of("i: 0..7\ni*2 + 1\nvalid i < 4\nassume i % 2 == 0");
  ASSERT_TRUE(box.expr);
  EXPECT_EQ(box.expr->valid, "i < 4");
  EXPECT_EQ(box.expr->assume, std::vector<std::string>{"i % 2 == 0"});
  EXPECT_EQ(box_of("i*128 + j; valid i < k; j: 0..3").expr->unbound, (std::vector<std::string>{"i", "k"}));
  EXPECT_TRUE(box_of("c ? a : b").expr);
  EXPECT_TRUE(box_of("(c ? a : b) == 2").expr);
  EXPECT_TRUE(box_of("a: 0..3; \\left\\lfloor\\frac{a}{2}\\right\\rfloor").expr);
}

TEST(Box, LayoutsAndCalls) {
  const auto layout = [](std::string_view text) { return render(*box_of(text).layout->answer.layout); };
  EXPECT_EQ(layout("((2,4),8):((1,16),2)"), "((2,4),8):((1,16),2)");
  for (const char* text : {"composition((6,2):(8,2), (4,3):(3,1))",
                           "composition(parse_layout(\"(6,2):(8,2)\"), parse_layout(\"(4,3):(3,1)\"))",
                           "layout.composition(Layout((6, 2), (8, 2)), Layout(\"(4,3):(3,1)\"))",
                           "Layout(\"(6,2):(8,2)\").composition(\"(4,3):(3,1)\")"})
    EXPECT_EQ(layout(text), "((2,2),3):((24,2),8)") << text;
  EXPECT_EQ(layout("coalesce(composition((2,4):(1,2), 8))"), "8:1");
  for (const char* text : {"zipped_divide((8,8):(1,8), <4:1, 2:2>)", "zipped_divide((8,8):(1,8), (4:1, 2:2))",
                           "zipped_divide(parse_layout(\"(8,8):(1,8)\"), Tiler{Layout(4, 1), parse_layout(\"2:2\")})",
                           "layout.zipped_divide(Layout(\"(8,8):(1,8)\"), [Layout(4), Layout(\"2:2\")])"})
    EXPECT_EQ(layout(text), layout("zipped_divide((8,8):(1,8), <4:1, 2:2>)")) << text;
  EXPECT_EQ(layout("n: 1..8; (n,4):(4,1)"), "(n,4):(4,1)");
  EXPECT_EQ(box_of("swizzle(2,0,2)").layout->answer.table->size(), 16u);
  EXPECT_EQ(render(*box_of("crd2idx((2,4):(4,1), (1,2))").layout->answer.value), "6");
}

TEST(Box, Kernels) {
  EXPECT_TRUE(box_of("a: f32[64,64]; b: f32[64,64]; c = relu(a @ b)").kernel);
  EXPECT_TRUE(box_of("n: 1..9\na: i32[n]\nc = a << 2").kernel);
  EXPECT_EQ(form_in("a: f32[4];;\n b = where(a > 0,\n  a, 0)  ;\n", "text"), "a: f32[4]; b = where(a > 0, a, 0)");
  EXPECT_EQ(form_in("parse_kernel(\"a: f32[4]; b = a + 1\")", "command"), "strata kernel 'a: f32[4]; b = a + 1'");
}

TEST(Box, ErrorsHaveTheirColumnInTheWholeText) {
  const std::vector<std::pair<std::string, std::string>> rows = {
      {"a << 2", "parse@3: [parse] there is no operator <<"},
      {"", "parse@1: [parse] the text is empty"},
      {"a: 0..9", "parse@1: [parse] there are bounds, but no text"},
      {"a: 0..9; a + ", "parse@13: [parse] expected a value, found the end of the text"},
      {"a: 9..0; a", "domain@1: "},
      {"a: 0..9; a: 0..9; a", "parse@10: [parse] the name has bounds already"},
      {"a: 0..9; a; a + 1", "parse@13: [parse] only 'valid ...' and"},
      {"a: 0..9; a; valid a < ", "parse@22: "},
      {"View(shape=(2,2), strides=(2,x))", "parse@30: [parse] unknown name 'x'"},
      {"View(shape=(2,2), strides=(2,1,1))", "shape@1: "},
      {"(3,2).permute((1,1))", "shape@7: [permute]"},
      {"(3,2).transpose(1,0)", "parse@7: [parse] there is no movement 'transpose'"},
      {"(3,2).permute(axes=(1,0))", "parse@15: [parse] permute takes order"},
      {"(3,2).permute(1,0", "parse@14: [parse] this bracket is never closed"},
      {"(3,2).permute(1,0) x", "parse@20: [parse] expected .name(...)"},
      {"ShapeTracker(shape=(3,), views=[View((4,))])", "shape@20: [shape] the shape of the last View is (4,)"},
      {"View((2,), (1,), 0, None, True, 7)", "parse@33: [parse] a View has five fields"},
      {"View((2,), size=3)", "parse@12: [parse] a View has no 'size'"},
      {"(2,4):(4,1", "parse@11: [layout]"},
      {"composition((2,4):(4,1), 2:x)", "parse@28: "},
      {"composition((2,4):(4,1))", "parse@1: [composition] takes A B, not 1 arguments"},
      {"left_inverse(2:0)", "undefined@1: [left_inverse]"},
      {"(2,4):(4,1); valid 1", "parse@20: [parse] 'valid' goes with an expression"},
      {"a: f32[4]; b = a + q", "parse@20: "},
      {"parse_kernel(\"a: f32[4]; b = a + q\")", "parse@34: "},
  };
  for (const auto& [text, wanted] : rows)
    EXPECT_EQ(refusal(text).substr(0, wanted.size()), wanted) << text << "\n" << refusal(text);
}

// --- all forms of random things, read back ---

/// The address of an index over the variables of an expression, -1 where it is not valid.
std::vector<std::int64_t> addresses_by(const Box& box, std::size_t rank) {
  const std::vector<Variable> axes(box.variables.begin(), box.variables.begin() + static_cast<std::ptrdiff_t>(rank));
  const Expr index = parse(box.expr->text, box.variables);
  const Expr valid = box.expr->valid ? parse(*box.expr->valid, box.variables) : Expr(1);
  std::int64_t size = 1;
  for (const Variable& v : axes) size *= v.max() + 1;
  std::vector<std::int64_t> out;
  for (std::int64_t e = 0; e < size; ++e) {
    std::int64_t rest = e;
    Values at;
    for (std::size_t k = axes.size(); k-- > 0;) {
      at.emplace_back(axes[k], rest % (axes[k].max() + 1));
      rest /= axes[k].max() + 1;
    }
    out.push_back(evaluate(valid, at) != 0 ? evaluate(index, at) : -1);
  }
  return out;
}

std::string index_bounds(const Ints& shape) {
  std::string out;
  for (std::size_t k = 0; k < shape.size(); ++k) out += detail::message("ridx", k, ": 0..", shape[k].value() - 1, "; ");
  return out;
}

/// `form` says the same as `stack`.
void expect_form_of(const BoxForm& form, const ShapeTracker& stack) {
  SCOPED_TRACE(detail::message(form.name, ": ", form.text));
  if (form.name == "command") {
    const std::string words = form.text.substr(std::string_view("strata ").size());
    if (!words.starts_with("view")) return;
    const Output output = run(words_of(words + " --addresses --json"));
    ASSERT_EQ(output.status, 0) << output.err;
    JsonDocument document;
    document.read(output.out);
    EXPECT_EQ(integers(*document.salvage("addresses")), addresses(stack));
    return;
  }
  const bool latex = form.name == "LaTeX";
  const Box box = box_of((latex ? index_bounds(stack.shape()) : "") + form.text);
  if (box.expr) {
    EXPECT_EQ(addresses_by(box, stack.rank()), addresses(stack));
  } else {
    ASSERT_TRUE(box.view || box.layout);
    const ShapeTracker again = box.view ? box.view->stack : to_shape_tracker(place(*box.layout->answer.layout));
    EXPECT_EQ(equal(again, stack).answer, Answer::yes) << again.render();
  }
}

/// A chain of movements on a shape of up to 4 dimensions.
ShapeTracker random_stack(Random& random, std::string& text) {
  static constexpr std::int64_t most_elements = 400;
  Ints shape;
  const std::int64_t rank = random.between(0, 4);
  for (std::int64_t k = 0; k < rank; ++k) shape.push_back(random.between(1, 4));
  ShapeTracker stack = ShapeTracker::from_shape(shape);
  text = "ShapeTracker.from_shape(" + render(shape) + ")";
  for (std::int64_t step = random.below(6); step > 0; --step) {
    const std::size_t r = stack.rank();
    Ints list;
    Padding pairs;
    const std::int64_t which = random.below(7);
    for (std::size_t k = 0; k < r; ++k) {
      const std::int64_t size = stack.shape()[k].value();
      if (which == 0) list.push_back(static_cast<std::int64_t>(r - 1 - k));
      if (which == 1 && random.below(2) == 0) list.push_back(static_cast<std::int64_t>(k));
      if (which == 2) list.push_back(random.pick({1, 1, -1, 2, -2}));
      if (which == 3) pairs.push_back({random.below(2), random.below(2)});
      if (which == 4) pairs.push_back({random.below(2) * (size > 1 ? 1 : 0), size});
      if (which == 5) list.push_back(size == 1 ? random.between(1, 3) : size);
    }
    if (which == 6) list.push_back(stack.size());
    constexpr std::string_view names[] = {"permute", "flip", "stride", "pad", "shrink", "expand", "reshape"};
    const MovementOp& op = *find_movement(names[which]);
    Work work(default_budget);
    ShapeTracker next = apply_movement(stack, op, {list, pairs}, work);
    if (next.size().value() > most_elements) continue;
    stack = std::move(next);
    std::string argument = render(list);
    if (op.takes_pairs) {
      argument.clear();
      for (const auto& [a, b] : pairs) argument += detail::message("(", a.value(), ", ", b.value(), "), ");
      argument = "(" + argument + ")";
    }
    text += detail::message(".", op.name, "(", argument, ")");
  }
  return stack;
}

TEST(BoxForms, OfRandomStacks) {
  const std::uint64_t seed = 20;
  Random random(seed);
  std::size_t layouts = 0;
  std::size_t masked = 0;
  for (int i = 0; i < 100; ++i) {
    std::string text;
    const ShapeTracker stack = random_stack(random, text);
    SCOPED_TRACE(detail::message("seed ", seed, ": ", text));
    ASSERT_EQ(stack_in(text), stack);
    std::size_t forms = 0;
    for (const std::string& start : {text, stack.render()}) {
      for (const BoxForm& form : forms_in(box_of(start))) {
        expect_form_of(form, stack);
        layouts += form.name == "CuTe" ? 1 : 0;
        masked += form.name == "expression" && form.text.find("valid") != std::string::npos ? 1 : 0;
        ++forms;
      }
    }
    EXPECT_GE(forms, 9u);
  }
  EXPECT_GE(layouts, 20u);
  EXPECT_GE(masked, 20u);
}

std::string random_layout(Random& random) {
  Layout::Leaves leaves;
  Profile nodes;
  const std::int64_t modes = random.between(1, 3);
  if (modes > 1) nodes.push_back(static_cast<std::int32_t>(modes));
  for (std::int64_t k = 0; k < modes; ++k) {
    const std::int64_t inside = random.pick({1, 1, 2});
    if (inside > 1) nodes.push_back(static_cast<std::int32_t>(inside));
    for (std::int64_t j = 0; j < inside; ++j) {
      nodes.push_back(kLeaf);
      leaves.push_back({Int(random.between(1, 4)), Int(random.between(-2, 20))});
    }
  }
  return render(Layout::create(nodes, leaves));
}

TEST(BoxForms, OfRandomLayouts) {
  const std::uint64_t seed = 21;
  Random random(seed);
  for (int i = 0; i < 50; ++i) {
    std::string text = random_layout(random);
    if (i % 5 == 1) text = "crd2idx(" + text + ")";
    if (i % 5 == 2) text = "coalesce(" + text + ")";
    SCOPED_TRACE(detail::message("seed ", seed, ": ", text));
    const Box box = box_of(text);
    ASSERT_TRUE(box.layout);
    const Layout& layout = *box.layout->answer.layout;
    std::size_t forms = 0;
    for (const BoxForm& form : forms_in(box)) {
      ++forms;
      if (form.name != "command") {
        expect_form_of(form, to_shape_tracker(place(layout)));
        continue;
      }
      const Output output = run(words_of(form.text.substr(std::string_view("strata ").size()) + " --json"));
      JsonDocument document;
      document.read(output.out);
      EXPECT_EQ(integers(*document.salvage("table")), table(layout)) << form.text;
    }
    EXPECT_EQ(forms, 8u);
  }
}

std::string random_expr(Random& random, int depth) {
  if (depth == 0 || random.below(5) == 0) {
    const std::int64_t which = random.below(4);
    return which == 0 ? std::to_string(random.between(-9, 9)) : std::string(1, static_cast<char>('w' + which));
  }
  const std::string a = random_expr(random, depth - 1);
  const std::string b = random_expr(random, depth - 1);
  const std::string n = std::to_string(random.between(1, 9));
  switch (random.below(8)) {
    case 0: return "(" + a + " + " + b + ")";
    case 1: return "(" + a + " - " + b + ")";
    case 2: return "(" + a + ")*" + n;
    case 3: return "(" + a + ") // " + n;
    case 4: return "(" + a + ") % " + n;
    case 5: return "min(" + a + ", " + b + ")";
    case 6: return "where(" + a + " < " + b + ", " + b + ", " + a + ")";
    default: return "(-" + a + ")";
  }
}

TEST(BoxForms, OfRandomExpressions) {
  const std::uint64_t seed = 22;
  Random random(seed);
  const std::vector<Variable> variables = {{"x", -5, 5}, {"y", 0, 7}, {"z", 0, 3}};
  const std::string bounds = bounds_text(variables);
  for (int i = 0; i < 50; ++i) {
    const std::string text = random_expr(random, 4);
    SCOPED_TRACE(detail::message("seed ", seed, ": ", text));
    const Expr wanted = parse(text, variables);
    std::size_t forms = 0;
    for (const BoxForm& form : forms_in(box_of(bounds + text))) {
      SCOPED_TRACE(detail::message(form.name, ": ", form.text));
      ++forms;
      if (form.name == "command") {
        const Output output = run(words_of(form.text.substr(7) + " --json"));
        EXPECT_NE(output.out.find("\"render\""), std::string::npos) << output.err;
      } else if (form.name != "C") {  // whose / and % truncate
        const Box box = box_of(form.name == "LaTeX" ? bounds + form.text : form.text);
        ASSERT_TRUE(box.expr);
        EXPECT_EQ(parse(box.expr->text, box.variables).render(), wanted.render());
      }
    }
    EXPECT_EQ(forms, 6u);
  }
}

}  // namespace
}  // namespace strata::tools
