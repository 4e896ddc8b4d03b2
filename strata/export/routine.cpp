#include "strata/export/routine.h"

#include <algorithm>
#include <utility>

#include "strata/base/check.h"
#include "strata/base/sort_few.h"
#include "strata/codegen/variables.h"
#include "strata/export/c_text.h"
#include "strata/export/stack.h"
#include "strata/render/cstyle.h"
#include "strata/runtime/order_program.h"
#include "strata/schedule/contraction.h"

namespace strata::exporting {

using detail::message;

namespace {

bool has_f16_vectors(const Kernel& kernel) {
  return std::any_of(kernel.uops.begin(), kernel.uops.end(),
                     [](UOp u) { return u.dtype().is_vector() && u.dtype().scalar() == dtypes::float16; });
}
bool has_f16_vectors_below(const Kernel& kernel) {
  return has_f16_vectors(kernel) || std::any_of(kernel.before.begin(), kernel.before.end(),
                                                [](const auto& first) { return has_f16_vectors(*first); });
}

std::string pointer_type(DType dtype, bool is_written) {
  return message(is_written ? "" : "const ", c_type(dtype), " *");
}

}  // namespace

std::string title_of(const Kernel& kernel) {
  std::string out = kernel.name;
  for (const LazyOp& store : kernel.ast.src()) {
    if (store.op() != Ops::STORE) continue;
    const LazyOp& value = store.src(0);
    out += message(out == kernel.name ? ": " : ", ", value.dtype().name(), " [");
    for (std::size_t k = 0; k < value.shape().size(); ++k)
      out += message(k == 0 ? "" : ", ", value.shape()[k].render());
    out += "]";
  }
  return out;
}

std::string call_of(const Routine& routine, const CallTexts& texts) {
  std::string all;
  const auto add = [&](const std::string& text) { all += message(all.empty() ? "" : ", ", text); };
  for (const Routine::Slot& s : routine.slots)
    add(message("(", pointer_type(s.dtype, s.is_written), ")", texts.pointer(s.slot)));
  for (const Variable& v : routine.variables) add(texts.variable(v));
  for (const std::size_t c : routine.constants) add(texts.constant(c));
  if (routine.work > 0) add(texts.work);
  if (routine.has_threads) add(texts.threads);
  return message(routine.name, "(", all, ");\n");
}

RoutineWriter::RoutineWriter(std::string prefix, const TargetRow& target, bool deterministic, Constants& constants,
                             ObjectCode* object)
    : prefix_(std::move(prefix)),
      target_(object != nullptr ? ObjectCode::target_of(target, deterministic) : target_of_row(target, deterministic)),
      plain_(target_of_row(plain_target(), deterministic)),
      is_plain_(&target == &plain_target()),
      constants_(constants),
      object_(object) {}

std::shared_ptr<const Kernel> RoutineWriter::compiled(const LazyOp& ast, const std::vector<int>& kept,
                                                      bool& is_plain) const {
  try {
    auto out = std::make_shared<const Kernel>(compile_kernel(ast, target_, std::nullopt, nullptr, kept));
    is_plain = is_plain_ || (object_ == nullptr && has_f16_vectors_below(*out));
    // VectorC has no f16 in vectors.
    if (is_plain && !is_plain_)
      out = std::make_shared<const Kernel>(compile_kernel(ast, plain_, std::nullopt, nullptr, kept));
    return out;
  } catch (const Error& error) {
    throw Error(error.kind(), message("[export] the kernel ", kernel_name(ast),
                                      " cannot be compiled for the target: ", error.what()));
  }
}

const RoutineWriter::Unit& RoutineWriter::unit(const std::shared_ptr<const Kernel>& kernel, bool is_plain) {
  auto& known = units_[kernel.get()];
  if (known) return *known;
  known = std::make_unique<Unit>();
  Unit& out = *known;
  out.kernel = kernel;
  out.name = message(prefix_, "_k", units_.size() - 1);
  std::set<std::size_t> stored;
  for (const UOp u : kernel->uops) {
    if (u.op() == UOps::DEFINE_GLOBAL) out.globals.push_back(u);
    if (u.op() == UOps::DEFINE_VAR) out.variables.push_back(u);
    if (u.op() == UOps::STORE) stored.insert(u.src(0).num());
  }
  std::sort(out.globals.begin(), out.globals.end(),
            [](UOp a, UOp b) { return std::get<Global>(a.arg()).slot < std::get<Global>(b.arg()).slot; });
  for (const UOp u : out.globals) out.stored.push_back(stored.contains(u.num()));
  if (object_ == nullptr) {
    write_kernel(out, is_plain);
  } else {
    object_->add(out.name, *kernel);
    declare_kernel(out);
  }
  const auto is_range = [](UOp u) { return is_range_bound(std::get<Variable>(u.arg()).name()); };
  out.is_shared =
      kernel->parallel && kernel->scratch.empty() && std::any_of(out.variables.begin(), out.variables.end(), is_range);
  if (out.is_shared) {
    write_part(out);
    out.stack += frame_of_share() + frame_of_part(out.globals.size() + out.variables.size());
  }
  return out;
}

/// The kernel as a function of the file, and what it calls.
void RoutineWriter::write_kernel(Unit& out, bool is_plain) {
  const std::shared_ptr<const Kernel>& kernel = out.kernel;
  // NOTE: a renderer refuses names that a language of its family reserves, so the model's own name comes later.
  constexpr std::string_view name = "kernel_of_model";
  CStyleParts parts = uops_to_cstyle_parts(is_plain ? plain_c_language() : vector_c_language(), name, kernel->uops);
  parts.function.replace(parts.function.find(name), name.size(), out.name);
  for (const std::string& helper : parts.helpers)
    if (seen_.insert(helper).second) helpers_.push_back(helper);
  for (std::size_t at = 0; at < parts.types.size();) {
    const std::size_t end = parts.types.find('\n', at);
    types_.insert(parts.types.substr(at, end - at));
    at = end + 1;
  }
  const std::size_t begin = parts.function.find("static ");
  STRATA_ASSERT(begin != std::string::npos, "a kernel is no static function");
  parts.function.insert(begin, message(prefix_, "_noinline "));
  functions_.push_back(message(c_comment(title_of(*kernel)), "\n", parts.function));
  out.stack = frame_of(values_of(kernel->uops, std::max(16, target_.vector_bytes)), !parts.helpers.empty());
}

/// The kernel as a function of the object, whose stack LLVM states later.
void RoutineWriter::declare_kernel(const Unit& unit) {
  std::string parameters;
  const auto add = [&](const std::string& type) { parameters += message(parameters.empty() ? "" : ", ", type); };
  for (std::size_t k = 0; k < unit.globals.size(); ++k)
    add(message(pointer_type(unit.globals[k].dtype().scalar(), unit.stored[k]), "d",
                std::get<Global>(unit.globals[k].arg()).slot));
  for (const UOp u : unit.variables)
    add(message(c_type(u.dtype()), " ", variable_name(std::get<Variable>(u.arg()).name())));
  functions_.push_back(message(c_comment(title_of(*unit.kernel)), "\n", prefix_, "_extern void ", unit.name, "(",
                               parameters.empty() ? "void" : parameters, ");\n"));
}

/// The struct with the arguments of a kernel, and the function that runs a part of its loop.
void RoutineWriter::write_part(const Unit& unit) {
  std::string fields;
  CallTexts texts;
  texts.pointer = [](std::size_t slot) { return message("c->d", slot); };
  texts.variable = [](const Variable& v) { return message("c->", variable_name(v.name())); };
  for (std::size_t k = 0; k < unit.globals.size(); ++k)
    fields += message("  ", pointer_type(unit.globals[k].dtype().scalar(), unit.stored[k]), "d",
                      std::get<Global>(unit.globals[k].arg()).slot, ";\n");
  for (const UOp u : unit.variables) {
    const auto& v = std::get<Variable>(u.arg());
    if (!is_range_bound(v.name())) fields += message("  int64_t ", variable_name(v.name()), ";\n");
  }
  functions_.push_back(message("struct ", unit.name, "_call {\n", fields, "};\nstatic void ", unit.name,
                               "_part(void *at, int64_t begin, int64_t end) {\n  const struct ", unit.name,
                               "_call *const c = (const struct ", unit.name, "_call *)at;\n  ", unit.name, "(",
                               arguments(unit, texts, "begin", "end"), ");\n}\n"));
}

std::string RoutineWriter::arguments(const Unit& unit, const CallTexts& texts, const std::string& begin,
                                     const std::string& end) {
  std::string out;
  for (std::size_t k = 0; k < unit.globals.size(); ++k)
    out += message(out.empty() ? "" : ", ",
                   texts.pointer(static_cast<std::size_t>(std::get<Global>(unit.globals[k].arg()).slot)));
  for (const UOp u : unit.variables) {
    const auto& v = std::get<Variable>(u.arg());
    const std::string text = v.name() == kRangeBegin ? begin : v.name() == kRangeEnd ? end : texts.variable(v);
    out += message(out.empty() ? "" : ", ", "(", c_type(u.dtype()), ")", text);
  }
  return out;
}

/// The statements that run a kernel in a routine.
std::string RoutineWriter::run(const Unit& unit, const CallTexts& texts) const {
  const Kernel& kernel = *unit.kernel;
  const std::string count = kernel.parallel ? c_size(*kernel.parallel, texts.variable) : "0";
  if (!unit.is_shared) return message("  ", unit.name, "(", arguments(unit, texts, "0", count), ");\n");
  std::string out = message("  {\n    struct ", unit.name, "_call c;\n");
  for (const UOp u : unit.globals) {
    const auto slot = static_cast<std::size_t>(std::get<Global>(u.arg()).slot);
    out += message("    c.d", slot, " = ", texts.pointer(slot), ";\n");
  }
  for (const UOp u : unit.variables) {
    const auto& v = std::get<Variable>(u.arg());
    if (!is_range_bound(v.name())) out += message("    c.", variable_name(v.name()), " = ", texts.variable(v), ";\n");
  }
  return out + message("    ", prefix_, "_share(threads, ", count, ", ", unit.name, "_part, &c);\n  }\n");
}

/// Completes a routine whose parameters are known.
void RoutineWriter::finish(Routine& routine, const std::string& body) {
  std::string parameters;
  const auto add = [&](const std::string& text) { parameters += message(parameters.empty() ? "" : ", ", text); };
  for (const Routine::Slot& s : routine.slots) add(message(pointer_type(s.dtype, s.is_written), "d", s.slot));
  for (const Variable& v : routine.variables) add(message("int64_t ", variable_name(v.name())));
  for (const std::size_t c : routine.constants) add(message("const unsigned char *p", c));
  if (routine.work > 0) add("unsigned char *work");
  if (routine.has_threads) add(message("const struct ", prefix_, "_threads *threads"));
  routine.text =
      message("static void ", routine.name, "(", parameters.empty() ? "void" : parameters, ") {\n", body, "}\n");
  functions_.push_back(message(c_comment(routine.title), "\n", routine.text));
}

/// Adds the parameters that a kernel of the routine needs, and its slots to `used`.
void RoutineWriter::use(const Unit& unit, Routine& routine, std::set<std::size_t>& used) {
  const auto add = [&](const Variable& v) {
    const auto is_same = [&](const Variable& known) { return known.name() == v.name(); };
    if (!is_range_bound(v.name()) && std::none_of(routine.variables.begin(), routine.variables.end(), is_same))
      routine.variables.push_back(v);
  };
  for (const UOp g : unit.globals) used.insert(static_cast<std::size_t>(std::get<Global>(g.arg()).slot));
  for (const UOp v : unit.variables) add(std::get<Variable>(v.arg()));
  if (const auto& parallel = unit.kernel->parallel; parallel && !parallel->is_number())
    for (const Variable& v : variables(parallel->expr())) add(v);
  routine.has_threads = routine.has_threads || unit.is_shared;
}

/// Sorts the kernels that run first into packings of the routine and those that run at each call.
std::vector<std::shared_ptr<const Kernel>> RoutineWriter::find_packings(const Kernel& kernel, std::vector<bool> fixed,
                                                                        bool is_plain, Routine& routine) {
  std::vector<std::shared_ptr<const Kernel>> out;
  fixed.resize(kernel.buffers.size());
  for (const auto& first : kernel.before) {
    bool keeps = true;
    Packing packing{first, {}, is_plain};
    for (std::size_t slot = 0; slot < first->buffers.size(); ++slot) {
      keeps = keeps && (!first->buffers[slot].read || fixed[slot]);
      if (first->buffers[slot].written) packing.writes.push_back(slot);
    }
    for (const Variable& v : first->variables) keeps = keeps && is_range_bound(v.name());
    if (!keeps) {
      out.push_back(first);
      continue;
    }
    for (const std::size_t slot : packing.writes) fixed[slot] = true;
    routine.packings.push_back(std::move(packing));
  }
  return out;
}

/// Gives the slots that are used a parameter or, the temporaries, a part of the memory to work in. Returns their texts.
std::map<std::size_t, std::string> RoutineWriter::place_slots(const Kernel& kernel, const std::set<std::size_t>& used,
                                                              Routine& routine) {
  std::map<std::size_t, std::string> out;
  std::set<std::size_t> packed;
  for (const Packing& p : routine.packings) packed.insert(p.writes.begin(), p.writes.end());
  const std::set<int> temporaries(kernel.temporaries.begin(), kernel.temporaries.end());
  for (const std::size_t slot : used) {
    const BufferUse& b = kernel.buffers[slot];
    if (packed.contains(slot) || !temporaries.contains(static_cast<int>(slot))) {
      routine.slots.push_back({slot, b.dtype, b.written && !packed.contains(slot)});
      out.emplace(slot, message("d", slot));
      continue;
    }
    out.emplace(slot, message("(", c_type(b.dtype), " *)(work + ", routine.work, ")"));
    routine.work += aligned(b.size.vmax() * static_cast<std::int64_t>(b.dtype.itemsize()));
  }
  return out;
}

/// The routine of a kernel of the host, and the functions that it calls.
const Routine& RoutineWriter::order(const LazyOp& ast) {
  for (const Made& m : made_)
    if (m.ast == ast) return *m.routine;
  const Kernel kernel = order_kernel(ast, target_);
  const OrderPlan& plan = *kernel.order;
  for (OrderPart& part : order_parts(plan))
    if (seen_.insert("order: " + part.name).second) functions_.push_back(std::move(part.text));
  auto routine = std::make_unique<Routine>();
  routine->name = message(prefix_, "_r", made_.size());
  routine->title = title_of(kernel);
  routine->buffers = kernel.buffers;
  routine->slots = {{0, kernel.buffers[0].dtype, true}, {1, kernel.buffers[1].dtype, false}};
  for (const Variable& v : kernel.variables)
    if (!is_range_bound(v.name()) && !v.bound_value()) routine->variables.push_back(v);
  routine->work = aligned(order_work_bytes(plan));
  const auto number = [](const Int& n) {
    return c_size(
        n, [](const Variable& v) { return v.bound_value() ? message(*v.bound_value()) : variable_name(v.name()); });
  };
  std::string body = "  struct strata_order rows;\n";
  const auto set = [&](std::string_view field, const std::string& value) {
    body += message("  rows.", field, " = ", value, ";\n");
  };
  const OrderRows& rows = plan.rows;
  set("from", rows.offset == Int(0) ? "d1" : message("d1 + ", number(rows.offset)));
  set("to", "d0");
  set("work", "work");
  set("outer_step", number(rows.outer_step));
  set("inner_step", number(rows.inner_step));
  set("step", number(rows.step));
  set("inner", number(rows.inner));
  set("rows", number(rows.outer * rows.inner));
  set("size", number(plan.size));
  set("first", number(plan.arg.first));
  set("count", number(plan.count));
  set("infinity", message(infinity_of(plan.dtype), "u"));
  set("is_unsigned", plan.dtype.is_unsigned() || plan.dtype.is_bool() ? "1" : "0");
  set("is_descending", plan.arg.is_descending ? "1" : "0");
  body += message("  if (rows.rows > 0 && rows.count > 0) { ", order_function(plan), "(&rows, 0, ",
                  number(plan.groups()), "); }\n");
  routine->stack = frame_of_caller(routine->parameters(), 3, order_stack_bytes(plan));
  finish(*routine, body);
  made_.push_back({ast, {}, {}, std::move(routine)});
  return *made_.back().routine;
}

const Routine& RoutineWriter::kernel(const LazyOp& ast, const std::vector<SlotFacts>& facts) {
  if (ordered_by(ast) != nullptr) return order(ast);
  std::vector<bool> fixed;
  std::vector<Narrowing> narrow;
  for (const SlotFacts& f : facts) fixed.push_back(f.is_fixed), narrow.push_back(f.narrow);
  for (const Made& m : made_)
    if (m.ast == ast && m.fixed == fixed && m.narrow == narrow) return *m.routine;
  std::vector<int> kept;
  if (reductions_of(ast) >= ReductionKind::plain)
    for (std::size_t slot = 0; slot < fixed.size(); ++slot)
      if (fixed[slot]) kept.push_back(static_cast<int>(slot));
  bool is_plain = false;
  const std::shared_ptr<const Kernel> kernel = compiled(widening(ast, narrow), kept, is_plain);
  auto routine = std::make_unique<Routine>();
  routine->name = message(prefix_, "_r", made_.size());
  routine->title = title_of(*kernel);
  routine->buffers = kernel->buffers;
  std::vector<const Unit*> units;
  for (const auto& first : find_packings(*kernel, fixed, is_plain, *routine)) units.push_back(&unit(first, is_plain));
  const Unit& main = unit(kernel, is_plain);
  units.push_back(&main);
  std::set<std::size_t> used;
  for (const Unit* u : units) use(*u, *routine, used);
  const std::map<std::size_t, std::string> pointers = place_slots(*kernel, used, *routine);
  CallTexts texts;
  texts.pointer = [&](std::size_t slot) { return pointers.at(slot); };
  texts.variable = [](const Variable& v) { return variable_name(v.name()); };
  std::string body;
  std::size_t parameters = 0;
  std::int64_t structs = 0;
  for (const Unit* u : units) {
    body += run(*u, texts);
    routine->stack = std::max(routine->stack, u->stack);
    const std::size_t given = u->globals.size() + u->variables.size();
    parameters = std::max(parameters, u->is_shared ? 4 : given);
    if (u->is_shared) structs = std::max(structs, static_cast<std::int64_t>(8 * given));
  }
  const bool is_main_alone = units.size() == 1 && routine->work == 0 && !main.is_shared && main.variables.empty();
  if (is_main_alone)
    routine->name = main.name;
  else
    finish(*routine, body);
  if (!is_main_alone) routine->stack += frame_of_caller(routine->parameters(), parameters, structs);
  made_.push_back({ast, fixed, narrow, std::move(routine)});
  return *made_.back().routine;
}

std::string RoutineWriter::packing(const Packing& packing, const CallTexts& texts, Routine& routine) {
  const Unit& u = unit(packing.kernel, packing.is_plain);
  routine.has_threads = routine.has_threads || u.is_shared;
  routine.stack = std::max(routine.stack, u.stack);
  CallTexts typed = texts;
  typed.pointer = [&](std::size_t slot) {
    const BufferUse& b = packing.kernel->buffers[slot];
    return message("(", pointer_type(b.dtype, b.written), ")(", texts.pointer(slot), ")");
  };
  return run(u, typed);
}

std::optional<std::vector<std::size_t>> RoutineWriter::known(const Packing& packing,
                                                             const std::vector<SlotFacts>& facts,
                                                             std::vector<std::optional<Known>>& packed) {
  const Kernel& kernel = *packing.kernel;
  std::vector<std::vector<std::byte>> memory(kernel.buffers.size());
  packed.resize(std::max(packed.size(), kernel.buffers.size()));
  for (std::size_t slot = 0; slot < kernel.buffers.size(); ++slot) {
    const BufferUse& b = kernel.buffers[slot];
    if (b.dtype.is_none()) continue;
    const auto bytes = static_cast<std::size_t>(b.size.vmax()) * b.dtype.itemsize();
    memory[slot].resize(std::max<std::size_t>(bytes, 1));
    if (!b.read) continue;
    const std::optional<Known> from = packed[slot]          ? packed[slot]
                                      : slot < facts.size() ? facts[slot].known
                                                            : std::optional<Known>();
    if (!from) return std::nullopt;
    std::copy_n(from->data, std::min(bytes, static_cast<std::size_t>(from->bytes)), memory[slot].begin());
  }
  const CompiledKernel ready = compile_programs(packing.kernel, Device::default_device());
  std::vector<void*> arguments;
  for (std::vector<std::byte>& m : memory) arguments.push_back(m.data());
  std::vector<std::int64_t> values(kernel.variables.size());
  ready.replay(arguments, values);
  std::vector<std::size_t> out;
  for (const std::size_t slot : packing.writes) {
    out.push_back(constants_.add(kernel.buffers[slot].dtype, std::move(memory[slot])));
    const Constant& c = constants_.all()[out.back()];
    packed[slot] = Known{c.data, c.bytes};
  }
  return out;
}

}  // namespace strata::exporting
