// DType: the type of a tensor's elements, one of the scalar dtypes of dtypes.def, a vector of one, or a pointer to
// either. A value of three bytes. Also here: promotion of two dtypes, and dtypes by name.
//
//   dtypes::float32.name()          "f32"
//   dtypes::float32.vec(8).name()   "f32x8"
//   promote(dtypes::int32, dtypes::float16) == dtypes::float16
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace strata {

enum class DTypeKind : std::uint8_t { boolean, sint, uint, floating };

/// A scalar dtype, a vector of 2 to 64 scalars, or a pointer to either.
class DType {
 public:
  enum class Id : std::uint8_t {
    none,  ///< the dtype of an operation without a value: a store, the end of a loop
#define STRATA_DTYPE(id, kind, bits, name, spec, c, significand, min_exponent) id,
#include "strata/dtype/dtypes.def"
  };
  static constexpr std::size_t kCount = 13;  ///< the number of scalar dtypes, `none` excluded
  static constexpr int kMostLanes = 64;

  constexpr DType() = default;
  constexpr explicit DType(Id id) : id_(id) {}

  constexpr Id id() const { return id_; }
  constexpr int lanes() const { return lanes_; }
  constexpr bool is_none() const { return id_ == Id::none; }
  constexpr bool is_vector() const { return lanes_ > 1; }
  constexpr bool is_pointer() const { return pointer_; }
  /// The dtype of one lane, without lanes and pointer: f32x8* gives f32.
  constexpr DType scalar() const { return DType(id_); }
  /// The dtype that this pointer points to; a dtype that is not a pointer is returned as it is.
  constexpr DType pointee() const { return pointer_ ? with(lanes_, false) : *this; }
  /// A pointer to this dtype; a pointer is returned as it is.
  constexpr DType pointer() const { return with(lanes_, true); }
  /// A vector of `lanes` lanes; the scalar itself for 1. @throws Error (domain) unless 1 <= lanes <= kMostLanes and
  /// this is a scalar.
  DType vec(int lanes) const;

  // Properties of the scalar, of one lane of a vector, or of what a pointer points to: f32x8* is a float of 32 bits,
  // too. `none` has none of them: InternalError.
  DTypeKind kind() const;
  int bits() const;  ///< size of one lane in memory; 8 for bool
  bool is_bool() const { return kind() == DTypeKind::boolean; }
  bool is_float() const { return kind() == DTypeKind::floating; }
  bool is_unsigned() const { return kind() == DTypeKind::uint; }
  bool is_signed_int() const { return kind() == DTypeKind::sint; }
  bool is_int() const { return is_signed_int() || is_unsigned(); }  ///< false for bool
  int significand_bits() const;  ///< of a float, hidden bit included; 0 for other dtypes
  int min_exponent() const;      ///< of a float: its smallest normal number is 2^min_exponent
  /// The C type: "float", "unsigned char", "_Float16".
  std::string_view c_name() const;

  /// Size in bytes: lanes * bits / 8; 8 for a pointer; 0 for none.
  std::size_t itemsize() const;
  /// The short name: "f32", "f32x8", "f32*", "none".
  std::string name() const;
  /// The name in the specification's listings: "dtypes.float", "dtypes.float.vec(8)", "ptr.dtypes.float", "" for none.
  std::string spec_name() const;

  friend constexpr bool operator==(DType a, DType b) = default;

 private:
  constexpr DType with(int lanes, bool pointer) const {
    DType out(id_);
    out.lanes_ = static_cast<std::uint8_t>(lanes);
    out.pointer_ = pointer;
    return out;
  }

  Id id_ = Id::none;
  std::uint8_t lanes_ = 1;
  bool pointer_ = false;
};

namespace dtypes {

inline constexpr DType none{};
#define STRATA_DTYPE(id, kind, bits, name, spec, c, significand, min_exponent) inline constexpr DType id{DType::Id::id};
#include "strata/dtype/dtypes.def"

/// The scalar dtypes in the order of dtypes.def.
std::span<const DType> all();
/// The dtype called `text`: what name() or spec_name() of any dtype but `none` gives ("f32", "f32x8", "f32*",
/// "dtypes.float.vec(8)"), also without "dtypes." ("float", "long": f32 and i64), or NumPy's name of the scalar
/// ("float32").
/// @throws Error (parse) that lists the known names.
DType parse(std::string_view text);

}  // namespace dtypes

/// The dtype that two operands are converted to, e.g. (i8, u8) gives i16 and (i64, f16) gives f16; the full matrix is
/// in promote.cpp. It follows PyTorch and the array-API standard; a signed integer and u64 give f64, as in NumPy.
/// Commutative and idempotent. Associative except where a signed integer, u64 and a float narrower than f64 come
/// together. Vectors of equal lanes give a vector.
/// @throws Error (domain) for different lanes (a scalar has 1), for pointers and for `none`.
DType promote(DType a, DType b);
/// The promotion matrix as text with short names; rows and columns are in the order of dtypes.def.
std::string promotion_table();

/// The least and the largest finite value of one lane, as doubles; 0 and 1 for bool. Exact, except for the largest
/// 64-bit integers, which are rounded. `none` has neither: InternalError.
double lowest(DType dtype);
double highest(DType dtype);

}  // namespace strata
