// libFuzzer: whatever Views are made of and whatever is done to them, nothing but Error comes out; what small stacks of
// numbers say is what the definition says, before and after simplify().
//
// The bytes choose symbolic or plain sizes, one to four Views, then operations with legal or absurd arguments.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "strata/base/check.h"
#include "strata/view/equal.h"
#include "strata/view/shape_tracker.h"
#include "tests/view/view_oracle.h"

using namespace strata;

namespace {

void require(bool holds, const char* what, const ShapeTracker& st) {
  if (holds) return;
  std::fprintf(stderr, "%s: %s\n", what, st.render().c_str());
  std::abort();
}

/// Runs f; an Error is an answer, if it names its operation.
template <class F>
void attempt(const F& f) {
  try {
    f();
  } catch (const Error& error) {
    const std::string_view text = error.what();
    if (text.starts_with('[') && text.find("internal") == std::string_view::npos) return;
    std::fprintf(stderr, "an Error without its operation: %s\n", error.what());
    std::abort();
  }
}

/// The input as a stream of numbers; zeros after its end.
class Bytes {
 public:
  Bytes(const std::uint8_t* data, std::size_t size) : data_(data), size_(size) {}
  bool empty() const { return at_ >= size_; }
  std::uint8_t byte() { return empty() ? 0 : data_[at_++]; }
  std::size_t below(std::size_t n) { return byte() % n; }

  /// Mostly small, sometimes at the limits of 64 bits, sometimes anything.
  std::int64_t number() {
    static constexpr std::int64_t kAbsurd[] = {kNegInf,
                                               kNegInf + 1,
                                               kPosInf,
                                               kPosInf - 1,
                                               std::int64_t{1} << 62,
                                               -(std::int64_t{1} << 62),
                                               std::int64_t{1} << 32,
                                               std::int64_t{1} << 31,
                                               3037000500,
                                               -3037000500,
                                               1000003,
                                               -1,
                                               -2,
                                               255};
    const std::uint8_t b = byte();
    if (b < 220) return b % 20 < 16 ? b % 7 : b % 19 - 9;
    if (b < 250) return kAbsurd[b % std::size(kAbsurd)];
    std::uint64_t out = 0;
    for (int k = 0; k < 8; ++k) out = out << 8 | byte();
    return static_cast<std::int64_t>(out);
  }

 private:
  const std::uint8_t* data_;
  std::size_t size_, at_ = 0;
};

class Session {
 public:
  Session(const std::uint8_t* data, std::size_t size)
      : bytes_(data, size),
        symbolic_(bytes_.below(2) == 1),
        n_(Variable("n", 1, 16)),
        m_(Variable("m", 0, 5)),
        k_(Variable("k", 2, std::int64_t{1} << 40)),
        bound_(Variable("b", 1, 9).bind(4)) {}

  void run() {
    ShapeTracker st = start();
    for (int step = 0; step < 12 && !bytes_.empty(); ++step) {
      attempt([&] { st = moved(st); });
      if (bytes_.below(4) == 0) ask(st);
    }
    ask(st);
    check(st);
  }

 private:
  Int value() {
    if (!symbolic_ || bytes_.below(3) != 0) return bytes_.number();
    const std::vector<Expr> symbols = {n_, m_, k_, bound_};
    const Expr s = symbols[bytes_.below(symbols.size())];
    switch (bytes_.below(5)) {
      case 0: return s * bytes_.number();
      case 1: return s + bytes_.number();
      case 2: return s * n_;
      case 3: return s / 2;
      default: return s;
    }
  }
  Ints values(std::size_t rank) {
    Ints out;
    for (std::size_t j = 0; j < rank; ++j) out.push_back(value());
    return out;
  }
  Mask mask(std::size_t rank) {
    Mask out;
    for (std::size_t j = 0; j < rank; ++j) {
      const Int begin = value();
      out.push_back({begin, value()});
    }
    return out;
  }
  /// The rank of `st`, or now and then another one.
  std::size_t rank_for(const ShapeTracker& st) { return bytes_.below(16) == 0 ? bytes_.below(9) : st.rank(); }

  ShapeTracker start() {
    std::vector<View> views;
    const std::size_t most = 1 + bytes_.below(4);
    for (std::size_t k = 0; k < most; ++k)
      attempt([&] {
        const Ints shape = values(bytes_.below(6));
        std::optional<Ints> strides;
        if (bytes_.below(2) == 0) strides = values(shape.size());
        std::optional<Mask> masked;
        if (bytes_.below(3) == 0) masked = mask(shape.size());
        views.push_back(View::create(shape, strides, bytes_.below(2) == 0 ? Int(0) : value(), masked));
      });
    if (views.empty()) views.push_back(View::create({4, 6}));
    return ShapeTracker(views);
  }

  ShapeTracker moved(const ShapeTracker& st) {
    const std::size_t kind = bytes_.below(13);
    const bool legal = bytes_.below(3) != 0;
    const std::size_t rank = rank_for(st);
    switch (kind) {
      case 0: return st.permute(legal ? rotated(st.rank()) : axes(rank));
      case 1:
      case 2: return st.reshape(legal ? regrouped(st.shape()) : values(rank));
      case 3: return st.expand(legal ? widened(st.shape()) : values(rank));
      case 4: return st.pad(legal ? slim(st.rank()) : padding(rank));
      case 5: return st.shrink(legal ? window(st.shape()) : mask(rank));
      case 6: return st.flip(axes(bytes_.below(1 + rank)));
      case 7: return st.stride(legal ? steps(st.rank()) : values(rank));
      case 8: return st.simplify();
      case 9: return st.substitute({{n_, value().expr()}, {m_, value().expr()}});
      case 10: return st.unbind().first;
      case 11: return st + ShapeTracker::from_shape(values(bytes_.below(3)));
      default: return st.invert(bytes_.below(2) == 0 ? st.shape() : values(rank)).value_or(st);
    }
  }

  Axes axes(std::size_t rank) {
    Axes out;
    for (std::size_t j = 0; j < rank; ++j) out.push_back(bytes_.number());
    return out;
  }
  Axes rotated(std::size_t rank) {
    const std::size_t by = bytes_.below(rank + 1);
    Axes out;
    for (std::size_t j = 0; j < rank; ++j) out.push_back(static_cast<std::int64_t>((j + by) % rank));
    return out;
  }
  /// Neighbours joined, sizes split by a small divisor, ones put in.
  Ints regrouped(const Ints& shape) {
    Ints out;
    for (const Int& n : shape) {
      const std::size_t choice = bytes_.below(4);
      if (choice == 0 && !out.empty()) {
        out.back() *= n;
      } else if (const auto part = exact_quotient(n, Int(static_cast<std::int64_t>(choice) + 1))) {
        out.push_back(*part);
        if (choice != 0) out.push_back(static_cast<std::int64_t>(choice) + 1);
      } else {
        out.push_back(n);
      }
    }
    return out;
  }
  Ints widened(const Ints& shape) {
    Ints out;
    for (const Int& n : shape) out.push_back(n == Int(1) ? value() : n);
    return out;
  }
  Padding padding(std::size_t rank) {
    Padding out;
    for (std::size_t j = 0; j < rank; ++j) {
      const Int before = value();
      out.push_back({before, value()});
    }
    return out;
  }
  Padding slim(std::size_t rank) {
    Padding out;
    for (std::size_t j = 0; j < rank; ++j) {
      const std::uint8_t b = bytes_.byte();
      out.push_back({b % 3, b / 3 % 3});
    }
    return out;
  }
  Mask window(const Ints& shape) {
    Mask out;
    for (const Int& n : shape) {
      const std::uint8_t b = bytes_.byte();
      out.push_back({b % 2, b % 4 < 2 ? n : n - 1});
    }
    return out;
  }
  Ints steps(std::size_t rank) {
    static constexpr std::int64_t kSteps[] = {1, 1, -1, 2, -2, 3, -3, 4};
    Ints out;
    for (std::size_t j = 0; j < rank; ++j) out.push_back(kSteps[bytes_.below(std::size(kSteps))]);
    return out;
  }

  /// Every question, each on its own.
  static void ask(const ShapeTracker& st) {
    attempt([&] { st.render(); });
    attempt([&] { st.hash(); });
    attempt([&] { st.size(); });
    attempt([&] { st.consecutive(); });
    attempt([&] { st.why_not_merged(); });
    attempt([&] { st.guarded_view(); });
    attempt([&] { st.expr_idxs(); });
    attempt([&] { st.to_indexed_uops().index.tree(); });
    attempt([&] { st.to_indexed_uops().valid.render(); });
    attempt([&] { st.real_strides(); });
    attempt([&] { st.real_strides(true); });
    attempt([&] { st.real_size(); });
    attempt([&] { st.unit_stride_axes(); });
    attempt([&] { st.invert(st.shape()); });
    attempt([&] { st.vars(); });
    attempt([&] { st.var_vals(); });
    attempt([&] { st.unbind(); });
    attempt([&] { is_injective(st); });
    attempt([&] { is_contiguous(st); });
    attempt([&] { fingerprint(st, 3); });
    for (std::int64_t axis = -1; axis <= static_cast<std::int64_t>(st.rank()); ++axis)
      attempt([&] { st.axis_is_masked(axis); });
    for (const View& v : st.views()) {
      attempt([&] { v.minify(); });
      attempt([&] { v.invert(st.shape()); });
      attempt([&] { v + st.views().back(); });
      attempt([&] { v.to_indexed_uops(); });
    }
  }

  /// simplify() keeps the meaning, for numbers and, where sizes are symbolic, for some values of theirs.
  static void check(const ShapeTracker& st) {
    attempt([&] {
      const ShapeTracker simple = st.simplify();
      require(simple.simplify() == simple, "simplify is not idempotent", st);
      check_numbers(st, simple);
      for (const std::int64_t at : {1, 2, 3, 5})
        attempt([&] { check_numbers(replaced(st, at), replaced(simple, at)); });
    });
  }
  static ShapeTracker replaced(const ShapeTracker& st, std::int64_t at) {
    Substitution map;
    for (const Variable& v : st.vars()) map.emplace_back(v, std::max(v.min(), std::min(v.max(), at)));
    return st.substitute(map);
  }
  static void check_numbers(const ShapeTracker& st, const ShapeTracker& simple) {
    if (!st.is_concrete() || !simple.is_concrete()) return;
    const StackProof same = equal(st, simple);
    require(same.answer != Answer::no, "simplify changes the meaning", st);
    if (st.size().value() > 512) return;
    const oracle::Table table = oracle::table(oracle::plain(st.views()));
    const std::vector<std::int64_t> got = addresses(st), after = addresses(simple);
    require(got == after, "simplify changes addresses", st);
    require(got.size() == table.size(), "another number of addresses", st);
    for (std::size_t k = 0; k < got.size(); ++k) require(got[k] == table[k].value_or(-1), "a wrong address", st);
    require(fingerprint(st) == fingerprint(simple), "simplify changes the fingerprint", st);
  }

  Bytes bytes_;
  bool symbolic_;
  Expr n_, m_, k_, bound_;
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  attempt([&] { Session(data, size).run(); });
  return 0;
}
