// libFuzzer: whatever bytes the readers of array files are given, nothing but Error comes out; what they read is
// written and read back as the same arrays, and written again as the same bytes.
//
// The first byte chooses the format, the rest is the file.
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <span>
#include <string_view>

#include "strata/base/check.h"
#include "strata/nn/npy.h"
#include "strata/nn/npz.h"
#include "strata/nn/safetensors.h"

using namespace strata;

namespace {

using Bytes = std::span<const std::byte>;

void require(bool holds, const char* what, std::string_view detail) {
  if (holds) return;
  std::fprintf(stderr, "%s: %.*s\n", what, static_cast<int>(detail.size()), detail.data());
  std::abort();
}

void check_same(const HostArray& a, const HostArray& b) {
  const bool same = a.dtype == b.dtype && a.shape == b.shape && a.data.nbytes() == b.data.nbytes() &&
                    std::memcmp(a.data.data(), b.data.data(), a.data.nbytes()) == 0;
  require(same, "reads back as another array", shape_text(a.shape));
}

void check_same(const NamedArrays& a, const NamedArrays& b) {
  require(a.size() == b.size(), "reads back as another number of arrays", std::to_string(a.size()));
  for (std::size_t k = 0; k < a.size(); ++k) {
    require(a[k].first == b[k].first, "reads back under another name", a[k].first);
    check_same(a[k].second, b[k].second);
  }
}

void check_npy(Bytes bytes) {
  const HostArray array = parse_npy(bytes);
  const auto written = to_npy(array);
  const HostArray again = parse_npy(written);
  check_same(array, again);
  require(to_npy(again) == written, "is written as other bytes", shape_text(array.shape));
}

void check_npz(Bytes bytes) {
  const NamedArrays arrays = parse_npz(bytes);
  const auto written = to_npz(arrays);
  const NamedArrays again = parse_npz(written);
  check_same(arrays, again);
  require(to_npz(again) == written, "is written as other bytes", "npz");
}

/// Written tensors are sorted, so the second reading is compared with the third.
void check_safetensors(Bytes bytes) {
  const SafeTensors file = parse_safetensors(bytes);
  const auto written = to_safetensors(file);
  const SafeTensors once = parse_safetensors(written);
  require(once.metadata == file.metadata, "reads back with other metadata", "safetensors");
  require(once.tensors.size() == file.tensors.size(), "reads back as another number", "safetensors");
  for (const auto& [name, tensor] : file.tensors) {
    const HostArray* found = nullptr;
    for (const auto& [other, array] : once.tensors)
      if (other == name) found = &array;
    require(found != nullptr, "a tensor is lost", name);
    check_same(tensor, *found);
  }
  const auto rewritten = to_safetensors(once);
  require(rewritten == written, "is written as other bytes", "safetensors");
  check_same(once.tensors, parse_safetensors(rewritten).tensors);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const Bytes bytes = std::as_bytes(std::span(data, size)).subspan(1);
  try {
    switch (data[0] % 3) {
      case 0: check_npy(bytes); break;
      case 1: check_npz(bytes); break;
      default: check_safetensors(bytes); break;
    }
  } catch (const Error& error) {
    require(std::string_view(error.what()).starts_with('['), "no operation", error.what());
    require(error.column() <= size, "a column outside of the text", error.what());
    const bool expected =
        error.kind() == ErrorKind::parse || error.kind() == ErrorKind::budget || error.kind() == ErrorKind::undefined;
    require(expected, "another kind of error", error.what());
  }
  return 0;
}
