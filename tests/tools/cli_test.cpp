// The command line: parsing by the table, help, completion, exit status, `expr`, `rules`, `flags`.
#include "tools/cli.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <sstream>
#include <string>
#include <vector>

#include "strata/base/flags.h"
#include "strata/base/json.h"
#include "strata/codegen/decompose.h"
#include "strata/expr/rules.h"
#include "strata/runtime/subprocess.h"
#include "tests/tools/command_line.h"

namespace strata::tools {
namespace {

TEST(Cli, HelpTeaches) {
  const Output top = run({"--help"});
  EXPECT_EQ(top.status, 0);
  for (const Command& c : commands()) EXPECT_TRUE(has(top.out, "\n  " + std::string(c.name) + " ")) << c.name;
  EXPECT_LE(std::count(top.out.begin(), top.out.end(), '\n'), 30) << "more than a screen";
  EXPECT_EQ(run({"help"}).out, top.out);
  EXPECT_EQ(run({"-h"}).out, top.out);
  for (const Command& c : commands()) {
    const Output page = run({std::string(c.name), "--help"});
    EXPECT_EQ(page.status, 0);
    for (const Option& o : c.options) EXPECT_TRUE(has(page.out, std::string(o.name))) << c.name << ' ' << o.name;
    EXPECT_EQ(run({"help", std::string(c.name)}).out, page.out);
  }
}

TEST(Cli, HelpFitsTheScreen) {
  for (const Command& c : commands()) {
    std::istringstream page(help_text(c, false));
    for (std::string line; std::getline(page, line);) EXPECT_LE(line.size(), 110U) << line;
  }
}

TEST(Cli, UsageErrorsAre2) {
  const std::vector<std::pair<std::vector<std::string>, std::string>> cases = {
      {{}, "Usage"},
      {{"exp"}, "did you mean 'expr'?"},
      {{"xyzzy"}, "unknown command 'xyzzy'"},
      {{"--frob"}, "unknown option '--frob'"},
      {{"expr"}, "'expr' needs TEXT"},
      {{"expr", "a", "+", "b"}, "unexpected argument '+'"},
      {{"expr", "1", "--vra", "a=0..1"}, "did you mean '--var'?"},
      {{"expr", "1", "--var"}, "--var needs a value: --var NAME=MIN..MAX"},
      {{"expr", "1", "--json=1"}, "--json takes no value"},
      {{"expr", "1", "--json", "--json"}, "--json is given twice"},
      {{"expr", "1", "--notation", "spek"}, "did you mean 'spec'?"},
      {{"expr", "1", "--var", "a"}, "expected NAME=MIN..MAX"},
      {{"expr", "1", "--var", "a=0..x"}, "'x' is not an integer"},
      {{"expr", "1", "--var", "a=0..9223372036854775808"}, "does not fit in 64 bits"},
      {{"expr", "1", "--var", "a=0..1", "--var", "a=0..1"}, "has bounds already"},
      {{"expr", "1", "--at", "a"}, "expected NAME=VALUE"},
      {{"expr", "1", "--at", "a=1,a=2"}, "'a' is given twice"},
      {{"rules", "D999"}, "there is no rule 'D999'"},
      {{"batch", "--budget", "many"}, "not a number"},
      {{"completion", "tcsh"}, "not one of bash, zsh, fish"},
      {{"flags", "x"}, "unexpected argument 'x'"},
  };
  for (const auto& [words, message] : cases) {
    const Output r = run(words);
    EXPECT_EQ(r.status, 2) << message;
    EXPECT_TRUE(has(r.err, message)) << r.err << " lacks " << message;
    EXPECT_EQ(r.out, "");
  }
}

TEST(Cli, Version) {
  const Output r = run({"--version"});
  EXPECT_EQ(r.status, 0);
  EXPECT_EQ(r.out.substr(0, 7), "strata ");
}

TEST(Cli, NearestNeedsToBeNear) {
  const std::vector<std::string_view> names = {"expr", "batch", "rules"};
  EXPECT_EQ(nearest("rule", names), "rules");
  EXPECT_EQ(nearest("bacth", names), "batch");
  EXPECT_EQ(nearest("q", names), "");
  EXPECT_EQ(nearest(std::string(5000, 'x'), names), "");
}

TEST(Cli, CompletionNamesEverything) {
  for (const std::string shell : {"bash", "zsh", "fish"}) {
    const Output r = run({"completion", shell});
    EXPECT_EQ(r.status, 0);
    for (const Command& c : commands()) {
      EXPECT_TRUE(has(r.out, std::string(c.name)));
      for (const Option& o : c.options)
        EXPECT_TRUE(has(r.out, std::string(o.name.substr(2)))) << shell << ' ' << o.name;
    }
  }
}

/// What bash's completion offers for the last of each line's words.
std::string completed_by_bash(const std::vector<std::string>& lines) {
  std::string script = completion_script("bash") +
                       "offers() { COMP_WORDS=(\"$@\"); COMP_CWORD=$(($# - 1)); _strata; "
                       "echo \"${COMPREPLY[*]}\"; }\n";
  for (const std::string& line : lines) script += "offers strata " + line + "\n";
  strata::Command bash;
  bash.words = {"/bin/bash", "--norc", "--noprofile", "-c", script};
  bash.folder = "/";
  const ProcessResult result = run_process(bash);
  EXPECT_TRUE(result.succeeded()) << result.output;
  return result.output;
}

TEST(Cli, BashLoadsAndCompletes) {
  EXPECT_EQ(completed_by_bash({"d", "be", "cache ''", "cache --", "kernel --device CL", "completion f", "help ma",
                               "bench ''", "etc", "batch /proc/cpuinf"}),
            "devices doctor\n"
            "bench\n"
            "list path check clear\n"
            "--help --json --color\n"
            "CLANG\n"
            "fish\n"
            "man\n"
            "elementwise sum softmax layernorm matmul conv\n"
            "\n"
            "/proc/cpuinfo\n");
  std::string all;
  for (const Command& c : commands()) all += std::string(c.name) + " ";
  EXPECT_EQ(completed_by_bash({"''", "help ''"}), all + "--help --version\n" + all.substr(0, all.size() - 1) + "\n");
}

TEST(Cli, EveryPageHasAnExampleAndTheExitStatus) {
  for (const Command& c : commands()) {
    EXPECT_FALSE(c.examples.empty()) << c.name;
    EXPECT_TRUE(has(help_text(c, false), "\nExit status\n  0 done; 1 ")) << c.name;
  }
}

TEST(Cli, ManHasEverything) {
  const Output r = run({"man"});
  EXPECT_EQ(r.status, 0);
  const std::string& page = r.out;
  for (const std::string& part :
       {std::string(".TH STRATA 1 "), std::string(".SH NAME\nstrata \\- "), std::string(".SH ENVIRONMENT\n")})
    EXPECT_TRUE(has(page, part)) << part;
  for (const Command& c : commands()) {
    EXPECT_TRUE(has(page, ".SS \\fBstrata " + std::string(c.name) + "\\fR")) << c.name;
    for (const Option& o : c.options) {
      std::string name;  // a dash is written with a backslash
      for (const char letter : o.name) name += letter == '-' ? std::string("\\-") : std::string(1, letter);
      EXPECT_TRUE(has(page, name)) << c.name << ' ' << o.name;
    }
  }
  for (const FlagBase* flag : flags::all())
    EXPECT_TRUE(has(page, "\\fB" + flag->environment_name() + "\\fR")) << flag->name();
  std::istringstream lines(page);
  for (std::string line; std::getline(lines, line);) {
    const bool is_request = line.starts_with('.') || line.starts_with('\'');
    const std::string name = line.substr(0, 3);
    EXPECT_TRUE(!is_request || has(".TH .SH .SS .TP .PP .RS .RE .nf .fi .br .B .I .RI .\\\"", name)) << line;
    for (const char c : line) EXPECT_LT(static_cast<unsigned char>(c), 0x80) << line;
  }
}

TEST(Cli, Expr) {
  const Output r = run({"expr", "(a + b*10) % 10", "--var", "a=0..10", "--var=b=0..10", "--at", "a=3,b=4"});
  EXPECT_EQ(r.status, 0) << r.err;
  EXPECT_EQ(r.err, "");
  for (const std::string line :
       {"simplified  (a%10)\n", "c           (a%10)\n", "min         0  (exact)\n", "max         9  (exact)\n",
        "free        a\n", "affine      no\n", "value       3  (at a=3,b=4)\n"}) {
    EXPECT_TRUE(has(r.out, line)) << r.out << " lacks " << line;
  }
}

TEST(Cli, ExprTextsThatBeginWithAMinus) {
  EXPECT_TRUE(has(run({"expr", "-a + 3", "--var", "a=0..1"}).out, "simplified"));
  EXPECT_TRUE(has(run({"expr", "--var", "a=0..1", "--", "--a + 3"}).out, "(3+a)"));
}

TEST(Cli, ExprNotation) {
  EXPECT_EQ(run({"expr", "a % 4 + 0", "--var", "a=0..9", "--notation", "spec"}).out, "(a%4)\n");
  EXPECT_TRUE(has(run({"expr", "a % 4", "--var", "a=0..9", "--notation", "latex"}).out, "\\bmod"));
  EXPECT_TRUE(has(run({"expr", "a % 4", "--var", "a=0..9", "--notation", "tree"}).out, "\n"));
}

TEST(Cli, ExprErrorsHaveACaretAndAHint) {
  const Output r = run({"expr", "1 + foo * 2"});
  EXPECT_EQ(r.status, 1);
  EXPECT_EQ(r.out, "");
  EXPECT_TRUE(has(r.err, "1 + foo * 2\n    ^\n")) << r.err;
  EXPECT_TRUE(has(r.err, "--var foo=0..9")) << r.err;
  const Output assumed = run({"expr", "a", "--var", "a=0..9", "--assume", "a < "});
  EXPECT_EQ(assumed.status, 1);
  EXPECT_TRUE(has(assumed.err, "a < \n")) << assumed.err;
  EXPECT_TRUE(has(assumed.err, "found the end of the text (in --assume)\n")) << assumed.err;
  EXPECT_FALSE(has(assumed.err, "--var")) << assumed.err;
  EXPECT_EQ(run({"expr", "a", "--var", "a=2..1"}).status, 1);
  EXPECT_EQ(run({"expr", "a/0", "--var", "a=0..1"}).status, 1);
  const Output outside = run({"expr", "a", "--var", "a=0..1", "--at", "a=2"});
  EXPECT_EQ(outside.status, 1);
  EXPECT_EQ(outside.err, "strata: [--at] 'a' is 2, outside 0..1\n");
}

TEST(Cli, ExprJsonIsTheBatchAnswer) {
  const Output r = run({"expr", "(a + b*10) % 10", "--var", "a=0..10", "--var", "b=0..10", "--json"});
  EXPECT_EQ(r.out, R"j({"render":"(a%10)","c":"(a%10)","min":0,"max":9,"exact":true,"constant":null,"affine":null,)j"
                   R"("nodes":3,"free":["a"]})"
                   "\n");
}

TEST(Cli, ExprTrace) {
  const Output r = run({"expr", "(a + b*10) % 10", "--var", "a=0..10", "--var", "b=0..10", "--trace"});
  EXPECT_TRUE(has(r.out, "rules that fired, in order\n  M")) << r.out;
  EXPECT_TRUE(has(r.out, "->  ")) << r.out;
  const Output json = run({"expr", "(a + b*10) % 10", "--var", "a=0..10", "--var", "b=0..10", "--trace", "--json"});
  JsonDocument document;
  document.read(json.out);
  EXPECT_TRUE(document.salvage("trace").has_value());
  EXPECT_TRUE(has(*document.salvage("trace"), R"("after":)")) << json.out;
}

TEST(Cli, Rules) {
  const Output all = run({"rules"});
  EXPECT_EQ(all.status, 0);
  EXPECT_FALSE(has(all.out, "no section")) << "a section without a title";
  for (const Rule& rule : rules()) EXPECT_TRUE(has(all.out, std::string(rule.before))) << rule.name;
  const Output one = run({"rules", "D8"});
  EXPECT_TRUE(has(one.out, "D8")) << one.out;
  EXPECT_TRUE(has(one.out, "checked")) << one.out;
  const Output json = run({"rules", "--json"});
  std::istringstream lines(json.out);
  std::size_t count = 0;
  for (std::string line; std::getline(lines, line); ++count) {
    JsonDocument document;
    document.read(line);
  }
  EXPECT_EQ(count, rules().size());
}

TEST(Cli, RulesOfMathematicalFunctions) {
  const auto line_count = [](const std::string& text) {
    return static_cast<std::size_t>(std::count(text.begin(), text.end(), '\n'));
  };
  const Output all = run({"rules", "--math"});
  EXPECT_EQ(all.status, 0);
  EXPECT_EQ(line_count(all.out), decompositions().size());
  for (const Decomposition& d : decompositions()) EXPECT_TRUE(has(all.out, std::string(d.name))) << d.name;
  EXPECT_TRUE(has(all.out, " exact  divisor made safe")) << all.out;
  const Output json = run({"rules", "--math", "--json"});
  EXPECT_EQ(line_count(json.out), decompositions().size());
  EXPECT_TRUE(has(json.out, R"({"op":"UnaryOps.EXP","dtypes":"f32",)")) << json.out;
  std::istringstream lines(json.out);
  for (std::string line; std::getline(lines, line);) {
    JsonDocument document;
    document.read(line);
    EXPECT_TRUE(document.salvage("ulp").has_value()) << line;
  }
  EXPECT_EQ(run({"rules", "--math", "D8"}).status, 2);
}

TEST(Cli, Flags) {
  EXPECT_TRUE(has(run({"flags"}).out, "STRATA_DEBUG=0"));
  EXPECT_TRUE(has(run({"flags", "--json"}).out, R"("name":"STRATA_DEBUG")"));
}

TEST(Cli, ColoursOnlyWhereAsked) {
  EXPECT_EQ(paint(false, Style::bold, "x"), "x");
  EXPECT_EQ(paint(true, Style::bold, "x"), "\x1b[1mx\x1b[0m");
  EXPECT_FALSE(has(run({"--help"}).out, "\x1b"));
}

TEST(Cli, BatchReadsFilesInOrderAndReportsMissingOnes) {
  const Output r = run({"batch", "/nonexistent/requests.jsonl"});
  EXPECT_EQ(r.status, 1);
  EXPECT_TRUE(has(r.err, "/nonexistent/requests.jsonl: cannot open")) << r.err;
}

}  // namespace
}  // namespace strata::tools
