#include "strata/mesh/mpi_library.h"

#include <dlfcn.h>
#include <link.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <charconv>
#include <cstdlib>
#include <exception>
#include <memory>
#include <mutex>
#include <set>
#include <utility>
#include <vector>

#include "strata/base/fork.h"
#include "strata/mesh/watchdog.h"
#include "strata/mesh/world.h"
#include "strata/runtime/plugin_folders.h"

namespace strata {

namespace {

/// Opens the plugin's file; null, and why, if that fails.
void* open_mpi_file(const std::string& path, std::string& why) {
  void* const handle = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
  const char* const reason = handle != nullptr ? "" : dlerror();
  why = reason != nullptr ? reason : "no reason given";
  return handle;
}

/// The MPI libraries that the process has loaded, by their files.
std::set<std::string> loaded_mpis() {
  std::set<std::string> out;
  const auto look = [](dl_phdr_info* info, std::size_t, void* context) {
    const std::string path = info->dlpi_name;
    const std::string name = path.substr(path.rfind('/') + 1);
    if (name.starts_with("libmpi.so") || name.starts_with("libmpich.so"))
      static_cast<std::set<std::string>*>(context)->insert(path);
    return 0;
  };
  dl_iterate_phdr(look, &out);
  return out;
}

/// The folders of plugins, STRATA_PLUGIN_DIR first: the plugin of another MPI goes before the one beside the program.
std::vector<std::string> mpi_folders() {
  std::vector<std::string> out = plugin_folders();
  const char* const chosen = std::getenv("STRATA_PLUGIN_DIR");
  const auto at = std::find(out.begin(), out.end(), chosen != nullptr ? chosen : "");
  if (at != out.end()) std::rotate(out.begin(), at, at + 1);
  return out;
}

Remedy mpi_remedy_for(const std::string& path, std::string_view why) {
  if (path.empty()) return {"libopenmpi-dev openmpi-bin", true};
  return why.find("No such file") != std::string_view::npos ? Remedy{"openmpi-bin"} : Remedy{};
}

std::string mpi_advice(const std::string& path, std::string_view why) {
  const std::string text = mpi_remedy_for(path, why).text();
  return text.empty() ? text : ": " + text;
}

/// The connections of the process. NOTE: never destroyed, because they end when the process exits.
struct Connections {
  std::mutex mutex;
  std::shared_ptr<World> whole;  // of all processes
  std::string refused;           // why there is none
  std::vector<std::shared_ptr<World>> worlds;
  bool is_connecting = false;  // the lock is not held meanwhile: MPI forks
  bool is_watched = false;
  std::terminate_handler before = nullptr;
};
Connections& connections() {
  static Connections& all = *new Connections;
  return all;
}

const ForkHook connections_hook(
    ForkOrder::backends, [] { connections().mutex.lock(); }, [] { connections().mutex.unlock(); });

/// While it lives, this thread connects.
class Connecting {
 public:
  Connecting() {
    const std::lock_guard lock(connections().mutex);
    STRATA_CHECK(!connections().is_connecting, undefined, "[mesh] another thread is connecting");
    connections().is_connecting = true;
  }
  Connecting(const Connecting&) = delete;
  Connecting& operator=(const Connecting&) = delete;
  ~Connecting() {
    const std::lock_guard lock(connections().mutex);
    connections().is_connecting = false;
  }
};

std::vector<std::shared_ptr<World>> connected() {
  const std::unique_lock lock(connections().mutex, std::try_to_lock);  // not where the process dies while connecting
  return lock.owns_lock() ? connections().worlds : std::vector<std::shared_ptr<World>>();
}

/// Tells the other ranks before the process dies of an exception.
[[noreturn]] void on_terminate() {
  for (const std::shared_ptr<World>& world : connected())
    world->fail(detail::message("[mesh] rank ", world->rank(), " ended by an exception that nobody caught"));
  if (connections().before != nullptr) connections().before();
  std::abort();
}

}  // namespace

const StrataMeshTable& open_mpi(std::span<const std::string> folders) {
  const std::string path = find_plugin(folders, kMpiPluginName);
  STRATA_CHECK(!path.empty(), undefined, "[mesh] no ", kMpiPluginName, sought_text(folders), mpi_advice(path, ""));
  std::string why;
  void* const handle = open_mpi_file(path, why);
  STRATA_CHECK(handle, undefined, "[mesh] ", path, " cannot be opened (", why, ")", mpi_advice(path, why));
  // Libraries of two MPIs have the same names inside: calls would go from one to the other.
  const std::set<std::string> loaded = loaded_mpis();
  STRATA_CHECK(loaded.size() < 2, undefined, "[mesh] two MPI libraries in one process: ", *loaded.begin(), " and ",
               *loaded.rbegin(), "; compile mpi_transport.c with the mpicc of the one that the program uses");
  const auto entry = reinterpret_cast<const StrataMeshTable* (*)()>(dlsym(handle, STRATA_MESH_ENTRY));
  const StrataMeshTable* const table = entry ? entry() : nullptr;
  STRATA_CHECK(table && table->abi_version == STRATA_MESH_ABI, undefined, "[mesh] ", path,
               " is of another version of Strata: compile mpi_transport.c again");
  return *table;
}

const StrataMeshTable& mpi_table() {
  static std::atomic<const StrataMeshTable*> opened{nullptr};
  if (const StrataMeshTable* const table = opened.load(std::memory_order_acquire)) return *table;
  const StrataMeshTable& table = open_mpi(mpi_folders());
  opened.store(&table, std::memory_order_release);
  return table;
}

std::string mpi_plugin_path() { return find_plugin(mpi_folders(), kMpiPluginName); }

std::string mpi_version() {
  std::array<char, STRATA_MESH_TEXT> text{};
  mpi_table().version(text.data());
  return text.data();
}

Remedy mpi_remedy() {
  const std::string path = mpi_plugin_path();
  std::string why;
  if (!path.empty()) open_mpi_file(path, why);
  return mpi_remedy_for(path, why);
}

std::optional<Launched> launched() {
  // The launcher that is nearest to the process first: mpirun may run inside of a step of Slurm.
  for (const char* const name : {"OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "MV2_COMM_WORLD_SIZE", "SLURM_STEP_NUM_TASKS"}) {
    const char* const text = std::getenv(name);
    if (text == nullptr) continue;
    const std::string_view digits = text;
    std::int64_t ranks = 0;
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), ranks);
    if (error == std::errc() && end == digits.data() + digits.size() && ranks >= 1) return Launched{name, ranks};
  }
  return std::nullopt;
}

std::string launcher_problem(const std::optional<Launched>& launcher, std::int64_t size, std::string_view version) {
  if (!launcher || launcher->ranks == 1 || size != 1) return {};
  return detail::message("[mesh] the launcher started ", launcher->ranks, " ranks (", launcher->variable, "=",
                         launcher->ranks, "), but MPI gives this process a world of its own: the plugin's library (",
                         version, ") does not know this launcher. Compile mpi_transport.c with the mpicc of the ",
                         "launcher, or start with the launcher of the library");
}

// --- worlds over MPI ---

std::shared_ptr<World> World::connect(const std::int32_t* communicator) {
  const StrataMeshTable& table = mpi_table();
  const Watchdog watchdog("connecting");
  StrataMeshWorld* world = nullptr;
  StrataMeshPlace place{};
  std::array<char, STRATA_MESH_TEXT> why{};
  const auto ending = [](void*) { end_all(); };
  STRATA_CHECK(table.connect(communicator, ending, nullptr, &world, &place, why.data()) == STRATA_MESH_OK, undefined,
               why.data());
  std::shared_ptr<World> out(new World(table, world, place, false));
  if (communicator == nullptr)
    if (std::string problem = launcher_problem(launched(), out->size_, out->version()); !problem.empty()) {
      table.disconnect(world);
      out->is_ended_ = true;
      throw Error(ErrorKind::undefined, problem);
    }
  out->find_hosts();
  Connections& all = connections();
  const std::lock_guard lock(all.mutex);
  all.worlds.push_back(out);
  if (!std::exchange(all.is_watched, true)) {
    all.before = std::set_terminate(on_terminate);
    STRATA_CHECK(std::atexit(end_all) == 0, budget, "[mesh] no more exit handlers");
  }
  return out;
}

std::shared_ptr<World> World::of_process() {
  const Connecting connecting;
  Connections& all = connections();
  STRATA_CHECK(all.refused.empty(), undefined, all.refused);
  if (all.whole != nullptr) return all.whole;
  mpi_table();  // where it is missing, it may be there the next time
  try {
    all.whole = connect(nullptr);
  } catch (const Error& error) {
    all.refused = error.what();
    throw;
  }
  return all.whole;
}

std::shared_ptr<World> World::of_communicator(std::int32_t fortran_handle) {
  const Connecting connecting;
  return connect(&fortran_handle);
}

// The latest first: MPI ends with the one that started it.
void World::end_all() {
  std::vector<std::shared_ptr<World>> worlds = connected();
  std::for_each(worlds.rbegin(), worlds.rend(), [](const std::shared_ptr<World>& world) { world->end(); });
}

}  // namespace strata
