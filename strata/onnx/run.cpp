// The loop over frames and nodes of one call.
#include "strata/onnx/run.h"

#include <algorithm>
#include <utility>

#include "strata/base/check.h"
#include "strata/base/interrupt.h"
#include "strata/onnx/operators.h"

namespace strata::onnx {
namespace {

bool is_on_host(const Datum& value) { return !value.is_tensor() || value.tensor().device().name() == "INTERP"; }

bool is_small(const Datum& value) { return !value.is_tensor() || value.tensor().numel().vmax() <= kFoldedElements; }

/// The node with the attributes that its function's call gives; an attribute that the call leaves out is left out.
std::unique_ptr<Node> with_attributes_of(const Node& node, const Node& caller) {
  auto out = std::make_unique<Node>(node);
  std::erase_if(out->attributes, [&](Attribute& a) {
    if (a.reference.empty()) return false;
    const Attribute* const given = caller.find(a.reference);
    if (given == nullptr) return true;
    STRATA_CHECK(given->type == a.type, parse, "[onnx] ", caller.text(), ": the attribute \"", a.reference,
                 "\" has the type ", static_cast<int>(given->type), " instead of ", static_cast<int>(a.type));
    std::string name = std::move(a.name);
    a = *given;
    a.name = std::move(name);
    return false;
  });
  return out;
}

bool has_references(const Node& node) {
  return std::any_of(node.attributes.begin(), node.attributes.end(),
                     [](const Attribute& a) { return !a.reference.empty(); });
}

}  // namespace

void realize_all(const std::vector<Datum>& values) {
  for (const Datum& value : values) {
    if (value.is_tensor()) value.tensor().realize();
    if (!value.is_sequence()) continue;
    for (const Datum& inner : value.sequence())
      if (inner.is_tensor()) inner.tensor().realize();
  }
}

Run::Run(const Definition& model, const std::vector<std::vector<Datum>>& constants, const LoadOptions& options,
         const std::vector<int>& tracked, std::vector<Datum> values, const Model::Observer& observe)
    : model_(model),
      constants_(constants),
      options_(options),
      is_tracked_(values.size()),
      values_(std::move(values)),
      observe_(observe),
      generator_(Generator::default_generator()) {
  for (const int slot : tracked) {
    is_tracked_[static_cast<std::size_t>(slot)] = true;
    if (at(slot).is_tensor()) at(slot) = at(slot).tensor().detach().requires_grad(true);
  }
}

std::vector<Datum> Run::run() {
  frames_.emplace_back();
  while (true) {
    check_interrupt();
    Frame& top = frames_.back();
    const Graph& graph = model_.graphs[static_cast<std::size_t>(top.graph)];
    if (top.node < graph.nodes.size()) {
      step();
      continue;
    }
    std::vector<Datum> outputs = outputs_of(graph);
    frames_.pop_back();
    if (frames_.empty()) return outputs;
    Frame& below = frames_.back();
    try {
      below.control->take(std::move(outputs));
    } catch (const Error& e) {
      throw Error(e.kind(), "[onnx] " + node_at(below).text() + ": " + e.what());
    }
    advance(below);
  }
}

const Node& Run::node_at(const Frame& frame) const {
  return frame.own ? *frame.own : model_.graphs[static_cast<std::size_t>(frame.graph)].nodes[frame.node];
}

void Run::step() {
  Frame& frame = frames_.back();
  STRATA_CHECK(++steps_ <= options_.most_steps, budget, "[onnx] ", node_at(frame).text(), " is step ", steps_,
               " of the call; at most ", options_.most_steps, " are allowed (most_steps)");
  if (frame.caller != nullptr && has_references(node_at(frame)))
    frame.own = with_attributes_of(node_at(frame), *frame.caller);
  start_node(frame);
}

void Run::start_node(Frame& frame) {
  const Node& node = node_at(frame);
  std::vector<Datum> inputs;
  for (const int slot : node.input_slots) inputs.push_back(slot < 0 ? Datum() : at(slot));
  try {
    if (node.function >= 0) {
      frame.control = call_of_function(node.function, inputs);
    } else if (node.row->control != nullptr) {
      frame.control = node.row->control(Call(model_, node, inputs, *options_.device, generator_));
    } else {
      Results results = call(node, inputs);
      check_sizes(results);
      return finish(frame, node, std::move(results));
    }
  } catch (const Error& e) {
    throw Error(e.kind(), "[onnx] " + node.text() + ": " + e.what());
  }
  advance(frame);
}

/// Runs the next graph of the frame's node, or ends the node.
void Run::advance(Frame& frame) {
  const Node& node = node_at(frame);
  std::optional<Step> next;
  Results results;
  try {
    next = frame.control->next();
    if (!next) results = frame.control->results();
  } catch (const Error& e) {
    throw Error(e.kind(), "[onnx] " + node.text() + ": " + e.what());
  }
  if (next) return enter(*next, node.function >= 0 ? &node : frame.caller);
  finish(frame, node, std::move(results));
}

void Run::finish(Frame& frame, const Node& node, Results results) {
  if (observe_) observe_(node, results);
  for (std::size_t k = 0; k < node.output_slots.size(); ++k) {
    const int slot = node.output_slots[k];
    if (slot < 0) continue;
    STRATA_CHECK(k < results.size() && !results[k].is_absent(), undefined, "[onnx] ", node.text(),
                 " does not make its output ", k, " here");
    at(slot) = std::move(results[k]);
    if (is_tracked_[static_cast<std::size_t>(slot)]) at(slot) = at(slot).tensor().detach().requires_grad(true);
  }
  frame.control.reset();
  frame.own.reset();
  ++frame.node;
}

void Run::enter(const Step& step, const Node* caller) {
  STRATA_CHECK(++steps_ <= options_.most_steps, budget, "[onnx] the call runs more than ", options_.most_steps,
               " steps (most_steps)");
  const Graph& graph = model_.graphs[static_cast<std::size_t>(step.graph)];
  STRATA_CHECK(step.inputs.size() <= graph.inputs.size(), parse, "[onnx] the graph \"", graph.name, "\" has ",
               graph.inputs.size(), " inputs; it is given ", step.inputs.size());
  for (std::size_t k = 0; k < graph.input_slots.size(); ++k)
    at(graph.input_slots[k]) = k < step.inputs.size() ? step.inputs[k] : Datum();
  const auto& constants = constants_[static_cast<std::size_t>(step.graph)];
  for (std::size_t k = 0; k < graph.initializer_slots.size(); ++k) at(graph.initializer_slots[k]) = constants[k];
  Frame& frame = frames_.emplace_back();
  frame.graph = step.graph;
  frame.caller = caller;
}

std::vector<Datum> Run::outputs_of(const Graph& graph) const {
  std::vector<Datum> out;
  for (const int slot : graph.output_slots) out.push_back(values_[static_cast<std::size_t>(slot)]);
  return out;
}

Results Run::call(const Node& node, const std::vector<Datum>& inputs) const {
  const bool is_folded = !inputs.empty() && std::all_of(inputs.begin(), inputs.end(), is_on_host) &&
                         std::all_of(inputs.begin(), inputs.end(), is_small);
  if (is_folded) {
    Results results = node.row->function(Call(model_, node, inputs, Device::get("INTERP"), generator_));
    if (std::all_of(results.begin(), results.end(), is_small)) return results;
    check_sizes(results);
  }
  return node.row->function(Call(model_, node, inputs, *options_.device, generator_));
}

void Run::check_sizes(const Results& results) const {
  for (const Datum& value : results) {
    if (!value.is_tensor()) continue;
    std::int64_t count = 0;
    const bool fits = try_count(dtypes::uint8, sizes_of(value.tensor()), count) && count <= options_.most_elements;
    STRATA_CHECK(fits, budget, "an output of shape ", render(value.tensor().shape()), " has more than ",
                 options_.most_elements, " elements (most_elements)");
  }
}

}  // namespace strata::onnx
