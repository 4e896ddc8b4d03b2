// TraceNodes: the nodes of a graph, or of a kernel's AST, as JSON for a trace (docs/viz-trace.md). trace_kernel.cpp and
// the engine use it.
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

/// Writes a size as a JSON number, or as a string if it is symbolic.
void write_size(JsonWriter& json, const Int& size);

/// The nodes below some roots in topological order: sources come before their users. A node's number is its index in
/// this order.
class TraceNodes {
 public:
  /// Collects the roots and all nodes below them. The sources of a realized node or an EMPTY, which is memory, are not
  /// visited.
  /// @pre `roots` outlive the object
  explicit TraceNodes(std::span<const LazyOp> roots);

  std::size_t size() const { return nodes_.size(); }
  const LazyOp& node(std::size_t k) const { return *nodes_[k]; }
  std::int64_t number(const LazyNode* n) const { return numbers_.at(n); }
  bool contains(const LazyNode* n) const { return numbers_.contains(n); }
  /// Writes the nodes [begin, end) as a list of objects.
  void write(JsonWriter& json, std::size_t begin, std::size_t end) const;
  /// Writes the list of source files to which the origins of nodes refer by index.
  void write_files(JsonWriter& json) const;

 private:
  void write_node(JsonWriter& json, const LazyNode& n) const;

  std::vector<const LazyOp*> nodes_;
  std::unordered_map<const LazyNode*, std::int64_t> numbers_;
  std::vector<std::string_view> files_;
  std::unordered_map<std::string_view, std::int64_t> file_;
};

}  // namespace strata
