// Copies of strided boxes between arrangements of a tensor's elements in memory: the local layout of a rank, a dense
// box, a message. A copy is planned once, as runs on each axis, and may be executed any number of times.
//
//   const Arrangement local = Arrangement::local(sharding, rank);
//   const BoxCopy pack(box, local, Arrangement::message(box, 0));
//   pack.run(memory, message, sizeof(float));
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "strata/shard/sharding.h"

namespace strata {

/// Where the element with given coordinates lies: a number of elements, the sum of a term for each axis.
class Arrangement {
 public:
  /// By the local index of a rank. @throws Error (domain) for a rank outside of the mesh
  static Arrangement local(const Sharding& sharding, std::int64_t rank);
  /// Row-major in `box`. @pre its Stripes are intervals @throws Error (overflow)
  static Arrangement dense(const StridedBox& box);
  /// As in a message: the indices of `box`, row-major, from `begin` on. @throws Error (overflow)
  static Arrangement message(const StridedBox& box, std::int64_t begin);

 private:
  friend class BoxCopy;
  /// digit = coordinate / place % size; the digit adds weight * digit. One of a rank has to be `of_rank` instead.
  struct Term {
    std::int64_t place = 1, size = 1, weight = 0;
    std::optional<std::int64_t> of_rank = {};
  };
  struct Axis {
    std::vector<Term> terms;  // by rising place, those that go on in memory joined
    std::int64_t end = 0;     // coordinates are below it
    std::int64_t begin = 0;   // and not below this one, which the terms are counted from
    bool is_message = false;  // positions in the Stripes of the box count, not coordinates
    std::int64_t step = 0;    // of a position
  };
  /// The coordinates from `x` on, one after another in memory, in steps of `step` elements.
  struct Piece {
    std::int64_t at = 0, step = 0, length = 0;
    bool is_present = false;
  };
  /// Where k * s.stride + i of `s` lies: at + i * inner + k * outer.
  struct Affine {
    std::int64_t at = 0, inner = 0, outer = 0;
  };

  Piece piece(std::size_t axis, const Stripes& s, std::int64_t k, std::int64_t i) const;
  std::optional<Affine> affine(std::size_t axis, const Stripes& s) const;
  static bool steps_alone(const Axis& axis, const Stripes& s, std::int64_t& outer);
  static std::int64_t offset(const Axis& axis, std::int64_t x);

  std::vector<Axis> axes_;
  std::int64_t begin_ = 0;
};

/// The copy of one box from one arrangement to another. Elements that one of them does not have are left out.
class BoxCopy {
 public:
  /// The number of steps is that of blocks in the box at most, and does not depend on their lengths.
  /// @pre all arrangements are of the tensor of `box`
  BoxCopy(const StridedBox& box, const Arrangement& from, const Arrangement& to);

  /// Copies elements of `itemsize` bytes. @pre both memories have the elements; they do not overlap
  void run(const void* from, void* to, std::int64_t itemsize) const;
  /// Where the elements begin in the first memory, in elements, if they are one after another there, in the order of
  /// the second, and in the second one after another as well; so one copy of memory does the same.
  std::optional<std::int64_t> contiguous_from() const;
  /// The same place in the second memory.
  std::int64_t contiguous_to() const { return to_; }
  /// The number of elements that are copied.
  std::int64_t elements() const;

 private:
  /// `count` elements, from_step and to_step apart.
  struct Run {
    std::int64_t from = 0, to = 0, from_step = 0, to_step = 0, count = 0;
  };
  static std::vector<Run> runs_of(std::size_t axis, const Stripes& s, const Arrangement& from, const Arrangement& to);
  void join_axes();
  void run_inner(const std::byte* from, std::byte* to, std::int64_t itemsize) const;

  std::int64_t from_ = 0, to_ = 0;
  std::vector<std::vector<Run>> axes_;
};

}  // namespace strata
