"""Solutions that open: an admonition of class `dropdown` becomes a `<details>` element, without a script."""

from docutils import nodes
from sphinx.transforms.post_transforms import SphinxPostTransform


class Details(nodes.General, nodes.Element):
    pass


class Summary(nodes.General, nodes.TextElement):
    pass


class FoldDropdowns(SphinxPostTransform):
    default_priority = 200
    formats = ("html",)

    def run(self):
        for admonition in list(self.document.findall(nodes.Admonition)):
            if "dropdown" in admonition["classes"]:
                title, *body = admonition.children
                details = Details(classes=["admonition", *admonition["classes"]], ids=admonition["ids"])
                details += Summary("", "", *title.children, classes=["admonition-title"])
                details += body
                admonition.replace_self(details)


def visit_as(tag):
    def visit(self, node):
        self.body.append(self.starttag(node, tag))

    def depart(self, node):
        self.body.append(f"</{tag}>\n")

    return visit, depart


def setup(app):
    app.add_node(Details, html=visit_as("details"))
    app.add_node(Summary, html=visit_as("summary"))
    app.add_post_transform(FoldDropdowns)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
