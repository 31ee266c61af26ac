"""argparse, with help that reads like a page, errors of one line, and commands loaded when they are used."""

import argparse
import difflib
import shutil
from collections.abc import Callable
from typing import Any, NoReturn

WIDTH = 100  # longer lines of help are hard to read


class Formatter(argparse.RawDescriptionHelpFormatter):
    """Keeps the paragraphs of descriptions, and shows the default where there is one to speak of."""

    def __init__(self, prog: str) -> None:
        columns = shutil.get_terminal_size().columns
        super().__init__(prog, max_help_position=26, width=min(columns, WIDTH))

    def add_argument(self, action: argparse.Action) -> None:
        """argparse's, which forgets that the names of commands are indented once more."""
        super().add_argument(action)
        self._action_max_length += 2 * isinstance(action, argparse._SubParsersAction)

    def _get_help_string(self, action: argparse.Action) -> str:
        absent = action.default is False or action.default in (None, [], argparse.SUPPRESS)  # 0 is not False
        silent = absent or not action.option_strings
        return (action.help or "") + ("" if silent else " (default: %(default)s)")


class Parser(argparse.ArgumentParser):
    """A parser of a command.

    Args:
        fill: adds the arguments; called when the command is used and not before, because its module imports
            torch, which takes a second.
        options: argparse's.
    """

    def __init__(self, *, fill: Callable[["Parser"], None] | None = None, **options: Any) -> None:
        super().__init__(formatter_class=Formatter, allow_abbrev=False, **options)
        self._fill = fill

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> Any:
        """argparse's, with the arguments added first, and the options of a file that ``--config`` names."""
        fill, self._fill = self._fill, None
        if fill is not None:
            fill(self)
        if "config" in self.options():
            self._read_config(args)
        found, unknown = super().parse_known_args(args, namespace)
        if unknown and self._subparsers is None:
            close = difflib.get_close_matches(unknown[0].split("=")[0], self._option_string_actions, n=1)
            hint = f"; did you mean {close[0]}?" if close else ""
            self.error(f"unrecognized arguments: {' '.join(unknown)}{hint}")
        return found, unknown

    def options(self) -> dict[str, argparse.Action]:
        """Return the options by name, as in ``batch_size``."""
        named = {
            string: action for string, action in self._option_string_actions.items() if string[:2] == "--"
        }
        positive = {string: action for string, action in named.items() if not string.startswith("--no-")}
        return {string[2:].replace("-", "_"): a for string, a in positive.items() if a.dest != "help"}

    def _read_config(self, args: Any) -> None:
        from pioneers.cli.config_file import set_options

        finder = argparse.ArgumentParser(add_help=False, allow_abbrev=False, exit_on_error=False)
        finder.add_argument("--config")
        try:
            path = finder.parse_known_args(args)[0].config
            if path is not None:
                set_options(self, path)
        except argparse.ArgumentError:
            return  # it is said by the real parser
        except (ValueError, OSError) as error:
            self.error(str(error))

    def error(self, message: str) -> NoReturn:
        """End with one line and status 2."""
        self.exit(2, f"pioneers: error: {message} (see: {self.prog} --help)\n")


def positive_int(text: str) -> int:
    """Parse a positive integer, for argparse."""
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"must be a positive integer, not {text!r}")
    return int(text)


def non_negative_int(text: str) -> int:
    """Parse an integer of at least 0, for argparse."""
    if not text.isdecimal():
        raise argparse.ArgumentTypeError(f"must be an integer of at least 0, not {text!r}")
    return int(text)


def non_negative_float(text: str) -> float:
    """Parse a number of at least 0, for argparse."""
    try:
        value = float(text)
    except ValueError:
        value = -1.0
    if not 0 <= value < float("inf"):
        raise argparse.ArgumentTypeError(f"must be a number of at least 0, not {text!r}")
    return value
