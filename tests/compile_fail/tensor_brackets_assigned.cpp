// Brackets give a tensor of its own: what is assigned to it would be lost.
// expect: discards qualifiers|no viable overloaded '='|use of deleted|as 'this' argument
#include "strata/tensor/tensor.h"

void run(strata::Tensor x, const strata::Tensor& y) { x[0] = y; }
