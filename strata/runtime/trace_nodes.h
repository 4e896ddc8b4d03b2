// Nodes of a graph, or of a kernel, as a trace writes them.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "strata/base/json.h"
#include "strata/graph/lazy_op.h"

namespace strata {

/// A size: a number, or its text where it is symbolic.
void write_size(JsonWriter& json, const Int& size);

/// Nodes with numbers: their places in a list that has sources before users.
class TraceNodes {
 public:
  /// Those below `roots`, which live as long as this. Nothing is below memory.
  explicit TraceNodes(std::span<const LazyOp> roots);

  std::size_t size() const { return nodes_.size(); }
  const LazyOp& node(std::size_t k) const { return *nodes_[k]; }
  std::int64_t number(const LazyNode* n) const { return numbers_.at(n); }
  bool contains(const LazyNode* n) const { return numbers_.contains(n); }
  /// Those from `begin` on, before `end`, as a list of objects.
  void write(JsonWriter& json, std::size_t begin, std::size_t end) const;
  /// The files that origins are in, by number.
  void write_files(JsonWriter& json) const;

 private:
  void write_node(JsonWriter& json, const LazyNode& n) const;

  std::vector<const LazyOp*> nodes_;
  std::unordered_map<const LazyNode*, std::int64_t> numbers_;
  std::vector<std::string_view> files_;
  std::unordered_map<std::string_view, std::int64_t> file_;
};

}  // namespace strata
