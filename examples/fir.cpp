// A low-pass filter over audio, block by block, as a sound card would ask for it.
//
//   fir [IN.wav [OUT.wav]]
//
// Reads a WAV file (PCM of 16 bits), or makes one of a low and a high tone where none is given (fir_input.wav); writes
// what passes (fir_output.wav). The filter's last samples are a state that each block hands to the next. For the tones
// of its own it measures what is left of each; the exit status is 1 where that is not what a low-pass leaves.
#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <iostream>
#include <iterator>
#include <numbers>

#include "strata/strata.h"

namespace {

using namespace strata;

constexpr std::int64_t kTaps = 127, kBlock = 4096;
constexpr double kCutoff = 2000, kLow = 440, kHigh = 6000;  // Hz

struct Audio {
  std::int64_t rate = 44100, channels = 1;
  std::vector<float> samples;  // from -1 to 1, channel after channel

  std::int64_t length() const { return std::ssize(samples) / channels; }
};

std::uint32_t little(const std::string& bytes, std::size_t at, std::size_t count) {
  std::uint32_t out = 0;
  for (std::size_t k = count; k-- > 0;) out = out << 8 | static_cast<unsigned char>(bytes[at + k]);
  return out;
}
void append_little(std::string& bytes, std::uint32_t value, int count) {
  for (int k = 0; k < count; ++k) bytes += static_cast<char>(value >> (8 * k) & 255U);
}

Audio decoded(const std::string& name, const std::string& bytes, std::size_t data, std::size_t size,
              const Audio& format) {
  Audio out = format;
  const auto channels = static_cast<std::size_t>(out.channels), frames = size / 2 / channels;
  STRATA_CHECK(frames > 0, parse, "[fir] ", name, ": it has no samples");
  out.samples.resize(frames * channels);
  for (std::size_t k = 0; k < frames * channels; ++k) {
    const auto value = static_cast<std::int16_t>(little(bytes, data + 2 * k, 2));
    out.samples[k % channels * frames + k / channels] = static_cast<float>(value) / 32768;
  }
  return out;
}

/// Looks at each chunk; those that are not known are skipped.
Audio read_wav(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  STRATA_CHECK(file.good(), request, "[fir] cannot open ", path);
  const std::string bytes(std::istreambuf_iterator<char>(file), {});
  STRATA_CHECK(bytes.size() >= 12 && bytes.starts_with("RIFF") && bytes.substr(8, 4) == "WAVE", parse, "[fir] ", path,
               " is no WAV file");
  Audio format{0, 1, {}};
  for (std::size_t at = 12; at + 8 <= bytes.size();) {
    const std::string chunk = bytes.substr(at, 4);
    const std::size_t stated = little(bytes, at + 4, 4), body = at + 8, size = std::min(stated, bytes.size() - body);
    if (chunk == "fmt " && size >= 16) {
      const std::uint32_t kind = little(bytes, body, 2), bits = little(bytes, body + 14, 2);
      format.channels = little(bytes, body + 2, 2), format.rate = little(bytes, body + 4, 4);
      STRATA_CHECK(kind == 1 && bits == 16 && 1 <= format.channels && format.channels <= 32 && format.rate > 0, parse,
                   "[fir] ", path, ": format ", kind, " of ", bits, " bits, ", format.channels,
                   " channels: only PCM of 16 bits is read");
    } else if (chunk == "data") {
      STRATA_CHECK(format.rate > 0, parse, "[fir] ", path, ": samples come before their format");
      return decoded(path, bytes, body, size, format);
    }
    at = body + size + size % 2;
  }
  throw Error(ErrorKind::parse, detail::message("[fir] ", path, ": it has no samples"));
}

void write_wav(const std::string& path, const Audio& audio) {
  const auto size = static_cast<std::uint32_t>(audio.samples.size() * 2);
  const auto frame = static_cast<std::uint32_t>(audio.channels * 2), rate = static_cast<std::uint32_t>(audio.rate);
  std::string bytes = "RIFF";
  append_little(bytes, 36 + size, 4);
  bytes += "WAVEfmt ";
  append_little(bytes, 16, 4), append_little(bytes, 1, 2), append_little(bytes, frame / 2, 2);
  append_little(bytes, rate, 4), append_little(bytes, rate * frame, 4);
  append_little(bytes, frame, 2), append_little(bytes, 16, 2);
  append_little(bytes += "data", size, 4);
  for (std::int64_t t = 0; t < audio.length(); ++t)
    for (std::int64_t c = 0; c < audio.channels; ++c) {
      const float v = audio.samples[static_cast<std::size_t>(c * audio.length() + t)];
      append_little(bytes, static_cast<std::uint32_t>(std::lround(std::clamp(v, -1.0F, 1.0F) * 32767)), 2);
    }
  std::ofstream file(path, std::ios::binary);
  STRATA_CHECK(file << bytes << std::flush, request, "[fir] cannot write ", path);
}

Audio tones() {
  Audio out;
  for (std::int64_t t = 0; t < 4 * out.rate; ++t) {
    const double turn = 2 * std::numbers::pi * static_cast<double>(t) / static_cast<double>(out.rate);
    out.samples.push_back(static_cast<float>(0.4 * std::sin(kLow * turn) + 0.4 * std::sin(kHigh * turn)));
  }
  return out;
}

/// A sinc under a Blackman window, whose sum is 1: (1, 1, taps). Of a cutoff as a part of the rate.
Tensor lowpass(double cutoff) {
  const Tensor t = Tensor::linspace(-1, 1, kTaps, dtypes::float64) * std::numbers::pi;
  const Tensor x = t * (cutoff * static_cast<double>(kTaps - 1));
  const Tensor sinc = (x == 0).where(1.0, x.sin() / (x == 0).where(1.0, x));
  const Tensor weights = sinc * (t.cos() * 0.5 + (t * 2).cos() * 0.08 + 0.42);
  return (weights / weights.sum()).to_float().reshape({1, 1, kTaps}).realize();
}

/// The whole input through blocks, each with the samples before it; the last one is filled up with zeros.
Audio filtered(const Audio& in, const Tensor& weights) {
  const Tensor state = Tensor::zeros({in.channels, 1, kTaps - 1}).contiguous().realize();
  auto filter = jit([&](const Tensor& block) {
    const Tensor all = Tensor::cat(std::vector{state, block}, 2);
    state.assign(all.narrow(2, kBlock, kTaps - 1).contiguous());
    return conv1d(all, weights);
  });
  Audio out = in;
  double slowest = 0, total = 0;
  std::vector<float> block(static_cast<std::size_t>(in.channels * kBlock));
  for (std::int64_t from = 0; from < in.length(); from += kBlock) {
    const std::int64_t count = std::min(kBlock, in.length() - from);
    std::fill(block.begin(), block.end(), 0.0F);
    for (std::int64_t c = 0; c < in.channels; ++c)
      std::copy_n(in.samples.begin() + c * in.length() + from, count, block.begin() + c * kBlock);
    const auto begin = std::chrono::steady_clock::now();
    const std::vector<float> y = filter(Tensor::from(block, {in.channels, 1, kBlock})).to_vector<float>();
    const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begin;
    if (from >= 2 * kBlock) slowest = std::max(slowest, took.count()), total += took.count();
    for (std::int64_t c = 0; c < in.channels; ++c)
      std::copy_n(y.begin() + c * kBlock, count, out.samples.begin() + c * in.length() + from);
  }
  const auto rate = static_cast<double>(in.rate);
  if (in.length() > 2 * kBlock)
    std::printf("blocks of %.1f ms: %.0f times real time, the slowest %.3f ms\n", kBlock / rate * 1e3,
                static_cast<double>(in.length() - 2 * kBlock) / rate / total, slowest * 1e3);
  return out;
}

/// How loud a tone is, after the filter has settled.
double amplitude(const Audio& audio, double hertz) {
  double re = 0, im = 0;
  for (std::int64_t t = audio.rate; t < 3 * audio.rate; ++t) {
    const double turn = 2 * std::numbers::pi * hertz * static_cast<double>(t) / static_cast<double>(audio.rate);
    re += audio.samples[static_cast<std::size_t>(t)] * std::cos(turn);
    im += audio.samples[static_cast<std::size_t>(t)] * std::sin(turn);
  }
  return std::hypot(re, im) / static_cast<double>(audio.rate);
}

int run(int argc, char** argv) {
  if (argc <= 1) write_wav("fir_input.wav", tones());
  const Audio in = read_wav(argc > 1 ? argv[1] : "fir_input.wav");
  std::printf("%.2f s of %lld channels at %lld Hz, %lld taps, on %s\n",
              static_cast<double>(in.length()) / static_cast<double>(in.rate), static_cast<long long>(in.channels),
              static_cast<long long>(in.rate), static_cast<long long>(kTaps),
              std::string(Device::default_device().name()).c_str());
  const Tensor weights = lowpass(kCutoff / static_cast<double>(in.rate));
  const Audio out = filtered(in, weights);
  write_wav(argc > 2 ? argv[2] : "fir_output.wav", out);

  const Tensor whole =
      conv1d(Tensor::from(in.samples, {in.channels, 1, in.length()}).pad({{0, 0}, {0, 0}, {kTaps - 1, 0}}), weights);
  const Tensor apart = (whole - Tensor::from(out.samples, whole.shape())).abs().max();
  std::printf("beside the whole at once: at most %.1e\n", apart.item());
  bool right = apart.item() < 1e-5;
  if (argc <= 1) {
    const double low = 20 * std::log10(amplitude(out, kLow) / amplitude(in, kLow)),
                 high = 20 * std::log10(amplitude(out, kHigh) / amplitude(in, kHigh));
    std::printf("%.0f Hz: %+.2f dB, %.0f Hz: %+.1f dB\n", kLow, low, kHigh, high);
    right = right && std::abs(low) < 0.1 && high < -70;
  }
  return right ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) try { return run(argc, argv); } catch (const std::exception& e) {
  std::cerr << "fir: " << e.what() << "\n";
  return 1;
}
