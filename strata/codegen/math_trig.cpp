// SIN, COS, TAN for any argument: the argument is reduced by multiples of a quarter turn, exactly enough for the
// arguments nearest to one. Near arguments, which are usual, by the method of Cody and Waite, with pieces of pi/2. Far
// ones to a fraction of a turn: f32 in f64, where its products with pieces of 1/(2*pi) are exact; f64 in integers, by
// the method of Payne and Hanek. The coefficients are printed by tests/codegen/remez.py.
#include <algorithm>
#include <array>
#include <cstdint>
#include <limits>
#include <span>
#include <utility>
#include <vector>

#include "strata/codegen/formula.h"

namespace strata::formulas {
namespace {

/// |x| = (quarter + 4*k) * pi/2 + rest + low, |rest| <= pi/4.
struct Quarters {
  FormulaValue quarter;  ///< unsigned; only the last two bits matter
  FormulaValue rest;
  FormulaValue low;  ///< the part of the remainder below the last place of `rest`
};

// clang-format off
constexpr double kSinF32[] = {-0.166666552, 0.00833219197, -0.000195187924};
constexpr double kCosF32[] = {0.0416666456, -0.00138873013, 2.44306684e-05};
constexpr double kSinF64[] = {-0.16666666666666632, 0.008333333333322491, -0.0001984126982985973,
                              2.7557313707751938e-06, -2.505076036353456e-08, 1.5896916353333885e-10};
constexpr double kCosF64[] = {0.0416666666666666, -0.0013888888888874474, 2.4801587289671564e-05,
                              -2.755731440104919e-07, 2.087572928526121e-09, -1.135993452368055e-11};

// 1 / (2*pi) as a sum: six pieces of 26 bits, and the rest.
constexpr double kTurn[] = {0x1.45f306p-3, 0x1.b9391p-28, 0x1.529fc2p-54, 0x1.d5f47dp-80, 0x1.34ddcp-106, 0x1.b6c52bp-131,
                            0x1.93c439041fe51p-158};

// 1 / (2*pi) * 2^-64 as a binary fraction.
constexpr std::uint64_t kTurnWords[] = {
    0,                  0x28be60db9391054a, 0x7f09d5f47d4d3770, 0x36d8a5664f10e410, 0x7f9458eaf7aef158,
    0x6dc91b8e909374b8, 0x01924bba82746487, 0x3f877ac72c4a69cf, 0xba208d7d4baed121, 0x3a671c09ad17df90,
    0x4e64758e60d4ce7d, 0x272117e2ef7e4a0e, 0xc7fe25fff7816603, 0xfbcbc462d6829b47, 0xdb4d9fb3c9f2c26d,
    0xd3d18fd9a797fa8b, 0x5d49eeb1faf97c5e, 0xcf41ce7de294a4ba, 0x9afed7ec47e35742, 0x1580cc11bf1edaea};
// clang-format on

constexpr double kHalfPi = 1.5707963267948966;

/// pi/2 as a sum. The products of all pieces but the last with an integer below `most` are exact.
struct HalfPi {
  std::array<double, 2> coarse;  ///< what these leave of a near argument is exact
  std::array<double, 2> fine;    ///< what these leave is rounded
  double last;
  double most;
};
constexpr HalfPi kHalfPiF32{{0x1.92p+0, 0x1.fbp-12}, {0x1.51p-22, 0x1.0bp-34}, 0x1.184698p-44, 0x1p13};
constexpr HalfPi kHalfPiF64{{0x1.921fb544p+0, 0}, {0x1.0b4611a6p-34, 0x1.3198a2ep-69}, 0x1.b839a252049c1p-104, 0x1p20};

const HalfPi& half_pi_of(DType dtype) { return dtype.scalar() == dtypes::float32 ? kHalfPiF32 : kHalfPiF64; }

/// @pre 0 <= x < (most - 1) * pi/2
Quarters quarters_of_near(FormulaValue x) {
  const HalfPi& pieces = half_pi_of(x.dtype());
  const double shift = format_of(x.dtype()).shifter;
  const FormulaValue shifted = mulacc(x, 1 / kHalfPi, shift);
  const FormulaValue n = shifted - shift;
  FormulaValue rest = x;
  for (const double piece : pieces.coarse)
    if (piece != 0) rest = mulacc(n, -piece, rest);
  std::vector<FormulaValue> lost;
  for (const double piece : pieces.fine) {
    const FormulaValue next = mulacc(n, -piece, rest);
    lost.push_back(mulacc(n, -piece, rest - next));
    rest = next;
  }
  return {bits_of(shifted), rest, mulacc(n, -pieces.last, lost[0] + lost[1])};
}

Quarters quarters_f32(FormulaValue x) {
  const FormulaValue wide = abs(x).cast(dtypes::float64);
  // The sum of the products modulo a whole turn. Each product is exact, and so is each sum near 0.
  FormulaValue turns = wide * kTurn[0];
  turns = turns - round(turns);
  for (int k = 1; k < 5; ++k) {
    const FormulaValue product = wide * kTurn[k];
    turns = turns + (product - round(product + turns));
  }
  turns = mulacc(wide, kTurn[6], mulacc(wide, kTurn[5], turns));
  const double shift = format_of(wide.dtype()).shifter;
  const FormulaValue quarters = turns * 4.0;
  const FormulaValue shifted = quarters + shift;
  const FormulaValue rest = (quarters - (shifted - shift)) * kHalfPi;
  const FormulaValue quarter = bits_of(shifted).cast(dtypes::uint32);
  const FormulaValue narrow = rest.cast(dtypes::float32);
  return {quarter, narrow, (rest - narrow.cast(dtypes::float64)).cast(dtypes::float32)};
}

/// The upper 64 bits of a * b. @pre a < 2^53
FormulaValue upper_product(FormulaValue a, FormulaValue b) {
  const FormulaValue a_low = a & 0xFFFFFFFF, a_high = a >> 32;
  const FormulaValue b_low = b & 0xFFFFFFFF, b_high = b >> 32;
  const FormulaValue middle = ((a_low * b_low) >> 32) + a_low * b_high;
  const FormulaValue other = (middle & 0xFFFFFFFF) + a_high * b_low;
  return a_high * b_high + (middle >> 32) + (other >> 32);
}

/// 192 bits of kTurnWords, from bit `at` on, in three words. @pre at < 1088
std::array<FormulaValue, 3> turn_bits(FormulaValue at) {
  std::vector<FormulaValue> words;
  for (const std::uint64_t word : kTurnWords) words.push_back(at.like(word));
  // Select words by the bits of `at`, halving the candidates; the first four words remain.
  for (const int step : {16, 8, 4, 2, 1}) {
    const FormulaValue far = (at & (step * 64)) != 0;
    const std::size_t keep = static_cast<std::size_t>(step) + 3;
    std::vector<FormulaValue> next;
    for (std::size_t k = 0; k < std::min(keep, words.size()); ++k) {
      const std::size_t other = k + static_cast<std::size_t>(step);
      next.push_back(other < words.size() ? where(far, words[other], words[k]) : words[k]);
    }
    words = std::move(next);
  }
  const FormulaValue count = at & 63;
  const FormulaValue back = 63 - count;
  const auto shifted = [&](std::size_t k) { return (words[k] << count) | ((words[k + 1] >> 1) >> back); };
  return {shifted(0), shifted(1), shifted(2)};
}

/// Splits the 128-bit fraction of a turn high:low into a quarter and a pair that sums to the rest.
Quarters quarters_of_turn(FormulaValue high, FormulaValue low) {
  const FormulaValue quarter = (high + (std::uint64_t{1} << 61)) >> 62;
  const FormulaValue rest = high - (quarter << 62);
  // Sign and magnitude: the rest may be a negative number near 0.
  const FormulaValue negative = where((rest >> 63) != 0, ~std::uint64_t{0}, rest.like(std::uint64_t{0}));
  const FormulaValue size = rest ^ negative;
  const DType f64 = dtypes::float64;
  const FormulaValue first = (size & 0xFFFFFFFF00000000).bitcast(dtypes::int64).cast(f64);
  const FormulaValue second = (size & 0xFFFFFFFF).bitcast(dtypes::int64).cast(f64);
  const FormulaValue third = ((low ^ negative) >> 1).bitcast(dtypes::int64).cast(f64) * 0x1p-63;
  const FormulaValue upper = first + second;
  const FormulaValue lower = (second - (upper - first)) + third;
  const FormulaValue sum = upper + lower;
  const FormulaValue left = lower - (sum - upper);
  // multiply by pi/2; the products of pi_high with both halves of the sum are exact
  const double pi_high = 0x1.921fb5p+0, pi_low = 1.5893254773528196e-08;
  const FormulaValue a = sum * 0x1p-62;
  const FormulaValue a_high = upper_half(a), a_low = a - a_high;
  const FormulaValue main = a_high * pi_high;
  const FormulaValue more = a_low * pi_high + (a * pi_low + left * (0x1p-62 * kHalfPi));
  const FormulaValue angle = main + more;
  const FormulaValue low_angle = more - (angle - main);
  const FormulaValue sign = negative & (std::uint64_t{1} << 63);
  return {quarter, flip_sign(angle, sign), flip_sign(low_angle, sign)};
}

/// @pre |x| >= 0.75
Quarters quarters_f64(FormulaValue x) {
  const FormulaValue size = abs(x);
  const FormulaValue bits = bits_of(size);
  const FormulaValue significand = (bits & 0xFFFFFFFFFFFFF) | (std::uint64_t{1} << 52);
  // x = significand * 2^(at - 64)
  const FormulaValue at = min(max(bits >> 52, 1022), 2046) - (1023 + 52 - 64);
  const auto [first, second, third] = turn_bits(at);
  const FormulaValue low_product = significand * second;
  const FormulaValue low = low_product + upper_product(significand, third);
  const FormulaValue carry = where(low < low_product, 1, low.like(0));
  const FormulaValue high = significand * first + upper_product(significand, second) + carry;
  const Quarters reduced = quarters_of_turn(high, low);
  const FormulaValue finite = size < std::numeric_limits<double>::infinity();
  return {reduced.quarter, where(finite, reduced.rest, size * 0.0), reduced.low};
}

/// A value as main + tail, where the tail is small.
struct Sum {
  FormulaValue main, tail;
  FormulaValue value() const { return main + tail; }
};

Sum sin_of(const Quarters& q) {
  const FormulaValue x = q.rest;
  const FormulaValue square = x * x;
  if (x.scalar() == dtypes::float32)  // the factor cos(x) of `low` is taken as 1
    return {x, mulacc(polynomial(square, kSinF32) * square, x, q.low)};
  const FormulaValue low = mulacc(q.low, square * -0.5, q.low);
  return {x, mulacc(polynomial(square, kSinF64) * square, x, low)};
}

Sum cos_of(const Quarters& q) {
  const FormulaValue x = q.rest;
  const FormulaValue square = x * x;
  const bool is_f32 = x.scalar() == dtypes::float32;
  const FormulaValue tail = polynomial(square, is_f32 ? std::span<const double>(kCosF32) : kCosF64) * square;
  const FormulaValue half = square * 0.5;
  const FormulaValue main = 1.0 - half;
  const FormulaValue lost = (1.0 - main) - half;
  return {main, lost + mulacc(tail, square, -(x * q.low))};
}

/// a / b
FormulaValue quotient_of_sums(const Sum& a, const Sum& b) {
  const FormulaValue above = a.value(), below = b.value();
  const FormulaValue q = above / below;
  // Carry the rounding errors of the sums through the division: without them the error would exceed two units in the
  // last place.
  const FormulaValue a_lost = a.tail - (above - a.main), b_lost = b.tail - (below - b.main);
  return q + (a_lost - q * b_lost) / below;
}

/// The sign bit where bit `bit` of the quarter is set, else 0.
FormulaValue sign_from(const Quarters& q, int bit) {
  const int width = q.rest.scalar().bits();
  return (q.quarter << (width - 1 - bit)) & format_of(q.rest.dtype()).sign;
}

FormulaValue is_odd(const Quarters& q) { return (q.quarter & 1) != 0; }

// The functions of x, given the quarters of |x|.
FormulaValue sin_by(FormulaValue x, const Quarters& q) {
  const FormulaValue size = where(is_odd(q), cos_of(q).value(), sin_of(q).value());
  return flip_sign(size, sign_from(q, 1) ^ sign_of(x));
}
FormulaValue cos_by(FormulaValue, const Quarters& q) {
  const FormulaValue size = where(is_odd(q), sin_of(q).value(), cos_of(q).value());
  return flip_sign(size, sign_from(q, 1) ^ sign_from(q, 0));
}
FormulaValue tan_by(FormulaValue x, const Quarters& q) {
  const Sum s = sin_of(q), c = cos_of(q);
  const FormulaValue odd = is_odd(q);
  const Sum above{where(odd, c.main, s.main), where(odd, c.tail, s.tail)};
  const Sum below{where(odd, s.main, c.main), where(odd, s.tail, c.tail)};
  return flip_sign(quotient_of_sums(above, below), sign_from(q, 0) ^ sign_of(x));
}

FormulaValue by_quarters(FormulaValue x, FormulaValue (*f)(FormulaValue, const Quarters&)) {
  const FormulaValue size = abs(x);
  const FormulaValue is_near = size < (half_pi_of(x.dtype()).most - 1) * kHalfPi;
  const Quarters far = x.scalar() == dtypes::float32 ? quarters_f32(x) : quarters_f64(x);
  return seldom(~is_near, f(x, far), f(x, quarters_of_near(size)));
}

}  // namespace

FormulaValue sin_formula(FormulaValue x) { return by_quarters(x, sin_by); }
FormulaValue cos_formula(FormulaValue x) { return by_quarters(x, cos_by); }
FormulaValue tan_formula(FormulaValue x) { return by_quarters(x, tan_by); }

}  // namespace strata::formulas
