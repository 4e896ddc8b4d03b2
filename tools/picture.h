// Pictures of index functions in a terminal, for `strata view`, `strata layout` and `strata expr`: a table of addresses
// for each slice of the last two axes, and a strip that shows which memory is touched.
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
  std::int64_t first = 0;  ///< the first index
  std::int64_t size = 0;
};

/// An address for each index, in row-major order; nothing if the index is masked out. The last two axes are rows and
/// columns.
struct Picture {
  std::vector<PictureAxis> axes;
  std::vector<std::optional<std::int64_t>> cells;
};

/// The most cells of a picture, and the most elements of a strip of memory, that are drawn.
inline constexpr std::int64_t most_drawn = 512;

/// The number of cells, i.e. the product of the sizes; nothing if it exceeds `most`.
std::optional<std::int64_t> count_cells(std::span<const PictureAxis> axes, std::int64_t most);

/// The picture of an index function. idxs[k] is the variable of axis k, or a constant if the axis has size 1. Nothing
/// if there are more than `most` cells.
std::optional<Picture> picture_of(const IndexExprs& exprs, std::span<const Expr> idxs, std::vector<PictureAxis> axes,
                                  std::int64_t most = most_drawn);

/// The tables of cells, with the indices at their margins; a masked cell is `·`. With `colour`, each address has its
/// own shade.
std::string draw_cells(const Picture& picture, bool colour);

/// The memory from the lowest to the highest address: a touched element as its address, in the same shade; others as
/// `_`.
std::string draw_memory(const Picture& picture, bool colour);

/// A summary, e.g. `6 of 8 touched, 0..2 4..6`; with `up to 3 elements at one address` if several indices share an
/// address.
std::string describe_memory(const Picture& picture);

/// Prints tables, memory and summary, or the reason why there is no picture.
void print_picture(const std::optional<Picture>& picture, Lines& lines, Console& console, bool colour);

}  // namespace strata::tools
