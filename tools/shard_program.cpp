// Reads kernels as index maps: a walk from each store down to the loads, with the map from the output's indices.
#include "tools/shard_program.h"

#include <algorithm>
#include <unordered_map>
#include <utility>

#include "strata/base/check.h"

namespace strata::tools {
namespace {

constexpr std::size_t kMostMaps = 1024;

Index sizes_of(const std::string& name, const Ints& shape) {
  const std::optional<Index> out = numbers(shape);
  STRATA_CHECK(out, undefined, "[shard] ", name, " has the symbolic shape ", render(shape),
               ": owners need sizes that are numbers");
  return *out;
}

/// The walk of one output.
class MapWalk {
 public:
  MapWalk(const KernelText& text, const ProgramTensor& output) : text_(text), output_(output) {}

  std::vector<ProgramRead> run(const LazyOp& value) {
    open_.emplace_back(value, ShapeTracker::from_shape(to_ints(output_.shape)));
    while (!open_.empty()) {
      const auto [op, map] = std::move(open_.back());
      open_.pop_back();
      if (is_new(op, map)) take(op, map);
    }
    return std::move(reads_);
  }

 private:
  bool is_new(const LazyOp& op, const ShapeTracker& map) {
    std::vector<ShapeTracker>& known = seen_[op.node()];
    if (std::find(known.begin(), known.end(), map) != known.end()) return false;
    STRATA_CHECK(++maps_ <= kMostMaps, budget, "[shard] ", output_.name, " has more than ", kMostMaps,
                 " operations and index maps");
    known.push_back(map);
    return true;
  }

  void take(const LazyOp& op, const ShapeTracker& map) {
    if (op.op() == Ops::CONST || op.op() == Ops::IOTA) return;
    if (op.op() == Ops::LOAD) return load(std::get<BufferArg>(op.arg()), op.dtype(), map);
    const bool moves = is_movement(op.op());
    const bool keeps = is_pointwise(op.op()) || op.op() == Ops::CONTIGUOUS;
    STRATA_CHECK(moves || keeps, undefined, "[shard] ", output_.name, " has ", spec_name(op.op()),
                 ": so far only movement and operations element by element are read");
    const ShapeTracker below = moves ? (movement_of(*op.node()) + map).simplify() : map;
    const std::span<const LazyOp> sources = needed(*op.node());
    for (std::size_t k = sources.size(); k-- > 0;) open_.emplace_back(sources[k], below);  // the first one is next
  }

  void load(const BufferArg& buffer, DType dtype, const ShapeTracker& map) {
    const std::string& name = text_.names[static_cast<std::size_t>(buffer.slot)];
    STRATA_CHECK(buffer.st.contiguous(), undefined, "[shard] ", name, " is not read as it was declared");
    const Index shape = sizes_of(name, buffer.st.shape());
    const auto same = [&](const ProgramRead& read) { return read.tensor.name == name; };
    auto read = std::find_if(reads_.begin(), reads_.end(), same);
    if (read == reads_.end()) read = reads_.insert(read, ProgramRead{{name, dtype, shape}, {}});
    if (std::find(read->maps.begin(), read->maps.end(), map) == read->maps.end()) read->maps.push_back(map);
  }

  const KernelText& text_;
  const ProgramTensor& output_;
  std::vector<std::pair<LazyOp, ShapeTracker>> open_;
  std::unordered_map<const LazyNode*, std::vector<ShapeTracker>> seen_;
  std::size_t maps_ = 0;
  std::vector<ProgramRead> reads_;
};

}  // namespace

std::vector<ProgramOutput> outputs_of(const KernelText& text) {
  const std::vector<BufferUse> uses = buffers_of(text.kernel);
  std::vector<ProgramOutput> out;
  for (const LazyOp& store : text.kernel.src()) {
    const auto& buffer = std::get<BufferArg>(store.arg());
    const auto slot = static_cast<std::size_t>(buffer.slot);
    const std::string& name = text.names[slot];
    const auto same = [&](const ProgramOutput& other) { return other.tensor.name == name; };
    STRATA_CHECK(!uses[slot].read && std::none_of(out.begin(), out.end(), same), undefined, "[shard] ", name,
                 " is read and assigned to: give the result a name of its own");
    out.push_back({{name, store.src(0).dtype(), sizes_of(name, store.src(0).shape())}, {}});
    out.back().reads = MapWalk(text, out.back().tensor).run(store.src(0));
  }
  return out;
}

}  // namespace strata::tools
