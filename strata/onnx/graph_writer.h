// GraphWriter: writes nodes of a tensor graph as nodes of an ONNX graph, for to_onnx(). Internal to onnx/.
//
// A node becomes a Plan: nodes that are written before, and a function that writes the node itself. A plan may ask for
// other nodes than the node's sources: where a SUM of a MUL is a matrix product, it asks for the operands of the
// product. Many plans say a node by simpler ones (alias_of()).
//
// A written tensor may have a smaller shape than its node, one that broadcasts to it: EXPAND writes nothing, because
// ONNX's operators broadcast as NumPy's do. full() and at_least() write an Expand where an operator needs the elements.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "strata/graph/lazy_op.h"
#include "strata/onnx/definition.h"

namespace strata::onnx {

/// A tensor of the file. The shape broadcasts to that of the node that it stands for.
struct Written {
  std::string name;
  DType dtype;
  Ints shape;
};

/// How a node is written: after `operands`, by `emit`, which gets them in order.
struct Plan {
  std::vector<LazyOp> operands;
  std::function<Written(std::span<const Written>)> emit;
};

/// The dtypes that an operator takes, as bits.
using DTypes = std::uint32_t;
constexpr DTypes bit(DType dtype) { return DTypes{1} << static_cast<unsigned>(dtype.id()); }
inline constexpr DTypes kFloats = bit(dtypes::float16) | bit(dtypes::float32) | bit(dtypes::float64);
inline constexpr DTypes kAllFloats = kFloats | bit(dtypes::bfloat16);
inline constexpr DTypes kWideInts = bit(dtypes::int32) | bit(dtypes::int64) | bit(dtypes::uint32) | bit(dtypes::uint64);
inline constexpr DTypes kSignedInts = bit(dtypes::int8) | bit(dtypes::int16) | bit(dtypes::int32) | bit(dtypes::int64);
inline constexpr DTypes kUnsignedInts =
    bit(dtypes::uint8) | bit(dtypes::uint16) | bit(dtypes::uint32) | bit(dtypes::uint64);
inline constexpr DTypes kNumbers = kAllFloats | kSignedInts | kUnsignedInts;
inline constexpr DTypes kEverything = kNumbers | bit(dtypes::boolean);
/// `dtype`, or the dtype that has its values and that the operator takes; none where there is none.
DType taken_dtype(DType dtype, DTypes taken);

Attribute integer_attribute(std::string name, std::int64_t value);
Attribute integers_attribute(std::string name, std::vector<std::int64_t> values);
Attribute text_attribute(std::string name, std::string value);

class GraphWriter {
 public:
  explicit GraphWriter(Definition& model) : model_(model) { scopes_.emplace_back(); }

  // --- what the caller of to_onnx() has named ---
  /// Takes a name, which no other tensor of the file gets. @pre is_free(name)
  void take_name(const std::string& name) { names_.insert(name); }
  bool is_free(const std::string& name) const { return !names_.contains(name); }
  /// The node is the tensor `name` of the file, e.g. an input.
  void set(const LazyOp& node, Written written);
  /// Memory at this address has this name in the file, unless the name is empty or another tensor's.
  void name_memory(const void* memory, const std::string& name) {
    if (!name.empty()) memory_names_.emplace(memory, name);
  }
  /// Memory that the host fills before each run: what reads it is refused.
  void refuse_memory(const void* memory) { fed_.insert(memory); }
  bool reads_refused_memory(const LazyOp& n) const;
  /// The size has the value of dimension `axis` of an input, or of an input of one integer.
  void set_size(const Variable& size, std::string input, std::optional<std::int64_t> axis);

  // --- writing ---
  Written write(const LazyOp& root);
  /// Adds a problem, which the file cannot say. A node has it once.
  void refuse(const LazyNode* node, const std::string& why);
  const std::vector<std::string>& problems() const { return problems_; }
  /// Removes nodes that nobody reads, and gives tensors their final names.
  void finish(const std::map<std::string, std::string>& renamed);

  Written add(std::string op, std::span<const Written> inputs, std::vector<Attribute> attributes, DType dtype,
              Ints shape);
  Written add(std::string op, std::initializer_list<Written> inputs, std::vector<Attribute> attributes, DType dtype,
              Ints shape) {
    return add(std::move(op), std::span<const Written>(inputs.begin(), inputs.size()), std::move(attributes), dtype,
               std::move(shape));
  }
  /// A node with several outputs, of these dtypes and shapes.
  std::vector<Written> add_several(std::string op, std::span<const Written> inputs, std::vector<Attribute> attributes,
                                   std::vector<std::pair<DType, Ints>> results);
  /// An operator that broadcasts: operands of one dtype are cast to what the operator takes, and a result of that dtype
  /// is cast back.
  Written elementwise(std::string op, std::span<const Written> inputs, DTypes taken, DType result,
                      std::vector<Attribute> attributes = {});
  Written cast(const Written& x, DType to);
  Written reshaped(const Written& x, const Ints& to);
  Written transposed(const Written& x, const Axes& order);
  /// `x` with all elements of `shape`; only along `axes`.
  Written full(const Written& x, const Ints& shape);
  Written at_least(const Written& x, const Ints& shape, const Axes& axes);
  Written sliced(const Written& x, const Ints& begins, const Ints& ends, const Axes& axes, const Ints& steps,
                 const Ints& shape);
  /// A constant without dimensions.
  Written constant(const Scalar& value);
  Written constant(const Tensor& value);
  /// The numbers as a tensor of one dimension.
  Written integers(const std::vector<std::int64_t>& values);
  Written sizes(const Ints& sizes);
  /// An integer as an i64 of shape (1).
  Written size(const Int& size);

  // --- subgraphs ---
  /// Begins a graph inside of the current one; returns its number.
  int begin_graph(const std::string& name);
  void end_graph() { scopes_.pop_back(); }
  Graph& graph() { return model_.graphs[static_cast<std::size_t>(scopes_.back().graph)]; }
  std::size_t depth() const { return scopes_.size(); }
  std::string free_name(std::string_view wanted);
  /// A loop that is written once, by its step and its sources: its results.
  using LoopKey = std::vector<const void*>;
  const std::vector<Written>* find_loop(const LoopKey& key) const;
  void set_loop(LoopKey key, std::vector<Written> results) {
    scopes_.back().loops.emplace(std::move(key), std::move(results));
  }

  const Written* find(const LazyNode* node) const;
  /// Keeps a node that a plan made alive.
  LazyOp keep(const LazyOp& node) { return kept_.emplace_back(node); }

 private:
  struct Scope {
    int graph = 0;
    std::unordered_map<const LazyNode*, Written> done;
    std::map<std::string, Written> constants;  ///< by content
    std::map<std::string, Written> sizes;      ///< by text
    std::map<std::vector<const void*>, std::vector<Written>> loops;
  };
  struct SizeSource {
    Variable size;
    std::string input;
    std::optional<std::int64_t> axis;
  };

  const Written* constant_by(const std::string& key) const;
  Written written_size(const Expr& e);
  void note_bias(const Node& node, const std::vector<Written>& results);
  void fold_biases();
  Written variable_size(const Variable& v);

  Definition& model_;
  std::vector<Scope> scopes_;
  std::set<std::string> names_;
  std::map<std::string, std::uint64_t> numbers_;                // by wanted name
  std::map<std::string, Written> reshapes_;                     // by the result of a Reshape: its operand
  std::map<std::string, std::pair<Written, Axes>> transposes_;  // by the result of a Transpose
  std::map<std::string, Ints> gemms_;                           // by the result of a Gemm without a bias: its shape
  std::map<std::string, std::size_t>
      biased_;  // by the result of an Add that may be the bias of a Gemm: the Gemm's input
  std::unordered_map<const void*, std::string> memory_names_;
  std::map<std::string, Written> memory_;  // by address, dtype and shape
  std::unordered_set<const void*> fed_;
  std::vector<SizeSource> size_sources_;
  std::vector<std::string> problems_;
  std::set<const LazyNode*> refused_;
  std::vector<LazyOp> kept_;

  friend Plan memory_plan(GraphWriter& w, const LazyOp& n);
};

/// How the node is written. @post never fails: what the file cannot say is refused, and is a constant
Plan plan_of(GraphWriter& w, const LazyOp& n);

/// A port of the file for a tensor; sizes that are no numbers are symbols.
Port port_of(const std::string& name, DType dtype, const Ints& shape);

/// The plan of a node that has the elements of `m`.
Plan alias_of(GraphWriter& w, const LazyOp& m);

// Each returns a plan where the node is what the function looks for.
std::optional<Plan> elementwise_plan(GraphWriter& w, const LazyOp& n);
std::optional<Plan> movement_plan(GraphWriter& w, const LazyOp& n);
std::optional<Plan> product_plan(GraphWriter& w, const LazyOp& n);
std::optional<Plan> convolution_plan(GraphWriter& w, const LazyOp& n);
std::optional<Plan> pattern_plan(GraphWriter& w, const LazyOp& n);
std::optional<Plan> indexing_plan(GraphWriter& w, const LazyOp& n);
std::optional<Plan> loop_plan(GraphWriter& w, const LazyOp& n);
Plan reduction_plan(GraphWriter& w, const LazyOp& n);
Plan memory_plan(GraphWriter& w, const LazyOp& n);
Plan iota_plan(GraphWriter& w, const LazyOp& n);

/// The one value of a node of constants; nothing for other nodes.
std::optional<Scalar> value_of(const LazyOp& n);
/// The node without annotations.
const LazyOp& plain(const LazyOp& n);
/// Bounds of the integers of a node; nothing where they are not seen.
std::optional<std::pair<std::int64_t, std::int64_t>> range_of(const LazyOp& n);

/// `shape` with ones in front, up to `rank` dimensions.
Ints aligned(const Ints& shape, std::size_t rank);
Ints broadcast_of(std::span<const Written> all);
bool is_one(const Int& size);

}  // namespace strata::onnx
