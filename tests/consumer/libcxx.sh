#!/usr/bin/env bash
# libcxx.sh FOLDER: builds every floor with clang and libc++ (Debian: clang-19 libc++-19-dev libc++abi-19-dev), objects in FOLDER;
# of the back ends those that need no library of C++'s, whose standard library would be another. Runs mdspan.cpp and
# tensor_mdspan.cpp against it: libc++ has std::mdspan. Refuses an object at namespace scope that is made before main, or ended
# after it, and is not in `allowed`: a Tensor at namespace scope may be made first. CXX: another compiler. JOBS: how many at once.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
objects=$1
mkdir -p "$objects"
rm -f "$objects"/*.o

compiler="${CXX:-clang++-19} -stdlib=libc++"
flags="-Wall -Wextra -Wconversion -Wshadow -Werror -pedantic -I."
for warning in global-constructors exit-time-destructors; do flags+=" -W$warning -Wno-error=$warning"; done
# Hooks of fork() hold pointers alone; the other two are of the thread that ends LLVM.
allowed='^const ForkHook |^std::thread::id ending_thread;|^const bool is_watched = |thread_local '
launcher=$(command -v ccache || true)

compile() { echo "$launcher $compiler -std=$1 $flags -c $2 -o '$objects/$(basename "$2" .cpp).o'"; }

# The larger floors first. A floor is one unit: its names are unique. What is left out has a stand-in, which is taken.
floors=(ops onnx export tensor codegen expr runtime mesh spmd nn graph ir render schedule view engine shard layout base dtype loops affine)
texts=$(sed -n 's/^extern const std::string_view \(.*\);/\1/p' strata/runtime/host_kernels_text.h | tr -d ,)
[ -n "$texts" ]
{
  printf '#include "strata/runtime/host_kernels_text.h"\nnamespace strata::host_kernels {\n'
  for name in $texts; do
    printf 'const std::string_view %s = R"C_TEXT(%s\n)C_TEXT";\n' "$name" "$(cat "strata/runtime/host_kernels/$name.c")"
  done
  printf '}\n'
} > "$objects/host_kernels_text.cpp"
[ "$(printf '%s\n' "${floors[@]}" | sort | xargs)" = "$(cd strata && printf '%s\n' */ | tr -d / | sort | xargs)" ]
{
  for floor in "${floors[@]}"; do
    printf '%s\n' strata/"$floor"/*.cpp \
      | { grep -Ev '/(tbb_|order_avx|order_baseline|absent_opencl_|absent_zlib_|absent_protozero_)[^/]*$' || true; } | sed 's/.*/#include "&"/' > "$objects/$floor.cpp"
    compile "c++20 -DSTRATA_PLUGIN_INSTALLED='\"\"'" "$objects/$floor.cpp"
  done
  compile c++20 "$objects/host_kernels_text.cpp"
  compile c++20 strata/runtime/order_baseline.cpp  # C text with names of its own, once for each instruction set
  compile c++23 tests/consumer/mdspan.cpp
  compile c++23 tests/consumer/tensor_mdspan.cpp
} | tr '\n' '\0' | xargs -0 -P "${JOBS:-$(nproc)}" -I '{}' bash -c '{}' 2> "$objects/said" || { cat "$objects/said" >&2; exit 1; }

hooks=0 refused=0
while IFS=: read -r file line; do
  text=$(sed -n "${line}p" "$file")
  case $text in *ForkHook*) hooks=$((hooks + 1)) ;; esac
  grep -Eq "$allowed" <<< "$text" || { echo "$file:$line: made before main, or ended after it: $text" >&2; refused=1; }
done < <(grep -E '^(\./)?strata/.*-W(global-constructors|exit-time-destructors)' "$objects/said" | cut -d: -f1,2 | sort -u)
[ "$refused" = 0 ]
[ "$hooks" -ge 10 ]  # the compiler says so of what there is

programs=(mdspan tensor_mdspan)
parts=("${floors[@]/#/$objects/}")
for program in "${programs[@]}"; do
  $compiler "$objects/$program.o" "${parts[@]/%/.o}" "$objects/order_baseline.o" "$objects/host_kernels_text.o" -o "$objects/$program" -pthread -ldl -lz
  STRATA_DEVICE=INTERP "$objects/$program"
done
