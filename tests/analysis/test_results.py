import re
from importlib.resources import files

import pytest

from pioneers.analysis import experiment


def test_results_come_with_the_command_that_makes_them_again(root):
    names = {file.stem for file in (root / "experiments").glob("*.py")} & {
        file.name.removesuffix(".json") for file in (files("pioneers") / "results").iterdir()
    }
    assert names
    for name in names:
        found = experiment(name)
        assert found["command"] == f"make experiments NAME={name}"
        seeds = {row["seed"] for row in found["rows"] if row["case"] in found["cases"]}
        assert seeds >= {0}


def test_an_unknown_name_is_refused_with_those_there_are():
    with pytest.raises(ValueError, match=re.escape("no results of 'positoins'; there are: ")) as error:
        experiment("positoins")
    assert "positions" in str(error.value)
