"""Build the notebook to grade: the teacher's cells, with the student's answers in their places.

Whatever happened to the structure, answers are found by ``grade_id``, or by the names they define. Cells
that a student added keep their places.
"""

from collections import defaultdict
from copy import deepcopy
from dataclasses import dataclass, field

from nbformat import NotebookNode
from nbformat.v4 import new_code_cell, new_markdown_cell

from pioneers.autograder.skeleton import Skeleton, about, defined, is_answer
from pioneers.autograder.submission import Cell, Flag

EXTRA = "extra"  # tag of a cell that the student added


@dataclass
class Rebuilt:
    """A submission in the structure of its lab.

    Args:
        notebook: the notebook to run and to show.
        flags: the repairs that were necessary.
        blank: the ``grade_id`` of each answer that was left blank.
    """

    notebook: NotebookNode
    flags: list[Flag] = field(default_factory=list)
    blank: set[str] = field(default_factory=set)


def rebuild(skeleton: Skeleton, cells: list[Cell]) -> Rebuilt:
    """Put the student's ``cells`` into the ``skeleton``."""
    notebook = deepcopy(skeleton.released)
    rebuilt = Rebuilt(notebook)
    by_id = {about(cell).grade_id: cell for cell in notebook.cells if about(cell)}
    place, used = _match(notebook.cells, cells)
    taken: set[int] = set()
    for grade_id, cell in by_id.items():
        copies = [i for i, handed_in in enumerate(cells) if handed_in.grade_id == grade_id]
        used.update(copies)
        if is_answer(cell):
            left = [i for i in range(len(cells)) if i not in used and cells[i].grade_id not in by_id]
            taken.update(_answer(rebuilt, cell, cells, copies, left))
        else:
            _restore(rebuilt, cell, [cells[i] for i in copies])
        if len(copies) == 1 and about(cell).get("points") != cells[copies[0]].points:
            rebuilt.flags.append(Flag("points", f"The points of {grade_id} were edited and restored."))
    _add_extras(notebook, cells, place, used | taken)
    return rebuilt


def _match(released: list[NotebookNode], cells: list[Cell]) -> tuple[dict[int, int], set[int]]:
    """Match the student's cells to the lab's, by name or else by equal text; return also the latter ones."""
    ids = {about(cell).grade_id: i for i, cell in enumerate(released) if about(cell)}
    texts = {cell.source.strip(): i for i, cell in enumerate(released)}
    place, used = {}, set()
    for i, cell in enumerate(cells):
        if cell.grade_id in ids:
            place[i] = ids[cell.grade_id]
        elif cell.source.strip() in texts:
            place[i] = texts[cell.source.strip()]
            used.add(i)
    return place, used


def _answer(
    rebuilt: Rebuilt, cell: NotebookNode, cells: list[Cell], copies: list[int], homeless: list[int]
) -> set[int]:
    """Fill in the student's answer and return the numbers of the cells it came from.

    An answer that is not in its cell is found by what it must define: in a cell without a place of its own,
    or, if the cell was deleted, also in that of another answer.
    """
    grade_id, stub = about(cell).grade_id, cell.source
    wanted = defined(stub)
    written = [i for i in copies if cells[i].source.strip() not in ("", stub.strip())]
    if not written:
        found = [i for i, other in enumerate(cells) if wanted and wanted <= defined(other.source)]
        found = [i for i in found if i in homeless] or ([] if copies else found)
        rebuilt.flags += _lost(grade_id, deleted=not copies, found=bool(found))
        copies, written = found or copies, found
    if len(copies) > 1:
        rebuilt.flags.append(
            Flag("copied", f"{grade_id} is there {len(copies)} times; the last one with an answer counts.")
        )
    if not written:
        rebuilt.blank.add(grade_id)
        return set()
    last = cells[written[-1]]
    cell.source = last.source
    whole = "\n".join(cells[i].source for i in written)
    if not wanted <= defined(last.source) and wanted <= defined(whole):
        cell.source = whole
        rebuilt.flags.append(
            Flag("split", f"The answer {grade_id} was split over {len(written)} cells; they were joined.")
        )
    elif len(written) > 1:  # what earlier copies define may be needed by the last
        cell.metadata["pioneers"] = {"before": [cells[i].source for i in written[:-1]]}
    if last.kind != cell.cell_type:
        changed = f"The cell {grade_id} was changed to {last.kind}; it was changed back to {cell.cell_type}."
        rebuilt.flags.append(Flag("type", changed))
    if last.attachments and cell.cell_type == "markdown":
        cell.attachments = last.attachments
    return set(copies)


def _lost(grade_id: str, *, deleted: bool, found: bool) -> list[Flag]:
    """Flag an answer that is not in its cell; a blank one needs no flag."""
    if not (deleted or found):
        return []
    state = "was deleted" if deleted else "was left as it was"
    end = f"{state}, but a function of the right name was found" if found else "is missing"
    return [Flag("deleted", f"The answer cell {grade_id} {end}.")]


def _restore(rebuilt: Rebuilt, cell: NotebookNode, copies: list[Cell]) -> None:
    """Flag what happened to a cell that students should not change."""
    grade_id = about(cell).grade_id
    if not copies:
        rebuilt.flags.append(Flag("deleted", f"The cell {grade_id} was deleted; it was restored."))
    elif len(copies) > 1:
        rebuilt.flags.append(Flag("copied", f"There were {len(copies)} copies of {grade_id}; one was kept."))
    if any(copy.source.strip() != cell.source.strip() for copy in copies):
        rebuilt.flags.append(Flag("edited", f"The cell {grade_id} was edited; its text was restored."))


def _add_extras(notebook: NotebookNode, cells: list[Cell], place: dict[int, int], used: set[int]) -> None:
    """Put each cell that the student added behind the cell of the lab that it followed."""
    extras: dict[int, list[NotebookNode]] = defaultdict(list)
    after = -1
    for i, cell in enumerate(cells):
        after = place.get(i, after)
        if i not in used and cell.source.strip():
            extras[after].append(_extra(cell))
    whole = list(extras[-1])
    for i, own in enumerate(notebook.cells):
        before = own.metadata.pop("pioneers", {}).get("before", ())
        whole += [_extra(Cell(own.cell_type, source, "", None, {})) for source in before]
        whole += [own, *extras[i]]
    for number, own in enumerate(whole):
        own["id"] = about(own).get("grade_id", f"cell-{number}")
    notebook.cells = whole


def _extra(cell: Cell) -> NotebookNode:
    make = new_code_cell if cell.kind == "code" else new_markdown_cell
    extra = make(cell.source, metadata={"tags": [EXTRA]})
    if cell.attachments and cell.kind == "markdown":
        extra.attachments = cell.attachments
    return extra
