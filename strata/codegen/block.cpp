#include "strata/codegen/block.h"

#include <algorithm>
#include <limits>
#include <string>
#include <unordered_map>
#include <utility>

#include "strata/codegen/variables.h"

namespace strata {

namespace {

constexpr std::int64_t kFewestRows = 16, kMostRows = 64;  // schedule/chain.cpp reckons with the latter

/// The lists of chains, one after another, in one list.
class BlockList {
 public:
  BlockList(const BlockLoop& loop, std::span<const BlockBody> bodies, std::span<const std::vector<BlockPart>> parts)
      : loop_(loop), bodies_(bodies), parts_(parts) {}

  UOpGraph run(std::vector<std::vector<std::vector<std::size_t>>>* positions) {
    define();
    const UOp begin = variable(Variable(kRangeBegin, 0, std::numeric_limits<std::int64_t>::max())),
              end = variable(Variable(kRangeEnd, 0, std::numeric_limits<std::int64_t>::max()));
    const UOp counter = open(begin, end);
    const std::int64_t each = loop_.each();
    const bool add_up = loop_.axes.add_up();
    UOp block = counter, place = counter;
    if (add_up) {
      const UOp none = number(0), all = number(each);
      block = open(none, all);
      place = out_.alu(Ops::ADD, {out_.alu(Ops::MUL, {counter, all}), block});
    }
    places(place);
    UOp is_once = out_.alu(Ops::CMPEQ, {wide_.back(), number(0)});
    if (!add_up) is_once = out_.alu(Ops::OR, {out_.alu(Ops::CMPEQ, {counter, begin}), is_once});
    for (std::size_t b = 0; b < bodies_.size(); ++b) {
      const UOp only = bodies_.size() > 1 ? open_if(is_whole(), b == 0) : UOp();
      if (positions != nullptr) positions->emplace_back();
      for (const BlockPart& part : parts_[b]) {
        UOp condition;
        if (part.is_once && b == 0) condition = is_once;
        if (part.turn != BlockTurn::each)
          condition = out_.alu(Ops::CMPEQ, {block, number(part.turn == BlockTurn::first ? 0 : each - 1)});
        const UOp sometimes = condition ? open_if(condition, true) : UOp();
        std::vector<std::size_t> at = add(*part.list, bodies_[b]);
        if (positions != nullptr) positions->back().push_back(std::move(at));
        if (sometimes) close(sometimes);
        if (part.stores_finite) end_ = end_of(*bodies_[b].end);
      }
      if (only) close(only);
    }
    if (add_up) close(block);
    close(counter);
    return std::move(out_);
  }

 private:
  static bool is_definition(UOp u) {
    return u.op() == UOps::DEFINE_GLOBAL || u.op() == UOps::DEFINE_VAR || u.op() == UOps::DEFINE_LOCAL;
  }
  static bool is_of_block(const Variable& v, const BlockBody& body) {
    return same(v, body.block) || (body.end && same(v, body.end->variable)) ||
           std::any_of(body.others.begin(), body.others.end(), [&](const Variable& o) { return same(v, o); });
  }

  /// Defines the buffers and variables of all lists, and scratch memory: the k-th of a dtype is the same memory in all
  /// lists.
  void define() {
    std::vector<std::pair<DType, std::vector<std::int64_t>>> sizes;
    for_each_local([&](UOp u, std::size_t k) {
      auto it = std::find_if(sizes.begin(), sizes.end(), [&](const auto& s) { return s.first == u.dtype(); });
      if (it == sizes.end()) it = sizes.insert(it, {u.dtype(), {}});
      if (it->second.size() <= k) it->second.resize(k + 1, 0);
      it->second[k] = std::max(it->second[k], std::get<Local>(u.arg()).size);
    });
    std::vector<Variable> taken;
    for (const std::vector<BlockPart>& of_body : parts_)
      for (const BlockPart& part : of_body)
        for (const UOp u : *part.list)
          if (const auto* v = std::get_if<Variable>(&u.arg())) taken.push_back(*v);
    std::vector<std::vector<UOp>> locals;
    std::size_t number = 0;
    for (const auto& [dtype, of_dtype] : sizes) {
      locals.emplace_back();
      for (const std::int64_t size : of_dtype)
        locals.back().push_back(out_.add(UOps::DEFINE_LOCAL, dtype, {},
                                         Local{name_beside(taken, detail::message("temp", number++)), size}));
    }
    for_each_local([&](UOp u, std::size_t k) {
      const auto it = std::find_if(sizes.begin(), sizes.end(), [&](const auto& s) { return s.first == u.dtype(); });
      definitions_.emplace(u, locals[static_cast<std::size_t>(it - sizes.begin())][k]);
    });
    for (std::size_t b = 0; b < bodies_.size(); ++b)
      for (const BlockPart& part : parts_[b])
        for (const UOp u : *part.list) {
          if (const auto* global = std::get_if<Global>(&u.arg())) {
            const auto known = definitions_of_slots_.find(global->slot);
            definitions_.emplace(
                u, known != definitions_of_slots_.end() ? known->second : out_.add(u.op(), u.dtype(), {}, *global));
            definitions_of_slots_.emplace(global->slot, definitions_.at(u));
          }
          if (u.op() == UOps::DEFINE_VAR && !is_of_block(std::get<Variable>(u.arg()), bodies_[b]))
            definitions_.emplace(u, out_.add(u.op(), u.dtype(), {}, u.arg()));
        }
  }
  /// f(DEFINE_LOCAL, its number among those of its dtype in its list).
  template <class F>
  void for_each_local(const F& f) const {
    for (const std::vector<BlockPart>& of_body : parts_)
      for (const BlockPart& part : of_body) {
        std::vector<DType> seen;
        for (const UOp u : *part.list)
          if (u.op() == UOps::DEFINE_LOCAL) {
            f(u, static_cast<std::size_t>(std::count(seen.begin(), seen.end(), u.dtype())));
            seen.push_back(u.dtype());
          }
      }
  }

  UOp variable(const Variable& v) { return out_.add(UOps::DEFINE_VAR, dtypes::int64, {}, v); }
  UOp number(std::int64_t value) { return out_.constant(dtypes::int64, value); }
  UOp open(UOp begin, UOp end) { return out_.add(UOps::LOOP, dtypes::int64, {begin, end}, {}, false); }
  void close(UOp loop) { out_.add(UOps::ENDLOOP, dtypes::none, {loop}, {}, false); }
  /// A loop with one iteration where `holds` is `wanted`, and none elsewhere.
  UOp open_if(UOp holds, bool wanted) {
    const UOp times = out_.alu(Ops::WHERE, {holds, number(wanted ? 1 : 0), number(wanted ? 0 : 1)});
    return open(number(0), times);
  }
  UOp is_whole() { return out_.alu(Ops::CMPLT, {wide_.back(), number(loop_.whole)}); }

  /// Finds the indices of the other axes and the number of the block, of the iteration `counter`.
  void places(UOp counter) {
    std::vector<std::int64_t> counts = loop_.counts;
    counts.push_back(loop_.whole + (loop_.left > 0 ? 1 : 0));
    wide_.resize(counts.size());
    UOp rest = counter;
    for (std::size_t k = counts.size(); k-- > 0;) {
      wide_[k] = k == 0 ? rest : out_.alu(Ops::MOD, {rest, number(counts[k])});
      if (k > 0) rest = out_.alu(Ops::IDIV, {rest, number(counts[k])});
    }
    for (const UOp w : wide_) narrow_.push_back(out_.cast(w, dtypes::int32));
  }

  UOp end_of(const BlockBody::End& end) {
    UOp finite;
    for (const int slot : end.finite) {
      const UOp buffer = definitions_of_slots_.at(slot);
      const UOp own = out_.add(UOps::LOAD, dtypes::int32, {buffer, out_.constant(dtypes::int32, 0)}, {}, false);
      finite = finite ? out_.alu(Ops::AND, {finite, own}) : own;
    }
    const UOp first = out_.alu(Ops::MUL, {wide_.back(), number(loop_.rows)});
    const UOp granules = out_.alu(
        Ops::IDIV, {out_.alu(Ops::ADD, {first, number(end.first_end + end.granule - 1)}), number(end.granule)});
    const UOp at = out_.alu(Ops::MUL, {granules, number(end.granule)});
    const UOp is_short = out_.alu(Ops::AND, {out_.alu(Ops::CMPLT, {at, number(end.columns)}),
                                             out_.alu(Ops::CMPNE, {finite, out_.constant(dtypes::int32, 0)})});
    return out_.cast(out_.alu(Ops::WHERE, {is_short, at, number(end.columns)}), dtypes::int32);
  }

  UOp value_of(UOp variable, const BlockBody& body) const {
    if (body.end && same(std::get<Variable>(variable.arg()), body.end->variable)) return end_;
    const std::vector<UOp>& place = variable.dtype() == dtypes::int32 ? narrow_ : wide_;
    for (std::size_t k = 0; k < body.others.size(); ++k)
      if (same(std::get<Variable>(variable.arg()), body.others[k])) return place[k];
    return place.back();
  }
  /// Appends a list, and returns the positions of its UOps.
  std::vector<std::size_t> add(const UOpGraph& list, const BlockBody& body) {
    std::vector<UOp> made(list.size());
    std::vector<std::size_t> out;
    for (const UOp u : list) {
      UOp& mine = made[u.num()];
      if (const auto it = definitions_.find(u); it != definitions_.end()) {
        mine = it->second;
      } else if (is_definition(u)) {
        mine = value_of(u, body);
      } else {
        SmallVec<UOp, 4> src;
        for (const UOp s : u.src()) src.push_back(made[s.num()]);
        mine = out_.add(u.op(), u.dtype(), {src.data(), src.size()}, u.arg(), false);
      }
      out.push_back(mine.num());
    }
    return out;
  }

  const BlockLoop& loop_;
  std::span<const BlockBody> bodies_;
  std::span<const std::vector<BlockPart>> parts_;
  UOpGraph out_;
  std::vector<UOp> wide_, narrow_;  // the indices of the other axes, and the block's number: i64, i32
  UOp end_;                         // of BlockBody::End
  std::unordered_map<int, UOp> definitions_of_slots_;
  std::unordered_map<UOp, UOp> definitions_;  // by definition in a list: that in the result
};

}  // namespace

std::int64_t BlockLoop::count() const {
  std::int64_t out = axes.add_up() ? 1 : whole + (left > 0 ? 1 : 0);
  for (std::size_t k = 0; k < (axes.add_up() ? axes.shared : counts.size()); ++k) out *= counts[k];
  return out;
}
std::int64_t BlockLoop::each() const {
  if (!axes.add_up()) return 1;
  std::int64_t out = whole + (left > 0 ? 1 : 0);
  for (std::size_t k = axes.shared; k < counts.size(); ++k) out *= counts[k];
  return out;
}

BlockLoop block_loop(const LazyOp& kernel, const Opt& opt, const Target& target) {
  const BlockPlan plan = block_axes(kernel, opt.axis);
  STRATA_CHECK(plan.axes, domain, "[", opt.text(), "] ", plan.reason);
  STRATA_CHECK(!target.instances, domain, "[", opt.text(),
               "] the target launches instances, and each would need scratch buffers of its own");
  STRATA_CHECK(target.reassociate || !reorders_sums(kernel, *plan.axes), domain, "[", opt.text(),
               "] a SUM of floats keeps the defined order, which is not that of blocks");
  const Ints& shape = kernel.src(0).shape();
  const std::int64_t size = shape[opt.axis].value();
  STRATA_CHECK(opt.amount >= 1 && opt.amount <= size, domain, "[", opt.text(), "] axis ", opt.axis, " has ", size,
               " rows");
  BlockLoop out{*plan.axes, {}, opt.amount, size / opt.amount, size % opt.amount};
  for (const std::size_t t : out.axes.others) out.counts.push_back(shape[t].value());
  return out;
}

std::optional<Opt> worthwhile_block(const LazyOp& kernel, const Target& target) {
  if (target.instances) return std::nullopt;
  const std::optional<std::size_t> axis = best_block_axis(kernel);
  if (!axis) return std::nullopt;
  const BlockPlan plan = block_axes(kernel, *axis);
  if (!target.reassociate && reorders_sums(kernel, *plan.axes)) return std::nullopt;
  const std::int64_t size = kernel.src(0).shape()[*axis].value();
  const double fitting = target.machine().l2_bytes / 2 / bytes_of_row(kernel, *plan.axes).between;
  std::int64_t rows = kFewestRows;
  while (rows * 2 <= kMostRows && static_cast<double>(rows * 2) <= fitting) rows *= 2;
  return Opt{Opt::Kind::BLOCK, *axis, std::min(rows, size), 0, {}};
}

std::vector<BlockBody> block_bodies(const LazyOp& kernel, const BlockLoop& loop) {
  const std::vector<Variable> taken = kernel_variables(kernel);
  const auto index = [&](const std::string& name, std::int64_t count) {
    return Variable(name_beside(taken, name), 0, std::max<std::int64_t>(count, 1) - 1);
  };
  const auto value = [](const Variable& v) { return v.max() == 0 ? Int(0) : Int(Expr(v)); };
  std::vector<Variable> others;
  std::vector<Int> at;
  for (std::size_t k = 0; k < loop.counts.size(); ++k) {
    others.push_back(index(detail::message("row", loop.axes.others[k]), loop.counts[k]));
    at.push_back(value(others.back()));
  }
  const Variable block = index("block", loop.whole);
  std::vector<BlockBody> out;
  out.push_back({block_chain(kernel, loop.axes, value(block) * Int(loop.rows), loop.rows, at), others, block});
  if (loop.axes.add_up())
    out[0].all = block_chain(kernel, loop.axes, 0, kernel.src(0).shape()[loop.axes.axis].value(), at);
  if (loop.left > 0)
    out.push_back({block_chain(kernel, loop.axes, loop.whole * loop.rows, loop.left, at), others, block});
  return out;
}

UOpGraph list_of_blocks(const BlockLoop& loop, std::span<const BlockBody> bodies,
                        std::span<const std::vector<BlockPart>> parts,
                        std::vector<std::vector<std::vector<std::size_t>>>* positions) {
  return BlockList(loop, bodies, parts).run(positions);
}

}  // namespace strata
