"""The lecture sections that exercises send a reader to; ``labs/sections.py`` writes the file of titles."""

import json
from pathlib import Path

SECTIONS: dict[str, str] = json.loads(Path(__file__).with_name("sections.json").read_text(encoding="utf-8"))


def reread(section: str, equation: str) -> str:
    """Return the title of a section and its anchors, as in ``title: #section, #equation-label``."""
    anchors = [f"#{section}", *([f"#equation-{equation}"] if equation else [])]
    return f"{SECTIONS[section]}: {', '.join(anchors)}"
