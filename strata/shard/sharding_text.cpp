// The text of splits: `data+model:0/cyclic(16), seq:1`.

#include <charconv>

#include "strata/base/check.h"
#include "strata/base/quotes.h"
#include "strata/base/text.h"
#include "strata/shard/sharding.h"

namespace strata {
namespace {

/// Reads one text of splits, from its start to its end.
class SplitReader {
 public:
  explicit SplitReader(std::string_view text) : text_(text) {}

  std::vector<Split> run() {
    std::vector<Split> out;
    skip();
    if (takes("replicated")) {
      if (at_ == text_.size()) return out;
      at_ = 0;  // an axis whose name only begins so
      skip();
    }
    do {
      out.push_back(split());
    } while (takes(","));
    if (at_ != text_.size()) fail("',' or the end");
    return out;
  }

 private:
  [[noreturn]] void fail(std::string_view wanted) const {
    const std::string found = at_ == text_.size() ? "the end" : in_quotes(text_.substr(at_));
    throw Error(ErrorKind::parse,
                detail::message("[shard] expected ", wanted, ", not ", found, " (column ", at_ + 1, " of ",
                                in_quotes(text_), ")"),
                at_ + 1);
  }

  void skip() {
    while (at_ < text_.size() && text_[at_] == ' ') ++at_;
  }

  bool takes(std::string_view word) {
    if (!text_.substr(at_).starts_with(word)) return false;
    at_ += word.size();
    skip();
    return true;
  }

  std::string name() {
    const std::size_t begin = at_;
    const auto in_name = [](char c) {
      return is_digit(c) || c == '_' || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
    };
    while (at_ < text_.size() && in_name(text_[at_])) ++at_;
    if (at_ == begin || is_digit(text_[begin])) {
      at_ = begin;
      fail("the name of a mesh axis");
    }
    std::string out(text_.substr(begin, at_ - begin));
    skip();
    return out;
  }

  std::int64_t number(std::string_view what) {
    std::int64_t out = 0;
    const char* const begin = text_.data() + at_;
    const auto [stop, error] = std::from_chars(begin, text_.data() + text_.size(), out);
    if (error != std::errc()) fail(what);
    at_ += static_cast<std::size_t>(stop - begin);
    skip();
    return out;
  }

  Split split() {
    Split out;
    do {
      out.over.push_back(name());
    } while (takes("+"));
    if (!takes(":")) fail("'+' or ':'");
    out.axis = number("the number of an axis");
    if (!takes("/")) return out;
    if (!takes("cyclic") || !takes("(")) fail("cyclic(N)");
    out.cyclic = number("the length of a block");
    if (!takes(")")) fail("')'");
    return out;
  }

  std::string_view text_;
  std::size_t at_ = 0;
};

}  // namespace

std::vector<Split> parse_splits(std::string_view text) { return SplitReader(text).run(); }

std::string render(const std::vector<Split>& splits) {
  if (splits.empty()) return "replicated";
  std::string out;
  for (const Split& split : splits) {
    for (std::size_t k = 0; k < split.over.size(); ++k) out += (k != 0 ? "+" : out.empty() ? "" : ",") + split.over[k];
    out += detail::message(":", split.axis);
    if (split.cyclic) out += detail::message("/cyclic(", *split.cyclic, ")");
  }
  return out;
}

Sharding parse_sharding(const MeshShape& mesh, const Index& shape, std::string_view text) {
  const std::size_t first = text.find_first_not_of(' ');
  if (first != std::string_view::npos && text[first] == '(') return Sharding::create(mesh, shape, parse_layout(text));
  return Sharding::create(mesh, shape, parse_splits(text));
}

}  // namespace strata
