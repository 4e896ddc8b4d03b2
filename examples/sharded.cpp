// One network trained four ways on a mesh: only the lines of shard() differ.
//   mpirun -n 2 sharded data          each rank has a part of the batch, and all parameters
//   mpirun -n 2 sharded parameters    ... and parts of the parameters and of the optimiser's state
//   mpirun -n 2 sharded pairs         a pair of Linear layers by columns and rows
//   mpirun -n 2 sharded sequence      each rank has a part of each sequence
#include <strata/nn.h>
#include <strata/tensor.h>

#include <cstdio>
#include <cstdlib>
#include <iostream>
#include <string>

int main(int argc, char** argv) {
  using namespace strata;
  const std::string way = argc > 1 ? argv[1] : "data";
  const char* const started = std::getenv("OMPI_COMM_WORLD_SIZE");
  try {
    const Mesh mesh({started != nullptr ? std::atoll(started) : 1}, {"ranks"});
    manual_seed(7);
    const Tensor x = randn({16, 32, 8}).realize();  // sequences of 32 elements; the same on all ranks
    const Tensor y = x.cumsum(1).tanh().realize();
    nn::Linear up(8, 64), down(64, 8);
    std::vector<Tensor> parameters = {up.weight, *up.bias, down.weight, *down.bias};

    Tensor inputs = x, targets = y;
    if (way == "data" || way == "parameters") inputs = x.shard(mesh, "ranks:0"), targets = y.shard(mesh, "ranks:0");
    if (way == "sequence") inputs = x.shard(mesh, "ranks:1"), targets = y.shard(mesh, "ranks:1");
    if (way == "parameters")
      for (const Tensor& p : parameters) p.assign(p.shard(mesh, "ranks:0"));
    if (way == "pairs") {
      up.weight.assign(up.weight.shard(mesh, "ranks:0"));  // (out, in): columns of the product
      up.bias->assign(up.bias->shard(mesh, "ranks:0"));
      down.weight.assign(down.weight.shard(mesh, "ranks:1"));
    }

    nn::Adam steps(parameters, {.lr = 0.01});
    for (int step = 0; step < 60; ++step) {
      steps.zero_grad();
      const Tensor difference = down(up(inputs).relu()) - targets;
      const Tensor loss = (difference * difference).mean();
      loss.backward();
      steps.step();
      const double value = loss.item();  // on all ranks: reading is collective
      if (mesh.rank() == 0 && step % 20 == 0) std::printf("step %d: loss %.4f\n", step, value);
    }
    const std::optional<Sharding> of_weight = up.weight.sharding();
    std::printf(
        "rank %d has %s of the first weight\n", static_cast<int>(mesh.rank()),
        of_weight && !of_weight->splits()->empty() ? render(of_weight->local_shape(mesh.rank())).c_str() : "all");
  } catch (const Error& error) {
    std::cerr << error.what() << "\n";
    return 1;
  }
  return 0;
}
