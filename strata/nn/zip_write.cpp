// Writing zip archives.
#include <algorithm>

#include "strata/nn/zip.h"
#include "strata/nn/zip_data.h"

namespace strata {
namespace {

constexpr std::uint16_t kDate = 1 << 5 | 1;  // 1980-01-01
constexpr std::uint16_t kUtf8Names = 1 << 11;
constexpr std::uint16_t kVersion = 20, kWideVersion = 45;
constexpr std::uint16_t kUnix = 3 << 8;
constexpr std::uint32_t kFileMode = 0644U << 16;

/// The concatenation of the fields in little-endian order, each as wide as its type.
template <class... Fields>
std::string fields(Fields... each) {
  std::string out;
  (append_little(out, each), ...);
  return out;
}
std::uint16_t u16(std::uint64_t number) { return static_cast<std::uint16_t>(number); }
std::uint32_t u32(std::uint64_t number) { return static_cast<std::uint32_t>(number); }

/// The fields that the local header and the directory entry have in common: from the flags to the length of the name.
std::string common_fields(const std::string& name, std::uint32_t crc, std::uint32_t size) {
  const bool ascii = std::all_of(name.begin(), name.end(), [](char c) { return static_cast<unsigned char>(c) < 0x80; });
  constexpr std::uint16_t stored = 0, time = 0;
  return fields(ascii ? std::uint16_t{0} : kUtf8Names, stored, time, kDate, crc, size, size, u16(name.size()));
}

}  // namespace

void ZipWriter::add(const std::string& name, BytePieces contents) {
  const std::uint64_t size = contents.size(), at = size_;
  std::uint32_t crc = 0;
  for (const std::span<const std::byte> bytes : contents.spans()) crc = crc32(bytes, crc);
  const bool is_wide = size >= most32_, is_far = at >= most32_;
  const std::string common = common_fields(name, crc, is_wide ? kZipMost32 : u32(size));

  std::string extra;
  if (is_wide) extra = fields(std::uint16_t{1}, std::uint16_t{16}, size, size);
  std::string local = detail::message("PK\3\4", fields(is_wide ? kWideVersion : kVersion), common,
                                      fields(u16(extra.size())), name, extra);
  size_ += local.size() + size;
  out_.add(std::move(local));
  out_.add(std::move(contents));

  const std::uint16_t version = is_wide || is_far ? kWideVersion : kVersion;
  if (is_wide || is_far) {
    extra = fields(std::uint16_t{1}, u16(is_wide && is_far ? 24 : is_wide ? 16 : 8));
    if (is_wide) extra += fields(size, size);
    if (is_far) extra += fields(at);
  }
  constexpr std::uint16_t comment = 0, disk = 0, internal = 0;
  directory_ += detail::message(
      "PK\1\2", fields(u16(kUnix | version), version), common,
      fields(u16(extra.size()), comment, disk, internal, kFileMode, is_far ? kZipMost32 : u32(at)), name, extra);
  ++count_;
}

BytePieces ZipWriter::finish() && {
  const std::uint64_t at = size_, size = directory_.size();
  const bool is_wide = count_ >= most16_ || size >= most32_ || at >= most32_;
  constexpr std::uint16_t disk16 = 0, comment = 0;
  constexpr std::uint32_t disk = 0, disks = 1;
  constexpr std::uint64_t rest = 44;  // the size of the zip64 end record behind this field
  if (is_wide)
    directory_ += detail::message(
        "PK\6\6", fields(rest, u16(kUnix | kWideVersion), kWideVersion, disk, disk, count_, count_, size, at), "PK\6\7",
        fields(disk, at + size, disks));
  const std::uint16_t count16 = is_wide ? kZipMost16 : u16(count_);
  directory_ += detail::message("PK\5\6", fields(disk16, disk16, count16, count16, is_wide ? kZipMost32 : u32(size),
                                                 is_wide ? kZipMost32 : u32(at), comment));
  out_.add(std::move(directory_));
  return std::move(out_);
}

}  // namespace strata
