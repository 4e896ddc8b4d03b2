// Operations that read elements: equal(), allclose(), bincount().

#include <algorithm>
#include <array>
#include <vector>

#include "strata/ops/indexed.h"
#include "strata/tensor/front.h"

namespace strata {

bool Tensor::equal(const Tensor& other, At at) const {
  const OriginScope scope("equal", at);
  return shape() == other.shape() && eq(other).all().item<bool>();
}
bool Tensor::allclose(const Tensor& other, double rtol, double atol, bool equal_nan, At at) const {
  const OriginScope scope("allclose", at);
  return isclose(other, rtol, atol, equal_nan).all().item<bool>();
}

Tensor Tensor::bincount(const std::optional<Tensor>& weights, std::int64_t least, At at) const {
  const OriginScope scope("bincount", at);
  STRATA_CHECK(ndim() == 1 && dtype().is_int(), shape, "[bincount] the tensor has dtype ", dtype().name(),
               " and shape ", render(shape()), "; integers of one dimension are expected");
  STRATA_CHECK(!weights || weights->shape() == shape(), shape, "[bincount] weights of shape ", render(weights->shape()),
               " do not match shape ", render(shape()));
  STRATA_CHECK(least >= 0, domain, "[bincount] the least number of counts is ", least, "; 0 or more is expected");
  const Tensor x = cast(dtypes::int64);
  std::int64_t count = least;
  if (!(numel() == Int(0))) {
    const std::array both = {x.min(), x.max()};
    const std::vector<std::int64_t> ends = stack(both).to_vector<std::int64_t>();
    STRATA_CHECK(ends[0] >= 0, domain, "[bincount] the element ", ends[0], " is below 0");
    STRATA_CHECK(ends[1] < (std::int64_t{1} << 40), budget, "[bincount] the element ", ends[1],
                 " is too large to be counted");
    count = std::max(least, ends[1] + 1);
  }
  const bool is_single = weights && weights->dtype() == dtypes::float32;
  const Tensor each = !weights ? x.ones_like() : is_single ? *weights : weights->cast(dtypes::float64);
  return front::on_values("bincount", at, ops::counts_of, x, count, each);
}

}  // namespace strata
