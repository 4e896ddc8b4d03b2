// Sequences and optionals: lists of values in the memory of the host.
#include <algorithm>

#include "strata/onnx/operators.h"

namespace strata::onnx {
namespace {

/// The place of an element; `count` itself is one where something is put in.
std::size_t place_in(std::int64_t at, std::int64_t count, bool is_end_allowed) {
  const std::int64_t last = is_end_allowed ? count : count - 1;
  STRATA_CHECK(at >= -count && at <= last, shape, "place ", at, " of a sequence of ", count);
  return static_cast<std::size_t>(at < 0 ? at + count : at);
}

std::int64_t position_or(const Call& call, std::size_t i, std::int64_t otherwise) {
  return call.has(i) ? call.integer_of(i) : otherwise;
}

}  // namespace

Results sequence_empty(const Call&) { return {Datum(Sequence())}; }

Results sequence_construct(const Call& call) {
  Sequence out;
  for (std::size_t k = 0; k < call.count(); ++k) out.push_back(call.datum(k));
  return {Datum(std::move(out))};
}

Results sequence_length(const Call& call) {
  const Sizes length = {std::ssize(call.datum(0).sequence())};
  return {moved(call.from(length, {}), Device::get("INTERP"))};
}

Results sequence_at(const Call& call) {
  const Sequence& all = call.datum(0).sequence();
  return {all[place_in(call.integer_of(1), std::ssize(all), false)]};
}

Results sequence_insert(const Call& call) {
  Sequence all = call.datum(0).sequence();
  const std::size_t at = place_in(position_or(call, 2, std::ssize(all)), std::ssize(all), true);
  all.insert(all.begin() + static_cast<std::ptrdiff_t>(at), call.datum(1));
  return {Datum(std::move(all))};
}

Results sequence_erase(const Call& call) {
  Sequence all = call.datum(0).sequence();
  const std::size_t at = place_in(position_or(call, 1, std::ssize(all) - 1), std::ssize(all), false);
  all.erase(all.begin() + static_cast<std::ptrdiff_t>(at));
  return {Datum(std::move(all))};
}

Results concat_from_sequence(const Call& call) {
  std::vector<Tensor> parts;
  for (const Datum& part : call.datum(0).sequence()) parts.push_back(call.here(part.tensor()));
  STRATA_CHECK(!parts.empty(), shape, "the sequence is empty");
  const bool is_new = call.integer("new_axis") != 0;
  const std::int64_t axis = Call::axis_in(call.integer("axis"), parts[0].ndim() + (is_new ? 1 : 0));
  return {is_new ? Tensor::stack(parts, axis) : Tensor::cat(parts, axis)};
}

Results split_to_sequence(const Call& call) {
  const Tensor x = call.x(0);
  const std::int64_t axis = Call::axis_in(call.integer("axis"), x.ndim()), size = x.size(axis).value();
  Sequence out;
  if (!call.has(1)) {
    STRATA_CHECK(size <= 1 << 18, budget, "a sequence of ", size, " elements");
    for (const Tensor& part : x.split(1, axis))
      out.emplace_back(call.integer("keepdims") != 0 ? part : part.squeeze(axis));
    return {Datum(std::move(out))};
  }
  const Sizes given = call.integers_of(1);
  if (call.datum(1).tensor().ndim() == 0) {
    STRATA_CHECK(given[0] >= 1 && size / given[0] <= 1 << 18, domain, "parts of ", given[0], " elements");
    for (const Tensor& part : x.split(given[0], axis)) out.emplace_back(part);
  } else {
    for (const Tensor& part : x.split(std::span<const std::int64_t>(given), axis)) out.emplace_back(part);
  }
  return {Datum(std::move(out))};
}

Results optional_of(const Call& call) { return {call.has(0) ? call.datum(0) : Datum(EmptyOptional{})}; }

Results optional_has_element(const Call& call) {
  const Sizes has = {call.has(0) && !call.datum(0).is_empty_optional() ? 1 : 0};
  return {moved(call.from(has, {}), Device::get("INTERP")) != 0};
}

Results optional_get_element(const Call& call) {
  STRATA_CHECK(!call.datum(0).is_empty_optional(), domain, "the optional is empty");
  return {call.datum(0)};
}

}  // namespace strata::onnx
