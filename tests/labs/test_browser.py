"""A student's way through lab 1 in JupyterLab, and the teacher's desk after it, in a real browser."""

import json
import os
import secrets
import shutil
import socket
import subprocess
import sys
import time
import urllib.request
from contextlib import contextmanager

import nbformat
import pytest
from nbformat.v4 import new_code_cell, new_markdown_cell, new_raw_cell

from pioneers.autograder.jail import Limits
from pioneers.autograder.record import open_gradebook, record
from pioneers.autograder.single import grade
from pioneers.autograder.skeleton import Skeleton
from pioneers.checks import find

from .conftest import LABS, ROOT, Lab, release
from .test_end_to_end import KERNELS, finish, nbgrader

PATIENCE = 240  # seconds for one thing on a busy machine; nothing waits longer than it must
SCREENSHOTS = ROOT / "_build" / "screenshots"  # of what was there when a test failed
SETTINGS = {  # all cells are on the page, typed text stays as it is, nobody asks for news
    "notebook-extension/tracker": {"windowingMode": "none"},
    "apputils-extension/notification": {"fetchNews": "false", "checkForUpdates": False},
}
RIGHT, WRONG = "1.1", "1.2"  # the exercises that the student answers, rightly and wrongly
pytestmark = pytest.mark.timeout(900)


class Course:
    """A course with lab 1: one student's notebook to type into, and one that is finished."""

    def __init__(self, folder):
        self.folder, self.lab = folder, Lab(LABS[0])
        config = (release.LABS / "nbgrader_config.py").read_text()
        exchange = f'c.Exchange.root = "{folder / "exchange"}"\n'  # not that of this machine
        (folder / "nbgrader_config.py").write_text(config + KERNELS + exchange)
        release.make_course(folder, self.lab.notebook, self.lab.name)
        released = folder / "release" / self.lab.name / f"{self.lab.name}.ipynb"
        student = nbformat.read(released, as_version=4)
        self.cells = [cell.metadata.get("nbgrader", {}).get("grade_id") for cell in student.cells]
        nbformat.write(student, folder / "typed.ipynb")
        finished = self.lab.submission(student, {})
        for grade_id in ("experiment_figure", "experiment_reading"):
            self.lab.cell(grade_id, finished).source = self.lab.cell(grade_id).source
        nbformat.write(finished, folder / "finished.ipynb")

    def grade(self):
        """Hand in both notebooks and have nbgrader mark them."""
        for student in ("typed", "finished"):
            place = self.folder / "submitted" / student / self.lab.name
            place.mkdir(parents=True)
            shutil.copy(self.folder / f"{student}.ipynb", place / f"{self.lab.name}.ipynb")
        finish(nbgrader(self.folder, "autograde", self.lab.name))


@pytest.fixture(scope="module")
def course(tmp_path_factory):
    return Course(tmp_path_factory.mktemp("browser"))


@pytest.fixture(scope="module")
def address(course, tmp_path_factory):
    """A JupyterLab of its own in the course: (its address, its token)."""
    home, token = tmp_path_factory.mktemp("home"), secrets.token_hex()
    for name, settings in SETTINGS.items():
        path = home / "lab" / "user-settings" / "@jupyterlab" / f"{name}.jupyterlab-settings"
        path.parent.mkdir(parents=True)
        path.write_text(json.dumps(settings))
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    options = [
        f"--ServerApp.port={port}", "--ServerApp.port_retries=0", "--ServerApp.allow_root=True",
        f"--IdentityProvider.token={token}", "--no-browser", "--KernelManager.transport=ipc",
        f"--KernelManager.ip={home}/k",
    ]  # fmt: skip
    own = {"HOME": str(home), "JUPYTER_CONFIG_DIR": str(home), "JUPYTERLAB_WORKSPACES_DIR": f"{home}/desks"}
    own |= {"JUPYTER_RUNTIME_DIR": f"{home}/run", "JUPYTERLAB_SETTINGS_DIR": f"{home}/lab/user-settings"}
    said = (home / "said.txt").open("w")
    command = [sys.executable, "-m", "jupyterlab", *options]
    server = subprocess.Popen(command, cwd=course.folder, env=os.environ | own, stdout=said, stderr=said)
    address = f"http://127.0.0.1:{port}"
    try:
        _wait_for(f"{address}/api?token={token}", server, home / "said.txt")
        yield address, token
    finally:
        server.terminate()
        server.wait(PATIENCE)


def _wait_for(url, server, said):
    ends = time.monotonic() + PATIENCE
    while time.monotonic() < ends and server.poll() is None:
        try:
            urllib.request.urlopen(url).close()
            return
        except OSError:
            time.sleep(0.2)
    raise RuntimeError(f"JupyterLab does not answer: {said.read_text()[-3000:]}")


@pytest.fixture(scope="module")
def visit(browser, address):
    """Opens JupyterLab with an empty desk; if what is done there fails, a picture of it stays."""
    server, token = address

    @contextmanager
    def visit(name, place=""):
        page = browser.new_page(viewport={"width": 1300, "height": 900})
        page.set_default_timeout(PATIENCE * 1000)
        page.route(lambda url: not url.startswith((server, "data:", "blob:")), lambda route: route.abort())
        try:
            page.goto(f"{server}/lab/workspaces/{name}{place}?token={token}")
            yield page
        except BaseException:
            SCREENSHOTS.mkdir(parents=True, exist_ok=True)
            page.screenshot(path=SCREENSHOTS / f"jupyterlab_{name}.png")
            raise
        finally:
            page.close()

    return visit


class Notebook:
    """A notebook of the course that is open in JupyterLab."""

    def __init__(self, page, course):
        self.page, self.names = page, course.cells
        self.cells = page.locator(".jp-NotebookPanel .jp-Notebook .jp-Cell")
        self.cells.nth(len(self.names) - 1).wait_for(state="attached")
        page.get_by_text("| Idle").wait_for()  # before, a cell that is run asks for a kernel

    def cell(self, grade_id):
        return self.cells.nth(self.names.index(grade_id))

    def write(self, grade_id, source):
        self.cell(grade_id).locator(".cm-content").click()
        self.page.keyboard.press("ControlOrMeta+a")
        self.page.keyboard.insert_text(source.strip())

    def run(self, grade_id):
        self.cell(grade_id).locator(".cm-content").click()
        self.page.keyboard.press("Shift+Enter")

    def said(self, grade_id):
        outputs = self.cell(grade_id).locator(".jp-OutputArea-output")
        outputs.first.wait_for()
        return "\n".join(outputs.all_inner_texts())

    def validate(self):
        """Press the button, and return what the dialog says; nbgrader saves the notebook first."""
        self.page.get_by_text("Validate", exact=True).first.click()
        dialog = self.page.locator(".jp-Dialog", has_text="Validation Results")
        dialog.wait_for()
        said = dialog.inner_text()
        dialog.get_by_role("button", name="Ok", exact=True).click()
        dialog.wait_for(state="detached")
        return said


@pytest.fixture(scope="module")
def typed(visit, course):
    """Return the messages to a student who answers two exercises: of the checks and of the button."""
    answers = {RIGHT: course.lab.bank.right[RIGHT][0], WRONG: course.lab.bank.wrong[WRONG][0]}
    told = {}
    with visit("typed", "/tree/typed.ipynb") as page:
        notebook = Notebook(page, course)
        notebook.run("setup")
        for key, answer in answers.items():
            name = find(key).name
            notebook.write(name, answer.source)
            notebook.run(name)
            notebook.run(f"check_{name}")
            told[key] = notebook.said(f"check_{name}")
        told["button"] = notebook.validate()
    return told


def test_a_right_answer_passes_and_a_wrong_one_is_told_its_mistake(typed, course):
    exercise = find(RIGHT)
    assert f"{RIGHT} {exercise.name}: all checks passed ({exercise.points} points)" in typed[RIGHT]
    assert f"This looks like: {course.lab.bank.wrong[WRONG][0].diagnosis}." in typed[WRONG]
    assert "passed" not in typed[WRONG]


def test_the_button_names_the_checks_that_fail_and_no_others(typed, course):
    failing = [key for key in course.lab.keys if f'check("{key}")' in typed["button"]]
    assert failing == [key for key in course.lab.keys if key != RIGHT]
    assert f"This looks like: {course.lab.bank.wrong[WRONG][0].diagnosis}." in typed["button"]


def test_the_button_says_that_a_finished_notebook_passes(visit, course):
    with visit("finished", "/tree/finished.ipynb") as page:
        said = Notebook(page, course).validate()
    assert "Success! Your notebook passes all the tests" in said


def test_the_formgrader_shows_the_marks(visit, course, typed):
    course.grade()
    with visit("formgrader") as page:
        page.locator(".lm-MenuBar-item", has_text="Nbgrader").click()
        page.get_by_text("Formgrader", exact=True).click()
        desk = page.frame_locator("iframe")
        desk.locator("tr", has_text=course.lab.name).locator(".num-submissions a").click()
        rows = {}
        for student in ("typed", "finished"):
            row = desk.locator("tr", has_text=student)
            row.wait_for()
            rows[student] = row.inner_text()
    points = {key: find(key).points for key in course.lab.keys}
    assert f"{points[RIGHT]} / 100" in rows["typed"]
    assert f"{sum(points.values())} / 100" in rows["finished"]
    assert all("needs manual grading" in row for row in rows.values())


LIVE = """[click](javascript:window.stolen=1) <b onclick="window.stolen=1">bold</b> ![remote](http://host.invalid/x.png)
![vector](attachment:v.svg) ![missing](attachment:m.png) <script>window.stolen=1</script>
<iframe src="javascript:parent.stolen=1"></iframe> <svg onload="window.stolen=1"></svg>
$\\href{javascript:window.stolen=1}{x}$

<details open ontoggle="window.stolen=1"><summary>more</summary></details>"""


def test_nothing_that_a_student_wrote_is_live_at_the_desk(visit, course):
    """Every kind of cell, as ``pioneers grade`` leaves it, opened in the real formgrader."""
    notebook = nbformat.read(course.folder / "finished.ipynb", as_version=4)
    svg = {"v.svg": {"image/svg+xml": "<svg onload='window.stolen=1'/>"}}
    added = [
        new_markdown_cell(LIVE, attachments=svg),
        new_raw_cell(LIVE, metadata={"raw_mimetype": "text/html"}),
    ]
    kinds = {"text/html": "<script>window.stolen=1</script>", "application/javascript": "window.stolen=1"}
    kinds |= {"image/svg+xml": "<svg onload='window.stolen=1'/>", "text/markdown": LIVE, "text/latex": LIVE}
    show = f"from IPython.display import display\ndisplay({kinds!r}, raw=True)\nprint({LIVE!r})\n{LIVE!r}"
    notebook.cells[:0] = [
        *added,
        new_code_cell(show),
        new_code_cell("raise ValueError('<script>window.stolen=1')"),
    ]
    answer = course.lab.cell("experiment_reading", notebook)
    answer.source, answer["attachments"] = LIVE, svg
    place = course.folder / "submitted" / "hostile" / course.lab.name
    place.mkdir(parents=True)
    nbformat.write(notebook, place / f"{course.lab.name}.ipynb")
    skeleton = Skeleton.load(course.folder, course.lab.name)
    record(course.folder, skeleton.lab, [grade(skeleton, course.folder, "hostile", Limits())])
    with open_gradebook(course.folder) as book:
        number = book.find_submission_notebook(skeleton.lab, skeleton.lab, "hostile").id
    with visit("desk") as page:
        asked = []
        page.on("request", lambda request: asked.append(request.url))
        page.on("dialog", lambda dialog: dialog.dismiss())
        reply = page.goto(f"{page.url.split('/lab')[0]}/formgrader/submissions/{number}/")
        assert reply.status == 200
        page.locator("#experiment_reading-comment").wait_for()
        assert page.get_by_text("click (javascript:window.stolen=1)").count() >= 3
        assert page.get_by_text("[picture: v.svg]").count() >= 2
        for place in page.locator(".rendered_html :is(a, b, summary, img, svg)").all():
            place.click(force=True)
        assert page.evaluate("window.stolen") is None
        assert page.locator("#notebook-container :is(iframe, script, svg, [onclick])").count() == 0
    assert not [url for url in asked if "host.invalid" in url]
