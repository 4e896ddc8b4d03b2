// Gradients in graph programs against differences of the values: of f64, at places where no function has a corner.
#pragma once

#include <array>
#include <cmath>
#include <string>

#include "tests/fuzz/graph_program.h"
#include "tests/fuzz/graph_ranges.h"

namespace strata::oracle {

/// The gradients of a program, in f64.
class GraphSlopes {
 public:
  explicit GraphSlopes(const GraphProgram& program) : program_(program) {}

  /// What is wrong with a step's gradient; empty where nothing is, or where differences say nothing.
  std::string fault(std::size_t step) {
    const GraphStep& s = program_.steps[step];
    if ((s.op != "grad" && s.op != "backward") || hides_gradients(s.from[0])) return {};
    if (program_.steps[s.from[1]].op != "input") return {};
    how_.moved = s.from[1];
    how_.by = 0;
    const GraphRanges::Ranges gradient = values_of(step);
    double expected = 0;
    for (std::size_t k = 0; k < gradient.size(); ++k) expected += gradient[k].exact.as_double() * graph_direction(k);
    const double far = difference(step, 1e-4), near = difference(step, 5e-5);
    const double size = 1 + std::fabs(near) + std::fabs(expected);
    if (!(std::fabs(far - near) <= 1e-5 * size)) return {};  // a corner, or too steep
    ++compared_;
    if (std::fabs(near - expected) <= 1e-3 * size) return {};
    return detail::message("%", step, " along a direction is ", Scalar(expected).text(), ", and differences say ",
                           Scalar(near).text());
  }
  std::size_t compared() const { return compared_; }

  /// The same programs with a gradient of an output by an input as one more step: a few of them.
  static std::vector<GraphProgram> with_gradients(const GraphProgram& program) {
    constexpr std::size_t kMost = 3;
    std::vector<GraphProgram> out;
    GraphProgram tracked = program;
    std::size_t inputs = 0;
    for (GraphStep& s : tracked.steps) {
      if (s.op != "input") break;
      s.args[2] = is_float_input(s.args) ? 1 : 0;
      ++inputs;
    }
    for (const std::size_t output : program.outputs)
      for (std::size_t k = 0; k < inputs && out.size() < kMost; ++k) {
        if (tracked.steps[k].args[2] == 0 || !needs(program, output, k)) continue;
        GraphProgram next = tracked;
        next.steps.push_back({"grad", {output, k}, {static_cast<std::int64_t>(output) % 2}});
        next.outputs = {next.steps.size() - 1};
        out.push_back(std::move(next));
      }
    return out;
  }

 private:
  static bool needs(const GraphProgram& program, std::size_t step, std::size_t source) {
    std::vector<bool> below(program.steps.size());
    below[step] = true;
    for (std::size_t k = step + 1; k-- > 0;)
      if (below[k])
        for (const std::size_t from : program.steps[k].from) below[from] = true;
    return below[source] && step != source;
  }
  /// Whether something between says that no gradient passes it.
  bool hides_gradients(std::size_t root) const {
    std::vector<bool> below(program_.steps.size());
    below[root] = true;
    for (std::size_t k = root + 1; k-- > 0;) {
      const GraphStep& s = program_.steps[k];
      if (!below[k]) continue;
      if (s.op == "detach" || s.op == "backward" || s.op == "assigned") return true;
      for (const std::size_t from : s.from) below[from] = true;
    }
    return false;
  }
  GraphRanges::Ranges values_of(std::size_t step) const {
    const Tensor x = build(program_, how_)[step];
    return GraphRanges(std::array{x.node()}, Freedom{false, false, false}).of(x.node());
  }
  double loss(const GraphStep& s, double by) {
    how_.by = by;
    double out = 0;
    for (const ValueRange& v : values_of(s.from[0])) {
      const double y = v.exact.as_double();
      out += s.args[0] != 0 ? y * y : y;
    }
    return out;
  }
  double difference(std::size_t step, double h) {
    const GraphStep& s = program_.steps[step];
    return (loss(s, h) - loss(s, -h)) / (2 * h);
  }

  const GraphProgram& program_;
  std::size_t compared_ = 0;
  GraphBuild how_{.symbolic = false, .realizes = false, .in_f64 = true};
};

}  // namespace strata::oracle
