// A callback that takes none of the forms.
// expect: the callback takes \(T&\), \(T&, auto offsets\)
#include "strata/loops/tiled.h"

void run(const strata::TiledTensor<float>& t) {
  t.complexLoops({"_0"}, [](int* x) { *x = 0; });
}
