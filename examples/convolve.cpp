// Convolves a picture: sharpened, and its edges.
//
//   convolve [IMAGE.ppm [PREFIX]]
//
// Reads a PPM file (P6, 8 or 16 bits), or draws a picture where none is given; writes PREFIXinput.ppm, PREFIXsharp.ppm
// and PREFIXedges.ppm. Both results are compared with loops in C++; the exit status is 1 where they differ.
#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <fstream>
#include <iostream>
#include <iterator>

#include "strata/strata.h"

namespace {

using namespace strata;

/// Elements from 0 to 1: channel after channel, row after row.
struct Picture {
  std::int64_t height = 0, width = 0;
  std::vector<float> elements;

  Tensor tensor() const { return Tensor::from(elements, {1, 3, height, width}); }
  float at(std::int64_t channel, std::int64_t y, std::int64_t x) const {  // beyond the edge: the edge
    y = std::clamp<std::int64_t>(y, 0, height - 1), x = std::clamp<std::int64_t>(x, 0, width - 1);
    return elements[static_cast<std::size_t>((channel * height + y) * width + x)];
  }
};

/// Reads a PPM file's bytes, front to back.
class PpmReader {
 public:
  PpmReader(std::string name, std::string bytes) : name_(std::move(name)), bytes_(std::move(bytes)) {}

  Picture read() {
    check(bytes_.starts_with("P6"), "this is no P6 file");
    at_ = 2;
    Picture out;
    out.width = number("width", 32768);
    out.height = number("height", 32768);
    const std::int64_t most = number("largest value", 65535);
    check(at_ < bytes_.size() && is_space(bytes_[at_++]), "white space is missing behind the header");
    const std::size_t count = static_cast<std::size_t>(out.width * out.height) * 3;
    const std::size_t size = most < 256 ? 1 : 2;
    check((bytes_.size() - at_) / size >= count, "it ends before its last pixel");
    out.elements.resize(count);
    for (std::size_t k = 0; k < count; ++k) {  // pixel by pixel, three channels each
      unsigned value = byte();
      if (size == 2) value = value << 8 | byte();
      out.elements[k % 3 * (count / 3) + k / 3] = std::min(static_cast<float>(value) / static_cast<float>(most), 1.0F);
    }
    return out;
  }

 private:
  static bool is_space(char c) { return c == ' ' || ('\t' <= c && c <= '\r'); }
  unsigned byte() { return static_cast<unsigned char>(bytes_[at_++]); }
  void check(bool holds, const char* message) const {
    STRATA_CHECK(holds, parse, "[convolve] ", name_, ", byte ", at_, ": ", message);
  }
  void skip_space() {  // and comments
    for (; at_ < bytes_.size() && (is_space(bytes_[at_]) || bytes_[at_] == '#'); ++at_)
      if (bytes_[at_] == '#') at_ = std::min(bytes_.find('\n', at_), bytes_.size() - 1);
  }
  std::int64_t number(const char* what, std::int64_t most) {
    skip_space();
    std::int64_t value = 0;
    const std::size_t begin = at_;
    for (; at_ < bytes_.size() && '0' <= bytes_[at_] && bytes_[at_] <= '9' && value <= most; ++at_)
      value = value * 10 + (bytes_[at_] - '0');
    STRATA_CHECK(at_ > begin && 1 <= value && value <= most, parse, "[convolve] ", name_, ", byte ", begin, ": the ",
                 what, " has to be a number from 1 to ", most);
    return value;
  }

  std::string name_, bytes_;
  std::size_t at_ = 0;
};

Picture read_ppm(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  STRATA_CHECK(file.good(), request, "[convolve] cannot open ", path);
  std::string bytes(std::istreambuf_iterator<char>(file), {});
  return PpmReader(path, std::move(bytes)).read();
}

void write_ppm(const std::string& path, const Picture& p) {
  std::string bytes = detail::message("P6\n", p.width, " ", p.height, "\n255\n");
  const std::size_t pixels = p.elements.size() / 3;
  for (std::size_t k = 0; k < p.elements.size(); ++k) {
    const float v = std::clamp(p.elements[k % 3 * pixels + k / 3], 0.0F, 1.0F);
    bytes += static_cast<char>(std::lround(v * 255));
  }
  std::ofstream file(path, std::ios::binary);
  STRATA_CHECK(file << bytes << std::flush, request, "[convolve] cannot write ", path);
}

/// A sun over hills, somewhat blurred by nature.
Picture drawn() {
  Picture p{240, 320, std::vector<float>(3 * 240 * 320)};
  for (std::int64_t y = 0; y < p.height; ++y)
    for (std::int64_t x = 0; x < p.width; ++x) {
      const double dx = static_cast<double>(x) - 230, dy = static_cast<double>(y) - 70;
      const double sun = 1 / (1 + std::exp((std::hypot(dx, dy) - 36) / 2));
      const double hill = 165 + 25 * std::sin(static_cast<double>(x) / 40);
      const double ground = 1 / (1 + std::exp((hill - static_cast<double>(y)) / 2));
      const std::array<double, 3> sky = {0.35 + 0.6 * sun, 0.55 + 0.3 * sun, 0.9 - 0.6 * sun},
                                  grass = {0.15, 0.45, 0.12};
      for (std::size_t c = 0; c < 3; ++c)
        p.elements[c * 240 * 320 + static_cast<std::size_t>(y * p.width + x)] =
            static_cast<float>(sky[c] * (1 - ground) + grass[c] * ground);
    }
  return p;
}

using Stencil = std::array<float, 9>;
constexpr Stencil kSharpen = {0, -1, 0, -1, 5, -1, 0, -1, 0};
constexpr Stencil kSobelX = {-1, 0, 1, -2, 0, 2, -1, 0, 1}, kSobelY = {-1, -2, -1, 0, 0, 0, 1, 2, 1};

/// Of each channel by itself, as many elements as before.
Tensor convolved(const Tensor& x, const Stencil& s) {
  const Tensor weight = Tensor::from(std::span<const float>(s), {1, 1, 3, 3}).expand({3, 1, 3, 3});
  const Tensor wide = x.pad({{0, 0}, {0, 0}, {1, 1}, {1, 1}}, Tensor::PadMode::replicate);
  return conv2d(wide, weight, {}, {.groups = 3});
}
float convolved(const Picture& p, const Stencil& s, std::int64_t c, std::int64_t y, std::int64_t x) {
  float sum = 0;
  for (std::int64_t k = 0; k < 9; ++k) sum += s[static_cast<std::size_t>(k)] * p.at(c, y + k / 3 - 1, x + k % 3 - 1);
  return sum;
}

Tensor sharpened(const Tensor& x) { return convolved(x, kSharpen).clip(0, 1); }
Tensor edges(const Tensor& x) {
  return (convolved(x, kSobelX).square() + convolved(x, kSobelY).square()).sqrt().clip(0, 1);
}
float sharpened(const Picture& p, std::int64_t c, std::int64_t y, std::int64_t x) {
  return std::clamp(convolved(p, kSharpen, c, y, x), 0.0F, 1.0F);
}
float edges(const Picture& p, std::int64_t c, std::int64_t y, std::int64_t x) {
  return std::clamp(std::hypot(convolved(p, kSobelX, c, y, x), convolved(p, kSobelY, c, y, x)), 0.0F, 1.0F);
}

/// Runs an operation on the tensor and on each pixel, prints how they compare, gives what the tensor says.
/// @throws Error (domain) where they differ
template <class F>
Picture compared(const char* name, const Picture& p, F operation) {
  auto f = jit([&](const Tensor& x) { return operation(x); });
  const Tensor x = p.tensor().realize();
  f(x).realize(), f(x).realize();
  const auto begin = std::chrono::steady_clock::now();
  const std::vector<float> found = f(x).template to_vector<float>();
  const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - begin;
  double worst = 0;
  for (std::int64_t c = 0; c < 3; ++c)
    for (std::int64_t y = 0; y < p.height; ++y)
      for (std::int64_t x_at = 0; x_at < p.width; ++x_at) {
        const auto k = static_cast<std::size_t>((c * p.height + y) * p.width + x_at);
        const double apart = found[k] - std::clamp(operation(p, c, y, x_at), 0.0F, 1.0F);
        if (!(std::abs(apart) <= worst)) worst = std::isnan(apart) ? HUGE_VAL : std::abs(apart);
      }
  std::printf("%s: %.2f ms, %.0f megapixels a second, at most %.1e beside the loops\n", name, seconds.count() * 1e3,
              static_cast<double>(p.height * p.width) / seconds.count() * 1e-6, worst);
  STRATA_CHECK(worst < 1e-4, domain, "[convolve] ", name, " is wrong by ", worst);
  return {p.height, p.width, found};
}

int run(int argc, char** argv) {
  const Picture p = argc > 1 ? read_ppm(argv[1]) : drawn();
  const std::string prefix = argc > 2 ? argv[2] : "convolve_";
  std::printf("%lld x %lld pixels, on %s\n", static_cast<long long>(p.width), static_cast<long long>(p.height),
              std::string(Device::default_device().name()).c_str());
  const Picture sharp = compared("sharpened", p, [](const auto&... a) { return sharpened(a...); });
  const Picture lines = compared("edges", p, [](const auto&... a) { return edges(a...); });
  write_ppm(prefix + "input.ppm", p);
  write_ppm(prefix + "sharp.ppm", sharp);
  write_ppm(prefix + "edges.ppm", lines);
  std::printf("wrote %sinput.ppm, %ssharp.ppm, %sedges.ppm\n", prefix.c_str(), prefix.c_str(), prefix.c_str());
  return 0;
}

}  // namespace

int main(int argc, char** argv) try { return run(argc, argv); } catch (const std::exception& e) {
  std::cerr << "convolve: " << e.what() << "\n";
  return 1;
}
