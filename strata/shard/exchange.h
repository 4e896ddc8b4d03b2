// Exchange: the messages by which each rank gets what it reads of a tensor and does not own. They are computed from two
// shardings on one mesh, that of the tensor and that of the result, and from the index maps between them.
//
// A rank computes the part of the result that it owns. It *needs* the elements of the tensor that this part reads
// through the index maps. What it needs of the parts of other owners is sent to it. So each element that a rank needs
// and does not own comes to it once. Of replicas, the one that agrees with the receiver in all digits of stride 0 sends
// (the nearest: Sharding::replica), so that each replica serves as many receivers.
//
// Redistribution from one sharding to another is the exchange whose index map is the identity.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "strata/shard/image.h"
#include "strata/shard/sharding.h"
#include "strata/view/shape_tracker.h"

namespace strata {

/// The most Stripes of a message on one axis of a box that is needed, and the most boxes of a message.
inline constexpr std::size_t kMostMessageStripes = 1024;
inline constexpr std::size_t kMostMessageBoxes = 4096;

/// What one rank sends to another: elements of the tensor that `from` owns, each once.
struct Message {
  std::int64_t from = 0, to = 0;
  std::vector<StridedBox> boxes;  ///< disjoint
  std::int64_t elements = 0;
  /// True iff the boxes may also have elements that are not needed, because a limit was reached: that of the receiver's
  /// need (Image::is_larger), or one of the limits above. Then they are all that the sender owns inside of the smallest
  /// box of intervals around the need.
  bool is_larger = false;
};

/// The messages of one tensor for one result. A value; all functions may be called from any thread.
class Exchange {
 public:
  /// `reads`: the loads of the tensor, each of the result's shape: index of the result -> row-major number in the
  /// tensor.
  /// @throws Error (domain) for two meshes, (shape) for a load of another shape than the result's, (undefined) for
  ///   symbolic sizes
  Exchange(const Sharding& tensor, const Sharding& result, const std::vector<ShapeTracker>& reads);
  /// The redistribution of a tensor from one sharding to another.
  /// @throws Error (domain) for two meshes, (shape) for two shapes
  static Exchange between(const Sharding& from, const Sharding& to);

  const Sharding& tensor() const { return tensor_; }
  const Sharding& result() const { return result_; }
  const std::vector<ShapeTracker>& reads() const { return reads_; }

  /// The elements of the tensor that a rank reads, owned or not.
  /// @throws Error as image_of(); (domain) for a rank outside of the mesh; (overflow) for counts beyond 64 bits;
  ///   (budget) where the parts of a layout made by hand take more than kMostBoxes boxes
  Image need(std::int64_t rank) const;
  /// How many elements a rank needs and does not own; where the limit of Stripes leaves that open, how many come to it.
  /// @throws as need()
  std::int64_t missing(std::int64_t rank) const;
  /// The messages to a rank, by rising sender. @throws as need()
  std::vector<Message> received(std::int64_t rank) const;
  /// The messages of a rank, by rising receiver; in time linear in the number of ranks with its replica's digits.
  /// @throws as need()
  std::vector<Message> sent(std::int64_t rank) const;

 private:
  Sharding tensor_, result_;
  std::vector<ShapeTracker> reads_;
};

}  // namespace strata
