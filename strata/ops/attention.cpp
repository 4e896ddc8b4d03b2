// Linear layers, embeddings, attention, gated units, and distances between vectors.

#include <array>
#include <cmath>
#include <limits>

#include "strata/ops/at_hand.h"
#include "strata/ops/functional.h"
#include "strata/ops/indexed.h"
#include "strata/ops/operand_promotion.h"

namespace strata::ops {

namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

/// Keys or values (..., heads, length, size) with each head repeated for the heads of queries that share it.
Value for_queries(const Value& x, const Value& q) {
  if (x.ndim() < 3 || q.ndim() < 3) return x;
  const std::int64_t heads = number_of(x.size(-3), "scaled_dot_product_attention"),
                     asked = number_of(q.size(-3), "scaled_dot_product_attention");
  STRATA_CHECK(heads > 0 && asked % heads == 0, shape, "[scaled_dot_product_attention] ", asked,
               " query heads are not a multiple of ", heads, " key or value heads");
  return x.repeat_interleave(asked / heads, -3);
}

/// The scores with -infinity where a query must not attend to a key; a mask of floats is added.
Value masked(const Value& scores, const AttentionOptions& o) {
  Value out = scores;
  if (o.mask && o.mask->dtype().is_bool()) out = o.mask->where(out, -kInfinity);
  if (o.mask && !o.mask->dtype().is_bool()) out = out + *o.mask;
  if (!o.causal) return out;
  const Value row = counting(out.size(-2)).unsqueeze(1), column = counting(out.size(-1));
  return column.le(row).where(out, -kInfinity);
}

/// softmax along the last axis; zeros for a row of -infinity (all keys masked) in place of NaN.
Value safe_softmax(const Value& narrow) {
  return rounded_once(narrow, [](const Value& scores) {
    const Value largest = scores.max(-1, true).detach();
    const Value e = (scores - largest.eq(-kInfinity).where(0, largest)).exp();
    const Value total = e.sum(-1, true);
    return with_softmax_gradient(e / total.eq(0).where(1, total), scores, -1);
  });
}

/// `weight` with gradients blocked for row `row`, the padding index.
Value without_gradient_at(const Value& weight, std::optional<std::int64_t> row) {
  if (!row) return weight;
  const std::int64_t rows = number_of(weight.size(0), "embedding");
  STRATA_CHECK(-rows <= *row && *row < rows, domain, "[embedding] the padding index ", *row, " is outside of the ",
               rows, " rows of the weight");
  const Value is_it = counting(rows).unsqueeze(1).eq(*row < 0 ? *row + rows : *row);
  return is_it.where(weight.detach(), weight);
}

}  // namespace

Value linear(const Value& x, const Value& weight, const std::optional<Value>& bias) {
  STRATA_CHECK(x.ndim() > 0 && (weight.ndim() == 1 || weight.ndim() == 2) && x.size(-1) == weight.size(-1), shape,
               "[linear] an input of shape ", render(x.shape()), " does not match a weight of shape ",
               render(weight.shape()));
  const Value out = x.matmul(weight.ndim() == 2 ? weight.transpose() : weight);
  return bias ? out + *bias : out;
}

Value embedding(const Value& indices, const Value& weight, std::optional<std::int64_t> padding_index) {
  STRATA_CHECK(weight.ndim() == 2, shape, "[embedding] the weight has shape ", render(weight.shape()),
               "; (rows, size) is expected");
  STRATA_CHECK(indices.dtype().is_int(), domain, "[embedding] the indices have dtype ", indices.dtype().name(),
               "; an integer dtype is expected");
  const Value which = in_range(indices, {"embedding", "index", number_of(weight.size(0), "embedding")});
  Value rows = picked(without_gradient_at(weight, padding_index).transpose(), which.unsqueeze(-1));
  if (!weight.dtype().is_float()) return rows;
  const Value is_row = is_within(indices, number_of(weight.size(0), "embedding"));
  return is_row.unsqueeze(-1).where(rows, std::numeric_limits<double>::quiet_NaN());
}

Value attention_weights(const Value& q, const Value& k, const Value& v, const AttentionOptions& options) {
  STRATA_CHECK(q.ndim() >= 2 && k.ndim() >= 2 && v.ndim() >= 2 && q.size(-1) == k.size(-1) && k.size(-2) == v.size(-2),
               shape, "[scaled_dot_product_attention] shapes ", render(q.shape()), ", ", render(k.shape()), " and ",
               render(v.shape()), " of query, key and value do not match");
  STRATA_CHECK(!(options.causal && options.mask), domain,
               "[scaled_dot_product_attention] a mask is given and causal is set: use one of the two");
  const auto size = static_cast<double>(number_of(q.size(-1), "scaled_dot_product_attention"));
  const double scale = options.scale.value_or(1 / std::sqrt(size));
  const Value keys = options.enable_gqa ? for_queries(k, q) : k;
  return safe_softmax(masked(q.matmul(keys.transpose()) * scale, options));
}
Value attended(const Value& weights, const Value& q, const Value& v, const AttentionOptions& options) {
  return weights.matmul(options.enable_gqa ? for_queries(v, q) : v);
}
Value scaled_dot_product_attention(const Value& q, const Value& k, const Value& v, const AttentionOptions& options) {
  STRATA_CHECK(options.dropout == 0, domain,
               "[scaled_dot_product_attention] a formula draws no random numbers: dropout is ", options.dropout,
               ", not 0");
  return attended(attention_weights(q, k, v, options), q, v, options);
}

Value glu(const Value& x, std::int64_t axis) {
  STRATA_CHECK(x.ndim() > 0, shape, "[glu] the tensor is a scalar: at least one dimension is needed");
  const std::int64_t a = axis_of(axis, x.ndim(), "glu"), n = number_of(x.size(a), "glu");
  STRATA_CHECK(n % 2 == 0, shape, "[glu] axis ", axis, " of shape ", render(x.shape()), " has an odd size");
  Mask first, second;
  for (std::int64_t k = 0; k < x.ndim(); ++k) {
    first.push_back({0, k == a ? Int(n / 2) : x.size(k)});
    second.push_back({k == a ? n / 2 : 0, x.size(k)});
  }
  return x.shrink(first) * x.shrink(second).sigmoid();
}

Value softmin(const Value& x, std::int64_t axis) { return as_real(x).neg().softmax(axis); }

/// Norms below eps count as eps.
Value cosine_similarity(const Value& a, const Value& b, std::int64_t axis, double eps) {
  const Operand left(a), right(b);
  const DType dtype = promoted_dtype(std::array{&left, &right});
  const auto promoted =
      promote_operands("cosine_similarity", {&left, &right}, dtype.is_float() ? dtype : dtypes::float32);
  return rounded_once(Value(promoted[0]), [&](const Value& x) {
    const Value y = Value(promoted[1]).cast(x.dtype());
    const auto length = [eps](const Value& squares) { return squares.maximum(eps * eps).sqrt(); };
    return (x * y).sum(axis) / (length(x.square().sum(axis)) * length(y.square().sum(axis)));
  });
}

Value pairwise_distance(const Value& a, const Value& b, double p, double eps, bool keepdim) {
  return (as_real(a, b) - as_real(b, a) + eps).norm(p, -1, keepdim);
}

}  // namespace strata::ops
