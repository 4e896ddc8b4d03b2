// Addresses drawn in a terminal: a table of rows and columns for each slice of a box, and the strip of memory below.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "strata/view/view.h"
#include "tools/command_parts.h"

namespace strata::tools {

struct PictureAxis {
  std::string name;
  std::int64_t first = 0;  ///< the index that comes first
  std::int64_t size = 0;
};

/// One cell an index, row-major: an address, or nothing where it is masked out. The last two axes are rows and columns.
struct Picture {
  std::vector<PictureAxis> axes;
  std::vector<std::optional<std::int64_t>> cells;
};

/// Pictures of more cells, and memory of more elements, are not drawn.
inline constexpr std::int64_t most_drawn = 512;

/// Number of cells of a box; nothing where that is more than `most`.
std::optional<std::int64_t> count_cells(std::span<const PictureAxis> axes, std::int64_t most);

/// An index function over its box. `idxs` are the variables of the axes; an axis of size 1 may have a constant instead.
/// Nothing when that would be too many cells.
std::optional<Picture> picture_of(const IndexExprs& exprs, std::span<const Expr> idxs,
                                  std::vector<PictureAxis> axes, std::int64_t most = most_drawn);

/// The cells with their indices around them; a masked one is `·`. With `colour`, one shade an address.
std::string draw_cells(const Picture& picture, bool colour);

/// The elements from the lowest to the highest address: touched ones as their number, in the same shade, `_` for the others.
std::string draw_memory(const Picture& picture, bool colour);

/// `6 of 8 touched, 0..2 4..6`; with `up to 3 elements at one address` where some share one.
std::string describe_memory(const Picture& picture);

/// All of that, or why there is no picture.
void print_picture(const std::optional<Picture>& picture, Lines& lines, Console& console, bool colour);

}  // namespace strata::tools
