// Reading zip archives: the end record, the directory in front of it, and the places of the entries' bytes.
#include <algorithm>
#include <optional>

#include "strata/base/quotes.h"
#include "strata/nn/array_file.h"
#include "strata/nn/zip.h"
#include "strata/nn/zip_data.h"

namespace strata {
namespace {

constexpr std::size_t kLocalSize = 30, kEntrySize = 46, kEndSize = 22;
constexpr std::size_t kLocatorSize = 20, kWideEndSize = 56;
constexpr std::uint16_t kEncrypted = 1, kStored = 0, kDeflated = 8;
constexpr std::uint16_t kWideExtra = 1;

/// The place of the directory: position and size in bytes, and the number of entries.
struct Directory {
  std::uint64_t at = 0, size = 0, count = 0;
};

bool has_mark(std::span<const std::byte> bytes, std::string_view mark) { return text_of(bytes).starts_with(mark); }

/// The directory by the zip64 end record; nothing if there is none in front of the end record at `end`.
std::optional<Directory> wide_directory(const ByteSource& source, std::uint64_t end) {
  if (end < kLocatorSize) return std::nullopt;
  const std::uint64_t locator_at = end - kLocatorSize;
  const std::vector<std::byte> locator = source.read(locator_at, kLocatorSize);
  if (!has_mark(locator, "PK\6\7")) return std::nullopt;
  const auto record_at = load_little<std::uint64_t>(&locator[8]);
  if (record_at > locator_at || locator_at - record_at < kWideEndSize)
    source.fail("expected the zip64 end record in front of byte ", locator_at, ", found ", record_at);
  const std::vector<std::byte> record = source.read(record_at, kWideEndSize);
  const bool is_whole =
      has_mark(record, "PK\6\6") && load_little<std::uint64_t>(&record[4]) == locator_at - record_at - 12;
  if (!is_whole) source.fail("the zip64 end record at byte ", record_at, " is damaged");
  const auto disk = load_little<std::uint32_t>(&record[16]);
  const auto here = load_little<std::uint64_t>(&record[24]);
  const Directory out = {load_little<std::uint64_t>(&record[48]), load_little<std::uint64_t>(&record[40]),
                         load_little<std::uint64_t>(&record[32])};
  if (disk != 0 || here != out.count) source.fail("the archive is split over several files");
  if (out.size > record_at || out.at != record_at - out.size)
    source.fail("expected the directory in front of byte ", record_at, ", found ", out.size, " bytes at ", out.at);
  return out;
}

Directory find_directory(const ByteSource& source) {
  const std::uint64_t tail_size = std::min<std::uint64_t>(source.size(), kEndSize + kZipMost16);
  const std::vector<std::byte> tail = source.read(source.size() - tail_size, tail_size);
  for (std::size_t at = tail.size() < kEndSize ? 0 : tail.size() - kEndSize + 1; at-- > 0;) {
    const std::span<const std::byte> record = std::span(tail).subspan(at);
    const bool is_end =
        has_mark(record, "PK\5\6") && load_little<std::uint16_t>(&record[20]) == record.size() - kEndSize;
    if (!is_end) continue;
    const std::uint64_t end = source.size() - record.size();
    const Directory out = {load_little<std::uint32_t>(&record[16]), load_little<std::uint32_t>(&record[12]),
                           load_little<std::uint16_t>(&record[10])};
    if (out.count == kZipMost16 || out.size == kZipMost32 || out.at == kZipMost32)
      if (const auto wide = wide_directory(source, end)) return *wide;
    const bool is_one =
        load_little<std::uint16_t>(&record[4]) == 0 && load_little<std::uint16_t>(&record[8]) == out.count;
    if (!is_one) source.fail("the archive is split over several files");
    if (out.size > end || out.at != end - out.size)
      source.fail("expected the directory in front of byte ", end, ", found ", out.size, " bytes at ", out.at);
    return out;
  }
  source.fail("expected a zip archive, found no end record in ", source.size(), " bytes");
}

/// Reads the 64-bit fields of an entry from its zip64 extra field.
class WideFields {
 public:
  WideFields(const ByteSource& source, const std::string& name, std::span<const std::byte> extra)
      : source_(source), name_(name) {
    while (extra.size() >= 4) {
      const auto kind = load_little<std::uint16_t>(extra.data());
      const std::size_t size = load_little<std::uint16_t>(&extra[2]);
      if (size > extra.size() - 4) return;  // malformed: an error only if a wide field is needed
      if (kind == kWideExtra) {
        left_ = extra.subspan(4, size);
        return;
      }
      extra = extra.subspan(4 + size);
    }
  }
  /// `narrow`, or the next wide field if `narrow` has the value that refers to it.
  std::uint64_t next(std::uint32_t narrow) {
    if (narrow != kZipMost32) return narrow;
    if (left_.size() < 8) source_.fail("entry ", in_quotes(name_), " lacks its zip64 sizes");
    const auto out = load_little<std::uint64_t>(left_.data());
    left_ = left_.subspan(8);
    return out;
  }

 private:
  const ByteSource& source_;
  const std::string& name_;
  std::span<const std::byte> left_;
};

/// Reads the entry at the beginning of `left`, and removes it from `left`.
ZipEntry read_entry(const ByteSource& source, std::span<const std::byte>& left) {
  if (left.size() < kEntrySize || !has_mark(left, "PK\1\2"))
    source.fail("expected an entry of the directory ", left.size(), " bytes before its end");
  const std::size_t name = load_little<std::uint16_t>(&left[28]), extra = load_little<std::uint16_t>(&left[30]),
                    comment = load_little<std::uint16_t>(&left[32]);
  if (name + extra + comment > left.size() - kEntrySize)
    source.fail("an entry of ", kEntrySize + name + extra + comment, " bytes begins ", left.size(),
                " bytes before the directory's end");
  ZipEntry out;
  out.name = text_of(left.subspan(kEntrySize, name));
  if (!is_utf8(out.name) || out.name.find('\0') != std::string::npos)
    source.fail("the name ", in_quotes(out.name), " is not UTF-8 without NUL");
  if ((load_little<std::uint16_t>(&left[8]) & kEncrypted) != 0)
    source.fail("entry ", in_quotes(out.name), " is encrypted");
  const auto method = load_little<std::uint16_t>(&left[10]);
  if (method != kStored && method != kDeflated)
    source.fail("entry ", in_quotes(out.name), ": expected method 0 (stored) or 8 (deflated), found ", method);
  out.is_deflated = method == kDeflated;
  out.crc = load_little<std::uint32_t>(&left[16]);
  WideFields wide(source, out.name, left.subspan(kEntrySize + name, extra));
  out.size = wide.next(load_little<std::uint32_t>(&left[24]));
  out.packed_size = wide.next(load_little<std::uint32_t>(&left[20]));
  out.header_at = wide.next(load_little<std::uint32_t>(&left[42]));
  if (!out.is_deflated && out.size != out.packed_size)
    source.fail("entry ", in_quotes(out.name), " is stored with ", out.size, " bytes, but takes ", out.packed_size,
                " bytes");
  left = left.subspan(kEntrySize + name + extra + comment);
  return out;
}

/// Sets entry.data_at, the position behind the local header. Header and bytes must be in front of `end`, and the names
/// must agree.
void locate(const ByteSource& source, ZipEntry& entry, std::uint64_t end) {
  const auto fail = [&] {
    source.fail("entry ", in_quotes(entry.name), ": expected its header and ", entry.packed_size, " bytes at byte ",
                entry.header_at, ", in front of the directory at ", end);
  };
  if (entry.header_at > end || end - entry.header_at < kLocalSize) fail();
  const std::vector<std::byte> header = source.read(entry.header_at, kLocalSize);
  const std::size_t name = load_little<std::uint16_t>(&header[26]), extra = load_little<std::uint16_t>(&header[28]);
  const std::uint64_t room = end - entry.header_at - kLocalSize;
  if (!has_mark(header, "PK\3\4") || name + extra > room || entry.packed_size > room - name - extra) fail();
  const std::vector<std::byte> local_name = source.read(entry.header_at + kLocalSize, name);
  if (text_of(local_name) != entry.name)
    source.fail("entry ", in_quotes(entry.name), " has the name ", in_quotes(text_of(local_name)),
                " in the header before the data");
  entry.data_at = entry.header_at + kLocalSize + name + extra;
}

/// Checks that no name occurs twice, and that no bytes belong to two entries: a small file could claim huge contents
/// otherwise.
void check_apart(const ByteSource& source, const std::vector<ZipEntry>& entries) {
  std::vector<const ZipEntry*> order;
  for (const ZipEntry& entry : entries) order.push_back(&entry);
  std::sort(order.begin(), order.end(), [](auto* a, auto* b) { return a->name < b->name; });
  for (std::size_t k = 1; k < order.size(); ++k)
    if (order[k]->name == order[k - 1]->name) source.fail("entry ", in_quotes(order[k]->name), " is given twice");
  std::sort(order.begin(), order.end(), [](auto* a, auto* b) { return a->header_at < b->header_at; });
  for (std::size_t k = 1; k < order.size(); ++k)
    if (order[k]->header_at < order[k - 1]->data_at + order[k - 1]->packed_size)
      source.fail("entries ", in_quotes(order[k - 1]->name), " and ", in_quotes(order[k]->name), " overlap");
}

}  // namespace

std::vector<ZipEntry> zip_entries(const ByteSource& source) {
  const Directory directory = find_directory(source);
  if (directory.count > directory.size / kEntrySize)
    source.fail("expected ", directory.count, " entries, the directory has ", directory.size, " bytes");
  const std::vector<std::byte> bytes = source.read(directory.at, directory.size);
  std::span<const std::byte> left = bytes;
  std::vector<ZipEntry> out;
  for (std::uint64_t k = 0; k < directory.count; ++k) {
    out.push_back(read_entry(source, left));
    locate(source, out.back(), directory.at);
  }
  if (!left.empty())
    source.fail("expected ", directory.count, " entries, ", left.size(), " bytes of the directory are left");
  check_apart(source, out);
  return out;
}

std::vector<std::byte> zip_contents(const ByteSource& source, const ZipEntry& entry) {
  std::vector<std::byte> out = source.read(entry.data_at, entry.packed_size);
  if (entry.is_deflated) {
    const ByteSource packed("npz", out, detail::message(source.name(), ": entry ", in_quotes(entry.name)));
    out = inflate(packed, out, entry.size);
  }
  if (const std::uint32_t crc = crc32(out); crc != entry.crc)
    source.fail("entry ", in_quotes(entry.name), ": expected the check sum ", entry.crc, ", found ", crc);
  return out;
}

}  // namespace strata
