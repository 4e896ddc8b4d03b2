// What an exported function needs: the limits of ExportOptions, and the report as text and as a picture.

#include <algorithm>
#include <cmath>

#include "strata/base/check.h"
#include "strata/export/model.h"

namespace strata {

using detail::message;

namespace {

/// "4608 bytes".
std::string bytes_of(std::int64_t n) { return message(n, n == 1 ? " byte" : " bytes"); }

/// The largest parts, with their names.
std::string largest(std::vector<ExportedPart> parts, std::size_t most) {
  std::sort(parts.begin(), parts.end(), [](const ExportedPart& a, const ExportedPart& b) {
    return a.bytes != b.bytes ? a.bytes > b.bytes : a.name < b.name;
  });
  std::string out;
  for (std::size_t k = 0; k < std::min(most, parts.size()); ++k)
    out += message(k == 0 ? "" : "; ", parts[k].name, " ", parts[k].bytes);
  return out;
}

std::string with_largest(std::string_view what, std::int64_t bytes, const std::vector<ExportedPart>& parts) {
  const std::string names = largest(parts, 3);
  return message(what, " ", bytes, names.empty() ? "" : message(" (", names, ")"));
}

/// What the kernels of an object need besides.
std::string code_of(const ExportedModel& model) {
  return model.object.empty() ? std::string() : message(", code of kernels ", model.code_bytes);
}

/// The bytes of the arena that a step needs.
std::int64_t live_bytes(const ExportedModel& model, std::size_t step) {
  std::int64_t out = 0;
  for (const ExportedPart& p : model.arena)
    if (p.first <= step && step <= p.last) out += p.bytes;
  return out;
}

std::string escaped(std::string_view text) {
  std::string out;
  for (const char c : text)
    out += c == '<' ? "&lt;" : c == '>' ? "&gt;" : c == '&' ? "&amp;" : c == '"' ? "&quot;" : std::string(1, c);
  return out;
}

}  // namespace

void exporting::check_limits(const ExportedModel& model, const ExportOptions& options) {
  if (options.max_ram && model.ram_bytes() > *options.max_ram)
    throw Error(ErrorKind::budget,
                message("[export] ", model.name, " needs ", bytes_of(model.ram_bytes()), " of RAM, max_ram is ",
                        *options.max_ram, ": ", with_largest("arena", model.arena_bytes, model.arena), ", ",
                        with_largest("state", model.state_bytes, model.state), ", stack ", model.stack_bytes));
  if (options.max_flash && model.flash_bytes() > *options.max_flash)
    throw Error(ErrorKind::budget,
                message("[export] ", model.name, " needs ", bytes_of(model.flash_bytes()), " of flash, max_flash is ",
                        *options.max_flash, ": ",
                        with_largest("weights and tables", model.constant_bytes, model.constants), code_of(model)));
}

std::string report_text(const ExportedModel& model) {
  std::string out = message(model.name, ": ", model.steps.size(), " steps, ", model.kernels, " kernels\n");
  const auto line = [&](std::string_view label, const std::string& text) {
    out += message("  ", label, std::string(label.size() < 12 ? 12 - label.size() : 1, ' '), text, "\n");
  };
  line("operations", message(std::llround(model.operations)));
  line("moved", bytes_of(std::llround(model.moved_bytes)));
  line("flash", model.object.empty() ? message(bytes_of(model.constant_bytes), " of weights and tables")
                                     : message(bytes_of(model.flash_bytes()), ": weights and tables ",
                                               model.constant_bytes, code_of(model)));
  line("RAM", message(bytes_of(model.ram_bytes()), ": arena ", model.arena_bytes, ", state ", model.state_bytes,
                      ", stack at most ", model.stack_bytes));
  for (const ExportedPart& p : model.state) line("state", message(p.name, ", ", bytes_of(p.bytes)));
  constexpr std::int64_t width = 40;
  for (std::size_t k = 0; k < model.steps.size(); ++k) {
    const std::int64_t live = live_bytes(model, k);
    const std::int64_t bar = model.arena_bytes > 0 ? (live * width + model.arena_bytes - 1) / model.arena_bytes : 0;
    line(message("step ", k), message(std::string(static_cast<std::size_t>(std::min(bar, width)), '#'),
                                      bar > 0 ? " " : "", bytes_of(live), "  ", model.steps[k]));
  }
  return out;
}

std::string report_svg(const ExportedModel& model) {
  const auto steps = static_cast<std::int64_t>(std::max<std::size_t>(model.steps.size(), 1));
  constexpr std::int64_t left = 90, top = 40, height = 320;
  const std::int64_t step = std::clamp<std::int64_t>(900 / steps, 4, 60), width = steps * step;
  const auto y_of = [&](std::int64_t at) {
    return static_cast<double>(top + height) - static_cast<double>(at) * static_cast<double>(height) /
                                                   static_cast<double>(std::max<std::int64_t>(model.arena_bytes, 1));
  };
  const auto number = [](double x) { return message(std::llround(x * 10) / 10, ".", std::llround(x * 10) % 10); };
  std::string out =
      message("<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"", left + width + 20, "\" height=\"",
              top + height + 50, "\" font-family=\"sans-serif\" font-size=\"12\">\n<text x=\"", left, "\" y=\"20\">",
              escaped(model.name), ": the arena over time, ", model.arena_bytes, " bytes", code_of(model), "</text>\n");
  out += message("<rect x=\"", left, "\" y=\"", top, "\" width=\"", width, "\" height=\"", height,
                 "\" fill=\"#f4f4f4\" stroke=\"#888\"/>\n");
  constexpr std::string_view colours[] = {"#4e79a7", "#f28e2b", "#59a14f", "#e15759", "#76b7b2", "#b07aa1", "#9c755f"};
  for (std::size_t k = 0; k < model.arena.size(); ++k) {
    const ExportedPart& p = model.arena[k];
    const auto first = static_cast<std::int64_t>(p.first);
    const std::int64_t end = std::min(static_cast<std::int64_t>(p.last) + 1, steps);
    out += message("<rect x=\"", left + first * step, "\" y=\"", number(y_of(p.at + p.bytes)), "\" width=\"",
                   (end - first) * step, "\" height=\"", number(y_of(p.at) - y_of(p.at + p.bytes)), "\" fill=\"",
                   colours[k % std::size(colours)], "\" fill-opacity=\"0.8\" stroke=\"white\"><title>", escaped(p.name),
                   ": ", bytes_of(p.bytes), " at ", p.at, ", steps ", p.first, " to ", p.last, "</title></rect>\n");
  }
  for (const std::int64_t at : {std::int64_t{0}, model.arena_bytes / 2, model.arena_bytes})
    out += message("<text x=\"", left - 6, "\" y=\"", number(y_of(at) + 4), "\" text-anchor=\"end\">", at, "</text>\n");
  out += message("<text x=\"", left, "\" y=\"", top + height + 18, "\">step 0</text>\n<text x=\"", left + width,
                 "\" y=\"", top + height + 18, "\" text-anchor=\"end\">step ", steps - 1, "</text>\n");
  return out + "</svg>\n";
}

}  // namespace strata
