"""Whatever the headers of C++ declare is there in Python under the same name."""
import re
from pathlib import Path

import strata

ROOT = Path(__file__).resolve().parents[2] / "strata"
SEVERAL = r"std::pair<Tensor, Tensor>|std::vector<Tensor>|std::optional<Tensor>"
RESULT = rf"(?:Tensor|{SEVERAL}|bool|Unique|Scalar|std::string|std::int64_t|const Tensor&)"
TABLE = (ROOT / "ops/operations.def").read_text()

# What Python says in another way.
OTHERWISE = set("""from from_buffer from_blob from_elements number scalar repr set_grad to_float index index_put operator
tell_read count name""".split())


def declared(name, pattern):
    return set(re.findall(pattern, (ROOT / name).read_text(), re.MULTILINE)) - OTHERWISE


def rows(kinds):
    """The names of rows of some kinds, further ones among them."""
    names = set()
    for kind, arguments in re.findall(r"^STRATA_(\w+)\((.*)$", TABLE, re.MULTILINE):
        if kind in kinds.split():
            fields = re.sub(r"\((?:[^()]|\([^()]*\))*\)", lambda m: m[0].replace(",", ";"), arguments).split(", ")
            names.add(fields[0 if kind in ("UNARY", "BINARY") else 1])
            names |= set(re.findall(r"\w+", fields[{"UNARY": 3, "BINARY": 3, "METHOD": 5}.get(kind, 4)]))
    return names - OTHERWISE


def test_methods():
    names = declared("tensor/tensor.h", rf"^  (?:static )?{RESULT} (\w+)\(") - {"alias"} | rows("UNARY BINARY METHOD STATIC")
    assert len(names) > 290
    missing = [n for n in sorted(names) if not hasattr(strata.Tensor, n) and not hasattr(strata, n)]
    assert not missing


def test_functions():
    names = declared("tensor/random.h", rf"^{RESULT} (\w+)\(") | rows("FUNCTION FUNCTION_BY_HAND")
    here = set(dir(strata))
    missing = [n for n in sorted(names) if not {n, re.sub("_with_indices$", "", n)} & here]
    assert len(names) > 90 and not missing
    assert not [n for n in rows("LINALG") if not hasattr(strata.linalg, n) and not hasattr(strata, n)]


METHODS_ALONE = set("""numpy tolist view_as reshape_as expand_as to cpu dim ndimension assign backward unfold sum_to_size type
type_as float double half bfloat16 int long short char byte bool new_zeros new_ones new_empty new_full
new_tensor stride is_contiguous storage_offset viz shard local sharding""".split())


def test_methods_are_functions():
    for name, value in vars(strata.Tensor).items():
        if type(value).__name__ == "method" and not name.startswith("_") and not name.endswith("_"):
            assert hasattr(strata, name) or name in METHODS_ALONE, name
