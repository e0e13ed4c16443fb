"""Arithmetic that a YAML may hold, as an expression over names: nothing else is evaluated.

An expression is parsed as Python and every part of it has to be one of a few that can only
calculate: there are no texts, attributes, lists or loops, and all numbers are floating point, so
that no power takes long. Libraries that evaluate expressions safely take all of that and would have
to be told not to.
"""

import ast
import math
import operator
from collections.abc import Callable, Mapping
from typing import Annotated

from pydantic import AfterValidator

from trimtab.config.fields import InvalidValueError

_LONGEST = 300
_OPERATORS: dict[type[ast.operator | ast.unaryop], Callable[..., float]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.Pow: math.pow,  # of a negative number, `**` gives a complex one
    ast.UAdd: operator.pos,
    ast.USub: operator.neg,
}
_FUNCTIONS: dict[str, tuple[Callable[..., float], int]] = {  # with the fewest arguments
    "min": (min, 2),
    "max": (max, 2),
    "abs": (abs, 1),
    "sqrt": (math.sqrt, 1),
    "log": (math.log, 1),
    "exp": (math.exp, 1),
}
_EXPECTED = f"arithmetic on names and numbers, + - * / ** ( ) and {', '.join(_FUNCTIONS)}"


def names_in(expression: str) -> set[str]:
    """Return the names that an expression calculates with.

    Raises InvalidValueError for what is no arithmetic.
    """
    names: set[str] = set()
    _check(_parsed(expression), expression, names)
    return names


def calculated(expression: str, values: Mapping[str, float]) -> float:
    """Return what an expression gives for the values of its names, which have to be there.

    The result may be infinite or no number. Raises InvalidValueError for what is no arithmetic, and
    ArithmeticError or ValueError for what has no result, such as a division by 0.
    """
    names_in(expression)
    return _value(_parsed(expression), values)


def _parsed(expression: str) -> ast.expr:
    if len(expression) > _LONGEST:
        raise InvalidValueError("", f"{expression[:40]}...", f"at most {_LONGEST} characters")
    try:
        return ast.parse(expression.strip(), mode="eval").body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        raise InvalidValueError("", expression, _EXPECTED) from None


def _check(node: ast.expr, expression: str, names: set[str]) -> None:
    """Add the names in `node` to `names`; raise InvalidValueError where it is no arithmetic."""
    parts: list[ast.expr] = []
    match node:
        case ast.Constant(value=int() | float() as value) if _is_number(value):
            pass
        case ast.Name(id=name) if name not in _FUNCTIONS:
            names.add(name)
        case ast.BinOp(left=left, op=op, right=right) if type(op) in _OPERATORS:
            parts = [left, right]
        case ast.UnaryOp(op=op, operand=operand) if type(op) in _OPERATORS:
            parts = [operand]
        case ast.Call(func=ast.Name(id=name), args=arguments, keywords=[]) if name in _FUNCTIONS:
            fewest = _FUNCTIONS[name][1]
            if len(arguments) < fewest or (fewest == 1 and len(arguments) > 1):
                expected = f"{name} of {'one value' if fewest == 1 else 'two values or more'}"
                raise InvalidValueError("", expression, expected)
            parts = arguments
        case _:
            wrong = ast.get_source_segment(expression.strip(), node) or expression
            raise InvalidValueError("", expression, f"{_EXPECTED}, which {wrong!r} is not")
    for part in parts:
        _check(part, expression, names)


def _is_number(value: float) -> bool:
    try:
        return not isinstance(value, bool) and math.isfinite(value)
    except OverflowError:
        return False


def _value(node: ast.expr, values: Mapping[str, float]) -> float:
    match node:
        case ast.Constant(value=int() | float() as value):
            return float(value)
        case ast.Name(id=name):
            return float(values[name])
        case ast.BinOp(left=left, op=op, right=right):
            return _OPERATORS[type(op)](_value(left, values), _value(right, values))
        case ast.UnaryOp(op=op, operand=operand):
            return _OPERATORS[type(op)](_value(operand, values))
        case ast.Call(func=ast.Name(id=name), args=arguments):
            return _FUNCTIONS[name][0](*(_value(argument, values) for argument in arguments))
    raise AssertionError(node)  # names_in has refused it


def _check_text(expression: str) -> str:
    names_in(expression)
    return expression


Arithmetic = Annotated[str, AfterValidator(_check_text)]
