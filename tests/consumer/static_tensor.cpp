// A user's program with tensors at namespace scope: made before main, used there, gone after it. Whatever the order in
// which the linker puts this object and those of Strata, nothing of Strata has to be made first.
#include <strata/strata.h>

#include <cstdio>

namespace {

const strata::Tensor made_first = strata::Tensor::ones({2, 3}).sum();
const strata::Tensor realized_first = (strata::Tensor::arange(4) * 2).realize();
strata::Tensor nothing, later;

}  // namespace

int main() {
  later = realized_first.cast(strata::dtypes::float32) + made_first;
  std::printf("%g %d\n", later.sum().item(), static_cast<int>(nothing.numel().value()));
}
