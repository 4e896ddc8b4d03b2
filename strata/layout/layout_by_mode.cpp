// Composition and division mode by mode.

#include "strata/layout/layout_by_mode.h"

#include <string_view>

namespace strata {

namespace {

struct Divided {
  std::vector<Layout> tiles, rests;
};

void check_modes(std::string_view operation, const Layout& a, const Tiler& tiler) {
  STRATA_CHECK(tiler.size() <= a.rank(), shape, "[", operation, "] ", tiler.size(), " tiles for the ", a.rank(),
               " modes of ", render(a));
}

Divided divide_modes(std::string_view operation, const Layout& a, const Tiler& tiler, std::uint64_t budget) {
  check_modes(operation, a, tiler);
  Divided out;
  for (std::size_t k = 0; k < tiler.size(); ++k) {
    const Layout pair = detail::divide(operation, a.mode(k), tiler[k], budget);
    out.tiles.push_back(pair.mode(0));
    out.rests.push_back(pair.mode(1));
  }
  for (std::size_t k = tiler.size(); k < a.rank(); ++k) out.rests.push_back(a.mode(k));
  return out;
}

std::vector<Layout> joined(std::vector<Layout> first, const std::vector<Layout>& second) {
  first.insert(first.end(), second.begin(), second.end());
  return first;
}

}  // namespace

Layout composition(const Layout& a, const Tiler& tiler, std::uint64_t budget) {
  check_modes("composition", a, tiler);
  std::vector<Layout> modes;
  for (std::size_t k = 0; k < a.rank(); ++k)
    modes.push_back(k < tiler.size() ? composition(a.mode(k), tiler[k], budget) : a.mode(k));
  return make_layout(modes);
}

Layout logical_divide(const Layout& a, const Tiler& tiler, std::uint64_t budget) {
  const Divided d = divide_modes("logical_divide", a, tiler, budget);
  std::vector<Layout> modes;
  for (std::size_t k = 0; k < a.rank(); ++k)
    modes.push_back(k < d.tiles.size() ? make_layout(d.tiles[k], d.rests[k]) : d.rests[k]);
  return make_layout(modes);
}

Layout zipped_divide(const Layout& a, const Tiler& tiler, std::uint64_t budget) {
  const Divided d = divide_modes("zipped_divide", a, tiler, budget);
  return make_layout(make_layout(d.tiles), make_layout(d.rests));
}

Layout tiled_divide(const Layout& a, const Tiler& tiler, std::uint64_t budget) {
  const Divided d = divide_modes("tiled_divide", a, tiler, budget);
  return make_layout(joined({make_layout(d.tiles)}, d.rests));
}

Layout flat_divide(const Layout& a, const Tiler& tiler, std::uint64_t budget) {
  const Divided d = divide_modes("flat_divide", a, tiler, budget);
  return make_layout(joined(d.tiles, d.rests));
}

}  // namespace strata
