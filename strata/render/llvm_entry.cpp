#include "strata/render/llvm_entry.h"

#include "strata/base/check.h"
#include "strata/render/llvm_text.h"

namespace strata::rendering {

std::string llvm_entry(std::string_view name, std::span<const LlvmArgument> buffers,
                       std::span<const LlvmArgument> values) {
  LlvmText text;
  std::string arguments;
  const auto pass = [&](const std::string& type, const std::string& value) {
    arguments += detail::message(arguments.empty() ? "" : ", ", type, " ", value);
  };
  for (const LlvmArgument& b : buffers) {
    const std::string at = text.define(b.name + ".at", "getelementptr ptr, ptr %buffers, i64 ", b.position);
    pass("ptr", text.define(b.name, "load ptr, ptr ", at, ", align 8"));
  }
  for (const LlvmArgument& v : values) {
    const bool wide = v.dtype == dtypes::int64;
    const std::string at = text.define(v.name + ".at", "getelementptr i64, ptr %values, i64 ", v.position);
    const std::string full = text.define(wide ? v.name : v.name + ".full", "load i64, ptr ", at, ", align 8");
    pass(llvm_type(v.dtype), wide ? full : text.define(v.name, "trunc i64 ", full, " to i32"));
  }
  text.line("call void @", name, "(", arguments, ")");
  text.line("ret void");
  return detail::message("define void @", name, "_entry(ptr %buffers, ptr %values) #0 {\n", text.text(), "}\n");
}

}  // namespace strata::rendering
