// Holds a ShapeTracker against the table that it has to mean: address by address, and every answer it gives.
#pragma once

#include <charconv>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "strata/expr/evaluate.h"
#include "strata/view/equal.h"
#include "strata/view/shape_tracker.h"
#include "tests/expr/random_expr.h"
#include "tests/view/table.h"

namespace strata::chains {

using oracle::Random;

/// A legal Move on a View or a ShapeTracker. A View that cannot be reshaped gives nothing.
template <class Target>
auto apply(const Target& v, const Move& m) {
  using Result = decltype(v.reshape(Ints()));
  switch (m.kind) {
    case Move::Kind::permute: return Result(v.permute(m.a));
    case Move::Kind::expand: return Result(v.expand(to_ints(m.a)));
    case Move::Kind::flip: return Result(v.flip(m.a));
    case Move::Kind::stride: return Result(v.stride(to_ints(m.a)));
    case Move::Kind::pad: {
      Padding padding;
      for (std::size_t j = 0; j < m.a.size(); ++j) padding.push_back({m.a[j], m.b[j]});
      return Result(v.pad(padding));
    }
    case Move::Kind::shrink: {
      Mask bounds;
      for (std::size_t j = 0; j < m.a.size(); ++j) bounds.push_back({m.a[j], m.b[j]});
      return Result(v.shrink(bounds));
    }
    case Move::Kind::reshape: break;
  }
  return v.reshape(to_ints(m.a));
}

/// What was judged, and what was wrong.
struct Report {
  std::uint64_t moves = 0, stacks = 0;
  std::uint64_t several = 0;   ///< stacks of more than one View
  std::uint64_t singles = 0;   ///< of those, what the oracle says is one View
  std::uint64_t reshapes = 0;  ///< Views reshaped to a shape that the oracle was asked about
  std::uint64_t failures = 0;
  std::vector<std::string> complaints;  ///< one line a failure, the first few

  void fail(std::string line) {
    ++failures;
    if (complaints.size() < 40) complaints.push_back(std::move(line));
  }
};

/// How a stack came to be, asked for on failure.
using Name = std::function<std::string()>;

/// How much is asked of a stack.
enum class Depth : std::uint8_t {
  meaning,  ///< addresses, canonical Views, simplify
  all,      ///< index expressions and every question too
};

class Judge {
 public:
  explicit Judge(Report& report) : report_(report) {}

  /// `name` tells how the stack came to be, on failure.
  void judge(const ShapeTracker& st, const Table& t, Depth depth, const Name& name) {
    name_ = &name;
    st_ = &st;
    ++report_.stacks;
    guarded("judge", [&] {
      check_meaning("addresses", st, t);
      const ShapeTracker simple = check_simplify(st, t);
      if (depth == Depth::meaning) return;
      check_guarded(st, simple, t);
      check_expressions(st, t);
      check_strides(st, t);
      check_properties(st, t);
      check_inverse(st, t);
      check_equality(st, simple, t);
      for (const View& v : st.views()) check_view(v);
      for (std::size_t k = 1; k < st.views().size(); ++k) check_sum(st.views()[k - 1], st.views()[k]);
    });
  }

  /// View::reshape of the last View succeeds iff one View says it, and then is that View.
  void judge_reshape(const ShapeTracker& st, const Index& shape, const Name& name) {
    name_ = &name;
    st_ = &st;
    ++report_.reshapes;
    guarded("reshape", [&] {
      const View& v = st.views().back();
      check_form("View::reshape", v.reshape(to_ints(shape)), {shape, table_of(v).at});
    });
  }

  void complain(const std::string& what) { report_.fail((*name_)() + ": " + what + "  in  " + st_->render()); }

 private:
  template <class F>
  void guarded(const char* what, const F& f) {
    try {
      f();
    } catch (const std::exception& error) {
      complain(detail::message(what, " throws ", std::string_view(error.what())));
    }
  }
  void expect(bool holds, const std::string& what) {
    if (!holds) complain(what);
  }

  void check_meaning(const char* what, const ShapeTracker& st, const Table& t) {
    expect(numbers(st.shape()) == t.shape, detail::message(what, ": another shape"));
    const std::vector<std::int64_t> got = addresses(st);
    bool same = got.size() == t.at.size();
    for (std::size_t k = 0; same && k < got.size(); ++k) same = got[k] == (t.at[k] == kInvalid ? -1 : t.at[k]);
    expect(same, what);
    for (const View& v : st.views()) {
      const Table own = table_of(v);
      const std::optional<Form> form = form_of(own);
      expect(form && is_spelled(v, own.shape, *form), detail::message(what, ": not canonical: ", v.render()));
      expect(v.contiguous() == is_row_major(own, 0), detail::message(what, ": View::contiguous"));
    }
  }

  void check_form(const char* what, const std::optional<View>& got, const Table& t) {
    const std::optional<Form> form = form_of(t);
    if (got.has_value() != form.has_value())
      complain(detail::message(what, form ? " finds no View, there is one" : " finds a View, there is none"));
    else if (form && !is_spelled(*got, t.shape, *form))
      complain(detail::message(what, " finds another View: ", got->render()));
  }

  ShapeTracker check_simplify(const ShapeTracker& st, const Table& t) {
    ShapeTracker simple = st.simplify();
    check_meaning("simplify", simple, t);
    expect(simple.simplify() == simple, "simplify is not idempotent: " + simple.render());
    const std::optional<Form> form = form_of(t);
    report_.several += st.views().size() > 1;
    report_.singles += st.views().size() > 1 && form;
    if (form)
      expect(simple.views().size() == 1 && is_spelled(simple.views()[0], t.shape, *form),
             "one View says it, simplify gives " + simple.render());
    expect(st.why_not_merged().empty() == form.has_value(), "why_not_merged says: " + st.why_not_merged());
    expect(simple.views().size() == fewest_groups(st.views()), "not the fewest groups: " + simple.render());
    return simple;
  }

  // Between numbers there is nothing to test at run time.
  void check_guarded(const ShapeTracker& st, const ShapeTracker& simple, const Table& t) {
    const auto guarded_view = st.guarded_view();
    expect(guarded_view.has_value() == form_of(t).has_value(), "guarded_view");
    if (guarded_view)
      expect(guarded_view->condition.constant() == 1 && simple == ShapeTracker({guarded_view->view}),
             "guarded_view gives " + guarded_view->view.render());
  }

  // Shortest path over groups of neighbours that one View says.
  static std::size_t fewest_groups(std::span<const View> views) {
    std::vector<std::size_t> fewest = {0};
    for (std::size_t end = 1; end <= views.size(); ++end) {
      fewest.push_back(fewest.back() + 1);
      Table group = table_of(views[end - 1]);
      for (std::size_t begin = end - 1; begin-- > 0;) {
        group = compose(table_of(views[begin]), group);
        if (form_of(group)) fewest[end] = std::min(fewest[end], fewest[begin] + 1);
      }
    }
    return fewest.back();
  }

  void check_expressions(const ShapeTracker& st, const Table& t) {
    if (t.at.empty()) return;
    const IndexExprs simple = st.expr_idxs();
    check_values("expr_idxs", simple, "idx", t);
    const IndexedUOps uops = st.to_indexed_uops();
    check_values("to_indexed_uops", {uops.index.expr, uops.valid.expr}, "ridx", t);
    std::vector<Expr> own;
    for (std::size_t j = 0; j < t.shape.size(); ++j)
      own.push_back(t.shape[j] == 1 ? Expr(0) : Variable("i" + std::to_string(j), 0, t.shape[j] - 1));
    check_values("expr_idxs of given", st.expr_idxs(own), "i", t);
    check_values("index", index(st.views(), own), "i", t);
  }

  // `e` over the variables prefix0, prefix1, ... gives what `t` says.
  void check_values(const char* what, const IndexExprs& e, const std::string& prefix, const Table& t) {
    const std::vector<Expr> roots = {e.index, e.valid};
    const Tape tape(roots);
    std::vector<std::vector<std::int64_t>> columns;
    for (std::size_t v = 0; v < tape.variables().size(); ++v) {
      const VariableInfo& info = tape.variable(v);
      std::size_t axis = t.shape.size();
      if (info.name.starts_with(prefix))
        std::from_chars(info.name.data() + prefix.size(), info.name.data() + info.name.size(), axis);
      if (axis >= t.shape.size() || info.min != 0 || info.max != t.shape[axis] - 1)
        return complain(detail::message(what, ": a strange variable ", info.name));
      columns.emplace_back();
      for_each_index(t.shape, [&](const Index& i, std::size_t) { columns.back().push_back(i[axis]); });
    }
    const auto values = run_columns(tape, columns, t.at.size());
    if (values.empty()) return complain(detail::message(what, ": overflow"));
    for (std::size_t k = 0; k < t.at.size(); ++k) {
      const bool valid = values[tape.root(1)][k] != 0;
      if (valid == (t.at[k] == kInvalid) || (valid && values[tape.root(0)][k] != t.at[k]))
        return complain(detail::message(what, ": wrong at ", k, ": ", e.index.render(), ", ", e.valid.render()));
    }
  }

  void check_strides(const ShapeTracker& st, const Table& t) {
    const auto masked = st.real_strides(), loose = st.real_strides(true);
    expect(masked.size() == t.shape.size() && loose.size() == t.shape.size(), "real_strides: rank");
    Axes unit, loose_unit;
    for (std::size_t j = 0; j < t.shape.size(); ++j) {
      const auto axis = static_cast<std::int64_t>(j);
      const bool depends = is_masked_along(t, j);
      std::optional<Int> stride;
      if (const auto found = stride_along(t, j)) stride = *found;
      expect(loose[j] == stride, detail::message("real_strides without valid, ", axis));
      if (stride == Int(1)) loose_unit.push_back(axis);
      if (depends) stride.reset();
      expect(masked[j] == stride, detail::message("real_strides, ", axis));
      if (stride == Int(1)) unit.push_back(axis);
      expect(st.axis_is_masked(axis) == depends, detail::message("axis_is_masked ", axis));
    }
    expect(st.unit_stride_axes() == unit, "unit_stride_axes");
    expect(st.unit_stride_axes(true) == loose_unit, "unit_stride_axes without valid");
  }

  void check_properties(const ShapeTracker& st, const Table& t) {
    expect(st.real_size() == Int(size_of_memory(t)), "real_size " + st.real_size().render());
    expect(st.size() == Int(count(t.shape)), "size");
    const bool one = st.views().size() == 1;
    expect(st.contiguous() == (one && is_row_major(t, 0)), "contiguous");
    if (!t.at.empty())
      expect(st.consecutive() == (one && t.at[0] != kInvalid && is_row_major(t, t.at[0])), "consecutive");
    const StackProof contiguous = is_contiguous(st);
    expect(contiguous.answer == (is_row_major(t, 0) ? Answer::yes : Answer::no), "is_contiguous");
    const StackProof injective = is_injective(st);
    expect(injective.answer == (is_one_to_one(t) ? Answer::yes : Answer::no), "is_injective");
    if (injective.answer == Answer::no) {
      const std::int64_t twice = injective.witness ? at(t, *injective.witness) : kInvalid;
      expect(twice != kInvalid && std::count(t.at.begin(), t.at.end(), twice) > 1, "is_injective: the witness");
    }
    const ShapeTracker copy(st.views());
    expect(copy == st && copy.hash() == st.hash(), "hash");
  }

  static std::int64_t at(const Table& t, const Index& i) {
    if (i.size() != t.shape.size()) return kInvalid;
    for (std::size_t j = 0; j < i.size(); ++j)
      if (i[j] < 0 || i[j] >= t.shape[j]) return kInvalid;
    return t.at[row_number(i, t.shape)];
  }

  void check_inverse(const ShapeTracker& st, const Table& t) {
    const Index flat = {count(t.shape)}, used = {size_of_memory(t)};
    const bool is_one = st.simplify().views().size() == 1;
    for (const Index& shape : {t.shape, flat, used}) {
      const std::optional<ShapeTracker> inverse = st.invert(to_ints(shape));
      const std::optional<Table> wanted = inverse_of(t, shape);
      if (inverse && wanted) check_meaning("invert", *inverse, *wanted);
      expect(wanted || !inverse, "invert of what is not one to one");
      expect(inverse || !wanted || !is_one || !form_of(*wanted), "no invert of one View");
      expect(inverse || count(shape) != flat[0] || !each_is_permutation(st.views()), "no invert of permutations");
    }
    for (const View& v : st.views()) check_inverse(v);
  }

  static bool each_is_permutation(std::span<const View> views) {
    return std::all_of(views.begin(), views.end(), [&](const View& v) {
      const Table own = table_of(v);
      return v.size() == views[0].size() && inverse_of(own, own.shape).has_value() && is_all_valid(own);
    });
  }

  // An inverse of a View is right; where the oracle knows one in some order of the View's dimensions, there is one.
  void check_inverse(const View& v) {
    const Table own = table_of(v);
    if (own.at.empty()) return;
    Index order(v.rank(), 0);
    for (std::size_t j = 0; j < order.size(); ++j) order[j] = static_cast<std::int64_t>(j);
    const auto size = [&](std::int64_t axis) {
      const Int stride = v.strides()[static_cast<std::size_t>(axis)];
      return stride.value() < 0 ? -stride.value() : stride.value();
    };
    std::sort(order.begin(), order.end(), [&](std::int64_t a, std::int64_t b) { return size(a) > size(b); });
    Index shape;
    for (const std::int64_t axis : order) shape.push_back(own.shape[static_cast<std::size_t>(axis)]);
    const std::int64_t used = size_of_memory(own);
    for (const Index& out :
         {shape, own.shape, Index{count(own.shape)}, Index{used}, Index{used / 2 + 1, 2}, Index{used / 3 + 1, 3, 1}}) {
      const std::optional<View> inverse = v.invert(to_ints(out));
      const std::optional<Table> wanted = inverse_of(own, out);
      if (wanted) {
        check_form("View::invert", inverse, *wanted);
      } else {
        expect(!inverse, "View::invert of what is not one to one");
      }
    }
  }

  void check_equality(const ShapeTracker& st, const ShapeTracker& simple, const Table& t) {
    expect(equal(st, simple).answer == Answer::yes, "equal: not what it simplifies to");
    expect(fingerprint(st) == fingerprint(simple) && fingerprint(st, 7) == fingerprint(simple, 7),
           "fingerprint: not that of what it simplifies to");
    for (std::size_t j = 0; j < t.shape.size() && j < 2; ++j) {
      const auto axis = static_cast<std::int64_t>(j);
      check_equal(st, t, st.flip({axis}), apply(t, {Move::Kind::flip, {axis}, {}}));
      Move window{Move::Kind::shrink, Index(t.shape.size(), 0), t.shape};
      if (t.shape[j] < 2) continue;
      // one slice hidden: addresses stay, validity changes
      window.b[j] -= 1;
      Move back{Move::Kind::pad, Index(t.shape.size(), 0), Index(t.shape.size(), 0)};
      back.b[j] = 1;
      check_equal(st, t, apply(apply(st, window), back), apply(apply(t, window), back));
    }
    check_equal(st, t, ShapeTracker::from_shape(to_ints(t.shape)), row_major(t.shape));
    check_equal(st, t, ShapeTracker::from_shape({count(t.shape)}), row_major({count(t.shape)}));
  }

  void check_equal(const ShapeTracker& a, const Table& ta, const ShapeTracker& b, const Table& tb) {
    const StackProof proof = equal(a, b);
    const bool same = ta == tb;
    expect(proof.answer == (same ? Answer::yes : Answer::no), "equal to " + b.render());
    if (proof.answer == Answer::no && ta.shape == tb.shape)
      expect(
          proof.witness && proof.witness->size() == ta.shape.size() && at(ta, *proof.witness) != at(tb, *proof.witness),
          "equal: the witness against " + b.render());
    expect((fingerprint(a) == fingerprint(b)) == same || ta.shape != tb.shape, "fingerprint against " + b.render());
  }

  void check_view(const View& v) {
    const Table own = table_of(v);
    expect(v == View::create(v.shape(), v.strides(), v.offset(), v.mask()), "create: " + v.render());
    if (own.at.empty()) return;
    const View small = v.minify();
    const Table got = table_of(small);
    expect(got.at == own.at, "minify: " + small.render());
    expect(small.rank() == fewest_dimensions(own), "minify: too many dimensions: " + small.render());
    expect(small.minify() == small, "minify is not idempotent: " + small.render());
  }

  void check_sum(const View& lower, const View& upper) {
    check_form("View + View", lower + upper, compose(table_of(lower), table_of(upper)));
  }

  Report& report_;
  const Name* name_ = nullptr;
  const ShapeTracker* st_ = nullptr;
};

}  // namespace strata::chains
