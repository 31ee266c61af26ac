"""README and CONTRIBUTING: the ten lines give the output shown, and numbers are those of stored results."""

import contextlib
import io
import re
from pathlib import Path

import pytest

from pioneers.analysis import experiment

ROOT = Path(__file__).parents[1]
TEXT = (ROOT / "README.md").read_text()


def test_the_ten_lines_print_what_readme_shows():
    code, shown = re.search(r"```python\n(.*?)```\n\n```text\n(.*?)```", TEXT, re.DOTALL).groups()
    assert len([line for line in code.splitlines() if line and not line.startswith(("import", "from"))]) <= 10
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(code, {})
    (percent, rest), (expected, expected_rest) = (text.split("%", 1) for text in (printed.getvalue(), shown))
    assert rest == expected_rest
    assert int(percent) == pytest.approx(int(expected), abs=3)  # processors round differently


def test_the_result_is_the_stored_one():
    row = experiment("multi30k")["rows"][0]
    result = re.search(r"\*\*One result\.\*\*.*?\n\n", TEXT, re.DOTALL)[0]
    assert f"{row['parameters'] / 1e6:.1f} million parameters" in result
    assert f"BLEU score of {row['scores']['beam 4, alpha 0.6']['bleu']:.1f}" in result
    assert f"{row['training_cpu_seconds'] / 60:.0f} minutes of CPU time" in result


def test_the_table_of_experiments_is_complete_and_right():
    rows = re.findall(r"^\| `(\w+)` \|.*\| (\d+) \|$", (ROOT / "CONTRIBUTING.md").read_text(), re.MULTILINE)
    stored = {path.stem for path in ROOT.glob("pioneers/results/*.json")} - {"speed"}
    assert dict(rows) == {name: f"{experiment(name)['seconds'] / 60:.0f}" for name in stored}
