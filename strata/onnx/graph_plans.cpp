// The plan of each node: what it becomes is found here, by operation; patterns are asked first. Memory, constants,
// movement and reductions.
#include <algorithm>
#include <array>

#include "strata/base/check.h"
#include "strata/dtype/scalar.h"
#include "strata/engine/buffer_storage.h"
#include "strata/graph/step_graph.h"
#include "strata/onnx/graph_writer.h"
#include "strata/runtime/buffer.h"
#include "strata/tensor/tensor.h"

namespace strata::onnx {
namespace {

using detail::message;

constexpr std::int64_t kMostOfConstant = 4096;  // elements of a Constant; more are an initializer
constexpr std::int64_t kMostOfTable = std::int64_t{1} << 22;

std::string name_of_op(Ops op) { return std::string(row(op).name); }

/// The sizes of `shape` that are not 1.
Ints squeezed(const Ints& shape) {
  Ints out;
  for (const Int& size : shape)
    if (!is_one(size)) out.push_back(size);
  return out;
}

Plan reshape_plan(const LazyOp& n, GraphWriter& w) {
  const Ints &from = n.src(0).shape(), &to = n.shape();
  return {{n.src(0)}, [&w, from, to](std::span<const Written> in) -> Written {
            const Written& x = in[0];
            if (product(x.shape) == Int(1)) return w.reshaped(x, {});
            if (!(squeezed(from) == squeezed(to))) return w.reshaped(w.full(x, from), to);
            // Only dimensions of size 1 come and go: what is not expanded yet stays so, and ones in front are left out.
            const Ints own = aligned(x.shape, from.size());
            Ints sizes;
            std::size_t d = 0;
            for (const Int& size : to) {
              while (!is_one(size) && is_one(from[d])) ++d;
              const Int next = is_one(size) ? Int(1) : own[d++];
              if (!sizes.empty() || !is_one(next)) sizes.push_back(next);
            }
            return w.reshaped(x, sizes);
          }};
}

Plan permute_plan(const LazyOp& n, GraphWriter& w) {
  const Axes order = std::get<Axes>(n.arg());
  return {{n.src(0)}, [&w, order](std::span<const Written> in) -> Written {
            if (product(in[0].shape) == Int(1)) return w.reshaped(in[0], {});
            return w.transposed(w.reshaped(in[0], aligned(in[0].shape, order.size())), order);
          }};
}

Plan pad_plan(const LazyOp& n, GraphWriter& w) {
  const Padding& padding = std::get<Padding>(n.arg());
  Axes axes;
  for (std::size_t k = 0; k < padding.size(); ++k)
    if (!(padding[k].first == Int(0)) || !(padding[k].second == Int(0))) axes.push_back(static_cast<std::int64_t>(k));
  const Ints &from = n.src(0).shape(), &to = n.shape();
  return {{n.src(0)}, [&w, padding, axes, from, to](std::span<const Written> in) {
            const Written x = w.at_least(w.reshaped(in[0], aligned(in[0].shape, from.size())), from, axes);
            Ints pads, shape = x.shape;
            for (const auto& p : padding) pads.push_back(p.first);
            for (const auto& p : padding) pads.push_back(p.second);
            for (const std::int64_t a : axes) shape[static_cast<std::size_t>(a)] = to[static_cast<std::size_t>(a)];
            const Written zero = w.constant(Scalar::of(x.dtype, std::int64_t{0}));
            return w.add("Pad", {x, w.sizes(pads), zero}, {}, x.dtype, shape);
          }};
}

/// SHRINK and STRIDE. Along an axis that is not expanded yet there is nothing to take.
Plan slice_plan(const LazyOp& n, GraphWriter& w) {
  const Ints &from = n.src(0).shape(), &to = n.shape();
  return {{n.src(0)}, [&w, n, from, to](std::span<const Written> in) -> Written {
            const Written x = w.reshaped(in[0], aligned(in[0].shape, from.size()));
            Ints begins, ends, steps, shape = x.shape;
            Axes axes;
            for (std::size_t k = 0; k < from.size(); ++k) {
              if (is_one(x.shape[k]) && !is_one(from[k])) continue;
              Int begin = 0, end = from[k], step = 1;
              if (n.op() == Ops::SHRINK) {
                begin = std::get<Mask>(n.arg())[k].begin, end = std::get<Mask>(n.arg())[k].end;
              } else {
                step = std::get<Ints>(n.arg())[k];
                if (step.value() < 0) begin = INT64_MAX, end = INT64_MIN;
              }
              if (begin == Int(0) && end == from[k] && is_one(step)) continue;
              begins.push_back(begin), ends.push_back(end), steps.push_back(step);
              axes.push_back(static_cast<std::int64_t>(k));
              shape[k] = to[k];
            }
            return axes.empty() ? x : w.sliced(x, begins, ends, axes, steps, shape);
          }};
}

/// The elements of a node that is realized, as a tensor of its shape.
Tensor tensor_of_memory(const LazyOp& n) {
  const std::int64_t count = product(n.shape()).value();
  const std::shared_ptr<Storage> storage = n.realized();
  if (const auto* of_buffer = dynamic_cast<const BufferStorage*>(storage.get())) {
    const Buffer from = of_buffer->buffer().toCPU(), own = Buffer::allocate(count, n.dtype());
    std::copy_n(static_cast<const std::byte*>(from.data()), static_cast<std::size_t>(count) * n.dtype().itemsize(),
                static_cast<std::byte*>(own.data()));
    return Tensor::from_buffer(own, n.shape());
  }
  const Buffer own = Buffer::allocate(count, n.dtype());
  std::copy_n(static_cast<const std::byte*>(storage->host()), static_cast<std::size_t>(count) * n.dtype().itemsize(),
              static_cast<std::byte*>(own.data()));
  return Tensor::from_buffer(own, n.shape());
}

const void* address_of_memory(const LazyNode& n) {
  const std::shared_ptr<Storage> storage = n.storage;
  const auto* of_buffer = dynamic_cast<const BufferStorage*>(storage.get());
  return of_buffer != nullptr ? of_buffer->buffer().data() : storage->host();
}

/// A stand-in for what the file cannot say, so that the walk finds the other problems.
Plan refused_plan(GraphWriter& w, const LazyOp& n, const std::string& why) {
  if (is_realized(*n.node()) || !w.reads_refused_memory(n)) w.refuse(n.node(), why);
  const Scalar zero = Scalar::of(n.dtype(), std::int64_t{0});
  std::vector<LazyOp> below;
  for (const LazyOp& s : needed(*n.node())) below.push_back(s);
  return {below, [&w, zero](std::span<const Written>) { return w.constant(zero); }};
}

Plan constant_plan(GraphWriter& w, const LazyOp& n) {
  const ConstArg& arg = std::get<ConstArg>(n.arg());
  if (!arg.st.contiguous()) return refused_plan(w, n, message("CONST of ", arg.st.render()));
  const Scalar value = arg.value;
  return {{}, [&w, value](std::span<const Written>) { return w.constant(value); }};
}

Plan concat_plan(GraphWriter& w, const LazyOp& n) {
  std::vector<LazyOp> parts;
  for (const LazyOp& s : n.src()) {
    const LazyOp flat = w.keep(s.reshape({product(s.shape())}));
    parts.push_back(flat);
  }
  const Ints& shape = n.shape();
  return {parts, [&w, parts, shape](std::span<const Written> in) {
            std::vector<Written> all;
            for (std::size_t k = 0; k < in.size(); ++k)
              all.push_back(w.full(w.reshaped(in[k], aligned(in[k].shape, 1)), parts[k].shape()));
            return w.add("Concat", all, {integer_attribute("axis", 0)}, all[0].dtype, shape);
          }};
}

}  // namespace

bool GraphWriter::reads_refused_memory(const LazyOp& n) const {
  if (fed_.empty()) return false;
  const std::vector<const LazyNode*> below = postorder(n);
  return std::any_of(below.begin(), below.end(),
                     [&](const LazyNode* b) { return is_realized(*b) && fed_.contains(address_of_memory(*b)); });
}

const LazyOp& plain(const LazyOp& n) {
  const LazyOp* at = &n;
  while (!is_realized(*at->node()) &&
         (is_annotation(at->op()) || at->op() == Ops::NOOP || at->op() == Ops::CONTIGUOUS || at->op() == Ops::FROM))
    at = &at->src(0);
  return *at;
}

std::optional<Scalar> value_of(const LazyOp& n) {
  const LazyOp* at = &plain(n);
  while (!is_realized(*at->node()) && is_movement(at->op()) && at->op() != Ops::PAD) at = &plain(at->src(0));
  if (at->op() != Ops::CONST || !std::get<ConstArg>(at->arg()).st.contiguous()) return std::nullopt;
  return std::get<ConstArg>(at->arg()).value;
}

Plan alias_of(GraphWriter& w, const LazyOp& m) {
  w.keep(m);
  return {{m}, [](std::span<const Written> in) { return in[0]; }};
}

Plan memory_plan(GraphWriter& w, const LazyOp& n) {
  const void* const at = address_of_memory(*n.node());
  if (w.fed_.contains(at))
    return refused_plan(w, n,
                        message(name_of_op(n.op()),
                                ": memory that the host fills before each run, e.g. the "
                                "counter of random numbers"));
  if (!numbers(n.shape()))
    return refused_plan(w, n, message("memory of the symbolic shape ", render(n.shape()), " that is no argument"));
  const std::string key = message(reinterpret_cast<std::uintptr_t>(at), " ", n.dtype().name(), " ", render(n.shape()));
  if (const auto known = w.memory_.find(key); known != w.memory_.end())
    return {{}, [out = known->second](std::span<const Written>) { return out; }};
  const auto named = w.memory_names_.find(at);
  if (named == w.memory_names_.end() && product(n.shape()).value() <= kMostOfConstant && !n.dtype().is_float())
    return {{}, [&w, n](std::span<const Written>) { return w.constant(tensor_of_memory(n)); }};
  const std::string name = w.free_name(named == w.memory_names_.end() ? "weight" : named->second);
  w.model_.graphs[0].initializers.emplace_back(name, tensor_of_memory(n));
  Written out{name, n.dtype(), n.shape()};
  w.memory_.emplace(key, out);
  return {{}, [out](std::span<const Written>) { return out; }};
}

Plan iota_plan(GraphWriter& w, const LazyOp& n) {
  const ShapeTracker& st = std::get<ShapeTracker>(n.arg());
  const ShapeTracker whole = st.simplify();
  const View& view = whole.views().back();
  const bool is_sum = whole.views().size() == 1 && !view.mask();
  const auto is_number = [](const Int& s) { return s.is_number(); };
  if (is_sum && std::all_of(view.strides().begin(), view.strides().end(), is_number)) {
    const DType dtype = n.dtype();
    return {{}, [&w, view, dtype](std::span<const Written>) {
              const std::size_t rank = view.shape().size();
              Written out = w.reshaped(w.size(view.offset()), {});
              bool is_zero = view.offset() == Int(0);
              for (std::size_t d = 0; d < rank; ++d) {
                const std::int64_t stride = view.strides()[d].value();
                if (stride == 0 || is_one(view.shape()[d])) continue;
                const Written none = w.constant(Scalar(std::int64_t{0})), one = w.constant(Scalar(std::int64_t{1}));
                const Written end = view.shape()[d].is_number() ? w.constant(Scalar(view.shape()[d].value()))
                                                                : w.reshaped(w.size(view.shape()[d]), {});
                Written along = w.add("Range", {none, end, one}, {}, dtypes::int64, {view.shape()[d]});
                if (stride != 1)
                  along = w.add("Mul", {along, w.constant(Scalar(stride))}, {}, dtypes::int64, along.shape);
                Ints sizes(rank - d, 1);
                sizes[0] = view.shape()[d];
                along = w.reshaped(along, sizes);
                const std::array both = {out, along};
                out = is_zero ? along : w.add("Add", both, {}, dtypes::int64, broadcast_of(both));
                is_zero = false;
              }
              return w.cast(out, dtype);
            }};
  }
  const auto shape = numbers(n.shape());
  if (!shape || !st.is_concrete() || product(*shape) > kMostOfTable)
    return refused_plan(w, n, message("IOTA through ", st.render()));
  return {{}, [&w, n, st](std::span<const Written>) {
            const std::int64_t count = product(n.shape()).value();
            const Buffer table = Buffer::allocate(count, n.dtype());
            for (std::int64_t k = 0; k < count; ++k) {
              std::vector<Expr> idxs;
              for (const Expr& e : unravel(Expr(k), n.shape())) idxs.push_back(e);
              const IndexExprs at = st.expr_idxs(idxs);
              const bool is_valid = evaluate(at.valid) != 0;
              store_scalar(Scalar::of(n.dtype(), is_valid ? evaluate(at.index) : std::int64_t{0}),
                           static_cast<std::byte*>(table.data()) + static_cast<std::size_t>(k) * n.dtype().itemsize());
            }
            return w.constant(Tensor::from_buffer(table, n.shape()));
          }};
}

std::optional<Plan> movement_plan(GraphWriter& w, const LazyOp& n) {
  switch (n.op()) {
    case Ops::RESHAPE: return reshape_plan(n, w);
    case Ops::PERMUTE: return permute_plan(n, w);
    case Ops::EXPAND: return alias_of(w, n.src(0));
    case Ops::PAD: return pad_plan(n, w);
    case Ops::SHRINK:
    case Ops::STRIDE: return slice_plan(n, w);
    default: return std::nullopt;
  }
}

Plan reduction_plan(GraphWriter& w, const LazyOp& n) {
  const Axes axes = std::get<Axes>(n.arg());
  const Ints& from = n.src(0).shape();
  const DType dtype = n.dtype();
  const Ops op = n.op();
  Int reduced = 1;
  for (const std::int64_t axis : axes) reduced *= from[static_cast<std::size_t>(axis)];
  if (reduced == Int(0)) {
    const Scalar value = identity_of(op, dtype);
    return {{}, [&w, value](std::span<const Written>) { return w.constant(value); }};
  }
  return {{n.src(0)}, [&w, axes, from, dtype, op](std::span<const Written> in) -> Written {
            const bool is_by_input = op == Ops::SUM && !dtype.is_bool();
            const bool is_extreme = op == Ops::REDUCE_MAX || op == Ops::REDUCE_MIN || dtype.is_bool();
            const bool is_most = op == Ops::REDUCE_MAX || (dtype.is_bool() && op == Ops::SUM);
            const DTypes taken =
                is_extreme ? kAllFloats | kWideInts | bit(dtypes::int8) | bit(dtypes::uint8) : kAllFloats | kWideInts;
            Written x = w.at_least(w.reshaped(in[0], aligned(in[0].shape, from.size())), from, axes);
            x = w.cast(x, taken_dtype(dtype, taken));
            Ints shape = x.shape;
            for (const std::int64_t axis : axes) shape[static_cast<std::size_t>(axis)] = 1;
            const std::string name = is_by_input  ? "ReduceSum"
                                     : is_most    ? "ReduceMax"
                                     : is_extreme ? "ReduceMin"
                                                  : "ReduceProd";
            const std::vector<std::int64_t> list(axes.begin(), axes.end());
            if (is_by_input)
              return w.cast(w.add(name, {x, w.integers(list)}, {integer_attribute("keepdims", 1)}, x.dtype, shape),
                            dtype);
            return w.cast(
                w.add(name, {x}, {integers_attribute("axes", list), integer_attribute("keepdims", 1)}, x.dtype, shape),
                dtype);
          }};
}

Plan plan_of(GraphWriter& w, const LazyOp& n) {
  if (is_realized(*n.node())) return memory_plan(w, n);
  const LazyOp& inner = plain(n);
  if (!(inner == n)) return alias_of(w, inner);
  if (n.op() == Ops::CONST) return constant_plan(w, n);
  if (n.op() == Ops::IOTA) return iota_plan(w, n);
  if (std::optional<Plan> p = pattern_plan(w, n)) return *p;
  if (std::optional<Plan> p = indexing_plan(w, n)) return *p;
  if (std::optional<Plan> p = loop_plan(w, n)) return *p;
  if (std::optional<Plan> p = movement_plan(w, n)) return *p;
  if (std::optional<Plan> p = convolution_plan(w, n)) return *p;
  if (std::optional<Plan> p = product_plan(w, n)) return *p;
  if (is_reduce(n.op())) return reduction_plan(w, n);
  if (std::optional<Plan> p = elementwise_plan(w, n)) return *p;
  if (n.op() == Ops::CONCAT) return concat_plan(w, n);
  if (n.op() == Ops::FORMULA) return alias_of(w, w.keep(n.formula_of(n.src(0))));
  return refused_plan(w, n,
                      message("node of shape ", render(n.shape()), ": ", name_of_op(n.op()),
                              n.op() == Ops::EMPTY ? ", memory without elements" : ""));
}

}  // namespace strata::onnx
