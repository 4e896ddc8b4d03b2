// answer(): answers a JSON request with a JSON object (docs/batch.md). `strata batch` calls it for each line of its
// input; the page calls it for all that it shows.
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
  std::int64_t budget = default_budget;          ///< work of one request, in the units of `Work` and of Meter
  std::optional<double> deadline = {};           ///< seconds that one request may take; finite, not negative
  std::size_t max_line = std::size_t{64} << 20;  ///< bytes; a longer line is answered with an error
  NumberLists* memory = nullptr;                 ///< for long lists of an answer; null: they are in its JSON
};

/// The answer to one request: one JSON object, without a line break. An invalid request gives an object with the error;
/// no content of the line makes the function throw.
std::string answer(std::string_view line, const BatchOptions& options = {});

/// Reads up to `size` bytes into `buffer`. Returns the number of bytes read; 0 at the end.
using ByteSource = std::function<std::size_t(char* buffer, std::size_t size)>;

/// Answers every line of `source` on `out`. Before it reads more, it answers all complete lines and flushes `out`, so
/// that a program can wait for an answer before it sends the next request. Memory is bounded by the longest line.
/// Returns false if `out` failed.
bool answer_stream(const ByteSource& source, std::ostream& out, const BatchOptions& options = {});

/// Writes the fields of the answer to `expr` into the open object. `points`: whether the request had points.
void write_expr_answer(JsonWriter& json, const ExprAnswer& answer, bool points);

}  // namespace strata::tools
