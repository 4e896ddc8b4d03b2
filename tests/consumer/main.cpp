// A user's program: all of Strata by its umbrella header, one result printed.
#include <strata/strata.h>

#include <iostream>

int main() {
  const strata::Variable a("a", 0, 10), b("b", 0, 10);
  const strata::Expr e = (a + b * 10) % 10;
  std::cout << e.render() << ' ' << e.vmin() << ' ' << e.vmax() << '\n';
}
