// Gives names slots, nodes their rows, and refuses what cannot run.
#include "strata/onnx/link.h"

#include <algorithm>
#include <set>
#include <unordered_map>
#include <utility>

#include "strata/base/check.h"
#include "strata/onnx/operators.h"

namespace strata::onnx {

const Attribute* Node::find(std::string_view attribute) const {
  const auto found =
      std::find_if(attributes.begin(), attributes.end(), [&](const Attribute& a) { return a.name == attribute; });
  return found == attributes.end() ? nullptr : &*found;
}

std::string Node::text() const {
  const std::string& called = !name.empty() || outputs.empty() ? name : outputs.front();
  return "node \"" + called + "\" (" + (domain.empty() ? "" : domain + ".") + op + ")";
}

std::string Port::type_text() const {
  switch (kind) {
    case Kind::unknown: return "any";
    case Kind::sequence: return "sequence";
    case Kind::optional: return "optional";
    case Kind::texts:
    case Kind::tensor: break;
  }
  std::string out = kind == Kind::texts ? "texts" : dtype.name();
  if (!has_shape) return out + "[...]";
  out += "[";
  for (std::size_t k = 0; k < sizes.size(); ++k)
    out += (k > 0 ? ", " : "") + (sizes[k] >= 0        ? std::to_string(sizes[k])
                                  : symbols[k].empty() ? std::string("?")
                                                       : symbols[k]);
  return out + "]";
}

namespace {

/// How many missing operators one message lists.
constexpr std::size_t kListedNodes = 100;

class Linker {
 public:
  explicit Linker(Definition& model) : model_(model) {}

  void run() {
    const auto standard = model_.opsets.find("");
    STRATA_CHECK(standard == model_.opsets.end() || (standard->second >= 1 && standard->second <= kNewestOpset),
                 undefined, "[onnx] the model asks for opset ", standard->second, "; Strata has 1 to ", kNewestOpset);
    names_.resize(model_.graphs.size());
    opsets_.assign(model_.graphs.size(), &model_.opsets);
    for (std::size_t k = 0; k < model_.functions.size(); ++k) {
      const Function& f = model_.functions[k];
      STRATA_CHECK(functions_.emplace(std::pair(f.domain, f.name), static_cast<int>(k)).second, parse,
                   "[onnx] the function ", f.domain, ".", f.name, " is defined twice");
      opsets_[static_cast<std::size_t>(f.graph)] = &f.opsets;
    }
    // A graph within a graph has a larger number than the graph around it, but its names may come from nodes that the
    // graph around it has only before the node that holds it: graphs are linked node by node.
    link_graphs();
    check_functions();
    STRATA_CHECK(missing_.empty(), undefined, "[onnx] ", missing_count_,
                 " nodes need operators that Strata lacks:", missing_);
  }

 private:
  struct Place {
    int graph = 0;
    std::size_t node = 0;
  };

  /// Links the main graph and the bodies of functions. A stack has the graphs that are begun: the graphs of a node are
  /// linked before the node's outputs are defined.
  void link_graphs() {
    std::vector<int> roots = {0};
    for (const Function& f : model_.functions) roots.push_back(f.graph);
    for (const int root : roots) {
      std::vector<Place> stack;
      begin(root);
      stack.push_back({root, 0});
      while (!stack.empty()) {
        Place& at = stack.back();
        Graph& graph = model_.graphs[static_cast<std::size_t>(at.graph)];
        if (at.node == graph.nodes.size()) {
          for (const Port& out : graph.outputs)
            graph.output_slots.push_back(slot_of(at.graph, out.name, "the output of a graph"));
          names_[static_cast<std::size_t>(at.graph)].clear();
          stack.pop_back();
          continue;
        }
        Node& node = graph.nodes[at.node];
        const int inner = node.input_slots.empty() && node.output_slots.empty() ? open(node, at.graph) : -1;
        const int next = inner >= 0 ? inner : next_graph(node);
        if (next >= 0) {
          begin(next);
          stack.push_back({next, 0});
          continue;
        }
        for (const std::string& name : node.outputs)
          node.output_slots.push_back(name.empty() ? -1 : define(at.graph, name));
        ++at.node;
      }
    }
  }

  /// The first graph among the node's attributes that is not begun; -1 if there is none.
  int next_graph(const Node& node) const {
    for (const Attribute& a : node.attributes)
      if (a.graph >= 0 && !begun_.contains(a.graph)) return a.graph;
    return -1;
  }

  void begin(int number) {
    begun_.insert(number);
    Graph& graph = model_.graphs[static_cast<std::size_t>(number)];
    if (graph.parent >= 0) opsets_[static_cast<std::size_t>(number)] = opsets_[static_cast<std::size_t>(graph.parent)];
    for (const Port& port : graph.inputs) {
      STRATA_CHECK(!port.name.empty(), parse, "[onnx] an input of a graph has no name");
      graph.input_slots.push_back(define(number, port.name));
    }
    for (const auto& [name, value] : graph.initializers) {
      STRATA_CHECK(!name.empty(), parse, "[onnx] an initializer has no name");
      const auto& names = names_[static_cast<std::size_t>(number)];
      const auto found = names.find(name);
      // Up to version 3 of the format initializers are inputs, too: defaults of them.
      const bool is_input = found != names.end() && std::find(graph.input_slots.begin(), graph.input_slots.end(),
                                                              found->second) != graph.input_slots.end();
      const bool is_repeated = is_input && std::find(graph.initializer_slots.begin(), graph.initializer_slots.end(),
                                                     found->second) != graph.initializer_slots.end();
      STRATA_CHECK(!is_repeated, parse, "[onnx] the initializer \"", name, "\" is defined twice");
      graph.initializer_slots.push_back(is_input ? found->second : define(number, name));
    }
  }

  int define(int graph, const std::string& name) {
    for (int at = graph; at >= 0; at = model_.graphs[static_cast<std::size_t>(at)].parent)
      STRATA_CHECK(!names_[static_cast<std::size_t>(at)].contains(name), parse, "[onnx] \"", name,
                   "\" is defined twice");
    names_[static_cast<std::size_t>(graph)].emplace(name, model_.slots);
    return model_.slots++;
  }

  int slot_of(int graph, const std::string& name, const std::string& reader) const {
    for (int at = graph; at >= 0; at = model_.graphs[static_cast<std::size_t>(at)].parent) {
      const auto& names = names_[static_cast<std::size_t>(at)];
      if (const auto found = names.find(name); found != names.end()) return found->second;
    }
    throw Error(ErrorKind::parse, "[onnx] " + reader + " reads \"" + name +
                                      "\", which nothing before it makes: the name is unknown, the nodes are out of "
                                      "order, or they form a cycle");
  }

  /// Looks up the row and the inputs of a node. Returns the first graph that it holds, or -1.
  int open(Node& node, int graph) {
    const auto& opsets = *opsets_[static_cast<std::size_t>(graph)];
    const auto version = opsets.find(node.domain);
    if (const auto f = functions_.find({node.domain, node.op}); f != functions_.end()) {
      node.function = model_.functions[static_cast<std::size_t>(f->second)].graph;
      check_call(node, model_.functions[static_cast<std::size_t>(f->second)]);
    } else {
      node.opset = version == opsets.end() ? 0 : version->second;
      node.row = version == opsets.end() ? nullptr : find_operator(node.domain, node.op, node.opset);
      if (node.row == nullptr)
        note_missing(node);
      else
        check(node);
    }
    for (const Attribute& a : node.attributes)
      STRATA_CHECK(a.reference.empty() || (root_of(graph) != 0 && a.type != AttributeType::graph), parse, "[onnx] ",
                   node.text(), ": the attribute \"", a.name, "\" takes its value from \"", a.reference,
                   "\" of a call, but is not in a function, or is a graph");
    for (const std::string& name : node.inputs)
      node.input_slots.push_back(name.empty() ? -1 : slot_of(graph, name, node.text()));
    // Gradient names the value that it differentiates by an attribute: an input like the others.
    if (const Attribute* const y = node.op == "Gradient" ? node.find("y") : nullptr)
      node.input_slots.push_back(slot_of(graph, y->text, node.text()));
    return next_graph(node);
  }

  /// The graph that has no graph around it: 0, or the body of a function.
  int root_of(int graph) const {
    while (model_.graphs[static_cast<std::size_t>(graph)].parent >= 0)
      graph = model_.graphs[static_cast<std::size_t>(graph)].parent;
    return graph;
  }

  void note_missing(const Node& node) {
    if (++missing_count_ > kListedNodes) return;
    missing_ += "\n  " + node.text() + " of version " + std::to_string(node.opset);
    if (missing_count_ == kListedNodes) missing_ += "\n  ...";
  }

  static void check(const Node& node) {
    const Operator& row = *node.row;
    const auto inputs = std::ssize(node.inputs), outputs = std::ssize(node.outputs);
    STRATA_CHECK(inputs >= row.least_inputs && inputs <= row.most_inputs, parse, "[onnx] ", node.text(), " has ",
                 inputs, " inputs; the operator takes ", row.least_inputs, " to ", row.most_inputs);
    STRATA_CHECK(outputs <= row.most_outputs, parse, "[onnx] ", node.text(), " has ", outputs,
                 " outputs; the operator has at most ", row.most_outputs);
    std::set<std::string_view> seen;
    for (const Attribute& a : node.attributes) {
      STRATA_CHECK(seen.insert(a.name).second, parse, "[onnx] ", node.text(), " has the attribute \"", a.name,
                   "\" twice");
      const AttributeRow* const known = row.attribute(a.name);
      STRATA_CHECK(known != nullptr, undefined, "[onnx] ", node.text(), " has the attribute \"", a.name,
                   "\", which Strata does not know for version ", node.opset);
      // A stated type of elements (of Optional) stands where a tensor might.
      const bool is_type = a.type == AttributeType::undefined && known->value.type == AttributeType::tensor;
      STRATA_CHECK(a.type == known->value.type || is_type, parse, "[onnx] ", node.text(), ": the attribute \"", a.name,
                   "\" has the type ", static_cast<int>(a.type), " instead of ", static_cast<int>(known->value.type));
    }
    for (const AttributeRow& wanted : row.attributes)
      STRATA_CHECK(wanted.value.type != AttributeType::graph || node.find(wanted.value.name) != nullptr, parse,
                   "[onnx] ", node.text(), " lacks the attribute \"", wanted.value.name, "\"");
  }

  void check_call(const Node& node, const Function& f) const {
    const Graph& body = model_.graphs[static_cast<std::size_t>(f.graph)];
    STRATA_CHECK(node.inputs.size() <= body.inputs.size() && node.outputs.size() <= body.outputs.size(), parse,
                 "[onnx] ", node.text(), " has ", node.inputs.size(), " inputs and ", node.outputs.size(),
                 " outputs; the function has ", body.inputs.size(), " and ", body.outputs.size());
    for (const Attribute& a : node.attributes)
      STRATA_CHECK(a.graph < 0, undefined, "[onnx] ", node.text(), " passes a graph to a function");
  }

  /// Refuses functions that call themselves, directly or by others: calls go from a function to an earlier one once
  /// the functions without calls to what is left are taken away.
  void check_functions() const {
    std::map<int, std::set<int>> calls;  // by graph of the function
    for (std::size_t k = 0; k < model_.graphs.size(); ++k) {
      const int root = root_of(static_cast<int>(k));
      if (root == 0) continue;
      auto& from = calls[root];
      for (const Node& node : model_.graphs[k].nodes)
        if (node.function >= 0) from.insert(node.function);
    }
    for (bool changes = true; changes && !calls.empty();) {
      changes = false;
      for (auto it = calls.begin(); it != calls.end();) {
        const bool is_leaf =
            std::none_of(it->second.begin(), it->second.end(), [&](int callee) { return calls.contains(callee); });
        changes = changes || is_leaf;
        it = is_leaf ? calls.erase(it) : std::next(it);
      }
    }
    STRATA_CHECK(calls.empty(), parse, "[onnx] the function \"",
                 model_.graphs[static_cast<std::size_t>(calls.begin()->first)].name, "\" calls itself");
  }

  Definition& model_;
  std::vector<std::unordered_map<std::string, int>> names_;
  std::vector<const std::map<std::string, std::int64_t>*> opsets_;  // by graph
  std::map<std::pair<std::string, std::string>, int> functions_;
  std::set<int> begun_;
  std::string missing_;
  std::size_t missing_count_ = 0;
};

}  // namespace

void link(Definition& model) { Linker(model).run(); }

}  // namespace strata::onnx
