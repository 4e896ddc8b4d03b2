// Collects the variables of all symbolic sizes, strides and offsets.

#include "strata/codegen/variables.h"

#include <algorithm>
#include <map>
#include <string>

#include "strata/ir/uop.h"

namespace strata {

namespace {

class VariableNotes {
 public:
  void note(const LazyNode& n) {
    for (const Int& size : n.shape) note(size);
    if (const auto* buffer = std::get_if<BufferArg>(&n.arg)) note(buffer->st), note(buffer->size);
    if (const auto* constant = std::get_if<ConstArg>(&n.arg)) note(constant->st);
    if (const auto* st = std::get_if<ShapeTracker>(&n.arg)) note(*st);
  }
  std::vector<Variable> all() const {
    std::vector<Variable> out;
    for (const auto& [name, v] : by_name_) out.push_back(v);
    return out;
  }

 private:
  void note(const Int& size) {
    if (size.is_number()) return;
    for (const Variable& v : variables(size.expr())) note(v);
  }
  void note(const ShapeTracker& st) {
    for (const Variable& v : st.vars()) note(v);
  }
  void note(const Variable& v) {
    const std::string_view name = v.name();
    const bool is_ours =
        name.starts_with("ridx") || name.starts_with("lane_") || name.starts_with("_") || is_range_bound(name);
    STRATA_CHECK(!is_ours, domain, "[lower] the name ", name, " is reserved for loops of kernels: rename the variable");
    const auto [it, is_new] = by_name_.emplace(std::string(name), v);
    STRATA_CHECK(is_new || same(it->second, v), domain, "[lower] there are two variables ", name, ", with bounds [",
                 it->second.min(), ", ", it->second.max(), "] and [", v.min(), ", ", v.max(), "]");
  }

  std::map<std::string, Variable> by_name_;
};

}  // namespace

std::vector<Variable> kernel_variables(const LazyOp& kernel) {
  VariableNotes notes;
  for (const LazyNode* n : postorder(kernel)) notes.note(*n);
  return notes.all();
}

std::string name_beside(std::span<const Variable> variables, std::string wanted) {
  const auto is_taken = [&](const Variable& v) { return v.name() == wanted; };
  while (std::any_of(variables.begin(), variables.end(), is_taken)) wanted += 'x';
  return wanted;
}

}  // namespace strata
