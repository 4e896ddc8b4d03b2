// Sharding: which rank of a mesh owns which element of a tensor.
//
// A Sharding *is* a layout with two modes, (rank, local) -> element, like CuTe's (thread, value): layout()(r, l) is the
// element that rank r has at its local index l. Elements are numbered row-major in the padded shape; those outside of
// the shape are no elements, so that sizes need not divide. A leaf of stride 0 in the rank mode makes replicas: ranks
// that differ in these digits alone own the same elements. Apart from them, each index of the padded shape is owned
// once. This is checked, in time that depends on the number of leaves alone.
//
//   MeshShape mesh({2, 4}, {"data", "model"});
//   Sharding a = Sharding::create(mesh, {512, 512}, {{{"data"}, 0}});  // two blocks of rows, each on four ranks
//   a.layout();                                                        // ((4,2),(512,256)):((0,131072),(1,512))
//
// Splits make the layout. An axis of size n, split over p ranks in blocks of b elements: block k is owned by part k %
// p, e.g. blocks of ceil(n / p) elements give each part one block, and the last parts less, or nothing. Several mesh
// axes split one tensor axis together: the first one counts slowest. What no split names is replicated.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "strata/layout/layout.h"
#include "strata/shard/mesh.h"
#include "strata/shard/stripes.h"

namespace strata {

/// Names of axes of a mesh; one name alone needs no braces.
struct MeshAxes : std::vector<std::string> {
  using std::vector<std::string>::vector;
  MeshAxes(const char* name) : MeshAxes(std::string(name)) {}
  MeshAxes(std::string name) { push_back(std::move(name)); }
  MeshAxes(std::vector<std::string> names) : std::vector<std::string>(std::move(names)) {}
};
/// One axis of a tensor, split over axes of a mesh: {"data", 0}, {{"data", "model"}, 1}, {"data", 0, 16}.
struct Split {
  MeshAxes over;          ///< names of axes of the mesh, the slowest first
  std::int64_t axis = 0;  ///< of the tensor, counted from 0
  /// The length of blocks that are dealt out in turn; nothing: one block a part, of ceil(size / parts) elements.
  std::optional<std::int64_t> cyclic = {};
  friend bool operator==(const Split&, const Split&) = default;
};

/// The proof that a layout with modes (rank, local) gives each of `elements` elements one owner, or all ranks that
/// differ in digits of stride 0 alone. Takes O(leaves * log(leaves)) steps for any number of elements.
/// @throws Error (undefined) naming an element that no rank owns, or two places that have one element, with their ranks
///   and local indices; or a place whose value is no element. (shape) unless there are two modes, of numbers, the first
///   of them of size `ranks`.
void check_owners(const Layout& layout, std::int64_t ranks, std::int64_t elements);

/// The most Stripes that a rank may own of one axis. Splits make at most two; layouts made by hand may need more.
inline constexpr std::size_t kMostStripes = 4096;

/// The owners of a tensor's elements. A value; all functions may be called from any thread.
class Sharding {
 public:
  /// The sharding of `shape` by splits.
  /// @throws Error (domain) for a name that the mesh does not have or that is used twice, an axis of the tensor that it
  ///   does not have or that is split twice, a block length below 1; (shape) for a negative size; (overflow)
  static Sharding create(const MeshShape& mesh, const Index& shape, const std::vector<Split>& splits);
  /// A layout made by hand. `padded`: the shape whose row-major numbers are the layout's values; default: `shape`, with
  /// 1 for sizes of 0.
  /// @throws Error as check_owners() for the elements of `padded`; (shape) unless `padded` is at least `shape` on each
  ///   axis and at least 1; (undefined) for a leaf that crosses the end of an axis, so that no box of coordinates is
  ///   its elements
  static Sharding create(const MeshShape& mesh, const Index& shape, const Layout& layout,
                         const std::optional<Index>& padded = std::nullopt);

  const MeshShape& mesh() const { return mesh_; }
  const Index& shape() const { return shape_; }
  const Index& padded_shape() const { return padded_; }
  /// (rank, local) -> row-major number in padded_shape().
  const Layout& layout() const { return layout_; }
  /// The splits that the layout was made of; nothing for a layout made by hand.
  const std::optional<std::vector<Split>>& splits() const { return splits_; }

  /// The least rank that owns the element at `coordinates`. @throws Error (shape) for another rank, (domain) outside of
  ///   the shape
  std::int64_t owner(const Index& coordinates) const;
  /// All ranks that own it, rising. @throws as owner()
  std::vector<std::int64_t> owners(const Index& coordinates) const;
  /// Where its owners have it: the l with layout()(r, l) == the element, for each owner r. @throws as owner()
  std::int64_t local_index(const Index& coordinates) const;
  /// The coordinates of what a rank has at a local index; nothing where that is padding.
  /// @throws Error (domain) for a rank outside of the mesh, or a local index outside of the local mode
  std::optional<Index> element(std::int64_t rank, std::int64_t local) const;

  /// What a rank owns of each axis: an element is owned iff each of its coordinates is.
  /// @throws Error (domain) for a rank outside of the mesh, (budget) above kMostStripes
  std::vector<AxisPart> owned(std::int64_t rank) const;
  /// The same as disjoint boxes. @throws as owned(), boxes_of()
  std::vector<StridedBox> pieces(std::int64_t rank) const { return boxes_of(owned(rank)); }
  /// How many coordinates a rank owns on each axis; a rank without elements has a size of 0 somewhere. @throws as
  /// owned()
  Index local_shape(std::int64_t rank) const;

  // --- ranks as digits ---
  /// The least rank that owns what `rank` owns. @pre `rank` is in the mesh
  std::int64_t first_owner(std::int64_t rank) const;
  /// The rank that owns what `owner` owns and agrees with `near` in all digits of stride 0: the replica that is nearest
  /// to `near`. @pre both are in the mesh
  std::int64_t replica(std::int64_t owner, std::int64_t near) const;
  /// All ranks that own what `rank` owns, rising. @pre `rank` is in the mesh
  std::vector<std::int64_t> replicas(std::int64_t rank) const;
  /// The first owners of the parts of an axis: least ranks that differ in this axis' digits alone, rising; and what
  /// each owns of the axis. @throws Error (budget) as owned()
  std::vector<std::pair<std::int64_t, AxisPart>> parts(std::size_t axis) const;

  /// A leaf of the layout, or a part of it, on one axis: coordinate = sum of place * digit, with
  /// digit = (rank or local index) / weight % size; and so digit = coordinate / place % size.
  struct Digit {
    bool of_rank = false;
    std::size_t axis = 0;
    std::int64_t place = 0, size = 1, weight = 1;
    std::int64_t of(std::int64_t number) const { return number / weight % size; }
  };
  /// The digits of all axes, of ranks and of local indices, in no order; those of replicas are not among them.
  const std::vector<Digit>& digits() const { return digits_; }

 private:
  Sharding(const MeshShape& mesh, const Index& shape, const Layout& layout, const Index& padded);
  void place_leaf(bool of_rank, std::int64_t size, std::int64_t stride, std::int64_t weight);
  void check(const Index& coordinates) const;
  AxisPart owned(std::int64_t rank, std::size_t axis) const;
  std::int64_t number(const Index& coordinates, bool of_rank) const;

  MeshShape mesh_;
  Index shape_, padded_;
  Layout layout_;
  std::optional<std::vector<Split>> splits_;
  std::vector<Digit> digits_;
  std::vector<Digit> replicas_;  // digits of stride 0, the fastest first
};

/// Reads splits: `data:0`, `data:0,model:1`, `data+model:0/cyclic(16)`, `replicated`; blanks are skipped. An entry is
/// names of mesh axes with `+` between, the slowest first, then the tensor's axis.
/// @throws Error (parse) with the column
std::vector<Split> parse_splits(std::string_view text);
/// The text of splits. @post parse_splits(render(splits)) == splits, where names are names and axes are not negative
std::string render(const std::vector<Split>& splits);
/// Reads splits, or a layout `(rank,local):(...)` made by hand. @throws as parse_splits(), parse_layout() and
///   Sharding::create
Sharding parse_sharding(const MeshShape& mesh, const Index& shape, std::string_view text);

}  // namespace strata
