// Movement operations, all of them and at random, on ShapeTrackers and on tables at once.
//
// `Triples` applies every sequence of up to three moves to every small shape; the Judge sees each different stack once.
// `random_chain`, `random_round_trip` and `random_stack` draw longer ones from a seed, which is all a failure needs.
#pragma once

#include <cstdint>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "tests/view/judge.h"

namespace strata::chains {

/// What moves are made of: bounds that keep the number of cases finite.
struct Bounds {
  std::int64_t elements = 24;  ///< of results
  std::size_t rank = 3;        ///< of reshapes, 4 for all
  std::size_t axes = 1;        ///< how many dimensions one pad, shrink or stride changes
};

using Choices = std::vector<std::pair<std::int64_t, std::int64_t>>;

/// One choice a dimension, at most `most` of them not the first; in all ways.
inline std::vector<std::pair<Index, Index>> combinations(const std::vector<Choices>& choices, std::size_t most) {
  struct Part {
    Index a, b;
    std::size_t changed;
  };
  std::vector<Part> parts = {{}};
  for (const Choices& of_axis : choices) {
    std::vector<Part> longer;
    for (const Part& part : parts)
      for (std::size_t c = 0; c < of_axis.size(); ++c) {
        const std::size_t changed = part.changed + (c == 0 ? 0 : 1);
        if (changed > most) break;
        longer.push_back({part.a, part.b, changed});
        longer.back().a.push_back(of_axis[c].first);
        longer.back().b.push_back(of_axis[c].second);
      }
    parts = std::move(longer);
  }
  std::vector<std::pair<Index, Index>> out;
  for (Part& part : parts)
    if (part.changed != 0) out.emplace_back(std::move(part.a), std::move(part.b));
  return out;
}

/// The ways in which `kind` treats a dimension of size n; the first leaves it as it is.
inline Choices choices_of(Move::Kind kind, std::int64_t n) {
  Choices out;
  switch (kind) {
    case Move::Kind::expand:
      out = {{n, 0}};
      if (n == 1) out.insert(out.end(), {{2, 0}, {3, 0}});
      break;
    case Move::Kind::pad:
      for (std::int64_t before = 0; before <= 2; ++before)
        for (std::int64_t after = 0; after <= 2; ++after) out.emplace_back(before, after);
      break;
    case Move::Kind::shrink:
      out = {{0, n}, {n / 2, n / 2}};
      for (std::int64_t begin = 0; begin < n; ++begin)
        for (std::int64_t end = begin + 1; end <= n; ++end)
          if (end - begin != n) out.emplace_back(begin, end);
      break;
    case Move::Kind::flip: out = {{0, 0}, {1, 0}}; break;
    case Move::Kind::stride: out = {{1, 0}, {-3, 0}, {-2, 0}, {-1, 0}, {2, 0}, {3, 0}}; break;
    default: break;
  }
  return out;
}

inline void add_dimensionwise(Move::Kind kind, const Index& shape, const Bounds& bounds, std::vector<Move>& out) {
  std::vector<Choices> choices;
  for (const std::int64_t n : shape) choices.push_back(choices_of(kind, n));
  const bool all = kind == Move::Kind::flip || kind == Move::Kind::expand;
  for (auto& [a, b] : combinations(choices, all ? shape.size() : bounds.axes)) {
    Move m{kind, a, {}};
    if (kind == Move::Kind::pad || kind == Move::Kind::shrink) m.b = b;
    if (kind == Move::Kind::flip) {
      m.a.clear();
      for (std::size_t j = 0; j < a.size(); ++j)
        if (a[j] != 0) m.a.push_back(static_cast<std::int64_t>(j));
    }
    if (count(shape_after(shape, m)) <= bounds.elements) out.push_back(std::move(m));
  }
}

/// Every move on `shape` inside the bounds.
inline std::vector<Move> moves_of(const Index& shape, const Bounds& bounds) {
  std::vector<Move> out;
  const std::int64_t n = count(shape);
  if (n == 0) {
    for (const Index& empty : {Index{0}, Index{2, 0}, Index{0, 3}}) out.push_back({Move::Kind::reshape, empty, {}});
  }
  for (std::size_t rank = 0; n > 0 && rank <= bounds.rank; ++rank)
    for (const Index& to : factorisations(n, rank)) out.push_back({Move::Kind::reshape, to, {}});
  Index order(shape.size(), 0);
  for (std::size_t j = 0; j < order.size(); ++j) order[j] = static_cast<std::int64_t>(j);
  while (std::next_permutation(order.begin(), order.end())) out.push_back({Move::Kind::permute, order, {}});
  for (const Move::Kind kind :
       {Move::Kind::expand, Move::Kind::pad, Move::Kind::shrink, Move::Kind::flip, Move::Kind::stride})
    add_dimensionwise(kind, shape, bounds, out);
  return out;
}

/// All shapes of up to 3 dimensions of size 1 to 4 with at most `elements` elements.
inline std::vector<Index> small_shapes(std::int64_t elements) {
  std::vector<Index> out = {{}};
  for (std::size_t k = 0; k < out.size(); ++k) {
    if (out[k].size() == 3) continue;
    for (std::int64_t n = 1; n <= 4; ++n) {
      Index longer = out[k];
      longer.push_back(n);
      if (count(longer) <= elements) out.push_back(longer);
    }
  }
  return out;
}

/// A stack, what it has to mean, and the moves that led to it.
struct Chain {
  explicit Chain(const Index& shape)
      : start(shape), st(ShapeTracker::from_shape(to_ints(shape))), table(row_major(shape)) {}

  void push(const Move& m) {
    moves.push_back(m);
    table = apply(table, m);
    st = apply(st, m);
  }
  std::string text() const {
    std::string out = render(start);
    for (const Move& m : moves) out += " " + text_of(m);
    return out;
  }

  Index start;
  ShapeTracker st;
  Table table;
  std::vector<Move> moves;
};

/// A move that throws is a failure; the chain is not to be used any more.
inline bool push(Chain& chain, const Move& m, Report& report) {
  ++report.moves;
  try {
    chain.push(m);
    return true;
  } catch (const std::exception& error) {
    report.fail(chain.text() + " " + text_of(m) + ": throws " + error.what());
    return false;
  }
}

// --- all ---

/// Every chain of up to `length` moves from each start. A stack met again, by other moves, is not judged again: it is
/// only checked that it has to mean the same.
class Triples {
 public:
  Triples(Report& report, const Bounds& bounds, Depth depth)
      : report_(report), judge_(report), bounds_(bounds), depth_(depth) {}

  void run(const Index& start, std::size_t length) { visit(Chain(start), length); }

  /// One random chain of `length` moves.
  void run_random(Random& random, std::size_t length);

 private:
  struct Seen {
    std::uint64_t table;
    std::size_t left;  ///< moves that were made from there
  };

  static void mix(std::uint64_t& hash, std::int64_t value) {
    hash = (hash ^ static_cast<std::uint64_t>(value)) * 0x9e3779b97f4a7c15U;
    hash ^= hash >> 29;
  }
  static std::uint64_t hash_of(const Table& t) {
    std::uint64_t hash = t.shape.size();
    for (const std::int64_t n : t.shape) mix(hash, n);
    for (const std::int64_t a : t.at) mix(hash, a);
    return hash;
  }
  static std::uint64_t hash_of(const ShapeTracker& st) {
    std::uint64_t hash = st.views().size();
    for (const View& v : st.views()) {
      mix(hash, static_cast<std::int64_t>(v.rank()));
      mix(hash, v.offset().value());
      for (const Int& n : v.shape()) mix(hash, n.value());
      for (const Int& d : v.strides()) mix(hash, d.value());
      if (!v.mask()) continue;
      mix(hash, -1);
      for (const Extent& e : *v.mask()) mix(hash, e.begin.value()), mix(hash, e.end.value());
    }
    return hash;
  }

  /// False when all that follows from this stack in `left` moves was seen.
  bool see(const ShapeTracker& st, const Table& table, std::size_t left, const Name& name) {
    const std::uint64_t hash = hash_of(table);
    const auto [it, is_new] = seen_.try_emplace(hash_of(st), Seen{hash, left});
    if (is_new || it->second.table != hash) {
      judge_.judge(st, table, depth_, name);
      return true;
    }
    if (it->second.left >= left) return false;
    it->second.left = left;
    return true;
  }

  void visit(const Chain& start, std::size_t length) {
    std::vector<std::pair<Chain, std::size_t>> open;
    if (see(start.st, start.table, length, [&] { return start.text(); }) && length > 0)
      open.emplace_back(start, length);
    while (!open.empty()) {
      const auto [chain, left] = std::move(open.back());
      open.pop_back();
      for (const Move& m : moves_of(chain.table.shape, bounds_)) make(chain, m, left - 1, open);
    }
  }
  // `chain` and `m`, to be followed by `left` more moves.
  void make(const Chain& chain, const Move& m, std::size_t left, std::vector<std::pair<Chain, std::size_t>>& open) {
    const Name name = [&] { return chain.text() + " " + text_of(m); };
    if (m.kind == Move::Kind::reshape) judge_.judge_reshape(chain.st, m.a, name);
    ++report_.moves;
    try {
      ShapeTracker st = apply(chain.st, m);
      Table table = apply(chain.table, m);
      if (!see(st, table, left, name) || left == 0) return;
      Chain next = chain;
      next.moves.push_back(m);
      next.st = std::move(st);
      next.table = std::move(table);
      open.emplace_back(std::move(next), left);
    } catch (const std::exception& error) {
      report_.fail(name() + ": throws " + error.what());
    }
  }

  Report& report_;
  Judge judge_;
  Bounds bounds_;
  Depth depth_;
  std::unordered_map<std::uint64_t, Seen> seen_;
};

// --- at random ---

inline Index random_shape(Random& random, std::size_t most_rank, std::int64_t most_size) {
  Index out;
  const auto rank = random.one_in(20) ? 0 : random.between(1, static_cast<std::int64_t>(most_rank));
  for (std::int64_t j = 0; j < rank; ++j) out.push_back(random.one_in(60) ? 0 : random.between(1, most_size));
  return out;
}

inline Index random_order(Random& random, std::size_t rank) {
  Index out;
  for (std::size_t j = 0; j < rank; ++j)
    out.insert_at(static_cast<std::size_t>(random.between(0, static_cast<std::int64_t>(j))),
                  static_cast<std::int64_t>(j));
  return out;
}

inline Move random_reshape(Random& random, const Index& shape) {
  const std::int64_t n = count(shape);
  if (n == 0) return {Move::Kind::reshape, Index{random.between(0, 2), 0}, {}};
  const auto shapes = factorisations(n, static_cast<std::size_t>(random.between(n == 1 ? 0 : 1, 4)));
  return {Move::Kind::reshape, random.pick(shapes), {}};
}

/// A move of `kind` on `shape` with arguments that change about half of the dimensions.
inline Move random_move(Random& random, Move::Kind kind, const Index& shape) {
  if (kind == Move::Kind::reshape) return random_reshape(random, shape);
  if (kind == Move::Kind::permute) return {kind, random_order(random, shape.size()), {}};
  Move out{kind, {}, {}};
  for (std::size_t j = 0; j < shape.size(); ++j) {
    const Choices choices = choices_of(kind, shape[j]);
    auto [a, b] = random.one_in(2) ? choices[0] : random.pick(choices);
    if (kind == Move::Kind::shrink && a == b && !random.one_in(10)) a = 0, b = shape[j];
    if (kind == Move::Kind::flip) {
      if (a != 0) out.a.push_back(static_cast<std::int64_t>(j));
      continue;
    }
    out.a.push_back(a);
    if (kind == Move::Kind::pad || kind == Move::Kind::shrink) out.b.push_back(b);
  }
  return out;
}

inline constexpr std::int64_t kMostElements = 240;

inline void Triples::run_random(Random& random, std::size_t length) {
  static const std::vector<Index> kShapes = small_shapes(24);
  Chain chain(random.pick(kShapes));
  const Name name = [&] { return chain.text(); };
  see(chain.st, chain.table, 0, name);
  while (chain.moves.size() < length) {
    const auto kind = static_cast<Move::Kind>(random.between(0, 6));
    const Move m = random_move(random, kind, chain.table.shape);
    if (count(shape_after(chain.table.shape, m)) > bounds_.elements) continue;
    if (m.kind == Move::Kind::reshape) judge_.judge_reshape(chain.st, m.a, name);
    if (!push(chain, m, report_)) return;
    see(chain.st, chain.table, 0, name);
  }
}

/// Judges a chain after each of up to 6 random moves. Reshapes go back to an earlier shape now and then.
inline void random_chain(std::uint64_t seed, Report& report) {
  Random random(seed);
  Judge judge(report);
  Chain chain(random_shape(random, 4, 5));
  std::vector<Index> shapes = {chain.start};
  const auto name = [&] { return detail::message("chain ", seed, ": ", chain.text()); };
  for (std::int64_t left = random.between(1, 6); left > 0; --left) {
    Move m = random_move(random, static_cast<Move::Kind>(random.between(0, 6)), chain.table.shape);
    const Index& earlier = random.pick(shapes);
    if (m.kind == Move::Kind::reshape && random.one_in(2) && count(earlier) == count(m.a)) m.a = earlier;
    if (count(shape_after(chain.table.shape, m)) > kMostElements) continue;
    if (m.kind == Move::Kind::reshape) judge.judge_reshape(chain.st, m.a, name);
    if (!push(chain, m, report)) return;
    shapes.push_back(chain.table.shape);
    judge.judge(chain.st, chain.table, Depth::all, name);
  }
}

/// Chains that go through two Views and, most of the time, come back to one: padded, reshaped, moved about and back.
inline void random_round_trip(std::uint64_t seed, Report& report) {
  Random random(seed);
  Judge judge(report);
  Chain chain(random_shape(random, 3, 5));
  const auto name = [&] { return detail::message("round trip ", seed, ": ", chain.text()); };
  const auto step = [&](const Move& m) {
    if (count(shape_after(chain.table.shape, m)) > kMostElements) return false;
    if (!push(chain, m, report)) return false;
    judge.judge(chain.st, chain.table, Depth::all, name);
    return true;
  };
  const auto shape = [&]() -> const Index& { return chain.table.shape; };
  if (!step(random_move(random, random.one_in(2) ? Move::Kind::permute : Move::Kind::stride, shape()))) return;
  if (!step(random_move(random, random.one_in(4) ? Move::Kind::shrink : Move::Kind::pad, shape()))) return;
  const Index before = shape();
  if (!step(random_reshape(random, shape()))) return;
  const Index order = random_order(random, shape().size());
  Index back = order;
  for (std::size_t k = 0; k < order.size(); ++k)
    back[static_cast<std::size_t>(order[k])] = static_cast<std::int64_t>(k);
  const bool turned = random.one_in(2);
  if (turned && !step({Move::Kind::permute, order, {}})) return;
  if (random.one_in(2)) {
    const Move flip = random_move(random, Move::Kind::flip, shape());
    if (!step(flip) || (random.one_in(2) && !step(flip))) return;
  }
  if (turned && !step({Move::Kind::permute, back, {}})) return;
  if (!random.one_in(3) && !step({Move::Kind::reshape, before, {}})) return;
  if (!step(random_move(random, Move::Kind::shrink, shape()))) return;
  step(random_move(random, random.one_in(2) ? Move::Kind::stride : Move::Kind::reshape, shape()));
}

/// A View whose addresses look into one of shape `below`: strides are made of its place values, or anything.
inline View random_view(Random& random, const Index& below, bool is_long) {
  const Index shape = is_long ? random_shape(random, 2, 24) : random_shape(random, 4, 4);
  std::vector<std::int64_t> places = {1};
  for (std::size_t t = below.size(); t-- > 0;) places.push_back(places.back() * below[t]);
  const std::int64_t size = places.back();
  Ints strides;
  std::int64_t least = 0;
  Mask mask;
  const bool masked = random.one_in(2);
  for (const std::int64_t n : shape) {
    const std::int64_t stride =
        random.one_in(4) ? random.between(-7, 7)
                         : random.pick(places) * random.pick(std::vector<std::int64_t>{-2, -1, -1, 0, 1, 1, 1, 2, 3});
    strides.push_back(stride);
    if (n > 1 && stride < 0) least += stride * (n - 1);
    const std::int64_t begin = masked && random.one_in(2) ? random.between(0, n / 2) : 0;
    const std::int64_t least_end = random.one_in(20) ? begin : std::min(n, begin + 1);
    mask.push_back({begin, masked && random.one_in(2) ? random.between(least_end, n) : n});
  }
  const std::int64_t offset = random.one_in(8)   ? random.between(-9, 30)
                              : random.one_in(2) ? -least
                                                 : random.between(0, std::max<std::int64_t>(size - 1, 0));
  std::optional<Mask> given;
  if (masked) given = mask;
  return View::create(to_ints(shape), strides, offset, given);
}

/// 2 to 4 Views with offsets, masks and strides of either sign.
inline void random_stack(std::uint64_t seed, Report& report) {
  Random random(seed);
  Judge judge(report);
  const auto name = [&] { return detail::message("stack ", seed); };
  const std::int64_t most = random.between(2, 4);
  std::vector<View> views = {random_view(random, {64}, random.one_in(8))};
  while (std::cmp_less(views.size(), most)) {
    const bool top = std::cmp_equal(views.size() + 1, most);
    views.push_back(random_view(random, *numbers(views.back().shape()), random.one_in(top ? 3 : 8)));
  }
  Table table = table_of(views.back());
  for (std::size_t k = views.size() - 1; k-- > 0;) table = compose(table_of(views[k]), table);
  const ShapeTracker st(views);
  judge.judge(st, table, Depth::all, name);
  judge.judge_reshape(st, random_reshape(random, table.shape).a, name);
}

}  // namespace strata::chains
