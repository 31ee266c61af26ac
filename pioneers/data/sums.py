"""Sums as a pupil writes them down: problems without end, answers of two kinds, and a check of an answer."""

import random
import zlib
from collections.abc import Sequence

import torch
from torch import Tensor

SUM_CHARACTERS = " 0123456789+=(),."  # a character's id is its place; the space is padding


def sum_problems(count: int, *, digits: int = 3, split: str = "train", seed: int = 0) -> list[str]:
    """Draw sums of two numbers of equally many digits, such as ``"47+85="``.

    A tenth of all sums, chosen by a hash, are the test sums; the others are for training.

    Args:
        count: how many.
        digits: of each number; the first digit is not 0.
        split: ``"train"`` or ``"test"``.
        seed: the same seed draws the same problems.

    Raises:
        ValueError: a number is not positive, or the split is unknown.

    Example:
        >>> sum_problems(2, digits=2)
        ['50+60=', '76+16=']
    """
    if count < 1 or digits < 1:
        raise ValueError(f"count={count} and digits={digits} must both be at least 1")
    if split not in ("train", "test"):
        raise ValueError(f'split must be "train" or "test", not {split!r}')
    draw, found = random.Random(f"{split} {seed}"), list[str]()
    while len(found) < count:
        first, second = (draw.randrange(10 ** (digits - 1), 10**digits) for _ in range(2))
        problem = f"{first}+{second}="
        if (zlib.crc32(problem.encode()) % 10 == 0) == (split == "test"):
            found.append(problem)
    return found


def sum_answer(problem: str, *, working: bool, carry: bool = True) -> str:
    """Write the answer to a problem of :func:`sum_problems`, and the working in brackets before it.

    The working is the total of each column of digits, from the right, with what was carried over.

    Args:
        problem: such as ``"47+85="``.
        working: whether to write it down.
        carry: False forgets what should be carried over, except in front.

    Example:
        >>> sum_answer("47+85=", working=True)  # 7 + 5 = 12, and 4 + 8 + 1 = 13
        '(12,13)132.'
        >>> sum_answer("47+85=", working=False, carry=False)
        '122.'
    """
    first, second = problem.rstrip("=").split("+")
    totals, over = list[int](), 0
    for one, other in zip(reversed(first), reversed(second), strict=True):
        totals.append(int(one) + int(other) + over)
        over = totals[-1] // 10 if carry else 0
    result = str(totals[-1]) + "".join(str(total % 10) for total in totals[-2::-1])
    return ("(" + ",".join(map(str, totals)) + ")" if working else "") + result + "."


def pupil_answers(problems: Sequence[str], *, written: float = 0.2, seed: int = 0) -> list[str]:
    """Answer problems as a class does: some write the working down, the others forget to carry.

    Args:
        problems: from :func:`sum_problems`.
        written: share of the answers with their working, which are right. The others are worked out in the
            head and carry nothing over, so they are right only where nothing has to be carried.
        seed: of who answers what.

    Raises:
        ValueError: the share is not within [0, 1].

    Example:
        >>> pupil_answers(["47+85=", "47+85=", "47+52="], written=0.4)
        ['(12,13)132.', '122.', '(9,9)99.']
    """
    if not 0 <= written <= 1:
        raise ValueError(f"written={written} is a share of the answers: give a number between 0 and 1")
    draw = random.Random(f"pupils {seed}")
    careful = [draw.random() < written for _ in problems]
    return [
        sum_answer(problem, working=good, carry=good) for problem, good in zip(problems, careful, strict=True)
    ]


def check_sum(problem: str, answer: str) -> bool:
    """Return whether an answer ends with a full stop and the right result; its working is not read.

    Args:
        problem: from :func:`sum_problems`.
        answer: such as ``"132."``; what is before a closing bracket and after the stop does not count.

    Example:
        >>> [check_sum("47+85=", answer) for answer in ("132.", "(anything)132.", "122.", "132")]
        [True, True, False, False]
    """
    first, second = problem.rstrip("=").split("+")
    result, stop, _ = answer.partition(".")
    return bool(stop) and result.rpartition(")")[2] == str(int(first) + int(second))


def encode_sums(texts: Sequence[str], *, length: int | None = None) -> Tensor:
    """Turn texts into ids ``(B, T)``, one per character, filled up on the right with 0.

    Args:
        texts: of characters in ``SUM_CHARACTERS``.
        length: T; that of the longest text when left out.

    Raises:
        ValueError: a text is longer than ``length`` or has another character.

    Example:
        >>> encode_sums(["4+7=", "11."])
        tensor([[ 5, 11,  8, 12],
                [ 2,  2, 16,  0]])
    """
    longest = max(map(len, texts))
    length = longest if length is None else length
    if longest > length or not set("".join(texts)) <= set(SUM_CHARACTERS):
        raise ValueError(f"texts have at most length={length} of the characters {SUM_CHARACTERS!r}")
    return torch.tensor([[SUM_CHARACTERS.index(c) for c in text.ljust(length)] for text in texts])


def decode_sums(input_ids: Tensor) -> list[str]:
    """Turn ``input_ids (B, T)`` back into texts, without the padding at their ends.

    Example:
        >>> decode_sums(encode_sums(["4+7=", "11."]))
        ['4+7=', '11.']
    """
    return ["".join(SUM_CHARACTERS[i] for i in row).rstrip() for row in input_ids.tolist()]
