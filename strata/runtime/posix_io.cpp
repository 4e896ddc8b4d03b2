#include "strata/runtime/posix_io.h"

#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <system_error>

#include "strata/base/check.h"

namespace strata {
namespace {

constexpr std::size_t kMostAtOnce = std::size_t{1} << 30;  // the most bytes of one call, which every system accepts

/// Whether the process's limit on file sizes (RLIMIT_FSIZE) allows writing `bytes` to `fd`.
bool may_write(int fd, std::size_t bytes) {
  rlimit limit{};
  if (getrlimit(RLIMIT_FSIZE, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) return true;
  const off_t at = lseek(fd, 0, SEEK_CUR);  // -1: a pipe or terminal, which has no size
  return at < 0 || (static_cast<rlim_t>(at) <= limit.rlim_cur && bytes <= limit.rlim_cur - static_cast<rlim_t>(at));
}

}  // namespace

void Fd::reset(int fd) {
  const int before = errno;
  if (fd_ >= 0) close(fd_);  // not repeated after EINTR: on Linux the descriptor is closed then, too
  fd_ = fd;
  errno = before;
}

std::string last_error_text() { return std::error_code(errno, std::generic_category()).message(); }

bool write_all(int fd, const void* data, std::size_t bytes) {
  if (!may_write(fd, bytes)) {
    errno = EFBIG;
    return false;
  }
  const char* at = static_cast<const char*>(data);
  while (bytes != 0) {
    const ssize_t count = write(fd, at, std::min(bytes, kMostAtOnce));
    if (count < 0 && errno == EINTR) continue;
    if (count == 0) errno = ENOSPC;
    if (count <= 0) return false;
    at += count;
    bytes -= static_cast<std::size_t>(count);
  }
  return true;
}

bool read_exactly(int fd, void* data, std::size_t bytes) {
  char* at = static_cast<char*>(data);
  while (bytes != 0) {
    const ssize_t count = read(fd, at, std::min(bytes, kMostAtOnce));
    if (count < 0 && errno == EINTR) continue;
    if (count == 0) errno = 0;
    if (count <= 0) return false;
    at += count;
    bytes -= static_cast<std::size_t>(count);
  }
  return true;
}

PrivateFolder::PrivateFolder() {
  const char* parent = std::getenv("TMPDIR");
  path_ = parent != nullptr && *parent == '/' ? parent : "/tmp";
  path_ += "/strata-XXXXXX";
  STRATA_CHECK(mkdtemp(path_.data()) != nullptr, budget, "[temporary folder] cannot make ", path_, ": ",
               last_error_text());
}

PrivateFolder::~PrivateFolder() {
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
}

std::string PrivateFolder::file(const char* name) const { return detail::message(path_, "/", name); }

}  // namespace strata
