"""What autodoc leaves to do for the API reference.

- An argument explained by one letter (``d_model: D.``) is no enumeration.
- What a class says about its attributes is headed so.
- The fields of a named tuple are described by its class; Python's own lines about them are left out.
- A protocol, which nobody calls, has no arguments.
- The presets of a configuration are a table.
"""

import re
from dataclasses import asdict

from sphinx.domains.python import PyObject


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


def setup(app):
    head_attributes()
    app.connect("autodoc-skip-member", skip_tuple_fields)
    app.connect("autodoc-process-signature", hide_arguments)
    app.connect("autodoc-process-docstring", keep_letters, priority=400)  # before napoleon
    app.connect("autodoc-process-docstring", tabulate_presets, priority=600)  # after it
    return {"parallel_read_safe": True, "parallel_write_safe": True}
