// Arbitrary bytes as an ONNX model: refused with an Error, or loaded, and then run on ones under small limits. The
// first byte chooses between the reader alone and the whole.
#include <cstdlib>
#include <span>
#include <string_view>

#include "strata/onnx/model.h"
#include "strata/onnx/reader.h"
#include "tests/fuzz/checks.h"

namespace {

using namespace strata;

void check_model(std::string_view bytes) {
  const onnx::LoadOptions options{
      .device = &Device::get("INTERP"), .checks_sizes = true, .most_elements = 1 << 12, .most_steps = 200};
  const auto model = onnx::parse(bytes, options);
  for (const auto& [name, value] : (*model)(model->example_inputs()))
    if (value.is_tensor()) value.tensor().realize();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const std::string_view bytes(reinterpret_cast<const char*>(data) + 1, size - 1);
  try {
    if (data[0] % 2 == 0)
      check_model(bytes);
    else
      onnx::read_definition(bytes, "", "the bytes");
  } catch (const Error& error) {
    // Whatever is wrong with the bytes is an Error of some kind, with a reason: operators refuse values, too.
    if (std::string_view(error.what()).empty()) std::abort();
  }
  return 0;
}
