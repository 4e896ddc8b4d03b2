// What a node of the graph is realized as: memory of a device. Which, the engine knows; the graph keeps it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace strata {

/// What a node is realized as.
class Storage {
 public:
  Storage() = default;
  Storage(const Storage&) = delete;
  Storage& operator=(const Storage&) = delete;
  virtual ~Storage() = default;
  /// Where the host has the elements, row-major; null where it has not.
  virtual const void* host() const = 0;
};

/// Elements of 8 bytes that the host has from the beginning: the tables that formulas read.
class HostTable final : public Storage {
 public:
  explicit HostTable(std::span<const std::int64_t> elements) : HostTable(std::as_bytes(elements)) {}
  explicit HostTable(std::span<const double> elements) : HostTable(std::as_bytes(elements)) {}
  const void* host() const override { return words_.data(); }

 private:
  explicit HostTable(std::span<const std::byte> bytes);

  std::vector<std::uint64_t> words_;
};

}  // namespace strata
