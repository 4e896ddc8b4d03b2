// A text of expressions that is wrong names the column in all of it.
// expect: affine_error<10, .*expected a value
#include "strata/loops/tiled.h"

void run(const strata::TiledTensor<float>& t) {
  t.loops<"_0, _1 + * 2">([](float& x) { x = 0; });
}
