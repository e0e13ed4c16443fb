"""Expressions: what is arithmetic has Python's result, and nothing else is taken."""

import ast
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from trimtab.config.arithmetic import calculated, names_in
from trimtab.config.fields import InvalidValueError

VALUES = {"a": 2.0, "b": 0.5, "loss": 3.25}
_LEAVES = st.sampled_from(sorted(VALUES)) | st.integers(0, 99).map(str) | st.sampled_from(["1.5"])
EXPRESSIONS = st.recursive(
    _LEAVES,
    lambda inner: (
        st.tuples(inner, st.sampled_from(["+", "-", "*", "/", "**"]), inner).map(
            lambda parts: f"({parts[0]} {parts[1]} {parts[2]})"
        )
        | inner.map(lambda one: f"-{one}")
        | inner.map(lambda one: f"abs({one})")
        | st.tuples(inner, inner).map(lambda two: f"max({two[0]}, {two[1]})")
    ),
    max_leaves=8,
)


@given(EXPRESSIONS)
def test_the_result_is_that_of_python(expression: str) -> None:
    wanted = {node.id for node in ast.walk(ast.parse(expression)) if isinstance(node, ast.Name)}
    assert names_in(expression) == wanted - {"abs", "max"}
    real = ast.unparse(_Real().visit(ast.parse(expression, mode="eval")))
    try:
        expected = eval(real, {"abs": abs, "max": max, "power": power}, dict(VALUES))
    except (ArithmeticError, ValueError):
        with pytest.raises((ArithmeticError, ValueError)):
            calculated(expression, VALUES)
    else:
        assert calculated(expression, VALUES) == expected


class _Real(ast.NodeTransformer):
    """Has Python calculate with floating-point numbers, as its whole ones have no limit."""

    def visit_Constant(self, node: ast.Constant) -> ast.Constant:
        return ast.Constant(float(node.value))

    def visit_BinOp(self, node: ast.BinOp) -> ast.AST:
        self.generic_visit(node)
        if isinstance(node.op, ast.Pow):
            return ast.Call(ast.Name("power"), [node.left, node.right], [])
        return node


def power(base: float, exponent: float) -> float:
    result = base**exponent
    if isinstance(result, complex):
        raise ValueError
    return result


@pytest.mark.parametrize(
    "expression",
    [
        "", " ", "accuracy[", "a b", "a; b", "a = 1", "a := 1", "import os", "yield", "await a",
        "a.real", "a.__class__", "a[0]", "a if b else loss", "a < b", "a and b", "not a", "~a",
        "a // b", "a % b", "a @ b", "a << b", "a | b", "[a]", "(a, b)", "{a}", "{a: b}", "*a",
        "[x for x in (1, 2)]", "sum(x for x in a)", "lambda: a", "(lambda: 1)()", "f'{a}'", "'a'",
        "b'a'", "None", "True", "...", "1j", "1e999", "0x" + "f" * 290, "eval(a)",
        "__import__('os')", "abs", "abs(a, b)", "abs()", "min(a)", "max(*a)", "max(a, b, key=abs)",
        "log(a, b)", "abs(abs)", "a\0", "a\nb", "\ud800", "(" * 300, "a+" * 200 + "a",
        "while 1: pass",
    ],
)  # fmt: skip
def test_what_is_no_arithmetic_is_refused(expression: str) -> None:
    with pytest.raises(InvalidValueError) as caught:
        names_in(expression)
    with pytest.raises(InvalidValueError):
        calculated(expression, VALUES)
    assert "\n" not in str(caught.value)


@given(st.text("ab1.*+-/()[]{}'\"\\ \n=:,#\0\u00e9", max_size=40))
def test_any_text_is_taken_or_refused(text: str) -> None:
    try:
        names = names_in(text)
    except InvalidValueError:
        return
    assert all(name.isidentifier() for name in names)


def test_deep_and_large_ones_end_at_once() -> None:
    assert calculated("-" * 299 + "1", {}) == -1
    with pytest.raises(OverflowError):
        calculated("9**9**9**9**9", {})
    with pytest.raises(ValueError, match="domain"):
        calculated("(-8) ** 0.5", {})
    assert math.isnan(calculated("1e308 * 10 - 1e308 * 10", {}))
