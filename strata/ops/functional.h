// The functions of neural networks, of Values: their formulas. Tensors' are in tensor/functional.h.
#pragma once

#include <optional>
#include <utility>
#include <vector>

#include "strata/ops/value.h"

namespace strata::ops {

using EmbeddingBagOptions = BasicEmbeddingBagOptions<Value>;
using AttentionOptions = BasicAttentionOptions<Value>;
using CrossEntropyOptions = BasicCrossEntropyOptions<Value>;
using NllOptions = BasicNllOptions<Value>;
using BinaryCrossEntropyOptions = BasicBinaryCrossEntropyOptions<Value>;
using MultiMarginOptions = BasicMultiMarginOptions<Value>;
using TripletDistanceOptions = BasicTripletDistanceOptions<Value>;

#define STRATA_ARRAY Value
#define STRATA_OPERAND Operand
#define STRATA_FUNCTION(result, name, parameters, ...) \
  STRATA_RESULT(result) name(STRATA_DECLARED(parameters));
#define STRATA_FUNCTION_BY_HAND(...) STRATA_FUNCTION(__VA_ARGS__)
#include "strata/ops/operations.def"
#undef STRATA_ARRAY
#undef STRATA_OPERAND

/// What the running mean and variance of batch_norm() become in training.
std::pair<std::optional<Value>, std::optional<Value>> running_statistics(
    const Value& input, const std::optional<Value>& mean, const std::optional<Value>& var,
    double momentum);
/// The weights of scaled_dot_product_attention(), (..., queries, keys), before any is dropped.
Value attention_weights(const Value& q, const Value& k, const Value& v,
                        const AttentionOptions& options);
/// The weights times the values.
Value attended(const Value& weights, const Value& q, const Value& v, const AttentionOptions& options);

}  // namespace strata::ops
