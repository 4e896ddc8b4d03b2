// Zip archives for npz.h, as NumPy writes them (PKWARE's APPNOTE.TXT 6.3). zip_entries() and zip_contents() read
// entries that are stored or deflated; ZipWriter writes stored ones. Both handle zip64: a size, count or position that
// does not fit its narrow field of 16 or 32 bits is in a wide field of 64 bits.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "strata/nn/byte_io.h"

namespace strata {

/// The largest values of the narrow fields. A field with this value says: the number is in the wide field.
inline constexpr std::uint32_t kZipMost32 = 0xFFFFFFFF;
inline constexpr std::uint16_t kZipMost16 = 0xFFFF;

/// An entry of the archive's directory. All sizes and positions are in bytes.
struct ZipEntry {
  std::string name;  ///< UTF-8 without NUL
  bool is_deflated = false;
  std::uint32_t crc = 0;          ///< CRC-32 of the uncompressed contents
  std::uint64_t packed_size = 0;  ///< of the contents in the file
  std::uint64_t size = 0;         ///< of the uncompressed contents
  /// Positions in the file: of the local header, of the contents.
  std::uint64_t header_at = 0, data_at = 0;
};

/// The entries in the order of the archive's directory. @post their bytes lie inside the file and do not overlap: a
///   small file cannot claim to hold huge contents many times
/// @throws Error (parse) if the source is not a zip archive, or is encrypted, split, compressed with another method, or
/// has a name twice
std::vector<ZipEntry> zip_entries(const ByteSource& source);

/// The uncompressed contents of an entry. @throws Error (parse) if the size or the checksum differs, (undefined)
/// without zlib
std::vector<std::byte> zip_contents(const ByteSource& source, const ZipEntry& entry);

/// Writes an archive of stored entries. The same contents give the same bytes: the date of every entry is 1980-01-01.
class ZipWriter {
 public:
  /// Numbers >= `most32` or >= `most16` are written in wide fields. Tests pass smaller limits to get zip64 archives of
  /// few bytes, which are legal, but longer than necessary.
  explicit ZipWriter(std::uint64_t most32 = kZipMost32, std::uint64_t most16 = kZipMost16)
      : most32_(most32), most16_(most16) {}
  /// Appends an entry. @pre the name is UTF-8 of less than 65,536 bytes  @throws Error (undefined) without zlib
  void add(const std::string& name, BytePieces contents);
  /// The archive: all entries, then the directory.
  BytePieces finish() &&;

 private:
  std::uint64_t most32_, most16_;
  BytePieces out_;
  std::uint64_t size_ = 0;  // of out_
  std::uint64_t count_ = 0;
  std::string directory_;
};

}  // namespace strata
