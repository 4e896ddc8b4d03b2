#include "strata/nn/npy.h"

#include "strata/nn/npy_header.h"

namespace strata {
namespace {

/// Copies elements in Fortran order, where the first axis is contiguous, to row-major order. @pre there is at least one
/// element
template <class T>
void to_row_major(const T* from, T* to, std::span<const std::int64_t> all_sizes) {
  std::vector<std::int64_t> sizes, strides;  // of the axes with a size above 1: at most 63
  std::int64_t count = 1;
  for (const std::int64_t size : all_sizes) {
    if (size == 1) continue;
    sizes.push_back(size);
    strides.push_back(count);
    count *= size;
  }
  if (sizes.empty()) sizes = strides = {1};
  const std::size_t last = sizes.size() - 1;
  std::vector<std::int64_t> at(sizes.size(), 0);
  std::int64_t row = 0;
  for (std::int64_t done = 0; done < count; done += sizes[last]) {
    for (std::int64_t i = 0; i < sizes[last]; ++i) *to++ = from[row + i * strides[last]];
    for (std::size_t k = last; k-- > 0;) {
      row += strides[k];
      if (++at[k] < sizes[k]) break;
      row -= strides[k] * sizes[k];
      at[k] = 0;
    }
  }
}

Buffer row_major(const Buffer& elements, std::span<const std::int64_t> shape) {
  const Buffer out = Buffer::allocate(elements.size(), elements.dtype());
  const auto copy = [&]<class T>(T) {
    to_row_major(static_cast<const T*>(elements.data()), static_cast<T*>(out.data()), shape);
  };
  switch (elements.dtype().itemsize()) {
    case 1: copy(std::uint8_t{}); break;
    case 2: copy(std::uint16_t{}); break;
    case 4: copy(std::uint32_t{}); break;
    default: copy(std::uint64_t{}); break;
  }
  return out;
}

}  // namespace

HostArray npy_from(const ByteSource& source) {
  NpyHeader header = read_npy_header(source);
  std::int64_t count = 0;
  if (!try_count(header.dtype, header.shape, count))
    source.fail("the bytes of ", header.dtype.name(), " of shape ", shape_text(header.shape), " do not fit in 64 bits");
  const std::uint64_t expected = static_cast<std::uint64_t>(count) * header.dtype.itemsize();
  const std::uint64_t found = source.size() - header.length;
  if (expected != found)
    source.fail("expected ", expected, " bytes of elements, ", header.dtype.name(), " of shape ",
                shape_text(header.shape), ", found ", found);
  Buffer data = Buffer::allocate(count, header.dtype);
  source.read(header.length, bytes_of(data));
  if (const std::int64_t bad = bad_boolean(data); bad >= 0)
    source.fail("element ", bad, " of bool is the byte ",
                static_cast<int>(bytes_of(data)[static_cast<std::size_t>(bad)]), ", neither 0 nor 1");
  if (header.swapped) swap_bytes(data);
  if (header.fortran_order && header.shape.size() > 1 && count != 0) data = row_major(data, header.shape);
  return {header.dtype, std::move(header.shape), std::move(data)};
}

BytePieces npy_pieces(std::string_view name, const HostArray& array) {
  Buffer elements = checked_elements("npy", name, array);
  BytePieces out;
  out.add(npy_header_text(array.dtype, array.shape));
  out.add(std::move(elements));
  return out;
}

HostArray read_npy(const std::string& path) { return npy_from(ByteSource::file("npy", path)); }

HostArray parse_npy(std::span<const std::byte> bytes) { return npy_from(ByteSource("npy", bytes)); }

void write_npy(const std::string& path, const HostArray& array) { npy_pieces("the array", array).write("npy", path); }

std::vector<std::byte> to_npy(const HostArray& array) { return npy_pieces("the array", array).join(); }

}  // namespace strata
