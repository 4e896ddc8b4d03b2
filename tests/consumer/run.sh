#!/usr/bin/env bash
# run.sh BUILD_FOLDER: installs that build, moves the tree (it must be relocatable), and builds main.cpp against it with
# find_package (once of a component alone, without TBB) and with pkg-config, shared.cpp and static_tensor.cpp with the latter;
# compiles each header that was installed, and those of the floors as C++17. Looks at every binary of the build and of the
# tree: where it looks for libraries; how it was hardened, if it is a Release build.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
build=$1
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

cmake --install "$build" --prefix "$work/first" > "$work/install.log" || { cat "$work/install.log"; exit 1; }
mv "$work/first" "$work/prefix"
prefix=$work/prefix

check() {
  local printed
  printed=$("$2")
  echo "$1: $printed"
  [ "$printed" = '(a%10) 0 9' ]
}

cmake -S "$here" -B "$work/cmake" -DCMAKE_PREFIX_PATH="$prefix" > "$work/cmake.log" || { cat "$work/cmake.log"; exit 1; }
cmake --build "$work/cmake"
check find_package "$work/cmake/consumer"

# The floor of expressions alone: what only other floors need is not looked for.
cmake -S "$here/component" -B "$work/component" -DCMAKE_PREFIX_PATH="$prefix" -DCMAKE_DISABLE_FIND_PACKAGE_TBB=ON \
  -DCMAKE_DISABLE_FIND_PACKAGE_ZLIB=ON > "$work/component.log" 2>&1 || { cat "$work/component.log"; exit 1; }
cmake --build "$work/component"
check 'COMPONENTS expr' "$work/component/consumer"

(cd "$prefix/include" && find strata -name '*.h') | sort | sed 's/.*/#include <&>/' > "$work/headers.cpp"
g++ -std=c++20 -fsyntax-only -Wall -Wextra -Wconversion -Wshadow -Werror -pedantic -I"$prefix/include" "$work/headers.cpp"
echo "headers: $(wc -l < "$work/headers.cpp")"

for header in "$prefix"/include/strata/*.h; do
  said=$(g++ -std=c++17 -fsyntax-only -I"$prefix/include" -x c++ "$header" 2>&1 | grep -m 1 'error:' || true)
  [[ $said == *'needs C++20'* ]] || { echo "as C++17, $header says first: $said"; exit 1; }
done

python3 "$here/../check_binaries.py" "$build" "$prefix"
if grep -q '^CMAKE_BUILD_TYPE:[A-Z]*=Release$' "$build/CMakeCache.txt"; then
  find "$build" "$prefix" -type f \( -path "$build/strata" -o -path '*/bin/strata' -o -name 'libstrata_llvm.so' -o -name '_strata.so' \) -print0 \
    | xargs -0 python3 "$here/../check_binaries.py" --hardened
fi

folder=$(dirname "$(find "$prefix" -name strata.pc)")
read -ra flags <<< "$(PKG_CONFIG_PATH=$folder pkg-config --cflags --libs strata)"
g++ -std=c++20 -Wall -Wextra -Wconversion -Wshadow -Werror -pedantic "$here/main.cpp" "${flags[@]}" -o "$work/consumer"
check pkg-config "$work/consumer"

g++ -std=c++20 -Wall -Wextra -Wconversion -Wshadow -Werror -pedantic "$here/static_tensor.cpp" "${flags[@]}" -o "$work/static"
static=$("$work/static")
echo "at namespace scope: $static"
[ "$static" = '36 0' ]

shared=$work/libshared.so
g++ -std=c++20 -fPIC -fvisibility=hidden -fvisibility-inlines-hidden -shared "$here/shared.cpp" "${flags[@]}" -o "$shared"
python3 -c 'import ctypes, sys; f = ctypes.CDLL(sys.argv[1]).consumer_sum; f.restype = ctypes.c_float; assert f() == 5' "$shared"
# What else is exported are instances of the standard library's templates, which are weak.
exported=$(nm -D --defined-only "$shared" | grep -E ' [A-U] | _Z(GV|Z|T[ISV])*NK?6strata')
echo "shared object: $exported"
[ "${exported#* T }" = consumer_sum ]

"$prefix/bin/strata" --version
for file in bash-completion/completions/strata zsh/site-functions/_strata fish/vendor_completions.d/strata.fish man/man1/strata.1; do
  [ -s "$prefix/share/$file" ] || { echo "not installed: share/$file"; exit 1; }
done
bash -n "$prefix/share/bash-completion/completions/strata"
