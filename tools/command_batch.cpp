// `strata batch`: answer_stream() and the command.
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <cstdio>
#include <cstring>
#include <memory>
#include <optional>
#include <ostream>
#include <vector>

#include "strata/base/text.h"
#include "tools/batch.h"
#include "tools/commands.h"

namespace strata::tools {
namespace {

constexpr std::size_t block = 1 << 16;

bool is_blank(std::string_view text) { return text.find_first_not_of(" \t\r\n") == std::string_view::npos; }

std::string too_long(const BatchOptions& options) {
  JsonWriter json;
  json.begin_object().key("error").begin_object().member("kind", to_string(ErrorKind::budget));
  json.member("message", "[budget] the line is longer than " + std::to_string(options.max_line) + " bytes");
  return json.end_object().end_object().take();
}

/// The line that is being read. Bytes beyond the maximum are dropped.
class LineAnswerer {
 public:
  LineAnswerer(std::ostream& out, const BatchOptions& options) : out_(out), options_(options) {}

  void take(std::string_view bytes) {
    while (!bytes.empty()) {
      const std::size_t end = bytes.find('\n');
      append(bytes.substr(0, end));
      if (end == std::string_view::npos) return;
      finish();
      bytes.remove_prefix(end + 1);
    }
  }
  /// The last line may have no line end.
  void end() {
    if (skipping_ || !is_blank(line_)) finish();
  }

 private:
  void append(std::string_view bytes) {
    if (skipping_) return;
    if (bytes.size() > options_.max_line - line_.size()) {
      skipping_ = true;
      line_ = std::string();
    } else {
      line_ += bytes;
    }
  }
  void finish() {
    out_ << (skipping_ ? too_long(options_) : answer(line_, options_)) << '\n';
    if (line_.capacity() > 16 * block) line_ = std::string();
    line_.clear();
    skipping_ = false;
  }

  std::ostream& out_;
  const BatchOptions& options_;
  std::string line_;
  bool skipping_ = false;
};

std::size_t read_bytes(int file, char* buffer, std::size_t size) {
  while (true) {
    const ::ssize_t got = ::read(file, buffer, size);
    if (got >= 0) return static_cast<std::size_t>(got);
    if (errno != EINTR) throw std::runtime_error(std::string("cannot read: ") + std::strerror(errno));
  }
}

std::int64_t parse_budget(const Invocation& invocation) {
  const auto text = invocation.value("--budget");
  if (!text) return default_budget;
  std::int64_t value = 0;
  const auto result = std::from_chars(text->data(), text->data() + text->size(), value);
  if (result.ec != std::errc() || result.ptr != text->data() + text->size() || value < 0) {
    throw UsageError("--budget is '" + *text + "', not a number", &invocation.command());
  }
  return value;
}

std::optional<double> parse_deadline(const Invocation& invocation) {
  const auto text = invocation.value("--deadline");
  if (!text) return std::nullopt;
  const std::optional<double> seconds = read_double(*text);
  if (!seconds || *seconds <= 0)
    throw UsageError("--deadline is '" + *text + "', not a number of seconds above 0", &invocation.command());
  return seconds;
}

struct CloseFile {
  void operator()(std::FILE* file) const { std::fclose(file); }
};

/// Answers the lines of a file. Returns false, after printing an error, if the file cannot be read to its end.
bool answer_file(const std::string& path, Console& console, const BatchOptions& options) {
  const std::unique_ptr<std::FILE, CloseFile> file(std::fopen(path.c_str(), "rb"));
  try {
    if (!file) throw std::runtime_error(std::string("cannot open: ") + std::strerror(errno));
    const int number = ::fileno(file.get());
    answer_stream([number](char* buffer, std::size_t size) { return read_bytes(number, buffer, size); }, console.out,
                  options);
    return true;
  } catch (const std::runtime_error& e) {
    console.err << "strata: " << path << ": " << e.what() << '\n';
    return false;
  }
}

}  // namespace

bool answer_stream(const ByteSource& source, std::ostream& out, const BatchOptions& options) {
  std::vector<char> buffer(block);
  LineAnswerer lines(out, options);
  while (out.flush()) {
    const std::size_t got = source(buffer.data(), buffer.size());
    if (got == 0) break;
    lines.take({buffer.data(), got});
  }
  lines.end();
  return static_cast<bool>(out.flush());
}

int command_batch(const Invocation& invocation, Console& console) {
  BatchOptions options;
  options.budget = parse_budget(invocation);
  options.deadline = parse_deadline(invocation);
  bool complete = true;
  if (invocation.arguments().empty()) {
    answer_stream([](char* buffer, std::size_t size) { return read_bytes(STDIN_FILENO, buffer, size); }, console.out,
                  options);
  }
  for (const std::string& path : invocation.arguments()) complete = answer_file(path, console, options) && complete;
  if (!console.out) throw std::runtime_error("cannot write the answers");
  return complete ? 0 : 1;
}

}  // namespace strata::tools
