// Replaces protozero_reader.cpp in a build without protozero: every function throws.
#include "strata/base/check.h"
#include "strata/onnx/reader.h"

namespace strata::onnx {
namespace {

[[noreturn]] void refuse_without_protozero() {
  throw Error(ErrorKind::undefined,
              "[onnx] Strata was built without protozero, which ONNX files need: build with it (Debian: "
              "libprotozero-dev)");
}

}  // namespace

bool has_reader() { return false; }

Definition read_definition(std::string_view, const std::string&, const std::string&) { refuse_without_protozero(); }

Datum read_value(std::string_view, Port::Kind, const std::string&) { refuse_without_protozero(); }

}  // namespace strata::onnx
