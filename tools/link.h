// Permalinks: what a command looks at, as the page's box says it. The box's notation is one for all of the page (docs/viz.md).
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "strata/expr/expr.h"
#include "tools/cli.h"

namespace strata::tools {

struct PageLink {
  std::string mode;                                            ///< "expression"
  std::string text;                                            ///< of the box
  std::vector<std::pair<std::string, std::string>> more = {};  ///< "target", "c"
};

/// `text` with every byte but letters, digits and -._~ as %XX.
std::string percent_encoded(std::string_view text);

/// "#mode=expression&q=a%254"
std::string fragment_of(const PageLink& link);

/// "a: 0..3; text"
std::string declared(const std::vector<Variable>& variables, std::string_view text);

/// `text` with line ends, which separate statements in the box, as blanks.
std::string in_one_line(std::string_view text);

/// What becomes of a link; the exit status.
using LinkUse = std::function<int(const PageLink&)>;

// Each reads its command's words as the command does, and hands on the link; errors are those of the command.
int link_expr(const Invocation& invocation, Console& console, const LinkUse& use);
int link_view(const Invocation& invocation, Console& console, const LinkUse& use);
int link_layout(const Invocation& invocation, Console& console, const LinkUse& use);
int link_kernel(const Invocation& invocation, Console& console, const LinkUse& use);

/// What --link prints: the URL of the page on this machine, with the link.
LinkUse print_link(Console& console);

}  // namespace strata::tools
