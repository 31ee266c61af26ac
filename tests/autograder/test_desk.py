"""What a student wrote is shown at the teacher's desk, and nothing in it is live."""

import time

import pytest
from nbconvert.filters.markdown_mistune import IPythonRenderer, MarkdownWithMath
from nbformat.v4 import new_markdown_cell, new_notebook

from pioneers.autograder.desk import LONGEST, harmless

DOT = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
SHOWN = {
    "$x<y$ <script>s()</script> <a-b>": "<p>$x&lt;y$ &lt;script&gt;s()&lt;/script&gt; &lt;a-b&gt;</p>",
    "<b onclick='steal()' style='x' id='y'>bold</b>": "<p><b>bold</b></p>",
    "[click](javascript:steal())": "<p>click (javascript:steal())</p>",
    "<javascript:steal()>": "<p>javascript:steal()</p>",
    "[a]: data:text/html,x\n\n[a]": "<p>a (data:text/html,x)</p>",
    "<a href='javascript:steal()'>k</a>": "<p>&lt;a href='javascript:steal()'&gt;k&lt;/a&gt;</p>",
    "![p](http://host/x.png)": "<p>[picture: http://host/x.png]</p>",
    "<img src=x onerror=steal()>": "&lt;img src=x onerror=steal()&gt;",
    r"$\href{javascript:steal()}{x}$": "<p>$href{javascript:steal()}{x}$</p>",
    "\\hr<b></b>ef{j} &#92;href{j}": "<p>\\hr<b></b>ef{j} href{j}</p>",
    "`a<b` *c*": "<p><code>a&lt;b</code> <em>c</em></p>",
    "```\n[x](javascript:y)\n\n<b>\n```": "<pre><code>[x](javascript:y)&#10;&#10;&lt;b&gt;&#10;</code></pre>",
    "<div>\n\n[x](javascript:y)\n</div>": "&#10;<p>x (javascript:y)</p>&#10;",
}


def shown(source, **attachments):
    cell = new_markdown_cell(source, attachments=attachments)
    (cell,) = harmless(new_notebook(cells=[cell])).cells
    assert "attachments" not in cell
    return cell.source


@pytest.mark.parametrize("source", SHOWN)
def test_a_text_is_shown_and_nothing_in_it_is_live(source):
    line = shown(source)
    assert line in (SHOWN[source], f"<div>{SHOWN[source]}</div>")
    assert shown(line) == line  # also when the notebook is graded again
    as_the_formgrader = MarkdownWithMath(renderer=IPythonRenderer(escape=False)).render(line)
    assert as_the_formgrader.strip() == line


def test_pictures_come_from_attachments_and_what_is_missing_is_named():
    text = "![a](attachment:a.png) ![b](attachment:b.svg) ![c](attachment:c.png) ![d](attachment:d.png)"
    line = shown(text, **{"a.png": {"image/png": DOT}, "b.svg": {}, "d.png": {"image/png": 'x" onerror="y'}})
    picture = f'<img alt="a" src="data:image/png;base64,{DOT}">'
    assert line == f'<div><p>{picture} [picture: b.svg] [picture: c.png] <img alt="d"></p></div>'


@pytest.mark.parametrize(
    "part", ["[", "*", "`", "<", "$", "![", "> ", "- ", "[a](", "<!--", "$$", "|a", "  - "]
)
def test_a_text_made_to_keep_the_grader_busy_does_not(part):
    begun = time.process_time()
    shown(part * (LONGEST // len(part)))
    assert shown(part * LONGEST + "x").startswith("<div><pre>")  # too long to render
    assert time.process_time() - begun < 5
