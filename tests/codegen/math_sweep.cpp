// Walks float arguments through the decompositions and says the largest errors seen.
//
//   math_sweep [--all | --step N] [--f64 N] [--twice] [NAME...]
//
// --all      every one of the 2^32 f32 arguments (functions of two: as many random pairs); else every N-th, 4099 by
//            default
// --f64 N    N random f64 arguments instead
// --twice    MULACC rounds twice
// Build it with -O3 -march=native: 2^32 arguments take minutes a function. An error beyond what the row states, or a
// special value that is wrong, makes the exit status 1.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <random>
#include <string>
#include <vector>

#include "tests/codegen/formula_block.h"
#include "tests/codegen/math_error.h"

namespace strata::test {
namespace {

struct Options {
  std::uint64_t step = 4099;
  std::uint64_t f64 = 0;
  bool fused = true;
  std::vector<std::string> names;
};

struct Worst {
  double error = -1;
  double x = 0, y = 0, got = 0;
};

/// true_value of each: a loop a function.
template <class W, class T>
void true_values(Ops op, const T* x, const T* y, W* want) {
  const auto all = [&](auto f) {
    for (std::size_t k = 0; k < Block::kSize; ++k) want[k] = f(W(x[k]));
  };
  switch (op) {
    case Ops::EXP2: return all([](W v) { return std::exp2(v); });
    case Ops::EXP: return all([](W v) { return std::exp(v); });
    case Ops::EXPM1: return all([](W v) { return std::expm1(v); });
    case Ops::LOG2: return all([](W v) { return std::log2(v); });
    case Ops::LOG: return all([](W v) { return std::log(v); });
    case Ops::LOG1P: return all([](W v) { return std::log1p(v); });
    case Ops::SIN: return all([](W v) { return std::sin(v); });
    case Ops::COS: return all([](W v) { return std::cos(v); });
    case Ops::TAN: return all([](W v) { return std::tan(v); });
    case Ops::ATAN: return all([](W v) { return std::atan(v); });
    case Ops::TANH: return all([](W v) { return std::tanh(v); });
    case Ops::ERF: return all([](W v) { return std::erf(v); });
    default: break;
  }
  for (std::size_t k = 0; k < Block::kSize; ++k) want[k] = true_value<W>(op, x[k], y[k]);
}

/// About ulp_error of finite values, and NaN or infinity for some others: what is small here need not be looked at
/// closer.
void rough_errors(const float* got, const double* want, double* error) {
  for (std::size_t k = 0; k < Block::kSize; ++k) {
    std::uint64_t bits;
    std::memcpy(&bits, &want[k], sizeof bits);
    bits &= 0x7FF0000000000000;
    double unit;
    std::memcpy(&unit, &bits, sizeof unit);
    unit = std::max(unit * 0x1p-23, 0x1p-149);
    error[k] = std::signbit(got[k]) == std::signbit(want[k]) ? std::fabs(got[k] - want[k]) / unit : NAN;
  }
}

template <class T>
void compare(Ops op, Block& block, const Formula& f, Worst& worst) {
  block.run();
  const T* x = block.input<T>(0);
  const T* y = block.input<T>(f.inputs.size() - 1);
  const T* got = block.result<T>();
  static Wide<T> want[Block::kSize];
  static double rough[Block::kSize];
  true_values(op, x, y, want);
  if constexpr (sizeof(T) == 4)
    rough_errors(got, want, rough);
  else
    std::fill_n(rough, Block::kSize, NAN);
  for (std::size_t k = 0; k < Block::kSize; ++k) {
    if (rough[k] <= worst.error) continue;
    const double error = ulp_error<T>(got[k], want[k]);
    if (error > worst.error) worst = {error, x[k], y[k], got[k]};
  }
}

/// Any bits; or every other time, a number from 2^-16 to 2^16.
template <class T>
T random_float(std::mt19937_64& random) {
  const std::uint64_t bits = random();
  if (random() % 2 == 0) return from_bits<T>(bits);
  const T size = std::ldexp(1 + T(bits >> 12) * T(0x1p-52), static_cast<int>(bits & 31) - 16);
  return bits & 32 ? -size : size;
}

template <class T>
Worst sweep(Ops op, DType dtype, const Options& options) {
  const Formula f = make_formula(op, dtype);
  Block block(f, options.fused);
  std::mt19937_64 random(1);
  Worst worst;
  const bool is_random = sizeof(T) == 8 || f.inputs.size() > 1;
  const std::uint64_t total = sizeof(T) == 8 ? options.f64 : (std::uint64_t{1} << 32) / options.step;
  for (std::uint64_t done = 0; done < total; done += Block::kSize) {
    for (std::size_t k = 0; k < Block::kSize; ++k)
      for (std::size_t i = 0; i < f.inputs.size(); ++i)
        block.input<T>(i)[k] = is_random ? random_float<T>(random) : from_bits<T>((done + k) * options.step);
    compare<T>(op, block, f, worst);
  }
  return worst;
}

bool report(const Decomposition& row, const Options& options) {
  const bool is_f32 = row.dtypes == "f32";
  if (!is_f32 && row.dtypes != "f64") return true;
  if (is_f32 == (options.f64 != 0)) return true;
  if (strata::row(row.op).typing == OpTyping::pairs) return true;  // not of floats
  const DType dtype = dtypes::parse(row.dtypes);
  const Worst worst = is_f32 ? sweep<float>(row.op, dtype, options) : sweep<double>(row.op, dtype, options);
  std::printf("%-6s %s  %.4f ulp (states %.3g) at %.17g %.17g gives %.17g\n",
              std::string(strata::row(row.op).name).c_str(), std::string(row.dtypes).c_str(), worst.error, row.ulp,
              worst.x, worst.y, worst.got);
  std::fflush(stdout);
  return worst.error <= row.ulp;
}

bool is_wanted(const Decomposition& row, const Options& options) {
  if (options.names.empty()) return true;
  for (const std::string& name : options.names)
    if (name == strata::row(row.op).name) return true;
  return false;
}

int run(int argc, char** argv) {
  Options options;
  for (int k = 1; k < argc; ++k) {
    const std::string word = argv[k];
    if (word == "--all")
      options.step = 1;
    else if (word == "--twice")
      options.fused = false;
    else if (word == "--step" && k + 1 < argc)
      options.step = std::max(1ULL, std::strtoull(argv[++k], nullptr, 10));
    else if (word == "--f64" && k + 1 < argc)
      options.f64 = std::strtoull(argv[++k], nullptr, 10);
    else
      options.names.push_back(word);
  }
  bool good = true;
  for (const Decomposition& row : decompositions())
    if (is_wanted(row, options)) good = report(row, options) && good;
  return good ? 0 : 1;
}

}  // namespace
}  // namespace strata::test

int main(int argc, char** argv) { return strata::test::run(argc, argv); }
