// The text of a function in LLVM IR as it grows: types, constants, instructions. Internal to render/.
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

/// The type of a value: "float", "<8 x i1>".
std::string llvm_type(DType dtype);
/// The type of what memory holds: bool is i8.
std::string llvm_memory_type(DType dtype);
/// The type as names of intrinsics have it: "f32", "v8i1".
std::string llvm_suffix(DType dtype);
/// `value`, in each lane where `dtype` is a vector, without the type. @pre value.dtype() == dtype.scalar()
std::string llvm_constant(DType dtype, const Scalar& value);

/// An operand: what an instruction says of it.
struct LlvmOperand {
  std::string type;
  std::string value;
};

class LlvmText {
 public:
  explicit LlvmText(bool owns_lines = false) : owners_(1, LineOwners(owns_lines)) {}

  /// A line of the block.
  template <class... Parts>
  void line(const Parts&... parts) {
    text_.back() += detail::message("  ", parts..., "\n");
    own(text_.size() - 1);
  }
  /// `%name = parts`. Gives "%name".
  template <class... Parts>
  std::string define(std::string_view name, const Parts&... parts) {
    line("%", name, " = ", parts...);
    return detail::message("%", name);
  }
  /// A call of the intrinsic `function`, which is declared; no name: of what gives nothing. `flags` end in a blank.
  std::string call(std::string_view name, std::string_view type, std::string_view function,
                   std::initializer_list<LlvmOperand> operands, std::string_view flags = "");

  /// Begins a block. What stood before it has ended in a branch.
  void begin_block(std::string_view label);
  /// The label of the block that lines go to.
  const std::string& block() const { return block_; }

  /// A position in the text that is filled later, by lines without their "  " and end.
  std::size_t reserve();
  template <class... Parts>
  void fill(std::size_t position, const Parts&... parts) {
    text_[position] += detail::message("  ", parts..., "\n");
    own(position);
  }

  /// Lines are of `u` from now on; of none where it is empty.
  void begin(UOp u) { owner_ = u; }
  /// Whose each line of text() is.
  std::vector<UOp> owners() const;

  std::string text() const;
  /// Of the intrinsics that were called.
  std::string declarations() const;

 private:
  void own(std::size_t position) {
    LineOwners& of = owners_[position];
    if (!of.is_on()) return;
    of.begin(owner_);
    of.line();
  }

  std::vector<std::string> text_{std::string()};
  std::vector<LineOwners> owners_;  // of each part of the text
  UOp owner_;
  std::string block_;
  std::set<std::string, std::less<>> declared_;
};

}  // namespace strata::rendering
