// `strata batch`: one JSON request a line in, one JSON answer a line out.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <iosfwd>
#include <optional>
#include <string>
#include <string_view>

#include "strata/base/json.h"
#include "tools/ask.h"
#include "tools/number_lists.h"

namespace strata::tools {

struct BatchOptions {
  std::int64_t budget = default_budget;  ///< work of one request, in the units of `Work` and of Meter
  std::optional<double> deadline = {};  ///< seconds that one request may take; finite, not negative
  std::size_t max_line = std::size_t{64} << 20;  ///< bytes; a longer line is answered with an error
  NumberLists* memory = nullptr;  ///< where long lists of an answer go; into its JSON where there is none
};

/// The answer to one request: one JSON object, without a line break. Never throws for what the line holds.
std::string answer(std::string_view line, const BatchOptions& options = {});

/// Reads up to `size` bytes to `buffer`; 0 at the end.
using ByteSource = std::function<std::size_t(char* buffer, std::size_t size)>;

/// Answers every line of `source` on `out`. All lines that have arrived are answered, and `out` flushed, before more
/// is read; memory is bounded by the longest line. False when `out` failed.
bool answer_stream(const ByteSource& source, std::ostream& out, const BatchOptions& options = {});

/// The fields of the `expr` answer, inside an open object. `points` says whether the request had any.
void write_expr_answer(JsonWriter& json, const ExprAnswer& answer, bool points);

}  // namespace strata::tools
