"""Mistakes that more than one exercise of this lab knows."""

from pioneers.checks.exercise import Mistake
from pioneers.checks.symptoms import is_another_float

NO_TENSOR = Mistake(
    "a result that is no tensor",
    "The right numbers in a list or a tuple are not yet a tensor: torch.tensor(...) makes one of them.",
    shows=lambda symptom: symptom.stage == "returns a tensor" and symptom.case.outcome.kind != "NoneType",
)
NOT_FLOAT32 = Mistake(
    "another type than float32",
    "The inputs are whole numbers and the result is asked for in float32: convert it at the end.",
    shows=is_another_float,
)
