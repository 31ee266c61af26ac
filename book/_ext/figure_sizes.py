"""Figures that stay: each states its size, so that the text below it does not jump when it arrives."""

import re
from pathlib import Path

import imagesize


def state_sizes(app, pagename, templatename, context, doctree):
    sources = {name: Path(app.srcdir, source) for source, name in app.builder.images.items()}

    def sized(match):
        width, height = imagesize.get(sources[Path(match["src"]).name])
        return f'{match[0]} width="{width}" height="{height}"' if width > 0 else match[0]

    if "body" in context:
        pattern = r'<img (?![^>]*\bwidth=)[^>]*?src="(?P<src>[^":]*_images/[^"]+)"'
        context["body"] = re.sub(pattern, sized, context["body"])


def setup(app):
    app.connect("html-page-context", state_sizes)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
