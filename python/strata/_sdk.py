"""The C++ part of an installed wheel: headers, static libraries, the CMake package and the program `strata`."""
from pathlib import Path


def _folder(*parts: str) -> str:
    sdk = Path(__file__).resolve().parent / "sdk"
    if not sdk.is_dir():
        raise FileNotFoundError(f"no {sdk}: C++ headers and libraries come with a wheel (pip install), or from cmake --install")
    return str(sdk.joinpath(*parts))


def cmake_dir() -> str:
    """The folder of strata-config.cmake, for CMAKE_PREFIX_PATH or strata_DIR. Raises FileNotFoundError if Strata was not installed."""
    return _folder("lib", "cmake", "strata")


def pkgconfig_dir() -> str:
    """The folder of strata.pc, for PKG_CONFIG_PATH. Raises FileNotFoundError if Strata was not installed."""
    return _folder("lib", "pkgconfig")
