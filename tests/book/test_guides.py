"""The guides name what there is: every flag of the grader, every command, option and file."""

import ast
import re
from pathlib import Path

import jupytext
import pytest
import yaml
from nbgrader.apps.nbgraderapp import NbGraderApp

from pioneers.checks.judge import STAGES
from pioneers.cli import grade as command
from pioneers.cli.commands import COMMANDS
from pioneers.cli.parser import Parser

ROOT = Path(__file__).parents[2]
STUDENTS, INSTRUCTORS = (ROOT / f"book/guide_{name}.md" for name in ("students", "instructors"))
BOTH = [STUDENTS, INSTRUCTORS]
GRADER = sorted((ROOT / "pioneers/autograder").glob("*.py"))
TARGETS = set(re.findall(r"^(\w+):", (ROOT / "Makefile").read_text(), re.MULTILINE))


def prose(page):
    """The text of a page without its code cells."""
    return re.sub(r"^```\{code-cell\}.*?^```$", "", page.read_text(), flags=re.MULTILINE | re.DOTALL)


def spoken(page):
    """What the page says in code: the lines of its blocks, and the words in backticks."""
    blocks = re.findall(r"^```sh\n(.*?)^```$", prose(page), re.MULTILINE | re.DOTALL)
    return [line for block in blocks for line in block.splitlines()] + re.findall(r"`([^`\n]+)`", prose(page))


def kinds():
    """The kinds of flags that the grader's code raises."""
    calls = [node for file in GRADER for node in ast.walk(ast.parse(file.read_text()))]
    flags = [node for node in calls if isinstance(node, ast.Call) and getattr(node.func, "id", "") == "Flag"]
    return {ast.literal_eval(flag.args[0]) for flag in flags}


def section(page, anchor):
    return re.split(r"^\([\w-]+\)=$", page.read_text().split(f"({anchor})=")[1], flags=re.MULTILINE)[0]


def first_column(text):
    """The words in backticks that begin the rows of the tables in a text."""
    return re.findall(r"^\| `([^`]+)`", text, re.MULTILINE)


def options_of_grade():
    parser = Parser(prog="pioneers grade")
    command.add_arguments(parser)
    return {name for action in parser._actions for name in action.option_strings} - {"-h", "--help"}


def test_the_flags_are_those_that_the_grader_raises():
    listed = first_column(section(INSTRUCTORS, "guide-instructors-flags"))
    assert len(listed) == len(set(listed))
    assert set(listed) == kinds()


def test_the_options_are_those_of_the_command():
    listed = [row.split()[0] for row in first_column(section(INSTRUCTORS, "guide-instructors-grade"))]
    assert {option for option in listed if option.startswith("--")} == options_of_grade()


@pytest.mark.parametrize("page", BOTH, ids=lambda page: page.stem)
def test_every_command_exists(page):
    words = [re.sub(r"^\S*[/\\]", "", said).split() for said in spoken(page)]
    named = {
        (word[0], word[1]) for word in words if len(word) > 1 and word[0] in ("make", "pioneers", "nbgrader")
    }
    known = {"make": TARGETS, "pioneers": set(COMMANDS), "nbgrader": set(NbGraderApp().subcommands)}
    assert named
    assert not [(program, verb) for program, verb in named if verb not in known[program]]


@pytest.mark.parametrize("page", BOTH, ids=lambda page: page.stem)
def test_every_option_exists(page):
    nbgrader = NbGraderApp().subcommands
    unknown = []
    for said in spoken(page):
        program, *words = re.sub(r"^\S*[/\\]", "", said).split() or [""]
        options = [word for word in words if re.match("--[a-z]", word)]
        if program == "nbgrader":
            known = {f"--{flag}" for flag in nbgrader[words[0]][0].flags} if options else set()
        elif program == "pioneers" or program.startswith("--"):
            options, known = [word for word in (program, *options) if word[0] == "-"], options_of_grade()
        else:
            continue
        unknown += [(said, option) for option in options if option not in known]
    assert not unknown


@pytest.mark.parametrize("page", BOTH, ids=lambda page: page.stem)
def test_every_file_of_the_project_exists(page):
    paths = [said for said in spoken(page) if re.fullmatch(r"(labs|tests|book|pioneers)/[\w/]+\.\w+", said)]
    assert paths or page == STUDENTS
    assert not [path for path in paths if not (ROOT / path).is_file()]


def test_the_stages_are_told_in_their_order():
    told = re.search(r"fixed order: (.*?);", " ".join(prose(STUDENTS).split()))[1].split(", ")
    assert told == ["exists", "signature", *STAGES]


def test_the_plan_names_every_chapter():
    chapters = {int(name) for name in re.findall(r"file: lectures/(\d+)_", (ROOT / "_toc.yml").read_text())}
    cells = [cell.source for cell in jupytext.read(INSTRUCTORS).cells if cell.source.startswith("PLAN")]
    plan = ast.literal_eval(cells[0].partition("=")[2].strip())
    assert [row[0] for row in plan if row[0]] == sorted(chapters)
    assert len(plan) == 15


def test_both_are_in_the_book():
    toc = yaml.safe_load((ROOT / "_toc.yml").read_text())
    files = [page["file"] for part in toc["parts"] for page in part["chapters"]]
    assert {"book/guide_students", "book/guide_instructors"} <= set(files)
