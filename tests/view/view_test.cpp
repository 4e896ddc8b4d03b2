// Views one by one: canonical form, each movement's postcondition over all coordinates, the ends of 64 bits, texts.
#include <gtest/gtest.h>

#include <functional>
#include <random>

#include "strata/view/view.h"
#include "tests/view/table.h"

namespace strata::chains {
namespace {

class Dice {
 public:
  explicit Dice(std::uint64_t seed) : engine_(seed) {}
  std::int64_t operator()(std::int64_t least, std::int64_t most) {
    return std::uniform_int_distribution<std::int64_t>(least, most)(engine_);
  }

 private:
  std::mt19937_64 engine_;
};

/// What a View is made from, before it is canonical.
struct Raw {
  Index shape, strides;
  std::int64_t offset = 0;
  std::optional<Mask> mask;

  View view() const { return View::create(to_ints(shape), to_ints(strides), offset, mask); }
  Table table() const {
    Table out{shape, {}};
    for_each_index(shape, [&](const Index& i, std::size_t) {
      std::int64_t address = offset;
      bool valid = true;
      for (std::size_t j = 0; j < i.size(); ++j) {
        address += strides[j] * i[j];
        valid &= !mask || (i[j] >= (*mask)[j].begin.value() && i[j] < (*mask)[j].end.value());
      }
      out.at.push_back(valid ? address : kInvalid);
    });
    return out;
  }
};

Raw random_raw(Dice& dice) {
  Raw out;
  const std::int64_t rank = dice(0, 4);
  for (std::int64_t j = 0; j < rank; ++j) out.shape.push_back(dice(0, 20) == 0 ? 0 : dice(1, 4));
  if (dice(0, 1) == 0) {  // as movement makes them: row-major, in some order
    std::int64_t next = 1;
    out.strides = Index(out.shape.size(), 0);
    for (std::size_t j = out.shape.size(); j-- > 0;) {
      out.strides[j] = dice(0, 3) == 0 ? -next : next;
      next *= out.shape[j];
    }
  } else {
    for (std::int64_t j = 0; j < rank; ++j) out.strides.push_back(dice(-6, 6));
  }
  out.offset = dice(-9, 9);
  if (dice(0, 1) == 0) return out;
  out.mask.emplace();
  for (const std::int64_t n : out.shape) {
    const std::int64_t begin = dice(0, 2) == 0 ? dice(0, n) : 0;
    out.mask->push_back({begin, dice(0, 2) == 0 ? dice(begin, n) : n});
  }
  return out;
}

Move random_move(Dice& dice, const Index& shape) {
  Move m;
  const std::int64_t n = count(shape);
  switch (m.kind = static_cast<Move::Kind>(dice(0, 6)); m.kind) {
    case Move::Kind::reshape: {
      const auto choices = n == 0 ? std::vector<Index>{{0}, {2, 0}}
                                  : factorisations(n, static_cast<std::size_t>(dice(n == 1 ? 0 : 1, 4)));
      m.a = choices[static_cast<std::size_t>(dice(0, static_cast<std::int64_t>(choices.size()) - 1))];
      return m;
    }
    case Move::Kind::permute:
      for (std::size_t j = 0; j < shape.size(); ++j)
        m.a.insert_at(static_cast<std::size_t>(dice(0, static_cast<std::int64_t>(j))), static_cast<std::int64_t>(j));
      return m;
    case Move::Kind::flip:
      for (std::size_t j = 0; j < shape.size(); ++j)
        if (dice(0, 1) == 0) m.a.push_back(static_cast<std::int64_t>(j));
      return m;
    default: break;
  }
  for (const std::int64_t size : shape) {
    std::int64_t a = 0, b = 0;
    if (m.kind == Move::Kind::expand) a = size == 1 ? dice(0, 3) : size;
    if (m.kind == Move::Kind::pad) a = dice(0, 1) * dice(0, 2);
    if (m.kind == Move::Kind::pad) b = dice(0, 1) * dice(0, 2);
    if (m.kind == Move::Kind::shrink) a = dice(0, size);
    if (m.kind == Move::Kind::shrink) b = dice(a, size);
    if (m.kind == Move::Kind::stride) a = dice(1, 3) * (dice(0, 1) == 0 ? 1 : -1);
    m.a.push_back(a);
    if (m.kind == Move::Kind::pad || m.kind == Move::Kind::shrink) m.b.push_back(b);
  }
  return m;
}

Mask pairs(const Move& m) {
  Mask out;
  for (std::size_t j = 0; j < m.a.size(); ++j) out.push_back({m.a[j], m.b[j]});
  return out;
}

std::optional<View> moved(const View& v, const Move& m) {
  switch (m.kind) {
    case Move::Kind::reshape: return v.reshape(to_ints(m.a));
    case Move::Kind::permute: return v.permute(m.a);
    case Move::Kind::expand: return v.expand(to_ints(m.a));
    case Move::Kind::shrink: return v.shrink(pairs(m));
    case Move::Kind::flip: return v.flip(m.a);
    case Move::Kind::stride: return v.stride(to_ints(m.a));
    case Move::Kind::pad: break;
  }
  Padding padding;
  for (std::size_t j = 0; j < m.a.size(); ++j) padding.push_back({m.a[j], m.b[j]});
  return v.pad(padding);
}

// `v` is the one spelling of `t`; nothing iff there is none.
void expect_view(const std::optional<View>& v, const Table& t, const std::string& what) {
  const std::optional<Form> form = form_of(t);
  ASSERT_EQ(v.has_value(), form.has_value()) << what;
  if (!v) return;
  EXPECT_TRUE(is_spelled(*v, t.shape, *form)) << what << " gives " << v->render();
  EXPECT_EQ(v->contiguous(), is_row_major(t, 0)) << what << " gives " << v->render();
  EXPECT_EQ(v->size(), Int(count(t.shape))) << what;
}

TEST(View, IsCanonicalWhateverItIsMadeFrom) {
  Dice dice(1);
  for (int k = 0; k < 20'000 && !testing::Test::HasFailure(); ++k) {
    const Raw raw = random_raw(dice);
    const View v = raw.view();
    expect_view(v, raw.table(), v.render());
    EXPECT_EQ(View::create(v.shape(), v.strides(), v.offset(), v.mask()), v) << v.render();
  }
}

TEST(View, MovementMeansItsPostcondition) {
  Dice dice(2);
  for (int k = 0; k < 40'000 && !testing::Test::HasFailure(); ++k) {
    const View v = random_raw(dice).view();
    const Move m = random_move(dice, *numbers(v.shape()));
    expect_view(moved(v, m), apply(table_of(v), m), v.render() + " " + text_of(m));
  }
}

TEST(View, MinifyKeepsAddressesInAsFewDimensionsAsPossible) {
  Dice dice(3);
  for (int k = 0; k < 4'000 && !testing::Test::HasFailure(); ++k) {
    const View v = random_raw(dice).view(), w = v.minify();
    Table t = table_of(v);
    EXPECT_EQ(table_of(w).at, t.at) << v.render() << " gives " << w.render();
    t.shape = *numbers(w.shape());
    expect_view(w, t, v.render());
    const bool nowhere = std::all_of(t.at.begin(), t.at.end(), [](std::int64_t a) { return a == kInvalid; });
    const std::size_t fewest = t.at.empty() || nowhere ? std::min<std::size_t>(v.rank(), 1) : fewest_dimensions(t);
    EXPECT_EQ(w.rank(), fewest) << v.render() << " gives " << w.render();
  }
}

TEST(View, InvertGivesTheInverseOfWhatIsOneToOne) {
  Dice dice(4);
  int found = 0;
  for (int k = 0; k < 10'000 && !testing::Test::HasFailure(); ++k) {
    View v = random_raw(dice).view();
    if (dice(0, 1) == 0) v = View::create(v.shape());
    for (int moves = 0; moves < 3; ++moves) {
      Move m = random_move(dice, *numbers(v.shape()));
      if (m.kind == Move::Kind::permute || m.kind == Move::Kind::flip) v = *moved(v, m);
    }
    const Table t = table_of(v);
    const Index memory = {static_cast<std::int64_t>(t.at.size())};
    const std::optional<Table> inverse = inverse_of(t, memory);
    const std::optional<View> w = v.inverse(v.size());
    if (!inverse) {
      EXPECT_FALSE(w || v.invert(to_ints(memory))) << v.render();
      continue;
    }
    expect_view(v.invert(to_ints(memory)), *inverse, v.render());
    if (w) {
      EXPECT_EQ(table_of(*w).at, inverse->at) << v.render() << " gives " << w->render();
    }
    if (!is_all_valid(*inverse)) continue;
    EXPECT_TRUE(w.has_value()) << v.render();
    ++found;
  }
  EXPECT_GT(found, 1000);
}

TEST(View, PlusIsOneThroughTheOther) {
  Dice dice(5);
  for (int k = 0; k < 10'000 && !testing::Test::HasFailure(); ++k) {
    const View lower = random_raw(dice).view(), upper = random_raw(dice).view();
    const Table t = compose(table_of(lower), table_of(upper));
    expect_view(lower + upper, t, lower.render() + " + " + upper.render());
  }
}

TEST(View, ExprIsTheDefinition) {
  Dice dice(6);
  for (int k = 0; k < 2'000; ++k) {
    const View v = random_raw(dice).view();
    const Table t = table_of(v);
    const auto [index, valid] = v.expr(index_variables(v.shape(), "i"));
    for_each_index(t.shape, [&](const Index& i, std::size_t number) {
      Values at;
      for (std::size_t j = 0; j < i.size(); ++j)
        at.emplace_back(Variable("i" + std::to_string(j), 0, std::max<std::int64_t>(t.shape[j] - 1, 0)), i[j]);
      EXPECT_EQ(evaluate(valid, at) != 0, t.at[number] != kInvalid) << v.render();
      if (t.at[number] == kInvalid) return;
      EXPECT_EQ(evaluate(index, at), t.at[number]) << v.render();
    });
  }
}

// --- numbers near the ends of 64 bits ---

std::int64_t large(Dice& dice) {
  const std::int64_t power = std::int64_t{1} << dice(0, 62);
  const std::int64_t n = power + dice(-2, 2) * dice(0, 1);
  return dice(0, 30) == 0 ? (dice(0, 1) == 0 ? kNegInf : kPosInf) : dice(0, 1) == 0 ? n : -n;
}
std::int64_t large_size(Dice& dice) { return dice(0, 2) == 0 ? dice(0, 4) : std::max<std::int64_t>(large(dice), 1); }

Raw large_raw(Dice& dice) {
  Raw out;
  for (std::int64_t rank = dice(0, 3); rank > 0; --rank) {
    out.shape.push_back(large_size(dice));
    out.strides.push_back(dice(0, 1) == 0 ? dice(-3, 3) : large(dice));
  }
  out.offset = dice(0, 1) == 0 ? 0 : large(dice);
  if (dice(0, 1) == 0) return out;
  out.mask.emplace();
  for (const std::int64_t n : out.shape) {
    const std::int64_t begin = dice(0, n);
    out.mask->push_back({begin, dice(0, 1) == 0 ? n : n - begin < 2 ? n : begin + dice(0, 2)});
  }
  return out;
}

Move large_move(Dice& dice, const Index& shape) {
  Move m;
  m.kind = static_cast<Move::Kind>(dice(1, 6));
  if (m.kind == Move::Kind::permute || m.kind == Move::Kind::flip) {
    for (std::size_t j = shape.size(); j-- > 0;) m.a.push_back(static_cast<std::int64_t>(j));
    return m;
  }
  for (const std::int64_t n : shape) {
    const std::int64_t a = dice(0, n), b = dice(a, n), sign = dice(0, 1) == 0 ? 1 : -1;
    const bool pairs = m.kind == Move::Kind::pad || m.kind == Move::Kind::shrink;
    if (m.kind == Move::Kind::expand) m.a.push_back(n == 1 ? large_size(dice) : n);
    if (m.kind == Move::Kind::stride) m.a.push_back(sign * std::max<std::int64_t>(large_size(dice), 1));
    if (m.kind == Move::Kind::pad) m.a.push_back(dice(0, 1) * large_size(dice));
    if (m.kind == Move::Kind::shrink) m.a.push_back(a);
    if (pairs) m.b.push_back(m.kind == Move::Kind::pad ? dice(0, 1) * large_size(dice) : b);
  }
  return m;
}

// The address of one index, nothing where it is invalid.
std::optional<__int128> address_at(const View& v, const Index& i) {
  __int128 out = v.offset().value();
  for (std::size_t j = 0; j < i.size(); ++j) {
    if (v.mask() && (i[j] < (*v.mask())[j].begin.value() || i[j] >= (*v.mask())[j].end.value())) return std::nullopt;
    out += static_cast<__int128>(v.strides()[j].value()) * i[j];
  }
  return out;
}

// An index, mostly near the ends of dimensions and of masks.
Index some_index(Dice& dice, const View& v) {
  Index out;
  for (std::size_t j = 0; j < v.rank(); ++j) {
    const std::int64_t n = v.shape()[j].value();
    const std::int64_t ends[] = {0, n - 1, v.mask() ? (*v.mask())[j].begin.value() : 0,
                                 v.mask() ? (*v.mask())[j].end.value() - 1 : 0, dice(0, n - 1)};
    out.push_back(std::clamp<std::int64_t>(ends[dice(0, 4)], 0, n - 1));
  }
  return out;
}

TEST(View, LargeNumbersAreRightOrRefused) {
  Dice dice(7);
  int refused = 0, moved_count = 0;
  for (int k = 0; k < 60'000 && !testing::Test::HasFailure(); ++k) {
    const Raw raw = large_raw(dice);
    try {
      const View v = raw.view();
      const Index shape = *numbers(v.shape());
      const Move m = large_move(dice, shape);
      const View w = *moved(v, m);
      ++moved_count;
      if (w.size() == Int(0)) continue;
      for (int point = 0; point < 8; ++point) {
        const Index i = some_index(dice, w);
        const std::optional<Index> source = source_of(i, shape, m);
        const auto wanted = source ? address_at(v, *source) : std::nullopt;
        EXPECT_TRUE(address_at(w, i) == wanted) << v.render() << " " << text_of(m) << " gives " << w.render();
      }
    } catch (const Error& e) {
      EXPECT_EQ(e.kind(), ErrorKind::overflow) << e.what();
      ++refused;
    }
  }
  EXPECT_GT(moved_count, 5'000);
  EXPECT_GT(refused, 5'000);
}

// --- texts ---

TEST(View, PrintsTuplesAsPythonDoes) {
  EXPECT_EQ(View::create({}).render(), "View(shape=(), strides=(), offset=0, mask=None, contiguous=True)");
  EXPECT_EQ(View::create({4}, Ints{2}, 3, Mask{{1, 3}}).render(),
            "View(shape=(4,), strides=(2,), offset=3, mask=((1, 3),), contiguous=False)");
  EXPECT_EQ(View::create({3, 3}, std::nullopt, 0, Mask{{0, 2}, {0, 2}}).render(),
            "View(shape=(3, 3), strides=(3, 1), offset=0, mask=((0, 2), (0, 2)), contiguous=False)");
  const Variable k("k", 1, 9);
  EXPECT_EQ(View::create({3, k}).render(), "View(shape=(3, k), strides=(k, 1), offset=0, mask=None, contiguous=True)");
}

TEST(View, PrintsConditionsInWords) {
  const View v = View::create({4, 4});
  EXPECT_EQ(v.to_indexed_uops().valid.render(), "True");
  EXPECT_EQ(v.shrink({{0, 0}, {0, 4}}).to_indexed_uops().valid.render(), "False");
  EXPECT_EQ(v.pad({{0, 1}, {0, 0}}).to_indexed_uops().valid.render(), "(ridx0<4)");
  EXPECT_EQ(v.shrink({{1, 2}, {1, 2}}).to_indexed_uops().index.render(), "5");
}

// --- sizes of 0 and 1 ---

TEST(View, SizesOfZeroWork) {
  const View none = View::create({0, 3});
  EXPECT_EQ(none.render(), "View(shape=(0, 3), strides=(0, 0), offset=0, mask=None, contiguous=True)");
  EXPECT_EQ(none.size(), Int(0));
  EXPECT_EQ(none.permute({1, 0}).shape(), (Ints{3, 0}));
  EXPECT_EQ(none.reshape({5, 0, 2})->shape(), (Ints{5, 0, 2}));
  EXPECT_EQ(none.flip({0, 1}), none);
  EXPECT_EQ(none.stride({2, -2}).shape(), (Ints{0, 2}));
  EXPECT_EQ(none.pad({{1, 1}, {0, 0}}).render(),
            "View(shape=(2, 3), strides=(0, 0), offset=0, mask=((0, 0), (0, 0)), contiguous=False)");
  EXPECT_EQ(View::create({1, 3}).expand({0, 3}), none);
  EXPECT_EQ(View::create({4, 3}).shrink({{2, 2}, {0, 3}}), none);
  // Sizes that have a product of 0 may be as large as any.
  const Int huge = std::int64_t{1} << 62;
  EXPECT_EQ(View::create({huge, huge, 0}).size(), Int(0));
  EXPECT_EQ(View::create({0, huge, huge}, Ints{1, huge, 1}, huge).reshape({0}), View::create({0}));
}

TEST(View, AMaskOfOneIndexFoldsItsStride) {
  const View v = View::create({4, 3}, std::nullopt, 0, Mask{{1, 2}, {0, 2}});
  EXPECT_EQ(v.render(), "View(shape=(4, 3), strides=(0, 1), offset=3, mask=((1, 2), (0, 2)), contiguous=False)");
}

TEST(View, ExpandOfAMaskedDimensionIsAllOrNothing) {
  const View all = View::create({1, 4}, std::nullopt, 0, Mask{{0, 1}, {0, 2}});
  EXPECT_EQ(*all.expand({3, 4}).mask(), (Mask{{0, 3}, {0, 2}}));
  const View none = View::create({1, 4}, std::nullopt, 0, Mask{{0, 0}, {0, 2}});
  EXPECT_EQ(*none.expand({3, 4}).mask(), (Mask{{0, 0}, {0, 0}}));
}

TEST(View, AnInvalidScalarIsNoView) {
  const View none = View::create({1}, std::nullopt, 0, Mask{{0, 0}});
  EXPECT_EQ(none.reshape({}), std::nullopt);
  EXPECT_EQ(none.reshape({1, 1})->mask(), (Mask{{0, 0}, {0, 0}}));
}

TEST(View, RankIsNotCapped) {
  Ints shape, steps;
  Axes order;
  for (std::int64_t j = 0; j < 100; ++j) {
    shape.push_back(j % 10 == 0 ? 2 : 1);
    steps.push_back(-1);
    order.push_back(99 - j);
  }
  const View v = View::create(shape).permute(order).stride(steps);
  EXPECT_EQ(v.size(), Int(1024));
  EXPECT_EQ(v.offset(), Int(1023));
  EXPECT_EQ(v.reshape({1024}), std::nullopt);
  EXPECT_EQ(View::create(shape).stride(steps).reshape({32, 32})->strides(), (Ints{-32, -1}));
}

TEST(View, HashTellsFieldsApart) {
  const View v = View::create({2, 3}), w = View::create({2, 3}).pad({{0, 0}, {0, 0}});
  EXPECT_EQ(v.hash(), w.hash());
  EXPECT_NE(v.hash(), v.permute({1, 0}).hash());
  EXPECT_NE(v.hash(), v.flip({0}).hash());
  EXPECT_NE(v.hash(), v.pad({{0, 1}, {0, 0}}).shrink({{0, 2}, {0, 3}}).flip({1}).hash());
}

// Numbers need no expressions.
TEST(View, MovementOfNumbersMakesNoNodes) {
  const std::size_t before = live_nodes();
  const View v = *View::create({40'000, 600, 8})
                      .permute({2, 0, 1})
                      .flip({1})
                      .pad({{0, 0}, {7, 70'000}, {0, 0}})
                      .shrink({{0, 8}, {3, 90'000}, {1, 600}})
                      .stride({1, -3, 2})
                      .reshape({2, 4, 29'999, 300});
  EXPECT_EQ(v.rank(), 4U);
  EXPECT_EQ(live_nodes(), before);
}

}  // namespace
}  // namespace strata::chains
