"""The habits of the project: budgets, the direction of imports, one place for versions."""

import ast
import re
import subprocess
import sys
import tomllib
from importlib.metadata import PackageNotFoundError, distributions, packages_distributions, requires, version
from pathlib import Path

import jupytext
import pytest
import yaml
from packaging.requirements import Requirement
from packaging.specifiers import SpecifierSet
from packaging.utils import canonicalize_name
from packaging.version import Version

ROOT = Path(__file__).parents[1]
SOURCES = sorted(ROOT.glob("pioneers/**/*.py"))
TESTS = sorted(ROOT.glob("tests/**/test_*.py"))
FUNCTIONS = ast.FunctionDef | ast.AsyncFunctionDef
CHAIN = {
    "layers": 0, "models": 1, "analysis": 2, "weights": 2, "bench": 2, "checks": 3, "autograder": 4, "cli": 5,
    "__main__": 6,
}  # fmt: skip
GPU_RUNTIME = re.compile(r"nvidia-|cuda-|triton")


def name(path):
    return str(path.relative_to(ROOT))


def functions(path):
    return [node for node in ast.walk(ast.parse(path.read_text())) if isinstance(node, FUNCTIONS)]


def length(function):
    """Lines of a function without its docstring."""
    documented = ast.get_docstring(function) is not None
    docstring = function.body[0].end_lineno - function.body[0].lineno + 1 if documented else 0
    return function.end_lineno - function.lineno + 1 - docstring


def imports(path):
    """Every module a file imports, in full: `from . import x` in pioneers/a/b.py gives pioneers.a.x."""
    package = path.relative_to(ROOT).with_suffix("").parts[:-1]
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = package[: len(package) - node.level + 1] if node.level else ()
            module = ".".join([*base, *([node.module] if node.module else [])])
            yield module
            if module == "pioneers":
                yield from (f"pioneers.{alias.name}" for alias in node.names)


def part(module):
    """The part of `pioneers` a module belongs to, or None: pioneers.layers.norms gives layers."""
    names = module.split(".")
    return names[1] if names[0] == "pioneers" and len(names) > 1 else None


@pytest.mark.parametrize("path", SOURCES, ids=name)
def test_a_file_is_short(path):
    assert len(path.read_text().splitlines()) <= 250


@pytest.mark.parametrize("path", SOURCES, ids=name)
def test_functions_are_short(path):
    long = [f"{f.name}: {length(f)} lines" for f in functions(path) if length(f) > 40]
    longest = max(map(length, functions(path)), default=0)
    allowed = 1 if "# long: " in path.read_text() and longest <= 60 else 0
    assert len(long) <= allowed, f"split {long}, or give the one a line `# long: reason` (60 lines at most)"


@pytest.mark.parametrize("path", [p for p in SOURCES if "layers" in p.parts], ids=name)
def test_layers_have_few_knobs(path):
    constructors = [f for f in functions(path) if f.name == "__init__"]
    knobs = {f.lineno: len(f.args.args) - 1 + len(f.args.kwonlyargs) for f in constructors}
    assert all(count <= 8 for count in knobs.values()), f"constructor arguments by line: {knobs}"


@pytest.mark.parametrize("path", SOURCES, ids=name)
def test_forward_branches_little(path):
    forwards = [f for f in functions(path) if f.name == "forward"]
    branches = {f.lineno: sum(isinstance(n, ast.If | ast.IfExp) for n in ast.walk(f)) for f in forwards}
    assert all(count <= 5 for count in branches.values()), f"branches by line of forward: {branches}"


@pytest.mark.parametrize("path", SOURCES, ids=name)
def test_imports_flow_one_way(path):
    own = part(".".join(path.relative_to(ROOT).with_suffix("").parts))
    used = {part(module) for module in imports(path)} - {None, own}
    rank = CHAIN.get(own, 0.5)  # what is outside the chain may use layers, and never a model
    upward = {other for other in used if CHAIN.get(other, 0.5) > rank}
    assert not upward, f"{own} must not import {upward}"


@pytest.mark.parametrize("path", [p for p in SOURCES if "layers" in p.parts], ids=name)
def test_layers_need_only_torch(path):
    allowed = {"torch", "einops", *sys.stdlib_module_names}
    foreign = {m for m in imports(path) if m.split(".")[0] not in allowed and part(m) != "layers"}
    assert not foreign


@pytest.mark.parametrize("path", SOURCES, ids=name)
def test_only_device_names_the_gpu(path):
    assert path.name == "device.py" or "cuda" not in path.read_text()


def asserts(function, helpers):
    """Whether a test asserts: itself, through pytest.raises or warns, or through a helper that does."""
    for node in ast.walk(function):
        if isinstance(node, ast.Assert):
            return True
        if isinstance(node, ast.Call):
            called = getattr(node.func, "attr", getattr(node.func, "id", ""))
            if called in {"raises", "warns", "fail"} or called.startswith("assert"):
                return True
            if called in helpers and helpers[called] is not function and asserts(helpers[called], {}):
                return True
    return False


@pytest.mark.parametrize("path", TESTS, ids=name)
def test_every_test_asserts(path):
    helpers = {f.name: f for f in functions(path)}
    silent = [f.name for f in functions(path) if f.name.startswith("test") and not asserts(f, helpers)]
    assert not silent


def test_notebooks_are_not_committed():
    tracked = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    assert "pyproject.toml" in tracked
    assert not [file for file in tracked.splitlines() if file.endswith(".ipynb")]


@pytest.fixture(scope="module")
def project():
    return tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]


@pytest.fixture(scope="module")
def pins():
    lines = (ROOT / "constraints.txt").read_text().split()
    assert all(re.fullmatch(r"[\w.-]+==[\w.]+", line) for line in lines), (
        "constraints.txt: name==version only"
    )
    assert "rfc3987-syntax==" not in " ".join(lines), "jsonschema is too new: see CONTRIBUTING.md"
    return {canonicalize_name(line.split("==")[0]): line.split("==")[1] for line in lines}


def requirements(project, *extras):
    """What the package and its extras ask for, extras of extras included."""
    found = [Requirement(line) for line in project["dependencies"]]
    queue, seen = list(extras), set()
    while queue:
        extra = queue.pop()
        asked = [Requirement(line) for line in project["optional-dependencies"][extra]]
        seen.add(extra)
        queue += {e for r in asked if r.name == project["name"] for e in r.extras} - seen
        found += [r for r in asked if r.name != project["name"]]
    return found


EXTRAS = ("data", "grader", "cluster", "book", "labs", "hub", "dev")
INSTALLED = packages_distributions()  # the name of an import → the distributions that may bring it
# What imports more than the package itself needs, and the extra that installs it.
EXTRA = {
    "pioneers/autograder/": "grader",
    "pioneers/bench/": "dev",
    "pioneers/analysis/": "book",
    "pioneers/cli/": "book",
    "pioneers/weights/": "hub",
    "pioneers/data/": "data",
    "pioneers/": None,
    "book/": "book",
    "lectures/": "book",
    "labs/": "labs",
    "experiments/": "dev",
    "tests/": "dev",
    "conftest.py": "dev",
}
MAGIC = re.compile(r"^[%!].*$", re.MULTILINE)


def code(path):
    """The Python in a file: a module's text, or the cells of a page."""
    text = path.read_text()
    if path.suffix == ".py":
        return text
    cells = jupytext.reads(text, fmt="md:myst").cells if "{code-cell}" in text else []
    sources = [cell.source for cell in cells if cell.cell_type == "code"]
    return MAGIC.sub("", "\n".join(source for source in sources if not source.startswith("%%")))


def packages(path, extra):
    """Top-level names of the packages of others that a file imports, each with the extra that installs it."""
    own = {
        "pioneers",
        "tests",
        "experiments",
        *(p.stem for p in [*ROOT.glob("labs/*.py"), *ROOT.glob("book/_ext/*.py")]),
    }
    for node in ast.walk(ast.parse(code(path))):
        modules, named = [], extra
        if isinstance(node, ast.Import):
            modules = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and not node.level:
            modules = [node.module]
        elif isinstance(node, ast.Call) and getattr(node.func, "id", "") == "import_extra":
            if not isinstance(node.args[0], ast.Constant):
                continue  # one of our own modules, by a computed name
            modules, named = [node.args[0].value], node.args[1].value
        for module in modules:
            top = module.split(".")[0]
            if top not in {*sys.stdlib_module_names, *own} and not path.with_name(f"{top}.py").exists():
                yield top, named


PYTHON = [p for p in ROOT.glob("*/**/*.py") if not {"_build", "student", ".venv"} & set(p.parts)]
PAGES = [*ROOT.glob("lectures/*.md"), *ROOT.glob("labs/*/lab.md"), *ROOT.glob("book/*.md")]


@pytest.mark.parametrize("path", sorted([*PYTHON, *PAGES, ROOT / "conftest.py"]), ids=name)
def test_every_import_is_declared(path, project):
    extra = next(extra for folder, extra in EXTRA.items() if name(path).startswith(folder))
    undeclared = {
        (package, f"extra {needed}" if needed else "core")
        for package, needed in packages(path, extra)
        if not {canonicalize_name(distribution) for distribution in INSTALLED.get(package, [])}
        & {canonicalize_name(r.name) for r in requirements(project, *filter(None, [needed]))}
    }
    assert not undeclared, "declare it in pyproject.toml"


def test_the_package_can_be_imported_without_any_extra(project):
    core = {canonicalize_name(Requirement(line).name) for line in project["dependencies"]}
    extras = {canonicalize_name(r.name) for r in requirements(project, *EXTRAS)} - core
    absent = [top for top, names in INSTALLED.items() if {canonicalize_name(n) for n in names} <= extras]
    assert {"sklearn", "PIL", "nbformat", "matplotlib", "transformers"} <= set(absent)
    needs_more = (
        "pioneers/autograder/",
        "pioneers/analysis/plots",
        "pioneers/analysis/interactive",
        "pioneers/cli/grade",
    )
    modules = [
        name(path.parent if path.stem == "__init__" else path.with_suffix("")).replace("/", ".")
        for path in SOURCES
        if not name(path).startswith(needs_more) and path.stem != "__main__"
    ]
    script = (
        f"import importlib, sys\nsys.modules.update(dict.fromkeys({absent!r}))\n"
        f"for module in {modules!r}: importlib.import_module(module)"
    )
    subprocess.run([sys.executable, "-c", script], check=True, cwd=ROOT)


def test_pins_fit_what_the_project_asks_for(project, pins):
    unfit = [
        str(r)
        for r in requirements(project, *EXTRAS)
        if pins.get(canonicalize_name(r.name)) not in r.specifier
    ]
    assert not unfit


def test_pins_install_with_the_oldest_python_the_project_allows(project, pins):
    (floor,) = (part.version for part in SpecifierSet(project["requires-python"]) if part.operator == ">=")
    wanted = {
        d.name: d.metadata.get("Requires-Python") or ""
        for d in distributions()
        if pins.get(canonicalize_name(d.name)) == Version(d.version).public
    }
    assert len(wanted) > 0.9 * len(pins)
    assert not {name: asked for name, asked in wanted.items() if f"{floor}.0" not in SpecifierSet(asked)}


def test_every_package_of_the_environment_is_pinned(project, pins):
    queue, seen = [(r.name, r.extras) for r in requirements(project, *EXTRAS)], set()
    while queue:
        package, extras = queue.pop()
        key = (canonicalize_name(package), *extras)
        try:
            needs = (
                [] if key in seen or GPU_RUNTIME.match(package) else map(Requirement, requires(package) or [])
            )
        except PackageNotFoundError:
            continue  # not for this platform
        seen.add(key)
        for need in needs:
            if need.marker is None or any(need.marker.evaluate({"extra": extra}) for extra in ["", *extras]):
                queue.append((need.name, need.extras))
    packages = {package for package, *_ in seen if not GPU_RUNTIME.match(package)}
    assert {"torch", "jupyter-book", "pytest"} <= packages
    assert sorted(packages - {"setuptools", "pip", *pins}) == []


def test_the_environment_is_the_tested_one(pins):
    different = {}
    for package, pin in pins.items():
        try:
            installed = Version(version(package)).public
        except PackageNotFoundError:
            continue
        if installed != pin:
            different[package] = f"{installed}, tested with {pin}"
    assert not different, "install again: rm -rf .venv, then make test"


def test_conda_gets_the_same_environment(project):
    environment = yaml.safe_load((ROOT / "environment.yml").read_text())
    python = next(d for d in environment["dependencies"] if isinstance(d, str) and d.startswith("python="))
    assert python.removeprefix("python=") == project["requires-python"].removeprefix(">=")
    pip = next(d["pip"] for d in environment["dependencies"] if isinstance(d, dict))
    assert pip == ["-c constraints.txt", "-e .[dev]"]
    assert "-c constraints.txt -e '.[dev]'" in (ROOT / "Makefile").read_text()
    assert {str(r) for r in requirements(project, "dev")} == {str(r) for r in requirements(project, *EXTRAS)}


def test_the_citation_names_this_version(project):
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text())
    assert citation["version"] == project["version"]
