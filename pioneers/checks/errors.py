"""Mistakes that may be made in any exercise, known by the error that they raise."""

from collections.abc import Callable

from pioneers.checks.exercise import Mistake, Symptom


def raises(*words: str) -> Callable[[Symptom], bool]:
    """Make a predicate: the answer raised an error that says one of the ``words``.

    Args:
        words: parts of the error's text.
    """
    return lambda symptom: (
        symptom.stage == "runs" and any(word in symptom.case.outcome.error for word in words)
    )


ERRORS = (
    Mistake(
        "view on a tensor with gaps",
        "view needs the numbers in one block of memory; after a transpose they are not: use reshape.",
        shows=raises("view size is not compatible"),
    ),
    Mistake(
        "two shapes do not fit",
        "Print both shapes before the line that fails: an axis is missing, transposed or in another place.",
        shows=raises(
            "must match",
            "cannot be multiplied",
            "shape '",
            "equal size",
            "size mismatch",
            "target size",
            "does not match",
            "not broadcast",
            "shape mismatch",
            "Expected size",
            "einsum(): ",
        ),
    ),
    Mistake(
        "two types do not fit",
        "A product needs both factors in one type: x.to(q.dtype) instead of x.float().",
        shows=raises("same dtype", "expected scalar type"),
    ),
    Mistake(
        "an operation that this type lacks",
        "Whole numbers and booleans have no softmax, mean or root: convert them first, x.float().",
        shows=raises("not implemented for", "infer output dtype", "floating point", "be cast to"),
    ),
    Mistake(
        "an index out of range",
        "Print index and size before the line that fails: one of them counts something else, or from 1.",
        shows=raises("out of range", "out of bounds"),
    ),
    Mistake(
        "one decision for a whole tensor",
        "if, min and max want one yes or no: use torch.where, torch.minimum or torch.maximum.",
        shows=raises("Boolean value of Tensor"),
    ),
    Mistake(
        "an index for an axis that is not there",
        "The tensor has fewer axes than the index: count from the end, as in x[..., -1], or print its shape.",
        shows=raises("too many indices"),
    ),
    Mistake(
        "a fixed number of things to unpack",
        "Inputs may have other axes in front: take sizes from the end, as in x.shape[-1], and keep the rest.",
        shows=raises("values to unpack"),
    ),
    Mistake(
        "several numbers taken for one",
        "int(), float(), .item() and an index want one number: compute with the whole tensor, or in a loop.",
        shows=raises("one element tensor", "single element", "converted to Scalar", "length-1 arrays"),
    ),
    Mistake(
        "nothing to choose from",
        "Here a list or a tensor is empty: say first what comes out then.",
        shows=raises("non-empty", "is an empty", "is empty", "numel() == 0", "no identity", "ZeroDivision"),
    ),
    Mistake(
        "a key that is not there",
        "Ask first whether the dictionary has it: d.get(key). A tensor is a key only as the same object.",
        shows=raises("KeyError"),
    ),
    Mistake(
        "a name that is not there",
        "It is misspelt, or gets its value only in a branch or a loop that this input does not take.",
        shows=raises("NameError", "UnboundLocalError"),
    ),
    Mistake(
        "a method or attribute that is not there",
        "Print the type of the object in that line: lists, numbers and tensors know different methods.",
        shows=raises("AttributeError"),
    ),
    Mistake(
        "an argument of another kind",
        "A call or an operator got a number, a list or a tensor where it takes another: print its type.",
        shows=raises("TypeError"),
    ),
)
