"""Options from a file: ``--config run.yaml``, which a run writes and which may be written by hand."""

import argparse
import difflib
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

import yaml

NOT_SETTINGS = ("config", "dry_run", "out")  # where a run is, not what it is
SOURCES = ("text", "pairs", "images", "data", "val", "init_from")  # what a run learns from; it keeps a hash
FLAGS = (argparse.BooleanOptionalAction, argparse._StoreTrueAction)


class Expected(NamedTuple):
    """What a configuration file says of the data: its hash, and the options that named it."""

    file: str
    sha256: str
    sources: Mapping[str, Any]


def config_to_text(settings: Mapping[str, Any]) -> str:
    """Write settings as YAML; :func:`read_config` reads it."""
    return yaml.safe_dump(dict(settings), sort_keys=False, allow_unicode=True)


def read_config(path: str | Path) -> dict[str, Any]:
    """Read a YAML file of settings.

    Raises:
        FileNotFoundError: there is no such file.
        ValueError: the file does not hold names with values.
    """
    if not Path(path).is_file():
        raise FileNotFoundError(f"there is no file {str(path)!r}; a run has its settings in FOLDER/run.yaml")
    try:
        values = yaml.safe_load(Path(path).read_text(encoding="utf-8"))
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        mark = getattr(error, "problem_mark", None)
        where = f", line {mark.line + 1}," if mark else ""
        reason = getattr(error, "problem", None) or "it is not UTF-8"
        raise ValueError(
            f"{path}{where} is not YAML ({reason}); write a line for each option, as in steps: 500"
        ) from error
    if not isinstance(values, dict):
        raise ValueError(f"{path} has no options; write a line for each, as in steps: 500")
    return values


def set_options(parser: Any, path: str) -> None:
    """Make the values in a file the defaults of a parser's options, so that the command line overrides them.

    Args:
        parser: a :class:`~pioneers.cli.parser.Parser` of a command.
        path: the file.

    Raises:
        ValueError: this parser does not have an option, or the option does not take its value.
    """
    values = read_config(path)
    model = values.pop("model", parser.get_default("model"))
    if model != parser.get_default("model"):
        raise ValueError(f"{path} has the settings of another model: pioneers train {model} --config {path}")
    sha256 = values.pop("sha256", None)
    options = {name: action for name, action in parser.options().items() if name != "config"}
    for name, value in values.items():
        if name not in options:
            close = difflib.get_close_matches(str(name), options, n=1)
            hint = f"did you mean {close[0]}?" if close else "its options are those of the command line"
            raise ValueError(f"{path}: there is no option {name} here; {hint}")
        if value is not None:
            options[name].default = _value(path, name, options[name], value)
            options[name].required = False
    sources = {options[name].dest: options[name].default for name in values if name in SOURCES}
    if sha256 is not None:
        parser.set_defaults(expected=Expected(path, sha256, sources))


def check_data(args: argparse.Namespace, sha256: str) -> None:
    """Check that the data are those that the configuration file was written for, if it names them.

    Raises:
        ValueError: they are others.
    """
    expected: Expected | None = getattr(args, "expected", None)
    if expected is None or sha256 == expected.sha256:
        return
    if all(getattr(args, name) == value for name, value in expected.sources.items()):
        raise ValueError(
            f"the data are not those that {expected.file} was written for; restore them, or delete its line "
            f"'sha256' to train on what is there now"
        )


def _value(path: str, name: str, action: argparse.Action, value: Any) -> Any:
    several = action.nargs in ("+", "*")
    if isinstance(action, FLAGS):
        if not isinstance(value, bool):
            raise ValueError(f"{path}: {name} must be true or false, not {value!r}")
        return value
    if isinstance(value, dict) or (isinstance(value, list) and not several):
        raise ValueError(f"{path}: {name} must be one value, not {value!r}")
    found = [_one(path, name, action, item) for item in (value if isinstance(value, list) else [value])]
    return found if several else found[0]


def _one(path: str, name: str, action: argparse.Action, value: Any) -> Any:
    parse: Any = action.type or str
    try:
        found = parse(str(value))
    except (argparse.ArgumentTypeError, ValueError) as error:
        raise ValueError(f"{path}: {name} {error}") from error
    if action.choices is not None and found not in action.choices:
        raise ValueError(
            f"{path}: {name} must be one of {', '.join(map(str, action.choices))}, not {value!r}"
        )
    return found
