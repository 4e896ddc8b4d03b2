// The type of an element: a scalar dtype of dtypes.def, or a vector of them, or a pointer to them. A value of three bytes.
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

/// A type of elements, a vector of them, or a pointer to them.
class DType {
 public:
  enum class Id : std::uint8_t {
    none,  ///< of what has no value: a store, the end of a loop
#define STRATA_DTYPE(id, kind, bits, name, spec, c, significand, min_exponent) id,
#include "strata/dtype/dtypes.def"
  };
  static constexpr std::size_t kCount = 13;  ///< scalar dtypes, without `none`
  static constexpr int kMostLanes = 64;

  constexpr DType() = default;
  constexpr explicit DType(Id id) : id_(id) {}

  constexpr Id id() const { return id_; }
  constexpr int lanes() const { return lanes_; }
  constexpr bool is_none() const { return id_ == Id::none; }
  constexpr bool is_vector() const { return lanes_ > 1; }
  constexpr bool is_pointer() const { return pointer_; }
  constexpr DType scalar() const { return DType(id_); }
  /// The dtype of what this points to.
  constexpr DType pointee() const { return pointer_ ? with(lanes_, false) : *this; }
  constexpr DType pointer() const { return with(lanes_, true); }
  /// `lanes` of this scalar. @throws Error (domain) unless 1 <= lanes <= kMostLanes and this is a scalar.
  DType vec(int lanes) const;

  // Of the scalar. @pre !is_none()
  DTypeKind kind() const;
  int bits() const;  ///< of one lane in memory; 8 for bool
  bool is_bool() const { return kind() == DTypeKind::boolean; }
  bool is_float() const { return kind() == DTypeKind::floating; }
  bool is_unsigned() const { return kind() == DTypeKind::uint; }
  bool is_signed_int() const { return kind() == DTypeKind::sint; }
  bool is_int() const { return is_signed_int() || is_unsigned(); }  ///< bool is none
  int significand_bits() const;  ///< of floats, with the hidden one; else 0
  int min_exponent() const;      ///< of floats: 2^min_exponent is the smallest normal number
  std::string_view c_name() const;

  /// Bytes in memory: lanes * bits / 8; 8 for a pointer.
  std::size_t itemsize() const;
  /// "f32", "f32x8", "f32*", "none".
  std::string name() const;
  /// As in the specification's listings: "dtypes.float", "dtypes.float.vec(8)", "ptr.dtypes.float", "" for none.
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
#define STRATA_DTYPE(id, kind, bits, name, spec, c, significand, min_exponent) \
  inline constexpr DType id{DType::Id::id};
#include "strata/dtype/dtypes.def"

/// The scalar dtypes in the order of dtypes.def.
std::span<const DType> all();
/// The dtype called `text`: a short name ("f32", "f32x8"), the specification's ("float", "dtypes.float") or NumPy's
/// ("float32", "bool"). @throws Error (parse) naming what there is.
DType parse(std::string_view text);

}  // namespace dtypes

/// The dtype in which values of both can meet, as PyTorch and NumPy's array-API promotion have it; see the matrix in
/// promote.cpp. Commutative and idempotent; associative but where a signed integer, u64 (together f64, as in NumPy) and a
/// narrower float meet. @throws Error (domain) for vectors of different lanes, for pointers and for none.
DType promote(DType a, DType b);
/// The matrix, as a table of short names for people: rows and columns in the order of dtypes.def.
std::string promotion_table();

/// Least and largest finite values as doubles; exact but for 64-bit integers' largest.
double lowest(DType dtype);
double highest(DType dtype);

}  // namespace strata
