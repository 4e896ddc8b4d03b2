#include "tests/fuzz/graph_program.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "strata/expr/evaluate.h"
#include "tests/fuzz/graph_ranges.h"

namespace strata::oracle {

namespace {

constexpr std::int64_t kMostElements = 1500, kMostWork = 60'000, kMostN = 8;
constexpr std::int64_t kMostRoom = 1 << 22;  // elements, where symbolic sizes are at their bounds
constexpr std::int64_t kLarge = 12;          // times as much in a few programs

constexpr DType kInputs[] = {dtypes::float32, dtypes::float64, dtypes::int32,
                             dtypes::int64,   dtypes::boolean, dtypes::float16};

std::uint64_t scrambled(std::uint64_t x) {
  x = (x ^ (x >> 31)) * 0x9e3779b97f4a7c15U;
  return x ^ (x >> 29);
}
/// Small quarters, so that most sums and products are exact; of every 32nd seed some are special.
Scalar input_element(DType dtype, std::uint64_t seed, std::int64_t k) {
  const std::uint64_t bits = scrambled(seed * 0x100000001b3U + static_cast<std::uint64_t>(k) + 1);
  if (dtype.is_bool()) return Scalar((bits >> 7 & 1) != 0);
  if (!dtype.is_float()) return Scalar::of(dtype, static_cast<std::int64_t>(bits % 11) - 5);
  if (seed % 32 == 0 && bits % 5 == 0) {
    constexpr double kInfinity = std::numeric_limits<double>::infinity();
    constexpr double kSpecial[] = {kInfinity, -kInfinity, std::numeric_limits<double>::quiet_NaN(), -0.0};
    return Scalar::of(dtype, kSpecial[bits / 5 % 4]);
  }
  return Scalar::of(dtype, (static_cast<double>(bits % 25) - 12) / 4);
}

/// The same with something added that is not the same for any two, and no round number.
Scalar moved_element(const Scalar& element, std::uint64_t seed, std::int64_t k, double by) {
  const std::uint64_t bits = scrambled(seed ^ scrambled(static_cast<std::uint64_t>(k) + 77));
  const double aside = static_cast<double>(bits % 1'000'003) / 1'000'003 * 0.2 - 0.1;
  const double e = std::isfinite(element.as_double()) ? element.as_double() : 0.5;
  return Scalar(e + aside + by * graph_direction(place(k)));
}

/// Dtype, seed, whether gradients are taken by it, sizes.
Tensor input(const StepArgs& args, std::size_t which, const GraphProgram& program, const GraphBuild& how) {
  const std::int64_t n = program.n;
  const bool is_moved = how.in_f64 && kInputs[args[0]].is_float();
  const DType dtype = is_moved ? dtypes::float64 : kInputs[args[0]];
  Ints shape;
  std::int64_t count = 1, room = 1;
  for (std::size_t k = 3; k < args.size(); ++k) {
    const bool is_n = args[k] == -1;
    shape.push_back(is_n && how.symbolic ? Int(Variable("n", 1, program.most_n).bind(n)) : is_n ? n : args[k]);
    count *= is_n ? n : args[k];
    room *= is_n ? program.most_n : args[k];
  }
  const Buffer buffer = Buffer::allocate(how.symbolic ? room : count, dtype);
  for (std::int64_t k = 0; k < buffer.size(); ++k) {
    const std::uint64_t seed = static_cast<std::uint64_t>(args[1]) + how.other;
    const Scalar plain = input_element(dtype, seed, k);
    store_scalar(is_moved ? moved_element(plain, seed, k, which == how.moved ? how.by : 0) : plain,
                 static_cast<char*>(buffer.data()) + place(k) * dtype.itemsize());
  }
  return Tensor::from_buffer(buffer, shape);
}

Tensor made(const GraphStep& step, std::span<const Tensor> before, const GraphProgram& program, const GraphBuild& how) {
  if (step.op == "input") {  // inputs come first
    Tensor out =
        how.inputs.empty() ? input(step.args, before.size(), program, how) : how.inputs[before.size()].detach();
    if (step.args[2] != 0) out.requires_grad(true);
    return out;
  }
  std::vector<Tensor> in;
  for (const std::size_t k : step.from) in.push_back(before[k]);
  const Tensor out = find_graph_op(step.op).apply(in, step.args);
  return how.in_f64 && out.dtype().is_float() ? out.cast(dtypes::float64) : out;
}

bool may_have_any_size(const std::string& op) {
  return op == "masked_select" || op == "masked_select_of" || op == "nonzero";
}

class ScopedBuild {
 public:
  explicit ScopedBuild(GraphBuild& how) { GraphBuild::current() = &how; }
  ~ScopedBuild() { GraphBuild::current() = nullptr; }
  ScopedBuild(const ScopedBuild&) = delete;
  ScopedBuild& operator=(const ScopedBuild&) = delete;
};

/// Makes a program step by step, on numbers as sizes and, where there is a size n, on n beside.
class GraphGenerator {
 public:
  explicit GraphGenerator(std::uint64_t seed) : choices_(seed) {}

  GraphProgram operator()() {
    if (choices_.chance(25)) program_.n = 1 + choices_.below(kMostN);
    if (choices_.chance(30)) program_.most_n = 200;
    takes_gradients_ = choices_.chance(50);
    is_large_ = choices_.chance(8);
    const std::uint32_t inputs = 1 + choices_.below(4);
    const std::uint32_t steps = 2 + choices_.below(choices_.chance(15) ? 30 : 14);
    for (std::uint32_t k = 0; k < inputs; ++k) add_input();
    for (std::uint32_t k = 0; k < steps; ++k)
      for (int turn = 0; turn < 30 && !add_step(); ++turn) {
      }
    choose_outputs();
    return program_;
  }

 private:
  std::uint32_t below(std::size_t n) { return choices_.below(static_cast<std::uint32_t>(n)); }

  void add_input() {
    const auto dtype = static_cast<std::int64_t>(choices_.weighted({10, 3, 3, 3, 2, 1}));
    const bool is_float = kInputs[dtype].is_float();
    StepArgs args{dtype, below(1'000'000), is_float && takes_gradients_ && choices_.chance(80) ? 1 : 0};
    if (program_.steps.empty() || choices_.chance(40)) {
      for (std::size_t left = choices_.weighted({1, 3, 6, 5, 2, 1}); left > 0; --left) args.push_back(draw_size());
    } else {  // so that they meet: sizes of another one, some of them 1
      const StepArgs& other = program_.steps[below(program_.steps.size())].args;
      for (std::size_t k = 3; k < other.size(); ++k) args.push_back(choices_.chance(15) ? 1 : other[k]);
    }
    std::int64_t count = 1, room = 1;
    for (std::size_t k = 3; k < args.size(); ++k) {
      count *= args[k] == -1 ? program_.n : args[k];
      room *= args[k] == -1 ? program_.most_n : args[k];
    }
    if (count > most(kMostElements) || room > kMostRoom) args.resize(3);
    add({"input", {}, args});
  }
  std::int64_t most(std::int64_t small) const { return is_large_ ? kLarge * small : small; }
  std::int64_t draw_size() {
    if (program_.n != 0 && choices_.chance(40)) return -1;
    if (choices_.chance(3)) return 0;
    if (is_large_ && choices_.chance(40)) return 1 + below(200);
    return choices_.chance(6) ? 8 + below(60) : 1 + below(5);
  }

  bool add_step() {
    const GraphOp& op = draw_op();
    GraphStep step{op.name, {}, {}};
    const bool by_input = op.name == "grad" || op.name == "backward" || may_have_any_size(op.name);
    for (std::size_t k = 0; k < op.arity; ++k) step.from.push_back(draw_source(k > 0 && by_input));
    std::vector<Tensor> in;
    for (const std::size_t k : step.from) in.push_back(numbers_[k]);
    return op.draw(choices_, in, step.args) && add(step);
  }
  const GraphOp& draw_op() {
    std::uint32_t total = 0;
    for (const GraphFamily& f : graph_families()) total += f.weight;
    std::uint32_t left = choices_.below(total);
    for (const GraphFamily& f : graph_families()) {
      if (left < f.weight) return f.ops[below(f.ops.size())];
      left -= f.weight;
    }
    return graph_families()[0].ops[0];
  }
  /// Later steps more often.
  std::size_t draw_source(bool is_input) {
    const std::size_t k = std::max(below(numbers_.size()), below(numbers_.size()));
    if (!is_input) return choices_.chance(30) ? numbers_.size() - 1 : k;
    std::size_t inputs = 0;
    while (inputs < program_.steps.size() && program_.steps[inputs].op == "input") ++inputs;
    return below(inputs);
  }

  /// False where the step is illegal, or too large.
  bool add(const GraphStep& step) {
    GraphBuild plain{false, false}, symbolic{true, false};
    try {
      const ScopedBuild first(plain);
      const Tensor x = made(step, numbers_, program_, plain);
      if (product(sizes_of(x)) > most(kMostElements)) return false;
      if (GraphRanges::work(std::array{x.node()}) > most(kMostWork)) return false;
      if (program_.n != 0) {
        const ScopedBuild second(symbolic);
        const Tensor y = made(step, symbols_, program_, symbolic);
        for (const LazyNode* node : postorder(y.node()))
          if (product(node->shape).vmax() > kMostRoom) return false;
        if (sizes_of(y) != sizes_of(x)) return false;  // a size is 1 by chance
        symbols_.push_back(y);
      }
      numbers_.push_back(x);
    } catch (const Error&) {
      return false;
    }
    program_.steps.push_back(step);
    return true;
  }

  void choose_outputs() {
    std::vector<bool> is_used(program_.steps.size());
    for (const GraphStep& s : program_.steps)
      for (const std::size_t k : s.from) is_used[k] = true;
    for (std::size_t k = program_.steps.size(); k-- > 0;)
      if (program_.outputs.empty() || (program_.outputs.size() < 3 && !is_used[k]) ||
          (program_.outputs.size() < 4 && choices_.chance(10)))
        program_.outputs.push_back(k);
  }

  Choices choices_;
  bool takes_gradients_ = false, is_large_ = false;
  GraphProgram program_;
  std::vector<Tensor> numbers_, symbols_;
};

std::string listed(std::span<const std::int64_t> values) {
  std::string out;
  for (const std::int64_t v : values) out += (out.empty() ? "" : ", ") + std::to_string(v);
  return out;
}

}  // namespace

GraphBuild*& GraphBuild::current() {
  static thread_local GraphBuild* how = nullptr;
  return how;
}

double graph_direction(std::size_t element) { return static_cast<double>(scrambled(element + 3) % 97) / 48 - 1; }

bool is_float_input(const StepArgs& args) { return kInputs[args[0]].is_float(); }

Index sizes_of(const Tensor& x) {
  Index out;
  for (const Int& n : x.shape()) out.push_back(n.is_number() ? n.value() : evaluate(n.expr()));
  return out;
}

const std::vector<GraphFamily>& graph_families() {
  static const std::vector<GraphFamily> all = [] {
    std::vector<GraphFamily> out;
    for (auto make :
         {element_families, movement_families, reduction_families, index_families, gradient_families, layer_families})
      for (GraphFamily& f : make()) out.push_back(std::move(f));
    return out;
  }();
  return all;
}

const GraphOp& find_graph_op(const std::string& name) {
  for (const GraphFamily& f : graph_families())
    for (const GraphOp& op : f.ops)
      if (op.name == name) return op;
  throw Error(ErrorKind::domain, "no step is called " + name);
}

std::vector<Tensor> build(const GraphProgram& program, GraphBuild how) {
  const ScopedBuild scope(how);
  std::vector<Tensor> out;
  for (const GraphStep& s : program.steps) out.push_back(made(s, out, program, how));
  return out;
}

std::vector<Tensor> inputs_of(const GraphProgram& program, const GraphBuild& how) {
  std::vector<Tensor> out;
  for (const GraphStep& s : program.steps)
    if (s.op == "input") out.push_back(input(s.args, out.size(), program, how));
  return out;
}

bool GraphProgram::depends_on_data() const {
  return std::any_of(steps.begin(), steps.end(), [](const GraphStep& s) { return may_have_any_size(s.op); });
}

std::string GraphProgram::text() const {
  std::vector<Tensor> values;
  try {
    values = build(*this, {n != 0, false});
  } catch (const std::exception&) {
    values.clear();  // then without dtypes and shapes
  }
  std::string out = n == 0 ? "" : detail::message("n = ", n, " of ", most_n, "\n");
  for (std::size_t k = 0; k < steps.size(); ++k) {
    out += detail::message("%", k, " = ", steps[k].op, "(");
    for (const std::size_t from : steps[k].from) out += detail::message(out.back() == '(' ? "%" : ", %", from);
    out += detail::message("; ", listed(steps[k].args), ")");
    if (k < values.size()) out += detail::message("  // ", values[k].dtype().name(), " ", render(values[k].shape()));
    out += "\n";
  }
  out += "outputs";
  for (const std::size_t k : outputs) out += detail::message(" %", k);
  return out + "\n";
}

GraphProgram random_graph_program(std::uint64_t seed) { return GraphGenerator(seed)(); }

}  // namespace strata::oracle
