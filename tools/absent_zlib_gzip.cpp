// Replaces zlib_gzip.cpp in a build without zlib: both functions throw.
#include "strata/base/check.h"
#include "tools/gzip.h"

namespace strata::tools {
namespace {

constexpr std::string_view kRemedy = ", and Strata was built without zlib: build with it (Debian: zlib1g-dev)";

}  // namespace

std::string gunzip(std::string_view what, std::string_view, std::size_t) {
  throw Error(ErrorKind::undefined, detail::message("[gzip] ", what, ": the data is compressed", kRemedy));
}

std::string gzip(std::string_view) {
  throw Error(ErrorKind::undefined, detail::message("[gzip] compression is needed", kRemedy));
}

}  // namespace strata::tools
