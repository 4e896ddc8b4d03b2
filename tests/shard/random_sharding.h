// Random shardings, and owners by their definition: the layout's values, place by place.
#pragma once

#include <cstdint>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "strata/shard/exchange.h"

namespace strata::shard_oracle {

class Random {
 public:
  explicit Random(std::uint64_t seed) : bits_(seed) {}
  std::int64_t pick(std::int64_t least, std::int64_t most) {
    return std::uniform_int_distribution<std::int64_t>(least, most)(bits_);
  }

 private:
  std::mt19937_64 bits_;
};

inline MeshShape random_mesh(Random& random) {
  const std::vector<std::string> names = {"x", "y", "z"};
  Index sizes;
  for (std::int64_t axes = random.pick(1, 3); axes-- > 0;) sizes.push_back(random.pick(1, 4));
  return {sizes, std::vector<std::string>(names.begin(), names.begin() + static_cast<std::ptrdiff_t>(sizes.size()))};
}

/// Sizes of 0 and 1 among them.
inline Index random_shape(Random& random, std::int64_t largest = 14) {
  Index out;
  for (std::int64_t axes = random.pick(1, 3); axes-- > 0;)
    out.push_back(random.pick(0, 9) == 0 ? random.pick(0, 1) : random.pick(1, largest));
  return out;
}

/// Splits with blocks and cycles, mesh axes without a split, and axes split by two of them.
inline std::vector<Split> random_splits(Random& random, const MeshShape& mesh, std::size_t rank) {
  std::vector<std::vector<std::string>> over(rank);
  for (const std::string& name : mesh.names()) {
    const std::int64_t axis = random.pick(-1, static_cast<std::int64_t>(rank) - 1);
    if (axis < 0) continue;
    std::vector<std::string>& names = over[static_cast<std::size_t>(axis)];
    names.insert(random.pick(0, 1) == 0 ? names.begin() : names.end(), name);
  }
  std::vector<Split> out;
  for (std::size_t j = 0; j < rank; ++j) {
    if (over[j].empty()) continue;
    out.push_back({over[j], static_cast<std::int64_t>(j), {}});
    if (random.pick(0, 1) == 0) out.back().cyclic = random.pick(1, 5);
  }
  return out;
}

inline Index unravelled(std::int64_t number, const Index& shape) {
  Index out(shape.size(), 0);
  for (std::size_t j = shape.size(); j-- > 0; number /= shape[j]) out[j] = number % shape[j];
  return out;
}
inline std::int64_t ravelled(const Index& at, const Index& shape) {
  std::int64_t out = 0;
  for (std::size_t j = 0; j < shape.size(); ++j) out = out * shape[j] + at[j];
  return out;
}

/// What each rank owns, by the definition of a sharding: row-major numbers in the shape.
inline std::vector<std::set<std::int64_t>> owned_by_layout(const Sharding& s) {
  std::vector<std::set<std::int64_t>> out(static_cast<std::size_t>(s.mesh().size()));
  const std::int64_t locals = s.layout().mode(1).size().value();
  for (std::int64_t rank = 0; rank < s.mesh().size(); ++rank)
    for (std::int64_t local = 0; local < locals; ++local) {
      const Index at = unravelled(s.layout()(coordinate(rank, local)).value(), s.padded_shape());
      bool inside = true;
      for (std::size_t j = 0; j < at.size(); ++j) inside = inside && at[j] < s.shape()[j];
      if (inside) out[static_cast<std::size_t>(rank)].insert(ravelled(at, s.shape()));
    }
  return out;
}

/// The indices of boxes, as row-major numbers; each occurrence.
inline std::vector<std::int64_t> listed(const std::vector<StridedBox>& boxes, const Index& shape) {
  std::vector<std::int64_t> out;
  for (const StridedBox& box : boxes) {
    std::vector<Index> points(1);
    for (const Stripes& s : box) {
      std::vector<Index> longer;
      for (const Index& point : points)
        for (std::int64_t k = 0; k < s.count; ++k)
          for (std::int64_t i = 0; i < s.length; ++i) {
            longer.push_back(point);
            longer.back().push_back(s.begin + k * s.stride + i);
          }
      points = std::move(longer);
    }
    for (const Index& point : points) out.push_back(ravelled(point, shape));
  }
  return out;
}

/// The elements that a rank reads, index by index of its part of the result.
inline std::set<std::int64_t> read_by(const ShapeTracker& read, const Index& result,
                                      const std::set<std::int64_t>& indices) {
  std::set<std::int64_t> out;
  for (const std::int64_t number : indices) {
    Index at = unravelled(number, result);
    bool valid = true;
    for (std::size_t k = read.views().size(); k-- > 0 && valid;) {
      const View& view = read.views()[k];
      std::int64_t address = view.offset().value();
      for (std::size_t j = 0; j < at.size(); ++j) {
        address += view.strides()[j].value() * at[j];
        if (view.mask())
          valid = valid && (*view.mask())[j].begin.value() <= at[j] && at[j] < (*view.mask())[j].end.value();
      }
      if (!valid) break;
      if (k == 0) out.insert(address);
      if (k > 0) at = unravelled(address, *numbers(read.views()[k - 1].shape()));
    }
  }
  return out;
}

}  // namespace strata::shard_oracle
