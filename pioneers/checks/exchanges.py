"""What the operators that make mutants exchange, and where."""

import ast

COMPARISONS: dict[type[ast.cmpop], tuple[type[ast.cmpop], ...]] = {
    ast.Lt: (ast.LtE, ast.Gt), ast.LtE: (ast.Lt, ast.GtE), ast.Gt: (ast.GtE, ast.Lt),
    ast.GtE: (ast.Gt, ast.LtE), ast.Eq: (ast.NotEq,), ast.NotEq: (ast.Eq,), ast.Is: (ast.IsNot,),
    ast.IsNot: (ast.Is,), ast.In: (ast.NotIn,), ast.NotIn: (ast.In,),
}  # fmt: skip
ARITHMETIC: dict[type[ast.operator], tuple[type[ast.operator], ...]] = {
    ast.Add: (ast.Sub,), ast.Sub: (ast.Add,), ast.Mult: (ast.Div,), ast.Div: (ast.Mult, ast.FloorDiv),
    ast.FloorDiv: (ast.Div, ast.Mult), ast.Mod: (ast.FloorDiv,), ast.Pow: (ast.Mult,),
    ast.BitAnd: (ast.BitOr,), ast.BitOr: (ast.BitAnd,), ast.BitXor: (ast.BitAnd,),
}  # fmt: skip
ONE_WAY = (ast.Sub, ast.Div, ast.FloorDiv, ast.Mod, ast.Pow, ast.MatMult)
PAIRS = (
    "max min, amax amin, argmax argmin, any all, sum mean, floor ceil, tril triu, zeros ones, "
    "cumsum cumprod, zeros_like ones_like, sin cos, exp exp2, log log2, log log1p, "
    "softmax sigmoid, softmax log_softmax, relu abs, tanh sigmoid, gelu relu, reshape view, "
    "gather index_select, stack cat, round floor, new_zeros new_ones, var std, sqrt square, "
    "logsigmoid sigmoid, repeat repeat_interleave, append extend, minimum maximum, amax mean"
)
EXCHANGED = [pair.split() for pair in PAIRS.split(", ")]
FUNCTIONS = {
    name: [second if first == name else first for first, second in EXCHANGED if name in (first, second)]
    for pair in EXCHANGED
    for name in pair
}
REDUCTIONS = {"sum", "mean", "amax", "amin", "any", "all", "max", "min", "argmax", "var", "std", "norm"}
IN_PLACE = {"masked_fill", "clamp", "scatter", "relu", "exp", "log", "sqrt", "abs", "sigmoid", "floor", "neg"}
SYMMETRIC = {"transpose", "swapaxes", "maximum", "minimum", "max", "min", "dot", "equal", "isclose"}
NO_GRADIENT = {
    "detach", "zeros", "ones", "arange", "tril", "triu", "tensor", "long", "argmax", "any", "all", "tolist",
    "item", "zeros_like", "ones_like", "argsort", "eye", "full", "isnan", "isin", "eq", "clone",
}  # fmt: skip
CARRIED = {"tolist", "item", "contiguous", "list", "tuple"}  # without them the numbers are the same
ONE_OFF = {"range", "arange", "tril", "triu", "narrow", "topk", "diagonal", "roll"}
FINITE = (20.0, 100.0, 1e4)
