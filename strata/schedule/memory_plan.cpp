#include "strata/schedule/memory_plan.h"

#include <algorithm>

#include "strata/base/int_math.h"

namespace strata {

namespace {

constexpr std::int64_t kAlignment = 64;

class Planning {
 public:
  Planning(std::span<const ScheduleItem> items, const std::function<bool(const LazyOp&)>& kept)
      : items_(items), kept_(kept) {}

  MemoryPlan run() {
    find_lives();
    std::vector<std::vector<std::size_t>> ends(items_.size());
    for (std::size_t k = 0; k < items_.size(); ++k) {
      for (const LazyOp& output : items_[k].outputs) {
        const auto it = lives_.find(output.node());
        if (it == lives_.end() || it->second.first != k || out_.at.contains(output.node())) continue;
        const std::size_t block = take(nbytes_of(output));
        out_.at.emplace(output.node(), block);
        ends[it->second.last].push_back(block);
      }
      free_.insert(free_.end(), ends[k].begin(), ends[k].end());
    }
    for (const std::int64_t bytes : out_.blocks) out_.peak += bytes;
    return std::move(out_);
  }

 private:
  struct Life {
    std::size_t first, last;  // the items of the first write and the last use
  };

  const LazyOp& memory_of(const LazyOp& n) const {
    const LazyOp* at = &n;
    for (auto it = out_.alias.find(at->node()); it != out_.alias.end(); it = out_.alias.find(at->node()))
      at = &it->second;
    return *at;
  }

  void find_lives() {
    std::vector<LazyOp> outlasting;
    for (std::size_t k = 0; k < items_.size(); ++k) {
      const ScheduleItem& item = items_[k];
      for (const LazyOp& input : item.inputs) use(memory_of(input), k);
      for (const LazyOp& output : item.outputs) {
        if (item.is_shared()) out_.alias.emplace(output.node(), item.inputs[0]);
        const LazyOp& memory = memory_of(output);
        if (kept_(output)) outlasting.push_back(memory);
        if (!item.is_shared()) lives_.try_emplace(memory.node(), Life{k, k});
        use(memory, k);
      }
    }
    for (const LazyOp& n : outlasting) lives_.erase(n.node());
  }
  void use(const LazyOp& memory, std::size_t k) {
    if (const auto it = lives_.find(memory.node()); it != lives_.end()) it->second.last = k;
  }

  /// Takes the best-fitting free block: the smallest one that is large enough, else the largest one, enlarged; or a new
  /// block.
  std::size_t take(std::int64_t bytes) {
    bytes = (bytes + kAlignment - 1) / kAlignment * kAlignment;
    out_.unshared += bytes;
    const auto better = [&](std::size_t a, std::size_t b) {
      const std::int64_t x = out_.blocks[a], y = out_.blocks[b];
      if ((x >= bytes) != (y >= bytes)) return x >= bytes;
      return x >= bytes ? x < y : x > y;
    };
    const auto best = std::min_element(free_.begin(), free_.end(), better);
    if (best == free_.end()) {
      out_.blocks.push_back(bytes);
      return out_.blocks.size() - 1;
    }
    const std::size_t block = *best;
    free_.erase(best);
    out_.blocks[block] = std::max(out_.blocks[block], bytes);
    return block;
  }

  std::span<const ScheduleItem> items_;
  const std::function<bool(const LazyOp&)>& kept_;
  MemoryPlan out_;
  std::unordered_map<const LazyNode*, Life> lives_;
  std::vector<std::size_t> free_;
};

}  // namespace

std::int64_t nbytes_of(const LazyOp& n) {
  const std::int64_t size = product(n.shape()).vmax();
  std::int64_t bytes = 0;
  STRATA_CHECK(try_mul(size, static_cast<std::int64_t>(n.dtype().itemsize()), bytes) && bytes <= INT64_MAX - kAlignment,
               overflow, "[memory] a tensor of shape ", render(n.shape()), " has more bytes than 64 bits count");
  return bytes;
}

MemoryPlan plan_memory(std::span<const ScheduleItem> items, const std::function<bool(const LazyOp&)>& kept) {
  return Planning(items, kept).run();
}

}  // namespace strata
