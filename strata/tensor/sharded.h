// Sharded tensors: tensors whose elements the ranks of a mesh have in parts.
//
//   Mesh mesh({2}, {"data"});                          // of two processes: mpirun -n 2
//   Tensor x = images.shard(mesh, {{"data", 0}});     // each rank keeps half of the rows
//   Tensor y = (x.matmul(w)).relu();                   // each rank computes half of y
//   y.sum().item();                                    // what the ranks have summed is exchanged
//
// All ranks build the same graph of whole tensors, of the same values. shard() is the identity there: it says where the
// elements of a result are, and all else follows from it (spmd/kernel_plan.h). Reading a tensor gathers it on all
// ranks; reading and realizing are collective. Gradients of a sharded parameter are sharded as the parameter is.
//
// A simulated mesh (Mesh::simulated) is given as all its ranks. One process then computes what each of them does, with
// the same exchanges: to look at what many ranks do, and to test it.
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "strata/mesh/mesh.h"
#include "strata/shard/sharding.h"
#include "strata/tensor/tensor.h"

namespace strata {

/// The ranks of a tensor: this process's rank of a mesh of processes, or all ranks of a simulated mesh.
class MeshRanks {
 public:
  MeshRanks(const Mesh& mesh) : meshes_(&mesh, 1) {}
  MeshRanks(const std::vector<Mesh>& ranks) : meshes_(ranks) {}
  std::span<const Mesh> meshes() const { return meshes_; }

 private:
  std::span<const Mesh> meshes_;
};

}  // namespace strata
