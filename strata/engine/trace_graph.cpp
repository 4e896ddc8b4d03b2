#include "strata/engine/trace_graph.h"

#include <algorithm>
#include <exception>
#include <string>
#include <unordered_set>
#include <utility>

#include "strata/engine/buffer_storage.h"
#include "strata/runtime/trace_kernel.h"

namespace strata {

namespace {

constexpr std::size_t kLine = 1000;  // the most nodes or items in one line

std::int64_t address_of(const Buffer& buffer) {
  return static_cast<std::int64_t>(reinterpret_cast<std::uintptr_t>(buffer.memory().host()));
}

/// Writes the lines of a graph, its schedule and its memory plan.
class GraphLines {
 public:
  GraphLines(const TraceNodes& nodes, std::span<const ScheduleItem> items, const MemoryPlan& plan)
      : nodes_(nodes), items_(items), plan_(plan) {}

  std::vector<TraceFile::Once> run(std::span<const LazyOp> roots) {
    JsonWriter json;
    json.begin_object().member("count", static_cast<std::int64_t>(nodes_.size()));
    json.member("items", static_cast<std::int64_t>(items_.size()));
    numbers(json.key("roots"), roots);
    nodes_.write_files(json.key("files"));
    add("graph", json);
    for (std::size_t k = 0; k < nodes_.size(); k += kLine) {
      JsonWriter part = begin_part(k);
      nodes_.write(part.key("nodes"), k, std::min(k + kLine, nodes_.size()));
      add("nodes", part);
    }
    for (std::size_t k = 0; k < items_.size(); k += kLine) {
      JsonWriter part = begin_part(k);
      part.key("items").begin_array();
      for (std::size_t j = k; j < std::min(k + kLine, items_.size()); ++j) write_item(part, items_[j]);
      part.end_array();
      add("schedule", part);
    }
    write_plan();
    return std::move(lines_);
  }

 private:
  static JsonWriter begin_part(std::size_t from) {
    JsonWriter json;
    json.begin_object().member("from", static_cast<std::int64_t>(from));
    return json;
  }
  void add(std::string_view event, JsonWriter& json) { lines_.push_back({event, json.end_object().take()}); }
  void numbers(JsonWriter& json, std::span<const LazyOp> of) const {
    json.begin_array();
    for (const LazyOp& n : of) json.value(nodes_.number(n.node()));
    json.end_array();
  }

  void write_item(JsonWriter& json, const ScheduleItem& item) const {
    json.begin_object().member("kind", item.is_kernel()             ? "kernel"
                                       : item.is_loop()             ? "loop"
                                       : item.ast.op() == Ops::FROM ? "copy"
                                                                    : "memory");
    numbers(json.key("outputs"), item.outputs);
    numbers(json.key("inputs"), item.inputs);
    json.key("computes").begin_array();
    for (const LazyNode* n : computed(item)) json.value(nodes_.number(n));
    json.end_array().member("why", to_string(item.why));
    json.member("text", std::string_view(item.text())).end_object();
  }

  /// The nodes that an item computes, users before sources: from its outputs down to its inputs and realized nodes.
  std::vector<const LazyNode*> computed(const ScheduleItem& item) const {
    std::unordered_set<const LazyNode*> seen;
    std::vector<const LazyNode*> out, open;
    for (const LazyOp& n : item.inputs) seen.insert(n.node());
    const auto add = [&](const LazyNode* n) {
      if (n->op != Ops::EMPTY && !is_realized(*n) && nodes_.contains(n) && seen.insert(n).second)
        out.push_back(n), open.push_back(n);
    };
    if (item.part) add(item.part->node());
    for (const LazyOp& n : item.outputs)
      if (!item.part) add(n.node());
    while (!open.empty()) {
      const LazyNode* const n = open.back();
      open.pop_back();
      for (const LazyOp& source : needed(*n)) add(source.node());
    }
    return out;
  }

  void write_plan() {
    JsonWriter json;
    json.begin_object().key("blocks").begin_array();
    for (const std::int64_t bytes : plan_.blocks) json.value(bytes);
    json.end_array().key("nodes").begin_array();  // pairs [node, block]
    for (const ScheduleItem& item : items_)
      for (const LazyOp& n : item.outputs)
        if (const auto it = plan_.at.find(n.node()); it != plan_.at.end())
          json.begin_array().value(nodes_.number(n.node())).value(static_cast<std::int64_t>(it->second)).end_array();
    json.end_array().member("peak", plan_.peak).member("unshared", plan_.unshared);
    add("plan", json);
  }

  const TraceNodes& nodes_;
  const std::span<const ScheduleItem> items_;
  const MemoryPlan& plan_;
  std::vector<TraceFile::Once> lines_;
};

Hash128 hash_of_lines(std::span<const TraceFile::Once> lines) {
  Hasher hasher;
  for (const TraceFile::Once& line : lines) hasher.add(std::as_bytes(std::span(line.members)));
  return hasher.finish();
}

/// Writes pairs [node, address] of the realized nodes.
void write_leaves(JsonWriter& json, const TraceNodes& nodes) {
  json.key("leaves").begin_array();
  for (std::size_t k = 0; k < nodes.size(); ++k) {
    const LazyOp& n = nodes.node(k);
    if (!is_realized(*n.node())) continue;
    json.begin_array().value(static_cast<std::int64_t>(k)).value(address_of(buffer_of(n))).end_array();
  }
  json.end_array();
}

}  // namespace

std::string trace_of_graph(std::span<const LazyOp> roots, std::span<const ScheduleItem> items, const MemoryPlan& plan,
                           std::span<const std::shared_ptr<const Kernel>> kernels, const Device& device) {
  const TraceNodes nodes(roots);
  std::string out = TraceFile::first_line("what would run") + "\n";
  for (const TraceFile::Once& line : GraphLines(nodes, items, plan).run(roots))
    out += TraceFile::text_of(line, TraceTable::graph, 1) + "\n";
  return trace_of_kernels(kernels, &device, std::move(out));
}

TracedRealize::TracedRealize(std::span<const LazyOp> roots)
    : trace_(TraceFile::current()),
      begin_(trace_ != nullptr ? trace_->now() : 0),
      nodes_(trace_ != nullptr ? roots : std::span<const LazyOp>()) {}

void TracedRealize::scheduled(std::span<const LazyOp> roots, std::span<const ScheduleItem> items,
                              const MemoryPlan& plan, std::span<const Buffer> blocks, const Device& device) {
  if (trace_ == nullptr || items.empty()) return;
  const std::int64_t end = trace_->now();
  const std::vector<TraceFile::Once> lines = GraphLines(nodes_, items, plan).run(roots);
  const std::int64_t graph = trace_->write_once(TraceTable::graph, hash_of_lines(lines), lines);
  realize_ = trace_->next(TraceTable::realize);
  JsonWriter json = TraceFile::line("realize", begin_);
  json.member("realize", realize_).member("graph", graph).member("device", device.name());
  json.member("schedule_ns", end - begin_).key("blocks").begin_array();
  for (const Buffer& block : blocks) json.value(address_of(block));
  json.end_array();
  write_leaves(json, nodes_);
  trace_->write(json.end_object().take());
}

TracedRealize::~TracedRealize() {
  if (realize_ == 0) return;
  TraceItem::current() = outer_;
  try {
    JsonWriter json = trace_->line("realized");
    json.member("realize", realize_).member("done", is_done_);
    trace_->write(json.end_object().take());
    trace_->flush();
  } catch (const std::exception&) {
    return;  // out of memory: the line is left out
  }
}

}  // namespace strata
