// Evaluation: a `Tape` is an expression compiled to straight-line code. It runs at one point with overflow detected, or
// over whole boxes in blocks of points (`BoxScan`). Internal to expr/.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <unordered_map>
#include <vector>

#include "strata/expr/expr.h"
#include "strata/expr/node.h"

namespace strata {

/// The nodes of the graph under `roots` (roots included), each once, sources before users.
std::vector<const Node*> postorder(std::span<const Expr> roots);

/// Inclusive bounds of a variable or a value.
struct Interval {
  std::int64_t lo, hi;
  /// hi - lo + 1, saturating at UINT64_MAX
  std::uint64_t extent() const;
};
/// A box of points: one Interval for each variable of a tape, in the tape's order.
using Box = std::vector<Interval>;
/// The number of points of `box`, saturating at UINT64_MAX.
std::uint64_t volume(const Box& box);

/// The arithmetic that computes a tape's values over a box.
enum class Width : std::uint8_t {
  real,     ///< doubles, exact because every intermediate is proven below 2^46
  wide,     ///< 64-bit integers; every intermediate is proven below 2^61
  checked,  ///< 64-bit integers point by point, with overflow detected
};

/// One or more expressions as straight-line code. Each node is one slot; sources come first.
class Tape {
 public:
  explicit Tape(std::span<const Expr> roots);
  explicit Tape(const Expr& root) : Tape(std::span<const Expr>(&root, 1)) {}

  std::size_t size() const { return nodes_.size(); }
  const Node* node(std::size_t slot) const { return nodes_[slot]; }
  /// The slots of the operands of `slot`, in the order of the node's children.
  std::span<const std::uint32_t> operands(std::size_t slot) const {
    return {operands_.data() + first_[slot], first_[slot + 1] - first_[slot]};
  }
  std::size_t roots() const { return root_slots_.size(); }
  std::uint32_t root(std::size_t i) const { return root_slots_[i]; }

  /// The slots of the variables, in canonical order.
  std::span<const std::uint32_t> variables() const { return variables_; }
  const VariableInfo& variable(std::size_t i) const { return nodes_[variables_[i]]->variable(); }
  Variable variable_handle(std::size_t i) const;
  /// The declared bounds of the variables.
  Box box() const;

  Width width() const { return width_; }

  /// Computes every slot at `point` (one value for each variable). Returns the first slot whose value does not fit in
  /// 64 bits (or that divides by 0), or size() when there is none.
  std::size_t run(std::span<const std::int64_t> point, std::vector<std::int64_t>& values) const;

 private:
  Width find_width() const;

  std::vector<Expr> keep_;
  std::vector<const Node*> nodes_;
  std::vector<std::uint32_t> first_, operands_, variables_, root_slots_;
  Width width_ = Width::checked;
};

/// The slots of a tape over a block of points; T is double (Width::real) or std::int64_t (Width::wide). A slot that
/// does not vary inside a block is kept as one value.
template <class T>
class Blocks {
 public:
  /// When a slot's value changes, as a set: between groups of blocks (kOuter); inside a block, but alike in every block
  /// (kOnce); inside a block and from block to block (kEach).
  enum Rate : std::uint8_t { kOuter = 1, kOnce = 2, kEach = 4 };
  static constexpr std::size_t kLanes = 8;  ///< blocks are padded to a multiple of kLanes points

  Blocks(const Tape& tape, std::size_t capacity);
  std::size_t capacity() const { return capacity_; }

  /// Sets the Rate of each variable, derives the Rate of every slot, and computes the constant slots.
  void classify(std::span<const std::uint8_t> variable_rates);
  void set_scalar(std::size_t variable, std::int64_t value);
  T* column(std::size_t variable);

  void run_outer();                  ///< slots of kOuter variables alone: one value each
  void run_once(std::size_t count);  ///< slots of kOnce variables alone
  void run_each(std::size_t count);  ///< all other slots that vary
  /// `count` values of a slot; a single value is repeated.
  const T* block(std::uint32_t slot, std::size_t count);

 private:
  bool is_scalar(std::uint32_t slot) const { return rate_[slot] <= kOuter; }
  T* data(std::uint32_t slot) { return store_.get() + std::size_t{slot} * capacity_; }
  void step(std::uint32_t slot, std::size_t count);
  void step_sum(std::uint32_t slot, std::size_t count);
  void step_divide(std::uint32_t slot, std::size_t count);
  void step_fold(std::uint32_t slot, std::size_t count);
  void step_choose(std::uint32_t slot, std::size_t count);
  void scalar_step(std::uint32_t slot);

  const Tape& tape_;
  std::size_t capacity_;
  std::vector<std::uint8_t> rate_;
  std::vector<std::uint32_t> outer_, once_, each_;
  std::vector<std::int64_t> scalar_;
  std::unique_ptr<T[]> store_;  // capacity_ values a slot, each written before it is read
};

/// A scan over a box in row-major order (the last variable varies fastest), block by block.
template <class T>
class BoxScan {
 public:
  /// @pre T is std::int64_t, or double and tape.width() == Width::real
  explicit BoxScan(const Tape& tape);
  /// Starts a new scan over `box`, with one Interval for each variable of the tape.
  void reset(const Box& box);
  /// Computes the next block. False after the last block, or when a value does not fit in 64 bits (see overflowed()).
  bool next();
  bool overflowed() const { return overflowed_; }
  std::size_t count() const { return count_; }
  /// count() rounded up to whole lanes. The values beyond count() belong to points of the box, too.
  std::size_t padded() const;
  const T* values(std::size_t root);
  /// The coordinates of point `i` of the block.
  std::vector<std::int64_t> point(std::size_t i) const;

 private:
  void plan();
  void fill_chunk();
  void fill_once();
  bool advance();
  bool next_checked();

  const Tape& tape_;
  Blocks<T> blocks_;
  Box box_;
  std::size_t split_ = 0;    // variables before split_ are outer; split_ is cut into chunks; later ones are whole
  std::uint64_t trail_ = 1;  // points of the variables after split_
  std::uint64_t chunk_ = 1;  // values of variable split_ in one block
  std::vector<std::int64_t> outer_;
  std::uint64_t position_ = 0;  // offset of the chunk's first value from the lower bound
  std::size_t count_ = 0;
  bool started_ = false, ended_ = false, overflowed_ = false;
  std::vector<std::vector<std::int64_t>> checked_;  // Width::checked: the values of each root
  std::vector<std::vector<std::int64_t>> points_;   // Width::checked: the points of the block
};

extern template class Blocks<double>;
extern template class Blocks<std::int64_t>;
extern template class BoxScan<double>;
extern template class BoxScan<std::int64_t>;

/// Calls f(BoxScan<T>&) with the T of the tape's width.
template <class F>
auto with_scan(const Tape& tape, F&& f) {
  if (tape.width() == Width::real) {
    BoxScan<double> scan(tape);
    return f(scan);
  }
  BoxScan<std::int64_t> scan(tape);
  return f(scan);
}

/// All slots at `n` points, where columns[v] holds n values of variable v. Empty when a value does not fit in 64 bits.
std::vector<std::vector<std::int64_t>> run_columns(const Tape& tape,
                                                   const std::vector<std::vector<std::int64_t>>& columns,
                                                   std::size_t n);

}  // namespace strata
