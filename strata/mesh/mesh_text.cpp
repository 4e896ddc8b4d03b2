#include "strata/mesh/mesh_text.h"

#include <algorithm>
#include <set>
#include <sstream>
#include <string_view>

#include "strata/base/check.h"
#include "strata/base/flags.h"
#include "strata/base/version.h"

namespace strata {
namespace {

constexpr std::size_t kMostNamed = 8;   // ranks
constexpr std::size_t kMostGroups = 4;  // of ranks that say the same

/// Ranks that say the same.
struct Group {
  const StepWords* words = nullptr;  // of the least of them
  std::vector<std::int64_t> ranks;
};

bool is_same(const StepWords& a, const StepWords& b) {
  return std::string_view(a.what.data()) == b.what.data() && std::string_view(a.settings.data()) == b.settings.data() &&
         a.is_goodbye == b.is_goodbye;
}

/// The largest groups first; of two of one size, the one with the lesser rank.
std::vector<Group> groups_of(const std::vector<StepWords>& said) {
  std::vector<Group> out;
  for (std::size_t r = 0; r < said.size(); ++r) {
    auto at = std::find_if(out.begin(), out.end(), [&](const Group& g) { return is_same(*g.words, said[r]); });
    if (at == out.end()) at = out.insert(out.end(), {&said[r], {}});
    at->ranks.push_back(static_cast<std::int64_t>(r));
  }
  std::sort(out.begin(), out.end(), [](const Group& a, const Group& b) {
    return a.ranks.size() != b.ranks.size() ? a.ranks.size() > b.ranks.size() : a.ranks[0] < b.ranks[0];
  });
  return out;
}

std::string at_place(const StepWords& words) {
  return words.place[0] == '\0' ? std::string() : detail::message(" (", words.place.data(), ")");
}

std::set<std::string> words_of(const StepWords& words) {
  std::istringstream text(words.settings.data());
  std::set<std::string> out;
  for (std::string word; text >> word;) out.insert(word);
  return out;
}

/// The settings of a group that not all have.
std::string own_settings(const std::vector<Group>& groups, std::size_t g) {
  std::string out;
  for (const std::string& word : words_of(*groups[g].words))
    if (!std::all_of(groups.begin(), groups.end(),
                     [&](const Group& other) { return words_of(*other.words).contains(word); }))
      out += (out.empty() ? "" : " ") + word;
  return out;
}

}  // namespace

std::string place_text(const std::source_location& place) {
  return place.line() == 0 ? std::string() : detail::message(place.file_name(), ":", place.line());
}

std::string ranks_text(const std::vector<std::int64_t>& ranks) {
  std::string out = ranks.size() == 1 ? "rank" : "ranks";
  for (std::size_t i = 0; i < std::min(ranks.size(), kMostNamed); ++i) out += detail::message(" ", ranks[i]);
  if (ranks.size() > kMostNamed) out += detail::message(" and ", ranks.size() - kMostNamed, " more");
  return out;
}

std::string settings_text() {
  std::string out = "VERSION=" STRATA_VERSION;
  for (const FlagBase* flag :
       {static_cast<const FlagBase*>(&flags::DETERMINISTIC), static_cast<const FlagBase*>(&flags::NOFUSE),
        static_cast<const FlagBase*>(&flags::BLOCKS), static_cast<const FlagBase*>(&flags::NAN_CHECK),
        static_cast<const FlagBase*>(&flags::CHECK_INDEX), static_cast<const FlagBase*>(&flags::DEVICE)})
    out += detail::message(" ", flag->name(), "=", flag->value_text());
  return out;
}

Verdict verdict_on(std::int64_t step, const std::vector<StepWords>& said) {
  const std::vector<Group> groups = groups_of(said);
  Verdict out;
  for (const Group& g : groups) out.has_goodbye = out.has_goodbye != 0 || g.words->is_goodbye != 0 ? 1 : 0;
  const bool is_same_work = std::all_of(said.begin(), said.end(), [&](const StepWords& w) {
    return std::string_view(w.what.data()) == said[0].what.data() && w.is_goodbye == said[0].is_goodbye;
  });
  std::string text = detail::message("[mesh] ranks disagree in step ", step);
  if (is_same_work) text += detail::message(", ", said[0].what.data(), at_place(said[0]));
  if (groups.size() == 1) text += ": their plans differ";  // beyond what the words tell
  for (std::size_t g = 0; groups.size() > 1 && g < std::min(groups.size(), kMostGroups); ++g) {
    const StepWords& words = *groups[g].words;
    text += detail::message(g == 0 ? ": " : "; ", ranks_text(groups[g].ranks), ": ",
                            is_same_work ? own_settings(groups, g) : words.what.data() + at_place(words));
  }
  if (groups.size() > kMostGroups) text += detail::message("; and ", groups.size() - kMostGroups, " more");
  put_text(out.text, text);
  return out;
}

}  // namespace strata
