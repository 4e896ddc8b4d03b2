// Proofs that index expressions are within buffer sizes: by intervals, symbolic intervals (index_bounds.h), and the
// algebra (expr/).

#include "strata/codegen/bounds.h"

#include <chrono>

#include "strata/codegen/index_bounds.h"

namespace strata {

namespace {

bool lies_inside(const Access& a) {
  if (!a.size.is_number()) return false;
  const Facts facts = a.index.facts();
  return facts.min >= 0 && facts.max < a.size.value();
}

std::string witness_text(const Values& values) {
  std::string out;
  for (const auto& [v, value] : values) out += detail::message(out.empty() ? "" : ", ", v.name(), " = ", value);
  return out.empty() ? "everywhere" : out;
}

void prove_access(const Access& a) {
  if (!a.size.is_number() && lies_between_sizes(a)) return;
  const Expr size = a.size.expr();
  const Proof proof = prove(a.index >= 0 && a.index < size, a.valid && a.ranges);
  if (proof.answer == Answer::yes) return;
  const std::string buffer = a.slot < 0 ? "scratch memory" : detail::message("buffer ", a.slot);
  const std::string what = detail::message("[bounds] ", a.is_store ? "a store to " : "a load of ", buffer, " with ",
                                           a.size.render(), " elements at index ", a.index.render());
  const std::string where = a.valid.constant() ? std::string() : detail::message(" where ", a.valid.render());
  STRATA_CHECK(proof.answer == Answer::unknown, domain, what, where,
               " goes outside: ", witness_text(proof.counterexample));
  throw Error(ErrorKind::domain, detail::message(what, where, " cannot be shown to stay inside"));
}

}  // namespace

BoundsProof prove_bounds(const Lowered& kernel, std::vector<ProvenBy>* how) {
  const auto start = std::chrono::steady_clock::now();
  BoundsProof out;
  for (const Access& a : kernel.accesses) {
    ++out.accesses;
    const ProvenBy by = lies_inside(a) ? ProvenBy::bounds : ProvenBy::algebra;
    if (by == ProvenBy::algebra) prove_access(a);
    ++(by == ProvenBy::bounds ? out.by_bounds : out.by_algebra);
    if (how != nullptr) how->push_back(by);
  }
  out.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  return out;
}

std::string BoundsProof::text() const {
  return detail::message(accesses, " accesses proven: ", by_bounds, " by their bounds, ", by_algebra,
                         " by algebra, in ", static_cast<std::int64_t>(seconds * 1e6), " us");
}

}  // namespace strata
