// Affine primitives: index arithmetic from a text, compiled once and evaluated many times.
//
//   AffinePrimitives ap;
//   auto affine = ap.create("i * 128 + 64");
//   for (int i = 0; i < 128; ++i) {
//     ap["i"] = i;
//     assert(affine() == i * 128 + 64);
//   }
//
// The grammar is grammar.h's. Values are integers of 64 bits, overflow is detected, `/` and `%` floor. A failure in a
// branch that select, `?:`, `if else`, `and` or `or` do not take does not count; an intermediate that leaves 64 bits
// is a failure, sums of terms excepted, which are exact. The compile-time form is in affine_static.h.
//
// With a domain the text goes through the algebra, so the function is as small as its canonical form, divisors are
// proven nonzero when it is created, and it can fill a table of its values over the domain.
//
// Threads. Functions may be evaluated by any number of threads as long as nobody writes names or creates functions.
#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "strata/base/check.h"
#include "strata/expr/expr.h"

namespace strata {

struct AffineCode;   // affine_program.h
struct AffineSlots;  // affine_program.h

/// The values begin, ..., end - 1 of one name.
struct DomainAxis {
  std::string name;
  std::int64_t begin = 0;
  std::int64_t end = 0;
};

/// A box of values, in the order of declaration: the last axis is the fastest.
class Domain {
 public:
  Domain() = default;
  /// @throws Error (domain) where begin > end or a name occurs twice, (parse) where a name is not an identifier.
  Domain(std::initializer_list<DomainAxis> axes) : Domain(std::vector<DomainAxis>(axes)) {}
  explicit Domain(std::vector<DomainAxis> axes);
  const std::vector<DomainAxis>& axes() const { return axes_; }
  /// Number of points. @throws Error (overflow) when it leaves 64 bits.
  std::int64_t size() const;

 private:
  std::vector<DomainAxis> axes_;
};

/// As it is written in a call: ap.create("i / 4", domain{{"i", 0, 128}})
using domain = Domain;

/// A compiled function of the names of its AffinePrimitives. A value: copies share the code.
class Affine {
 public:
  Affine(const Affine&) = default;  // no move: a moved-from function would be empty
  Affine& operator=(const Affine&) = default;

  /// The value for the current values of the names. Neither allocates nor hashes, and calls cost no more than the
  /// operations that are left (functions of more than 64 live values use a scratch area that each thread grows once).
  /// @throws Error (parse) when a name has no value, (domain) for a zero divisor or a value outside of its declared
  ///   domain, (overflow).
  std::int64_t operator()() const;

  /// The names in the text, in order of first appearance.
  std::vector<std::string> names() const;
  /// True iff a call is k0 + sum k_j * name_j.
  bool is_linear() const;
  /// The canonical form, when all names have a domain that is not empty.
  const std::optional<Expr>& expr() const;

  /// The declared domain.
  const Domain& domain() const;
  /// Writes the values over the domain in row-major order, the last axis fastest. The current values of the names do
  /// not matter. Work linear in the number of values, without a division for most of them.
  /// @pre every name has a declared domain: else Error (undefined).
  /// @throws Error (shape) when out.size() != domain().size(), (overflow) when a value leaves 64 bits: `out` is then
  ///   unspecified.
  void fill(std::span<std::int64_t> out) const;

 private:
  friend class AffinePrimitives;
  explicit Affine(std::shared_ptr<const AffineCode> code) : code_(std::move(code)) {}
  std::shared_ptr<const AffineCode> code_;
};

/// A set of named values and the functions over them. Copies share the values; functions keep them alive.
class AffinePrimitives {
 public:
  AffinePrimitives();
  AffinePrimitives(const AffinePrimitives&) = default;  // no move: a moved-from set would be empty
  AffinePrimitives& operator=(const AffinePrimitives&) = default;

  /// @throws Error with the column: (parse) for bad text, (overflow) for a constant that leaves 64 bits, (domain) for a
  ///   divisor 0, (budget) above 200,000 open brackets.
  Affine create(std::string_view text);
  /// The same, where a name in `ranges` is only to take values of its axis: this is checked by each call. Names that
  /// `ranges` leaves out take any value.
  /// @throws also Error (domain) where all names have ranges and the bounds of a divisor hold 0 (else each call looks at divisors).
  Affine create(std::string_view text, const Domain& ranges);
  /// The same, where all names have to be in `ranges`: for `fill`.
  /// @throws also Error (parse) for a name that is not.
  Affine compile(std::string_view text, const Domain& ranges);

  /// The value of `name`, 0 and regarded as set from the first call on. The reference stays valid as long as this, a
  /// copy, or a function made from it lives.
  /// @throws Error (parse) when `name` is not an identifier.
  std::int64_t& operator[](std::string_view name);

 private:
  std::shared_ptr<AffineSlots> slots_;
};

}  // namespace strata
