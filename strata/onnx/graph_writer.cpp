// The walk over a graph, and the nodes that many operations need: casts, shapes, constants.
#include "strata/onnx/graph_writer.h"

#include <algorithm>
#include <utility>

#include "strata/base/check.h"
#include "strata/base/text.h"
#include "strata/dtype/scalar.h"
#include "strata/onnx/writer.h"

namespace strata::onnx {

DType taken_dtype(DType dtype, DTypes taken) {
  const auto first = [&](std::initializer_list<DType> all) {
    for (const DType d : all)
      if ((taken & bit(d)) != 0) return d;
    return dtypes::none;
  };
  if ((taken & bit(dtype)) != 0) return dtype;
  if (dtype == dtypes::float16 || dtype == dtypes::bfloat16) return first({dtypes::float32, dtypes::float64});
  if (dtype.is_bool() || dtype == dtypes::int8 || dtype == dtypes::int16)
    return first({dtypes::int32, dtypes::int64, dtypes::float32});
  if (dtype == dtypes::uint8 || dtype == dtypes::uint16)
    return first({dtypes::uint32, dtypes::int32, dtypes::int64, dtypes::float32});
  if (dtype == dtypes::uint32 || dtype == dtypes::int32) return first({dtypes::int64, dtypes::float64});
  return dtypes::none;
}

Attribute integer_attribute(std::string name, std::int64_t value) {
  Attribute a;
  a.name = std::move(name);
  a.type = AttributeType::integer;
  a.integer = value;
  return a;
}
Attribute integers_attribute(std::string name, std::vector<std::int64_t> values) {
  Attribute a;
  a.name = std::move(name);
  a.type = AttributeType::integers;
  a.integers = std::move(values);
  return a;
}
Attribute text_attribute(std::string name, std::string value) {
  Attribute a;
  a.name = std::move(name);
  a.type = AttributeType::text;
  a.text = std::move(value);
  return a;
}

bool is_one(const Int& size) { return size == Int(1); }

Ints aligned(const Ints& shape, std::size_t rank) {
  Ints out;
  for (std::size_t k = shape.size(); k < rank; ++k) out.push_back(1);
  for (const Int& size : shape) out.push_back(size);
  return out;
}

Ints broadcast_of(std::span<const Written> all) {
  std::size_t rank = 0;
  for (const Written& x : all) rank = std::max(rank, x.shape.size());
  Ints out(rank, 1);
  for (const Written& x : all)
    for (std::size_t k = 0; k < x.shape.size(); ++k)
      if (!is_one(x.shape[k])) out[rank - x.shape.size() + k] = x.shape[k];
  return out;
}

std::string GraphWriter::free_name(std::string_view wanted) {
  std::string name(wanted);
  while (!names_.insert(name).second) name = detail::message(wanted, "_", numbers_[std::string(wanted)]++);
  return name;
}

void GraphWriter::set(const LazyOp& node, Written written) {
  kept_.push_back(node);
  scopes_.back().done.insert_or_assign(node.node(), std::move(written));
}

const Written* GraphWriter::find(const LazyNode* node) const {
  for (std::size_t k = scopes_.size(); k-- > 0;)
    if (const auto at = scopes_[k].done.find(node); at != scopes_[k].done.end()) return &at->second;
  return nullptr;
}

void GraphWriter::refuse(const LazyNode* node, const std::string& why) {
  if (node != nullptr && !refused_.insert(node).second) return;
  const std::string origin = node == nullptr ? std::string() : node->origin.text();
  std::string text = detail::message(why, origin.empty() ? "" : " (", origin, origin.empty() ? "" : ")");
  if (std::find(problems_.begin(), problems_.end(), text) == problems_.end()) problems_.push_back(std::move(text));
}

Written GraphWriter::write(const LazyOp& root) {
  struct Open {
    LazyOp node;
    Plan plan;
    std::size_t next = 0;
  };
  std::vector<Open> open;
  const auto begin = [&](const LazyOp& n) {
    if (find(n.node()) != nullptr) return;
    const LazyOp own = keep(n);
    open.push_back({own, plan_of(*this, own)});
  };
  begin(root);
  while (!open.empty()) {
    Open& top = open.back();
    if (top.next < top.plan.operands.size()) {
      begin(LazyOp(top.plan.operands[top.next++]));
      continue;
    }
    std::vector<Written> operands;
    for (const LazyOp& n : top.plan.operands) operands.push_back(*find(n.node()));
    const LazyOp node = top.node;
    Written out = top.plan.emit(operands);
    STRATA_ASSERT(out.dtype == node.dtype() && out.shape.size() <= node.shape().size(), "[to_onnx] ",
                  spec_name(node.op()), " became ", out.dtype.name(), " ", render(out.shape), " instead of ",
                  node.dtype().name(), " ", render(node.shape()));
    scopes_.back().done.insert_or_assign(node.node(), std::move(out));
    open.pop_back();
  }
  return *find(root.node());
}

std::vector<Written> GraphWriter::add_several(std::string op, std::span<const Written> inputs,
                                              std::vector<Attribute> attributes,
                                              std::vector<std::pair<DType, Ints>> results) {
  Node node;
  std::string wanted = op;
  std::transform(wanted.begin(), wanted.end(), wanted.begin(),
                 [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; });
  for (const Written& x : inputs) node.inputs.push_back(x.name);
  std::vector<Written> out;
  for (auto& [dtype, shape] : results) {
    out.push_back({free_name(wanted), dtype, std::move(shape)});
    node.outputs.push_back(out.back().name);
  }
  node.name = detail::message("node_", out.empty() ? wanted : out[0].name);
  node.op = std::move(op);
  node.attributes = std::move(attributes);
  note_bias(node, out);
  graph().nodes.push_back(std::move(node));
  return out;
}

void GraphWriter::note_bias(const Node& node, const std::vector<Written>& results) {
  if (node.op == "Gemm" && node.inputs.size() == 2) gemms_.emplace(results[0].name, results[0].shape);
  if (node.op != "Add") return;
  for (std::size_t k = 0; k < 2; ++k)
    if (const auto at = gemms_.find(node.inputs[k]); at != gemms_.end() && at->second == results[0].shape)
      biased_.emplace(results[0].name, k);
}

/// Makes one Gemm of a Gemm and an Add that alone reads it.
void GraphWriter::fold_biases() {
  std::map<std::string, int> reads;
  for (const Graph& graph : model_.graphs) {
    for (const Port& port : graph.outputs) ++reads[port.name];
    for (const Node& node : graph.nodes)
      for (const std::string& name : node.inputs) ++reads[name];
  }
  for (Graph& graph : model_.graphs) {
    std::map<std::string, std::size_t> made;  // by the result of a Gemm: its node
    std::set<std::size_t> folded;
    for (std::size_t k = 0; k < graph.nodes.size(); ++k) {
      Node& node = graph.nodes[k];
      if (node.op == "Gemm" && node.inputs.size() == 2) made.emplace(node.outputs[0], k);
      const auto biased = node.op == "Add" ? biased_.find(node.outputs[0]) : biased_.end();
      if (biased == biased_.end()) continue;
      const std::string &gemm = node.inputs[biased->second], &bias = node.inputs[1 - biased->second];
      const auto at = made.find(gemm);
      if (at == made.end() || reads[gemm] != 1) continue;
      folded.insert(at->second);
      const Node& product = graph.nodes[at->second];
      node.inputs = {product.inputs[0], product.inputs[1], bias};
      node.attributes = product.attributes;
      node.op = "Gemm";
    }
    std::vector<Node> kept;
    for (std::size_t k = 0; k < graph.nodes.size(); ++k)
      if (!folded.contains(k)) kept.push_back(std::move(graph.nodes[k]));
    graph.nodes = std::move(kept);
  }
}

Written GraphWriter::add(std::string op, std::span<const Written> inputs, std::vector<Attribute> attributes,
                         DType dtype, Ints shape) {
  return add_several(std::move(op), inputs, std::move(attributes), {{dtype, std::move(shape)}})[0];
}

Written GraphWriter::elementwise(std::string op, std::span<const Written> inputs, DTypes taken, DType result,
                                 std::vector<Attribute> attributes) {
  std::vector<Written> cast_inputs;
  const DType given = inputs.back().dtype, by = taken_dtype(given, taken);
  STRATA_ASSERT(!by.is_none(), "[to_onnx] ", op, " of ", given.name());
  for (const Written& x : inputs) cast_inputs.push_back(x.dtype == given ? cast(x, by) : x);
  const bool goes_back = result == given;
  const Written out =
      add(std::move(op), cast_inputs, std::move(attributes), goes_back ? by : result, broadcast_of(cast_inputs));
  return goes_back ? cast(out, result) : out;
}

Written GraphWriter::cast(const Written& x, DType to) {
  if (x.dtype == to) return x;
  return add("Cast", {x}, {integer_attribute("to", element_of_dtype(to))}, to, x.shape);
}

Written GraphWriter::reshaped(const Written& given, const Ints& to) {
  if (given.shape == to) return given;
  Written x = given;
  if (const auto at = reshapes_.find(x.name); at != reshapes_.end()) x = at->second;
  if (x.shape == to) return x;
  const auto symbolic = std::count_if(to.begin(), to.end(), [](const Int& n) { return !n.is_number(); });
  const bool has_zero = std::find(to.begin(), to.end(), Int(0)) != to.end();
  std::vector<Attribute> attributes;
  if (has_zero || symbolic > 1) attributes.push_back(integer_attribute("allowzero", 1));
  Written shape;
  if (symbolic == 1 && !has_zero) {  // one size that follows from the others
    std::vector<std::int64_t> numbers;
    for (const Int& n : to) numbers.push_back(n.is_number() ? n.value() : -1);
    shape = integers(numbers);
  } else {
    shape = sizes(to);
  }
  const Written out = add("Reshape", {x, shape}, std::move(attributes), x.dtype, to);
  reshapes_.emplace(out.name, x);
  return out;
}

Written GraphWriter::transposed(const Written& x, const Axes& order) {
  if (std::is_sorted(order.begin(), order.end())) return x;
  if (const auto at = transposes_.find(x.name); at != transposes_.end()) {
    Axes both;
    for (const std::int64_t axis : order) both.push_back(at->second.second[static_cast<std::size_t>(axis)]);
    const Written below = at->second.first;
    return transposed(below, both);
  }
  Ints shape;
  for (const std::int64_t axis : order) shape.push_back(x.shape[static_cast<std::size_t>(axis)]);
  const Written out =
      add("Transpose", {x}, {integers_attribute("perm", {order.begin(), order.end()})}, x.dtype, std::move(shape));
  transposes_.emplace(out.name, std::pair(x, order));
  return out;
}

Written GraphWriter::full(const Written& x, const Ints& shape) {
  if (x.shape == shape) return x;
  if (aligned(x.shape, shape.size()) == shape) return reshaped(x, shape);
  return add("Expand", {x, sizes(shape)}, {}, x.dtype, shape);
}

Written GraphWriter::at_least(const Written& x, const Ints& shape, const Axes& axes) {
  Ints wanted = aligned(x.shape, shape.size());
  for (const std::int64_t axis : axes) wanted[static_cast<std::size_t>(axis)] = shape[static_cast<std::size_t>(axis)];
  return wanted == aligned(x.shape, shape.size()) ? x : full(x, wanted);
}

Written GraphWriter::sliced(const Written& x, const Ints& begins, const Ints& ends, const Axes& axes, const Ints& steps,
                            const Ints& shape) {
  std::vector<Written> inputs = {x, sizes(begins), sizes(ends), integers({axes.begin(), axes.end()})};
  if (!std::all_of(steps.begin(), steps.end(), is_one)) inputs.push_back(sizes(steps));
  return add("Slice", inputs, {}, x.dtype, shape);
}

const Written* GraphWriter::constant_by(const std::string& key) const {
  for (std::size_t k = scopes_.size(); k-- > 0;)
    if (const auto at = scopes_[k].constants.find(key); at != scopes_[k].constants.end()) return &at->second;
  return nullptr;
}

Written GraphWriter::constant(const Tensor& value) {
  Attribute a;
  a.name = "value";
  a.type = AttributeType::tensor;
  a.tensor = value;
  return add("Constant", {}, {a}, value.dtype(), value.shape());
}

Written GraphWriter::constant(const Scalar& value) {
  const std::string key = detail::message(value.dtype().name(), " ", value.bits());
  if (const Written* const known = constant_by(key)) return *known;
  const Buffer element = Buffer::allocate(1, value.dtype());
  store_scalar(value, element.data());
  const Written out = constant(Tensor::from_buffer(element, Ints{}));
  scopes_.back().constants.emplace(key, out);
  return out;
}

Written GraphWriter::integers(const std::vector<std::int64_t>& values) {
  const std::string key = sizes_text(values);
  if (const Written* const known = constant_by(key)) return *known;
  const Written out = constant(Tensor::from_buffer(Buffer::fromCPU(values), {std::ssize(values)}));
  scopes_.back().constants.emplace(key, out);
  return out;
}

const std::vector<Written>* GraphWriter::find_loop(const LoopKey& key) const {
  for (std::size_t k = scopes_.size(); k-- > 0;)
    if (const auto at = scopes_[k].loops.find(key); at != scopes_[k].loops.end()) return &at->second;
  return nullptr;
}

int GraphWriter::begin_graph(const std::string& name) {
  const int number = static_cast<int>(model_.graphs.size());
  Graph& made = model_.graphs.emplace_back();
  made.name = name;
  made.parent = scopes_.back().graph;
  scopes_.emplace_back().graph = number;
  return number;
}

void GraphWriter::finish(const std::map<std::string, std::string>& renamed) {
  const auto rename = [&](std::string& name) {
    if (const auto at = renamed.find(name); at != renamed.end()) name = at->second;
  };
  std::vector<std::set<std::string>> free(model_.graphs.size());  // names that a graph reads, also of those around it
  for (std::size_t g = model_.graphs.size(); g-- > 0;) {
    Graph& graph = model_.graphs[g];
    std::set<std::string>& used = free[g];
    for (Port& port : graph.outputs) {
      rename(port.name);
      used.insert(port.name);
    }
    std::vector<Node> nodes;
    for (std::size_t k = graph.nodes.size(); k-- > 0;) {
      Node& node = graph.nodes[k];
      for (std::string& name : node.outputs) rename(name);
      for (std::string& name : node.inputs) rename(name);
      if (std::none_of(node.outputs.begin(), node.outputs.end(), [&](const auto& o) { return used.contains(o); }))
        continue;
      used.insert(node.inputs.begin(), node.inputs.end());
      for (const Attribute& a : node.attributes)
        if (a.type == AttributeType::graph)
          used.insert(free[static_cast<std::size_t>(a.graph)].begin(), free[static_cast<std::size_t>(a.graph)].end());
      nodes.push_back(std::move(node));
    }
    std::reverse(nodes.begin(), nodes.end());
    graph.nodes = std::move(nodes);
  }
  for (const auto& [from, to] : renamed)
    if (auto node = biased_.extract(from)) {
      node.key() = to;
      biased_.insert(std::move(node));
    }
  fold_biases();
  std::erase_if(model_.graphs[0].initializers, [&](const auto& i) { return !free[0].contains(i.first); });
}

}  // namespace strata::onnx
