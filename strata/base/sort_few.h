// sort_few(): sorts short lists, such as the dimensions of a tensor. Each use of std::sort is 4 KB of code, which the
// engine of the page has to load; one of sort_few() is 0.3.
#pragma once

#include <iterator>
#include <utility>

namespace strata {

/// Sorts `list` by `less`; equal elements keep their order. By insertion: for some dozens of elements.
template <class List, class Less>
void sort_few(List& list, const Less& less) {
  for (auto end = list.begin(); end != list.end(); ++end)
    for (auto at = end; at != list.begin() && less(*at, *std::prev(at)); --at) std::swap(*at, *std::prev(at));
}

}  // namespace strata
