"""Stands in for Conan 2 where there is none: what conanfile.py uses of it does what Conan's documentation says, on Linux."""
import fnmatch
import shutil
import subprocess
from pathlib import Path
from types import ModuleType, SimpleNamespace


class InvalidConfiguration(Exception):
    """Conan: "Invalid configuration"."""


class ConanFile:
    """A recipe; create() below calls its methods."""

    def requires(self, reference):
        self.required.append(reference)


class CppInfo:
    def __init__(self):
        self.builddirs = []
        self.properties = {}

    def set_property(self, name, value):
        self.properties[name] = value


def check_min_cppstd(recipe, least):
    if int(recipe.settings["compiler.cppstd"].removeprefix("gnu")) < least:
        raise InvalidConfiguration(f"cppstd {recipe.settings['compiler.cppstd']} is lower than {least}")


def cmake_layout(recipe):
    recipe.build_folder = recipe.source_folder / "build" / recipe.settings["build_type"]
    recipe.generators_folder = recipe.build_folder / "generators"


class CMakeDeps:
    """What is required is the system's here: there is nothing to write."""

    def __init__(self, recipe):
        pass

    def generate(self):
        pass


class CMakeToolchain:
    def __init__(self, recipe):
        self.recipe = recipe
        self.cache_variables = {}

    def generate(self):
        """The toolchain file; and the cache's variables, which Conan hands over in a preset."""
        folder, standard = self.recipe.generators_folder, self.recipe.settings["compiler.cppstd"].removeprefix("gnu")
        folder.mkdir(parents=True)
        # NOTE: the flags of any other Release build of the tree, which have compiled nearly all of it before.
        (folder / "conan_toolchain.cmake").write_text(
            f"set(CMAKE_CXX_STANDARD {standard})\nset(CMAKE_INSTALL_LIBDIR lib)\nset(CMAKE_INSTALL_BINDIR bin)\n")
        said = {name: "ON" if value is True else "OFF" if value is False else value
                for name, value in self.cache_variables.items()}
        (folder / "cache.cmake").write_text(
            "".join(f'set({name} "{value}" CACHE STRING "")\n' for name, value in said.items()))


class CMake:
    def __init__(self, recipe):
        self.recipe = recipe

    def configure(self):
        recipe = self.recipe
        run("cmake", "-S", recipe.source_folder, "-B", recipe.build_folder, "-C", recipe.generators_folder / "cache.cmake",
            f"-DCMAKE_TOOLCHAIN_FILE={recipe.generators_folder}/conan_toolchain.cmake",
            f"-DCMAKE_INSTALL_PREFIX={recipe.package_folder}", f"-DCMAKE_BUILD_TYPE={recipe.settings['build_type']}")

    def build(self):
        run("cmake", "--build", self.recipe.build_folder)

    def install(self):
        run("cmake", "--install", self.recipe.build_folder, "--prefix", self.recipe.package_folder)


def run(*command):
    subprocess.run([str(part) for part in command], check=True)


def modules():
    """What `import conan` and its parts are."""
    inner = {"conan": [ConanFile], "conan.tools": [], "conan.tools.build": [check_min_cppstd],
             "conan.tools.cmake": [CMake, CMakeDeps, CMakeToolchain, cmake_layout]}
    made = {name: ModuleType(name) for name in inner}
    for name, words in inner.items():
        for word in words:
            setattr(made[name], word.__name__, word)
    return made


def exported(recipe_class, checkout, folder):
    """A recipe, and of the checkout what it exports."""
    patterns = recipe_class.exports_sources
    files = subprocess.run(["git", "ls-files", "-co", "--exclude-standard"], cwd=checkout, check=True, text=True,
                           stdout=subprocess.PIPE).stdout.splitlines()
    for pattern in patterns:
        assert fnmatch.filter(files, pattern), f"{pattern}: nothing is exported"
    for file in files:
        if any(fnmatch.fnmatch(file, pattern) for pattern in patterns) and (checkout / file).exists():
            (folder / file).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(checkout / file, folder / file)
    recipe = recipe_class()
    recipe.recipe_folder = checkout
    recipe.set_version()
    return recipe


def create(recipe_class, checkout, work, cppstd, **options):
    """`conan create CHECKOUT -s compiler.cppstd=CPPSTD -o ...`: the recipe after its last method; its package is in WORK."""
    for name, value in options.items():
        assert value in recipe_class.options[name], (name, value)
    source = Path(work) / "source"
    recipe = exported(recipe_class, checkout, source)
    assert set(recipe_class.settings) == {"os", "arch", "compiler", "build_type"}
    recipe.settings = {"os": "Linux", "build_type": "Release", "compiler": "gcc", "compiler.cppstd": cppstd}
    recipe.options = SimpleNamespace(**{**recipe_class.default_options, **options})
    recipe.required = []
    recipe.requirements()
    recipe.validate()
    recipe.source_folder = source
    recipe.package_folder = Path(work) / "package"
    recipe.layout()
    recipe.generate()
    recipe.build()
    recipe.package()
    recipe.cpp_info = CppInfo()
    recipe.package_info()
    return recipe
