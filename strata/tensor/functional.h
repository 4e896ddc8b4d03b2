// Stateless functions of neural networks (convolutions, pooling, losses, attention, ...), named and defined as in
// torch.nn.functional. Layers with parameters are in nn/layers.h.
//
//   Tensor y = conv2d(x, w, bias, {.stride = 2, .padding = "same"}).relu();
//   Tensor loss = cross_entropy(logits, classes, {.label_smoothing = 0.1});
//
// Spatial inputs have the shape (batch, channels, sizes...), or (channels, sizes...) without a batch. Options are
// structs for designated initializers: only what differs from a default is written. All functions throw Error (shape)
// for shapes that do not fit and Error (domain) for options out of range; messages name the operation and the values.
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

// One declaration for each function row of operations.def, which documents its meaning, parameters and reference
// (docs/operations.md).
#define STRATA_ARRAY Tensor
#define STRATA_OPERAND Operand
#define STRATA_FUNCTION(result, name, parameters, binding, names, ...)                                       \
  STRATA_RESULT(result) name(STRATA_DECLARED(parameters), At at = At::current());                            \
  STRATA_EACH_NAME(STRATA_FUNCTION_ALIAS, names, STRATA_RESULT(result), name, (STRATA_DECLARED(parameters)), \
                   (STRATA_PASSED(parameters)))
#define STRATA_FUNCTION_ALIAS(alias, result, name, declared, passed) \
  inline result alias(STRATA_STRIP declared, At at = At::current()) { return name(STRATA_STRIP passed, at); }
#define STRATA_FUNCTION_BY_HAND(...) STRATA_FUNCTION(__VA_ARGS__)
#include "strata/ops/operations.def"
#undef STRATA_FUNCTION_ALIAS
#undef STRATA_ARRAY
#undef STRATA_OPERAND

}  // namespace strata
