// Requests that run kernels: `order`, `evaluate`; and the Opts that a kernel could get.
#include <gtest/gtest.h>

#include <map>
#include <set>
#include <string>
#include <vector>

#include "tests/tools/answers.h"
#include "tools/ask_candidates.h"
#include "tools/ask_order.h"
#include "tools/batch.h"

namespace strata::tools {
namespace {

std::string asked(const std::string& kind, const std::string& text, const std::string& more = "") {
  return R"({"do":")" + kind + R"(","text":")" + text + '"' + more + "}";
}

std::string run_field(const std::string& json, std::string_view key) {
  JsonDocument document;
  document.read(json);
  for (const auto& m : document.root().as_object("answer"))
    if (m.key == key) return m.value.raw();
  return "none: " + json;
}

// --- order ---

// The load is UOp 5 or so: what counts are slots and elements.
TEST(BatchOrder, LoopsInTheirOrder) {
  const auto touched = [](const std::string& opts) {
    const Numbers all = integers(
        run_field(answer(asked("order", "a: f32[2,3]; c = a.permute(1,0) + 1", R"(,"opts":")" + opts + '"')), "order"));
    Numbers out;
    for (std::size_t k = 0; k + 2 < all.size(); k += 3)
      if (all[k + 1] == 1) out.push_back(all[k + 2]);
    return out;
  };
  EXPECT_EQ(touched("none"), (Numbers{0, 3, 1, 4, 2, 5}));
  EXPECT_EQ(touched("REORDER 1 0"), (Numbers{0, 1, 2, 3, 4, 5}));
}

TEST(BatchOrder, OpsAreThoseOfTheKernel) {
  const std::string keys = R"(,"target":"opencl","opts":"PARALLEL 0, LANES 1 4")";
  const std::string text = "n: 1..50; a: f32[n,4]; c = a + 1";
  const std::string out = answer(asked("order", text, keys + R"(,"values":{"n":3})"));
  EXPECT_EQ(run_field(out, "values"), R"({"n":3})");
  EXPECT_EQ(run_field(out, "kernels"), R"([{"name":"E_n_4","accesses":24}])");
  EXPECT_EQ(run_field(out, "buffers"),
            R"([{"name":"c","dtype":"f32","size":12},{"name":"a","dtype":"f32","size":12}])");
  const KernelLanguage& language = *find_kernel_language("opencl");
  Work work(default_budget);
  const KernelAnswer kernel =
      ask_kernel({text, &language, language.target(), parse_opts("PARALLEL 0, LANES 1 4")}, work);
  const Numbers all = integers(run_field(out, "order"));
  ASSERT_EQ(all.size(), 72U);
  for (std::size_t k = 0; k < all.size(); k += 3) {
    const UOp u = kernel.kernel.uops[static_cast<std::size_t>(all[k])];
    ASSERT_EQ(u.op(), all[k + 1] == 0 ? UOps::STORE : UOps::LOAD);
  }
}

TEST(BatchOrder, EachElementIsStoredOnceAndInsideOfItsProof) {
  const std::pair<const char*, const char*> kernels[] = {
      {"a: f32[12,8]; b: f32[8,6]; c = a @ b", "PARALLEL 0, UPCAST 0 2, LANES 1 2, UNROLL 2 4"},
      {"a: f32[13,7]; c = a.pad(1:2,0:1) * 2", "CUT 0 12, UPCAST 0 4, LANES 1 8"},
      {"a: i32[10,9]; c = a.flip(1).sum(1)", "PADTO 0 4, UPCAST 0 4"},
      {"n: 1..20; a: f32[n,8]; c = softmax(a, 1)", "auto"}};
  const KernelLanguage& language = *find_kernel_language("c");
  for (const auto& [text, opts] : kernels) {
    Work work(default_budget);
    const KernelAnswer kernel = ask_kernel({text, &language, language.target(), read_opts(opts, "opts")}, work);
    const OrderAnswer order = ask_order(kernel, {}, default_accesses, work);
    std::map<std::int64_t, const KernelRecord::ProvenAccess*> proofs;
    for (const KernelRecord::ProvenAccess& a : kernel.record.accesses)
      for (const std::size_t u : a.uops) proofs[static_cast<std::int64_t>(u)] = &a;
    std::vector<int> stored(static_cast<std::size_t>(order.sizes[0]));
    for (std::size_t k = 0; k < order.triples.size(); k += 3) {
      const Access& access = proofs.at(order.triples[k])->access;
      const std::int64_t slot = order.triples[k + 1], element = order.triples[k + 2];
      ASSERT_EQ(access.slot, slot) << text;
      EXPECT_LE(access.index.facts().min, element) << text;
      EXPECT_GE(access.index.facts().max, element) << text;
      if (access.is_store) ++stored.at(static_cast<std::size_t>(element));
    }
    EXPECT_EQ(stored, std::vector<int>(stored.size(), 1)) << text;
  }
}

TEST(BatchOrder, KernelsThatRunFirstComeFirst) {
  const std::string out = answer(asked("order", "a: i32[100]; b = a.sum()", R"(,"opts":"SPLITREDUCE 1 4")"));
  EXPECT_EQ(run_field(out, "kernels"), R"([{"name":"r_4_25","accesses":104},{"name":"r_100","accesses":5}])");
}

TEST(BatchOrder, ALimit) {
  const std::string text = "a: f32[100]; c = a + 1";
  EXPECT_EQ(error_kind(asked("order", text, R"(,"limit":200)")), "no error");
  EXPECT_EQ(error_kind(asked("order", text, R"(,"limit":199)")), "budget");
  EXPECT_EQ(error_kind(asked("order", text, R"(,"limit":-1)")), "request");
  EXPECT_EQ(error_kind(asked("order", "a: f32[2000,2000]; c = a + 1")), "budget");
  EXPECT_EQ(error_kind(asked("order", "a: f32[1000000,1000000]; c = a + 1")), "budget");
  EXPECT_EQ(error_kind(asked("order", "n: 1..9; a: f32[n]; c = a + 1", R"(,"values":{"n":10})")), "domain");
  EXPECT_EQ(error_kind(asked("order", "n: 1..9; a: f32[n]; c = a + 1", R"(,"values":{"m":1})")), "domain");
}

TEST(BatchOrder, InMemoryAsIntegersOf32Bits) {
  NumberLists memory;
  BatchOptions options;
  options.memory = &memory;
  const std::string request = asked("order", "a: f32[4]; c = a + 1", R"(,"opts":"none")");
  EXPECT_EQ(run_field(answer(request, options), "order"), R"({"memory":0,"count":24})");
  ASSERT_EQ(memory.lists().size(), 1U);
  const auto& list = std::get<std::vector<std::int32_t>>(memory.lists()[0]);
  EXPECT_EQ(Numbers(list.begin(), list.end()), integers(run_field(answer(request), "order")));
}

// --- evaluate ---

TEST(BatchEvaluate, InputsAndOutputs) {
  const std::string text = "a: i32[4]; b = a*2; c = a < 0";
  const std::string out = answer(asked("evaluate", text, R"(,"seed":7)"));
  EXPECT_EQ(out, answer(asked("evaluate", text, R"(,"seed":7)")));
  EXPECT_NE(out, answer(asked("evaluate", text, R"(,"seed":8)")));
  JsonDocument document;
  document.read(run_field(out, "buffers"));
  const auto buffers = document.root().as_array("buffers");
  ASSERT_EQ(buffers.size(), 3U);
  const Numbers a = integers(run_field(buffers[2].raw(), "input")), b = integers(run_field(buffers[0].raw(), "output")),
                c = integers(run_field(buffers[1].raw(), "output"));
  ASSERT_EQ(a.size(), 4U);
  for (std::size_t k = 0; k < 4; ++k) {
    EXPECT_EQ(b.at(k), a[k] * 2);
    EXPECT_EQ(c.at(k), a[k] < 0 ? 1 : 0);
  }
}

TEST(BatchEvaluate, WhatJsonHasNoNumberFor) {
  const std::string out =
      answer(asked("evaluate", "a: f32[1]; b = a*0 + inf; c = a*0 + nan; d = a*0 - inf; e = a*0 + 0.5"));
  for (const char* list : {R"("output":["inf"])", R"("output":["nan"])", R"("output":["-inf"])", R"("output":[0.5])"})
    EXPECT_NE(out.find(list), std::string::npos) << out;
}

// Integers that are no doubles stay in the JSON.
TEST(BatchEvaluate, InMemoryAsDoubles) {
  NumberLists memory;
  BatchOptions options;
  options.memory = &memory;
  const std::string request = asked("evaluate", "a: u8[3]; b = a * 2; w = a.cast(i64) * 0 + 9007199254740993");
  const std::string out = answer(request, options);
  EXPECT_NE(out.find(R"("output":{"memory":0,"count":3})"), std::string::npos) << out;
  EXPECT_NE(out.find(R"("output":[9007199254740993,9007199254740993,9007199254740993])"), std::string::npos) << out;
  EXPECT_NE(out.find(R"("input":{"memory":1,"count":3})"), std::string::npos) << out;
  ASSERT_EQ(memory.lists().size(), 2U);
  const auto& b = std::get<std::vector<double>>(memory.lists()[0]);
  const auto& a = std::get<std::vector<double>>(memory.lists()[1]);
  for (std::size_t k = 0; k < 3; ++k) EXPECT_EQ(b.at(k), a.at(k) * 2);
}

TEST(BatchEvaluate, TooMuchIsRefused) {
  EXPECT_EQ(error_kind(asked("evaluate", "a: f32[4096,4096]; b: f32[4096,4096]; c = a @ b")), "budget");
  EXPECT_EQ(error_kind(asked("evaluate", "n: 1..1099511627776; a: f32[n]; c = a + 1")), "budget");
  EXPECT_EQ(error_kind(asked("evaluate", "a: f32[")), "parse");
}

// --- candidates ---

TEST(BatchKernelCandidates, AreWhatTheCompilerSays) {
  const KernelLanguage& language = *find_kernel_language("c");
  for (const char* opts : {"none", "UPCAST 0 4", "PARALLEL 0, LANES 1 8, STAGE 0 1"}) {
    Work work(default_budget);
    const KernelQuestion question{"a: f32[16,12]; b: f32[12,8]; c = relu(a @ b)", &language, language.target(),
                                  read_opts(opts, "opts")};
    const KernelAnswer kernel = ask_kernel(question, work);
    std::set<Opt::Kind> legal, refused;
    std::set<std::string> texts;
    for (const auto& [opt, refusal] : ask_candidates(question, kernel)) {
      EXPECT_TRUE(texts.insert(opt.text()).second) << opt.text();
      (refusal.empty() ? legal : refused).insert(opt.kind);
      std::string list = opts;
      const bool is_first = makes_kernels(opt.kind);
      list = list == "none" ? opt.text() : is_first ? opt.text() + ", " + list : list + ", " + opt.text();
      const std::string error =
          run_field(answer(asked("kernel", question.text, R"(,"show":"axes","opts":")" + list + '"')), "error");
      if (refusal.empty())
        EXPECT_EQ(error.substr(0, 5), "none:") << list;
      else
        EXPECT_NE(error.find(refusal), std::string::npos) << list << error;
    }
    EXPECT_TRUE(legal.contains(Opt::Kind::PACK) && refused.contains(Opt::Kind::PACK)) << opts;
    for (const Opt::Kind kind :
         {Opt::Kind::SPLIT, Opt::Kind::UPCAST, Opt::Kind::UNROLL, Opt::Kind::CUT, Opt::Kind::GUARD})
      EXPECT_TRUE(legal.contains(kind)) << opts << to_string(kind);
    EXPECT_TRUE(refused.contains(Opt::Kind::PARALLEL)) << opts;
  }
}

TEST(BatchKernelCandidates, OnlyWhereTheyAreAskedFor) {
  const std::string text = "a: f32[8]; b = a*2";
  const std::string some = answer(asked("kernel", text, R"(,"show":"candidates","opts":"none")"));
  EXPECT_NE(some.find(R"({"opt":"UPCAST 0 2","legal":true,"reason":""})"), std::string::npos) << some;
  EXPECT_NE(some.find(R"({"opt":"UPCAST 0 16",)"), 0U);
  EXPECT_EQ(some.find(R"("axes")"), std::string::npos);
  EXPECT_EQ(answer(asked("kernel", text, R"(,"show":"all")")).find("candidates"), std::string::npos);
}

}  // namespace
}  // namespace strata::tools
