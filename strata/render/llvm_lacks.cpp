#include "strata/render/llvm_lacks.h"

#include "strata/render/llvm_ops.h"

namespace strata::rendering {

namespace {

std::string whole(DType dtype, std::uint64_t v) {
  return rendering::llvm_constant(dtype, Scalar::of(dtype.scalar(), v));
}

/// The square root of a finite positive number, bit by bit: one bit more of the root than the float has, then rounded.
/// The square of a half between two floats is no float, so there are no ties. $F: the float, $I: its bits, $S: those of
/// the fraction, $B: the bias, $M: 2^$S, $E: infinity, $N: the steps, $Q: NaN, $D: its name.
constexpr std::string_view kSqrt = R"(define internal $F @strata_sqrt_$D($F %x) #0 {
entry:
  %zero = fcmp oeq $F %x, 0.0
  br i1 %zero, label %same, label %sign
same:
  ret $F %x
sign:
  %positive = fcmp ogt $F %x, 0.0
  br i1 %positive, label %size, label %none
none:
  %quiet = bitcast $I $Q to $F
  ret $F %quiet
size:
  %bits = bitcast $F %x to $I
  %infinite = icmp uge $I %bits, $E
  br i1 %infinite, label %same, label %parts
parts:
  %field = lshr $I %bits, $S
  %normal = icmp ne $I %field, 0
  %fraction = and $I %bits, $L
  %one = or $I %fraction, $M
  %digits = select i1 %normal, $I %one, $I %bits
  %exponent = select i1 %normal, $I %field, $I 1
  br label %shift
shift:
  %d = phi $I [ %digits, %parts ], [ %d.next, %more ]
  %e = phi $I [ %exponent, %parts ], [ %e.next, %more ]
  %small = icmp ult $I %d, $M
  br i1 %small, label %more, label %even
more:
  %d.next = shl $I %d, 1
  %e.next = sub $I %e, 1
  br label %shift
even:
  %scale = sub $I %e, $B
  %odd = and $I %scale, 1
  %d.even = shl $I %d, %odd
  %s.even = sub $I %scale, %odd
  %d.all = shl $I %d.even, 1
  %first = shl $I $M, 1
  br label %step
step:
  %k = phi $I [ 0, %even ], [ %k.next, %step ]
  %mark = phi $I [ %first, %even ], [ %mark.next, %step ]
  %left = phi $I [ %d.all, %even ], [ %left.next, %step ]
  %rest = phi $I [ 0, %even ], [ %rest.next, %step ]
  %root = phi $I [ 0, %even ], [ %root.next, %step ]
  %try = add $I %rest, %mark
  %fits = icmp ule $I %try, %left
  %rest.more = add $I %try, %mark
  %left.less = sub $I %left, %try
  %root.more = add $I %root, %mark
  %rest.next = select i1 %fits, $I %rest.more, $I %rest
  %left.now = select i1 %fits, $I %left.less, $I %left
  %root.next = select i1 %fits, $I %root.more, $I %root
  %left.next = shl $I %left.now, 1
  %mark.next = lshr $I %mark, 1
  %k.next = add $I %k, 1
  %goes_on = icmp ult $I %k.next, $N
  br i1 %goes_on, label %step, label %end
end:
  %half = lshr $I %root.next, 1
  %last = and $I %root.next, 1
  %rounded = add $I %half, %last
  %back = ashr $I %s.even, 1
  %biased = add $I %back, $C
  %field.out = shl $I %biased, $S
  %out = add $I %rounded, %field.out
  %result = bitcast $I %out to $F
  ret $F %result
}
)";

}  // namespace

DType LlvmTypes::held(DType dtype) const {
  const bool is_bits = halves_are_bits_ && !dtype.is_none() && !dtype.is_pointer() && dtype.scalar() == dtypes::float16;
  return is_bits ? dtypes::uint16.vec(dtype.lanes()) : dtype;
}

std::string LlvmTypes::llvm_constant(DType dtype, const Scalar& value) const {
  const DType as = held(dtype);
  return rendering::llvm_constant(as, as == dtype ? value : Scalar::of(dtypes::uint16, value.bits()));
}

std::string llvm_sqrt_function(DType dtype) {
  const bool is_f32 = dtype == dtypes::float32;
  const std::uint64_t fraction = is_f32 ? 23 : 52, bias = is_f32 ? 127 : 1023;
  const std::uint64_t one = std::uint64_t{1} << fraction, infinity = (2 * bias + 1) << fraction;
  std::string out;
  for (std::size_t k = 0; k < kSqrt.size(); ++k) {
    if (kSqrt[k] != '$') {
      out += kSqrt[k];
      continue;
    }
    switch (kSqrt[++k]) {
      case 'F': out += is_f32 ? "float" : "double"; break;
      case 'D': out += is_f32 ? "f32" : "f64"; break;
      case 'I': out += is_f32 ? "i32" : "i64"; break;
      case 'S': out += std::to_string(fraction); break;
      case 'B': out += std::to_string(bias); break;
      case 'C': out += std::to_string(bias - 1); break;
      case 'M': out += std::to_string(one); break;
      case 'L': out += std::to_string(one - 1); break;
      case 'E': out += std::to_string(infinity); break;
      case 'Q': out += std::to_string(infinity | one >> 1U); break;
      default: out += std::to_string(fraction + 2); break;  // N
    }
  }
  return out;
}

/// TRUNC, FLOOR, CEIL and ROUND. The sum of a magnitude below 2^23 (f32) with 2^23 is rounded to an integer, ties to
/// even; larger magnitudes are integers, and NaN stays.
std::string LlvmOps::rounding(std::string_view name, Ops op, DType dtype, const std::string& v) {
  const std::string type = llvm_type(dtype), flag = llvm_type(with_lanes(dtypes::boolean, dtype));
  const auto number = [&](double x) { return llvm_constant(dtype, Scalar::of(dtype.scalar(), x)); };
  const auto step = [&](std::string_view part, const auto&... parts) {
    return text_.define(detail::message(name, ".", part), parts...);
  };
  const auto signed_as_v = [&](std::string_view to, const std::string& x) {
    return text_.call(to, type, detail::message("llvm.copysign.", llvm_suffix(dtype)), {{type, x}, {type, v}});
  };
  const std::string limit = number(dtype.scalar() == dtypes::float32 ? 0x1p23 : 0x1p52);
  const std::string size =
      text_.call(detail::message(name, ".size"), type, detail::message("llvm.fabs.", llvm_suffix(dtype)), {{type, v}});
  const std::string is_small = step("small", "fcmp olt ", type, " ", size, ", ", limit);
  const std::string sum = step("sum", "fadd ", type, " ", size, ", ", limit);
  std::string out = step("even", "fsub ", type, " ", sum, ", ", limit);
  const auto one_off = [&](std::string_view order, std::string_view by, const std::string& of) {
    const std::string is_off = step("off", "fcmp ", order, " ", type, " ", out, ", ", of);
    const std::string next = step("next", by, " ", type, " ", out, ", ", number(1));
    out = step("whole", "select ", flag, " ", is_off, ", ", type, " ", next, ", ", type, " ", out);
  };
  if (op == Ops::TRUNC) one_off("ogt", "fsub", size);
  if (op == Ops::FLOOR || op == Ops::CEIL) out = signed_as_v(detail::message(name, ".signed"), out);
  if (op == Ops::FLOOR) one_off("ogt", "fsub", v);
  if (op == Ops::CEIL) one_off("olt", "fadd", v);
  if (op != Ops::FLOOR) out = signed_as_v(detail::message(name, ".like"), out);
  return text_.define(name, "select ", flag, " ", is_small, ", ", type, " ", out, ", ", type, " ", v);
}

/// SQRT by the module's function, lane by lane.
std::string LlvmOps::root(std::string_view name, DType dtype, const std::string& v) {
  const DType lane = dtype.scalar();
  const std::string type = llvm_type(dtype), real = llvm_type(lane);
  const std::string call = detail::message("call ", real, " @strata_sqrt_", llvm_suffix(lane), "(", real, " ");
  text_.add_function(llvm_sqrt_function(lane));
  if (!dtype.is_vector()) return text_.define(name, call, v, ")");
  std::string out = "poison";
  for (int k = 0; k < dtype.lanes(); ++k) {
    const std::string path = detail::message(name, ".", k);
    const std::string from = text_.define(path + ".in", "extractelement ", type, " ", v, ", i64 ", k);
    const std::string one = text_.define(path + ".root", call, from, ")");
    const bool is_last = k + 1 == dtype.lanes();
    out = text_.define(is_last ? std::string(name) : path, "insertelement ", type, " ", out, ", ", real, " ", one,
                       ", i64 ", k);
  }
  return out;
}

/// f16 to f32 by integers: the bits of the magnitude, shifted, are those of the f32 that is 2^112 times smaller, also
/// of a subnormal number.
std::string LlvmOps::widen_bits(std::string_view name, DType from, const std::string& v) {
  const DType word = with_lanes(dtypes::uint32, from), real = with_lanes(dtypes::float32, from);
  const std::string type = llvm_type(word), wide = llvm_type(real);
  const auto step = [&](std::string_view part, const auto&... parts) {
    return text_.define(detail::message(name, ".", part), parts...);
  };
  const std::string bits = step("bits", "zext ", llvm_type(from), " ", v, " to ", type);
  const std::string sign = step("sign", "and ", type, " ", bits, ", ", whole(word, 0x8000));
  const std::string high = step("high", "shl ", type, " ", sign, ", ", whole(word, 16));
  const std::string size = step("size", "and ", type, " ", bits, ", ", whole(word, 0x7FFF));
  const std::string rest = step("rest", "shl ", type, " ", size, ", ", whole(word, 13));
  const std::string small = step("small", "bitcast ", type, " ", rest, " to ", wide);
  const std::string scaled =
      step("scaled", "fmul ", wide, " ", small, ", ", llvm_constant(real, Scalar::of(dtypes::float32, 0x1p112)));
  const std::string finite = step("finite", "bitcast ", wide, " ", scaled, " to ", type);
  const std::string large = step("large", "or ", type, " ", rest, ", ", whole(word, 0x7F800000));
  const std::string is_large = step("infinite", "icmp uge ", type, " ", rest, ", ", whole(word, 0x0F800000));
  const std::string chosen = step("word", "select ", llvm_type(with_lanes(dtypes::boolean, from)), " ", is_large, ", ",
                                  type, " ", large, ", ", type, " ", finite);
  const std::string all = step("all", "or ", type, " ", chosen, ", ", high);
  return text_.define(name, "bitcast ", type, " ", all, " to ", wide);
}

/// f32 to f16 by integers, to nearest, ties to even. Of a number below 2^-14 the sum with 0.5 is rounded to a multiple
/// of 2^-24.
std::string LlvmOps::narrow_bits(std::string_view name, DType to, const std::string& v) {
  const DType word = with_lanes(dtypes::uint32, to), real = with_lanes(dtypes::float32, to);
  const std::string type = llvm_type(word), wide = llvm_type(real), flag = llvm_type(with_lanes(dtypes::boolean, to));
  const auto step = [&](std::string_view part, const auto&... parts) {
    return text_.define(detail::message(name, ".", part), parts...);
  };
  const auto choose = [&](std::string_view part, std::string_view order, const std::string& x, std::uint64_t limit,
                          const std::string& a, const std::string& b) {
    const std::string is =
        step(detail::message(part, ".is"), "icmp ", order, " ", type, " ", x, ", ", whole(word, limit));
    return step(part, "select ", flag, " ", is, ", ", type, " ", a, ", ", type, " ", b);
  };
  const std::string bits = step("bits", "bitcast ", wide, " ", v, " to ", type);
  const std::string high = step("high", "lshr ", type, " ", bits, ", ", whole(word, 16));
  const std::string sign = step("sign", "and ", type, " ", high, ", ", whole(word, 0x8000));
  const std::string rest = step("rest", "and ", type, " ", bits, ", ", whole(word, 0x7FFFFFFF));
  const std::string ties = step("ties", "lshr ", type, " ", rest, ", ", whole(word, 13));
  const std::string odd = step("odd", "and ", type, " ", ties, ", ", whole(word, 1));
  const std::string moved = step("moved", "sub ", type, " ", rest, ", ", whole(word, 0x38000000 - 0xFFF));
  const std::string even = step("even", "add ", type, " ", moved, ", ", odd);
  const std::string normal = step("normal", "lshr ", type, " ", even, ", ", whole(word, 13));
  const std::string size = step("size", "bitcast ", type, " ", rest, " to ", wide);
  const std::string sum =
      step("sum", "fadd ", wide, " ", size, ", ", llvm_constant(real, Scalar::of(dtypes::float32, 0.5)));
  const std::string whole_sum = step("whole", "bitcast ", wide, " ", sum, " to ", type);
  const std::string small = step("small", "sub ", type, " ", whole_sum, ", ", whole(word, 0x3F000000));
  const std::string finite = choose("finite", "uge", rest, 0x38800000, normal, small);
  const std::string below = choose("below", "uge", rest, 0x47800000, whole(word, 0x7C00), finite);
  const std::string all = choose("size16", "ugt", rest, 0x7F800000, whole(word, 0x7E00), below);
  const std::string out = step("word", "or ", type, " ", all, ", ", sign);
  return text_.define(name, "trunc ", type, " ", out, " to ", llvm_type(to));
}

}  // namespace strata::rendering
