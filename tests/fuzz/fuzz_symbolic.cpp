// The differential fuzzer of symbolic sizes: random chains of movement over symbolic shapes against tables of
// addresses.
//
//   fuzz_symbolic --count N --seed S [--only CASE_SEED] [--left L]
//
// Each case draws a shape of variables, products and sums, and a chain of movement ops. The chain runs on a
// ShapeTracker, and at some values of the variables on tables (one address an index, moved by the definition of each
// op). After every op the stack, and the simplified stack, are read by definition at those values and compared; so are
// guarded views where their condition holds, the stack with the values put in, and the chain run on numbers. On a
// failure the chain is minimised and printed with its seed; the exit status is 1. `--left` prints up to L stacks that
// stay although they merge at all the values looked at.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <random>
#include <string_view>

#include "strata/view/merge.h"
#include "tests/view/instances.h"

namespace strata::oracle {
namespace {

using Random = std::mt19937_64;

struct Move {
  enum class Kind : std::uint8_t { reshape, permute, flip, pad, shrink, expand, stride };
  Kind kind = Kind::reshape;
  Ints first, second;  ///< sizes, axes, steps, or begins and ends
};

std::string move_text(const Move& op) {
  constexpr const char* kNames[] = {"reshape", "permute", "flip", "pad", "shrink", "expand", "stride"};
  std::string out = kNames[static_cast<std::size_t>(op.kind)] + render(op.first);
  if (!op.second.empty()) out += " " + render(op.second);
  return out;
}

struct Case {
  Ints shape;
  std::vector<Move> ops;
  std::vector<Values> at;
};

Axes axes_of(const Ints& values) {
  Axes out;
  for (const Int& v : values) out.push_back(v.value());
  return out;
}

ShapeTracker moved(const ShapeTracker& st, const Move& op) {
  Mask bounds;
  Padding padding;
  for (std::size_t j = 0; j < op.second.size(); ++j) {
    bounds.push_back({op.first[j], op.second[j]});
    padding.push_back({op.first[j], op.second[j]});
  }
  switch (op.kind) {
    case Move::Kind::reshape: return st.reshape(op.first);
    case Move::Kind::permute: return st.permute(axes_of(op.first));
    case Move::Kind::flip: return st.flip(axes_of(op.first));
    case Move::Kind::pad: return st.pad(padding);
    case Move::Kind::shrink: return st.shrink(bounds);
    case Move::Kind::expand: return st.expand(op.first);
    case Move::Kind::stride: return st.stride(op.first);
  }
  return st;
}

Move at_values(Move op, const Values& at) {
  for (Int& v : op.first) v = value_of(v, at);
  for (Int& v : op.second) v = value_of(v, at);
  return op;
}

// --- tables: what an op means ---

struct Table {
  Index shape;
  std::vector<std::optional<std::int64_t>> addresses;  // row-major

  std::optional<std::int64_t> operator[](const Index& i) const {
    std::int64_t number = 0;
    for (std::size_t j = 0; j < i.size(); ++j) {
      if (i[j] < 0 || i[j] >= shape[j]) return std::nullopt;
      number = number * shape[j] + i[j];
    }
    return addresses[static_cast<std::size_t>(number)];
  }
};

Table row_major_table(const Index& shape) {
  Table out{shape, {}};
  for (std::int64_t n = 0; n < product(shape); ++n) out.addresses.emplace_back(n);
  return out;
}

template <class From>
Table gathered(const Table& t, const Index& shape, const From& from) {
  Table out{shape, {}};
  for (std::int64_t n = 0; n < product(shape); ++n) out.addresses.push_back(t[from(*unravel(shape, n))]);
  return out;
}

std::int64_t stride_size(std::int64_t size, std::int64_t step) {
  const std::int64_t by = step < 0 ? -step : step;
  return (size + by - 1) / by;
}

/// `op` on a table; nothing where it is not allowed. @pre op is at_values
std::optional<Table> moved(const Table& t, const Move& op) {
  const auto a = [&](std::size_t j) { return op.first[j].value(); };
  const auto b = [&](std::size_t j) { return op.second[j].value(); };
  const std::size_t rank = t.shape.size();
  Index shape = t.shape;
  bool ok = true;
  switch (op.kind) {
    case Move::Kind::reshape: {
      const Index to = *numbers(op.first);
      for (const std::int64_t size : to) ok = ok && size >= 0;
      if (!ok || product(to) != product(shape)) return std::nullopt;
      return Table{to, t.addresses};
    }
    case Move::Kind::permute:
      if (op.first.size() != rank) return std::nullopt;
      for (std::size_t k = 0; k < rank; ++k) shape[k] = t.shape[static_cast<std::size_t>(a(k))];
      return gathered(t, shape, [&](const Index& i) {
        Index j(rank, 0);
        for (std::size_t k = 0; k < rank; ++k) j[static_cast<std::size_t>(a(k))] = i[k];
        return j;
      });
    case Move::Kind::flip:
      return gathered(t, shape, [&](Index i) {
        for (std::size_t k = 0; k < op.first.size(); ++k) {
          const auto j = static_cast<std::size_t>(a(k));
          i[j] = shape[j] - 1 - i[j];
        }
        return i;
      });
    case Move::Kind::pad:
      for (std::size_t j = 0; j < rank; ++j) ok = ok && a(j) >= 0 && b(j) >= 0;
      for (std::size_t j = 0; j < rank; ++j) shape[j] += a(j) + b(j);
      break;
    case Move::Kind::shrink:
      for (std::size_t j = 0; j < rank; ++j) {
        ok = ok && 0 <= a(j) && a(j) <= b(j) && b(j) <= shape[j];
        shape[j] = b(j) - a(j);
      }
      break;
    case Move::Kind::expand:
      for (std::size_t j = 0; j < rank; ++j) {
        ok = ok && a(j) >= 0 && (shape[j] == a(j) || shape[j] == 1);
        shape[j] = a(j);
      }
      break;
    case Move::Kind::stride:
      for (std::size_t j = 0; j < rank; ++j) {
        ok = ok && a(j) != 0;
        if (ok) shape[j] = stride_size(shape[j], a(j));
      }
      break;
  }
  if (!ok) return std::nullopt;
  return gathered(t, shape, [&](Index i) {
    for (std::size_t j = 0; j < rank; ++j) {
      if (op.kind == Move::Kind::pad) i[j] -= a(j);
      if (op.kind == Move::Kind::shrink) i[j] += a(j);
      if (op.kind == Move::Kind::expand && t.shape[j] == 1) i[j] = 0;
      if (op.kind == Move::Kind::stride) i[j] = a(j) > 0 ? i[j] * a(j) : t.shape[j] - 1 + i[j] * a(j);
    }
    return i;
  });
}

// --- checks ---

struct Counts {
  std::size_t ops = 0, refused = 0, comparisons = 0, stacks = 0, merged = 0, guards = 0, missed = 0;
  std::size_t show = 0;  ///< print this many of `missed`
};

struct Failure {
  std::string check, detail;
};

class Checker {
 public:
  /// Runs the chain; the first thing that is wrong.
  std::optional<Failure> operator()(const Case& c, Counts& counts) {
    try {
      return run(c, counts);
    } catch (const std::exception& error) {
      return Failure{"exception", error.what()};
    }
  }

 private:
  std::optional<Failure> run(const Case& c, Counts& counts) {
    std::vector<Table> tables;
    for (const Values& at : c.at) {
      Index shape;
      for (const Int& size : c.shape) shape.push_back(value_of(size, at));
      tables.push_back(row_major_table(shape));
    }
    ShapeTracker st = ShapeTracker::from_shape(c.shape);
    ShapeTracker concrete = ShapeTracker::from_shape(to_ints(tables[0].shape));
    for (const Move& op : c.ops) {
      std::optional<ShapeTracker> next;
      try {
        next = moved(st, op);
      } catch (const Error&) {  // refused: the chain goes on without this op
        ++counts.refused;
        continue;
      }
      ++counts.ops;
      st = *std::move(next);
      for (std::size_t i = 0; i < c.at.size(); ++i) {
        std::optional<Table> table = moved(tables[i], at_values(op, c.at[i]));
        if (!table)
          return Failure{"illegal", move_text(op) + " was accepted, but is not allowed at " + text_of(c.at[i])};
        tables[i] = *std::move(table);
      }
      concrete = moved(concrete, at_values(op, c.at[0]));
      if (auto failure = compare(st, concrete, c, tables, counts)) {
        failure->detail = "after " + move_text(op) + ": " + failure->detail;
        return failure;
      }
    }
    return std::nullopt;
  }

  static std::optional<Failure> compare(const ShapeTracker& st, const ShapeTracker& concrete, const Case& c,
                                        const std::vector<Table>& tables, Counts& counts) {
    const ShapeTracker simple = st.simplify();
    counts.stacks += st.views().size() > 1;
    counts.merged += st.views().size() > 1 && simple.views().size() == 1;
    if (!(simple.simplify() == simple)) return Failure{"idempotence", simple.render()};
    bool all_single = true;
    for (std::size_t i = 0; i < c.at.size(); ++i) {
      ++counts.comparisons;
      if (auto failure = same_as(tables[i], st, c.at[i], "stack")) return failure;
      if (auto failure = same_as(tables[i], simple, c.at[i], "simplify")) return failure;
      const View& top = st.views().back();
      const View minified = top.minify();
      if (table(instances({&top, 1}, c.at[i])) != table(instances({&minified, 1}, c.at[i])))
        return Failure{"minify", top.render() + " to " + minified.render() + " at " + text_of(c.at[i])};
      if (simple.views().size() > 1) all_single = all_single && is_single(simple, c.at[i]);
    }
    if (auto failure = same_as(tables[0], concrete, {}, "numbers")) return failure;
    if (simple.views().size() > 1 && all_single && counts.missed++ < counts.show)
      std::printf("left      %s\n", simple.render().c_str());
    return simple.views().size() > 1 ? check_guard(simple, c, counts) : std::nullopt;
  }

  static std::optional<Failure> same_as(const Table& expected, const ShapeTracker& st, const Values& at,
                                        const char* check) {
    const std::vector<Instance> stack = instances(st.views(), at);
    const bool same = stack.back().shape == expected.shape && table(stack) == expected.addresses;
    return same ? std::nullopt : std::optional(Failure{check, st.render() + " at " + text_of(at)});
  }

  static bool is_single(const ShapeTracker& st, const Values& at) {
    std::vector<Strided> boxes;
    for (const Instance& v : instances(st.views(), at)) {
      Strided box = strided(v);
      for (std::size_t j = 0; j < box.shape.size(); ++j) {
        box.begin[j] = std::clamp<std::int64_t>(box.begin[j], 0, box.shape[j]);
        box.end[j] = std::clamp<std::int64_t>(box.end[j], box.begin[j], box.shape[j]);
      }
      boxes.push_back(box);
    }
    return single(piecewise(boxes)).found == Answer::yes;
  }

  static std::optional<Failure> check_guard(const ShapeTracker& st, const Case& c, Counts& counts) {
    const std::size_t last = st.views().size() - 1;
    const std::optional<ShapeTracker::Guarded> found = merge_guarded(st.views()[last - 1], st.views()[last]);
    if (!found) return std::nullopt;
    ++counts.guards;
    for (const Values& at : c.at) {
      if (evaluate(found->condition, at) == 0) continue;
      const std::vector<Instance> before = instances(std::span(st.views()).subspan(last - 1), at);
      const std::vector<Instance> after = instances({&found->view, 1}, at);
      if (table(before) != table(after))
        return Failure{"guard", found->view.render() + " where " + found->condition.render() + " for " + st.render() +
                                    " at " + text_of(at)};
    }
    return std::nullopt;
  }
};

// --- drawing cases ---

class Draw {
 public:
  explicit Draw(std::uint64_t seed) : random_(seed) {
    const auto low = [&] { return static_cast<std::int64_t>(below(8) == 0 ? 0 : 1 + below(2)); };
    for (const char* name : {"n", "m", "k"}) {
      const std::int64_t lo = low();
      names_.emplace_back(name, lo, lo + static_cast<std::int64_t>(1 + below(5)));
    }
    names_.push_back(Variable("b", 1, 6).bind(static_cast<std::int64_t>(1 + below(6))));
  }

  Case operator()() {
    Case c;
    for (int i = 0; i < 8; ++i) {
      Values at;
      for (const Variable& v : names_) at.emplace_back(v, between(v.min(), v.max()));
      c.at.push_back(std::move(at));
    }
    do {
      c.shape.clear();
      for (std::size_t rank = 1 + below(3); rank-- > 0;) c.shape.push_back(size());
    } while (!fits(c.shape));
    draw_ops(c);
    return c;
  }

 private:
  static constexpr std::int64_t kMostElements = 20'000;  // over all values of the variables

  std::uint64_t below(std::uint64_t end) { return random_() % end; }
  std::int64_t between(std::int64_t lo, std::int64_t hi) {
    return lo + static_cast<std::int64_t>(below(static_cast<std::uint64_t>(hi - lo) + 1));
  }
  Int variable() { return names_[below(names_.size())]; }
  Int size() {
    switch (below(9)) {
      case 0: return variable() * Int(2);
      case 1: return variable() * Int(4);
      case 2: return variable() * variable();
      case 3: return variable() + Int(1);
      case 4: return variable() * Int(2) + Int(1);
      case 5:
      case 6: return between(1, 6);
      default: return variable();
    }
  }
  static bool fits(const Ints& shape) {
    try {
      return product(shape).vmax() <= kMostElements;
    } catch (const Error&) {
      return false;
    }
  }

  void draw_ops(Case& c) {
    Ints shape = c.shape;
    std::vector<Ints> seen{shape};
    for (std::uint64_t left = 1 + below(7); left-- > 0;) {
      const Move op = draw_op(shape, seen);
      try {
        ShapeTracker next = moved(ShapeTracker::from_shape(shape), op);
        if (!fits(next.shape())) continue;
        shape = next.shape();
      } catch (const Error&) {
        if (below(4) != 0) continue;  // now and then what is refused stays in
      }
      seen.push_back(shape);
      c.ops.push_back(op);
    }
  }

  Move draw_op(const Ints& shape, const std::vector<Ints>& seen) {
    const std::size_t rank = shape.size();
    Ints first, second;
    switch (below(10)) {
      case 0:
        for (std::size_t j = 0; j < rank; ++j) first.push_back(static_cast<std::int64_t>(j));
        std::shuffle(first.begin(), first.end(), random_);
        return {Move::Kind::permute, first, {}};
      case 1:
        for (std::size_t j = 0; j < rank; ++j)
          if (below(2) == 0) first.push_back(static_cast<std::int64_t>(j));
        return {Move::Kind::flip, first, {}};
      case 2:
        for (std::size_t j = 0; j < rank; ++j) {
          first.push_back(amount());
          second.push_back(amount());
        }
        return {Move::Kind::pad, first, second};
      case 3: return draw_shrink(shape);
      case 4:
        for (std::size_t j = 0; j < rank; ++j) first.push_back(shape[j] == Int(1) ? size() : shape[j]);
        return {Move::Kind::expand, first, {}};
      case 5:
        for (std::size_t j = 0; j < rank; ++j) {
          const std::int64_t step = below(2) == 0 ? 1 : between(1, 3);
          first.push_back(below(3) == 0 ? -step : step);
        }
        return {Move::Kind::stride, first, {}};
      case 6: return {Move::Kind::reshape, seen[below(seen.size())], {}};
      default: return {Move::Kind::reshape, reshaped(shape), {}};
    }
  }
  Int amount() {
    const std::uint64_t r = below(8);
    return r < 4 ? Int(0) : r < 7 ? Int(between(0, 2)) : variable();
  }
  Move draw_shrink(const Ints& shape) {
    Ints first, second;
    for (const Int& size : shape) {
      Int begin = 0, end = size;
      switch (below(6)) {
        case 0: begin = between(0, std::clamp<std::int64_t>(size.vmin(), 0, 2)); break;
        case 1: end = size - Int(between(0, std::clamp<std::int64_t>(size.vmin(), 0, 2))); break;
        case 2: end = variable(); break;
        case 3: begin = size - variable(); break;
        default: break;
      }
      first.push_back(begin);
      second.push_back(end);
    }
    return {Move::Kind::shrink, first, second};
  }
  // Neighbours joined, and dimensions split by a factor.
  Ints reshaped(const Ints& shape) {
    Ints out;
    for (const Int& size : shape) {
      if (!out.empty() && below(3) == 0) {
        out.back() = out.back() * size;
      } else {
        out.push_back(size);
      }
    }
    if (below(2) == 0) out = shape;
    Ints split;
    for (const Int& size : out) {
      const Int by = below(2) == 0 ? variable() : Int(between(2, 4));
      const std::optional<Int> quotient = below(2) == 0 ? std::nullopt : exact_quotient(size, by);
      if (!quotient) {
        if (size != Int(1) || below(2) == 0) split.push_back(size);
        if (below(12) == 0) split.push_back(1);
        continue;
      }
      const bool outer = below(2) == 0;
      split.push_back(outer ? by : *quotient);
      split.push_back(outer ? *quotient : by);
    }
    return below(8) == 0 ? Ints{product(split)} : split;
  }

  Random random_;
  std::vector<Variable> names_;
};

// --- reporting ---

Case without_op(Case c, std::size_t i) {
  c.ops.erase(c.ops.begin() + static_cast<std::ptrdiff_t>(i));
  return c;
}

Case shrunk(Case c, const std::string& check) {
  Checker checker;
  const auto fails = [&](const Case& smaller) {
    Counts ignored;
    const std::optional<Failure> failure = checker(smaller, ignored);
    return failure && failure->check == check;
  };
  for (bool moved_on = true; moved_on;) {
    moved_on = false;
    for (std::size_t i = c.ops.size(); i-- > 0;) {
      Case smaller = without_op(c, i);
      if (!fails(smaller)) continue;
      c = std::move(smaller);
      moved_on = true;
    }
    for (std::size_t i = c.at.size(); i-- > 0 && c.at.size() > 1;) {
      Case smaller = c;
      smaller.at.erase(smaller.at.begin() + static_cast<std::ptrdiff_t>(i));
      if (fails(smaller)) c = std::move(smaller);
    }
  }
  return c;
}

void report(const Case& original, const Failure& first, std::uint64_t seed) {
  const Case least = shrunk(original, first.check);
  Counts ignored;
  const std::optional<Failure> failure = Checker()(least, ignored);
  std::printf("FAILED %s: %s\n  shape   %s\n", first.check.c_str(),
              failure ? failure->detail.c_str() : first.detail.c_str(), render(least.shape).c_str());
  for (const Move& op : least.ops) std::printf("  then    %s\n", move_text(op).c_str());
  for (const auto& [v, value] : least.at[0])
    std::printf("  size    %s in [%lld, %lld], e.g. %lld\n", std::string(v.name()).c_str(),
                static_cast<long long>(v.min()), static_cast<long long>(v.max()), static_cast<long long>(value));
  std::printf("  repeat  fuzz_symbolic --only %llu\n", static_cast<unsigned long long>(seed));
}

struct Arguments {
  std::uint64_t count = 2000, seed = 1, only = 0, left = 0;
};

/// False for a word that is not understood.
bool read_arguments(int argc, char** argv, Arguments& out) {
  for (int i = 1; i < argc; i += 2) {
    const std::string_view word = argv[i];
    std::uint64_t* number = word == "--count"  ? &out.count
                            : word == "--seed" ? &out.seed
                            : word == "--only" ? &out.only
                            : word == "--left" ? &out.left
                                               : nullptr;
    if (number == nullptr || i + 1 == argc) return false;
    *number = std::strtoull(argv[i + 1], nullptr, 10);
  }
  return true;
}

int run(const Arguments& arguments) {
  const auto start = std::chrono::steady_clock::now();
  Random seeds(arguments.seed);
  Checker checker;
  Counts counts;
  counts.show = arguments.left;
  std::uint64_t done = 0;
  bool failed = false;
  for (; done < (arguments.only != 0 ? 1 : arguments.count) && !failed; ++done) {
    const std::uint64_t seed = arguments.only != 0 ? arguments.only : seeds() | 1;
    const Case c = Draw(seed)();
    if (const std::optional<Failure> failure = checker(c, counts)) {
      failed = true;
      report(c, *failure, seed);
    }
  }
  const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  std::printf(
      "fuzz_symbolic: %llu chains (seed %llu), %s; %zu ops, %zu refused, %zu comparisons; %zu "
      "stacks: %zu "
      "merged, %zu guarded, %zu left that the sampled sizes merge; %.1f s\n",
      static_cast<unsigned long long>(done), static_cast<unsigned long long>(arguments.seed),
      failed ? "one FAILED" : "none failed", counts.ops, counts.refused, counts.comparisons, counts.stacks,
      counts.merged, counts.guards, counts.missed, seconds);
  return failed ? 1 : 0;
}

}  // namespace
}  // namespace strata::oracle

int main(int argc, char** argv) {
  strata::oracle::Arguments arguments;
  if (!strata::oracle::read_arguments(argc, argv, arguments)) {
    std::fprintf(stderr, "usage: fuzz_symbolic [--count N] [--seed S] [--only CASE] [--left L]\n");
    return 2;
  }
  return strata::oracle::run(arguments);
}
