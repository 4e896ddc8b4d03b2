// Tour: the contents of `strata tour`: chapters of stages, each a heading and lines of C++ with the values that they
// print. tour_*.cpp write the stages, tour_command.cpp prints them.
//
//   tour.stage("LazyOp", "what a Tensor is a handle on");
//   STRATA_TOUR_RUN(Tensor result = a + b;)
//   STRATA_TOUR_SHOW(result.node().text());
//
// The macros both run a line and show its text, so the text and the printed value cannot disagree.
#pragma once

#include <concepts>
#include <string>
#include <string_view>
#include <vector>

#include "strata/codegen/spec_linearizer.h"
#include "strata/tensor/tensor.h"

namespace strata::tools {

/// A line of C++ with its printed value, which is empty for a statement.
struct TourLine {
  std::string code, printed;
};

struct TourStage {
  std::string chapter, title, note;
  std::vector<TourLine> lines;
};

class Tour {
 public:
  void chapter(std::string name) { chapter_ = std::move(name); }
  void stage(std::string title, std::string note) {
    stages_.push_back({chapter_, std::move(title), std::move(note), {}});
  }
  /// Adds a statement, which prints nothing.
  void run(std::string_view code) { add(code, {}); }
  /// Adds an expression with its value.
  template <class T>
  void show(std::string_view code, const T& value) {
    add(code, told(value));
  }
  const std::vector<TourStage>& stages() const { return stages_; }

 private:
  /// @pre a stage has begun
  void add(std::string_view code, std::string printed) {
    stages_.back().lines.push_back({std::string(code), std::move(printed)});
  }
  static std::string told(const std::string& text) { return text; }
  static std::string told(std::string_view text) { return std::string(text); }
  static std::string told(const Ints& sizes) { return render(sizes); }
  static std::string told(DType dtype) { return std::string(dtype.name()); }
  static std::string told(Ops op) { return spec_name(op); }
  static std::string told(const Scalar& value) { return value.text(); }
  template <class T>
    requires std::is_arithmetic_v<T>
  static std::string told(T value) {
    if constexpr (std::floating_point<T> || std::same_as<T, bool>)
      return Scalar(value).text();
    else
      return std::to_string(value);
  }
  static std::string told(const std::vector<float>& values);

  std::string chapter_;
  std::vector<TourStage> stages_;
};

#define STRATA_TOUR_RUN(...) \
  tour.run(#__VA_ARGS__);    \
  __VA_ARGS__
#define STRATA_TOUR_SHOW(...) tour.show(#__VA_ARGS__, __VA_ARGS__)

/// `text` up to the end of its first function, i.e. its first line "}".
std::string first_function(const std::string& text);
/// The gradient rules (ops/gradient.h) of the tracked ops below `y`, one line each.
std::string gradient_rules_of(const LazyOp& y);

// The chapters.
void tour_sum(Tour& tour);
void tour_gradient(Tour& tour);
void tour_movement(Tour& tour);
void tour_symbolic(Tour& tour);

}  // namespace strata::tools
