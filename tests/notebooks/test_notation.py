"""Every letter of a lecture's formulas and every axis in its comments on shapes is in book/notation.md."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
LECTURES = sorted((ROOT / "lectures").glob("*.md"))
CODE = re.compile(r"^(`{3,})(?:\{code-cell\}|python|text|bash|console)?[ \w]*\n.*?^\1$", re.M | re.S)
FORMULA = re.compile(
    r"\$\$(.+?)\$\$|(?<![\\\w$])\$(?!\$)([^$]+?)\$|^```\{math\}[^\n]*\n(.*?)^```", re.M | re.S
)
WORDS = r"\\(?:text|operatorname\*?|mathrm|begin|end|label|tag)\s*\{[^{}]*\}"
GREEK = re.compile(
    r"\\((?:var)?(?:alpha|beta|gamma|delta|epsilon|theta|lambda|mu|nu|pi|rho|sigma|tau|phi|omega|eta|kappa|xi|chi)"
    r"|ell|psi|zeta|Phi|Pi|Lambda|Theta|Omega|Gamma|Psi|Sigma|Delta)(?![A-Za-z])"
)
SHAPE = re.compile(r"# +\(((?:[A-Z]\b[^()]*))\)$", re.M)


def letters(formula: str) -> set[str]:
    """The letters of a formula, each with its font: ``\\mathbf{X}`` is another letter than ``X``."""
    formula = re.sub(WORDS, " ", re.sub(r"^:\w+:.*$", "", formula, flags=re.M))
    found = set()
    for font, inside in re.findall(r"\\(mathbf|mathcal|mathbb)\s*\{([^{}]*)\}", formula):
        found |= {f"\\{font}{{{letter}}}" for letter in re.findall(r"[A-Za-z]", inside)}
    formula = re.sub(r"\\math(?:bf|cal|bb)\s*\{[^{}]*\}", " ", formula)
    found |= {f"\\{name}" for name in GREEK.findall(formula)}
    return found | set(re.findall(r"[A-Za-z]", re.sub(r"\\[A-Za-z]+", " ", formula)))


def letters_of_page(text: str) -> set[str]:
    prose = CODE.sub("", text)
    formulas = ("".join(groups) for groups in FORMULA.findall(prose))
    return set().union(*map(letters, formulas))


def axes_of_page(text: str) -> set[str]:
    return {axis for shape in SHAPE.findall(text) for axis in re.findall(r"\b[A-Z]\b", shape)}


NOTATION = (ROOT / "book" / "notation.md").read_text(encoding="utf-8")
KNOWN = letters_of_page(NOTATION)


def test_a_letter_without_a_row_is_found():
    assert letters_of_page(r"With $\mathbf{Y}\in\mathbb{R}^{n}$ and $\kappa_t \text{ for } x$.") == {
        r"\mathbf{Y}", r"\mathbb{R}", "n", r"\kappa", "t", "x",
    }  # fmt: skip
    assert r"\mathbf{Y}" not in KNOWN and r"\kappa" not in KNOWN
    assert axes_of_page("x = f(y)   # (B, T, D / 2)\nz = g(x)   # a comment (X)") == {"B", "T", "D"}


@pytest.mark.parametrize("page", LECTURES, ids=lambda page: page.stem)
def test_every_letter_has_a_row(page: Path):
    text = page.read_text(encoding="utf-8")
    unknown = letters_of_page(text) - KNOWN
    assert not unknown, f"add to book/notation.md, or use its letters: {sorted(unknown)}"
    assert not (axes := axes_of_page(text) - KNOWN), (
        f"axes that book/notation.md does not have: {sorted(axes)}"
    )
