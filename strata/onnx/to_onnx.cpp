#include "strata/onnx/to_onnx.h"

#include <algorithm>
#include <map>
#include <set>

#include "strata/base/check.h"
#include "strata/engine/buffer_storage.h"
#include "strata/nn/byte_io.h"
#include "strata/onnx/graph_writer.h"
#include "strata/onnx/reader.h"
#include "strata/onnx/writer.h"

namespace strata::onnx {
namespace {

using strata::detail::message;

constexpr std::int64_t kWrittenOpset = 17;
constexpr std::int64_t kWrittenFormat = 8;

/// `given`, or the letter, with a number where there are several.
std::vector<std::string> names_of(const std::vector<std::string>& given, std::size_t count, char letter,
                                  const char* what, const std::vector<std::string>& taken = {}) {
  if (!given.empty()) {
    STRATA_CHECK(given.size() == count, domain, "[to_onnx] ", given.size(), " names are given for ", count, " ", what);
    return given;
  }
  std::vector<std::string> out;
  for (std::size_t k = 0; k < count; ++k) {
    out.push_back(count == 1 ? std::string(1, letter) : message(std::string(1, letter), k));
    while (std::find(taken.begin(), taken.end(), out.back()) != taken.end()) out.back().insert(0, 1, letter);
  }
  return out;
}

void check_names(const std::vector<std::string>& inputs, const std::vector<std::string>& outputs) {
  std::set<std::string> seen;
  for (const auto* names : {&inputs, &outputs})
    for (const std::string& name : *names) {
      STRATA_CHECK(!name.empty(), domain, "[to_onnx] the name of an input or output is empty");
      STRATA_CHECK(seen.insert(name).second, domain, "[to_onnx] two inputs or outputs are named \"", name, "\"");
    }
}

/// The address of the memory of a tensor, below movement operations; null where it is not in memory.
const void* memory_below(const Tensor& x) {
  const LazyOp top = x.node();
  const LazyOp* at = &top;
  while (!is_realized(*at->node()) && (is_annotation(at->op()) || is_movement(at->op()))) at = &at->src(0);
  if (!is_realized(*at->node())) return nullptr;
  const std::shared_ptr<Storage> storage = at->realized();
  const auto* const of_buffer = dynamic_cast<const BufferStorage*>(storage.get());
  return of_buffer != nullptr ? of_buffer->buffer().data() : storage->host();
}

/// A function as it is written.
class Writing {
 public:
  Writing(const Traced& traced, const ToOnnxOptions& options) : traced_(traced), options_(options), writer_(model_) {
    model_.ir_version = kWrittenFormat;
    model_.producer = "strata";
    model_.opsets[""] = kWrittenOpset;
    model_.graphs[0].name = options.name.empty() ? "graph" : options.name;
  }

  Definition run() {
    check_captured();
    add_inputs();
    for (const auto& [name, x] : options_.parameters)
      if (const void* const memory = memory_below(x)) writer_.name_memory(memory, name);
    for (const void* memory : traced_.fed) writer_.refuse_memory(memory);
    for (const TracedChange& c : traced_.changes) writer_.refuse(c.value.node(), message("the function ", c.what));
    std::vector<Written> results;
    for (const LazyOp& y : traced_.outputs) results.push_back(writer_.full(writer_.write(y), y.shape()));
    refuse_problems();
    add_outputs(results);
    return std::move(model_);
  }

 private:
  void check_captured() const {
    if (!traced_.keeps_values || traced_.values.empty()) return;
    const auto& [v, value] = traced_.values[0];
    throw Error(ErrorKind::domain,
                message("[to_onnx] ", traced_.name, " is captured for ", v.name(), " = ", value,
                        " alone, while its bounds are [", v.min(), ", ", v.max(), "]: call it with two values of ",
                        v.name(), " before, and let the function not depend on the value"));
  }

  void add_inputs() {
    const std::size_t tensors = traced_.inputs.size(), integers = traced_.integers.size();
    const bool names_all = options_.inputs.size() == tensors + integers;
    std::vector<std::string> given = options_.inputs;
    if (names_all) given.resize(tensors);
    inputs_ = names_of(given, tensors, 'x', "arguments");
    for (std::size_t k = 0; k < integers; ++k) {
      const Expr& e = traced_.integers[k];
      STRATA_CHECK(e.is_variable(), domain, "[to_onnx] the argument ", e.render(),
                   " is no variable: its variables would not follow from it");
      inputs_.push_back(names_all && !options_.inputs.empty() ? options_.inputs[tensors + k]
                                                              : std::string(Variable::from(e).name()));
    }
    outputs_ = names_of(options_.outputs, traced_.outputs.size(), 'y', "results", inputs_);
    check_names(inputs_, outputs_);
    for (const auto* names : {&inputs_, &outputs_})
      for (const std::string& name : *names) writer_.take_name(name);
    for (std::size_t k = 0; k < tensors; ++k) {
      const LazyOp& x = traced_.inputs[k];
      writer_.graph().inputs.push_back(port_of(inputs_[k], x.dtype(), x.shape()));
      writer_.set(x, {inputs_[k], x.dtype(), x.shape()});
      for (std::size_t d = 0; d < x.shape().size(); ++d)
        if (!x.shape()[d].is_number() && x.shape()[d].expr().is_variable())
          writer_.set_size(Variable::from(x.shape()[d].expr()), inputs_[k], static_cast<std::int64_t>(d));
    }
    for (std::size_t k = 0; k < integers; ++k) {
      writer_.graph().inputs.push_back(port_of(inputs_[tensors + k], dtypes::int64, {}));
      writer_.set_size(Variable::from(traced_.integers[k]), inputs_[tensors + k], std::nullopt);
    }
  }

  void refuse_problems() const {
    const std::vector<std::string>& problems = writer_.problems();
    if (problems.empty()) return;
    std::string text = message("[to_onnx] ", traced_.name, " has ", problems.size(),
                               problems.size() == 1 ? " operation" : " operations", " that an ONNX file of opset ",
                               kWrittenOpset, " cannot have:");
    for (const std::string& p : problems) text += "\n  " + p;
    throw Error(ErrorKind::undefined, text);
  }

  /// An output has the name of the user: the tensor gets it, or an Identity where the tensor has a name of its own.
  void add_outputs(const std::vector<Written>& results) {
    std::set<std::string> fixed(inputs_.begin(), inputs_.end());
    for (const auto& [name, value] : model_.graphs[0].initializers) fixed.insert(name);
    std::map<std::string, std::string> renamed;
    for (std::size_t k = 0; k < results.size(); ++k) {
      Written y = results[k];
      if (!fixed.insert(y.name).second) y = writer_.add("Identity", {y}, {}, y.dtype, y.shape);
      renamed.emplace(y.name, outputs_[k]);
      writer_.graph().outputs.push_back(port_of(outputs_[k], y.dtype, y.shape));
    }
    writer_.finish(renamed);
  }

  const Traced& traced_;
  const ToOnnxOptions& options_;
  Definition model_ = [] {
    Definition out;
    out.graphs.resize(1);
    return out;
  }();
  GraphWriter writer_;
  std::vector<std::string> inputs_, outputs_;
};

}  // namespace

Port port_of(const std::string& name, DType dtype, const Ints& shape) {
  Port port;
  port.name = name;
  port.kind = Port::Kind::tensor;
  port.dtype = dtype;
  port.has_shape = true;
  for (const Int& size : shape) {
    port.sizes.push_back(size.is_number() ? size.value() : -1);
    port.symbols.push_back(size.is_number() ? std::string() : unbind(size.expr()).first.render());
  }
  return port;
}

Jit& called_once(Jit* function) {
  STRATA_CHECK(function != nullptr, domain, "[to_onnx] the function was never called: call it twice first");
  return *function;
}

std::string to_onnx_bytes(Jit& function, const ToOnnxOptions& options) {
  const Traced traced = function.traced();
  return write_definition(Writing(traced, options).run());
}

void to_onnx(Jit& function, const std::filesystem::path& path, const ToOnnxOptions& options) {
  BytePieces file;
  file.add(to_onnx_bytes(function, options));
  file.write("to_onnx", path.string());
}

}  // namespace strata::onnx
