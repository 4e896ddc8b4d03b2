// Questions about stacks of Views, against their tables: equality, fingerprints, injectivity, contiguity, addresses.
#include "strata/view/equal.h"

#include <gtest/gtest.h>

#include <map>
#include <set>

#include "strata/base/check.h"
#include "tests/view/view_oracle.h"

namespace strata::oracle {
namespace {

Table table_of(const ShapeTracker& st) { return table(plain(st.views())); }

std::size_t row_number(const Index& i, const Index& shape) {
  std::int64_t n = 0;
  for (std::size_t j = 0; j < shape.size(); ++j) n = n * shape[j] + i[j];
  return static_cast<std::size_t>(n);
}

// Another spelling, or nearly: one view is replaced by two that say the same, or a number is changed.
class Respell {
 public:
  explicit Respell(RandomStack& random) : random_(random) {}

  Stack operator()(Stack stack) {
    const auto k = static_cast<std::size_t>(random_.number(0, static_cast<std::int64_t>(stack.size()) - 1));
    switch (random_.number(0, 4)) {
      case 0: stack.insert(stack.begin() + static_cast<std::ptrdiff_t>(k) + 1, contiguous_box(stack[k].shape)); break;
      case 1: split(stack, k); break;
      case 2: stack[k].offset += random_.number(0, 1); break;
      case 3: change(stack[k]); break;
      default: break;
    }
    return stack;
  }

 private:
  // v, as v behind two flips of its first dimension.
  void split(Stack& stack, std::size_t k) {
    if (stack[k].shape.empty() || elements(stack[k].shape) == 0) return;
    Strided flip = contiguous_box(stack[k].shape);
    flip.offset = flip.stride[0] * (flip.shape[0] - 1);
    flip.stride[0] = -flip.stride[0];
    stack.insert(stack.begin() + static_cast<std::ptrdiff_t>(k) + 1, {flip, flip});
  }
  void change(Strided& v) {
    if (v.shape.empty()) return;
    const auto j = static_cast<std::size_t>(random_.number(0, static_cast<std::int64_t>(v.shape.size()) - 1));
    if (random_.one_in(2)) {
      v.stride[j] += random_.number(-1, 1);
    } else if (v.begin[j] > 0) {
      --v.begin[j];
    } else if (v.end[j] > 1) {
      --v.end[j];
    }
  }
  RandomStack& random_;
};

// --- equality ---

TEST(Equal, IsEqualityOfTables) {
  constexpr std::uint64_t seed = 41;
  SCOPED_TRACE(detail::message("seed ", seed));
  RandomStack random(seed, {.size = 8, .elements = 80});
  Respell respell(random);
  int yes = 0, no = 0, domain = 0;
  for (int k = 0; k < 8000 && !HasFailure(); ++k) {
    const Stack a = random(), b = respell(respell(a));
    const Table left = table(a), right = table(b);
    const Index& shape = a.back().shape;
    const StackProof got = equal(tracker_of(a), tracker_of(b));
    SCOPED_TRACE(to_string(a) + " and " + to_string(b));
    EXPECT_EQ(got.answer, left == right ? Answer::yes : Answer::no);
    EXPECT_EQ(got.witness.has_value(), left != right);
    (left == right ? yes : no) += 1;
    if (!got.witness) continue;
    ASSERT_EQ(got.witness->size(), shape.size());
    for (std::size_t j = 0; j < shape.size(); ++j) ASSERT_TRUE((*got.witness)[j] >= 0 && (*got.witness)[j] < shape[j]);
    const std::size_t at = row_number(*got.witness, shape);
    EXPECT_NE(left[at], right[at]);
    domain += left[at].has_value() != right[at].has_value() ? 1 : 0;
  }
  EXPECT_GT(yes, 1500);
  EXPECT_GT(no, 1500);
  EXPECT_GT(domain, 200);
}

TEST(Equal, SeesDifferencesOfTheDomainAlone) {
  const View all = View::create({1000, 1000});
  const View most = View::create({1000, 1000}, std::nullopt, 0, Mask{{0, 1000}, {0, 999}});
  for (const auto& [a, b] : {std::pair(all, most), std::pair(most, all)}) {
    const StackProof got = equal(ShapeTracker({a}), ShapeTracker({b}));
    EXPECT_EQ(got.answer, Answer::no);
    ASSERT_TRUE(got.witness);
    EXPECT_EQ((*got.witness)[1], 999);
  }
}

TEST(Equal, OfOtherShapesIsNo) {
  const StackProof got = equal(ShapeTracker::from_shape({4, 6}), ShapeTracker::from_shape({6, 4}));
  EXPECT_EQ(got.answer, Answer::no);
  EXPECT_FALSE(got.witness);
  EXPECT_EQ(equal(ShapeTracker::from_shape({4}), ShapeTracker::from_shape({4, 1})).answer, Answer::no);
}

TEST(Equal, WithoutAnIndexEverythingIs) {
  const ShapeTracker a({View::create({3, 0}, Ints{1, 5}, 7)});
  const ShapeTracker b({View::create({2}), View::create({3, 0}, Ints{2, 2}, 1)});
  EXPECT_EQ(equal(a, b).answer, Answer::yes);
  // No index is valid, in two ways.
  const ShapeTracker c({View::create({6}, std::nullopt, 0, Mask{{2, 2}})});
  const ShapeTracker d({View::create({4}, Ints{1}, 0, Mask{{0, 2}}), View::create({6}, Ints{0}, 3)});
  EXPECT_EQ(equal(c, d).answer, Answer::yes);
}

TEST(Equal, OfManyPieces) {
  const ShapeTracker grid = ShapeTracker::from_shape({512, 512}).permute({1, 0}).reshape({512 * 512});
  const ShapeTracker again({grid.views()[0], View::create({512, 512}), View::create({512 * 512})});
  EXPECT_EQ(equal(grid, again).answer, Answer::yes);
  const ShapeTracker other({View::create({512, 512}, Ints{1, 512}, 0, Mask{{0, 511}, {0, 512}}), grid.views()[1]});
  const StackProof got = equal(grid, other);
  EXPECT_EQ(got.answer, Answer::no);
  ASSERT_TRUE(got.witness);
  EXPECT_GE((*got.witness)[0], 511 * 512);
}

TEST(Equal, OfSymbolicSizes) {
  const Variable k("k", 1, 100), n("n", 1, 100);
  const ShapeTracker a = ShapeTracker::from_shape({k, 3, n});
  EXPECT_EQ(equal(a, a.permute({2, 1, 0}).permute({2, 1, 0})).answer, Answer::yes);
  EXPECT_EQ(equal(a, ShapeTracker({a.views()[0], View::create({3 * k, n}), View::create({k, 3, n})})).answer,
            Answer::yes);
  // Equal for k == 1 only: neither yes nor, for every k, no.
  EXPECT_EQ(
      equal(ShapeTracker({View::create({k, 3}, Ints{3, 1})}), ShapeTracker({View::create({k, 3}, Ints{4, 1})})).answer,
      Answer::unknown);
  EXPECT_EQ(equal(a, ShapeTracker::from_shape({k, 4, n})).answer, Answer::no);
  EXPECT_EQ(equal(a, ShapeTracker::from_shape({n, 3, k})).answer, Answer::unknown);
}

// --- fingerprints ---

// The sum itself, term by term, with the same random numbers: those of one index alone are read off stacks that have
// it.
TEST(Fingerprint, IsOneNumberAMeaning) {
  constexpr std::uint64_t seed = 42;
  SCOPED_TRACE(detail::message("seed ", seed));
  RandomStack random(seed, {.size = 8, .elements = 80});
  Respell respell(random);
  int same = 0, different = 0;
  for (int k = 0; k < 6000 && !HasFailure(); ++k) {
    const Stack a = random(), b = respell(respell(a));
    const bool equal_tables = table(a) == table(b);
    SCOPED_TRACE(to_string(a) + " and " + to_string(b));
    const std::uint64_t s = static_cast<std::uint64_t>(random.number(0, 1 << 30));
    EXPECT_EQ(fingerprint(tracker_of(a), s) == fingerprint(tracker_of(b), s), equal_tables);
    (equal_tables ? same : different) += 1;
  }
  EXPECT_GT(same, 1000);
  EXPECT_GT(different, 1000);
}

constexpr std::uint64_t kPrime = (std::uint64_t{1} << 61) - 1;

std::uint64_t sum_of_parts(const ShapeTracker& st, const Stack& stack, std::uint64_t seed) {
  // A term depends on its index and address alone: the fingerprint of a View that is valid there and nowhere else.
  std::uint64_t out = 0;
  const Index& shape = stack.back().shape;
  each(table_of(st), shape, [&](const Index& i, const std::optional<std::int64_t>& v) {
    if (!v) return;
    Mask mask;
    for (const std::int64_t x : i) mask.push_back({x, x + 1});
    const View point = View::create(to_ints(shape), Ints(shape.size(), 0), *v, std::move(mask));
    out = (out + fingerprint(ShapeTracker({point}), seed)) % kPrime;
  });
  return out;
}

TEST(Fingerprint, IsTheSumOverValidIndices) {
  constexpr std::uint64_t seed = 43;
  SCOPED_TRACE(detail::message("seed ", seed));
  RandomStack random(seed, {.size = 10, .elements = 60});
  for (int k = 0; k < 400 && !HasFailure(); ++k) {
    const Stack stack = random();
    const ShapeTracker st = tracker_of(stack);
    EXPECT_EQ(fingerprint(st, 9), sum_of_parts(st, stack, 9)) << to_string(stack);
  }
}

// One term is (u * address + 1) * prod x_j^i_j: linear in the address, geometric along each coordinate.
TEST(Fingerprint, TermsAreWhatTheContractSays) {
  using Wide = unsigned __int128;
  const auto at = [](std::int64_t i, std::int64_t j, std::int64_t address) {
    return fingerprint(ShapeTracker({View::create({9, 9}, Ints{0, 0}, address, Mask{{i, i + 1}, {j, j + 1}})}), 5);
  };
  const auto times = [](std::uint64_t a, std::uint64_t b) { return static_cast<std::uint64_t>(Wide{a} * b % kPrime); };
  EXPECT_EQ(at(0, 0, 0), 1U);
  const std::uint64_t u = at(0, 0, 1) - 1, x = at(1, 0, 0), y = at(0, 1, 0);
  EXPECT_GT(u, 1U);
  EXPECT_NE(x, y);
  std::uint64_t power = 1;
  for (std::int64_t i = 0; i < 9; ++i, power = times(power, x)) EXPECT_EQ(at(i, 0, 0), power);
  EXPECT_EQ(at(2, 3, 7), times((times(u, 7) + 1) % kPrime, times(times(x, x), times(y, times(y, y)))));
  EXPECT_EQ(at(0, 0, -1), (kPrime + 1 - u) % kPrime);
}

TEST(Fingerprint, DependsOnTheSeed) {
  const ShapeTracker st = ShapeTracker::from_shape({3, 4});
  std::set<std::uint64_t> seen;
  for (std::uint64_t seed = 0; seed < 100; ++seed) seen.insert(fingerprint(st, seed));
  EXPECT_EQ(seen.size(), 100U);
  EXPECT_THROW((void)fingerprint(ShapeTracker::from_shape({Variable("k", 1, 5)})), Error);
}

// --- injectivity ---

// One of the indices that share an address with another, by the table.
bool shares_its_address(const Table& values, std::size_t at) {
  int same = 0;
  for (const auto& v : values) same += v && v == values[at] ? 1 : 0;
  return values[at] && same > 1;
}
bool is_injective(const Table& values) {
  std::set<std::int64_t> seen;
  for (const auto& v : values)
    if (v && !seen.insert(*v).second) return false;
  return true;
}

void check_injective(const Stack& stack) {
  const Table values = table(stack);
  const StackProof got = is_injective(tracker_of(stack));
  EXPECT_EQ(got.answer, is_injective(values) ? Answer::yes : Answer::no) << to_string(stack);
  if (got.answer == Answer::no) {
    ASSERT_TRUE(got.witness);
    EXPECT_TRUE(shares_its_address(values, row_number(*got.witness, stack.back().shape)))
        << render(*got.witness) << " of " << to_string(stack);
  }
}

TEST(IsInjective, IsInjectivityOfTables) {
  constexpr std::uint64_t seed = 44;
  SCOPED_TRACE(detail::message("seed ", seed));
  int yes = 0, no = 0;
  for (const StackOptions& options :
       {StackOptions{}, {.rank = 2, .size = 12, .elements = 80}, {.views = 2, .rank = 5, .size = 3}}) {
    RandomStack random(seed, options);
    for (int k = 0; k < 4000 && !HasFailure(); ++k) {
      const Stack stack = random();
      check_injective(stack);
      (is_injective(table(stack)) ? yes : no) += 1;
    }
  }
  EXPECT_GT(yes, 1000);
  EXPECT_GT(no, 1000);
}

// One View with strides that are near to one another: what the sorted strides alone do not decide.
TEST(IsInjective, OfNearStrides) {
  RandomStack random(45);
  int yes = 0, no = 0;
  for (int k = 0; k < 4000 && !HasFailure(); ++k) {
    Stack stack(1);
    Strided& v = stack[0];
    v.shape = random.shape();
    for (const std::int64_t n : v.shape) {
      v.begin.push_back(0);
      v.end.push_back(n);
      v.stride.push_back(random.number(3, 25) * (random.one_in(3) ? -1 : 1));
    }
    check_injective(stack);
    (is_injective(table(stack)) ? yes : no) += 1;
  }
  EXPECT_GT(yes, 1000);
  EXPECT_GT(no, 300);
}

TEST(IsInjective, WithoutATable) {
  const std::int64_t many = std::int64_t{1} << 20;
  const auto of = [](Ints shape, Ints strides) {
    return is_injective(ShapeTracker({View::create(std::move(shape), std::move(strides))}));
  };
  // Five steps of 6 are three steps of 10, where there are three.
  EXPECT_EQ(of({many, many}, {many, many + 1}).answer, Answer::yes);
  EXPECT_EQ(of({many + 2, many + 1}, {many, many + 1}).answer, Answer::no);
  EXPECT_EQ(of({4, 3, 2}, {6, 10, 15}).answer, Answer::yes);
  EXPECT_EQ(of({many, 3, 2}, {6, 10, 15}).answer, Answer::yes);
  EXPECT_EQ(of({many, 4, 2}, {6, 10, 15}).answer, Answer::no);
  EXPECT_EQ(of({many, many, 2}, {6 * many, 3 * many, 1}).answer, Answer::no);
  EXPECT_EQ(of({many, 2}, {1, 0}).answer, Answer::no);
  const ShapeTracker back = ShapeTracker::from_shape({4096, 4096}).permute({1, 0}).reshape({4096 * 4096});
  EXPECT_EQ(is_injective(back).answer, Answer::yes);
  const ShapeTracker windows({View::create({4096}), View::create({4094, 3}, Ints{1, 1})});
  EXPECT_EQ(is_injective(windows).answer, Answer::no);
}

TEST(IsInjective, OfSymbolicSizes) {
  const Variable k("k", 1, 100), n("n", 1, 100);
  const ShapeTracker grid = ShapeTracker::from_shape({k, n, 4});
  EXPECT_EQ(is_injective(grid).answer, Answer::yes);
  EXPECT_EQ(is_injective(grid.permute({2, 0, 1})).answer, Answer::yes);
  EXPECT_EQ(is_injective(grid.flip({0})).answer, Answer::yes);
  EXPECT_EQ(is_injective(ShapeTracker({View::create({k, n}, Ints{1, k}), View::create({n, k})})).answer, Answer::yes);
  EXPECT_EQ(is_injective(ShapeTracker({View::create({k, n}, Ints{3, 1})})).answer, Answer::unknown);
}

// --- contiguity and addresses ---

TEST(IsContiguous, HoweverItIsWritten) {
  constexpr std::uint64_t seed = 46;
  SCOPED_TRACE(detail::message("seed ", seed));
  RandomStack random(seed);
  Respell respell(random);
  int yes = 0, no = 0;
  for (int k = 0; k < 3000 && !HasFailure(); ++k) {
    Stack stack = random.one_in(2) ? random() : Stack{contiguous_box(random.shape())};
    for (std::int64_t n = random.number(0, 3); n > 0; --n) stack = respell(stack);
    const Table values = table(stack);
    bool contiguous = true;
    for (std::size_t n = 0; n < values.size(); ++n)
      contiguous = contiguous && values[n] == static_cast<std::int64_t>(n);
    const StackProof got = is_contiguous(tracker_of(stack));
    EXPECT_EQ(got.answer, contiguous ? Answer::yes : Answer::no) << to_string(stack);
    if (got.witness) {
      const std::size_t at = row_number(*got.witness, stack.back().shape);
      EXPECT_NE(values[at], static_cast<std::int64_t>(at));
    }
    (contiguous ? yes : no) += 1;
  }
  EXPECT_GT(yes, 300);
  EXPECT_GT(no, 300);
  const Variable k("k", 1, 9);
  const ShapeTracker symbolic = ShapeTracker::from_shape({k, 4});
  EXPECT_EQ(is_contiguous(ShapeTracker({symbolic.views()[0], View::create({2, 2 * k}), symbolic.views()[0]})).answer,
            Answer::yes);
}

TEST(Addresses, AreTheTable) {
  constexpr std::uint64_t seed = 47;
  SCOPED_TRACE(detail::message("seed ", seed));
  RandomStack random(seed, {.size = 9, .elements = 90});
  for (int k = 0; k < 4000 && !HasFailure(); ++k) {
    const Stack stack = random();
    std::vector<std::int64_t> want;
    for (const auto& v : table(stack)) want.push_back(v.value_or(-1));
    EXPECT_EQ(addresses(tracker_of(stack)), want) << to_string(stack);
  }
}

TEST(Addresses, OfMoreIndicesThanAskedFor) {
  const ShapeTracker st = ShapeTracker::from_shape({1000, 1000});
  EXPECT_THROW((void)addresses(st, 999'999), Error);
  EXPECT_EQ(addresses(st, 1'000'000).back(), 999'999);
  EXPECT_THROW((void)addresses(ShapeTracker::from_shape({Variable("k", 1, 5)})), Error);
  EXPECT_TRUE(addresses(ShapeTracker::from_shape({0, 5})).empty());
  EXPECT_EQ(addresses(ShapeTracker::from_shape({})), std::vector<std::int64_t>{0});
  // Every piece is one index: the table is written index by index.
  const ShapeTracker mixed({View::create({999, 2}, Ints{1, 999}), View::create({1998}, Ints{-1}, 1997),
                            View::create({2, 999}, Ints{1, 2}), View::create({1998})});
  const std::vector<std::int64_t> got = addresses(mixed);
  const Table want = table_of(mixed);
  for (std::size_t n = 0; n < want.size(); ++n) EXPECT_EQ(got[n], want[n]);
}

}  // namespace
}  // namespace strata::oracle
