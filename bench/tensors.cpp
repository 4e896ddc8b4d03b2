// What building one operation of tensors takes, from C++; prints Markdown. From Python: python_calls.py.
//
//   bench_tensors
#include <cstdio>
#include <exception>
#include <vector>

#include "bench/harness.h"
#include "strata/tensor.h"

namespace strata::bench {
namespace {

template <class F>
Row op(const char* name, F make) {
  return row(name, [make = std::move(make)] {
    const Tensor made = make();
    keep(made);
  });
}

int run() {
  const Tensor x = Tensor::full({8, 16}, 2.5F).contiguous().realize(),
               y = Tensor::full({8, 16}, 1.5F).contiguous().realize(),
               across = Tensor::full({1, 16}, 0.5F).contiguous().realize(),
               w = Tensor::full({16, 8}, 0.5F).contiguous().realize();
  const Tensor mask = x.lt(y).realize();
  const std::vector<Row> rows = {
      op("x + y", [&] { return x + y; }),
      op("x * 2", [&] { return x * 2; }),
      op("x + row (1, 16)", [&] { return x + across; }),
      op("-x", [&] { return -x; }),
      op("exp", [&] { return x.exp(); }),
      op("x < y", [&] { return x < y; }),
      op("x <= 0", [&] { return x <= 0; }),
      op("where(m, x, y)", [&] { return mask.where(x, y); }),
      op("cast to f64", [&] { return x.cast(dtypes::float64); }),
      op("reshape(16, 8)", [&] { return x.reshape({16, 8}); }),
      op("permute(1, 0)", [&] { return x.permute({1, 0}); }),
      op("expand (1, 16) to (8, 16)", [&] { return across.expand({8, 16}); }),
      op("x[1:]", [&] { return x[{Slice{1, std::nullopt}}]; }),
      op("sum(1)", [&] { return x.sum(1); }),
      op("max over 1", [&] { return x.max(1); }),
      op("mean(1)", [&] { return x.mean(1); }),
      op("relu", [&] { return x.relu(); }),
      op("clip(0, 1)", [&] { return x.clip(0, 1); }),
      op("softmax(1)", [&] { return x.softmax(1); }),
      op("x @ w", [&] { return x.matmul(w); }),
  };
  std::printf("%s\n\n| one lazy operation, from C++ | median | minimum |\n|---|---|---|\n", describe_machine().c_str());
  pin_to_one_processor();
  const std::vector<Timing> timings = measure(rows);
  for (std::size_t k = 0; k < rows.size(); ++k)
    std::printf("| %s | %s | %s |\n", rows[k].name.c_str(), format_ns(timings[k].median_ns).c_str(),
                format_ns(timings[k].min_ns).c_str());
  return 0;
}

}  // namespace
}  // namespace strata::bench

int main() {
  return strata::bench::run_bench("bench_tensors", STRATA_BENCH_PLUGIN_DIR, [&] { return strata::bench::run(); });
}
