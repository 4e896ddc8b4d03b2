// isl's quasi-affine expressions as a peer: exact, with the ranges of the variables as the domain of the gist.
#include <isl/aff.h>
#include <isl/ctx.h>
#include <isl/id.h>
#include <isl/local_space.h>
#include <isl/set.h>
#include <isl/space.h>
#include <isl/val.h>

#include <cstdlib>
#include <stdexcept>

#include "bench/peers.h"

namespace strata::bench {

namespace {

class Isl : public Peer {
 public:
  explicit Isl(const Program& program)
      : steps_(program.steps), slots_(steps_.size(), nullptr), context_(isl_ctx_alloc()) {
    const auto dims = static_cast<unsigned>(program.variables.size());
    box_ = isl_set_universe(isl_space_set_alloc(context_, 0, dims));
    for (unsigned i = 0; i < dims; ++i) {
      const Range& v = program.variables[i];
      box_ = isl_set_lower_bound_val(box_, isl_dim_set, i, isl_val_int_from_si(context_, v.min));
      box_ = isl_set_upper_bound_val(box_, isl_dim_set, i, isl_val_int_from_si(context_, v.max));
      box_ = isl_set_set_dim_id(box_, isl_dim_set, i, isl_id_alloc(context_, v.name.c_str(), nullptr));
    }
    space_ = isl_local_space_from_space(isl_set_get_space(box_));
  }
  ~Isl() override {
    isl_local_space_free(space_);
    isl_set_free(box_);
    isl_ctx_free(context_);
  }
  Isl(const Isl&) = delete;
  Isl& operator=(const Isl&) = delete;

  void build() override { isl_aff_free(simplified()); }
  std::string result() override {
    isl_aff* aff = simplified();
    char* text = isl_aff_to_str(aff);
    const std::string copy = text;
    std::free(text);
    isl_aff_free(aff);
    return copy;
  }

 private:
  isl_aff* simplified() {
    for (std::size_t i = 0; i < steps_.size(); ++i) slots_[i] = value(steps_[i]);
    isl_aff* whole = isl_aff_gist(isl_aff_copy(slots_.back()), isl_set_copy(box_));
    for (isl_aff*& aff : slots_) aff = isl_aff_free(aff);
    return whole;
  }
  isl_aff* value(const Step& s) const {
    switch (s.op) {
      case 'c': return isl_aff_val_on_domain(isl_local_space_copy(space_), isl_val_int_from_si(context_, s.value));
      case 'v': return isl_aff_var_on_domain(isl_local_space_copy(space_), isl_dim_set, static_cast<unsigned>(s.value));
      case '+': return isl_aff_add(isl_aff_copy(slots_[s.left]), isl_aff_copy(slots_[s.right]));
      case '*': return isl_aff_scale_val(isl_aff_copy(slots_[s.left]), constant(s.right));
      case '/': return isl_aff_floor(isl_aff_scale_down_val(isl_aff_copy(slots_[s.left]), constant(s.right)));
      default: return isl_aff_mod_val(isl_aff_copy(slots_[s.left]), constant(s.right));
    }
  }
  isl_val* constant(std::size_t step) const {
    if (steps_[step].op != 'c') throw std::runtime_error("isl: the right operand of * // % has to be a constant");
    return isl_val_int_from_si(context_, steps_[step].value);
  }

  const std::vector<Step>& steps_;
  std::vector<isl_aff*> slots_;
  isl_ctx* context_;
  isl_set* box_;
  isl_local_space* space_;
};

}  // namespace

std::unique_ptr<Peer> make_isl(const Program& program) { return std::make_unique<Isl>(program); }

}  // namespace strata::bench
