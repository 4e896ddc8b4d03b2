#include "strata/runtime/order_program.h"

#include <array>
#include <bit>
#include <utility>

#include "strata/expr/evaluate.h"
#include "strata/runtime/devices.h"
#include "strata/runtime/host_kernels/rows.c"
#include "strata/runtime/host_kernels_text.h"
#include "strata/runtime/order_functions.h"

namespace strata {

bool runs_host_kernels(const Device& device) { return &device != &interp_device() && &device != &null_device(); }

std::uint64_t infinity_of(DType dtype) {
  if (!dtype.is_float()) return 0;
  if (dtype == dtypes::bfloat16) return 0x7f80;
  return dtype.itemsize() == 2 ? 0x7c00 : dtype.itemsize() == 4 ? 0x7f800000 : 0x7ff0000000000000;
}

namespace {

/// The functions for this processor.
const OrderFunctions& functions_of_host() {
#if defined(__x86_64__) && (defined(__GNUC__) || defined(__clang__))
  const bool has_avx512 = __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") &&
                          __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vl");
  if (has_avx512 && order_functions_avx512() != nullptr) return *order_functions_avx512();
  if (__builtin_cpu_supports("avx2") && order_functions_avx2() != nullptr) return *order_functions_avx2();
#endif
  return *order_functions_baseline();
}

OrderFunction function_of(const OrderPlan& plan) {
  const auto width = static_cast<std::size_t>(std::countr_zero(plan.dtype.itemsize()));
  const OrderFunctions& all = functions_of_host();
  return plan.arg.of_places ? all.places[width] : all.values[width];
}

class OrderProgram final : public Program {
 public:
  explicit OrderProgram(const Kernel& kernel)
      : name_(kernel.name),
        plan_(kernel.order),
        variables_(kernel.variables),
        work_(static_cast<std::size_t>(kernel.temporaries[0])),
        infinity_(infinity_of(plan_->dtype)),
        function_(function_of(*plan_)) {}

  const std::string& name() const override { return name_; }
  void run(std::span<void* const> buffers, std::span<const std::int64_t> values) override {
    Values known;
    std::optional<std::int64_t> begin, end;
    for (std::size_t k = 0; k < variables_.size(); ++k) {
      if (variables_[k].name() == kRangeBegin) begin = values[k];
      if (variables_[k].name() == kRangeEnd) end = values[k];
      if (!is_range_bound(variables_[k].name())) known.emplace_back(variables_[k], values[k]);
    }
    const auto number = [&](const Int& n) { return n.is_number() ? n.value() : evaluate(n.expr(), known); };
    const OrderRows& rows = plan_->rows;
    strata_order order{};
    order.from = static_cast<const std::byte*>(buffers[1]) +
                 number(rows.offset) * static_cast<std::int64_t>(plan_->dtype.itemsize());
    order.to = buffers[0];
    order.work = static_cast<unsigned char*>(buffers[work_]);
    order.outer_step = number(rows.outer_step);
    order.inner_step = number(rows.inner_step);
    order.step = number(rows.step);
    order.inner = number(rows.inner);
    order.rows = number(rows.outer) * order.inner;
    order.size = number(plan_->size);
    order.first = number(plan_->arg.first);
    order.count = number(plan_->count);
    order.infinity = infinity_;
    order.is_unsigned = plan_->dtype.is_unsigned() || plan_->dtype.is_bool() ? 1 : 0;
    order.is_descending = plan_->arg.is_descending ? 1 : 0;
    if (order.rows == 0 || order.count == 0) return;
    function_(&order, begin.value_or(0), end ? *end : number(plan_->groups()));
  }

 private:
  std::string name_;
  std::shared_ptr<const OrderPlan> plan_;
  std::vector<Variable> variables_;
  std::size_t work_;  // slot
  std::uint64_t infinity_;
  OrderFunction function_;
};

/// `text` with `to` in place of each `from`.
std::string replaced(std::string text, std::string_view from, std::string_view to) {
  for (std::size_t at = text.find(from); at != std::string::npos; at = text.find(from, at + to.size()))
    text.replace(at, from.size(), to);
  return text;
}

/// NAME(x) and WIDE(x) as names of functions for keys of `bits` bits, KEY and UKEY as types.
std::string for_width(std::string_view text, int bits) {
  std::string out(text);
  const std::pair<std::string_view, int> macros[] = {{"NAME(", bits}, {"WIDE(", 64}};
  for (const auto& [macro, width] : macros)
    for (std::size_t at = out.find(macro); at != std::string::npos; at = out.find(macro, at)) {
      const std::size_t end = out.find(')', at), name = at + macro.size();
      out.replace(at, end + 1 - at, detail::message("strata_order_", out.substr(name, end - name), "_", width));
    }
  const std::string number = detail::message(bits);
  out = replaced(std::move(out), "UKEY", detail::message("uint", number, "_t"));
  out = replaced(std::move(out), "KEY", detail::message("int", number, "_t"));
  out = replaced(std::move(out), "BITS", number);
  return replaced(std::move(out), "RESTRICT", "strata_restrict");
}

}  // namespace

std::shared_ptr<Program> order_program(const Kernel& kernel) { return std::make_shared<OrderProgram>(kernel); }

std::string order_function(const OrderPlan& plan) {
  return detail::message("strata_order_", plan.arg.of_places ? "places_" : "values_", 8 * plan.dtype.itemsize());
}

std::vector<OrderPart> order_parts(const OrderPlan& plan) {
  const int bits = static_cast<int>(8 * plan.dtype.itemsize());
  std::vector<OrderPart> out = {{"rows", std::string(host_kernels::rows)},
                                {"limits", std::string(host_kernels::limits)}};
  const auto add = [&](std::string_view name, std::string_view text, int width) {
    out.push_back({detail::message(name, "_", width), for_width(text, width)});
  };
  const bool has_values = !plan.arg.of_places, has_network = has_values || bits <= 32;
  add("keys", host_kernels::keys, bits);
  if (has_network) add("tile", host_kernels::tile, bits);
  if (has_network) add("network", host_kernels::network, has_values ? bits : 64);
  if (has_values) add("digits", host_kernels::digits, bits);
  if (has_values && bits >= 32) add("buckets", host_kernels::buckets, bits);
  if (has_values)
    add("values", host_kernels::values, bits);
  else
    add("places", host_kernels::places, bits);
  return out;
}

std::string order_source(const OrderPlan& plan) {
  std::string out;
  for (const OrderPart& part : order_parts(plan)) out += part.text + "\n";
  return out;
}

}  // namespace strata
