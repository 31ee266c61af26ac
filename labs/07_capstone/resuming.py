"""Exercise 7.4: which runs a results file still lacks. One JSON object per line, the last perhaps torn."""

import json
from itertools import accumulate

from pioneers.checks.building import exercise

ANSWER = '''
def missing_runs(
    text: str, arms: tuple[str, ...], seeds: tuple[int, ...], steps: int
) -> Tensor:
    """The runs (M, 2) that the file lacks: place of the arm, seed."""
    done = set()
    for line in text.splitlines():
        try:
            row = json.loads(line)
        except json.JSONDecodeError:
            continue
        if row["steps"] == steps and row["accuracy"] is not None:
            done.add((row["arm"], row["seed"]))
    pairs = [(a, seed) for a, arm in enumerate(arms) for seed in seeds if (arm, seed) not in done]
    return torch.tensor(pairs, dtype=torch.long).reshape(-1, 2)
'''
ex = exercise("7.4", ANSWER, points=9, minutes=14, difficulty=3, reread="sec-variations")

ARMS = ("none", "1-D", "2-D")


@ex.maker
def file(normal, rows, seeds, arms=ARMS, steps=150):
    """The ``rows`` are tuples, or text that a crash has left."""
    names = ("arm", "seed", "steps", "accuracy")
    text = ""
    for row in rows:
        text += row if isinstance(row, str) else json.dumps(dict(zip(names, row, strict=True))) + "\n"
    return {"text": text, "arms": arms, "seeds": seeds, "steps": steps}


WHOLE = [(arm, seed, 150, 0.5 + seed / 64) for arm in ARMS for seed in (2, 3, 5)]
SOME = [("1-D", 11, 150, 0.875), ("none", 3, 150, 0.5), ("2-D", 3, 150, 0.75), ("none", 5, 150, 0.25)]
UNASKED = [("3-D", 5, 150, 0.5), ("1-D", 7, 150, 0.5)]
TORN = '{"arm": "2-D", "seed": 5, "ste'
LONG = [("2-D", 3, 50, 0.5), ("2-D", 5, 1500, 0.5)]
ALIKE = [("1-D", 11, 150, 0.5), ("2-D", 31, 150, 0.5)]
ex.probe("some runs, in no order", rows=SOME, seeds=(3, 5, 11))
ex.probe("an empty file", rows=(), seeds=(0, 1))
ex.probe("a last line torn by a crash", rows=[*SOME, TORN], seeds=(3, 5, 11))
ex.probe(
    "a torn line in the middle, the next one glued to it", rows=[SOME[0], TORN, *SOME[1:]], seeds=(3, 5, 11),
)
ex.probe("runs of another length", rows=[*SOME[:2], *LONG], seeds=(3, 5))
ex.probe("a run that gave no number", rows=[*SOME[:2], ("2-D", 3, 150, None)], seeds=(5, 3))
ex.probe("the same row twice, and rows nobody asked for", rows=[*SOME, SOME[1], *UNASKED], seeds=(3, 5, 11))
ex.probe("seeds of which one begins like another", rows=ALIKE, seeds=(1, 11, 3), arms=("1-D", "2-D"))
ex.probe("nothing missing", rows=WHOLE, seeds=(2, 3, 5))
ex.probe("an accuracy of zero is a number", rows=[("1-D", 1, 150, 0.0)], seeds=(1, 2), arms=("1-D",))
ex.probe("a run begun again after it was done", rows=[*SOME, ("none", 3, 150, None)], seeds=(3, 5, 11))
ENDED = '{"arm": "2-D", "seed": 5, "steps": 150, "accuracy": 1}'
ex.probe("a last line that is whole, an accuracy that is a whole number", rows=[*SOME, ENDED], seeds=(3, 5))
ex.probe("a torn first line", rows=[TORN + "\n", *SOME], seeds=(3, 5, 11))
FOUR = {"arms": ("learned", "sinusoids", "rotary", "none"), "steps": 300}
ROWS = [("rotary", 13, 300, 0.5), ("none", 1, 300, 0.25), ("learned", 13, 300, 0.75)]
ROWS += [("learned", 1, 300, None)]
HALF = '{"arm": "sinusoids", "seed": 13, "steps": 300, "acc'
OTHERS = [("none", 13, 30, 0.5), ("none", 3, 3000, 0.5)]
SECOND = [("learned", 1, 300, 0.0), ROWS[1], ROWS[1]]
ex.hidden("four arms", rows=ROWS, seeds=(1, 13, 3), **FOUR)
ex.hidden("torn at the end", rows=[*ROWS, HALF], seeds=(13, 1), **FOUR)
ex.hidden("another length", rows=ROWS + OTHERS, seeds=(3, 13), **FOUR)
ex.hidden("a second attempt, a row twice", rows=ROWS + SECOND, seeds=(1, 2), **FOUR)


@ex.own
def any_runs(whole):
    seeds = tuple(accumulate(whole(1, 20, 3)))
    rows = [(ARMS[whole(0, 2)], seeds[whole(0, 2)], 150, whole(0, 64) / 64) for _ in range(4)]
    return {"rows": rows, "seeds": seeds}


@ex.law("the order of the lines does not matter", "Runs are done in any order, and a file may be sorted.")
def line_by_line(run, probe):
    turned = "".join(line + "\n" for line in probe.args["text"].splitlines()[::-1])
    return run(probe.having("law", text=turned)), run(probe)


def stops_at_a_torn_line(symptom):
    return symptom.stage == "runs" and "JSONDecodeError" in symptom.case.outcome.error


READ = "row = json.loads(line)\n"
TRIED = f"        try:\n            {READ}        except json.JSONDecodeError:\n            continue\n"
COUNTS, NEW = 'row["steps"] == steps and row["accuracy"] is not None', "(arm, seed) not in done"
ADDED = f'        if {COUNTS}:\n            done.add((row["arm"], row["seed"]))\n'
ex.wrong(
    "a result that is no tensor",
    "",
    ("torch.tensor(pairs, dtype=torch.long).reshape(-1, 2)", "pairs"), believes="a list of pairs is a table",
)
ex.wrong(
    "a torn line stops everything",
    "A crash may leave half a line, and the file must still be of use: catch the error for each line.",
    (TRIED, f"        {READ}"), believes="a file holds what was written", shows=stops_at_a_torn_line,
)
ex.wrong(
    "no pairs, no shape",
    "An empty list makes a tensor of shape (0,): with nothing missing the result is (0, 2).",
    (".reshape(-1, 2)", ""), believes="an empty list is a tensor like others",
    shows=lambda symptom: symptom.stage == "shape" and not symptom.case.expected.tensor.numel(),
)
ex.wrong(
    "everything behind a torn line is lost",
    "The lines behind a torn one are whole again: go on with the next line, do not break.",
    ("continue", "break"), believes="behind a torn line there is nothing",
)
ex.wrong(
    "the last line is taken for torn",
    "A line that can be read is whole, the last one too: only what cannot be read is left out.",
    ("text.splitlines()", "text.splitlines()[:-1]"), believes="the last line may be torn, so drop it",
)
ex.wrong(
    "runs of any length",
    "A run of other steps belongs to another budget, and must not stand in this table.",
    ('row["steps"] == steps and ', ""), believes="a run is a run",
)
ex.wrong(
    "runs at least as long",
    "A run of more steps had another budget, and an unfair one: the steps must be equal.",
    ("== steps", ">= steps"), believes="longer is good enough",
)
ex.wrong(
    "a run without a number is done",
    "null means that the run was begun and gave no number: it is still missing.",
    (' and row["accuracy"] is not None', ""), believes="a row in the file is a finished run",
)
ex.wrong(
    "zero is taken for nothing",
    "An accuracy of 0 is a result, however bad: ask `is None`, not for truth.",
    (" is not None", ""), believes="no accuracy means that it is false",
)
ex.wrong(
    "runs are counted, not named",
    "The file says which runs are done, in any order and perhaps twice; how many says nothing.",
    [("done = set()", "count = 0"), (ADDED, "        count += 1\n"), (f" if {NEW}]", "][count:]")],
    believes="go on behind the last row",
)
ex.wrong(
    "the last line of a run decides",
    "A run is done if some line says so: a later one that failed does not undo it.",
    [("done = set()", "done = {}"), (ADDED, f'        done[row["arm"], row["seed"]] = {COUNTS}\n'),
     (NEW, "not done.get((arm, seed))")], believes="what is written last is true",
)
ex.wrong(
    "text instead of numbers",
    "In text, seed 1 is found in seed 11: read the object, then compare the values.",
    (NEW, """f'"arm": "{arm}", "seed": {seed}' not in text"""), believes="a row can be found as text",
)
ex.wrong(
    "an arm is done with its first seed",
    "A run is an arm and a seed: look for the pair.",
    [('add((row["arm"], row["seed"]))', 'add(row["arm"])'), (NEW, "arm not in done")],
    believes="a row stands for its arm",
)
ex.wrong(
    "what is done, not what is missing",
    "The rows in the file are done: return the pairs that are not there.",
    ("not in done", "in done"), believes="the function lists the runs of the file",
)
ex.wrong(
    "the file is not looked at",
    "A rerun that does everything again doubles the rows: leave out what is done.",
    (f" if {NEW}", ""), believes="start again from the beginning",
)
ARM, SEED = "for a, arm in enumerate(arms)", "for seed in seeds"
ex.wrong(
    "seeds before arms",
    "All seeds of the first arm come first, then those of the second.",
    (f"{ARM} {SEED}", f"{SEED} {ARM}"), believes="all arms with one seed, then the next seed",
)
ex.wrong(
    "places of seeds, not seeds",
    "An arm is returned as its place in `arms`, a seed as itself.",
    ("[(a, seed)", "[(a, seeds.index(seed))"), believes="both numbers are places",
)
ex.wrong(
    "seeds done by any arm",
    "A run is an arm and a seed: what one arm has done another may still miss.",
    [('done.add((row["arm"], row["seed"]))', 'done.add(row["seed"])'),
    ("(arm, seed) not in done", "seed not in done")],
    believes="a seed is a run",
)
ex.wrong(
    "a row glued to half a line is read all the same",
    "The line as a whole is no JSON, so it is left out, whatever stands at its end.",
    ("json.loads(line)", 'json.loads(line[line.rfind("{") :])'), believes="save what can be saved",
)

ex.right(
    "a table of what is done",
    source="""
def missing_runs(text, arms, seeds, steps):
    todo = torch.ones(len(arms), len(seeds), dtype=torch.bool)
    for line in text.split("\\n"):
        try:
            row = json.loads(line)
        except json.JSONDecodeError:
            continue
        if row["arm"] in arms and row["seed"] in seeds and row["steps"] == steps:
            if row["accuracy"] is not None:
                todo[arms.index(row["arm"]), seeds.index(row["seed"])] = False
    a, s = todo.nonzero(as_tuple=True)
    return torch.stack([a, torch.tensor(seeds)[s]], dim=1)
""",
)
ex.right(
    "a function that reads a line or gives None",
    source="""
def missing_runs(text, arms, seeds, steps):
    def read(line):
        try:
            return json.loads(line)
        except ValueError:
            return None

    rows = [row for row in map(read, text.splitlines()) if row is not None]
    out = torch.empty(0, 2, dtype=torch.long)
    for a, arm in enumerate(arms):
        for s in seeds:
            same = [r for r in rows if (r["arm"], r["seed"], r["steps"]) == (arm, s, steps)]
            if not any(r["accuracy"] is not None for r in same):
                out = torch.cat([out, torch.tensor([[a, s]])])
    return out
""",
)
ex.equivalent(
    "The axes of this tensor can be split or joined without a copy, or copying does not matter.",
    (".reshape", ".view"),
)
ex.equivalent(
    "Any number but 0 counts as True.",
    (", dtype=torch.bool", ""),
    of="a table of what is done",
)
ex.right("struck from a list", source='''
def missing_runs(text, arms, seeds, steps):
    todo = [(arm, seed) for arm in arms for seed in seeds]
    for line in text.splitlines():
        try:
            row = json.loads(line)
        except json.JSONDecodeError:
            row = {"steps": None}
        if row["steps"] == steps and row["accuracy"] is not None:
            run = row["arm"], row["seed"]
            if run in todo:
                todo.remove(run)
    out = torch.zeros(len(todo), 2, dtype=torch.int64)
    for i, (arm, seed) in enumerate(todo):
        out[i, 0], out[i, 1] = arms.index(arm), seed
    return out
''')
ex.right("a dictionary of all runs", source='''
def missing_runs(text, arms, seeds, steps):
    lacks = {(a, seed): True for a in range(len(arms)) for seed in seeds}
    place = {arm: a for a, arm in enumerate(arms)}
    for line in text.split("\\n"):
        try:
            row = json.loads(line)
        except ValueError:
            continue
        key = place.get(row["arm"]), row["seed"]
        if key in lacks and row["steps"] == steps and row["accuracy"] is not None:
            lacks[key] = False
    return torch.tensor([key for key, lack in lacks.items() if lack]).long().view(-1, 2)
''')
ex.right("a generator of whole rows", source='''
def missing_runs(text, arms, seeds, steps):
    def rows():
        for line in text.splitlines():
            try:
                yield json.loads(line)
            except json.JSONDecodeError:
                pass

    whole = [r for r in rows() if r["steps"] == steps and r["accuracy"] is not None]
    done = {(r["arm"], r["seed"]) for r in whole}
    runs = torch.cartesian_prod(torch.arange(len(arms)), torch.tensor(seeds))
    lacks = [(arms[a], seed) not in done for a, seed in runs.tolist()]
    return runs[torch.tensor(lacks)]
''')
ex.right("arm by arm, the difference of two sets", source='''
def missing_runs(text, arms, seeds, steps):
    done = {arm: set() for arm in arms}
    for line in text.splitlines():
        try:
            row = json.loads(line)
        except json.JSONDecodeError:
            continue
        if row["arm"] in done and row["steps"] == steps and isinstance(row["accuracy"], (int, float)):
            done[row["arm"]].add(row["seed"])
    parts = [torch.empty(0, 2, dtype=torch.long)]
    for a, arm in enumerate(arms):
        left = sorted(set(seeds) - done[arm], key=seeds.index)
        parts.append(torch.tensor([[a, seed] for seed in left], dtype=torch.long).reshape(len(left), 2))
    return torch.cat(parts)
''')
ex.right("two columns, stacked", source='''
def missing_runs(text, arms, seeds, steps):
    done = []
    for line in text.splitlines():
        try:
            row = json.loads(line)
            if row["accuracy"] is None or row["steps"] != steps:
                continue
        except json.JSONDecodeError:
            continue
        done.append((row["arm"], row["seed"]))
    first, second = [], []
    for a in range(len(arms)):
        for seed in seeds:
            if done.count((arms[a], seed)) == 0:
                first.append(a)
                second.append(seed)
    return torch.stack([torch.tensor(column).long() for column in (first, second)], dim=-1)
''')
ex.right("a mask over the grid of runs, compared at once", source='''
def missing_runs(text, arms, seeds, steps):
    rows = [[-1, -1]]
    for line in text.splitlines():
        try:
            row = json.loads(line)
        except json.JSONDecodeError:
            continue
        if row["arm"] in arms and row["steps"] == steps and row["accuracy"] is not None:
            rows.append([arms.index(row["arm"]), row["seed"]])
    done = torch.tensor(rows)
    a, s = torch.meshgrid(torch.arange(len(arms)), torch.tensor(seeds), indexing="ij")
    grid = torch.stack((a, s), dim=-1).flatten(0, 1)
    return grid[~(grid[:, None] == done).all(dim=-1).any(dim=1)]
''')
