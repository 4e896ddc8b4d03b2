#include "tools/link.h"

#include <algorithm>
#include <ostream>

#include "strata/base/check.h"
#include "tools/page.h"

namespace strata::tools {

std::string percent_encoded(std::string_view text) {
  constexpr std::string_view kPlain = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~";
  constexpr std::string_view kDigits = "0123456789ABCDEF";
  std::string out;
  for (const char c : text) {
    if (kPlain.find(c) != std::string_view::npos) {
      out += c;
      continue;
    }
    const auto byte = static_cast<unsigned char>(c);
    out += '%';
    out += kDigits[byte >> 4];
    out += kDigits[byte & 15];
  }
  return out;
}

std::string fragment_of(const PageLink& link) {
  std::string out = detail::message("#mode=", percent_encoded(link.mode), "&q=", percent_encoded(link.text));
  for (const auto& [key, value] : link.more)
    out += detail::message("&", percent_encoded(key), "=", percent_encoded(value));
  return out;
}

std::string declared(const std::vector<Variable>& variables, std::string_view text) {
  std::string out;
  for (const Variable& v : variables) out += detail::message(v.name(), ": ", v.min(), "..", v.max(), "; ");
  return out.append(text);
}

std::string in_one_line(std::string_view text) {
  std::string out(text);
  std::replace(out.begin(), out.end(), '\n', ' ');
  std::replace(out.begin(), out.end(), '\r', ' ');
  return out;
}

LinkUse print_link(Console& console) {
  return [&console](const PageLink& link) {
    console.out << file_url(keep_page("strata.html", read_page())) << fragment_of(link) << '\n';
    return 0;
  };
}

}  // namespace strata::tools
