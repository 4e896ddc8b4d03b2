// Replaces begin0 by gidx0, and the parallel loop by its body, which gets a condition if the trip count is symbolic.
//
// end0 becomes gidx0 + 1, which equals `trip_count` only in the last instance. For a trip count of 0 the first instance
// stands for the call [0, 0): there end0 becomes gidx0.

#include "strata/codegen/instances.h"

#include <algorithm>
#include <limits>
#include <string>
#include <unordered_map>
#include <vector>

#include "strata/codegen/index_uops.h"

namespace strata {

namespace {

class Instances {
 public:
  Instances(const UOpGraph& list, const Int& trip_count) : list_(list), trip_count_(trip_count) {}

  UOpGraph run() {
    for (const UOp u : list_)
      if (u.op() == UOps::DEFINE_VAR) variables_.emplace(name_of(u), u);
    define();
    for (const UOp u : list_) place(u);
    return std::move(out_);
  }
  std::vector<UOp> stand_ins() const {
    std::vector<UOp> out(list_.size());
    for (const auto& [of, stand_in] : made_) out[of.num()] = stand_in;
    return out;
  }

 private:
  static std::string name_of(UOp variable) { return std::string(std::get<Variable>(variable.arg()).name()); }
  bool is_known() const { return trip_count_.is_number() && trip_count_.value() > 0; }

  /// Defines the index of the instance, in 32 bits where that is enough, and the value of a symbolic `trip_count`.
  void define() {
    const std::int64_t most = std::max<std::int64_t>(trip_count_.vmax(), 1);
    const bool is_narrow = most <= std::numeric_limits<std::int32_t>::max();
    index_ = out_.add(UOps::SPECIAL, is_narrow ? dtypes::int32 : dtypes::int64, {}, Special{free_name(), 0, most});
    // The condition is computed in 32 bits where these are enough: not all languages have more.
    const DType width =
        is_known() || (is_narrow && index_width(trip_count_.expr()) == dtypes::int32) ? dtypes::int32 : dtypes::int64;
    if (std::any_of(list_.begin(), list_.end(), [this](UOp u) { return asks_wide(u); }) || width == dtypes::int64)
      wide_ = out_.cast(index_, dtypes::int64);
    if (is_known()) return;
    IndexUOps of_variables(out_,
                           {[this](const Variable& v) { return parameter(v); }, [](const Variable&) { return 0; }});
    total_ = of_variables.integer(trip_count_.expr(), width);
  }
  std::string free_name() const {
    std::vector<Variable> of_trip_count;
    if (!trip_count_.is_number()) of_trip_count = variables(trip_count_.expr());
    std::string name = "gidx0";
    while (variables_.contains(name) ||
           std::any_of(of_trip_count.begin(), of_trip_count.end(), [&](const Variable& v) { return v.name() == name; }))
      name += 'x';
    return name;
  }
  /// True iff `u` is the parallel counter cast to 32 bits, as 32-bit indices use it.
  bool is_narrowed(UOp u) const {
    return u.op() == UOps::CAST && is_parallel(u.src(0)) && u.dtype() == dtypes::int32 &&
           index_.dtype() == dtypes::int32;
  }
  /// True iff `u` needs the counter or end0 in 64 bits.
  bool asks_wide(UOp u) const {
    if (u.op() == UOps::ENDLOOP || is_narrowed(u)) return false;
    return asks_end(u) || std::any_of(u.src().begin(), u.src().end(), is_parallel);
  }
  static bool asks_end(UOp u) {
    return !is_parallel(u) && std::any_of(u.src().begin(), u.src().end(),
                                          [](UOp s) { return s.op() == UOps::DEFINE_VAR && name_of(s) == kRangeEnd; });
  }
  UOp parameter(const Variable& v) {
    const auto listed = variables_.find(std::string(v.name()));
    const DType dtype = listed != variables_.end() ? listed->second.dtype() : index_width(v);
    const UOp made = out_.add(UOps::DEFINE_VAR, dtype, {}, v);
    if (listed != variables_.end()) made_[listed->second] = made;
    return made;
  }

  void place(UOp u) {
    if (made_.contains(u)) return;
    if (u.op() == UOps::DEFINE_VAR && name_of(u) == kRangeBegin) {
      made_[u] = wide_;
    } else if (is_narrowed(u)) {
      made_[u] = index_;
    } else if (u.op() == UOps::DEFINE_VAR && name_of(u) == kRangeEnd) {
      made_[u] = end();
    } else if (is_parallel(u)) {
      if (!is_known()) block_ = out_.add(UOps::IF, dtypes::none, {has_iteration()}, {}, false);
      made_[u] = wide_;
    } else if (u.op() == UOps::ENDLOOP && is_parallel(u.src(0))) {
      if (block_) out_.add(UOps::ENDIF, dtypes::none, {block_}, {}, false);
    } else {
      SmallVec<UOp, 4> src;
      for (const UOp s : u.src()) src.push_back(made_.at(s));
      made_[u] = out_.add(u.op(), u.dtype(), {src.data(), src.size()}, u.arg(), false);
    }
  }
  static bool is_parallel(UOp u) {
    return u.op() == UOps::LOOP && u.src(0).op() == UOps::DEFINE_VAR && name_of(u.src(0)) == kRangeBegin;
  }

  UOp has_iteration() { return out_.alu(Ops::CMPLT, {total_.dtype() == dtypes::int32 ? index_ : wide_, total_}); }
  /// The value of end0; empty where only the parallel loop uses it.
  UOp end() {
    if (std::none_of(list_.begin(), list_.end(), asks_end)) return {};
    if (is_known()) return out_.alu(Ops::ADD, {wide_, out_.constant(dtypes::int64, 1)});
    const UOp some = out_.alu(Ops::CMPLT, {out_.constant(total_.dtype(), 0), total_});
    return out_.alu(Ops::ADD, {wide_, out_.cast(some, dtypes::int64)});
  }

  const UOpGraph& list_;
  Int trip_count_;
  UOpGraph out_;
  UOp index_, wide_, total_, block_;
  std::unordered_map<UOp, UOp> made_;
  std::unordered_map<std::string, UOp> variables_;  // of the list, by name
};

}  // namespace

UOpGraph to_instances(const UOpGraph& list, const Int& trip_count, std::vector<UOp>* stand_ins) {
  Instances instances(list, trip_count);
  UOpGraph out = instances.run();
  if (stand_ins != nullptr) *stand_ins = instances.stand_ins();
  return out;
}

}  // namespace strata
