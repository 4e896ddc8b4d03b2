// Zip archives as NumPy makes them: entries that are stored or deflated, with the wide fields (zip64) where they are
// needed. The format is that of PKWARE's APPNOTE.TXT 6.3.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "strata/nn/byte_io.h"

namespace strata {

/// The most that fields of 32 and of 16 bits hold, which says that the number is in a wide field.
inline constexpr std::uint32_t kZipMost32 = 0xFFFFFFFF;
inline constexpr std::uint16_t kZipMost16 = 0xFFFF;

struct ZipEntry {
  std::string name;  ///< UTF-8 without NUL
  bool is_deflated = false;
  std::uint32_t crc = 0;          ///< CRC-32 of what is in it
  std::uint64_t packed_size = 0;  ///< in the file
  std::uint64_t size = 0;
  std::uint64_t header_at = 0, data_at = 0;  ///< positions in the file
};

/// The entries in the order of the archive's directory; their bytes lie in the file and do not overlap.
/// @throws Error (parse) for what is no zip archive, is encrypted, split, compressed otherwise, or has a name twice
std::vector<ZipEntry> zip_entries(const ByteSource& source);

/// What is in an entry. @throws Error (parse) where size or check sum are others, (undefined) without zlib
std::vector<std::byte> zip_contents(const ByteSource& source, const ZipEntry& entry);

/// Makes an archive of stored entries, the same bytes for the same contents: the date is always 1980-01-01.
class ZipWriter {
 public:
  /// Numbers from `most32` and `most16` on are written in wide fields; anything less than the format's limits makes
  /// archives that are legal and longer than need be.
  explicit ZipWriter(std::uint64_t most32 = kZipMost32, std::uint64_t most16 = kZipMost16)
      : most32_(most32), most16_(most16) {}
  /// @pre the name is UTF-8 of less than 65,536 bytes. @throws Error (undefined) without zlib
  void add(const std::string& name, BytePieces contents);
  BytePieces finish() &&;

 private:
  std::uint64_t most32_, most16_;
  BytePieces out_;
  std::uint64_t size_ = 0;  // of out_
  std::uint64_t count_ = 0;
  std::string directory_;
};

}  // namespace strata
