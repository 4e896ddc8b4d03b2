// A user's shared object with all of Strata in it. It shows the one function that it means to.
#include <strata/base/flags.h>
#include <strata/strata.h>

extern "C" __attribute__((visibility("default"))) float consumer_sum();

float consumer_sum() {
  const strata::ScopedFlag device(strata::flags::DEVICE, "INTERP");
  const strata::Tensor x = strata::Tensor::from({2.0F, 3.0F});
  return x.sum().item<float>();
}
