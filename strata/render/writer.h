// Writer: the text of a kernel in a C-like language while it is written: its lines, names, types, and the text of each
// UOp's value. cstyle.cpp, element.h and gnu_vector.h write to it. Internal to render/.
//
// The text of a value is an expression as long as the value has one use. simple() turns it into a variable, declared at
// the current line. A vector is a GNU vector, or an array with one element for each lane. A GNU vector of bool is a
// mask: 0 or -1 in each lane, as wide as the lanes of the compared vectors (gnu_vector.h).
#pragma once

#include <set>
#include <string>
#include <string_view>
#include <tuple>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "strata/render/language.h"
#include "strata/render/source_lines.h"
#include "strata/render/usage.h"

namespace strata::rendering {

/// The text of one kernel. A renderer visits the UOps in list order, gives each a text (name(), value(), array(), ...),
/// and asks for the texts of sources (text(), simple(), lane()).
class Writer {
 public:
  /// @param owns_lines whether to note the UOp of each line, for owners()
  /// @pre verify() accepts `list`; `language` outlives the Writer
  Writer(const Language& language, const UOpGraph& list, bool owns_lines = false)
      : language_(language), usage_(list), values_(list.size()), owners_(owns_lines) {}

  const Language& language() const { return language_; }
  const Usage& usage() const { return usage_; }

  // --- lines ---
  void line(std::string_view text);  ///< writes `text`, indented, as a line
  void open(std::string_view text);  ///< writes a line that ends in "{", and indents what follows
  void close();                      ///< ends the indentation, and writes "}"
  /// The lines written so far.
  const std::string& body() const { return body_; }
  /// The lines that follow belong to `u`; to no UOp if `u` is empty.
  void begin(UOp u) { owners_.begin(u); }
  /// The UOp of each line of body(), an empty handle for none; empty without `owns_lines`.
  const std::vector<UOp>& owners() const { return owners_.owners(); }

  // --- names ---
  /// Takes the name `wanted`, or a similar one if a language reserves it or the kernel has it already. Returns the
  /// name.
  std::string claim(std::string_view wanted);
  std::string fresh(std::string_view stem);  ///< takes the next free name: "alu0", "alu1", ...

  // --- types ---
  /// Whether values of this dtype are GNU vectors: the language has them, and the number of lanes is a power of two
  /// above 1.
  bool is_native(DType dtype) const;
  /// Whether values of this dtype are arrays: other vectors.
  bool is_array(DType dtype) const { return dtype.is_vector() && !is_native(dtype); }
  /// The type of a scalar value, or of an array's elements.
  std::string_view scalar_type(DType dtype) const { return value_type(language_, dtype.scalar()); }
  /// The GNU vector type of `lanes` elements of the scalar's memory type (f16 is _Float16). `in_memory`: the type for
  /// loads and stores, with the alignment of one element.
  std::string vector_type(DType scalar, int lanes, bool in_memory = false);
  /// The GNU vector type of a mask: signed integers of `bits` bits.
  std::string mask_type(int lanes, int bits);
  /// The GNU vector type of a value that is not bool: f16 and bf16 are held as f32.
  std::string native_type(DType dtype);
  /// The typedefs of all GNU vector types that were asked for.
  std::string typedefs() const;

  // --- values ---
  std::string constant(const Scalar& value) const { return language_.constant(language_, value); }
  /// Sets the text of `u` to a name or another simple expression.
  void name(UOp u, std::string text) { values_[u.num()] = {std::move(text), true, 0}; }
  void name(UOp u, std::string text, int mask_bits) { values_[u.num()] = {std::move(text), true, mask_bits}; }
  /// Sets the value of `u` to the expression `text`: kept as an expression if Usage::inlined(), else declared as a
  /// variable.
  void value(UOp u, std::string text, int mask_bits = 0);
  /// Declares a variable with the constant `value` for `u`. In a variable, compilers do not warn about the constant's
  /// use.
  void known(UOp u, const Scalar& value);
  /// The text of an element in a list of elements of that type: a cast where it was computed as a wider integer.
  std::string listed(DType dtype, const std::string& text) const;
  /// Declares an array with these lanes for `u`.
  void array(UOp u, const std::vector<std::string>& lanes, std::string_view stem);
  /// `u` is the variable `name` of a vector type of the language, whose lanes component() names.
  void components(UOp u, std::string name) { values_[u.num()] = {std::move(name), true, 0, true}; }
  /// The text of `u`, an expression that may be written once. @pre not an array
  std::string text(UOp u);
  /// The text of `u` as a name, a constant or a lane, which may be written several times. Declares a variable if
  /// necessary.
  std::string simple(UOp u);
  std::string_view name_of(UOp u) const { return values_[u.num()].text; }  ///< @pre it has one
  /// Lane k of `u`, as by simple(). Every lane of a scalar is the scalar. A lane of a mask is 0 or 1.
  std::string lane(UOp u, int k);
  /// The language's suffix for lane k of its vectors, e.g. ".s3".
  std::string component(int k) const;
  int mask_bits(UOp u) const;   ///< bits of a mask's lanes. @pre a native vector of bool
  static bool is_known(UOp u);  ///< whether `u` is a CONST
  /// Declares a variable of the initial value `value` in the language's form, and returns its name, fresh(stem).
  /// @param changes whether it is assigned to later
  std::string declare(std::string_view type, std::string_view stem, std::string_view value, bool changes = false);
  /// The type of a variable for `u`: of a scalar, a GNU vector or, with `mask_bits`, a mask; of an array the type of an
  /// element.
  std::string value_type_of(UOp u, int mask_bits);

 private:
  struct WrittenValue {
    std::string text;
    bool simple = false;      // `text` may be written several times
    int mask_bits = 0;        // of native vectors of bool
    bool components = false;  // a vector of the language: component() names its lanes
  };
  std::string splat(const Scalar& value, DType dtype);

  const Language& language_;
  Usage usage_;
  std::vector<WrittenValue> values_;
  LineOwners owners_;
  std::string body_;
  int indent_ = 1;
  std::unordered_set<std::string> names_;
  std::unordered_map<std::string, std::size_t> counts_;
  std::set<std::tuple<DType::Id, int, bool>> vectors_;
};

/// `text` without its outer parentheses, if one pair encloses the whole text: "(a+b)" gives "a+b".
std::string_view unwrapped(std::string_view text);
/// Whether a name is a keyword of one of the languages, or of a form that they or Strata reserve ("_x", "a__b",
/// "strata_x").
bool is_reserved(std::string_view name);
/// Whether a name cannot be a variable's: it is reserved, or a function, variable or macro of one of the languages.
bool is_taken(std::string_view name);

}  // namespace strata::rendering
