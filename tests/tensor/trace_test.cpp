// Traces of captured functions, and of what is kept for gradients.
#include <gtest/gtest.h>

#include "strata/base/flags.h"
#include "strata/runtime/posix_io.h"
#include "strata/tensor/functional.h"
#include "strata/tensor/jit.h"
#include "tests/engine/trace_lines.h"

namespace strata::test {
namespace {

TEST(TraceOfTensors, HasCapturesAndReplays) {
  const PrivateFolder folder;
  const std::string path = folder.file("t.jsonl");
  {
    const ScopedFlag on(flags::VIZ, path);
    auto step = jit([](const Tensor& x) { return ((x * 2).sum(1, true) + x).exp(); });
    for (int k = 0; k < 5; ++k) {
      const Tensor x = Tensor::full({3, 4}, 0.0F);
      EXPECT_EQ(step(x).to_vector<float>(), std::vector<float>(12, 1));
    }
  }
  const TraceLines trace(path);
  trace.expect_whole();
  ASSERT_EQ(trace.count("capture"), 1U);
  const TraceLine& capture = *trace.of("capture")[0];
  EXPECT_NE(capture.text("name").find("trace_test.cpp"), std::string::npos);
  ASSERT_EQ(trace.count("replay"), 3U);
  for (const TraceLine* replay : trace.of("replay")) {
    std::int64_t before = 0;
    const std::vector<JsonValue> marks = replay->list("marks");
    EXPECT_EQ(marks.size(), capture.list("steps").size() + 1);
    for (const JsonValue& mark : marks) {
      EXPECT_GE(mark.as_integer("mark"), before);
      before = mark.as_integer("mark");
    }
  }
  for (const JsonValue& bytes : capture.list("places")) EXPECT_GT(bytes.as_integer("bytes"), 0);
}

TEST(TraceOfTensors, SaysWhereTheUserWroteIt) {
  const PrivateFolder folder;
  const std::string path = folder.file("t.jsonl");
  {
    const ScopedFlag on(flags::VIZ, path);
    Tensor::full({3, 4}, 2.0F).realize().log().realize();
  }
  const TraceLines trace(path);
  trace.expect_whole();
  ASSERT_GE(trace.count("graph"), 1U);
  EXPECT_NE(trace.of("graph").back()->find("files")->raw().find("trace_test.cpp"), std::string::npos);
  EXPECT_NE(trace.of("nodes").back()->find("nodes")->raw().find("\"origin\":[\"log\",0,"), std::string::npos);
}

TEST(TraceOfTensors, PartsOfWhatIsPutTogetherAreComputedOnce) {
  const PrivateFolder folder;
  const std::string path = folder.file("t.jsonl");
  {
    const ScopedFlag on(flags::VIZ, path);
    const Tensor x = Tensor::full({3, 4}, 2.0F).realize(), y = Tensor::full({5, 4}, 3.0F).realize();
    LazyOp::concatenated(std::vector{(x * 3).node(), (y * 5).node()});
    realize(LazyOp::concatenated(std::vector{(x * 3).node(), (y * 5).node()}));
  }
  const TraceLines trace(path);
  trace.expect_whole();
  const std::vector<JsonValue> items = trace.of("schedule").back()->list("items");
  ASSERT_EQ(items.size(), 2U);
  std::set<std::int64_t> all;
  std::size_t count = 0;
  for (const JsonValue& item : items)
    for (const JsonValue::Member& m : item.as_object("item"))
      if (m.key == "computes")
        for (const JsonValue& n : m.value.as_array("computes")) all.insert(n.as_integer("node")), ++count;
  EXPECT_GE(count, 2U);
  EXPECT_EQ(all.size(), count);
}

}  // namespace
}  // namespace strata::test
