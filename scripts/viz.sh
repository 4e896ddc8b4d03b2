# Sourced by ./test: the page. It needs Node 18 or newer, npm, Debian's chromium, and clang-19 for WebAssembly.

# Packages that the page is built and tested with. NOTE: Debian's npm and another Node's cannot be installed beside each other.
viz_packages=(lld-19 libc++-19-dev-wasm32 libc++abi-19-dev-wasm32 libclang-rt-19-dev-wasm32 wasi-libc zopfli chromium fonts-dejavu-core libcpp-httplib-dev)
command -v npm > /dev/null || viz_packages+=(nodejs npm)

# The engine, for WebAssembly, and the page around it: build/viz/strata.html.
viz_build() {
  cmake -S viz -B build/wasm -DSTRATA_WERROR=ON
  cmake --build build/wasm
  npm --prefix viz ci --no-audit --no-fund --ignore-scripts
  npm --prefix viz run types
  npm --prefix viz run build
  local bytes
  bytes=$(wc -c < build/viz/strata.html)
  echo "the page has $bytes bytes"
  [ "$bytes" -le 1500000 ]
}

# viz_tests unit|e2e [NAME...]
viz_tests() { (cd viz && node tests/run.mjs "$@"); }

# The committed page is old where viz/ has changed since, or where it answers otherwise than the program.
viz_committed() { STRATA_PROGRAM=$PWD/build/plain/strata node viz/tests/committed.mjs; }

# The engine's answers beside those of the program: viz_differential PROGRAM COUNT SEED
viz_differential() { STRATA_PROGRAM=$PWD/$1 STRATA_COUNT=$2 STRATA_SEED=$3 viz_tests differential; }
