// `strata tour`: that what it shows is what the library says, on the device that was asked for.
#include "tools/tour.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <sstream>

#include "strata/base/json.h"
#include "tests/tools/command_line.h"

namespace strata::tools {
namespace {

std::string toured(const std::string& chapter) {
  const Output r = run({"tour", chapter, "--device", "INTERP"});
  EXPECT_EQ(r.status, 0) << r.err;
  return r.out;
}

/// That `out` has these parts, one behind the other.
void expect_in_order(const std::string& out, std::initializer_list<std::string_view> parts) {
  std::size_t at = 0;
  for (const std::string_view part : parts) {
    const std::size_t found = out.find(part, at);
    ASSERT_NE(found, std::string::npos) << part << "\nis not in\n" << out.substr(at);
    at = found + part.size();
  }
}

TEST(Tour, SumGoesThroughEveryLayer) {
  expect_in_order(toured("sum"), {"sum: Tensor",
                                  "> result.shape()\n  (1,)\n",
                                  "> result.device().name()\n  INTERP\n",
                                  "> result.is_realized()\n  False\n",
                                  "sum: LazyOp",
                                  "LoadOps.FROM",
                                  "LoadOps.FROM",
                                  "BinaryOps.ADD        : f32 (1,)               [1, 3] None\n",
                                  "> two.op()\n  LoadOps.FROM\n",
                                  "> buffer_of(two.src(0)).device()\n  CPU\n",
                                  "> buffer_of(two.src(0))[0]\n  2.0\n",
                                  "sum: Schedule",
                                  "the memory of its input, of shape (1,)",
                                  "a kernel of shape (1,): asked (operator +, written at",
                                  "sum: AST",
                                  "BufferOps.LOAD",
                                  "BufferOps.STORE",
                                  "BufferOps.SINK",
                                  "sum: Interpreted",
                                  "  5.0\n",
                                  "sum: Linearizer",
                                  "5 UOps.LOAD           : dtypes.float              [4, 2]",
                                  "sum: Renderers",
                                  "data0[0] = (val0+val1);",
                                  "%alu6 = fadd float %load3, %load5",
                                  "sum: Device",
                                  "> output.toCPU()[0]\n  5.0\n",
                                  "sum: Realize",
                                  "> recording.size()\n  1\n",
                                  "> result.is_realized()\n  True\n> result.item<float>()\n  5.0\n",
                                  "sum: Numbers",
                                  "0 UOps.DEFINE_GLOBAL",
                                  "1 UOps.CONST",
                                  "2 UOps.CONST",
                                  "3 UOps.ALU",
                                  "4 UOps.CONST",
                                  "5 UOps.STORE",
                                  "(float* restrict data0) {\n    data0[0] = (2.0f+3.0f);\n  }\n"});
}

TEST(Tour, Gradient) {
  expect_in_order(toured("gradient"), {"UnaryOps.LOG", "BinaryOps.MUL: dy*b, dy*a\n", "UnaryOps.LOG: dy/a\n",
                                       "> y.backward();\n", "BinaryOps.DIV", "> slope.is_realized()\n  False\n",
                                       "a kernel of shape (3,): asked (backward, written at", "for (int ridx0 = 0;",
                                       "> slope.to_vector<float>()\n  {1.0, 0.8, 0.6}\n"});
}

TEST(Tour, Movement) {
  expect_in_order(
      toured("movement"),
      {"> ShapeTracker a = ShapeTracker::from_shape({10, 10});\n> a.render()\n",
       "  ShapeTracker(views=(View(shape=(10, 10), strides=(10, 1), offset=0, mask=None, ", "contiguous=True),))\n",
       "strides=(1, 10), offset=0", "shape=(5, 2, 5, 2), strides=(2, 1, 20, 10)", "View(shape=(100,), strides=(1,)",
       "  (((idx0%10)*10)+(idx0//10))\n", "  ((idx1*10)+idx0)\n", "> a.views().size()\n  2\n",
       "View(shape=(10, 10), strides=(1, 10)", "> a.contiguous()\n  True\n", "MovementOps.PERMUTE",
       "data1[((int)(alu1/3))+(((int)(alu1%3))*2)]", "{-0.0, -2.0, -4.0, -1.0, -3.0, -5.0}"});
}

TEST(Tour, Symbolic) {
  expect_in_order(
      toured("symbolic"),
      {"> (a * 10).vmax()\n  100\n", "> (a + b).vmax()\n  20\n", "> ((a + b * 10) % 10).render()\n  (a%10)\n",
       "> ((a * 40 + b) / 20).render()\n  (a*2)\n", "  20\n", "ridx0 < n;", "> total.item<float>()\n  48.0\n"});
}

TEST(Tour, AllChaptersAndAsJson) {
  const std::string all = run({"tour", "--device", "INTERP"}).out;
  expect_in_order(all, {"sum: ", "gradient: ", "movement: ", "symbolic: "});
  const Output json = run({"tour", "symbolic", "sum", "--device", "INTERP", "--json"});
  EXPECT_EQ(json.status, 0) << json.err;
  std::istringstream lines(json.out);
  std::vector<std::string> chapters;
  for (std::string line; std::getline(lines, line);) {
    JsonDocument document;
    document.read(line);
    chapters.push_back(document.salvage("chapter").value_or(""));
    EXPECT_TRUE(document.salvage("lines").has_value()) << line;
  }
  ASSERT_FALSE(chapters.empty());
  EXPECT_EQ(chapters.front(), "\"symbolic\"");
  EXPECT_EQ(chapters.back(), "\"sum\"");
}

TEST(Tour, ExamplesOfTheHelpHold) {
  for (const Example& e : find_command("tour")->examples) {
    std::vector<std::string> words = words_of(e.line);
    words.erase(words.begin());
    const Output r = run(words);
    EXPECT_EQ(r.status, 0) << r.err;
    EXPECT_TRUE(has(r.out, e.note));
  }
}

TEST(Tour, Misuse) {
  const Output chapter = run({"tour", "layers"});
  EXPECT_EQ(chapter.status, 2);
  EXPECT_TRUE(has(chapter.err, "there is no chapter 'layers': they are sum, gradient"));
  EXPECT_EQ(run({"tour", "--device", "TPU"}).status, 2);
}

TEST(Tour, LinesAreWhatWasRun) {
  Tour tour;
  tour.chapter("test");
  tour.stage("Arithmetic", "");
  STRATA_TOUR_RUN(const std::vector<float> v = {1, 2};)
  STRATA_TOUR_SHOW(v);
  STRATA_TOUR_SHOW(v.size() * 3);
  const std::vector<TourLine>& lines = tour.stages().at(0).lines;
  ASSERT_EQ(lines.size(), 3U);
  EXPECT_EQ(lines[0].code, "const std::vector<float> v = {1, 2};");
  EXPECT_EQ(lines[1].printed, "{1.0, 2.0}");
  EXPECT_EQ(lines[2].printed, "6");
}

}  // namespace
}  // namespace strata::tools
