// MeshShape: named axes of ranks, e.g. data=2, model=4. Ranks are numbered row-major, so the last axis is the fastest:
// rank 5 of this mesh is data 1, model 1. A MeshShape is plain data: nothing here communicates.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "strata/view/piecewise.h"

namespace strata {

/// The most ranks that a mesh may have.
inline constexpr std::int64_t kMostRanks = std::int64_t{1} << 20;

/// The sizes and names of the axes of a mesh.
class MeshShape {
 public:
  /// @throws Error (shape) unless there is one name for each size, (domain) for a size below 1, for a name that is no
  ///   name (a letter, then letters, digits and `_`) or occurs twice; (budget) for more than kMostRanks ranks
  MeshShape(Index sizes, std::vector<std::string> names);

  const Index& sizes() const { return sizes_; }
  const std::vector<std::string>& names() const { return names_; }
  /// The number of ranks; 1 for a mesh without axes.
  std::int64_t size() const { return size_; }
  /// The number of an axis. @throws Error (domain) for an unknown name, naming those that there are
  std::size_t axis(std::string_view name) const;
  /// The coordinates of a rank. @throws Error (domain) unless 0 <= rank < size()
  Index coordinates(std::int64_t rank) const;
  /// The rank at these coordinates. @throws Error (shape) for another number of coordinates, (domain) outside of the
  /// mesh
  std::int64_t rank(const Index& coordinates) const;
  /// @throws Error (domain) unless 0 <= rank < size()
  void check(std::int64_t rank) const;
  friend bool operator==(const MeshShape&, const MeshShape&) = default;

 private:
  Index sizes_;
  std::vector<std::string> names_;
  std::int64_t size_ = 1;
};

/// Reads `data=2,model=4`. @throws Error (parse) with the column; else as the constructor
MeshShape parse_mesh(std::string_view text);
/// `data=2,model=4`
std::string render(const MeshShape& mesh);

}  // namespace strata
