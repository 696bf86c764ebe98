"""Finite fields are fields, and Singer's sets are difference sets."""

from __future__ import annotations

from itertools import product

import pytest

from peerlock.quorums.galois import galois_field, prime_power, singer_difference_set

SMALL = [2, 3, 4, 5, 7, 8, 9]
PRIME_POWERS = [*SMALL, 11, 13, 16, 17, 19, 23, 25, 27, 29, 31, 32]


def test_prime_powers_are_told_from_other_numbers() -> None:
    found = [q for q in range(-3, 33) if prime_power(q)]
    assert found == PRIME_POWERS


def test_a_prime_power_is_taken_apart() -> None:
    assert prime_power(2) == (2, 1)
    assert prime_power(81) == (3, 4)
    assert prime_power(121) == (11, 2)
    assert prime_power(1009) == (1009, 1)


@pytest.mark.parametrize("q", [-4, 0, 1, 6, 12, 100])
def test_there_is_no_field_of_another_order(q: int) -> None:
    with pytest.raises(ValueError, match=f"no field with {q} elements"):
        galois_field(q)


@pytest.mark.parametrize("q", SMALL)
def test_addition_is_commutative_and_associative(q: int) -> None:
    gf = galois_field(q)
    for a, b, c in product(range(q), repeat=3):
        assert gf.add(a, b) == gf.add(b, a)
        assert gf.add(gf.add(a, b), c) == gf.add(a, gf.add(b, c))


@pytest.mark.parametrize("q", SMALL)
def test_multiplication_is_commutative_and_associative(q: int) -> None:
    gf = galois_field(q)
    for a, b, c in product(range(q), repeat=3):
        assert gf.multiply(a, b) == gf.multiply(b, a)
        assert gf.multiply(gf.multiply(a, b), c) == gf.multiply(a, gf.multiply(b, c))


@pytest.mark.parametrize("q", SMALL)
def test_multiplication_distributes_over_addition(q: int) -> None:
    gf = galois_field(q)
    for a, b, c in product(range(q), repeat=3):
        spread = gf.add(gf.multiply(a, b), gf.multiply(a, c))
        assert gf.multiply(a, gf.add(b, c)) == spread


@pytest.mark.parametrize("q", PRIME_POWERS)
def test_zero_and_one_are_neutral(q: int) -> None:
    gf = galois_field(q)
    for a in range(q):
        assert gf.add(a, 0) == a
        assert gf.multiply(a, 1) == a
        assert gf.multiply(a, 0) == 0


@pytest.mark.parametrize("q", PRIME_POWERS)
def test_subtraction_undoes_addition_and_division_multiplication(q: int) -> None:
    gf = galois_field(q)
    for a, b in product(range(q), repeat=2):
        assert gf.subtract(gf.add(a, b), b) == a
        if b:
            assert gf.divide(gf.multiply(a, b), b) == a


@pytest.mark.parametrize("q", PRIME_POWERS)
def test_adding_an_element_to_itself_p_times_gives_zero(q: int) -> None:
    gf = galois_field(q)
    for a in range(q):
        total = 0
        for _ in range(gf.p):
            total = gf.add(total, a)
        assert total == 0


@pytest.mark.parametrize("q", PRIME_POWERS)
def test_the_powers_of_x_are_all_nonzero_elements(q: int) -> None:
    gf = galois_field(q)
    assert gf.order == gf.p**gf.m == q
    assert sorted(gf.exp) == list(range(1, q))


@pytest.mark.parametrize("q", [2, 7, 13])
def test_a_prime_field_is_arithmetic_modulo_the_prime(q: int) -> None:
    gf = galois_field(q)
    for a, b in product(range(q), repeat=2):
        assert gf.add(a, b) == (a + b) % q
        assert gf.multiply(a, b) == a * b % q


def test_gf_4_is_not_arithmetic_modulo_4() -> None:
    gf = galois_field(4)
    assert gf.add(2, 2) == 0
    assert gf.multiply(2, 2) == 3
    assert gf.multiply(2, 3) == 1


def test_nothing_is_divided_by_zero() -> None:
    with pytest.raises(ZeroDivisionError, match=r"GF\(9\)"):
        galois_field(9).divide(5, 0)


@pytest.mark.parametrize("q", [*PRIME_POWERS, 49, 64])
def test_every_difference_occurs_once_in_a_singer_set(q: int) -> None:
    points = q * q + q + 1
    chosen = singer_difference_set(q)
    differences = [(a - b) % points for a in chosen for b in chosen if a != b]
    assert len(chosen) == q + 1
    assert sorted(differences) == list(range(1, points))


@pytest.mark.parametrize("q", PRIME_POWERS)
def test_a_singer_set_holds_zero(q: int) -> None:
    assert 0 in singer_difference_set(q)
