#include "strata/codegen/recurrence.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "strata/ir/scan_order.h"

namespace strata {

namespace {

constexpr int kLanes = static_cast<int>(kScanLanes);
// Products of the factors of a group are far from the smallest normal number of f32, 2^-126, where no factor is smaller
// than these: the response to 16 equal ones is above 2^-70, and the product of 16 others at least 2^-96.
constexpr double kLeastConstant = 0x1p-4, kLeast = 0x1p-6;
// A factor beside a larger one goes once into a response, which has all its digits then.
constexpr double kLeastBeside = 0x1p-60;
// Where elements fade less in a group, the roundings of a response add up over groups: those of 16 products to 2^-39 in
// f64, and to 2^-17 in f32.
constexpr double kMostLasting = 1 - 0x1p-10, kMostLastingF32 = 0.9;
// Responses of several factors cancel each other: in two parts, too, what the elements are rounded to grows so much.
constexpr double kMostInParts = 64;

}  // namespace

UOp RecurrenceUOps::plus_product(UOp a, UOp y, UOp b) {
  if (target_.contract && b.dtype().is_float()) return ops_.alu(Ops::MULACC, {a, y, b});
  return ops_.alu(Ops::ADD, {ops_.alu(Ops::MUL, {a, y}), b});
}

UOp RecurrenceUOps::next(std::span<const UOp> a, std::span<const UOp> before, UOp b) {
  for (std::size_t k = a.size(); k-- > 0;) b = plus_product(a[k], before[k], b);
  return b;
}

std::optional<RecurrenceUOps::Group> RecurrenceUOps::group(std::span<const std::vector<UOp>> factors,
                                                           std::span<const UOp> terms) {
  if (factors.size() > kMostInLanes) return std::nullopt;
  std::vector<UOp> constant;
  for (const std::vector<UOp>& of : factors)
    if (of[0].dtype().lanes() == 1 && std::all_of(of.begin(), of.end(), [&](UOp a) { return a == of[0]; }))
      constant.push_back(of[0]);
  if (constant.size() == factors.size()) return of_constant(constant, terms);
  if (factors.size() > 1) return std::nullopt;
  std::vector<UOp> wide;
  for (const UOp a : factors[0]) wide.push_back(ops_.widened(a, kLanes));
  return of_one(wide, terms);
}

/// The lane `back` in front of the last one, in all lanes.
UOp RecurrenceUOps::last(UOp vector, int back) { return ops_.widened(graph_.lane(vector, kLanes - 1 - back), kLanes); }

/// In each lane of a second half: the element `back` in front of the last one of its first half. The lanes of a first
/// half have the same.
UOp RecurrenceUOps::partner(UOp vector, int half, int back) {
  std::vector<UOp> lanes;
  for (int k = 0; k < kLanes; ++k) lanes.push_back(graph_.lane(vector, scan_partner(k | half, half) - back));
  return vector_of(lanes);
}

UOp RecurrenceUOps::in_second_half(int half) {
  std::vector<UOp> lanes;
  for (int k = 0; k < kLanes; ++k) lanes.push_back(graph_.constant(Scalar(scan_partner(k, half) >= 0)));
  return vector_of(lanes);
}

/// By factor k: what y is at each place, where all terms are 0, and of the elements in front of the first place only
/// y[-1-k] is not 0, but 1.
std::vector<std::vector<UOp>> RecurrenceUOps::responses(std::span<const UOp> a, std::size_t count) {
  std::vector<std::vector<UOp>> out(a.size());
  for (std::size_t k = 0; k < a.size(); ++k)
    for (std::size_t place = 0; place < count; ++place) {
      UOp y;
      for (std::size_t j = a.size(); j-- > 0;) {
        const bool is_inside = j < place;
        if (!is_inside && j - place != k) continue;
        if (!y)
          y = is_inside ? ops_.alu(Ops::MUL, {a[j], out[k][place - 1 - j]}) : a[j];
        else
          y = is_inside ? plus_product(a[j], out[k][place - 1 - j], y) : ops_.alu(Ops::ADD, {y, a[j]});
      }
      out[k].push_back(y ? y : number(a[k].dtype(), 0));
    }
  return out;
}

/// Adds a vector of responses, in the dtype of the elements, or in f64.
void RecurrenceUOps::add_response(Group& group, std::size_t factor, UOp wide) {
  if (group.response.size() <= factor) group.response.resize(factor + 1);
  std::vector<UOp>& response = group.response[factor];
  const DType dtype = group.local[0].dtype();
  if (wide.dtype() == dtype) return response.push_back(wide);
  if (group.rest.size() <= factor) group.rest.resize(factor + 1);
  response.push_back(graph_.cast(wide, dtype));
  const UOp lost = ops_.alu(Ops::SUB, {wide, graph_.cast(response.back(), wide.dtype())});
  group.rest[factor].push_back(graph_.cast(lost, dtype));
}

/// Whether a response, or the sum of those of all factors, is more than `most` at the last element of a group.
UOp RecurrenceUOps::lasts(UOp response, double most) {
  return ops_.alu(Ops::CMPLT, {number(response.dtype().scalar(), most), ops_.alu(Ops::ABS, {response})});
}

/// Whether a factor is below `least`, and not 0.
UOp RecurrenceUOps::is_small(UOp factor, double least) {
  const DType dtype = factor.dtype().scalar();
  const UOp size = ops_.alu(Ops::ABS, {factor});
  return ops_.alu(Ops::AND,
                  {ops_.alu(Ops::CMPLT, {size, number(dtype, least)}), ops_.alu(Ops::CMPLT, {number(dtype, 0), size})});
}

RecurrenceUOps::Group RecurrenceUOps::of_constant(std::span<const UOp> a, std::span<const UOp> terms) {
  const auto lanes = static_cast<std::size_t>(kLanes);
  const DType dtype = a[0].dtype();
  std::vector<UOp> wide;
  for (const UOp factor : a) wide.push_back(graph_.cast(factor, dtypes::float64));
  const std::vector<std::vector<UOp>> y = responses(wide, terms.size() * lanes);
  Group out;
  for (UOp value : terms) {
    for (int half = 1; half < kLanes; half *= 2) {
      UOp sum = value;
      for (std::size_t k = 0; k < std::min(a.size(), static_cast<std::size_t>(half)); ++k) {
        std::vector<UOp> of;
        for (int lane = 0; lane < kLanes; ++lane)
          of.push_back(scan_partner(lane, half) < 0
                           ? number(dtype, 0)
                           : graph_.cast(y[k][static_cast<std::size_t>(lane & (half - 1))], dtype));
        sum = plus_product(vector_of(of), partner(value, half, static_cast<int>(k)), sum);
      }
      value = sum;
    }
    if (!out.local.empty()) {
      const UOp before = out.local.back();
      for (std::size_t k = a.size(); k-- > 0;)
        value = plus_product(out.response[k][0], last(before, static_cast<int>(k)), value);
    }
    out.local.push_back(value);
    const std::size_t first = (out.local.size() - 1) * lanes;
    for (std::size_t k = 0; k < a.size(); ++k)
      add_response(out, k,
                   vector_of({y[k].begin() + static_cast<std::ptrdiff_t>(first),
                              y[k].begin() + static_cast<std::ptrdiff_t>(first + lanes)}));
  }
  UOp largest = ops_.alu(Ops::ABS, {a[0]}), lasting = ops_.alu(Ops::ABS, {y[0].back()});
  UOp is_vague = is_small(a[0], kLeastBeside);
  for (std::size_t k = 1; k < a.size(); ++k) {
    largest = ops_.alu(Ops::MAX, {largest, ops_.alu(Ops::ABS, {a[k]})});
    lasting = ops_.alu(Ops::ADD, {lasting, ops_.alu(Ops::ABS, {y[k].back()})});
    is_vague = ops_.alu(Ops::OR, {is_vague, is_small(a[k], kLeastBeside)});
  }
  is_vague = ops_.alu(Ops::OR, {is_vague, is_small(largest, kLeastConstant)});
  out.is_vague = ops_.alu(Ops::OR, {is_vague, lasts(lasting, out.rest.empty() ? kMostLasting : kMostInParts)});
  return out;
}

/// One factor, which is another at each place: pairs of a product of factors and a local element.
RecurrenceUOps::Group RecurrenceUOps::of_one(std::span<const UOp> a, std::span<const UOp> terms) {
  Group out;
  for (std::size_t v = 0; v < terms.size(); ++v) {
    UOp product = a[v], value = terms[v];
    for (int half = 1; half < kLanes; half *= 2) {
      const UOp mask = in_second_half(half);
      value = ops_.alu(Ops::WHERE, {mask, plus_product(product, partner(value, half, 0), value), value});
      product = ops_.alu(Ops::WHERE, {mask, ops_.alu(Ops::MUL, {product, partner(product, half, 0)}), product});
    }
    if (!out.local.empty()) {
      value = plus_product(product, last(out.local.back(), 0), value);
      product = ops_.alu(Ops::MUL, {product, last(out.response[0].back(), 0)});
    }
    out.local.push_back(value);
    add_response(out, 0, product);
    const UOp is_vague = is_small(a[v], kLeast);
    out.is_vague = out.is_vague ? ops_.alu(Ops::OR, {out.is_vague, is_vague}) : is_vague;
  }
  const UOp at_end = graph_.lane(out.response[0].back(), kLanes - 1);
  const double most = at_end.dtype() == dtypes::float64 ? kMostLasting : kMostLastingF32;
  out.is_vague = ops_.alu(Ops::OR, {out.is_vague, lasts(at_end, most)});
  return out;
}

/// In all lanes: the sum of the lanes.
UOp RecurrenceUOps::summed(UOp vector) {
  for (int half = 1; half < kLanes; half *= 2) {
    std::vector<UOp> others;
    for (int k = 0; k < kLanes; ++k) others.push_back(graph_.lane(vector, k ^ half));
    vector = ops_.alu(Ops::ADD, {vector, vector_of(others)});
  }
  return vector;
}

std::vector<UOp> RecurrenceUOps::behind(const Group& group, std::span<const UOp> before,
                                        std::span<const UOp> in_sequence) {
  const DType dtype = group.local[0].dtype().scalar();
  std::vector<UOp> out;
  UOp lost;  // 0; NaN in a lane that is not finite, or vague
  for (std::size_t v = 0; v < group.local.size(); ++v) {
    UOp value = group.local[v];
    for (std::size_t k = group.rest.size(); k-- > 0;) value = plus_product(group.rest[k][v], before[k], value);
    for (std::size_t k = before.size(); k-- > 0;) value = plus_product(group.response[k][v], before[k], value);
    const UOp none = ops_.alu(Ops::SUB, {value, value});
    lost = lost ? ops_.alu(Ops::ADD, {lost, none}) : none;
    out.push_back(value);
  }
  const UOp nan = number(dtype, std::numeric_limits<double>::quiet_NaN());
  lost = summed(ops_.alu(Ops::WHERE, {group.is_vague, nan, lost}));
  // The same in all lanes: elements depend on the lanes in front of them.
  const UOp asked = ops_.alu(Ops::CMPNE, {lost, number(dtype, 0)});
  for (std::size_t v = 0; v < out.size(); ++v) {
    out[v] = ops_.alu(Ops::WHERE, {asked, in_sequence[v], out[v]});
    if (out[v].op() == UOps::ALU && out[v].alu() == Ops::WHERE) graph_.mark_seldom(out[v]);
  }
  return out;
}

}  // namespace strata
