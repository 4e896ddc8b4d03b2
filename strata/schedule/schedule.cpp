#include "strata/schedule/schedule.h"

#include <algorithm>
#include <array>
#include <unordered_map>

#include "strata/graph/order_rows.h"
#include "strata/graph/step_graph.h"
#include "strata/schedule/chain.h"
#include "strata/schedule/kernel_of.h"

namespace strata {

namespace {

/// The store of all elements of `n` by a kernel that loops over `domain`.
Stored whole(const LazyOp& n, const Ints& domain) { return {n.reshape(domain), n, ShapeTracker::from_shape(domain)}; }

/// The memory of each part of a CONCAT: a View of the CONCAT's memory.
std::vector<View> places_of_parts(const LazyNode& n) {
  const auto* along = std::get_if<Axes>(&n.arg);
  const Ints strides = row_major_strides(n.shape);
  std::vector<View> out;
  Int begin = 0;
  for (const LazyOp& part : n.src) {
    if (along == nullptr) {
      out.push_back(View::create(part.shape(), row_major_strides(part.shape()), begin));
      begin += product(part.shape());
    } else {
      const auto axis = static_cast<std::size_t>(along->front());
      out.push_back(View::create(part.shape(), strides, begin * strides[axis]));
      begin += part.shape()[axis];
    }
  }
  return out;
}

class Scheduling {
 public:
  Scheduling(std::span<const LazyOp> roots, const FusionOptions& options)
      : options_(options), found_(boundaries(roots, options)) {
    for (const Materialized& c : found_) {
      materialized_.emplace(c.node.node(), c.why);
      if (c.node.op() == Ops::SCAN) loops_[std::get<StepArg>(c.node.arg()).step.get()].push_back(c.node);
      if (c.inside != nullptr) beside_[c.inside].push_back(c.node);
    }
  }

  std::vector<ScheduleItem> run() {
    for (const Materialized& c : found_)
      if (c.inside == nullptr) add(c);
    const bool has_chains = options_.fuse && options_.chains != FusionOptions::Chains::never;
    return has_chains ? in_chains(std::move(items_), made_, materialized_, options_) : std::move(items_);
  }

 private:
  void add(const Materialized& c) {
    if (c.node.op() == Ops::FROM) {
      items_.push_back({c.node, {c.node}, {c.node.src().begin(), c.node.src().end()}, {}, c.why});
      made_.emplace_back();
    } else if (c.node.op() == Ops::SCAN) {
      add_loop(c);
    } else if (c.node.op() == Ops::ORDER) {
      add_order(c);
    } else if (c.node.op() == Ops::CONCAT) {
      const std::vector<View> places = places_of_parts(*c.node.node());
      for (std::size_t k = 0; k < places.size(); ++k) {
        const LazyOp& part = c.node.src(k);
        add({part, c.node, ShapeTracker({places[k]})}, part.shape(), part.node(), c.why);
      }
    } else {
      add(whole(c.node, c.domain), c.domain, c.node.node(), c.why);
    }
  }
  /// The item of a loop stands where the first of the loop's nodes does.
  void add_loop(const Materialized& c) {
    std::vector<LazyOp> nodes;
    for (const LazyOp& n : loops_.at(std::get<StepArg>(c.node.arg()).step.get()))
      if (std::equal(n.src().begin(), n.src().end(), c.node.src().begin(), c.node.src().end())) nodes.push_back(n);
    if (nodes[0] != c.node) return;
    std::vector<LazyOp> inputs;
    for (std::size_t k = 0; k < c.node.src().size(); ++k)
      if (const LoopSource source = loop_source(*c.node.node(), k); !source.constant) inputs.push_back(source.memory);
    items_.push_back({c.node, nodes, inputs, {}, c.why});
    made_.emplace_back();
  }
  /// The kernel of an ORDER reads its rows in the memory below the movement of the source, also where a node of that
  /// movement has memory of its own.
  void add_order(const Materialized& c) {
    const LazyOp memory = order_memory(*c.node.node());
    std::vector<const LazyNode*> moved;
    for (const LazyOp* at = &c.node.src(0); !(*at == memory); at = &at->src(0))
      if (is_movement(at->op())) moved.push_back(at->node());
    ShapeTracker st = ShapeTracker::from_shape(memory.shape());
    for (auto it = moved.rbegin(); it != moved.rend(); ++it) st = moved_as(**it, st);
    const Ints& shape = c.node.shape();
    const LazyOp rows = LazyOp::load(1, memory.dtype(), std::move(st), product(memory.shape()));
    const std::array sources{rows};
    const LazyOp sorted = c.node.with_sources(sources);
    ScheduleItem item{c.node, {c.node}, {memory}, {}, c.why};
    item.ast =
        unbind(LazyOp::sink({LazyOp::store(0, ShapeTracker::from_shape(shape), sorted, product(shape))}), item.values);
    items_.push_back(std::move(item));
    made_.push_back({{whole(c.node, shape)}, shape});
  }
  void add(const Stored& own, const Ints& domain, const LazyNode* root, Boundary why) {
    std::vector<Stored> stored = {own};
    if (const auto it = beside_.find(root); it != beside_.end()) {
      for (const LazyOp& n : it->second) stored.push_back(whole(n, domain));
      beside_.erase(it);
    }
    items_.push_back(kernel_of(stored, materialized_, why));
    made_.push_back({std::move(stored), domain});
  }

  FusionOptions options_;
  std::vector<Materialized> found_;
  std::unordered_map<const LazyNode*, Boundary> materialized_;
  std::unordered_map<const StepGraph*, std::vector<LazyOp>> loops_;  // the nodes of loops, by step, sources first
  std::unordered_map<const LazyNode*, std::vector<LazyOp>>
      beside_;  // by the root of a kernel: nodes that it also stores
  std::vector<ScheduleItem> items_;
  std::vector<KernelParts> made_;  // as items_
};

}  // namespace

std::vector<ScheduleItem> schedule(std::span<const LazyOp> roots, const FusionOptions& options) {
  std::vector<ScheduleItem> items = Scheduling(roots, options).run();
  return options.fuse ? joined(std::move(items), options.most_nodes) : items;
}

std::string ScheduleItem::text() const {
  const Ints& shape = outputs[0].shape();
  std::string out =
      is_loop() ? detail::message("a loop of ", arg_text(*ast.node()))
                : detail::message(is_kernel() ? "a kernel" : "the memory of its input,", " of shape ", render(shape));
  out += detail::message(": ", to_string(why));
  if (const std::string origin = outputs[0].origin().text(); !origin.empty()) out += detail::message(" (", origin, ")");
  return out;
}

}  // namespace strata
