#!/usr/bin/env bash
# run.sh BUILD_FOLDER: installs that build, moves the tree (it must be relocatable), and builds main.cpp against it with
# find_package (once of a component alone, without TBB) and with pkg-config, model/ with strata_add_model(), shared.cpp and
# static_tensor.cpp with pkg-config;
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

# An ONNX model as a library; where the build reads no ONNX files, the project says so when it is configured.
model() { cmake -S "$here/model" -B "$1" -DCMAKE_PREFIX_PATH="$prefix" -DMODEL="$here/../../docs/models/classifier.onnx" "${@:2}" > "$1.log" 2>&1; }
if grep -q '^PROTOZERO_INCLUDE_DIR:PATH=/' "$build/CMakeCache.txt"; then
  plugin=$(find "$prefix" -name libstrata_llvm.so)
  export STRATA_PLUGIN_DIR=${plugin%/*}
  for with_c in ON OFF; do
    object=()
    [ "$with_c" = OFF ] || [ -z "$plugin" ] || object=("-DOBJECT=$(uname -m)")
    { model "$work/model-$with_c" -DWITH_C=$with_c "${object[@]}" && cmake --build "$work/model-$with_c" >> "$work/model-$with_c.log" 2>&1; } \
      || { cat "$work/model-$with_c.log"; exit 1; }
    kinds=$("$work/model-$with_c/consumer")
    echo "strata_add_model, C $with_c ${object[*]}: $kinds"
    [ "$kinds" = '0.167 0.682 0.152 0.331 0.506 0.163' ]  # as `strata run` says
    touch "$work/model-$with_c/classifier.onnx"
    again=$(cmake --build "$work/model-$with_c")
    [[ $again == *'as C: leaf'* ]] || { echo 'a model that changed is not written again'; exit 1; }
    again=$(cmake --build "$work/model-$with_c")
    [[ $again != *'as C: '* ]] || { echo 'a model that did not change is written again'; exit 1; }
  done
  # vcpkg has the program elsewhere.
  mkdir -p "$prefix/tools/strata"
  mv "$prefix/bin/strata" "$prefix/tools/strata/"
  model "$work/moved" || { cat "$work/moved.log"; exit 1; }
  mv "$prefix/tools/strata/strata" "$prefix/bin/"
  ! model "$work/none" -Dstrata_PROGRAM=/none || { echo 'a program that is not there is taken'; exit 1; }
  tr -s ' \n' ' ' < "$work/none.log" | grep -q 'the program /none is not there' || { cat "$work/none.log"; exit 1; }
  refused=(
    'WEIGHTS;beside|WEIGHTS is one of embed;file;pointer, not beside'
    'TARGET;sse|TARGET is one of .*, not sse'
    'TARGET;avx2,sse|TARGET is one of .*, not sse'
    'OPTIONS;--target;avx2|OPTIONS has --target, which NAME, TARGET'
    'OPTIONS;--object;x86_64|OPTIONS has --object, which NAME, TARGET'
    'TARGET;avx2,generic;OBJECT;x86_64|OBJECT is for one TARGET, not avx2,generic'
    'OPTIONS;--kernels;cuda|OPTIONS has --kernels, of which no library is made'
    'NAMED;leaf|unknown: NAMED;leaf'
    'NAME|without a value: NAME'
  )
  for case in "${refused[@]}"; do
    ! model "$work/refused" -DARGUMENTS="${case%%|*}" || { echo "${case%%|*} is taken"; exit 1; }
    tr -s ' \n' ' ' < "$work/refused.log" | grep -q -- "${case#*|}" || { cat "$work/refused.log"; exit 1; }
  done
  ! model "$work/refused" -DMODEL=/none.onnx -DARGUMENTS= || { echo 'a file that is not there is taken'; exit 1; }
  tr -s ' \n' ' ' < "$work/refused.log" | grep -q 'there is no file /none.onnx' || { cat "$work/refused.log"; exit 1; }
else
  ! model "$work/model" || { echo 'a build without ONNX files takes a model'; exit 1; }
  tr -s ' \n' ' ' < "$work/model.log" | grep -q 'was built without protozero, and reads no ONNX files' || { cat "$work/model.log"; exit 1; }
  echo 'strata_add_model: refused, as the build reads no ONNX files'
fi

(cd "$prefix/include" && find strata -name '*.h') | sort | sed 's/.*/#include <&>/' > "$work/headers.cpp"
g++ -std=c++20 -fsyntax-only -Wall -Wextra -Wconversion -Wshadow -Werror -pedantic -I"$prefix/include" "$work/headers.cpp"
echo "headers: $(wc -l < "$work/headers.cpp")"

for header in "$prefix"/include/strata/*.h; do
  said=$(g++ -std=c++17 -fsyntax-only -I"$prefix/include" -x c++ "$header" 2>&1 | grep -m 1 'error:' || true)
  [[ $said == *'needs C++20'* ]] || { echo "as C++17, $header says first: $said"; exit 1; }
done

python3 "$here/../check_binaries.py" "$build" "$prefix"
if grep -q '^CMAKE_BUILD_TYPE:[A-Z]*=Release$' "$build/CMakeCache.txt"; then
  find "$build" "$prefix" -type f \( -path "$build/strata" -o -path '*/bin/strata' -o -name 'libstrata_llvm.so' -o -name 'libstrata_mpi.so' -o -name '_strata.so' \) -print0 \
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
