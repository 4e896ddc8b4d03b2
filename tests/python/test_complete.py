"""Whatever the headers of C++ declare is there in Python under the same name."""
import re
from pathlib import Path

import strata

ROOT = Path(__file__).resolve().parents[2] / "strata" / "tensor"
SEVERAL = r"std::pair<Tensor, Tensor>|std::vector<Tensor>|std::optional<Tensor>"
RESULT = rf"(?:Tensor|{SEVERAL}|bool|Unique|Scalar|std::string|std::int64_t|const Tensor&)"

# What Python says in another way.
OTHERWISE = set("""from from_buffer from_blob from_elements number scalar repr set_grad to_float index index_put operator
tell_read count name""".split())


def declared(name, pattern):
    return set(re.findall(pattern, (ROOT / name).read_text(), re.MULTILINE)) - OTHERWISE


def test_methods():
    names = declared("tensor.h", rf"^  (?:static )?{RESULT} (\w+)\(")
    for table in ("unary.def", "binary.def", "aliases.def"):
        names |= declared(table, r"^STRATA_\w+\((\w+)")
    assert len(names) > 250
    missing = [n for n in sorted(names) if not hasattr(strata.Tensor, n) and not hasattr(strata, n)]
    assert not missing


def test_functions():
    names = set()
    for header in ("functional.h", "random.h"):
        names |= declared(header, rf"^{RESULT} (\w+)\(")
    here = set(dir(strata))
    missing = [n for n in sorted(names) if not {n, re.sub("_with_indices$", "", n)} & here]
    assert len(names) > 90 and not missing


METHODS_ALONE = set("""numpy tolist view_as reshape_as expand_as to cpu dim ndimension assign backward unfold sum_to_size type
type_as float double half bfloat16 int long short char byte bool new_zeros new_ones new_empty new_full
new_tensor stride is_contiguous storage_offset viz""".split())


def test_methods_are_functions():
    for name, value in vars(strata.Tensor).items():
        if type(value).__name__ == "method" and not name.startswith("_") and not name.endswith("_"):
            assert hasattr(strata, name) or name in METHODS_ALONE, name
