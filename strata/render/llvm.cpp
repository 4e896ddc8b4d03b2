// Renders a list of UOps in its order as a function in SSA form.
#include "strata/render/llvm.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "strata/base/check.h"
#include "strata/base/int_math.h"
#include "strata/base/sort_few.h"
#include "strata/render/llvm_entry.h"
#include "strata/render/llvm_kernel.h"

namespace strata::rendering {

std::string LlvmKernel::render() {
  find_arguments();
  find_assignments();
  const std::string body = function();
  const std::string attributes =
      detail::message("attributes #0 = { nounwind", local_bytes_ > 0 ? " \"probe-stack\"=\"inline-asm\"" : "", " }\n");
  const std::string declarations = text_.declarations();
  std::string out =
      detail::message(body, "\n", llvm_entry(name_, buffers_, variables_), "\n", declarations,
                      declarations.empty() ? "" : "\n", attributes, aligned_.empty() ? "" : "\n!0 = !{ i32 1 }\n");
  if (lines_ != nullptr) note_lines(out);
  return out;
}

LlvmParts LlvmKernel::parts() {
  is_part_ = true;
  find_arguments();
  find_assignments();
  LlvmParts out;
  out.function = function();
  out.declarations.insert(text_.declared().begin(), text_.declared().end());
  return out;
}

/// Fills *lines_: the first line has the arguments; lines behind the function have no UOps.
void LlvmKernel::note_lines(const std::string& text) const {
  lines_->assign(1, {});
  for (const UOp u : list_)
    if (u.op() == UOps::DEFINE_GLOBAL || u.op() == UOps::DEFINE_VAR)
      lines_->front().push_back(static_cast<std::uint32_t>(u.num()));
  const SourceLines body = lines_of(list_, text_.owners());
  lines_->insert(lines_->end(), body.begin(), body.end());
  lines_->resize(count_lines(text));
}

void LlvmKernel::find_arguments() {
  std::unordered_set<std::size_t> stored;
  bool has_special = false, has_barrier = false;
  for (const UOp u : list_) {
    if (u.op() == UOps::STORE) stored.insert(u.src(0).num());
    has_special |= u.op() == UOps::SPECIAL;
    has_barrier |= u.op() == UOps::BARRIER;
  }
  STRATA_CHECK(!has_special || !has_barrier, domain,
               "[uops_to_llvm] instances run one after another: a BARRIER between instances cannot "
               "be rendered");
  for (const UOp u : list_) {
    if (u.op() == UOps::DEFINE_GLOBAL) {
      const auto& global = std::get<Global>(u.arg());
      buffers_.push_back(
          {local_name(global.name), u.dtype(), static_cast<std::size_t>(global.slot), stored.contains(u.num())});
      values_[u.num()] = detail::message("%", buffers_.back().name);
    } else if (u.op() == UOps::DEFINE_VAR) {
      const std::string name = local_name(std::get<Variable>(u.arg()).name());
      variables_.push_back({name, u.dtype(), variables_.size()});
      values_[u.num()] = detail::message("%", name);
    }
  }
  sort_few(buffers_, [](const LlvmArgument& a, const LlvmArgument& b) { return a.position < b.position; });
  if (polls_.any()) buffers_.push_back({"look", {}, static_cast<std::size_t>(polls_.slot), false});
}

/// Finds the accumulators that each block assigns to. They become phi nodes at the beginning of a loop and at the end
/// of a block.
void LlvmKernel::find_assignments() {
  std::vector<UOp> open;
  for (const UOp u : list_) {
    if (u.op() == UOps::LOOP || u.op() == UOps::IF || u.op() == UOps::SPECIAL) {
      open.push_back(u);
      STRATA_CHECK(open.size() <= kMostLlvmBlocks, budget, "[uops_to_llvm] more than ", kMostLlvmBlocks,
                   " blocks nest at ", u.num());
    } else if (u.op() == UOps::ENDLOOP || u.op() == UOps::ENDIF) {
      open.pop_back();
    } else if (u.op() == UOps::PHI && usage_.live(u)) {
      add_assignment(u, open);
    }
  }
}

void LlvmKernel::add_assignment(UOp phi, const std::vector<UOp>& open) {
  const UOp acc = phi.src(0);
  for (std::size_t k = open.size(); k > 0; --k) {
    const std::size_t block = open[k - 1].num();
    if (block < acc.num()) return;
    // If this pair is known already, so are the pairs with the blocks around it.
    if (!known_assigned_.insert(std::uint64_t{block} << 32 | acc.num()).second) return;
    assigned_[block].push_back(acc);
  }
}

std::string LlvmKernel::parameters() const {
  std::string out;
  for (const LlvmArgument& b : buffers_)
    out += detail::message(out.empty() ? "" : ", ", "ptr noalias ", b.stored ? "" : "readonly ", "%", b.name);
  for (const LlvmArgument& v : variables_)
    out += detail::message(out.empty() ? "" : ", ", llvm_type(v.dtype), " %", v.name);
  return out;
}

std::string LlvmKernel::function() {
  text_.begin_block("entry");
  locals_ = text_.reserve();
  for (const UOp u : list_)
    if (usage_.live(u) || u.op() == UOps::SPECIAL) {
      text_.begin(u);
      visit(u);
    }
  text_.begin({});
  while (!blocks_.empty()) end_loop(close());          // of SPECIALs
  if (!aligned_.empty()) text_.line("fence seq_cst");  // orders non-temporal stores
  text_.line("ret void");
  if (polls_.any()) {
    text_.begin_block("left");
    text_.line("ret void");
  }
  return detail::message(is_part_ ? "define hidden void @" : "define internal void @", name_, "(", parameters(),
                         ") #0 {\n", text_.text(), "}\n");
}

void LlvmKernel::visit(UOp u) {
  std::string& out = values_[u.num()];
  switch (u.op()) {
    case UOps::DEFINE_GLOBAL:
    case UOps::DEFINE_VAR:
    case UOps::BARRIER:
    case UOps::CARRY:
    case UOps::CARRIED:
    case UOps::REDUCE: break;  // arguments; with one work-item at a time a BARRIER is empty
    case UOps::DEFINE_LOCAL: define_local(u); break;
    case UOps::CONST: out = llvm_constant(u.dtype(), u.constant()); break;
    case UOps::DEFINE_ACC: out = value(u.src(0)); break;
    case UOps::PHI: out = values_[u.src(0).num()] = value(u.src(1)); break;
    case UOps::SPECIAL: begin_special(u); break;
    case UOps::LOOP: begin_loop(u, {.begin = u, .first = value(u.src(0)), .end = value(u.src(1))}, u.dtype()); break;
    case UOps::IF: begin_if(u); break;
    case UOps::ENDLOOP: end_loop(close()); break;
    case UOps::ENDIF: end_if(close()); break;
    case UOps::LOAD: load(u); break;
    case UOps::STORE: store(u); break;
    case UOps::CAST: out = ops_.cast(name_of(u), u.src(0).dtype(), u.dtype(), value(u.src(0))); break;
    case UOps::BITCAST: out = ops_.bitcast(name_of(u), u.src(0).dtype(), u.dtype(), value(u.src(0))); break;
    case UOps::VECTORIZE: vectorize(u); break;
    case UOps::GEP:
      out = text_.define(name_of(u), "extractelement ", typed(u.src(0)), ", i64 ", std::get<std::int64_t>(u.arg()));
      break;
    case UOps::ALU: out = alu(u); break;
  }
}

std::string LlvmKernel::alu(UOp u) {
  if (const std::optional<Scalar> known = folded(u)) return llvm_constant(u.dtype(), *known);
  std::string operands[3];
  for (std::size_t k = 0; k < u.src().size(); ++k) operands[k] = value(u.src(k));
  return ops_.alu(name_of(u), u, {operands, u.src().size()}, !usage_.data(u));
}

// --- blocks ---

void LlvmKernel::open(UOp u, Block block) {
  if (const auto found = assigned_.find(u.num()); found != assigned_.end()) block.accs = found->second;
  for (const UOp acc : block.accs) block.outer.push_back(value(acc));
  block.before = text_.block();
  blocks_.push_back(std::move(block));
}

Block LlvmKernel::close() {
  Block out = std::move(blocks_.back());
  blocks_.pop_back();
  return out;
}

/// A SPECIAL is a loop over all its values, which ends at the end of the list.
void LlvmKernel::begin_special(UOp u) {
  const auto& special = std::get<Special>(u.arg());
  for (const Block& b : blocks_)
    STRATA_CHECK(b.begin.op() == UOps::SPECIAL, domain, "[uops_to_llvm] ", special.name, " begins inside of a block");
  begin_loop(u,
             {.begin = u,
              .counter = detail::message("%", local_name(special.name)),
              .first = "0",
              .end = std::to_string(special.size),
              .may_skip = false},
             u.dtype());
}

/// Whether a loop has constant bounds and at least one iteration.
static bool runs(UOp loop) {
  const UOp first = loop.src(0), end = loop.src(1);
  if (first.op() != UOps::CONST || end.op() != UOps::CONST) return false;
  return loop.dtype().is_unsigned() ? first.constant().as_uint() < end.constant().as_uint()
                                    : first.constant().as_int() < end.constant().as_int();
}

void LlvmKernel::begin_loop(UOp u, Block block, DType dtype) {
  const std::string type = llvm_type(dtype);
  const std::size_t number = loops_++;
  block.name = detail::message("loop", number);
  if (u.op() == UOps::LOOP) {
    block.counter = detail::message("%ridx", number);
    block.may_skip = !runs(u);
  }
  if (block.may_skip) {
    const std::string enters = text_.define(block.name + ".enters", dtype.is_unsigned() ? "icmp ult " : "icmp slt ",
                                            type, " ", block.first, ", ", block.end);
    text_.line("br i1 ", enters, ", label %", block.name, ", label %", block.name, ".end");
  } else {
    text_.line("br label %", block.name);
  }
  values_[u.num()] = block.counter;
  open(u, std::move(block));
  Block& opened = blocks_.back();
  text_.begin_block(opened.name);
  opened.position = text_.reserve();
  for (const UOp acc : opened.accs) {
    opened.inner.push_back(detail::message("%", name_of(acc), ".", opened.name));
    values_[acc.num()] = opened.inner.back();
  }
  if (u.op() == UOps::LOOP) poll(u, opened);
}

/// Writes the call of `look`, once in looks_.every(loop) iterations; the function returns if the result is not 0.
void LlvmKernel::poll(UOp loop, const Block& block) {
  const std::int64_t every = polls_.every(loop.num());
  if (every == 0) return;
  const std::string polls = block.name + ".looks", goes_on = block.name + ".goes_on", type = llvm_type(loop.dtype());
  if (every > 1) {
    const std::string rest = text_.define(block.name + ".rest", "and ", type, " ", block.counter, ", ", every - 1);
    const std::string now = text_.define(block.name + ".now", "icmp eq ", type, " ", rest, ", 0");
    text_.line("br i1 ", now, ", label %", polls, ", label %", goes_on);
    text_.begin_block(polls);
  }
  const std::string answer = text_.define(block.name + ".answer", "call i32 %look()");
  const std::string leaves = text_.define(block.name + ".leaves", "icmp ne i32 ", answer, ", 0");
  text_.line("br i1 ", leaves, ", label %left, label %", goes_on);
  text_.begin_block(goes_on);
}

void LlvmKernel::end_loop(Block block) {
  const DType dtype = block.begin.dtype();
  const std::string type = llvm_type(dtype), last = text_.block();
  const std::string_view name = std::string_view(block.counter).substr(1);
  const std::string next = text_.define(detail::message(name, ".next"), dtype.is_unsigned() ? "add nuw " : "add nsw ",
                                        type, " ", block.counter, ", 1");
  const std::string more = text_.define(detail::message(name, ".more"), dtype.is_unsigned() ? "icmp ult " : "icmp slt ",
                                        type, " ", next, ", ", block.end);
  text_.line("br i1 ", more, ", label %", block.name, ", label %", block.name, ".end");
  const auto incoming = [&](const std::string& before, const std::string& after) {
    return detail::message("[ ", before, ", %", block.before, " ], [ ", after, ", %", last, " ]");
  };
  text_.begin(block.begin);
  text_.fill(block.position, block.counter, " = phi ", type, " ", incoming(block.first, next));
  text_.begin_block(block.name + ".end");
  for (std::size_t k = 0; k < block.accs.size(); ++k) {
    const UOp acc = block.accs[k];
    text_.begin(acc);
    const std::string held = llvm_type(acc.dtype()), sources = incoming(block.outer[k], value(acc));
    text_.fill(block.position, block.inner[k], " = phi ", held, " ", sources);
    if (block.may_skip)
      values_[acc.num()] =
          text_.define(detail::message(name_of(acc), ".", block.name, ".end"), "phi ", held, " ", sources);
  }
}

void LlvmKernel::begin_if(UOp u) {
  const std::string name = name_of(u);
  text_.line("br i1 ", ops_.any(name + ".any", u.src(0).dtype(), value(u.src(0))), ", label %", name, ", label %", name,
             ".end");
  open(u, {.begin = u, .name = name});
  text_.begin_block(name);
}

void LlvmKernel::end_if(const Block& block) {
  const std::string last = text_.block();
  text_.line("br label %", block.name, ".end");
  text_.begin_block(block.name + ".end");
  for (std::size_t k = 0; k < block.accs.size(); ++k) {
    const UOp acc = block.accs[k];
    text_.begin(acc);
    values_[acc.num()] =
        text_.define(detail::message(name_of(acc), ".", block.name), "phi ", llvm_type(acc.dtype()), " [ ",
                     block.outer[k], ", %", block.before, " ], [ ", value(acc), ", %", last, " ]");
  }
}

// --- memory ---

void LlvmKernel::define_local(UOp u) {
  const auto& local = std::get<Local>(u.arg());
  const auto width = static_cast<std::int64_t>(u.dtype().pointee().itemsize());
  const bool is_first = local_bytes_ == 0;
  local_bytes_ = sat_add(local_bytes_, sat_mul(local.size, width));
  STRATA_CHECK(local_bytes_ <= kMostLlvmLocalBytes, budget, "[uops_to_llvm] with ", local.name, " of ", local.size,
               " elements, the kernel has more than ", kMostLlvmLocalBytes, " bytes of its own");
  const std::string name = detail::message("%", local_name(local.name));
  text_.fill(locals_, name, " = alloca [", local.size, " x ", llvm_memory_type(u.dtype().pointee()), "], align 64");
  // NOTE: LLVM moves the prologue behind branches in front of the first use of the stack. Its stack probe takes a
  // register there (r11 on x86-64) in which a value may be, the end of a loop, for example.
  if (is_first && !is_part_) text_.fill(locals_, "store volatile i8 0, ptr ", name, ", align 64");
  values_[u.num()] = name;
}

/// The address of an access. Not `inbounds` for a masked one, because lanes that are masked out may be outside of the
/// buffer. For an index x + constant, the address of x is computed first, so that accesses that differ by a constant
/// share it; the optimizer may not see that.
std::string LlvmKernel::address(UOp u, const std::string& name, bool inbounds) {
  const UOp pointer = u.src(0), index = u.src(1);
  const DType dtype = index.dtype();
  if (index.op() == UOps::CONST && index.constant().bits() == 0) return value(pointer);
  const auto element = [&](const char* suffix, const char* how, const std::string& base, const std::string& at) {
    return text_.define(name + suffix, "getelementptr ", how, llvm_memory_type(pointer.dtype().pointee()), ", ptr ",
                        base, ", ", at);
  };
  if (index.op() == UOps::ALU && index.alu() == Ops::ADD && !dtype.is_unsigned() && index.src(1).op() == UOps::CONST)
    return element(".at", "", element(".base", "", value(pointer), typed(index.src(0))), "i64 " + value(index.src(1)));
  std::string at = index.op() == UOps::CONST ? "i64 " + value(index) : typed(index);
  if (dtype.is_unsigned() && index.op() != UOps::CONST && dtype.bits() < 64)
    at = detail::message("i64 ", ops_.cast(name + ".index", dtype, dtypes::uint64, value(index)));
  return element(".at", inbounds ? "inbounds " : "", value(pointer), at);
}

std::string LlvmKernel::read(const std::string& name, DType dtype, const std::string& at) {
  const std::string memory = llvm_memory_type(dtype);
  const std::size_t align = dtype.scalar().itemsize();
  if (!dtype.is_bool()) return text_.define(name, "load ", memory, ", ptr ", at, ", align ", align);
  const std::string bytes = text_.define(name + ".bytes", "load ", memory, ", ptr ", at, ", align ", align);
  return text_.define(name, "icmp ne ", memory, " ", bytes, ", ",
                      llvm_constant(dtypes::uint8.vec(dtype.lanes()), Scalar::of(dtypes::uint8, std::int64_t{0})));
}

/// The value as memory holds it: bools as bytes.
std::string LlvmKernel::memory_value(const std::string& name, UOp v) {
  const DType dtype = v.dtype();
  return dtype.is_bool() ? ops_.cast(name + ".bytes", dtype, dtypes::uint8.vec(dtype.lanes()), value(v)) : value(v);
}

void LlvmKernel::load(UOp u) {
  const std::string name = name_of(u);
  std::string& out = values_[u.num()];
  if (u.src().size() == 2) {
    out = read(name, u.dtype(), address(u, name, true));
    return;
  }
  if (u.src(2).dtype().is_vector()) {
    out = masked_read(u, name);
    return;
  }
  const std::string before = text_.block();
  text_.line("br i1 ", value(u.src(2)), ", label %", name, ".then, label %", name, ".end");
  text_.begin_block(name + ".then");
  const std::string inside = read(name + ".in", u.dtype(), address(u, name, true));
  text_.line("br label %", name, ".end");
  text_.begin_block(name + ".end");
  out = text_.define(name, "phi ", llvm_type(u.dtype()), " [ ", inside, ", %", name, ".then ], [ ", value(u.src(3)),
                     ", %", before, " ]");
}

std::string LlvmKernel::masked_read(UOp u, const std::string& name) {
  const DType dtype = u.dtype(), held = dtype.is_bool() ? dtypes::uint8.vec(dtype.lanes()) : dtype;
  const std::string type = llvm_type(held), at = address(u, name, false);
  const std::string other = memory_value(name + ".other", u.src(3));
  const std::string read = text_.call(dtype.is_bool() ? name + ".bytes" : name, type,
                                      detail::message("llvm.masked.load.", llvm_suffix(held), ".p0"),
                                      {{"ptr", at},
                                       {"i32", std::to_string(dtype.scalar().itemsize())},
                                       {llvm_type(u.src(2).dtype()), value(u.src(2))},
                                       {type, other}});
  return ops_.cast(name, held, dtype, read);
}

void LlvmKernel::write(const std::string& name, UOp v, const std::string& at) {
  const std::string bytes = memory_value(name, v);
  text_.line("store ", llvm_memory_type(v.dtype()), " ", bytes, ", ptr ", at, ", align ",
             v.dtype().scalar().itemsize());
}

/// The i1 value, computed once at the beginning of the function, that says whether `pointer` is a multiple of `bytes`.
const std::string& LlvmKernel::is_aligned(UOp pointer, std::int64_t bytes) {
  const std::string name = detail::message(value(pointer), ".in", bytes);
  const auto [it, is_new] = aligned_.try_emplace(name, name);
  if (is_new) {
    text_.fill(locals_, name, ".bits = ptrtoint ptr ", value(pointer), " to i64");
    text_.fill(locals_, name, ".rest = and i64 ", name, ".bits, ", bytes - 1);
    text_.fill(locals_, name, " = icmp eq i64 ", name, ".rest, 0");
  }
  return it->second;
}

/// A non-temporal store if the pointer is aligned at run time, else a plain store.
void LlvmKernel::stream(const std::string& name, UOp v, const std::string& at, UOp pointer, std::int64_t bytes) {
  const std::string held = memory_value(name, v), type = llvm_memory_type(v.dtype());
  text_.line("br i1 ", is_aligned(pointer, bytes), ", label %", name, ".then, label %", name, ".else");
  text_.begin_block(name + ".then");
  text_.line("store ", type, " ", held, ", ptr ", at, ", align ", bytes, ", !nontemporal !0");
  text_.line("br label %", name, ".end");
  text_.begin_block(name + ".else");
  text_.line("store ", type, " ", held, ", ptr ", at, ", align ", v.dtype().scalar().itemsize());
  text_.line("br label %", name, ".end");
  text_.begin_block(name + ".end");
}

void LlvmKernel::store(UOp u) {
  const std::string name = name_of(u);
  const UOp stored = u.src(2);
  if (const auto* const bytes = std::get_if<std::int64_t>(&u.arg()); bytes != nullptr && !is_part_)
    return stream(name, stored, address(u, name, true), u.src(0), *bytes);
  if (u.src().size() == 3) return write(name, stored, address(u, name, true));
  const UOp gate = u.src(3);
  if (gate.dtype().is_vector()) {
    const DType dtype = stored.dtype(), held = dtype.is_bool() ? dtypes::uint8.vec(dtype.lanes()) : dtype;
    const std::string bytes = memory_value(name, stored), at = address(u, name, false);
    text_.call("", "void", detail::message("llvm.masked.store.", llvm_suffix(held), ".p0"),
               {{llvm_type(held), bytes},
                {"ptr", at},
                {"i32", std::to_string(dtype.scalar().itemsize())},
                {llvm_type(gate.dtype()), value(gate)}});
    return;
  }
  text_.line("br i1 ", value(gate), ", label %", name, ".then, label %", name, ".end");
  text_.begin_block(name + ".then");
  write(name, stored, address(u, name, true));
  text_.line("br label %", name, ".end");
  text_.begin_block(name + ".end");
}

// --- vectors ---

/// Writes a VECTORIZE whose operands are lanes of at most two vectors of the same dtype as one shufflevector; false if
/// it is none.
bool LlvmKernel::shuffle(UOp u) {
  if (u.src(0).op() != UOps::GEP) return false;
  const UOp a = u.src(0).src(0);
  UOp b;
  std::string lanes;
  for (const UOp s : u.src()) {
    if (s.op() != UOps::GEP) return false;
    const UOp from = s.src(0);
    if (from != a && !b) b = from;
    if ((from != a && from != b) || from.dtype() != a.dtype() || from.op() == UOps::DEFINE_ACC) return false;
    const std::int64_t lane = std::get<std::int64_t>(s.arg()) + (from == a ? 0 : a.dtype().lanes());
    lanes += detail::message(lanes.empty() ? "" : ", ", "i32 ", lane);
  }
  const std::string second = b ? typed(b) : detail::message(llvm_type(a.dtype()), " poison");
  values_[u.num()] = text_.define(name_of(u), "shufflevector ", typed(a), ", ", second, ", <", u.src().size(),
                                  " x i32> <", lanes, ">");
  return true;
}

/// Writes a VECTORIZE of bool constants, the mask of a choice, as a word that LLVM does not know; false if it is none.
/// Of a known mask LLVM makes a blend behind the operation, whose other lanes it leaves undefined: one instruction
/// more, and a dependence on whichever register it takes those lanes from.
bool LlvmKernel::mask(UOp u) {
  const int lanes = u.dtype().lanes();
  const bool is_word = lanes == 8 || lanes == 16 || lanes == 32 || lanes == 64;
  if (!u.dtype().is_bool() || !is_word || is_part_) return false;
  std::uint64_t bits = 0;
  for (int k = 0; k < lanes; ++k) {
    const UOp lane = u.src(static_cast<std::size_t>(k));
    if (lane.op() != UOps::CONST) return false;
    bits |= (lane.constant().bits() & 1) << k;
  }
  const std::string word = detail::message("i", lanes), name = name_of(u);
  const std::string all = text_.define(name + ".bits", "call ", word, " asm \"\", \"=r,0\"(", word, " ", bits, ")");
  values_[u.num()] = text_.define(name, "bitcast ", word, " ", all, " to ", llvm_type(u.dtype()));
  return true;
}

void LlvmKernel::vectorize(UOp u) {
  if (shuffle(u) || mask(u)) return;
  const std::string type = llvm_type(u.dtype()), name = name_of(u);
  const bool alike = std::ranges::all_of(u.src(), [&](UOp s) { return s == u.src(0); });
  if (alike && u.dtype().is_bool()) {  // a mask of one instruction; a shuffle of i1 is made in vectors of integers
    const std::string bits = detail::message("i", u.dtype().lanes());
    const std::string all = text_.define(name + ".bits", "sext ", typed(u.src(0)), " to ", bits);
    values_[u.num()] = text_.define(name, "bitcast ", bits, " ", all, " to ", type);
    return;
  }
  std::string out = "poison";
  const std::size_t count = alike ? 1 : u.src().size();
  for (std::size_t k = 0; k < count; ++k) {
    const bool last = k + 1 == u.src().size();
    out = text_.define(last ? name : detail::message(name, ".", k), "insertelement ", type, " ", out, ", ",
                       typed(u.src(k)), ", i64 ", k);
  }
  if (alike)
    out = text_.define(name, "shufflevector ", type, " ", out, ", ", type, " poison, <", u.dtype().lanes(),
                       " x i32> zeroinitializer");
  values_[u.num()] = out;
}

}  // namespace strata::rendering

namespace strata {

std::string uops_to_llvm(std::string_view name, const UOpGraph& uops, const LlvmOptions& options) {
  STRATA_CHECK(rendering::is_identifier(name), domain, "[uops_to_llvm] the kernel's name is not an identifier: ", name);
  verify(uops);
  return rendering::LlvmKernel(name, uops, options).render();
}

LlvmParts uops_to_llvm_parts(std::string_view name, const UOpGraph& uops, const LlvmOptions& options) {
  STRATA_CHECK(rendering::is_identifier(name), domain, "[uops_to_llvm] the kernel's name is not an identifier: ", name);
  STRATA_ASSERT(!options.polls.any() && !options.looks.any() && options.lines == nullptr, "a part has neither");
  verify(uops);
  return rendering::LlvmKernel(name, uops, options).parts();
}

std::string llvm_module(std::span<const LlvmParts> parts) {
  std::string out;
  std::set<std::string> declarations;
  for (const LlvmParts& p : parts) {
    out += p.function + "\n";
    declarations.insert(p.declarations.begin(), p.declarations.end());
  }
  for (const std::string& d : declarations) out += d;
  return out + "\nattributes #0 = { nounwind noredzone \"warn-stack-size\"=\"0\" }\n";
}

}  // namespace strata
