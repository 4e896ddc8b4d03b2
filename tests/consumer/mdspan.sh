#!/usr/bin/env bash
# mdspan.sh FOLDER: builds mdspan.cpp and the floors that it needs with clang and libc++, which has std::mdspan (Debian:
# clang-19 libc++-19-dev libc++abi-19-dev), objects in FOLDER, and runs it; and compiles tensor_mdspan.cpp. CXX: another
# compiler. JOBS: how many at once.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
objects=$1
mkdir -p "$objects"
rm -f "$objects"/*.o

compiler="${CXX:-clang++-19} -std=c++23 -stdlib=libc++"
flags="-O1 -Wall -Wextra -Wconversion -Wshadow -Werror -pedantic -I."
launcher=$(command -v ccache || true)

sources=(tests/consumer/mdspan.cpp)
for floor in base expr view; do
  printf '#include "%s"\n' strata/$floor/*.cpp > "$objects/$floor.cpp"
  sources+=("$objects/$floor.cpp")
done
for source in "${sources[@]}"; do
  echo "$launcher $compiler $flags -c $source -o '$objects/$(basename "$source" .cpp).o'"
done | xargs -d '\n' -P "${JOBS:-$(nproc)}" -I '{}' bash -c '{}'

$compiler $flags -fsyntax-only tests/consumer/tensor_mdspan.cpp
$compiler "$objects"/*.o -o "$objects/mdspan" -pthread
"$objects/mdspan"
