"""Keys change with what their code depends on, and with nothing else."""

import ast
import shutil
import sys
from pathlib import Path

import jupytext
import pytest

from pioneers.autograder import single
from pioneers.keys import Sources, commands_of

ROOT = Path(__file__).parents[1]
MODULES = sorted((ROOT / "pioneers").rglob("*.py"))
RESULTS = sorted((ROOT / "pioneers" / "results").glob("*.json"))
BANKS = sorted(path.parent for path in (ROOT / "labs").glob("*/lab.md"))
# Quiet at import: what such statements do is seen only by those who use the name.
DEFINING = (ast.Import, ast.ImportFrom, ast.FunctionDef, ast.ClassDef, ast.Assign, ast.AnnAssign)
ONLY_FOR = {"TYPE_CHECKING", "__name__ == '__main__'"}
COMPUTED = {
    "pioneers/autograder/jailed/forks.py": 1,
    "pioneers/cli/commands.py": 1,
    "pioneers/cli/doctor.py": 1,
    "pioneers/extras.py": 1,
}  # imports of names that are computed


def cells(page):
    notebook = jupytext.read(page, fmt="md:myst")
    return [cell.source for cell in notebook.cells if cell.cell_type == "code"]


PAGES = {
    f"{page.parent.name}/{page.stem}": cells(page)
    for page in sorted([*ROOT.glob("lectures/*.md"), *ROOT.glob("book/*.md")])
    if "{code-cell}" in page.read_text()
}


@pytest.fixture(scope="module")
def files():
    """The files that each page depends on."""
    sources = Sources(ROOT)
    return {name: {str(path.relative_to(ROOT)) for path in sources.files(*PAGES[name])} for name in PAGES}


@pytest.fixture
def copy(tmp_path):
    """A copy of the package, to be edited."""
    shutil.copytree(ROOT / "pioneers", tmp_path / "pioneers", ignore=shutil.ignore_patterns("__pycache__"))
    return tmp_path


def keys(root):
    sources = Sources(root)
    return {name: sources.key(*codes) for name, codes in PAGES.items()}


def changed(root, file):
    """The pages whose key is another one after an edit."""
    before = keys(root)
    with (root / file).open("a") as text:
        text.write("\n")
    after = keys(root)
    return {name for name in PAGES if before[name] != after[name]}


@pytest.fixture(scope="module")
def reader():
    """The files that count for whoever reads folders of weights."""
    return Sources(ROOT).files("from pioneers.weights import from_pretrained")


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(ROOT)))
def test_a_module_only_defines_names_when_it_is_imported(path, reader):
    body = [node for node in ast.parse(path.read_text()).body if not isinstance(node, DEFINING)]
    body = [n for n in body if not (isinstance(n, ast.If) and ast.unparse(n.test) in ONLY_FOR)]
    documented = [
        node for node in body if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
    ]
    registered = [node for node in body if ast.unparse(node).startswith(("register(", "register_kind("))]
    if registered:  # whoever reads folders imports these files by name, so that they count
        assert path in reader
    assert set(body) == {*documented, *registered} or path.name == "__main__.py"


def test_no_module_is_imported_by_a_name_that_the_walk_cannot_read():
    found = {}
    for path in MODULES:
        for node in ast.walk(ast.parse(path.read_text())):
            name = (
                getattr(node.func, "attr", getattr(node.func, "id", "")) if isinstance(node, ast.Call) else ""
            )
            if name in {"import_module", "__import__"} and not isinstance(node.args[0], ast.Constant):
                file = str(path.relative_to(ROOT))
                found[file] = found.get(file, 0) + 1
    assert found == COMPUTED


def test_a_vit_concerns_no_page_about_gpt_alone(copy):
    again = changed(copy, "pioneers/models/vit.py")
    assert {"lectures/13_vit", "lectures/13_vit_evidence", "book/parameter_counts"} <= again
    assert not {"lectures/09_in_context_deeper", "lectures/05_block"} & again


def test_layers_concern_the_pages_that_use_them(copy):
    again = changed(copy, "pioneers/layers/attention.py")
    assert {name for name in PAGES if name.startswith("lectures/")} - again == {
        "lectures/07_tokenization",
        "lectures/07_tokenization_deeper",
        "lectures/11_electra_deeper",
    }


def test_the_autograder_concerns_no_lecture_and_only_the_pages_that_quote_it(files):
    (grader,) = {path.parent for path in MODULES if path.name == "self_test.py"}
    inside = str(grader.relative_to(ROOT))
    quoting = {name for name in PAGES if any(file.startswith(inside) for file in files[name])}
    assert quoting == {"book/guide_students", "book/command_line"}  # its limits, and whether it has a jail


@pytest.mark.parametrize("path", RESULTS, ids=lambda path: path.stem)
def test_results_concern_the_pages_that_name_them(files, path):
    reading = {name for name, codes in PAGES.items() if any("experiment(" in code for code in codes)}
    naming = {name for name in reading if any(f'"{path.stem}"' in code for code in PAGES[name])}
    naming |= {
        name
        for name in PAGES
        if path.stem == "growing_model" and any("growing_model(" in c for c in PAGES[name])
    }
    assert {name for name in PAGES if str(path.relative_to(ROOT)) in files[name]} == naming


def test_results_that_are_chosen_at_run_time_are_all_of_them():
    found = Sources(ROOT).files("from pioneers.analysis import experiment\nexperiment(input())")
    assert set(RESULTS) <= found


def test_data_count_where_they_are_named(files):
    weights = "pioneers/weights/bert_documents/model.safetensors"
    assert weights in files["lectures/10_bert"]
    assert weights not in files["lectures/09_in_context_deeper"]


def test_versions_count(copy):
    before = Sources(copy).key("x = 1")
    (copy / "constraints.txt").write_text("torch==2.0\n")
    assert Sources(copy).key("x = 1") != before
    assert Sources(copy).key("x = 2") == Sources(copy).key("x = 1")  # the text itself is the cache's to see


@pytest.fixture
def release(monkeypatch):
    monkeypatch.syspath_prepend(ROOT / "labs")
    import release

    yield release
    sys.modules.pop("release")


@pytest.fixture
def labs(copy, release, monkeypatch):
    """A copy of the labs too; gives the keys of each lab's reference and of its student version."""
    shutil.copytree(ROOT / "labs", copy / "labs", ignore=shutil.ignore_patterns("student", "__pycache__"))
    monkeypatch.setattr(release, "ROOT", copy)
    monkeypatch.setattr(release, "LABS", copy / "labs")

    def keys():
        package = Sources(copy)
        return {
            path.parent.name: (release.reference_key(path, package), release.student_key(path))
            for path in release.sources()
        }

    return keys


def test_a_hint_concerns_its_own_lab_alone(copy, labs):
    before = labs()
    lab = copy / "labs" / "05_bert" / "lab.md"
    text = lab.read_text()
    lab.write_text(text.replace("<summary>Hint 1 of", "<summary>Hint number 1 of", 1))
    assert lab.read_text() != text
    after = labs()
    assert {name for name in before if before[name] != after[name]} == {"05_bert"}
    assert all(mine != theirs for mine, theirs in zip(before["05_bert"], after["05_bert"], strict=True))


def test_an_exercise_concerns_its_own_lab_alone(copy, labs):
    before = labs()
    (file,) = [path for path in copy.rglob("*.py") if path.name == "label.py"]
    file.write_text(file.read_text() + "\n")
    assert {name for name, keys in labs().items() if keys != before[name]} == {"05_bert"}


def test_the_autograder_concerns_no_lab_and_no_students_version(copy, labs):
    before = labs()
    (file,) = [path for path in copy.rglob("*.py") if path.name == "self_test.py"]
    for module in file.parent.glob("*.py"):
        module.write_text(module.read_text() + "\n")
    assert labs() == before


def test_a_grade_depends_on_its_own_lab_and_on_no_other(monkeypatch):
    files = set()

    def key(self, *codes, beside=()):
        files.update(beside, self.files(*codes))
        return "key"

    monkeypatch.setattr(Sources, "key", key)
    single._checks.__wrapped__(frozenset({"5.7"}))
    assert {"serve.py", "judge.py", "label.py"} <= {path.name for path in files}
    assert {path.parent for path in files} & set(BANKS) == {ROOT / "labs" / "05_bert"}
    others = {path.parent.name for path in files if path.parent.parent.name == "labs"} - {"05_bert"}
    assert not others


def test_commands_in_shell_cells_count():
    assert set(commands_of("%%bash\npioneers train gpt\n")) == {
        ("pioneers.cli", "main"),
        ("pioneers.cli.train", "*"),
    }
    assert not set(commands_of("print('pioneers train')"))
    files = {path.name for path in Sources(ROOT).files("!pioneers generate runs/gpt")}
    assert {"commands.py", "generate.py"} <= files
    assert "grade.py" not in files
