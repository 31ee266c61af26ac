"""What autodoc leaves to do for the API reference.

- An argument explained by one letter (``d_model: D.``) is no enumeration.
- What a class says about its attributes is headed so.
- The fields of a named tuple are described by its class; Python's own lines about them are left out.
- A protocol, which nobody calls, has no arguments.
- The presets of a configuration are a table.
- The pages of sources are more than half of all: those of one depth share a sidebar.
"""

import re
from dataclasses import asdict

from sphinx.domains.python import PyObject

SIDEBARS = {}  # of pages of sources, by their depth and what the theme asks for


def keep_letters(app, what, name, obj, options, lines):
    lines[:] = [re.sub(r": ([A-Z])\.$", r": \1\\.", line) for line in lines]


def head_attributes():
    for field in PyObject.doc_field_types:
        if field.name == "variable":
            field.label = "Attributes"


def skip_tuple_fields(app, what, name, obj, skip, options):
    return True if type(obj).__name__ == "_tuplegetter" else None


def hide_arguments(app, what, name, obj, options, signature, returns):
    return ("", "") if getattr(obj, "_is_protocol", False) else None


def tabulate_presets(app, what, name, obj, options, lines):
    presets = getattr(obj, "presets", {}) if what == "class" else {}
    rows = [{"preset": preset, **asdict(obj.preset(preset))} for preset in presets]
    if not rows:
        return
    names = [f"``{name}``" for name in rows[0]]
    lines += ["", ".. list-table::", "   :header-rows: 1", ""]
    for first, *others in (names, *(row.values() for row in rows)):
        lines += [f"   * - {first}", *(f"     - {other}" for other in others)]
    lines.append("")


def share_sidebar(app, pagename, templatename, context, doctree):
    """Pages of sources are in no chapter, so that their sidebars differ in the way up alone."""
    if not pagename.startswith("_modules/"):
        return
    make = context["generate_toctree_html"]

    def once(kind, **options):
        which = (pagename.count("/"), kind, *sorted(options.items()))
        if which not in SIDEBARS:
            SIDEBARS[which] = make(kind, **options)
        return SIDEBARS[which]

    context["generate_toctree_html"] = once


def setup(app):
    head_attributes()
    app.connect("html-page-context", share_sidebar, priority=900)  # after the theme
    app.connect("autodoc-skip-member", skip_tuple_fields)
    app.connect("autodoc-process-signature", hide_arguments)
    app.connect("autodoc-process-docstring", keep_letters, priority=400)  # before napoleon
    app.connect("autodoc-process-docstring", tabulate_presets, priority=600)  # after it
    return {"parallel_read_safe": True, "parallel_write_safe": True}
