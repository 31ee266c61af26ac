"""Cells that need a network, tagged ``skip-execution``: nbclient skips them, and the page says so.

Where the variable PIONEERS_NETWORK is 1, as in the workflow that publishes the book, they run like others.
"""

import os

from docutils import nodes
from sphinx.transforms.post_transforms import SphinxPostTransform

TAG = "skip-execution"
QUIET = {"TQDM_DISABLE": "1", "HF_HUB_DISABLE_PROGRESS_BARS": "1"}  # a page has no use for progress bars


def may_be_used():
    """Whether this build may use a network."""
    return os.environ.get("PIONEERS_NETWORK") == "1"


def needed_by(notebook):
    """Whether a page has cells that need a network."""
    return any(TAG in cell.metadata.get("tags", []) for cell in notebook.cells)


class SayWhatDidNotRun(SphinxPostTransform):
    default_priority = 197  # before cells are folded
    formats = ("html",)

    def run(self):
        for cell in [] if may_be_used() else list(self.document.findall(nodes.container)):
            if f"tag_{TAG}" in cell["classes"] and "tag_checks" not in cell["classes"]:
                text = "Not run in this copy of the book, which was built without a network."
                note = nodes.paragraph(text=text, classes=["not-run"])
                cell.parent.insert(cell.parent.index(cell) + 1, note)


def setup(app):
    app.add_post_transform(SayWhatDidNotRun)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
