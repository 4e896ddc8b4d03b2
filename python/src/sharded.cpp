// Binds meshes of ranks and sharded tensors: strata.Mesh, x.shard(), x.local(), x.sharding, strata.from_local().
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "python/src/call.h"
#include "python/src/location.h"
#include "python/src/tensor_object.h"
#include "strata/tensor/sharded.h"

namespace strata::python {

namespace {

/// The rank of a mesh of processes, or all ranks of a simulated mesh.
struct MeshObject {
  std::vector<Mesh> ranks;

  const MeshShape& shape() const { return ranks[0].shape(); }
  bool is_simulated() const { return ranks[0].world().is_simulated(); }
  std::string repr() const {
    return is_simulated() ? detail::message("<strata.Mesh ", render(shape()), ", simulated>")
                          : detail::message("<strata.Mesh ", render(shape()), ", rank ", ranks[0].rank(), ">");
  }
};

/// The Fortran handle of an mpi4py communicator, or of an integer.
std::int32_t handle_of(const py::object& communicator) {
  if (py::isinstance<py::int_>(communicator)) return py::cast<std::int32_t>(communicator);
  if (!py::hasattr(communicator, "py2f"))
    throw py::type_error("Mesh: comm is an mpi4py communicator or the integer of its py2f(), not " +
                         std::string(Py_TYPE(communicator.ptr())->tp_name));
  return py::cast<std::int32_t>(communicator.attr("py2f")());
}

MeshObject mesh_of(const Index& sizes, const std::vector<std::string>& names, const py::object& comm) {
  if (comm.is_none()) return running([&] { return MeshObject{{Mesh(sizes, names)}}; });
  const std::int32_t handle = handle_of(comm);
  return running([&] { return MeshObject{{Mesh(MeshShape(sizes, names), World::of_communicator(handle))}}; });
}

std::vector<std::string> names_of(const py::handle& over) {
  if (py::isinstance<py::str>(over)) return {py::cast<std::string>(over)};
  return py::cast<std::vector<std::string>>(over);
}

/// The splits of `"data:0"`, {"data": 0}, or [("data", 0), (("data", "model"), 1, 16)].
std::vector<Split> splits_of(const py::object& given) {
  if (py::isinstance<py::str>(given)) return parse_splits(py::cast<std::string>(given));
  std::vector<Split> out;
  const auto add = [&](const py::handle& over, const py::handle& axis, const py::handle& cyclic) {
    Split split;
    for (std::string& name : names_of(over)) split.over.push_back(std::move(name));
    split.axis = py::cast<std::int64_t>(axis);
    if (!cyclic.is_none()) split.cyclic = py::cast<std::int64_t>(cyclic);
    out.push_back(std::move(split));
  };
  if (py::isinstance<py::dict>(given)) {
    for (const auto& [over, axis] : py::cast<py::dict>(given)) add(over, axis, py::none());
    return out;
  }
  for (const py::handle& entry : given) {
    const auto words = py::cast<py::sequence>(entry);
    if (py::isinstance<py::str>(entry) || words.size() < 2 || words.size() > 3)
      throw py::type_error(
          "shard: an entry of splits is (mesh axis, tensor axis) or (mesh axis, tensor axis, length of cyclic blocks)");
    add(words[0], words[1], words.size() == 3 ? py::object(words[2]) : py::none());
  }
  return out;
}

Tensor sharded(const Tensor& x, const MeshObject& mesh, const py::object& splits) {
  const LocationScope scope("shard");
  const std::vector<Split> read = splits_of(splits);
  return x.shard(mesh.ranks, read);
}

Tensor from_parts(const MeshObject& mesh, const std::variant<Tensor, std::vector<Tensor>>& parts, const Ints& shape,
                  const py::object& splits) {
  const LocationScope scope("from_local");
  const auto* const one = std::get_if<Tensor>(&parts);
  const std::vector<Tensor> all = one != nullptr ? std::vector<Tensor>{*one} : std::get<std::vector<Tensor>>(parts);
  const std::vector<Split> read = splits_of(splits);
  return running([&] { return Tensor::from_local(mesh.ranks, all, shape, read); });
}

const MeshObject& mesh_in(const py::object& object) {
  if (!py::isinstance<MeshObject>(object))
    throw py::type_error("mesh is a strata.Mesh, not " + std::string(Py_TYPE(object.ptr())->tp_name));
  return py::cast<const MeshObject&>(object);
}

void bind_methods(Functions& f) {
  f.method(
      "shard", "mesh, splits",
      [](const Tensor& x, const py::object& mesh, const py::object& splits) {
        return sharded(x, mesh_in(mesh), splits);
      },
      "The same elements, each rank of the mesh having those that the splits give it: 'data:0', {'data': 0}, or "
      "[('data', 0), (('x', 'y'), 1), ('model', 2, 16)], where 16 is the length of cyclic blocks. Without splits each "
      "rank has all. Computes nothing. Gradients pass through.");
  f.method(
      "local", "rank=None",
      [](const Tensor& x, std::optional<std::int64_t> rank) { return running([&] { return x.local(rank); }); },
      "What a rank has: the elements whose coordinates it owns, in a tensor of its own. Realizes the tensor, which is "
      "collective. Default: the rank of this process; of a simulated mesh rank 0.");
  f.method(
      "sharding", "",
      [](const Tensor& x) -> py::object {
        const std::optional<Sharding> sharding = x.sharding();
        if (!sharding) return py::none();
        return py::str(sharding->splits()->empty() ? "replicated" : render(*sharding->splits()));
      },
      "Where the elements are: 'data:0', 'replicated'; None for a tensor in one memory, and where it is not known "
      "before "
      "realize().");
}

}  // namespace

void bind_sharded(py::module_& m, Functions& f) {
  py::class_<MeshObject>(m, "Mesh",
                         "Named axes of ranks: strata.Mesh((2, 4), ('data', 'model')) of 8 processes that a launcher "
                         "started (mpirun -n 8 python3 program.py). All ranks run the same program on the same values.")
      .def(
          py::init(&mesh_of), py::arg("sizes"), py::arg("names"), py::arg("comm") = py::none(),
          "Connects this process to the others. `comm`: an mpi4py communicator, or the integer of its py2f(); default: "
          "all processes of the launcher. Collective.")
      .def_static(
          "simulated",
          [](const Index& sizes, const std::vector<std::string>& names) {
            return MeshObject{Mesh::simulated(sizes, names)};
          },
          py::arg("sizes"), py::arg("names"),
          "A mesh whose ranks are all in this process: it computes what each of them does, with the same exchanges.")
      .def_property_readonly(
          "rank", [](const MeshObject& mesh) { return mesh.ranks[0].rank(); },
          "The rank of this process; 0 for a simulated mesh.")
      .def_property_readonly(
          "size", [](const MeshObject& mesh) { return mesh.shape().size(); }, "The number of ranks.")
      .def_property_readonly(
          "sizes", [](const MeshObject& mesh) { return py::tuple(py::cast(mesh.shape().sizes())); },
          "The sizes of the axes.")
      .def_property_readonly(
          "names", [](const MeshObject& mesh) { return py::tuple(py::cast(mesh.shape().names())); },
          "The names of the axes.")
      .def_property_readonly("is_simulated", &MeshObject::is_simulated, "Whether all ranks are in this process.")
      .def(
          "agree",
          [](const MeshObject& mesh, const std::string& what) {
            if (!mesh.is_simulated()) running([&] { return mesh.ranks[0].agree(what), 0; });
          },
          py::arg("what"), "Returns once all ranks have come here, and raises where they say something else.")
      .def("__repr__", &MeshObject::repr);
  bind_methods(f);
  m.def("from_local", &from_parts, py::arg("mesh"), py::arg("parts"), py::arg("shape"), py::arg("splits"),
        "A tensor of `shape` whose parts the ranks have. `parts`: the tensor of this process's rank, of the shape that "
        "local() gives; for a simulated mesh a list of those of all ranks. They are computed and copied.");
}

}  // namespace strata::python
