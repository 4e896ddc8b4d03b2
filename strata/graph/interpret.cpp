// The reference interpreter. Simplicity is preferred to speed, as it is the oracle of all tests.

#include "strata/graph/interpret.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <optional>
#include <unordered_map>
#include <unordered_set>

#include "strata/base/interrupt.h"
#include "strata/ir/scan_order.h"
#include "strata/ir/sum_order.h"
#include "strata/view/merge.h"

namespace strata {

namespace {

constexpr std::int64_t kMostElements = std::int64_t{1} << 31;

/// Called for each element: checks for interruption from time to time.
void step() {
  constexpr std::uint32_t kPollInterval = 1U << 16;  // elements
  thread_local constinit std::uint32_t steps = 0;
  if (++steps % kPollInterval == 0) check_interrupt();
}

/// The elements of one node, row-major.
struct Elements {
  DType dtype;
  Index shape;
  std::vector<std::byte> bytes;

  Elements(DType d, Index s) : dtype(d), shape(std::move(s)) {
    const std::int64_t n = product(shape);
    STRATA_CHECK(n <= kMostElements, budget, "[interpret] a tensor of shape ", render(shape), " is too large");
    bytes.resize(static_cast<std::size_t>(n) * dtype.itemsize());
  }
  std::size_t size() const { return bytes.size() / dtype.itemsize(); }
  Scalar at(std::size_t k) const { return load_scalar(dtype, bytes.data() + k * dtype.itemsize()); }
  void put(std::size_t k, const Scalar& v) { store_scalar(v, bytes.data() + k * dtype.itemsize()); }
};

/// Advances to the next index in row-major order; false after the last one.
bool advance(Index& at, const Index& shape) {
  for (std::size_t t = shape.size(); t-- > 0;) {
    if (++at[t] < shape[t]) return true;
    at[t] = 0;
  }
  return false;
}

/// A stack of Views as a function from index to address.
class Address {
 public:
  explicit Address(std::vector<Strided> views) : views_(std::move(views)) {}

  /// The address of an index of the last View; nothing where the index is invalid.
  std::optional<std::int64_t> operator()(const Index& idxs) const {
    Index at = idxs;
    for (std::size_t k = views_.size(); k-- > 0;) {
      const Strided& v = views_[k];
      std::int64_t address = v.offset;
      for (std::size_t t = 0; t < at.size(); ++t) {
        if (at[t] < v.begin[t] || at[t] >= v.end[t]) return std::nullopt;
        address += at[t] * v.stride[t];
      }
      if (k == 0) return address;
      const Index& below = views_[k - 1].shape;
      at = Index(below.size(), 0);
      for (std::size_t t = below.size(); t-- > 0;) {
        if (below[t] == 0) return std::nullopt;
        at[t] = floor_mod(address, below[t]);
        address = floor_div(address, below[t]);
      }
    }
    return std::nullopt;
  }

 private:
  std::vector<Strided> views_;
};

/// A SUM or PROD of floats, in the order of ir/sum_order.h, one result element after another.
class OrderedSum {
 public:
  OrderedSum(const LazyNode& n, const Elements& x)
      : x_(x), op_(combining_op(n.op)), type_(accumulator_of(n.op, n.dtype)), identity_(identity_of(n.op, type_)) {
    const Index strides = contiguous_box(x.shape).stride;
    Ints sizes;
    for (const std::int64_t a : std::get<Axes>(n.arg)) {
      sizes.push_back(n.src[0].shape()[static_cast<std::size_t>(a)]);
      sizes_.push_back(x.shape[static_cast<std::size_t>(a)]);
      strides_.push_back(strides[static_cast<std::size_t>(a)]);
    }
    digits_ = sum_order({sizes.data(), sizes.size()});
  }

  void into(Elements& out) {
    const Index strides = contiguous_box(x_.shape).stride;
    Index at(out.shape.size(), 0);
    for (std::size_t k = 0; k < out.size(); ++k, advance(at, out.shape)) {
      first_ = 0;
      for (std::size_t t = 0; t < at.size(); ++t) first_ += at[t] * strides[t];
      Scalar total = identity_;
      if (product(sizes_) != 0) {
        Index none(sizes_.size(), 0);
        add(0, none, total);
      }
      out.put(k, total.cast(out.dtype));
    }
  }

 private:
  /// Adds to `total` all elements whose digits in front of digit `d` are those of `at`.
  void add(std::size_t d, Index& at, Scalar& total) {
    if (d == digits_.size()) {
      step();
      std::int64_t address = first_;
      for (std::size_t k = 0; k < at.size(); ++k) address += at[k] * strides_[k];
      combine(total, x_.at(static_cast<std::size_t>(address)).cast(type_));
      return;
    }
    const SumDigit& digit = digits_[d];
    std::int64_t& index = at[digit.axis];
    const std::int64_t begin = index;
    Scalar own = digit.continues ? total : identity_;
    for (std::int64_t k = 0; k < digit.count && index < sizes_[digit.axis]; ++k) {
      add(d + 1, at, own);
      index += digit.stride;
    }
    index = begin;
    if (digit.continues)
      total = own;
    else
      combine(total, own);
  }
  void combine(Scalar& total, const Scalar& value) const {
    const std::array operands{total, value};
    total = evaluate(op_, operands);
  }

  const Elements& x_;
  Ops op_;
  DType type_;
  Scalar identity_;
  Index sizes_, strides_;  // of the reduced axes
  std::vector<SumDigit> digits_;
  std::int64_t first_ = 0;  // the element of x with all reduced indices 0
};

/// One row of an ASSOCIATIVE_SCAN, in the order of ir/scan_order.h: from the operands, of a recurrence the factors and
/// the term, of scan_behind() the totals in front of blocks and the elements, to `out`, at the places begin, begin +
/// stride, ...
class ScannedRow {
 public:
  ScannedRow(const LazyNode& n, std::vector<const Elements*> operands, Elements& out)
      : op_(std::get<AxisArg>(n.arg).op), dtype_(n.dtype), operands_(std::move(operands)), out_(out) {}

  void run(std::size_t begin, std::size_t stride, std::int64_t size) {
    begin_ = begin, stride_ = stride;
    if (op_ == Ops::MULACC) return recur(size);
    const Scalar identity = identity_of(op_, dtype_);
    std::array<Scalar, 3> totals = {identity, identity, identity};  // of the groups, runs and blocks in front
    for (std::int64_t group = 0; group < size; group += kScanGroup) {
      const int count = static_cast<int>(std::min(kScanGroup, size - group));
      if (operands_.size() == 2 && group % kScanLengths[2] == 0) totals[2] = operands_[0]->at(place(group));
      const std::vector<Scalar> prefixes = prefixes_of(group, count);
      const Scalar in_front = with(with(totals[2], totals[1]), totals[0]);
      for (int k = 0; k < count; ++k) out_.put(place(group + k), with(prefixes[static_cast<std::size_t>(k)], in_front));
      totals[0] = with(totals[0], prefixes.back());
      for (std::size_t level = 0; level + 1 < totals.size(); ++level) {
        if ((group + kScanGroup) % kScanLengths[level + 1] != 0) break;
        totals[level + 1] = with(totals[level + 1], totals[level]);
        totals[level] = identity;
      }
    }
  }

 private:
  std::size_t place(std::int64_t k) const { return begin_ + static_cast<std::size_t>(k) * stride_; }
  Scalar with(const Scalar& total, const Scalar& value) const {
    const std::array operands{total, value};
    return evaluate(combining_op(op_), operands);
  }
  std::vector<Scalar> prefixes_of(std::int64_t group, int count) const {
    std::vector<Scalar> out;
    for (int k = 0; k < count; ++k) out.push_back(operands_.back()->at(place(group + k)));
    for (int half = 1; half < kScanGroup; half *= 2)
      for (int k = 0; k < count; ++k)
        if (const int partner = scan_partner(k, half); partner >= 0) {
          step();
          auto& prefix = out[static_cast<std::size_t>(k)];
          prefix = with(prefix, out[static_cast<std::size_t>(partner)]);
        }
    return out;
  }
  void recur(std::int64_t size) {
    const std::size_t factors = operands_.size() - 1;
    std::vector<Scalar> before(factors, Scalar::of(dtype_, std::int64_t{0}));  // y[k-1], y[k-2], ...
    for (std::int64_t k = 0; k < size; ++k) {
      Scalar y = operands_.back()->at(place(k));
      for (std::size_t j = factors; j-- > 0;) {
        step();
        const std::array product{operands_[j]->at(place(k)), before[j]};
        const std::array sum{evaluate(Ops::MUL, product), y};
        y = evaluate(Ops::ADD, sum);
      }
      before.pop_back();
      before.insert(before.begin(), y);
      out_.put(place(k), y);
    }
  }

  Ops op_;
  DType dtype_;
  std::vector<const Elements*> operands_;
  Elements& out_;
  std::size_t begin_ = 0, stride_ = 1;
};

class Run {
 public:
  Run(std::span<const Memory> buffers, NamedValues values) : buffers_(buffers), values_(values) {}

  void kernel(const LazyOp& sink) {
    const std::vector<const LazyNode*> nodes = postorder(sink);
    const std::unordered_set<const LazyNode*> whole = computed_whole(nodes);
    for (const LazyNode* n : nodes)
      if (whole.contains(n)) done_.emplace(n, compute(*n));
    for (const LazyOp& s : sink.src()) store(*s.node());
  }

 private:
  /// Ops through which a GATHER reads single elements: its table may be much larger than the elements that it reads.
  static bool is_transparent(Ops op) {
    return is_movement(op) || op == Ops::LOAD || op == Ops::CONST || op == Ops::IOTA;
  }
  /// All nodes except stores and nodes that only GATHERs read through.
  static std::unordered_set<const LazyNode*> computed_whole(std::span<const LazyNode* const> nodes) {
    std::unordered_set<const LazyNode*> out;
    for (std::size_t k = nodes.size(); k-- > 0;) {
      const LazyNode& n = *nodes[k];
      const bool is_whole = out.contains(&n) || n.op == Ops::STORE;
      for (std::size_t j = 0; j < n.src.size(); ++j) {
        const bool looks_through = is_whole ? n.op == Ops::GATHER && j == 0 : is_transparent(n.op);
        if (n.op != Ops::SINK && !(looks_through && is_transparent(n.src[j].op()))) out.insert(n.src[j].node());
      }
    }
    return out;
  }

  // --- sizes ---
  std::int64_t number(const Int& v) {
    if (v.is_number()) return v.value();
    const Values all = assignment(variables(v.expr()));
    return evaluate(v.expr(), all);
  }
  Values assignment(const std::vector<Variable>& of) {
    Values out;
    for (const Variable& v : of) {
      if (v.bound_value()) continue;
      const std::int64_t value = value_of(v.name());
      STRATA_CHECK(v.min() <= value && value <= v.max(), domain, "[interpret] ", v.name(), " = ", value,
                   " is outside of its bounds [", v.min(), ", ", v.max(), "]");
      out.emplace_back(v, value);
    }
    return out;
  }
  std::int64_t value_of(std::string_view name) const {
    for (const auto& [known, value] : values_)
      if (known == name) return value;
    throw Error(ErrorKind::domain, detail::message("[interpret] the variable ", name, " has no value"));
  }
  Index numbers_of(const Ints& sizes) {
    Index out;
    for (const Int& v : sizes) out.push_back(number(v));
    return out;
  }
  Address address_of(const ShapeTracker& st) {
    Substitution map;
    for (const auto& [v, value] : assignment(st.vars())) map.emplace_back(v, value);
    const ShapeTracker numbers = (map.empty() ? st : st.substitute(map)).unbind().first;
    return Address(to_strided(numbers.views()));
  }

  // --- memory ---
  std::byte* element(const BufferArg& arg, DType dtype, std::int64_t address, const Index& at) {
    const Memory* buffer =
        static_cast<std::size_t>(arg.slot) < buffers_.size() ? &buffers_[static_cast<std::size_t>(arg.slot)] : nullptr;
    STRATA_CHECK(buffer != nullptr && (buffer->data != nullptr || buffer->size == 0), domain,
                 "[interpret] there is no buffer ", arg.slot);
    STRATA_CHECK(address >= 0 && address < buffer->size, domain, "[interpret] index ", render(at), " is element ",
                 address, " of buffer ", arg.slot, ", which has ", buffer->size);
    return static_cast<std::byte*>(buffer->data) + static_cast<std::size_t>(address) * dtype.itemsize();
  }

  // --- nodes ---
  Elements compute(const LazyNode& n) {
    if (is_elementwise(n.op)) return elements(n);
    if (is_reduce(n.op)) return reduction(n);
    if (is_scan(n.op)) return scanned(n);
    if (is_movement(n.op)) return movement(n);
    if (n.op == Ops::CONTIGUOUS) return done_.at(n.src[0].node());
    switch (n.op) {
      case Ops::LOAD: {
        const BufferArg& arg = std::get<BufferArg>(n.arg);
        return leaf(n, arg.st, [&](std::int64_t address, const Index& at) {
          return load_scalar(n.dtype, element(arg, n.dtype, address, at));
        });
      }
      case Ops::CONST: {
        const ConstArg& arg = std::get<ConstArg>(n.arg);
        return leaf(n, arg.st, [&](std::int64_t, const Index&) { return arg.value; });
      }
      case Ops::IOTA:
        return leaf(n, std::get<ShapeTracker>(n.arg),
                    [&](std::int64_t address, const Index&) { return Scalar::of(n.dtype, address); });
      case Ops::GATHER: return gathered(n);
      case Ops::SCATTER: return scattered(n);
      case Ops::ORDER: return ordered(n);
      default:
        throw Error(ErrorKind::domain, detail::message("[interpret] ", spec_name(n.op), " is not part of a kernel"));
    }
  }

  template <class F>
  Elements leaf(const LazyNode& n, const ShapeTracker& st, const F& value) {
    Elements out(n.dtype, numbers_of(n.shape));
    const Address address_at = address_of(st);
    Index at(out.shape.size(), 0);
    for (std::size_t k = 0; k < out.size(); ++k, advance(at, out.shape)) {
      step();
      const std::optional<std::int64_t> address = address_at(at);
      out.put(k, address ? value(*address, at) : Scalar::of(n.dtype, std::int64_t{0}));
    }
    return out;
  }

  Elements elements(const LazyNode& n) {
    Elements out(n.dtype, numbers_of(n.shape));
    const DType to = n.op == Ops::CAST || n.op == Ops::BITCAST ? n.dtype : dtypes::none;
    std::vector<const Elements*> operands;
    for (const LazyOp& s : n.src) operands.push_back(&done_.at(s.node()));
    std::vector<Scalar> scalars(operands.size());
    for (std::size_t k = 0; k < out.size(); ++k) {
      step();
      for (std::size_t j = 0; j < operands.size(); ++j) scalars[j] = operands[j]->at(k);
      out.put(k, evaluate(n.op, scalars, to));
    }
    return out;
  }

  Elements reduction(const LazyNode& n) {
    const Elements& x = done_.at(n.src[0].node());
    Elements out(n.dtype, numbers_of(n.shape));
    if (is_ordered(n.op, n.dtype)) {
      OrderedSum(n, x).into(out);
      return out;
    }
    const Ops op = combining_op(n.op);
    const Scalar first = identity_of(n.op, n.dtype);
    for (std::size_t k = 0; k < out.size(); ++k) out.put(k, first);
    const Index places = contiguous_box(out.shape).stride;
    Index at(x.shape.size(), 0);
    for (std::size_t k = 0; k < x.size(); ++k, advance(at, x.shape)) {
      step();
      std::int64_t to = 0;
      for (std::size_t t = 0; t < at.size(); ++t)
        if (out.shape[t] != 1) to += at[t] * places[t];
      const auto place = static_cast<std::size_t>(to);
      const std::array operands{out.at(place), x.at(k)};
      out.put(place, evaluate(op, operands));
    }
    return out;
  }

  Elements scanned(const LazyNode& n) {
    Elements out(n.dtype, numbers_of(n.shape));
    std::vector<const Elements*> operands;
    for (const LazyOp& s : n.src) operands.push_back(&done_.at(s.node()));
    ScannedRow row(n, std::move(operands), out);
    const auto axis = static_cast<std::size_t>(std::get<AxisArg>(n.arg).axis);
    const std::int64_t size = out.shape[axis], stride = contiguous_box(out.shape).stride[axis];
    if (out.size() == 0) return out;
    for (std::int64_t k = 0; k < static_cast<std::int64_t>(out.size()); ++k)
      if (k / stride % size == 0) row.run(static_cast<std::size_t>(k), static_cast<std::size_t>(stride), size);
    return out;
  }

  Elements movement(const LazyNode& n) {
    const Elements& x = done_.at(n.src[0].node());
    Elements out(n.dtype, numbers_of(n.shape));
    const Address address_at = address_of(movement_of(n));
    Index at(out.shape.size(), 0);
    for (std::size_t k = 0; k < out.size(); ++k, advance(at, out.shape)) {
      step();
      const std::optional<std::int64_t> address = address_at(at);
      out.put(k, address ? x.at(static_cast<std::size_t>(*address)) : Scalar::of(n.dtype, std::int64_t{0}));
    }
    return out;
  }

  Elements gathered(const LazyNode& n) {
    const Elements& index = done_.at(n.src[1].node());
    Elements out(n.dtype, numbers_of(n.shape));
    const std::int64_t size = n.src[0].shape().back().value();
    Index at(out.shape.size(), 0);
    for (std::size_t k = 0; k < out.size(); ++k, advance(at, out.shape)) {
      step();
      const Scalar chosen = index.at(k);
      const bool is_inside = chosen.dtype().is_unsigned() ? chosen.bits() < static_cast<std::uint64_t>(size)
                                                          : chosen.as_int() >= 0 && chosen.as_int() < size;
      Index place = at;
      place.push_back(is_inside ? chosen.as_int() : 0);
      out.put(k, is_inside ? looked_up(n.src[0].node(), place) : Scalar::of(n.dtype, std::int64_t{0}));
    }
    return out;
  }
  Elements scattered(const LazyNode& n) {
    const auto& [op, along] = std::get<AxisArg>(n.arg);
    const Elements &index = done_.at(n.src[1].node()), &values = done_.at(n.src[2].node());
    Elements out = done_.at(n.src[0].node());
    const auto axis = static_cast<std::size_t>(along);
    Index at(index.shape.size(), 0);
    for (std::size_t k = 0; k < index.size(); ++k, advance(at, index.shape)) {
      step();
      const Scalar chosen = index.at(k);
      const std::int64_t size = out.shape[axis];
      const bool is_inside = chosen.dtype().is_unsigned() ? chosen.bits() < static_cast<std::uint64_t>(size)
                                                          : chosen.as_int() >= 0 && chosen.as_int() < size;
      if (!is_inside) continue;
      Index place = at;
      place[axis] = chosen.as_int();
      const auto to = static_cast<std::size_t>(flat(place, out.shape));
      const std::array operands{out.at(to), values.at(k)};
      out.put(to, op == Ops::NOOP ? operands[1] : evaluate(combining_op(op), operands));
    }
    return out;
  }
  /// Whether `a` comes in front of `b` in ascending order.
  static bool is_less(const Scalar& a, const Scalar& b) {
    if (a.is_nan() || b.is_nan()) return !a.is_nan() && b.is_nan();
    const std::array operands{a, b};
    return evaluate(Ops::CMPLT, operands).as_int() != 0;
  }
  Elements ordered(const LazyNode& n) {
    const auto& arg = std::get<OrderArg>(n.arg);
    const Elements& x = done_.at(n.src[0].node());
    Elements out(n.dtype, numbers_of(n.shape));
    if (out.size() == 0) return out;
    const auto axis = static_cast<std::size_t>(arg.axis);
    const std::int64_t size = x.shape[axis], inner = contiguous_box(x.shape).stride[axis];
    const std::int64_t first = number(arg.first), count = out.shape[axis];
    std::vector<std::int64_t> places(static_cast<std::size_t>(size));
    for (std::int64_t row = 0; row < static_cast<std::int64_t>(x.size()) / size; ++row) {
      const std::int64_t outer = row / inner, in = row % inner;
      const auto at = [&](std::int64_t k) { return x.at(static_cast<std::size_t>((outer * size + k) * inner + in)); };
      for (std::int64_t k = 0; k < size; ++k) places[static_cast<std::size_t>(k)] = k;
      std::sort(places.begin(), places.end(), [&](std::int64_t a, std::int64_t b) {
        step();
        const Scalar left = at(a), right = at(b);
        const bool is_before = arg.is_descending ? is_less(right, left) : is_less(left, right);
        const bool is_behind = arg.is_descending ? is_less(left, right) : is_less(right, left);
        return is_before || (!is_behind && a < b);
      });
      for (std::int64_t k = 0; k < count; ++k) {
        const std::int64_t place = places[static_cast<std::size_t>(first + k)];
        out.put(static_cast<std::size_t>((outer * count + k) * inner + in),
                arg.of_places ? Scalar::of(n.dtype, place) : at(place));
      }
    }
    return out;
  }
  /// One element of a node, read through nodes that are not computed whole.
  Scalar looked_up(const LazyNode* n, Index at) {
    const Scalar zero = Scalar::of(n->dtype, std::int64_t{0});
    while (is_movement(n->op) && !done_.contains(n)) {
      const std::optional<std::int64_t> address = known_address(*n, [&] { return movement_of(*n); })(at);
      if (!address) return zero;
      n = n->src[0].node();
      at = unravelled(*address, numbers_of(n->shape));
    }
    if (const auto it = done_.find(n); it != done_.end())
      return it->second.at(static_cast<std::size_t>(flat(at, it->second.shape)));
    if (n->op == Ops::LOAD) {
      const BufferArg& arg = std::get<BufferArg>(n->arg);
      const auto address = known_address(*n, [&] { return arg.st; })(at);
      return address ? load_scalar(n->dtype, element(arg, n->dtype, *address, at)) : zero;
    }
    const auto* constant = std::get_if<ConstArg>(&n->arg);
    const auto address =
        known_address(*n, [&] { return constant ? constant->st : std::get<ShapeTracker>(n->arg); })(at);
    return !address ? zero : constant ? constant->value : Scalar::of(n->dtype, *address);
  }
  template <class F>
  const Address& known_address(const LazyNode& n, const F& st) {
    const auto it = addresses_.find(&n);
    return it != addresses_.end() ? it->second : addresses_.emplace(&n, address_of(st())).first->second;
  }
  static Index unravelled(std::int64_t address, const Index& shape) {
    Index out(shape.size(), 0);
    for (std::size_t t = shape.size(); t-- > 0; address /= shape[t]) out[t] = address % shape[t];
    return out;
  }
  static std::int64_t flat(const Index& at, const Index& shape) {
    std::int64_t out = 0;
    for (std::size_t t = 0; t < at.size(); ++t) out = out * shape[t] + at[t];
    return out;
  }

  void store(const LazyNode& n) {
    const BufferArg& arg = std::get<BufferArg>(n.arg);
    const Elements& x = done_.at(n.src[0].node());
    const Address address_at = address_of(arg.st);
    Index at(x.shape.size(), 0);
    for (std::size_t k = 0; k < x.size(); ++k, advance(at, x.shape)) {
      step();
      if (const auto address = address_at(at)) store_scalar(x.at(k), element(arg, x.dtype, *address, at));
    }
  }

  std::span<const Memory> buffers_;
  NamedValues values_;
  std::unordered_map<const LazyNode*, Elements> done_;
  std::unordered_map<const LazyNode*, Address> addresses_;
};

}  // namespace

void interpret(const LazyOp& kernel, std::span<const Memory> buffers, NamedValues values) {
  STRATA_CHECK(kernel.op() == Ops::SINK, domain, "[interpret] ", spec_name(kernel.op()), " is not a kernel: a SINK is");
  Run(buffers, values).kernel(kernel);
}

}  // namespace strata
