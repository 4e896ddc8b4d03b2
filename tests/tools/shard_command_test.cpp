// `strata shard`: owners, messages, what decides, JSON, refusals, the examples of its help.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "strata/base/json.h"
#include "tests/tools/command_line.h"

namespace strata::tools {
namespace {

Output shard(const std::string& text, std::vector<std::string> options) {
  options.insert(options.begin(), {"shard", text});
  return run(options);
}

const std::string kTransposed = "a: f32[512,512]; b = a.T";

/// A member of an object of JSON. Fails where there is none.
JsonValue member(const JsonValue& object, std::string_view key) {
  for (const JsonValue::Member& m : object.as_object("object"))
    if (m.key == key) return m.value;
  ADD_FAILURE() << key << " is not in " << object.raw();
  return object;
}

TEST(CliShard, ATransposeFollowsItsOperand) {
  const Output r = shard(kTransposed, {"--mesh", "data=2,model=4", "--shard", "a=data:0"});
  EXPECT_EQ(r.status, 0) << r.err;
  EXPECT_EQ(r.out,
            "mesh        data=2,model=4  (8 ranks)\n"
            "\n"
            "a           f32[512,512]  data:0  (--shard)\n"
            "layout      ((4,2),(512,256)):((0,131072),(1,512))\n"
            "owners      ranks 0 1 2 3: [0:256, 0:512]\n"
            "            ranks 4 5 6 7: [256:512, 0:512]\n"
            "\n"
            "b           f32[512,512]  data:1  (as its operands)\n"
            "layout      ((4,2),(256,512)):((0,256),(1,512))\n"
            "owners      ranks 0 1 2 3: [0:512, 0:256]\n"
            "            ranks 4 5 6 7: [0:512, 256:512]\n"
            "\n"
            "a for b     no messages\n"
            "\n"
            "total       0 bytes  (0 messages)\n");
}

TEST(CliShard, ATransposingExchange) {
  const std::vector<std::string> options = {"--mesh", "data=2,model=4", "--shard", "a=data:0", "--shard", "b=data:0"};
  const Output all = shard(kTransposed, options);
  EXPECT_TRUE(has(all.out, "a for b     4 -> 0: [256:512, 0:256]  (256 KiB)\n")) << all.out;
  EXPECT_TRUE(has(all.out, "bytes       rank 0 receives 256 KiB, sends 256 KiB\n")) << all.out;
  EXPECT_TRUE(has(all.out, "total       2.00 MiB  (8 messages)\n")) << all.out;

  std::vector<std::string> of_one = options;
  of_one.insert(of_one.end(), {"--rank", "5"});
  const Output one = shard(kTransposed, of_one);
  EXPECT_TRUE(has(one.out, "1 -> 5: [0:256, 256:512]  (256 KiB)\n            5 -> 1: ")) << one.out;
  EXPECT_TRUE(has(one.out, "total       512 KiB  (2 messages of rank 5)\n")) << one.out;
}

TEST(CliShard, Json) {
  const Output r =
      shard(kTransposed, {"--mesh", "data=2,model=4", "--shard", "a=data:0", "--shard", "b=data:0", "--json"});
  EXPECT_EQ(r.status, 0) << r.err;
  JsonDocument document;
  document.read(r.out);
  const JsonValue root = document.root();
  EXPECT_EQ(member(root, "bytes").as_integer(""), 8 * 256 * 256 * 4);
  EXPECT_EQ(member(root, "messages").as_integer(""), 8);
  EXPECT_EQ(member(member(root, "mesh"), "sizes").raw(), "[2,4]");
  const auto tensors = member(root, "tensors").as_array("");
  ASSERT_EQ(tensors.size(), 2U);
  EXPECT_EQ(member(tensors[0], "layout").as_string(""), "((4,2),(512,256)):((0,131072),(1,512))");
  EXPECT_EQ(member(tensors[0], "owners").as_array("")[1].raw(),
            R"({"ranks":[4,5,6,7],"local_shape":[256,512],"boxes":[[[256,256,256,1],[0,512,512,1]]]})");
  const auto messages = member(member(root, "exchanges").as_array("")[0], "messages").as_array("");
  EXPECT_EQ(messages[0].raw(), R"({"from":4,"to":0,"elements":65536,"bytes":262144,"larger":false,)"
                               R"("boxes":[[[256,256,256,1],[0,256,256,1]]]})");
  EXPECT_EQ(member(root, "ranks").as_array("")[7].raw(), R"({"rank":7,"received":262144,"sent":262144})");
}

TEST(CliShard, OneExchangeAnInput) {
  const Output sum = shard("a: f32[8,8]; b: f32[8,8]; c = a.T + b*2 + a",
                           {"--mesh", "x=2", "--shard", "a=x:0", "--shard", "b=x:1", "--json"});
  EXPECT_EQ(sum.status, 0) << sum.err;
  JsonDocument document;
  document.read(sum.out);
  const auto exchanges = member(document.root(), "exchanges").as_array("");
  ASSERT_EQ(exchanges.size(), 2U);
  // c is split as b, and a is read by two maps: a rank needs a row block and a column block, and has the rows.
  EXPECT_EQ(member(member(document.root(), "tensors").as_array("")[2], "splits").as_string(""), "x:1");
  std::int64_t elements = 0;
  for (const JsonValue& e : exchanges)
    for (const JsonValue& m : member(e, "messages").as_array("")) elements += member(m, "elements").as_integer("");
  EXPECT_EQ(elements, 2 * 4 * 4);
  const Output halo = shard("x: f32[1000]; y = x.shrink(0:998) + x.shrink(2:1000)",
                            {"--mesh", "x=4", "--shard", "x=x:0", "--shard", "y=x:0"});
  EXPECT_TRUE(has(halo.out, "total       24 bytes  (3 messages)")) << halo.out;
  const Output parts = shard("a: f32[4]; b = a.contiguous() + 1", {"--mesh", "x=2", "--shard", "a=x:0"});
  EXPECT_TRUE(has(parts.out, "b           f32[4]  x:0  (as its operands)")) << parts.err;
  const Output none = shard("b = full((3,), 2.0)", {"--mesh", "x=4"});
  EXPECT_TRUE(has(none.out, "b           f32[3]  replicated  (no operand's axis is split)")) << none.out << none.err;
}

TEST(CliShard, LayoutsByHandAndPaddedShapes) {
  const Output hand = shard("a: f32[4,4]; b = a + 1", {"--mesh", "x=2", "--shard", "a=(2,(4,2)):(4,(1,8))"});
  EXPECT_TRUE(has(hand.out, "f32[4,4]  by hand  (--shard)")) << hand.out;
  EXPECT_TRUE(has(hand.out, "owners      rank 0: [0:1/2*2, 0:4]\n")) << hand.out;
  const Output padded = shard("a: f32[10]; b = -a", {"--mesh", "x=4", "--shard", "a=x:0"});
  EXPECT_TRUE(has(padded.out, "layout      (4,3):(3,1)  (of the padded shape (12,))")) << padded.out;
  EXPECT_TRUE(has(padded.out, "            rank 3: [9:10]\n")) << padded.out;
  const Output empty = shard("a: f32[9]; b = -a", {"--mesh", "x=4", "--shard", "a=x:0"});
  EXPECT_TRUE(has(empty.out, "            rank 3: nothing\n")) << empty.out;
}

TEST(CliShard, Refusals) {
  const auto refused = [](const std::string& text, const std::vector<std::string>& options, int status = 1) {
    const Output r = shard(text, options);
    EXPECT_EQ(r.status, status) << r.out;
    EXPECT_EQ(r.out, "");
    return r.err;
  };
  const std::string add = "a: f32[8]; b = a + 1";
  EXPECT_TRUE(has(refused(add, {}, 2), "--mesh is missing"));
  EXPECT_TRUE(has(refused(add, {"--mesh", "x=2", "--shard", "a"}, 2), "expected NAME=SHARDING"));
  EXPECT_TRUE(has(refused(add, {"--mesh", "x=2", "--shard", "a=x:0", "--shard", "a=x:0"}, 2), "a is given twice"));
  EXPECT_TRUE(has(refused(add, {"--mesh", "x=2", "--rank", "one"}, 2), "--rank"));
  EXPECT_TRUE(has(refused(add, {"--mesh", "x=2", "--rank", "2"}), "rank 2 is outside of 2 ranks"));
  EXPECT_TRUE(has(refused(add, {"--mesh", "x=2", "--shard", "c=x:0"}), "--shard 'c': there are a, b"));
  EXPECT_TRUE(has(refused(add, {"--mesh", "x=0"}), "the size of x is 0"));
  EXPECT_TRUE(has(refused(add, {"--mesh", "x=1099511627776"}), "more than 1048576 ranks"));
  EXPECT_TRUE(has(refused(add, {"--mesh", "x"}), "expected NAME=SIZE, not 'x' (in --mesh)\nx\n^"));
  EXPECT_TRUE(has(refused(add, {"--mesh", "x=2", "--shard", "a=x;0"}), "(in --shard a)\nx;0\n ^"));
  EXPECT_TRUE(has(refused(add, {"--mesh", "x=2", "--shard", "a=y:0"}), "no axis 'y' in the mesh: it has x"));
  EXPECT_TRUE(has(refused(add, {"--mesh", "x=2", "--shard", "a=(2,4):(2,1)"}), "element 2 has two owners"));
  EXPECT_TRUE(has(refused(add, {"--mesh", "x=2048"}), "--rank N shows those of one"));
  EXPECT_TRUE(has(refused("a: f32[8]; b = a +", {"--mesh", "x=2"}), "b = a +\n"));
  EXPECT_TRUE(has(refused("a: f32[8]; b = a.sum(0)", {"--mesh", "x=2"}), "b has ReduceOps.SUM: so far only movement"));
  EXPECT_TRUE(has(refused("n: 1..9; a: f32[n]; b = a*2", {"--mesh", "x=2"}), "the symbolic shape (n,)"));
  EXPECT_TRUE(has(refused("a: f32[8]; a = a*2", {"--mesh", "x=2"}), "a is read and assigned to"));
}

TEST(CliShard, ExamplesOfTheHelp) {
  for (const Example& example : find_command("shard")->examples) {
    std::vector<std::string> words = words_of(example.line);
    words.erase(words.begin());  // strata
    const Output r = run(words);
    EXPECT_EQ(r.status, 0) << example.line << r.err;
    if (example.note.find("  ") != std::string_view::npos) {
      EXPECT_TRUE(has(r.out, std::string(example.note))) << r.out;
    }
  }
}

}  // namespace
}  // namespace strata::tools
