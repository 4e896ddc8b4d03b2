// The input and output of the array formats. A ByteSource reads bytes at any position of a file or of a span;
// BytePieces collects texts and buffers, and writes them as one file atomically. npy.h, zip.h and safetensors.h parse
// from the first and write through the second.
#pragma once

#include <bit>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "strata/base/check.h"
#include "strata/runtime/buffer.h"
#include "strata/runtime/posix_io.h"

namespace strata {

/// The unsigned integer that is stored at `at` in little-endian order. `at` needs no alignment.
template <std::unsigned_integral T>
T load_little(const std::byte* at) {
  T out = 0;
  for (std::size_t k = sizeof(T); k-- > 0;)
    out = static_cast<T>(std::uint64_t{out} << 8 | static_cast<std::uint64_t>(at[k]));
  return out;
}
/// Appends the sizeof(T) bytes of `number` in little-endian order.
template <std::unsigned_integral T>
void append_little(std::string& out, T number) {
  for (std::size_t k = 0; k < sizeof(T); ++k)
    out += static_cast<char>(static_cast<unsigned char>(std::uint64_t{number} >> (8 * k)));
}

/// The bytes of `elements`. @throws Error (domain) if the host does not see the buffer's memory
std::span<std::byte> bytes_of(const Buffer& elements);
/// The same bytes as a string_view, for parsers.
inline std::string_view text_of(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}
/// Reverses the byte order of every element in place.
void swap_bytes(const Buffer& elements);
/// True on a big-endian machine: elements need swap_bytes() on the way to and from a little-endian file.
inline constexpr bool kSwapsLittle = std::endian::native != std::endian::little;

/// Bytes to be parsed: a span, or a regular file that is read on demand. Every error message begins with "[operation]
/// name: ", e.g.
/// "[npy] weights.npy: ".
class ByteSource {
 public:
  /// @pre the bytes outlive the source
  ByteSource(std::string_view operation, std::span<const std::byte> bytes, std::string name = "the bytes")
      : operation_(operation), name_(std::move(name)), bytes_(bytes), size_(bytes.size()) {}
  /// Opens `path`. @throws Error (parse) with the system's reason if `path` is not a regular file or cannot be opened
  static ByteSource file(std::string_view operation, const std::string& path);

  const std::string& name() const { return name_; }
  std::uint64_t size() const { return size_; }
  /// Copies to.size() bytes, beginning with byte `at`. @throws Error (parse) if the source ends before, or the read
  /// fails
  void read(std::uint64_t at, std::span<std::byte> to) const;
  std::vector<std::byte> read(std::uint64_t at, std::uint64_t count) const;
  /// Maps the whole file copy-on-write: a write to the pages stays in this process. Returns null for a span, for an
  /// empty file, and if the system refuses. NOTE: if another process truncates the file, reading a lost page raises
  /// SIGBUS.
  std::shared_ptr<std::byte> map() const;

  /// Always throws Error (parse). Its message is the prefix of the class, then the parts.
  template <class... Parts>
  [[noreturn]] void fail(const Parts&... parts) const {
    fail_at(0, parts...);
  }
  /// The same, and Error::column() is `column`: the 1-based place of the fault in the text.
  template <class... Parts>
  [[noreturn]] void fail_at(std::size_t column, const Parts&... parts) const {
    throw Error(ErrorKind::parse, detail::message("[", operation_, "] ", name_, ": ", parts...), column);
  }

 private:
  std::string operation_, name_;
  std::span<const std::byte> bytes_;
  Fd file_;
  std::uint64_t size_;
};

/// Bytes to be written: a sequence of texts and buffers. The buffers are shared, not copied, until the file is written.
class BytePieces {
 public:
  void add(std::string text) { pieces_.emplace_back(std::move(text)); }
  /// @pre the host sees the memory of `elements`
  void add(Buffer elements) { pieces_.emplace_back(std::move(elements)); }
  void add(BytePieces pieces);

  std::uint64_t size() const;
  std::vector<std::span<const std::byte>> spans() const;  ///< valid until the next add()
  std::vector<std::byte> join() const;
  /// Writes the file `path` atomically: a temporary file in the same folder is written, synchronized, then renamed to
  /// `path`. A reader sees the old file or the complete new one. If `path` is a symbolic link, the file that it points
  /// to is replaced.
  /// @throws Error (budget) with the system's reason if that fails; the old file is then unchanged
  void write(std::string_view operation, const std::string& path) const;

 private:
  std::vector<std::variant<std::string, Buffer>> pieces_;
};

}  // namespace strata
