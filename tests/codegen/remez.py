#!/usr/bin/env python3
"""Fits the polynomials of strata/codegen/math_*.cpp: minimax, each coefficient rounded before the next ones are fitted.

    remez.py [name...]      prints degree, error and coefficients of the rows of FITS

A row is f(x) ~ sum of c[i] * x^i with error e(x) = (f(x) - p(x)) * weight(x), smallest on [lo, hi].
"""
import struct
import sys

from mpmath import mp, mpf

mp.dps = 45


def f32(v):
    return mpf(struct.unpack("f", struct.pack("f", float(v)))[0])


def f64(v):
    return mpf(float(v))


def solve_minimax(xs, target, weight, powers):
    """Coefficients of x^powers with the smallest weighted error on the grid: Lawson's reweighted least squares."""
    n = len(powers)
    basis = [[x**p * w for x, w in zip(xs, weight)] for p in powers]
    goal = [t * w for t, w in zip(target, weight)]
    mass = [mpf(1)] * len(xs)
    best, best_worst = None, mpf("inf")
    for _ in range(30):
        heavy = [[m * v for m, v in zip(mass, column)] for column in basis]
        a = mp.matrix(n, n)
        for i in range(n):
            for j in range(i, n):
                a[i, j] = a[j, i] = mp.fdot(heavy[i], basis[j])
        coef = list(mp.lu_solve(a, mp.matrix([mp.fdot(h, goal) for h in heavy])))
        errs = [abs(g - mp.fdot(coef, at)) for g, at in zip(goal, zip(*basis))]
        worst = max(errs)
        if worst < best_worst:
            best, best_worst = coef, worst
        mass = [m * e for m, e in zip(mass, errs)]
        total = sum(mass) / len(mass)
        mass = [m / total + mpf("1e-12") for m in mass]
    return best, best_worst


def fit(f, lo, hi, degree, rounding, weight=lambda x: mpf(1)):
    grid = 12 * (degree + 2)
    mid, half = (mpf(lo) + mpf(hi)) / 2, (mpf(hi) - mpf(lo)) / 2
    xs = [mid - half * mp.cos(mp.pi * (k + mpf("0.5")) / grid) for k in range(grid)]
    rest = [f(x) for x in xs]
    ws = [weight(x) for x in xs]
    done, worst = [], mpf(0)
    for i in range(degree + 1):
        coef, worst = solve_minimax(xs, rest, ws, list(range(i, degree + 1)))
        c = rounding(coef[0])
        done.append(c)
        rest = [r - c * x**i for r, x in zip(rest, xs)]
    return done, max(abs(r * w) for r, w in zip(rest, ws))


LN2 = mp.log(2)
ROOT = mp.sqrt(mpf("0.5"))
TAN8 = mp.sqrt(2) - 1


def even(f):
    """A function of s = x^2, from one of x."""
    return lambda s: f(mp.sqrt(s))


def quotient(f, k):
    """f(x) / x^k where f(x) = O(x^k), with digits enough for the cancellation."""

    def value(x):
        with mp.extradps(60):
            return f(x) / x**k

    return value


# Relative to the result's size; small arguments of the quotients stay away from 0 because grids have no end points.
FITS = {
    # 2^x = 1 + x * p(x);  e^x = 1 + x + x^2 * p(x)
    "exp2_f32": (quotient(lambda x: mp.mpf(2) ** x - 1, 1), "-0.5", "0.5", 5, f32, lambda x: x),
    "exp2_f64": (quotient(lambda x: mp.mpf(2) ** x - 1, 1), "-0.5", "0.5", 10, f64, lambda x: x),
    "exp_f32": (quotient(lambda x: mp.expm1(x) - x, 2), -LN2 / 2, LN2 / 2, 4, f32, lambda x: x * x),
    "expm1_f32": (quotient(lambda x: mp.expm1(x) - x, 2), -LN2 / 2, LN2 / 2, 5, f32, lambda x: x),
    "exp_f64": (quotient(lambda x: mp.expm1(x) - x, 2), -LN2 / 2, LN2 / 2, 9, f64, lambda x: x * x),
    "expm1_f64": (quotient(lambda x: mp.expm1(x) - x, 2), -LN2 / 2, LN2 / 2, 10, f64, lambda x: x),
    # log(1 + x) = x - x^2/2 + x^3 * p(x)
    "log_f32": (quotient(lambda x: mp.log1p(x) - x + x * x / 2, 3), ROOT - 1, 1 / ROOT - 1, 7, f32, lambda x: x * x),
    # atanh(x) = x + x^3 * p(x^2), |x| <= (sqrt2 - 1) / (sqrt2 + 1)
    "atanh_f32": (even(quotient(lambda x: mp.atanh(x) - x, 3)), 0, mpf("0.02945"), 2, f32, lambda s: s),
    "atanh_f64": (even(quotient(lambda x: mp.atanh(x) - x, 3)), 0, mpf("0.02945"), 6, f64, lambda s: s),
    # atanh(x) = x + x^3/3 + x^5 * p(x^2)
    "pow_f32": (even(quotient(lambda x: mp.atanh(x) - x - x**3 / 3, 5)), 0, mpf("0.02945"), 2, f32, lambda s: s * s),
    "pow_f64": (even(quotient(lambda x: mp.atanh(x) - x - x**3 / 3, 5)), 0, mpf("0.02945"), 7, f64, lambda s: s * s),
    # sin(x) = x + x^3 * p(x^2);  cos(x) = 1 - x^2/2 + x^4 * p(x^2)
    "sin_f32": (even(quotient(lambda x: mp.sin(x) - x, 3)), 0, (mp.pi / 4) ** 2, 2, f32, lambda s: s),
    "sin_f64": (even(quotient(lambda x: mp.sin(x) - x, 3)), 0, (mp.pi / 4) ** 2, 5, f64, lambda s: s),
    "cos_f32": (even(quotient(lambda x: mp.cos(x) - 1 + x * x / 2, 4)), 0, (mp.pi / 4) ** 2, 2, f32, lambda s: s * s),
    "cos_f64": (even(quotient(lambda x: mp.cos(x) - 1 + x * x / 2, 4)), 0, (mp.pi / 4) ** 2, 5, f64, lambda s: s * s),
    # atan(x) = x + x^3 * p(x^2)
    "atan_f32": (even(quotient(lambda x: mp.atan(x) - x, 3)), 0, mpf(1), 8, f32, lambda s: s),
    "atan_f64": (even(quotient(lambda x: mp.atan(x) - x, 3)), 0, TAN8**2, 11, f64, lambda s: s),
    # tanh(x) = x + x^3 * p(x^2)
    "tanh_f32": (even(quotient(lambda x: mp.tanh(x) - x, 3)), 0, mpf("0.65") ** 2, 4, f32, lambda s: s),
    "tanh_f64": (even(quotient(lambda x: mp.tanh(x) - x, 3)), 0, mpf("0.65") ** 2, 11, f64, lambda s: s),
    # erf(x) = x + x * p(x^2)
    "erf_f32": (even(quotient(lambda x: mp.erf(x) - x, 1)), 0, mpf(1), 6, f32),
    "erf_f64": (even(quotient(lambda x: mp.erf(x) - x, 1)), 0, mpf(1), 12, f64),
    # erfc(x) = exp(-x^2 + x * p(x)) from 1 to 4;  erfc(x) = exp(-x^2) * p((x - 2) / (x + 2)) from 1 to 6
    "erfc_f32": (lambda x: mp.log(mp.erfc(x)), 1, mpf("4"), 6, f32, lambda x: mp.erfc(x)),
    "erfc_f64": (lambda u: mp.exp((2 * (1 + u) / (1 - u)) ** 2) * mp.erfc(2 * (1 + u) / (1 - u)),
                 mpf(-1) / 3, mpf("0.5"), 13, f64, lambda u: mp.exp(-((2 * (1 + u) / (1 - u)) ** 2))),
}


def main():
    names = sys.argv[1:] or list(FITS)
    for name in names:
        coef, worst = fit(*FITS[name])
        show = (lambda c: f"{float(c):.9g}") if FITS[name][4] is f32 else (lambda c: repr(float(c)))
        print(f"{name}: error 2^{float(mp.log(worst, 2)):.2f}")
        print("    " + ", ".join(show(c) for c in coef))


if __name__ == "__main__":
    main()
