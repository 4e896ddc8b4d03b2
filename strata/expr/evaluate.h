// Evaluation: expressions compiled to a tape that runs at one point, with overflow detected, or over whole boxes in
// blocks of points. Internal to expr/.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <unordered_map>
#include <vector>

#include "strata/expr/expr.h"
#include "strata/expr/node.h"

namespace strata {

/// The nodes below `roots`, roots included, sources before users, each once.
std::vector<const Node*> postorder(std::span<const Expr> roots);

/// Inclusive bounds of one variable.
struct Interval {
  std::int64_t lo, hi;
  /// hi - lo + 1, saturating at UINT64_MAX
  std::uint64_t extent() const;
};
/// One Interval for each variable of a tape, in the tape's order.
using Box = std::vector<Interval>;
/// Number of points, saturating at UINT64_MAX.
std::uint64_t volume(const Box& box);

/// How values of a tape are computed over a box.
enum class Width : std::uint8_t {
  real,     ///< doubles: every intermediate is proven below 2^46, where they are exact
  wide,     ///< 64-bit integers: every intermediate is proven below 2^61
  checked,  ///< point by point, with overflow detected
};

/// One or more expressions as straight-line code: one step a node, sources first.
class Tape {
 public:
  explicit Tape(std::span<const Expr> roots);
  explicit Tape(const Expr& root) : Tape(std::span<const Expr>(&root, 1)) {}

  std::size_t size() const { return nodes_.size(); }
  const Node* node(std::size_t slot) const { return nodes_[slot]; }
  /// The slots of the operands of `slot`, in the node's order.
  std::span<const std::uint32_t> operands(std::size_t slot) const {
    return {operands_.data() + first_[slot], first_[slot + 1] - first_[slot]};
  }
  std::size_t roots() const { return root_slots_.size(); }
  std::uint32_t root(std::size_t i) const { return root_slots_[i]; }

  /// Slots of the variables, in canonical order.
  std::span<const std::uint32_t> variables() const { return variables_; }
  const VariableInfo& variable(std::size_t i) const { return nodes_[variables_[i]]->variable(); }
  Variable variable_handle(std::size_t i) const;
  /// The declared ranges of the variables.
  Box box() const;

  Width width() const { return width_; }

  /// Every slot's value at `point` (one value a variable). Returns the first slot whose value leaves 64 bits, or size().
  std::size_t run(std::span<const std::int64_t> point, std::vector<std::int64_t>& values) const;

 private:
  Width find_width() const;

  std::vector<Expr> keep_;
  std::vector<const Node*> nodes_;
  std::vector<std::uint32_t> first_, operands_, variables_, root_slots_;
  Width width_ = Width::checked;
};

/// The slots of a tape as blocks of points; T is double (Width::real) or std::int64_t (Width::wide). Slots that do not
/// depend on anything that varies inside a block are kept as one value.
template <class T>
class Blocks {
 public:
  /// What a slot's value changes with, as a set.
  enum Rate : std::uint8_t { kOuter = 1, kOnce = 2, kEach = 4 };
  static constexpr std::size_t kLanes = 8;  ///< blocks are padded to a multiple of this

  Blocks(const Tape& tape, std::size_t capacity);
  std::size_t capacity() const { return capacity_; }

  /// Sets what each variable changes with (one of Rate), classifies all steps and computes the constants.
  void classify(std::span<const std::uint8_t> variable_rates);
  void set_scalar(std::size_t variable, std::int64_t value);
  T* column(std::size_t variable);

  void run_outer();                  ///< steps of outer variables alone: one value each
  void run_once(std::size_t count);  ///< steps of kOnce variables alone
  void run_each(std::size_t count);  ///< the rest
  /// `count` values of a slot, spread out where it has just one.
  const T* block(std::uint32_t slot, std::size_t count);

 private:
  bool is_scalar(std::uint32_t slot) const { return rate_[slot] <= kOuter; }
  T* data(std::uint32_t slot) { return store_.data() + std::size_t{slot} * capacity_; }
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
  std::vector<T> store_;
};

/// A walk over a box in row-major order (last variable fastest), block by block.
template <class T>
class BoxScan {
 public:
  /// @pre T is std::int64_t, or double and tape.width() == Width::real
  explicit BoxScan(const Tape& tape);
  /// Starts over on `box`, one Interval a variable of the tape.
  void reset(const Box& box);
  /// Computes the next block; false after the last one, or when a value left 64 bits (see overflowed()).
  bool next();
  bool overflowed() const { return overflowed_; }
  std::size_t count() const { return count_; }
  /// count() rounded up to whole lanes; the values in between belong to points of the box too.
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
  std::size_t split_ =
      0;  // variables before are outer; this one is cut into chunks; those after are whole
  std::uint64_t trail_ = 1;  // points of the variables after split_
  std::uint64_t chunk_ = 1;  // values of variable split_ in one block
  std::vector<std::int64_t> outer_;
  std::uint64_t position_ = 0;  // first value of the chunk, from the lower bound
  std::size_t count_ = 0;
  bool started_ = false, ended_ = false, overflowed_ = false;
  std::vector<std::vector<std::int64_t>> checked_;  // Width::checked: values by root
  std::vector<std::vector<std::int64_t>> points_;   // and the points of the block
};

extern template class Blocks<double>;
extern template class Blocks<std::int64_t>;
extern template class BoxScan<double>;
extern template class BoxScan<std::int64_t>;

/// Calls f(BoxScan<T>&) with the T that the tape's width asks for.
template <class F>
auto with_scan(const Tape& tape, F&& f) {
  if (tape.width() == Width::real) {
    BoxScan<double> scan(tape);
    return f(scan);
  }
  BoxScan<std::int64_t> scan(tape);
  return f(scan);
}

/// All slots at `n` points: columns[v] holds n values of variable v. Empty when some value leaves 64 bits.
std::vector<std::vector<std::int64_t>> run_columns(const Tape& tape,
                                                   const std::vector<std::vector<std::int64_t>>& columns,
                                                   std::size_t n);

}  // namespace strata
