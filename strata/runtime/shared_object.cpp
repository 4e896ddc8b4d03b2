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

/// The T at `offset`, if all of it is there.
template <class T>
bool read_at(std::span<const std::byte> bytes, std::uint64_t offset, T& out) {
  if (offset > bytes.size() || bytes.size() - offset < sizeof(T)) return false;
  std::memcpy(&out, bytes.data() + offset, sizeof(T));
  return true;
}

/// A path to descriptor `fd` that this process has not used before. NOTE: the loader takes two files of one name
/// for the same one, and descriptors are used again. So each bit of a running number is written as a detour.
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
    const char* text = dlerror();  // of this thread
    why = text != nullptr ? text : "no reason given";
  }
  return handle;
}

/// From memory: needs no disk, and leaves nothing behind however the process ends. Null where the system forbids it.
void* load_from_memory(std::span<const std::byte> object, std::string& why) {
  const Fd file(memfd_create("strata-kernel", MFD_CLOEXEC));
  if (!file || !write_all(file.get(), object.data(), object.size())) {
    why = last_error_text();
    return nullptr;
  }
  return open_library(fresh_path(file.get()), why);
}

/// From a file in a private folder, where /proc is missing or memory may not be executed from.
void* load_from_folder(std::span<const std::byte> object, std::string& why) {
  const PrivateFolder folder;
  const std::string path = folder.file("kernel.so");
  Fd file(open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0700));
  STRATA_CHECK(file && write_all(file.get(), object.data(), object.size()), budget,
               "[load] cannot write ", object.size(), " bytes to ", path, ": ", last_error_text());
  file.reset();
  return open_library(path, why);
}

}  // namespace

// NOTE: the loader maps what the headers say; of a file that was cut off it would touch pages that
// do not exist.
bool SharedObject::is_whole(std::span<const std::byte> object) {
  ElfW(Ehdr) header;
  if (!read_at(object, 0, header) || std::memcmp(header.e_ident, ELFMAG, SELFMAG) != 0)
    return false;
  if (header.e_phentsize != sizeof(ElfW(Phdr))) return false;
  for (std::uint64_t i = 0; i < header.e_phnum; ++i) {
    ElfW(Phdr) segment;
    if (!read_at(object, header.e_phoff + i * sizeof(segment), segment)) return false;
    if (segment.p_type != PT_LOAD) continue;
    if (segment.p_offset > object.size() || segment.p_filesz > object.size() - segment.p_offset)
      return false;
  }
  return true;
}

std::shared_ptr<const SharedObject> SharedObject::load(std::span<const std::byte> object) {
  STRATA_CHECK(is_whole(object), undefined, "[load] ", object.size(),
               " bytes are not a complete shared object");
  std::string why;
  void* handle = load_from_memory(object, why);
  // What the loader says of the object itself holds for a file, too; the second attempt finds that out.
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
