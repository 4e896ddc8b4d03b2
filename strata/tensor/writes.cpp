#include "strata/tensor/writes.h"

#include <algorithm>
#include <cstring>
#include <memory>
#include <utility>

#include "strata/base/flags.h"
#include "strata/engine/buffer_storage.h"
#include "strata/engine/realize.h"
#include "strata/engine/strided_copy.h"
#include "strata/graph/strided_memory.h"
#include "strata/ops/subscript.h"
#include "strata/tensor/access.h"
#include "strata/tensor/front.h"
#include "strata/tensor/jit_watching.h"
#include "strata/tensor/outside_tensors.h"

namespace strata {

namespace {

using front::Value;

/// The subscripts where they are views: integers, slices, an ellipsis, new axes. Else nothing.
std::optional<std::vector<ops::Subscript>> views_of(std::span<const Subscript> subscripts) {
  std::vector<ops::Subscript> out;
  for (const Subscript& s : subscripts) {
    const bool is_view = std::visit(
        [&]<class T>(const T& what) {
          if constexpr (!std::is_same_v<T, std::shared_ptr<const Tensor>>) out.emplace_back(what);
          return !std::is_same_v<T, std::shared_ptr<const Tensor>>;
        },
        s.what());
    if (!is_view) return std::nullopt;
  }
  return out;
}

/// Whether the elements of `t` can be computed now, and gradients do not pass through them.
bool is_plain(const Tensor& t) {
  return TensorAccess::state(t)->slot == nullptr && !t.node().is_tracked() &&
         (is_realized(*t.node().node()) || !is_of_step(t.node()));
}

/// Whether the elements are bools that another library wrote, which may have other bytes than 0 and 1.
bool has_foreign_bools(const Tensor& t) {
  if (!t.dtype().is_bool()) return false;
  const std::optional<StridedMemory> layout = strided_memory(t.node());
  return layout && buffer_of(layout->memory).memory().is_borrowed();
}

/// The subscripts of a write of known elements to memory of the host, which no capture sees. Nothing for another write.
std::optional<std::vector<ops::Subscript>> written_at_once(const Tensor& x, std::span<const Subscript> subscripts,
                                                           const Operand& value) {
  const Tensor* const v = value.tensor();
  const bool is_known = TensorListener::current() == nullptr && x.device().name() != "NULL" &&
                        !flags::NAN_CHECK.get() && numbers(x.shape()) && is_plain(x) &&
                        x.node().placement_below() == nullptr && !has_foreign_bools(x) &&
                        (v == nullptr || (&v->device() == &x.device() && is_plain(*v) && !has_foreign_bools(*v)));
  return is_known ? views_of(subscripts) : std::nullopt;
}

/// The elements to write: those of memory, or a number.
struct Elements {
  std::optional<Buffer> memory;
  std::uint64_t number = 0;  // its bits
  Index strides;             // 0: one element for all
  std::int64_t offset = 0;
};

/// A number as the elements of `shape`; nothing where it is not known.
std::optional<Elements> elements_of(const Number& number, DType dtype, const Ints& shape) {
  const LazyOp v = Value::full({}, number, dtype);
  if (v.op() != Ops::CONST) return std::nullopt;
  return Elements{{}, std::get<ConstArg>(v.arg()).value.bits(), Index(shape.size(), 0)};
}
/// A tensor's elements, computed, as those of `shape`.
std::optional<Elements> elements_of(const Tensor& value, DType dtype, const Ints& shape) {
  value.realize();
  Tensor same = value.cast(dtype);
  if (!strided_memory(same.node())) same = same.contiguous().realize();
  const std::optional<StridedMemory> layout = strided_memory(ops::fitted(same.node(), shape));
  if (!layout) return std::nullopt;
  return Elements{buffer_of(layout->memory), 0, layout->strides, layout->offset};
}

/// Gives x memory that nobody else sees, with its elements.
Buffer own_memory(const Tensor& x, const Elements& value) {
  const std::shared_ptr<TensorState>& state = TensorAccess::state(x);
  x.realize();
  if (!is_realized(*x.node().node())) {  // a view: copied
    const Tensor copy = x.contiguous().realize();
    state->set_node(copy.node());
  }
  const bool is_own = jit_watching::are_sole_owners({&state, 1});
  Buffer before = buffer_of(x.node());
  if (is_own && !(value.memory && before.shares(*value.memory))) {
    before.memory().note_write();
    return before;
  }
  const Buffer own = Buffer::allocate(product(*numbers(x.shape())), x.dtype());
  std::memcpy(own.data(), before.data(), own.nbytes());
  state->set_node(leaf_of(own, x.shape()));
  return own;
}

/// Writes, if that is one copy of elements. False: nothing has happened.
bool is_written(const Tensor& x, std::span<const Subscript> subscripts, const Operand& value) {
  const auto views = written_at_once(x, subscripts, value);
  if (!views) return false;
  const OriginScope scope("index_put", value.at());
  const LazyOp whole = LazyOp::empty(x.dtype(), x.shape()), place = ops::index(whole, *views);
  const Ints& shape = place.shape();
  if (!numbers(shape)) return false;
  const std::optional<Elements> from = value.tensor() != nullptr ? elements_of(*value.tensor(), x.dtype(), shape)
                                                                 : elements_of(value.number(), x.dtype(), shape);
  if (!from) return false;
  if (product(shape) == Int(0)) return true;
  const Buffer to = own_memory(x, *from);
  whole.realize_as(x.node().realized());
  const std::optional<StridedMemory> at = strided_memory(place);
  if (!at) return false;
  const std::size_t itemsize = x.dtype().itemsize();
  const auto element = [&](void* memory, std::int64_t offset) {
    return static_cast<std::byte*>(memory) + offset * static_cast<std::int64_t>(itemsize);
  };
  const std::uint64_t number = from->number;
  const std::byte* const first =
      from->memory ? element(from->memory->data(), from->offset) : std::as_bytes(std::span(&number, 1)).data();
  StridedCopy(itemsize, at->shape, from->strides, at->strides)(first, element(to.data(), at->offset));
  return true;
}

}  // namespace

void compute_before_write(const Tensor& x, std::span<const Subscript> subscripts, const Operand& value) {
  if (!written_at_once(x, subscripts, value)) return;
  if (value.tensor() != nullptr) value.tensor()->realize();
  x.realize();
}

void put_in_place(const Tensor& x, std::span<const Subscript> subscripts, const Operand& value) {
  if (!is_written(x, subscripts, value)) set_in_place(x, x.index_put(subscripts, value).cast(x.dtype()), "index_put");
}

}  // namespace strata
