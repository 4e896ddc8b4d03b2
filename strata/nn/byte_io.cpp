#include "strata/nn/byte_io.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <optional>

#include "strata/base/quotes.h"

namespace strata {
namespace {

bool is_path(const std::string& text) { return !text.empty() && text.find('\0') == std::string::npos; }
/// The name of a file in messages: in quotes, escaped, if it is not a legal path, because a NUL would end the message.
std::string shown(const std::string& path) { return is_path(path) ? path : in_quotes(path); }

template <class T>
void swap_each(std::span<std::byte> bytes) {
  for (std::size_t at = 0; at < bytes.size(); at += sizeof(T)) std::reverse(&bytes[at], &bytes[at] + sizeof(T));
}

/// A temporary file in the folder of its target, which finish() renames to the target. Without finish() the destructor
/// deletes it.
class Replacement {
 public:
  Replacement(std::string_view operation, const std::string& path) : operation_(operation), path_(path) {
    refuse_unless(is_path(path), "it is not a path");
    find_target();
    const std::filesystem::path folder = std::filesystem::path(target_).parent_path();
    std::uint64_t random = 0;
    check(getentropy(&random, sizeof random) == 0);
    const std::string name = detail::message(".strata-", random, ".tmp");
    temporary_ = (folder / name).string();
    file_ = Fd(open(temporary_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666));
    check(static_cast<bool>(file_));
  }
  Replacement(const Replacement&) = delete;
  Replacement& operator=(const Replacement&) = delete;
  ~Replacement() {
    if (file_) unlink(temporary_.c_str());
  }

  void write(std::span<const std::byte> bytes) { check(write_all(file_.get(), bytes.data(), bytes.size())); }
  /// Synchronizes the file and renames it to the target. Some file systems report a full disk only here.
  void finish() {
    if (mode_) check(fchmod(file_.get(), *mode_) == 0);
    check(fsync(file_.get()) == 0);
    check(rename(temporary_.c_str(), target_.c_str()) == 0);
    file_.reset();
  }

 private:
  void refuse_unless(bool holds, const std::string& reason) const {
    STRATA_CHECK(holds, budget, "[", operation_, "] cannot write ", shown(path_), ": ", reason);
  }
  /// refuse_unless() with the system's reason, for the result of a system call.
  void check(bool holds) const {
    if (!holds) refuse_unless(false, last_error_text());
  }
  /// Sets target_: the file that a symbolic link points to, so that the link stays; else the path. Refuses devices and
  /// folders.
  void find_target() {
    std::error_code error;
    target_ = path_;
    if (std::filesystem::is_symlink(path_, error)) {
      target_ = std::filesystem::canonical(path_, error).string();
      refuse_unless(!error, error.message());
    }
    struct stat status{};
    if (stat(target_.c_str(), &status) != 0)
      return;  // the target does not exist; a missing folder shows when the file is opened
    refuse_unless(S_ISREG(status.st_mode), "it is not a regular file");
    mode_ = status.st_mode & 07777U;
  }

  std::string operation_, path_, target_, temporary_;
  std::optional<mode_t> mode_;  // the mode of the file that is replaced
  Fd file_;                     // open as long as the temporary file exists
};

}  // namespace

std::span<std::byte> bytes_of(const Buffer& elements) {
  return {static_cast<std::byte*>(elements.data()), elements.nbytes()};
}

void swap_bytes(const Buffer& elements) {
  const std::span<std::byte> bytes = bytes_of(elements);
  switch (elements.dtype().itemsize()) {
    case 2: return swap_each<std::uint16_t>(bytes);
    case 4: return swap_each<std::uint32_t>(bytes);
    case 8: return swap_each<std::uint64_t>(bytes);
    default: return;
  }
}

ByteSource ByteSource::file(std::string_view operation, const std::string& path) {
  ByteSource out(operation, {}, shown(path));
  if (!is_path(path)) out.fail("it is not a path");
  // O_NONBLOCK: opening a pipe without a writer must not block; it is refused below.
  out.file_ = Fd(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  struct stat status{};
  if (!out.file_ || fstat(out.file_.get(), &status) != 0) out.fail("cannot read it: ", last_error_text());
  if (!S_ISREG(status.st_mode)) out.fail("it is not a regular file");
  out.size_ = static_cast<std::uint64_t>(status.st_size);
  return out;
}

void ByteSource::read(std::uint64_t at, std::span<std::byte> to) const {
  if (at > size_ || to.size() > size_ - at)
    fail("expected ", to.size(), " bytes from byte ", at, " on, the end is at byte ", size_);
  if (to.empty()) return;
  if (!file_) {
    std::memcpy(to.data(), bytes_.data() + at, to.size());
    return;
  }
  const bool there =
      lseek(file_.get(), static_cast<off_t>(at), SEEK_SET) >= 0 && read_exactly(file_.get(), to.data(), to.size());
  if (!there) fail("cannot read it: ", errno == 0 ? "it has become shorter" : last_error_text());
}

std::vector<std::byte> ByteSource::read(std::uint64_t at, std::uint64_t count) const {
  if (at > size_ || count > size_ - at)  // checked before the memory is allocated
    fail("expected ", count, " bytes from byte ", at, " on, the end is at byte ", size_);
  std::vector<std::byte> out(count);
  read(at, out);
  return out;
}

std::shared_ptr<std::byte> ByteSource::map() const {
  if (!file_ || size_ == 0) return nullptr;
  void* const at = mmap(nullptr, size_, PROT_READ | PROT_WRITE, MAP_PRIVATE, file_.get(), 0);
  if (at == MAP_FAILED) return nullptr;
  const std::size_t size = size_;
  return {static_cast<std::byte*>(at), [size](std::byte* first) { munmap(first, size); }};
}

void BytePieces::add(BytePieces pieces) {
  for (auto& piece : pieces.pieces_) pieces_.push_back(std::move(piece));
}

std::uint64_t BytePieces::size() const {
  std::uint64_t out = 0;
  for (const std::span<const std::byte> bytes : spans()) out += bytes.size();
  return out;
}

std::vector<std::span<const std::byte>> BytePieces::spans() const {
  std::vector<std::span<const std::byte>> out;
  for (const auto& piece : pieces_) {
    if (const auto* const text = std::get_if<std::string>(&piece))
      out.push_back(std::as_bytes(std::span(*text)));
    else
      out.push_back(bytes_of(std::get<Buffer>(piece)));
  }
  return out;
}

std::vector<std::byte> BytePieces::join() const {
  std::vector<std::byte> out;
  out.reserve(size());
  for (const std::span<const std::byte> bytes : spans()) out.insert(out.end(), bytes.begin(), bytes.end());
  return out;
}

void BytePieces::write(std::string_view operation, const std::string& path) const {
  Replacement file(operation, path);
  for (const std::span<const std::byte> bytes : spans()) file.write(bytes);
  file.finish();
}

}  // namespace strata
