// Operators on texts: StringNormalizer and TfIdfVectorizer.
#include <algorithm>
#include <cctype>
#include <functional>
#include <map>
#include <numeric>

#include "strata/onnx/operators.h"

namespace strata::onnx {
namespace {

/// ASCII letters in the other case; other characters stay, as in the locale "C".
std::string in_case(std::string text, bool is_upper) {
  for (char& c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte < 128) c = static_cast<char>(is_upper ? std::toupper(byte) : std::tolower(byte));
  }
  return text;
}

/// The texts of the pool's n-grams of each length, and where each has its place in the output.
struct Pool {
  std::map<std::vector<std::string>, std::size_t> places;
  explicit Pool(const Call& call) {
    std::vector<std::string> words = call.texts("pool_strings");
    for (const std::int64_t word : call.integers("pool_int64s")) words.push_back(std::to_string(word));
    const Sizes starts = call.integers("ngram_counts");
    std::size_t number = 0;
    for (std::size_t n = 0; n < starts.size(); ++n) {
      const std::int64_t begin = starts[n], end = n + 1 < starts.size() ? starts[n + 1] : std::ssize(words);
      STRATA_CHECK(begin >= 0 && begin <= end && end <= std::ssize(words) &&
                       (end - begin) % static_cast<std::int64_t>(n + 1) == 0,
                   domain, "ngram_counts is ", sizes_text(starts), " for a pool of ", words.size());
      for (std::int64_t at = begin; at < end; at += static_cast<std::int64_t>(n) + 1)
        places.emplace(
            std::vector<std::string>(words.begin() + at, words.begin() + at + static_cast<std::int64_t>(n) + 1),
            number++);
    }
    count = number;
  }
  std::size_t count = 0;
};

/// Calls f for each pair of texts of both inputs, which broadcast to `shape`.
void for_pairs(const Call& call, Sizes& shape, const std::function<void(const std::string&, const std::string&)>& f) {
  const auto places = [&](const Texts& texts) {
    Sizes out(texts.elements.size());
    std::iota(out.begin(), out.end(), std::int64_t{0});
    return moved(call.from(out, texts.shape), Device::get("INTERP"));
  };
  const Texts &a = call.datum(0).texts(), &b = call.datum(1).texts();
  const std::vector<Tensor> both = Tensor::broadcast_tensors(std::vector<Tensor>{places(a), places(b)});
  shape = sizes_of(both[0]);
  const Sizes from_a = read_integers(both[0]), from_b = read_integers(both[1]);
  for (std::size_t k = 0; k < from_a.size(); ++k)
    f(a.elements[static_cast<std::size_t>(from_a[k])], b.elements[static_cast<std::size_t>(from_b[k])]);
}

}  // namespace

Results normalize_texts(const Call& call) {
  const Texts& given = call.datum(0).texts();
  const bool is_row = given.shape.size() == 2 && given.shape[0] == 1;
  STRATA_CHECK(given.shape.size() == 1 || is_row, shape, "texts of shape ", sizes_text(given.shape));
  const std::string& action = call.text("case_change_action");
  STRATA_CHECK(action == "LOWER" || action == "UPPER" || action == "NONE", domain, "the action is ", action);
  const std::string locale = call.given("locale") ? call.text("locale") : "C";
  STRATA_CHECK(locale == "C" || locale == "POSIX" || locale.starts_with("en_US"), undefined, "the locale ", locale,
               " (only ASCII letters change their case)");
  const bool minds_case = call.integer("is_case_sensitive") != 0;
  std::vector<std::string> stops = call.texts("stopwords");
  if (!minds_case)
    for (std::string& stop : stops) stop = in_case(stop, false);
  Texts out;
  for (const std::string& text : given.elements) {
    const std::string compared = minds_case ? text : in_case(text, false);
    if (std::find(stops.begin(), stops.end(), compared) != stops.end()) continue;
    out.elements.push_back(action == "NONE" ? text : in_case(text, action == "UPPER"));
  }
  // Where nothing is left the result is one empty text.
  if (out.elements.empty()) out.elements.emplace_back();
  out.shape = is_row ? Sizes{1, std::ssize(out.elements)} : Sizes{std::ssize(out.elements)};
  return {out};
}

Results vectorize_texts(const Call& call) {
  const Datum& given = call.datum(0);
  std::vector<std::string> words;
  if (given.is_texts())
    words = given.texts().elements;
  else
    for (const std::int64_t word : call.integers_of(0)) words.push_back(std::to_string(word));
  const Sizes shape = given.shape();
  STRATA_CHECK(shape.size() == 1 || shape.size() == 2, shape, "an input of shape ", sizes_text(shape));
  const std::int64_t rows = shape.size() == 2 ? shape[0] : 1, length = shape.back();
  const Pool pool(call);
  const Sizes places = call.integers("ngram_indexes");
  STRATA_CHECK(places.size() == pool.count, domain, places.size(), " indexes for ", pool.count, " n-grams");
  const std::vector<double> weights = call.numbers("weights");
  STRATA_CHECK(weights.empty() || weights.size() == pool.count, domain, weights.size(), " weights for ", pool.count,
               " n-grams");
  const std::string& mode = call.text("mode");
  STRATA_CHECK(mode == "TF" || mode == "IDF" || mode == "TFIDF", domain, "the mode is ", mode);
  std::int64_t width = 0;
  for (const std::int64_t place : places) {
    STRATA_CHECK(place >= 0 && place < 1 << 24, domain, "the index ", place, " of an n-gram");
    width = std::max(width, place + 1);
  }
  const std::int64_t least = call.integer("min_gram_length"), most = call.integer("max_gram_length");
  const std::int64_t skips = call.integer("max_skip_count");
  STRATA_CHECK(least >= 1 && least <= most && most <= 64 && skips >= 0 && skips <= 4096, domain, "n-grams of ", least,
               " to ", most, " words with ", skips, " skips");
  STRATA_CHECK(rows <= (1 << 26) / std::max(width, std::int64_t{1}), budget, rows, " rows of ", width, " counts");
  STRATA_CHECK(std::ssize(words) <= (1 << 28) / ((most - least + 1) * (skips + 1)), budget, words.size(),
               " words in n-grams of ", least, " to ", most, " with ", skips, " skips");
  std::vector<double> counts(static_cast<std::size_t>(rows * width));
  for (std::int64_t row = 0; row < rows; ++row)
    for (std::int64_t n = least; n <= most; ++n)
      // Words of an n-gram lie 1 + skip places apart; a single word has no skips.
      for (std::int64_t apart = 1; apart <= (n == 1 ? 1 : skips + 1); ++apart)
        for (std::int64_t at = 0; at + (n - 1) * apart < length; ++at) {
          std::vector<std::string> gram;
          for (std::int64_t k = 0; k < n; ++k)
            gram.push_back(words[static_cast<std::size_t>(row * length + at + k * apart)]);
          if (const auto found = pool.places.find(gram); found != pool.places.end())
            counts[static_cast<std::size_t>(row * width + places[found->second])] += 1;
        }
  for (std::size_t k = 0; mode != "TF" && k < places.size(); ++k)
    for (std::int64_t row = 0; row < rows; ++row) {
      double& count = counts[static_cast<std::size_t>(row * width + places[k])];
      const double weight = weights.empty() ? 1 : weights[k];
      count = mode == "IDF" ? (count > 0 ? weight : 0) : count * weight;
    }
  return {call.from(counts, shape.size() == 2 ? Sizes{rows, width} : Sizes{width}, dtypes::float32)};
}

Results equal_texts(const Call& call) {
  Sizes out, shape;
  for_pairs(call, shape, [&](const std::string& a, const std::string& b) { out.push_back(a == b ? 1 : 0); });
  return {moved(call.from(out, shape), Device::get("INTERP")) != 0};
}

Results join_texts(const Call& call) {
  Texts out;
  for_pairs(call, out.shape, [&](const std::string& a, const std::string& b) { out.elements.push_back(a + b); });
  return {out};
}

}  // namespace strata::onnx
