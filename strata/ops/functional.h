// Formulas of the functions of neural networks, on Values. tensor/functional.h declares the same functions for Tensors,
// which call these.
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
#define STRATA_FUNCTION(result, name, parameters, ...) STRATA_RESULT(result) name(STRATA_DECLARED(parameters));
#define STRATA_FUNCTION_BY_HAND(...) STRATA_FUNCTION(__VA_ARGS__)
#include "strata/ops/operations.def"
#undef STRATA_ARRAY
#undef STRATA_OPERAND

/// The running mean and variance of batch_norm() after a training step: (1 - momentum)*old + momentum*(statistic of
/// `input`). The variance is the unbiased one. Each result is absent where its old value is.
std::pair<std::optional<Value>, std::optional<Value>> running_statistics(const Value& input,
                                                                         const std::optional<Value>& mean,
                                                                         const std::optional<Value>& var,
                                                                         double momentum);
/// The weights of scaled_dot_product_attention() before dropout: softmax(q @ k.T * scale) with the mask applied, (...,
/// queries, keys).
Value attention_weights(const Value& q, const Value& k, const Value& v, const AttentionOptions& options);
/// weights @ v; with enable_gqa the heads of `v` are repeated to match those of `q`.
Value attended(const Value& weights, const Value& q, const Value& v, const AttentionOptions& options);

}  // namespace strata::ops
