// Random computations, written twice: with sharded tensors, and with tensors in one memory.
#pragma once

#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include "strata/tensor.h"

namespace strata::spmd_oracle {

/// Numbers that are the same on every rank.
class Random {
 public:
  explicit Random(std::uint64_t seed) : engine_(seed) {}
  /// From [low, high].
  std::int64_t in(std::int64_t low, std::int64_t high) {
    return low + static_cast<std::int64_t>(engine_() % static_cast<std::uint64_t>(high - low + 1));
  }
  bool one_of(std::int64_t n) { return in(1, n) == 1; }
  template <class T>
  const T& of(const std::vector<T>& from) {
    return from[static_cast<std::size_t>(in(0, std::ssize(from) - 1))];
  }

 private:
  std::mt19937_64 engine_;
};

/// A value of a program.
struct Twin {
  Tensor sharded, plain;
};

/// One random program: twins whose elements have to be equal.
class Program {
 public:
  /// @param tracked whether inputs take gradients
  /// @param given inputs in place of those that the program would make, as inputs() has them
  Program(std::uint64_t seed, MeshRanks ranks, const MeshShape& mesh, bool tracked = false,
          const std::vector<Twin>& given = {})
      : random_(seed), ranks_(ranks), mesh_(mesh), tracked_(tracked), given_(given) {
    for (int k = 0; k < 3; ++k) twins_.push_back(input());
    const std::int64_t steps = random_.in(3, 12);
    for (std::int64_t k = 0; k < steps; ++k) step();
  }

  const std::vector<Twin>& twins() const { return twins_; }
  const std::vector<Twin>& inputs() const { return inputs_; }
  const std::string& text() const { return text_; }

  /// Splits of a shape, none, some or all axes of the mesh.
  std::vector<Split> splits(const Ints& shape) {
    std::vector<Split> out;
    std::vector<std::int64_t> free;
    for (std::int64_t j = 0; j < std::ssize(shape); ++j) free.push_back(j);
    for (const std::string& name : mesh_.names()) {
      if (free.empty() || random_.one_of(4)) continue;
      if (!out.empty() && random_.one_of(4)) {
        out.back().over.push_back(name);
        continue;
      }
      const auto at = random_.in(0, std::ssize(free) - 1);
      Split split{{name}, free[static_cast<std::size_t>(at)], {}};
      if (random_.one_of(4)) split.cyclic = random_.in(1, 3);
      out.push_back(split);
      free.erase(free.begin() + at);
    }
    return out;
  }

 private:
  Twin input() {
    Ints shape;
    const std::int64_t rank = random_.in(1, 3);
    for (std::int64_t j = 0; j < rank; ++j) shape.push_back(random_.in(1, random_.one_of(3) ? 13 : 6));
    std::int64_t count = product(shape).value();
    const DType dtype = random_.of<DType>({dtypes::float32, dtypes::float32, dtypes::float32, dtypes::int32,
                                           dtypes::float64, dtypes::float16, dtypes::int8});
    if (tracked_ && !dtype.is_float()) return input();
    std::vector<float> elements;
    for (; count > 0; --count) elements.push_back(static_cast<float>(random_.in(-12, 12)) / (dtype.is_float() ? 8 : 1));
    const Tensor plain = Tensor::from(elements, shape).cast(dtype).realize();
    const std::vector<Split> own = splits(shape);
    Tensor sharded = plain.shard(ranks_, own);
    if (tracked_) sharded = sharded.realize().detach();
    if (!tracked_ && random_.one_of(4)) sharded = plain;
    note("x", std::ssize(twins_), " = ", dtype.name(), render(shape), " sharded ", render(own));
    Twin out{sharded, tracked_ ? plain.detach().clone().realize() : plain};
    if (tracked_) out.sharded.requires_grad(true), out.plain.requires_grad(true);
    if (!given_.empty()) out = given_[inputs_.size()];
    inputs_.push_back(out);
    return out;
  }

  template <class... T>
  void note(const T&... parts) {
    text_ += detail::message(parts..., "\n");
  }

  template <class F>
  void both(const Twin& x, const std::string& words, const F& f) {
    note("t", std::ssize(twins_), " = ", words, " of shape ", render(x.plain.shape()));
    Twin made{f(x.sharded), f(x.plain)};
    if (product(made.plain.shape()).value() > 4096 || made.plain.ndim() > 5) return note("  (left out)");
    if (random_.one_of(6)) {
      const std::vector<Split> own = splits(made.plain.shape());
      note("  sharded ", render(own));
      made.sharded = made.sharded.shard(ranks_, own);
    }
    if (random_.one_of(7)) note("  realized"), made.sharded.realize();
    twins_.push_back(made);
  }

  void step() {
    const Twin x = random_.of(twins_);
    const std::int64_t number = [&] {
      for (std::int64_t k = 0;; ++k)
        if (same(twins_[static_cast<std::size_t>(k)], x)) return k;
    }();
    const std::string name = detail::message("t", number);
    const std::int64_t rank = x.plain.ndim();
    const std::int64_t axis = rank == 0 ? 0 : random_.in(0, rank - 1);
    const std::int64_t size = rank == 0 ? 1 : x.plain.size(axis).value();
    const bool is_float = x.plain.dtype().is_float();
    switch (random_.in(0, 20)) {
      case 0: return both(x, "relu " + name, [](const Tensor& t) { return t.relu(); });
      case 1: return both(x, "3x+1 " + name, [](const Tensor& t) { return t * 3 + 1; });
      case 2: {
        const Twin y = random_.of(twins_);
        if (!(y.plain.shape() == x.plain.shape())) return both(x, "x*x " + name, [](const Tensor& t) { return t * t; });
        return binary(x, y, name + " + another");
      }
      case 3:
        if (rank == 0) return;
        return both(x, detail::message("sum ", axis, " ", name), [&](const Tensor& t) { return t.sum(axis); });
      case 4:
        if (rank == 0) return;
        return both(x, detail::message("max ", axis, " ", name), [&](const Tensor& t) { return t.max(axis); });
      case 5: return both(x, "sum " + name, [](const Tensor& t) { return t.sum(); });
      case 6: {
        if (rank == 0 || !is_float) return;
        return both(x, detail::message("softmax ", axis, " ", name), [&](const Tensor& t) { return t.softmax(axis); });
      }
      case 7: {
        Axes order;
        for (std::int64_t j = 0; j < rank; ++j) order.insert_at(static_cast<std::size_t>(random_.in(0, j)), j);
        return both(x, "permute " + render(Index(order)) + " " + name,
                    [&](const Tensor& t) { return t.permute(order); });
      }
      case 8: {
        const std::int64_t count = product(x.plain.shape()).value();
        std::int64_t part = random_.in(1, 6);
        if (count % part != 0) part = 1;
        const Ints to = random_.one_of(2) ? Ints{count / part, part} : Ints{part, count / part};
        return both(x, "reshape " + render(to) + " " + name, [&](const Tensor& t) { return t.reshape(to); });
      }
      case 9: {
        if (rank == 0) return;
        Mask bounds;
        for (std::int64_t j = 0; j < rank; ++j) {
          const std::int64_t n = x.plain.size(j).value(), begin = random_.in(0, n - 1);
          bounds.push_back({begin, random_.in(begin + 1, n)});
        }
        return both(x, "shrink " + name, [&](const Tensor& t) { return t.shrink(bounds); });
      }
      case 10: {
        Padding padding;
        for (std::int64_t j = 0; j < rank; ++j) padding.push_back({random_.in(0, 2), random_.in(0, 2)});
        return both(x, "pad " + name, [&](const Tensor& t) { return t.pad(padding); });
      }
      case 11:
        if (rank == 0) return;
        return both(x, detail::message("flip ", axis, " ", name), [&](const Tensor& t) { return t.flip({axis}); });
      case 12: {
        if (rank == 0) return;
        return both(x, detail::message("neighbours ", axis, " ", name), [&](const Tensor& t) {
          Mask low, high;
          for (std::int64_t j = 0; j < rank; ++j) {
            low.push_back({0, j == axis && size > 1 ? Int(size - 1) : t.size(j)});
            high.push_back({j == axis && size > 1 ? 1 : 0, t.size(j)});
          }
          return t.shrink(low) - t.shrink(high);
        });
      }
      case 13: {
        if (rank == 0 || x.plain.dtype() == dtypes::float16) return;
        return both(x, detail::message("cumsum ", axis, " ", name), [&](const Tensor& t) { return t.cumsum(axis); });
      }
      case 14: {
        if (rank == 0) return;
        return both(x, detail::message("sort ", axis, " ", name), [&](const Tensor& t) { return t.sort(axis).first; });
      }
      case 15: {
        if (rank != 2) return;
        return both(x, "x @ x.T " + name, [](const Tensor& t) { return t.matmul(t.permute({1, 0})); });
      }
      case 16: {
        const Twin y = random_.of(twins_);
        if (rank != 2 || y.plain.ndim() != 2 || x.plain.dtype() != y.plain.dtype()) return;
        if (!(x.plain.size(1) == y.plain.size(0))) return;
        note("t", std::ssize(twins_), " = matmul of ", name, " and one of shape ", render(y.plain.shape()));
        twins_.push_back({x.sharded.matmul(y.sharded), x.plain.matmul(y.plain)});
        return;
      }
      case 17: {
        if (rank == 0) return;
        return both(x, detail::message("cat ", axis, " ", name),
                    [&](const Tensor& t) { return Tensor::cat(std::vector<Tensor>{t, t * 2, t.flip({axis})}, axis); });
      }
      case 18: {
        if (rank == 0) return;
        const std::int64_t n = random_.in(1, 5);
        std::vector<std::int32_t> places;
        for (std::int64_t k = 0; k < n; ++k) places.push_back(static_cast<std::int32_t>(random_.in(0, size - 1)));
        const Tensor at = Tensor::from(places, {n}).realize();
        return both(x, detail::message("index_select ", axis, " ", name),
                    [&](const Tensor& t) { return t.index_select(axis, at); });
      }
      case 19: {
        if (rank == 0 || rank > 3 || size < 2) return;
        const bool back = random_.one_of(2);
        return both(x, detail::message("every second ", axis, " ", name), [&](const Tensor& t) {
          const Slice some{back ? std::optional<Int>(size - 1) : std::nullopt, {}, back ? -2 : 2};
          return axis == 0 ? t[{some}] : axis == 1 ? t[{Slice{}, some}] : t[{Slice{}, Slice{}, some}];
        });
      }
      default: {
        if (rank == 0 || !is_float) return;
        return both(x, detail::message("x - mean ", axis, " ", name),
                    [&](const Tensor& t) { return t - t.mean(axis, true); });
      }
    }
  }
  static bool same(const Twin& a, const Twin& b) {
    return a.plain.node() == b.plain.node() && a.sharded.node() == b.sharded.node();
  }
  void binary(const Twin& x, const Twin& y, const std::string& words) {
    note("t", std::ssize(twins_), " = ", words);
    twins_.push_back({x.sharded + y.sharded, x.plain + y.plain});
  }

  Random random_;
  MeshRanks ranks_;
  MeshShape mesh_;
  bool tracked_;
  std::vector<Twin> given_, twins_, inputs_;
  std::string text_;
};

}  // namespace strata::spmd_oracle
