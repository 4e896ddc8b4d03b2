// What a capture (jit.cpp) knows of its arguments, of the tensors that its function reads from outside, and of those
// that the function assigns to; and which assignments replays may make in place, i.e. in the memory of the old value.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "strata/engine/placed.h"
#include "strata/engine/recording.h"
#include "strata/tensor/jit_watching.h"

namespace strata::jit_updates {

using jit_watching::SeenView;
using jit_watching::State;

/// An argument. Places are those of the recording.
struct Input {
  Ints shape;
  DType dtype;
  const Device* device;
  std::shared_ptr<const PlacedForm> form = {};  ///< of memory that is placed
  std::optional<std::size_t> place = {};
  std::size_t same_as = 0;  ///< the first input that is the same tensor, possibly itself
  bool is_written = false;
  State outside = {};  ///< the input of the captured call, if the function also used it from outside
};

/// A tensor from outside.
struct Read {
  State state;
  SeenView view;
  std::weak_ptr<const LazyNode> seen;  ///< weak, so that a capture does not keep values that are assigned over
  std::size_t place;
  void* at;  ///< its current memory
  std::size_t bytes;
  DeviceMemory* memory;  ///< kept alive by the node `seen`; null: memory of the graph, which never changes
  std::shared_ptr<const PlacedForm> form;  ///< of memory that is placed

  bool is_seen() const { return state->stands_for(seen.lock().get()); }
};

/// Finds the current memory of a tensor from outside. False if its shape, dtype, placement or movement ops have
/// changed.
bool find_again(Read& r);
/// Notes that the tensor is now in the memory of the realized node `leaf`. False if that is placed in another form.
bool look(Read& r, const LazyOp& leaf);

/// A tensor that the function assigns to.
struct Assigned {
  State state;  ///< null for an input
  SeenView view;
  std::optional<std::size_t> input;
};

/// Memory that a call writes and that assigned tensors have afterwards.
struct Written {
  std::optional<std::size_t> place;
  Ints shape;
  DType dtype;
  std::int64_t size;                       ///< of the memory, in elements
  std::shared_ptr<const PlacedForm> form;  ///< of memory that is placed
  std::optional<LazyOp> like;              ///< during the capture: the leaf
  std::optional<LazyOp> spare, given;      ///< memory of an earlier replay, to be reused; of the last replay. Never
                                           ///< memory of the user, which must not be overwritten
  std::vector<Assigned> by;                ///< the tensors
  std::optional<std::size_t> same_as;      ///< an earlier entry with the same memory
  std::optional<std::size_t> in_place;     ///< the place of the old value, whose memory gets the new one
  std::vector<State> owners;               ///< those who may have the memory if it is written in place

  std::int64_t bytes() const { return size * static_cast<std::int64_t>(dtype.itemsize()); }
  /// Whether the tensor is among those that have the memory.
  bool is_of(const State& state) const;
};

/// The assignments that may be made in place: of 64 KB at least; those to tensors from outside that are read as they
/// are assigned, and that alone are read in that memory; and those to an argument that is passed once and assigned
/// whole. Also notes the owners of the former.
std::vector<RecordedUpdate> find_updates(std::vector<Written>& written, std::span<const Read> reads,
                                         std::span<const Input> inputs);

}  // namespace strata::jit_updates
