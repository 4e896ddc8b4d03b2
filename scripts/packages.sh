# Sourced by ./run and ./test: brings Debian packages that are missing, and finds versioned tools.

as_root() {
  if [ "$(id -u)" -eq 0 ]; then "$@"; elif command -v sudo > /dev/null; then sudo "$@"; else
    echo "this needs root, and sudo is not there: $*" >&2
    return 1
  fi
}

# install_packages NAME...: asks apt-get for those that are not installed; where there is no apt-get, names them.
# A package that cannot be had is said here, and whatever needs it fails later, by name.
install_packages() {
  local package missing=()
  if ! command -v apt-get > /dev/null; then
    echo "there is no apt-get here; make sure that your system has what these Debian packages hold:"
    echo "  $*"
    return 0
  fi
  for package in "$@"; do
    dpkg-query -W -f '${db:Status-Status}' "$package" 2> /dev/null | grep -qx installed || missing+=("$package")
  done
  [ ${#missing[@]} -eq 0 ] && return 0
  echo "installing: ${missing[*]}"
  export DEBIAN_FRONTEND=noninteractive
  as_root apt-get update -qq
  as_root apt-get install -y -qq --no-install-recommends "${missing[@]}" > /dev/null && return 0
  for package in "${missing[@]}"; do
    as_root apt-get install -y -qq --no-install-recommends "$package" > /dev/null \
      || echo "could not install $package" >&2
  done
}

# tool NAME VERSION: NAME-VERSION, or NAME where it is of that version.
tool() {
  if command -v "$1-$2"; then return; fi
  if "$1" --version 2> /dev/null | grep -q "version $2\."; then command -v "$1"; return; fi
  echo "$1 $2 is not here (Debian package: $1-$2)" >&2
  return 1
}

# configure PRESET [OPTION...]: anew where the folder was made with another generator or compiler.
configure() {
  cmake --preset "$@" > /dev/null || cmake --fresh --preset "$@"
}
