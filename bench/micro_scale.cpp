// Large things: sums of 1000 terms, a million nodes alive, a chain 100,000 deep.
#include <algorithm>
#include <cstdio>
#include <fstream>
#include <functional>

#ifdef __linux__
#include <unistd.h>
#endif

#include "bench/micro.h"
#include "strata/base/check.h"
#include "strata/expr/expr.h"

namespace strata::bench {

namespace {

constexpr int kTerms = 1000;
constexpr std::int64_t kMillion = 1'000'000;
constexpr int kDepth = 100'000;

/// Bytes of memory that the process has in use; 0 where the system does not say.
double resident_bytes() {
#ifdef __linux__
  std::ifstream statm("/proc/self/statm");
  double size = 0, resident = 0;
  statm >> size >> resident;
  return resident * static_cast<double>(sysconf(_SC_PAGESIZE));
#else
  return 0;
#endif
}

double nanoseconds(const std::function<void()>& body) {
  const double start = now();
  body();
  return 1e9 * (now() - start);
}

std::vector<Expr> many_variables() {
  std::vector<Expr> variables;
  for (int i = 0; i < kTerms; ++i) variables.push_back(Variable(detail::message("i", i), 0, 99));
  return variables;
}

void bench_sums() {
  const std::vector<Expr> variables = many_variables();
  std::vector<Expr> terms;
  for (int i = 0; i < kTerms; ++i) terms.push_back(variables[static_cast<std::size_t>(i)] * (i + 1));
  print_goals("sums of 1000 terms",
              {
                  {row("sum(span)", [=] { keep(sum(terms).node()); })},
                  {row("sum(span), exists already", [=, alive = sum(terms)] { keep(sum(terms).node()); })},
                  {row("one += after the other",
                       [=] {
                         Expr total;
                         for (const Expr& t : terms) total += t;
                         keep(total.node());
                       })},
                  {row("whole * 3", [=, whole = sum(terms)] { keep((whole * 3).node()); })},
                  {row("whole - whole", [=, whole = sum(terms)] { keep((whole - whole).node()); })},
                  {row("whole // 7", [=, whole = sum(terms)] { keep((whole / 7).node()); })},
                  {row("whole.render()", [=, whole = sum(terms)] { keep(whole.render().size()); })},
              });
}

void print_per_node(const char* what, double ns) {
  std::printf("| %s | %s | %s |\n", what, format_ns(ns).c_str(), format_ns(ns / static_cast<double>(kMillion)).c_str());
}

/// A million sums x*k + y over two variables: made, made again, dropped.
void bench_million() {
  const Variable x("x", 0, 1 << 20), y("y", 0, 1 << 20);
  const auto make = [&](std::vector<Expr>& into) {
    for (std::int64_t k = 0; k < kMillion; ++k) into[static_cast<std::size_t>(k)] = x * (k + 2) + y;
  };
  std::vector<Expr> all(static_cast<std::size_t>(kMillion)), again(all);
  const std::size_t nodes = live_nodes();
  const double bytes = resident_bytes();
  const double made = nanoseconds([&] { make(all); });
  const double used = resident_bytes() - bytes;
  const std::size_t grown = live_nodes() - nodes;
  const double found = nanoseconds([&] { make(again); });
  again.clear();
  const double dropped = nanoseconds([&] { all.clear(); });
  std::printf("\n| a million sums x*k+y alive (two constructors each) | whole | each |\n|---|---|---|\n");
  print_per_node("made", made);
  print_per_node("made again, existing", found);
  print_per_node("dropped", dropped);
  std::printf("\n%zu nodes made, %.0f bytes of memory each; %zu nodes left alive after.\n", grown,
              used / static_cast<double>(std::max<std::size_t>(grown, 1)), live_nodes() - nodes);
}

/// Each level divides the one before: nothing merges.
void bench_chain() {
  std::vector<Expr> variables;
  for (int i = 0; i < 64; ++i) variables.push_back(Variable(detail::message("i", i), 0, 1 << 20));
  Expr chain = variables[0];
  const double made = nanoseconds([&] {
    for (int i = 1; i < kDepth; ++i) {
      const Expr& v = variables[static_cast<std::size_t>(i % 64)];
      chain = (chain + v * i) / (i % 2 == 0 ? 7 : 5);
    }
  });
  std::printf("\n| a chain %d deep | whole |\n|---|---|\n| made | %s |\n", kDepth, format_ns(made).c_str());
  const double dropped = nanoseconds([&] { chain = Expr(); });
  std::printf("| dropped | %s |\n", format_ns(dropped).c_str());
  std::fflush(stdout);
}

}  // namespace

void bench_scale() {
  bench_sums();
  bench_million();
  bench_chain();
}

}  // namespace strata::bench
