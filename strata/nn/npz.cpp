#include "strata/nn/npz.h"

#include "strata/base/check.h"
#include "strata/base/quotes.h"
#include "strata/nn/npy.h"
#include "strata/nn/zip.h"

namespace strata {
namespace {

constexpr std::string_view kEnding = ".npy";
constexpr std::size_t kLongestName = 0xFFFF;  // of a zip entry

NamedArrays arrays_from(const ByteSource& source) {
  NamedArrays out;
  for (const ZipEntry& entry : zip_entries(source)) {
    const std::string what = detail::message(source.name(), ": entry ", in_quotes(entry.name));
    if (!entry.name.ends_with(kEnding))
      source.fail("expected entries whose names end in .npy, found ", in_quotes(entry.name));
    const std::vector<std::byte> bytes = zip_contents(source, entry);
    out.emplace_back(entry.name.substr(0, entry.name.size() - kEnding.size()),
                     npy_from(ByteSource("npz", bytes, what)));
  }
  return out;
}

BytePieces archive(const NamedArrays& arrays) {
  check_names("npz", arrays);
  ZipWriter zip;
  for (const auto& [name, array] : arrays) {
    STRATA_CHECK(name.find('\0') == std::string::npos, domain, "[npz] the name ", in_quotes(name),
                 " has a NUL, and readers of zip archives end a name at a NUL");
    STRATA_CHECK(name.size() + kEnding.size() <= kLongestName, domain, "[npz] the name ", in_quotes(name), " has ",
                 name.size(), " bytes, which is too long");
    zip.add(detail::message(name, kEnding), npy_pieces(in_quotes(name), array));
  }
  return std::move(zip).finish();
}

}  // namespace

NamedArrays read_npz(const std::string& path) { return arrays_from(ByteSource::file("npz", path)); }

NamedArrays parse_npz(std::span<const std::byte> bytes) { return arrays_from(ByteSource("npz", bytes)); }

void write_npz(const std::string& path, const NamedArrays& arrays) { archive(arrays).write("npz", path); }

std::vector<std::byte> to_npz(const NamedArrays& arrays) { return archive(arrays).join(); }

}  // namespace strata
