// `strata devices`: lists the devices, and whether each can be used on this machine.
#include <ostream>

#include "strata/base/json.h"
#include "tools/command_parts.h"
#include "tools/commands.h"
#include "tools/device_text.h"

namespace strata::tools {

bool is_default(const Device& device) {
  try {
    return &Device::default_device() == &device;
  } catch (const Error&) {  // the flag DEVICE names no device
    return false;
  }
}

std::string device_json(const Device& device) {
  const std::string missing = device.missing();
  const Target& target = device.target();
  JsonWriter json;
  json.begin_object().member("name", device.name()).member("text", device.text());
  json.member("usable", missing.empty()).member("default", is_default(device)).key("missing");
  if (missing.empty())
    json.null();
  else
    json.value(missing);
  json.member("vector_bytes", std::int64_t{target.vector_bytes});
  json.member("vector_registers", std::int64_t{target.vector_registers});
  return json.end_object().take();
}

int command_devices(const Invocation& invocation, Console& console) {
  constexpr std::size_t width = 8;
  const bool colour = wants_colour(invocation, console);
  for (const Device* device : Device::all()) {
    if (invocation.has("--json")) {
      console.out << device_json(*device) << '\n';
      continue;
    }
    const std::string missing = device->missing();
    std::string name(device->name());
    name.resize(std::max(width, name.size() + 1), ' ');
    console.out << paint(colour, Style::bold, name)
                << (missing.empty() ? paint(colour, Style::green, "usable ") : paint(colour, Style::red, "missing"))
                << "  " << device->text() << (is_default(*device) ? " (default)" : "") << '\n';
    if (!missing.empty()) console.out << std::string(width, ' ') << missing << '\n';
  }
  return 0;
}

}  // namespace strata::tools
