#include "strata/runtime/trace_nodes.h"

#include <utility>

#include "strata/base/walk.h"

namespace strata {

namespace {

bool is_memory(const LazyNode& n) { return is_realized(n) || n.op == Ops::EMPTY; }

/// Writes the argument of an op. The numbers that identify memory are left out, so that graphs of the same form have
/// equal lines and are written once.
struct TracedArg {
  JsonWriter& json;
  const LazyNode& n;

  void operator()(std::monostate) const {}
  void operator()(const IdentityArg&) const {}
  void operator()(const BufferArg& a) const {
    json.member("slot", std::int64_t{a.slot}).key("size");
    write_size(json, a.size);
    view(a.st);
  }
  void operator()(const ConstArg& a) const {
    json.member("value", std::string_view(a.value.text()));
    if (!a.st.contiguous()) view(a.st);
  }
  void operator()(const ShapeTracker& st) const { view(st); }
  template <class T>
  void operator()(const T&) const {
    json.member("arg", std::string_view(arg_text(n)));
  }
  void view(const ShapeTracker& st) const { json.member("view", std::string_view(st.render())); }
};

}  // namespace

void write_size(JsonWriter& json, const Int& size) {
  size.is_number() ? json.value(size.value()) : json.value(std::string_view(size.render()));
}

TraceNodes::TraceNodes(std::span<const LazyOp> roots) {
  const auto source = [](const LazyOp* n, std::size_t k) {
    return is_memory(*n->node()) ? nullptr : needed_source(n, k);
  };
  const auto note = [&](const LazyOp* op) {
    const LazyNode& n = *op->node();
    numbers_[&n] = static_cast<std::int64_t>(nodes_.size());
    nodes_.push_back(op);
    if (n.origin.is_known() && file_.try_emplace(n.origin.file, static_cast<std::int64_t>(files_.size())).second)
      files_.emplace_back(n.origin.file);
  };
  for (const LazyOp& root : roots)
    detail::walk(&root, [&](const LazyOp* n) { return numbers_.try_emplace(n->node(), -1).second; }, source, note);
}

void TraceNodes::write_node(JsonWriter& json, const LazyNode& n) const {
  json.begin_object().member("op", std::string_view(spec_name(n.op)));
  if (!n.dtype.is_none()) json.member("dtype", std::string_view(n.dtype.name()));
  json.key("shape").begin_array();
  for (const Int& size : n.shape) write_size(json, size);
  json.end_array();
  if (is_memory(n)) {
    json.member("memory", true);
  } else {
    if (!n.src.empty()) json.key("src").begin_array();
    for (const LazyOp& s : needed(n)) json.value(number(s.node()));
    if (!n.src.empty()) json.end_array();
    std::visit(TracedArg{json, n}, n.arg);
  }
  if (n.origin.is_known())
    json.key("origin")
        .begin_array()
        .value(n.origin.operation)
        .value(file_.at(n.origin.file))
        .value(std::int64_t{n.origin.line})
        .end_array();
  json.end_object();
}

void TraceNodes::write(JsonWriter& json, std::size_t begin, std::size_t end) const {
  json.begin_array();
  for (std::size_t k = begin; k < end; ++k) write_node(json, *nodes_[k]->node());
  json.end_array();
}

void TraceNodes::write_files(JsonWriter& json) const {
  json.begin_array();
  for (const std::string_view file : files_) json.value(file);
  json.end_array();
}

}  // namespace strata
