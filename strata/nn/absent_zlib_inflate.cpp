// In place of zlib_inflate.cpp where zlib is not to be had.
#include "strata/nn/inflate.h"

namespace strata {

std::vector<std::byte> inflate(const ByteSource& source, std::span<const std::byte>, std::uint64_t) {
  throw Error(
      ErrorKind::undefined,
      detail::message("[npz] ", source.name(),
                      ": it is compressed, and Strata was built without zlib: build with it "
                      "(Debian: zlib1g-dev), or write the file with numpy.savez"));
}

bool has_inflate() { return false; }

}  // namespace strata
