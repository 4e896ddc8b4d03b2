"""Conan 2: `conan create .` builds and packages Strata from this checkout."""
import re
from pathlib import Path

from conan import ConanFile
from conan.tools.build import check_min_cppstd
from conan.tools.cmake import CMake, CMakeDeps, CMakeToolchain, cmake_layout


class StrataConan(ConanFile):
    name = "strata"
    license = "MIT"
    description = "Exact symbolic index algebra and tensor compiler"
    topics = ("tensor", "compiler", "autograd", "layout", "symbolic")
    package_type = "static-library"
    settings = "os", "arch", "compiler", "build_type"
    options = {"tbb": [True, False], "zlib": [True, False], "onnx": [True, False]}
    default_options = {"tbb": True, "zlib": True, "onnx": True}
    exports_sources = "CMakeLists.txt", "LICENSE", "cmake/*", "strata/*", "tools/*", "viz/strata.html.gz"

    def set_version(self):
        text = Path(self.recipe_folder, "strata/base/version.h").read_text(encoding="utf-8")
        self.version = re.search(r'STRATA_VERSION "(.*)"', text)[1]

    def requirements(self):
        if self.options.tbb:
            self.requires("onetbb/[>=2021.8]")
        if self.options.zlib:
            self.requires("zlib/[>=1.2.11 <2]")
        if self.options.onnx:
            self.requires("protozero/[>=1.7 <2]")

    def validate(self):
        check_min_cppstd(self, 20)

    def layout(self):
        cmake_layout(self)

    def generate(self):
        CMakeDeps(self).generate()
        toolchain = CMakeToolchain(self)
        # What is not asked for is not looked for; LLVM, OpenCL and cpp-httplib are the system's, and no packages of Conan's.
        wanted_packages = {"TBB": self.options.tbb, "ZLIB": self.options.zlib, "protozero": self.options.onnx, "LLVM": False,
                           "OpenCL": False, "httplib": False, "PkgConfig": False}
        for name, wanted in wanted_packages.items():
            toolchain.cache_variables[f"CMAKE_DISABLE_FIND_PACKAGE_{name}"] = not wanted
        toolchain.cache_variables["STRATA_PYTHON"] = False
        toolchain.generate()

    def build(self):
        cmake = CMake(self)
        cmake.configure()
        cmake.build()

    def package(self):
        CMake(self).install()

    def package_info(self):
        # The package of CMake that is installed says it all: the floors, what they link, in which order.
        self.cpp_info.set_property("cmake_find_mode", "none")
        self.cpp_info.builddirs = ["lib/cmake/strata"]
