# Sourced by ./test: runs named stages, times them, and counts what passed and failed.
#
# A stage is one check; what it ran is in build/log/<stage>.log, and the end of that is shown when it fails. A stage
# that runs GoogleTest or ctest also adds the cases that they counted: count_tests FOLDER.

stages_passed=0
stages_failed=0
tests_passed=0
tests_failed=0
failures=()

stage() {
  local name=$1 start=$EPOCHREALTIME verdict=ok
  shift
  mkdir -p build/log
  # NOTE: inside `if (...)` bash would ignore the -e.
  ( set -euo pipefail; "$@" ) > "build/log/$name.log" 2>&1
  if [ $? -eq 0 ]; then
    stages_passed=$((stages_passed + 1))
  else
    verdict=FAILED
    stages_failed=$((stages_failed + 1))
    failures+=("$name")
  fi
  printf '%-8s%-28s%7.1f s\n' "$verdict" "$name" "$(awk "BEGIN { print $EPOCHREALTIME - $start }")"
  if [ $verdict = FAILED ]; then
    tail -n 60 "build/log/$name.log" | sed 's/^/    | /'
    echo "    (all of it: build/log/$name.log)"
  fi
}

# count_tests BUILD_FOLDER: adds what ctest and GoogleTest reported there.
count_tests() {
  local counted
  counted=$(python3 tests/count_tests.py "$1")
  tests_passed=$((tests_passed + $(echo "$counted" | cut -d' ' -f1)))
  tests_failed=$((tests_failed + $(echo "$counted" | cut -d' ' -f2)))
}

# The closing line, alone on it; fails when anything did.
summary() {
  local passed=$((stages_passed + tests_passed)) failed=$((stages_failed + tests_failed))
  printf '\n%d stages, %d tests, %d s\n' "$((stages_passed + stages_failed))" \
    "$((tests_passed + tests_failed))" "$SECONDS"
  [ ${#failures[@]} -eq 0 ] || printf 'failed stages: %s\n' "${failures[*]}"
  printf '%d passed, %d failed\n' "$passed" "$failed"
  [ "$failed" -eq 0 ]
}
