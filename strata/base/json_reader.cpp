// The JSON reader: one loop over the text, with an explicit stack of open brackets.
#include "strata/base/json.h"

#include <algorithm>
#include <bit>
#include <charconv>
#include <limits>

#include "strata/base/check.h"
#include "strata/base/meter.h"
#include "strata/base/quotes.h"
#include "strata/base/text.h"

namespace strata {
namespace {

[[noreturn]] void fail(std::size_t column, const std::string& message) {
  throw Error(ErrorKind::request, "[json] " + message, column);
}

void append_utf8(std::string& out, std::uint32_t code) {
  const auto put = [&out](std::uint32_t byte) { out += static_cast<char>(static_cast<unsigned char>(byte)); };
  if (code < 0x80) {
    put(code);
  } else if (code < 0x800) {
    put(0xC0 | (code >> 6));
    put(0x80 | (code & 0x3F));
  } else if (code < 0x10000) {
    put(0xE0 | (code >> 12));
    put(0x80 | ((code >> 6) & 0x3F));
    put(0x80 | (code & 0x3F));
  } else {
    put(0xF0 | (code >> 18));
    put(0x80 | ((code >> 12) & 0x3F));
    put(0x80 | ((code >> 6) & 0x3F));
    put(0x80 | (code & 0x3F));
  }
}

}  // namespace

/// The state of the reader: its position, and the open arrays and objects.
class JsonReader {
 public:
  explicit JsonReader(JsonDocument& document) : doc_(document), text_(document.text_) {}

  void run() {
    skip_space();
    begin_value();
    while (!open_.empty()) {
      skip_space();
      step();
    }
    skip_space();
    if (at_ != text_.size()) fail(at_ + 1, "text after the value");
  }

 private:
  using Node = JsonDocument::Node;
  enum class Expect : std::uint8_t { item_or_end, item, comma_or_end, member_or_end, member };
  struct Open {
    std::uint32_t node;
    Expect expect;
  };

  char peek() const { return at_ < text_.size() ? text_[at_] : '\0'; }
  Node& node(std::uint32_t index) { return doc_.nodes_[index]; }
  bool in_object() { return node(open_.back().node).kind == JsonKind::object; }

  void skip_space() {
    while (at_ < text_.size() &&
           (text_[at_] == ' ' || text_[at_] == '\t' || text_[at_] == '\n' || text_[at_] == '\r')) {
      ++at_;
    }
  }

  std::string found() const {
    if (at_ >= text_.size()) return "the end of the line";
    return in_quotes(character_at(text_, at_));
  }

  // One step inside the innermost array or object.
  void step() {
    const Expect expect = open_.back().expect;
    const bool object = in_object();
    const char closing = object ? '}' : ']';
    if (expect == Expect::comma_or_end) {
      if (peek() == ',') {
        ++at_;
        open_.back().expect = object ? Expect::member : Expect::item;
      } else if (peek() == closing) {
        close();
      } else {
        fail(at_ + 1, std::string("expected ',' or '") + closing + "', found " + found());
      }
      return;
    }
    if (peek() == closing && (expect == Expect::item_or_end || expect == Expect::member_or_end)) return close();
    open_.back().expect = Expect::comma_or_end;
    if (object) read_key();
    begin_value();
  }

  void read_key() {
    if (peek() != '"') fail(at_ + 1, "expected a key in double quotes, found " + found());
    read_string(add(JsonKind::string));
    skip_space();
    if (peek() != ':') fail(at_ + 1, "expected ':' after the key, found " + found());
    ++at_;
    skip_space();
  }

  std::uint32_t add(JsonKind kind) {
    if (doc_.nodes_.size() >= max_json_values) {
      throw Error(ErrorKind::budget, "[json] more than " + std::to_string(max_json_values) + " values in one line",
                  at_ + 1);
    }
    Node n{kind};
    n.begin = static_cast<std::uint32_t>(at_);
    doc_.nodes_.push_back(n);
    return static_cast<std::uint32_t>(doc_.nodes_.size() - 1);
  }

  void finish(std::uint32_t index) {
    node(index).end = static_cast<std::uint32_t>(at_);
    node(index).next = static_cast<std::uint32_t>(doc_.nodes_.size());
    node(index).complete = true;
  }

  void begin_value() {
    const char c = peek();
    if (c == '{') return open(JsonKind::object, Expect::member_or_end);
    if (c == '[') return open(JsonKind::array, Expect::item_or_end);
    if (c == '"') return read_string(add(JsonKind::string));
    if (c == '-' || is_digit(c)) return read_number();
    if (c == 't') return read_word("true", JsonKind::boolean, true);
    if (c == 'f') return read_word("false", JsonKind::boolean, false);
    if (c == 'n') return read_word("null", JsonKind::null, false);
    fail(at_ + 1, "expected a value, found " + found());
  }

  void open(JsonKind kind, Expect expect) {
    if (open_.size() >= max_json_depth) {
      fail(at_ + 1, "values nested deeper than " + std::to_string(max_json_depth));
    }
    const std::uint32_t index = add(kind);
    open_.push_back({index, expect});
    ++at_;
  }

  void close() {
    const std::uint32_t index = open_.back().node;
    if (in_object()) refuse_duplicates(index);
    ++at_;
    finish(index);  // last: `salvage` must not return a refused object
    open_.pop_back();
  }

  void read_word(std::string_view word, JsonKind kind, bool flag) {
    if (text_.substr(at_, word.size()) != word) fail(at_ + 1, "expected a value, found " + found());
    const std::uint32_t index = add(kind);
    at_ += word.size();
    node(index).flag = flag;
    finish(index);
  }

  void skip_digits() {
    if (!is_digit(peek())) fail(at_ + 1, "expected a digit, found " + found());
    while (is_digit(peek())) ++at_;
  }

  void read_number() {
    const std::uint32_t index = add(JsonKind::integer);
    const std::size_t begin = at_;
    if (peek() == '-') ++at_;
    if (peek() == '0') {
      ++at_;
      if (is_digit(peek())) fail(begin + 1, "a number with a leading zero");
    } else {
      skip_digits();
    }
    if (peek() == '.') {
      node(index).kind = JsonKind::real;
      ++at_;
      skip_digits();
    }
    if (peek() == 'e' || peek() == 'E') {
      node(index).kind = JsonKind::real;
      ++at_;
      if (peek() == '+' || peek() == '-') ++at_;
      skip_digits();
    }
    if (node(index).kind == JsonKind::integer) {
      const auto result = std::from_chars(text_.data() + begin, text_.data() + at_, node(index).integer);
      node(index).flag = result.ec != std::errc();
    }
    finish(index);
  }

  void read_string(std::uint32_t index) {
    const std::size_t begin = at_++;
    std::string& out = doc_.decoded_;
    node(index).chars = static_cast<std::uint32_t>(out.size());
    while (true) {
      if (at_ >= text_.size()) fail(begin + 1, "a string without its closing quote");
      const char c = text_[at_];
      if (c == '"') break;
      if (static_cast<unsigned char>(c) < 0x20) fail(at_ + 1, "a control character inside a string, found " + found());
      if (c == '\\') {
        read_escape(out);
        continue;
      }
      const std::size_t length = utf8_length(text_, at_);
      if (length == 0) fail(at_ + 1, "invalid UTF-8, found " + found());
      out.append(text_, at_, length);
      at_ += length;
    }
    ++at_;
    node(index).length = static_cast<std::uint32_t>(out.size() - node(index).chars);
    finish(index);
  }

  void read_escape(std::string& out) {
    static constexpr std::string_view letters = "\"\\/bfnrt";
    static constexpr std::string_view meanings = "\"\\/\b\f\n\r\t";
    const std::size_t begin = at_++;
    const char c = peek();
    if (const std::size_t i = letters.find(c); at_ < text_.size() && i != std::string_view::npos) {
      out += meanings[i];
      ++at_;
      return;
    }
    if (c != 'u') fail(begin + 1, "an unknown escape in a string");
    ++at_;
    std::uint32_t code = read_hex4();
    if (code >= 0xDC00 && code < 0xE000) fail(begin + 1, "half of a surrogate pair");
    if (code >= 0xD800 && code < 0xDC00) {
      if (text_.substr(at_, 2) != "\\u") fail(begin + 1, "half of a surrogate pair");
      at_ += 2;
      const std::uint32_t low = read_hex4();
      if (low < 0xDC00 || low >= 0xE000) fail(begin + 1, "half of a surrogate pair");
      code = 0x10000 + ((code - 0xD800) << 10) + (low - 0xDC00);
    }
    append_utf8(out, code);
  }

  std::uint32_t read_hex4() {
    std::uint32_t code = 0;
    const std::string_view digits = text_.substr(std::min(at_, text_.size()), 4);
    const auto result = std::from_chars(digits.data(), digits.data() + digits.size(), code, 16);
    if (digits.size() != 4 || result.ec != std::errc() || result.ptr != digits.data() + 4) {
      fail(at_ + 1, "expected four hexadecimal digits after \\u");
    }
    at_ += 4;
    return code;
  }

  void refuse_duplicates(std::uint32_t object) {
    keys_.clear();
    for (std::uint32_t key = object + 1; key < doc_.nodes_.size(); key = node(key + 1).next) keys_.push_back(key);
    Meter::charge(keys_.size() * (1 + static_cast<std::size_t>(std::bit_width(keys_.size())) / 2));
    const auto name = [this](std::uint32_t key) { return doc_.string_of(node(key)); };
    std::sort(keys_.begin(), keys_.end(), [&](std::uint32_t a, std::uint32_t b) {
      const int order = name(a).compare(name(b));
      return order != 0 ? order < 0 : a < b;
    });
    std::uint32_t first = std::numeric_limits<std::uint32_t>::max();
    for (std::size_t i = 1; i < keys_.size(); ++i) {
      if (name(keys_[i - 1]) == name(keys_[i])) first = std::min(first, keys_[i]);
    }
    if (first == std::numeric_limits<std::uint32_t>::max()) return;
    fail(node(first).begin + 1, "the key " + in_quotes(name(first)) + " is given twice");
  }

  JsonDocument& doc_;
  std::string_view text_;
  std::size_t at_ = 0;
  std::vector<Open> open_;
  std::vector<std::uint32_t> keys_;
};

void JsonDocument::read(std::string_view text) {
  constexpr std::size_t bytes_in_a_unit = 8;
  Meter::charge(text.size() / bytes_in_a_unit);
  nodes_.clear();
  decoded_.clear();
  text_ = text;
  if (text.size() > std::numeric_limits<std::uint32_t>::max()) {
    throw Error(ErrorKind::budget, "[json] a text of " + std::to_string(text.size()) + " bytes");
  }
  JsonReader(*this).run();
}

}  // namespace strata
