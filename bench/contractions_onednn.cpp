// oneDNN: `plain` computes on row-major memory as it is. `reorders` lets the library choose the layouts, with weights
// in theirs before, and the image and the result reordered in each call. `blocked` is the same without these reorders.
#include <omp.h>

#include <memory>
#include <oneapi/dnnl/dnnl.hpp>
#include <unordered_map>

#include "bench/contraction_peers.h"

namespace strata::bench {
namespace {

using dnnl::memory;
using Tag = memory::format_tag;
using Type = memory::data_type;

dnnl::engine& engine() {
  static dnnl::engine engine(dnnl::engine::kind::cpu, 0);
  return engine;
}
dnnl::stream& stream() {
  static dnnl::stream stream(engine());
  return stream;
}

/// A primitive with its arguments, and the reorders in front of it and behind it.
struct Call {
  dnnl::primitive primitive;
  std::unordered_map<int, memory> arguments;
  std::vector<std::pair<memory, memory>> before, after;
  void run() {
    for (auto& [from, to] : before) dnnl::reorder(from, to).execute(stream(), from, to);
    primitive.execute(stream(), arguments);
    for (auto& [from, to] : after) dnnl::reorder(from, to).execute(stream(), from, to);
    stream().wait();
  }
};

/// An argument in the layout `wanted`: the memory itself, or a copy. A constant is copied now.
memory in_layout(Call& call, const memory& given, const memory::desc& wanted, bool is_result, bool is_constant,
                 bool reorders) {
  if (given.get_desc() == wanted) return given;
  memory copy(wanted, engine());
  if (is_result) {
    if (reorders) call.after.emplace_back(copy, given);
  } else if (is_constant || !reorders) {
    dnnl::reorder(given, copy).execute(stream(), const_cast<memory&>(given), copy);
    stream().wait();
  } else {
    call.before.emplace_back(given, copy);
  }
  return copy;
}

ContractionCall named(std::string name, std::shared_ptr<Call> call) {
  return {std::move(name), [call = std::move(call)] { call->run(); }};
}

Type type_of(Element element) {
  return element == Element::f32 ? Type::f32 : element == Element::bf16 ? Type::bf16 : Type::s8;
}

std::vector<ContractionCall> product(const Product& p, const void* a, const void* b, void* out) {
  const Type type = type_of(p.element), result = p.element == Element::int8 ? Type::s32 : Type::f32;
  const bool is_batch = p.batch > 1;
  const auto dims = [&](std::int64_t rows, std::int64_t columns) {
    return is_batch ? memory::dims{p.batch, rows, columns} : memory::dims{rows, columns};
  };
  const Tag plain = is_batch ? Tag::abc : Tag::ab, across = is_batch ? Tag::acb : Tag::ba;
  const memory left({dims(p.m, p.k), type, plain}, engine(), const_cast<void*>(a));
  const memory right({dims(p.k, p.n), type, p.transposed ? across : plain}, engine(), const_cast<void*>(b));
  const memory to({dims(p.m, p.n), result, plain}, engine(), out);
  std::vector<ContractionCall> calls;
  for (const bool packed : {false, true}) {
    const memory::desc weights = packed ? memory::desc(dims(p.k, p.n), type, Tag::any) : right.get_desc();
    const dnnl::matmul::primitive_desc how({left.get_desc(), weights, to.get_desc()}, engine());
    auto call = std::make_shared<Call>();
    call->primitive = dnnl::matmul(how);
    call->arguments = {{DNNL_ARG_SRC, left},
                       {DNNL_ARG_WEIGHTS, in_layout(*call, right, how.weights_desc(), false, true, true)},
                       {DNNL_ARG_DST, to}};
    calls.push_back(named(packed ? "oneDNN prepacked" : "oneDNN plain", call));
  }
  return calls;
}

/// The layouts of a convolution's image, weight and result.
struct Layouts {
  memory::desc image, weight, result;
};

std::shared_ptr<Call> forward(const Convolution&, const Layouts& l, const std::array<memory::dims, 4>& geometry,
                              const memory& image, const memory& weight, const memory& result, bool reorders) {
  const dnnl::convolution_forward::primitive_desc how(
      {dnnl::prop_kind::forward_inference, dnnl::algorithm::convolution_direct, l.image, l.weight, l.result,
       geometry[0], geometry[1], geometry[2], geometry[3]},
      engine());
  auto call = std::make_shared<Call>();
  call->primitive = dnnl::convolution_forward(how);
  call->arguments = {{DNNL_ARG_SRC, in_layout(*call, image, how.src_desc(), false, false, reorders)},
                     {DNNL_ARG_WEIGHTS, in_layout(*call, weight, how.weights_desc(), false, true, reorders)},
                     {DNNL_ARG_DST, in_layout(*call, result, how.dst_desc(), true, false, reorders)}};
  return call;
}

std::shared_ptr<Call> gradient(const Convolution& c, const Layouts& l, const std::array<memory::dims, 4>& geometry,
                               const memory& image, const memory& weight, const memory& result, bool reorders) {
  const auto algorithm = dnnl::algorithm::convolution_direct;
  const dnnl::convolution_forward::primitive_desc hint({dnnl::prop_kind::forward_training, algorithm, l.image, l.weight,
                                                        l.result, geometry[0], geometry[1], geometry[2], geometry[3]},
                                                       engine());
  auto call = std::make_shared<Call>();
  if (c.pass == Convolution::Pass::data_gradient) {
    const dnnl::convolution_backward_data::primitive_desc how(
        {algorithm, l.image, l.weight, l.result, geometry[0], geometry[1], geometry[2], geometry[3]}, engine(), hint);
    call->primitive = dnnl::convolution_backward_data(how);
    call->arguments = {{DNNL_ARG_DIFF_SRC, in_layout(*call, image, how.diff_src_desc(), true, false, reorders)},
                       {DNNL_ARG_WEIGHTS, in_layout(*call, weight, how.weights_desc(), false, false, reorders)},
                       {DNNL_ARG_DIFF_DST, in_layout(*call, result, how.diff_dst_desc(), false, false, reorders)}};
  } else {
    const dnnl::convolution_backward_weights::primitive_desc how(
        {algorithm, l.image, l.weight, l.result, geometry[0], geometry[1], geometry[2], geometry[3]}, engine(), hint);
    call->primitive = dnnl::convolution_backward_weights(how);
    call->arguments = {
        {DNNL_ARG_SRC, in_layout(*call, image, how.src_desc(), false, false, reorders)},
        {DNNL_ARG_DIFF_WEIGHTS, in_layout(*call, weight, how.diff_weights_desc(), true, false, reorders)},
        {DNNL_ARG_DIFF_DST, in_layout(*call, result, how.diff_dst_desc(), false, false, reorders)}};
  }
  return call;
}

std::vector<ContractionCall> convolution(const Convolution& c, const float* a, const float* b, float* out) {
  const memory::dims image = c.image(), result = c.result();
  const memory::dims weight = c.groups == 1
                                  ? memory::dims(c.weight())
                                  : memory::dims{c.groups, c.out / c.groups, c.in / c.groups, c.kernel, c.kernel};
  const Tag weights = c.groups == 1 ? Tag::oihw : Tag::goihw;
  const std::array<memory::dims, 4> geometry = {memory::dims{c.stride, c.stride},
                                                memory::dims{c.dilation - 1, c.dilation - 1},
                                                memory::dims{c.padding, c.padding}, memory::dims{c.padding, c.padding}};
  using Pass = Convolution::Pass;
  auto *const first = const_cast<float*>(a), *const second = const_cast<float*>(b);
  float* const x = c.pass == Pass::data_gradient ? out : first;
  float* const w = c.pass == Pass::forward ? second : c.pass == Pass::data_gradient ? first : out;
  float* const y = c.pass == Pass::forward ? out : second;
  const memory in({image, Type::f32, Tag::nchw}, engine(), x), by({weight, Type::f32, weights}, engine(), w),
      to({result, Type::f32, Tag::nchw}, engine(), y);
  std::vector<ContractionCall> calls;
  const auto add = [&](std::string name, bool chooses, bool reorders) {
    const auto layout = [&](const memory& m, const memory::dims& dims) {
      return chooses ? memory::desc(dims, Type::f32, Tag::any) : m.get_desc();
    };
    const Layouts l{layout(in, image), layout(by, weight), layout(to, result)};
    try {
      calls.push_back(
          named(std::move(name), (c.pass == Pass::forward ? forward : gradient)(c, l, geometry, in, by, to, reorders)));
    } catch (const dnnl::error&) {
      return;  // not in this layout
    }
  };
  add("oneDNN plain", false, true);
  add("oneDNN reorders", true, true);
  add("oneDNN blocked", true, false);
  return calls;
}

std::string version() {
  const dnnl_version_t* v = dnnl_version();
  return "oneDNN " + std::to_string(v->major) + "." + std::to_string(v->minor) + "." + std::to_string(v->patch);
}

}  // namespace

const ContractionPeer onednn_contractions{true, omp_set_num_threads, version, product, convolution};

}  // namespace strata::bench
