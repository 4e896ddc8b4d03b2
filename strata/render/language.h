// A C-like language as data: names of types, rows of ops, and the few texts in which the languages differ. The rows
// that all share are in common_rows.cpp; a language lists what it says otherwise.
//
// Texts are templates. In every one $a, $b and $c are the operands, and
//   $T  the type of the result          $S  the type of the operand
//   $U  the unsigned type to compute in  $V  the unsigned type of the operand's width
//   $W  the operand's bits               $M  one less
//   $1  the constant 1                   $0  the constant 0
//   $I  the power of two from which on all floats are integers
//   $n  a name                           $v  a value
// An operand that a text holds twice is given a variable first.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "strata/ir/uop.h"

namespace strata::rendering {

/// On which dtypes a row is to be used; several may be joined.
enum OpClass : std::uint8_t {
  kFloat = 1,
  kSigned = 2,
  kUnsigned = 4,
  kBool = 8,
  kInt = kSigned | kUnsigned,
  kAny = kInt | kFloat | kBool,
  kIndex = 16,  ///< signed, and the value is only ever an index, a bound or a gate: it does not overflow
  kConstRight = 32,  ///< floats, and $b is a constant that is not NaN
  kNegated = 64,     ///< floats, and a choice one of which may be the other's negation
};

/// An op as a language writes it.
struct OpText {
  Ops op;
  std::uint8_t on;        ///< OpClass values
  std::string_view text;  ///< empty: the language lacks the op
};

/// A dtype as the type of a value in a register and as what memory holds.
struct TypeText {
  DType dtype;
  std::string_view value;
  std::string_view memory;  ///< empty: memory cannot hold it
};

/// A float of 16 bits, whose values are held as f32, rounded after each op.
struct NarrowText {
  DType dtype;
  std::string_view load;          ///< f32 of what memory holds
  std::string_view store;         ///< what memory holds, of an f32 that is one of its values
  std::string_view round;         ///< f32, rounded to it, of an f32
  std::string_view round_double;  ///< the same of an f64
  std::string_view round_int = {};  ///< the same of an f32 that was an integer of 32 bits or more; empty: as any f32
};

/// A function that texts call by its name; it is emitted where the text holds the name.
struct HelperText {
  std::string_view name;
  std::string_view text;
};

/// What stands above a kernel's body.
struct Parameter {
  std::string name;
  DType dtype;  ///< of an element, or of the variable
  bool stored;  ///< a buffer that is written
  bool used;
  int slot;
};
/// The name and the parameters of a kernel.
struct Signature {
  std::string name;
  std::vector<Parameter> buffers;     ///< by slot
  std::vector<Parameter> values;      ///< in the order of the list
  std::vector<std::string> locals;    ///< where they stand outside of the function
  std::int64_t group[3] = {1, 1, 1};  ///< instances in a group
  bool has_special = false;
  bool in_groups = false;  ///< a SPECIAL counts groups, not instances, and these share scratch memory
};

/// Where SPECIAL comes from; $x is the axis as a letter, $i as a number. Empty: a loop over all instances.
struct SpecialText {
  std::string_view instance;
  std::string_view group;
  std::string_view local;
};

/// A language: what is not the same in all of them.
struct Language {
  std::string_view name;
  std::span<const TypeText> types;
  std::span<const NarrowText> narrow;
  std::span<const OpText> ops;  ///< searched before the common rows
  std::span<const HelperText> helpers;
  SpecialText special = {};

  std::string_view declare = "$T $n = $v;";
  std::string_view variable = "$T $n = $v;";
  std::string_view array = "$T $n[$k] = {$v};";
  std::string_view loop = "for ($T $n = $a; $n < $b; $n++) {";
  std::string_view local = "$T $n[$k];";  ///< scratch memory of a group
  std::string_view own = "$T $n[$k];";    ///< scratch memory of an instance
  std::string_view barrier;
  std::string_view convert = "(($T)$a)";
  std::string_view bits;  ///< the same bits in another type

  // Memory moved as a vector whose lanes are then taken apart: $p pointer, $i index, $k lanes, $T type.
  std::span<const int> lane_counts = {};  ///< for which lanes there is one
  std::string_view load_lanes;
  std::string_view store_lanes;
  bool vectors_anywhere = true;         ///< in scratch memory too
  std::string_view component = "[$k]";  ///< a lane; $h is its number in hexadecimal

  std::string_view prelude;          ///< before everything
  std::string_view kernel = "void";  ///< before the name
  std::string_view space;            ///< before a buffer's type
  std::string_view restricted;       ///< behind a buffer's star
  std::string_view long_suffix = "ll";
  std::string_view infinity[2] = {"INFINITY", "INFINITY"};  ///< f32, f64
  std::string_view nan[2] = {"NAN", "NAN"};

  bool gnu_vectors = false;    ///< values of a power of two lanes are vectors of the compiler's
  bool ternary = true;         ///< has `?:`; else a gated load is an `if`
  bool silence_unused = true;  ///< `(void)name;` for parameters without a use
  bool local_outside = false;  ///< scratch memory is declared before the function

  /// All up to the body, with its brace.
  std::string (*head)(const Language&, const Signature&) = nullptr;
  std::string (*constant)(const Language&, const Scalar&) = nullptr;
};

/// The type of a value. @throws Error (domain) where the language lacks it.
std::string_view value_type(const Language& language, DType scalar);
/// What memory holds. @throws Error (domain) where it cannot.
std::string_view memory_type(const Language& language, DType scalar);
const NarrowText* narrow_of(const Language& language, DType scalar);

/// The row for `op` on operands of one class. @throws Error (domain) where the language lacks it.
const OpText& op_text(const Language& language, Ops op, DType operand, std::uint8_t on);
std::span<const OpText> common_rows();

/// `void NAME(float* restrict data0, int n) {`, in the language's words.
std::string c_head(const Language& language, const Signature& signature);
/// The parameters of that, without brackets.
std::string c_parameters(const Language& language, const Signature& signature);
std::string c_constant(const Language& language, const Scalar& value);

/// `text` with each $x replaced by what `of` gives for x.
template <class Of>
std::string fill(std::string_view text, const Of& of) {
  std::string out;
  for (std::size_t k = 0; k < text.size(); ++k) {
    if (text[k] == '$' && k + 1 < text.size())
      out += of(text[++k]);
    else
      out += text[k];
  }
  return out;
}

}  // namespace strata::rendering
