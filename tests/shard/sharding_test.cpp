// Shardings beside their definition: the values of their layouts, place by place; layouts made by hand; refusals.
#include "strata/shard/sharding.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>

#include "tests/base/errors.h"
#include "tests/sample.h"
#include "tests/shard/random_sharding.h"

namespace strata::shard_oracle {
namespace {

using Places = std::map<std::int64_t, std::vector<std::pair<std::int64_t, std::int64_t>>>;  // element: rank, local

/// All answers of a sharding beside the places of its layout.
void check_answers(const Sharding& s) {
  const auto owned = owned_by_layout(s);
  for (std::int64_t rank = 0; rank < s.mesh().size(); ++rank) {
    const auto& expected = owned[static_cast<std::size_t>(rank)];
    const std::vector<std::int64_t> found = listed(s.pieces(rank), s.shape());
    EXPECT_EQ(std::set<std::int64_t>(found.begin(), found.end()), expected) << render(s.layout());
    EXPECT_EQ(found.size(), expected.size()) << render(s.layout());
    EXPECT_EQ(product(s.local_shape(rank)), static_cast<std::int64_t>(expected.size()));
  }
  for (std::int64_t element = 0; element < product(s.shape()); ++element) {
    const Index at = unravelled(element, s.shape());
    std::vector<std::int64_t> owners;
    for (std::int64_t rank = 0; rank < s.mesh().size(); ++rank)
      if (owned[static_cast<std::size_t>(rank)].contains(element)) owners.push_back(rank);
    ASSERT_FALSE(owners.empty());
    EXPECT_EQ(s.owner(at), owners[0]);
    EXPECT_EQ(s.owners(at), owners);
    for (const std::int64_t rank : owners) {
      EXPECT_EQ(s.element(rank, s.local_index(at)), at);
      EXPECT_EQ(s.first_owner(rank), owners[0]);
      EXPECT_EQ(s.replicas(rank), owners);
    }
  }
}

TEST(Sharding, AnswersAreThoseOfTheLayout) {
  Random random(4);
  for (int n = 0; n < test::sample(600); ++n) {
    const MeshShape mesh = random_mesh(random);
    const Index shape = random_shape(random, 9);
    const std::vector<Split> splits = random_splits(random, mesh, shape.size());
    const Sharding s = Sharding::create(mesh, shape, splits);
    SCOPED_TRACE(render(mesh) + " " + render(shape) + " " + render(splits));
    check_answers(s);
    EXPECT_EQ(parse_splits(render(splits)), splits);
    // The definition of splits: block k of an axis is owned by part k % parts.
    for (const Split& split : splits) {
      const std::int64_t size = shape[static_cast<std::size_t>(split.axis)];
      std::int64_t parts = 1;
      for (const std::string& name : split.over) parts *= mesh.sizes()[mesh.axis(name)];
      const std::int64_t block = split.cyclic.value_or((size + parts - 1) / parts);
      for (std::int64_t element = 0; element < product(shape); ++element) {
        const Index at = unravelled(element, shape);
        const Index ranks = mesh.coordinates(s.owner(at));
        std::int64_t part = 0;
        for (const std::string& name : split.over) part = part * mesh.sizes()[mesh.axis(name)] + ranks[mesh.axis(name)];
        EXPECT_EQ(part, at[static_cast<std::size_t>(split.axis)] / block % parts);
      }
    }
  }
}

TEST(Sharding, LayoutsOfSplits) {
  const MeshShape mesh({2, 4}, {"data", "model"});
  const auto text = [&](const Index& shape, std::string_view splits) {
    return render(parse_sharding(mesh, shape, splits).layout());
  };
  EXPECT_EQ(text({512, 512}, "data:0"), "((4,2),(512,256)):((0,131072),(1,512))");
  EXPECT_EQ(text({512, 512}, "data:1, model:0"), "((4,2),(256,128)):((65536,256),(1,512))");
  EXPECT_EQ(text({64}, "data+model:0"), "((4,2),8):((8,32),1)");
  EXPECT_EQ(text({64}, "model+data:0/cyclic(2)"), "((4,2),(2,4)):((4,2),(1,16))");
  EXPECT_EQ(text({10}, "model:0"), "((4,2),3):((3,0),1)");
  EXPECT_EQ(text({}, "replicated"), "((4,2),1):((0,0),0)");
  const Sharding uneven = parse_sharding(mesh, {9}, "model:0");
  EXPECT_EQ(uneven.local_shape(2), Index{3});
  EXPECT_EQ(uneven.local_shape(3), Index{0});
  EXPECT_EQ(uneven.padded_shape(), Index{12});
  EXPECT_EQ(render(uneven.pieces(1)[0]), "[3:6]");
  EXPECT_EQ(uneven.element(2, 2), Index{8});
  EXPECT_EQ(uneven.element(3, 0), std::nullopt);
}

/// All places by element, replicas (ranks that differ in digits of stride 0) as one.
Places places_of(const Layout& l) {
  Places out;
  const Layout rank = l.mode(0);
  for (std::int64_t r = 0; r < rank.size().value(); ++r) {
    std::int64_t weight = 1, group = r;
    for (const Layout::Leaf& leaf : rank.leaves()) {
      const std::int64_t size = leaf.size.value();
      if (leaf.stride.value() == 0) group -= r / weight % size * weight;
      weight *= size;
    }
    for (std::int64_t i = 0; i < l.mode(1).size().value() && group == r; ++i)
      out[l(coordinate(r, i)).value()].emplace_back(r, i);
  }
  return out;
}

/// That the refusal names an element with no or two places, or a place without an element, as enumeration finds them.
void check_refusal(const std::string& refusal, const Places& places, std::int64_t elements, const Layout& l) {
  const auto number_after = [&](std::string_view word, std::size_t from = 0) {
    const std::size_t at = refusal.find(word, from);
    EXPECT_NE(at, std::string::npos) << refusal;
    return std::stoll(refusal.substr(at + word.size()));
  };
  if (has(refusal, "no owner")) {
    const std::int64_t element = number_after("element ");
    EXPECT_TRUE(element >= 0 && element < elements && !places.contains(element)) << refusal;
    return;
  }
  const auto value_at = [&](std::size_t from) {
    return l(coordinate(number_after("rank ", from), number_after("local index ", from))).value();
  };
  if (has(refusal, "two owners")) {
    const std::int64_t element = number_after("element ");
    const std::size_t second = refusal.find(", and ");
    EXPECT_EQ(value_at(0), element) << refusal;
    EXPECT_EQ(value_at(second), element) << refusal;
    EXPECT_NE(refusal.substr(refusal.find("rank"), second - refusal.find("rank")), refusal.substr(second + 6))
        << refusal;
    return;
  }
  const std::int64_t value = number_after(" has ");
  EXPECT_EQ(value_at(0), value) << refusal;
  EXPECT_TRUE(value < 0 || value >= elements) << refusal;
}

TEST(Sharding, LayoutsByHandBesideEnumeration) {
  Random random(5);
  int right = 0, wrong = 0;
  for (int n = 0; n < test::sample(20000); ++n) {
    // A number system in random order, with replicas; and perhaps one stride changed.
    Layout::Leaves modes[2];
    std::int64_t elements = 1;
    for (std::int64_t leaves = random.pick(1, 5); leaves-- > 0;) {
      const std::int64_t size = random.pick(1, 4);
      Layout::Leaves& mode = modes[random.pick(0, 1)];
      mode.insert_at(static_cast<std::size_t>(random.pick(0, static_cast<std::int64_t>(mode.size()))),
                     {size, elements});
      elements *= size;
    }
    if (random.pick(0, 2) == 0) modes[0].push_back({random.pick(1, 3), 0});
    if (random.pick(0, 1) == 0) {
      Layout::Leaves& mode = modes[random.pick(0, 1)];
      if (!mode.empty())
        mode[static_cast<std::size_t>(random.pick(0, static_cast<std::int64_t>(mode.size()) - 1))].stride =
            random.pick(-2, 12);
    }
    if (random.pick(0, 9) == 0) elements = std::max<std::int64_t>(1, elements + random.pick(-1, 1));
    const Layout l = make_layout(Layout::flat(modes[0]), Layout::flat(modes[1]));
    const Places places = places_of(l);
    bool is_right = static_cast<std::int64_t>(places.size()) == elements && places.begin()->first == 0 &&
                    places.rbegin()->first == elements - 1;
    for (const auto& [element, all] : places) is_right = is_right && all.size() == 1;
    const std::string refusal = complaint([&] { check_owners(l, l.mode(0).size().value(), elements); });
    EXPECT_EQ(refusal.empty(), is_right) << render(l) << " " << elements << " " << refusal;
    if (!refusal.empty()) check_refusal(refusal, places, elements, l);
    (is_right ? right : wrong) += 1;
    if (is_right && elements <= 64) {
      const MeshShape mesh({l.mode(0).size().value()}, {"x"});
      check_answers(Sharding::create(mesh, {elements}, l));
    }
  }
  EXPECT_GT(right, test::sample(4000));
  EXPECT_GT(wrong, test::sample(4000));
}

TEST(Sharding, LayoutsByHandOverSeveralAxes) {
  const MeshShape mesh({2, 2}, {"x", "y"});
  // A leaf that goes on over rows is two digits; three levels of an axis are listed.
  check_answers(Sharding::create(mesh, {4, 4}, parse_layout("((2,2),4):((1,2),4)")));
  check_answers(Sharding::create(mesh, {4, 4}, parse_layout("(4,4):(4,1)")));
  check_answers(Sharding::create(mesh, {4, 4}, parse_layout("((2,2),8):((0,8),1)")));
  check_answers(Sharding::create(mesh, {64}, parse_layout("((2,2),(2,2,4)):((2,8),(1,4,16))")));
  check_answers(Sharding::create(mesh, {3, 3}, parse_layout("((2,2),(2,2)):((2,8),(1,4))"), Index{4, 4}));
  // Three elements a rank: right, but no box of rows and columns.
  const Layout crossing = parse_layout("((2,2),3):((3,6),1)");
  check_owners(crossing, 4, 12);
  EXPECT_EQ(error_of(ErrorKind::undefined, [&] { Sharding::create(mesh, {3, 4}, crossing); }),
            "[shard] the leaf 2:3 crosses the end of axis 1 of (3, 4): no box of coordinates is its elements");
}

TEST(Sharding, Refusals) {
  const MeshShape mesh({2, 4}, {"data", "model"});
  const auto refused = [&](ErrorKind kind, const Index& shape, std::string_view text) {
    return error_of(kind, [&] { parse_sharding(mesh, shape, text); });
  };
  using enum ErrorKind;
  EXPECT_TRUE(has(refused(domain, {8}, "rows:0"), "no axis 'rows' in the mesh: it has data, model"));
  EXPECT_TRUE(has(refused(domain, {8, 8}, "data:0,data:1"), "the mesh axis data splits axis 0 and axis 1"));
  EXPECT_TRUE(has(refused(domain, {8}, "data+data:0"), "the mesh axis data splits axis 0 and axis 0"));
  EXPECT_TRUE(has(refused(domain, {8}, "data:0,model:0"), "axis 0 is split twice"));
  EXPECT_TRUE(has(refused(domain, {8}, "data:1"), "axis 1 is not one of the tensor's 1 axes"));
  EXPECT_TRUE(has(refused(domain, {8}, "data:-1"), "axis -1 is not"));
  EXPECT_TRUE(has(refused(domain, {8}, "data:0/cyclic(0)"), "blocks of 0 elements"));
  EXPECT_TRUE(has(refused(shape, {-8}, "data:0"), "size -8 of axis 0 is negative"));
  EXPECT_TRUE(has(refused(overflow, {kPosInf}, "data:0/cyclic(9223372036854775807)"), "leave 64 bits"));
  EXPECT_TRUE(has(refused(overflow, {kPosInf, 3}, "data:0"), "64 bits"));
  for (const char* text :
       {"", "data", "data:", ":0", "data:0,", "data:0 x", "0:data", "data:0/cyclic", "data:0/cyclic(",
        "data:0/cyclic(2", "data:0/block(2)", "data+:0", "data:99999999999999999999", "replicated,"})
    EXPECT_TRUE(has(refused(parse, {8}, text), "expected")) << text;
  EXPECT_TRUE(
      has(refused(shape, {8}, "(4,2):(2,1)"), "the rank mode of (4,2):(2,1) has size 4, but the mesh has 8 ranks"));
  EXPECT_TRUE(has(refused(shape, {8}, "(8):(1)"), "has no two modes"));
  EXPECT_EQ(refused(undefined, {8}, "(8,1):(0,0)"), "[shard] element 1 has no owner");
  EXPECT_EQ(refused(undefined, {8}, "(8,8):(1,1)"), "[shard] rank 7 at local index 7 has 14, but there are 8 elements");
  EXPECT_EQ(refused(undefined, {15}, "(8,8):(1,1)"),
            "[shard] element 1 has two owners: rank 1 at local index 0, and rank 0 at local index 1");
  EXPECT_EQ(refused(undefined, {8}, "(8,2):(-1,1)"), "[shard] rank 7 at local index 0 has -7, which is no element");
  const Sharding s = parse_sharding(mesh, {8}, "data:0");
  EXPECT_TRUE(has(error_of(domain, [&] { s.pieces(8); }), "rank 8 is outside of 8 ranks"));
  EXPECT_TRUE(has(error_of(domain, [&] { s.owner({8}); }), "coordinate 8 of axis 0 is outside"));
  EXPECT_TRUE(has(error_of(shape, [&] { s.owner({1, 1}); }), "2 coordinates for 1 axes"));
  EXPECT_TRUE(has(error_of(domain, [&] { s.element(0, 4); }), "local index 4 is outside of 4"));
  EXPECT_TRUE(has(error_of(shape, [&] { Sharding::create(mesh, {9}, s.layout(), Index{8}); }), "is below 9"));
}

TEST(Mesh, RanksAndRefusals) {
  const MeshShape mesh = parse_mesh("data=2,model=4");
  EXPECT_EQ(render(mesh), "data=2,model=4");
  EXPECT_EQ(mesh.coordinates(5), (Index{1, 1}));
  EXPECT_EQ(mesh.rank({1, 1}), 5);
  EXPECT_EQ(parse_mesh("").size(), 1);
  using enum ErrorKind;
  const auto refused = [](ErrorKind kind, std::string_view text) { return error_of(kind, [&] { parse_mesh(text); }); };
  EXPECT_TRUE(has(refused(domain, "data=0"), "the size of data is 0, not at least 1"));
  EXPECT_TRUE(has(refused(domain, "data=-2"), "the size of data is -2"));
  EXPECT_TRUE(has(refused(budget, "data=1099511627776"), "more than 1048576 ranks"));
  EXPECT_TRUE(has(refused(budget, "a=1048576,b=1048576,c=1048576,d=1048576"), "more than 1048576 ranks"));
  EXPECT_TRUE(has(refused(domain, "a=2,a=3"), "two axes are named a"));
  EXPECT_TRUE(has(refused(domain, "a b=2"), "is no name of an axis"));
  for (const char* text : {"a", "a=", "a=2,", "=", "a=2x", "a=99999999999999999999", ","})
    EXPECT_FALSE(complaint([&] { parse_mesh(text); }).empty()) << text;
  EXPECT_TRUE(has(error_of(domain, [&] { mesh.coordinates(8); }), "rank 8 is outside"));
  EXPECT_TRUE(has(error_of(domain, [&] { mesh.rank({2, 0}); }), "coordinate 2 of data"));
  EXPECT_TRUE(has(error_of(shape, [] { MeshShape({2}, {}); }), "1 sizes and 0 names"));
}

}  // namespace
}  // namespace strata::shard_oracle
