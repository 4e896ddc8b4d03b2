// The checks of the table in uop.h: one function for each kind of UOp.
#include "strata/ir/uop_rules.h"

#include <algorithm>
#include <array>
#include <bit>
#include <limits>
#include <string>

#include "strata/base/check.h"
#include "strata/base/int_math.h"
#include "strata/base/quotes.h"

namespace strata {
namespace {

constexpr ArgKind arg_kind(UOps op) {
  switch (op) {
    case UOps::DEFINE_GLOBAL: return ArgKind::global;
    case UOps::DEFINE_LOCAL: return ArgKind::local;
    case UOps::DEFINE_VAR: return ArgKind::variable;
    case UOps::SPECIAL: return ArgKind::special;
    case UOps::CONST: return ArgKind::scalar;
    case UOps::GEP: return ArgKind::number;
    case UOps::ALU: return ArgKind::op;
    case UOps::REDUCE: return ArgKind::reduction;
    default: return ArgKind::none;
  }
}

constexpr UOpRow kUOpRows[] = {
#define STRATA_UOP(name, least, most, value, text) {#name, least, most, UOps::name, (value) != 0, arg_kind(UOps::name)},
#include "strata/ir/uops.def"
};

constexpr std::string_view kArgNames[] = {"nothing", "a number",  "a Scalar",   "an op",          "a Global",
                                          "a Local", "a Special", "a Variable", "a LoopReduction"};

std::string word(DType dtype) { return dtype.name(); }
std::string word(UOps op) { return spec_name(op); }
std::string word(Ops op) { return spec_name(op); }
template <class T>
T word(T part) {
  return part;
}

/// A UOp that is about to be added.
struct Candidate {
  UOps op;
  DType dtype;
  std::span<const UOp> src;
  const UOpArg& arg;

  DType of(std::size_t k) const { return src[k].dtype(); }
  /// @throws Error (domain) with the `parts` as message unless `condition`. The names of dtypes and ops are made on
  /// failure only.
  template <class... Parts>
  void require(bool condition, const Parts&... parts) const {
    STRATA_CHECK(condition, domain, "[", row(op).name, "] ", word(parts)...);
  }
  void require_dtype(DType expected) const {
    require(dtype == expected, "has dtype ", dtype, ", which is not ", expected);
  }
};

bool is_scalar_int(DType dtype) { return is_element(dtype) && !dtype.is_vector() && dtype.is_int(); }
bool is_index(DType dtype) { return dtype == dtypes::int32 || dtype == dtypes::int64; }

/// Names are used as identifiers in rendered programs.
bool is_identifier(std::string_view name) {
  const auto starts = [](char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; };
  return !name.empty() && starts(name[0]) &&
         std::all_of(name.begin(), name.end(), [&](char c) { return starts(c) || (c >= '0' && c <= '9'); });
}
void check_name(const Candidate& u, std::string_view name) {
  if (!is_identifier(name)) u.require(false, in_quotes(name), " is not a name");
}

void check_pointer(const Candidate& u) {
  u.require(u.dtype.is_pointer() && !u.dtype.is_none() && !u.dtype.is_vector(), "has dtype ", u.dtype,
            ", which is not a pointer to a scalar");
}

void check_global(const Candidate& u) {
  const auto& global = std::get<Global>(u.arg);
  check_pointer(u);
  check_name(u, global.name);
  u.require(global.slot >= 0, "slot ", global.slot, " is negative");
}

void check_local(const Candidate& u) {
  const auto& local = std::get<Local>(u.arg);
  check_pointer(u);
  check_name(u, local.name);
  const auto width = static_cast<std::int64_t>(u.dtype.pointee().itemsize());
  std::int64_t bytes = 0;
  u.require(local.size > 0 && try_mul(local.size, width, bytes), "size ", local.size, " is not a size of memory");
}

/// Checks that the dtype is an index dtype that holds the values `least` to `most`.
void check_index(const Candidate& u, std::int64_t least, std::int64_t most) {
  u.require(is_index(u.dtype), "has dtype ", u.dtype, ", which is not i32 or i64");
  using Narrow = std::numeric_limits<std::int32_t>;
  const bool fits = least >= Narrow::min() && most <= Narrow::max();
  u.require(fits || u.dtype == dtypes::int64, "values from ", least, " to ", most, " do not fit in i32");
}

void check_variable(const Candidate& u) {
  const auto& variable = std::get<Variable>(u.arg);
  u.require(variable.is_variable(), "is given no Variable");
  check_name(u, variable.name());
  check_index(u, variable.min(), variable.max());
}

void check_special(const Candidate& u) {
  const auto& special = std::get<Special>(u.arg);
  check_name(u, special.name);
  u.require(special.axis >= 0 && special.axis <= 2, "axis ", special.axis, " is not 0, 1 or 2");
  u.require(special.size > 0, "size ", special.size, " is not positive");
  check_index(u, 0, special.size - 1);
}

void check_const(const Candidate& u) {
  u.require(is_element(u.dtype), "has dtype ", u.dtype, ", which has no constants");
  const DType held = std::get<Scalar>(u.arg).dtype();
  u.require(held == u.dtype.scalar(), "has dtype ", u.dtype, ", but a constant of dtype ", held);
}

void check_acc(const Candidate& u) {
  u.require(is_element(u.of(0)), "has a first value of dtype ", u.of(0), ", which is not a dtype of values");
  u.require_dtype(u.of(0));
}

void check_loop(const Candidate& u) {
  u.require(is_scalar_int(u.of(0)) && u.of(0) == u.of(1), "runs from ", u.of(0), " to ", u.of(1),
            ", which are not integers of one dtype");
  u.require_dtype(u.of(0));
}

void check_end(const Candidate& u, UOps begins) {
  u.require(u.src[0].op() == begins, "ends ", u.src[0].op(), ", not ", begins);
}
void check_end_loop(const Candidate& u) { check_end(u, UOps::LOOP); }
void check_end_if(const Candidate& u) { check_end(u, UOps::IF); }

void check_if(const Candidate& u) {
  u.require(u.of(0).is_bool() && !u.of(0).is_pointer(), "depends on ", u.of(0), ", which is not bool");
  u.require_dtype(dtypes::none);
}

/// Checks the pointer, the index and the gate (source `gate`, if there is one) of an access to elements of dtype
/// `value`.
void check_access(const Candidate& u, DType value, std::size_t gate) {
  u.require(u.of(0).is_pointer(), "accesses ", u.of(0), ", which is not a pointer");
  u.require(is_scalar_int(u.of(1)), "has index ", u.of(1), ", which is not an integer");
  u.require(is_element(value) && value.scalar() == u.of(0).pointee(), "moves ", value, " through ", u.of(0));
  if (gate >= u.src.size()) return;
  const DType dtype = u.of(gate);
  u.require(dtype == dtypes::boolean || dtype == dtypes::boolean.vec(value.lanes()), "has gate ", dtype,
            ", which is not a bool or one for each lane of ", value);
}

void check_load(const Candidate& u) {
  u.require(u.src.size() != 3, "has a gate, but no value for a false gate");
  check_access(u, u.dtype, 2);
  if (u.src.size() == 4) u.require(u.of(3) == u.dtype, "gives ", u.dtype, ", but ", u.of(3), " for a false gate");
}

void check_store(const Candidate& u) {
  check_access(u, u.of(2), 3);
  const auto* const bytes = std::get_if<std::int64_t>(&u.arg);
  if (bytes == nullptr) return;
  const auto stored = static_cast<std::int64_t>(u.of(2).scalar().itemsize()) * u.of(2).lanes();
  u.require(*bytes == stored && stored >= 16 && std::has_single_bit(static_cast<std::uint64_t>(stored)),
            "goes past the caches with ", *bytes, " bytes, but ", u.of(2), " has ", stored);
  u.require(u.src.size() == 3, "goes past the caches, but has a gate");
}

/// The dtypes of the sources, for result_dtype.
std::vector<DType> source_dtypes(const Candidate& u) {
  std::vector<DType> out;
  out.reserve(u.src.size());
  for (const UOp s : u.src) out.push_back(s.dtype());
  return out;
}

void check_alu(const Candidate& u) {
  const Ops op = std::get<Ops>(u.arg);
  u.require(is_elementwise(op) && row(op).typing != OpTyping::convert, op, " is not arithmetic");
  u.require_dtype(result_dtype(op, source_dtypes(u)));
}

void check_conversion(const Candidate& u) {
  const DType from[] = {u.of(0)};
  u.require_dtype(result_dtype(u.op == UOps::CAST ? Ops::CAST : Ops::BITCAST, from, u.dtype));
}

void check_vectorize(const Candidate& u) {
  const DType lane = u.of(0);
  u.require(is_element(lane) && !lane.is_vector(), "joins ", lane, ", which is not a scalar");
  for (const UOp s : u.src) u.require(s.dtype() == lane, "joins ", lane, " and ", s.dtype());
  u.require_dtype(lane.vec(static_cast<int>(u.src.size())));
}

void check_gep(const Candidate& u) {
  const DType vector = u.of(0);
  const std::int64_t lane = std::get<std::int64_t>(u.arg);
  u.require(is_element(vector) && vector.is_vector(), "of ", vector, ", which is not a vector");
  u.require(lane >= 0 && lane < vector.lanes(), "lane ", lane, " is not in ", vector);
  u.require_dtype(vector.scalar());
}

void check_phi(const Candidate& u) {
  u.require(u.src[0].op() == UOps::DEFINE_ACC, "assigns to ", u.src[0].op(), ", not to an accumulator");
  u.require(u.of(1) == u.of(0), "assigns ", u.of(1), " to ", u.of(0));
  u.require_dtype(u.of(0));
}

void check_reduce(const Candidate& u) {
  const auto [op, loops] = std::get<LoopReduction>(u.arg);
  u.require(is_reduce(op), op, " is not a reduction");
  u.require(loops >= 1 && loops <= static_cast<std::int64_t>(u.src.size()) - 2, loops, " loops among ", u.src.size(),
            " sources: the sources are a first value, other values, then at least one loop");
  const auto values = u.src.size() - static_cast<std::size_t>(loops);
  for (const UOp loop : u.src.subspan(values))
    u.require(loop.op() == UOps::LOOP, "reduces over ", loop.op(), ", not over loops");
  for (const UOp value : u.src.first(values))
    u.require(value.dtype() == u.of(0), "combines ", u.of(0), " and ", value.dtype());
  const DType operand[] = {u.of(0)};
  u.require_dtype(result_dtype(op, operand));
}

void check_carry(const Candidate& u) {
  u.require(is_element(u.of(0)), "begins as ", u.of(0));
  u.require(u.src[1].op() == UOps::LOOP, "is carried by ", u.src[1].op(), ", not by a loop");
  u.require_dtype(u.of(0));
}

void check_carried(const Candidate& u) {
  u.require(u.src[0].op() == UOps::CARRY, "carries ", u.src[0].op(), ", not an accumulator of a loop");
  u.require(u.of(1) == u.of(0), "makes ", u.of(0), " ", u.of(1));
  u.require_dtype(u.of(0));
}

void check_nothing(const Candidate&) {}

using Check = void (*)(const Candidate&);

constexpr Check check_of(UOps op) {
  switch (op) {
    case UOps::DEFINE_GLOBAL: return check_global;
    case UOps::DEFINE_LOCAL: return check_local;
    case UOps::DEFINE_VAR: return check_variable;
    case UOps::SPECIAL: return check_special;
    case UOps::CONST: return check_const;
    case UOps::DEFINE_ACC: return check_acc;
    case UOps::LOOP: return check_loop;
    case UOps::ENDLOOP: return check_end_loop;
    case UOps::IF: return check_if;
    case UOps::ENDIF: return check_end_if;
    case UOps::LOAD: return check_load;
    case UOps::STORE: return check_store;
    case UOps::ALU: return check_alu;
    case UOps::CAST:
    case UOps::BITCAST: return check_conversion;
    case UOps::VECTORIZE: return check_vectorize;
    case UOps::GEP: return check_gep;
    case UOps::PHI: return check_phi;
    case UOps::REDUCE: return check_reduce;
    case UOps::CARRY: return check_carry;
    case UOps::CARRIED: return check_carried;
    case UOps::BARRIER: return check_nothing;
  }
  return check_nothing;
}

}  // namespace

const UOpRow& row(UOps op) {
  const auto at = static_cast<std::size_t>(op);
  STRATA_ASSERT(at < std::size(kUOpRows), "there is no UOp ", at);
  return kUOpRows[at];
}

std::optional<UOps> find_uop(std::string_view name) {
  for (const UOpRow& r : kUOpRows)
    if (r.name == name) return r.op;
  return std::nullopt;
}

void check_uop(UOps op, DType dtype, std::span<const UOp> src, const UOpArg& arg) {
  const UOpRow& r = row(op);
  const Candidate u{op, dtype, src, arg};
  u.require(src.size() >= r.least, "takes ", r.least, " sources or more, not ", src.size());
  u.require(src.size() <= r.most, "takes ", r.most, " sources or fewer, not ", src.size());
  const bool is_streamed = op == UOps::STORE && kind(arg) == ArgKind::number;
  u.require(kind(arg) == r.arg || is_streamed, "takes ", kArgNames[static_cast<std::size_t>(r.arg)],
            " as its argument, not ", kArgNames[arg.index()]);
  if (!r.has_value) u.require_dtype(dtypes::none);
  check_of(op)(u);
}

}  // namespace strata
