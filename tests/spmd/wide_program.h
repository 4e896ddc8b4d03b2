// Random computations of most operations, written twice: with sharded tensors, and with tensors in one memory.
#pragma once

#include <functional>

#include "strata/engine/realize.h"
#include "strata/tensor.h"
#include "tests/spmd/random_program.h"

namespace strata::spmd_oracle {

/// How a WideProgram is drawn and run.
struct Manner {
  bool is_tracked = false;    ///< inputs take gradients
  bool is_smooth = false;     ///< no result jumps where an operand changes a little
  bool is_eager = false;      ///< each step is realized
  std::int64_t realized = 7;  ///< else one of so many steps is
  std::int64_t most_steps = 10;
};

/// One random program: twins whose elements have to be equal.
class WideProgram {
 public:
  using Unary = std::function<Tensor(const Tensor&)>;
  using Binary = std::function<Tensor(const Tensor&, const Tensor&)>;

  WideProgram(std::uint64_t seed, MeshRanks ranks, const MeshShape& mesh, Manner manner = {})
      : random_(seed * 0x9e3779b97f4a7c15U + 1), ranks_(ranks), mesh_(mesh), manner_(manner) {
    for (int k = 0; k < 3; ++k) add(input());
    const std::int64_t steps = random_.in(2, manner.most_steps);
    for (std::int64_t k = 0; k < steps; ++k) step();
  }

  const std::vector<Twin>& twins() const { return twins_; }
  const std::vector<Twin>& inputs() const { return inputs_; }
  const std::string& text() const { return text_; }

 private:
  // --- inputs ---

  Twin input() {
    Ints shape;
    const std::int64_t rank = random_.in(random_.one_of(6) ? 0 : 1, 4);
    for (std::int64_t j = 0; j < rank; ++j)
      shape.push_back(random_.one_of(30) ? 0 : random_.in(1, random_.one_of(4) ? 13 : 5));
    return input(shape, dtype());
  }
  DType dtype() {
    if (manner_.is_tracked)
      return random_.of<DType>({dtypes::float32, dtypes::float32, dtypes::float64, dtypes::float16, dtypes::bfloat16});
    return random_.of<DType>({dtypes::float32, dtypes::float32, dtypes::float32, dtypes::float64, dtypes::float16,
                              dtypes::bfloat16, dtypes::int32, dtypes::int64, dtypes::int8, dtypes::uint8,
                              dtypes::boolean});
  }
  Twin input(const Ints& shape, DType dtype) {
    std::vector<float> elements;
    const std::int64_t low = dtype == dtypes::uint8 || dtype == dtypes::boolean ? 0 : -12;
    for (std::int64_t k = product(shape).value(); k > 0; --k)
      elements.push_back(static_cast<float>(random_.in(low, 12)) / (dtype.is_float() ? 8 : 1));
    const Tensor plain = Tensor::from(elements, shape).cast(dtype).realize();
    const std::vector<Split> own = splits(shape);
    Tensor sharded = random_.one_of(4) ? plain.detach().clone() : plain.shard(ranks_, own);
    const bool is_realized = manner_.is_tracked || manner_.is_eager || random_.one_of(2);
    if (is_realized) sharded = sharded.realize().detach();
    note("t", twins_.size(), " = ", dtype.name(), render(shape), " sharded ", render(own),
         is_realized ? " realized" : "");
    Twin out{sharded, plain.detach().clone().realize()};
    if (manner_.is_tracked) {
      out.sharded.requires_grad(true), out.plain.requires_grad(true);
      inputs_.push_back(out);
    }
    return out;
  }
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

  // --- steps ---

  template <class... T>
  void note(const T&... parts) {
    text_ += detail::message(parts..., "\n");
  }
  void add(const Twin& t) { twins_.push_back(t); }
  std::size_t number() { return static_cast<std::size_t>(random_.in(0, std::ssize(twins_) - 1)); }

  /// Adds what `f` makes of both twins' tensors, unless it refuses the plain one.
  void made(const std::string& words, const std::function<Tensor(bool)>& f) {
    std::optional<Tensor> plain;
    try {
      plain = f(false);
    } catch (const Error& e) {
      return;
    }
    if (product(plain->shape()).value() > 2048 || plain->ndim() > 5) return;
    // A shard() of the same node would be one more node: gradients are added in another order.
    if (manner_.is_tracked &&
        std::any_of(twins_.begin(), twins_.end(), [&](const Twin& t) { return t.plain.node() == plain->node(); }))
      return;
    note("t", twins_.size(), " = ", words, " of shape ", plain->dtype().name(), render(plain->shape()));
    Twin twin{f(true), *plain};
    if (random_.one_of(6)) {
      const std::vector<Split> own = splits(plain->shape());
      note("  sharded ", render(own));
      twin.sharded = twin.sharded.shard(ranks_, own);
    }
    add(twin);
    if (manner_.is_eager || random_.one_of(manner_.realized)) note("  realized"), twin.sharded.realize();
  }
  void one(const std::string& words, std::size_t x, const Unary& f) {
    made(words + " t" + std::to_string(x), [&](bool sharded) { return f(at(x, sharded)); });
  }
  void two(const std::string& words, std::size_t x, std::size_t y, const Binary& f) {
    made(detail::message(words, " t", x, " t", y), [&](bool sharded) { return f(at(x, sharded), at(y, sharded)); });
  }
  const Tensor& at(std::size_t x, bool sharded) const { return sharded ? twins_[x].sharded : twins_[x].plain; }

  /// The elements of `t`, again and again, in `shape`.
  static Tensor filled(const Tensor& t, const Ints& shape) {
    const std::int64_t have = product(t.shape()).value(), want = product(shape).value();
    if (have == 0) return t.new_zeros(shape);
    return t.reshape({have}).repeat({(want + have - 1) / have}).shrink({{0, want}}).reshape(shape);
  }
  static Tensor as_float(const Tensor& t) { return t.dtype().is_float() ? t : t.cast(dtypes::float32); }

  void step() {
    const std::size_t x = number(), y = number();
    const Tensor& p = twins_[x].plain;
    const std::int64_t rank = p.ndim(), axis = rank == 0 ? 0 : random_.in(0, rank - 1);
    const std::int64_t size = rank == 0 ? 1 : p.size(axis).value();
    const auto on_axis = [&](const char* words) { return detail::message(words, " ", axis); };
    switch (random_.in(0, manner_.is_tracked || manner_.is_smooth ? 55 : 79)) {
      case 0: return one("tanh", x, [&](const Tensor& t) { return t.tanh(); });
      case 1: return one("3x+1", x, [&](const Tensor& t) { return t * 3 + 1; });
      case 2: return two("+", x, y, [](const Tensor& a, const Tensor& b) { return a + b; });
      case 3: return two("*", x, y, [](const Tensor& a, const Tensor& b) { return a * b; });
      case 4: return two("maximum", x, y, [](const Tensor& a, const Tensor& b) { return a.maximum(b); });
      case 5: return two("outer -", x, y, [](const Tensor& a, const Tensor& b) { return a.unsqueeze(-1) - b; });
      case 6: return one(on_axis("sum"), x, [&](const Tensor& t) { return t.sum(axis, true); });
      case 7: return one(on_axis("sum"), x, [&](const Tensor& t) { return t.sum(axis); });
      case 8: return one("sum", x, [&](const Tensor& t) { return t.sum(); });
      case 9: return one(on_axis("mean"), x, [&](const Tensor& t) { return t - t.mean(axis, true); });
      case 10: return one(on_axis("prod"), x, [&](const Tensor& t) { return t.prod(axis); });
      case 11: return one(on_axis("min"), x, [&](const Tensor& t) { return t.min(axis); });
      case 12: return one(on_axis("softmax"), x, [&](const Tensor& t) { return t.softmax(axis); });
      case 13: return one(on_axis("logsumexp"), x, [&](const Tensor& t) { return t.logsumexp(axis); });
      case 14: return one(on_axis("var"), x, [&](const Tensor& t) { return t.var(axis); });
      case 15: return one(on_axis("cumsum"), x, [&](const Tensor& t) { return t.cumsum(axis); });
      case 16: return one(on_axis("cumprod"), x, [&](const Tensor& t) { return t.cumprod(axis); });
      case 17: return one(on_axis("cummax"), x, [&](const Tensor& t) { return t.cummax(axis).first; });
      case 18: return one(on_axis("sort"), x, [&](const Tensor& t) { return t.sort(axis).first; });
      case 19: {
        const std::int64_t k = random_.in(1, std::max<std::int64_t>(1, size));
        return one(on_axis("topk"), x, [&](const Tensor& t) { return t.topk(k, axis).first; });
      }
      case 20:
      case 21: return movement(x);
      case 22: return movement(x);
      case 23: {
        const std::size_t z = number();
        return made(detail::message("where t0 > 0 t", y, " t", z),
                    [&](bool s) { return (at(0, s) > 0).where(at(y, s), at(z, s)); });
      }
      case 24: return two("matmul", x, y, [](const Tensor& a, const Tensor& b) { return a.matmul(b); });
      case 25:
        return two("matmul of (3,4,5) and (5,2)", x, y,
                   [](const Tensor& a, const Tensor& b) { return filled(a, {3, 4, 5}).matmul(filled(b, {5, 2})); });
      case 26:
        return two("bmm", x, y,
                   [](const Tensor& a, const Tensor& b) { return filled(a, {3, 2, 4}).bmm(filled(b, {3, 4, 3})); });
      case 27: {
        const auto formula =
            random_.of<std::string>({"ij,jk->ik", "ij,kj->ki", "ij,ij->j", "ii,ij->j", "ij,jk->", "ij,jk->jik"});
        return two("einsum " + formula, x, y, [&](const Tensor& a, const Tensor& b) {
          const bool is_square = formula[0] == formula[1];
          return Tensor::einsum(
              formula, std::vector<Tensor>{filled(a, {4, is_square ? 4 : 5}),
                                           filled(b, formula == "ij,ij->j" || is_square ? Ints{4, 5} : Ints{5, 5})});
        });
      }
      case 28:
      case 29: {
        ConvOptions o;
        o.stride = random_.in(1, 2), o.padding = random_.in(0, 2), o.dilation = random_.in(1, 2);
        o.groups = random_.in(1, 2);
        return two(detail::message("conv2d/", o.groups), x, y, [&](const Tensor& a, const Tensor& b) {
          return conv2d(as_float(filled(a, {2, 2, 6, 7})),
                        as_float(filled(b, {4, 2 / o.groups, 3, 2})).cast(as_float(a).dtype()), {}, o);
        });
      }
      case 30: {
        MaxPoolOptions o;
        o.stride = random_.in(1, 3), o.padding = random_.in(0, 1), o.ceil_mode = random_.one_of(2);
        return one("max_pool2d", x, [&](const Tensor& t) { return max_pool2d(filled(t, {2, 2, 5, 6}), {3, 2}, o); });
      }
      case 31: {
        AvgPoolOptions o;
        o.stride = random_.in(1, 3), o.padding = random_.in(0, 1), o.ceil_mode = random_.one_of(2);
        o.count_include_pad = random_.one_of(2);
        return one("avg_pool2d", x,
                   [&](const Tensor& t) { return avg_pool2d(as_float(filled(t, {2, 2, 5, 6})), {3, 2}, o); });
      }
      case 32: {
        AttentionOptions o;
        o.causal = random_.one_of(2);
        const std::size_t z = number();
        const std::int64_t n = random_.in(1, 5);
        return made(detail::message("attention t", x, " t", y, " t", z), [&](bool s) {
          const DType d = as_float(at(x, s)).dtype();
          return scaled_dot_product_attention(filled(at(x, s), {2, 2, n, 4}).cast(d),
                                              filled(at(y, s), {2, 2, 5, 4}).cast(d),
                                              filled(at(z, s), {2, 2, 5, 3}).cast(d), o);
        });
      }
      case 33:
        return two("layer_norm", x, y, [&](const Tensor& a, const Tensor& b) {
          const Ints shape = {a.size(-1)};
          return layer_norm(as_float(a), shape, filled(b, shape).cast(as_float(a).dtype()));
        });
      case 34:
        return one("group_norm", x,
                   [&](const Tensor& t) { return group_norm(as_float(filled(t, {2, 4, 3, 2})), 2, {}, {}); });
      case 35:
      case 36: {
        const Tensor index = indices(axis, p, size);
        return two(on_axis("scatter_add"), x, y, [&](const Tensor& a, const Tensor& b) {
          return a.scatter_add(axis, index, filled(b, index.shape()).cast(a.dtype()));
        });
      }
      case 37: {
        const Tensor index = indices(axis, p, size);
        return one(on_axis("gather"), x, [&](const Tensor& t) { return t.gather(axis, index); });
      }
      case 38: {
        const std::uint64_t seed = static_cast<std::uint64_t>(random_.in(0, 99));
        return one("dropout", x, [&](const Tensor& t) { return dropout(as_float(t), 0.4, true, Generator(seed)); });
      }
      case 39: {
        const std::uint64_t seed = static_cast<std::uint64_t>(random_.in(0, 99));
        return one("+ rand", x,
                   [&](const Tensor& t) { return as_float(t) + rand(t.shape(), dtypes::float32, Generator(seed)); });
      }
      case 40:
      case 41: {
        ScanOptions o;
        o.reverse = random_.one_of(2);
        const bool is_state = random_.one_of(3);
        return one(is_state ? "scan, its state" : "scan, its outputs", x, [&](const Tensor& t) {
          const Tensor s = as_float(t);
          const auto made = scan(
              [](const Tensor& h, const Tensor& e) {
                const Tensor next = (h * 0.5 + e).tanh();
                return std::pair(next, next * 2 + e);
              },
              s.select(0, 0) * 0, s, o);
          return is_state ? made.first : made.second;
        });
      }
      case 42:
        return two("custom gradient", x, y, [&](const Tensor& a, const Tensor& b) {
          const Tensor held = b.detach();
          const Tensor value = as_float(a).detach() * 2;
          return with_gradient(value, std::vector<Tensor>{a}, [a, held](const Tensor& dy) {
            return std::vector<Tensor>{(dy * 3 + held.sum().cast(dy.dtype())).cast(a.dtype())};
          });
        });
      case 43: return one("detach", x, [&](const Tensor& t) { return t.detach(); });
      case 44: return write(x, y);
      case 45: return write(x, y);
      case 46: return realize_several();
      case 47: {
        const std::vector<Split> a = splits(p.shape()), b = splits(p.shape());
        return one("shards of shards " + render(a) + " " + render(b), x, [&](const Tensor& t) {
          return t.dtype().is_float() || t.dtype().is_int() ? (t * 2).shard(ranks_, a).shard(ranks_, b)
                                                            : t.shard(ranks_, a).shard(ranks_, b);
        });
      }
      case 48:
        return one(on_axis("index_select by a sharded index"), x, [&](const Tensor& t) {
          return t.index_select(axis, (Tensor::arange(0, 5) % std::max<std::int64_t>(1, size))
                                          .shard(ranks_, std::vector<Split>{Split{{mesh_.names().back()}, 0, {}}}));
        });
      case 49:
        return two(on_axis("cat"), x, y, [&](const Tensor& a, const Tensor& b) {
          return Tensor::cat(std::vector<Tensor>{a, filled(b, a.shape()).cast(a.dtype()), a * 2}, axis);
        });
      case 50:
        return two("stack", x, y, [&](const Tensor& a, const Tensor& b) {
          return Tensor::stack(std::vector<Tensor>{a, filled(b, a.shape()).cast(a.dtype())}, axis);
        });
      case 51:
        return one("linear_recurrence", x, [&](const Tensor& t) { return as_float(t).linear_recurrence(0.5, axis); });
      case 52: return one("logcumsumexp", x, [&](const Tensor& t) { return as_float(t).logcumsumexp(axis); });
      case 53:
        return one("index by an array", x, [&](const Tensor& t) {
          const Tensor rows = Tensor::from(std::vector<std::int64_t>{0, 2, 1, 0}, {2, 2}) %
                              std::max<std::int64_t>(1, t.size(0).value());
          return t[{rows}];
        });
      case 54:
        return two("index_put", x, y, [&](const Tensor& a, const Tensor& b) {
          const Tensor rows =
              Tensor::from(std::vector<std::int64_t>{0, 2, 1}, {3}) % std::max<std::int64_t>(1, a.size(0).value());
          return a.index_put({rows}, filled(b, {1}).cast(a.dtype()), true);
        });
      case 55:
        return one("cast", x, [&, to = dtype()](const Tensor& t) {
          return manner_.is_smooth && !to.is_float() ? t.cast(dtypes::float64) : t.cast(to);
        });
      // --- what jumps ---
      case 56: return two("==", x, y, [](const Tensor& a, const Tensor& b) { return a == b; });
      case 57: return two("<", x, y, [](const Tensor& a, const Tensor& b) { return a < b; });
      case 58: return one(on_axis("argmax"), x, [&](const Tensor& t) { return t.argmax(axis, axis % 2 == 0); });
      case 59: return one("argmin", x, [&](const Tensor& t) { return t.argmin(); });
      case 60: return one(on_axis("argsort"), x, [&](const Tensor& t) { return t.argsort(axis); });
      case 61: return one(on_axis("topk's places"), x, [&](const Tensor& t) { return t.topk(1, axis).second; });
      case 62: return one("one_hot", x, [&](const Tensor& t) { return (t.cast(dtypes::int64).abs() % 4).one_hot(4); });
      case 63: return one("any", x, [&](const Tensor& t) { return t.any(axis); });
      case 64: return one("all", x, [&](const Tensor& t) { return t.all(); });
      case 65: return one("floor", x, [&](const Tensor& t) { return (t * 2).floor(); });
      case 66:
        return two("gather by argsort", x, y, [&](const Tensor& a, const Tensor& b) {
          return a.gather(axis, filled(b, a.shape()).argsort(axis));
        });
      case 67:
        return two("scatter", x, y, [&](const Tensor& a, const Tensor& b) {
          return a.scatter_add(axis, (b.cast(dtypes::int64).abs() % std::max<std::int64_t>(1, size)),
                               b.cast(a.dtype()));
        });
      case 68: {
        const Reduce how = random_.of<Reduce>({Reduce::sum, Reduce::amax, Reduce::amin, Reduce::prod, Reduce::mean});
        const Tensor index = indices(axis, p, size);
        const bool self = random_.one_of(2);
        return two(detail::message("scatter_reduce ", static_cast<int>(how)), x, y,
                   [&](const Tensor& a, const Tensor& b) {
                     return a.scatter_reduce(axis, index, filled(b, index.shape()).cast(a.dtype()), how, self);
                   });
      }
      case 69:
      case 70: {
        const std::int64_t most = random_.in(1, 6);
        return one("while_loop", x, [&](const Tensor& t) {
          return while_loop([](const Tensor& s) { return s.abs().max() < 20; },
                            [](const Tensor& s) { return s * 2 + 1; }, as_float(t).cast(dtypes::float32), most);
        });
      }
      case 71:
        return one("bitcast", x, [&](const Tensor& t) { return t.cast(dtypes::float32).bitcast(dtypes::int32); });
      case 72: return one("masked_select", x, [&](const Tensor& t) { return t.masked_select(t > 0); });
      case 73: return one("nonzero", x, [&](const Tensor& t) { return t.nonzero(); });
      case 74: return one("median", x, [&](const Tensor& t) { return t.median(axis).first; });
      case 75: return one("cummin's places", x, [&](const Tensor& t) { return t.cummin(axis).second; });
      case 76: return one("xor", x, [&](const Tensor& t) { return t.cast(dtypes::uint8) ^ 5; });
      case 77: return one("max's places", x, [&](const Tensor& t) { return t.max_with_indices(axis).second; });
      case 78: {
        const std::uint64_t seed = static_cast<std::uint64_t>(random_.in(0, 99));
        return one("randint", x, [&](const Tensor& t) {
          return randint(0, 9, t.shape(), dtypes::int64, Generator(seed)) + t.shard(ranks_, std::vector<Split>{});
        });
      }
      default: return one("isnan", x, [&](const Tensor& t) { return (as_float(t) / 0).isnan(); });
    }
  }

  void movement(std::size_t x) {
    const Tensor& p = twins_[x].plain;
    const std::int64_t rank = p.ndim(), axis = rank == 0 ? 0 : random_.in(0, rank - 1);
    switch (random_.in(0, 10)) {
      case 0: {
        Axes order;
        for (std::int64_t j = 0; j < rank; ++j) order.insert_at(static_cast<std::size_t>(random_.in(0, j)), j);
        return one("permute " + render(Index(order)), x, [&](const Tensor& t) { return t.permute(order); });
      }
      case 1: {
        const std::int64_t count = product(p.shape()).value();
        std::int64_t part = random_.in(1, 6);
        if (count % part != 0 || count == 0) part = 1;
        const Ints to = random_.one_of(2) ? Ints{count / part, part} : Ints{part, count / part};
        return one("reshape " + render(to), x, [&](const Tensor& t) { return t.reshape(to); });
      }
      case 2: {
        Mask bounds;
        for (std::int64_t j = 0; j < rank; ++j) {
          const std::int64_t n = p.size(j).value(), begin = random_.in(0, n);
          bounds.push_back({begin, random_.in(begin, n)});
        }
        return one("shrink", x, [&](const Tensor& t) { return t.shrink(bounds); });
      }
      case 3: {
        Padding padding;
        for (std::int64_t j = 0; j < rank; ++j) padding.push_back({random_.in(0, 2), random_.in(0, 2)});
        const PadMode mode =
            random_.of<PadMode>({PadMode::constant, PadMode::replicate, PadMode::reflect, PadMode::circular});
        return one(detail::message("pad ", static_cast<int>(mode)), x,
                   [&](const Tensor& t) { return t.pad(padding, mode); });
      }
      case 4: return one("flip", x, [&](const Tensor& t) { return t.flip({axis}); });
      case 5: {
        const std::int64_t by = random_.in(-3, 3);
        return one("roll", x, [&](const Tensor& t) { return t.roll({by}, {axis}); });
      }
      case 6: return one("tril", x, [&](const Tensor& t) { return t.tril(); });
      case 7:
        return one("expand", x, [&](const Tensor& t) {
          Ints shape = t.shape();
          shape.insert_at(0, 3);
          return t.expand(shape);
        });
      case 8: return one("repeat_interleave", x, [&](const Tensor& t) { return t.repeat_interleave(2, axis); });
      case 9: return one("diff", x, [&](const Tensor& t) { return t.diff(1, axis); });
      default: return one("every second", x, [&](const Tensor& t) { return t[{ellipsis, Slice{{}, {}, -2}}]; });
    }
  }

  /// Indices in [0, size) of the shape of `p`, with another size on the axis.
  Tensor indices(std::int64_t axis, const Tensor& p, std::int64_t size) {
    Ints shape = p.shape();
    if (shape.empty()) shape.push_back(1);
    shape[static_cast<std::size_t>(axis)] = random_.in(0, 5);
    std::vector<std::int64_t> out;
    for (std::int64_t k = product(shape).value(); k > 0; --k)
      out.push_back(random_.in(0, std::max<std::int64_t>(size, 1) - 1));
    return Tensor::from(out, shape).realize();
  }

  /// A tensor is written, in place or by assign().
  void write(std::size_t x, std::size_t y) {
    if (manner_.is_tracked) return;
    const bool is_assigned = random_.one_of(2);
    const std::int64_t row = random_.in(0, 3);
    const auto put = [&](bool s) {
      const Tensor& t = at(x, s);
      const Tensor value =
          filled(at(y, s), is_assigned ? t.shape() : t[row % std::max<std::int64_t>(1, t.size(0).value())].shape())
              .cast(t.dtype());
      if (is_assigned)
        t.assign(value);
      else
        put_in_place(t, {row % std::max<std::int64_t>(1, t.size(0).value())}, value);
    };
    if (!is_assigned && (at(x, false).ndim() == 0 || at(x, false).size(0).value() == 0)) return;
    note(is_assigned ? "t" : "row of t", x, " := t", y);
    put(false), put(true);
  }
  void realize_several() {
    std::vector<LazyOp> roots;
    std::string words;
    for (std::int64_t k = random_.in(2, 4); k > 0; --k) {
      const std::size_t x = number();
      roots.push_back(at(x, true).node());
      words += " t" + std::to_string(x);
    }
    note("realize", words);
    realize(roots, twins_[0].sharded.device());
  }

  Random random_;
  MeshRanks ranks_;
  MeshShape mesh_;
  Manner manner_;
  std::vector<Twin> twins_, inputs_;
  std::string text_;
};

}  // namespace strata::spmd_oracle
