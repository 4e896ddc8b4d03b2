// Language: a C-like language as data, for uops_to_cstyle(). It has the names of types, a text for each op, and the few
// texts in which the languages differ. Rows of ops that all languages share are in common_rows.cpp; a language lists
// only its own rows.
//
// A text is a template, in which a $ and a letter are replaced. $a, $b and $c are the operands; the others are
//   $T  the type of the result                          $S  the type of the operand
//   $U  the unsigned type of that width, at least 32    $V  the unsigned type of the operand's width
//   $W  the operand's width in bits                     $M  $W - 1
//   $0  the constant 0                                  $1  the constant 1
//   $I  the power of two from which all floats are integers, 2^23 of f32
//   $f  "f", empty for f64                              $n  a name      $v  a value
// An operand that a text has twice gets a variable first, so that it is computed once.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "strata/ir/uop.h"

namespace strata::rendering {

/// The operands to which a row applies. A row may have several classes, joined by |.
enum OpClass : std::uint8_t {
  kFloat = 1,
  kSigned = 2,
  kUnsigned = 4,
  kBool = 8,
  kInt = kSigned | kUnsigned,
  kAny = kInt | kFloat | kBool,
  kIndex = 16,       ///< a signed integer that is only used in indices, bounds and gates: it does not overflow
  kConstRight = 32,  ///< $b is a constant and, of floats, not NaN
  kNegated = 64,     ///< a WHERE of floats that may be an absolute value, see may_be_absolute()
};

/// The text of an op.
struct OpText {
  Ops op;
  std::uint8_t on;        ///< OpClass values, joined by |
  std::string_view text;  ///< empty: the language lacks the op
};

/// The types of a dtype.
struct TypeText {
  DType dtype;
  std::string_view value;   ///< of a value in a variable, e.g. "float" for f16
  std::string_view memory;  ///< of an element in memory, e.g. "_Float16"; empty: not possible
};

/// The conversions of f16 or bf16, whose values are held as f32 and rounded after each op. $a is the operand.
struct NarrowText {
  DType dtype;
  std::string_view load;          ///< the f32 of an element in memory
  std::string_view store;         ///< the element for an f32 that is a value of the dtype
  std::string_view round;         ///< an f32, rounded to a value of the dtype, as f32
  std::string_view round_double;  ///< an f64, rounded once to a value of the dtype, as f32
  /// As `round`, for an f32 that was converted from an integer of 32 bits or more; empty: `round` does.
  std::string_view round_int = {};
};

/// A function or macro of the program that texts call. It is emitted if the kernel's text contains its name.
struct HelperText {
  std::string_view name;
  std::string_view text;
};

/// A parameter of a kernel: a buffer or a variable.
struct Parameter {
  std::string name;
  DType dtype;  ///< of a buffer's element, or of the variable
  bool stored;  ///< whether the kernel writes the buffer
  bool used;
  int slot;  ///< of a buffer
};
/// The name and the parameters of a kernel.
struct Signature {
  std::string name;
  std::vector<Parameter> buffers;     ///< by slot
  std::vector<Parameter> values;      ///< in the order of the list
  std::vector<std::string> locals;    ///< declarations before the function
  std::int64_t group[3] = {1, 1, 1};  ///< work-items in a group, by axis
  bool has_special = false;
  bool in_groups = false;  ///< work-items share scratch memory in groups; SPECIALs count groups
};

/// The expressions for the value of a SPECIAL. $x is the axis as a letter (x, y, z), $i as a number.
struct SpecialText {
  std::string_view instance;  ///< the global index of a work-item; empty: a loop over all of them
  std::string_view group;     ///< the index of the group
  std::string_view local;     ///< the index of the work-item in its group
};

/// A language: all in which the languages of C's family differ.
struct Language {
  std::string_view name;
  std::span<const TypeText> types;
  std::span<const NarrowText> narrow;
  std::span<const OpText> ops;  ///< searched before the common rows
  std::span<const HelperText> helpers;
  SpecialText special = {};

  std::string_view declare = "$T $n = $v;";   ///< a variable that does not change
  std::string_view variable = "$T $n = $v;";  ///< a variable that is assigned to later
  std::string_view array = "$T $n[$k] = {$v};";
  std::string_view narrowed;  ///< $v, computed as an int, as an element of such a list of a smaller type; empty: itself
  std::string_view loop = "for ($T $n = $a; $n < $b; $n++) {";
  std::string_view local = "$T $n[$k];";  ///< scratch memory of a group
  std::string_view own = "$T $n[$k];";    ///< scratch memory of a work-item
  std::string_view barrier;
  std::string_view convert = "(($T)$a)";
  std::string_view bits;  ///< BITCAST: $a of type $S as type $T

  // Loads and stores of several elements at once, as a vector whose lanes are then used one by one: $p is the pointer,
  // $i the index, $k the number of lanes, $T the type of a lane.
  std::span<const int> lane_counts = {};  ///< the numbers of lanes for which that is possible
  std::string_view load_lanes;
  std::string_view store_lanes;
  bool vectors_anywhere = true;         ///< false: only in buffers, not in scratch memory
  std::string_view component = "[$k]";  ///< lane $k of such a vector; $h is $k in hexadecimal

  std::string_view prelude;          ///< before everything
  std::string_view kernel = "void";  ///< before the kernel's name
  std::string_view space;            ///< before a buffer's type, e.g. "__global "
  std::string_view restricted;       ///< behind a buffer's star, e.g. " restrict"
  std::string_view long_suffix = "ll";
  std::string_view infinity[2] = {"INFINITY", "INFINITY"};  ///< f32, f64
  std::string_view nan[2] = {"NAN", "NAN"};                 ///< f32, f64

  std::string_view vector_prefix;  ///< before the names of GNU vector types

  bool gnu_vectors = false;    ///< a value with a power of two lanes is a GNU vector (gnu_vector.h)
  bool ternary = true;         ///< has `?:`; without it a gated load is an `if`
  bool silence_unused = true;  ///< `(void)name;` for parameters without a use
  bool streams = true;         ///< has non-temporal stores; without them they are plain ones
  bool masks = false;  ///< has helpers for loads and stores with a gate for each lane, strata_masked_32x8 and its like
  bool local_outside = false;  ///< scratch memory of a group is declared before the function

  /// The text up to the opening brace of the function's body: bindings of buffers, if the language has them, name and
  /// parameters.
  std::string (*head)(const Language&, const Signature&) = nullptr;
  std::string (*constant)(const Language&, const Scalar&) = nullptr;
};

/// The type of a value. @throws Error (domain) if the language lacks the dtype
std::string_view value_type(const Language& language, DType scalar);
/// The type of an element in memory. @throws Error (domain) if the language lacks the dtype, or memory cannot hold it
std::string_view memory_type(const Language& language, DType scalar);
/// The conversions of a dtype that is held as f32; null for all other dtypes.
const NarrowText* narrow_of(const Language& language, DType scalar);

/// The first row for `op` that applies to a class in `on`, of the language or else of the common ones.
/// @throws Error (domain) if there is none, or the language's row says that it lacks the op
const OpText& op_text(const Language& language, Ops op, DType operand, std::uint8_t on);
std::span<const OpText> common_rows();

/// Language::head of C, OpenCL C and CUDA, e.g. `void NAME(float* restrict data0, int n) {`.
std::string c_head(const Language& language, const Signature& signature);
/// The parameters of c_head(), without parentheses.
std::string c_parameters(const Language& language, const Signature& signature);
/// Language::constant of C: a literal of the value's dtype, e.g. "2.0f", "(-1)", "3u".
std::string c_constant(const Language& language, const Scalar& value);

/// `text` with each $x replaced by of('x').
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
