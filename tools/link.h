// Permalinks to the page: the subject of a command, in the notation of the page's box (docs/viz.md). `strata viz expr
// ...` opens the link, and the option --link of four commands prints it.
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
  std::string mode;                                            ///< the page's mode, e.g. "expression"
  std::string text;                                            ///< the text of the box
  std::vector<std::pair<std::string, std::string>> more = {};  ///< e.g. {"target", "c"}
};

/// `text` with every byte as %XX, except letters, digits and -._~.
std::string percent_encoded(std::string_view text);

/// The fragment of the URL, e.g. "#mode=expression&q=a%254".
std::string fragment_of(const PageLink& link);

/// `text` with declarations of the variables before it, e.g. "a: 0..3; a + 1".
std::string declared(const std::vector<Variable>& variables, std::string_view text);

/// `text` with blanks in place of line ends, which would end a statement in the box.
std::string in_one_line(std::string_view text);

/// The use of a link, e.g. opening it. Returns the exit status.
using LinkUse = std::function<int(const PageLink&)>;

// Each function parses the words of its command as the command does, and passes the link to `use`. Errors are those of
// the command.
int link_expr(const Invocation& invocation, Console& console, const LinkUse& use);
int link_view(const Invocation& invocation, Console& console, const LinkUse& use);
int link_layout(const Invocation& invocation, Console& console, const LinkUse& use);
int link_kernel(const Invocation& invocation, Console& console, const LinkUse& use);

/// The use of the option --link: prints the URL of the page on this machine, with the link.
LinkUse print_link(Console& console);

}  // namespace strata::tools
