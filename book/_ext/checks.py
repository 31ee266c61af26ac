"""Cells tagged ``checks``, whose assertions only guard the build, are folded under that word."""

from docutils import nodes
from sphinx.transforms.post_transforms import SphinxPostTransform


class FoldChecks(SphinxPostTransform):
    default_priority = 198  # before MyST-NB folds what it is told to
    formats = ("html",)

    def run(self):
        for cell in self.document.findall(nodes.container):
            if cell.get("nb_element") == "cell_code" and "tag_checks" in cell["classes"]:
                cell["hide_mode"] = "all"
                cell["prompt_show"] = cell["prompt_hide"] = "Checks"


def setup(app):
    app.add_post_transform(FoldChecks)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
