// Reading the expressions: an operator-precedence parser with explicit stacks.
#include "bench/program.h"

#include <cctype>
#include <fstream>
#include <iterator>
#include <sstream>
#include <stdexcept>

namespace strata::bench {

namespace {

std::string trim(std::string_view s) {
  const std::size_t begin = s.find_first_not_of(" \t\r");
  if (begin == std::string_view::npos) return {};
  return std::string(s.substr(begin, s.find_last_not_of(" \t\r") - begin + 1));
}

int precedence(char op) { return op == '+' ? 1 : op == '(' ? 0 : 2; }

class StepParser {
 public:
  StepParser(std::string_view text, const std::vector<Range>& variables) : text_(text), variables_(variables) {}

  std::vector<Step> parse() {
    while (at_ < text_.size()) {
      const char c = text_[at_];
      if (std::isdigit(static_cast<unsigned char>(c)))
        number();
      else if (std::isalpha(static_cast<unsigned char>(c)))
        name();
      else
        symbol(c);
    }
    reduce(1);
    if (values_.size() != 1 || !operators_.empty()) fail("unbalanced expression");
    return std::move(steps_);
  }

 private:
  [[noreturn]] void fail(const std::string& what) const {
    throw std::runtime_error(what + " at column " + std::to_string(at_ + 1) + " of " + std::string(text_));
  }
  void push(Step step) {
    values_.push_back(steps_.size());
    steps_.push_back(step);
  }
  void number() {
    std::int64_t value = 0;
    for (; at_ < text_.size() && std::isdigit(static_cast<unsigned char>(text_[at_])); ++at_)
      value = value * 10 + (text_[at_] - '0');
    push({'c', value});
  }
  void name() {
    const std::size_t begin = at_;
    while (at_ < text_.size() && std::isalnum(static_cast<unsigned char>(text_[at_]))) ++at_;
    const std::string_view word = text_.substr(begin, at_ - begin);
    for (std::size_t i = 0; i < variables_.size(); ++i)
      if (variables_[i].name == word) return push({'v', static_cast<std::int64_t>(i)});
    fail("unknown name '" + std::string(word) + "'");
  }
  void symbol(char c) {
    if (c == '(') {
      operators_.push_back(c);
    } else if (c == ')') {
      reduce(1);
      if (operators_.empty()) fail("unmatched ')'");
      operators_.pop_back();
    } else if (c == '+' || c == '*' || c == '%' || c == '/') {
      if (c == '/' && text_.substr(at_, 2) != "//") fail("expected //");
      reduce(precedence(c));
      operators_.push_back(c);
      if (c == '/') ++at_;
    } else if (c != ' ') {
      fail("unexpected character");
    }
    ++at_;
  }
  /// Applies the waiting operators that bind at least as tightly as `least`.
  void reduce(int least) {
    while (!operators_.empty() && precedence(operators_.back()) >= least) {
      if (values_.size() < 2) fail("missing operand");
      const std::size_t right = values_.back();
      values_.pop_back();
      const std::size_t left = values_.back();
      values_.pop_back();
      push({operators_.back(), 0, left, right});
      operators_.pop_back();
    }
  }

  std::string_view text_;
  const std::vector<Range>& variables_;
  std::size_t at_ = 0;
  std::vector<Step> steps_;
  std::vector<std::size_t> values_;
  std::vector<char> operators_;
};

std::vector<Range> parse_ranges(const std::string& text) {
  std::vector<Range> ranges;
  std::istringstream in(text);
  for (std::string item; in >> item;) {
    const std::size_t first = item.find(':'), second = item.find(':', first + 1);
    if (second == std::string::npos) throw std::runtime_error("expected name:min:max, not " + item);
    ranges.push_back({item.substr(0, first), std::stoll(item.substr(first + 1)), std::stoll(item.substr(second + 1))});
  }
  return ranges;
}

}  // namespace

std::size_t Program::operations() const {
  std::size_t n = 0;
  for (const Step& s : steps) n += s.op != 'c' && s.op != 'v';
  return n;
}

std::vector<Step> parse_steps(std::string_view text, const std::vector<Range>& variables) {
  return StepParser(text, variables).parse();
}

std::vector<Program> read_programs(const std::string& path) {
  std::ifstream in(path);
  if (!in) throw std::runtime_error("cannot read " + path);
  std::vector<Program> programs;
  for (std::string line; std::getline(in, line);) {
    if (line.empty() || line[0] == '#') continue;
    std::istringstream fields(line);
    std::string name, ranges, text, ideal;
    std::getline(fields, name, ';');
    std::getline(fields, ranges, ';');
    std::getline(fields, text, ';');
    std::getline(fields, ideal, ';');
    Program p{trim(name), trim(text), trim(ideal), parse_ranges(ranges), {}};
    p.steps = parse_steps(p.text, p.variables);
    programs.push_back(std::move(p));
  }
  return programs;
}

std::int64_t run_program(const std::vector<Step>& steps, const std::vector<std::int64_t>& point) {
  std::vector<std::int64_t> slots;
  for (const Step& s : steps) {
    if (s.op == 'c') {
      slots.push_back(s.value);
      continue;
    }
    if (s.op == 'v') {
      slots.push_back(point[static_cast<std::size_t>(s.value)]);
      continue;
    }
    const std::int64_t a = slots[s.left], b = slots[s.right];
    // All values of these expressions are nonnegative, so the machine's division is the floor's.
    slots.push_back(s.op == '+' ? a + b : s.op == '*' ? a * b : s.op == '/' ? a / b : a % b);
  }
  return slots.back();
}

int count_div_mod(std::string_view text) {
  int n = 0;
  for (const std::string_view word : {"//", "%", "floordiv", "ceildiv", "mod", "floor("})
    for (std::size_t at = text.find(word); at != std::string_view::npos; at = text.find(word, at + word.size())) ++n;
  return n;
}

}  // namespace strata::bench
