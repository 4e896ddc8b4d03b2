// Meshes: checks, ranks as coordinates, text.

#include "strata/shard/mesh.h"

#include <algorithm>
#include <charconv>
#include <optional>

#include "strata/base/check.h"
#include "strata/base/quotes.h"
#include "strata/base/text.h"

namespace strata {
namespace {

bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }

bool is_axis_name(std::string_view text) {
  return !text.empty() && is_letter(text[0]) &&
         std::all_of(text.begin(), text.end(), [](char c) { return is_letter(c) || is_digit(c) || c == '_'; });
}

std::string known_axes(const std::vector<std::string>& names) {
  if (names.empty()) return "it has no axes";
  std::string out;
  for (const std::string& name : names) out += (out.empty() ? "it has " : ", ") + name;
  return out;
}

}  // namespace

MeshShape::MeshShape(Index sizes, std::vector<std::string> names) : sizes_(std::move(sizes)), names_(std::move(names)) {
  STRATA_CHECK(sizes_.size() == names_.size(), shape, "[mesh] ", sizes_.size(), " sizes and ", names_.size(), " names");
  for (std::size_t k = 0; k < names_.size(); ++k) {
    STRATA_CHECK(is_axis_name(names_[k]), domain, "[mesh] ", in_quotes(names_[k]),
                 " is no name of an axis: a letter, then letters, digits and _");
    STRATA_CHECK(std::count(names_.begin(), names_.end(), names_[k]) == 1, domain, "[mesh] two axes are named ",
                 names_[k]);
    STRATA_CHECK(sizes_[k] >= 1, domain, "[mesh] the size of ", names_[k], " is ", sizes_[k], ", not at least 1");
    STRATA_CHECK(sizes_[k] <= kMostRanks / size_, budget, "[mesh] more than ", kMostRanks, " ranks: ", render(*this));
    size_ *= sizes_[k];
  }
}

std::size_t MeshShape::axis(std::string_view name) const {
  const auto found = std::find(names_.begin(), names_.end(), name);
  STRATA_CHECK(found != names_.end(), domain, "[mesh] there is no axis ", in_quotes(name),
               " in the mesh: ", known_axes(names_));
  return static_cast<std::size_t>(found - names_.begin());
}

void MeshShape::check(std::int64_t rank) const {
  STRATA_CHECK(0 <= rank && rank < size_, domain, "[mesh] rank ", rank, " is outside of ", size_, " ranks");
}

Index MeshShape::coordinates(std::int64_t rank) const {
  check(rank);
  Index out(sizes_.size(), 0);
  for (std::size_t k = sizes_.size(); k-- > 0; rank /= sizes_[k]) out[k] = rank % sizes_[k];
  return out;
}

std::int64_t MeshShape::rank(const Index& coordinates) const {
  STRATA_CHECK(coordinates.size() == sizes_.size(), shape, "[mesh] ", coordinates.size(), " coordinates for ",
               sizes_.size(), " axes");
  std::int64_t out = 0;
  for (std::size_t k = 0; k < sizes_.size(); ++k) {
    STRATA_CHECK(0 <= coordinates[k] && coordinates[k] < sizes_[k], domain, "[mesh] coordinate ", coordinates[k],
                 " of ", names_[k], " is outside of its size ", sizes_[k]);
    out = out * sizes_[k] + coordinates[k];
  }
  return out;
}

MeshShape parse_mesh(std::string_view text) {
  Index sizes;
  std::vector<std::string> names;
  for (std::size_t at = 0; at <= text.size() && !text.empty();) {
    const std::size_t end = std::min(text.find(',', at), text.size());
    const std::string_view item = text.substr(at, end - at);
    const std::size_t equals = std::min(item.find('='), item.size());
    const std::string_view digits = item.substr(std::min(equals + 1, item.size()));
    std::int64_t size = 0;
    const auto [stop, error] = std::from_chars(digits.data(), digits.data() + digits.size(), size);
    if (error != std::errc() || stop != digits.data() + digits.size())
      throw Error(ErrorKind::parse, detail::message("[mesh] expected NAME=SIZE, not ", in_quotes(item)), at + 1);
    sizes.push_back(size);
    names.emplace_back(item.substr(0, equals));
    at = end + 1;
  }
  return {std::move(sizes), std::move(names)};
}

std::string render(const MeshShape& mesh) {
  std::string out;
  for (std::size_t k = 0; k < mesh.names().size(); ++k)
    out += detail::message(out.empty() ? "" : ",", mesh.names()[k], "=", mesh.sizes()[k]);
  return out;
}

}  // namespace strata
