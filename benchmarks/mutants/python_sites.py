"""What may be broken in a Python file: its syntax tree is searched, its text changed where the tree says.

Left alone are annotations, texts, errors and warnings, and constants of modules: those are choices, not equations.
"""

from __future__ import annotations

import ast
import copy
import itertools
from collections.abc import Iterator

from benchmarks.mutants.mutant import Site

_Changed = Iterator[tuple[str, ast.AST]]
_SIGNS: dict[type, type] = {ast.Add: ast.Sub, ast.Sub: ast.Add}
_FACTORS: dict[type, type] = {ast.Mult: ast.Div, ast.Div: ast.Mult, ast.FloorDiv: ast.Mult}
_COMPARISONS: dict[type, type] = {
    ast.Lt: ast.LtE,
    ast.LtE: ast.Lt,
    ast.Gt: ast.GtE,
    ast.GtE: ast.Gt,
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.Is: ast.IsNot,
    ast.IsNot: ast.Is,
    ast.In: ast.NotIn,
    ast.NotIn: ast.In,
}
_OPPOSITES = [
    ("min", "max"), ("minimum", "maximum"), ("argmin", "argmax"), ("zeros", "ones"), ("zeros_like", "ones_like"),
    ("any", "all"), ("floor", "ceil"), ("exp", "expm1"), ("log", "log1p"), ("sum", "mean"), ("tril", "triu"),
    ("sqrt", "square"), ("cumsum", "cumprod"),
]  # fmt: skip
_OPPOSITE = dict(_OPPOSITES) | {second: first for first, second in _OPPOSITES}
# checks of what cannot happen
_CHECKS = ("strict", "copy", "check_finite")
_LEFT_ALONE = (ast.JoinedStr, ast.Raise, ast.Assert, ast.Import, ast.ImportFrom, ast.Global)
_TOLD = {"warn", "warn_user", "ValueError", "TypeError", "isinstance", "cast", "TypeVar", "getattr", "hasattr"}


def sites(source: str) -> Iterator[Site]:
    """Everything that may be changed, one change a site and operator."""
    starts = list(itertools.accumulate((len(line) for line in source.splitlines(keepends=True)), initial=0))
    lines = source.splitlines()

    def place(line: int, column: int) -> int:
        return starts[line - 1] + len(lines[line - 1].encode()[:column].decode())

    for function, node in _nodes(ast.parse(source), ()):
        for operator, changed in _changes(node):
            if ast.unparse(changed) == ast.unparse(node):
                continue
            start, stop = place(node.lineno, node.col_offset), place(node.end_lineno, node.end_col_offset)
            text = ast.unparse(changed)
            bare = isinstance(node, (ast.stmt, ast.Name, ast.Attribute, ast.Constant))
            yield Site(function, operator, start, stop, text if bare else f"({text})")


def _nodes(node: ast.AST, within: tuple[str, ...]) -> Iterator[tuple[str, ast.AST]]:
    """All nodes in functions that may be changed, with the name of the function."""
    for child in _children(node):
        if isinstance(child, _LEFT_ALONE) or _is_told(child) or getattr(child, "arg", None) in _CHECKS:
            continue
        if isinstance(child, (ast.FunctionDef, ast.ClassDef)):
            if child.name != "__repr__":
                yield from _nodes(child, (*within, child.name))
            continue
        if within and within[-1].lstrip("_")[:1].islower():  # fields of classes are choices too
            yield ".".join(within), child
        yield from _nodes(child, within)


def _children(node: ast.AST) -> Iterator[ast.AST]:
    """What is below a node, without annotations, decorators, defaults and documentation."""
    if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
        yield from _without_text(node.body)
    elif isinstance(node, ast.AnnAssign):
        yield from [node.value] if node.value is not None else []
    elif isinstance(node, ast.Module):
        yield from (child for child in node.body if isinstance(child, (ast.FunctionDef, ast.ClassDef)))
    else:
        yield from ast.iter_child_nodes(node)


def _without_text(body: list[ast.stmt]) -> Iterator[ast.stmt]:
    return (node for node in body if not (isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)))


def _is_told(node: ast.AST) -> bool:
    """Whether it is said to people, or to the checker of types."""
    if isinstance(node, ast.Expr):
        node = node.value
    return isinstance(node, ast.Call) and _called(node) in _TOLD


def _called(node: ast.Call) -> str:
    return getattr(node.func, "id", getattr(node.func, "attr", ""))


def _changes(node: ast.AST) -> _Changed:
    if isinstance(node, ast.BinOp):
        yield from _binary(node)
    elif isinstance(node, ast.Compare):
        yield from _comparison(node)
    elif isinstance(node, ast.Call):
        yield from _call(node)
    elif isinstance(node, (ast.AugAssign, ast.Expr, ast.IfExp, ast.If, ast.While)):
        yield from _statement(node)
    elif isinstance(node, ast.BoolOp):
        other = ast.Or() if isinstance(node.op, ast.And) else ast.And()
        yield "and or", ast.BoolOp(other, node.values)
    elif isinstance(node, ast.UnaryOp):
        yield ("sign" if isinstance(node.op, ast.USub) else "not"), node.operand
    elif isinstance(node, ast.Constant):
        yield from _number(node)


def _binary(node: ast.BinOp) -> _Changed:
    kind = type(node.op)
    if kind in _SIGNS:
        yield "sign", ast.BinOp(node.left, _SIGNS[kind](), node.right)
        yield "missing term", node.left
    elif kind in _FACTORS:
        yield "factor", ast.BinOp(node.left, _FACTORS[kind](), node.right)
        yield "missing factor", node.left
    elif kind is ast.Pow:
        yield "exponent", ast.BinOp(node.left, node.op, ast.BinOp(node.right, ast.Add(), ast.Constant(1)))
    elif kind is ast.MatMult:
        yield "swapped factors", ast.BinOp(node.right, node.op, node.left)


def _comparison(node: ast.Compare) -> _Changed:
    kind = type(node.ops[0])
    if kind in _COMPARISONS:
        yield "comparison", ast.Compare(node.left, [_COMPARISONS[kind](), *node.ops[1:]], node.comparators)
    if kind in (ast.Lt, ast.LtE, ast.Gt, ast.GtE):
        yield "swapped sides", ast.Compare(node.comparators[0], node.ops, [node.left, *node.comparators[1:]])


def _call(node: ast.Call) -> _Changed:
    given = [argument for argument in node.args if not isinstance(argument, ast.Starred)]
    if len(given) >= 2 and given[:2] == node.args[:2]:
        yield "swapped arguments", ast.Call(node.func, [given[1], given[0], *node.args[2:]], node.keywords)
    other = _OPPOSITE.get(_called(node))
    if other is not None:
        function = copy.copy(node.func)
        setattr(function, "id" if isinstance(function, ast.Name) else "attr", other)
        if not isinstance(function, ast.Name) or other in ("min", "max", "any", "all"):
            yield "opposite", ast.Call(function, node.args, node.keywords)


def _statement(node: ast.AST) -> _Changed:
    if isinstance(node, ast.AugAssign):
        other = (_SIGNS | _FACTORS).get(type(node.op))
        if other is not None:
            yield "sign", ast.AugAssign(node.target, other(), node.value)
        yield "missing statement", ast.Pass()
    elif isinstance(node, ast.Expr) and isinstance(node.value, ast.Call):
        yield "missing statement", ast.Pass()
    elif isinstance(node, ast.IfExp):
        yield "swapped branches", ast.IfExp(node.test, node.orelse, node.body)


def _number(node: ast.Constant) -> _Changed:
    if type(node.value) is int:
        yield "off by one", ast.Constant(node.value + 1)
    elif type(node.value) is float:
        yield "twice", ast.Constant(node.value * 2)
    elif type(node.value) is bool:
        yield "not", ast.Constant(not node.value)
