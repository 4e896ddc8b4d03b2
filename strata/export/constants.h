// Constants: the weights and packed weights of an exported file, each once. Internal to export/.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <unordered_map>
#include <vector>

#include "strata/dtype/dtype.h"

namespace strata::exporting {

constexpr std::int64_t kAlignment = 64;  ///< bytes: of constants, of arena and state, and of all that lies in them
inline std::int64_t aligned(std::int64_t bytes) { return (bytes + kAlignment - 1) / kAlignment * kAlignment; }

/// A constant of the file. `at` is its offset among all constants.
struct Constant {
  DType dtype;
  const std::byte* data = nullptr;
  std::int64_t bytes = 0, at = 0;
};

class Constants {
 public:
  /// The number of the constant with these elements, which live as long as the object.
  std::size_t add(DType dtype, const void* data, std::int64_t bytes);
  /// As add(), of elements that the object keeps.
  std::size_t add(DType dtype, std::vector<std::byte> elements);
  const std::vector<Constant>& all() const { return all_; }
  std::int64_t bytes() const { return bytes_; }  ///< of all, with the gaps between them

 private:
  std::vector<Constant> all_;
  std::vector<std::unique_ptr<std::vector<std::byte>>> own_;
  std::unordered_multimap<std::uint64_t, std::size_t> by_hash_;
  std::int64_t bytes_ = 0;
};

/// FNV-1a with 64 bits.
std::uint64_t checksum(const void* data, std::size_t bytes);

}  // namespace strata::exporting
