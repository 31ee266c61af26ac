# ruff: noqa: E501 (an attack is a line)
"""Submissions that mean harm: what each does, what it earns, and which flag the teacher sees."""

from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import nbformat
from nbformat.v4 import new_markdown_cell

from .classroom import FULL, ROOT, with_cell

NONE, BOTH = {"check_softmax": 0.0, "check_causal_mask": 8.0}, FULL
WITHHELD = {"check_softmax": None, "check_causal_mask": None}
NOTHING = {"check_softmax": 0.0, "check_causal_mask": 0.0}  # later cells of its own no longer run
HALF_WITHHELD = {"check_softmax": 0.0, "check_causal_mask": None}


class Attack(NamedTuple):
    """``cell`` stands before the first check; ``answer`` replaces that to the softmax; ``spoil`` does it to the file."""

    cell: str = ""
    answer: str | None = None
    earns: dict = BOTH
    flag: str = ""
    spoil: Callable[[Path], object] = Path.exists

    def hand_in(self, room, student):
        """The lab with this attack, where the student's work lies; whom it steals from has handed in before."""
        notebook = room.answered(**({} if self.answer is None else {"softmax": self.answer}))
        notebook = with_cell(notebook, self.cell) if self.cell else notebook
        for cell in notebook.cells:
            cell.source = cell.source.replace("{course}", str(room.folder)).replace("{root}", str(ROOT))
        self.spoil(room.hand_in(student, notebook))


WRONG = "def softmax(x, dim):\n    return x\n"


def answer(body):
    return "def softmax(x, dim):\n" + "\n".join("    " + line for line in body.splitlines())


def graded(change):
    """Return a function that changes the cells of a notebook, given the place of the softmax's check."""

    def spoil(path):
        notebook = nbformat.read(path, 4)
        ids = [cell.metadata.get("nbgrader", {}).get("grade_id") for cell in notebook.cells]
        change(notebook.cells, ids.index("check_softmax"))
        nbformat.write(notebook, path)

    return spoil


def take_anothers(path):
    path.unlink()
    path.symlink_to(sorted(path.parents[2].glob("*/*/*.ipynb"))[-1])


STRUCTURE = {
    "half a file": Attack(earns=NOTHING, flag="refused", spoil=lambda path: path.write_bytes(path.read_bytes()[:999])),
    "empty file": Attack(earns=NOTHING, flag="refused", spoil=lambda path: path.write_text("")),
    "no cells": Attack(earns=NOTHING, flag="deleted", spoil=lambda path: path.write_text('{"cells": [], "metadata": {}, "nbformat": 4, "nbformat_minor": 5}')),
    "another name": Attack(flag="renamed", spoil=lambda path: path.rename(path.with_name("Lab 1 (final).ipynb"))),
    "link to another's work": Attack(earns=NOTHING, flag="refused", spoil=take_anothers),
    "check deleted": Attack(flag="deleted", spoil=graded(lambda cells, i: cells.pop(i))),
    "check copied": Attack(flag="copied", spoil=graded(lambda cells, i: cells.insert(i, nbformat.from_dict(cells[i] | {"id": "copy"})))),
    "check emptied": Attack("", WRONG, NONE, "edited", graded(lambda cells, i: cells[i].update(source=""))),
    "check turned into text": Attack("", WRONG, NONE, "edited", graded(lambda cells, i: cells.__setitem__(i, new_markdown_cell("done", metadata=cells[i].metadata)))),
    "points raised": Attack(flag="points", spoil=graded(lambda cells, i: cells[i].metadata.nbgrader.update(points=100))),
    "answer deleted": Attack(earns=NONE, flag="deleted", spoil=graded(lambda cells, i: cells.pop(i - 1))),
    "kernel of its own": Attack(spoil=lambda path: path.write_text(path.read_text().replace('"python3"', '"mine"'))),
}  # fmt: skip
PROCESS = {
    "os._exit in a cell": Attack("import os; os._exit(0)", flag="process ended"),
    "os._exit in the answer": Attack("", answer("import os; os._exit(0)"), NONE, "process ended"),
    "os.abort": Attack("import os; os.abort()", flag="process ended"),
    "sys.exit": Attack("import sys; sys.exit(0)"),
    "SystemExit in the answer": Attack("", answer("raise SystemExit"), NONE),
    "KeyboardInterrupt in the answer": Attack("", answer("raise KeyboardInterrupt"), NONE),
    "kills itself": Attack("import os, signal; os.kill(os.getpid(), signal.SIGKILL)", flag="process ended"),
    "kills all it sees": Attack("import os, signal\ntry: os.kill(-1, 9)\nexcept OSError: pass"),
    "kills process 1": Attack("import os, signal; os.kill(1, signal.SIGKILL)"),
    "stops itself": Attack("import os, signal; os.kill(os.getpid(), signal.SIGSTOP)", flag="process ended"),
    "fork bomb": Attack("import os\nwhile True: os.fork()", flag="process ended"),
    "many sleepers": Attack(
        "import subprocess\nfor _ in range(200): subprocess.Popen(['sleep', '60'])\nimport time; time.sleep(4)",
        flag="process ended",
    ),
    "detached daemon": Attack(
        "import subprocess\nsubprocess.Popen(['sleep', '4322'], start_new_session=True)", flag=""
    ),
    "many file handles": Attack("files = []\ntry:\n    while True: files.append(open('/dev/null'))\nexcept OSError: files.clear()"),
    "segmentation fault": Attack("import ctypes; ctypes.string_at(0)", earns=WITHHELD, flag="process ended"),
    "deep recursion": Attack("import sys\nsys.setrecursionlimit(10**6)\ndef f(): return f()\nf()"),
    "overflow of the C stack": Attack("import sys\nsys.setrecursionlimit(10**9)\nclass C:\n    def __repr__(self): return repr(C())\nrepr(C())", flag="process ended"),
    "tampers with limits": Attack("import resource\ntry: resource.setrlimit(resource.RLIMIT_AS, (-1, -1))\nexcept (ValueError, OSError): pass"),
}  # fmt: skip
TIME = {
    "loop in a cell": Attack("while True: pass", flag="process ended"),
    "loop in the answer": Attack("", answer("while True: pass"), NONE, "process ended"),
    "ignored interrupts": Attack(
        "import signal, time\nsignal.signal(signal.SIGINT, signal.SIG_IGN)\nsignal.signal(signal.SIGTERM, signal.SIG_IGN)\ntime.sleep(99)",
        flag="process ended",
    ),
    "except BaseException": Attack("import time\nwhile True:\n    try: time.sleep(9)\n    except BaseException: pass", flag="process ended"),
    "blocking input": Attack("input('name? ')"),
    "regular expression without end": Attack("import re; re.match('(a+)+b', 'a' * 60)", flag="process ended"),
    "huge power": Attack("x = 10 ** 10 ** 9", flag="process ended"),
}  # fmt: skip
MEMORY = {
    "one large block": Attack("x = bytearray(8 << 30)"),
    "growing list": Attack("hoard = []\nwhile True: hoard.append(bytearray(1 << 28))"),
    "memory in the answer": Attack("", answer("return bytearray(8 << 30)"), NONE),
    "huge tensor returned": Attack("", answer("import torch\nreturn torch.zeros(20_000, 10_000)"), NONE),
    "expanded tensor returned": Attack(
        "", answer("import torch\nreturn torch.zeros(1).expand(10**6, 10**6)"), NONE
    ),
    "shared memory": Attack("open('/dev/shm/x', 'wb').write(bytes(60 << 20))"),
}
DISK = {
    "one large file": Attack("open('big', 'wb').write(bytes(100 << 20))"),
    "many files": Attack("for i in range(20000): open(f'{i}', 'w').close()"),
    "fills /tmp": Attack("for i in range(9): open(f'/tmp/{i}', 'wb').write(bytes(30 << 20))"),
    "sparse file": Attack("open('s', 'wb').truncate(1 << 40)"),
    "removes everything": Attack("import shutil\nshutil.rmtree('/', ignore_errors=True)"),
    "removes the package": Attack("import shutil\nshutil.rmtree('{root}/pioneers', ignore_errors=True)"),
}
FILES = {
    "writes the gradebook": Attack("open('{course}/gradebook.db', 'wb').write(b'x')"),
    "updates the gradebook": Attack("import sqlite3\nwith sqlite3.connect('{course}/gradebook.db') as book: book.execute('update grade set auto_score = 10')"),
    "reads the solution": Attack("", answer("text = open('{course}/source/small/small.ipynb').read()\nreturn x"), NONE),
    "reads the lab": Attack("", answer("text = open('{root}/labs/01_self_attention/softmax.py').read()\nreturn x"), NONE),
    "reads another student": Attack("", answer("return open('{course}/submitted/right/small/small.ipynb').read()"), NONE),
    "overwrites another student": Attack("open('{course}/submitted/right/small/small.ipynb', 'w').write('')"),
    "writes its own result": Attack("import os\nos.makedirs('{course}/reports/small/results', exist_ok=True)\nopen('{course}/reports/small/results/right.json', 'w').write('null')"),
    "links out of the jail": Attack("import os; os.symlink('{course}/gradebook.db', 'link'); open('link', 'w').write('x')"),
    "changes the package": Attack("open('{root}/pioneers/checks/judge.py', 'w').write('')"),
    "changes a library": Attack("import torch; open(torch.__file__, 'a').write('broken')"),
    "start-up file": Attack("import os\nos.makedirs('.ipython/profile_default/startup')\nopen('.ipython/profile_default/startup/a.py', 'w').write('1 / 0')"),
}  # fmt: skip
NETWORK = {
    "calls out": Attack("import urllib.request; urllib.request.urlopen('http://1.1.1.1', timeout=2)"),
    "calls this machine": Attack("import socket; socket.create_connection(('127.0.0.1', 22), timeout=2)"),
    "abstract socket": Attack("import socket; socket.socket(socket.AF_UNIX).connect('\\0grader')"),
    "environment secrets": Attack(
        "import os; print(sorted(os.environ)); assert 'TEACHER_SECRET' in os.environ"
    ),
    "environment of others": Attack("print(open('/proc/1/environ').read())"),
}
OUTPUT = {
    "flood": Attack("print('x' * 10**8)"),
    "flood of lines": Attack("for i in range(10**6): print(i)"),
    "flood of pictures": Attack("from IPython.display import display, Image\nfor _ in range(300): display(Image(data=bytes(9999), format='png'))"),
    "script in an output": Attack("from IPython.display import HTML, display\ndisplay(HTML('<script>alert(\"stolen\")</script>'))"),
    "script in an error": Attack("raise ValueError('<script>alert(\"stolen\")</script>')"),
    "script in an answer's error": Attack("", answer("raise ValueError('<script>alert(\"stolen\")</script>')"), NONE),
    "terminal codes": Attack("print('\\x1b[2J\\x1b]0;title\\x07')"),
    "stderr": Attack("import sys, warnings\nwarnings.warn('careful')\nprint('x', file=sys.stderr)"),
    "closes its streams": Attack("import os, sys\nsys.stdout.close()\nos.close(1)\nos.close(2)"),
}  # fmt: skip
TAMPERING = {
    "always equal": Attack("", "class E:\n    def __eq__(self, other): return True\n    def __getattr__(self, name): return lambda *a, **k: self\n" + answer("return E()"), NONE),
    "tensor that agrees": Attack("", "class Agrees(torch.Tensor):\n    @classmethod\n    def __torch_function__(cls, *a, **k): return True\n" + answer("return x.as_subclass(Agrees)"), HALF_WITHHELD, "reaches further"),
    "patched builtins": Attack("import builtins\nbuiltins.abs = builtins.sum = builtins.all = lambda *a, **k: True", WRONG, HALF_WITHHELD, "reaches further"),
    "patched allclose": Attack("torch.allclose = torch.equal = torch.isfinite = lambda *a, **k: True", WRONG, NONE),
    "patched Tensor": Attack("torch.Tensor.__eq__ = torch.Tensor.__sub__ = lambda *a: True", WRONG, NONE),
    "input transformer": Attack("get_ipython().input_transformers_cleanup.append(lambda lines: ['pass\\n'])", WRONG, NOTHING, "reaches further"),
    "replaced run_cell": Attack("type(get_ipython()).run_cell = lambda *a, **k: None", WRONG, NOTHING, "reaches further"),
    "own check": Attack("def check(*a, **k): print('1.1 softmax: all checks passed (10 points)')", WRONG, NONE),
    "silenced judge": Attack("import pioneers.checks.run as c\nc.call = lambda *a, **k: None", WRONG, HALF_WITHHELD, "reaches further"),
    "disarmed guard": Attack("from pioneers.checks import guard\nguard.Guard.__torch_function__ = lambda self, f, t, a=(), k=None: f(*a, **(k or dict()))", answer("return torch.softmax(x, dim)"), WITHHELD, "reaches further"),
    "disarmed in disguise": Attack("g = __import__('pioneers.che' + 'cks.guard').checks.guard\ng.Guard.__init__ = lambda self, refuse: super(g.Guard, self).__init__() or self.__dict__.update(refuse=set(), refused='')", answer("return torch.softmax(x, dim)"), WITHHELD, "reaches further"),
    "the library": Attack("", answer("return torch.softmax(x, dim)"), NONE),
    "the library, aliased": Attack("s = torch.nn.functional.softmax", answer("return s(x, dim)"), NONE),
    "the library, swallowed": Attack("", answer("try:\n    return x.softmax(dim)\nexcept BaseException:\n    e = (x - x.amax(dim, keepdim=True)).exp()\n    return e / e.sum(dim, keepdim=True)"), NONE),
    "forged reply": Attack("import os\nfor fd in range(3, 30):\n    try: os.write(fd, b'\\0\\0\\0\\x07' + bytes(8) + b'\"ready\"')\n    except OSError: pass", WRONG, NONE, "process ended"),
    "forged garbage": Attack("", answer("import os\nfor fd in range(3, 30):\n    try: os.write(fd, b'x' * 99)\n    except OSError: pass\nreturn x"), NONE, "process ended"),
    "reads the references": Attack("try:\n    from pioneers.checks.loading import find\nexcept ImportError: find = None", answer("return find('1.1').reference(x, dim)"), HALF_WITHHELD, "reaches further"),
    "looks up the stack": Attack("", answer("import sys\nf = sys._getframe(1)\nwhile f:\n    for v in f.f_locals.values():\n        if isinstance(v, torch.Tensor) and v is not x: return v\n    f = f.f_back\nreturn x"), HALF_WITHHELD, "reaches further"),
    "remembers probes": Attack("seen = []", answer("seen.append(x.tolist())\ne = (x - x.amax(dim, keepdim=True)).exp()\nreturn e / e.sum(dim, keepdim=True)"), BOTH),
    "pickles a surprise": Attack("import pickle\nclass P:\n    def __reduce__(self): return (print, ('unpickled',))", answer("return pickle.dumps(P())"), HALF_WITHHELD, "reaches further"),
    "negative and NaN": Attack("", answer("return x * float('nan')"), NONE),
    "returns its input's name": Attack("", answer("return 'all checks passed (10 points)'"), NONE),
}  # fmt: skip
ATTACKS = {
    f"{group}: {name}": attack
    for group, attacks in {
        "structure": STRUCTURE, "process": PROCESS, "time": TIME, "memory": MEMORY, "disk": DISK, "files": FILES,
        "network": NETWORK, "output": OUTPUT, "tampering": TAMPERING,
    }.items()
    for name, attack in attacks.items()
}  # fmt: skip
