"""Expressions over sizes, in the syntax of manifests and guards.

The syntax is that of ``assume`` in a tile program: integers, names, + - * / % on integers (rounding down),
comparisons, && and ||, ``ceil(a, b)`` (a / b rounded up), ``min``, ``max`` and ``where(c, a, b)``.
"""

from __future__ import annotations

import ast
import operator
import re
from collections.abc import Callable, Mapping

_BINARY: dict[type[ast.operator], Callable[[int, int], int]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.floordiv,
    ast.Mod: operator.mod,
}
_COMPARE: dict[type[ast.cmpop], Callable[[int, int], bool]] = {
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
}
_CALLS: dict[str, Callable[..., int]] = {
    "ceil": lambda a, b: -(-a // b),
    "min": min,
    "max": max,
    "where": lambda c, a, b: a if c else b,
}


def evaluate(text: str, sizes: Mapping[str, int]) -> int | None:
    """The value for these sizes; None if a name is missing, or the text is no such expression."""
    words = text.replace("&&", " and ").replace("||", " or ")
    try:
        return _value(ast.parse(re.sub(r"!(?!=)", " not ", words).strip(), mode="eval").body, sizes)
    except (SyntaxError, KeyError, TypeError, ZeroDivisionError):
        return None


def _value(e: ast.expr, sizes: Mapping[str, int]) -> int:
    match e:
        case ast.Constant(value=int(n)):
            return n
        case ast.Name(id=name):
            return sizes[name]
        case ast.BinOp(left=a, op=op, right=b):
            return _BINARY[type(op)](_value(a, sizes), _value(b, sizes))
        case ast.UnaryOp(op=ast.USub(), operand=a):
            return -_value(a, sizes)
        case ast.UnaryOp(op=ast.Not(), operand=a):
            return not _value(a, sizes)
        case ast.BoolOp(op=ast.And(), values=parts):
            return all(_value(x, sizes) for x in parts)
        case ast.BoolOp(op=ast.Or(), values=parts):
            return any(_value(x, sizes) for x in parts)
        case ast.Compare(left=a, ops=[op], comparators=[b]):
            return _COMPARE[type(op)](_value(a, sizes), _value(b, sizes))
        case ast.Call(func=ast.Name(id=name), args=parts, keywords=[]):
            return _CALLS[name](*(_value(x, sizes) for x in parts))
    raise TypeError(ast.dump(e))
