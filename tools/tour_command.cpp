// `strata tour`: prints the stages of the tour, or a chapter of them.
#include <algorithm>
#include <ostream>

#include "strata/base/flags.h"
#include "strata/base/json.h"
#include "tools/command_parts.h"
#include "tools/commands.h"
#include "tools/tour.h"

namespace strata::tools {
namespace {

struct TourChapter {
  std::string_view name;
  void (*show)(Tour&);
};
constexpr TourChapter kTourChapters[] = {
    {"sum", tour_sum}, {"gradient", tour_gradient}, {"movement", tour_movement}, {"symbolic", tour_symbolic}};

std::vector<TourChapter> chapters_asked_for(const Invocation& invocation) {
  if (invocation.arguments().empty()) return {std::begin(kTourChapters), std::end(kTourChapters)};
  std::vector<TourChapter> out;
  for (const std::string& name : invocation.arguments()) {
    const auto* found = std::find_if(std::begin(kTourChapters), std::end(kTourChapters),
                                     [&](const TourChapter& c) { return c.name == name; });
    if (found == std::end(kTourChapters))
      throw UsageError(
          detail::message("there is no chapter '", name, "': they are sum, gradient, movement and symbolic"),
          &invocation.command());
    out.push_back(*found);
  }
  return out;
}

void print_stage(const TourStage& stage, std::ostream& out, bool colour) {
  out << paint(colour, Style::bold, detail::message(stage.chapter, ": ", stage.title)) << "  "
      << paint(colour, Style::dim, stage.note) << '\n';
  for (const TourLine& line : stage.lines) {
    out << "> " << line.code << '\n';
    for (const std::string_view part : split(line.printed, '\n')) out << "  " << part << '\n';
  }
}

std::string json_of_stage(const TourStage& stage) {
  JsonWriter json;
  json.begin_object().member("chapter", stage.chapter).member("stage", stage.title);
  json.member("note", stage.note).key("lines").begin_array();
  for (const TourLine& line : stage.lines)
    json.begin_object().member("code", line.code).member("printed", line.printed).end_object();
  return json.end_array().end_object().take();
}

}  // namespace

int command_tour(const Invocation& invocation, Console& console) {
  const std::vector<TourChapter> chapters = chapters_asked_for(invocation);
  const ScopedFlag device(flags::DEVICE, invocation.value("--device").value_or(flags::DEVICE.get()));
  const std::string missing = Device::default_device().missing();
  STRATA_CHECK(missing.empty(), domain, missing);
  const bool colour = wants_colour(invocation, console);
  bool is_first = true;
  for (const TourChapter& chapter : chapters) {
    Tour tour;
    chapter.show(tour);
    for (const TourStage& stage : tour.stages()) {
      if (invocation.has("--json")) {
        console.out << json_of_stage(stage) << '\n';
        continue;
      }
      if (!is_first) console.out << '\n';
      print_stage(stage, console.out, colour);
      is_first = false;
    }
  }
  return 0;
}

}  // namespace strata::tools
