"""Slides from a page, by rule: what one looks at is on the slide, what one reads is in the speaker's notes.

- A slide has a section's title and, in the page's order, its figures, tables, formulas, lists, visible cells,
  quizzes and predictions. What is too much for one slide goes on below it, under the same title.
- Of a paragraph, a slide shows the first sentence of a section, sentences with a term or a lead in bold, and
  one that ends with a colon before what it announces. The paragraph itself is a note.
- What a reader has to open (solutions, answers, folded code) is never on a slide. The reasons of
  a quiz are notes.
"""

import re
from itertools import pairwise

from details import Details
from docutils import nodes
from myst_nb.sphinx_ import HideCodeCellNode
from sphinx.addnodes import toctree
from sphinx_design.dropdown import dropdown_main, dropdown_title

ROOM, FIGURE, LINE, CODE = 560, 400, 40, 26  # pixels: below a title, of a figure, of lines of text and code
WIDTH = 76  # characters of a line of text
WORDS = (nodes.paragraph, nodes.bullet_list, nodes.enumerated_list, nodes.Admonition)
SHORTEST, LONGEST = 45, 230  # characters of a sentence; a shorter one brings the next with it
LINES, COLUMNS = 17, 92  # of code or output on one slide
END = re.compile(r"(?<![( ]al\.)(?<!Fig\.)(?:(?<=[.!?])|(?<=[.!?][)”’]))\s+(?=[^a-z\s]|$)")


class Piece:
    """Something that stays together on a slide: what is shown, how high it is, and what is said.

    One with a ``title`` of its own, or that is ``alone``, begins a new slide.
    """

    def __init__(self, shown, height=0, said=(), alone=False, title=None):
        self.shown, self.height, self.said = list(shown), height, list(said)
        self.alone, self.title = alone or title is not None, title


def sentences(paragraph):
    """The sentences of a paragraph, each as a list of nodes."""
    found = [[]]
    for child in paragraph.children:
        if isinstance(child, nodes.Text):
            before = found[-1][-1].astext() if found[-1] else ""
            parts = END.split(before[-2:] + child.astext())
            parts[0] = parts[0][len(before[-2:]) :]
            for place, part in enumerate(parts):
                if place:
                    found.append([])
                if part:
                    found[-1].append(nodes.Text(part))
        else:
            found[-1].append(child.deepcopy())
    return [sentence for sentence in found if sentence]


def copies(node):
    return [child.deepcopy() for child in node.children]


def length(sentence):
    return sum(len(node.astext()) for node in sentence)


def lines_high(text):
    return LINE * -(-len(text) // WIDTH) + 8


def text_piece(paragraph, announces, first):
    """A paragraph: its key sentences, if it has any."""
    parts, shown = sentences(paragraph), []
    while parts:
        sentence = parts.pop(0)
        key = (first and not shown) or (announces and not parts)
        if key or any(isinstance(node, nodes.strong) for node in sentence):
            if length(sentence) < SHORTEST and parts:
                sentence += [nodes.Text(" "), *parts.pop(0)]
            if first or length(sentence) <= LONGEST:
                shown.append(nodes.paragraph("", "", *sentence, classes=["line"]))
    return Piece(shown, sum(lines_high(part.astext()) for part in shown), [paragraph.deepcopy()])


def short_item(item):
    """An item of a list, cut to its first sentence if it is long; and all of it, if it was cut."""
    first = item.next_node(nodes.paragraph)
    if len(item.astext()) <= LONGEST or first is None:
        return item.deepcopy(), []
    shown, *others = sentences(first)
    if length(shown) < SHORTEST and others:
        shown += [nodes.Text(" "), *others[0]]
    return nodes.list_item("", nodes.paragraph("", "", *shown)), copies(item)


def list_pieces(listed):
    """A list; item by item, if it is too long for one slide."""
    items = [short_item(item) for item in listed.children]
    heights = [lines_high(item.astext()) for item, _ in items]
    size = len(items) if sum(heights) <= ROOM else 1
    for start in range(0, len(items), size):
        part = listed.copy()
        part["ids"], part["start"] = [], listed.get("start", 1) + start
        part += [item for item, _ in items[start : start + size]]
        said = [note for _, notes in items[start : start + size] for note in notes]
        yield Piece([part], sum(heights[start : start + size]), said)


def code_parts(text):
    """The lines of a cell in parts of at most so many, divided at empty lines where possible."""
    rows = text.rstrip().split("\n")
    while len(rows) > LINES:
        empty = [n for n in range(LINES // 3, LINES + 1) if not rows[n].strip()]
        end = empty[-1] if empty else LINES
        yield rows[:end]
        rows = rows[end:]
        while rows and not rows[0].strip():
            rows = rows[1:]
    yield rows


def code_pieces(block):
    for rows in code_parts(block.astext()):
        part = block.copy()
        part += nodes.Text("\n".join(rows))
        part.rawsource = part.astext()
        part["classes"] += ["wide"] * (max(map(len, rows)) > COLUMNS)
        yield Piece([part], CODE * sum(1 + len(row) // 120 for row in rows) + 24)


def cell_pieces(cell):
    """A cell: its code and what it gave, without what is folded."""
    if cell.get("hide_mode") == "all":
        return
    for part in cell.children:
        if not isinstance(part, HideCodeCellNode):
            for child in part.children:
                yield from pieces_of(child)


def figure_piece(figure):
    """A figure with the first sentence of its caption."""
    shown, said = figure.deepcopy(), []
    for caption in shown.findall(nodes.caption):
        said = [nodes.paragraph("", "", *copies(caption))]
        caption.children = []
        caption += sentences(said[0])[0]
    return Piece([shown], FIGURE, said)


def table_pieces(table):
    """A table; some rows at a time under its head, if it is too long for one slide."""
    rows = table.next_node(nodes.tbody).children
    width = 100 // len(rows[0])
    heights = [20 + 30 * max(-(-len(entry.astext()) // width) for entry in row) for row in rows]
    count = -(-sum(heights) // (ROOM - 80))
    size = -(-len(rows) // count)
    for start in range(0, len(rows), size):
        part = table.deepcopy()
        body = part.next_node(nodes.tbody)
        body.children = body.children[start : start + size]
        yield Piece([part], sum(heights[start : start + size]) + 80)


def quiz_piece(quiz):
    """A question and its choices; the reasons are notes."""
    choices, said = nodes.enumerated_list(enumtype="upperalpha", prefix="", suffix="."), []
    for choice in quiz.findall(dropdown_main):
        words = copies(choice.next_node(dropdown_title).next_node(nodes.inline))
        choices += nodes.list_item("", nodes.paragraph("", "", *words))
        said += [nodes.paragraph("", "", nodes.strong("", "", *copies(choices[-1][0]))), *copies(choice[-1])]
    question, *others = [child.deepcopy() for child in quiz if not isinstance(child, dropdown_main)]
    return Piece([*others, *[choices] * bool(len(choices))], ROOM, said, title=question)


def box_piece(box):
    """A prediction or another box; what is folded is a note."""
    if "dropdown" in box["classes"] or "exercise" in box["classes"]:
        return Piece([], said=copies(box)[1:])
    if "quiz" in box["classes"]:
        return quiz_piece(box)
    return Piece([box.deepcopy()], ROOM, alone=True)


def pieces_of(node, announces=False, first=False):
    """What a slide shows of a node of the page, and what is said to it."""
    if isinstance(node, nodes.paragraph):
        return [] if "page-times" in node["classes"] else [text_piece(node, announces, first)]
    if isinstance(node, (nodes.bullet_list, nodes.enumerated_list)):
        return list_pieces(node)
    if isinstance(node, nodes.literal_block):
        return code_pieces(node)
    if isinstance(node, nodes.figure):
        return [figure_piece(node)]
    if isinstance(node, nodes.math_block):
        return [Piece([node.deepcopy()], 80 + 50 * node.astext().count(r"\\"))]
    if isinstance(node, nodes.table):
        return table_pieces(node)
    if isinstance(node, nodes.Admonition):
        return [box_piece(node)]
    if isinstance(node, nodes.container):
        return cell_pieces(node) if node.get("nb_element") == "cell_code" else [other(node)]
    if isinstance(node, dropdown_main):
        return [Piece([], said=copies(node[-1]))]
    if isinstance(node, Details):
        return [Piece([], said=copies(node)[1:])]
    if isinstance(node, (toctree, nodes.compound, nodes.Invisible)):
        return []
    return [other(node)]


def other(node):
    """What is shown as it is: mostly HTML that a cell gave, a picture or a table."""
    return Piece([node.deepcopy()], FIGURE)


def slides(section, opening=False):
    """The slides of a section without its subsections: lists of pieces."""
    own = [child for child in section.children[1:] if not isinstance(child, nodes.section)]
    own = [child for child in own if not isinstance(child, (nodes.target, nodes.comment))]
    found, begun, first = [[]], 0, True
    for node, after in pairwise([*own, None]):
        announces = node.astext().rstrip().endswith(":") and after is not None
        for piece in pieces_of(node, announces, first):
            first = first and not piece.shown
            full = piece.alone or begun + piece.height > ROOM or (opening and begun and len(found) == 1)
            if piece.shown and begun and full:
                carried = []
                if announced(found[-1]):
                    carried = [found[-1].pop()]
                found.append(carried)
                begun = sum(part.height for part in carried)
            found[-1].append(piece)
            begun += ROOM if piece.alone else piece.height
    return [slide for slide in found if slide]


def announced(slide):
    """Whether a slide would end with a line that announces what comes next."""
    return len(slide) > 1 and bool(slide[-1].shown) and slide[-1].shown[-1].astext().endswith(":")


class Notes(nodes.General, nodes.Element):
    """What the speaker says."""


def slide_of(section, pieces):
    """A slide, as a section."""
    made, said = nodes.section(ids=section["ids"]), Notes()
    made += nodes.title("", "", *copies(pieces[0].title or section[0]))
    for piece in pieces:
        made += piece.shown
        said += piece.said
    words = made.children[1:]
    height = sum(lines_high(node.astext()) for node in words)
    if all(isinstance(node, WORDS) for node in words) and height < ROOM / 2:
        for node in words:
            node["classes"].append("large")
    if len(said):
        made += said
    return made


def stack(section):
    """The slides of a section and its subsections, below each other."""
    made = [slide_of(section, pieces) for pieces in slides(section)]
    for child in section.children:
        if isinstance(child, nodes.section):
            made += stack(child)
    return made


def below(stacked):
    """A section with slides below its first."""
    first, *others = stacked
    first += others
    return first


def deck(page):
    """A page as sections of slides: its title, what comes before the first section, the sections."""
    parts = [child for child in page.children if isinstance(child, nodes.section)]
    opening, *others = slides(page, opening=True)
    question = opening[0].said[0]
    if len(question.astext()) <= 2 * LONGEST:
        opening[0].shown = [nodes.paragraph("", "", *copies(question), classes=["line"])]
    made = slide_of(page, opening)
    made += [below([slide_of(page, pieces) for pieces in others])] if others else []
    made += [below(stacked) for stacked in map(stack, parts) if stacked]
    return made
