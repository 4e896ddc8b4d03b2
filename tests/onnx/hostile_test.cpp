// Models that nobody should be given: each is refused with a reason, soon, and without much memory. The models are
// written here, field by field.
#include <gtest/gtest.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <functional>

#include "strata/onnx/model.h"
#include "strata/onnx/reader.h"
#include "tests/onnx/model_writer.h"

namespace strata::onnx {
namespace {

using namespace onnx_writer;

/// The message with which the model, or its call on ones, is refused; empty if it is not.
std::string refusal_of(const std::string& bytes) {
  const LoadOptions options{
      .device = &Device::get("INTERP"), .most_elements = std::int64_t{1} << 20, .most_steps = 20'000};
  try {
    const auto m = parse(bytes, options);
    for (const auto& [name, value] : (*m)(m->example_inputs()))
      if (value.is_tensor()) value.tensor().realize();
  } catch (const Error& e) {
    return e.what();
  }
  return "";
}

struct Hostile {
  std::string name, bytes, reason;
};

/// A graph around nodes: x of f32[2, 3] is an input, y an output.
std::string around(const Names& nodes, const Names& initializers = {}) {
  return model({.nodes = nodes,
                .inputs = {port("x", kFloat, {2, 3})},
                .outputs = {port("y", kFloat, {2, 3})},
                .initializers = initializers});
}
/// One node of x and constants to y.
std::string one(const std::string& op, const Names& more, const Names& attributes, const Names& initializers = {}) {
  Names inputs = {"x"};
  inputs.insert(inputs.end(), more.begin(), more.end());
  return around({node(op, inputs, {"y"}, attributes)}, initializers);
}
/// A model whose y is made of a constant shape.
std::string of_shape(const Sizes& shape) {
  return around({node("ConstantOfShape", {"s"}, {"y"})}, {integers("s", shape)});
}
std::string repeated(const std::string& text, std::size_t count) {
  std::string out;
  for (std::size_t k = 0; k < count; ++k) out += text;
  return out;
}

/// A model in which an If has an If in its branch, and so on.
std::string nested_graphs(std::size_t depth) {
  // The branches are written from the inside, and the text grows at both ends: the front is written backwards.
  std::string front, back = graph({.nodes = {node("Identity", {"x"}, {"z"})}, .outputs = {port("z", kFloat, {2, 3})}});
  const auto before = [&](const std::string& text) { front.append(text.rbegin(), text.rend()); };
  const auto as_field = [&](std::uint32_t field) {
    before(varint(field << 3 | 2) + varint(front.size() + back.size()));
  };
  for (std::size_t k = 0; k < depth; ++k) {
    const std::string result = "o" + std::to_string(k);
    as_field(6);  // of graph_attribute()
    before(bytes(1, "then_branch"));
    back += integer(20, 5);
    as_field(5);  // of node()
    before(bytes(1, "c") + bytes(2, result) + bytes(4, "If"));
    as_field(1);  // of graph()
    back += bytes(2, "g") + bytes(12, port(result, kFloat, {2, 3}));
  }
  return model_of(std::string(front.rbegin(), front.rend()) + back);
}

/// A port whose type is a sequence of a sequence and so on.
std::string nested_types(std::size_t depth) {
  std::string type = bytes(1, integer(1, kFloat));
  for (std::size_t k = 0; k < depth; ++k) type = bytes(4, bytes(1, type));
  return model({.inputs = {bytes(1, "x") + bytes(2, type)}, .outputs = {port("x", kFloat, {1})}});
}

std::string external(const std::string& location, const std::string& offset = "0", const std::string& length = "") {
  const auto entry = [](const std::string& key, const std::string& value) {
    return bytes(13, bytes(1, key) + bytes(2, value));
  };
  return integer(1, 1) + integer(2, kFloat) + bytes(8, "w") + entry("location", location) + entry("offset", offset) +
         (length.empty() ? "" : entry("length", length)) + integer(14, 1);
}

/// A loop that goes on for ever, whose body is `nodes` from v to w.
std::string endless_loop(const Names& nodes, std::int64_t count) {
  Names all = nodes;
  all.push_back(node("Identity", {"go"}, {"goes"}));
  const std::string body = graph({.nodes = all,
                                  .inputs = {port("i", kInt64, {}), port("go", kBool, {}), port("v", kFloat, {2, 3})},
                                  .outputs = {port("goes", kBool, {}), port("w", kFloat, {2, 3})}});
  return around({node("Loop", {"n", "t", "x"}, {"y"}, {graph_attribute("body", body)})},
                {tensor("n", kInt64, {}, raw(Sizes{count})), tensor("t", kBool, {}, std::string(1, '\1'))});
}

/// The function f calls g and g calls f.
std::string recursive_functions() {
  const auto function = [](const std::string& name, const std::string& callee) {
    return bytes(25, bytes(1, name) + bytes(4, "a") + bytes(5, "b") + bytes(7, node(callee, {"a"}, {"b"}, {}, "mine")) +
                         bytes(9, bytes(1, "mine") + integer(2, 1)) + bytes(10, "mine"));
  };
  return one("Relu", {}, {}) + opset(1, "mine") + function("f", "g") + function("g", "f");
}

// clang-format off
std::vector<Hostile> damaged_files() {
  const std::string good = one("Relu", {}, {});
  return {
      {"empty", "", "have no graph"},
      {"text", "this is not a model", "damaged or cut off"},
      {"zeros", std::string(100, '\0'), "damaged or cut off"},
      {"cut off", good.substr(0, good.size() - 9), "damaged or cut off"},
      {"a length beyond the end", integer(1, 8) + varint(7 << 3 | 2) + varint(1'000'000'000'000), "damaged or cut off"},
      {"a varint without an end", std::string(40, '\xff'), "damaged or cut off"},
      {"a graph that is a number", integer(1, 8) + integer(7, 3), "field 7 of a message has the wire type 0 instead of 2"},
      {"a version that is a text", bytes(1, "8") + good, "field 1 of a message has the wire type 2 instead of 0"},
      {"no version of the format", good.substr(2), "the version of the format is 0"},
      {"two versions of a domain", good + opset(16), "the domain \"\" has two versions"},
      {"an opset of the future", model({.nodes = {node("Relu", {"x"}, {"y"})}}, 1'000), "asks for opset 1000"},
      {"an opset below 1", model({.nodes = {node("Relu", {"x"}, {"y"})}}, -3), "asks for opset -3"},
      {"types in types", nested_types(1'000), "nested more than 16 deep"},
      {"graphs in graphs", nested_graphs(10'000), "graphs are nested more than 64 deep"},
      {"a million nodes", model_of(repeated(bytes(1, node("Relu", {"x"}, {"y"})), 1'000'000)), "more than 500000 nodes"},
      {"a map", model({.inputs = {bytes(1, "x") + bytes(2, bytes(5, integer(1, 7)))}}), "is a map"},
      {"complex numbers", model({.inputs = {port("x", 14, {1})}}), "ONNX's type 14"},
      {"an unknown type", model({.inputs = {port("x", 99, {1})}}), "ONNX's type 99"},
      {"an input of a negative size", model({.inputs = {bytes(1, "x") + bytes(2, bytes(1, integer(1, 1) + bytes(2, bytes(1, integer(1, -5)))))}}), "has the size -5"},
      {"an input of a million dimensions", model({.inputs = {port("x", kFloat, Sizes(1'000'000, 1))}}), "more than 32 dimensions"},
  };
}

std::vector<Hostile> names_and_nodes() {
  return {
      {"a cycle", around({node("Add", {"x", "b"}, {"a"}), node("Relu", {"a"}, {"b"}), node("Relu", {"b"}, {"y"})}), "reads \"b\", which nothing before it makes"},
      {"a node that reads itself", around({node("Relu", {"y"}, {"y"})}), "reads \"y\", which nothing before it makes"},
      {"a name that nobody makes", around({node("Relu", {"z"}, {"y"})}), "reads \"z\""},
      {"an output that nobody makes", around({node("Relu", {"x"}, {"z"})}), "the output of a graph reads \"y\""},
      {"two nodes that make a name", around({node("Relu", {"x"}, {"y"}), node("Abs", {"x"}, {"y"})}), "\"y\" is defined twice"},
      {"a node that makes its input", around({node("Relu", {"x"}, {"x"})}), "\"x\" is defined twice"},
      {"two inputs of a name", model({.inputs = {port("x", kFloat, {1}), port("x", kFloat, {1})}}), "\"x\" is defined twice"},
      {"two initializers of a name", one("Add", {"w"}, {}, {floats("w", {1}, {1}), floats("w", {1}, {2})}), "\"w\" is defined twice"},
      {"two initializers of an input", one("Relu", {}, {}, {floats("x", {2, 3}, {1, 2, 3, 4, 5, 6}), floats("x", {2, 3}, {1, 2, 3, 4, 5, 6})}), "\"x\" is defined twice"},
      {"an input without a name", model({.inputs = {port("", kFloat, {1})}}), "an input of a graph has no name"},
      {"operators that do not exist", around({node("Evil", {"x"}, {"y"}), node("Worse", {"y"}, {"z"}, {}, "com.evil")}), "2 nodes need operators that Strata lacks:\n  node \"y\" (Evil) of version 17\n  node \"z\" (com.evil.Worse) of version 0"},
      {"too many inputs", around({node("Relu", {"x", "x"}, {"y"})}), "has 2 inputs; the operator takes 1 to 1"},
      {"too few inputs", around({node("Add", {"x"}, {"y"})}), "has 1 inputs; the operator takes 2 to 2"},
      {"too many outputs", around({node("Relu", {"x"}, {"y", "z"})}), "has 2 outputs; the operator has at most 1"},
      {"an input that is left out", around({node("Relu", {""}, {"y"})}), "input 0 is left out"},
      {"an unknown attribute", one("Relu", {}, {attribute("power", 3)}), "the attribute \"power\", which Strata does not know"},
      {"an attribute of another type", one("Flatten", {}, {attribute("axis", "one")}), "the attribute \"axis\" has the type 3 instead of 2"},
      {"an attribute twice", one("Flatten", {}, {attribute("axis", 1), attribute("axis", 1)}), "the attribute \"axis\" twice"},
      {"an If without branches", around({node("If", {"x"}, {"y"})}), "lacks the attribute \"then_branch\""},
      {"a branch that is no graph", around({node("If", {"x"}, {"y"}, {bytes(1, "then_branch"), graph_attribute("else_branch", graph({}))})}), "the attribute \"then_branch\" has the type 0"},
      {"a branch that is a number", around({node("If", {"x"}, {"y"}, {attribute("then_branch", 1), attribute("else_branch", 1)})}), "the attribute \"then_branch\" has the type 2 instead of 5"},
      {"a reference outside of functions", one("Flatten", {}, {bytes(1, "axis") + integer(20, 2) + bytes(21, "a")}), "is not in a function"},
      {"functions that call each other", recursive_functions(), "calls itself"},
      {"a condition that is not a bool", around({node("If", {"x"}, {"y"}, {graph_attribute("then_branch", graph({})), graph_attribute("else_branch", graph({}))})}), "instead of one bool"},
  };
}

std::vector<Hostile> lies_about_tensors() {
  const std::string four = raw(std::vector<float>{1, 2, 3, 4});
  const auto with = [&](const std::string& w) { return one("Add", {"w"}, {}, {w}); };
  return {
      {"fewer bytes than the shape says", with(tensor("w", kFloat, {5}, four)), "needs 20 bytes, but has 16"},
      {"more bytes than the shape says", with(tensor("w", kFloat, {3}, four)), "needs 12 bytes, but has 16"},
      {"10^12 elements in 16 bytes", with(tensor("w", kFloat, {1'000'000, 1'000'000}, four)), "needs 4000000000000 bytes, but has 16"},
      {"more than 2^64 elements", with(tensor("w", kFloat, {std::int64_t{1} << 40, std::int64_t{1} << 40}, four)), "impossible shape"},
      {"a negative size", with(tensor("w", kFloat, {-1}, four)), "impossible shape [-1]"},
      {"sizes whose product wraps to 4", with(tensor("w", kFloat, {std::int64_t{1} << 62, 4, 4}, four)), "impossible shape"},
      {"a bool of 7", with(tensor("w", kBool, {1}, "\7")), "has the boolean 7"},
      {"texts that are missing", with(integer(1, 3) + integer(2, kText) + bytes(6, "a") + bytes(8, "w")), "has 1 texts"},
      {"elements in another field", with(integer(1, 2) + integer(2, kFloat) + integer(7, 1) + integer(7, 2) + bytes(8, "w")), "needs 2 elements, but has 0"},
      {"a tensor without a type", with(integer(1, 1) + bytes(8, "w") + bytes(9, "1234")), "ONNX's type 0"},
      {"a thousand dimensions", with(tensor("w", kFloat, Sizes(1'000, 1), "1234")), "has 1000 dimensions"},
      {"segments", with(bytes(3, integer(1, 0)) + tensor("w", kFloat, {4}, four)), "is stored in segments"},
      {"a sparse tensor of 10^15 elements", model_of(graph({.inputs = {port("x", kFloat, {1})}}) + bytes(15, bytes(1, floats("v", {1}, {1})) + bytes(2, integers("i", {0})) + integer(3, 1'000'000'000'000'000))), "too large to be stored densely"},
      {"a sparse index outside", model_of(graph({.inputs = {port("x", kFloat, {1})}}) + bytes(15, bytes(1, floats("v", {1}, {1})) + bytes(2, integers("i", {9})) + integer(3, 4))), "has the index 9 of 4 elements"},
      {"external data of bytes", with(external("weights.bin")), "but the model does not come from one"},
  };
}

std::vector<Hostile> bombs() {
  const auto shape = [](const Sizes& s) { return Names{integers("s", s)}; };
  return {
      {"a constant of 10^12 elements", of_shape({1'000'000, 1'000'000}), "more than 1048576 elements"},
      {"a constant of 2^80 elements", of_shape({std::int64_t{1} << 40, std::int64_t{1} << 40}), ""},
      {"a constant of a negative size", of_shape({-4}), "has the size -4"},
      {"a constant of a thousand dimensions", of_shape(Sizes(1'000, 1)), "a shape of 1000 dimensions"},
      {"an expansion to 10^12", one("Expand", {"s"}, {}, shape({1'000'000'000'000, 1, 1})), "more than 1048576 elements"},
      {"a repetition to 10^13", one("Tile", {"s"}, {}, shape({1'000'000'000'000, 2})), "more than 1048576 elements"},
      {"a range of 10^18", around({node("Range", {"a", "b", "c"}, {"y"})}, {tensor("a", kInt64, {}, raw(Sizes{0})), tensor("b", kInt64, {}, raw(Sizes{1'000'000'000'000'000})), tensor("c", kInt64, {}, raw(Sizes{1}))}), "more than 1048576 elements"},
      {"a range without steps", around({node("Range", {"a", "b", "c"}, {"y"})}, {tensor("a", kInt64, {}, raw(Sizes{0})), tensor("b", kInt64, {}, raw(Sizes{5})), tensor("c", kInt64, {}, raw(Sizes{0}))}), "the step is 0"},
      {"pads of 10^12", one("Pad", {"s"}, {}, shape({0, 1'000'000'000'000, 0, 0})), "more than 1048576 elements"},
      {"pads beyond 64 bits", one("Pad", {"s"}, {}, shape({0, INT64_MAX, 0, INT64_MAX})), ""},
      {"a reshape to another count", one("Reshape", {"s"}, {}, shape({7})), "Reshape"},
      {"a reshape with two holes", one("Reshape", {"s"}, {}, shape({-1, -1})), "Reshape"},
      {"a reshape to -7", one("Reshape", {"s"}, {}, shape({-7})), "has the size -7"},
      {"an axis of 99", one("Softmax", {}, {attribute("axis", 99)}), "axis 99 is not an axis"},
      {"a permutation that repeats", one("Transpose", {}, {attribute("perm", Sizes{0, 0})}), "Transpose"},
      {"products that do not fit", one("MatMul", {"x"}, {}), "MatMul"},
      {"types that do not fit", one("Add", {"s"}, {}, shape({1, 2, 3})), "the operands are of f32 and i64"},
      {"a mirror of 10^9 elements", one("DepthToSpace", {}, {attribute("blocksize", 1'000'000'000)}), "dimensions instead of 4"},
      {"a one-hot of 10^14", around({node("OneHot", {"i", "d", "v"}, {"y"})}, {integers("i", {1}), integers("d", {100'000'000'000'000}), floats("v", {2}, {0, 1})}), "more than 1048576 elements"},
      {"a split into a negative part", one("Split", {"s"}, {attribute("axis", 1)}, shape({-3})), "Split"},
      {"new axes without end", one("Unsqueeze", {"s"}, {}, shape(Sizes(100'000, 0))), "100000 new axes"},
      {"a loop without end", endless_loop({node("Relu", {"v"}, {"w"})}, INT64_MAX), "more steps are allowed"},
      {"a loop that doubles", endless_loop({node("Concat", {"v", "v"}, {"w"}, {attribute("axis", 0)})}, 1'000), "more than 1048576 elements"},
      {"a loop that puts sequences into sequences", endless_loop({node("SequenceConstruct", {"v"}, {"w"})}, 1'000), "a sequence holds tensors or texts, not sequence of 1"},
      {"a kernel of 0", around({node("MaxPool", {"x4"}, {"y"}, {attribute("kernel_shape", Sizes{0, 0})})}, {floats("x4", {1, 1, 2, 2}, {1, 2, 3, 4})}), "a kernel of 0"},
      {"a stride of 2^62", around({node("MaxPool", {"x4"}, {"y"}, {attribute("kernel_shape", Sizes{1, 1}), attribute("strides", Sizes{std::int64_t{1} << 62, 1})})}, {floats("x4", {1, 1, 2, 2}, {1, 2, 3, 4})}), "stride 4611686018427387904"},
      {"pads of a pool of 10^9", around({node("AveragePool", {"x4"}, {"y"}, {attribute("kernel_shape", Sizes{1, 1}), attribute("pads", Sizes{1'000'000'000, 1'000'000'000, 0, 0})})}, {floats("x4", {1, 1, 2, 2}, {1, 2, 3, 4})}), ""},
      {"a resize by 10^8", around({node("Resize", {"x4", "", "f"}, {"y"})}, {floats("x4", {1, 1, 2, 2}, {1, 2, 3, 4}), floats("f", {4}, {1, 1, 1e8F, 1e8F})}), "[interpolate] the size 200000000 of axis 2, with 1 element"},
  };
}
// clang-format on

void check_all(const std::vector<Hostile>& all) {
  if (!has_reader()) GTEST_SKIP();
  using Clock = std::chrono::steady_clock;
  for (const Hostile& hostile : all) {
    const auto begin = Clock::now();
    SCOPED_TRACE(hostile.name);
    const std::string message = refusal_of(hostile.bytes);
    const double seconds = std::chrono::duration<double>(Clock::now() - begin).count();
    EXPECT_FALSE(message.empty()) << hostile.name << " is accepted";
    EXPECT_NE(message.find(hostile.reason), std::string::npos) << hostile.name << ": " << message.substr(0, 400);
    EXPECT_LT(seconds, STRATA_SANITIZED ? 60 : 10) << hostile.name;
  }
}

TEST(OnnxHostile, DamagedFiles) { check_all(damaged_files()); }
TEST(OnnxHostile, NamesAndNodes) { check_all(names_and_nodes()); }
TEST(OnnxHostile, LiesAboutTensors) { check_all(lies_about_tensors()); }
TEST(OnnxHostile, Bombs) { check_all(bombs()); }

TEST(OnnxHostile, ThereAreFifty) {
  EXPECT_GE(names_and_nodes().size() + lies_about_tensors().size() + bombs().size(), 50U);
}

/// Every model that the first bytes of a good one make is refused, or runs; so is each with one byte changed.
TEST(OnnxHostile, CutAndChangedBytes) {
  if (!has_reader()) GTEST_SKIP();
  const std::string good = one("Gemm", {"w"}, {attribute("transB", 1)}, {floats("w", {2, 3}, {1, 2, 3, 4, 5, 6})});
  for (std::size_t length = 0; length < good.size(); ++length) refusal_of(good.substr(0, length));
  for (std::size_t at = 0; at < good.size(); ++at)
    for (const int change : {1, 2, 8, 16, 128}) {
      std::string other = good;
      other[at] = static_cast<char>(other[at] ^ change);
      refusal_of(other);
    }
}

TEST(OnnxHostile, ExternalDataStaysInTheFolder) {
  if (!has_reader()) GTEST_SKIP();
  namespace fs = std::filesystem;
  const fs::path folder = fs::path(testing::TempDir()) / "strata_onnx_external";
  fs::remove_all(folder);
  fs::create_directories(folder / "model" / "inner");
  const auto write = [](const fs::path& path, const std::string& content) {
    std::ofstream(path, std::ios::binary) << content;
  };
  const std::string elements = raw(std::vector<float>{7, 8});
  write(folder / "secret.bin", elements);
  write(folder / "model" / "weights.bin", elements);
  fs::create_symlink(folder / "secret.bin", folder / "model" / "link.bin");
  fs::create_directory_symlink(folder, folder / "model" / "up");
  fs::create_symlink(folder / "model" / "weights.bin", folder / "model" / "inner" / "same.bin");
  const auto outcome = [&](const std::string& location, const std::string& offset = "0",
                           const std::string& length = "") {
    write(folder / "model" / "m.onnx", one("Add", {"w"}, {}, {external(location, offset, length)}));
    try {
      const auto m = load((folder / "model" / "m.onnx").string(), {.device = &Device::get("INTERP")});
      return m->named_parameters()[0].second.repr();
    } catch (const Error& e) {
      return std::string(e.what());
    }
  };
  const auto expect = [&](const std::string& got, const std::string& reason) {
    EXPECT_NE(got.find(reason), std::string::npos) << got;
  };
  expect(outcome("weights.bin"), "7");
  expect(outcome("weights.bin", "4"), "8");
  expect(outcome("inner/same.bin"), "7");  // a link that stays in the folder
  expect(outcome("../secret.bin"), "outside of the model's folder");
  expect(outcome("inner/../../secret.bin"), "outside of the model's folder");
  expect(outcome((folder / "secret.bin").string()), "outside of the model's folder");
  expect(outcome("/etc/passwd"), "outside of the model's folder");
  expect(outcome("link.bin"), "is a link to");
  expect(outcome("up/secret.bin"), "is a link to");
  expect(outcome("missing.bin"), "No such file");
  expect(outcome("inner"), "is not a regular file");
  expect(outcome(""), "names no file");
  expect(outcome("weights.bin", "8"), "needs 4 bytes");
  expect(outcome("weights.bin", "-4"), "is not a number");
  expect(outcome("weights.bin", "99999999999999999999"), "is not a number");
  expect(outcome("weights.bin", "0", "8"), "stated are 8");
  fs::remove_all(folder);
}

}  // namespace
}  // namespace strata::onnx
