// Evaluates affine steps over a box, one tile of points at a time, with reduced divisions.
//
// A register holds one value for the whole tile, an affine sequence start + step * t, or an array. A sum of sequences
// is a sequence. x // c and x % c of a sequence come in runs: write step = c * X + s with |s| <= c / 2. Until r + s * t
// leaves [0, c), the quotient is Q + X * t with a constant Q, and the modulus is an affine sequence. The lengths of
// runs need no division. For short runs, and for arrays, a division is a shift, or a multiplication by ceil(2^64 / c).
//
// Every step is proven to fit in 64 bits on the box, so wrapping unsigned arithmetic gives the exact values.

#include <algorithm>
#include <bit>

#include "strata/affine/affine_program.h"
#include "strata/base/check.h"

namespace strata {

namespace {

constexpr std::size_t kTile = 1024;    // the most points of a tile
constexpr std::size_t kWhole = 64;     // trailing axes are whole in a tile up to this many points
constexpr std::int64_t kLongRun = 16;  // shorter runs are divided element by element

__extension__ using Unsigned128 = unsigned __int128;

std::uint64_t bits(std::int64_t v) { return static_cast<std::uint64_t>(v); }
std::int64_t value(std::uint64_t v) { return static_cast<std::int64_t>(v); }

/// The contents of a register: element t is start + step * t, or data[t].
struct Lane {
  bool array = false;
  std::int64_t start = 0;
  std::int64_t step = 0;
  std::int64_t lo = 0, hi = 0;  // bounds on the whole box
  std::int64_t* data = nullptr;

  bool uniform() const { return !array && step == 0; }
  void set(std::int64_t first, std::int64_t by) {
    array = false;
    start = first;
    step = by;
  }
};

void write_sequence(std::int64_t* out, std::size_t count, std::int64_t start, std::int64_t step) {
  for (std::size_t t = 0; t < count; ++t) out[t] = value(bits(start) + bits(step) * t);
}

/// The values of a lane; a sequence is written to `scratch`.
const std::int64_t* read(const Lane& x, std::int64_t* scratch, std::size_t count) {
  if (x.array) return x.data;
  write_sequence(scratch, count, x.start, x.step);
  return scratch;
}

// --- divisions ---

/// x // c or x % c for each element. @pre c > 0, lo <= x <= hi; out may be x
void divide_each(Action action, const std::int64_t* x, std::int64_t c, std::int64_t lo, std::int64_t hi,
                 std::int64_t* out, std::size_t count) {
  const bool quotient = action == Action::div;
  if (std::has_single_bit(bits(c))) {
    const int shift = std::countr_zero(bits(c));
    if (quotient)
      for (std::size_t t = 0; t < count; ++t) out[t] = x[t] >> shift;
    else
      for (std::size_t t = 0; t < count; ++t) out[t] = x[t] & (c - 1);
    return;
  }
  constexpr std::uint64_t limit = std::uint64_t{1} << 32;
  const std::int64_t base = floor_div(lo, c);
  const std::uint64_t low = bits(base) * bits(c);
  // Let y = x - low in [0, 2^32) and m = ceil(2^64 / c). Then y * m exceeds 2^64 * y / c by less than 2^64 / c: no
  // carry.
  if (bits(hi) - bits(lo) < limit && bits(c) < limit && bits(hi) - low < limit) {
    const std::uint64_t m = ~std::uint64_t{0} / bits(c) + 1;
    for (std::size_t t = 0; t < count; ++t) {
      const std::uint64_t y = bits(x[t]) - low;
      const auto q = static_cast<std::uint64_t>((static_cast<Unsigned128>(y) * m) >> 64);
      out[t] = value(quotient ? q + bits(base) : y - q * bits(c));
    }
    return;
  }
  for (std::size_t t = 0; t < count; ++t) out[t] = quotient ? floor_div(x[t], c) : floor_mod(x[t], c);
}

/// The quotient of a sequence by c: element t is quotient + X * t + floor((r + s * t) / c), with |s| <= c / 2.
struct Divided {
  Divided(const Lane& x, std::int64_t divisor)
      : c(divisor),
        quotient(floor_div(x.start, c)),
        X(floor_div(x.step, c)),
        r(floor_mod(x.start, c)),
        s(floor_mod(x.step, c)) {
    if (s <= c - s) return;
    s -= c;
    ++X;
  }
  /// The number of elements from the first on that have r + s * t in [0, c).
  std::uint64_t first_run() const {
    if (s == 0) return ~std::uint64_t{0};
    return bits(s > 0 ? (c - 1 - r) / s : r / -s) + 1;
  }
  bool has_long_runs() const { return s == 0 || c / (s > 0 ? s : -s) >= kLongRun; }

  std::int64_t c, quotient, X, r, s;
};

void write_runs(Action action, const Divided& d, std::int64_t* out, std::size_t count) {
  // u grows by |s| in both directions; a run ends where u reaches c.
  const std::int64_t s = d.s > 0 ? d.s : -d.s;
  const std::int64_t whole = d.c / s, rest = d.c % s;
  std::int64_t u = d.s > 0 ? d.r : d.c - 1 - d.r;
  std::uint64_t length = d.first_run();
  std::uint64_t q = bits(d.quotient);
  for (std::size_t t = 0; t < count;) {
    const auto run = static_cast<std::size_t>(std::min<std::uint64_t>(length, count - t));
    if (action == Action::div)
      write_sequence(out + t, run, value(q + bits(d.X) * t), d.X);
    else
      write_sequence(out + t, run, d.s > 0 ? u : d.c - 1 - u, d.s);
    t += run;
    if (t == count) break;
    q += d.s > 0 ? 1 : ~std::uint64_t{0};
    u = value(bits(u) + bits(s) * length - bits(d.c));
    length = bits(whole) + (u < rest ? 1 : 0);
  }
}

void divide(Action action, const Lane& x, std::int64_t c, Lane& out, std::size_t count) {
  if (!x.array) {
    const Divided d(x, c);
    if (d.first_run() >= count) return action == Action::div ? out.set(d.quotient, d.X) : out.set(d.r, d.s);
    out.array = true;
    if (d.has_long_runs()) return write_runs(action, d, out.data, count);
    write_sequence(out.data, count, x.start, x.step);
    const std::int64_t last = value(bits(x.start) + bits(x.step) * (count - 1));
    return divide_each(action, out.data, c, std::min(x.start, last), std::max(x.start, last), out.data, count);
  }
  out.array = true;
  divide_each(action, x.data, c, x.lo, x.hi, out.data, count);
}

// --- one step over a tile ---

template <class F>
void combine_with(const std::int64_t* x, std::int64_t* out, std::size_t count, F f) {
  for (std::size_t t = 0; t < count; ++t) out[t] = f(out[t], x[t]);
}

/// out = out `action` x, for each element. @pre the results fit in 64 bits
void combine_each(Action action, const std::int64_t* x, std::int64_t* out, std::size_t count) {
  using I = std::int64_t;
  switch (action) {
    case Action::min: return combine_with(x, out, count, [](I a, I b) { return a < b ? a : b; });
    case Action::max: return combine_with(x, out, count, [](I a, I b) { return a > b ? a : b; });
    case Action::mul: return combine_with(x, out, count, [](I a, I b) { return value(bits(a) * bits(b)); });
    case Action::lt: return combine_with(x, out, count, [](I a, I b) { return I{a < b}; });
    case Action::eq: return combine_with(x, out, count, [](I a, I b) { return I{a == b}; });
    case Action::ne: return combine_with(x, out, count, [](I a, I b) { return I{a != b}; });
    case Action::logical_and: return combine_with(x, out, count, [](I a, I b) { return I{(a != 0) & (b != 0)}; });
    case Action::logical_or: return combine_with(x, out, count, [](I a, I b) { return I{(a != 0) | (b != 0)}; });
    default: break;
  }
  for (std::size_t t = 0; t < count; ++t)
    STRATA_ASSERT(apply_binary(action, out[t], x[t], out[t]) == Outcome::ok, "a proven step failed");
}

class TileRun {
 public:
  TileRun(const AffineProgram& program, std::size_t capacity)
      : program_(program),
        lanes_(program.registers),
        store_((program.registers + 3) * capacity),
        scratch_(store_.data() + program.registers * capacity),
        capacity_(capacity) {
    for (std::size_t i = 0; i < lanes_.size(); ++i) lanes_[i].data = store_.data() + i * capacity;
  }
  Lane& lane(std::size_t reg) { return lanes_[reg]; }

  void run(std::size_t count, std::int64_t* out) {
    count_ = count;
    Lane& result = lanes_[program_.result];
    // The result's register is the output array itself; other values that it holds before the last step are
    // overwritten.
    if (program_.result >= program_.inputs) result.data = out;
    for (const AffineStep& step : program_.steps) {
      Lane& target = lanes_[step.target];
      run_step(step, target);
      target.lo = step.lo;
      target.hi = step.hi;
    }
    if (const std::int64_t* values = read(result, out, count); values != out) std::copy_n(values, count, out);
  }

 private:
  const Lane& operand(const AffineStep& step, std::size_t i) const {
    return lanes_[program_.operands[step.first + i].value];
  }
  std::int64_t* scratch(std::size_t i) { return scratch_ + i * capacity_; }

  void run_step(const AffineStep& step, Lane& target) {
    if (step.action == Action::add) return run_sum(step, target);
    bool uniform = true;
    for (std::size_t i = 0; i < step.count; ++i) uniform = uniform && operand(step, i).uniform();
    if (uniform) return run_uniform(step, target);
    if (step.action == Action::select) return run_select(step, target);
    const bool divides = step.action == Action::div || step.action == Action::mod;
    if (divides && step.immediate) return divide(step.action, operand(step, 0), step.constant, target, count_);
    if (divides && operand(step, 1).uniform())
      return divide(step.action, operand(step, 0), operand(step, 1).start, target, count_);
    if (step.action == Action::mul && scale(step, target)) return;
    std::copy_n(read(operand(step, 0), scratch(0), count_), count_, target.data);
    for (std::size_t i = 1; i < step.count; ++i)
      combine_each(step.action, read(operand(step, i), scratch(0), count_), target.data, count_);
    if (step.immediate) {
      std::fill_n(scratch(0), count_, step.constant);
      combine_each(step.action, scratch(0), target.data, count_);
    }
    target.array = true;
  }
  void run_uniform(const AffineStep& step, Lane& target) {
    if (step.action == Action::select)
      return target.set((operand(step, 0).start != 0 ? operand(step, 1) : operand(step, 2)).start, 0);
    std::int64_t out = operand(step, 0).start;
    for (std::size_t i = 1; i < step.count; ++i) out = uniform_pair(step.action, out, operand(step, i).start);
    if (step.immediate) out = uniform_pair(step.action, out, step.constant);
    target.set(out, 0);
  }
  static std::int64_t uniform_pair(Action action, std::int64_t a, std::int64_t b) {
    std::int64_t out = a;
    combine_pair(action, b, out);
    return out;
  }
  static void combine_pair(Action action, std::int64_t b, std::int64_t& out) { combine_each(action, &b, &out, 1); }
  void run_sum(const AffineStep& step, Lane& target) {
    std::uint64_t start = bits(step.constant), by = 0;
    bool array = false;
    for (const AffineOperand& o : program_.of(step)) {
      const Lane& x = lanes_[o.value];
      array = array || x.array;
      if (x.array) continue;
      start += bits(o.coefficient) * bits(x.start);
      by += bits(o.coefficient) * bits(x.step);
    }
    if (!array) return target.set(value(start), value(by));
    bool first = true;
    for (const AffineOperand& o : program_.of(step)) {
      if (!lanes_[o.value].array) continue;
      const std::int64_t* x = lanes_[o.value].data;
      const std::uint64_t k = bits(o.coefficient);
      std::int64_t* out = target.data;
      if (first)
        for (std::size_t t = 0; t < count_; ++t) out[t] = value(start + by * t + k * bits(x[t]));
      else
        for (std::size_t t = 0; t < count_; ++t) out[t] = value(bits(out[t]) + k * bits(x[t]));
      first = false;
    }
    target.array = true;
  }
  /// A product in which at most one operand varies inside the tile.
  bool scale(const AffineStep& step, Lane& target) {
    std::uint64_t factor = 1;
    const Lane* changing = nullptr;
    for (std::size_t i = 0; i < step.count; ++i) {
      const Lane& x = operand(step, i);
      if (!x.uniform() && changing != nullptr) return false;
      if (x.uniform())
        factor *= bits(x.start);
      else
        changing = &x;
    }
    if (!changing->array) {
      target.set(value(factor * bits(changing->start)), value(factor * bits(changing->step)));
      return true;
    }
    for (std::size_t t = 0; t < count_; ++t) target.data[t] = value(factor * bits(changing->data[t]));
    target.array = true;
    return true;
  }
  void run_select(const AffineStep& step, Lane& target) {
    const std::int64_t* x[3];
    for (std::size_t i = 0; i < 3; ++i) x[i] = read(operand(step, i), scratch(i), count_);
    for (std::size_t t = 0; t < count_; ++t) target.data[t] = x[0][t] != 0 ? x[1][t] : x[2][t];
    target.array = true;
  }

  const AffineProgram& program_;
  std::vector<Lane> lanes_;
  std::vector<std::int64_t> store_;
  std::int64_t* scratch_;  // three arrays beyond the registers
  std::size_t capacity_;
  std::size_t count_ = 0;
};

// --- the box ---

/// Inside a tile, axes before `split` have one value, `split` has `chunk` values, and later axes have all of theirs.
struct Tiling {
  std::size_t split = 0;
  std::size_t whole = 1;  // points of the axes after `split`
  std::size_t chunk = 1;
};

class BoxFill {
 public:
  BoxFill(const AffineCode& code, std::span<std::int64_t> out) : code_(code), out_(out) {
    for (const DomainAxis& axis : code.domain.axes())
      extents_.push_back(static_cast<std::size_t>(axis.end - axis.begin));
  }

  void by_tiles() {
    const Tiling tiling = plan();
    TileRun run(code_.program, tiling.whole * tiling.chunk);
    place_ = std::vector<std::size_t>(extents_.size(), 0);
    prepare(run, tiling);
    std::size_t at = 0;
    while (at < out_.size()) {
      const std::size_t chunk = std::min(tiling.chunk, extents_[tiling.split] - place_[tiling.split]);
      start_tile(run, tiling);
      run.run(chunk * tiling.whole, out_.data() + at);
      at += chunk * tiling.whole;
      advance(tiling.split, chunk);
    }
  }

  void by_points() {
    place_ = std::vector<std::size_t>(extents_.size(), 0);
    for (std::int64_t& out : out_) {
      out = run_program_with(code_.program, [&](std::int64_t* registers) {
        for (const AffineInput& in : code_.inputs) *registers++ = coordinate(in.axis);
      });
      if (!extents_.empty()) advance(extents_.size() - 1, 1);
    }
  }

 private:
  std::int64_t coordinate(std::size_t axis) const {
    return code_.domain.axes()[axis].begin + static_cast<std::int64_t>(place_[axis]);
  }
  Tiling plan() const {
    const std::size_t memory = (std::size_t{1} << 22) / code_.program.registers;  // in values
    const std::size_t capacity = std::clamp(memory, kWhole, kTile);
    Tiling out;
    out.split = extents_.size() - 1;
    while (out.split > 0 && out.whole * extents_[out.split] <= kWhole) out.whole *= extents_[out.split--];
    out.chunk = std::clamp<std::size_t>(extents_[out.split], 1, std::max<std::size_t>(1, capacity / out.whole));
    return out;
  }
  /// Sets the inputs that are the same array in every tile, and the bounds of all inputs.
  void prepare(TileRun& run, const Tiling& tiling) {
    for (std::size_t i = 0; i < code_.inputs.size(); ++i) {
      const std::size_t axis = code_.inputs[i].axis;
      Lane& lane = run.lane(i);
      lane.lo = code_.domain.axes()[axis].begin;
      lane.hi = code_.domain.axes()[axis].end - 1;
      if (axis <= tiling.split) continue;
      std::size_t faster = 1;
      for (std::size_t k = axis + 1; k < extents_.size(); ++k) faster *= extents_[k];
      lane.array = true;
      for (std::size_t t = 0; t < tiling.whole * tiling.chunk; ++t)
        lane.data[t] = lane.lo + static_cast<std::int64_t>(t / faster % extents_[axis]);
    }
  }
  void start_tile(TileRun& run, const Tiling& tiling) {
    for (std::size_t i = 0; i < code_.inputs.size(); ++i) {
      const std::size_t axis = code_.inputs[i].axis;
      Lane& lane = run.lane(i);
      if (axis < tiling.split) lane.set(coordinate(axis), 0);
      if (axis != tiling.split) continue;
      if (tiling.whole == 1) {
        lane.set(coordinate(axis), 1);
        continue;
      }
      lane.array = true;
      const std::size_t chunk = std::min(tiling.chunk, extents_[axis] - place_[axis]);
      for (std::size_t c = 0; c < chunk; ++c)
        std::fill_n(lane.data + c * tiling.whole, tiling.whole, coordinate(axis) + static_cast<std::int64_t>(c));
    }
  }
  /// Moves `axis` by `by` and carries into slower axes.
  void advance(std::size_t axis, std::size_t by) {
    place_[axis] += by;
    for (; axis > 0 && place_[axis] == extents_[axis]; --axis) {
      place_[axis] = 0;
      ++place_[axis - 1];
    }
  }

  const AffineCode& code_;
  std::span<std::int64_t> out_;
  std::vector<std::size_t> extents_;
  std::vector<std::size_t> place_;  // the first point of the tile
};

}  // namespace

void Affine::fill(std::span<std::int64_t> out) const {
  const AffineCode& code = *code_;
  for (const AffineInput& in : code.inputs)
    STRATA_CHECK(in.ranged, undefined, "[fill] '", in.slot->name, "' has no domain to run over");
  std::int64_t size = 0;
  const bool fits = try_size(code.domain, size);
  STRATA_CHECK(fits && bits(size) == out.size(), shape, "[fill] the domain has ",
               fits ? std::to_string(size) : std::string("more than 2^63"), " points, the output ", out.size());
  if (out.empty()) return;
  BoxFill fill(code, out);
  const auto& steps = code.program.steps;
  const bool proven = std::all_of(steps.begin(), steps.end(), [](const AffineStep& s) { return s.bounded; });
  if (proven && code.expr && code.program.registers > 0)
    fill.by_tiles();
  else
    fill.by_points();
}

}  // namespace strata
