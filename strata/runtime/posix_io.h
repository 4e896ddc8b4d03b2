// Descriptors that close themselves, transfers that a signal does not cut short, folders that remove themselves.
#pragma once

#include <cstddef>
#include <string>
#include <utility>

namespace strata {

/// An open file descriptor, or none.
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
  void reset(int fd = -1);  ///< errno stays as it is
  int release() { return std::exchange(fd_, -1); }

 private:
  int fd_ = -1;
};

/// The system's words for errno.
std::string last_error_text();

/// Writes all of it, or returns false with errno set: EFBIG where the process may not make files of that size,
/// instead of the signal that would end it.
[[nodiscard]] bool write_all(int fd, const void* data, std::size_t bytes);
/// Reads exactly `bytes`, or returns false: with errno set, to 0 where the file ends before.
[[nodiscard]] bool read_exactly(int fd, void* data, std::size_t bytes);

/// A new folder that only this user can enter, under TMPDIR or /tmp; removed, with what is in it, at the end.
class PrivateFolder {
 public:
  /// @throws Error (budget) with the system's reason where none can be made.
  PrivateFolder();
  PrivateFolder(const PrivateFolder&) = delete;
  PrivateFolder& operator=(const PrivateFolder&) = delete;
  ~PrivateFolder();

  const std::string& path() const { return path_; }
  std::string file(const char* name) const;

 private:
  std::string path_;
};

}  // namespace strata
