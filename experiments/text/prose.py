"""The prose of installed packages' docstrings: what the stored GPT is trained and tested on."""

import ast
import inspect
import re
import sysconfig
from collections.abc import Iterable, Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import NamedTuple

from pioneers.data import documents, language_reference, split_text
from pioneers.data.docstrings import number_of
from pioneers.progress import progress

PACKAGES = (
    "numpy", "scipy", "sklearn", "torch", "torchvision", "timm", "transformers", "tokenizers", "safetensors",
    "matplotlib", "networkx", "sympy", "mpmath", "PIL", "joblib", "narwhals", "sqlalchemy", "alembic",
    "babel", "fontTools", "huggingface_hub", "fsspec", "sphinx", "docutils", "myst_parser", "jupyterlab",
    "notebook", "jupyter_server", "jupyter_client", "jupyter_core", "nbformat", "nbconvert", "nbclient",
    "nbgrader",
    "IPython", "ipykernel", "ipywidgets", "traitlets", "tornado", "jinja2", "pygments", "rich", "pytest",
    "_pytest", "setuptools", "pydantic", "attr", "httpx", "requests", "urllib3", "bs4", "click", "playwright",
    "prompt_toolkit", "mypy", "jedi", "coverage", "yaml", "lxml", "psutil", "pip", "regex", "packaging",
)  # fmt: skip
HELD_OUT = 40  # one document in so many
RUN = 8  # words in a row that no training paragraph shares with a text that is held out

ITEM = re.compile(r"(?:[*+-] |\d+[.)] |:[\w ]+: ?|\*{0,2}`{0,2}\w+`{0,2}(?: \([^)]*\))?: )(?=\S)")
ROLE = re.compile(r":[\w:+-]+:`~?([^`<]*[\w.)])(?:\s*<[^`>]*>)?`")
LINK = re.compile(r"`([^`<]+?)\s*(?:<[^`>]*>)?`_{1,2}")
CODE = re.compile(r"[{}\\|#$^=]|>>>|-{3}|\.\. |\[\d+\]|https?:|\w{30}|[^\x20-\x7e]|\([cC]\)|opyright")


class Texts(NamedTuple):
    """The training text and what is held out of it.

    Attributes:
        train: documents separated by empty lines, a paragraph a line.
        held_out: the same, of other documents.
        page: the last tenth of the language reference as it is, which the page on GPT holds out.
    """

    train: str
    held_out: str
    page: str


def texts() -> Texts:
    """Return the texts: what is held out shares no eight words in a row with the training text.

    Held out are one in forty documents, every document that shares eight words with ``documents("test")``,
    and the last tenth of the language reference. A training paragraph that shares eight with them is dropped.
    """
    reference, page = split_text(language_reference())
    unseen = {run for document in documents("test") for run in _runs(" ".join(document.sentences))}
    train: list[list[str]] = []
    held_out: list[list[str]] = []
    for document in _distinct(_package_documents()):
        tested = any(unseen & _runs(paragraph) for paragraph in document)
        (held_out if tested or number_of(document[0]) % HELD_OUT == 0 else train).append(document)
    unseen |= _runs(page).union(*(_runs(paragraph) for document in held_out for paragraph in document))
    train += [[part.strip("\n")] for part in re.split(r"\n\s*\n", reference) if part.strip()]
    kept = [[part for part in document if unseen.isdisjoint(_runs(part))] for document in train]
    return Texts(_join(kept), _join(held_out), page)


def _join(found: Iterable[list[str]]) -> str:
    return "".join("\n".join(document) + "\n\n" for document in found if document)


def _runs(text: str) -> set[int]:
    words = re.findall(r"\w+", text.lower())
    return {hash(tuple(words[i : i + RUN])) for i in range(max(1, len(words) - RUN + 1))}


def _distinct(found: Iterable[list[str]]) -> Iterator[list[str]]:
    """Drop paragraphs of which more than a third of the runs occurred before."""
    seen: set[int] = set()
    for document in found:
        kept = []
        for paragraph in document:
            runs = _runs(paragraph)
            if len(runs & seen) <= len(runs) / 3:
                kept.append(paragraph)
            seen |= runs
        if kept:
            yield kept


def _package_documents() -> Iterator[list[str]]:
    """Yield the paragraphs of every docstring, first those of the standard library."""
    roots = [Path(sysconfig.get_paths()["stdlib"])]
    for name in PACKAGES:
        spec = find_spec(name)
        if spec is None:
            raise ModuleNotFoundError(f"{name} is not installed: pip install -c constraints.txt -e '.[dev]'")
        roots += [Path(place) for place in spec.submodule_search_locations or ()]
    skipped = {"site-packages", "tests", "test", "testing", "_vendor", "idlelib", "lib2to3"}
    for root in progress(roots, desc="packages"):
        for path in sorted(root.rglob("*.py")):
            if skipped.isdisjoint(path.relative_to(root).parts):
                for text in _docstrings(path):
                    if paragraphs := list(prose(text)):
                        yield paragraphs


def _docstrings(path: Path) -> Iterator[str]:
    """Yield docstrings, and the long texts that a module gives to calls, as for functions written in C."""
    try:
        tree = ast.parse(path.read_bytes())
    except (SyntaxError, ValueError):
        return
    level: list[ast.AST] = [tree]
    while level:
        for node in level:
            if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
                yield ast.get_docstring(node) or ""
        level = [c for node in level for c in ast.iter_child_nodes(node) if not isinstance(c, ast.expr)]
    for node in tree.body:
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Call):
            for part in ast.walk(node):
                if isinstance(part, ast.Constant) and isinstance(part.value, str) and "\n\n" in part.value:
                    yield inspect.cleandoc(part.value)


def prose(docstring: str) -> Iterator[str]:
    """Yield the paragraphs of English, a line each, without markup; code and headings are left out.

    Example:
        >>> list(prose("Sort by :func:`key`.\\n\\nArgs:\\n    x (int): The number to\\n        begin with."))
        ['The number to begin with.']
    """
    for block in _blocks(docstring):
        text = LINK.sub(r"\1", ROLE.sub(r"\1", block)).replace("``", "`").replace("**", "")
        text = re.sub(r"` (?=[.,;])", "`", " ".join(text.split()))
        letters = sum(c.isalpha() or c in " .,'" for c in text)
        if (
            re.match(r"[A-Z](?:[a-z']*|[A-Z]*) [\w`'\"(]", text)
            and text.endswith((".", "!", "?", ".)"))
            and len(text.split()) >= 5
            and letters >= 0.9 * len(text)
            and not CODE.search(text)
        ):
            yield text


def _blocks(docstring: str) -> Iterator[str]:
    """Split at empty lines, at changes of the indentation and at items of lists."""
    block: list[str] = []
    indent, item = 0, False
    for line in [*docstring.expandtabs().splitlines(), ""]:
        body = line.strip()
        here = len(line) - len(line.lstrip())
        found = ITEM.match(body)
        deeper = item and here > indent
        if not body or found or (here != indent and not deeper):
            if block:
                yield " ".join(block)
            block, indent, item = [], here, bool(found)
        if body:
            block.append(body[found.end() :] if found else body)
