"""Docstrings, error messages and the lectures in their new form are written in ordinary English."""

import ast
import re
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
SOURCES = sorted(ROOT.glob("pioneers/**/*.py"))
DEEPER = sorted(ROOT.glob("lectures/*_deeper.md"))
PAGES = [*DEEPER, *(page.with_name(page.name.replace("_deeper", "")) for page in DEEPER)]
DOCUMENTED = ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef
PLACES = "in|on|at|for|beside|below|above|behind|here|there|alone|first|last|where|under|between"
BANNED = {  # an example of what a native speaker would not write → its pattern
    "attention is dear": r"(is|are|as|too|very|less|how|so) dear|dearer|dearest",
    "a norm mends this": r"mend(s|ed|ing)?",
    "tokens drawn by lot": r"by lots?|(draws?|drew|drawn) lots",
    "the model gets good marks": r"(gets?|gives?|good|bad|high|low) marks",
    "nine of ten are told right": r"told right|tells? \w+ right",
    "whoever reads this": "whoever",
    "the whole is divided by two": r"the whole(?= (of|is|was|has|takes|costs)\b)",
    "the number stands below": rf"(stands?|stood|standing)(?= ({PLACES})\b)",
    "nor is it fast": r"nor (is|are|was|were|does|do|has|have)",
    "we shall see": "shall",
    "speed is no luxury": r"(?<!there )(is|are|was|were) no (?!longer|more|less|fewer|such|doubt)\w+",
    "GPT in small": r"in (the )?small(?=[.,;:]|$)",
    "a leak by another door": "by another door",
    "it is held against the paper": "held against",
}
ODD = re.compile(rf"\b(?:{'|'.join(BANNED.values())})(?!\w)", re.IGNORECASE)


def odd(text):
    """What in a text a native speaker would not write, with its surroundings."""
    text = " ".join(text.split())
    return [text[max(0, found.start() - 30) : found.end() + 30] for found in ODD.finditer(text)]


def written(path):
    """The docstrings of a module and the messages of its errors, by line."""
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, DOCUMENTED) and ast.get_docstring(node):
            yield node.body[0].lineno, ast.get_docstring(node)
        elif isinstance(node, ast.Raise):
            constants = (part.value for part in ast.walk(node) if isinstance(part, ast.Constant))
            yield node.lineno, " ".join(part for part in constants if isinstance(part, str))


@pytest.mark.parametrize("phrase", BANNED)
def test_a_planted_phrase_is_found(phrase, tmp_path):
    assert len(odd(f"It works.\nAnd {phrase}.")) == 1
    module = tmp_path / "planted.py"
    for place in ('"""{}."""', 'def f():\n    """{}."""', 'raise ValueError(f"{{1}}: {}")'):
        module.write_text(place.format(phrase))
        assert [line for line, text in written(module) if odd(text)]


def test_ordinary_english_passes():
    text = (
        "There is no file; it is no longer than a page. CLS stands alone no more, and the whole text is read."
    )
    assert odd(text.replace("stands alone", "is alone")) == []


def test_docstrings_and_error_messages():
    found = {
        f"{path.relative_to(ROOT)}:{line}": odd(text) for path in SOURCES for line, text in written(path)
    }
    assert len(found) > 1000
    assert not {place: phrases for place, phrases in found.items() if phrases}


def test_lectures_in_the_new_form(monkeypatch):
    monkeypatch.syspath_prepend(ROOT / "book" / "_ext")
    import blocks

    found = {
        page.name: [
            odd(block.text if block.kind == "text" else block.argument)
            for block in blocks.walk(page.read_text())
        ]
        for page in PAGES
    }
    sys.modules.pop("blocks")
    assert not {page: phrases for page, phrases in found.items() if any(phrases)}
