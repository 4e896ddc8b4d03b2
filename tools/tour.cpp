#include "tools/tour.h"

#include <algorithm>

#include "strata/ops/gradient.h"

namespace strata::tools {

std::string Tour::told(const std::vector<float>& values) {
  std::string out;
  for (const float v : values) out += detail::message(out.empty() ? "" : ", ", Scalar(v).text());
  return detail::message("{", out, "}");
}

std::string first_function(const std::string& text) {
  const std::size_t end = text.find("\n}\n");
  return end == std::string::npos ? text : text.substr(0, end + 3);
}

std::string gradient_rules_of(const LazyOp& y) {
  std::string out;
  std::vector<Ops> seen;
  for (const LazyNode* n : postorder(y)) {
    if (!n->is_tracked || std::find(seen.begin(), seen.end(), n->op) != seen.end()) continue;
    seen.push_back(n->op);
    for (const GradientRule& rule : gradient_rules())
      if (rule.op == n->op) out += detail::message(spec_name(rule.op), ": ", rule.text, "\n");
  }
  return out;
}

}  // namespace strata::tools
