// The reference interpreter of lists: a register for each lane of each UOp, and one UOp after another.
//
// The instances of a launch run one after another; with barriers, all instances run up to the first barrier, then up to
// the next. They share scratch memory, which is filled with bytes of 255, so that uninitialized reads are noticed.
#include <algorithm>
#include <cstddef>
#include <cstring>
#include <string>
#include <utility>
#include <vector>

#include "strata/base/check.h"
#include "strata/base/int_math.h"
#include "strata/ir/evaluate.h"
#include "strata/ir/uop.h"

namespace strata {
namespace {

constexpr std::uint64_t kMostRegisters = std::uint64_t{1} << 26;  // of all instances that wait at a barrier
constexpr std::int64_t kMostScratch = std::int64_t{1} << 32;      // bytes

/// "[interpret] 5 UOps.STORE": the beginning of a message, with the beginning of the UOp's line in the listing.
std::string failing_place(UOp u) { return detail::message("[interpret] ", u.num(), " ", spec_name(u.op())); }

using VariableValues = std::span<const std::pair<std::string, std::int64_t>>;

/// The memory behind a pointer.
struct Target {
  std::byte* data = nullptr;
  std::int64_t size = 0;  ///< elements
  std::string_view name;
};

/// A prepared list: the registers of UOps, the ends of blocks, the memory of pointers and the values of variables.
class Program {
 public:
  Program(const UOpGraph& uops, std::span<const Memory> buffers, VariableValues values, const AccessObserver& told)
      : list(uops), observer(told ? &told : nullptr), first(uops.size()), partner(uops.size()) {
    target.resize(uops.size());
    function.resize(uops.size());
    for (const UOp u : uops) {
      prepare(u);
      first[u.num()] = registers;
      registers += lanes(u) + (u.op() == UOps::LOOP ? 1 : 0);  // a LOOP also stores its end
    }
    start.resize(registers);
    for (const UOp u : uops) set(u, buffers, values);
  }

  /// The number of lanes of the value of `u`; 0 for none and pointers.
  static std::size_t lanes(UOp u) {
    if (u.dtype().is_none() || u.dtype().is_pointer()) return 0;
    return static_cast<std::size_t>(u.dtype().lanes());
  }

  /// The number of instances of the launch.
  std::uint64_t instances() const {
    std::int64_t count = 1;
    for (const UOp u : specials)
      STRATA_CHECK(try_mul(count, std::get<Special>(u.arg()).size, count), budget,
                   "[interpret] the launch has more than 2^63 instances");
    return static_cast<std::uint64_t>(count);
  }

  const UOpGraph& list;
  const AccessObserver* observer;        ///< null without an observer
  std::vector<std::size_t> first;        ///< the first register of each UOp
  std::vector<std::size_t> partner;      ///< for LOOP and IF: the number of the matching end
  std::vector<Target> target;            ///< for DEFINE_GLOBAL and DEFINE_LOCAL
  std::vector<ScalarFunction> function;  ///< for ALU, CAST and BITCAST
  std::vector<UOp> specials;
  std::vector<Scalar> start;  ///< the initial registers, with constants and variables set
  std::size_t registers = 0;
  bool has_barrier = false;

 private:
  void prepare(UOp u) {
    switch (u.op()) {
      case UOps::ENDLOOP:
      case UOps::ENDIF: partner[u.src(0).num()] = u.num(); break;
      case UOps::SPECIAL: specials.push_back(u); break;
      case UOps::BARRIER: has_barrier = true; break;
      case UOps::ALU: function[u.num()] = scalar_function(u.alu(), u.src().back().dtype()); break;
      case UOps::CAST: function[u.num()] = scalar_function(Ops::CAST, u.src(0).dtype()); break;
      case UOps::BITCAST: function[u.num()] = scalar_function(Ops::BITCAST, u.src(0).dtype()); break;
      default: break;
    }
  }

  void set(UOp u, std::span<const Memory> buffers, VariableValues values) {
    if (u.op() == UOps::CONST) std::fill_n(start.begin() + offset(u), lanes(u), u.constant());
    if (u.op() == UOps::DEFINE_VAR) start[first[u.num()]] = Scalar::of(u.dtype(), variable(u, values));
    if (u.op() == UOps::DEFINE_GLOBAL) target[u.num()] = global(u, buffers);
    if (u.op() == UOps::DEFINE_LOCAL) target[u.num()] = local(u);
  }
  std::ptrdiff_t offset(UOp u) const { return static_cast<std::ptrdiff_t>(first[u.num()]); }

  static std::int64_t variable(UOp u, VariableValues values) {
    const auto& variable = std::get<Variable>(u.arg());
    for (const auto& [name, value] : values) {
      if (name != variable.name()) continue;
      STRATA_CHECK(value >= variable.min() && value <= variable.max(), domain, failing_place(u), " ", name, " is ",
                   value, ", not from ", variable.min(), " to ", variable.max());
      return value;
    }
    STRATA_CHECK(false, domain, failing_place(u), " ", variable.name(), " has no value");
    return 0;
  }

  static Target global(UOp u, std::span<const Memory> buffers) {
    const auto& global = std::get<Global>(u.arg());
    const auto slot = static_cast<std::size_t>(global.slot);
    STRATA_CHECK(slot < buffers.size(), domain, failing_place(u), " ", global.name, " is buffer ", slot, " of ",
                 buffers.size());
    const Memory& memory = buffers[slot];
    STRATA_CHECK(memory.size >= 0 && (memory.data != nullptr || memory.size == 0), domain, failing_place(u), " ",
                 global.name, " has no memory for ", memory.size, " elements");
    return {static_cast<std::byte*>(memory.data), memory.size, global.name};
  }

  Target local(UOp u) {
    const auto& local = std::get<Local>(u.arg());
    const auto width = static_cast<std::int64_t>(u.dtype().pointee().itemsize());
    STRATA_CHECK(local.size <= (kMostScratch - scratch_bytes_) / width, budget, failing_place(u), " ", local.name,
                 " of ", local.size, " elements is more scratch memory than ", kMostScratch, " bytes");
    scratch_bytes_ += local.size * width;
    scratch_.emplace_back(static_cast<std::size_t>(local.size * width), std::byte{255});
    return {scratch_.back().data(), local.size, local.name};
  }

  std::vector<std::vector<std::byte>> scratch_;
  std::int64_t scratch_bytes_ = 0;
};

/// One instance of the launch: its registers and its next UOp.
class Instance {
 public:
  /// The instance number `index`; the first SPECIAL varies fastest.
  Instance(const Program& program, std::uint64_t index) : program_(&program), registers_(program.start) {
    for (const UOp u : program.specials) {
      const auto size = static_cast<std::uint64_t>(std::get<Special>(u.arg()).size);
      at(u)[0] = Scalar::of(u.dtype(), index % size);
      index /= size;
    }
  }

  bool is_done() const { return next_ == program_->list.size(); }

  /// Runs up to the next BARRIER or the end. `left`, the budget, is decremented for each UOp.
  void run(std::uint64_t& left) {
    while (!is_done()) {
      const UOp u = program_->list[next_++];
      STRATA_CHECK(left > 0, budget, failing_place(u), " exceeds the budget of UOps");
      --left;
      if (u.op() == UOps::BARRIER) return;
      step(u);
    }
  }

 private:
  Scalar* at(UOp u) { return registers_.data() + program_->first[u.num()]; }
  /// Lane k of a vector; a scalar itself.
  const Scalar& lane(UOp u, std::size_t k) { return at(u)[u.dtype().is_vector() ? k : 0]; }

  void step(UOp u) {
    switch (u.op()) {
      case UOps::DEFINE_ACC: return copy(u, at(u.src(0)));
      case UOps::PHI: return assign(u);
      case UOps::LOOP: return begin_loop(u);
      case UOps::ENDLOOP: return end_loop(u.src(0));
      case UOps::IF: return begin_if(u);
      case UOps::LOAD: return load(u);
      case UOps::STORE: return store(u);
      case UOps::ALU:
      case UOps::CAST:
      case UOps::BITCAST: return compute(u);
      case UOps::VECTORIZE:
        for (std::size_t k = 0; k < u.src().size(); ++k) at(u)[k] = *at(u.src(k));
        return;
      case UOps::GEP: return copy(u, at(u.src(0)) + std::get<std::int64_t>(u.arg()));
      case UOps::DEFINE_GLOBAL:
      case UOps::DEFINE_LOCAL:
      case UOps::DEFINE_VAR:
      case UOps::SPECIAL:
      case UOps::CONST:
      case UOps::ENDIF:
      case UOps::BARRIER:
      case UOps::CARRY:
      case UOps::CARRIED:
      case UOps::REDUCE: return;  // set in Program::start, or nothing to do; verify() refuses a REDUCE
    }
  }

  void copy(UOp u, const Scalar* from) { std::copy_n(from, Program::lanes(u), at(u)); }

  void assign(UOp u) {
    copy(u, at(u.src(1)));
    copy(u.src(0), at(u));
  }

  void begin_if(UOp u) {
    const Scalar* lanes = at(u.src(0));
    const auto is_true = [](const Scalar& lane) { return lane.as_bool(); };
    if (std::none_of(lanes, lanes + Program::lanes(u.src(0)), is_true)) next_ = program_->partner[u.num()] + 1;
  }

  /// True iff the counter is below the end.
  static bool is_inside(const Scalar* loop) {
    if (loop->dtype().is_unsigned()) return loop[0].as_uint() < loop[1].as_uint();
    return loop[0].as_int() < loop[1].as_int();
  }

  void begin_loop(UOp u) {
    Scalar* loop = at(u);
    const Scalar begin = *at(u.src(0)), end = *at(u.src(1));
    loop[0] = begin;
    loop[1] = end;
    if (!is_inside(loop)) next_ = program_->partner[u.num()] + 1;
  }

  void end_loop(UOp begun) {
    Scalar* loop = at(begun);
    const DType dtype = loop->dtype();  // the counter is below an end of its dtype: adding 1 does not overflow
    loop[0] = dtype.is_unsigned() ? Scalar::of(dtype, loop->as_uint() + 1) : Scalar::of(dtype, loop->as_int() + 1);
    if (is_inside(loop)) next_ = begun.num() + 1;
  }

  void compute(UOp u) {
    const ScalarFunction f = program_->function[u.num()];
    STRATA_ASSERT(f != nullptr, failing_place(u), " has no function");
    const std::span<const UOp> src = u.src();
    const DType result = u.dtype().scalar();
    Scalar operands[3];
    Scalar* out = at(u);
    for (std::size_t k = 0; k < Program::lanes(u); ++k) {
      for (std::size_t i = 0; i < src.size(); ++i) operands[i] = at(src[i])[k];
      out[k] = f({operands, src.size()}, result);
    }
  }

  /// The address of lane k of an access. @throws Error (domain) where it is outside of the buffer
  std::byte* address(UOp u, std::size_t k, const char* does) {
    const UOp pointer = u.src(0);
    const Target& target = program_->target[pointer.num()];
    const Scalar& index = *at(u.src(1));
    const Int128 element =
        (index.dtype().is_unsigned() ? Int128(index.as_uint()) : Int128(index.as_int())) + static_cast<Int128>(k);
    STRATA_CHECK(element >= 0 && element < target.size, domain, failing_place(u), " ", does, " element ", index.text(),
                 k == 0 ? std::string() : detail::message(" + ", k), " of ", target.name, ", which has ", target.size);
    if (program_->observer != nullptr) (*program_->observer)(u, static_cast<std::int64_t>(element));
    const auto width = static_cast<Int128>(pointer.dtype().pointee().itemsize());
    return target.data + static_cast<std::ptrdiff_t>(element * width);
  }

  void load(UOp u) {
    const bool gated = u.src().size() == 4;
    const DType dtype = u.dtype().scalar();
    Scalar* out = at(u);
    for (std::size_t k = 0; k < Program::lanes(u); ++k) {
      const bool reads = !gated || lane(u.src(2), k).as_bool();
      out[k] = reads ? load_scalar(dtype, address(u, k, "reads")) : at(u.src(3))[k];
    }
  }

  void store(UOp u) {
    const bool gated = u.src().size() == 4;
    const Scalar* value = at(u.src(2));
    for (std::size_t k = 0; k < Program::lanes(u.src(2)); ++k)
      if (!gated || lane(u.src(3), k).as_bool()) store_scalar(value[k], address(u, k, "writes"));
  }

  const Program* program_;
  std::vector<Scalar> registers_;
  std::size_t next_ = 0;
};

/// Runs all instances together, from barrier to barrier.
void run_together(const Program& program, std::uint64_t count, std::uint64_t budget) {
  STRATA_CHECK(count <= kMostRegisters / std::max<std::size_t>(program.registers, 1), budget, "[interpret] ", count,
               " instances wait at barriers, with ", program.registers, " registers each: more than ", kMostRegisters);
  std::vector<Instance> all;
  all.reserve(static_cast<std::size_t>(count));
  for (std::uint64_t k = 0; k < count; ++k) all.emplace_back(program, k);
  const auto is_done = [](const Instance& instance) { return instance.is_done(); };
  while (!std::ranges::all_of(all, is_done))
    for (Instance& instance : all) instance.run(budget);
}

}  // namespace

void interpret(const UOpGraph& list, std::span<const Memory> buffers, VariableValues values, std::uint64_t budget,
               const AccessObserver& observer) {
  verify(list);
  const Program program(list, buffers, values, observer);
  const std::uint64_t count = program.instances();
  if (program.has_barrier) return run_together(program, count, budget);
  for (std::uint64_t k = 0; k < count; ++k) Instance(program, k).run(budget);
}

}  // namespace strata
