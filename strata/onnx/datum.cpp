// What a Datum holds, and its text for messages.
#include "strata/onnx/datum.h"

#include <array>

#include "strata/base/check.h"

namespace strata::onnx {

Datum::Datum(Sequence sequence) {
  // NOTE: sequences of sequences would be destroyed by recursion, as deep as a loop nests them.
  for (const Datum& item : sequence)
    STRATA_CHECK(item.is_tensor() || item.is_texts(), domain, "a sequence holds tensors or texts, not ",
                 item.type_text());
  value_ = std::make_shared<const Sequence>(std::move(sequence));
}

const Tensor& Datum::tensor() const {
  STRATA_CHECK(is_tensor(), domain, "a tensor was expected instead of ", type_text());
  return std::get<Tensor>(value_);
}

const Texts& Datum::texts() const {
  STRATA_CHECK(is_texts(), domain, "texts were expected instead of ", type_text());
  return *std::get<std::shared_ptr<const Texts>>(value_);
}

const Sequence& Datum::sequence() const {
  STRATA_CHECK(is_sequence(), domain, "a sequence was expected instead of ", type_text());
  return *std::get<std::shared_ptr<const Sequence>>(value_);
}

std::vector<std::int64_t> Datum::shape() const { return is_texts() ? texts().shape : sizes_of(tensor()); }

std::string Datum::type_text() const {
  if (is_absent()) return "nothing";
  if (is_empty_optional()) return "an empty optional";
  if (is_sequence()) return "sequence of " + std::to_string(sequence().size());
  if (is_texts()) return "texts" + sizes_text(texts().shape);
  return tensor().dtype().name() + render(tensor().shape());
}

DType dtype_of_element(std::int64_t number, const std::string& what) {
  static constexpr std::array<DType, 17> kDtypes = {
      dtypes::none,   dtypes::float32, dtypes::uint8, dtypes::int8,    dtypes::uint16,  dtypes::int16,
      dtypes::int32,  dtypes::int64,   dtypes::none,  dtypes::boolean, dtypes::float16, dtypes::float64,
      dtypes::uint32, dtypes::uint64,  dtypes::none,  dtypes::none,    dtypes::bfloat16};
  const bool is_known = number > 0 && number < 17 && kDtypes[static_cast<std::size_t>(number)] != dtypes::none;
  STRATA_CHECK(is_known, undefined, what, " has elements of ONNX's type ", number,
               ", which Strata lacks here (8 is text, 14 and 15 are complex numbers, 17 to 20 floats of 8 bits, 21 to "
               "23 numbers of "
               "4 bits)");
  return kDtypes[static_cast<std::size_t>(number)];
}

std::string sizes_text(const std::vector<std::int64_t>& sizes) {
  std::string out = "[";
  for (std::size_t k = 0; k < sizes.size(); ++k) out += (k > 0 ? ", " : "") + std::to_string(sizes[k]);
  return out + "]";
}

std::vector<std::int64_t> sizes_of(const Tensor& x) {
  std::vector<std::int64_t> out;
  for (const Int& size : x.shape()) {
    STRATA_CHECK(size.is_number(), shape, "numbers are needed instead of the shape ", render(x.shape()),
                 ": load the model without bounds of these sizes");
    out.push_back(size.value());
  }
  return out;
}

std::int64_t present(const Int& size) { return size.is_number() ? size.value() : evaluate(size.expr()); }

Ints to_shape(const std::vector<std::int64_t>& sizes) {
  Ints out;
  for (const std::int64_t size : sizes) out.push_back(size);
  return out;
}

}  // namespace strata::onnx
