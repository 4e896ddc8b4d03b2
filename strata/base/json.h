// Strict JSON (RFC 8259): `JsonDocument` reads one text, `JsonWriter` writes one. Used by `strata batch`, traces and
// files.
//
// The reader is iterative and bounded in depth and in number of values, so no input overflows the stack. 64-bit
// integers are kept exactly. The reader throws Error (request), with the 1-based byte position in the line as column,
// for anything outside the grammar, invalid UTF-8, lone surrogates, duplicate keys, and values nested deeper than
// `max_json_depth`. A document is one flat list of values in text order; a `JsonValue` is a position in this list.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace strata {

inline constexpr std::size_t max_json_depth = 1000;
inline constexpr std::size_t max_json_values = std::size_t{1} << 22;

enum class JsonKind : std::uint8_t { null, boolean, integer, real, string, array, object };

/// The kind in words: "a string", "an object", ...
std::string_view describe(JsonKind kind);

class JsonDocument;

/// A value inside a document. The document must outlive it.
class JsonValue {
 public:
  JsonKind kind() const;
  bool is(JsonKind k) const { return kind() == k; }
  /// The 1-based byte position of the value in the text.
  std::size_t column() const;
  /// The text of the value as it was written, on one line.
  std::string raw() const;

  // Each function checks the kind. @throws Error (request) with the column; the message names `what`.
  bool as_bool(std::string_view what) const;
  /// @throws also Error (overflow) for an integer that does not fit in 64 bits.
  std::int64_t as_integer(std::string_view what) const;
  std::string_view as_string(std::string_view what) const;
  /// The items of an array.
  std::vector<JsonValue> as_array(std::string_view what) const;

  struct Member;
  /// The members of an object, in text order.
  std::vector<Member> as_object(std::string_view what) const;

 private:
  friend class JsonDocument;
  JsonValue(const JsonDocument* document, std::size_t index) : document_(document), index_(index) {}
  void expect(JsonKind kind, std::string_view what) const;
  const JsonDocument* document_;
  std::size_t index_;
};

/// One member of an object.
struct JsonValue::Member {
  std::string_view key;
  std::size_t column;  ///< of the key
  JsonValue value;
};

/// A JSON text that was read. Its JsonValues refer to it and must not outlive it.
class JsonDocument {
 public:
  /// Reads `text`: one value, with only white space around it. After an Error the document holds what was read before
  /// the mistake, for `salvage`.
  /// @throws Error (request) for malformed text, (budget) above `max_json_values` values.
  void read(std::string_view text);

  JsonValue root() const { return {this, 0}; }

  /// The text of the top-level member `key` if it was read completely, also after an Error.
  std::optional<std::string> salvage(std::string_view key) const;

 private:
  friend class JsonValue;
  friend class JsonReader;

  struct Node {
    JsonKind kind;
    bool flag = false;        // boolean: the value; integer: true when it does not fit in 64 bits
    bool complete = false;    // read to its end
    std::uint32_t begin = 0;  // the bytes of the value in text_
    std::uint32_t end = 0;
    std::uint32_t next = 0;    // index of the first value after this one and its contents
    std::uint32_t chars = 0;   // string: its start in decoded_
    std::uint32_t length = 0;  // string: its length in bytes
    std::int64_t integer = 0;
  };
  std::string_view string_of(const Node& n) const { return std::string_view(decoded_).substr(n.chars, n.length); }

  std::string text_;
  std::string decoded_;      // all strings, unescaped, in one text
  std::vector<Node> nodes_;  // in text order; a member is its key, then its value
};

/// Writes JSON into a string, and places the commas. Invalid UTF-8 in a text is written as U+FFFD.
class JsonWriter {
 public:
  JsonWriter& begin_object() { return open('{'); }
  JsonWriter& end_object() { return close('}'); }
  JsonWriter& begin_array() { return open('['); }
  JsonWriter& end_array() { return close(']'); }
  JsonWriter& key(std::string_view name);
  JsonWriter& value(std::string_view text);
  JsonWriter& value(const char* text) { return value(std::string_view(text)); }
  JsonWriter& value(std::int64_t number);
  JsonWriter& value(bool truth) { return raw(truth ? "true" : "false"); }
  JsonWriter& null() { return raw("null"); }
  /// Writes `json` as it is. @pre it is one JSON value
  JsonWriter& raw(std::string_view json);
  template <class T>
  JsonWriter& member(std::string_view name, const T& item) {
    return key(name).value(item);
  }

  std::string take() { return std::move(out_); }

 private:
  JsonWriter& open(char bracket);
  JsonWriter& close(char bracket);
  void separate();
  std::string out_;
  bool comma_ = false;  // true when the next item needs a comma before it
};

}  // namespace strata
