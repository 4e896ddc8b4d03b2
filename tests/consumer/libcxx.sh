#!/usr/bin/env bash
# libcxx.sh FOLDER: builds every floor with clang and libc++ (Debian: clang-19 libc++-19-dev libc++abi-19-dev), objects in FOLDER;
# of the back ends those that need no library of C++'s, whose standard library would be another. Runs mdspan.cpp and
# tensor_mdspan.cpp against it: libc++ has std::mdspan. CXX: another compiler. JOBS: how many at once.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
objects=$1
mkdir -p "$objects"
rm -f "$objects"/*.o

compiler="${CXX:-clang++-19} -stdlib=libc++"
flags="-Wall -Wextra -Wconversion -Wshadow -Werror -pedantic -I."
launcher=$(command -v ccache || true)

compile() { echo "$launcher $compiler -std=$1 $flags -c $2 -o '$objects/$(basename "$2" .cpp).o'"; }

# The larger floors first. A floor is one unit: its names are unique. What is left out has a stand-in, which is taken.
floors=(tensor codegen expr runtime nn graph ir render schedule view engine base dtype)
[ "$(printf '%s\n' "${floors[@]}" | sort | xargs)" = "$(cd strata && printf '%s\n' */ | tr -d / | sort | xargs)" ]
{
  for floor in "${floors[@]}"; do
    printf '%s\n' strata/"$floor"/*.cpp \
      | { grep -Ev '/(tbb_|absent_opencl_|absent_zlib_)[^/]*$' || true; } | sed 's/.*/#include "&"/' > "$objects/$floor.cpp"
    compile "c++20 -DSTRATA_PLUGIN_INSTALLED='\"\"'" "$objects/$floor.cpp"
  done
  compile c++23 tests/consumer/mdspan.cpp
  compile c++23 tests/consumer/tensor_mdspan.cpp
} | tr '\n' '\0' | xargs -0 -P "${JOBS:-$(nproc)}" -I '{}' bash -c '{}'

programs=(mdspan tensor_mdspan)
parts=("${floors[@]/#/$objects/}")
for program in "${programs[@]}"; do
  $compiler "$objects/$program.o" "${parts[@]/%/.o}" -o "$objects/$program" -pthread -ldl -lz
  STRATA_DEVICE=INTERP "$objects/$program"
done
