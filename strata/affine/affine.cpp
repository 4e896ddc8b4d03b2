// AffinePrimitives: names, domains, and the compilation of a text to a function.

#include "strata/affine/affine.h"

#include <algorithm>

#include "strata/affine/affine_program.h"
#include "strata/base/check.h"
#include "strata/base/quotes.h"

namespace strata {

namespace {

void check_identifier(std::string_view name) {
  const bool ok = !name.empty() && is_name_start(name[0]) && !is_reserved_word(name) &&
                  std::all_of(name.begin(), name.end(), [](char c) { return is_name_start(c) || is_digit(c); });
  STRATA_CHECK(ok, parse, "[affine] ", in_quotes(name), " is not a name");
}

[[noreturn]] void throw_fault(const TextFault& fault) {
  const ErrorKind kind = fault.zero_divisor               ? ErrorKind::domain
                         : fault.fault == Fault::overflow ? ErrorKind::overflow
                         : fault.fault == Fault::budget   ? ErrorKind::budget
                                                          : ErrorKind::parse;
  std::string message = detail::message("[affine] ", fault.what);
  if (!fault.token.empty()) message += detail::message(": ", in_quotes(fault.token));
  throw Error(kind, detail::message(message, " (column ", fault.column, ")"), fault.column);
}

AffineText read_or_throw(std::string_view text) {
  AffineText out = read_affine_text(text);
  if (out.fault.column != 0) throw_fault(out.fault);
  return out;
}

/// The canonical form of a function, when every name has a range that is not empty.
std::optional<Expr> canonical(const AffineProgram& steps, const AffineCode& code, const AffineText& text,
                              std::vector<Expr>& inputs) {
  for (const DomainAxis& axis : code.domain.axes())
    if (axis.begin == axis.end) return std::nullopt;
  if (code.domain.axes().empty()) return std::nullopt;
  for (const AffineInput& in : code.inputs)
    if (!in.ranged) return std::nullopt;
  for (std::size_t i = 0; i < code.inputs.size(); ++i) {
    const DomainAxis& axis = code.domain.axes()[code.inputs[i].axis];
    inputs.emplace_back(Variable(text.names[i].text, axis.begin, axis.end - 1));
  }
  return build_expr(steps, inputs);
}

/// Recognizes a program of the form `k0 + sum of k * input`, which has a faster evaluation.
void find_linear(AffineCode& code) {
  const AffineProgram& p = code.program;
  if (p.steps.empty()) {
    code.linear = true;
    code.terms.push_back({1, &code.inputs[p.result].slot->value});
    return;
  }
  const AffineStep& step = p.steps[0];
  if (p.steps.size() != 1 || step.action != Action::add) return;
  code.linear = true;
  code.k0 = step.constant;
  for (const AffineOperand& o : p.of(step)) code.terms.push_back({o.coefficient, &code.inputs[o.value].slot->value});
}

std::shared_ptr<const AffineCode> make_code(const std::shared_ptr<AffineSlots>& slots, std::string_view source,
                                            const Domain& box, bool all_ranged) {
  const AffineText text = read_or_throw(source);
  auto code = std::make_shared<AffineCode>();
  code->slots = slots;
  code->domain = box;
  code->inputs.resize(text.names.size());
  std::unordered_map<std::string_view, std::size_t> axis_of;
  for (const DomainAxis& axis : box.axes()) axis_of.emplace(axis.name, axis_of.size());
  for (std::size_t i = 0; i < text.names.size(); ++i) {
    AffineInput& in = code->inputs[i];
    const auto at = axis_of.find(text.names[i].text);
    in.ranged = at != axis_of.end();
    if (in.ranged) {
      in.axis = at->second;
      const DomainAxis& axis = box.axes()[in.axis];
      in.begin = axis.begin;
      in.extent = static_cast<std::uint64_t>(axis.end) - static_cast<std::uint64_t>(axis.begin);
      code->ranged = true;
    } else if (all_ranged) {
      const TextName& name = text.names[i];
      throw Error(
          ErrorKind::parse,
          detail::message("[affine] ", in_quotes(name.text), " is not in the domain (column ", name.column, ")"),
          name.column);
    }
  }
  code->program = lower_text(text);
  std::vector<Expr> inputs;
  code->expr = canonical(code->program, *code, text, inputs);
  if (code->expr) code->program = lower_expr(*code->expr, inputs);
  allocate_registers(code->program);
  // Nothing fails from here on; only now the names are added, so a failed call adds none.
  for (std::size_t i = 0; i < text.names.size(); ++i) code->inputs[i].slot = &slots->find_or_add(text.names[i].text);
  find_linear(*code);
  return code;
}

[[noreturn, gnu::noinline]] void throw_missing(const AffineSlot& slot) {
  throw Error(ErrorKind::parse,
              detail::message("[affine] '", slot.name, "' has no value; set ap[\"", slot.name, "\"] first"));
}

[[gnu::noinline]] void check_set(const AffineCode& code) {
  for (const AffineInput& in : code.inputs)
    if (!in.slot->set) throw_missing(*in.slot);
}

void check_ranges(const AffineCode& code) {
  for (const AffineInput& in : code.inputs) {
    if (!in.ranged) continue;
    const std::uint64_t offset = static_cast<std::uint64_t>(in.slot->value) - static_cast<std::uint64_t>(in.begin);
    if (offset >= in.extent) [[unlikely]]
      throw Error(ErrorKind::domain,
                  detail::message("[affine] ", in.slot->name, " = ", in.slot->value, " is outside of its domain [",
                                  in.begin, ", ", code.domain.axes()[in.axis].end, ")"));
  }
}

/// Evaluates a linear function whose partial sums do not fit in 64 bits.
[[gnu::noinline]] std::int64_t run_linear_exact(const AffineCode& code) {
  WideSum wide(code.k0);
  for (const AffineCode::Term& term : code.terms) wide.add(term.coefficient, *term.value);
  std::int64_t out = 0;
  STRATA_CHECK(wide.get(out), overflow, "[affine] a sum does not fit in 64 bits");
  return out;
}

}  // namespace

// --- Domain ---

Domain::Domain(std::vector<DomainAxis> axes) : axes_(std::move(axes)) {
  std::unordered_map<std::string_view, std::size_t> seen;
  for (const DomainAxis& axis : axes_) {
    check_identifier(axis.name);
    STRATA_CHECK(axis.begin <= axis.end, domain, "[affine] the range [", axis.begin, ", ", axis.end, ") of '",
                 axis.name, "' ends before it begins");
    STRATA_CHECK(seen.emplace(axis.name, 0).second, domain, "[affine] '", axis.name, "' has two ranges");
  }
}

bool try_size(const Domain& box, std::int64_t& out) {
  out = 1;
  bool fits = true;
  for (const DomainAxis& axis : box.axes()) {
    std::int64_t extent = 0;
    if (axis.begin == axis.end) {
      out = 0;
      return true;
    }
    fits = fits && try_sub(axis.end, axis.begin, extent) && try_mul(out, extent, out);
  }
  return fits;
}

std::int64_t Domain::size() const {
  std::int64_t out = 0;
  STRATA_CHECK(try_size(*this, out), overflow, "[affine] the size of the domain does not fit in 64 bits");
  return out;
}

// --- Affine ---

std::int64_t Affine::operator()() const {
  const AffineCode& code = *code_;
  if (code.slots->missing != 0) [[unlikely]]
    check_set(code);
  if (code.ranged) check_ranges(code);
  if (code.linear) {
    std::int64_t total = code.k0;
    for (const AffineCode::Term& term : code.terms) {
      std::int64_t part = 0;
      if (!try_mul(term.coefficient, *term.value, part) || !try_add(total, part, total)) [[unlikely]]
        return run_linear_exact(code);
    }
    return total;
  }
  return run_program_with(code.program, [&](std::int64_t* registers) {
    for (const AffineInput& in : code.inputs) *registers++ = in.slot->value;
  });
}

std::vector<std::string> Affine::names() const {
  std::vector<std::string> out;
  for (const AffineInput& in : code_->inputs) out.push_back(in.slot->name);
  return out;
}

bool Affine::is_linear() const { return code_->linear; }
const std::optional<Expr>& Affine::expr() const { return code_->expr; }
const Domain& Affine::domain() const { return code_->domain; }

// --- AffinePrimitives ---

AffinePrimitives::AffinePrimitives() : slots_(std::make_shared<AffineSlots>()) {}

Affine AffinePrimitives::create(std::string_view text) { return Affine(make_code(slots_, text, {}, false)); }
Affine AffinePrimitives::create(std::string_view text, const Domain& ranges) {
  return Affine(make_code(slots_, text, ranges, false));
}
Affine AffinePrimitives::compile(std::string_view text, const Domain& ranges) {
  return Affine(make_code(slots_, text, ranges, true));
}

std::int64_t& AffinePrimitives::operator[](std::string_view name) {
  AffineSlot* slot = slots_->find(name);
  if (slot == nullptr) [[unlikely]] {
    check_identifier(name);
    slot = &slots_->find_or_add(name);
  }
  if (!slot->set) [[unlikely]] {
    slot->set = true;
    --slots_->missing;
  }
  return slot->value;
}

AffineSlot* AffineSlots::find(std::string_view name) const {
  for (const auto& [known, slot] : scanned)
    if (known == name) return slot;
  if (indexed.empty()) return nullptr;
  const auto at = indexed.find(name);
  return at == indexed.end() ? nullptr : at->second;
}

AffineSlot& AffineSlots::find_or_add(std::string_view name) {
  if (AffineSlot* slot = find(name)) return *slot;
  AffineSlot& slot = slots.emplace_back(AffineSlot{std::string(name), 0, false});
  ++missing;
  if (scanned.size() < kScanned)
    scanned.emplace_back(slot.name, &slot);
  else
    indexed.emplace(slot.name, &slot);
  return slot;
}

}  // namespace strata
