// Reads Views, ShapeTrackers and chains of movements in the box.
#include <algorithm>
#include <array>

#include "strata/base/quotes.h"
#include "strata/base/text.h"
#include "strata/expr/grammar.h"
#include "tools/box_parts.h"
#include "tools/brackets.h"

namespace strata::tools {
namespace {

/// The last part of a qualified name: `create` of `View::create`.
std::string_view last_part(std::string_view name) {
  return name.substr(std::min(name.find_last_of(".:") + 1, name.size()));
}

/// Reads one statement from its beginning to its end.
class ChainReader {
 public:
  ChainReader(const ViewSource& source, std::string_view text, Work& work)
      : source_(source), rest_(text), work_(work) {}

  BoxView run() {
    BoxView out = start();
    while (skip_blanks(), !rest_.empty()) link(out);
    return out;
  }

 private:
  void skip_blanks() { rest_ = rest_.substr(std::min(rest_.find_first_not_of(" \t\r\n"), rest_.size())); }

  /// The text inside the bracket at the current position. Moves behind the bracket.
  std::string_view bracket() {
    skip_blanks();
    if (rest_.empty() || !opens(rest_.front()))
      source_.fail(rest_, rest_.empty() ? "[parse] expected '(', found the end of the text"
                                        : "[parse] expected '(', found " + in_quotes(character_at(rest_, 0)));
    const std::size_t end = bracket_end(rest_);
    if (end == std::string_view::npos) source_.fail(rest_, "[parse] this bracket is never closed");
    const std::string_view inner = rest_.substr(1, end - 2);
    rest_.remove_prefix(end);
    return inner;
  }
  std::string_view name() {
    const std::string_view out = leading_name(rest_);
    rest_.remove_prefix(out.size());
    return out;
  }

  /// Returns make(). An error without a column gets the column of `part`.
  template <class Make>
  auto at(std::string_view part, const Make& make) const {
    try {
      return make();
    } catch (const TextError&) {
      throw;
    } catch (const Error& e) {
      source_.fail(part, e.what(), e.kind());
    }
  }

  BoxView from_shape(std::string_view part, std::string_view sizes) const {
    const std::size_t equals = find_outside(sizes, "=");
    if (equals < sizes.size()) sizes = sizes.substr(equals + 1);
    Ints shape = source_.numbers(sizes);
    ShapeTracker stack = at(part, [&] { return ShapeTracker::from_shape(shape); });
    return {std::move(shape), {}, {}, std::move(stack)};
  }
  BoxView from_views(std::string_view part, std::vector<View> views) const {
    ShapeTracker stack = at(part, [&] { return ShapeTracker(views); });
    return {std::nullopt, std::move(views), {}, std::move(stack)};
  }

  BoxView start() {
    skip_blanks();
    const std::string_view begin = rest_;
    if (!rest_.empty() && opens(rest_.front())) return from_shape(begin, bracket());
    const std::string_view called = name();
    const std::string_view last = last_part(called);
    if (last == "from_shape") return from_shape(begin, bracket());
    if (last == "ShapeTracker") return tracker(begin, bracket());
    if (last != "View" && last != "create")
      source_.fail(begin, "[parse] a View begins with View(...), ShapeTracker(...) or a shape");
    std::vector<View> views;
    views.push_back(view(begin, bracket()));
    while (skip_blanks(), rest_.starts_with(',')) {  // further Views of a list
      rest_.remove_prefix(1);
      skip_blanks();
      if (rest_.empty()) break;
      const std::string_view next = rest_;
      if (last_part(name()) != "View") source_.fail(next, "[parse] expected View(...)");
      views.push_back(view(next, bracket()));
    }
    return from_views(begin, std::move(views));
  }

  View view(std::string_view part, std::string_view fields) const {
    work_.charge(1 + fields.size());
    return at(part, [&] { return source_.view(fields); });
  }

  std::vector<View> views_in(std::string_view list) const {
    std::vector<View> out;
    for (const std::string_view item : items_of(list)) {
      const std::string_view called = leading_name(item);
      const std::string_view frame = item.substr(called.size());
      const std::string_view last = last_part(called);
      if ((last != "View" && last != "create") || frame.empty() || bracket_end(frame) != frame.size())
        source_.fail(item, "[parse] expected View(...), found " + in_quotes(item));
      out.push_back(view(item, frame.substr(1, frame.size() - 2)));
    }
    return out;
  }

  /// The arguments of `ShapeTracker(...)`: Views, a shape, or both, as in the specification.
  BoxView tracker(std::string_view part, std::string_view arguments) const {
    std::optional<std::string_view> shape;
    std::optional<std::string_view> views;
    for (const std::string_view item : items_of(arguments)) {
      const std::size_t equals = find_outside(item, "=");
      const std::string_view value = trimmed(item.substr(equals == item.size() ? 0 : equals + 1));
      const std::string_view named = trimmed(item.substr(0, equals == item.size() ? 0 : equals));
      const bool holds_views = value.find("View") != std::string_view::npos;
      if (!named.empty() && named != "shape" && named != "views")
        source_.fail(item, "[parse] a ShapeTracker has no " + in_quotes(named));
      std::optional<std::string_view>& field = named == "views" || holds_views ? views : shape;
      if (field) source_.fail(item, "[parse] expected views=(View(...), ...) once");
      field = value;
    }
    if (!shape && !views) source_.fail(part, "[parse] a ShapeTracker needs a shape or Views");
    if (!views) return from_shape(part, *shape);
    BoxView out = from_views(part, views_in(unbracketed(*views)));
    if (shape && source_.numbers(*shape) != out.stack.shape())
      source_.fail(*shape, "[shape] the shape of the last View is " + render(out.stack.shape()), ErrorKind::shape);
    return out;
  }

  // --- movements ---

  void link(BoxView& out) {
    const std::string_view begin = rest_;
    if (!rest_.starts_with('.'))
      source_.fail(begin, "[parse] expected .name(...), found " + in_quotes(character_at(rest_, 0)));
    rest_.remove_prefix(1);
    skip_blanks();
    const std::string_view place = rest_;
    std::size_t size = 0;
    while (size < rest_.size() && (is_name_start(rest_[size]) || is_digit(rest_[size]))) ++size;
    const std::string_view called = rest_.substr(0, size);
    rest_.remove_prefix(size);
    const std::string_view arguments = bracket();
    BoxOp op{find_movement(called), {}};
    if (op.op == nullptr && called != "simplify")
      source_.fail(place, "[parse] there is no movement " + in_quotes(called));
    if (op.op == nullptr) {
      if (!trimmed(arguments).empty()) source_.fail(arguments, "[parse] simplify takes nothing");
      out.stack = at(place, [&] { return simplified(out.stack, work_); });
    } else {
      op.movement = movement(*op.op, arguments, out.stack.shape());
      out.stack = at(place, [&] { return apply_movement(out.stack, *op.op, op.movement, work_); });
    }
    out.ops.push_back(std::move(op));
  }

  /// The name of a movement's argument in Python.
  static std::string_view keyword(std::string_view op) {
    if (op == "permute") return "order";
    if (op == "pad") return "padding";
    if (op == "shrink") return "bounds";
    if (op == "flip") return "axes";
    return op == "stride" ? "steps" : "shape";
  }

  Movement movement(const MovementOp& op, std::string_view arguments, const Ints& shape) const {
    const std::size_t equals = find_outside(arguments, "=");
    if (equals < arguments.size()) {
      const std::string_view named = trimmed(arguments.substr(0, equals));
      if (named != keyword(op.name))
        source_.fail(named,
                     detail::message("[parse] ", op.name, " takes ", keyword(op.name), ", not ", in_quotes(named)));
      arguments = arguments.substr(equals + 1);
    }
    work_.charge(1 + arguments.size());
    if (!op.takes_pairs) return {source_.numbers(arguments), {}};
    const std::vector<std::string_view> items = pairs_in(trimmed(arguments), shape.size());
    return {{}, op.name == "shrink" ? source_.extents(items, shape) : source_.paddings(items)};
  }
  /// The items of a list of pairs. For one dimension, the pair alone is accepted.
  static std::vector<std::string_view> pairs_in(std::string_view list, std::size_t rank) {
    const std::string_view inner = unbracketed(list);
    std::vector<std::string_view> items = items_of(inner);
    const bool alone = rank == 1 && items.size() == 2 && inner.size() != list.size();
    return alone ? std::vector{list} : items;
  }

  const ViewSource& source_;
  std::string_view rest_;
  Work& work_;
};

}  // namespace

bool looks_like_view(std::string_view statement) {
  statement = trimmed(statement);
  const std::string_view called = leading_name(statement);
  for (const std::string_view word : {"View", "ShapeTracker", "strata.View", "strata.ShapeTracker"})
    if (called == word ||
        (called.starts_with(word) && !is_name_start(called[word.size()]) && !is_digit(called[word.size()])))
      return true;
  if (statement.empty() || !opens(statement.front())) return false;
  const std::size_t end = bracket_end(statement);
  if (end == std::string_view::npos) return statement.front() != '(';
  const std::string_view after = trimmed(statement.substr(end));
  if (after.starts_with('.')) return true;
  const std::string_view inner = statement.substr(1, end - 2);
  const bool is_list = statement.front() != '(' || trimmed(inner).empty() || find_outside(inner, ",") < inner.size();
  return after.empty() && is_list;
}

BoxView read_box_view(const ViewSource& source, std::string_view statement, Work& work) {
  return ChainReader(source, statement, work).run();
}

}  // namespace strata::tools
