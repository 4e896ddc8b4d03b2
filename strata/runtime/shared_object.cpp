#include "strata/runtime/shared_object.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <link.h>
#include <sys/mman.h>

#include <atomic>
#include <cstdint>
#include <cstring>

#include "strata/runtime/posix_io.h"

namespace strata {
namespace {

/// Reads the T at `offset`; false if `bytes` end before.
template <class T>
bool read_at(std::span<const std::byte> bytes, std::uint64_t offset, T& out) {
  if (offset > bytes.size() || bytes.size() - offset < sizeof(T)) return false;
  std::memcpy(&out, bytes.data() + offset, sizeof(T));
  return true;
}

/// A path to descriptor `fd` that this process has not used before. NOTE: the loader takes two files with the same path
/// for the same file, and the numbers of descriptors are reused. So the path encodes a counter: each bit is a detour,
/// "./" or "../fd/".
std::string fresh_path(int fd) {
  static std::atomic<std::uint64_t> calls{1};
  std::string path = "/proc/self/fd/";
  for (std::uint64_t number = calls.fetch_add(1, std::memory_order_relaxed); number != 0; number /= 2)
    path += number % 2 != 0 ? "../fd/" : "./";
  return path + std::to_string(fd);
}

void* open_library(const std::string& path, std::string& why) {
  void* const handle = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (handle == nullptr) {
    const char* text = dlerror();  // the error of this thread
    why = text != nullptr ? text : "no reason given";
  }
  return handle;
}

/// Loads from a memory file, which needs no disk and leaves nothing behind, however the process ends. Null if the
/// system forbids it.
void* load_from_memory(std::span<const std::byte> object, std::string& why) {
  const Fd file(memfd_create("strata-kernel", MFD_CLOEXEC));
  if (!file || !write_all(file.get(), object.data(), object.size())) {
    why = last_error_text();
    return nullptr;
  }
  return open_library(fresh_path(file.get()), why);
}

/// Loads from a file in a private folder, for systems without /proc, or where memory files must not be executed.
void* load_from_folder(std::span<const std::byte> object, std::string& why) {
  const PrivateFolder folder;
  const std::string path = folder.file("kernel.so");
  Fd file(open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0700));
  STRATA_CHECK(file && write_all(file.get(), object.data(), object.size()), budget, "[load] cannot write ",
               object.size(), " bytes to ", path, ": ", last_error_text());
  file.reset();
  return open_library(path, why);
}

}  // namespace

// NOTE: the loader maps the segments that the headers describe. Of a truncated file it would access pages that do not
// exist, and crash.
bool SharedObject::is_whole(std::span<const std::byte> object) {
  ElfW(Ehdr) header;
  if (!read_at(object, 0, header) || std::memcmp(header.e_ident, ELFMAG, SELFMAG) != 0) return false;
  if (header.e_phentsize != sizeof(ElfW(Phdr))) return false;
  for (std::uint64_t i = 0; i < header.e_phnum; ++i) {
    ElfW(Phdr) segment;
    if (!read_at(object, header.e_phoff + i * sizeof(segment), segment)) return false;
    if (segment.p_type != PT_LOAD) continue;
    if (segment.p_offset > object.size() || segment.p_filesz > object.size() - segment.p_offset) return false;
  }
  return true;
}

std::shared_ptr<const SharedObject> SharedObject::load(std::span<const std::byte> object) {
  STRATA_CHECK(is_whole(object), undefined, "[load] ", object.size(), " bytes are not a complete shared object");
  std::string why;
  void* handle = load_from_memory(object, why);
  // Not distinguished: whether the system forbids memory files, or the object is invalid. In the second case this
  // attempt fails, too.
  if (handle == nullptr) handle = load_from_folder(object, why);
  STRATA_CHECK(handle != nullptr, undefined, "[load] ", why);
  return std::shared_ptr<const SharedObject>(new SharedObject(handle));
}

std::shared_ptr<const SharedObject> SharedObject::open(const std::string& name) {
  std::string why;
  void* const handle = open_library(name, why);
  STRATA_CHECK(handle != nullptr, undefined, "[load] ", why);
  return std::shared_ptr<const SharedObject>(new SharedObject(handle));
}

SharedObject::~SharedObject() { dlclose(handle_); }

void* SharedObject::find(const std::string& symbol) const { return dlsym(handle_, symbol.c_str()); }

}  // namespace strata
