// export_c(): the texts of exported functions, and what is refused. tests/python/test_export.py and
// test_export_state.py compile and run them.
#include "strata/export/export_c.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "strata/base/check.h"
#include "strata/engine/feed.h"
#include "strata/export/c_text.h"
#include "strata/runtime/posix_io.h"
#include "strata/tensor/access.h"
#include "strata/tensor/scan.h"

namespace strata {
namespace {

template <class F>
std::string message_of(const F& f) {
  try {
    f();
  } catch (const Error& error) {
    return error.what();
  }
  return "no error";
}

std::string text_of(const std::filesystem::path& file) {
  std::ifstream in(file);
  std::stringstream out;
  out << in.rdbuf();
  return out.str();
}

bool contains(const std::string& text, std::string_view part) { return text.find(part) != std::string::npos; }

TEST(Export, WritesAHeaderAndASource) {
  const Tensor w = Tensor::full({4, 3}, 0.5);
  auto f = jit([&](const Tensor& x) { return (x.matmul(w)).relu(); });
  const Tensor x = Tensor::full({2, 4}, 1.0);
  f(x), f(x);
  const PrivateFolder folder;
  ExportOptions options;
  options.selftest = true;
  options.inputs = {"pixels"};
  options.outputs = {"int"};  // a word of C gets another name
  const ExportedModel model = export_c(f, folder.file("model"), options);
  EXPECT_EQ(model.name, "model");
  EXPECT_EQ(text_of(folder.file("model.h")), model.header);
  EXPECT_EQ(text_of(folder.file("model.c")), model.source);
  EXPECT_EQ(text_of(folder.file("model_test.c")), model.test);
  EXPECT_TRUE(contains(model.header, "const float *pixels"));
  EXPECT_TRUE(contains(model.header, "float *int_"));
  EXPECT_TRUE(contains(model.header, "#define MODEL_PIXELS_ELEMENTS 8\n"));
  EXPECT_FALSE(contains(model.source, "strata_"));
  EXPECT_FALSE(contains(model.source, "malloc"));
  EXPECT_GE(model.constant_bytes, 48);
  for (const std::string& text : {model.header, model.source})
    for (std::size_t at = text.find("#include"); at != std::string::npos; at = text.find("#include", at + 1))
      EXPECT_TRUE(text.compare(at, 10, "#include <") != 0 || contains(text.substr(at, 20), "<stdint.h>") ||
                  contains(text.substr(at, 20), "<stddef.h>"));
}

TEST(Export, EachTargetHasItsVectors) {
  auto f = jit([&](const Tensor& x) { return x * 2 + 1; });
  const Tensor x = Tensor::full({64}, 1.0);
  f(x), f(x);
  const auto source = [&](const char* target) {
    ExportOptions options;
    options.target = target;
    return exported_c(f, "m", options).source;
  };
  EXPECT_FALSE(contains(source("plain"), "vector_size"));
  EXPECT_TRUE(contains(source("generic"), "vector_size(16)"));
  EXPECT_TRUE(contains(source("avx2"), "vector_size(32)"));
  EXPECT_TRUE(contains(source("avx512"), "vector_size(64)"));
}

TEST(Export, SeveralTargetsAreOneFile) {
  const Tensor w = Tensor::full({8, 64}, 0.5);
  auto f = jit([&](const Tensor& x) { return x.matmul(w) * 2 + 1; });
  const Tensor x = Tensor::full({4, 8}, 1.0);
  f(x), f(x);
  ExportOptions options;
  const auto model = [&](const char* target) {
    options.target = target;
    return exported_c(f, "m", options);
  };
  const ExportedModel both = model("avx512,plain"), wide = model("avx512"), plain = model("plain");
  EXPECT_TRUE(contains(both.source, "vector_size(64)"));
  EXPECT_TRUE(contains(both.header, "  M_TARGET_AVX512 = 0,\n  M_TARGET_PLAIN = 1\n} m_target;"));
  EXPECT_TRUE(contains(both.header, "m_status m_run_on(\n    m_target target,\n    const float *x,"));
  EXPECT_EQ(both.kernels, wide.kernels + plain.kernels);
  EXPECT_EQ(both.arena_bytes, std::max(wide.arena_bytes, plain.arena_bytes));
  EXPECT_FALSE(contains(wide.header + wide.source, "m_target"));
  EXPECT_TRUE(contains(message_of([&] { model("plain,avx512"); }), "so \"avx512\" would never run"));
  EXPECT_TRUE(contains(message_of([&] { model("avx512,avx2"); }), "end in one that not all processors have"));
}

TEST(Export, KernelsForDevicesHaveATable) {
  const Tensor w = Tensor::full({4, 3}, 0.5);
  auto f = jit([&](const Tensor& x) { return x.matmul(w); });
  const Tensor x = Tensor::full({2, 4}, 1.0);
  f(x), f(x);
  const PrivateFolder folder;
  ExportOptions options;
  for (const char* language : {"opencl", "cuda", "metal", "wgsl"}) {
    options.kernels = language;
    const ExportedModel model = export_c(f, folder.file("m"), options);
    EXPECT_TRUE(model.header.empty() && model.source.empty());
    EXPECT_TRUE(contains(model.table, detail::message("\"language\":\"", language, "\"")));
    EXPECT_EQ(model.weights.size(), 64U);
    ASSERT_EQ(model.kernel_files.size(), 1U);
    const std::string file = model.kernel_files[0].first;
    EXPECT_EQ(files_of(model), (std::vector<std::string>{"m.json", file, "m.bin"}));
    EXPECT_EQ(text_of(folder.file(file.c_str())), model.kernel_files[0].second);
    EXPECT_TRUE(contains(model.kernel_files[0].second, "m_k0("));
  }
  options.kernels = "glsl";
  EXPECT_TRUE(contains(message_of([&] { exported_c(f, "m", options); }), "kernels in \"glsl\" are not written"));
  options.kernels = "cuda";
  options.target = "avx2";
  EXPECT_TRUE(contains(message_of([&] { exported_c(f, "m", options); }), "they have no target (\"avx2\")"));
}

TEST(Export, WeightsArePackedOnceAndShared) {
  const Tensor w = Tensor::full({64, 64}, 0.5);
  auto f = jit([&](const Tensor& x) { return x.matmul(w).relu().matmul(w); });
  const Tensor x = Tensor::full({64, 64}, 1.0);
  f(x), f(x);
  const ExportedModel model = exported_c(f, "m");
  EXPECT_LE(model.constant_bytes, 2 * 64 * 64 * 4 + 64);  // as they are, or packed
}

TEST(Export, RefusesWhatIsNotCaptured) {
  auto f = jit([](const Tensor& x) { return x + 1; });
  EXPECT_TRUE(contains(message_of([&] { exported_c(f, "m"); }), "never called"));
  f(Tensor::full({2}, 1.0));
  EXPECT_TRUE(contains(message_of([&] { exported_c(f, "m"); }), "is not captured: call it twice"));
}

TEST(Export, RefusesValuesThatAProgramFeeds) {
  float next = 0;
  auto f = jit([&](const Tensor& x) {
    const LazyOp fed = feed(dtypes::float32, 1, [&next](void* to) { *static_cast<float*>(to) = ++next; });
    return x + TensorAccess::of(fed, x);
  });
  const Tensor x = Tensor::full({2}, 1.0);
  f(x), f(x);
  const std::string message = message_of([&] { exported_c(f, "m"); });
  EXPECT_TRUE(contains(message, "is fed a value at each call by a function of the program's")) << message;
  EXPECT_TRUE(contains(message, "export_test.cpp")) << message;
}

TEST(Export, RefusesElementsThatTheHostReads) {
  const Tensor x = Tensor::full({3}, 1.0), z = Tensor::full({3}, 2.0);
  auto branch = jit([](const Tensor& a, const Tensor& b) { return b.sum().item<float>() > 3 ? a * 2 : a; });
  branch(x, z), branch(x, z);
  EXPECT_TRUE(contains(message_of([&] { exported_c(branch, "m"); }), "reads elements of the argument 1 (item()"));
  ExportOptions named;
  named.inputs = {"a", "b"};
  EXPECT_TRUE(contains(message_of([&] { exported_c(branch, "m", named); }), "of the argument b (item()"));
  auto direct = jit([](const Tensor& a) { return a * a.to_vector<float>()[1]; });
  direct(x), direct(x);
  EXPECT_TRUE(contains(message_of([&] { exported_c(direct, "m"); }), "reads elements of the argument 0"));
  const Tensor total = Tensor::full({3}, 1.0);
  auto state = jit([&](const Tensor& a) {
    const float first = total.sum().item<float>();
    total.assign(total + a);
    return a * first;
  });
  state(x), state(x);
  EXPECT_TRUE(contains(message_of([&] { exported_c(state, "m"); }), "of a tensor to which it assigns"));
  auto outside = jit([&](const Tensor& a) { return a * z.sum().item<float>(); });  // no argument
  outside(x), outside(x);
  EXPECT_TRUE(contains(exported_c(outside, "m").source, "m_run("));
}

TEST(Export, KernelsThatNothingReadsAreLeftOut) {
  const Tensor w = Tensor::full({3}, 2.0);
  auto f = jit([&](const Tensor& x) { return x * w.sum().item<float>(); });
  const Tensor x = Tensor::full({3}, 1.0);
  f(x), f(x);
  EXPECT_EQ(exported_c(f, "m").kernels, 1U);
}

TEST(Export, KernelsAsAnObject) {
  if (!STRATA_HAS_LLVM) GTEST_SKIP();
  auto f = jit([](const Tensor& x) { return x.sqrt().sum(0); });
  const Tensor x = Tensor::full({3, 4}, 4.0);
  f(x), f(x);
  ExportOptions options;
  options.object = "riscv64";
  const ExportedModel model = exported_c(f, "m", options);
  EXPECT_EQ(files_of(model), (std::vector<std::string>{"m.h", "m.c", "m_kernels.o"}));
  EXPECT_EQ(model.object.substr(1, 3), "ELF");
  EXPECT_GT(model.code_bytes, 0);
  EXPECT_EQ(model.flash_bytes(), model.constant_bytes + model.code_bytes);
  EXPECT_TRUE(contains(model.source, "m_extern void m_k0("));
  EXPECT_TRUE(contains(model.source, "#if !(defined(__riscv) && __riscv_xlen == 64)"));
  EXPECT_TRUE(contains(model.header, "with kernels in m_kernels.o for riscv64-unknown-linux-gnu"));
  const std::string text = report_text(model);
  EXPECT_TRUE(contains(text, detail::message(", code of kernels ", model.code_bytes, "\n"))) << text;
  options.features = "-d";  // sqrt of doubles, not used here, and the ABI of single floats
  EXPECT_NE(exported_c(f, "m", options).object, model.object);
}

TEST(Export, NamesAreApart) {
  auto f = jit([](const Tensor& x, const Tensor& y) { return x + y; });
  const Tensor x = Tensor::full({3}, 1.0), y = Tensor::full({3}, 2.0);
  f(x, y), f(x, y);
  ExportOptions options;
  options.inputs = {"a.b", "ab"};
  EXPECT_TRUE(contains(message_of([&] { exported_c(f, "m", options); }), "two arguments are named ab"));
  options.unique_names = true;
  options.outputs = {"m_copy"};
  EXPECT_TRUE(
      contains(exported_c(f, "m", options).header, "const float *ab,\n    const float *ab_2,\n    float *m_copy_,"));
}

TEST(Export, RefusesAFileThatCannotBeWritten) {
  auto f = jit([](const Tensor& x) { return x + 1; });
  const Tensor x = Tensor::full({2}, 1.0);
  f(x), f(x);
  EXPECT_TRUE(
      contains(message_of([&] { export_c(f, "/no/such/folder/model"); }), "/no/such/folder/model.h cannot be written"));
}

TEST(Export, AReplayGoesOnAfterAnExport) {
  const Tensor total = Tensor::full({3}, 0.0);
  auto f = jit([&](const Tensor& x) {
    total.assign(total + x);
    return total * 1;
  });
  const Tensor x = Tensor::full({3}, 1.0);
  f(x), f(x), f(x);
  ExportOptions options;
  options.selftest = true;
  const ExportedModel first = exported_c(f, "m", options);
  EXPECT_EQ(total.to_vector<float>(), std::vector<float>(3, 3.0f));
  EXPECT_EQ(f(x).to_vector<float>(), std::vector<float>(3, 4.0f));
  const ExportedModel second = exported_c(f, "m", options);
  EXPECT_EQ(first.header, second.header);
  EXPECT_NE(first.source, second.source);  // the state begins where it is now
}

TEST(ExportText, SizesAndNames) {
  using namespace exporting;
  const Variable n("n", 1, 100);
  const auto name = [](const Variable& v) { return std::string(v.name()); };
  EXPECT_EQ(c_size(Int(7), name), "7");
  EXPECT_EQ(c_size(Int(n) * 4 + 3, name), "(4*n+3)");
  EXPECT_EQ(c_size(Int(n / 3), name), "(n/3)");
  const Variable m("m", -10, 10);
  EXPECT_TRUE(contains(message_of([&] { c_size(Int(m / 3), name); }), "may be negative"));
  const auto json = [](const Variable& v) { return detail::message("\"", v.name(), "\""); };
  EXPECT_EQ(json_size(Int(7), json), "7");
  EXPECT_EQ(json_size(Int(n) * 4 + 3, json), R"(["+", ["*", 4, "n"], 3])");
  EXPECT_EQ(json_size(Int(n / 3), json), R"(["//", "n", 3])");
  EXPECT_EQ(c_name("while"), "while_");
  EXPECT_EQ(c_name("a__b"), "a_b");
  EXPECT_EQ(c_name("2x"), "v2x");
  EXPECT_EQ(c_name("int64_t"), "int64_t_");
  EXPECT_EQ(c_name("UINT8_MAX"), "UINT8_MAX_");
  EXPECT_EQ(variable_name("n"), "n");
  EXPECT_EQ(variable_name("k"), "k_");
  EXPECT_EQ(variable_name("d0"), "d0_");
  EXPECT_EQ(c_comment("a */ b"), "/* a *+ b */");
  const float values[] = {0.5f, -0.0f, 3.0f};
  EXPECT_EQ(c_array("", "a", dtypes::float32, values, 3),
            "static const float a[3] = {\n  0x1p-1f, -0x0p+0f, 0x1.8p+1f,\n};\n");
  const std::int32_t least[] = {INT32_MIN, 5};
  EXPECT_EQ(c_array("", "b", dtypes::int32, least, 2), "static const int32_t b[2] = {\n  (-2147483647-1), 5,\n};\n");
}

}  // namespace
}  // namespace strata
