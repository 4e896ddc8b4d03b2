// A name that is no counter: there is one counter for each expression of the text.
// expect: affine_error<5, .*the counters are _0, _1
#include "strata/loops/tiled.h"

void run(const strata::TiledTensor<float>& t) {
  t.loops<"_0, _2">([](float& x) { x = 0; });
}
