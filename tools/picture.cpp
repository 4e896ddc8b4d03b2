// Draws tables of addresses.
#include "tools/picture.h"

#include <algorithm>
#include <map>
#include <ostream>

#include "strata/base/check.h"
#include "strata/base/int_math.h"

namespace strata::tools {
namespace {

constexpr std::size_t line_width = 96;

/// `text`, which has `columns` columns on the screen, right-aligned to `width` columns.
std::string right(std::string_view text, std::size_t columns, std::size_t width) {
  return std::string(width - std::min(width, columns), ' ') + std::string(text);
}
std::string right(const std::string& text, std::size_t width) { return right(text, text.size(), width); }

/// The addresses in increasing order, each with the number of its cells.
std::map<std::int64_t, std::int64_t> touched(const Picture& picture) {
  std::map<std::int64_t, std::int64_t> out;
  for (const auto& cell : picture.cells)
    if (cell) ++out[*cell];
  return out;
}

/// A background colour for each address, along a ramp from the lowest to the highest address.
class Shades {
 public:
  Shades(const Picture& picture, bool colour) : colour_(colour) {
    const auto all = touched(picture);
    if (all.empty()) return;
    lowest_ = all.begin()->first;
    range_ = static_cast<double>(all.rbegin()->first) - static_cast<double>(lowest_);
  }
  std::string paint(std::int64_t address, const std::string& text) const {
    static constexpr int ramp[] = {111, 117, 123, 122, 121, 120, 156, 192, 228, 222, 216, 210};
    if (!colour_) return text;
    const double place = static_cast<double>(address) - static_cast<double>(lowest_);
    const double part = range_ > 0 ? place / range_ : 0;
    const int shade = ramp[static_cast<std::size_t>(part * (std::size(ramp) - 1))];
    return detail::message("\x1b[30;48;5;", shade, "m", text, "\x1b[0m");
  }

 private:
  bool colour_;
  std::int64_t lowest_ = 0;
  double range_ = 0;
};

/// Draws one table of the last two axes for each index of the others. A missing axis has size 1.
class Slices {
 public:
  Slices(const Picture& picture, bool colour) : picture_(picture), colour_(colour), shades_(picture, colour) {
    if (rank() >= 1) columns_ = picture.axes[rank() - 1];
    if (rank() >= 2) rows_ = picture.axes[rank() - 2];
    for (const auto& cell : picture.cells)
      if (cell) width_ = std::max(width_, std::to_string(*cell).size());
    width_ = std::max(width_, last_index(columns_).size());
    head_ = rank() >= 2 ? rows_.name.size() + last_index(rows_).size() + 3 : columns_.name.size();
  }

  std::string draw() {
    const auto table = static_cast<std::size_t>(rows_.size * columns_.size);
    for (std::size_t begin = 0; begin < picture_.cells.size(); begin += table) {
      if (begin != 0) out_ += '\n';
      draw_heading(begin / table);
      draw_table(begin);
    }
    return std::move(out_);
  }

 private:
  std::size_t rank() const { return picture_.axes.size(); }
  static std::string index(const PictureAxis& axis, std::int64_t i) { return std::to_string(axis.first + i); }
  static std::string last_index(const PictureAxis& axis) {
    return index(axis, std::max<std::int64_t>(axis.size, 1) - 1);
  }
  std::string dim(const std::string& text) const { return paint(colour_, Style::dim, text); }

  /// The heading of slice `number`: the indices of all axes except the last two.
  void draw_heading(std::size_t number) {
    if (rank() <= 2) return;
    std::string heading;
    for (std::size_t i = rank() - 2; i-- > 0;) {
      const PictureAxis& axis = picture_.axes[i];
      const auto size = static_cast<std::size_t>(axis.size);
      const std::string at = index(axis, static_cast<std::int64_t>(number % size));
      heading = detail::message(axis.name, "=", at, heading.empty() ? "" : " ", heading);
      number /= size;
    }
    out_ += paint(colour_, Style::bold, heading) + "\n";
  }

  /// Draws the rows, in blocks of as many columns as fit into a line.
  void draw_table(std::size_t begin) {
    const std::size_t fit = (line_width - std::min(line_width / 2, head_)) / (width_ + 1);
    const auto step = static_cast<std::int64_t>(std::max<std::size_t>(fit, 1));
    for (std::int64_t from = 0; from < columns_.size; from += step)
      draw_block(begin, from, std::min(from + step, columns_.size));
  }

  void draw_block(std::size_t begin, std::int64_t from, std::int64_t to) {
    if (rank() != 0) draw_column_indices(from, to);
    for (std::int64_t r = 0; r < rows_.size; ++r) draw_row(begin, r, from, to);
  }

  void draw_column_indices(std::int64_t from, std::int64_t to) {
    std::string line = rank() == 1 ? columns_.name : rows_.name;
    line.resize(std::max(head_, line.size()), ' ');
    for (std::int64_t c = from; c < to; ++c) line += detail::message(" ", right(index(columns_, c), width_));
    if (rank() >= 2) out_ += detail::message(dim(std::string(head_ + 1, ' ') + columns_.name), "\n");
    out_ += detail::message(dim(line), "\n");
  }

  void draw_row(std::size_t begin, std::int64_t row, std::int64_t from, std::int64_t to) {
    if (rank() == 1) out_ += std::string(head_, ' ');
    if (rank() >= 2) out_ += dim(right(index(rows_, row), head_ - 2) + " |");
    for (std::int64_t c = from; c < to; ++c) {
      const auto& cell = picture_.cells[begin + static_cast<std::size_t>(row * columns_.size + c)];
      if (rank() != 0) out_ += ' ';
      if (cell) {
        out_ += shades_.paint(*cell, right(std::to_string(*cell), width_));
      } else {
        out_ += right(dim("·"), 1, width_);
      }
    }
    out_ += '\n';
  }

  const Picture& picture_;
  bool colour_;
  Shades shades_;
  PictureAxis rows_{"", 0, 1}, columns_{"", 0, 1};
  std::size_t width_ = 1;  // the width of a cell
  std::size_t head_ = 0;   // the width of the margin on the left
  std::string out_;
};

/// The ranges of touched addresses, e.g. `0..2 4..6`; at most a dozen.
std::string runs(const std::map<std::int64_t, std::int64_t>& addresses) {
  std::string out;
  std::size_t count = 0;
  for (auto it = addresses.begin(); it != addresses.end(); ++count) {
    if (count == 12) return out + " ...";
    const std::int64_t first = it->first;
    std::int64_t last = first;
    for (++it; it != addresses.end() && it->first - 1 == last; ++it) last = it->first;
    out += detail::message(" ", first);
    if (last != first) out += detail::message("..", last);
  }
  return out;
}

}  // namespace

std::optional<std::int64_t> count_cells(std::span<const PictureAxis> axes, std::int64_t most) {
  for (const PictureAxis& axis : axes)
    if (axis.size == 0) return 0;
  std::int64_t cells = 1;
  for (const PictureAxis& axis : axes)
    if (!try_mul(cells, axis.size, cells) || cells > most) return std::nullopt;
  return cells;
}

std::optional<Picture> picture_of(const IndexExprs& exprs, std::span<const Expr> idxs, std::vector<PictureAxis> axes,
                                  std::int64_t most) {
  const auto cells = count_cells(axes, most);
  if (!cells) return std::nullopt;
  Picture picture{std::move(axes), {}};
  Values at;
  for (std::int64_t cell = 0; cell < *cells; ++cell) {
    at.clear();
    std::int64_t rest = cell;
    for (std::size_t i = picture.axes.size(); i-- > 0;) {
      const PictureAxis& axis = picture.axes[i];
      if (idxs[i].is_variable()) at.emplace_back(Variable::from(idxs[i]), axis.first + rest % axis.size);
      rest /= axis.size;
    }
    const bool valid = evaluate(exprs.valid, at) != 0;
    picture.cells.push_back(valid ? std::optional(evaluate(exprs.index, at)) : std::nullopt);
  }
  return picture;
}

std::string draw_cells(const Picture& picture, bool colour) {
  if (picture.cells.empty()) return "no elements\n";
  return Slices(picture, colour).draw();
}

std::string draw_memory(const Picture& picture, bool colour) {
  const auto all = touched(picture);
  if (all.empty()) return "";
  const Shades shades(picture, colour);
  const std::int64_t first = std::min<std::int64_t>(0, all.begin()->first);
  const std::int64_t last = all.rbegin()->first;
  std::int64_t length = 0;
  if (!try_sub(last, first, length) || length >= most_drawn) return "";
  const std::size_t width = std::max(std::to_string(first).size(), std::to_string(last).size());
  const auto line = static_cast<std::int64_t>(std::min<std::size_t>(32, line_width / (width + 1)));
  std::string out;
  for (std::int64_t a = first; a <= last; ++a) {
    if (a != first) out += (a - first) % line == 0 ? "\n" : " ";
    out += all.contains(a) ? shades.paint(a, right(std::to_string(a), width))
                           : right(paint(colour, Style::dim, "_"), 1, width);
  }
  return out + "\n";
}

std::string describe_memory(const Picture& picture) {
  const auto all = touched(picture);
  if (all.empty()) return "nothing is touched";
  std::int64_t most = 0;
  for (const auto& [address, count] : all) most = std::max(most, count);
  std::string out =
      detail::message(all.size(), all.size() == 1 ? " address is" : " addresses are", " touched:", runs(all));
  if (most > 1) out += detail::message("; up to ", most, " elements share one");
  return out;
}

void print_picture(const std::optional<Picture>& picture, Lines& lines, Console& console, bool colour) {
  if (!picture) {
    lines.print("picture", detail::message("none: more than ", most_drawn, " elements"));
    return;
  }
  console.out << '\n' << draw_cells(*picture, colour) << '\n';
  lines.print("memory", describe_memory(*picture));
  console.out << draw_memory(*picture, colour);
}

}  // namespace strata::tools
