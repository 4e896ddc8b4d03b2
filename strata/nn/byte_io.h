// What array files are read from and written with: bytes at any position of a file or of memory; pieces that become a
// file in one step.
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

/// The number whose bytes in little-endian order start at `at`.
template <std::unsigned_integral T>
T load_little(const std::byte* at) {
  T out = 0;
  for (std::size_t k = sizeof(T); k-- > 0;)
    out = static_cast<T>(std::uint64_t{out} << 8 | static_cast<std::uint64_t>(at[k]));
  return out;
}
template <std::unsigned_integral T>
void append_little(std::string& out, T number) {
  for (std::size_t k = 0; k < sizeof(T); ++k)
    out += static_cast<char>(static_cast<unsigned char>(std::uint64_t{number} >> (8 * k)));
}

/// The bytes of a buffer that the host sees.
std::span<std::byte> bytes_of(const Buffer& elements);
/// Bytes as text, for parsers.
inline std::string_view text_of(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}
/// Turns the bytes of every element around.
void swap_bytes(const Buffer& elements);
/// Whether elements of this machine have to be turned around for a file with little-endian ones.
inline constexpr bool kSwapsLittle = std::endian::native != std::endian::little;

/// Bytes to be parsed: a span or a regular file. Messages begin with the operation and say where the bytes are from.
class ByteSource {
 public:
  /// @pre the bytes outlive this
  ByteSource(std::string_view operation, std::span<const std::byte> bytes,
             std::string name = "the bytes")
      : operation_(operation), name_(std::move(name)), bytes_(bytes), size_(bytes.size()) {}
  /// @throws Error (parse) with the system's reason where `path` is no regular file that can be read
  static ByteSource file(std::string_view operation, const std::string& path);

  const std::string& name() const { return name_; }
  std::uint64_t size() const { return size_; }
  /// Copies the bytes from `at` on. @throws Error (parse) where they are not there
  void read(std::uint64_t at, std::span<std::byte> to) const;
  std::vector<std::byte> read(std::uint64_t at, std::uint64_t count) const;
  /// The whole file as private memory: what is written to it stays in this process. Null where it cannot be mapped.
  /// NOTE: the system ends a process that reads mapped bytes which somebody has cut off the file meanwhile.
  std::shared_ptr<std::byte> map() const;

  /// @throws Error (parse) with the parts as its message, always
  template <class... Parts>
  [[noreturn]] void fail(const Parts&... parts) const {
    fail_at(0, parts...);
  }
  /// The same with the 1-based column of the text at fault.
  template <class... Parts>
  [[noreturn]] void fail_at(std::size_t column, const Parts&... parts) const {
    throw Error(ErrorKind::parse, detail::message("[", operation_, "] ", name_, ": ", parts...),
                column);
  }

 private:
  std::string operation_, name_;
  std::span<const std::byte> bytes_;
  Fd file_;
  std::uint64_t size_;
};

/// Bytes to be written: texts and elements, one after the other.
class BytePieces {
 public:
  void add(std::string text) { pieces_.emplace_back(std::move(text)); }
  /// @pre the host sees the elements
  void add(Buffer elements) { pieces_.emplace_back(std::move(elements)); }
  void add(BytePieces pieces);

  std::uint64_t size() const;
  std::vector<std::span<const std::byte>> spans() const;  ///< valid until the next add()
  std::vector<std::byte> join() const;
  /// Writes the file `path` in one step: until everything is on the disk, what was there before stays.
  /// @throws Error (budget) with the system's reason where that does not work: then nothing has changed
  void write(std::string_view operation, const std::string& path) const;

 private:
  std::vector<std::variant<std::string, Buffer>> pieces_;
};

}  // namespace strata
