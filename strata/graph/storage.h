// Storage: the memory of a realized node. LazyOp::realize_as() attaches it to a node, and the graph knows no more of it
// than this interface. The engine's BufferStorage implements it for buffers of the host and of devices, HostTable for
// the tables of formulas.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace strata {

/// The memory of a realized node, which has the dtype and the shape. The destructor frees the memory.
class Storage {
 public:
  Storage() = default;
  Storage(const Storage&) = delete;
  Storage& operator=(const Storage&) = delete;
  virtual ~Storage() = default;
  /// The elements in host memory, row-major; null where they are not in host memory.
  virtual const void* host() const = 0;
};

/// A table of 8-byte elements in host memory, copied at construction: the tables that formulas read (ops::Value::from).
/// host() is not null, not even that of an empty table.
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
