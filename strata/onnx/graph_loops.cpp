// Loops: a SCAN as ONNX's Scan where it goes along sequences, else as Loop; running products, extremes and linear
// recurrences as Scan.
#include <algorithm>
#include <array>

#include "strata/base/check.h"
#include "strata/graph/step_graph.h"
#include "strata/onnx/graph_writer.h"
#include "strata/onnx/reader.h"

namespace strata::onnx {
namespace {

constexpr std::size_t kDeepestWritten = kDeepestGraph - 4;

Attribute graph_attribute(int graph) {
  Attribute a;
  a.name = "body";
  a.type = AttributeType::graph;
  a.graph = graph;
  return a;
}

Ints with_front(const Int& size, const Ints& shape) {
  Ints out = {size};
  for (const Int& s : shape) out.push_back(s);
  return out;
}

/// The body of a loop while it is written.
class Body {
 public:
  Body(GraphWriter& w, const char* name) : w_(w), graph_(w.begin_graph(name)) {}

  Written input(std::string_view name, DType dtype, const Ints& shape) {
    Written out{w_.free_name(name), dtype, shape};
    w_.graph().inputs.push_back(port_of(out.name, dtype, shape));
    return out;
  }
  /// A tensor of its own, of the body: not of the graph around it, and no other output.
  void output(const Written& value, const Ints& shape) {
    const Written whole = w_.full(value, shape);
    const Written own = w_.add("Identity", {whole}, {}, whole.dtype, shape);
    w_.graph().outputs.push_back(port_of(own.name, own.dtype, shape));
  }
  Attribute end() {
    w_.end_graph();
    return graph_attribute(graph_);
  }

 private:
  GraphWriter& w_;
  int graph_;
};

/// Writes the loop of a SCAN. @param in the sources
std::vector<Written> written_loop(GraphWriter& w, const StepGraph& step, std::span<const LazyOp> sources,
                                  std::span<const Written> in) {
  const bool is_scan = step.sequences > 0 && !step.has_last_source();
  std::vector<Written> inputs;
  std::vector<Attribute> attributes;
  std::vector<std::pair<DType, Ints>> results;
  if (!is_scan) {
    const Written count = step.is_counted ? w.reshaped(in.back(), {}) : w.reshaped(w.size(step.count), {});
    inputs.push_back(count);
    inputs.push_back(step.condition ? w.reshaped(w.full(in.back(), sources.back().shape()), {})
                                    : w.constant(Scalar(true)));
  }
  for (std::size_t k = 0; k < step.states; ++k) inputs.push_back(w.full(in[k], step.inputs[k].shape()));
  std::vector<Written> sequences;
  for (std::size_t k = step.states; k < step.states + step.sequences; ++k)
    sequences.push_back(w.full(in[k], with_front(step.count, step.inputs[k].shape())));
  if (is_scan) inputs.insert(inputs.end(), sequences.begin(), sequences.end());

  Body body(w, "step");
  std::optional<Written> place;
  if (!is_scan) {
    place = body.input("step_number", dtypes::int64, {});
    body.input("goes_on", dtypes::boolean, {});
    if (step.is_reversed)
      place = w.add("Sub", {w.reshaped(w.size(step.count - Int(1)), {}), *place}, {}, dtypes::int64, {});
  }
  const auto bind = [&](std::size_t k, const Written& value) {
    w.set(step.inputs[k], value);
    w.set(plain(step.inputs[k]), value);
  };
  for (std::size_t k = 0; k < step.states; ++k)
    bind(k, body.input("state", step.inputs[k].dtype(), step.inputs[k].shape()));
  for (std::size_t k = step.states; k < step.states + step.sequences; ++k) {
    const LazyOp& element = step.inputs[k];
    bind(k, is_scan ? body.input("element", element.dtype(), element.shape())
                    : w.add("Gather", {sequences[k - step.states], *place}, {integer_attribute("axis", 0)},
                            element.dtype(), element.shape()));
  }
  for (std::size_t k = step.states + step.sequences; k < step.inputs.size(); ++k) w.set(step.inputs[k], in[k]);
  if (!is_scan) body.output(step.condition ? w.write(*step.condition) : w.constant(Scalar(true)), {});
  for (std::size_t k = 0; k < step.wanted; ++k) {
    const LazyOp& r = step.results[k];
    body.output(w.write(r), r.shape());
    results.emplace_back(r.dtype(), step.is_state(k) ? r.shape() : with_front(step.count, r.shape()));
  }
  attributes.push_back(body.end());
  const std::size_t outputs = step.wanted - step.states;
  if (is_scan) {
    attributes.push_back(integer_attribute("num_scan_inputs", static_cast<std::int64_t>(step.sequences)));
    if (step.is_reversed) {
      attributes.push_back(integers_attribute("scan_input_directions", std::vector<std::int64_t>(step.sequences, 1)));
      if (outputs > 0)
        attributes.push_back(integers_attribute("scan_output_directions", std::vector<std::int64_t>(outputs, 1)));
    }
  }
  std::vector<Written> out = w.add_several(is_scan ? "Scan" : "Loop", inputs, attributes, results);
  if (!is_scan && step.is_reversed)
    for (std::size_t k = step.states; k < step.wanted; ++k)
      out[k] = w.sliced(out[k], {INT64_MAX}, {INT64_MIN}, {0}, {-1}, out[k].shape);
  return out;
}

/// The SCAN of which `n` is a result, and the number of the result.
std::optional<std::pair<LazyOp, std::size_t>> result_of_scan(const LazyOp& n) {
  const LazyOp* at = &n;
  while (is_movement(at->op()) && !is_realized(*at->node())) at = &at->src(0);
  if (at->op() != Ops::SCAN || is_realized(*at->node())) return std::nullopt;
  const StepArg& arg = std::get<StepArg>(at->arg());
  for (std::size_t k = 0; k < arg.step->wanted && !arg.of_saved; ++k)
    if (result_of_loop(arg.step, at->src(), k) == n) return std::pair{*at, k};
  return std::nullopt;
}

/// A Scan along an axis, of `in`, tensors of one shape, with states of that shape without the axis.
/// @param next the new states, of which the first is the output, of the states and the elements
template <class Next>
Written along_axis(GraphWriter& w, std::span<const Written> in, const Ints& shape, std::int64_t axis,
                   const std::vector<Scalar>& initial, const Next& next) {
  Ints element;
  for (std::size_t d = 0; d < shape.size(); ++d)
    if (static_cast<std::int64_t>(d) != axis) element.push_back(shape[d]);
  const DType dtype = in[0].dtype;
  std::vector<Written> inputs, states, elements;
  std::vector<std::pair<DType, Ints>> results;
  for (const Scalar& value : initial) {
    inputs.push_back(w.full(w.constant(value), element));
    results.emplace_back(dtype, element);
  }
  for (const Written& x : in) inputs.push_back(w.full(x, shape));
  results.emplace_back(dtype, shape);
  Body body(w, "step");
  for (std::size_t k = 0; k < initial.size(); ++k) states.push_back(body.input("state", dtype, element));
  for (std::size_t k = 0; k < in.size(); ++k) elements.push_back(body.input("element", dtype, element));
  const std::vector<Written> after = next(states, elements);
  for (const Written& state : after) body.output(state, element);
  body.output(after[0], element);
  const Attribute graph = body.end();
  const std::vector<std::int64_t> axes(in.size(), axis);
  return w
      .add_several("Scan", inputs,
                   {graph, integer_attribute("num_scan_inputs", std::ssize(in)),
                    integers_attribute("scan_input_axes", axes), integers_attribute("scan_output_axes", {axis})},
                   results)
      .back();
}

std::optional<Plan> running_plan(GraphWriter& w, const LazyOp& n) {
  const auto& [op, axis] = std::get<AxisArg>(n.arg());
  const Ints& shape = n.shape();
  const DType dtype = n.dtype();
  if (op == Ops::MULACC) {
    const std::vector<Scalar> initial(n.src().size() - 1, Scalar::of(dtype, std::int64_t{0}));
    return Plan{{n.src().begin(), n.src().end()}, [=, &w, along = axis](std::span<const Written> in) {
                  return along_axis(w, in, shape, along, initial, [&](const auto& states, const auto& elements) {
                    Written sum = elements.back();
                    for (std::size_t k = 0; k < states.size(); ++k) {
                      const std::array factors = {elements[k], states[k]};
                      const std::array terms = {sum, w.elementwise("Mul", factors, kNumbers, dtype)};
                      sum = w.elementwise("Add", terms, kNumbers, dtype);
                    }
                    std::vector<Written> after = {sum};
                    after.insert(after.end(), states.begin(), states.end() - 1);
                    return after;
                  });
                }};
  }
  if (n.src().size() != 1) return std::nullopt;
  const bool is_most = op == Ops::REDUCE_MAX || (op == Ops::SUM && dtype.is_bool());
  const char* const name = dtype.is_bool()   ? (is_most ? "Or" : "And")
                           : op == Ops::SUM  ? "Add"
                           : is_most         ? "Max"
                           : op == Ops::PROD ? "Mul"
                                             : "Min";
  const Scalar initial = identity_of(op, dtype);
  return Plan{{n.src(0)}, [=, &w, along = axis](std::span<const Written> in) {
                return along_axis(w, in, shape, along, {initial}, [&](const auto& states, const auto& elements) {
                  const std::array both = {states[0], elements[0]};
                  return std::vector{w.elementwise(name, both, kEverything, dtype)};
                });
              }};
}

}  // namespace

std::optional<Plan> loop_plan(GraphWriter& w, const LazyOp& n) {
  if (n.op() == Ops::ASSOCIATIVE_SCAN) return running_plan(w, n);
  if (!is_movement(n.op())) return std::nullopt;
  const auto found = result_of_scan(n);
  if (!found || w.depth() > kDeepestWritten) return std::nullopt;
  const auto [scan, k] = *found;
  std::vector<LazyOp> sources(scan.src().begin(), scan.src().end());
  return Plan{sources, [&w, sources, step = std::get<StepArg>(scan.arg()).step, part = k](std::span<const Written> in) {
                GraphWriter::LoopKey key = {step.get()};
                for (const LazyOp& s : sources) key.push_back(s.node());
                if (const auto* known = w.find_loop(key)) return (*known)[part];
                std::vector<Written> results = written_loop(w, *step, sources, in);
                w.set_loop(std::move(key), results);
                return results[part];
              }};
}

}  // namespace strata::onnx
