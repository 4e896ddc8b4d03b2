// compile_kernel(): runs the passes.

#include "strata/codegen/kernel.h"

#include <algorithm>
#include <chrono>
#include <deque>
#include <functional>
#include <map>
#include <numeric>

#include "strata/base/interrupt.h"
#include "strata/codegen/block_reach.h"
#include "strata/codegen/dot.h"
#include "strata/codegen/heuristic.h"
#include "strata/codegen/instances.h"
#include "strata/codegen/linearize.h"
#include "strata/codegen/pack.h"
#include "strata/codegen/split_reduce.h"
#include "strata/codegen/split_scan.h"
#include "strata/codegen/trim.h"
#include "strata/codegen/variables.h"
#include "strata/graph/absorb.h"

namespace strata {

namespace {

/// Runs passes and records their times.
class Passes {
 public:
  explicit Passes(Kernel& kernel) : kernel_(kernel) {}
  template <class F>
  auto run(const char* name, const F& pass) {
    check_interrupt();
    const auto start = std::chrono::steady_clock::now();
    auto out = pass();
    kernel_.times.emplace_back(name, std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count());
    return out;
  }

 private:
  Kernel& kernel_;
};

std::vector<Variable> variables_of(const UOpGraph& list, const std::vector<Variable>& all) {
  std::vector<Variable> out;
  for (const UOp u : list)
    if (u.op() == UOps::DEFINE_VAR) out.push_back(std::get<Variable>(u.arg()));
  for (const Variable& v : all)
    if (std::none_of(out.begin(), out.end(), [&](const Variable& known) { return same(known, v); })) out.push_back(v);
  return out;
}

std::string name_of_order(const LazyNode& order) {
  std::string out = std::get<OrderArg>(order.arg).of_places ? "places" : "sort";
  for (const Int& size : order.src[0].shape())
    if (!(size == Int(1))) out += size.is_number() ? detail::message("_", size.value()) : "_n";
  return out;
}

}  // namespace

std::string kernel_name(const LazyOp& ast) {
  if (const LazyNode* const order = ordered_by(ast)) return name_of_order(*order);
  const bool has_parts = ast.src().size() > 1 && has_contiguous(ast);
  const KernelAxes axes(has_parts ? LazyOp::sink({ast.src(0)}) : ast);  // stores in blocks may have any shapes
  std::string out = axes.groups().empty() ? "E" : "r";
  for (const LoopAxis& axis : axes.axes())
    if (!(axis.size == Int(1))) out += axis.size.is_number() ? detail::message("_", axis.size.value()) : "_n";
  return out.size() == 1 ? out + "_1" : out;
}

namespace {

/// The kernel as several: those that run first are compiled, and the remaining one is returned.
class Parts {
 public:
  Parts(Kernel& kernel, const Target& target, KernelRecord* record)
      : kernel_(kernel), target_(target), record_(record) {}

  /// Kernel::least; empty where no kernel of normal numbers may run.
  const std::vector<int>& least() const { return least_; }
  const std::vector<Trim>& trims() const { return trims_; }
  /// Applies the SPLITREDUCE or SPLITSCAN, or the DOT, the PACKs and the TRIMs, at the front of `opts` and removes
  /// them.
  LazyOp split(LazyOp ast, std::vector<Opt>& opts) {
    std::vector<LazyOp> least;
    const LazyOp whole = ast;
    if (opts[0].kind == Opt::Kind::DOT) {
      DotKernels dot = dot_products(ast, opts[0], target_);
      opts.erase(opts.begin());
      for (const LazyOp& first : dot.of_weights) add_first(first);
      add_first(dot.of_values);
      kernel_.temporaries = std::move(dot.temporaries);
      least = std::move(dot.least);
      ast = dot.rest;
    }
    std::vector<Opt> trims;
    for (; !opts.empty() && (opts[0].kind == Opt::Kind::PACK || opts[0].kind == Opt::Kind::TRIM);
         opts.erase(opts.begin())) {
      if (opts[0].kind == Opt::Kind::TRIM) {
        trims.push_back(opts[0]);
        continue;
      }
      const PackedKernels packed = pack_buffer(ast, opts[0], target_);
      add_first(packed.first);
      kernel_.temporaries.push_back(packed.temporary);
      ast = packed.rest;
    }
    for (const Opt& opt : trims) add_trim(whole, opt);
    for (const LazyOp& each : least) add_least(each);
    if (kernel_.before.empty() && !opts.empty() && opts[0].kind == Opt::Kind::SPLITSCAN) {
      SplitScan parts = split_scan(ast, opts[0], target_);
      opts.erase(opts.begin());
      add_first(parts.totals, target_, parts.opts);
      add_first(parts.fronts, target_.deterministic(), {});
      kernel_.temporaries = std::move(parts.temporaries);
      return parts.rest;
    }
    if (kernel_.before.empty() && !opts.empty() && opts[0].kind == Opt::Kind::SPLITREDUCE) {
      SplitReduction parts = split_reduction(ast, opts[0], target_);
      opts.erase(opts.begin());
      for (const LazyOp& first : parts.first) add_first(first);
      kernel_.temporaries = std::move(parts.temporaries);
      ast = parts.rest;
    }
    return ast;
  }

 private:
  void add_least(const LazyOp& least) {
    least_.push_back(static_cast<int>(buffers_of(kernel_.ast).size() + kernel_.temporaries.size()));
    kernel_.temporaries.push_back(least_.back());
    const ShapeTracker memory = ShapeTracker::from_shape(least.shape());
    add_first(absorb_movement(LazyOp::sink({LazyOp::store(least_.back(), memory, least)})));
  }
  /// A TRIM of `whole`, the kernel without PACKs. TRIMs by one buffer share the kernel that looks at it.
  void add_trim(const LazyOp& whole, const Opt& opt) {
    STRATA_CHECK(target_.reassociate, domain, "[", opt.text(), "] a SUM of floats keeps the defined order");
    const auto slot = static_cast<int>(opt.amount);
    const auto next = static_cast<int>(buffers_of(kernel_.ast).size() + kernel_.temporaries.size());
    const auto known = finite_.find(slot);
    trims_.push_back(trim(whole, opt, known == finite_.end() ? next : known->second));
    if (known != finite_.end()) return;
    finite_.emplace(slot, next);
    kernel_.temporaries.push_back(next);
    add_first(finite_kernel(whole, opt, next));
  }
  void add_first(const LazyOp& first) { add_first(first, target_, loop_opts(first, target_)); }
  void add_first(const LazyOp& first, const Target& target, const std::vector<Opt>& opts) {
    KernelRecord* const own = record_ == nullptr ? nullptr : &record_->before.emplace_back();
    kernel_.before.push_back(std::make_shared<const Kernel>(compile_kernel(first, target, opts, own)));
  }

  Kernel& kernel_;
  const Target& target_;
  KernelRecord* record_;
  std::vector<int> least_;
  std::vector<Trim> trims_;
  std::map<int, int> finite_;  // by slot of a buffer: that of whether it is finite
};

/// Follows the UOps of the lowered graph through the passes to their positions in the final list.
class Positions {
 public:
  explicit Positions(bool is_wanted) : is_wanted_(is_wanted) {}
  std::vector<UOp>* of_pass() { return is_wanted_ ? &step_ : nullptr; }
  /// After a pass: applies the mapping that it wrote to of_pass().
  void follow() {
    const auto position_of = [](UOp u) { return u ? std::optional(u.num()) : std::nullopt; };
    if (positions_.empty())
      for (const UOp u : step_) positions_.push_back(position_of(u));
    else
      for (auto& position : positions_)
        if (position) position = position_of(step_[*position]);
  }
  std::optional<std::size_t> find(UOp of) const { return positions_[of.num()]; }

 private:
  bool is_wanted_;
  std::vector<std::optional<std::size_t>> positions_;
  std::vector<UOp> step_;  // the mapping of the last pass
};

/// The use of a temporary by the kernel, or, where only kernels that run first use it, by the first of them.
BufferUse use_of(int slot, const Lowered& kernel, std::span<const std::shared_ptr<const Kernel>> before) {
  const auto at = static_cast<std::size_t>(slot);
  if (at < kernel.buffers.size() && !kernel.buffers[at].dtype.is_none()) return kernel.buffers[at];
  for (const auto& first : before)
    if (at < first->buffers.size() && !first->buffers[at].dtype.is_none()) return first->buffers[at];
  throw InternalError(detail::message("[compile_kernel] no kernel uses temporary ", slot));
}

void fill_record(KernelRecord& record, Lowered& lowered, const std::vector<ProvenBy>& how, const Positions& positions) {
  for (const auto& [variable, loop] : lowered.loops) {
    const auto position = positions.find(loop);
    if (!position) continue;
    std::optional<std::size_t> axis;
    for (const auto& [counter, of] : lowered.counters)
      if (same(counter, variable)) axis = of;
    record.counters.push_back({variable, *position, axis});
  }
  for (std::size_t k = 0; k < lowered.accesses.size(); ++k) {
    std::vector<std::size_t> uops;
    for (const UOp u : lowered.accesses[k].uops)
      if (const auto position = positions.find(u)) uops.push_back(*position);
    record.accesses.push_back({std::move(lowered.accesses[k]), how[k], std::move(uops)});
  }
}

/// The passes behind "split": compiles `rest`, the kernel without those that run first.
void compile_rest(Kernel& out, Passes& passes, const LazyOp& rest, const std::vector<Opt>& loops, const Target& target,
                  KernelRecord* record, const std::vector<Trim>& trims = {},
                  const std::function<void(KernelAxes&)>& change = {}) {
  KernelAxes axes(rest);
  axes.apply(loops);
  if (change) change(axes);
  for (const Trim& trim : trims) axes.add(trim);
  out.axes = axes.text();
  Lowered lowered = passes.run("lower", [&] { return lower(rest, axes, target); });
  std::vector<ProvenBy> how;
  out.proof = passes.run("bounds", [&] { return prove_bounds(lowered, record == nullptr ? nullptr : &how); });
  Positions positions(record != nullptr);
  out.uops = passes.run("linearize", [&] { return linearize(lowered, target.contract, positions.of_pass()); });
  positions.follow();
  if (target.instances && lowered.parallel) {
    out.uops = passes.run("instances", [&] { return to_instances(out.uops, *lowered.parallel, positions.of_pass()); });
    positions.follow();
  }
  passes.run("verify", [&] { return verify(out.uops), 0; });
  if (!target.instances)
    out.cycles = predicted_cycles(out.uops, target.machine(), target.vector_bytes, lowered.parallel);
  out.buffers = buffers_of(out.ast);
  for (const int slot : out.temporaries) {
    STRATA_ASSERT(static_cast<std::size_t>(slot) == out.buffers.size(), "temporary ", slot, " is not the next one");
    out.buffers.push_back(use_of(slot, lowered, out.before));
  }
  for (const auto& first : out.before)
    for (const Variable& v : first->variables)
      if (!is_range_bound(v.name())) lowered.variables.push_back(v);
  out.variables = variables_of(out.uops, lowered.variables);
  out.parallel = lowered.parallel;
  if (record != nullptr) {
    record->axes = std::move(axes);
    fill_record(*record, lowered, how, positions);
  }
}

/// Kernel::of_normals of `kernel`.
std::shared_ptr<const Kernel> compile_of_normals(const Kernel& kernel, const LazyOp& rest,
                                                 const std::vector<Opt>& loops, const Target& target) {
  Target of_normals = target;
  of_normals.native = target.native | target.native_of_normals;
  Kernel out{kernel.name, kernel.ast, kernel.opts, {}, {}, {}, {}, {}, {}, kernel.before, kernel.temporaries, {}, {}};
  out.contract = kernel.contract;
  Passes passes(out);
  compile_rest(out, passes, rest, loops, of_normals, nullptr);
  out.before.clear();
  return std::make_shared<const Kernel>(std::move(out));
}

/// The kernel in blocks: compiles the kernels of the chains, and makes one list of theirs.
class Blocks {
 public:
  Blocks(Kernel& out, Passes& passes, const Target& target, KernelRecord* record)
      : out_(out), passes_(passes), target_(target), record_(record) {}

  void compile(const LazyOp& rest) {
    const BlockLoop loop = block_loop(rest, out_.opts[0], target_);
    std::vector<BlockBody> bodies = block_bodies(rest, loop);
    bodies_ = bodies.size();
    out_.buffers = buffers_of(out_.ast);
    for (const int slot : bodies[0].chain.temporaries) add_temporary(slot);
    for (BlockBody& body : bodies) add(body, loop);
    std::vector<std::vector<BlockPart>> lists;
    for (const std::deque<Part>& parts : parts_) {
      lists.emplace_back();
      for (const Part& part : parts)
        lists.back().push_back({&part.kernel.uops, part.turn, part.is_once, part.stores_finite});
    }
    std::vector<std::vector<std::vector<std::size_t>>> positions;
    out_.uops = passes_.run("blocks", [&] { return list_of_blocks(loop, bodies, lists, &positions); });
    out_.parallel = loop.count();
    passes_.run("verify", [&] { return verify(out_.uops), 0; });
    out_.cycles = predicted_cycles(out_.uops, target_.machine(), target_.vector_bytes, out_.parallel);
    find_variables(bodies);
    if (record_ != nullptr) fill_record(rest, positions);
  }

 private:
  struct Part {
    Kernel kernel;
    BlockTurn turn;
    bool is_once;
    bool stores_finite = false;
    KernelRecord record{};
  };
  /// A kernel of a chain, or one that packs for it.
  struct Planned {
    LazyOp kernel;
    std::vector<Opt> opts;
    std::optional<std::size_t> of{};  ///< its number in the chain; nothing: once for all blocks that use it
    bool stores_finite = false;
  };

  void add_temporary(int slot) {
    STRATA_ASSERT(static_cast<std::size_t>(slot) == out_.buffers.size(), "[compile_kernel] temporary ", slot,
                  " is not the next one");
    out_.temporaries.push_back(slot);
    out_.scratch.push_back(slot);
    out_.buffers.push_back({dtypes::none, 0, true, true});
  }
  void add(BlockBody& body, const BlockLoop& loop) {
    std::vector<Planned> planned;
    for (std::size_t k = 0; k < body.chain.steps.size(); ++k) {
      const BlockTurn turn = body.chain.steps[k].turn;
      const bool is_first = parts_.empty(), is_last = parts_.size() + 1 == bodies_;
      if (turn == BlockTurn::each || (turn == BlockTurn::first ? is_first : is_last))
        plan(body.chain.steps[k].kernel, k, body, planned);
    }
    const std::optional<BlockReach> reach = reach_of(body, loop, planned);
    parts_.emplace_back();
    for (const Planned& p : planned) {
      const BlockTurn turn = p.of ? body.chain.steps[*p.of].turn : BlockTurn::each;
      const auto of = reach ? std::find_if(reach->along.begin(), reach->along.end(),
                                           [&](const BlockReach::Along& along) { return along.kernel == p.of; })
                            : std::vector<BlockReach::Along>::const_iterator();
      const bool ends = reach && of != reach->along.end();
      add(p, turn,
          ends ? [&](KernelAxes& axes) { end_loops(axes, p.kernel, *reach, *of, body.end->variable); }
               : std::function<void(KernelAxes&)>());
    }
  }
  /// Plans a kernel of a chain, behind those that pack what many blocks read.
  void plan(LazyOp kernel, std::size_t number, const BlockBody& body, std::vector<Planned>& out) {
    std::vector<Opt> opts = loop_opts(kernel, target_, shared_slots(kernel, body));
    for (; !opts.empty() && opts[0].kind == Opt::Kind::PACK; opts.erase(opts.begin())) {
      const auto slot = static_cast<int>(out_.buffers.size());
      const PackedKernels packed = pack_buffer(kernel, opts[0], target_, slot);
      add_temporary(slot);
      out.push_back({packed.first, in_one_thread(loop_opts(packed.first, target_))});
      kernel = packed.rest;
    }
    out.push_back({kernel, in_one_thread(std::move(opts)), number});
  }
  static std::vector<Opt> in_one_thread(std::vector<Opt> opts) {
    std::erase_if(opts, [](const Opt& o) { return o.kind == Opt::Kind::PARALLEL; });
    return opts;
  }
  /// The reach of whole blocks, if all their loops along columns can end early. Its kernel is planned, and body.end
  /// set.
  std::optional<BlockReach> reach_of(BlockBody& body, const BlockLoop& loop, std::vector<Planned>& planned) {
    if (!target_.reassociate || !parts_.empty()) return std::nullopt;
    constexpr int kMostGuards = 8;
    std::vector<int> slots(kMostGuards);
    std::iota(slots.begin(), slots.end(), static_cast<int>(out_.buffers.size()));
    std::optional<BlockReach> reach = block_reach(body, loop.rows, slots);
    if (!reach) return std::nullopt;
    slots.resize(reach->finite.size());
    const Variable end(name_beside(kernel_variables(out_.ast), "reach"), 1, reach->columns);
    for (const BlockReach::Along& along : reach->along)
      for (const Planned& p : planned) {
        if (p.of != along.kernel) continue;
        KernelAxes axes(p.kernel);
        axes.apply(p.opts);
        if (!end_loops(axes, p.kernel, *reach, along, end)) return std::nullopt;
      }
    for (const int slot : slots) add_temporary(slot);
    body.end = {end, reach->first_end, reach->granule, reach->columns, slots};
    for (std::size_t k = reach->finite.size(); k-- > 0;) {
      const LazyOp& guard = reach->finite[k];
      const bool is_last = k + 1 == reach->finite.size();
      planned.insert(planned.begin(), {guard, in_one_thread(loop_opts(guard, target_)), {}, is_last});
    }
    return reach;
  }
  void add(const Planned& planned, BlockTurn turn, const std::function<void(KernelAxes&)>& change) {
    const LazyOp& kernel = planned.kernel;
    const std::vector<Opt>& opts = planned.opts;
    const bool is_once = !planned.of;
    Part& part =
        parts_.back().emplace_back(Part{{kernel_name(kernel), kernel, opts, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}},
                                        turn,
                                        is_once,
                                        planned.stores_finite});
    compile_rest(part.kernel, passes_, kernel, opts, target_, record_ == nullptr ? nullptr : &part.record, {}, change);
    const BoundsProof& proof = part.kernel.proof;
    out_.proof.accesses += proof.accesses;
    out_.proof.by_bounds += proof.by_bounds;
    out_.proof.by_algebra += proof.by_algebra;
    out_.proof.seconds += proof.seconds;
    const char* const when = is_once                    ? ", once for all its blocks"
                             : turn == BlockTurn::first ? ", before the first block"
                             : turn == BlockTurn::last  ? ", after the last block"
                                                        : "";
    out_.axes += detail::message(part.kernel.name, when, ":\n", part.kernel.axes, "opts: ", text_of(opts), "\n");
    for (const int slot : out_.temporaries) {
      const auto at = static_cast<std::size_t>(slot);
      if (at >= part.kernel.buffers.size() || !part.kernel.buffers[at].written) continue;
      const BufferUse& use = part.kernel.buffers[at];
      BufferUse& own = out_.buffers[at];
      own.dtype = use.dtype;
      if (own.size == Int(0)) own.size = use.size;  // of whole blocks: the rows that are left are fewer
    }
  }
  /// The given buffers of which all blocks of one index of the other axes read the same elements.
  static std::vector<int> shared_slots(const LazyOp& kernel, const BlockBody& body) {
    std::vector<int> out;
    const std::vector<BufferUse> buffers = buffers_of(kernel);
    for (std::size_t slot = 0; slot < buffers.size(); ++slot) {
      const auto number = static_cast<int>(slot);
      const std::vector<int>& own = body.chain.temporaries;
      if (!buffers[slot].read || buffers[slot].written || std::find(own.begin(), own.end(), number) != own.end())
        continue;
      bool is_shared = true;
      for (const LazyNode* n : postorder(kernel))
        if (n->op == Ops::LOAD && std::get<BufferArg>(n->arg).slot == number)
          for (const Variable& v : std::get<BufferArg>(n->arg).st.vars()) is_shared = is_shared && !same(v, body.block);
      if (is_shared) out.push_back(number);
    }
    return out;
  }
  void find_variables(const std::vector<BlockBody>& bodies) {
    std::vector<Variable> all;
    for (const std::deque<Part>& parts : parts_)
      for (const Part& part : parts)
        for (const Variable& v : part.kernel.variables) {
          const auto is_v = [&](const Variable& o) { return same(o, v); };
          const bool is_of_block = std::any_of(bodies.begin(), bodies.end(), [&](const BlockBody& body) {
            return same(body.block, v) || (body.end && same(body.end->variable, v)) ||
                   std::any_of(body.others.begin(), body.others.end(), is_v);
          });
          if (!is_of_block) all.push_back(v);
        }
    out_.variables = variables_of(out_.uops, all);
  }
  void fill_record(const LazyOp& rest, const std::vector<std::vector<std::vector<std::size_t>>>& positions) {
    record_->axes.emplace(LazyOp::sink({rest.src(0)}));
    for (std::size_t b = 0; b < parts_.size(); ++b)
      for (std::size_t k = 0; k < parts_[b].size(); ++k) {
        const std::vector<std::size_t>& at = positions[b][k];
        for (const KernelRecord::Counter& c : parts_[b][k].record.counters)
          record_->counters.push_back({c.variable, at[c.uop], std::nullopt});
        for (KernelRecord::ProvenAccess& access : parts_[b][k].record.accesses) {
          for (std::size_t& u : access.uops) u = at[u];
          record_->accesses.push_back(std::move(access));
        }
      }
  }

  Kernel& out_;
  Passes& passes_;
  const Target& target_;
  KernelRecord* record_;
  std::size_t bodies_ = 0;
  std::vector<std::deque<Part>> parts_;  // by body
};

}  // namespace

Kernel compile_kernel(const LazyOp& ast, const Target& target, std::optional<std::vector<Opt>> opts,
                      KernelRecord* record, std::span<const int> kept) {
  if (ordered_by(ast) != nullptr) return order_kernel(ast, target);
  Kernel out{kernel_name(ast), ast, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}};
  out.contract = target.contract;
  Passes passes(out);
  LazyOp rest = passes.run("absorb", [&] { return absorb_movement(ast); });
  out.opts = passes.run("opts", [&] { return opts ? *std::move(opts) : heuristic_opts(rest, target, kept); });
  if (!out.opts.empty() && out.opts[0].kind == Opt::Kind::BLOCK) {
    STRATA_CHECK(out.opts.size() == 1, domain, "[", out.opts[1].text(), "] stands beside ", out.opts[0].text(),
                 ", whose kernels have Opts of their own");
    Blocks(out, passes, target, record).compile(rest);
    return out;
  }
  std::vector<Opt> loops = out.opts;
  Parts parts(out, target, record);
  if (!loops.empty() && makes_kernels(loops[0].kind))
    rest = passes.run("split", [&] { return parts.split(rest, loops); });
  compile_rest(out, passes, rest, loops, target, record, parts.trims());
  if (parts.least().empty()) return out;
  out.least = parts.least();
  out.of_normals = passes.run("of normals", [&] { return compile_of_normals(out, rest, loops, target); });
  return out;
}

}  // namespace strata
