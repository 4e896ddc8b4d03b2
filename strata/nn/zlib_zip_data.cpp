// Checksums and decompression by zlib; see zip_data.h.
#include <zlib.h>

#include <algorithm>

#include "strata/nn/zip_data.h"

namespace strata {
namespace {

constexpr std::uint64_t kFirstGuess = std::uint64_t{1} << 16;
constexpr std::size_t kMostAtOnce = std::size_t{1} << 30;  // zlib's counters have 32 bits

/// The decompressor of a raw deflate stream.
class Inflater {
 public:
  explicit Inflater(const ByteSource& source) {
    if (inflateInit2(&stream_, -MAX_WBITS) != Z_OK) source.fail("zlib cannot start");
  }
  Inflater(const Inflater&) = delete;
  Inflater& operator=(const Inflater&) = delete;
  ~Inflater() { inflateEnd(&stream_); }

  /// Decompresses from `in` to `out`, and removes from both what was used. @returns zlib's status
  int step(std::span<const std::byte>& in, std::span<std::byte>& out) {
    const auto in_now = static_cast<uInt>(std::min(in.size(), kMostAtOnce));
    const auto out_now = static_cast<uInt>(std::min(out.size(), kMostAtOnce));
    // zlib does not write to its input, although the type is not const.
    stream_.next_in = const_cast<Bytef*>(reinterpret_cast<const Bytef*>(in.data()));
    stream_.avail_in = in_now;
    stream_.next_out = reinterpret_cast<Bytef*>(out.data());
    stream_.avail_out = out_now;
    const int status = ::inflate(&stream_, Z_NO_FLUSH);
    in = in.subspan(in_now - stream_.avail_in);
    out = out.subspan(out_now - stream_.avail_out);
    return status;
  }

 private:
  z_stream stream_{};
};

}  // namespace

bool has_zlib() { return true; }

std::uint32_t crc32(std::span<const std::byte> bytes, std::uint32_t before) {
  // NOTE: for a null pointer, which empty bytes may have, zlib returns the initial checksum instead of `before`.
  if (bytes.empty()) return before;
  return static_cast<std::uint32_t>(crc32_z(before, reinterpret_cast<const Bytef*>(bytes.data()), bytes.size()));
}

std::vector<std::byte> inflate(const ByteSource& source, std::span<const std::byte> packed, std::uint64_t size) {
  Inflater inflater(source);
  std::vector<std::byte> out;
  std::uint64_t done = 0;
  for (int status = Z_OK; status != Z_STREAM_END;) {
    // One byte more than expected: it shows a stream that is too long, and lets an empty stream end.
    if (done == out.size()) out.resize(std::min(std::max(kFirstGuess, 2 * done), size + 1));
    std::span<std::byte> room = std::span(out).subspan(done);
    const std::size_t in_before = packed.size(), room_before = room.size();
    status = inflater.step(packed, room);
    done += room_before - room.size();
    if (status != Z_OK && status != Z_STREAM_END && status != Z_BUF_ERROR)
      source.fail("its compressed bytes are damaged");
    if (done > size) source.fail("expected ", size, " bytes, found more");
    if (packed.size() == in_before && room.size() == room_before && status != Z_STREAM_END)
      source.fail("expected ", size, " bytes, the compressed ones end after ", done);
  }
  if (done != size) source.fail("expected ", size, " bytes, found ", done);
  if (!packed.empty()) source.fail(packed.size(), " bytes follow the compressed ones");
  out.resize(size);
  return out;
}

}  // namespace strata
