// Walks arguments through the tensors' functions, and says the largest errors: what rows.def bounds.
//
//   accuracy [--dense N] [--seed N] [--devices A,B] [NAME...]     N times as many arguments, 2^20 pairs
//   accuracy --table                                              the bounds, in Markdown
//   accuracy --page FILE                                          whether a page has that table
//
// An error beyond its row, a special value that is wrong, or a function of operations.def without a row makes the
// exit status 1.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <limits>
#include <random>
#include <sstream>
#include <string>
#include <vector>

#include "strata/tensor/tensor.h"
#include "tests/accuracy/rows.h"
#include "tests/codegen/math_error.h"

namespace strata::test {
namespace {

struct Options {
  int dense = 1;
  std::uint64_t seed = 1;
  std::vector<std::string> devices = {"INTERP", "LLVM"};
  std::vector<std::string> names;
};

template <class T>
const std::vector<T>& special_numbers() {
  using Limits = std::numeric_limits<T>;
  static const std::vector<T> all = [] {
    std::vector<T> out = {0,
                          Limits::denorm_min(),
                          Limits::min(),
                          Limits::max(),
                          Limits::infinity(),
                          Limits::epsilon(),
                          T(0.5),
                          1,
                          T(1.5),
                          2,
                          3,
                          10,
                          100,
                          1000,
                          Limits::quiet_NaN()};
    for (std::size_t k = out.size(); k-- > 0;) out.push_back(-out[k]);
    return out;
  }();
  return all;
}

/// Special numbers, each exponent, plain sizes, and what lies around the row's switches, of both signs.
template <class T>
std::vector<T> arguments(const Row& row, const Options& options) {
  std::mt19937_64 random(options.seed);
  std::vector<T> out = special_numbers<T>();
  const int places = std::numeric_limits<T>::digits - 1, exponents = sizeof(T) == 4 ? 256 : 2048;
  const int dense = options.dense, each = (sizeof(T) == 4 ? 16 : 2) * dense;
  const auto both = [&](T v) { out.push_back(v), out.push_back(-v); };
  for (int e = 0; e < exponents; ++e)
    for (int k = 0; k < each; ++k)
      both(from_bits<T>((static_cast<std::uint64_t>(e) << places) | (random() >> (64 - places))));
  for (const double most : {1.0, 3.0, 20.0, 120.0, 800.0})
    for (int k = 0; k < 700 * dense; ++k) both(static_cast<T>(static_cast<double>(random() >> 11) * 0x1p-53 * most));
  for (const double s : row.switches)
    for (int k = -4096; k < 4096; k += (sizeof(T) == 4 && dense > 1 ? 1 : 16)) {
      const std::uint64_t middle = bits_of(static_cast<T>(s));
      both(from_bits<T>(middle + static_cast<std::uint64_t>(k + static_cast<int>(random() % 16))));
    }
  std::erase_if(out, [&](T v) { return !(v >= row.least) && !std::isnan(v); });
  return out;
}

struct Worst {
  double error = 0;
  Real x = 0, y = 0, got = 0, want = 0;
};

/// The error in units of the last place; 0 where it is within the absolute bound.
template <class T>
double error_of(T got, Real want, Real absolute) {
  const double unit = std::numeric_limits<T>::epsilon() / 2;
  if (std::isfinite(got) && std::isfinite(want) && std::fabs(got - want) <= absolute * Real(unit)) return 0;
  return ulp_error<Real>(got, want, places_of<T>());
}

template <class T>
std::string say(const Row& row, const char* device, const Worst& worst, double limit) {
  std::ostringstream out;
  out.precision(17);
  out << row.name << " f" << sizeof(T) * 8 << " " << device << ": " << worst.error << " ulp (at most " << limit
      << ") at " << static_cast<double>(worst.x);
  if (row.of_two) out << ", " << static_cast<double>(worst.y);
  out << " gives " << static_cast<double>(worst.got) << " and not " << static_cast<double>(worst.want);
  return out.str();
}

template <class T>
bool measure(const Row& row, const Options& options, const std::vector<T>& x, const std::vector<T>& y) {
  std::vector<Real> want(x.size());
  for (std::size_t k = 0; k < x.size(); ++k) want[k] = row.of_two ? row.of_two_true(x[k], y[k]) : row.true_value(x[k]);
  const double limit = sizeof(T) == 4 ? row.f32 : row.f64;
  const auto count = static_cast<std::int64_t>(x.size());
  bool good = true;
  for (const std::string& device : options.devices) {
    const Tensor a = Tensor::from(x, {count}).to(device);
    const std::vector<T> got =
        (row.of_two ? row.of_two(a, Tensor::from(y, {count}).to(device)) : row.of_one(a)).template to_vector<T>();
    Worst worst;
    for (std::size_t k = 0; k < x.size(); ++k) {
      // A zero may have either sign.
      const T zero = std::signbit(want[k]) ? -T(0) : T(0);
      const double error = error_of(got[k] == 0 ? zero : got[k], want[k], row.absolute(x[k]));
      if (error > worst.error) worst = {error, x[k], row.of_two ? y[k] : 0, got[k], want[k]};
    }
    const bool is_right = worst.error <= limit + 0.001;  // of the 64 bits that the true values have
    if (!is_right || !options.names.empty()) std::printf("%s\n", say<T>(row, device.c_str(), worst, limit).c_str());
    good = good && is_right;
  }
  std::fflush(stdout);
  return good;
}

/// Special numbers crossed, numbers of all sizes, and of like sizes.
template <class T>
std::pair<std::vector<T>, std::vector<T>> pairs(const Options& options) {
  std::mt19937_64 random(options.seed);
  std::pair<std::vector<T>, std::vector<T>> out;
  const auto add = [&](T x, T y) { out.first.push_back(x), out.second.push_back(y); };
  for (const T x : special_numbers<T>())
    for (const T y : special_numbers<T>()) add(x, y);
  const auto sized = [&](double most) {
    return static_cast<T>((static_cast<double>(random() >> 11) * 0x1p-52 - 1) * most);
  };
  const int total = 1 << (options.dense > 1 ? 20 : sizeof(T) == 4 ? 18 : 15);
  for (int k = 0; k < total; ++k) {
    switch (k % 4) {
      case 0: add(from_bits<T>(random()), from_bits<T>(random())); break;
      case 1: add(sized(1), sized(1)); break;
      case 2: add(sized(100), sized(30)); break;
      default: add(from_bits<T>(random()), sized(4)); break;
    }
  }
  return out;
}

template <class T>
bool measure(const Row& row, const Options& options) {
  if (row.of_two != nullptr) {
    static const auto all = pairs<T>(options);
    return measure<T>(row, options, all.first, all.second);
  }
  return measure<T>(row, options, arguments<T>(row, options), {});
}

/// All arguments of a float of 16 bits: the result is that of the same argument in f64, rounded once, but for what f32
/// is off.
bool measure_16_bits(const Row& row, const Options& options, DType dtype) {
  constexpr std::int64_t kCount = 1 << 16;
  std::vector<std::int16_t> bits(kCount);
  for (std::int64_t k = 0; k < kCount; ++k)
    bits[static_cast<std::size_t>(k)] = static_cast<std::int16_t>(k - kCount / 2);
  const Places places = dtype == dtypes::float16 ? Places{11, -13, 16} : Places{8, -125, 128};
  const Tensor wide = Tensor::from(bits, {kCount}).to("LLVM").bitcast(dtype).cast(dtypes::float64);
  const std::vector<double> xs = wide.to_vector<double>(), want = row.of_one(wide).to_vector<double>();
  bool good = true;
  for (const std::string& device : options.devices) {
    const Tensor y = row.of_one(Tensor::from(bits, {kCount}).to(device).bitcast(dtype));
    const std::vector<double> got = y.cast(dtypes::float64).to_vector<double>();
    Worst worst;
    for (std::size_t k = 0; k < xs.size(); ++k) {
      if (!(xs[k] >= row.least)) continue;
      const double zero = got[k] == 0 ? std::copysign(0.0, want[k]) : got[k];
      double error = ulp_error<Real>(zero, want[k], places);
      if (std::fabs(want[k]) < 0x1p-126 && std::fabs(got[k] - want[k]) <= 0x1p-148) error = 0;
      if (std::fabs(got[k] - want[k]) <= row.absolute(xs[k]) * 0x1p-24) error = 0;
      if (error > worst.error) worst = {error, xs[k], 0, got[k], want[k]};
    }
    const double limit = 0.51;
    if (worst.error > limit || y.dtype() != dtype) {
      std::printf("%s (%s)\n", say<float>(row, device.c_str(), worst, limit).c_str(),
                  std::string(dtype.name()).c_str());
      good = false;
    }
  }
  return good;
}

bool has_all_rows() {
  bool good = true;
  for (const std::string_view name : functions_of_tensors()) {
    if (is_elsewhere(name)) continue;
    const auto found = std::ranges::find(rows(), name, &Row::name);
    if (found != rows().end()) continue;
    std::printf("%s has no row in tests/accuracy/rows.def\n", std::string(name).c_str());
    good = false;
  }
  return good;
}

/// The bounds in Markdown, as docs/accuracy.md has them.
std::string table() {
  std::ostringstream out;
  out << "| function | f32 | f64 | or absolute, in units of 2^-24 and 2^-53 |\n|---|---|---|---|\n";
  for (const Row& row : rows()) {
    out << "| `" << row.name << "` | " << row.f32 << " | " << row.f64 << " | ";
    if (row.absolute_text != "0") out << "`" << row.absolute_text << "` ";
    out << "|\n";
  }
  return out.str();
}

/// Whether a page has the table as it is.
bool is_in_page(const std::string& path) {
  std::ifstream in(path);
  const std::string page((std::istreambuf_iterator<char>(in)), std::istreambuf_iterator<char>());
  if (page.find(table()) != std::string::npos) return true;
  std::printf("%s does not have the table that accuracy --table prints\n", path.c_str());
  return false;
}

std::vector<std::string> words_of(const std::string& text) {
  std::vector<std::string> out;
  std::istringstream in(text);
  for (std::string word; std::getline(in, word, ',');) out.push_back(word);
  return out;
}

int run(int argc, char** argv) {
  Options options;
  for (int k = 1; k < argc; ++k) {
    const std::string word = argv[k];
    if (word == "--table") return std::fputs(table().c_str(), stdout), 0;
    if (word == "--page" && k + 1 < argc) return is_in_page(argv[k + 1]) ? 0 : 1;
    if (word == "--dense" && k + 1 < argc)
      options.dense = std::max(1, std::atoi(argv[++k]));
    else if (word == "--seed" && k + 1 < argc)
      options.seed = std::strtoull(argv[++k], nullptr, 10);
    else if (word == "--devices" && k + 1 < argc)
      options.devices = words_of(argv[++k]);
    else
      options.names.push_back(word);
  }
  bool good = has_all_rows();
  for (const Row& row : rows()) {
    if (!options.names.empty() && std::ranges::find(options.names, row.name) == options.names.end()) continue;
    Options mine = options;
    // Hundreds of operations, one element after another, take a minute on INTERP.
    const bool is_long = row.name.starts_with("polygamma");
    if (is_long && options.dense == 1 && options.names.empty()) mine.devices = {options.devices.back()};
    good = measure<float>(row, mine) && good;
    good = measure<double>(row, mine) && good;
    if (row.of_one == nullptr) continue;
    for (const DType dtype : {dtypes::float16, dtypes::bfloat16}) good = measure_16_bits(row, mine, dtype) && good;
  }
  return good ? 0 : 1;
}

}  // namespace
}  // namespace strata::test

int main(int argc, char** argv) { return strata::test::run(argc, argv); }
