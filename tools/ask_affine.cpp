// Answers the request `affine` by the affine primitives.
#include <map>
#include <set>
#include <string_view>

#include "strata/affine/affine.h"
#include "strata/base/quotes.h"
#include "tools/ask.h"

namespace strata::tools {
namespace {

Affine create(AffinePrimitives& primitives, std::string_view text) {
  try {
    return primitives.create(text);
  } catch (const Error& e) {
    throw TextError(e, text, "");
  }
}

/// Sets the value of every name in the text to the name's value in `point`.
void assign(const Point& point, std::map<std::string, std::int64_t*>& places, std::size_t entry) {
  const std::string where = "[at[" + std::to_string(entry) + "]] ";
  for (const auto& [name, value] : point) {
    const auto place = places.find(name);
    STRATA_CHECK(place != places.end(), parse, where, "unknown name ", in_quotes(name), ": the text does not hold it");
    *place->second = value;
  }
  if (point.size() == places.size()) return;
  std::set<std::string_view> given;
  for (const auto& item : point) given.insert(item.first);
  for (const auto& [name, place] : places)
    STRATA_CHECK(given.contains(name), parse, where, in_quotes(name), " has no value");
}

}  // namespace

std::vector<std::int64_t> ask_affine(std::string_view text, const std::vector<Point>& at, Work& work) {
  work.charge(text.size());
  AffinePrimitives primitives;
  const Affine affine = create(primitives, text);
  std::map<std::string, std::int64_t*> places;
  for (const std::string& name : affine.names()) places[name] = &primitives[name];
  std::vector<std::int64_t> values;
  for (std::size_t i = 0; i < at.size(); ++i) {
    work.charge(text.size());
    assign(at[i], places, i);
    values.push_back(affine());
  }
  return values;
}

}  // namespace strata::tools
