import numpy as np
import pytest
from scipy.linalg import expm

from trimtab.queueing.busy_period import delay_exponents
from trimtab.queueing.phase_type import PhaseType, erlang, exponential, hyperexponential

HIDDEN = np.array([[-3.0, 0.5], [0.2, -0.6]])
JUMPS = [np.array([[0.9, 0.1], [0.0, 0.1]]), np.array([[1.0, 0.5], [0.1, 0.2]])]
SERVICES = [erlang(3, 7.0), hyperexponential([0.4, 0.6], [3.0, 1.5])]
POINTS = np.array([0, 0.01, 1, 20 - 3j, 1e-3 + 50j, -1e-3 + 1e-3j], complex)


def exponents(s: np.ndarray, hidden: np.ndarray, jumps: list, services: list) -> np.ndarray:
    values, right, left = delay_exponents(s, hidden, jumps, services)
    return (right * values[:, None, :]) @ left


def transform_at(service: PhaseType, matrix: np.ndarray) -> np.ndarray:
    """E[exp(matrix S)] by one large linear system instead of eigenvectors."""
    identity = np.eye(len(matrix))
    both = np.kron(service.matrix, identity) + np.kron(np.eye(service.phases), matrix)
    ends = np.kron(service.exit_rates[:, None], identity)
    return np.kron(service.alpha[None], identity) @ np.linalg.solve(-both, ends)


@pytest.mark.parametrize("s", POINTS)
def test_exponents_solve_takacs_equation(s: complex) -> None:
    matrix = exponents(np.array([s]), HIDDEN, JUMPS, SERVICES)[0]
    right_hand_side = HIDDEN - s * np.eye(2)
    for jumps, service in zip(JUMPS, SERVICES, strict=True):
        right_hand_side = right_hand_side + jumps @ transform_at(service, matrix)
    np.testing.assert_allclose(matrix, right_hand_side, atol=1e-12 * (1 + abs(s)))


def test_at_zero_they_are_the_generator_of_the_phases_between_busy_periods() -> None:
    matrix = exponents(np.zeros(1, complex), HIDDEN, JUMPS, SERVICES)[0]
    np.testing.assert_allclose(matrix.imag, 0, atol=1e-13)
    np.testing.assert_allclose(matrix.real.sum(axis=1), 0, atol=1e-13)
    assert (matrix.real - np.diag(matrix.real.diagonal())).min() >= 0
    assert (expm(matrix.real) >= 0).all()


@pytest.mark.parametrize("load", [0.1, 0.9, 0.9999])
def test_with_one_phase_they_are_the_busy_period_of_a_single_queue(load: float) -> None:
    s = np.array([1e-6, 0.1, 3, 0.5 + 10j, 100 - 1e3j], complex)
    matrix = exponents(s, np.array([[-load]]), [np.array([[load]])], [exponential(1.0)])[:, 0, 0]
    root = np.sqrt((s + load + 1) ** 2 - 4 * load)
    busy = (s + load + 1 - root) / (2 * load)
    np.testing.assert_allclose(matrix, -s - load * (1 - busy), rtol=1e-9)


def test_with_nothing_that_interrupts_work_takes_its_own_time() -> None:
    generator = np.array([[-1.0, 1.0], [2.0, -2.0]])
    matrix = exponents(POINTS, generator, [], [])
    np.testing.assert_allclose(matrix, generator - POINTS[:, None, None] * np.eye(2), atol=1e-12)


def test_arrivals_without_eigenvectors_are_no_obstacle() -> None:
    # The hidden transitions of Erlang arrivals are a Jordan block.
    hidden, jumps = np.array([[-2.0, 2.0], [0.0, -2.0]]), np.array([[0.0, 0.0], [2.0, 0.0]])
    matrix = exponents(np.array([0.3 + 1j]), hidden, [jumps], [erlang(2, 4.0)])[0]
    expected = hidden - (0.3 + 1j) * np.eye(2) + jumps @ transform_at(erlang(2, 4.0), matrix)
    np.testing.assert_allclose(matrix, expected, atol=1e-12)


def test_where_nothing_is_found_is_nan() -> None:
    # Left of the branch point at -(1 - sqrt(0.5))^2 no real number solves the equation.
    values, _, _ = delay_exponents(
        np.array([-1.0 + 0j, 1.0]), np.array([[-0.5]]), [np.array([[0.5]])], [exponential(1.0)]
    )
    assert np.isnan(values[0, 0])
    assert np.isfinite(values[1, 0])
