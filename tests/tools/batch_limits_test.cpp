// `strata batch`: how long a request may take. Each of these took from 5 to 72 seconds, or longer than a minute, where
// only what is read and evaluated was charged.
#include <gtest/gtest.h>

#include <ctime>
#include <functional>
#include <string>

#include "tests/tools/answers.h"
#include "tools/batch.h"

namespace strata::tools {
namespace {

std::string name(int k) { return "v" + std::to_string(k); }

std::string joined(int count, const char* between, const std::function<std::string(int)>& item) {
  std::string out;
  for (int k = 0; k < count; ++k) out += (k == 0 ? "" : between) + item(k);
  return out;
}

std::string variables(int count) {
  return R"(,"vars":{)" + joined(count, ",", [](int k) { return '"' + name(k) + R"(":[0,9])"; }) + "}}";
}

std::string question(const std::string& kind, int count, const std::string& text, const std::string& more = "") {
  return R"({"do":")" + kind + R"(","text":")" + text + '"' + more + variables(count);
}

struct Hard {
  const char* name;
  int count;
  std::string (*request)(int count);
};

// clang-format off
const Hard kHard[] = {
    {"a wide sum", 1'000'000, [](int n) { return question("expr", n, joined(n, "+", name)); }},
    {"a proof over many variables", 150'000, [](int n) {
       return question("prove", n, joined(n, "+", [](int k) { return name(k) + "//3"; }) + " < 4"); }},
    {"conditions as terms", 150'000, [](int n) {
       return question("expr", n, joined(n, "+", [](int k) { return "(" + name(k) + "<" + std::to_string(k % 9) + ")"; })); }},
    {"squares", 150'000, [](int n) {
       return question("expr", n, joined(n, "+", [](int k) { return name(k) + "*" + name(k); })); }},
    {"a product of sums", 64'000, [](int n) {
       return question("expr", n, joined(n, "*", [](int k) { return "(1+" + name(k) + ")"; })); }},
    {"the least of many", 64'000, [](int n) { return question("expr", n, "min(" + joined(n, ",", name) + ")"); }},
    {"many assumptions", 64'000, [](int n) {
       return question("expr", n, joined(n, "+", name),
                       R"(,"assume":[)" + joined(n, ",", [](int k) { return '"' + name(k) + "<3\""; }) + "]"); }},
    {"a quotient of a wide sum", 150'000, [](int n) {
       return question("expr", n, "(" + joined(n, "+", [](int k) { return std::to_string(3 + k % 5) + "*" + name(k); }) + ")//7"); }},
    {"quotients by constants of their own", 1'000'000, [](int n) {
       return question("expr", n, joined(n, "+", [](int k) { return "v0//" + std::to_string(k + 2000); })); }},
    {"the larger of one and constants", 1'000'000, [](int n) {
       return question("expr", n, joined(n, "+", [](int k) { return "max(v0," + std::to_string(k + 2000) + ")"; })); }},
    {"moduli inside each other", 150'000, [](int n) {
       return question("expr", n, std::string(static_cast<std::size_t>(n), '(') + "v0" +
                                      joined(n, "", [](int k) { return "+" + name(k) + "*5)%7"; })); }},
};
// clang-format on

double processor_seconds() { return static_cast<double>(std::clock()) / CLOCKS_PER_SEC; }

// Two seconds are meant for an optimised build on a machine of its own: this one may share its caches. A part of the
// budget has to do with the same part of the time, so that this is no slow test.
TEST(BatchLimits, TheBudgetBoundsTheTime) {
  constexpr int part = 16;
  constexpr double most = (STRATA_SANITIZED ? 60.0 : 8.0) / part;
  BatchOptions options;
  options.budget = default_budget / part;
  for (const Hard& hard : kHard) {
    const std::string request = hard.request(hard.count / part);
    const double begin = processor_seconds();
    const std::string out = answer(request, options);
    EXPECT_LT(processor_seconds() - begin, most) << hard.name << ": " << out.substr(0, 200);
  }
}

TEST(BatchLimits, ADeadlineIsABudget) {
  BatchOptions options;
  options.deadline = 0.002;
  const std::string slow = kHard[2].request(40'000);
  const std::string out = answer(slow, options);
  EXPECT_EQ(out, R"({"error":{"kind":"budget","message":"[budget] the request takes longer than 0.002 seconds"}})")
      << out.substr(0, 200);
  options.deadline = 1000;
  EXPECT_EQ(answer(R"({"do":"expr","text":"a%4","vars":{"a":[0,3]}})", options),
            answer(R"({"do":"expr","text":"a%4","vars":{"a":[0,3]}})"));
}

TEST(BatchLimits, SmallBudgetsLeaveRoomForSmallQuestions) {
  BatchOptions options;
  options.budget = 100;
  EXPECT_EQ(answer(R"({"do":"expr","text":"(a+b*10)%10","vars":{"a":[0,10],"b":[0,10]}})", options),
            answer(R"({"do":"expr","text":"(a+b*10)%10","vars":{"a":[0,10],"b":[0,10]}})"));
}

}  // namespace
}  // namespace strata::tools
