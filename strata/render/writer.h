// The text of a kernel as it grows: lines, names, types, and what stands for each UOp's value. Internal to render/.
//
// A value's text is an expression as long as it is used once; asked for by `simple` it becomes a variable, there and
// then. A vector is one GNU vector, or an array with an element for each lane. Vectors of bool are masks, 0 or -1 in
// each lane, as wide as what was compared (gnu_vector.h).
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

class Writer {
 public:
  Writer(const Language& language, const UOpGraph& list, bool owns_lines = false)
      : language_(language), usage_(list), values_(list.size()), owners_(owns_lines) {}

  const Language& language() const { return language_; }
  const Usage& usage() const { return usage_; }

  // --- lines ---
  void line(std::string_view text);
  void open(std::string_view text);  ///< a line, and what follows is inside
  void close();
  const std::string& body() const { return body_; }
  /// Lines are of `u` from now on; of none where it is empty.
  void begin(UOp u) { owners_.begin(u); }
  const std::vector<UOp>& owners() const { return owners_.owners(); }

  // --- names ---
  /// `wanted`, or something like it where the language or the list has that name already.
  std::string claim(std::string_view wanted);
  std::string fresh(std::string_view stem);  ///< "alu0", "alu1", ...

  // --- types ---
  bool is_native(DType dtype) const;  ///< a GNU vector
  bool is_array(DType dtype) const { return dtype.is_vector() && !is_native(dtype); }
  /// Of a scalar value, or of an array's elements.
  std::string_view scalar_type(DType dtype) const { return value_type(language_, dtype.scalar()); }
  /// The GNU vector of `lanes` of the scalar itself (f16 is _Float16 there); `in_memory` may stand at any address.
  std::string vector_type(DType scalar, int lanes, bool in_memory = false);
  std::string mask_type(int lanes, int bits);
  /// The GNU vector of a value that is not bool: floats of 16 bits are f32.
  std::string native_type(DType dtype);
  std::string typedefs() const;

  // --- values ---
  std::string constant(const Scalar& value) const { return language_.constant(language_, value); }
  void name(UOp u, std::string text) { values_[u.num()] = {std::move(text), true, 0}; }
  void name(UOp u, std::string text, int mask_bits) {
    values_[u.num()] = {std::move(text), true, mask_bits};
  }
  /// The value of `u` is `text`: kept as an expression, or put into a variable.
  void value(UOp u, std::string text, int mask_bits = 0);
  /// A variable of that value, through which compilers do not look for their warnings.
  void known(UOp u, const Scalar& value);
  /// The same for an array's lanes.
  void array(UOp u, const std::vector<std::string>& lanes, std::string_view stem);
  /// The same for a vector type of the language, which has lanes and nothing else.
  void components(UOp u, std::string name) { values_[u.num()] = {std::move(name), true, 0, true}; }
  /// @pre not an array
  std::string text(UOp u);
  std::string simple(UOp u);  ///< a name, a constant or a lane
  std::string_view name_of(UOp u) const { return values_[u.num()].text; }  ///< @pre it has one
  std::string lane(UOp u, int k);  ///< simple; a scalar is each of its lanes
  /// How the language names a lane of its vectors: ".s3".
  std::string component(int k) const;
  int mask_bits(UOp u) const;   ///< @pre a native vector of bool
  static bool is_known(UOp u);  ///< a constant
  /// A new variable. `type` as the language writes it.
  std::string declare(std::string_view type, std::string_view stem, std::string_view value,
                      bool changes = false);
  std::string value_type_of(UOp u, int mask_bits);

 private:
  struct WrittenValue {
    std::string text;
    bool simple = false;
    int mask_bits = 0;        // of native vectors of bool
    bool components = false;  // lanes as the language names them
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

/// `(a+b)` without the brackets around it.
std::string_view unwrapped(std::string_view text);
bool is_reserved(std::string_view name);
/// No name for a variable: reserved, or a function, a variable or a macro of a language.
bool is_taken(std::string_view name);

}  // namespace strata::rendering
