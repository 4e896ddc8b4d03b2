// Arithmetic of polynomials: sorted terms, merged and multiplied with overflow detected.

#include "strata/view/polynomial.h"

#include <algorithm>

#include "strata/base/check.h"
#include "strata/base/int_math.h"

namespace strata {
namespace {

void fits(bool ok) { STRATA_CHECK(ok, overflow, "[polynomial] a coefficient leaves 64 bits"); }

Monomial times(const Monomial& a, const Monomial& b) {
  Monomial out;
  out.resize(a.size() + b.size());
  std::merge(a.begin(), a.end(), b.begin(), b.end(), out.begin());
  return out;
}

}  // namespace

int compare(const Monomial& a, const Monomial& b) {
  if (a.size() != b.size()) return a.size() < b.size() ? -1 : 1;
  for (std::size_t i = 0; i < a.size(); ++i)
    if (a[i] != b[i]) return a[i] > b[i] ? -1 : 1;
  return 0;
}

bool divide(const Monomial& a, const Monomial& b, Monomial& quotient) {
  quotient.clear();
  std::size_t j = 0;
  for (const std::uint32_t factor : a) {
    if (j < b.size() && b[j] == factor) {
      ++j;
    } else {
      quotient.push_back(factor);
    }
  }
  return j == b.size();
}

Polynomial::Polynomial(std::int64_t constant) {
  if (constant != 0) terms_.push_back({{}, constant});
}

Polynomial Polynomial::atom(std::uint32_t number) { return monomial({number}, 1); }

Polynomial Polynomial::monomial(Monomial factors, std::int64_t coefficient) {
  Polynomial out;
  if (coefficient != 0) out.terms_.push_back({std::move(factors), coefficient});
  return out;
}

std::int64_t Polynomial::constant() const {
  return !terms_.empty() && terms_.back().monomial.empty() ? terms_.back().coefficient : 0;
}

std::int64_t Polynomial::coefficient(const Monomial& m) const {
  for (const Term& t : terms_)
    if (t.monomial == m) return t.coefficient;
  return 0;
}

std::vector<std::uint32_t> Polynomial::atoms() const {
  std::vector<std::uint32_t> out;
  for (const Term& t : terms_) out.insert(out.end(), t.monomial.begin(), t.monomial.end());
  std::sort(out.begin(), out.end());
  out.erase(std::unique(out.begin(), out.end()), out.end());
  return out;
}

Polynomial Polynomial::substitute(std::uint32_t atom, const Polynomial& by) const {
  Polynomial out, power = 1;
  std::size_t degree = 0;
  // Terms are grouped by the power of the atom, in rising order, so each power of `by` is computed once.
  std::vector<std::pair<std::size_t, Term>> parts;
  for (const Term& t : terms_) {
    Term left;
    left.coefficient = t.coefficient;
    for (const std::uint32_t factor : t.monomial)
      if (factor != atom) left.monomial.push_back(factor);
    parts.emplace_back(t.monomial.size() - left.monomial.size(), std::move(left));
  }
  for (std::size_t done = 0; done < parts.size(); ++degree) {
    Polynomial factor;
    for (const auto& [d, part] : parts) {
      if (d != degree) continue;
      factor += monomial(part.monomial, part.coefficient);
      ++done;
    }
    if (!factor.is_zero()) out += factor * power;
    if (done < parts.size()) power = power * by;
  }
  return out;
}

Polynomial Polynomial::sum(const Polynomial& a, const Polynomial& b, std::int64_t scale) {
  Polynomial out;
  out.terms_.reserve(a.terms_.size() + b.terms_.size());
  auto p = a.terms_.begin();
  auto q = b.terms_.begin();
  while (p != a.terms_.end() || q != b.terms_.end()) {
    const int order = p == a.terms_.end() ? -1 : q == b.terms_.end() ? 1 : compare(p->monomial, q->monomial);
    std::int64_t c = 0;
    if (order <= 0) fits(try_mul(q->coefficient, scale, c));
    if (order >= 0) fits(try_add(c, p->coefficient, c));
    if (c != 0) out.terms_.push_back({order >= 0 ? p->monomial : q->monomial, c});
    if (order >= 0) ++p;
    if (order <= 0) ++q;
  }
  STRATA_CHECK(out.terms_.size() <= kMaxTerms, budget, "[polynomial] more than ", kMaxTerms, " terms");
  return out;
}

Polynomial operator*(const Polynomial& a, const Polynomial& b) {
  if (a.terms_.size() > b.terms_.size()) return b * a;
  Polynomial out;
  for (const Polynomial::Term& s : a.terms_) {
    Polynomial row;  // multiplication by one monomial keeps b's order
    row.terms_.reserve(b.terms_.size());
    for (const Polynomial::Term& t : b.terms_) {
      std::int64_t c = 0;
      fits(try_mul(s.coefficient, t.coefficient, c));
      row.terms_.push_back({times(s.monomial, t.monomial), c});
    }
    out += row;
  }
  return out;
}

Division divide(const Polynomial& a, const Polynomial& b) {
  STRATA_ASSERT(!b.is_zero(), "a polynomial is divided by 0");
  const Polynomial::Term lead = b.terms()[0];
  Division out{{}, {}};
  Polynomial left = a;
  while (!left.is_zero()) {
    const Polynomial::Term t = left.terms()[0];
    Monomial m;
    std::int64_t k = 0;
    if (divide(t.monomial, lead.monomial, m)) fits(try_floor_div(t.coefficient, lead.coefficient, k));
    if (k != 0) {
      const Polynomial q = Polynomial::monomial(m, k);
      out.quotient += q;
      left -= q * b;
    }
    if (left.is_zero() || !(left.terms()[0].monomial == t.monomial)) continue;
    const Polynomial rest = Polynomial::monomial(t.monomial, left.terms()[0].coefficient);
    out.rest += rest;
    left -= rest;
  }
  return out;
}

}  // namespace strata
