// Functions of layers: bags of rows, bilinear forms, slopes of channels, distances of rows.

#include <limits>

#include "strata/tensor/access.h"
#include "strata/tensor/functional.h"
#include "strata/tensor/indexed.h"
#include "strata/tensor/products.h"

namespace strata {

namespace {

/// Rows (bags or 1, n, size), and which of the n belong to a bag (bags, n).
struct Bags {
  Tensor rows, belongs;
};

Tensor bag_of_each(const Tensor& offsets, std::int64_t count) {
  STRATA_CHECK(offsets.ndim() == 1 && offsets.dtype().is_int(), shape,
               "[embedding_bag] offsets of ", offsets.dtype().name(), " ", render(offsets.shape()),
               ", where integers of one dimension are expected");
  return offsets.searchsorted(counting(count, offsets), true) - 1;
}

Bags bags_of(const Tensor& indices, const Tensor& weight, const EmbeddingBagOptions& o) {
  STRATA_CHECK(indices.ndim() == (o.offsets ? 1 : 2), shape, "[embedding_bag] indices of shape ",
               render(indices.shape()), o.offsets ? " with offsets" : " without offsets");
  Tensor rows = embedding(indices, weight, o.padding_index),
         belongs = indices.ones_like().cast(dtypes::boolean);
  if (o.per_sample_weights) {
    STRATA_CHECK(o.mode == BagMode::sum && o.per_sample_weights->shape() == indices.shape(), shape,
                 "[embedding_bag] weights of shape ", render(o.per_sample_weights->shape()),
                 " for indices of shape ", render(indices.shape()), ", of sums alone");
    rows = rows * o.per_sample_weights->unsqueeze(-1);
  }
  if (o.padding_index) {
    const std::int64_t count = number_of(weight.size(0), "embedding_bag"), at = *o.padding_index;
    belongs = wrapped(indices, count, "embedding_bag").ne(at < 0 ? at + count : at);
  }
  if (!o.offsets) return {rows, belongs};
  const Tensor bag = bag_of_each(*o.offsets, number_of(indices.size(0), "embedding_bag"));
  const Tensor is_in = counting(o.offsets->size(0), indices).unsqueeze(1).eq(bag);
  return {rows.unsqueeze(0), is_in & belongs};
}

}  // namespace

Tensor embedding_bag(const Tensor& indices, const Tensor& weight,
                     const EmbeddingBagOptions& options, At at) {
  const OriginScope scope("embedding_bag", at);
  const auto [rows, belongs] = bags_of(indices, weight, options);
  const Tensor is_in = belongs.unsqueeze(-1), is_empty = belongs.any(1).logical_not().unsqueeze(-1);
  if (options.mode == BagMode::max) {
    if (belongs.size(1) == Int(0)) return rows.new_zeros({belongs.size(0), weight.size(1)});
    const Tensor seen = is_in.where(rows, -std::numeric_limits<double>::infinity());
    return is_empty.where(0, seen.max(1));
  }
  Tensor sums = is_in.where(rows, 0).sum(1);
  if (options.mode == BagMode::sum) return sums;
  return sums / belongs.sum(1, true).maximum(1).cast(sums.dtype());
}

Tensor bilinear(const Tensor& a, const Tensor& b, const Tensor& weight,
                const std::optional<Tensor>& bias, At at) {
  const OriginScope scope("bilinear", at);
  STRATA_CHECK(weight.ndim() == 3 && a.ndim() > 0 && a.ndim() == b.ndim() &&
                   a.size(-1) == weight.size(1) && b.size(-1) == weight.size(2),
               shape, "[bilinear] shapes ", render(a.shape()), " and ", render(b.shape()),
               " by a weight of shape ", render(weight.shape()));
  const Tensor rows = weight.movedim({1}, {0}).flatten(1);  // (n, out * m)
  const Tensor by_a = a.matmul(rows).unflatten(-1, {weight.size(0), weight.size(2)});
  const Tensor out = sum_of_products("bilinear", by_a, b.unsqueeze(-2), {by_a.ndim() - 1});
  return bias ? out + *bias : out;
}

Tensor prelu(const Tensor& x, const Tensor& weight, At at) {
  const OriginScope scope("prelu", at);
  Tensor slope = weight;
  if (weight.numel() == Int(1)) {
    slope = weight.reshape({});
  } else {
    STRATA_CHECK(weight.ndim() == 1 && x.ndim() >= 2 && weight.size(0) == x.size(1), shape,
                 "[prelu] a weight of shape ", render(weight.shape()), " for an input of shape ",
                 render(x.shape()));
    Ints sizes(x.shape().size() - 1, 1);
    sizes[0] = weight.size(0);
    slope = weight.reshape(sizes);
  }
  const Tensor is_above = x.gt(0);  // there the slope by x is 1, whatever the weight is
  return is_above.where(x, is_above.where(0, x) * slope);
}

Tensor channel_shuffle(const Tensor& x, std::int64_t groups, At at) {
  const OriginScope scope("channel_shuffle", at);
  STRATA_CHECK(x.ndim() >= 3 && groups > 0, shape, "[channel_shuffle] ", groups,
               " groups of shape ", render(x.shape()));
  return x.unflatten(1, {groups, -1}).transpose(1, 2).flatten(1, 2);
}

Tensor pdist(const Tensor& x, double p, At at) {
  const OriginScope scope("pdist", at);
  STRATA_CHECK(x.ndim() == 2, shape, "[pdist] of shape ", render(x.shape()),
               ", where (rows, size) is expected");
  STRATA_CHECK(p >= 0, domain, "[pdist] a norm of ", p);
  const std::int64_t n = number_of(x.size(0), "pdist");
  const Tensor pairs = Tensor::triu_indices(n, n, 1).to(x.device());
  return (as_real(x).index_select(0, pairs.select(0, 0)) -
          as_real(x).index_select(0, pairs.select(0, 1)))
      .norm(p, 1);
}

}  // namespace strata
