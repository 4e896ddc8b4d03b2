// A trace read back (strata/runtime/trace_file.h), with what must hold of each.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <optional>
#include <set>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include "strata/base/json.h"
#include "tests/base/files.h"

namespace strata::test {

/// A line of a trace.
class TraceLine {
 public:
  explicit TraceLine(const std::string& text) : document_(std::make_unique<JsonDocument>()) { document_->read(text); }
  std::optional<JsonValue> find(std::string_view key) const {
    for (const JsonValue::Member& m : document_->root().as_object("line"))
      if (m.key == key) return m.value;
    return std::nullopt;
  }
  std::string_view text(std::string_view key) const { return find(key).value().as_string(key); }
  std::int64_t number(std::string_view key) const { return find(key).value().as_integer(key); }
  std::vector<JsonValue> list(std::string_view key) const { return find(key).value().as_array(key); }
  std::string_view event() const { return text("event"); }

 private:
  std::unique_ptr<JsonDocument> document_;
};

struct TraceLines {
  std::vector<TraceLine> lines;

  explicit TraceLines(const std::string& path) {
    std::istringstream in(contents(path));
    for (std::string line; std::getline(in, line);) lines.emplace_back(line);
  }
  std::vector<const TraceLine*> of(std::string_view event) const {
    std::vector<const TraceLine*> out;
    for (const TraceLine& line : lines)
      if (line.event() == event) out.push_back(&line);
    return out;
  }
  std::size_t count(std::string_view event) const { return of(event).size(); }

  /// The first line is the header, and what a line refers to was written before it.
  void expect_whole() const {
    ASSERT_FALSE(lines.empty());
    EXPECT_EQ(lines[0].event(), "trace");
    EXPECT_EQ(lines[0].number("format"), 1);
    std::set<std::int64_t> kernels, graphs, captures, realizes;
    for (const TraceLine& line : lines) {
      const std::string_view event = line.event();
      const auto refers = [&](const std::set<std::int64_t>& known, std::string_view key) {
        EXPECT_TRUE(known.contains(line.number(key))) << event << " of an unknown " << key;
      };
      const auto adds = [&](std::set<std::int64_t>& known, std::string_view key) {
        EXPECT_TRUE(known.insert(line.number(key)).second) << "twice: " << key;
      };
      if (event == "kernel") adds(kernels, "kernel");
      if (event == "graph") adds(graphs, "graph");
      if (event == "capture") adds(captures, "capture");
      if (event == "nodes" || event == "schedule" || event == "plan") refers(graphs, "graph");
      if (event == "run") refers(kernels, "kernel");
      if (event == "replay") refers(captures, "capture");
      if (event == "realize") refers(graphs, "graph"), realizes.insert(line.number("realize"));
      if (event == "realized" || (event == "run" && line.find("realize"))) refers(realizes, "realize");
      if (event != "capture") continue;
      for (const JsonValue& step : line.list("steps"))
        EXPECT_TRUE(kernels.contains(step.as_object("step")[0].value.as_integer("kernel")));
    }
  }
};

}  // namespace strata::test
