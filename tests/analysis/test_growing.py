from itertools import pairwise

import pytest
from bs4 import BeautifulSoup

from pioneers.analysis import experiment, growing_model


def test_the_table_has_a_row_for_each_stage_and_highlights_one():
    shown = growing_model("attention")._repr_mimebundle_()
    rows = BeautifulSoup(shown["text/html"], "html.parser").select("tbody tr")
    assert [row.td.get_text().startswith("→") for row in rows] == [False, True, False, False]
    assert [bool(row.strong) for row in rows] == [False, True, False, False]
    first = [row for row in experiment("growing_model")["rows"] if row["seed"] == 0]
    assert [row.select("td")[1].get_text() for row in rows] == [f"{row['parameters']:,}" for row in first]
    for shown_row, row in zip(rows, first, strict=True):
        written = shown_row.select("td")[3].get_text()
        assert written == row["sample"][: len(written)] and len(written) > 60
    assert [line[0] for line in shown["text/plain"].split("\n")] == [" ", "→", " ", " "]


def test_the_bits_are_the_mean_of_the_seeds_and_each_stage_has_fewer():
    rows = experiment("growing_model")["rows"]
    bits = [row["bits_per_character"] for row in rows if row["case"] == "block"]
    stages = growing_model("GPT").stages
    assert stages[2].bits[0] == pytest.approx(sum(bits) / 5)
    for one, two in pairwise(stages):
        assert one.bits[0] - one.bits[1] > two.bits[0] + two.bits[1]
    with pytest.raises(ValueError, match="the stages are bigram, attention, block, GPT, not 'bert'"):
        growing_model("bert")
