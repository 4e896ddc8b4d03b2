#include "tools/ask_candidates.h"

#include <algorithm>
#include <utility>

namespace strata::tools {
namespace {

constexpr std::size_t kMostAxes = 16;  // the most axes and buffers with candidates
constexpr std::int64_t kAmounts[] = {2, 4, 8, 16};
constexpr Opt::Kind kByAmount[] = {Opt::Kind::SPLIT, Opt::Kind::UPCAST, Opt::Kind::UNROLL, Opt::Kind::LANES,
                                   Opt::Kind::PADTO};

/// The list of candidates for a kernel, before any is tried.
class Menu {
 public:
  explicit Menu(const KernelRecord& record, const Kernel& kernel) : axes_(*record.axes), kernel_(kernel) {}

  std::vector<Opt> run() {
    const std::size_t count = std::min(axes_.axes().size(), kMostAxes);
    for (std::size_t a = 0; a < count; ++a) of_axis(a);
    reorders();
    for (std::size_t slot = 0; slot < kernel_.buffers.size() && slot < kMostAxes; ++slot) of_buffer(slot);
    return std::move(out_);
  }

 private:
  /// Whether the kernel has results between parts, which BLOCK computes block by block.
  bool has_parts() const {
    const std::vector<const LazyNode*> nodes = postorder(kernel_.ast);
    return std::any_of(nodes.begin(), nodes.end(), [](const LazyNode* n) { return n->op == Ops::CONTIGUOUS; });
  }
  void of_axis(std::size_t a) {
    const LoopAxis& axis = axes_.axes()[a];
    for (std::size_t s = 0; s < axis.segments.size() && s < 2; ++s) {
      const Segment& segment = axis.segments[s];
      for (const Opt::Kind kind : kByAmount)
        for (const std::int64_t n : kAmounts)
          if (n <= axis.size.vmax() && (kind != Opt::Kind::PADTO || s == 0))
            out_.push_back({kind, a, n, kind == Opt::Kind::PADTO ? 0 : s, {}});
      // A CUT at the last multiple of 4 before the end: vectors of 4 fill the first part.
      if (segment.size().is_number() && segment.size().value() > 4)
        out_.push_back({Opt::Kind::CUT, a, (segment.size().value() - 1) / 4 * 4, s, {}});
    }
    out_.push_back({Opt::Kind::PARALLEL, a, 0, 0, {}});
    out_.push_back({Opt::Kind::MERGE, a, 0, 0, {}});
    if (axis.group < 0 && has_parts())
      for (const std::int64_t n : {16, 64}) out_.push_back({Opt::Kind::BLOCK, a, n, 0, {}});
    if (static_cast<int>(a) == axes_.scan_axis()) out_.push_back({Opt::Kind::SPLITSCAN, a, 0, 0, {}});
    if (axis.group >= 0)
      for (const std::int64_t n : {4, 16}) out_.push_back({Opt::Kind::SPLITREDUCE, a, n, 0, {}});
    for (std::size_t slot = 0; slot < kernel_.buffers.size() && axis.group >= 0; ++slot)
      if (const BufferUse& use = kernel_.buffers[slot]; use.read && use.dtype.bits() == 8 && !use.dtype.is_bool())
        out_.push_back({Opt::Kind::DOT, a, static_cast<std::int64_t>(slot), 0, {}});
    for (std::size_t slot = 0; slot < kernel_.buffers.size() && axis.group >= 0; ++slot)
      if (const BufferUse& use = kernel_.buffers[slot]; use.read && use.dtype.is_float())
        out_.push_back({Opt::Kind::TRIM, a, static_cast<std::int64_t>(slot), 0, {}});
    for (std::size_t slot = 0; slot < kernel_.buffers.size() && axis.group < 0; ++slot) {
      if (!kernel_.buffers[slot].read) continue;
      out_.push_back({Opt::Kind::STAGE, a, static_cast<std::int64_t>(slot), 0, {}});
      for (const std::int64_t n : {8, 32}) {
        Opt pack{Opt::Kind::PACK, a, n, 0, {}};
        pack.slot = static_cast<int>(slot);
        out_.push_back(std::move(pack));
      }
    }
  }
  /// For each pair of neighbouring axes, the order in which they are swapped.
  void reorders() {
    for (std::size_t k = 1; k < axes_.order().size() && k < kMostAxes; ++k) {
      Opt opt{Opt::Kind::REORDER, 0, 0, 0, axes_.order()};
      std::swap(opt.order[k - 1], opt.order[k]);
      out_.push_back(std::move(opt));
    }
  }
  void of_buffer(std::size_t slot) {
    const auto n = static_cast<std::int64_t>(slot);
    if (kernel_.buffers[slot].written) out_.push_back({Opt::Kind::STREAM, 0, n, 0, {}});
    out_.push_back({Opt::Kind::GUARD, 0, n, 0, {}});
  }

  const KernelAxes& axes_;
  const Kernel& kernel_;
  std::vector<Opt> out_;
};

std::string refusal_of(const KernelQuestion& question, const KernelAnswer& answer, const Opt& opt) {
  const bool first = makes_kernels(opt.kind);
  try {
    if (!first && opt.kind != Opt::Kind::BLOCK)
      KernelAxes(*answer.record.axes).apply(opt);  // most refusals, without compiling
    std::vector<Opt> opts = answer.kernel.opts;
    if (opt.kind == Opt::Kind::BLOCK) opts.clear();  // it stands alone
    opts.insert(first ? opts.begin() : opts.end(), opt);
    compile_kernel(answer.text.kernel, question.target, std::move(opts));
    return {};
  } catch (const Error& error) {
    if (error.kind() == ErrorKind::budget) throw;
    return error.what();
  }
}

}  // namespace

std::vector<OptCandidate> ask_candidates(const KernelQuestion& question, const KernelAnswer& answer) {
  std::vector<OptCandidate> out;
  for (Opt& opt : Menu(answer.record, answer.kernel).run()) {
    std::string refusal = refusal_of(question, answer, opt);
    out.push_back({std::move(opt), std::move(refusal)});
  }
  return out;
}

}  // namespace strata::tools
