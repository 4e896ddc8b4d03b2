// The program `strata`.
#include <unistd.h>

#include <cstdlib>
#include <iostream>
#include <string>
#include <vector>

#include "tools/cli.h"

namespace {

bool shows_colour(int file) {
  const char* off = std::getenv("NO_COLOR");
  const char* terminal = std::getenv("TERM");
  if (off != nullptr && *off != '\0') return false;
  if (terminal == nullptr || std::string_view(terminal) == "dumb") return false;
  return ::isatty(file) == 1;
}

}  // namespace

int main(int argc, char** argv) {
  std::ios::sync_with_stdio(false);
  std::cin.tie(nullptr);
  strata::tools::Console console{std::cout, std::cerr, shows_colour(STDOUT_FILENO), shows_colour(STDERR_FILENO)};
  const std::vector<std::string> words(argv + (argc > 0 ? 1 : 0), argv + argc);
  const int status = strata::tools::run_program(words, console);
  if (std::cout.flush()) return status;
  std::cerr << "strata: cannot write to standard output\n";
  return status == 0 ? 1 : status;
}
