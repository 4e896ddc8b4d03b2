// Layers that are matrix products, attention, and how near vectors are.

#include <array>
#include <cmath>
#include <limits>

#include "strata/tensor/access.h"
#include "strata/tensor/at_hand.h"
#include "strata/tensor/functional.h"
#include "strata/tensor/indexed.h"
#include "strata/tensor/random.h"

namespace strata {

namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

/// Heads of keys or values (..., heads, length, size), each as often as it has heads of queries.
Tensor for_queries(const Tensor& x, const Tensor& q) {
  if (x.ndim() < 3 || q.ndim() < 3) return x;
  const std::int64_t heads = number_of(x.size(-3), "scaled_dot_product_attention"),
                     asked = number_of(q.size(-3), "scaled_dot_product_attention");
  STRATA_CHECK(heads > 0 && asked % heads == 0, shape, "[scaled_dot_product_attention] ", asked,
               " heads of queries for ", heads, " of keys or values");
  return x.repeat_interleave(asked / heads, -3);
}

/// -infinity where nobody may look.
Tensor masked(const Tensor& scores, const AttentionOptions& o) {
  Tensor out = scores;
  if (o.mask && o.mask->dtype().is_bool()) out = o.mask->where(out, -kInfinity);
  if (o.mask && !o.mask->dtype().is_bool()) out = out + *o.mask;
  if (!o.causal) return out;
  const Tensor row = counting(out.size(-2), out).unsqueeze(1), column = counting(out.size(-1), out);
  return column.le(row).where(out, -kInfinity);
}

/// softmax along the last axis, and zeros where all is -infinity.
Tensor safe_softmax(const Tensor& narrow) {
  return rounded_once(narrow, [](const Tensor& scores) {
    const Tensor largest = scores.max(-1, true).detach();
    const Tensor e = (scores - largest.eq(-kInfinity).where(0, largest)).exp();
    const Tensor total = e.sum(-1, true);
    return e / total.eq(0).where(1, total);
  });
}

/// No gradient goes to that row of the weight.
Tensor without_gradient_at(const Tensor& weight, std::optional<std::int64_t> row) {
  if (!row) return weight;
  const std::int64_t rows = number_of(weight.size(0), "embedding");
  STRATA_CHECK(-rows <= *row && *row < rows, domain, "[embedding] the padding index ", *row, " of ",
               rows, " rows");
  const Tensor is_it = counting(rows, weight).unsqueeze(1).eq(*row < 0 ? *row + rows : *row);
  return is_it.where(weight.detach(), weight);
}

}  // namespace

Tensor linear(const Tensor& x, const Tensor& weight, const std::optional<Tensor>& bias, At at) {
  const OriginScope scope("linear", at);
  STRATA_CHECK(
      x.ndim() > 0 && (weight.ndim() == 1 || weight.ndim() == 2) && x.size(-1) == weight.size(-1),
      shape, "[linear] an input of shape ", render(x.shape()), " and a weight of shape ",
      render(weight.shape()));
  const Tensor out = x.matmul(weight.ndim() == 2 ? weight.transpose() : weight);
  return bias ? out + *bias : out;
}

Tensor embedding(const Tensor& indices, const Tensor& weight,
                 std::optional<std::int64_t> padding_index, At at) {
  const OriginScope scope("embedding", at);
  STRATA_CHECK(weight.ndim() == 2, shape, "[embedding] a weight of shape ", render(weight.shape()),
               ", where (rows, size) is expected");
  STRATA_CHECK(indices.dtype().is_int(), domain, "[embedding] indices of ", indices.dtype().name(),
               ": integers are expected");
  const Tensor which =
      in_range(indices, {"embedding", "index", number_of(weight.size(0), "embedding")});
  Tensor rows = picked(without_gradient_at(weight, padding_index).transpose(), which.unsqueeze(-1));
  if (!weight.dtype().is_float()) return rows;
  const Tensor is_row = is_within(indices, number_of(weight.size(0), "embedding"));
  return is_row.unsqueeze(-1).where(rows, std::numeric_limits<double>::quiet_NaN());
}

Tensor scaled_dot_product_attention(const Tensor& q, const Tensor& k, const Tensor& v,
                                    const AttentionOptions& options, At at) {
  const OriginScope scope("scaled_dot_product_attention", at);
  STRATA_CHECK(q.ndim() >= 2 && k.ndim() >= 2 && v.ndim() >= 2 && q.size(-1) == k.size(-1) &&
                   k.size(-2) == v.size(-2),
               shape, "[scaled_dot_product_attention] shapes ", render(q.shape()), ", ",
               render(k.shape()), " and ", render(v.shape()));
  STRATA_CHECK(!(options.causal && options.mask), domain,
               "[scaled_dot_product_attention] a mask, and causal, too");
  const auto size = static_cast<double>(number_of(q.size(-1), "scaled_dot_product_attention"));
  const double scale = options.scale.value_or(1 / std::sqrt(size));
  const Tensor keys = options.enable_gqa ? for_queries(k, q) : k,
               values = options.enable_gqa ? for_queries(v, q) : v;
  const Tensor weights = safe_softmax(masked(q.matmul(keys.transpose()) * scale, options));
  return (options.dropout == 0 ? weights : dropout(weights, options.dropout)).matmul(values);
}

Tensor glu(const Tensor& x, std::int64_t axis, At at) {
  const OriginScope scope("glu", at);
  STRATA_CHECK(x.ndim() > 0, shape, "[glu] of a scalar");
  const std::int64_t a = axis_of(axis, x.ndim(), "glu"), n = number_of(x.size(a), "glu");
  STRATA_CHECK(n % 2 == 0, shape, "[glu] axis ", axis, " of shape ", render(x.shape()),
               " has an odd size");
  Mask first, second;
  for (std::int64_t k = 0; k < x.ndim(); ++k) {
    first.push_back({0, k == a ? Int(n / 2) : x.size(k)});
    second.push_back({k == a ? n / 2 : 0, x.size(k)});
  }
  return x.shrink(first) * x.shrink(second).sigmoid();
}

Tensor softmin(const Tensor& x, std::int64_t axis, At at) {
  const OriginScope scope("softmin", at);
  return as_real(x).neg().softmax(axis);
}

/// Each norm counts as eps where it is less.
Tensor cosine_similarity(const Tensor& a, const Tensor& b, std::int64_t axis, double eps, At at) {
  const OriginScope scope("cosine_similarity", at);
  const Operand left(a, at), right(b, at);
  const DType dtype = meeting_dtype(std::array{&left, &right});
  const Met met =
      meet("cosine_similarity", {&left, &right}, dtype.is_float() ? dtype : dtypes::float32);
  return rounded_once(TensorAccess::of(met.nodes[0], a), [&](const Tensor& x) {
    const Tensor y = TensorAccess::of(met.nodes[1], a).cast(x.dtype());
    const auto length = [eps](const Tensor& squares) { return squares.maximum(eps * eps).sqrt(); };
    return (x * y).sum(axis) / (length(x.square().sum(axis)) * length(y.square().sum(axis)));
  });
}

Tensor pairwise_distance(const Tensor& a, const Tensor& b, double p, double eps, bool keepdim, At at) {
  const OriginScope scope("pairwise_distance", at);
  return (as_real(a, b) - as_real(b, a) + eps).norm(p, -1, keepdim);
}

}  // namespace strata
