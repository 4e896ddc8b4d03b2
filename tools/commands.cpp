// The table of commands and options.
#include "tools/commands.h"

namespace strata::tools {
namespace {

constexpr std::size_t any = 1000000;

// clang-format off
constexpr Option expr_options[] = {
    {"--var",      "NAME=MIN..MAX",   "",                         true,  "a variable and its inclusive bounds"},
    {"--assume",   "COND",            "",                         true,  "simplify where this condition holds"},
    {"--at",       "NAME=VALUE,...",  "",                         true,  "evaluate the text at a point"},
    {"--notation", "NOTATION",        "spec|c|python|latex|tree", false, "print this one rendering: spec, c, python, latex or tree"},
    {"--trace",    "",                "",                         false, "list each rewrite rule that fired, with its instance"},
    {"--no-exact", "",                "",                         false, "use the rewrite rules alone, without the exact step on small boxes"},
    {"--json",     "",                "",                         false, "print the answer as 'strata batch' does"},
};
constexpr Example expr_examples[] = {
    {"strata expr '(a + b*10) % 10' --var a=0..10 --var b=0..10", "simplifies to (a%10): b has no influence"},
    {"strata expr '(x*6 + 5) // 3' --var x=-4..4 --trace",        "the rules that led to the result"},
    {"strata expr 'i % n' --var i=0..63 --var n=1..64 --assume 'i < n'", "a condition makes the index simpler"},
    {"strata expr 'a*40 // 20' --var a=0..10 --notation c",       "only the C text"},
    {"strata expr '-a // 4' --var a=0..10 --at a=7 --at a=8",     "floor division: the values are -2 and -2"},
};

constexpr Option batch_options[] = {
    {"--budget", "N", "", false, "work limit of one request, in bytes of text evaluated (default 67108864)"},
};
constexpr Example batch_examples[] = {
    {R"(echo '{"do":"expr","text":"a%4","vars":{"a":[0,3]}}' | strata batch)", R"({"render":"a","c":"a","min":0,"max":3,"exact":true,...})"},
    {R"(echo '{"do":"prove","text":"a*2 < 9","vars":{"a":[0,9]},"id":1}' | strata batch)", R"({"id":1,"answer":"false","counterexample":{"a":5}})"},
    {R"(echo '{"do":"equal_expr","a":"x/2*2+x%2","b":"x","vars":{"x":[-99,99]}}' | strata batch)", R"({"equal":true,"witness":null})"},
    {R"(echo '{"do":"affine","text":"i*128+64","at":[{"i":3}]}' | strata batch)", R"({"values":[448]})"},
    {"strata batch requests.jsonl > answers.jsonl", "an answer line for each request line, in order"},
};

constexpr Option rules_options[] = {
    {"--json", "", "", false, "print one JSON object a rule"},
};
constexpr Example rules_examples[] = {
    {"strata rules",       "all rules, by section"},
    {"strata rules D8 M6", "these two, with their proofs"},
};

constexpr Option flags_options[] = {
    {"--json", "", "", false, "print one JSON object a flag"},
};
constexpr Example flags_examples[] = {
    {"STRATA_DEBUG=5 strata expr 'a%4' --var a=0..3", "prints each rewrite on standard error"},
};

constexpr Example completion_examples[] = {
    {"source <(strata completion bash)", "in ~/.bashrc"},
    {"strata completion zsh > ~/.zfunc/_strata", "a folder of $fpath"},
    {"strata completion fish > ~/.config/fish/completions/strata.fish", ""},
};

constexpr Command table[] = {
    {"expr", "TEXT", 1, 1, "", "simplify an index expression; its bounds and its C, Python and LaTeX text",
     "TEXT is infix: + - * // %  < <= > >= == !=  and or not  min max select(c,a,b); '/' and '//'\n"
     "both floor. Every name needs its bounds (--var). The bounds that are shown are those of the\n"
     "simplified expression; 'exact' means that both are attained.",
     expr_options, expr_examples, command_expr},
    {"batch", "[FILE...]", 0, any, "FILE", "answer JSON requests, one a line",
     "Reads one JSON object a line from the files, or from standard input, and writes one JSON object\n"
     "a line in the same order. \"do\" is expr, prove, equal_expr or affine; an \"id\" comes back in the\n"
     "answer; an error is an answer too. A line ends in a newline; a last line of white space alone\n"
     "that has none is no request. Exit status 0 when every line was read.",
     batch_options, batch_examples, command_batch},
    {"rules", "[NAME...]", 0, any, "", "list the rewrite rules and how each is proven",
     "A rule says: `before` equals `after` wherever the guard holds. Letters: x y z w are integers;\n"
     "a b d e integer constants; c k g h positive constants; n m positive variables; p q r conditions.",
     rules_options, rules_examples, command_rules},
    {"flags", "", 0, 0, "", "list the STRATA_* environment variables",
     "", flags_options, flags_examples, command_flags},
    {"completion", "SHELL", 1, 1, "bash|zsh|fish", "write a completion script for bash, zsh or fish",
     "", {}, completion_examples, command_completion},
    {"help", "[COMMAND]", 0, 1, "expr|batch|rules|flags|completion", "show this page, or a command's page",
     "", {}, {}, command_help},
};
// clang-format on

}  // namespace

std::span<const Command> commands() { return table; }

}  // namespace strata::tools
