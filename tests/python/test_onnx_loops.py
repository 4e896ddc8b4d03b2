"""Loop and Scan as one node: the values are those of the same body step by step, and those of NumPy."""
import time

import numpy as np
import pytest

import strata
from onnx_writer import Graph, node, port, write

# The bodies of the random test: operators with their meaning in NumPy. `s` and `t` are states, `e` an element of a sequence, `c` is
# captured from outside.
STEPS = {
    "Add": lambda a, b: a + b, "Sub": lambda a, b: a - b, "Mul": lambda a, b: a * b, "Max": np.maximum, "Min": np.minimum,
}
UNARY = {"Tanh": np.tanh, "Sigmoid": lambda a: 1 / (1 + np.exp(-a)), "Neg": lambda a: -a, "Relu": lambda a: np.maximum(a, 0), "Abs": np.abs}


def on_host(nodes, value):
    """The nodes, and one whose result nobody reads, but whose shape follows from elements: the steps run on the host."""
    return [*nodes, node("NonZero", value, "places")]


def run(tmp_path, graph, opset=17, **inputs):
    out = strata.onnx.load(write(tmp_path / "m.onnx", graph, opset))(inputs)
    return [y.numpy() for y in (out.values() if isinstance(out, dict) else [out])]


def close(got, expected):
    assert len(got) == len(expected)
    for a, b in zip(got, expected):
        b = np.asarray(b)
        assert a.shape == b.shape and a.dtype == b.dtype, (a.shape, b.shape, a.dtype, b.dtype)
        np.testing.assert_allclose(a, b, rtol=1e-5, atol=1e-5)


def random_body(rng, values, count):
    """Nodes that compute values v0, v1, ... of those that are there, and the function that does the same to a dict of arrays."""
    nodes, steps, known = [], [], list(values)
    for k in range(count):
        if rng.random() < 0.6:
            op, a, b = str(rng.choice(list(STEPS))), str(rng.choice(known)), str(rng.choice(known))
            nodes.append(node(op, f"{a} {b}", f"v{k}"))
            steps.append((f"v{k}", STEPS[op], (a, b)))
        else:
            op, a = str(rng.choice(list(UNARY))), str(rng.choice(known))
            nodes.append(node(op, a, f"v{k}"))
            steps.append((f"v{k}", UNARY[op], (a,)))
        known.append(f"v{k}")
    # States stay small: what becomes a state goes through Tanh.
    picked = [str(rng.choice(known)) for _ in range(3)]
    nodes += [node("Tanh", picked[0], "s2"), node("Tanh", picked[1], "t2"), node("Add", f"{picked[2]} e", "y")]

    def of(scope):
        for name, f, names in steps:
            scope[name] = f(*(scope[n] for n in names)).astype(np.float32)
        return np.tanh(scope[picked[0]]), np.tanh(scope[picked[1]]), scope[picked[2]] + scope["e"]
    return nodes, of


@pytest.mark.parametrize("seed", range(12))
def test_random_scans(tmp_path, seed):
    rng = np.random.default_rng(seed)
    shape, steps = tuple(int(n) for n in rng.integers(1, 4, rng.integers(0, 3))), int(rng.integers(1, 9))
    axis, out_axis = int(rng.integers(-len(shape) - 1, len(shape) + 1)), int(rng.integers(-len(shape) - 1, len(shape) + 1))
    back, out_back = int(rng.integers(2)), int(rng.integers(2))
    nodes, of = random_body(rng, ["s", "t", "e", "c"], int(rng.integers(1, 7)))
    xs = rng.standard_normal((steps, *shape)).astype(np.float32)
    s, t, c = (rng.standard_normal(shape).astype(np.float32) for _ in range(3))
    given = {"s0": s, "t0": t, "xs": np.ascontiguousarray(np.moveaxis(xs, 0, axis)), "c": c}

    def graph(nodes):
        body = Graph(nodes, [port(n, shape=shape) for n in "ste"], [port(n, shape=shape) for n in ("s2", "t2", "y")])
        scan = node("Scan", "s0 t0 xs", "s1 t1 ys", body=body, num_scan_inputs=1, scan_input_axes=[axis], scan_input_directions=[back],
                    scan_output_axes=[out_axis], scan_output_directions=[out_back])
        return Graph([scan], [port(n) for n in ("s0", "t0", "xs", "c")], [port(n) for n in ("s1", "t1", "ys")])

    ys = []
    for e in xs[::-1] if back else xs:
        s, t, y = of({"s": s, "t": t, "e": e, "c": c})
        ys.append(y)
    expected = [s, t, np.moveaxis(np.stack(ys[::-1] if out_back else ys), 0, out_axis)]
    close(run(tmp_path, graph(nodes), **given), expected)
    close(run(tmp_path, graph(on_host(nodes, "s")), **given), expected)


@pytest.mark.parametrize("seed", range(16))
def test_random_loops(tmp_path, seed):
    """A count, a condition that data decide, both or neither true at first; what is collected as well."""
    rng = np.random.default_rng(100 + seed)
    shape, count = tuple(int(n) for n in rng.integers(1, 4, rng.integers(0, 3))), int(rng.integers(0, 9))
    by_data, begins, collects = bool(rng.integers(2)), rng.random() < 0.8, bool(rng.integers(2))
    nodes, of = random_body(rng, ["s", "t", "e", "c"], int(rng.integers(1, 7)))
    s, t, c = (rng.standard_normal(shape).astype(np.float32) for _ in range(3))
    # e is the number of the step, as a float of the shape.
    front = [node("Cast", "i", "i0", to=1), node("Expand", "i0 shape", "e")]
    limit = np.float32(rng.uniform(-1, 3))
    if by_data:
        behind = [node("ReduceSum", "s2", "sum", keepdims=0), node("Less", "sum limit", "goes")]
    else:
        behind = [node("Identity", "go", "goes")]
    constants = {"shape": np.array(shape, np.int64), "limit": limit}

    def graph(nodes):
        outputs = ["goes", "s2", "t2", *(["y"] if collects else [])]
        body = Graph(nodes, [port("i", "int64", []), port("go", "bool", []), port("s"), port("t")],
                     [port("goes", "bool", []), *(port(n, shape=shape) for n in outputs[1:])])
        results = "s1 t1 ys" if collects else "s1 t1"
        return Graph([node("Loop", "n begin s0 t0", results, body=body)],
                     [port("n", "int64", []), port("begin", "bool", []), *(port(n) for n in ("s0", "t0", "c"))],
                     [port(n) for n in results.split()], constants)

    given = {"n": np.array(count), "begin": np.array(begins), "s0": s, "t0": t, "c": c}
    ys, goes, k = [], begins, 0
    while goes and k < count:
        s, t, y = of({"s": s, "t": t, "c": c, "e": np.full(shape, k, np.float32)})
        ys.append(y)
        goes, k = bool(s.sum() < limit) if by_data else True, k + 1
    expected = [s, t, np.stack(ys) if ys else np.zeros((0, *shape), np.float32)][:3 if collects else 2]
    close(run(tmp_path, graph([*front, *nodes, *behind]), **given), expected)
    close(run(tmp_path, graph(on_host([*front, *nodes, *behind], "s")), **given), expected)


def counting(by_data, count):
    """x = 0.5 * x + 1, and how often."""
    test = [node("Less", "i limit", "goes")] if by_data else [node("Identity", "go", "goes")]
    body = Graph([node("Mul", "x half", "y"), node("Add", "y one", "x2"), node("Add", "k one64", "k2"), *test],
                 [port("i", "int64", []), port("go", "bool", []), port("x"), port("k", "int64", [])],
                 [port("goes", "bool", []), port("x2"), port("k2", "int64", [])])
    return Graph([node("Loop", "n _ x0 k0", "x1 k1", body=body)], [port("x0", shape=[2])], [port("x1"), port("k1", "int64")],
                 {"n": np.array(count), "limit": np.array(99_999), "half": np.float32(0.5), "one": np.float32(1), "one64": np.array(1),
                  "k0": np.array(0)})


@pytest.mark.parametrize("by_data, count", [(False, 100_000), (True, 200_000), (True, 2**63 - 1)])
def test_a_long_loop_is_fast(tmp_path, by_data, count):
    """A hundred thousand steps of some 20 ns; on the host each takes some 50 us. The counts of PyTorch's loops are the largest integer."""
    model = strata.onnx.load(write(tmp_path / "m.onnx", counting(by_data, count)))
    begin = time.perf_counter()
    out = model(np.array([1, 5], np.float32))
    assert out["k1"].item() == 100_000 and out["x1"].tolist() == [2, 2]
    assert time.perf_counter() - begin < 2.5


def test_a_loop_without_an_end_is_refused(tmp_path):
    """Neither way may pass the limit unnoticed."""
    body = Graph([node("Add", "x one", "x2"), node("Less", "x2 x2", "no"), node("Not", "no", "goes")],
                 [port("i", "int64", []), port("go", "bool", []), port("x")], [port("goes", "bool", []), port("x2")])
    graph = Graph([node("Loop", "_ _ x0", "x1", body=body)], [port("x0", shape=[])], [port("x1")], {"one": np.float32(1)})
    with pytest.raises(strata.BudgetError, match=r"\(Loop\).*condition is still true.*most_steps"):
        strata.onnx.load(write(tmp_path / "m.onnx", graph))(np.float32(0))


# --- what stays on the host, and what is refused ---

def loop(nodes, outputs, states="s", count=3, constants=None, opset=17):
    """A loop over `nodes`, with the states and what is collected."""
    names = states.split()
    body = Graph([*nodes, node("Identity", "go", "goes")], [port("i", "int64", []), port("go", "bool", []), *(port(n) for n in names)],
                 [port("goes", "bool", []), *(port(n) for n in outputs.split())])
    results = " ".join(f"out{k}" for k in range(len(outputs.split())))
    return Graph([node("Loop", "n _ " + " ".join(n + "0" for n in names), results, body=body)], [port(n + "0") for n in names],
                 [port(n) for n in results.split()], {"n": np.array(count), **(constants or {})})


ONE = np.ones((1,), np.float32)
BODIES = {
    "a state that grows": (loop([node("Concat", "s s", "s2", axis=0)], "s2"), [np.ones(8)]),
    "a shape by an element": (loop([node("Unsqueeze", "i axis", "n1"), node("Expand", "s n1", "big"), node("ReduceSum", "big", "s2", keepdims=1)],
                                   "s2", constants={"axis": np.array([0])}), [np.zeros(1)]),
    "a branch": (loop([node("Less", "i one", "first"), node("If", "first", "s2", then_branch=Graph([node("Add", "s s", "a")], [], [port("a")]),
                                                            else_branch=Graph([node("Neg", "s", "b")], [], [port("b")]))],
                      "s2", constants={"one": np.array(1)}), [np.full(1, 2)]),
    "a shape that is known": (loop([node("Shape", "s", "n1"), node("Reshape", "s n1", "r"), node("Add", "r r", "s2")], "s2"), [np.full(1, 8)]),
    "no step": (loop([node("Reshape", "s three", "s2")], "s2", count=0, constants={"three": np.array([3])}), [np.ones(1)]),
    "a sequence inside of a step": (loop([node("SequenceConstruct", "s s", "list"), node("ConcatFromSequence", "list", "both", axis=0),
                                          node("ReduceSum", "both", "s2", keepdims=1)], "s2"), [np.full(1, 8)]),
    "a loop inside of a step": (loop([node("Loop", "inner _ s", "s2", body=Graph(
        [node("Add", "u s", "u2"), node("Identity", "go2", "goes2")], [port("j", "int64", []), port("go2", "bool", []), port("u")],
        [port("goes2", "bool", []), port("u2")]))], "s2", constants={"inner": np.array(2)}), [np.full(1, 27)]),
    "a loop of as many steps as the number of the outer one": (loop([node("Loop", "i _ s", "s2", body=Graph(
        [node("Add", "u s", "u2"), node("Identity", "go2", "goes2")], [port("j", "int64", []), port("go2", "bool", []), port("u")],
        [port("goes2", "bool", []), port("u2")]))], "s2"), [np.full(1, 6)]),
    "collected constants": (loop([node("Identity", "s", "s2"), node("Identity", "five", "c")], "s2 c", constants={"five": np.float32(5)}),
                            [np.ones(1), np.full(3, 5)]),
    "another dtype behind a step": (loop([node("Cast", "s", "s2", to=11)], "s2"), [np.ones(1, np.float64)]),
}


@pytest.mark.parametrize("name", BODIES)
@pytest.mark.parametrize("device", ["LLVM", "INTERP"])
def test_bodies(tmp_path, name, device):
    graph, expected = BODIES[name]
    out = strata.onnx.load(write(tmp_path / "m.onnx", graph), device=device)(ONE)
    got = [y.numpy() for y in (out.values() if isinstance(out, dict) else [out])]
    close(got, [e if e.dtype == np.float64 and name.startswith("another") else e.astype(np.float32) for e in expected])


def test_a_mistake_in_a_step_names_the_node(tmp_path):
    graph = loop([node("Add", "s two", "s2", name="wrong")], "s2", constants={"two": np.ones((2, 3), np.float32)})
    with pytest.raises(strata.ShapeError, match='node "wrong"'):
        strata.onnx.load(write(tmp_path / "m.onnx", graph))(np.ones(4, np.float32))


def test_random_numbers_are_new_in_each_step(tmp_path):
    graph = loop([node("RandomNormalLike", "s", "s2")], "s2 s2", count=4)
    out = strata.onnx.load(write(tmp_path / "m.onnx", graph))(np.zeros(3, np.float32))
    assert len(np.unique(out["out1"].numpy())) == 12


def test_gradients_flow_through_a_scan(tmp_path):
    """y[t] = tanh(w * y[t - 1] + x[t]): the gradient by w is that of the loop written in Strata."""
    body = Graph([node("MatMul", "s w", "p"), node("Add", "p e", "q"), node("Tanh", "q", "s2"), node("Identity", "s2", "y")],
                 [port("s"), port("e")], [port("s2"), port("y")])
    graph = Graph([node("Scan", "s0 xs", "s1 ys", body=body, num_scan_inputs=1)], [port("s0"), port("xs")], [port("s1"), port("ys")],
                  {"w": np.random.default_rng(1).standard_normal((3, 3)).astype(np.float32)})
    model = strata.onnx.load(write(tmp_path / "m.onnx", graph)).train()
    rng = np.random.default_rng(0)
    s, xs = rng.standard_normal((2, 3)).astype(np.float32), rng.standard_normal((6, 2, 3)).astype(np.float32)
    w = strata.Tensor(dict(model.named_parameters())["w"].numpy(), requires_grad=True)
    (model(s, xs)["ys"] ** 2).sum().backward()
    state, total = strata.Tensor(s), 0
    for x in xs:
        state = (state @ w + strata.Tensor(x)).tanh()
        total = total + (state ** 2).sum()
    total.backward()
    np.testing.assert_allclose(dict(model.named_parameters())["w"].grad.numpy(), w.grad.numpy(), rtol=1e-4, atol=1e-5)


def test_scan_8_has_a_batch(tmp_path):
    body = Graph([node("Add", "s e", "s2"), node("Identity", "s2", "y")], [port("s"), port("e")], [port("s2"), port("y")])
    graph = Graph([node("Scan", "_ s0 xs", "s1 ys", body=body, num_scan_inputs=1, directions=[1])], [port("s0"), port("xs")],
                  [port("s1"), port("ys")])
    xs = np.arange(12, dtype=np.float32).reshape(2, 3, 2)
    back = np.cumsum(xs[:, ::-1], 1)
    close(run(tmp_path, graph, 8, s0=np.zeros((2, 2), np.float32), xs=xs), [back[:, -1], back])
