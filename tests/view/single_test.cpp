// The engine below Views: pieces of piecewise affine functions, and the decision whether there is but one. Everything
// is held against the definitions of view_oracle.h.
#include "strata/view/single.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <map>

#include "strata/base/check.h"
#include "strata/view/strided.h"
#include "tests/base/errors.h"
#include "tests/view/view_oracle.h"

namespace strata::oracle {
namespace {

Strided box(Index shape, Index stride, std::int64_t offset = 0) {
  const Index begin(shape.size(), 0);
  return {shape, std::move(stride), offset, begin, shape};
}
Strided masked(Strided v, Index begin, Index end) {
  v.begin = std::move(begin);
  v.end = std::move(end);
  return v;
}
Single find_single(const Stack& stack, std::uint64_t budget = kMergeBudget) {
  return single(std::span<const Strided>(stack), budget);
}
Piecewise piecewise_of(const Stack& stack) { return piecewise(std::span<const Strided>(stack)); }

// --- values ---

TEST(ValueAt, OnlyTheValueItselfHasToFit) {
  const std::int64_t half = std::int64_t{1} << 62;
  Piecewise f({0, 0}, {3, 3});
  const std::uint32_t sum = f.load(5, {half, -half}), twice = f.load(0);
  f.add(twice, sum, 2);
  f.add(twice, sum, -1);
  f.result(twice);
  EXPECT_EQ(value_at(f, {2, 2}), 5);
  EXPECT_EQ(value_at(f, {2, 1}), half + 5);
  EXPECT_EQ(value_at(f, {0, 2}), -half - half + 5);
  EXPECT_EQ(error_of([&] { value_at(f, {2, 0}); }).kind(), ErrorKind::overflow);
  f.times(twice, sum, sum);
  f.times(sum, twice, twice);
  EXPECT_EQ(error_of([&] { value_at(f, {2, 0}); }).kind(), ErrorKind::overflow);
}

TEST(ValueAt, DigitsOfWhatLeaves64Bits) {
  const std::int64_t half = std::int64_t{1} << 62;
  Piecewise f({0}, {4});
  const std::uint32_t value = f.load(-7, {half}), digit = f.load(0);
  f.digit(value, half, digit, 1);
  f.result(digit);
  for (std::int64_t i = 0; i < 4; ++i) EXPECT_EQ(value_at(f, {i}), i - 1);
  f.result(value);
  for (std::int64_t i = 0; i < 4; ++i) EXPECT_EQ(value_at(f, {i}), half - 7);
}

// --- what has to hold of every answer ---

// Is the witness of a `no` one, by the definition?
bool is_witness(const Obstacle& o, const Stack& stack) {
  const auto at = [&](const Index& i) { return address_of(stack, i); };
  const auto step = [&](Index i) -> std::optional<std::int64_t> {
    const auto from = at(i);
    ++i[o.axis];
    const auto to = at(i);
    if (!from || !to) return std::nullopt;
    return *to - *from;
  };
  if (o.kind == Obstacle::Kind::slope) return step(o.at) && step(o.other) && *step(o.at) != *step(o.other);
  if (o.kind == Obstacle::Kind::scalar) return stack.back().shape.empty() && !at({});
  bool between = o.kind == Obstacle::Kind::hole && !at(o.at) && at(o.other) && at(o.far);
  for (std::size_t j = 0; j < o.at.size(); ++j)
    between = between && std::min(o.other[j], o.far[j]) <= o.at[j] && o.at[j] <= std::max(o.other[j], o.far[j]);
  return between;
}

bool same(const Single& a, const Strided& b) {
  return a.begin == b.begin && a.end == b.end && a.stride == b.stride && a.offset == b.offset;
}

// The decision against the table; true when it was made.
bool check_single(const Stack& stack, const Single& got) {
  if (got.found == Answer::unknown) return false;
  const std::optional<Strided> want = oracle::single_of(table(stack), stack.back().shape);
  if (got.found == Answer::yes)
    EXPECT_TRUE(want && same(got, *want)) << to_string(stack);
  else
    EXPECT_TRUE(!want && is_witness(got.obstacle, stack)) << to_string(stack);
  return true;
}

// Pieces are disjoint, cover the valid indices, and give their addresses.
void check_pieces(const Stack& stack) {
  const Piecewise f = piecewise_of(stack);
  Pieces pieces(f, std::uint64_t{1} << 40);
  std::map<std::vector<std::int64_t>, std::int64_t> seen;
  Piece p;
  bool disjoint = true;
  while (pieces.next(p)) {
    if (elements(p.extent) == 0) ADD_FAILURE() << "a piece without points";
    Index k(p.lo.size(), 0);
    do {
      std::vector<std::int64_t> i;
      std::int64_t v = p.base;
      for (std::size_t j = 0; j < k.size(); ++j) {
        i.push_back(p.lo[j] + k[j]);
        v += p.slope[j] * k[j];
      }
      disjoint = disjoint && seen.emplace(i, v).second;
    } while (advance(k, p.extent));
  }
  EXPECT_TRUE(pieces.complete() && disjoint) << to_string(stack);
  std::size_t valid = 0;
  each(table(stack), stack.back().shape, [&](const Index& i, const auto& want) {
    const auto at = seen.find(std::vector<std::int64_t>(i.begin(), i.end()));
    const bool right = want ? at != seen.end() && at->second == *want : at == seen.end();
    EXPECT_TRUE(right) << render(i) << " of " << to_string(stack);
    valid += want ? 1 : 0;
  });
  EXPECT_EQ(valid, seen.size());
}

struct Population {
  const char* name;
  StackOptions options;
  int count;
};
const Population kPopulations[] = {
    {"masked stacks", {}, 20000},
    {"long dimensions", {.rank = 2, .size = 30, .elements = 200}, 6000},
    {"many dimensions", {.views = 3, .rank = 7, .size = 3, .elements = 200}, 4000},
    {"no masks", {.rank = 4, .size = 5, .elements = 100, .masks = false}, 8000},
    {"inside one another", {.views = 3, .elements = 100, .wrap = false}, 8000},
};

TEST(Single, IsTheDefinitionOnRandomStacks) {
  for (const Population& population : kPopulations) {
    const std::uint64_t seed = 2027;
    SCOPED_TRACE(detail::message(population.name, ", seed ", seed));
    RandomStack random(seed, population.options);
    int yes = 0, no = 0;
    for (int k = 0; k < population.count && !testing::Test::HasFailure(); ++k) {
      const Stack stack = random();
      const Single got = find_single(stack);
      EXPECT_TRUE(check_single(stack, got)) << "not decided: " << to_string(stack);
      EXPECT_EQ(single(piecewise_of(stack)).found, got.found) << to_string(stack);
      (got.found == Answer::yes ? yes : no) += 1;
    }
    EXPECT_GT(yes, population.count / 10);
    EXPECT_GT(no, population.count / 10);
  }
}

TEST(Single, NeverGuessesWhenTheBudgetEnds) {
  const std::uint64_t seed = 2028;
  SCOPED_TRACE(detail::message("seed ", seed));
  RandomStack random(seed, {.size = 12, .elements = 150});
  int decided = 0, open = 0;
  for (int k = 0; k < 5000 && !testing::Test::HasFailure(); ++k) {
    const Stack stack = random();
    const std::uint64_t budget = static_cast<std::uint64_t>(random.number(1, 400));
    const Single got = find_single(stack, budget);
    EXPECT_LE(got.work, budget);
    const bool ended = got.obstacle.kind == Obstacle::Kind::budget;
    EXPECT_EQ(got.found == Answer::unknown, ended);
    (check_single(stack, got) ? decided : open) += 1;
  }
  EXPECT_GT(decided, 500);
  EXPECT_GT(open, 100);
}

TEST(Pieces, CoverRandomStacks) {
  for (const Population& population : kPopulations) {
    const std::uint64_t seed = 2029;
    SCOPED_TRACE(detail::message(population.name, ", seed ", seed));
    RandomStack random(seed, population.options);
    for (int k = 0; k < population.count / 20 && !testing::Test::HasFailure(); ++k) check_pieces(random());
  }
}

// --- every small stack of two views ---

void shapes_of(std::int64_t elements, std::size_t rank, Index so_far, std::vector<Index>& out) {
  if (!so_far.empty()) out.push_back(so_far);
  if (so_far.size() == rank) return;
  for (std::int64_t n = 2; n <= elements; ++n) {
    Index longer = so_far;
    longer.push_back(n);
    shapes_of(elements / n, rank, longer, out);
  }
}

// Calls f with each tuple of `rank` values.
template <class F>
void tuples(std::span<const std::int64_t> values, std::size_t rank, F&& f) {
  Index choice(rank, 0);
  const Index sizes(rank, static_cast<std::int64_t>(values.size()));
  do {
    Index out;
    for (const std::int64_t c : choice) out.push_back(values[static_cast<std::size_t>(c)]);
    f(out);
  } while (advance(choice, sizes));
}

// Every upper view of a shape that stays inside of n elements.
std::vector<Strided> views_inside(const Index& shape, std::int64_t n) {
  std::vector<std::int64_t> strides;
  for (std::int64_t d = 1 - n; d < n; ++d) strides.push_back(d);
  std::vector<Strided> out;
  tuples(strides, shape.size(), [&](const Index& stride) {
    std::int64_t low = 0, high = 0;
    for (std::size_t j = 0; j < shape.size(); ++j) (stride[j] > 0 ? high : low) += stride[j] * (shape[j] - 1);
    for (std::int64_t o = -low; o + high < n; ++o) out.push_back(box(shape, stride, o));
  });
  return out;
}

TEST(Single, IsTheDefinitionOnEverySmallPairOfViews) {
  const std::array<std::int64_t, 5> strides{-1, 0, 1, 2, 5};
  std::vector<Index> lower_shapes{{1}}, upper_shapes{{1}};
  shapes_of(8, 3, {}, lower_shapes);
  shapes_of(4, 2, {}, upper_shapes);
  int stacks = 0, merged = 0;
  for (const Index& lower_shape : lower_shapes)
    for (const Index& upper_shape : upper_shapes)
      for (const Strided& upper : views_inside(upper_shape, elements(lower_shape)))
        tuples(strides, lower_shape.size(), [&](const Index& stride) {
          const Stack stack{box(lower_shape, stride), upper};
          const Single got = find_single(stack);
          EXPECT_TRUE(check_single(stack, got)) << to_string(stack);
          ++stacks;
          merged += got.found == Answer::yes ? 1 : 0;
        });
  EXPECT_EQ(stacks, 126440);
  EXPECT_GT(merged, 60000);
  EXPECT_LT(merged, 126000);
}

// --- work that does not grow with the sizes ---

TEST(Single, LooksAtPeriodsNotAtSizes) {
  const std::int64_t many = std::int64_t{1} << 40;
  // Two carries that cancel: (12, 5, 1) over digits of 3 and 2, three steps at a time.
  const Stack cancels{box({many, 3, 2}, {12, 5, 1}), box({2 * many}, {3})};
  const Single one = find_single(cancels);
  ASSERT_EQ(one.found, Answer::yes);
  EXPECT_EQ(one.stride, (Index{6}));
  EXPECT_EQ(one.end, (Index{2 * many}));
  EXPECT_LT(one.work, 200U);
  // Holes that come again and again, and one carry that does not cancel.
  const Stack holes{masked(box({many, 4}, {4, 1}), {0, 1}, {many, 4}), box({4 * many}, {1})};
  EXPECT_EQ(find_single(holes).obstacle.kind, Obstacle::Kind::hole);
  const Stack carries{box({many, 3}, {1, many}), box({3 * many}, {1})};
  EXPECT_EQ(find_single(carries).obstacle.kind, Obstacle::Kind::slope);
  for (const Stack& stack : {holes, carries}) {
    const Single no = find_single(stack);
    EXPECT_EQ(no.found, Answer::no);
    EXPECT_TRUE(is_witness(no.obstacle, stack));
    EXPECT_LT(no.work, 200U);
  }
}

// Long tops over small views: the same answers with the whole extent and with periods.
TEST(Single, PeriodsAreExact) {
  const std::uint64_t seed = 2030;
  SCOPED_TRACE(detail::message("seed ", seed));
  RandomStack random(seed, {.views = 2, .rank = 3, .size = 4, .elements = 24});
  int shortened = 0, merged = 0;
  for (int k = 0; k < 6000 && !testing::Test::HasFailure(); ++k) {
    Stack stack = random();
    Strided top = random.box(random.shape_of(random.number(40, 160)));
    const bool around = random.one_in(3);
    if (!around) {  // a long view below, too
      stack.back().shape[0] = stack.back().end[0] = 60;
      Strided& v = stack.back();
      if (v.shape.size() > 1 && random.one_in(2)) v.stride[0] = v.stride[1] * v.shape[1];
    }
    if (around || elements(stack.back().shape) < 2) {
      for (std::size_t j = 0; j < top.shape.size(); ++j) top.stride.push_back(random.number(-7, 7));
      top.offset = random.number(-30, 30);
    } else {
      random.address_inside(top, elements(stack.back().shape));
    }
    stack.push_back(top);
    const Index extent = detail::extent_of(top);
    if (elements(extent) == 0) continue;
    const Single got = find_single(stack);
    EXPECT_TRUE(check_single(stack, got)) << "not decided: " << to_string(stack);
    const bool is_shorter = !piecewise_of(stack).is_nowhere() && detail::shortened(stack, extent) != extent;
    shortened += is_shorter ? 1 : 0;
    merged += is_shorter && got.found == Answer::yes ? 1 : 0;
  }
  EXPECT_GT(shortened, 500);
  EXPECT_GT(merged, 100);
}

// --- the engine's steps ---

struct Program {
  Piecewise f;
  std::vector<Index> slopes;
  std::vector<std::int64_t> bases;

  // The value by the definition of the steps, or nothing.
  std::optional<std::int64_t> at(const Index& i) const {
    std::vector<std::int64_t> r;
    for (std::size_t k = 0; k < bases.size(); ++k) {
      r.push_back(bases[k]);
      for (std::size_t j = 0; j < i.size(); ++j) r.back() += slopes[k][j] * i[j];
    }
    for (const Piecewise::Instruction& s : f.steps()) {
      std::int64_t q = 0;
      switch (s.kind) {
        case Piecewise::Instruction::Kind::set: r[s.to] = s.a; break;
        case Piecewise::Instruction::Kind::add: r[s.to] += s.a * r[s.from]; break;
        case Piecewise::Instruction::Kind::times: r[s.to] += r[s.from] * r[s.other]; break;
        case Piecewise::Instruction::Kind::digit:
          while (q * s.a > r[s.from]) --q;
          while ((q + 1) * s.a <= r[s.from]) ++q;
          r[s.from] -= s.a * q;
          r[s.to] += s.b * q;
          break;
        case Piecewise::Instruction::Kind::within:
          if (r[s.from] < s.a || r[s.from] > s.b) return std::nullopt;
          break;
      }
    }
    return r[f.result()];
  }
};

Program random_program(RandomStack& random) {
  const std::size_t rank = static_cast<std::size_t>(random.number(0, 3));
  Index lo, extent;
  for (std::size_t j = 0; j < rank; ++j) {
    lo.push_back(random.number(-5, 5));
    extent.push_back(random.number(1, 5));
  }
  Program out{Piecewise(lo, extent), {}, {}};
  const auto registers = static_cast<std::uint32_t>(random.number(2, 4));
  for (std::uint32_t r = 0; r < registers; ++r) {
    out.bases.push_back(random.number(-9, 9));
    Index slope;
    for (std::size_t j = 0; j < rank; ++j) slope.push_back(random.number(-3, 3));
    out.slopes.push_back(slope);
    out.f.load(out.bases.back(), slope);
  }
  int products = 0;
  for (std::int64_t left = random.number(0, 6); left > 0; --left) {
    const auto pick = [&] { return static_cast<std::uint32_t>(random.number(0, registers - 1)); };
    const std::uint32_t to = pick(), from = pick(), other = pick();
    switch (random.number(0, 5)) {
      case 0: out.f.set(to, random.number(-4, 4)); break;
      case 1: out.f.add(to, from, random.number(-2, 2)); break;
      case 2:
        if (products++ < 2) out.f.times(to, from, other);
        break;
      case 3: out.f.within(from, random.number(-20, 0), random.number(0, 20)); break;
      default:
        if (to != from) out.f.digit(from, random.number(1, 6), to, random.number(-3, 3));
    }
  }
  out.f.result(static_cast<std::uint32_t>(random.number(0, registers - 1)));
  return out;
}

TEST(Pieces, EveryStepDoesWhatItSays) {
  const std::uint64_t seed = 2031;
  SCOPED_TRACE(detail::message("seed ", seed));
  RandomStack random(seed);
  for (int k = 0; k < 5000 && !testing::Test::HasFailure(); ++k) {
    const Program program = random_program(random);
    std::map<std::vector<std::int64_t>, std::int64_t> seen;
    Pieces pieces(program.f, std::uint64_t{1} << 40);
    Piece p;
    while (pieces.next(p)) {
      Index t(p.lo.size(), 0);
      do {
        std::vector<std::int64_t> i;
        std::int64_t v = p.base;
        for (std::size_t j = 0; j < t.size(); ++j) {
          i.push_back(p.lo[j] + t[j]);
          v += p.slope[j] * t[j];
        }
        EXPECT_TRUE(seen.emplace(i, v).second) << "program " << k;
      } while (advance(t, p.extent));
    }
    EXPECT_TRUE(pieces.complete());
    std::size_t valid = 0;
    Index t(program.f.rank(), 0);
    do {
      Index i = program.f.lo();
      for (std::size_t j = 0; j < i.size(); ++j) i[j] += t[j];
      const std::optional<std::int64_t> want = program.at(i);
      EXPECT_EQ(value_at(program.f, i), want) << "program " << k << " at " << render(i);
      const auto at = seen.find(std::vector<std::int64_t>(i.begin(), i.end()));
      EXPECT_TRUE(want ? at != seen.end() && at->second == *want : at == seen.end())
          << "program " << k << " at " << render(i);
      valid += want ? 1 : 0;
    } while (advance(t, program.f.extent()));
    EXPECT_EQ(valid, seen.size());
  }
}

TEST(Pieces, ComeInIncreasingOrderAlongOneDimension) {
  const Piecewise f = piecewise_of({box({7, 5}, {1, 7}), box({35}, {1})});
  Pieces pieces(f, 10000);
  Piece p;
  std::int64_t next = 0;
  while (pieces.next(p)) {
    EXPECT_EQ(p.lo[0], next);
    next += p.extent[0];
  }
  EXPECT_EQ(next, 35);
  EXPECT_TRUE(pieces.was_cut());
}

TEST(Pieces, StopWhereTheBudgetEnds) {
  const Piecewise f = piecewise_of({box({100, 100}, {1, 100}), box({10000}, {1})});
  for (const std::uint64_t budget : {0U, 1U, 2U, 10U, 100U, 1000U}) {
    Pieces pieces(f, budget);
    Piece p;
    std::int64_t points = 0;
    while (pieces.next(p)) points += volume(p);
    EXPECT_FALSE(pieces.complete()) << budget;
    EXPECT_LT(points, 10000) << budget;
    EXPECT_EQ(pieces.left(), 0U);
  }
}

// --- the ends of 64 bits ---

TEST(Single, AtTheEndsOf64Bits) {
  const std::int64_t big = kPosInf;
  // Strides that are not steps of any two valid indices, and a view as long as memory can be.
  EXPECT_EQ(find_single({box({big}, {1}), box({3}, {big / 2})}).stride, (Index{big / 2}));
  EXPECT_EQ(find_single({box({big}, {-1}, big - 1), box({2}, {big - 1})}).offset, big - 1);
  EXPECT_EQ(find_single({box({2, 2}, {kNegInf, big}), contiguous_box({2, 2})}).stride, (Index{kNegInf, big}));
  EXPECT_EQ(find_single({box({3}, {1}), box({2}, {kNegInf})}).found, Answer::yes);  // wraps: two steps
  // 2^63 mod 3 is 2: one step of -2^63 wraps from 0 to 1.
  EXPECT_EQ(find_single({box({3}, {1}), box({2}, {kNegInf})}).stride, (Index{1}));
  // The product of size and stride leaves 64 bits, no address does.
  const Stack pinned{masked(box({4, 4}, {5, std::int64_t{1} << 62}), {1, 0}, {2, 2}), box({2}, {1}, 4)};
  EXPECT_EQ(find_single(pinned).stride, (Index{std::int64_t{1} << 62}));
  EXPECT_EQ(find_single(pinned).offset, 5);
  // Sizes without any index.
  const Stack none{box({std::int64_t{1} << 62, std::int64_t{1} << 62, 0}, {1, 1, 1}), box({5}, {1})};
  const Single nowhere = find_single(none);
  EXPECT_EQ(nowhere.found, Answer::yes);
  EXPECT_EQ(nowhere.end, (Index{0}));
}

TEST(Single, OverflowIsAnError) {
  const std::int64_t half = std::int64_t{1} << 62;
  EXPECT_EQ(error_of([&] { Piecewise({0, 0}, {half, 4}); }).kind(), ErrorKind::overflow);
  EXPECT_EQ(error_of([&] { Piecewise({half}, {4}).load(0, {4}); }).kind(), ErrorKind::overflow);
  EXPECT_EQ(error_of([&] { Piecewise({half, half, half}, {1, 1, 1}).load(0, {kPosInf, kPosInf, kPosInf}); }).kind(),
            ErrorKind::overflow);
  Piecewise square({0}, {2});
  const std::uint32_t r = square.load(half), out = square.load(0);
  square.times(out, r, r);
  square.result(out);
  EXPECT_EQ(error_of([&] { (void)single(square); }).kind(), ErrorKind::overflow);
  EXPECT_EQ(error_of([&] { (void)value_at(square, {1}); }).kind(), ErrorKind::overflow);
}

// --- the decision is coNP-complete: a subset sum in the strides ---

// F(i) = 1 where w . i == target, else 0.
Stack subset_sum(const std::vector<std::int64_t>& w, std::int64_t target) {
  std::int64_t k = 2;
  for (const std::int64_t v : w) k += v;
  Strided top{{}, {}, (k - target) + 2 * k * (k - target - 1), {}, {}};
  for (const std::int64_t v : w) {
    top.shape.push_back(2);
    top.stride.push_back(v * (1 + 2 * k));
    top.begin.push_back(0);
    top.end.push_back(2);
  }
  return {box({2, k, 2, k}, {-1, 0, 1, 0}), top};
}

TEST(Single, SubsetSumsAreDecidedOrLeftOpen) {
  RandomStack random(7);
  int yes = 0, no = 0;
  for (int k = 0; k < 300; ++k) {
    std::vector<std::int64_t> w;
    std::int64_t sum = 0;
    for (std::int64_t n = random.number(2, 7); n > 0; --n) {
      w.push_back(random.number(1, 12));
      sum += w.back();
    }
    const Stack stack = subset_sum(w, random.number(0, sum));
    const Single got = find_single(stack);
    EXPECT_TRUE(check_single(stack, got)) << to_string(stack);
    (got.found == Answer::yes ? yes : no) += 1;
  }
  EXPECT_GT(yes, 20);
  EXPECT_GT(no, 20);
  // Too large to decide: 34 even numbers and an odd target.
  std::vector<std::int64_t> even;
  for (int n = 0; n < 34; ++n) even.push_back(2 * random.number(1 << 20, 1 << 21));
  const Single open = find_single(subset_sum(even, 17 * (3 << 20) + 1));
  EXPECT_EQ(open.found, Answer::unknown);
  EXPECT_EQ(open.obstacle.kind, Obstacle::Kind::budget);
}

// --- constant expressions ---

constexpr Strided constant_box(const Index& shape, const Index& stride) {
  return {shape, stride, 0, Index(shape.size(), 0), shape};
}
constexpr Single constant_single(const Strided& lower, const Strided& upper) {
  const Strided stack[] = {lower, upper};
  return single(std::span<const Strided>(stack));
}
static_assert(constant_single(constant_box({4, 6}, {1, 4}), contiguous_box({2, 2, 6})).stride == Index{2, 1, 4});
static_assert(constant_single(constant_box({2, 3}, {1, 2}), contiguous_box({3, 2})).obstacle.kind ==
              Obstacle::Kind::slope);
static_assert(constant_single(constant_box({2, 2, 2}, {1, 1, 0}), constant_box({3}, {3})).stride == Index{1});
static_assert(constant_single({{4, 3}, {3, 1}, 0, {0, 1}, {4, 3}}, contiguous_box({12})).obstacle.at == Index{3});
static_assert(constant_single(constant_box({1 << 20, 3, 2}, {12, 5, 1}), constant_box({1 << 20}, {3})).end ==
              Index{1 << 20});

// --- the specification's stacks ---

TEST(Single, OfTheSpecification) {
  // (3, 2), transposed, as (3, 2) again: two views.
  const Single two = find_single({box({2, 3}, {1, 2}), contiguous_box({3, 2})});
  EXPECT_EQ(two.found, Answer::no);
  // (10, 10) transposed, as (5, 2, 5, 2), as (100,), as (10, 10): one view.
  const Single one = find_single({box({5, 2, 5, 2}, {2, 1, 20, 10}), contiguous_box({100}), contiguous_box({10, 10})});
  EXPECT_EQ(one.found, Answer::yes);
  EXPECT_EQ(one.stride, (Index{1, 10}));
}

}  // namespace
}  // namespace strata::oracle
