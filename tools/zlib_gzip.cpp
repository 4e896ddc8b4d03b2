// gzip by zlib; see gzip.h.
#include <zlib.h>

#include <algorithm>

#include "strata/base/check.h"
#include "tools/gzip.h"

namespace strata::tools {
namespace {

constexpr int kGzipBits = MAX_WBITS + 16;  // selects the gzip format
constexpr std::size_t kPiece = std::size_t{1} << 20;

uInt piece_of(std::size_t left) { return static_cast<uInt>(std::min(left, kPiece)); }

/// An owned z_stream that processes `in` into `out` piece by piece.
template <int (*kEnd)(z_stream*)>
struct Stream : z_stream {
  explicit Stream(std::string_view text) : z_stream{}, rest(text) {}
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;
  ~Stream() { kEnd(this); }

  /// Calls `process` on the next piece. @returns zlib's status
  template <class Process>
  int go_on(const Process& process, std::string& out) {
    if (avail_in == 0) {
      // zlib does not write to its input, although the type is not const.
      next_in = const_cast<Bytef*>(reinterpret_cast<const Bytef*>(rest.data()));
      avail_in = piece_of(rest.size());
      rest.remove_prefix(avail_in);
    }
    const std::size_t before = out.size();
    out.resize(before + kPiece);
    next_out = reinterpret_cast<Bytef*>(out.data() + before);
    avail_out = static_cast<uInt>(kPiece);
    const int status = process(this, rest.empty() ? Z_FINISH : Z_NO_FLUSH);
    out.resize(before + kPiece - avail_out);
    return status;
  }

  std::string_view rest;
};

}  // namespace

std::string gunzip(std::string_view what, std::string_view packed, std::size_t most) {
  Stream<inflateEnd> stream(packed);
  std::string out;
  STRATA_CHECK(inflateInit2(&stream, kGzipBits) == Z_OK, budget, "[gzip] zlib cannot start");
  for (int status = Z_OK; status != Z_STREAM_END;) {
    const std::size_t left = stream.rest.size() + stream.avail_in, before = out.size();
    status = stream.go_on(::inflate, out);
    const bool moves = out.size() != before || stream.rest.size() + stream.avail_in != left;
    STRATA_CHECK(status == Z_STREAM_END || ((status == Z_OK || status == Z_BUF_ERROR) && moves), parse, "[gzip] ", what,
                 ": the compressed bytes are damaged, or end too early");
    STRATA_CHECK(out.size() <= most, budget, "[gzip] ", what, ": the uncompressed data has more than ", most, " bytes");
  }
  return out;
}

std::string gzip(std::string_view text) {
  Stream<deflateEnd> stream(text);
  std::string out;
  STRATA_CHECK(
      deflateInit2(&stream, Z_DEFAULT_COMPRESSION, Z_DEFLATED, kGzipBits, MAX_MEM_LEVEL, Z_DEFAULT_STRATEGY) == Z_OK,
      budget, "[gzip] zlib cannot start");
  for (int status = Z_OK; status != Z_STREAM_END;) {
    status = stream.go_on(::deflate, out);
    STRATA_CHECK(status == Z_OK || status == Z_STREAM_END || status == Z_BUF_ERROR, budget,
                 "[gzip] zlib cannot compress the data");
  }
  return out;
}

}  // namespace strata::tools
