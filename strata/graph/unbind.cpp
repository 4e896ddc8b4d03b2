// unbind() and with_numbers(): kernels with other sizes in place of those that have variables.

#include <algorithm>

#include "strata/graph/rebuild.h"
#include "strata/graph/with_numbers.h"

namespace strata {

namespace {

/// Rewrites all sizes of a graph, from the leaves up.
class Resizing {
 public:
  virtual ~Resizing() = default;
  LazyOp run(const LazyOp& root) {
    return detail::Rebuild([this](const LazyOp& n, const std::vector<LazyOp>& sources) { return made(n, sources); })(
        root);
  }

 protected:
  virtual Int plain(const Int& size) = 0;
  virtual ShapeTracker plain(const ShapeTracker& st) = 0;

 private:
  Ints plain(const Ints& sizes) {
    Ints out;
    for (const Int& size : sizes) out.push_back(plain(size));
    return out;
  }

  LazyOp made(const LazyOp& n, const std::vector<LazyOp>& sources) {
    switch (n.op()) {
      case Ops::LOAD: {
        const auto& arg = std::get<BufferArg>(n.arg());
        return LazyOp::load(arg.slot, n.dtype(), plain(arg.st), plain(arg.size));
      }
      case Ops::CONST: {
        const auto& arg = std::get<ConstArg>(n.arg());
        return LazyOp::constant(arg.value, plain(arg.st));
      }
      case Ops::IOTA: return LazyOp::iota(n.dtype(), plain(std::get<ShapeTracker>(n.arg())));
      case Ops::STORE: {
        const auto& arg = std::get<BufferArg>(n.arg());
        return LazyOp::store(arg.slot, plain(arg.st), sources[0], plain(arg.size));
      }
      case Ops::SINK: return LazyOp::sink(sources);
      case Ops::GATHER: return LazyOp::gather(sources[0], sources[1]);
      case Ops::ORDER: {
        OrderArg arg = std::get<OrderArg>(n.arg());
        arg.first = plain(arg.first);
        return LazyOp::order(sources[0], arg, plain(n.shape()[static_cast<std::size_t>(arg.axis)]));
      }
      case Ops::CONTIGUOUS: return sources[0].contiguous();
      case Ops::CAST: return sources[0].cast(n.dtype());
      case Ops::BITCAST: return sources[0].bitcast(n.dtype());
      case Ops::RESHAPE: return sources[0].reshape(plain(n.shape()));
      case Ops::PERMUTE: return sources[0].permute(std::get<Axes>(n.arg()));
      case Ops::EXPAND: return sources[0].expand(plain(n.shape()));
      case Ops::STRIDE: return sources[0].stride(plain(std::get<Ints>(n.arg())));
      case Ops::PAD: {
        Padding out;
        for (const auto& [before, after] : std::get<Padding>(n.arg())) out.push_back({plain(before), plain(after)});
        return sources[0].pad(out);
      }
      case Ops::SHRINK: {
        Mask out;
        for (const Extent& e : std::get<Mask>(n.arg())) out.push_back({plain(e.begin), plain(e.end)});
        return sources[0].shrink(out);
      }
      default: break;
    }
    if (n.op() == Ops::SCATTER) {
      const auto& [op, axis] = std::get<AxisArg>(n.arg());
      return LazyOp::scatter(op, sources[0], sources[1], sources[2], axis);
    }
    if (const auto* scan = std::get_if<AxisArg>(&n.arg()))
      return scan->op == Ops::MULACC
                 ? LazyOp::recurrence(std::span(sources).first(sources.size() - 1), sources.back(), scan->axis)
             : sources.size() == 2 ? LazyOp::scan_behind(scan->op, sources[0], sources[1], scan->axis)
                                   : LazyOp::scan(scan->op, sources[0], scan->axis);
    if (n.op() == Ops::FORMULA) return sources[0].formula(*std::get<FormulaArg>(n.arg()).formula);
    if (is_reduce(n.op())) return LazyOp::reduce(n.op(), sources[0], std::get<Axes>(n.arg()));
    return LazyOp::alu(n.op(), sources);
  }
};

/// Bound variables become plain; their values are noted.
class Unbinding final : public Resizing {
 public:
  explicit Unbinding(Values& values) : values_(values) {}

 private:
  void note(const Values& values) {
    for (const auto& [variable, value] : values) {
      const auto known =
          std::find_if(values_.begin(), values_.end(), [&](const auto& k) { return same(k.first, variable); });
      if (known == values_.end()) {
        values_.emplace_back(variable, value);
        continue;
      }
      STRATA_CHECK(known->second == value, domain, "[unbind] ", variable.name(), " is bound to ", known->second,
                   " and to ", value);
    }
  }
  Int plain(const Int& size) override {
    if (size.is_number()) return size;
    const auto [e, values] = unbind(size.expr());
    note(values);
    return e;
  }
  ShapeTracker plain(const ShapeTracker& st) override {
    auto [out, values] = st.unbind();
    note(values);
    return std::move(out);
  }

  Values& values_;
};

/// Plain variables become their values.
class Valued final : public Resizing {
 public:
  explicit Valued(const Values& values) : values_(values) {
    for (const auto& [variable, value] : values) map_.emplace_back(variable, Expr(value));
  }

 private:
  Int plain(const Int& size) override { return size.is_number() ? size : Int(evaluate(size.expr(), values_)); }
  ShapeTracker plain(const ShapeTracker& st) override { return st.substitute(map_); }

  const Values& values_;
  Substitution map_;
};

bool has_bound(const LazyOp& root) {
  const auto is_number = [](const Ints& sizes) {
    return std::all_of(sizes.begin(), sizes.end(), [](const Int& s) { return s.is_number(); });
  };
  for (const LazyNode* n : postorder(root)) {
    if (!is_number(n->shape)) return true;
    const BufferArg* buffer = std::get_if<BufferArg>(&n->arg);
    if (buffer != nullptr && (!buffer->size.is_number() || !buffer->st.vars().empty())) return true;
    if (is_movement(n->op) && !movement_of(*n).vars().empty()) return true;
    if (const auto* constant = std::get_if<ConstArg>(&n->arg); constant != nullptr && !constant->st.vars().empty())
      return true;
    if (const auto* st = std::get_if<ShapeTracker>(&n->arg); st != nullptr && !st->vars().empty()) return true;
  }
  return false;
}

}  // namespace

LazyOp unbind(const LazyOp& root, Values& values) { return has_bound(root) ? Unbinding(values).run(root) : root; }

LazyOp with_numbers(const LazyOp& root, const Values& values) {
  return values.empty() ? root : Valued(values).run(root);
}

}  // namespace strata
