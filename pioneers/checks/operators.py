"""The operators that make mutants: each yields other code for a statement or an expression."""

import ast
import copy
from collections.abc import Callable, Iterator
from typing import Any

from pioneers.checks import exchanges

Operator = Callable[[Any, set[str]], Iterator[ast.AST]]
OPERATORS: list[tuple[str, tuple[type[ast.AST], ...], Operator]] = []
"""What is done, to which nodes, and the function that yields what may replace a node.

It gets the names of the parameters of the answer besides.
"""


def _with(node: Any, **changes: Any) -> Any:
    new = copy.copy(node)
    for name, value in changes.items():
        setattr(new, name, value)
    return new


def _without(items: list[Any], i: int) -> list[Any]:
    return items[:i] + items[i + 1 :]


def _swapped(items: list[Any], i: int) -> list[Any]:
    return [*items[:i], items[i + 1], items[i], *items[i + 2 :]]


def _named(node: Any, names: set[str]) -> bool:
    return isinstance(node, ast.Name) and node.id in names


def _name(call: ast.Call) -> str:
    return str(getattr(call.func, "attr", getattr(call.func, "id", "")))


def _method(value: Any, name: str) -> ast.Call:
    return ast.Call(ast.Attribute(value, name), [], [])


def _plus(node: Any, step: int) -> ast.expr:
    return ast.BinOp(node, ast.Add() if step > 0 else ast.Sub(), ast.Constant(abs(step)))


def _operator(name: str, *kinds: type[ast.AST]) -> Callable[[Operator], Operator]:
    """Register a function as the operator called ``name`` for nodes of these ``kinds``; a decorator."""

    def register(function: Operator) -> Operator:
        OPERATORS.append((name, kinds, function))
        return function

    return register


@_operator("another comparison", ast.Compare)
def _comparison(node: ast.Compare, given: set[str]) -> Iterator[ast.AST]:
    for i, op in enumerate(node.ops):
        for other in exchanges.COMPARISONS[type(op)]:
            yield _with(node, ops=[*node.ops[:i], other(), *node.ops[i + 1 :]])


@_operator("another operation", ast.BinOp, ast.AugAssign)
def _arithmetic(node: ast.BinOp | ast.AugAssign, given: set[str]) -> Iterator[ast.AST]:
    for other in exchanges.ARITHMETIC.get(type(node.op), ()):
        yield _with(node, op=other())
    if isinstance(node, ast.AugAssign):
        yield ast.Assign([node.target], node.value, lineno=node.lineno)


@_operator("an operand dropped", ast.BinOp)
def _operand(node: ast.BinOp, given: set[str]) -> Iterator[ast.AST]:
    yield node.left
    if not isinstance(node.op, ast.Sub | ast.Div | ast.FloorDiv | ast.Mod):
        yield node.right


@_operator("operands swapped", ast.BinOp)
def _operands(node: ast.BinOp, given: set[str]) -> Iterator[ast.AST]:
    if isinstance(node.op, exchanges.ONE_WAY):
        yield _with(node, left=node.right, right=node.left)


@_operator("a constant changed", ast.Constant)
def _constant(node: ast.Constant, given: set[str]) -> Iterator[ast.AST]:
    value = node.value
    if isinstance(value, bool):
        yield ast.Constant(not value)
    elif isinstance(value, int):
        yield from (ast.Constant(value + 1), ast.Constant(value - 1))
    elif isinstance(value, float):
        yield from (ast.Constant(value * 2 or 1.0), ast.Constant(value / 2 or -1.0))
    elif isinstance(value, str) and "->" in value and value[-1].isalpha() and value[-2].isalpha():
        yield ast.Constant(value[:-2] + value[-1] + value[-2])


@_operator("a sign or negation lost", ast.UnaryOp)
def _unary(node: ast.UnaryOp, given: set[str]) -> Iterator[ast.AST]:
    yield node.operand


@_operator("a finite number for infinity", ast.Attribute, ast.Call)
def _finite(node: ast.Attribute | ast.Call, given: set[str]) -> Iterator[ast.AST]:
    text = ast.unparse(node)
    if text in ("math.inf", "torch.inf", "float('inf')"):
        yield from map(ast.Constant, exchanges.FINITE)
    elif text == "float('-inf')":
        yield from (ast.UnaryOp(ast.USub(), ast.Constant(size)) for size in exchanges.FINITE)


@_operator("a call dropped", ast.Call)
def _call(node: ast.Call, given: set[str]) -> Iterator[ast.AST]:
    if _name(node) in exchanges.CARRIED:
        return
    if isinstance(node.func, ast.Attribute) and not _named(node.func.value, {"torch", "math", "F", "nn"}):
        yield node.func.value
    elif node.args and not isinstance(node.args[0], ast.Starred):
        yield node.args[0]


@_operator("an argument dropped", ast.Call)
def _argument(node: ast.Call, given: set[str]) -> Iterator[ast.AST]:
    for i in range(len(node.args)):
        yield _with(node, args=_without(node.args, i))
    for i in range(len(node.keywords)):
        if node.keywords[i].arg != "strict":
            yield _with(node, keywords=_without(node.keywords, i))


@_operator("arguments swapped", ast.Call)
def _arguments(node: ast.Call, given: set[str]) -> Iterator[ast.AST]:
    if _name(node) not in exchanges.SYMMETRIC:
        for i in range(len(node.args) - 1):
            yield _with(node, args=_swapped(node.args, i))


@_operator("a mask inverted", ast.Call)
def _mask(node: ast.Call, given: set[str]) -> Iterator[ast.AST]:
    if _name(node) in ("masked_fill", "where") and node.args:
        yield _with(node, args=[ast.UnaryOp(ast.Invert(), node.args[0]), *node.args[1:]])


@_operator("keepdim added", ast.Call)
def _keepdim(node: ast.Call, given: set[str]) -> Iterator[ast.AST]:
    words = {word.arg for word in node.keywords}
    if _name(node) in exchanges.REDUCTIONS and "keepdim" not in words and (node.args or "dim" in words):
        yield _with(node, keywords=[*node.keywords, ast.keyword("keepdim", ast.Constant(True))])


@_operator("a range one off", ast.Call)
def _range(node: ast.Call, given: set[str]) -> Iterator[ast.AST]:
    if _name(node) in exchanges.ONE_OFF:
        for i, arg in enumerate(node.args):
            for step in (1, -1):
                yield _with(node, args=[*node.args[:i], _plus(arg, step), *node.args[i + 1 :]])


@_operator("another function", ast.Attribute, ast.Name)
def _function(node: ast.Attribute | ast.Name, given: set[str]) -> Iterator[ast.AST]:
    field = "attr" if isinstance(node, ast.Attribute) else "id"
    if isinstance(node.ctx, ast.Load):
        for other in exchanges.FUNCTIONS.get(getattr(node, field), ()):
            yield _with(node, **{field: other})


@_operator("another slice", ast.Slice)
def _slice(node: ast.Slice, given: set[str]) -> Iterator[ast.AST]:
    yield _with(node, lower=_plus(node.lower, 1) if node.lower else ast.Constant(1))
    yield _with(node, upper=_plus(node.upper, -1) if node.upper else ast.UnaryOp(ast.USub(), ast.Constant(1)))
    yield from (_with(node, **{part: None}) for part in ("lower", "upper", "step") if getattr(node, part))


@_operator("an index dropped or swapped", ast.Subscript)
def _index(node: ast.Subscript, given: set[str]) -> Iterator[ast.AST]:
    if isinstance(node.ctx, ast.Load):
        yield node.value
    if isinstance(node.slice, ast.Tuple):
        for i in range(len(node.slice.elts) - 1):
            yield _with(node, slice=ast.Tuple(_swapped(node.slice.elts, i)))


@_operator("and for or, or one condition dropped", ast.BoolOp)
def _condition(node: ast.BoolOp, given: set[str]) -> Iterator[ast.AST]:
    yield _with(node, op=ast.Or() if isinstance(node.op, ast.And) else ast.And())
    for i in range(len(node.values)):
        rest = _without(node.values, i)
        yield rest[0] if len(rest) == 1 else _with(node, values=rest)


@_operator("a branch never or always taken", ast.If, ast.IfExp)
def _branch(node: ast.If | ast.IfExp, given: set[str]) -> Iterator[ast.AST]:
    yield from (_with(node, test=ast.Constant(taken)) for taken in (True, False))


@_operator("a filter dropped", ast.GeneratorExp, ast.ListComp, ast.SetComp, ast.DictComp)
def _filter(node: ast.ListComp, given: set[str]) -> Iterator[ast.AST]:
    for i, part in enumerate(node.generators):
        if part.ifs:
            parts = [*node.generators[:i], _with(part, ifs=[]), *node.generators[i + 1 :]]
            yield _with(node, generators=parts)


@_operator("a loop cut short", ast.For, ast.Break, ast.Continue)
def _loop(node: ast.For | ast.Break | ast.Continue, given: set[str]) -> Iterator[ast.AST]:
    if isinstance(node, ast.For):
        items = ast.Call(ast.Name("list"), [node.iter], [])
        for rest in ("1:", ":-1"):
            cut = ast.parse(f"x[{rest}]", mode="eval").body
            yield _with(node, iter=_with(cut, value=items))
    else:
        yield ast.Continue() if isinstance(node, ast.Break) else ast.Break()
        yield ast.Pass()


@_operator("a step left out", ast.Assign, ast.AugAssign, ast.Expr, ast.If, ast.For)
def _step(node: ast.stmt, given: set[str]) -> Iterator[ast.AST]:
    yield ast.Pass()


@_operator("returned early", ast.Assign)
def _early(node: ast.Assign, given: set[str]) -> Iterator[ast.AST]:
    if isinstance(node.targets[0], ast.Name):
        yield ast.Module([node, ast.Return(ast.Name(node.targets[0].id))], [])


@_operator("the gradient cut", ast.Assign, ast.Return)
def _detach(node: ast.Assign | ast.Return, given: set[str]) -> Iterator[ast.AST]:
    value = node.value
    called = isinstance(value, ast.Call) and _name(value) not in exchanges.NO_GRADIENT
    if called or (isinstance(value, ast.BinOp) and not isinstance(value.op, ast.BitAnd | ast.BitOr)):
        yield _with(node, value=_method(node.value, "detach"))


@_operator("another type", ast.Return)
def _type(node: ast.Return, given: set[str]) -> Iterator[ast.AST]:
    if node.value is not None:
        yield from (_with(node, value=_method(node.value, name)) for name in ("float", "double", "long"))


@_operator("changed in place", ast.Call)
def _in_place(node: ast.Call, given: set[str]) -> Iterator[ast.AST]:
    func = node.func
    if isinstance(func, ast.Attribute) and _named(func.value, given) and func.attr in exchanges.IN_PLACE:
        yield _with(node, func=_with(func, attr=f"{func.attr}_"))
