// What a node of the graph is realized as: memory of a device. Which, the engine knows; the graph keeps it.
#pragma once

namespace strata {

/// What a node is realized as.
class Storage {
 public:
  Storage() = default;
  Storage(const Storage&) = delete;
  Storage& operator=(const Storage&) = delete;
  virtual ~Storage() = default;
};

}  // namespace strata
