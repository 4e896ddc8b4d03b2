// The functions of neural networks, free of modules: names and meanings are those of torch.nn.functional.
//
//   Tensor y = conv2d(x, w, bias, {.stride = 2, .padding = "same"}).relu();
//   Tensor loss = cross_entropy(logits, classes, {.label_smoothing = 0.1});
//
// Spatial inputs are (batch, channels, sizes...), or (channels, sizes...) for one. Options are structs, written with
// the names of what differs from the defaults. All throw Error (shape) for shapes that do not fit and (domain) for
// options out of range, with the operation's name and the values.
#pragma once

#include <functional>
#include <optional>
#include <utility>
#include "strata/ops/options.h"
#include "strata/tensor/tensor.h"

namespace strata {

using EmbeddingBagOptions = BasicEmbeddingBagOptions<Tensor>;
using AttentionOptions = BasicAttentionOptions<Tensor>;
using CrossEntropyOptions = BasicCrossEntropyOptions<Tensor>;
using NllOptions = BasicNllOptions<Tensor>;
using BinaryCrossEntropyOptions = BasicBinaryCrossEntropyOptions<Tensor>;
using MultiMarginOptions = BasicMultiMarginOptions<Tensor>;
using TripletDistanceOptions = BasicTripletDistanceOptions<Tensor>;
using DistanceFunction = std::function<Tensor(const Tensor&, const Tensor&)>;

// The functions: what each means, its parameters and its reference stand in its row.
#define STRATA_ARRAY Tensor
#define STRATA_OPERAND Operand
#define STRATA_FUNCTION(result, name, parameters, binding, names, ...)            \
  STRATA_RESULT(result) name(STRATA_DECLARED(parameters), At at = At::current()); \
  STRATA_EACH_NAME(STRATA_FUNCTION_ALIAS, names, STRATA_RESULT(result), name,     \
                   (STRATA_DECLARED(parameters)), (STRATA_PASSED(parameters)))
#define STRATA_FUNCTION_ALIAS(alias, result, name, declared, passed)  \
  inline result alias(STRATA_STRIP declared, At at = At::current()) { \
    return name(STRATA_STRIP passed, at);                             \
  }
#define STRATA_FUNCTION_BY_HAND(...) STRATA_FUNCTION(__VA_ARGS__)
#include "strata/ops/operations.def"
#undef STRATA_FUNCTION_ALIAS
#undef STRATA_ARRAY
#undef STRATA_OPERAND

}  // namespace strata
