// A user's program of one floor, one result printed.
#include <strata/expr.h>

#include <iostream>

int main() {
  const strata::Variable a("a", 0, 10), b("b", 0, 10);
  const strata::Expr e = (a + b * 10) % 10;
  std::cout << e.render() << ' ' << e.vmin() << ' ' << e.vmax() << '\n';
}
