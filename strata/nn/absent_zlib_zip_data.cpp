// Replaces zlib_zip_data.cpp in a build without zlib: every function throws.
#include "strata/nn/zip_data.h"

namespace strata {
namespace {

[[noreturn]] void refuse() {
  throw Error(ErrorKind::undefined,
              "[npz] Strata was built without zlib, which npz files need: build with it (Debian: "
              "zlib1g-dev), or use npy or safetensors");
}

}  // namespace

bool has_zlib() { return false; }

std::uint32_t crc32(std::span<const std::byte>, std::uint32_t) { refuse(); }

std::vector<std::byte> inflate(const ByteSource&, std::span<const std::byte>, std::uint64_t) { refuse(); }

}  // namespace strata
