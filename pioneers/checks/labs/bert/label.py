"""Exercise 5.7: one label for a whole text, from [CLS] through the pooler. Vectors are rows."""

from collections.abc import Callable

import torch
from torch import Tensor

from pioneers.checks.draw import normals
from pioneers.checks.exercise import Exercise, Mistake, Probe, Property, Run


def classify(
    read: Callable[[Tensor], Tensor] = lambda hidden: hidden[:, 0],
    bend: Callable[[Tensor], Tensor] = torch.tanh,
    last: Callable[[Tensor], Tensor] = lambda logits: logits,
    biases: bool = True,
) -> Callable[..., Tensor]:
    """Logits from another vector, with another bend, or with something behind them."""

    def class_logits(hidden, w_pool, b_pool, w_out, b_out) -> Tensor:
        pooled = bend(read(hidden) @ w_pool + (b_pool if biases else 0))
        return last(pooled @ w_out + (b_out if biases else 0))

    return class_logits


def _label_probes() -> list[Probe]:
    normal = normals(571)

    def probe(name: str, B: int, T: int, D: int, C: int, strided=False, dtype=torch.float32) -> Probe:
        shapes = {"hidden": (B, T, D), "w_pool": (D, D), "b_pool": (D,), "w_out": (D, C), "b_out": (C,)}
        return Probe(name, {name: normal(*s, dtype=dtype) / 2 for name, s in shapes.items()}, strided)

    return [
        probe("three texts of five tokens, two labels", 3, 5, 7, 2),
        probe("a batch of one, eleven labels", 1, 7, 5, 11),
        probe("a single token", 2, 1, 3, 5),
        probe("double precision", 5, 3, 7, 2, dtype=torch.float64),
        probe("numbers with gaps in memory", 3, 5, 7, 2, strided=True),
    ]


def _others_changed(run: Run) -> tuple[Tensor, Tensor]:
    probe = _label_probes()[0]
    hidden = probe.args["hidden"].clone()
    hidden[:, 1:] += 5
    return run(probe).tensor, run(probe.having("law", hidden=hidden)).tensor


def _transposed(hidden, w_pool, b_pool, w_out, b_out) -> Tensor:
    return classify()(hidden, w_pool.T, b_pool, w_out, b_out)


def _no_pooler(hidden, w_pool, b_pool, w_out, b_out) -> Tensor:
    return hidden[:, 0] @ w_out + b_out


def _same(x: Tensor) -> Tensor:
    return x


NO_LOGITS = (
    "probabilities instead of logits",
    "Logits come before the softmax: the loss takes them as they are.",
)
MISTAKES = (
    Mistake(
        "the mean over all tokens",
        "BERT's pooled vector is made of [CLS] alone; in a mean the padding would have a say too.",
        classify(lambda hidden: hidden.mean(1)),
    ),
    Mistake(
        "the last token is read",
        "That is GPT, where only the last position has read everything; BERT reads the first, [CLS].",
        classify(lambda hidden: hidden[:, -1]),
        section="sec-three-shapes",
    ),
    Mistake(
        "the first row of the batch is read",
        "The axes of hidden are (B, T, D): hidden[:, 0] is [CLS] of every row, hidden[0] a whole row.",
        classify(lambda hidden: hidden[0]),
    ),
    Mistake(
        "logits for every token",
        "One label for the whole text: read one position, the first.",
        classify(_same),
        section="sec-three-shapes",
    ),
    Mistake(
        "no tanh",
        "Two linear maps in a row are one: the tanh between them makes the pooler worth having.",
        classify(bend=_same),
    ),
    Mistake(
        "another activation",
        "The pooler uses tanh; ReLU and GELU stand in the blocks.",
        classify(bend=torch.relu),
    ),
    Mistake(
        "another activation",
        "The pooler uses tanh; ReLU and GELU stand in the blocks.",
        classify(bend=torch.nn.functional.gelu),
    ),
    Mistake(
        "the tanh stands behind the logits",
        "tanh bends the pooled vector; logits may be of any size.",
        classify(bend=_same, last=torch.tanh),
    ),
    Mistake(
        "the tanh stands behind the logits",
        "tanh bends the pooled vector, not the logits: those may be of any size.",
        classify(last=torch.tanh),
    ),
    Mistake(*NO_LOGITS, classify(last=lambda logits: logits.softmax(-1))),
    Mistake(*NO_LOGITS, classify(last=lambda logits: logits.log_softmax(-1))),
    Mistake(
        "no pooler",
        "[CLS] goes through a linear map with tanh first, the pooler.",
        _no_pooler,
    ),
    Mistake(
        "the biases are forgotten",
        "Both linear maps have a bias.",
        classify(biases=False),
    ),
    Mistake(
        "the pooler's matrix transposed",
        "Vectors are rows here: h W, not W h. W_pool is square, so no shape complains.",
        _transposed,
    ),
)

EXERCISES = (
    Exercise(
        key="5.7",
        name="class_logits",
        parameters=("hidden", "w_pool", "b_pool", "w_out", "b_out"),
        points=6,
        section="sec-nsp",
        equation="eq-nsp",
        reference=classify(),
        probes=_label_probes,
        mistakes=MISTAKES,
        properties=(
            Property(
                "only [CLS] is read",
                "What the other positions hold has reached [CLS] in the blocks already.",
                _others_changed,
            ),
        ),
    ),
)
