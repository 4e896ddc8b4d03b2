// The methods of the text form of kernels: movement ops and reductions, which take a tensor and sizes.

#include <algorithm>

#include "strata/ops/kernel_functions.h"
#include "strata/ops/operand_promotion.h"

namespace strata::kernel_words {

namespace {

[[noreturn]] void refuse(std::string_view name, std::string_view expected) {
  throw Error(ErrorKind::parse, detail::message("[", name, "] expected ", expected));
}

/// The items as axes in [0, rank); negative ones count from the end.
Axes to_axes(std::string_view name, const LazyOp& x, const SizeItems& items) {
  const auto rank = static_cast<std::int64_t>(x.shape().size());
  Axes out;
  for (const Int& n : to_sizes(name, items)) {
    if (!n.is_number()) refuse(name, "axes that are numbers");
    STRATA_CHECK(n.value() >= -rank && n.value() < rank, shape, "[", name, "] axis ", n.value(),
                 " is outside of shape ", render(x.shape()));
    out.push_back(n.value() < 0 ? n.value() + rank : n.value());
  }
  return out;
}
/// to_axes(); all axes without items.
Axes axes_or_all(std::string_view name, const LazyOp& x, const SizeItems& items) {
  if (!items.empty()) return to_axes(name, x, items);
  Axes out;
  for (std::size_t t = 0; t < x.shape().size(); ++t) out.push_back(static_cast<std::int64_t>(t));
  return out;
}

Padding to_padding(std::string_view name, const SizeItems& items) {
  Padding out;
  for (const SizeItem& item : items) {
    if (!item.first || (item.is_pair && !item.second)) refuse(name, "before:after");
    out.push_back({*item.first, item.is_pair ? *item.second : *item.first});
  }
  return out;
}

Mask to_bounds(std::string_view name, const LazyOp& x, const SizeItems& items) {
  STRATA_CHECK(items.size() == x.shape().size(), shape, "[", name, "] ", items.size(), " bounds for shape ",
               render(x.shape()));
  Mask out;
  for (std::size_t t = 0; t < items.size(); ++t) {
    if (!items[t].is_pair) refuse(name, "begin:end");
    out.push_back({items[t].first.value_or(0), items[t].second.value_or(x.shape()[t])});
  }
  return out;
}

/// NOTE: sum() and prod() keep the dtype of integers, unlike those of Tensors: a kernel writes each conversion
/// explicitly.
LazyOp mean(const LazyOp& x, const SizeItems& items) {
  return ops::as_real(x).mean(axes_or_all("mean", x, items), true);
}

/// A result between two parts of the kernel, which BLOCK computes block by block.
LazyOp contiguous(const LazyOp& x, const SizeItems& items) {
  if (!items.empty()) refuse("contiguous", "no arguments");
  return x.contiguous();
}

LazyOp softmax(const LazyOp& x, const SizeItems& items) {
  if (items.size() != 1) refuse("softmax", "one axis");
  return ops::Value(x).softmax(to_axes("softmax", x, items).front());
}

template <Ops op>
LazyOp scan(const LazyOp& x, const SizeItems& items) {
  constexpr std::string_view name = op == Ops::SUM          ? "cumsum"
                                    : op == Ops::PROD       ? "cumprod"
                                    : op == Ops::REDUCE_MAX ? "cummax"
                                                            : "cummin";
  if (items.size() != 1) refuse(name, "one axis");
  return LazyOp::scan(op, x, to_axes(name, x, items).front());
}

struct MethodRow {
  std::string_view name;
  LazyOp (*apply)(const LazyOp&, const SizeItems&);
};
// clang-format off
constexpr MethodRow kMethods[] = {
    {"reshape", [](const LazyOp& x, const SizeItems& s) { return x.reshape(to_sizes("reshape", s)); }},
    {"permute", [](const LazyOp& x, const SizeItems& s) { return x.permute(to_axes("permute", x, s)); }},
    {"expand",  [](const LazyOp& x, const SizeItems& s) { return x.expand(to_sizes("expand", s)); }},
    {"pad",     [](const LazyOp& x, const SizeItems& s) { return x.pad(to_padding("pad", s)); }},
    {"shrink",  [](const LazyOp& x, const SizeItems& s) { return x.shrink(to_bounds("shrink", x, s)); }},
    {"flip",    [](const LazyOp& x, const SizeItems& s) { return x.flip(to_axes("flip", x, s)); }},
    {"stride",  [](const LazyOp& x, const SizeItems& s) { return x.stride(to_sizes("stride", s)); }},
    {"sum",     [](const LazyOp& x, const SizeItems& s) { return LazyOp::reduce(Ops::SUM, x, axes_or_all("sum", x, s)); }},
    {"prod",    [](const LazyOp& x, const SizeItems& s) { return LazyOp::reduce(Ops::PROD, x, axes_or_all("prod", x, s)); }},
    {"max",     [](const LazyOp& x, const SizeItems& s) { return LazyOp::reduce(Ops::REDUCE_MAX, x, axes_or_all("max", x, s)); }},
    {"min",     [](const LazyOp& x, const SizeItems& s) { return LazyOp::reduce(Ops::REDUCE_MIN, x, axes_or_all("min", x, s)); }},
    {"cumsum",  scan<Ops::SUM>},
    {"cumprod", scan<Ops::PROD>},
    {"cummax",  scan<Ops::REDUCE_MAX>},
    {"cummin",  scan<Ops::REDUCE_MIN>},
    {"mean",    mean},
    {"softmax", softmax},
    {"contiguous", contiguous},
};
// clang-format on

const MethodRow* find_method(std::string_view name) {
  const auto* const at =
      std::find_if(std::begin(kMethods), std::end(kMethods), [&](const MethodRow& r) { return r.name == name; });
  return at == std::end(kMethods) ? nullptr : at;
}

}  // namespace

Ints to_sizes(std::string_view name, const SizeItems& items) {
  Ints out;
  for (const SizeItem& item : items) {
    if (item.is_pair || !item.first) refuse(name, "numbers, not a pair");
    out.push_back(*item.first);
  }
  return out;
}

bool is_method(std::string_view name) { return find_method(name) != nullptr; }

LazyOp apply_method(std::string_view name, const LazyOp& x, const SizeItems& items) {
  return find_method(name)->apply(x, items);
}

}  // namespace strata::kernel_words
