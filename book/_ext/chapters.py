"""Chapter numbers: that of the file's name, with a letter for every further page of a chapter (9, 9b, 9c).

Sphinx would number the pages of the contents in a row, and a chapter that is not written yet would shift
those after it. From these numbers it makes those of titles, entries of the contents, figures and equations. A
link into a chapter tells its number.
"""

import posixpath
import re
from collections import Counter
from string import ascii_lowercase

from docutils import nodes
from sphinx.environment.collectors.toctree import TocTreeCollector


def chapters(names):
    """The number of each page of ``names`` that belongs to a chapter; the order gives the letters."""
    pages, numbers = Counter(), {}
    for name in names:
        if found := re.match(r"lectures/0*(\d+)_", name):
            numbers[name] = found[1] + ascii_lowercase[pages[found[1]]].replace("a", "")
            pages[found[1]] += 1
    return numbers


def number_chapters(collector, env):
    """Give pages and their titles their numbers; returns the pages whose number is new."""
    before, env.toc_secnumbers = env.toc_secnumbers, {}
    for name, number in chapters(env.collect_relations()).items():
        sections = {link["anchorname"]: None for link in env.tocs[name].findall(nodes.reference)}
        env.toc_secnumbers[name] = sections | {"": (number,)}
        for place in (env.titles[name], next(env.tocs[name].findall(nodes.reference))):
            place["secnumber"] = (number,)
    return [name for name, numbers in env.toc_secnumbers.items() if numbers != before.get(name)]


def name_chapters(app, doctree, name):
    """Add "(ch. 4)" to links into the chapters, except where the text around them has the number."""
    links = [link for link in doctree.findall(nodes.reference) if link.get("internal")]
    for link in links if app.builder.format == "html" else ():
        page = posixpath.join(posixpath.dirname(name), link.get("refuri", "").partition(".html")[0])
        number = app.env.toc_secnumbers.get(posixpath.normpath(page), {}).get("")
        if number and not re.search(r"\bchapter\b|\d", link.astext(), re.IGNORECASE):
            link += nodes.inline(text=f" (ch.\xa0{number[0]})", classes=["chapter"])


def setup(app):
    TocTreeCollector.assign_section_numbers = number_chapters
    app.connect("doctree-resolved", name_chapters, priority=600)  # the table of pages has been made
    return {"parallel_read_safe": True, "parallel_write_safe": True}
