// The initial axes of a kernel, the text form of Opts, and their application.

#include "strata/codegen/axes.h"

#include <algorithm>
#include <charconv>
#include <iterator>
#include <limits>
#include <map>

#include "strata/ir/scan_order.h"

namespace strata {

namespace {

constexpr std::string_view kOptNames[] = {"SPLIT", "UPCAST", "UNROLL", "LANES", "PARALLEL",    "REORDER",
                                          "CUT",   "STAGE",  "PADTO",  "MERGE", "SPLITREDUCE", "SPLITSCAN",
                                          "PACK",  "DOT",    "TRIM",   "BLOCK", "STREAM",      "GUARD"};

constexpr std::int64_t kMostAmount = std::int64_t{1} << 30;
constexpr std::int64_t kMostCopies = 1024;  // unrolled copies of a loop body

bool has_axis(Opt::Kind kind) { return kind != Opt::Kind::STREAM && kind != Opt::Kind::GUARD; }
bool has_amount(Opt::Kind kind) {
  return kind != Opt::Kind::PARALLEL && kind != Opt::Kind::MERGE && kind != Opt::Kind::SPLITSCAN;
}

bool is_one(const Int& v) { return v == Int(1); }

LoopAxis whole_axis(const Int& size, int group, std::size_t dim) {
  return {size, group, {dim}, {size}, {{0, {{PartKind::loop, size}}}}, false};
}

/// The sizes of the axes of the group of a reduction or SCATTER.
Ints reduced_sizes(const LazyNode& n) {
  if (const auto* along = std::get_if<AxisArg>(&n.arg))
    return {n.src[2].shape()[static_cast<std::size_t>(along->axis)]};
  Ints out;
  for (const std::int64_t axis : std::get<Axes>(n.arg)) out.push_back(n.src[0].shape()[static_cast<std::size_t>(axis)]);
  return out;
}

}  // namespace

std::string_view to_string(PartKind kind) {
  constexpr std::string_view names[] = {"loop", "parallel", "upcast", "unroll", "lanes"};
  return names[static_cast<std::size_t>(kind)];
}

Int Segment::size() const {
  Int out = 1;
  for (const Part& p : parts) out *= p.size;
  return out;
}

KernelAxes::KernelAxes(const LazyOp& kernel) : kernel_(kernel) {
  STRATA_CHECK(kernel.op() == Ops::SINK, domain, "[lower] ", spec_name(kernel.op()), " is not a kernel: a SINK is");
  Ints sizes = kernel.src(0).shape();
  for (const LazyOp& s : kernel.src()) {
    STRATA_CHECK(s.shape().size() == sizes.size(), shape, "[lower] the stores of a kernel have shapes ", render(sizes),
                 " and ", render(s.shape()), ": their ranks differ");
    for (std::size_t t = 0; t < sizes.size(); ++t) {
      if (is_one(sizes[t])) sizes[t] = s.shape()[t];
      STRATA_CHECK(is_one(s.shape()[t]) || s.shape()[t] == sizes[t], shape, "[lower] dimension ", t,
                   " of the stores has sizes ", sizes[t].render(), " and ", s.shape()[t].render());
    }
  }
  outputs_ = sizes.size();
  for (std::size_t t = 0; t < outputs_; ++t) {
    axes_.push_back(whole_axis(sizes[t], -1, t));
    order_.push_back(t);
  }
  std::unordered_map<const LazyNode*, int> level;
  std::map<std::pair<int, std::string>, std::size_t> known;
  for (const LazyNode* n : postorder(kernel)) {
    int below = 0;
    for (const LazyOp& s : n->src) below = std::max(below, level.at(s.node()));
    const bool has_group = is_reduce(n->op) || n->op == Ops::SCATTER;
    level.emplace(n, below + (has_group ? 1 : 0));
    if (!has_group) continue;
    const Ints reduced = reduced_sizes(*n);
    const auto [it, is_new] = known.try_emplace({below, render(reduced)}, groups_.size());
    group_of_.emplace(n, it->second);
    if (!is_new) continue;
    groups_.push_back({below, axes_.size(), reduced.size()});
    for (std::size_t k = 0; k < reduced.size(); ++k)
      axes_.push_back(whole_axis(reduced[k], static_cast<int>(it->second), k));
  }
  find_scan();
  find_scatter();
}

void KernelAxes::find_scatter() {
  for (const LazyNode* n : postorder(kernel_)) {
    if (n->op != Ops::SCATTER) continue;
    const auto stores = [&](const LazyOp& s) { return s.src(0).node() == n; };
    const bool is_stored = std::any_of(kernel_.src().begin(), kernel_.src().end(), stores);
    const bool is_alone = !scan_ && group_of_.size() == 1;
    STRATA_CHECK(
        is_stored && is_alone, domain, "[lower] ", spec_name(n->op),
        " is what a store stores, and is alone in its kernel: a reduction, a scan, or another SCATTER is computed "
        "by a kernel of its own");
    for (const LazyOp& s : kernel_.src())
      for (const LazyNode* below : postorder(std::span(n->src).subspan(1))) {
        if (below->op != Ops::LOAD || s.src(0).node() != n) continue;
        const int slot = std::get<BufferArg>(below->arg).slot;
        STRATA_CHECK(slot != std::get<BufferArg>(s.arg()).slot, domain, "[lower] buffer ", slot,
                     " is written by the kernel and read at what a SCATTER combines with it");
      }
    scatter_ = Along{n, static_cast<std::size_t>(std::get<AxisArg>(n->arg).axis)};
  }
}

/// @throws Error (domain) for an Opt that would change the order of the elements that a SCATTER combines
void KernelAxes::check_scatter(const Opt& opt) const {
  if (!scatter_) return;
  const auto axis = static_cast<std::size_t>(scatter_axis());
  const auto refuse = [&](bool holds, const char* why) { STRATA_CHECK(!holds, domain, "[", opt.text(), "] ", why); };
  switch (opt.kind) {
    case Opt::Kind::STAGE: return refuse(true, "no buffer of a SCATTER is staged");
    case Opt::Kind::MERGE:
      return refuse(opt.axis == axis || opt.axis + 1 == axis, "the axis of a SCATTER is merged with none");
    case Opt::Kind::PARALLEL: return refuse(opt.axis == axis, "an element of any part of the axis may be changed");
    case Opt::Kind::REORDER:
    case Opt::Kind::STREAM:
    case Opt::Kind::GUARD: return;
    default: return refuse(opt.axis >= outputs_, "the axis of a SCATTER's values is one loop");
  }
}

void KernelAxes::find_scan() {
  for (const LazyNode* n : postorder(kernel_)) {
    if (!is_scan(n->op)) continue;
    STRATA_CHECK(!scan_ && groups_.empty(), domain, "[lower] ", spec_name(n->op),
                 " is not alone in its kernel: a reduction, or another scan, is computed by a kernel of its own");
    for (const LazyOp& s : kernel_.src())
      STRATA_CHECK(s.shape() == n->shape, domain, "[lower] ", spec_name(n->op), " of shape ", render(n->shape),
                   " in a kernel that stores shape ", render(s.shape()));
    scan_ = Along{n, static_cast<std::size_t>(std::get<AxisArg>(n->arg).axis)};
  }
  if (!scan_) return;
  std::erase(order_, scan_->dim);
  order_.push_back(scan_->dim);
}

bool KernelAxes::has_shared_blocks() const {
  return scan_ && std::get<AxisArg>(scan_->node->arg).op != Ops::MULACC && scan_->node->src.size() == 2 &&
         axes_[static_cast<std::size_t>(scan_axis())].size.vmin() >= kScanLengths.back();
}

int KernelAxes::axis_of_dim(std::size_t dim) const {
  for (std::size_t a = 0; a < outputs_; ++a)
    if (std::find(axes_[a].dims.begin(), axes_[a].dims.end(), dim) != axes_[a].dims.end()) return static_cast<int>(a);
  return -1;
}

/// @throws Error (domain) for an Opt that would change the order of the scan
void KernelAxes::check_scan(const Opt& opt) const {
  const int scan = scan_axis();
  if (scan < 0) return;
  const auto axis = static_cast<std::size_t>(scan);
  const auto refuse = [&](bool holds, const char* why) { STRATA_CHECK(!holds, domain, "[", opt.text(), "] ", why); };
  switch (opt.kind) {
    case Opt::Kind::REORDER:
      return refuse(!opt.order.empty() && opt.order.back() != axis, "the axis of a scan stays innermost");
    case Opt::Kind::SPLIT: return refuse(true, "each axis beside a scan has one loop");
    case Opt::Kind::STAGE: return refuse(true, "no buffer of a scan is staged");
    case Opt::Kind::MERGE:
      return refuse(opt.axis == axis || opt.axis + 1 == axis, "the axis of a scan is merged with none");
    case Opt::Kind::LANES:
      if (opt.axis != axis) return;
      return refuse(opt.amount != kScanLanes, "lanes along a scan are 8, half a group");
    case Opt::Kind::UPCAST:
    case Opt::Kind::UNROLL:
    case Opt::Kind::CUT:
    case Opt::Kind::PADTO: return refuse(opt.axis == axis, "the axis of a scan is one loop");
    case Opt::Kind::PARALLEL: return refuse(opt.axis == axis && !has_shared_blocks(), "the axis of a scan is one loop");
    default: return;
  }
}

// --- Opts ---

std::string_view to_string(Opt::Kind kind) { return kOptNames[static_cast<std::size_t>(kind)]; }

std::string Opt::text() const {
  std::string out(to_string(kind));
  if (kind == Kind::REORDER) {
    for (const std::size_t a : order) out += detail::message(" ", a);
    return out;
  }
  if (has_axis(kind)) out += detail::message(" ", axis);
  if (has_amount(kind)) out += detail::message(" ", amount);
  if (kind == Kind::PACK) out += detail::message(" ", slot);
  if (segment != 0) out += detail::message(" @", segment);
  return out;
}

std::string text_of(std::span<const Opt> opts) {
  std::string out;
  for (const Opt& opt : opts) out += detail::message(out.empty() ? "" : ", ", opt.text());
  return out;
}

std::vector<Opt> parse_opts(std::string_view text) {
  std::vector<Opt> out;
  std::size_t at = 0;
  const auto fail = [&](std::string_view what) {
    throw Error(ErrorKind::parse, detail::message("[opts] ", what, " in column ", at + 1, " of \"", text, "\""),
                at + 1);
  };
  const auto spaces = [&] {
    while (at < text.size() && text[at] == ' ') ++at;
  };
  const auto number = [&] {
    std::int64_t value = 0;
    const auto [end, error] = std::from_chars(text.data() + at, text.data() + text.size(), value);
    if (error != std::errc() || value < 0) fail("a number is missing");
    at = static_cast<std::size_t>(end - text.data());
    spaces();
    return value;
  };
  const auto place = [&] {  // NOTE: std::size_t has 32 bits in WebAssembly
    const std::size_t begin = at;
    const std::int64_t value = number();
    if (value > std::numeric_limits<std::int32_t>::max()) at = begin, fail("a number is too large");
    return static_cast<std::size_t>(value);
  };
  for (spaces(); at < text.size(); spaces()) {
    Opt opt;
    const std::size_t begin = at;
    while (at < text.size() && text[at] >= 'A' && text[at] <= 'Z') ++at;
    const std::string_view word = text.substr(begin, at - begin);
    const auto* const kind = std::find(std::begin(kOptNames), std::end(kOptNames), word);
    if (kind == std::end(kOptNames)) at = begin, fail("an unknown transformation");
    opt.kind = static_cast<Opt::Kind>(kind - std::begin(kOptNames));
    spaces();
    if (opt.kind == Opt::Kind::REORDER) {
      while (at < text.size() && text[at] != ',') opt.order.push_back(place());
    } else {
      if (has_axis(opt.kind)) opt.axis = place();
      if (has_amount(opt.kind)) opt.amount = number();
      if (opt.kind == Opt::Kind::PACK) opt.slot = static_cast<int>(place());
      if (at < text.size() && text[at] == '@') ++at, opt.segment = place();
    }
    out.push_back(std::move(opt));
    if (at == text.size()) break;
    if (text[at] != ',') fail("a comma is missing");
    ++at;
    spaces();
    if (at == text.size()) fail("a transformation is missing");
  }
  return out;
}

LoopAxis& KernelAxes::axis_of(const Opt& opt) {
  STRATA_CHECK(opt.axis < axes_.size(), domain, "[", opt.text(), "] there is no axis ", opt.axis, ": the kernel has ",
               axes_.size());
  LoopAxis& axis = axes_[opt.axis];
  STRATA_CHECK(opt.segment < axis.segments.size(), domain, "[", opt.text(), "] axis ", opt.axis, " has ",
               axis.segments.size(), " segments");
  return axis;
}

void KernelAxes::apply(const Opt& opt) {
  check_scan(opt);
  check_scatter(opt);
  switch (opt.kind) {
    case Opt::Kind::SPLIT: return split(opt, PartKind::loop);
    case Opt::Kind::UPCAST: return split(opt, PartKind::upcast);
    case Opt::Kind::LANES: return split(opt, PartKind::lanes);
    case Opt::Kind::UNROLL: {
      const bool is_output = axis_of(opt).group < 0;
      return split(opt, is_output ? PartKind::upcast : PartKind::unroll);
    }
    case Opt::Kind::PARALLEL: return make_parallel(opt);
    case Opt::Kind::REORDER: return reorder(opt);
    case Opt::Kind::CUT: return cut(opt);
    case Opt::Kind::STAGE: return stage(opt);
    case Opt::Kind::PADTO: return pad_to(opt);
    case Opt::Kind::MERGE: return merge({&opt, 1});
    case Opt::Kind::SPLITREDUCE:
    case Opt::Kind::SPLITSCAN:
      throw Error(ErrorKind::domain, detail::message("[", opt.text(), "] splits the kernel into ",
                                                     opt.kind == Opt::Kind::SPLITSCAN ? "three" : "two",
                                                     " kernels: it must come before all other Opts"));
    case Opt::Kind::DOT:
      throw Error(ErrorKind::domain, detail::message("[", opt.text(),
                                                     "] has kernels of its own: it must come first, and "
                                                     "not with a SPLITREDUCE"));
    case Opt::Kind::PACK:
    case Opt::Kind::TRIM:
      throw Error(ErrorKind::domain, detail::message("[", opt.text(),
                                                     "] has a kernel of its own: it must come before "
                                                     "all other Opts, and not with a SPLITREDUCE"));
    case Opt::Kind::BLOCK:
      throw Error(ErrorKind::domain,
                  detail::message("[", opt.text(), "] cuts the kernel into kernels: it must be the only Opt"));
    case Opt::Kind::STREAM: return stream(opt);
    case Opt::Kind::GUARD: return guard(opt);
  }
}

void KernelAxes::apply(std::span<const Opt> opts) {
  while (!opts.empty()) {
    std::size_t merges = 0;
    while (merges < opts.size() && opts[merges].kind == Opt::Kind::MERGE &&
           (merges == 0 || opts[merges - 1].axis <= opts[merges].axis))
      ++merges;
    for (std::size_t k = 0; k < merges; ++k) check_scan(opts[k]), check_scatter(opts[k]);
    if (merges > 0)
      merge(opts.first(merges));
    else
      apply(opts[0]);
    opts = opts.subspan(std::max<std::size_t>(merges, 1));
  }
}

void KernelAxes::check_lanes(const Opt& opt) const {
  STRATA_CHECK(opt.amount <= DType::kMostLanes, domain, "[", opt.text(), "] a vector has at most ", DType::kMostLanes,
               " lanes");
  for (std::size_t a = 0; a < axes_.size(); ++a)
    for (const Segment& s : axes_[a].segments)
      for (const Part& p : s.parts)
        STRATA_CHECK(p.kind != PartKind::lanes || axes_[a].group != axes_[opt.axis].group || a == opt.axis, domain, "[",
                     opt.text(), "] axis ", a, " has the lanes already");
  for (const Part& p : axes_[opt.axis].segments[opt.segment].parts)
    STRATA_CHECK(p.kind != PartKind::lanes, domain, "[", opt.text(), "] the segment has lanes already");
}

void KernelAxes::check_copies(const Opt& opt) const {
  Int copies = opt.amount;
  for (const LoopAxis& axis : axes_) {
    Int most = 1;
    if (axis.group != axes_[opt.axis].group) continue;
    for (const Segment& s : axis.segments) {
      Int of_segment = 1;
      for (const Part& p : s.parts)
        if (p.kind == PartKind::upcast || p.kind == PartKind::unroll) of_segment *= p.size;
      if (of_segment.value() > most.value()) most = of_segment;
    }
    copies *= most;
  }
  STRATA_CHECK(copies.value() <= kMostCopies, domain, "[", opt.text(), "] ", copies.value(),
               " copies of the body are more than ", kMostCopies);
}

// Splits the innermost loop, of n iterations: a loop of n / amount iterations around a part of `amount` of the given
// kind. The remaining n % amount iterations become a segment of their own.
void KernelAxes::split(const Opt& opt, PartKind kind) {
  LoopAxis& axis = axis_of(opt);
  STRATA_CHECK(opt.amount >= 2 && opt.amount <= kMostAmount, domain, "[", opt.text(), "] the amount is from 2 to ",
               kMostAmount);
  if (kind == PartKind::lanes) check_lanes(opt);
  if (kind == PartKind::upcast || kind == PartKind::unroll) check_copies(opt);
  Segment segment = axis.segments[opt.segment];
  std::size_t at = segment.parts.size(), loops = 0;
  Int inside = opt.amount;
  for (std::size_t k = segment.parts.size(); k-- > 0;) {
    const bool is_loop = segment.parts[k].kind == PartKind::loop || segment.parts[k].kind == PartKind::parallel;
    if (is_loop && loops++ == 0) at = k;
    if (!is_loop && loops == 0) inside *= segment.parts[k].size;
  }
  STRATA_CHECK(at < segment.parts.size(), domain, "[", opt.text(), "] no loop is left to split");
  const Int trip_count = segment.parts[at].size;
  const Int whole = trip_count.is_number() ? Int(trip_count.value() / opt.amount) : Int(trip_count.expr() / opt.amount);
  const Int rest = trip_count - whole * Int(opt.amount);
  STRATA_CHECK(!trip_count.is_number() || whole.value() > 0, domain, "[", opt.text(), "] the loop has only ",
               trip_count.render(), " iterations");
  STRATA_CHECK(loops == 1 || rest == Int(0), domain, "[", opt.text(), "] ", opt.amount, " does not divide the ",
               trip_count.render(), " iterations of the inner loop");
  Segment left = segment;
  segment.parts[at].size = whole;
  segment.parts.insert(segment.parts.begin() + static_cast<std::ptrdiff_t>(at) + 1, Part{kind, opt.amount});
  axis.segments[opt.segment] = segment;
  if (rest == Int(0)) return;
  left.begin = segment.begin + whole * inside;
  left.parts[at] = {PartKind::loop, rest};
  axis.segments.insert(axis.segments.begin() + static_cast<std::ptrdiff_t>(opt.segment) + 1, left);
}

void KernelAxes::cut(const Opt& opt) {
  LoopAxis& axis = axis_of(opt);
  Segment& segment = axis.segments[opt.segment];
  STRATA_CHECK(segment.parts.size() == 1 && segment.parts[0].kind == PartKind::loop, domain, "[", opt.text(),
               "] the segment is split already: cut a segment before splitting");
  const Int first = Int(opt.amount) - segment.begin, rest = segment.parts[0].size - first;
  STRATA_CHECK(known(is_less(0, first)) && known(is_less(0, rest)), domain, "[", opt.text(), "] ", opt.amount,
               " is not inside of the segment");
  segment.parts[0].size = first;
  axis.segments.insert(axis.segments.begin() + static_cast<std::ptrdiff_t>(opt.segment) + 1,
                       Segment{opt.amount, {{PartKind::loop, rest}}});
}

std::size_t KernelAxes::outermost_loop(const std::vector<std::size_t>& order, std::size_t axis) const {
  for (const std::size_t a : order)
    if (a == axis || !axes_[a].is_once()) return a;
  return axis;
}

void KernelAxes::make_parallel(const Opt& opt) {
  LoopAxis& axis = axis_of(opt);
  STRATA_CHECK(axis.group < 0, domain, "[", opt.text(), "] axis ", opt.axis, " is reduced");
  STRATA_CHECK(parallel_axis() < 0, domain, "[", opt.text(), "] axis ", parallel_axis(), " is parallel already");
  const std::size_t outermost = outermost_loop(order_, opt.axis);
  STRATA_CHECK(outermost == opt.axis, domain, "[", opt.text(), "] the loop of axis ", outermost,
               " is outside of the axis, and only the outermost axis can be parallel");
  for (const LazyOp& s : kernel_.src())
    for (std::size_t k = 0; k < axis.dims.size(); ++k)
      STRATA_CHECK(s.shape()[axis.dims[k]] == axis.sizes[k], domain, "[", opt.text(),
                   "] a store does not depend on the axis: every thread would make the store");
  Part& first = axis.segments[opt.segment].parts.front();
  STRATA_CHECK(first.kind == PartKind::loop, domain, "[", opt.text(), "] the outermost part is not a loop");
  first.kind = PartKind::parallel;
}

void KernelAxes::reorder(const Opt& opt) {
  std::vector<std::size_t> sorted = opt.order;
  std::sort(sorted.begin(), sorted.end());
  bool is_permutation = sorted.size() == outputs_;
  for (std::size_t k = 0; k < sorted.size() && is_permutation; ++k) is_permutation = sorted[k] == k;
  STRATA_CHECK(is_permutation, domain, "[", opt.text(), "] the order is not a permutation of the ", outputs_,
               " output axes");
  const int parallel = parallel_axis();
  if (parallel >= 0) {
    const auto axis = static_cast<std::size_t>(parallel);
    STRATA_CHECK(outermost_loop(opt.order, axis) == axis, domain, "[", opt.text(), "] the parallel axis ", parallel,
                 " stays outermost");
  }
  order_ = opt.order;
}

void KernelAxes::pad_to(const Opt& opt) {
  LoopAxis& axis = axis_of(opt);
  STRATA_CHECK(opt.amount >= 2 && opt.amount <= kMostAmount, domain, "[", opt.text(), "] the amount is from 2 to ",
               kMostAmount);
  STRATA_CHECK(axis.segments.size() == 1 && axis.segments[0].parts.size() == 1 &&
                   axis.segments[0].parts[0].kind == PartKind::loop,
               domain, "[", opt.text(), "] the axis is cut or split already: pad an axis first");
  // A loop of one iteration may be outside of the parallel loop; it would get more.
  if (const int parallel = parallel_axis(); parallel >= 0)
    STRATA_CHECK(std::find(order_.begin(), order_.end(), static_cast<std::size_t>(parallel)) <
                     std::find(order_.begin(), order_.end(), opt.axis),
                 domain, "[", opt.text(), "] the axis is outside of the parallel axis ", parallel);
  Part& loop = axis.segments[0].parts[0];
  loop.size = ceildiv(loop.size.expr(), opt.amount) * opt.amount;
  axis.padded = !(loop.size == axis.size);
}

void KernelAxes::stage(const Opt& opt) {
  STRATA_CHECK(axis_of(opt).group < 0, domain, "[", opt.text(), "] axis ", opt.axis, " is reduced");
  const std::vector<BufferUse> buffers = buffers_of(kernel_);
  const bool is_there = opt.amount >= 0 && opt.amount < static_cast<std::int64_t>(buffers.size());
  STRATA_CHECK(is_there && buffers[static_cast<std::size_t>(opt.amount)].read, domain, "[", opt.text(),
               "] the kernel does not load buffer ", opt.amount);
  STRATA_CHECK(!buffers[static_cast<std::size_t>(opt.amount)].written, domain, "[", opt.text(), "] buffer ", opt.amount,
               " is written by the kernel");
  for (const Stage& s : stages_)
    STRATA_CHECK(s.slot != opt.amount, domain, "[", opt.text(), "] buffer ", opt.amount, " is staged already");
  stages_.push_back({opt.axis, static_cast<int>(opt.amount)});
}

void KernelAxes::stream(const Opt& opt) {
  const std::vector<BufferUse> buffers = buffers_of(kernel_);
  const bool is_there = opt.amount >= 0 && opt.amount < static_cast<std::int64_t>(buffers.size());
  STRATA_CHECK(is_there && buffers[static_cast<std::size_t>(opt.amount)].written, domain, "[", opt.text(),
               "] the kernel does not store to buffer ", opt.amount);
  STRATA_CHECK(!buffers[static_cast<std::size_t>(opt.amount)].read, domain, "[", opt.text(), "] buffer ", opt.amount,
               " is read by the kernel");
  STRATA_CHECK(!streams(static_cast<int>(opt.amount)), domain, "[", opt.text(), "] buffer ", opt.amount,
               " is streamed already");
  streamed_.push_back(static_cast<int>(opt.amount));
}

void KernelAxes::guard(const Opt& opt) {
  const std::vector<BufferUse> buffers = buffers_of(kernel_);
  const bool is_there = opt.amount >= 0 && opt.amount < static_cast<std::int64_t>(buffers.size()) &&
                        !buffers[static_cast<std::size_t>(opt.amount)].dtype.is_none();
  STRATA_CHECK(is_there, domain, "[", opt.text(), "] the kernel has no buffer ", opt.amount);
  STRATA_CHECK(!guards(static_cast<int>(opt.amount)), domain, "[", opt.text(), "] buffer ", opt.amount,
               " is guarded already");
  guarded_.push_back(static_cast<int>(opt.amount));
}

/// For each store, whether it has more than one element along the output axis.
std::vector<bool> KernelAxes::running_over(const LoopAxis& axis) const {
  std::vector<bool> out;
  for (const LazyOp& s : kernel_.src())
    out.push_back(
        axis.group < 0 &&
        std::any_of(axis.dims.begin(), axis.dims.end(), [&](std::size_t t) { return !is_one(s.shape()[t]); }));
  return out;
}

namespace {

/// Merges axis `second` into `first`.
void take_in(LoopAxis& first, const LoopAxis& second) {
  first.size = first.size * second.size;
  first.segments = {{0, {{PartKind::loop, first.size}}}};
  first.dims.insert(first.dims.end(), second.dims.begin(), second.dims.end());
  for (const Int& size : second.sizes) first.sizes.push_back(size);
}

/// @throws Error (domain) where one of the axes is cut, split or padded already
void check_mergeable(const Opt& opt, const LoopAxis& first, const LoopAxis& second) {
  for (const LoopAxis* axis : {&first, &second})
    STRATA_CHECK(axis->segments.size() == 1 && axis->segments[0].parts.size() == 1 &&
                     axis->segments[0].parts[0].kind == PartKind::loop,
                 domain, "[", opt.text(), "] axes are merged before they are cut or split");
  STRATA_CHECK(!first.padded && !second.padded, domain, "[", opt.text(), "] axes are merged before they are padded");
}

}  // namespace

/// Applies MERGEs in one pass, as there may be thousands: axes up to `at` are at their final positions, those from
/// `next` on at their old ones. @pre the axes of the MERGEs are in ascending order
void KernelAxes::merge(std::span<const Opt> opts) {
  STRATA_CHECK(stages_.empty(), domain, "[", opts[0].text(), "] axes are merged before buffers are staged");
  std::size_t at = 0, next = 1;
  std::vector<bool> is_gone(axes_.size(), false),
      running;  // running_over() of axis `at`, once it is known
  const auto step = [&] {
    if (++at != next) axes_[at] = std::move(axes_[next]);
    ++next;
    running.clear();
  };
  const auto merge_next = [&](const Opt& opt) {
    while (at < opt.axis && next < axes_.size()) step();
    STRATA_CHECK(at == opt.axis && at < axes_.size(), domain, "[", opt.text(), "] there is no axis ", opt.axis,
                 ": the kernel has ", axes_.empty() ? 0 : at + 1);
    LoopAxis& first = axes_[at];
    STRATA_CHECK(next < axes_.size() && axes_[next].group == first.group, domain, "[", opt.text(),
                 "] no axis of the same kind follows axis ", opt.axis);
    const LoopAxis& second = axes_[next];
    check_mergeable(opt, first, second);
    if (running.empty()) running = running_over(first);
    const std::vector<bool> more = running_over(second);
    STRATA_CHECK(running == more || is_one(first.size) || is_one(second.size), domain, "[", opt.text(),
                 "] a store runs over one of the axes only");
    take_in(first, second);
    for (std::size_t s = 0; s < more.size(); ++s) running[s] = running[s] || more[s];
    is_gone[next++] = true;
  };
  const auto finish = [&] {
    while (next < axes_.size()) step();
    remove_axes(is_gone);
  };
  try {
    for (const Opt& opt : opts) merge_next(opt);
  } catch (const Error&) {
    finish();
    throw;
  }
  finish();
}

/// Renumbers axes after MERGEs: `is_gone` marks the merged ones; the remaining axes are at the front of axes_ already.
void KernelAxes::remove_axes(const std::vector<bool>& is_gone) {
  std::vector<std::size_t> before(is_gone.size() + 1, 0);  // how many axes in front of each are gone
  for (std::size_t a = 0; a < is_gone.size(); ++a) before[a + 1] = before[a] + (is_gone[a] ? 1 : 0);
  axes_.resize(axes_.size() - before.back());
  std::erase_if(order_, [&](std::size_t a) { return is_gone[a]; });
  for (std::size_t& a : order_) a -= before[a];
  outputs_ -= before[outputs_];
  for (ReduceGroup& g : groups_) {
    const std::size_t gone = before[g.first + g.count] - before[g.first];
    g.first -= before[g.first];
    g.count -= gone;
  }
}

int KernelAxes::parallel_axis() const {
  for (std::size_t a = 0; a < outputs_; ++a)
    for (const Segment& s : axes_[a].segments)
      if (!s.parts.empty() && s.parts[0].kind == PartKind::parallel) return static_cast<int>(a);
  return -1;
}

std::string KernelAxes::text() const {
  std::string out;
  for (std::size_t a = 0; a < axes_.size(); ++a) {
    const LoopAxis& axis = axes_[a];
    out += detail::message(a, axis.group < 0 ? " output " : " reduce ", axis.size.render(), ":");
    for (std::size_t s = 0; s < axis.segments.size(); ++s) {
      out += s == 0 ? "" : " |";
      for (std::size_t k = 0; k < axis.segments[s].parts.size(); ++k)
        out += detail::message(k == 0 ? " " : ", ", to_string(axis.segments[s].parts[k].kind), " ",
                               axis.segments[s].parts[k].size.render());
    }
    out += "\n";
  }
  return out;
}

}  // namespace strata
