// Wrappers of POSIX input and output: Fd, a descriptor that closes itself; write_all() and read_exactly(), which
// complete a transfer in spite of signals and short writes; PrivateFolder, a temporary folder. The disk cache,
// subprocesses, traces and array files use them.
#pragma once

#include <cstddef>
#include <string>
#include <utility>

namespace strata {

/// An owned file descriptor, or none. Move-only.
class Fd {
 public:
  Fd() = default;
  explicit Fd(int fd) : fd_(fd) {}
  Fd(Fd&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  Fd& operator=(Fd&& other) noexcept {
    if (this != &other) reset(std::exchange(other.fd_, -1));
    return *this;
  }
  ~Fd() { reset(); }

  explicit operator bool() const { return fd_ >= 0; }
  int get() const { return fd_; }
  void reset(int fd = -1);                          ///< closes the descriptor and takes `fd`; keeps errno
  int release() { return std::exchange(fd_, -1); }  ///< gives up the descriptor without closing it

 private:
  int fd_ = -1;
};

/// The system's message for errno, e.g. "No such file or directory".
std::string last_error_text();

/// Writes all `bytes`. On failure returns false and sets errno: EFBIG if the file would exceed the process's limit on
/// file sizes, which is checked first, because the system's answer is a signal that ends the process.
[[nodiscard]] bool write_all(int fd, const void* data, std::size_t bytes);
/// Reads exactly `bytes`. On failure returns false and sets errno, to 0 if the file ends before.
[[nodiscard]] bool read_exactly(int fd, void* data, std::size_t bytes);

/// A new folder under TMPDIR or /tmp that only this user can access. The destructor removes it with its contents.
class PrivateFolder {
 public:
  /// @throws Error (budget) with the system's reason if the folder cannot be created
  PrivateFolder();
  PrivateFolder(const PrivateFolder&) = delete;
  PrivateFolder& operator=(const PrivateFolder&) = delete;
  ~PrivateFolder();

  const std::string& path() const { return path_; }
  std::string file(const char* name) const;  ///< the path of a file in the folder

 private:
  std::string path_;
};

}  // namespace strata
