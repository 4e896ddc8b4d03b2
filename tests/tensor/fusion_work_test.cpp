// What fusion costs: kernels may do twice what their graph says, where each element of it is made once.

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <optional>
#include <random>
#include <vector>

#include "strata/codegen/kernel.h"
#include "strata/codegen/rows.h"
#include "strata/render/usage.h"
#include "strata/schedule/schedule.h"
#include "strata/tensor/functional.h"

namespace strata::test {
namespace {

/// Counts the operations on floats that a kernel does, as its list says: loops by their trip counts, vectors by their
/// lanes.
class Counting {
 public:
  explicit Counting(const Kernel& kernel)
      : kernel_(kernel), usage_(kernel.uops), list_(kernel.uops.begin(), kernel.uops.end()) {}

  double run() { return operations(0, list_.size()); }

 private:
  double operations(std::size_t from, std::size_t to) {
    double out = 0;
    for (std::size_t k = from; k < to; ++k) {
      const UOp u = list_[k];
      if (u.op() == UOps::LOOP) {
        const std::size_t end = end_of(k);
        out += of_loop(k, end);
        k = end;
      } else if (u.op() == UOps::ALU && usage_.live(u) && (u.dtype().is_float() || u.src(0).dtype().is_float())) {
        out += std::max(u.dtype().lanes(), 1);
      }
    }
    return out;
  }
  double of_loop(std::size_t begin, std::size_t end) {
    const std::int64_t first = value_of(list_[begin].src(0)), last = value_of(list_[begin].src(1));
    const bool is_even = std::none_of(list_.begin() + static_cast<std::ptrdiff_t>(begin) + 1,
                                      list_.begin() + static_cast<std::ptrdiff_t>(end), [&](UOp u) {
                                        return u.op() == UOps::LOOP &&
                                               (depends(u.src(0), list_[begin]) || depends(u.src(1), list_[begin]));
                                      });
    if (last <= first) return 0;
    double out = 0;
    for (std::int64_t at = first; at < (is_even ? first + 1 : last); ++at) {
      counters_[list_[begin].num()] = at;
      out += operations(begin + 1, end);
    }
    return is_even ? out * static_cast<double>(last - first) : out;
  }
  std::size_t end_of(std::size_t loop) const {
    std::size_t end = loop;
    while (list_[end].op() != UOps::ENDLOOP || !(list_[end].src(0) == list_[loop])) ++end;
    return end;
  }
  static bool depends(UOp u, UOp on) {
    return u == on ||
           (u.op() != UOps::LOOP && std::any_of(u.src().begin(), u.src().end(), [&](UOp s) { return depends(s, on); }));
  }
  /// Of an end of a loop, where the parallel one has all its iterations.
  std::int64_t value_of(UOp u) const {
    if (u.op() == UOps::LOOP) return counters_.at(u.num());
    if (u.op() == UOps::CAST) return value_of(u.src(0));
    if (u.op() == UOps::CONST) return u.dtype().is_bool() ? (u.constant().as_bool() ? 1 : 0) : u.constant().as_int();
    if (u.op() == UOps::DEFINE_VAR)
      return std::get<Variable>(u.arg()).name() == kRangeBegin ? 0 : kernel_.parallel->value();
    if (u.op() != UOps::ALU) throw InternalError("a loop ends at " + spec_name(u.op()));
    const std::int64_t a = value_of(u.src(0)), b = u.src().size() > 1 ? value_of(u.src(1)) : 0;
    switch (u.alu()) {
      case Ops::ADD: return a + b;
      case Ops::SUB: return a - b;
      case Ops::MUL: return a * b;
      case Ops::MIN: return std::min(a, b);
      case Ops::MAX: return std::max(a, b);
      case Ops::IDIV:
      case Ops::FLOORDIV: return a / b;
      case Ops::MOD:
      case Ops::FLOORMOD: return a % b;
      case Ops::SHR: return a >> b;
      case Ops::SHL: return a << b;
      case Ops::AND: return a & b;
      case Ops::CMPEQ: return a == b ? 1 : 0;
      case Ops::CMPNE: return a != b ? 1 : 0;
      case Ops::CMPLT: return a < b ? 1 : 0;
      case Ops::WHERE: return a != 0 ? b : value_of(u.src(2));
      default: throw InternalError("a loop ends at " + spec_name(u.alu()));
    }
  }

  const Kernel& kernel_;
  rendering::Usage usage_;
  std::vector<UOp> list_;
  std::map<std::size_t, std::int64_t> counters_;
};

double operations_of(const LazyOp& ast) {
  Target target;
  for (const OpRow& r : op_rows())
    if (is_elementwise(r.op)) target.native.insert(r.op);
  // Loops as they are written, rows outside: vectors and several accumulators are another matter.
  const KernelAxes axes(ast);
  const Lowered plain = lower(ast, axes, target);
  std::vector<Opt> opts;
  if (const std::optional<Opt> order = rows_outside(plain.graph, axes, plain.counters)) opts.push_back(*order);
  const Kernel kernel = compile_kernel(ast, target, opts);
  return Counting(kernel).run();
}

double operations_of(const Tensor& x, bool fuse) {
  FusionOptions options;
  options.fuse = fuse;
  double out = 0;
  for (const ScheduleItem& item : schedule(std::vector{x.node()}, options))
    if (item.is_kernel()) out += operations_of(item.ast);
  return out;
}
/// What fusion multiplies the operations by.
double growth(const Tensor& x) {
  const double once = operations_of(x, false);
  return once == 0 ? 1 : operations_of(x, true) / once;
}

struct Random {
  std::mt19937_64 source;
  explicit Random(std::uint64_t seed) : source(seed) {}
  std::int64_t below(std::int64_t n) { return static_cast<std::int64_t>(source() % static_cast<std::uint64_t>(n)); }
  bool chance(std::int64_t percent) { return below(100) < percent; }
  template <class T>
  const T& of(const std::vector<T>& from) {
    return from[static_cast<std::size_t>(below(static_cast<std::int64_t>(from.size())))];
  }
};

Tensor matrix(std::int64_t rows, std::int64_t columns) { return Tensor::empty({rows, columns}); }

/// A product of matrices in any order, with something cheap between; ends as it is, or as a vector or a number.
Tensor chain(Random& random) {
  const std::int64_t count = 3 + random.below(6), small = 1 + random.below(30);
  std::vector<std::int64_t> sizes;
  for (std::int64_t k = 0; k <= count; ++k) sizes.push_back(random.chance(60) ? small : 1 + random.below(30));
  std::vector<Tensor> terms;
  for (std::size_t k = 0; k + 1 < sizes.size(); ++k) terms.push_back(matrix(sizes[k], sizes[k + 1]));
  const bool in_order = random.chance(50);
  while (terms.size() > 1) {
    const std::int64_t at = in_order ? 0 : random.below(static_cast<std::int64_t>(terms.size()) - 1);
    const auto left = terms.begin() + at;
    Tensor both = random.chance(50) ? left->matmul(left[1]) : Tensor::einsum("ij,jk->ik", std::vector{*left, left[1]});
    if (random.chance(20)) both = both.relu() + both;
    if (random.chance(10)) both = both.exp();
    *left = std::move(both);
    terms.erase(left + 1);
  }
  switch (random.below(4)) {
    case 0: return terms[0];
    case 1: return terms[0].sum();
    case 2: return terms[0].matmul(Tensor::empty({sizes.back()}));
    default: return terms[0].sum(random.below(2));
  }
}

/// One of `shape` that is made of `x`, of rank 3.
Tensor brought(const Tensor& x, const Ints& shape, Random& random) {
  Tensor out = x;
  for (std::int64_t d = 0; d < 3; ++d) {
    const Int &have = out.size(d), &want = shape[static_cast<std::size_t>(d)];
    if (have == want) continue;
    if (!(have == Int(1))) out = random.chance(50) ? out.sum(d, true) : out.max(d, true);
    Ints sizes = out.shape();
    sizes[static_cast<std::size_t>(d)] = want;
    out = out.expand(sizes);
  }
  return out;
}
Tensor changed(const Tensor& x, Random& random) {
  const std::int64_t axis = random.below(3);
  switch (random.below(12)) {
    case 0: return x.exp();
    case 1: return x * 2 + 1;
    case 2: return x.sqrt() + x;
    case 3: return x.sum(axis, true);
    case 4: return x.max(axis, true);
    case 5: return x.softmax(axis);
    case 6: return x - x.mean(axis, true);
    case 7: return x.permute({1, 0, 2});
    case 8: return x.permute({0, 2, 1});
    case 9: return x.flip({axis});
    case 10: return x.var(axis, 1, true);
    default: return x.reshape({x.size(0) * x.size(1), 1, x.size(2)}).cumsum(0).reshape(x.shape());
  }
}
Tensor graph(Random& random) {
  std::vector<Tensor> made;
  for (int k = 0; k < 3; ++k)
    made.push_back(Tensor::empty({1 + random.below(24), 1 + random.below(24), 1 + random.below(24)}));
  for (std::int64_t step = 3 + random.below(9); step > 0; --step) {
    const Tensor a = random.of(made), b = random.of(made);
    switch (random.below(5)) {
      case 0: made.push_back(a * brought(b, a.shape(), random)); break;
      case 1: made.push_back(a + brought(b, a.shape(), random)); break;
      case 2: {
        const Tensor columns = brought(b, {a.size(0), a.size(2), b.size(2)}, random);
        made.push_back(a.matmul(columns));
        break;
      }
      default: made.push_back(changed(a, random));
    }
  }
  Tensor out = made.back();
  if (random.chance(30)) out = out + brought(random.of(made), out.shape(), random);
  return random.chance(20) ? out.sum() : out;
}

TEST(WorkOfKernels, ProductsOfSmallMatricesAreMadeOnce) {
  std::vector<Tensor> matrices(7, matrix(20, 20));
  for (Tensor& m : matrices) m = matrix(20, 20);
  Tensor product = matrices[0];
  for (std::size_t k = 1; k < matrices.size(); ++k) product = product.matmul(matrices[k]);
  for (const Tensor& y :
       {product, product.sum(), product.matmul(Tensor::empty({20})),
        Tensor::einsum("ab,bc,cd,de,ef,fg,gh->ah", matrices), Tensor::einsum("ab,bc,cd,de,ef,fg,gh->a", matrices),
        Tensor::einsum("ab,bc,cd,de,ef,fg,ga->", matrices)}) {
    EXPECT_LE(growth(y), 1.01) << y.explain();
    EXPECT_LE(operations_of(y, true), 6 * 2.0 * 20 * 20 * 20 + 1000);
  }
}

TEST(WorkOfKernels, FusionAtMostDoublesThatOfChains) {
  for (std::uint64_t seed = 0; seed < 150; ++seed) {
    Random random(seed);
    const Tensor y = chain(random);
    EXPECT_LE(growth(y), 2) << "seed " << seed << "\n" << y.explain();
  }
}

TEST(WorkOfKernels, FusionAtMostDoublesThatOfGraphs) {
  for (std::uint64_t seed = 0; seed < 250; ++seed) {
    Random random(seed);
    const Tensor y = graph(random);
    EXPECT_LE(growth(y), 2) << "seed " << seed << "\n" << y.explain();
  }
}

}  // namespace
}  // namespace strata::test
