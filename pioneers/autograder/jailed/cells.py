"""Run the cells of a notebook in this process and collect their outputs."""

import contextlib
import io
import traceback
from typing import Any

from IPython.core.displayhook import CapturingDisplayHook
from IPython.core.displaypub import CapturingDisplayPublisher
from IPython.core.interactiveshell import InteractiveShell
from traitlets.config import Config

MAX_SHOWN = 100_000  # characters of one stream of one cell
MAX_RICH = 4 << 20  # characters of one figure


class Capped(io.StringIO):
    """A stream that keeps the first characters written to it, up to a limit."""

    def write(self, text: str) -> int:
        """Append as much of ``text`` as there is room for."""
        room = MAX_SHOWN - self.tell()
        super().write(text[:room] if room > 0 else "")
        return len(text)


def make_shell() -> InteractiveShell:
    """Return an IPython shell without history and colours."""
    settings = Config()
    settings.HistoryManager.enabled = False
    settings.InteractiveShell.colors = "nocolor"
    settings.InteractiveShell.autoindent = False
    shell: InteractiveShell = InteractiveShell.instance(config=settings)
    shell.showtraceback = lambda *args, **kwargs: None  # type: ignore[method-assign]
    shell.showsyntaxerror = lambda *args, **kwargs: None  # type: ignore[method-assign]
    return shell


def run_cell(shell: InteractiveShell, source: str) -> list[dict[str, Any]]:
    """Run one cell and return its outputs in the format of notebooks."""
    out, err = Capped(), Capped()
    publisher, hook = shell.display_pub, shell.display_trap.hook
    pictures = shell.display_pub = CapturingDisplayPublisher()
    shell.display_trap.hook = CapturingDisplayHook(shell=shell, outputs=pictures.outputs)
    try:
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            result = shell.run_cell(source, store_history=False)
        error = result.error_before_exec or result.error_in_exec
    except BaseException as stop:  # SystemExit, or a shell that the student broke
        error = stop
    finally:
        shell.display_pub, shell.display_trap.hook = publisher, hook
    shown = [_stream("stdout", out), _stream("stderr", err), *map(_rich, pictures.outputs)]
    return [output for output in shown if output] + ([_error(error)] if error else [])


def _stream(name: str, stream: Capped) -> dict[str, Any]:
    text = stream.getvalue()
    return {"output_type": "stream", "name": name, "text": text} if text else {}


def _rich(shown: Any) -> dict[str, Any]:
    data = {kind: str(content)[:MAX_RICH] for kind, content in dict(shown["data"]).items()}
    return {"output_type": "display_data", "data": data, "metadata": {}}


def _error(error: BaseException) -> dict[str, Any]:
    lines = traceback.format_exception_only(error)
    own = [frame for frame in traceback.extract_tb(error.__traceback__) if "ipython-input" in frame.filename]
    places = [f"line {frame.lineno}: {frame.line}" for frame in own[-3:]]
    return {
        "output_type": "error",
        "ename": type(error).__name__,
        "evalue": str(error)[:2000],
        "traceback": [*places, "".join(lines).strip()[:4000]],
    }
