// The loop over frames and nodes of one call.
#include "strata/onnx/run.h"

#include <algorithm>
#include <utility>

#include "strata/base/check.h"
#include "strata/base/interrupt.h"
#include "strata/onnx/operators.h"
#include "strata/onnx/sizes.h"

namespace strata::onnx {
namespace {

bool is_small(const Datum& value) { return !value.is_tensor() || value.tensor().numel().vmax() <= kFoldedElements; }

/// is_on_host() without a look at what the value is computed of, as nodes of a step on INTERP are computed there
/// anyway.
bool has_host_device(const Datum& value) { return !value.is_tensor() || value.tensor().device().name() == "INTERP"; }

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
    if (value.is_tensor()) realize_known(value.tensor());
    if (!value.is_sequence()) continue;
    for (const Datum& inner : value.sequence())
      if (inner.is_tensor()) realize_known(inner.tensor());
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
  return run_until(0);
}

/// Runs until so many frames are left, and returns the outputs of the last one that ended.
std::vector<Datum> Run::run_until(std::size_t frames) {
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
    if (frames_.size() == frames) return outputs;
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
  charge(node_at(frame).text());
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
      frame.control = node.row->control(call_of(node, inputs, *options_.device));
    } else {
      Results results = call(node, inputs);
      check_sizes(results);
      return finish(frame, node, std::move(results));
    }
  } catch (const Error& e) {
    throw Error(e.kind(), "[onnx] " + node.text() + ": " + e.what());
  }
  if (std::optional<Results> results = at_once(frame, node)) return finish(frame, node, std::move(*results));
  advance(frame);
}

/// The results of a loop as one node, if it can be one.
std::optional<Results> Run::at_once(const Frame& frame, const Node& node) {
  if (by_steps_.contains(&node)) return std::nullopt;
  const std::int64_t before = steps_;
  try {
    std::optional<Results> out = frame.control->at_once(*this);
    if (out) check_sizes(*out);
    if (!out) steps_ = before;
    if (depth_ == 0)
      for (const auto& [inner, results] : std::exchange(seen_, {})) observe(inner, results);
    return out;
  } catch (const Error& e) {
    seen_.clear();
    steps_ = before;
    // A limit is one for both ways. What else a step refuses while it is traced is either what no traced step can do,
    // or a mistake of the model, and the host meets it again in the step that makes it.
    by_steps_.insert(&node);
    if (std::string_view(e.what()).starts_with("[onnx]") && e.kind() == ErrorKind::budget) throw;
    if (depth_ > 0 || e.kind() == ErrorKind::budget) throw Error(e.kind(), "[onnx] " + node.text() + ": " + e.what());
    return std::nullopt;
  }
}

/// Sets what holds while a step is traced, and what held before.
class Run::Tracing {
 public:
  Tracing(Run& run, std::int64_t count, bool is_exact)
      : run_(run),
        frames_(run.frames_.size()),
        steps_(run.steps_),
        weight_(run.weight_),
        count_(is_exact ? 1 : count),
        is_exact_(run.is_exact_) {
    ++run.depth_;
    run.weight_ = count > run.options_.most_steps / weight_ ? run.options_.most_steps + 1 : weight_ * count;
    run.is_exact_ = is_exact_ && is_exact;
  }
  ~Tracing() {
    --run_.depth_;
    run_.weight_ = weight_;
    run_.is_exact_ = is_exact_;
    run_.steps_ = steps_ + (run_.steps_ - steps_) / count_;  // what may end early counts once
    while (run_.frames_.size() > frames_) run_.frames_.pop_back();
  }
  Tracing(const Tracing&) = delete;
  Tracing& operator=(const Tracing&) = delete;

 private:
  Run& run_;
  std::size_t frames_;
  std::int64_t steps_, weight_, count_;
  bool is_exact_;
};

Results Run::trace(const Step& step, std::int64_t count, bool is_exact) {
  STRATA_CHECK(depth_ < kDeepestLoop, undefined, "loops are nested more than ", kDeepestLoop, " deep");
  const Node* const caller = frames_.back().caller;
  const Tracing tracing(*this, count, is_exact);
  const std::size_t frames = frames_.size();
  enter(step, caller);
  return run_until(frames);
}

std::int64_t Run::steps_left(int graph) const {
  const auto nodes = std::ssize(model_.graphs[static_cast<std::size_t>(graph)].nodes);
  return (options_.most_steps - steps_) / weight_ / (nodes + 1);
}

/// Walks the graph and the graphs of its nodes: what they read is known unless they make it.
bool Run::is_known(int graph) const {
  if (options_.device->name() == "INTERP") return false;
  const auto is_unknown = [&](int slot) {
    const Datum& value = values_[static_cast<std::size_t>(slot)];
    return !is_on_host(value) || !is_small(value);
  };
  std::set<int> made;
  std::vector<int> graphs = {graph};
  for (std::size_t g = 0; g < graphs.size(); ++g) {
    const Graph& at = model_.graphs[static_cast<std::size_t>(graphs[g])];
    made.insert(at.input_slots.begin(), at.input_slots.end());
    made.insert(at.initializer_slots.begin(), at.initializer_slots.end());
    for (const Node& node : at.nodes) {
      made.insert(node.output_slots.begin(), node.output_slots.end());
      for (const Attribute& a : node.attributes)
        if (a.graph >= 0) graphs.push_back(a.graph);
      if (node.function >= 0) graphs.push_back(node.function);
    }
  }
  for (const int g : graphs)
    for (const Node& node : model_.graphs[static_cast<std::size_t>(g)].nodes)
      for (const int slot : node.input_slots)
        if (slot >= 0 && !made.contains(slot) && is_unknown(slot)) return false;
  return true;
}

/// Counts a node, or the beginning of a graph, as often as it runs.
void Run::charge(const std::string& what) {
  const bool fits = weight_ <= options_.most_steps - steps_;
  STRATA_CHECK(fits || is_exact_, undefined, what, " may run more often than ", options_.most_steps, " times");
  STRATA_CHECK(fits, budget, "[onnx] ", what, " is more than step ", options_.most_steps, " of the call; at most ",
               options_.most_steps, " are allowed (most_steps)");
  steps_ += weight_;
}

/// What happens while a step is traced is told when the loop is made.
void Run::observe(const Node& node, const Results& results) {
  if (!observe_) return;
  if (depth_ > 0)
    seen_.emplace_back(node, results);
  else
    observe_(node, results);
}

Call Run::call_of(const Node& node, const std::vector<Datum>& inputs, const Device& device) const {
  return Call(model_, node, inputs, device, depth_ > 0 ? nullptr : &generator_);
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
  observe(node, results);
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
  const Graph& graph = model_.graphs[static_cast<std::size_t>(step.graph)];
  charge("the graph \"" + graph.name + "\"");
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
  const bool has_sizes =
      std::any_of(inputs.begin(), inputs.end(), [](const Datum& value) { return value.expressions() != nullptr; });
  if (has_sizes)
    if (std::optional<Results> results = on_sizes(call_of(node, inputs, *options_.device), model_)) return *results;
  const bool is_folded = !inputs.empty() && std::all_of(inputs.begin(), inputs.end(), has_host_device) &&
                         std::all_of(inputs.begin(), inputs.end(), is_small);
  if (is_folded) {
    Results results = node.row->function(call_of(node, inputs, Device::get("INTERP")));
    if (std::all_of(results.begin(), results.end(), is_small)) return results;
    check_sizes(results);
  }
  return node.row->function(call_of(node, inputs, *options_.device));
}

void Run::check_sizes(const Results& results) const {
  for (const Datum& value : results) {
    if (!value.is_tensor()) continue;
    std::int64_t count = 0;
    Sizes sizes;
    for (const Int& size : value.tensor().shape()) sizes.push_back(present(size));
    const bool fits = try_count(dtypes::uint8, sizes, count) && count <= options_.most_elements;
    STRATA_CHECK(fits, budget, "an output of shape ", render(value.tensor().shape()), " has more than ",
                 options_.most_elements, " elements (most_elements)");
  }
}

}  // namespace strata::onnx
