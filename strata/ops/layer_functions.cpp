// Functions of layers: embedding_bag(), bilinear(), prelu(), channel_shuffle(), pdist().

#include <limits>

#include "strata/ops/functional.h"
#include "strata/ops/indexed.h"
#include "strata/ops/operand_promotion.h"
#include "strata/ops/products.h"

namespace strata::ops {

namespace {

/// The embedded rows, (bags or 1, n, size), and a mask (bags, n) of the rows that belong to each bag.
struct Bags {
  Value rows, belongs;
};

/// (count): the number of the bag of each index.
Value bag_of_each(const Value& offsets, std::int64_t count) {
  STRATA_CHECK(offsets.ndim() == 1 && offsets.dtype().is_int(), shape, "[embedding_bag] the offsets have dtype ",
               offsets.dtype().name(), " and shape ", render(offsets.shape()),
               "; integers of one dimension are expected");
  return offsets.searchsorted(counting(count), true) - 1;
}

Bags bags_of(const Value& indices, const Value& weight, const EmbeddingBagOptions& o) {
  STRATA_CHECK(
      indices.ndim() == (o.offsets ? 1 : 2), shape, "[embedding_bag] the indices have shape ", render(indices.shape()),
      o.offsets ? "; with offsets, one dimension is expected" : "; without offsets, two dimensions are expected");
  Value rows = embedding(indices, weight, o.padding_index), belongs = indices.ones_like().cast(dtypes::boolean);
  if (o.per_sample_weights) {
    STRATA_CHECK(o.mode == BagMode::sum && o.per_sample_weights->shape() == indices.shape(), shape,
                 "[embedding_bag] weights of shape ", render(o.per_sample_weights->shape()), " for indices of shape ",
                 render(indices.shape()), ": equal shapes and the mode sum are expected");
    rows = rows * o.per_sample_weights->unsqueeze(-1);
  }
  if (o.padding_index) {
    const std::int64_t count = number_of(weight.size(0), "embedding_bag"), at = *o.padding_index;
    belongs = wrapped(indices, count, "embedding_bag").ne(at < 0 ? at + count : at);
  }
  if (!o.offsets) return {rows, belongs};
  const Value bag = bag_of_each(*o.offsets, number_of(indices.size(0), "embedding_bag"));
  const Value is_in = counting(o.offsets->size(0)).unsqueeze(1).eq(bag);
  return {rows.unsqueeze(0), is_in & belongs};
}

}  // namespace

Value embedding_bag(const Value& indices, const Value& weight, const EmbeddingBagOptions& options) {
  const auto [rows, belongs] = bags_of(indices, weight, options);
  const Value is_in = belongs.unsqueeze(-1), is_empty = belongs.any(1).logical_not().unsqueeze(-1);
  if (options.mode == BagMode::max) {
    if (belongs.size(1) == Int(0)) return rows.new_zeros({belongs.size(0), weight.size(1)});
    const Value seen = is_in.where(rows, -std::numeric_limits<double>::infinity());
    return is_empty.where(0, seen.max(1));
  }
  Value sums = is_in.where(rows, 0).sum(1);
  if (options.mode == BagMode::sum) return sums;
  return sums / belongs.sum(1, true).maximum(1).cast(sums.dtype());
}

Value bilinear(const Value& a, const Value& b, const Value& weight, const std::optional<Value>& bias) {
  STRATA_CHECK(weight.ndim() == 3 && a.ndim() > 0 && a.ndim() == b.ndim() && a.size(-1) == weight.size(1) &&
                   b.size(-1) == weight.size(2),
               shape, "[bilinear] shapes ", render(a.shape()), " and ", render(b.shape()),
               " do not match a weight of shape ", render(weight.shape()));
  const Value rows = weight.movedim({1}, {0}).flatten(1);  // (n, out * m)
  const Value by_a = a.matmul(rows).unflatten(-1, {weight.size(0), weight.size(2)});
  const Value out = sum_of_products("bilinear", by_a, b.unsqueeze(-2), {by_a.ndim() - 1});
  return bias ? out + *bias : out;
}

Value prelu(const Value& x, const Value& weight) {
  Value slope = weight;
  if (weight.numel() == Int(1)) {
    slope = weight.reshape({});
  } else {
    STRATA_CHECK(weight.ndim() == 1 && x.ndim() >= 2 && weight.size(0) == x.size(1), shape,
                 "[prelu] a weight of shape ", render(weight.shape()), " does not match an input of shape ",
                 render(x.shape()));
    Ints sizes(x.shape().size() - 1, 1);
    sizes[0] = weight.size(0);
    slope = weight.reshape(sizes);
  }
  const Value is_above = x.gt(0);  // there the gradient by x is 1, independent of the weight
  return is_above.where(x, is_above.where(0, x) * slope);
}

Value channel_shuffle(const Value& x, std::int64_t groups) {
  STRATA_CHECK(x.ndim() >= 3 && groups > 0, shape, "[channel_shuffle] ", groups, " groups of shape ", render(x.shape()),
               ": at least one group and three dimensions are needed");
  return x.unflatten(1, {groups, -1}).transpose(1, 2).flatten(1, 2);
}

Value pdist(const Value& x, double p) {
  STRATA_CHECK(x.ndim() == 2, shape, "[pdist] the tensor has shape ", render(x.shape()), "; (rows, size) is expected");
  STRATA_CHECK(p >= 0, domain, "[pdist] the norm p is ", p, "; 0 or more is expected");
  const std::int64_t n = number_of(x.size(0), "pdist");
  const Value pairs = Value::triu_indices(n, n, 1);
  return (as_real(x).index_select(0, pairs.select(0, 0)) - as_real(x).index_select(0, pairs.select(0, 1))).norm(p, 1);
}

}  // namespace strata::ops
