#!/usr/bin/env bash
# libcxx.sh FOLDER [objects]: compiles every floor with clang and libc++ (Debian: clang-19 libc++-19-dev libc++abi-19-dev); of the back
# ends those that need no library of C++'s, whose standard library would be another. Runs mdspan.cpp against the floors below it, whose
# objects are in FOLDER: libc++ has std::mdspan. With `objects` all floors become objects, and tensor_mdspan.cpp runs, too. Refuses an
# object at namespace scope that is made before main, or ended after it, and is not in `allowed`: a Tensor at namespace scope may be made
# first. CXX: another compiler. JOBS: how many at once.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
objects=$1 all=${2:-}
mkdir -p "$objects"
rm -f "$objects"/*.o

compiler="${CXX:-clang++-19} -stdlib=libc++"
flags="-Wall -Wextra -Wconversion -Wshadow -Werror -pedantic -I."
for warning in global-constructors exit-time-destructors; do flags+=" -W$warning -Wno-error=$warning"; done
# Hooks of fork() hold pointers alone; the other two are of the thread that ends LLVM.
allowed='^const ForkHook |^std::thread::id ending_thread;|^const bool is_watched = |thread_local '
launcher=$(command -v ccache || true)

compile() { echo "$launcher $compiler -std=$1 $flags -c $2 -o '$objects/$(basename "$2" .cpp).o'"; }
read_through() { echo "$compiler -std=$1 $flags -fsyntax-only $2"; }

# The larger floors first. A floor is one unit: its names are unique. What is left out has a stand-in, which is taken.
floors=(ops onnx export tensor codegen expr runtime nn graph ir render schedule view engine shard layout base dtype loops affine)
below_mdspan=(base expr view)
upper=read_through
[ -z "$all" ] || upper=compile
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
    how=read_through
    [[ -z "$all" && ! " ${below_mdspan[*]} " == *" $floor "* ]] || how=compile
    $how "c++20 -DSTRATA_PLUGIN_INSTALLED='\"\"'" "$objects/$floor.cpp"
  done
  $upper c++20 "$objects/host_kernels_text.cpp"
  $upper c++20 strata/runtime/order_baseline.cpp  # C text with names of its own, once for each instruction set
  compile c++23 tests/consumer/mdspan.cpp
  $upper c++23 tests/consumer/tensor_mdspan.cpp
} | tr '\n' '\0' | xargs -0 -P "${JOBS:-$(nproc)}" -I '{}' bash -c '{}' 2> "$objects/said" || { cat "$objects/said" >&2; exit 1; }

hooks=0 refused=0
while IFS=: read -r file line; do
  text=$(sed -n "${line}p" "$file")
  case $text in *ForkHook*) hooks=$((hooks + 1)) ;; esac
  grep -Eq "$allowed" <<< "$text" || { echo "$file:$line: made before main, or ended after it: $text" >&2; refused=1; }
done < <(grep -E '^(\./)?strata/.*-W(global-constructors|exit-time-destructors)' "$objects/said" | cut -d: -f1,2 | sort -u)
[ "$refused" = 0 ]
[ "$hooks" -ge 10 ]  # the compiler says so of what there is

# link PROGRAM FLOOR...: and runs it.
link() {
  local program=$1
  shift
  local parts=("${@/#/$objects/}")
  $compiler "$objects/$program.o" "${parts[@]/%/.o}" -o "$objects/$program" -pthread -ldl -lz
  STRATA_DEVICE=INTERP "$objects/$program"
}
link mdspan "${below_mdspan[@]}"
[ -z "$all" ] || link tensor_mdspan "${floors[@]}" order_baseline host_kernels_text
