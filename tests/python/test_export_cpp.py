"""export_c(cpp=True): the class for C++20, compiled by g++ and clang++ with all warnings as errors, with exceptions and without, and with
libc++, which has mdspan; its programs print the results of this process."""
import re
import shutil
import subprocess

import numpy as np
import pytest

import strata
from exported import GCC, call_twice, deterministic, make_mlp, make_symbolic, run
from strata import Tensor

GXX, CLANGXX = shutil.which("g++"), shutil.which("clang++-19")
WARNINGS = ["-Wall", "-Wextra", "-Wpedantic", "-Wconversion", "-Wshadow", "-Werror", "-ffp-contract=off"]
COMPILERS = {
    "gcc": [GXX, "-std=c++20", "-O1"],
    "gcc-no-exceptions": [GXX, "-std=c++20", "-O1", "-fno-exceptions", "-fno-rtti"],
    "clang": [CLANGXX, "-std=c++20"],
    "clang-no-exceptions": [CLANGXX, "-std=c++20", "-fno-exceptions", "-fno-rtti"],
    "libcxx": [CLANGXX, "-std=c++23", "-stdlib=libc++"],
}

pytestmark = pytest.mark.skipif(not (GCC and GXX and CLANGXX), reason="gcc, g++ or clang++-19 is not here")


@pytest.fixture(params=COMPILERS, name="program")
def program_of(request, tmp_path):
    """program(path, main): the lines that main prints, with the model at path."""
    def program(path, main):
        text = f'#include "{path.name}.hpp"\n\n#include <cstdio>\n#include <cstring>\n{main}'
        (tmp_path / "main.cpp").write_text(text)
        run(GCC, "-std=c11", "-O1", "-c", f"{path}.c", "-o", f"{path}.o")
        run(*COMPILERS[request.param], *WARNINGS, tmp_path / "main.cpp", f"{path}.o", "-o", tmp_path / "main")
        return run(tmp_path / "main", cwd=tmp_path).splitlines()
    program.has_exceptions, program.has_mdspan = "no-exceptions" not in request.param, request.param == "libcxx"
    return program


def literals(a):
    return ", ".join(float(v).hex() + "F" for v in a.numpy().ravel())


def hex_of(a):
    return [float(v).hex() for v in a.numpy().ravel()]


def floats(lines):
    return [float.fromhex(line).hex() for line in lines]


PRINTS = 'for (const float v : {}) std::printf("%a\\n", double{{v}});\n'


def test_static_sizes(program, tmp_path):
    """Spans have their lengths in their types; memory is allocated, or the caller's; names of arguments are in no way of those of the class."""
    mlp, x, y = make_mlp(np.random.default_rng(1))
    mlp.export_c(tmp_path / "mlp", cpp=True, inputs=["mlp_memory"], outputs=["std"])
    lines = program(tmp_path / "mlp", f"""
static mlp_storage memory;
int main() {{
  const float x[] = {{{literals(x)}}};
  float y[MLP_STD_ELEMENTS] = {{}}, again[MLP_STD_ELEMENTS] = {{}};
  mlp_model model, placed(memory);
  static_assert(noexcept(model.try_run(x, y)));
  if (model.try_run(x, y) != MLP_OK || placed.try_run(x, again) != MLP_OK) return 1;
  if (std::memcmp(y, again, sizeof y) != 0) return 2;
  mlp_model moved = std::move(model);
  if (moved.try_run(x, y) != MLP_OK) return 3;
  if (model.try_run(x, y) != MLP_NULL_POINTER) return 4;
  model = std::move(moved);
  if (model.try_run(x, y) != MLP_OK || moved.try_run(x, y) != MLP_NULL_POINTER) return 5;
#ifdef __cpp_exceptions
  model.run(x, y);
  try {{
    moved.run(x, y);
    return 6;
  }} catch (const mlp_error& error) {{
    if (error.status() != MLP_NULL_POINTER) return 7;
    std::printf("%s\\n", error.what());
  }}
#endif
#ifdef __cpp_lib_mdspan
  const auto rows = mlp_model::view_std(y);
  static_assert(decltype(rows)::static_extent(0) == 4 && decltype(rows)::static_extent(1) == 10);
  if (rows[3, 2] != y[32]) return 8;
  std::printf("mdspan\\n");
#endif
  {PRINTS.format("y")}
}}
""")
    assert lines[:-40] == ["an argument is null"] * program.has_exceptions + ["mdspan"] * program.has_mdspan
    assert floats(lines[-40:]) == hex_of(y)


@pytest.mark.parametrize("program", ["gcc"], indirect=True)
def test_a_span_of_another_length_is_no_argument(program, tmp_path):
    mlp, _, _ = make_mlp(np.random.default_rng(1))
    mlp.export_c(tmp_path / "mlp", cpp=True)
    main = "int main() {{ const float x[{}] = {{}}; float y[40]; return mlp_model().try_run(x, y) == MLP_OK ? 0 : 1; }}\n"
    program(tmp_path / "mlp", main.format(256))
    with pytest.raises(AssertionError, match="try_run"):
        program(tmp_path / "mlp", main.format(255))


def test_symbolic_sizes(program, tmp_path):
    """Each span is compared with the sizes before anything runs."""
    symbolic, rows = make_symbolic(np.random.default_rng(2))
    symbolic.export_c(tmp_path / "symbolic", cpp=True, outputs=["y", "total"])
    want, total = symbolic(rows(3))
    lines = program(tmp_path / "symbolic", f"""
int main() {{
  const float x[] = {{{literals(rows(3))}}};
  float y[12] = {{}}, total[16] = {{}};
  symbolic_model model;
  const std::span<const float> xs(x);
  const std::span<float> ys(y);
  if (model.try_run(xs, ys, total, 0) != SYMBOLIC_SIZE_OUT_OF_BOUNDS || model.try_run(xs, ys, total, 65) != SYMBOLIC_SIZE_OUT_OF_BOUNDS) return 1;
  if (model.try_run(xs, ys, total, 2) != SYMBOLIC_SIZE_OUT_OF_BOUNDS) return 2;
  if (model.try_run(xs.first(47), ys, total, 3) != SYMBOLIC_SIZE_OUT_OF_BOUNDS) return 3;
  if (model.try_run(xs, ys.first(11), total, 3) != SYMBOLIC_SIZE_OUT_OF_BOUNDS) return 4;
  if (model.try_run(xs, ys, total, INT64_MIN) != SYMBOLIC_SIZE_OUT_OF_BOUNDS) return 5;
  if (model.try_run({{}}, {{}}, total, 3) != SYMBOLIC_SIZE_OUT_OF_BOUNDS) return 6;
  if (model.try_run(xs, ys, total, 3) != SYMBOLIC_OK) return 7;
#ifdef __cpp_lib_mdspan
  const auto view = symbolic_model::view_y(ys, 3);
  static_assert(decltype(view)::rank_dynamic() == 1);
  if (view.extent(0) != 3 || view.extent(1) != 4 || view[2, 1] != y[9]) return 8;
#endif
  {PRINTS.format("y")}{PRINTS.format("total")}
}}
""")
    assert floats(lines) == hex_of(want) + hex_of(total)


@pytest.mark.parametrize("program", ["gcc", "clang"], indirect=True)
def test_state(program, tmp_path):
    level = Tensor(np.array([1, 2], "f4"))

    @strata.jit
    def smooth(x):
        level.assign(level * 0.5 + x * 0.5)
        return level * 1

    x = Tensor(np.ones(2, "f4"))
    call_twice(smooth, x)
    smooth.export_c(tmp_path / "smooth", cpp=True)
    lines = program(tmp_path / "smooth", f"""
int main() {{
  const float x[2] = {{1, 0}};
  float y[2] = {{}};
  smooth_model model;
  unsigned char kept[SMOOTH_STATE_BYTES];
  std::memcpy(kept, model.state().data(), model.state().size());
  for (int k = 0; k < 2; ++k) if (model.try_run(x, y) != SMOOTH_OK) return 1;
  {PRINTS.format("y")}
  if (model.reset() != SMOOTH_OK || std::memcmp(kept, model.state().data(), sizeof kept) != 0) return 2;
  if (model.try_run(x, y) != SMOOTH_OK) return 3;
  {PRINTS.format("y")}
}}
""")
    start = level.numpy()
    one = start * 0.5 + np.array([0.5, 0], "f4")
    two = one * 0.5 + np.array([0.5, 0], "f4")
    assert [float.fromhex(line) for line in lines] == [*two.tolist(), *one.tolist()]


@pytest.mark.parametrize("program", ["gcc", "clang"], indirect=True)
@pytest.mark.parametrize("weights", ["file", "pointer"])
def test_weights_of_a_blob(program, tmp_path, weights):
    """What is not the blob is refused in each run."""
    mlp, x, y = make_mlp(np.random.default_rng(3))
    mlp.export_c(tmp_path / "mlp", cpp=True, weights=weights)
    lines = program(tmp_path / "mlp", f"""
alignas(MLP_ALIGNMENT) static std::byte blob[MLP_WEIGHTS_BYTES];
int main() {{
  const float x[] = {{{literals(x)}}};
  float y[40] = {{}};
  std::FILE* const file = std::fopen("mlp.bin", "rb");
  if (file == nullptr || std::fread(blob, 1, sizeof blob, file) != sizeof blob || std::fclose(file) != 0) return 1;
  mlp_model model(blob);
  if (model.try_run(x, y) != MLP_OK) return 2;
  if (mlp_model(std::span<const std::byte>(blob).first(MLP_WEIGHTS_BYTES - 1)).try_run(x, y) != MLP_OTHER_WEIGHTS) return 3;
  blob[100] ^= std::byte{{1}};
  mlp_model other(blob);
  if (other.try_run(x, y) != MLP_OTHER_WEIGHTS || other.reset() != MLP_OTHER_WEIGHTS) return 4;
  {PRINTS.format("y")}
}}
""")
    assert floats(lines) == hex_of(y)


@pytest.mark.parametrize("program", ["gcc", "clang"], indirect=True)
def test_dtypes_and_no_elements(program, tmp_path):
    @strata.jit
    def mixed(a, b):
        return a.cast("f16"), a > 0, (b * 3).cast("i64"), a[:0] * 2, a.sum()

    a, b = Tensor(np.array([1, -2, 0.5], "f4")), Tensor(np.array([7, -8], "i4"))
    call_twice(mixed, a, b)
    mixed.export_c(tmp_path / "mixed", cpp=True, outputs=["half", "sign", "wide", "none", "total"])
    lines = program(tmp_path / "mixed", """
int main() {
  const float a[] = {1, -2, 0.5F};
  const std::int32_t b[] = {7, -8};
  std::uint16_t half[3] = {};
  std::uint8_t sign[3] = {};
  std::int64_t wide[2] = {};
  float total[1] = {};
  if (mixed_model().try_run(a, b, half, sign, wide, std::span<float, 0>(), total) != MIXED_OK) return 1;
  std::printf("%x %d%d%d %d %g\\n", unsigned{half[1]}, sign[0], sign[1], sign[2], static_cast<int>(wide[1]), double{total[0]});
}
""")
    assert lines == ["c000 101 -24 -0.5"]


def test_no_header_for_cpp_unless_asked(tmp_path):
    mlp, _, _ = make_mlp(np.random.default_rng(1))
    mlp.export_c(tmp_path / "mlp")
    assert sorted(p.name for p in tmp_path.iterdir()) == ["mlp.c", "mlp.h"]
