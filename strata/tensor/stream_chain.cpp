#include "strata/tensor/stream_chain.h"

#include "strata/base/check.h"
#include "strata/ir/ops.h"

namespace strata::stream {

namespace {

ShapeTracker moved_by(ShapeTracker st, const LazyNode& n) {
  switch (n.op) {
    case Ops::RESHAPE: return std::move(st).reshape(std::get<Ints>(n.arg));
    case Ops::EXPAND: return std::move(st).expand(std::get<Ints>(n.arg));
    case Ops::PERMUTE: return std::move(st).permute(std::get<Axes>(n.arg));
    case Ops::SHRINK: return std::move(st).shrink(std::get<Mask>(n.arg));
    case Ops::PAD: return std::move(st).pad(std::get<Padding>(n.arg));
    default: return std::move(st).stride(std::get<Ints>(n.arg));
  }
}

}  // namespace

std::int64_t floor_of(std::int64_t a, std::int64_t b) { return a / b - (a % b < 0 ? 1 : 0); }

std::int64_t number_at(const Ints& shape, std::size_t k) {
  STRATA_CHECK(shape[k].is_number(), domain, "[streaming] a size is ", shape[k].render(), ": sizes have to be numbers");
  return shape[k].value();
}

std::string place_name(const LazyOp& n) {
  const std::string at = n.origin().text();
  return at.empty() ? std::string(row(n.op()).name) : at;
}

std::optional<std::size_t> growing_axis(const LazyOp& at, const Ints& a, const Ints& b) {
  STRATA_CHECK(a.size() == b.size(), domain, "[streaming] ", place_name(at),
               " has a shape that depends on the length of x: ", render(a), " and ", render(b));
  std::optional<std::size_t> out;
  for (std::size_t k = 0; k < a.size(); ++k) {
    if (a[k] == b[k]) continue;
    STRATA_CHECK(!out, domain, "[streaming] ", place_name(at), " of shape ", render(a), " has positions along axes ",
                 *out, " and ", k, ": along one axis they can be streamed");
    out = k;
  }
  return out;
}

Chain chain_below(const LazyOp& top, bool through_pads, const Replacements& replaced) {
  Chain out{{}, top};
  while (true) {
    if (const auto found = replaced.find(out.base.node()); found != replaced.end()) {
      out.base = found->second;
      continue;
    }
    const Ops op = out.base.op();
    if (is_movement(op) && (through_pads || op != Ops::PAD))
      out.moves.push_back(out.base);
    else if (!is_annotation(op) && op != Ops::NOOP)
      return out;
    out.base = LazyOp(out.base.src(0));
  }
}

ShapeTracker tracker_of(const Chain& chain, ShapeTracker st) {
  for (std::size_t k = chain.moves.size(); k-- > 0;) st = moved_by(std::move(st), *chain.moves[k].node());
  return st.simplify();
}

const View& single_view(const LazyOp& at, const ShapeTracker& st) {
  STRATA_CHECK(st.views().size() == 1 && !st.views()[0].mask(), domain, "[streaming] ", place_name(at),
               " reads its operand by no single View: ", st.render(), st.views().size() > 1 ? "; " : "",
               st.views().size() > 1 ? st.why_not_merged() : std::string());
  return st.views()[0];
}

}  // namespace strata::stream
