#include "tools/ask_order.h"

#include <algorithm>
#include <cmath>

#include "strata/base/meter.h"

namespace strata::tools {
namespace {

constexpr double kUnitsOfAnElement = 16;  // units of work for an element that the interpreter computes
constexpr std::uint64_t kUnitsOfAnAccess = 16;
constexpr std::uint64_t kSeed = 2026;

void charge_work(double units, Work& work) { work.charge(static_cast<std::size_t>(std::min(std::ceil(units), 9e18))); }

std::vector<std::int64_t> numbers_of(const std::vector<BufferUse>& buffers, const KernelSizes& sizes) {
  std::vector<std::int64_t> out;
  for (const BufferUse& use : buffers) out.push_back(use.dtype.is_none() ? 0 : sizes(use.size));
  return out;
}

/// Counts and records accesses, up to a limit.
class Accesses {
 public:
  Accesses(std::vector<std::int64_t>& triples, std::int64_t limit) : triples_(triples), limit_(limit) {}

  void note(UOp access, std::int64_t element) {
    STRATA_CHECK(count() < limit_, budget, "[order] the kernel makes more than ", limit_,
                 " accesses: a larger limit shows more, up to ", most_accesses);
    Meter::charge(kUnitsOfAnAccess);
    const auto* const global = std::get_if<Global>(&access.src(0).arg());
    const std::int64_t slot = global == nullptr ? -1 : global->slot;
    triples_.insert(triples_.end(), {static_cast<std::int64_t>(access.num()), slot, element});
  }
  std::int64_t count() const { return static_cast<std::int64_t>(triples_.size() / 3); }

 private:
  std::vector<std::int64_t>& triples_;
  std::int64_t limit_;
};

/// The values of all variables in the list of UOps, with begin0 and end0 set to the whole parallel loop.
VariableValues values_in_list(const Kernel& kernel, const KernelSizes& sizes, VariableValues values) {
  if (!kernel.parallel) return values;
  values.emplace_back(kRangeBegin, 0);
  values.emplace_back(kRangeEnd, sizes(*kernel.parallel));
  return values;
}

}  // namespace

VariableValues all_values(const KernelText& text, const VariableValues& given) {
  for (const auto& [name, value] : given)
    STRATA_CHECK(
        std::any_of(text.variables.begin(), text.variables.end(), [&](const Variable& v) { return v.name() == name; }),
        domain, "[values] the kernel has no variable ", name);
  VariableValues out;
  for (const Variable& v : text.variables) {
    const auto it =
        std::find_if(given.begin(), given.end(), [&](const auto& known) { return known.first == v.name(); });
    const std::int64_t value = it == given.end() ? v.max() : it->second;
    STRATA_CHECK(v.min() <= value && value <= v.max(), domain, "[values] ", v.name(), " = ", value,
                 " is outside of its bounds [", v.min(), ", ", v.max(), "]");
    out.emplace_back(v.name(), value);
  }
  return out;
}

OrderAnswer ask_order(const KernelAnswer& asked, const VariableValues& values, std::int64_t limit, Work& work) {
  const Kernel& kernel = asked.kernel;
  OrderAnswer out;
  out.values = all_values(asked.text, values);
  const KernelSizes sizes(out.values);
  charge_work(work_of(kernel, out.values).bytes, work);
  out.sizes = numbers_of(kernel.buffers, sizes);
  const KernelMemory memory =
      random_memory(kernel.buffers, kernel.buffers.size() - kernel.temporaries.size(), sizes, kSeed);
  Accesses accesses(out.triples, limit);
  const auto run = [&](const Kernel& k) {
    const std::int64_t before = accesses.count();
    interpret(k.uops, memory.buffers, values_in_list(k, sizes, out.values), work.left(),
              [&](UOp access, std::int64_t element) { accesses.note(access, element); });
    out.kernels.push_back({k.name, accesses.count() - before});
  };
  for (const auto& first : kernel.before) run(*first);
  run(kernel);
  work.charge(out.triples.size());
  return out;
}

EvaluateAnswer ask_evaluate(const KernelText& text, const VariableValues& values, std::uint64_t seed, Work& work) {
  EvaluateAnswer out;
  out.values = all_values(text, values);
  out.buffers = buffers_of(text.kernel);
  const KernelSizes sizes(out.values);
  const KernelWork asked = work_of(text.kernel, out.buffers, out.values);
  charge_work(kUnitsOfAnElement * asked.oracle_elements + asked.bytes, work);
  out.sizes = numbers_of(out.buffers, sizes);
  out.before = random_memory(out.buffers, out.buffers.size(), sizes, seed);
  out.after = random_memory(out.buffers, out.buffers.size(), sizes, seed);
  interpret(text.kernel, out.after.buffers, out.values);
  return out;
}

}  // namespace strata::tools
