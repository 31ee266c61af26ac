"""The API reference is complete: every public name is in it and says what its user must know.

Everything is read from the sources, nothing is imported, so that no definition can hide behind a decorator.
"""

import ast
import re
import subprocess
import sys
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGES = sorted(ROOT.glob("book/api/*.md"))
ELSEWHERE = {"__main__", "cli", "bench", "keys", "progress"}  # commands and plumbing, not imported by readers
FUNCTIONS = ast.FunctionDef | ast.AsyncFunctionDef
DEFINITIONS = FUNCTIONS | ast.ClassDef
DIRECTIVE = re.compile(r"^\.\. (currentmodule|auto\w+):: (\S+)(\n   :no-members:)?", re.MULTILINE)


def module_name(path):
    names = path.relative_to(ROOT).with_suffix("").parts
    return ".".join(names[:-1] if names[-1] == "__init__" else names)


MODULES = {module_name(path): path for path in sorted(ROOT.glob("pioneers/**/*.py"))}


@cache
def tree(module):
    return ast.parse(MODULES[module].read_text())


def exported(module):
    """The names in ``__all__``; without it, what the module defines and does not hide."""
    for node in tree(module).body:
        if isinstance(node, ast.Assign) and getattr(node.targets[0], "id", "") == "__all__":
            return ast.literal_eval(node.value)
    return [node.name for node in tree(module).body if isinstance(node, DEFINITIONS) and node.name[0] != "_"]


def find(module, name):
    """The definition of ``name``, which the module defines or imports; None where it is a module."""
    for node in ast.walk(tree(module)):
        if isinstance(node, DEFINITIONS) and node.name == name and node in tree(module).body:
            return node
        if isinstance(node, ast.ImportFrom) and name in [alias.name for alias in node.names]:
            return None if node.module == module else find(node.module, name)
    raise AssertionError(f"{module} neither defines nor imports {name!r}")


def described():
    """What the pages of the reference describe, as (module, name)."""
    for page in PAGES:
        module = ""
        for directive, name, bare in DIRECTIVE.findall(page.read_text()):
            module = name if directive.endswith("module") else module
            if directive == "automodule":
                yield from ((module, member) for member in ([] if bare else exported(module)))
            elif directive != "currentmodule":
                yield module, name


DESCRIBED = {(module, name): find(module, name) for module, name in described()}


def definitions():
    """Every definition that the reference shows, under its name: functions, classes, methods."""
    for (_, name), node in DESCRIBED.items():
        yield name, node
        for method in node.body if isinstance(node, ast.ClassDef) else ():
            if isinstance(method, FUNCTIONS) and method.name[0] != "_":
                yield f"{name}.{method.name}", method


def is_record(node):
    """Whether a class only holds named fields, or only says which ones another must have."""
    if not isinstance(node, ast.ClassDef):
        return False
    makers = " ".join(map(ast.unparse, [*node.bases, *node.decorator_list]))
    return re.search("NamedTuple|dataclass|Protocol", makers) is not None


def parameters(node):
    """The names a caller may give: a function's arguments, or those of a class's constructor."""
    if isinstance(node, ast.ClassDef):
        for method in node.body:
            if isinstance(method, FUNCTIONS) and method.name == "__init__":
                return parameters(method)
        fields = [field for field in node.body if isinstance(field, ast.AnnAssign)]
        names = [field.target.id for field in fields if "ClassVar" not in ast.unparse(field.annotation)]
        return names if is_record(node) else []
    given = node.args
    every = [*given.posonlyargs, *given.args, *given.kwonlyargs, given.vararg, given.kwarg]
    return [argument.arg for argument in every if argument and argument.arg not in ("self", "cls")]


def raised(node):
    """The names of the exceptions that a definition's own code raises."""
    if isinstance(node, ast.ClassDef):
        own = [method for method in node.body if getattr(method, "name", "") in ("__init__", "__post_init__")]
        return {name for method in own for name in raised(method)}
    calls = [inner.exc for inner in ast.walk(node) if isinstance(inner, ast.Raise)]
    names = {ast.unparse(call.func) for call in calls if isinstance(call, ast.Call)}
    return {name for name in names if name[0].isupper()}  # the others are functions that make an error


def says(docstring, parameter):
    """Whether a docstring explains a parameter: in its list, in its text, or by naming who explains it."""
    listed = rf"^ +(\w+, )*{parameter}(, \w+)*: \S"
    in_text = rf"``[^`]*\b{parameter}\b[^`]*``"
    if re.search(f"{listed}|{in_text}", docstring, re.MULTILINE):
        return True
    lenders = re.findall(r"arguments [\w\s]*are\s+those\s+of\s+:func:`(\w+)`", docstring)
    lent = [node for (_, name), node in DESCRIBED.items() if name in lenders]
    return any(says(ast.get_docstring(node), parameter) for node in lent)


def test_every_page_is_in_the_book():
    toc = (ROOT / "_toc.yml").read_text()
    assert PAGES
    assert not [page.name for page in PAGES if f"file: book/api/{page.stem}\n" not in toc]


def test_every_exported_name_is_in_the_reference():
    parts = [name for name in MODULES if name.count(".") <= 1 and name.split(".")[-1] not in ELSEWHERE]
    public = {(module, name) for module in parts for name in exported(module)}
    assert len(public) > 100
    missing = {f"{module}.{name}" for module, name in public - DESCRIBED.keys() if find(module, name)}
    assert not missing, "enter each in its page in book/api/, as `.. autofunction::` or `.. autoclass::`"


def test_every_name_has_its_place_in_the_built_book(html):
    text = "".join((html / "book" / "api" / f"{page.stem}.html").read_text() for page in PAGES)
    assert not [f"{module}.{name}" for module, name in DESCRIBED if f'id="{module}.{name}"' not in text]
    assert "upperalpha" not in text, "an argument explained by a letter has become an enumeration"


def test_no_name_is_described_twice():
    names = [f"{module}.{name}" for module, name in described()]
    assert len(names) == len(set(names))


def test_every_definition_has_a_docstring():
    assert not [name for name, node in definitions() if not ast.get_docstring(node)]


def test_every_argument_is_explained():
    silent = {}
    for name, node in definitions():
        missing = [p for p in parameters(node) if not says(ast.get_docstring(node), p)]
        if missing and ("." not in name or len(parameters(node)) > 1):
            silent[name] = missing
    assert not silent, "explain each under `Args:`, or name it in the text in double backticks"


def test_every_exception_is_announced():
    silent = {}
    for name, node in definitions():
        raises = re.search(r"^Raises:\n(( .*)?\n?)*", ast.get_docstring(node), re.MULTILINE)
        missing = [error for error in raised(node) if f"{error}:" not in (raises[0] if raises else "")]
        if missing:
            silent[name] = missing
    assert not silent, "say under `Raises:` when it happens"


def test_every_name_is_used_by_an_example_or_a_test():
    tests = "\n".join(path.read_text() for path in ROOT.glob("tests/**/*.py") if path != Path(__file__))
    unused = [
        name
        for (_, name), node in DESCRIBED.items()
        if not is_record(node)
        and ">>> " not in ast.get_docstring(node)
        and not re.search(rf"\b{name}\b", tests)
    ]
    assert not unused


def examples():
    """Every docstring with an example: module and name → its text."""
    for module in MODULES:
        places = [(module, tree(module))]
        for name, node in places:
            if ">>> " in (ast.get_docstring(node) or ""):
                yield name, ast.get_docstring(node)
            inside = [inner for inner in node.body if isinstance(inner, DEFINITIONS)]
            places += [(f"{name}.{inner.name}", inner) for inner in inside]


def test_examples_are_short_and_hide_nothing():
    long = [name for name, text in examples() if len(re.findall(r"^ *(>>>|\.\.\.) ", text, re.M)) > 6]
    assert not long
    assert not [name for name, text in examples() if "doctest:" in text]


def test_every_example_runs():
    """pytest finds every example there is, so that `make test` runs it."""
    pytest.importorskip("torch")
    command = [sys.executable, "-m", "pytest", "--doctest-modules", "--collect-only", "-q", "pioneers"]
    listing = subprocess.run(command, cwd=ROOT, capture_output=True, text=True).stdout
    found = set(re.findall(r"^pioneers/\S+\.py::(\S+)$", listing, re.MULTILINE))
    assert found == {name for name, _ in examples()}


def test_every_paper_is_in_the_references():
    bibliography = (ROOT / "book/references.bib").read_text()
    assert ":all:" in (ROOT / "book/references.md").read_text()
    docstrings = [ast.get_docstring(tree(module)) or "" for module in MODULES]
    docstrings += [ast.get_docstring(node) for _, node in definitions()]
    cited = re.findall(r"(\w+)\s+(?:et\s+al\.|&\s+\w+)\s+(\d{4})", "\n".join(docstrings))
    assert len(cited) > 30
    assert not [f"{name} {year}" for name, year in cited if f"{{{name.lower()}{year}," not in bibliography]


def test_every_foreign_model_is_listed():
    architectures, tables = set(), set()
    for path in (ROOT / "pioneers/weights").glob("*.py"):
        source = path.read_text()
        if re.search(r"^TENSORS\b", source, re.MULTILINE):
            tables.add(path.stem)
            families = "Albert|Bart|Bert|CLIP|Deberta|DeiT|DistilBert|Electra|GPT2|Llama"
            families += "|Mixtral|Qwen3|Roberta|Swin|ViT|XLNet"
            names = re.findall(rf"\"((?:{families})\w+)\"", source)
            architectures |= set(names) - {"ViTImageProcessor"}
    assert {"GPT2LMHeadModel", "BertForTokenClassification", "ViTModel"} <= architectures
    assert {"gpt2", "vit_timm"} <= tables
    page = (ROOT / "book/api/weights.md").read_text()
    rows = re.findall(r"^\| `(\w+)` \| .*?, `(\w+)`", page, re.MULTILINE)
    assert {file for file, _ in rows} == tables
    tables_only = ("_timm", "_torchvision", "detr")  # whose weights are read without a configuration
    stored = {name for file, name in rows if not file.endswith(tables_only)}
    assert stored == architectures | {"GPT2Model"}


def test_the_quick_start_runs(capsys):
    pytest.importorskip("torch")
    page = (ROOT / "book/api/index.md").read_text()
    source = re.search(r"^```python\n(.*?)^```$", page, re.MULTILINE | re.DOTALL)[1]
    assert len([line for line in source.splitlines() if line]) <= 10
    assert "max_steps=500" in source
    exec(source.replace("max_steps=500", "max_steps=51"), {})
    assert len(capsys.readouterr().out) > 60
