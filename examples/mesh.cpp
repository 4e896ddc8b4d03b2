// A matrix that no rank has as a whole: each rank has rows of it, then columns, then all of it.
//   mpirun -n 4 mesh
#include <strata/mesh.h>

#include <cstdio>
#include <iostream>
#include <numeric>
#include <vector>

int main() {
  using namespace strata;
  try {
    const Mesh mesh({2, 2}, {"data", "model"});
    const Sharding rows = parse_sharding(mesh.shape(), {8, 8}, "data+model:0");
    const Sharding columns = parse_sharding(mesh.shape(), {8, 8}, "data+model:1");

    std::vector<float> mine(16), part(16), all(64);  // two rows, two columns, everything
    std::iota(mine.begin(), mine.end(), 16 * static_cast<float>(mesh.rank()));
    ExchangePlan::redistribution(mesh, rows, columns, sizeof(float)).run(mine.data(), part.data(), "columns, f32");
    ExchangePlan::redistribution(mesh, columns, replicated(mesh.shape(), {8, 8}), sizeof(float))
        .run(part.data(), all.data(), "everything, f32");

    const float sum = std::accumulate(all.begin(), all.end(), 0.0F);
    std::printf("rank %d has column %g %g %g ..., the sum of all is %g\n", static_cast<int>(mesh.rank()), part[0],
                part[2], part[4], sum);
  } catch (const Error& error) {
    std::cerr << error.what() << "\n";
    return 1;
  }
  return 0;
}
