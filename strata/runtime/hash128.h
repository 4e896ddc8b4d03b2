// Hash128 and Hasher: a hash of 128 bits that names contents, for the keys and checksums of the disk cache and for
// traces. It is not cryptographic: two different contents collide with a probability of about 2^-128, but an adversary
// can construct a collision. Machines with the same byte order compute the same hash. The function is a part of file
// formats, so it must not change.
//
// The hash is a sponge. The state has four words; sixteen bytes of input are xored into two of them, then a permutation
// of additions, rotations and exclusive ors mixes all four. A permutation is injective: different states stay
// different.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>

namespace strata {

/// A hash of 128 bits, as two words. Hashes compare as numbers.
struct Hash128 {
  std::uint64_t high = 0, low = 0;
  friend auto operator<=>(const Hash128&, const Hash128&) = default;

  /// 32 hexadecimal digits.
  std::string text() const {
    std::string out;
    for (const std::uint64_t word : {high, low})
      for (int shift = 60; shift >= 0; shift -= 4) out += "0123456789abcdef"[word >> shift & 15];
    return out;
  }
};

/// Computes the hash of a sequence of parts: add() each part, then finish().
class Hasher {
 public:
  /// Adds a part, with its length: the parts ("ab", "c") and ("a", "bc") have different hashes.
  void add(std::span<const std::byte> part) {
    std::size_t at = 0;
    for (; part.size() - at >= kBlock; at += kBlock) absorb(part.data() + at);
    std::byte last[kBlock] = {};
    if (at < part.size()) std::memcpy(last, part.data() + at, part.size() - at);
    absorb(last);
    d_ ^= part.size();
    mix();
  }

  Hash128 finish() const {
    Hasher end = *this;
    end.b_ ^= kEnd;
    for (int round = 0; round < 4; ++round) end.mix();
    return {end.a_ ^ end.c_, end.b_ ^ end.d_};
  }

 private:
  static constexpr std::size_t kBlock = 16;
  static constexpr std::uint64_t kEnd = 0xff;

  void absorb(const std::byte* block) {
    std::uint64_t words[2];
    std::memcpy(words, block, kBlock);
    a_ ^= words[0];
    c_ ^= words[1];
    mix();
  }

  void mix() {
    for (int round = 0; round < 2; ++round) {
      a_ += b_, d_ = std::rotl(d_ ^ a_, 32);
      c_ += d_, b_ = std::rotl(b_ ^ c_, 25);
      a_ += b_, d_ = std::rotl(d_ ^ a_, 17);
      c_ += d_, b_ = std::rotl(b_ ^ c_, 59);
    }
  }

  // The fractional bits of the square roots of 2, 3, 5 and 7.
  std::uint64_t a_ = 0x6a09e667f3bcc908, b_ = 0xbb67ae8584caa73b;
  std::uint64_t c_ = 0x3c6ef372fe94f82b, d_ = 0xa54ff53a5f1d36f1;
};

/// The hash of one part.
inline Hash128 hash128(std::span<const std::byte> bytes) {
  Hasher hasher;
  hasher.add(bytes);
  return hasher.finish();
}

/// A hash of much memory, which processes of one version compare: as quick as the memory is read. Eight sums, of
/// each eighth word, are hashed at last. Not a part of file formats.
inline Hash128 hash128_of_elements(std::span<const std::byte> bytes) {
  constexpr std::size_t kLanes = 8, kStep = kLanes * sizeof(std::uint64_t);
  constexpr std::uint64_t kFactor = 0x9e3779b97f4a7c15, kSecond = 0xd1b54a32d192ed03;  // odd
  std::uint64_t sums[kLanes] = {1, 2, 3, 4, 5, 6, 7, 8};
  std::size_t at = 0;
  for (; bytes.size() - at >= kStep; at += kStep) {
    std::uint64_t words[kLanes];
    std::memcpy(words, bytes.data() + at, kStep);
    for (std::size_t k = 0; k < kLanes; ++k)
      sums[k] = std::rotl((sums[k] ^ words[k]) * kFactor, 29) + std::rotl(words[k] * kSecond, 50);
  }
  Hasher hasher;
  hasher.add(std::as_bytes(std::span(sums)));
  hasher.add(bytes.subspan(at));
  return hasher.finish();
}

}  // namespace strata
