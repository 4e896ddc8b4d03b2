// A kernel as JSON: for `strata kernel --json` and the request `kernel`.
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

/// A kernel, and what is told of it.
struct KernelTold {
  std::span<const std::string> names;  ///< of the buffers, by slot
  const Kernel& kernel;
  const KernelRecord& record;
  std::string_view device, target;
  int vector_bytes;
  std::vector<std::string_view> sections;  ///< of kKernelSections
  bool timed;                              ///< whether proofs say how long they took
  /// The lines are asked for where they are not null; they stay empty where nothing is known of them.
  std::function<std::string(const Kernel&, SourceLines*)> source;
  /// Nothing where there is none.
  std::function<std::optional<std::string>(const Kernel&)> assembly;
};

/// The fields, inside of an open object.
void write_kernel(JsonWriter& json, const KernelTold& told);

/// That of the text; of those through which kernels hand over, a name that no text has.
std::string name_of_buffer(std::span<const std::string> names, std::size_t slot);
/// "none", or what parse_opts reads.
std::string opts_text(const Kernel& kernel);

}  // namespace strata::tools
