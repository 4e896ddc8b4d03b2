// write_kernel(): the JSON fields that describe a compiled kernel, in the output of `strata kernel --json` and in the
// answer to the request `kernel` of `strata batch`.
#pragma once

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "strata/base/json.h"
#include "strata/codegen/kernel.h"
#include "strata/render/source_lines.h"

namespace strata::tools {

/// A kernel, and which of its parts are written.
struct KernelTold {
  std::span<const std::string> names;  ///< of the buffers, by slot
  const Kernel& kernel;
  const KernelRecord& record;
  std::string_view device, target;
  int vector_bytes;
  std::vector<std::string_view> sections;  ///< the parts to write, some of kKernelSections
  bool timed;                              ///< whether proofs say how long they took
  /// Gives the source text. Fills the lines if they are not null; leaves them empty if they are unknown.
  std::function<std::string(const Kernel&, SourceLines*)> source;
  /// Gives the assembly text, or nothing if the device has none.
  std::function<std::optional<std::string>(const Kernel&)> assembly;
};

/// Writes the fields into the open JSON object.
void write_kernel(JsonWriter& json, const KernelTold& told);

/// The name of a buffer: names[slot]; "(temporary)", which no text can have, for buffers with the results of kernels
/// that run before.
std::string name_of_buffer(std::span<const std::string> names, std::size_t slot);
/// The Opts of a kernel in the notation of parse_opts(); "none" if there are none.
std::string opts_text(const Kernel& kernel);

}  // namespace strata::tools
