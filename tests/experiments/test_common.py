"""Experiments: each run is done once, an interrupted experiment goes on, a changed one begins anew."""

import importlib.util
import json
import sys
from pathlib import Path

import pytest


@pytest.fixture
def common(root, tmp_path, monkeypatch):
    spec = importlib.util.spec_from_file_location("common", root / "experiments" / "common.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    monkeypatch.setattr(module, "FINISHED", tmp_path / "finished")
    monkeypatch.setattr(module, "RESULTS", tmp_path / "results")
    monkeypatch.setattr(module, "_processes", lambda: 1)
    return module


CASES = {"small": {"width": 2}, "large": {"width": 7}}


def test_every_case_is_run_with_every_seed(common):
    begun = []

    def one_case(seed, steps, width):
        begun.append((width, seed))
        return {"loss": seed + steps / width, "curve": (seed, width)}

    result = json.loads(common.run("demo", CASES, one_case, config={"steps": 3}).read_text())
    assert [(row["case"], row["seed"]) for row in result["rows"]] == [
        (case, seed) for seed in range(5) for case in CASES
    ]
    assert result["rows"][3]["loss"] == pytest.approx(1 + 3 / 7, rel=1e-4)
    assert result["rows"][3]["curve"] == [1, 7]
    assert result["command"] == "make experiments NAME=demo"
    assert result["config"] == {"steps": 3}
    assert list((common.RESULTS).iterdir()) == [common.RESULTS / "demo.json"]
    # seeds of one case stand side by side: each pretrains a model that other cases find ready
    assert begun == [(case["width"], seed) for case in CASES.values() for seed in range(5)]


def test_an_interrupted_experiment_goes_on(common):
    done = []

    def one_case(seed, width):
        if len(done) == 4:
            raise KeyboardInterrupt
        done.append((width, seed))
        return {"loss": float(seed)}

    with pytest.raises(KeyboardInterrupt):
        common.run("demo", CASES, one_case, config={})
    assert not common.RESULTS.exists()
    before = list(done)
    done.clear()
    common.run("demo", CASES, lambda seed, width: done.append((width, seed)) or {}, config={})
    assert sorted(before + done) == sorted(
        (case["width"], seed) for case in CASES.values() for seed in range(5)
    )


def test_another_config_or_case_is_run_afresh(common):
    done = []

    def one_case(seed, width, lr):
        done.append((seed, width, lr))
        return {}

    common.run("demo", CASES, one_case, config={"lr": 0.1}, seeds=[0])
    common.run("demo", CASES, one_case, config={"lr": 0.1}, seeds=[0])
    assert len(done) == 2
    common.run("demo", CASES, one_case, config={"lr": 0.2}, seeds=[0])
    assert done[2:] == [(0, 2, 0.2), (0, 7, 0.2)]
    common.run("demo", CASES | {"large": {"width": 9}}, one_case, config={"lr": 0.2}, seeds=[0])
    assert done[4:] == [(0, 9, 0.2)]


def test_several_processes_find_what_one_finds(common, monkeypatch):
    # other processes must find `common` under its own name
    monkeypatch.setitem(sys.modules, "common", common)
    monkeypatch.syspath_prepend(str(Path(common.__file__).parent))
    alone = common.run("alone", CASES, dict, config={"steps": 3}, seeds=[0, 1])
    monkeypatch.setattr(common, "_processes", lambda: 2)
    together = common.run("together", CASES, dict, config={"steps": 3}, seeds=[0, 1])
    rows = [
        [{**row, "seconds": 0} for row in json.loads(path.read_text())["rows"]] for path in (alone, together)
    ]
    assert rows[0] == rows[1]
    assert [(row["width"], row["seed"]) for row in rows[1]] == [(2, 0), (7, 0), (2, 1), (7, 1)]
