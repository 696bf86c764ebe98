"""Finite fields GF(p^m), and the difference set that a projective plane grows from.

An element of GF(q) is an integer 0 … q−1 whose base-p digits are the coefficients of
a polynomial over GF(p), the constant term first.  Every field is built on a primitive
polynomial, so that x itself runs through all nonzero elements: its powers, once
listed, turn multiplication into an addition of exponents.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cache
from itertools import product
from math import isqrt

Element = int
Cubic = tuple[Element, Element, Element]


def prime_power(q: int) -> tuple[int, int] | None:
    """(p, m) with q = p^m and p prime, or None if there are none."""
    if q < 2:
        return None
    p = next((d for d in range(2, isqrt(q) + 1) if q % d == 0), q)
    m = 0
    while q % p == 0:
        q, m = q // p, m + 1
    return (p, m) if q == 1 else None


@dataclass(frozen=True)
class GaloisField:
    """GF(p^m); `exp[k]` is x^k for 0 ≤ k < q−1, and `log` undoes it."""

    p: int
    m: int
    exp: tuple[Element, ...] = field(repr=False)
    log: dict[Element, int] = field(repr=False, compare=False)

    @property
    def order(self) -> int:
        return len(self.exp) + 1

    def add(self, a: Element, b: Element) -> Element:
        return digitwise_sum(a, b, self.p)

    def subtract(self, a: Element, b: Element) -> Element:
        return self.add(a, self.multiply(b, self.p - 1))  # the digit p−1 is −1

    def multiply(self, a: Element, b: Element) -> Element:
        if a == 0 or b == 0:
            return 0
        return self.exp[(self.log[a] + self.log[b]) % len(self.exp)]

    def divide(self, a: Element, b: Element) -> Element:
        if b == 0:
            raise ZeroDivisionError(f"division by zero in GF({self.order})")
        if a == 0:
            return 0
        return self.exp[(self.log[a] - self.log[b]) % len(self.exp)]


@cache
def galois_field(q: int) -> GaloisField:
    """The field with q elements; always the same one."""
    factors = prime_power(q)
    if factors is None:
        raise ValueError(f"there is no field with {q} elements: not a prime power")
    p, m = factors
    exp = next(powers for tail in range(1, q) if (powers := _powers_of_x(p, q, tail)))
    return GaloisField(p, m, exp, {a: k for k, a in enumerate(exp)})


def digitwise_sum(a: Element, b: Element, p: int) -> Element:
    """Add polynomials: digit by digit in base p, with no carry."""
    if p == 2:
        return a ^ b
    total, place = 0, 1
    while a or b:
        total += (a + b) % p * place
        a, b, place = a // p, b // p, place * p
    return total


def _powers_of_x(p: int, q: int, tail: Element) -> tuple[Element, ...]:
    """The powers of x where x^m = tail; empty unless they are all q−1 nonzero elements.

    If they are, every nonzero element has an inverse: a polynomial that passes is
    irreducible as well, and needs no test of its own.
    """
    powers, a = [1], _times_x(1, p, q, tail)
    while a != 1 and len(powers) < q:
        powers.append(a)
        a = _times_x(a, p, q, tail)
    return tuple(powers) if len(powers) == q - 1 else ()


def _times_x(a: Element, p: int, q: int, tail: Element) -> Element:
    overflow, a = divmod(a * p, q)
    for _ in range(overflow):
        a = digitwise_sum(a, tail, p)
    return a


@cache
def singer_difference_set(q: int) -> tuple[int, ...]:
    """q+1 numbers whose differences are each nonzero number modulo q²+q+1, once.

    The points of the projective plane over GF(q) are the elements of GF(q³) up to a
    factor of GF(q), and with a suitable x these are 1, x, x², … (Singer 1938).  Those
    without a term in x² form a line; its exponents are the set, 0 and 1 among them.
    """
    gf = galois_field(q)
    cubics = product(range(q), range(q), range(1, q))
    return next(line for cubic in cubics if (line := _line_of_exponents(gf, cubic)))


def _line_of_exponents(gf: GaloisField, cubic: Cubic) -> tuple[int, ...]:
    """Empty if a power of x falls into GF(q) again before x has been at all points.

    Modulo a reducible cubic it must: that leaves fewer invertible elements, up to a
    factor, than there are points.  So the cubics that pass are irreducible.
    """
    points = gf.order * gf.order + gf.order + 1
    line: list[int] = []
    for k, (_, middle, top) in enumerate(_powers_in_extension(gf, cubic, points)):
        if top == 0:
            if middle == 0 and k > 0:
                return ()
            line.append(k)
    return tuple(line)


def _powers_in_extension(gf: GaloisField, cubic: Cubic, number: int) -> Iterator[Cubic]:
    """1, x, x², … as (constant, x, x²) coefficients where x³ = ax² + bx + c."""
    a, b, c = cubic
    low, middle, top = 1, 0, 0
    for _ in range(number):
        yield low, middle, top
        low, middle, top = (
            gf.multiply(c, top),
            gf.add(low, gf.multiply(b, top)),
            gf.add(middle, gf.multiply(a, top)),
        )
