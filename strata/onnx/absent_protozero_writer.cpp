// Replaces protozero_writer.cpp in a build without protozero: every function throws.
#include "strata/base/check.h"
#include "strata/onnx/writer.h"

namespace strata::onnx {

std::int64_t element_of_dtype(DType) { return 0; }

std::string write_definition(const Definition&) {
  throw Error(ErrorKind::undefined,
              "[onnx] Strata was built without protozero, which ONNX files need: build with it (Debian: "
              "libprotozero-dev)");
}

}  // namespace strata::onnx
