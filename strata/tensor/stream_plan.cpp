#include "strata/tensor/stream_plan.h"

#include <algorithm>
#include <cstdlib>
#include <numeric>
#include <unordered_map>

#include "strata/base/check.h"
#include "strata/base/walk.h"
#include "strata/graph/rebuild.h"
#include "strata/ir/ops.h"
#include "strata/tensor/stream_chain.h"
#include "strata/tensor/stream_scans.h"

namespace strata::stream {

namespace {

class Planner {
 public:
  Planner(const LazyOp& input, const LazyOp& longer_input, std::size_t axis) : input_(input), longer_(longer_input) {
    Place x{Place::Kind::input, input, input.shape(), axis, 0, {}, "x", 0, 0};
    plan_.places.push_back(x);
    longer_sizes_.push_back(number_at(longer_input.shape(), axis));
    number_of_.emplace(input.node(), 0);
  }

  Plan run(const LazyOp& result, const LazyOp& longer) {
    STRATA_CHECK(depends(result), domain, "[streaming] the result does not depend on x");
    // The values are found from the leaves up, without recursion: graphs may be deep.
    std::vector<std::pair<LazyOp, LazyOp>> open = {{result, longer}};
    while (!open.empty()) {
      const auto [a, b] = open.back();
      const Chain below_a = below(a), below_b = below(b);
      if (!depends(a) || number_of_.contains(below_a.base.node())) {
        open.pop_back();
        continue;
      }
      check_alike(below_a.base, below_b.base);
      const std::size_t before = open.size();
      for (std::size_t k = 0; k < below_a.base.src().size(); ++k) {
        const LazyOp& s = below_a.base.src(k);
        if (depends(s) && !number_of_.contains(below(s).base.node())) open.emplace_back(s, below_b.base.src(k));
      }
      if (open.size() > before) continue;
      open.pop_back();
      add(below_a.base, below_b.base);
    }
    const auto axis = growing_axis(result, result.shape(), longer.shape());
    check_axis(result, axis);
    Place y{Place::Kind::result, result, result.shape(), *axis, 0, {}, "the result", 0, 0};
    y.reads.push_back(read_of(result, result, longer, y.axis));
    add_place(std::move(y), longer.shape());
    return std::move(plan_);
  }

 private:
  static void check_axis(const LazyOp& n, const std::optional<std::size_t>& axis) {
    STRATA_CHECK(
        axis, domain, "[streaming] ", place_name(n), " of shape ", render(n.shape()),
        " depends on x and has no axis of positions: each of its elements would have to wait for the end of x");
  }
  static void check_alike(const LazyOp& a, const LazyOp& b) {
    STRATA_CHECK(a.op() == b.op() && a.src().size() == b.src().size() && a.dtype() == b.dtype(), domain, "[streaming] ",
                 place_name(a), " is computed otherwise where x is longer: as ", row(a.op()).name, " and as ",
                 row(b.op()).name);
  }

  bool depends(const LazyOp& root) {
    std::vector<const LazyOp*> open = {&root};
    while (!open.empty()) {
      const LazyOp* const n = open.back();
      if (depends_.contains(n->node())) {
        open.pop_back();
        continue;
      }
      bool is_ready = true, found = n->node() == input_.node();
      if (!is_realized(*n->node()))
        for (std::size_t k = 0; const LazyOp* const s = needed_source(n, k); ++k) {
          const auto known = depends_.find(s->node());
          if (known == depends_.end())
            open.push_back(s), is_ready = false;
          else
            found = found || known->second;
        }
      if (is_ready) depends_.emplace(n->node(), found), open.pop_back();
    }
    return depends_.at(root.node());
  }

  void add_place(Place place, const Ints& longer) {
    longer_sizes_.push_back(number_at(longer, place.axis));
    plan_.places.push_back(std::move(place));
  }

  Chain below(const LazyOp& top) const { return chain_below(top, false, loops_); }

  void add(const LazyOp& a, const LazyOp& b) {
    if (a.op() == Ops::ASSOCIATIVE_SCAN && a.arg() == b.arg()) {
      const auto axis = growing_axis(a, a.shape(), b.shape());
      check_axis(a, axis);
      if (std::get<AxisArg>(a.arg()).axis == static_cast<std::int64_t>(*axis)) return add_scan(a, b, *axis);
    }
    Place out{Place::Kind::node, a, a.shape(), 0, 0, {}, place_name(a), 0, 0};
    Ints longer = b.shape();
    if (a.op() == Ops::SCAN)
      add_loop(out, longer, a, a, b);
    else if (a.op() == Ops::CONCAT)
      add_parts(out, longer, a, b);
    else
      add_node(out, a, b);
    number_of_.emplace(a.node(), plan_.places.size());
    add_place(std::move(out), longer);
  }

  void add_node(Place& out, const LazyOp& a, const LazyOp& b) {
    const Ops op = a.op();
    STRATA_CHECK(is_elementwise(op) || is_reduce(op) || op == Ops::FORMULA || op == Ops::CONTIGUOUS || op == Ops::PAD ||
                     op == Ops::GATHER || op == Ops::ASSOCIATIVE_SCAN || op == Ops::ORDER,
                 domain, "[streaming] ", place_name(a), " is not followed: its operation is ", row(op).name);
    if (is_reduce(op)) {
      const auto before = growing_axis(a, a.src(0).shape(), b.src(0).shape());
      check_axis(a.src(0), before);
      const Axes& axes = std::get<Axes>(a.arg());
      STRATA_CHECK(std::find(axes.begin(), axes.end(), static_cast<std::int64_t>(*before)) == axes.end(), domain,
                   "[streaming] ", place_name(a),
                   " reduces the whole axis of positions: position 0 of it reads position ",
                   number_at(a.src(0).shape(), *before) - 1, " of ", number_at(a.src(0).shape(), *before));
    }
    if (op == Ops::ORDER) {
      const auto before = growing_axis(a, a.src(0).shape(), b.src(0).shape());
      check_axis(a.src(0), before);
      STRATA_CHECK(static_cast<std::int64_t>(*before) != std::get<OrderArg>(a.arg()).axis, domain, "[streaming] ",
                   place_name(a), " sorts the axis of positions: position 0 of it may be any position");
    }
    if (op != Ops::PAD)
      STRATA_CHECK(a.arg() == b.arg(), domain, "[streaming] ", place_name(a), " differs where x is longer");
    const auto axis = growing_axis(a, a.shape(), b.shape());
    check_axis(a, axis);
    out.axis = *axis;
    for (std::size_t k = 0; k < a.src().size(); ++k) out.reads.push_back(read_of(a, a.src(k), b.src(k), out.axis));
    if (op != Ops::PAD) return;
    out.kind = Place::Kind::pad;
    const auto &around = std::get<Padding>(a.arg()), &longer = std::get<Padding>(b.arg());
    for (std::size_t k = 0; k < around.size(); ++k)
      STRATA_CHECK(around[k].first == longer[k].first && (k == out.axis || around[k].second == longer[k].second),
                   domain, "[streaming] ", place_name(a), " pads by numbers that depend on the length of x");
    begin_behind(out, around[out.axis].first.value());
  }

  /// Lets the positions of `place`, which has one read, begin with `lead` others.
  void begin_behind(Place& place, std::int64_t lead) const {
    Read& read = place.reads[0];
    place.lead = lead;
    read.count += lead, read.longer_count += lead;
    move_back(read, lead * read.rate);
  }

  /// Lets `read` begin `count` positions of its base earlier.
  void move_back(Read& read, std::int64_t count) const {
    read.low -= count, read.high -= count;
    if (read.base != kFixed) read.offset.rest -= count * plan_.places[read.base].each();
  }

  /// Running totals along the positions: a loop whose states go on from block to block is read in their place.
  void add_scan(const LazyOp& a, const LazyOp& b, std::size_t axis) {
    std::vector<std::optional<LazyOp>> each;
    for (std::size_t k = 0; k < a.src().size(); ++k) each.push_back(same_at_all(a, b, k, axis));
    const LazyOp loop = loop_of_scan(a, each), loop_b = loop_of_scan(b, each);
    const LazyOp base = below(loop).base;
    Place out{Place::Kind::loop, base, base.shape(), 0, 0, {}, place_name(a), 0, 0};
    Ints longer;
    add_loop(out, longer, a, base, below(loop_b).base);
    loops_.emplace(a.node(), loop), loops_.emplace(b.node(), loop_b);
    number_of_.emplace(base.node(), plan_.places.size());
    add_place(std::move(out), longer);
  }

  /// The elements of operand `k` of a scan at each position, where they are the same at all.
  std::optional<LazyOp> same_at_all(const LazyOp& a, const LazyOp& b, std::size_t k, std::size_t axis) {
    if (depends(a.src(k))) return std::nullopt;
    const Read read = read_of(a, a.src(k), b.src(k), axis);
    if (read.masked > 0) return std::nullopt;
    Ints shape = a.shape();
    shape.erase_at(axis);
    return read.fixed->reshape(shape);
  }

  /// @param at what messages name
  void add_loop(Place& out, Ints& longer, const LazyOp& at, const LazyOp& a, const LazyOp& b) {
    const auto &x = std::get<StepArg>(a.arg()), &y = std::get<StepArg>(b.arg());
    const StepGraph &step = *x.step, &other = *y.step;
    STRATA_CHECK(!step.is_reversed, domain, "[streaming] ", place_name(at),
                 " is a loop from the last position to the first: position 0 of it reads position ",
                 step.count.vmax() - 1, " of its operand");
    STRATA_CHECK(
        !step.has_last_source() && step.count.is_number() && other.count.is_number() && !(step.count == other.count),
        domain, "[streaming] ", place_name(at), " is a loop, and not one of a step for each position");
    check_steps(at, step, other);
    const Bundle bundle = bundle_of(step, a.dtype(), x.of_saved);
    out.kind = Place::Kind::loop;
    out.shape = {step.count, bundle.row}, longer = {other.count, bundle.row};
    for (std::size_t k = 0; k < a.src().size(); ++k) {
      const bool is_sequence = k >= step.states && k < step.states + step.sequences;
      STRATA_CHECK(is_sequence || (!depends(a.src(k)) && a.src(k) == b.src(k)), domain, "[streaming] ", place_name(at),
                   k < step.states ? " begins with a state" : " reads a value in each step",
                   " that depends on x or on its length");
      if (is_sequence)
        out.reads.push_back(read_of(at, a.src(k), b.src(k), 0));
      else
        out.reads.push_back({kFixed, a.src(k), a.src(k).shape(), 0, false, {}, {}, 1, 0, 0});
    }
  }

  /// @throws Error (domain) unless both steps compute the same
  static void check_steps(const LazyOp& at, const StepGraph& a, const StepGraph& b) {
    STRATA_CHECK(a.inputs.size() == b.inputs.size() && a.results.size() == b.results.size(), domain, "[streaming] ",
                 place_name(at), " has another step where x is longer");
    detail::Rebuild rename([](const LazyOp& n, const std::vector<LazyOp>& sources) { return n.with_sources(sources); },
                           [&](const LazyOp& n) -> std::optional<LazyOp> {
                             for (std::size_t k = 0; k < b.inputs.size(); ++k)
                               if (b.inputs[k] == n) return a.inputs[k];
                             if (n.src().empty() || is_realized(*n.node())) return n;
                             return std::nullopt;
                           });
    for (std::size_t k = 0; k < a.inputs.size(); ++k)
      STRATA_CHECK(a.inputs[k].shape() == b.inputs[k].shape() && a.inputs[k].dtype() == b.inputs[k].dtype(), domain,
                   "[streaming] ", place_name(at), " has another step where x is longer");
    for (std::size_t k = 0; k < a.results.size(); ++k)
      STRATA_CHECK(rename(b.results[k]) == a.results[k], domain, "[streaming] ", place_name(at),
                   " has another step where x is longer");
  }

  /// The parts of a CONCAT along `axis`: along another axis than that of positions, or fixed ones in front.
  void add_parts_along(std::size_t axis, std::span<const std::optional<std::size_t>> axes, Place& out, const LazyOp& a,
                       const LazyOp& b) {
    out.axis = axis;
    if (axes.size() > 1 && axes.back() == axis &&
        std::none_of(axes.begin(), axes.end() - 1, [](auto x) { return x; })) {
      std::int64_t front = 0;
      for (std::size_t k = 0; k + 1 < a.src().size(); ++k) {
        STRATA_CHECK(!depends(a.src(k)) && a.src(k) == b.src(k), domain, "[streaming] ", place_name(a),
                     " joins a part that depends on x, and grows with its length by no position");
        front += number_at(a.src(k).shape(), axis);
      }
      out.kind = Place::Kind::behind;
      out.reads.push_back(read_of(a, a.src().back(), b.src().back(), axis));
      return begin_behind(out, front);
    }
    out.kind = Place::Kind::parts;
    for (std::size_t k = 0; k < a.src().size(); ++k) {
      check_axis(a.src(k), axes[k]);
      STRATA_CHECK(*axes[k] != axis, domain, "[streaming] ", place_name(a),
                   " joins parts along the axis of positions: the first position of part ", k,
                   " would have to wait for the end of x");
      out.axis = *axes[k];
      out.reads.push_back(read_of(a, a.src(k), b.src(k), out.axis));
    }
  }
  void add_parts(Place& out, Ints& longer, const LazyOp& a, const LazyOp& b) {
    std::vector<std::optional<std::size_t>> axes;
    for (std::size_t k = 0; k < a.src().size(); ++k)
      axes.push_back(growing_axis(a, a.src(k).shape(), b.src(k).shape()));
    const auto sizes = [](const LazyOp& n, std::size_t begin, std::size_t end) {
      std::int64_t product = 1;
      for (std::size_t k = begin; k < end; ++k) product *= number_at(n.shape(), k);
      return product;
    };
    if (const auto* along = std::get_if<Axes>(&a.arg()))
      return add_parts_along(static_cast<std::size_t>(along->front()), axes, out, a, b);
    std::int64_t before = 0;
    out.kind = Place::Kind::parts, out.axis = 1;
    for (std::size_t k = 0; k < a.src().size(); ++k) {
      const LazyOp& part = a.src(k);
      check_axis(part, axes[k]);
      const std::int64_t in_front = sizes(part, 0, *axes[k]), each = sizes(part, *axes[k] + 1, part.shape().size());
      if (k == 0) {
        out.shape = {0, part.shape()[*axes[k]], each};
        longer = {0, b.src(k).shape()[*axes[k]], each};
      }
      STRATA_CHECK(out.shape[1] == part.shape()[*axes[k]] && out.shape[2] == Int(each), domain, "[streaming] ",
                   place_name(a), " joins parts along the axis of positions: the first position of part ", k,
                   " would have to wait for the end of x");
      before += in_front;
      out.reads.push_back(read_of(a, part, b.src(k), *axes[k]));
    }
    out.shape[0] = before, longer[0] = before;
  }

  /// How `at`, whose positions are along `axis`, reads `a`; `b`: the same in the longer trace.
  Read read_of(const LazyOp& at, const LazyOp& a, const LazyOp& b, std::size_t axis) {
    const auto grown = growing_axis(at, a.shape(), b.shape());
    Read out{kFixed, {}, a.shape(), axis, grown.has_value(), {}, {}, 1, 0, 0};
    if (!depends(a)) {
      read_fixed(out, at, a, b);
      return out;
    }
    check_axis(a, grown);
    out.count = number_at(a.shape(), axis), out.longer_count = number_at(b.shape(), axis);
    STRATA_CHECK(*grown == axis, domain, "[streaming] ", place_name(at), " has its positions along axis ", axis,
                 " and those of an operand along axis ", *grown);
    const Chain chain = below(a), longer = below(b);
    out.base = number_of_.at(chain.base.node());
    const ShapeTracker st = tracker_of(chain, ShapeTracker::from_shape(chain.base.shape())),
                       st_longer = tracker_of(longer, ShapeTracker::from_shape(longer.base.shape()));
    const View &v = single_view(at, st), &w = single_view(at, st_longer);
    const Place& base = plan_.places[out.base];
    const std::int64_t size = number_at(base.shape, base.axis), size_longer = longer_sizes_[out.base];
    const auto linear = [&](const Int& x, const Int& y) {
      STRATA_CHECK((y.value() - x.value()) % (size_longer - size) == 0, domain, "[streaming] ", place_name(at),
                   " reads addresses that are no linear function of the length of x");
      const std::int64_t each = (y.value() - x.value()) / (size_longer - size);
      return Linear{each, x.value() - each * size};
    };
    out.offset = linear(v.offset(), w.offset());
    for (std::size_t k = 0; k < v.rank(); ++k) out.steps.push_back(linear(v.strides()[k], w.strides()[k]));
    if (base.kind == Place::Kind::loop) out.offset.rest -= first_row(base);
    find_window(out, at, base, size);
    through_pad(out);
    return out;
  }

  static std::int64_t first_row(const Place& loop) {
    const auto& arg = std::get<StepArg>(loop.node.arg());
    return bundle_of(*arg.step, loop.node.dtype(), arg.of_saved).rows.value();
  }

  /// The positions that are read, from the steps. @throws Error (domain) where they are not a window that moves on
  static void find_window(Read& out, const LazyOp& at, const Place& base, std::int64_t size) {
    const std::int64_t each = base.each(), count = number_at(out.shape, out.axis);
    STRATA_CHECK(base.kind != Place::Kind::loop || out.offset.rest >= 0, domain, "[streaming] ", place_name(at),
                 " reads the state of a loop behind its last step: it would have to wait for the end of x");
    const Linear own = out.steps[out.axis];
    STRATA_CHECK(own.each != 0 || own.rest >= 0, domain, "[streaming] ", place_name(at),
                 " reads the positions backwards: position 0 of it reads position ", size - 1, " of ", base.name);
    STRATA_CHECK(count <= 1 || own.each != 0 || own.rest != 0, domain, "[streaming] ", place_name(at),
                 " reads one position of ", base.name, " again and again, at each of its own");
    STRATA_CHECK(own.each == 0 && own.rest % each == 0 && own.rest > 0, domain, "[streaming] ", place_name(at),
                 " of shape ", render(out.shape), ": a step along axis ", out.axis,
                 " is no step along the positions of ", base.name, ", of shape ", render(base.shape));
    out.rate = own.rest / each;
    std::int64_t inside = out.offset.rest - floor_of(out.offset.rest, each) * each;
    out.low = out.high = floor_of(out.offset.rest, each);
    for (std::size_t k = 0; k < out.steps.size(); ++k) {
      const Linear s = out.steps[k];
      const std::int64_t more = number_at(out.shape, k) - 1;
      if (k == out.axis || more <= 0 || (s.each == 0 && s.rest == 0)) continue;
      const bool is_before = s.each != 0 && s.rest == 0 && s.each % each == 0;
      const bool is_window = s.each == 0 && s.rest % each == 0, is_behind = s.each == 0 && std::abs(s.rest) < each;
      STRATA_CHECK(is_before || is_window || is_behind, domain, "[streaming] ", place_name(at), " of shape ",
                   render(out.shape), ": axis ", k, " mixes the positions of ", base.name, " with another axis");
      if (is_behind) inside += std::max<std::int64_t>(0, s.rest * more);
      if (!is_window || is_behind) continue;
      const std::int64_t far = s.rest / each * more;
      (far < 0 ? out.low : out.high) += far;
    }
    STRATA_CHECK(
        inside < each && out.low >= 0 && out.rate * (count - 1) + out.high < size && out.offset.each % each == 0,
        domain, "[streaming] ", place_name(at), " of shape ", render(out.shape), ": axis ", out.axis,
        " mixes the positions of ", base.name, ", of shape ", render(base.shape), ", with another axis");
  }

  /// Where the base adds nothing but zeros in front of the positions of another value, that one is read instead: one
  /// ring serves all that look back to it.
  void through_pad(Read& out) {
    const Place& pad = plan_.places[out.base];
    if (pad.kind != Place::Kind::pad) return;
    const Read& in = pad.reads[0];
    const Place& below = plan_.places[in.base];
    const auto& around = std::get<Padding>(pad.node.arg());
    for (std::size_t k = 0; k < around.size(); ++k)
      if (k != pad.axis && !(around[k] == std::pair<Int, Int>(0, 0))) return;
    if (in.rate != 1 || in.low != in.high || in.low + pad.lead != 0 || pad.each() != below.each() ||
        pad.before() != below.before())
      return;
    Linear expected{0, 1};
    for (std::size_t k = in.shape.size(); k-- > 0;) {
      const bool is_one = in.shape[k] == Int(1);
      if (!is_one && (in.steps[k].each != expected.each || in.steps[k].rest != expected.rest)) return;
      if (k == in.axis)
        expected = {expected.rest, 0};
      else
        expected = {expected.each * number_at(in.shape, k), expected.rest * number_at(in.shape, k)};
    }
    out.base = in.base;
    move_back(out, pad.lead);
  }

  void read_fixed(Read& out, const LazyOp& at, const LazyOp& a, const LazyOp& b) {
    if (!out.grows) {
      STRATA_CHECK(a == b, domain, "[streaming] ", place_name(at), " reads ", place_name(a),
                   ", another tensor where x is longer: it depends on the length of x, or is made anew in each call");
      out.fixed = a;
      return;
    }
    const Chain chain = chain_below(a, true, loops_), longer = chain_below(b, true, loops_);
    const auto *const c = std::get_if<ConstArg>(&chain.base.arg()), *const d =
                                                                        std::get_if<ConstArg>(&longer.base.arg());
    const bool is_constant = c != nullptr && d != nullptr;
    STRATA_CHECK(!is_constant || c->value == d->value, domain, "[streaming] ", place_name(at), " reads the constant ",
                 c->value.text(), ", and ", d->value.text(), " where x is longer");
    STRATA_CHECK(is_constant || chain.base == longer.base, domain, "[streaming] ", place_name(at), " reads ",
                 place_name(chain.base),
                 ", another tensor where x is longer: it depends on the length of x, or is made anew in each call");
    const ShapeTracker from = is_constant ? c->st : ShapeTracker::from_shape(chain.base.shape()),
                       from_longer = is_constant ? d->st : from;
    const ShapeTracker st = tracker_of(chain, from), st_longer = tracker_of(longer, from_longer);
    STRATA_CHECK(st.views().size() == 1 && st_longer.views().size() == 1, domain, "[streaming] ", place_name(at),
                 " reads its operand by no single View: ", st.render());
    const View &v = st.views()[0], &w = st_longer.views()[0];
    const auto extent = [&](const View& view) {
      return view.mask() ? (*view.mask())[out.axis] : Extent{0, view.shape()[out.axis]};
    };
    const Extent valid = extent(v), valid_longer = extent(w);
    const auto positions = [&](std::int64_t begin, std::int64_t end) {
      Mask bounds;
      for (std::size_t k = 0; k < a.shape().size(); ++k)
        bounds.push_back(k == out.axis ? Extent{begin, end} : Extent{0, a.shape()[k]});
      return a.shrink(bounds);
    };
    // A front that ends, and zeros behind it; else one element for all positions behind the zeros.
    if (valid.end == valid_longer.end) {
      STRATA_CHECK(v.strides() == w.strides() && v.offset() == w.offset() && valid == valid_longer, domain,
                   "[streaming] ", place_name(at), " reads elements that depend on the length of x");
      Ints one = a.shape();
      one[out.axis] = 1;
      out.masked = valid.end.value();
      out.fixed = LazyOp::constant(Scalar::of(a.dtype(), std::int64_t{0}), one);
    } else {
      STRATA_CHECK((is_constant || v.strides()[out.axis] == Int(0)) && valid.begin == valid_longer.begin, domain,
                   "[streaming] ", place_name(at), " reads other elements of a tensor of shape ",
                   render(chain.base.shape()), " at each position");
      STRATA_CHECK(is_constant || (v.strides() == w.strides() && v.offset() == w.offset()), domain, "[streaming] ",
                   place_name(at), " reads elements that depend on the length of x");
      out.masked = valid.begin.value();
      if (!(valid.end == a.shape()[out.axis])) endings_.push_back({plan_.places.size(), valid.end.value()});
      out.fixed = positions(out.masked, out.masked + 1);
    }
    if (out.masked > 0) out.front = positions(0, out.masked);
  }

 public:
  /// A constant that ends at position `end`.
  struct Ending {
    std::size_t reader;
    std::int64_t end;
  };
  const std::vector<Ending>& endings() const { return endings_; }

 private:
  LazyOp input_, longer_;
  Plan plan_;
  std::vector<std::int64_t> longer_sizes_;
  std::unordered_map<const LazyNode*, std::size_t> number_of_;
  std::unordered_map<const LazyNode*, bool> depends_;
  std::vector<Ending> endings_;
  Replacements loops_;
};

}  // namespace

std::int64_t Place::before() const {
  std::int64_t out = 1;
  for (std::size_t k = 0; k < axis; ++k) out *= shape[k].value();
  return out;
}
std::int64_t Place::each() const {
  std::int64_t out = 1;
  for (std::size_t k = axis + 1; k < shape.size(); ++k) out *= shape[k].value();
  return out;
}

std::vector<std::int64_t> Plan::known(std::int64_t given) const {
  std::vector<std::int64_t> out;
  for (const Place& p : places) {
    std::int64_t n = p.kind == Place::Kind::input ? given : INT64_MAX;
    for (const Read& r : p.reads)
      if (r.base != kFixed)
        n = std::min(n, std::max<std::int64_t>(0, floor_of(out[r.base] - 1 - r.high - r.cut, r.rate) + 1));
    out.push_back(n);
  }
  return out;
}

std::vector<std::int64_t> Plan::needed(const std::vector<std::int64_t>& known) const {
  std::vector<std::int64_t> out = known;
  for (std::size_t k = 0; k < places.size(); ++k)
    for (const Read& r : places[k].reads)
      if (r.base != kFixed) {
        // What is in front of `lead` is no position of the base.
        out[r.base] = std::min(out[r.base], r.rate * std::max(known[k], places[k].lead) + r.low);
      }
  return out;
}

std::int64_t Plan::period() const {
  std::vector<std::int64_t> each;  // positions of x for a position of the place
  std::int64_t out = 1;
  for (const Place& p : places) {
    std::int64_t n = 1;
    for (const Read& r : p.reads)
      if (r.base != kFixed) n = std::lcm(n, each[r.base] * r.rate);
    each.push_back(n), out = std::lcm(out, n);
  }
  return out;
}

namespace {

/// Finds what Reads leave out at the end, as a delay does: the result has as many positions as the function gives for x
/// of the example's length, and of `longer` positions. What is left out and changes no result stays: windows that do
/// not fit.
void cut_ends(Plan& plan, std::int64_t length, std::int64_t longer) {
  const Read& result = plan.places.back().reads[0];
  const auto more = [&] {
    return std::max<std::int64_t>(0, plan.known(length).back() - result.count) +
           std::max<std::int64_t>(0, plan.known(longer).back() - result.longer_count);
  };
  std::int64_t left = more();
  for (Place& p : plan.places)
    for (Read& r : p.reads) {
      if (left == 0) return;
      if (r.base == kFixed) continue;
      const std::int64_t last = plan.known(length)[r.base] - 1 - r.high,
                         last_longer = plan.known(longer)[r.base] - 1 - r.high;
      const std::int64_t least = std::max(last - r.rate * r.count, last_longer - r.rate * r.longer_count) + 1,
                         most = std::min(last - r.rate * (r.count - 1), last_longer - r.rate * (r.longer_count - 1));
      if (least <= 0 || least > most) continue;
      r.cut = least;
      const std::int64_t now = more();
      if (now == left) r.cut = 0;
      left = now;
    }
  STRATA_CHECK(left == 0, domain, "[streaming] the result has ", result.count, " positions, and ", result.longer_count,
               " where x is twice as long: it leaves out another number of positions at the end");
}

}  // namespace

Plan plan_of(const LazyOp& result, const LazyOp& input, const LazyOp& longer, const LazyOp& longer_input,
             std::size_t axis) {
  Planner planner(input, longer_input, axis);
  Plan out = planner.run(result, longer);
  const std::int64_t length = number_at(input.shape(), axis);
  cut_ends(out, length, number_at(longer_input.shape(), axis));
  const std::vector<std::int64_t> end = out.known(length);
  const Place& y = out.places.back();
  const std::int64_t all = y.shape[y.axis].value(), known = end.back();
  if (known < all) {
    std::int64_t needs = length;
    while (out.known(needs).back() <= known && needs < 4 * length + 4096) ++needs;
    const auto blamed = std::find_if(out.places.begin() + 1, out.places.end(), [&](const Place& p) {
      const auto at = static_cast<std::size_t>(&p - out.places.data());
      return p.kind != Place::Kind::pad && p.shape[p.axis].value() > end[at];
    });
    STRATA_CHECK(false, domain, "[streaming] ", blamed->name, " looks ahead: position ", known,
                 " of the result reads position ", needs - 1, " of x");
  }
  for (const auto& e : planner.endings())
    STRATA_CHECK(e.end >= end[e.reader], domain, "[streaming] ", out.places[e.reader].name,
                 " reads a constant that ends at position ", e.end, ", and is asked for position ", end[e.reader] - 1);
  // The rings of all phases behind the start.
  std::int64_t begin = 0;
  while (begin < length && out.known(begin).back() == 0) ++begin;
  for (std::int64_t s = 0; s <= 2 * length; ++s) {
    const std::vector<std::int64_t> n = out.known(s), first = out.needed(n);
    for (std::size_t k = 0; k + 1 < out.places.size(); ++k) {
      Place& p = out.places[k];
      p.least = s <= begin ? n[k] - first[k] : std::min(p.least, n[k] - first[k]);
      p.most = std::max(p.most, n[k] - first[k]);
    }
  }
  return out;
}

}  // namespace strata::stream
