"""Systems, determinants and factors of matrices beside NumPy's and PyTorch's; how elements lie."""
import numpy as np
import pytest
import strata

RANDOM = np.random.default_rng(3)
A = RANDOM.normal(size=(2, 5, 5))
TALL = RANDOM.normal(size=(6, 3))
B = RANDOM.normal(size=(2, 5, 2))
S = A @ A.transpose(0, 2, 1) + np.eye(5)

# f(linear algebra of the library, tensors), inputs
CASES = {
    "det": (lambda L, a: L.det(a), A),
    "slogdet": (lambda L, a: L.slogdet(a)[1] * L.slogdet(a)[0], A),
    "inv": (lambda L, a: L.inv(a), A),
    "solve": (lambda L, a, b: L.solve(a, b), A, B),
    "solve of a vector": (lambda L, a, b: L.solve(a, b), A[0], B[0, :, 0]),
    "solve_triangular": (lambda L, a, b: L.solve_triangular(a, b, upper=False), A + 4 * np.eye(5), B),
    "upper": (lambda L, a, b: L.solve_triangular(a, b, upper=True, unitriangular=True), A, B),
    "cholesky": (lambda L, a: L.cholesky(a @ a.transpose(-2, -1)), A + 2 * np.eye(5)),
    "qr": (lambda L, a: L.qr(a)[0] * 2 + L.qr(a)[1], A),
    "tall qr": (lambda L, a: L.qr(a)[0] @ L.qr(a)[1].exp(), TALL),
    "lu": (lambda L, a: L.lu(a)[1] * 2 + L.lu(a)[2], A),
    "matrix_exp": (lambda L, a: L.matrix_exp(a), A),
    "cross": (lambda L, a: L.cross(a, a[0:1] + 1), TALL),
}


@pytest.mark.parametrize("name", CASES)
def test_as_pytorch(name):
    torch = pytest.importorskip("torch", reason="PyTorch is not installed (Debian: python3-torch)")
    f, *inputs = CASES[name]
    found = []
    for library in (torch, strata):
        tensors = [library.tensor(x) for x in inputs]
        for t in tensors:
            t.requires_grad = True
        y = f(library.linalg, *tensors)
        assert str(y.dtype).split(".")[-1] == "float64"
        (y * library.tensor(np.arange(y.numel()).reshape(tuple(y.shape)) % 7 + 0.5)).sum().backward()
        found.append([y.detach().numpy()] + [t.grad.numpy() for t in tensors])
    for ours, theirs in zip(found[1], found[0]):
        np.testing.assert_allclose(ours, theirs, rtol=1e-7, atol=1e-8)


def test_as_numpy():
    a, s = strata.tensor(A), strata.tensor(S)
    np.testing.assert_allclose(a.det().numpy(), np.linalg.det(A), rtol=1e-10)
    np.testing.assert_allclose(a.inverse().numpy(), np.linalg.inv(A), rtol=1e-8)
    np.testing.assert_allclose(s.cholesky().numpy(), np.linalg.cholesky(S), rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(s.logdet().numpy(), np.linalg.slogdet(S)[1], rtol=1e-10)
    q, r = strata.tensor(TALL).qr("complete")
    assert q.shape == (6, 6) and r.shape == (6, 3)
    np.testing.assert_allclose((q @ r).numpy(), TALL, atol=1e-12)
    p, l, u = strata.linalg.lu(a)
    np.testing.assert_allclose((p @ l @ u).numpy(), A, atol=1e-12)
    single = strata.tensor(A.astype("float32"))
    np.testing.assert_allclose((single @ single.inverse()).numpy(), np.broadcast_to(np.eye(5), (2, 5, 5)), atol=1e-3)
    assert single.inverse().dtype == strata.float32
    with pytest.raises(strata.Error, match="not square"):
        strata.tensor(TALL).det()


def test_how_elements_lie():
    x = strata.zeros(2, 3, 4)
    assert x.stride() == (12, 4, 1) and x.stride(-1) == 1 and x.T.stride() == (6, 2, 1) and strata.tensor(1.0).stride() == ()
    assert x.T.is_contiguous() and x.storage_offset() == 0
    y = strata.ones(2, dtype="float64").new_tensor([1, 2], requires_grad=True)
    assert y.dtype == strata.float64 and y.requires_grad and y.tolist() == [1, 2]
    assert x.new_tensor([1, 2], dtype=strata.int32).dtype == strata.int32
    put = strata.zeros(3, 3).as_strided_scatter(strata.tensor([1.0, 2.0, 3.0]), (3,), (4,))
    assert put.tolist() == [[1, 0, 0], [0, 2, 0], [0, 0, 3]]
    m = [strata.tensor(RANDOM.normal(size=s)) for s in ((2, 3), (3, 4), (4, 1))]
    np.testing.assert_allclose(strata.chain_matmul(*m).numpy(), (m[0] @ m[1] @ m[2]).numpy())
    assert strata.bool == strata.bool_ and strata.zeros(1, dtype=strata.bool).tolist() == [False]


@pytest.mark.parametrize("order", [None, "fro", 1, -1, np.inf, -np.inf])
def test_norms_are_numpys(order):
    a = np.random.default_rng(2).standard_normal((3, 4)).astype(np.float32)
    b = np.random.default_rng(3).standard_normal((2, 3, 4)).astype(np.float32)
    for given, options in ((a, {}), (b, {"axis": (1, 2)}), (b, {"axis": (2, 0)}), (b, {"axis": (0, 2), "keepdims": True})):
        ours = {"dim": options["axis"], "keepdim": "keepdims" in options} if options else {}
        np.testing.assert_allclose(strata.linalg.norm(strata.Tensor(given), order, **ours).numpy(), np.linalg.norm(given, order, **options), rtol=1e-5)
    if order != "fro":
        np.testing.assert_allclose(strata.linalg.norm(strata.Tensor(a[0]), order).numpy(), np.linalg.norm(a[0], order), rtol=1e-5)
        np.testing.assert_allclose(strata.linalg.norm(strata.Tensor(b), order, dim=1).numpy(), np.linalg.norm(b, order, axis=1), rtol=1e-5)


def test_norms_that_are_not_here():
    with pytest.raises(strata.DomainError, match=r'there is no norm "nuc"'):
        strata.linalg.norm(strata.ones(2, 2), "nuc")
    with pytest.raises(strata.DomainError, match=r'there is no norm "2"'):
        strata.linalg.matrix_norm(strata.ones(2, 2), 2)
    with pytest.raises(strata.ShapeError, match="of 3 dimensions"):
        strata.linalg.norm(strata.ones(2, 2, 2), 1)
