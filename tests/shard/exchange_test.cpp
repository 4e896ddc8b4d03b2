// Exchanges beside enumeration: each element that a rank needs and does not own comes to it once, from an owner.
#include "strata/shard/exchange.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "strata/shard/carry.h"
#include "tests/base/errors.h"
#include "tests/sample.h"
#include "tests/shard/random_sharding.h"

namespace strata::shard_oracle {
namespace {

/// All messages of an exchange beside the elements that each rank reads.
void check_exchange(const Exchange& exchange) {
  const Sharding &tensor = exchange.tensor(), &result = exchange.result();
  const auto owned = owned_by_layout(tensor), computed = owned_by_layout(result);
  std::vector<Message> all;
  for (std::int64_t rank = 0; rank < tensor.mesh().size(); ++rank) {
    const auto& own = owned[static_cast<std::size_t>(rank)];
    std::set<std::int64_t> missing;
    for (const ShapeTracker& read : exchange.reads())
      for (const std::int64_t x : read_by(read, result.shape(), computed[static_cast<std::size_t>(rank)]))
        if (!own.contains(x)) missing.insert(x);
    std::set<std::int64_t> got;
    for (const Message& m : exchange.received(rank)) {
      EXPECT_EQ(m.to, rank);
      EXPECT_FALSE(m.is_larger);
      const std::vector<std::int64_t> elements = listed(m.boxes, tensor.shape());
      EXPECT_EQ(static_cast<std::int64_t>(elements.size()), m.elements);
      EXPECT_GT(m.elements, 0);
      for (const std::int64_t x : elements) {
        EXPECT_TRUE(got.insert(x).second) << x << " came twice";
        EXPECT_TRUE(owned[static_cast<std::size_t>(m.from)].contains(x)) << x << " is not of rank " << m.from;
      }
      EXPECT_EQ(m.from, tensor.replica(m.from, rank));
      all.push_back(m);
    }
    EXPECT_EQ(got, missing) << "rank " << rank;
    EXPECT_EQ(exchange.missing(rank), static_cast<std::int64_t>(missing.size()));
  }
  // What is sent is what is received.
  std::size_t sent = 0;
  for (std::int64_t rank = 0; rank < tensor.mesh().size(); ++rank)
    for (const Message& m : exchange.sent(rank)) {
      const auto same = [&](const Message& other) { return other.from == m.from && other.to == m.to; };
      const auto other = std::find_if(all.begin(), all.end(), same);
      ASSERT_TRUE(m.from == rank && other != all.end());
      EXPECT_EQ(m.boxes, other->boxes);
      ++sent;
    }
  EXPECT_EQ(sent, all.size());
}

TEST(Exchange, Redistributions) {
  Random random(6);
  for (int n = 0; n < test::sample(2000); ++n) {
    const MeshShape mesh = random_mesh(random);
    const Index shape = random_shape(random);
    const std::vector<Split> from = random_splits(random, mesh, shape.size());
    const std::vector<Split> to = random_splits(random, mesh, shape.size());
    SCOPED_TRACE(render(mesh) + " " + render(shape) + " " + render(from) + " to " + render(to));
    check_exchange(Exchange::between(Sharding::create(mesh, shape, from), Sharding::create(mesh, shape, to)));
  }
}

ShapeTracker random_moves(Random& random, ShapeTracker st) {
  for (std::int64_t moves = random.pick(1, 5); moves-- > 0;) {
    const std::size_t rank = st.rank();
    const auto axis = static_cast<std::size_t>(random.pick(0, static_cast<std::int64_t>(rank) - 1));
    const std::int64_t size = st.shape()[axis].value();
    Padding padding(rank, {0, 0});
    Mask bounds;
    Axes order;
    Ints shape = st.shape(), steps(rank, 1);
    for (std::size_t j = 0; j < rank; ++j) {
      bounds.push_back({0, shape[j]});
      order.push_back(static_cast<std::int64_t>(j));
    }
    switch (random.pick(0, 6)) {
      case 0:
        std::swap(order[axis], order[0]);
        st = st.permute(order);
        break;
      case 1:
        padding[axis] = {random.pick(0, 2), random.pick(0, 2)};
        st = st.pad(padding);
        break;
      case 2:
        bounds[axis] = {random.pick(0, size / 2), (size + 1) / 2};
        if (is_at_most(bounds[axis].begin, bounds[axis].end) == Answer::yes) st = st.shrink(bounds);
        break;
      case 3: st = st.flip({static_cast<std::int64_t>(axis)}); break;
      case 4:
        steps[axis] = random.pick(0, 1) == 0 ? 2 : -3;
        st = st.stride(steps);
        break;
      case 5:
        shape.insert_at(axis, 1);
        st = st.reshape(shape);
        shape[axis] = random.pick(1, 3);
        if (product(shape).value() < 400) st = st.expand(shape);
        break;
      default: {
        Ints other;
        for (std::int64_t rest = st.size().value(); rest != 1 || other.empty();) {
          std::int64_t part = rest == 0 ? 0 : random.pick(1, std::min<std::int64_t>(rest, 8));
          while (part > 1 && rest % part != 0) --part;
          if (part <= 1 && rest > 1) part = rest;
          other.push_back(part);
          rest = part == 0 ? 1 : rest / part;
        }
        st = st.reshape(other);
      }
    }
  }
  return st;
}

TEST(Exchange, ThroughMovement) {
  Random random(7);
  for (int n = 0; n < test::sample(1000); ++n) {
    const MeshShape mesh = random_mesh(random);
    const Index shape = random_shape(random, 9);
    const ShapeTracker read = random_moves(random, ShapeTracker::from_shape(to_ints(shape)));
    const Index result = *numbers(read.shape());
    const Sharding tensor = Sharding::create(mesh, shape, random_splits(random, mesh, shape.size()));
    std::vector<ShapeTracker> reads = {read};
    if (random.pick(0, 3) == 0) reads.push_back(read.flip({0}));
    SCOPED_TRACE(render(mesh) + " " + render(*tensor.splits()) + " " + read.render());
    check_exchange({tensor, Sharding::create(mesh, result, random_splits(random, mesh, result.size())), reads});
    check_exchange({tensor, Sharding::create(mesh, result, carried(tensor, read)), reads});
  }
}

TEST(Exchange, LayoutsByHand) {
  Random random(8);
  for (int n = 0; n < test::sample(300); ++n) {
    const MeshShape mesh({2, 2}, {"x", "y"});
    const auto by_hand = [&] {  // a number system: two digits are of the rank
      std::vector<std::pair<bool, std::int64_t>> digits = {{true, 2}, {true, 2}, {false, 2}, {false, 3}, {false, 4}};
      for (std::size_t k = digits.size(); k-- > 1;)
        std::swap(digits[k], digits[static_cast<std::size_t>(random.pick(0, static_cast<std::int64_t>(k)))]);
      Layout::Leaves rank, local;
      std::int64_t stride = 1;
      for (const auto& [of_rank, size] : digits) {
        (of_rank ? rank : local).push_back({size, stride});
        stride *= size;
      }
      return make_layout(Layout::flat(rank), Layout::flat(local));
    };
    const Index shape = {random.pick(80, 96)};
    const Sharding from = Sharding::create(mesh, shape, by_hand(), Index{96});
    const Sharding to = Sharding::create(mesh, shape, by_hand(), Index{96});
    SCOPED_TRACE(render(from.layout()) + " to " + render(to.layout()));
    check_exchange(Exchange::between(from, to));
    check_exchange(Exchange::between(from, Sharding::create(mesh, shape, random_splits(random, mesh, 1))));
  }
}

TEST(Exchange, Windows) {
  Random random(9);
  for (int n = 0; n < test::sample(500); ++n) {
    // Views that read elements several times, and stacks of them.
    const std::int64_t size = random.pick(4, 30), window = random.pick(1, 4), step = random.pick(1, 3);
    ShapeTracker read({View::create({(size - window) / step + 1, window}, Ints{step, 1})});
    if (random.pick(0, 1) == 0) read = read.permute({1, 0});
    if (random.pick(0, 1) == 0) read = random_moves(random, read);
    const MeshShape mesh = random_mesh(random);
    const Index result = *numbers(read.shape());
    const Sharding tensor = Sharding::create(mesh, {size}, random_splits(random, mesh, 1));
    SCOPED_TRACE(render(mesh) + " " + render(*tensor.splits()) + " " + read.render());
    check_exchange({tensor, Sharding::create(mesh, result, random_splits(random, mesh, result.size())), {read}});
  }
}

TEST(Exchange, ATransposedResultOfItsOwnShardingHasNoMessages) {
  const MeshShape mesh({2, 4}, {"data", "model"});
  const Sharding a = parse_sharding(mesh, {512, 512}, "data:0");
  const ShapeTracker transposed = ShapeTracker::from_shape({512, 512}).permute({1, 0});
  const std::vector<Split> splits = chosen_splits(mesh, {512, 512}, {{a, {transposed}, 4}});
  EXPECT_EQ(render(splits), "data:1");
  const Exchange none(a, Sharding::create(mesh, {512, 512}, splits), {transposed});
  const Exchange half(a, parse_sharding(mesh, {512, 512}, "data:0"), {transposed});
  for (std::int64_t rank = 0; rank < 8; ++rank) {
    EXPECT_TRUE(none.received(rank).empty());
    ASSERT_EQ(half.received(rank).size(), 1U);
    EXPECT_EQ(half.received(rank)[0].elements, 256 * 256);
    EXPECT_EQ(half.received(rank)[0].from, (rank + 4) % 8);  // the replica with the receiver's `model`
  }
  EXPECT_EQ(render(half.received(0)[0].boxes[0]), "[256:512, 0:256]");
}

TEST(Exchange, TrillionElementsOnAThousandRanks) {
  const std::int64_t n = 1'000'000'000'000;
  const MeshShape mesh({1024}, {"x"});
  const Exchange exchange =
      Exchange::between(parse_sharding(mesh, {n}, "x:0"), parse_sharding(mesh, {n}, "x:0/cyclic(16)"));
  const std::vector<Message> received = exchange.received(5), sent = exchange.sent(5);
  EXPECT_EQ(received.size(), 1023U);
  EXPECT_EQ(sent.size(), 1023U);
  std::int64_t elements = 0, owned = 0;
  std::size_t boxes = 0;
  for (const Message& m : received) {
    elements += m.elements;
    boxes += m.boxes.size();
    EXPECT_FALSE(m.is_larger);
  }
  EXPECT_LE(boxes, 3 * received.size());
  EXPECT_EQ(elements, exchange.missing(5));
  for (const StridedBox& box : exchange.result().pieces(5)) owned += volume(box, "test");
  EXPECT_GT(elements, owned / 1024 * 1022);
  // Coprime blocks: a few boxes a pair, by the remainders of both periods.
  const Exchange coprime =
      Exchange::between(parse_sharding(mesh, {n}, "x:0/cyclic(16)"), parse_sharding(mesh, {n}, "x:0/cyclic(17)"));
  for (const Message& m : coprime.received(7)) EXPECT_LE(m.boxes.size(), 2U);
}

TEST(Exchange, BeyondTheLimitBoxesAreLargerAndSaidToBe) {
  const MeshShape mesh({4}, {"x"});
  const std::int64_t n = 40'000'000'000'000;
  const Exchange exchange = Exchange::between(parse_sharding(mesh, {n}, "x:0/cyclic(1000003)"),
                                              parse_sharding(mesh, {n}, "x:0/cyclic(999983)"));
  const std::vector<Message> received = exchange.received(1);
  ASSERT_EQ(received.size(), 3U);
  std::int64_t elements = 0;
  for (const Message& m : received) {
    EXPECT_TRUE(m.is_larger);
    EXPECT_LE(m.boxes.size(), 3U);
    const std::vector<StridedBox> own = exchange.tensor().pieces(m.from);
    for (const StridedBox& box : m.boxes)  // all of it is the sender's
      EXPECT_TRUE(std::any_of(own.begin(), own.end(), [&](const StridedBox& piece) {
        const auto outside = difference(box[0], piece[0], 10);
        return outside && outside->empty();
      }));
    elements += m.elements;
  }
  EXPECT_EQ(exchange.missing(1), elements);
  EXPECT_EQ(exchange.sent(1).size(), 3U);

  // The same for what is read: a reshape whose rows share no factor.
  const Exchange rows(parse_sharding(mesh, {1009, 1013}, "x:1"), parse_sharding(mesh, {1013, 1009}, "x:1"),
                      {ShapeTracker::from_shape({1009, 1013}).reshape({1013, 1009})});
  const Image need = rows.need(2);
  EXPECT_TRUE(need.is_larger);
  ASSERT_EQ(need.boxes.size(), 1U);
}

TEST(Exchange, Refusals) {
  using enum ErrorKind;
  const MeshShape mesh({2}, {"x"}), other({2}, {"y"});
  const Sharding a = parse_sharding(mesh, {8}, "x:0"), b = parse_sharding(other, {8}, "y:0");
  EXPECT_TRUE(has(error_of(domain, [&] { Exchange::between(a, b); }), "two meshes: x=2 and y=2"));
  EXPECT_TRUE(
      has(error_of(shape, [&] { Exchange::between(a, parse_sharding(mesh, {9}, "x:0")); }), "from shape (8,) to (9,)"));
  EXPECT_TRUE(has(error_of(shape, [&] { Exchange(a, a, {ShapeTracker::from_shape({9})}); }), "a load of shape (9,)"));
  const Variable n("n", 1, 8);
  EXPECT_TRUE(has(error_of(undefined, [&] { Exchange(a, a, {ShapeTracker::from_shape({n})}); }), "symbolic sizes"));
  const Exchange beyond(a, a, {ShapeTracker({View::create({8}, Ints{2})})});
  EXPECT_TRUE(has(error_of(shape, [&] { beyond.received(1); }),
                  "[shard] a View reads beyond the 8 elements below it: [4:8] of strides (2,), offset 0"));
  const Exchange far(a, a, {ShapeTracker({View::create({8}, Ints{kPosInf / 8}, kNegInf / 2)})});
  EXPECT_TRUE(has(error_of(shape, [&] { far.received(0); }), "reads beyond the 8 elements"));
  EXPECT_TRUE(has(error_of(domain, [&] { Exchange::between(a, a).received(2); }), "rank 2 is outside"));
  const MeshShape large({1 << 14}, {"x"});
  const Index square = {1 << 14, 1 << 14};
  const ShapeTracker same = ShapeTracker::from_shape(to_ints(square));
  EXPECT_TRUE(has(error_of(budget,
                           [&] {
                             chosen_splits(large, square,
                                           {{parse_sharding(large, square, "x:0"), {same}, 4},
                                            {parse_sharding(large, square, "x:1"), {same}, 4}});
                           }),
                  "too many to compare"));
}

TEST(Carry, SplitsFollowTheirAxes) {
  const MeshShape mesh({2, 4}, {"x", "y"});
  const auto through = [&](const Index& shape, std::string_view splits, const ShapeTracker& read) {
    return render(carried(parse_sharding(mesh, shape, splits), read));
  };
  const ShapeTracker st = ShapeTracker::from_shape({8, 12});
  EXPECT_EQ(through({8, 12}, "x:0,y:1/cyclic(2)", st.permute({1, 0})), "x:1,y:0/cyclic(2)");
  EXPECT_EQ(through({8, 12}, "x:0,y:1", st.reshape({2, 4, 12})), "x:0,y:2");
  EXPECT_EQ(through({8, 12}, "x:0/cyclic(2)", st.reshape({96})), "x:0/cyclic(24)");
  EXPECT_EQ(through({8, 12}, "x:1/cyclic(3)", st.reshape({8, 4, 3})), "x:1/cyclic(1)");
  EXPECT_EQ(through({8, 12}, "y:1", st.flip({1}).pad({{0, 0}, {1, 1}})), "y:1");
  EXPECT_EQ(through({8, 12}, "x+y:0", st.permute({1, 0}).reshape({96})), "x+y:0/cyclic(1)");
  EXPECT_EQ(through({8, 12}, "y:1", st.reshape({96})), "y:0/cyclic(3)");
  EXPECT_EQ(through({8, 12}, "y:0", st.reshape({96})), "y:0");
  EXPECT_EQ(through({7, 12}, "y:0", ShapeTracker::from_shape({7, 12}).reshape({84})), "y:0/cyclic(24)");
  EXPECT_EQ(through({8, 11}, "y:1", ShapeTracker::from_shape({8, 11}).reshape({88})), "replicated");
  EXPECT_EQ(through({96}, "y:0", ShapeTracker::from_shape({96}).reshape({8, 12})), "y:0");
  EXPECT_EQ(through({8, 12}, "x:0", st.shrink({{0, 1}, {0, 12}})), "replicated");
}

TEST(Carry, WhatIsCarriedExactlyMovesNothing) {
  const MeshShape mesh({2, 4}, {"x", "y"});
  const ShapeTracker st = ShapeTracker::from_shape({8, 12});
  const std::pair<const char*, ShapeTracker> cases[] = {{"x:0,y:1/cyclic(1)", st.permute({1, 0})},
                                                        {"x+y:0", st.permute({1, 0}).reshape({96})},
                                                        {"y:1", st.reshape({96})},
                                                        {"x:0", st.reshape({2, 4, 3, 4})},
                                                        {"x:1/cyclic(3)", st.reshape({8, 4, 3})},
                                                        {"y:0", st.reshape({8, 1, 12}).expand({8, 5, 12})},
                                                        {"x:1,y:0", st.reshape({8, 2, 6}).permute({1, 2, 0})}};
  for (const auto& [splits, read] : cases) {
    const Sharding a = parse_sharding(mesh, {8, 12}, splits);
    const Exchange exchange(a, Sharding::create(mesh, *numbers(read.shape()), carried(a, read)), {read});
    for (std::int64_t rank = 0; rank < 8; ++rank) EXPECT_EQ(exchange.missing(rank), 0) << splits << read.render();
  }
}

TEST(Carry, TheOperandThatMovesFewestBytesDecides) {
  const MeshShape mesh({2, 4}, {"x", "y"});
  const ShapeTracker same = ShapeTracker::from_shape({8, 8});
  const auto operand = [&](std::string_view splits, std::int64_t itemsize) {
    return ShardedOperand{parse_sharding(mesh, {8, 8}, splits), {same}, itemsize};
  };
  const auto chosen = [&](const std::vector<ShardedOperand>& operands) {
    return render(chosen_splits(mesh, {8, 8}, operands));
  };
  EXPECT_EQ(chosen({operand("x:0", 4), operand("y:1", 4)}), "x:0,y:1");
  EXPECT_EQ(chosen({operand("x:0", 4), operand("x:1", 4)}), "x:0");
  EXPECT_EQ(chosen({operand("x:0", 2), operand("x:1", 4)}), "x:1");
  EXPECT_EQ(chosen({operand("x+y:0", 4), operand("x:1", 4)}), "x+y:0");
  EXPECT_EQ(chosen({operand("replicated", 4)}), "replicated");
  EXPECT_EQ(chosen({}), "replicated");
}

}  // namespace
}  // namespace strata::shard_oracle
