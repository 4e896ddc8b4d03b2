// The meaning of Views and movement operations on explicit tables: the oracle of the chain tests.
//
// A Table lists what a function gives for every index. Each operation is its postcondition in view.h, read index by
// index; nothing here calls the code under test.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "strata/base/int_math.h"
#include "strata/view/view.h"

namespace strata::chains {

inline constexpr std::int64_t kInvalid = std::numeric_limits<std::int64_t>::min();

/// A partial function of the indices of `shape`, in row-major order; kInvalid where there is no address.
struct Table {
  Index shape;
  std::vector<std::int64_t> at;
  friend bool operator==(const Table&, const Table&) = default;
};

inline std::int64_t count(const Index& shape) {
  std::int64_t out = 1;
  for (const std::int64_t n : shape) out *= n;
  return out;
}
inline std::size_t row_number(const Index& i, const Index& shape) {
  std::int64_t out = 0;
  for (std::size_t j = 0; j < shape.size(); ++j) out = out * shape[j] + i[j];
  return static_cast<std::size_t>(out);
}
/// Calls f(index, row-major number) for each index of `shape`.
template <class F>
void for_each_index(const Index& shape, const F& f) {
  const std::int64_t n = count(shape);
  Index i(shape.size(), 0);
  for (std::int64_t number = 0; number < n; ++number) {
    f(i, static_cast<std::size_t>(number));
    for (std::size_t j = shape.size(); j-- > 0;) {
      if (++i[j] < shape[j]) break;
      i[j] = 0;
    }
  }
}

inline Table row_major(const Index& shape) {
  Table out{shape, {}};
  for (std::int64_t a = 0; a < count(shape); ++a) out.at.push_back(a);
  return out;
}

/// What a View of numbers gives, from its four fields.
inline Table table_of(const View& v) {
  Table out{*numbers(v.shape()), {}};
  const Index strides = *numbers(v.strides());
  for_each_index(out.shape, [&](const Index& i, std::size_t) {
    std::int64_t address = v.offset().value();
    bool valid = true;
    for (std::size_t j = 0; j < i.size(); ++j) {
      address += strides[j] * i[j];
      if (v.mask()) valid &= i[j] >= (*v.mask())[j].begin.value() && i[j] < (*v.mask())[j].end.value();
    }
    out.at.push_back(valid ? address : kInvalid);
  });
  return out;
}

/// `upper` looking into `lower`: an address is unravelled, row-major, into an index; beyond the size it wraps around.
inline Table compose(const Table& lower, const Table& upper) {
  Table out{upper.shape, {}};
  const auto n = static_cast<std::int64_t>(lower.at.size());
  for (const std::int64_t a : upper.at)
    out.at.push_back(a == kInvalid || n == 0 ? kInvalid : lower.at[static_cast<std::size_t>(floor_mod(a, n))]);
  return out;
}

/// One movement operation with its arguments: pairs are (a[j], b[j]), lists are a.
struct Move {
  enum class Kind : std::uint8_t { reshape, permute, expand, pad, shrink, flip, stride };
  Kind kind = Kind::reshape;
  Index a, b;
  friend bool operator==(const Move&, const Move&) = default;
};

inline std::string text_of(const Move& m) {
  static constexpr const char* kNames[] = {"reshape", "permute", "expand", "pad", "shrink", "flip", "stride"};
  std::string out = kNames[static_cast<std::size_t>(m.kind)];
  out += "(";
  for (std::size_t j = 0; j < m.a.size(); ++j) {
    if (j != 0) out += ", ";
    if (m.b.empty())
      out += std::to_string(m.a[j]);
    else
      out += detail::message("(", m.a[j], ", ", m.b[j], ")");
  }
  out += ")";
  return out;
}

inline Index shape_after(const Index& shape, const Move& m) {
  Index out = shape;
  switch (m.kind) {
    case Move::Kind::reshape:
    case Move::Kind::expand: return m.a;
    case Move::Kind::flip: return out;
    case Move::Kind::permute:
      for (std::size_t j = 0; j < out.size(); ++j) out[j] = shape[static_cast<std::size_t>(m.a[j])];
      return out;
    case Move::Kind::pad:
      for (std::size_t j = 0; j < out.size(); ++j) out[j] += m.a[j] + m.b[j];
      return out;
    case Move::Kind::shrink:
      for (std::size_t j = 0; j < out.size(); ++j) out[j] = m.b[j] - m.a[j];
      return out;
    case Move::Kind::stride:
      for (std::size_t j = 0; j < out.size(); ++j) {
        const std::int64_t step = m.a[j] < 0 ? -m.a[j] : m.a[j];
        out[j] = (shape[j] + step - 1) / step;
      }
      return out;
  }
  return out;
}

/// The index that result index `i` shows; nothing when it lies in padding. @pre m is not a reshape
inline std::optional<Index> source_of(const Index& i, const Index& shape, const Move& m) {
  Index out = i;
  switch (m.kind) {
    case Move::Kind::permute:
      for (std::size_t k = 0; k < i.size(); ++k) out[static_cast<std::size_t>(m.a[k])] = i[k];
      break;
    case Move::Kind::expand:
      for (std::size_t j = 0; j < i.size(); ++j)
        if (shape[j] == 1) out[j] = 0;
      break;
    case Move::Kind::pad:
      for (std::size_t j = 0; j < i.size(); ++j) {
        out[j] -= m.a[j];
        if (out[j] < 0 || out[j] >= shape[j]) return std::nullopt;
      }
      break;
    case Move::Kind::shrink:
      for (std::size_t j = 0; j < i.size(); ++j) out[j] += m.a[j];
      break;
    case Move::Kind::flip:
      for (const std::int64_t axis : m.a) {
        const auto j = static_cast<std::size_t>(axis);
        out[j] = shape[j] - 1 - i[j];
      }
      break;
    case Move::Kind::stride:
      for (std::size_t j = 0; j < i.size(); ++j) out[j] = m.a[j] > 0 ? i[j] * m.a[j] : shape[j] - 1 + i[j] * m.a[j];
      break;
    case Move::Kind::reshape: break;
  }
  return out;
}

inline Table apply(const Table& t, const Move& m) {
  if (m.kind == Move::Kind::reshape) return {m.a, t.at};
  Table out{shape_after(t.shape, m), {}};
  out.at.reserve(t.at.size());
  for_each_index(out.shape, [&](const Index& i, std::size_t) {
    const std::optional<Index> source = source_of(i, t.shape, m);
    out.at.push_back(source ? t.at[row_number(*source, t.shape)] : kInvalid);
  });
  return out;
}

/// One masked affine function: offset + stride . i for begin <= i < end, and nothing elsewhere.
struct Form {
  Index begin, end, stride;
  std::int64_t offset = 0;
};

/// The smallest box that holds all valid indices; begin == end == 0 where there is none.
inline Form hull_of(const Table& t) {
  const std::size_t rank = t.shape.size();
  Form out{Index(rank, 0), Index(rank, 0), Index(rank, 0), 0};
  bool first = true;
  for_each_index(t.shape, [&](const Index& i, std::size_t number) {
    if (t.at[number] == kInvalid) return;
    for (std::size_t j = 0; j < rank; ++j) {
      out.begin[j] = first ? i[j] : std::min(out.begin[j], i[j]);
      out.end[j] = first ? i[j] + 1 : std::max(out.end[j], i[j] + 1);
    }
    first = false;
  });
  return out;
}

/// The masked affine function that `t` is, in its canonical form; nothing where it is none.
inline std::optional<Form> form_of(const Table& t) {
  Form out = hull_of(t);
  const std::size_t rank = t.shape.size();
  if (std::all_of(t.at.begin(), t.at.end(), [](std::int64_t a) { return a == kInvalid; })) {
    if (t.at.empty()) out.end = t.shape;
    if (rank == 0) return std::nullopt;  // a mask of no dimensions excludes nothing
    return out;
  }
  const std::int64_t corner = t.at[row_number(out.begin, t.shape)];
  if (corner == kInvalid) return std::nullopt;
  out.offset = corner;
  for (std::size_t j = 0; j < rank; ++j) {
    if (out.end[j] - out.begin[j] < 2) continue;
    Index next = out.begin;
    ++next[j];
    const std::int64_t address = t.at[row_number(next, t.shape)];
    if (address == kInvalid) return std::nullopt;
    out.stride[j] = address - corner;
    out.offset -= out.stride[j] * out.begin[j];
  }
  bool holds = true;
  for_each_index(t.shape, [&](const Index& i, std::size_t number) {
    bool inside = true;
    std::int64_t address = out.offset;
    for (std::size_t j = 0; j < rank; ++j) {
      inside &= i[j] >= out.begin[j] && i[j] < out.end[j];
      address += out.stride[j] * i[j];
    }
    holds &= t.at[number] == (inside ? address : kInvalid);
  });
  return holds ? std::optional<Form>(out) : std::nullopt;
}

/// True iff `v` is `form` spelled canonically, field by field.
inline bool is_spelled(const View& v, const Index& shape, const Form& form) {
  if (numbers(v.shape()) != shape || numbers(v.strides()) != form.stride) return false;
  if (v.offset() != Int(form.offset)) return false;
  const Index none(shape.size(), 0);
  const bool whole = form.begin == none && form.end == shape;
  if (whole || !v.mask()) return whole && !v.mask();
  for (std::size_t j = 0; j < shape.size(); ++j)
    if ((*v.mask())[j] != Extent{form.begin[j], form.end[j]}) return false;
  return v.mask()->size() == shape.size();
}

// --- what a table says of itself ---

inline bool is_row_major(const Table& t, std::int64_t offset) {
  for (std::size_t k = 0; k < t.at.size(); ++k)
    if (t.at[k] != offset + static_cast<std::int64_t>(k)) return false;
  return true;
}

/// Does validity change along `axis`?
inline bool is_masked_along(const Table& t, std::size_t axis) {
  bool out = false;
  for_each_index(t.shape, [&](const Index& i, std::size_t number) {
    Index first = i;
    first[axis] = 0;
    out |= (t.at[number] == kInvalid) != (t.at[row_number(first, t.shape)] == kInvalid);
  });
  return out;
}

/// The one difference of addresses along `axis`, 0 where there is none; nothing where there are several.
inline std::optional<std::int64_t> stride_along(const Table& t, std::size_t axis) {
  std::optional<std::int64_t> stride;
  bool one = true;
  for_each_index(t.shape, [&](const Index& i, std::size_t number) {
    if (i[axis] + 1 == t.shape[axis]) return;
    Index next = i;
    ++next[axis];
    const std::int64_t here = t.at[number], there = t.at[row_number(next, t.shape)];
    if (here == kInvalid || there == kInvalid) return;
    one &= !stride || *stride == there - here;
    stride = there - here;
  });
  if (!one) return std::nullopt;
  return stride.value_or(0);
}

inline std::int64_t size_of_memory(const Table& t) {
  std::int64_t size = 0;
  for (const std::int64_t a : t.at) size = std::max(size, a + 1);
  return size;
}

inline bool is_all_valid(const Table& t) { return std::find(t.at.begin(), t.at.end(), kInvalid) == t.at.end(); }

inline bool is_one_to_one(const Table& t) {
  std::vector<std::int64_t> valid;
  for (const std::int64_t a : t.at)
    if (a != kInvalid) valid.push_back(a);
  std::sort(valid.begin(), valid.end());
  return std::adjacent_find(valid.begin(), valid.end()) == valid.end();
}

/// The table that takes addresses back to row-major numbers; nothing where two are the same or one is outside.
inline std::optional<Table> inverse_of(const Table& t, const Index& shape) {
  const std::int64_t elements = count(shape);
  Table out{shape, std::vector<std::int64_t>(static_cast<std::size_t>(elements), kInvalid)};
  for (std::size_t k = 0; k < t.at.size(); ++k) {
    const std::int64_t a = t.at[k];
    if (a == kInvalid) continue;
    if (a < 0 || a >= elements) return std::nullopt;
    if (out.at[static_cast<std::size_t>(a)] != kInvalid) return std::nullopt;
    out.at[static_cast<std::size_t>(a)] = static_cast<std::int64_t>(k);
  }
  return out;
}

/// All shapes of `size` elements with `rank` dimensions: ordered factorisations, 1 included. @pre size > 0
inline std::vector<Index> factorisations(std::int64_t size, std::size_t rank) {
  std::vector<std::pair<Index, std::int64_t>> open = {{{}, size}};
  for (std::size_t j = 0; j < rank; ++j) {
    std::vector<std::pair<Index, std::int64_t>> longer;
    for (const auto& [shape, left] : open)
      for (std::int64_t d = 1; d <= left; ++d) {
        if (left % d != 0 || (j + 1 == rank && d != left)) continue;
        longer.emplace_back(shape, left / d);
        longer.back().first.push_back(d);
      }
    open = std::move(longer);
  }
  std::vector<Index> out;
  for (auto& [shape, left] : open)
    if (left == 1) out.push_back(std::move(shape));
  return out;
}

/// The fewest dimensions in which one masked affine function lists these addresses, in this order.
inline std::size_t fewest_dimensions(const Table& t) {
  for (std::size_t rank = 0;; ++rank)
    for (const Index& shape : factorisations(static_cast<std::int64_t>(t.at.size()), rank))
      if (form_of({shape, t.at})) return rank;
}

}  // namespace strata::chains
