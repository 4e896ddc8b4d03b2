#include "strata/nn/safetensors.h"

#include <algorithm>
#include <memory>
#include <tuple>

#include "strata/base/check.h"
#include "strata/base/quotes.h"
#include "strata/nn/byte_io.h"
#include "strata/nn/safetensors_header.h"

namespace strata {
namespace {

/// The elements of `row`, at byte `at` of the source: in the mapped pages if possible, else a copy. A copy is needed
/// without pages, for unaligned elements, and on a big-endian machine.
Buffer elements_of(const ByteSource& source, const std::shared_ptr<std::byte>& pages, const TensorRow& row,
                   std::uint64_t at) {
  const std::size_t itemsize = row.dtype.itemsize();
  const auto count = static_cast<std::int64_t>((row.end - row.begin) / itemsize);
  if (pages != nullptr && at % itemsize == 0 && count != 0 && !kSwapsLittle)
    return Buffer::from_pointer(pages.get() + at, count, row.dtype, [pages](void*) {}, false, true);
  Buffer out = Buffer::allocate(count, row.dtype);
  source.read(at, bytes_of(out));
  if (kSwapsLittle) swap_bytes(out);
  return out;
}

SafeTensors tensors_from(const ByteSource& source, Placement placement) {
  SafeTensorsHeader header = read_safetensors_header(source);
  const std::shared_ptr<std::byte> pages = placement == Placement::mapped ? source.map() : nullptr;
  SafeTensors out;
  out.metadata = std::move(header.metadata);
  for (TensorRow& row : header.tensors) {
    Buffer data = elements_of(source, pages, row, header.length + row.begin);
    if (const std::int64_t bad = bad_boolean(data); bad >= 0)
      source.fail("element ", bad, " of ", in_quotes(row.name), ", which is BOOL, is neither 0 nor 1");
    out.tensors.emplace_back(std::move(row.name), HostArray{row.dtype, std::move(row.shape), std::move(data)});
  }
  return out;
}

void check_metadata(const SafeTensors& file) {
  std::vector<std::string_view> keys;
  for (const auto& [key, value] : file.metadata) {
    STRATA_CHECK(is_utf8(key) && is_utf8(value), domain, "[safetensors] the metadata ", in_quotes(key), ": ",
                 in_quotes(value), " is not UTF-8");
    keys.emplace_back(key);
  }
  std::sort(keys.begin(), keys.end());
  const auto twice = std::adjacent_find(keys.begin(), keys.end());
  STRATA_CHECK(twice == keys.end(), domain, "[safetensors] the metadata ", in_quotes(*twice), " is given twice");
  for (const auto& [name, tensor] : file.tensors)
    STRATA_CHECK(name != "__metadata__", domain, "[safetensors] a tensor cannot have the name '__metadata__'");
}

/// The elements in little-endian order, as in the file.
Buffer little(const Buffer& elements) {
  if (!kSwapsLittle) return elements;
  Buffer out = Buffer::allocate(elements.size(), elements.dtype());
  out.copy_from(elements);
  swap_bytes(out);
  return out;
}

BytePieces file_pieces(const SafeTensors& file) {
  check_names("safetensors", file.tensors);
  check_metadata(file);
  std::vector<const NamedArrays::value_type*> order;
  for (const auto& tensor : file.tensors) order.push_back(&tensor);
  for (const auto& [name, tensor] : file.tensors) checked_elements("safetensors", in_quotes(name), tensor);
  std::sort(order.begin(), order.end(), [](const auto* a, const auto* b) {
    return std::tuple(safetensors_rank(b->second.dtype), std::string_view(a->first)) <
           std::tuple(safetensors_rank(a->second.dtype), std::string_view(b->first));
  });
  SafeTensorsHeader header;
  header.metadata = file.metadata;
  BytePieces data;
  std::uint64_t at = 0;
  for (const auto* const tensor : order) {
    const HostArray& array = tensor->second;
    const std::uint64_t bytes = array.data.nbytes();
    header.tensors.push_back({tensor->first, array.dtype, array.shape, at, at + bytes});
    data.add(little(array.data.toCPU()));
    at += bytes;
  }
  BytePieces out;
  out.add(safetensors_header_text(header));
  out.add(std::move(data));
  return out;
}

}  // namespace

SafeTensors read_safetensors(const std::string& path, Placement placement) {
  return tensors_from(ByteSource::file("safetensors", path), placement);
}

SafeTensors parse_safetensors(std::span<const std::byte> bytes) {
  return tensors_from(ByteSource("safetensors", bytes), Placement::copied);
}

void write_safetensors(const std::string& path, const SafeTensors& file) {
  file_pieces(file).write("safetensors", path);
}

std::vector<std::byte> to_safetensors(const SafeTensors& file) { return file_pieces(file).join(); }

}  // namespace strata
