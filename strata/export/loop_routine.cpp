// The routine of a loop: the plan of a LoopProgram (engine/loop_program.h) as a `for` in C.

#include <algorithm>

#include "strata/base/check.h"
#include "strata/engine/loop_program.h"
#include "strata/export/c_text.h"
#include "strata/export/routine.h"
#include "strata/export/stack.h"

namespace strata::exporting {

using detail::message;

namespace {

const LoopPlan* plan_of(const CompiledKernel& kernel) {
  const auto* const program = dynamic_cast<const LoopProgram*>(&kernel.program());
  return program != nullptr ? &program->plan() : nullptr;
}

/// Whether `text` has `name` as a whole word.
bool is_used(std::string_view text, std::string_view name) {
  const auto is_word = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
  };
  for (std::size_t at = text.find(name); at != std::string_view::npos; at = text.find(name, at + 1)) {
    const std::size_t end = at + name.size();
    if ((at == 0 || !is_word(text[at - 1])) && (end == text.size() || !is_word(text[end]))) return true;
  }
  return false;
}

bool is_zero(const Int& n) { return n.is_number() && n.value() == 0; }

}  // namespace

/// A loop, with what is known of its slots.
struct RoutineWriter::LoopTask {
  const CompiledKernel* kernel;
  std::vector<SlotFacts> facts;
  std::vector<std::size_t> inner = {};  ///< by launch: the task of a loop; the own number where it is none

  std::size_t outputs() const {
    std::size_t out = 0;
    for (const BufferUse& b : kernel->kernel().buffers) out += b.written && !b.read ? 1 : 0;
    return out;
  }
  std::size_t temporary() const { return kernel->kernel().buffers.size() - 1; }
  /// What is known of a cell of a step.
  SlotFacts cell(std::size_t c) const {
    const LoopPlan& plan = *plan_of(*kernel);
    SlotFacts out;
    if (c >= plan.places.size()) return out;
    const LoopPlace& p = plan.places[c];
    if (p.slot < outputs() || p.slot == temporary() || !is_zero(p.stride)) return out;
    out.is_fixed = true;
    if (p.slot > temporary()) {  // a constant that the whole program shares
      const Buffer& all = plan.shared[p.slot - temporary() - 1];
      out.known = Known{static_cast<const std::byte*>(all.data()), static_cast<std::int64_t>(all.nbytes())};
    }
    if (p.slot < facts.size() && facts[p.slot].known && p.offset.is_number()) {
      const Known& all = *facts[p.slot].known;
      out.known = Known{all.data + p.offset.value(), all.bytes - p.offset.value()};
    }
    return out;
  }
  std::vector<SlotFacts> facts_of(const StepLaunch& launch) const {
    const Kernel& k = launch.kernel->kernel();
    std::vector<SlotFacts> out;
    for (std::size_t slot = 0; slot + k.temporaries.size() < k.buffers.size(); ++slot)
      out.push_back(cell(launch.cells[slot]));
    return out;
  }
};

/// Writes one loop.
class RoutineWriter::LoopText {
 public:
  LoopText(RoutineWriter& writer, const LoopTask& task, std::vector<const Routine*> steps)
      : w_(writer), task_(task), plan_(*plan_of(*task.kernel)), steps_(std::move(steps)) {}

  std::unique_ptr<Routine> write(std::string name) {
    const Kernel& kernel = task_.kernel->kernel();
    auto out = std::make_unique<Routine>();
    routine_ = out.get();
    routine_->name = std::move(name);
    routine_->title = message("a loop of ", plan_.count.render(), " steps");
    routine_->buffers = kernel.buffers;
    for (std::size_t slot = 0; slot < task_.temporary(); ++slot)
      routine_->slots.push_back({slot, dtypes::uint8, slot < task_.outputs()});
    for (const Variable& v : plan_.variables)
      if (!v.bound_value()) routine_->variables.push_back(v);
    routine_->work = aligned(kernel.buffers[task_.temporary()].size.vmax());
    texts_.variable = [](const Variable& v) {
      return v.bound_value() ? message(*v.bound_value()) : variable_name(v.name());
    };
    texts_.threads = "threads";
    begin();
    std::string steps;
    std::int64_t most = 0;
    std::string packings;
    for (std::size_t k = 0; k < plan_.launches.size(); ++k) steps += launch(k, packings, most);
    work_at_end(most, steps);
    std::string body = begin_ + "  for (; k < count";
    if (plan_.goes_on) body += " && goes_on";
    body += "; ++k) {\n" + move();
    if (!packings.empty()) body += "    if (k == 0) {\n" + packings + "    }\n";
    body += steps;
    for (const StepCopy& c : plan_.copies)
      body +=
          message("    ", w_.prefix_, "_copy(", cell(c.to), ", ", cell(c.from), ", (size_t)", size(c.bytes), ");\n");
    if (plan_.goes_on) body += message("    goes_on = *", cell(*plan_.goes_on), " != 0;\n");
    body += "  }\n" + end();
    for (std::size_t c = 0; c < plan_.places.size(); ++c)
      if (!is_used(body.substr(begin_.size()), cell(c)))
        body.insert(begin_.size(), message("  (void)", cell(c), ";\n"));
    for (const Routine::Slot& s : routine_->slots)
      if (const std::string name_of_slot = message("d", s.slot); !is_used(body, name_of_slot))
        body.insert(0, message("  (void)", name_of_slot, ";\n"));
    if (!is_used(body, "work")) body.insert(0, "  (void)work;\n");
    for (const Variable& v : routine_->variables) body.insert(0, message("  (void)", variable_name(v.name()), ";\n"));
    const std::size_t cells = plan_.places.size() + 5 * plan_.states.size() + 3;
    routine_->stack += frame_of_caller(routine_->parameters() + cells, called_, 8 * static_cast<std::int64_t>(cells));
    w_.finish(*routine_, body);
    return out;
  }

 private:
  std::string size(const Int& n) const { return c_size(n, texts_.variable); }
  bool is_const(const LoopPlace& p) const { return p.slot >= task_.outputs() && p.slot != task_.temporary(); }
  std::string slot(std::size_t s) const {
    if (s <= task_.temporary()) return s == task_.temporary() ? "(work)" : message("(d", s, ")");
    const Buffer& all = plan_.shared[s - task_.temporary() - 1];
    return constant(w_.constants_.add(all.dtype(), all.data(), static_cast<std::int64_t>(all.nbytes())));
  }
  std::string at(const LoopPlace& p) const {
    const std::string base = message(is_const(p) ? "(const unsigned char *)" : "(unsigned char *)", slot(p.slot));
    return is_zero(p.offset) ? base : message(base, " + ", size(p.offset));
  }
  std::string cell(std::size_t c) const {
    if (c < plan_.places.size()) return message("c", c);
    const std::size_t state = (c - plan_.places.size()) / 2;
    return message((c - plan_.places.size()) % 2 == 0 ? "s" : "t", state);
  }

  /// The declaration of the number of steps. A counted loop (a gradient of while_loop()) does as many as the loop
  /// before it did, which a tensor says; no number there makes the loop leave its memory.
  std::string count() const {
    const std::string most = size(plan_.count);
    if (!plan_.last_source || plan_.goes_on) return message("  const int64_t count = ", most, ";\n");
    const std::string given = at(*plan_.last_source), copy = message(w_.prefix_, "_copy(&given, ", given, ", 8)");
    return message("  const int64_t most = ", most, ";\n  int64_t given, count;\n  ", copy,
                   ";\n  count = given < 0 ? 0 : given > most ? most : given;\n");
  }

  void begin() {
    for (const LoopPlan::Fill& f : plan_.fills) begin_ += fill(f);
    begin_ += message(count(), "  int64_t k = 0;\n");
    if (plan_.goes_on) begin_ += message("  int goes_on = *(", at(*plan_.last_source), ") != 0;\n");
    for (std::size_t c = 0; c < plan_.places.size(); ++c) {
      const LoopPlace& p = plan_.places[c];
      begin_ += message("  ", is_const(p) ? "const " : "", "unsigned char *c", c, " = ", at(p));
      if (plan_.is_reversed && !is_zero(p.stride))
        begin_ += message(" + (count > 0 ? (count-1)*", size(p.stride), " : 0)");
      begin_ += ";\n";
    }
    for (std::size_t k = 0; k < plan_.states.size(); ++k) {
      const LoopState& s = plan_.states[k];
      begin_ += message("  const unsigned char *s", k, " = (", at(s.initial), ");\n");
      if (s.buffers.empty()) continue;
      begin_ += message("  unsigned char *const b", k, " = ", at(s.buffers[0]), ", *const e", k, " = ",
                        at(s.buffers[1]), ", *t", k, " = count % 2 == 1 ? b", k, " : e", k, ";\n");
    }
  }

  /// The statement that sets memory to a value.
  std::string fill(const LoopPlan::Fill& f) const {
    constexpr char digits[] = "0123456789abcdef";
    const std::uint64_t bits = f.value.bits();
    std::string bytes;
    for (std::size_t k = 0; k < f.value.dtype().itemsize(); ++k) {
      const std::uint64_t byte = bits >> (8 * k) & 255U;
      bytes += message("\\x", std::string(1, digits[byte >> 4U]), std::string(1, digits[byte & 15U]));
    }
    return message("  for (int64_t i = 0; i < ", size(f.count), "; ++i) { ", w_.prefix_, "_copy(", at(f.place), " + i*",
                   f.value.dtype().itemsize(), ", (const unsigned char *)\"", bytes, "\", ", f.value.dtype().itemsize(),
                   "); }\n");
  }

  /// The statements that set the cells for the next step.
  std::string move() const {
    std::string out;
    for (std::size_t k = 0; k < plan_.states.size(); ++k) {
      const LoopState& s = plan_.states[k];
      if (s.read == s.write) continue;
      out += message("      ", cell(s.read), " = ", cell(s.write), ";\n");
      if (!s.buffers.empty()) out += message("      t", k, " = t", k, " == b", k, " ? e", k, " : b", k, ";\n");
    }
    for (std::size_t c = 0; c < plan_.places.size(); ++c)
      if (const Int& stride = plan_.places[c].stride; !is_zero(stride))
        out += message("      c", c, plan_.is_reversed ? " -= " : " += ", size(stride), ";\n");
    return out.empty() ? out : message("    if (k > 0) {\n", out, "    }\n");
  }

  /// The statements of a launch; adds those that pack in the first step to `packings`. @param most of the bytes that
  /// the launches need while they run
  std::string launch(std::size_t k, std::string& packings, std::int64_t& most) {
    const StepLaunch& l = plan_.launches[k];
    const Routine& r = *steps_[k];
    const std::vector<SlotFacts> facts = task_.facts_of(l);
    std::map<std::size_t, std::string> packed;  // by slot
    std::vector<std::optional<Known>> known;
    CallTexts texts = texts_;
    texts.pointer = [&](std::size_t s) {
      const auto p = packed.find(s);
      return p != packed.end() ? p->second : cell(l.cells.at(s));
    };
    texts.constant = [&](std::size_t c) { return constant(c); };
    texts.work = "(work + WORK)";
    for (const Packing& p : r.packings) {
      if (const auto constants = w_.known(p, facts, known)) {
        for (std::size_t n = 0; n < p.writes.size(); ++n) packed[p.writes[n]] = constant((*constants)[n]);
        continue;
      }
      for (const std::size_t s : p.writes) {
        const BufferUse& b = p.kernel->buffers[s];
        packed[s] = message("(work + ", routine_->work, ")");
        routine_->work += aligned(b.size.vmax() * static_cast<std::int64_t>(b.dtype.itemsize()));
      }
      packings += w_.packing(p, texts, *routine_);
    }
    most = std::max(most, r.work);
    routine_->has_threads = routine_->has_threads || r.has_threads;
    routine_->stack = std::max(routine_->stack, r.stack);
    called_ = std::max(called_, r.parameters());
    return message("    ", call_of(r, texts));
  }
  std::string constant(std::size_t c) const {
    auto& all = routine_->constants;
    if (std::find(all.begin(), all.end(), c) == all.end()) all.push_back(c);
    return message("p", c);
  }
  /// The launches work behind all that stays.
  void work_at_end(std::int64_t most, std::string& steps) {
    const std::string mark = "(work + WORK)", text = message("(work + ", routine_->work, ")");
    for (std::size_t at = steps.find(mark); at != std::string::npos; at = steps.find(mark, at)) {
      steps.replace(at, mark.size(), text);
      at += text.size();
    }
    routine_->work += most;
  }

  /// The statements that store what the steps have left elsewhere.
  std::string end() const {
    std::string out;
    for (std::size_t k = 0; k < plan_.states.size(); ++k) {
      const LoopState& s = plan_.states[k];
      if (!s.last) continue;
      const std::string to = message("(", at(*s.last), ")"), bytes = size(s.bytes);
      const std::string initial = message("(", at(s.initial), ")"), from = cell(s.write);
      out += message("  if (k == 0) { ", w_.prefix_, "_copy(", to, ", ", initial, ", (size_t)", bytes, "); }\n");
      out += message("  else if (", from, " != ", to, ") { ", w_.prefix_, "_copy(", to, ", ", from, ", (size_t)", bytes,
                     "); }\n");
    }
    if (plan_.executed)
      out += message("  ", w_.prefix_, "_copy(", at(*plan_.executed), ", (const unsigned char *)&k, sizeof k);\n");
    return out;
  }

  RoutineWriter& w_;
  const LoopTask& task_;
  const LoopPlan& plan_;
  std::vector<const Routine*> steps_;
  Routine* routine_ = nullptr;
  CallTexts texts_;
  std::string begin_;
  std::size_t called_ = 0;  ///< the most parameters of a routine that a step calls
};

KernelCost RoutineWriter::cost(const CompiledKernel& kernel) {
  KernelCost out;
  std::vector<std::pair<const CompiledKernel*, double>> open = {{&kernel, 1.0}};
  while (!open.empty()) {
    const auto [k, times] = open.back();
    open.pop_back();
    if (const LoopPlan* const plan = plan_of(*k)) {
      for (const StepLaunch& l : plan->launches)
        open.emplace_back(l.kernel.get(), times * static_cast<double>(plan->count.vmax()));
      continue;
    }
    const KernelCost one = cost_of(k->kernel().ast);
    out.operations += times * one.operations;
    out.bytes += times * one.bytes;
  }
  return out;
}

bool RoutineWriter::is_loop(const CompiledKernel& kernel) { return plan_of(kernel) != nullptr; }

const Routine& RoutineWriter::of(const CompiledKernel& kernel, const std::vector<SlotFacts>& facts) {
  if (plan_of(kernel) == nullptr) return this->kernel(kernel.kernel().ast, facts);
  std::vector<LoopTask> tasks{{&kernel, facts}};
  for (std::size_t t = 0; t < tasks.size(); ++t) {
    for (const StepLaunch& l : plan_of(*tasks[t].kernel)->launches) {
      const bool is_loop = plan_of(*l.kernel) != nullptr;
      tasks[t].inner.push_back(is_loop ? tasks.size() : t);
      if (is_loop) tasks.push_back({l.kernel.get(), tasks[t].facts_of(l)});
    }
  }
  std::vector<const Routine*> made(tasks.size());
  for (std::size_t t = tasks.size(); t-- > 0;) {  // inner loops come behind outer ones
    const LoopPlan& plan = *plan_of(*tasks[t].kernel);
    std::vector<const Routine*> steps;
    for (std::size_t k = 0; k < plan.launches.size(); ++k) {
      const StepLaunch& l = plan.launches[k];
      steps.push_back(tasks[t].inner[k] != t ? made[tasks[t].inner[k]]
                                             : &this->kernel(l.kernel->kernel().ast, tasks[t].facts_of(l)));
    }
    loops_.push_back(LoopText(*this, tasks[t], std::move(steps)).write(message(prefix_, "_l", loops_.size())));
    made[t] = loops_.back().get();
  }
  return *made[0];
}

}  // namespace strata::exporting
