// AffinePrimitives: index arithmetic from a text, compiled once and evaluated many times. An `Affine` is a compiled
// function of names; its AffinePrimitives holds the names' values. Loops over memory read their index texts this way.
//
//   AffinePrimitives ap;
//   auto affine = ap.create("i * 128 + 64");
//   for (int i = 0; i < 128; ++i) {
//     ap["i"] = i;
//     assert(affine() == i * 128 + 64);
//   }
//
// grammar.h defines the grammar. Values are 64-bit integers; `/` and `%` floor; overflow is detected. An intermediate
// value that does not fit in 64 bits is a failure, except inside a sum of terms, which is exact. A failure does not
// count in a branch of select, `?:`, `if else`, `and` or `or` that is not taken. affine_static.h has the compile-time
// form.
//
// With a domain the text goes through the algebra: the function is as small as its canonical form, divisors are proven
// nonzero at creation, and `fill` can write a table of all values over the domain.
//
// Threads. Any number of threads may evaluate functions while no thread writes names or creates functions.
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

/// The range of one name: begin, ..., end - 1.
struct DomainAxis {
  std::string name;
  std::int64_t begin = 0;
  std::int64_t end = 0;
};

/// A box of values: one range for each name, in the order of declaration. The last axis varies fastest.
class Domain {
 public:
  Domain() = default;
  /// @throws Error (domain) when begin > end or a name occurs twice; (parse) when a name is not an identifier.
  Domain(std::initializer_list<DomainAxis> axes) : Domain(std::vector<DomainAxis>(axes)) {}
  explicit Domain(std::vector<DomainAxis> axes);
  const std::vector<DomainAxis>& axes() const { return axes_; }
  /// The number of points. @throws Error (overflow) when it does not fit in 64 bits.
  std::int64_t size() const;

 private:
  std::vector<DomainAxis> axes_;
};

/// Domain under the name that reads well in a call: ap.create("i / 4", domain{{"i", 0, 128}})
using domain = Domain;

/// A compiled function of the names of its AffinePrimitives. A value type: copies share the code.
class Affine {
 public:
  Affine(const Affine&) = default;  // no move: a moved-from function would be empty
  Affine& operator=(const Affine&) = default;

  /// The value for the current values of the names. A call neither allocates nor hashes; it costs the operations that
  /// are left after compilation. (A function with more than 64 live values uses a scratch area, which each thread grows
  /// once.)
  /// @throws Error (parse) when a name has no value; (domain) for a zero divisor or a value outside its declared range;
  ///   (overflow) when a value does not fit in 64 bits.
  std::int64_t operator()() const;

  /// The names in the text, in order of first appearance.
  std::vector<std::string> names() const;
  /// True iff the function has the form k0 + sum of k_j * name_j.
  bool is_linear() const;
  /// The canonical form; nothing unless all names have a range that is not empty.
  const std::optional<Expr>& expr() const;

  /// The domain that the function was created with.
  const Domain& domain() const;
  /// Writes the values over the whole domain in row-major order, the last axis fastest. The current values of the names
  /// do not matter. Work is linear in the number of values; most values need no division.
  /// @throws Error (undefined) when a name has no declared range; (shape) when out.size() != domain().size();
  ///   (overflow) when a value does not fit in 64 bits, which leaves `out` unspecified.
  void fill(std::span<std::int64_t> out) const;

 private:
  friend class AffinePrimitives;
  explicit Affine(std::shared_ptr<const AffineCode> code) : code_(std::move(code)) {}
  std::shared_ptr<const AffineCode> code_;
};

/// A set of named values, and the maker of functions over them. Copies share the values; functions keep them alive.
class AffinePrimitives {
 public:
  AffinePrimitives();
  AffinePrimitives(const AffinePrimitives&) = default;  // no move: a moved-from set would be empty
  AffinePrimitives& operator=(const AffinePrimitives&) = default;

  /// Compiles `text`; its names may take any value. @throws Error with the column: (parse) for bad text; (overflow) for
  ///   a constant that does not fit in 64 bits; (domain) for a divisor 0; (budget) above 200,000 open brackets.
  Affine create(std::string_view text);
  /// Compiles `text`, where a name in `ranges` may only take values of its range; each call checks this. Names that
  /// `ranges` leaves out may take any value.
  /// @throws also Error (domain) when all names have ranges and a divisor's bounds hold 0 (otherwise each call checks
  ///   the divisors).
  Affine create(std::string_view text, const Domain& ranges);
  /// Compiles `text`, where every name must be in `ranges`, as `fill` requires.
  /// @throws also Error (parse) for a name that is not in `ranges`.
  Affine compile(std::string_view text, const Domain& ranges);

  /// The value of `name`, to read or to set. The first call adds the name with the value 0 and counts as setting it.
  /// The reference stays valid while this set, a copy of it, or a function made from it lives.
  /// @throws Error (parse) when `name` is not an identifier.
  std::int64_t& operator[](std::string_view name);

 private:
  std::shared_ptr<AffineSlots> slots_;
};

}  // namespace strata
