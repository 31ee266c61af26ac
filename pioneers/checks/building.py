"""Write an exercise as an answer and edits of it, from which cells, checks and the answer bank are made.

    ex = exercise("5.7", ANSWER, points=6, minutes=6, difficulty=1, reread="sec-nsp", equation="eq-nsp")
    ex.inputs(hidden="B T D", w="D C", scale=0.5)
    ex.probe("three texts of five tokens", B=3, T=5, D=7, C=2)
    ex.wrong("the last token is read", "BERT reads the first, [CLS].", ("[:, 0]", "[:, -1]"))
    ex.right("einsum", source='''def class_logits(hidden, w): ...''')

An edit is a pair of texts: the first must occur exactly once in the answer and is replaced by the second.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import torch
from torch import Tensor

from pioneers.checks.answers import Right, Wrong
from pioneers.checks.common import COMMON
from pioneers.checks.edits import Edit, define, edited
from pioneers.checks.exercise import FUSED, Exercise, Law, Mistake, Probe, Run, Symptom
from pioneers.checks.rng import normals, wholes
from pioneers.checks.run import parameters_of
from pioneers.checks.steady import first_steady
from pioneers.checks.variant import Variant, current, using

OWN = "numbers of your own"
Maker = Callable[..., dict[str, Any]]
Sides = Callable[[Callable[[Probe], Tensor], Probe], tuple[Tensor, Tensor]]


def stops_at(name: str, *stages: str) -> Callable[[Symptom], bool]:
    """Make a predicate: judging stopped at the probe called ``name``, in one of these ``stages``."""
    return lambda symptom: symptom.stage in stages and symptom.case.probe.name == name


@dataclass
class Draft:
    """An exercise being written; :func:`exercise` makes one.

    Args:
        key: its number, as in ``"1.3"`` for exercise 3 of lab 1.
        answer: the source of the reference, with type hints and a docstring, as the lab prints it.
        points: the points it is worth.
        minutes: the minutes that a student needs.
        difficulty: from 1 to 3.
        reread: anchors of the lecture sections to reread, the most important one first.
        equation: the label of the equation behind it.
        refuse: names of torch functions that an answer may not call, besides fused attention.
        seed: the seed of the public probes; that of the hidden ones is made from the number.
        shares: parameters that sum to one along their last axis: their gradients may differ by a constant.
        wrongs: the wrong answers added so far.
        rights: the right answers added so far.
        equivalents: changed right answers that are right too, with the reason.
        mistakes: the named mistakes added so far.
        laws: the laws added so far.
        edits: the edits of the wrong answers added so far, with the names of their mistakes.
        links: the exercises that it builds on, each time with an answer that calls theirs, or none.
    """

    key: str
    answer: str
    points: int
    minutes: int
    difficulty: int
    reread: tuple[str, ...]
    equation: str = ""
    refuse: frozenset[str] = frozenset()
    seed: int = 0
    shares: tuple[str, ...] = ()
    wrongs: list[Wrong] = field(default_factory=list)
    rights: list[Right] = field(default_factory=list)
    equivalents: dict[str, str] = field(default_factory=dict)
    mistakes: list[Mistake] = field(default_factory=list)
    laws: list[Law] = field(default_factory=list)
    edits: list[tuple[str, Edit]] = field(default_factory=list)
    links: list[tuple[list[str], str]] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.answer = self.answer.strip() + "\n"
        self.reference = define(self.key, self.answer)
        self.name, self.parameters = self.reference.__name__, tuple(parameters_of(self.reference))
        self.make: Maker = lambda normal, **given: given
        self.asked: dict[bool, list[tuple[str, bool, Maker, dict[str, Any]]]] = {False: [], True: []}

    def inputs(self, *, scale: float = 1.0, **spec: Any) -> None:
        """Set the default arguments of all probes.

        Args:
            scale: the scale of the normal numbers.
            spec: for each parameter, the axes of a normal tensor, as in ``"B T D"``, or its value.
        """

        def make(normal: Callable[..., Tensor], **given: Any) -> dict[str, Any]:
            size, dtype = given.pop("scale", scale), given.pop("dtype", torch.float32)
            axes = {name: what.split() for name, what in spec.items() if isinstance(what, str)}
            drawn = {name: normal(*map(given.get, ax), dtype=dtype) * size for name, ax in axes.items()}
            return spec | drawn | {name: value for name, value in given.items() if not name.isupper()}

        self.make = make

    def maker(self, make: Maker) -> Maker:
        """Register ``make(normal, **given)``, which makes the arguments of every probe; a decorator."""
        self.make = make
        return make

    def probe(self, name: str, /, *, strided: bool = False, drawn: Maker = dict, **given: Any) -> None:
        """Add a public probe.

        Args:
            name: a description that students read.
            strided: whether to pass tensors with gaps in memory.
            drawn: draws more of what is ``given``, in the variant in use.
            given: axes in capitals, ``dtype``, ``scale``, and arguments by name; a list becomes a tensor.
        """
        self.asked[False].append((name, strided, drawn, given))

    def hidden(self, name: str, /, *, strided: bool = False, drawn: Maker = dict, **given: Any) -> None:
        """Add a hidden probe, for the grader alone: ``name, strided, drawn, given`` as in :meth:`probe`."""
        self.asked[True].append((name, strided, drawn, given))

    def own(self, draw: Maker) -> None:
        """Add a public and a hidden probe to each variant but the common one: ``draw(wholes(seed))``."""
        for asked in self.asked.values():
            asked.append((OWN, False, lambda: draw(wholes(self.seed)), {}))

    def probes(self, hidden: bool = False) -> list[Probe]:
        """Make the public probes, or the ``hidden`` ones, afresh."""
        variant, made = current()[hidden], self.finished()
        asked = [one for one in self.asked[hidden] if one[0] != OWN or variant]
        with using(Variant(variant, variant)):
            normal = normals(int(self.key.replace(".", "") + "01") if hidden else self.seed)
            return [first_steady(made, self.rights, partial(self._probe, normal, *one)) for one in asked]

    def _probe(
        self, normal: Callable[..., Tensor], name: str, strided: bool, more: Maker, given: dict[str, Any]
    ) -> Probe:
        names = [parameter.partition("=")[0] for parameter in self.parameters]
        made = self.make(normal, **more() | given)
        args = {name: made[name] for name in names if name in made}
        lists = {name: torch.tensor(x) for name, x in args.items() if isinstance(x, list)}
        return Probe(name, args | lists, strided)

    def law(
        self, name: str, why: str, *, on: str = "", section: str = "", equation: str = ""
    ) -> Callable[[Sides], Sides]:
        """Register a law: ``sides(run, probe)`` returns two tensors that must be equal; a decorator.

        Args:
            name: the law in a few words.
            why: one sentence on why it must hold.
            on: the name of the probe it gets; by default, the first.
            section: the section to reread, if not that of the exercise.
            equation: the equation to reread, if not that of the exercise.
        """

        def register(sides: Sides) -> Sides:
            def both(run: Run) -> tuple[Tensor, Tensor]:
                probe = next(probe for probe in self.probes() if on in ("", probe.name))
                return sides(lambda probe: run(probe).tensor, probe)

            self.laws.append(Law(name, why, both, section, equation))
            return sides

        return register

    def wrong(
        self, name: str, why: str = "", *edits: Edit, source: str = "", believes: str = "",
        shows: Callable[[Symptom], bool] | None = None, section: str = "", equation: str = "",
    ) -> None:  # fmt: skip
        """Add a mistake; each edit, and the ``source``, is a wrong answer that makes it.

        Args:
            name: the name of the mistake.
            why: one sentence on what is wrong; if empty, the answers are more examples of a known mistake.
            edits: edits of the answer.
            source: another program that makes this mistake.
            believes: the student's belief, for the teacher's table.
            shows: recognises the mistake by its symptom; by default, it is recognised by equal results.
            section: the section to reread, if not that of the exercise.
            equation: the equation to reread, if not that of the exercise.

        Raises:
            ValueError: an edit does not match once, an answer does not compile, or no mistake has this name.
        """
        answers = self._answers(edits, source)
        known = {mistake.name for mistake in (*self.mistakes, *COMMON)}
        if not why and name not in known:
            raise ValueError(f"{self.key}: no mistake is called {name!r}; say why it is one")
        self.edits += [(name, edit) for edit in edits]
        self.wrongs += [Wrong(believes or name, name, answer) for answer in answers]
        if shows:
            self.mistakes.append(Mistake(name, why, None, shows, section, equation))
        elif why:
            twins = [define(self.key, answer) for answer in answers]
            self.mistakes += [Mistake(name, why, twin, None, section, equation) for twin in twins]

    def right(self, how: str, *edits: Edit, source: str = "") -> None:
        """Add right answers written in another way (``how``): ``edits``, or a ``source`` of their own."""
        self.rights += [Right(how, answer) for answer in self._answers(edits, source)]

    def builds_on(self, keys: str, edit: Edit | None = None, *, source: str = "") -> None:
        """Name the mistakes of earlier exercises here too: by default, those whose edits fit this answer.

        Args:
            keys: the numbers of those exercises, as in ``"1.7 1.8"``.
            edit: an edit of the answer after which it calls their functions by name.
            source: instead, another answer that calls them.
        """
        answers = self._answers([edit] if edit else [], source)
        self.links.append((keys.split(), answers[0] if answers else ""))

    def equivalent(self, reason: str, *edits: Edit, of: str = "") -> None:
        """Say why mutants are as right as what they were made from.

        Args:
            reason: one sentence.
            edits: the changes that made them.
            of: how the right answer is written that they were made from; by default, the reference.
        """
        source = next(right.source for right in self.rights if right.how == of) if of else self.answer
        self.equivalents |= {edited(source, edit): reason for edit in edits}

    def _answers(self, edits: Sequence[Edit], source: str) -> list[str]:
        answers = [edited(self.answer, edit) for edit in edits] + ([source.strip() + "\n"] if source else [])
        return [answer for answer in answers if define(self.key, answer) is not None]

    def finished(self) -> Exercise:
        """Return the finished exercise."""
        return Exercise(
            self.key, self.name, self.parameters, self.points, self.reread[0], self.equation,
            self.reference, self.probes, tuple(self.mistakes), tuple(self.laws), FUSED | self.refuse,
            lambda: self.probes(hidden=True), frozenset(self.shares),
        )  # fmt: skip


def exercise(
    key: str, answer: str, *, points: int, minutes: int, difficulty: int, reread: str | Sequence[str],
    equation: str = "", refuse: Sequence[str] = (), seed: int = 0,
) -> Draft:  # fmt: skip
    """Return a new exercise; its methods add the rest.

    ``exercise(key, answer, points=, minutes=, difficulty=, reread=, equation=, refuse=, seed=)`` takes the
    arguments of :class:`Draft`; ``reread`` may be a single anchor.
    """
    sections = (reread,) if isinstance(reread, str) else tuple(reread)
    seed = seed or int(key.replace(".", "") + "1")
    return Draft(key, answer, points, minutes, difficulty, sections, equation, frozenset(refuse), seed)
