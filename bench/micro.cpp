// Times single operations of the algebra; prints Markdown.
//
//   bench_micro [GROUP...]   nodes reading affine scale views threads; all without arguments
#include "bench/micro.h"

#include <cstdio>
#include <cstring>
#include <exception>
#include <stdexcept>

namespace strata::bench {

namespace {

struct Group {
  const char* name;
  void (*run)();
};
constexpr Group kGroups[] = {
    {"nodes", bench_nodes}, {"reading", bench_reading}, {"affine", bench_affine},
    {"scale", bench_scale}, {"views", bench_views},     {"threads", bench_threads},
};

void run(int argc, char** argv) {
  for (int i = 1; i < argc; ++i) {
    bool known = false;
    for (const Group& g : kGroups) known |= std::strcmp(g.name, argv[i]) == 0;
    if (!known) throw std::runtime_error(std::string("unknown group ") + argv[i]);
  }
  std::printf("%s\n", describe_machine().c_str());
  for (const Group& g : kGroups) {
    bool wanted = argc == 1;
    for (int i = 1; i < argc; ++i) wanted |= std::strcmp(g.name, argv[i]) == 0;
    if (wanted) g.run();
  }
}

}  // namespace

void print_goals(const std::string& title, const std::vector<Goal>& goals) {
  pin_to_one_processor();
  std::vector<Row> rows;
  for (const Goal& g : goals) rows.push_back(g.row);
  const std::vector<Timing> timings = measure(rows);
  unpin();
  std::printf("\n| %s | median | minimum | target |\n|---|---|---|---|\n", title.c_str());
  for (std::size_t i = 0; i < goals.size(); ++i) {
    const Timing& t = timings[i];
    const std::string target = goals[i].target_ns == 0 ? ""
                                                       : "< " + format_ns(goals[i].target_ns) +
                                                             (t.median_ns < goals[i].target_ns ? "" : " **missed**");
    std::printf("| %s | %s | %s | %s |\n", rows[i].name.c_str(), format_ns(t.median_ns).c_str(),
                format_ns(t.min_ns).c_str(), target.c_str());
  }
  std::fflush(stdout);
}

}  // namespace strata::bench

int main(int argc, char** argv) {
  return strata::bench::run_bench("bench_micro", nullptr, [&] {
    strata::bench::run(argc, argv);
    return 0;
  });
}
