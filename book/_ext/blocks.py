"""The blocks of a page's text, from which reading time, clean notebooks and the tests of the text are made.

Only as much of MyST as the book uses, line by line.
"""

import re
from collections.abc import Iterator
from typing import NamedTuple

import yaml

FENCE = re.compile(r"( *)(`{3,}(?!.*`)|:{3,}|~{3,})(?:\{([\w:-]+)\})? *(.*)$")
OPTION = re.compile(r":([\w-]+):(?: (.*))?$")
ITEM = re.compile(r" *([-*+]|\d+[.)]) ")
ROLE = re.compile(r"(?<![`\\])\{([a-z][a-z:]*)\}`([^`]+)`")
TARGET = re.compile(r"(.*?)\s*<([^<>]+)>", re.DOTALL)
MATH = re.compile(r"(?<![\\$])\$(?!\$)((?:\\.|[^$\\])+)\$")
CODE = re.compile(r"(?<![`}])(`+)(?!`)(.+?)(?<!`)\1(?!`)", re.DOTALL)
COMMENT = re.compile(r"<!--.*?-->", re.DOTALL)


class Block(NamedTuple):
    """A piece of a page.

    Attributes:
        kind: ``text`` (a paragraph, an item of a list or a heading), ``table``, ``math``, ``code``,
            ``label``, ``comment``, ``blank``, or ``directive``.
        text: its lines; of a directive its body, without options; of a formula the TeX.
        name: of the directive; the label of a formula or a section; the language of code.
        argument: of the directive.
        options: of the directive.
        indent: spaces before a block in an item of a list.
    """

    kind: str
    text: str
    name: str = ""
    argument: str = ""
    options: dict[str, str] = {}  # noqa: RUF012 (never changed)
    indent: str = ""

    @property
    def folded(self) -> bool:
        """Whether readers see it only after they have opened it."""
        return self.name == "dropdown" or "dropdown" in self.options.get("class", "").split()


def parse(text: str) -> list[Block]:
    """The blocks of a page, or of the body of a directive."""
    lines, found, place = text.split("\n"), [], 0
    while place < len(lines):
        block, place = next_block(lines, place)
        found.append(block)
    return found


def walk(text: str, folded: bool = True) -> Iterator[Block]:
    """The blocks of a text and those in its directives; without ``folded``, only what is seen at once."""
    for block in parse(text):
        if folded or not block.folded:
            yield block
            if block.kind == "directive":
                yield from walk(block.text, folded)


def next_block(lines, place):
    line = lines[place]
    fence = FENCE.match(line)
    if not line.strip():
        return Block("blank", ""), place + 1
    if fence:
        return fenced(fence, lines, place)
    if line.lstrip().startswith("$$"):
        return formula(lines, place)
    if label := re.fullmatch(r"\(([\w-]+)\)=", line):
        return Block("label", line, label[1]), place + 1
    if line.startswith(("% ", "<!--")):
        end = place + 1
        while line.startswith("<!--") and "-->" not in "\n".join(lines[place:end]):
            end += 1
        return Block("comment", "\n".join(lines[place:end])), end
    kind, end = "table" if line.lstrip().startswith("|") else "text", place + 1
    while end < len(lines) and not line.startswith("#") and continues(lines[end], kind):
        end += 1
    return Block(kind, "\n".join(lines[place:end])), end


def continues(line, kind):
    """Whether a line belongs to the paragraph or the table before it."""
    table = line.lstrip().startswith("|")
    if kind == "table" or table:
        return table and kind == "table"
    begins = FENCE.match(line) or ITEM.match(line) or line.startswith("#") or line.lstrip().startswith("$$")
    return bool(line.strip()) and not begins


def fenced(fence, lines, place):
    """A directive or a block of code, up to the line that closes it."""
    indent, ticks, name, argument = fence.groups()
    closing = re.compile(rf" *{ticks[0]}{{{len(ticks)},}} *$")
    end = next(n for n in range(place + 1, len(lines) + 1) if n == len(lines) or closing.match(lines[n]))
    body = [line.removeprefix(indent) for line in lines[place + 1 : end]]
    if not name:
        return Block("code", "\n".join(body), argument.strip(), indent=indent), end + 1
    options, body = options_of(body)
    return Block("directive", "\n".join(body), name, argument.strip(), options, indent), end + 1


def options_of(body):
    """The options at the beginning of a directive, and its other lines."""
    if body[:1] == ["---"]:
        end = body.index("---", 1)
        return yaml.safe_load("\n".join(body[1:end])) or {}, body[end + 1 :]
    number = next((n for n, line in enumerate(body) if not OPTION.match(line)), len(body))
    return {key: value or "" for key, value in (OPTION.match(line).groups() for line in body[:number])}, body[
        number:
    ]


def formula(lines, place):
    """A displayed formula and its label."""
    indent = lines[place][: len(lines[place]) - len(lines[place].lstrip())]
    end = place + 1
    while "\n".join(lines[place:end]).count("$$") < 2:
        end += 1
    _, tex, rest = "\n".join(line.removeprefix(indent) for line in lines[place:end]).split("$$")
    return Block("math", tex.strip(), rest.strip(" ()"), indent=indent), end


def split_role(content: str) -> tuple[str, str]:
    """The words and the target of a role; the words are empty where it has only a target."""
    match = TARGET.fullmatch(content)
    return (match[1], match[2]) if match else ("", content)
