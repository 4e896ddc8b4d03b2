// How many random cases a test takes.
#pragma once

namespace strata::test {

/// `cases`, or a quarter of them where a sanitizer watches, which takes five times as long; other builds take all.
template <class T>
constexpr T sample(T cases) {
  return STRATA_SANITIZED ? cases / 4 : cases;
}

}  // namespace strata::test
