// LlvmText: the text of a function in LLVM IR while it is written, and the texts of types and constants. llvm.cpp and
// LlvmOps write to it. Internal to render/.
#pragma once

#include <initializer_list>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "strata/base/check.h"
#include "strata/dtype/scalar.h"
#include "strata/render/source_lines.h"

namespace strata::rendering {

/// The type of a value: "float", "<8 x i1>", "ptr".
std::string llvm_type(DType dtype);
/// The type of an element in memory: i8 for bool, else llvm_type().
std::string llvm_memory_type(DType dtype);
/// The type in the name of an intrinsic: "f32", "v8i1".
std::string llvm_suffix(DType dtype);
/// The constant `value`, in every lane if `dtype` is a vector, without the type. @pre value.dtype() == dtype.scalar()
std::string llvm_constant(DType dtype, const Scalar& value);

/// An operand of a call.
struct LlvmOperand {
  std::string type;
  std::string value;
};

/// The text of a function, as a sequence of parts. A part in the middle can be reserved and filled later: phi nodes and
/// allocas are known only after the code behind them.
class LlvmText {
 public:
  /// @param owns_lines whether to note the UOp of each line, for owners()
  explicit LlvmText(bool owns_lines = false) : owners_(1, LineOwners(owns_lines)) {}

  /// Writes a line of the current block.
  template <class... Parts>
  void line(const Parts&... parts) {
    text_.back() += detail::message("  ", parts..., "\n");
    own(text_.size() - 1);
  }
  /// Writes `%name = parts`. Returns "%name".
  template <class... Parts>
  std::string define(std::string_view name, const Parts&... parts) {
    line("%", name, " = ", parts...);
    return detail::message("%", name);
  }
  /// Writes a call of the intrinsic `function`, which declarations() then has. Returns "%name". An empty name: the
  /// function returns void. `flags`, if any, end in a blank.
  std::string call(std::string_view name, std::string_view type, std::string_view function,
                   std::initializer_list<LlvmOperand> operands, std::string_view flags = "");

  /// Begins a block. @pre the last line is a branch or a return, or there is none
  void begin_block(std::string_view label);
  /// The label of the current block.
  const std::string& block() const { return block_; }

  /// Reserves a place here, for lines that are written later with fill(). Returns its number.
  std::size_t reserve();
  template <class... Parts>
  void fill(std::size_t position, const Parts&... parts) {
    text_[position] += detail::message("  ", parts..., "\n");
    own(position);
  }

  /// The lines that follow belong to `u`; to no UOp if `u` is empty.
  void begin(UOp u) { owner_ = u; }
  /// The UOp to which each line of text() belongs.
  std::vector<UOp> owners() const;

  std::string text() const;
  /// The declarations of all intrinsics that were called, and the functions that were added.
  const std::set<std::string, std::less<>>& declared() const { return declared_; }
  std::string declarations() const;
  /// Adds a function of the module.
  void add_function(std::string_view text) { declared_.emplace(text); }

 private:
  void own(std::size_t position) {
    LineOwners& of = owners_[position];
    if (!of.is_on()) return;
    of.begin(owner_);
    of.line();
  }

  std::vector<std::string> text_{std::string()};
  std::vector<LineOwners> owners_;  // for each part of the text
  UOp owner_;
  std::string block_;
  std::set<std::string, std::less<>> declared_;
};

}  // namespace strata::rendering
