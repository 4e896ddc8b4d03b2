"""`python -m strata --cmake-dir`: prints the folders in which C++ builds find an installed Strata."""
import argparse
import sys

from . import __version__, _sdk


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m strata", description="Prints the folders of an installed Strata.")
    what = parser.add_mutually_exclusive_group(required=True)
    what.add_argument("--cmake-dir", action="store_true", help="the folder for CMAKE_PREFIX_PATH")
    what.add_argument("--pkgconfig-dir", action="store_true", help="the folder for PKG_CONFIG_PATH")
    what.add_argument("--version", action="version", version=__version__)
    chosen = parser.parse_args()
    try:
        print(_sdk.cmake_dir() if chosen.cmake_dir else _sdk.pkgconfig_dir())
    except FileNotFoundError as error:
        print(f"strata: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
