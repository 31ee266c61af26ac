"""Write where the lecture sections are that exercises name: ``pioneers/checks/sections.json``.

    python labs/sections.py

Run it when a section has moved or has a new title, or when an exercise names another one.
"""

import json
import re
from pathlib import Path

from pioneers.checks import find, numbers
from pioneers.checks.loading import drafts, lab_folders

ROOT = Path(__file__).resolve().parents[1]
TITLES = ROOT / "pioneers" / "checks" / "sections.json"
SECTION = re.compile(r"^\((sec-[\w-]+)\)=\n#+ (.+)$", re.MULTILINE)


def main() -> None:
    """Write the file anew."""
    TITLES.write_text(json.dumps(titles(), ensure_ascii=False, indent=1) + "\n")


def titles() -> dict[str, str]:
    """Return where each section is and what it is called, by anchor, in the order of the lectures.

    Raises:
        ValueError: an exercise names a section that no lecture has.
    """
    wanted, found = named(), {}
    for page in sorted((ROOT / "lectures").glob("*.md")):
        lecture = f"lecture {int(page.name[:2])}{' (deeper)' * page.stem.endswith('_deeper')}"
        for anchor, title in SECTION.findall(page.read_text()):
            if anchor in wanted:
                found[anchor] = f"{lecture}, “{title}”"
    if missing := sorted(wanted - set(found)):
        raise ValueError(f"no lecture has the sections that exercises name: {', '.join(missing)}")
    return found


def named() -> set[str]:
    """Return the anchors of all sections that exercises name."""
    exercises = [find(key) for key in numbers()]
    diagnosed = {part.section for one in exercises for part in (*one.mistakes, *one.laws)} - {""}
    return diagnosed.union(*(draft.reread for folder in lab_folders().values() for draft in drafts(folder)))


if __name__ == "__main__":
    main()
