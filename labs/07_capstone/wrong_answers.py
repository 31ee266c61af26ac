"""What students really write in lab 7: wrong answers, the diagnosis each must get, and other right ones."""

from pioneers.checks.bank import Right, Wrong

WRONG = {
    "7.1": [
        Wrong(
            "training is a forward pass for each batch",
            "the forward pass only",
            """
def equal_steps(budget, multiply_adds, batch_sizes):
    return budget // (2 * multiply_adds * batch_sizes)
""",
        ),
        Wrong(
            "backward costs what forward costs",
            "the backward pass counted once",
            """
def equal_steps(budget, multiply_adds, batch_sizes):
    forward = backward = 2 * multiply_adds * batch_sizes
    return budget // (forward + backward)
""",
        ),
        Wrong(
            "a multiply-add is one operation",
            "multiply-adds taken for operations",
            """
def equal_steps(budget, multiply_adds, batch_sizes):
    return budget // (3 * multiply_adds * batch_sizes)
""",
        ),
        Wrong(
            "a step is an image",
            "one image in each step",
            """
def equal_steps(budget, multiply_adds, batch_sizes):
    return budget // (6 * multiply_adds)
""",
        ),
        Wrong(
            "fair means the same number of images, so of epochs",
            "the same images, not the same operations",
            """
def equal_steps(budget, multiply_adds, batch_sizes):
    images = budget // (6 * int(multiply_adds.max()))
    return images // batch_sizes
""",
        ),
        Wrong(
            "fair means the same number of steps",
            "the same number of steps for every arm",
            """
def equal_steps(budget, multiply_adds, batch_sizes):
    steps = budget // (6 * multiply_adds * batch_sizes)
    return torch.full_like(steps, int(steps.min()))
""",
        ),
        Wrong(
            "the budget is shared",
            "the budget divided among the arms",
            """
def equal_steps(budget, multiply_adds, batch_sizes):
    return budget // (6 * multiply_adds * batch_sizes * len(multiply_adds))
""",
        ),
        Wrong(
            "a part of a step is rounded up",
            "more than the budget",
            """
def equal_steps(budget, multiply_adds, batch_sizes):
    cost = 6 * multiply_adds * batch_sizes
    return (budget + cost - 1) // cost
""",
        ),
        Wrong(
            "a division gives the number of steps",
            "steps that are no whole number",
            """
def equal_steps(budget, multiply_adds, batch_sizes):
    return budget / (6 * multiply_adds * batch_sizes)
""",
        ),
        Wrong(
            "divide, then round down",
            "whole numbers taken through floats",
            """
def equal_steps(budget, multiply_adds, batch_sizes):
    return (budget / (6 * multiply_adds * batch_sizes).double()).floor().long()
""",
        ),
    ],
    "7.2": [
        Wrong(
            "accuracy is the share of right answers",
            "plain accuracy",
            """
def class_accuracy(predictions, labels, num_classes):
    asked = labels != -100
    return (predictions[asked] == labels[asked]).float().mean()
""",
        ),
        Wrong(
            "what has no label is just another image",
            "plain accuracy",
            """
def class_accuracy(predictions, labels, num_classes):
    return (predictions == labels).float().mean()
""",
        ),
        Wrong(
            "divide by the number of answers",
            "precision instead of recall",
            """
def class_accuracy(predictions, labels, num_classes):
    predictions, labels = predictions[labels != -100], labels[labels != -100]
    shares = []
    for c in range(num_classes):
        called = predictions == c
        if called.any():
            shares.append((labels[called] == c).float().mean())
    return torch.stack(shares).mean()
""",
        ),
        Wrong(
            "F1 is the better accuracy",
            "F1 instead of accuracy",
            """
def class_accuracy(predictions, labels, num_classes):
    predictions, labels = predictions[labels != -100], labels[labels != -100]
    scores = []
    for c in range(num_classes):
        hits = ((predictions == c) & (labels == c)).sum()
        total = (predictions == c).sum() + (labels == c).sum()
        if total > 0:
            scores.append(2 * hits / total)
    return torch.stack(scores).mean()
""",
        ),
        Wrong(
            "not called c is right, too, if it is not c",
            "each class against the rest",
            """
def class_accuracy(predictions, labels, num_classes):
    predictions, labels = predictions[labels != -100], labels[labels != -100]
    agree = [((predictions == c) == (labels == c)).float().mean() for c in range(num_classes)]
    return torch.stack(agree).mean()
""",
        ),
        Wrong(
            "a division by zero is mended with zero",
            "a class that does not occur counts as missed",
            """
def class_accuracy(predictions, labels, num_classes):
    shares = torch.zeros(num_classes)
    for c in range(num_classes):
        mine = labels == c
        shares[c] = (mine & (predictions == c)).sum() / mine.sum().clamp(min=1)
    return shares.mean()
""",
        ),
        Wrong(
            "every class occurs",
            "zero divided by zero",
            """
def class_accuracy(predictions, labels, num_classes):
    shares = [(predictions[labels == c] == c).float().mean() for c in range(num_classes)]
    return torch.stack(shares).mean()
""",
        ),
        Wrong(
            "where nothing is asked, nothing is wrong",
            "a class that does not occur counts as found",
            """
def class_accuracy(predictions, labels, num_classes):
    shares = torch.ones(num_classes)
    for c in range(num_classes):
        if (labels == c).any():
            shares[c] = (predictions[labels == c] == c).float().mean()
    return shares.mean()
""",
        ),
        Wrong(
            "the classes are those of either list",
            "a class that is only predicted counts as missed",
            """
def class_accuracy(predictions, labels, num_classes):
    predictions, labels = predictions[labels != -100], labels[labels != -100]
    classes = torch.cat([predictions, labels]).unique()
    shares = [((predictions == c) & (labels == c)).sum() / (labels == c).sum().clamp(min=1) for c in classes]
    return torch.stack(shares).mean()
""",
        ),
        Wrong(
            "a share of zero means that there is nothing",
            "a class that is never right is left out",
            """
def class_accuracy(predictions, labels, num_classes):
    shares = []
    for c in range(num_classes):
        hits = ((predictions == c) & (labels == c)).sum()
        if hits:
            shares.append(hits / (labels == c).sum())
    return torch.stack(shares).mean()
""",
        ),
        Wrong(
            "the classes are whatever stands in the labels",
            "no label taken for a class",
            """
def class_accuracy(predictions, labels, num_classes):
    shares = [(predictions[labels == c] == c).float().mean() for c in labels.unique()]
    return torch.stack(shares).mean()
""",
        ),
        Wrong(
            "a number is a number",
            "a result that is no tensor",
            """
def class_accuracy(predictions, labels, num_classes):
    occur = [c for c in range(num_classes) if (labels == c).any()]
    shares = [(predictions[labels == c] == c).float().mean() for c in occur]
    return (sum(shares) / len(shares)).item()
""",
        ),
    ],
    "7.3": [
        Wrong(
            "the best rate is the one that is best on the test images",
            "chosen on the test split",
            """
def tuned(validation, test, finished):
    means = test.mean(-1).masked_fill(~finished.all(-1), -1)
    return test[torch.arange(len(test)), means.argmax(-1)]
""",
        ),
        Wrong(
            "the more scores, the safer the choice",
            "chosen on validation and test together",
            """
def tuned(validation, test, finished):
    means = (validation + test).mean(-1).masked_fill(~finished.all(-1), -1)
    return test[torch.arange(len(test)), means.argmax(-1)]
""",
        ),
        Wrong(
            "the scores of the choice are its result",
            "the validation scores are returned",
            """
def tuned(validation, test, finished):
    means = validation.mean(-1).masked_fill(~finished.all(-1), -1)
    return validation[torch.arange(len(test)), means.argmax(-1)]
""",
        ),
        Wrong(
            "fair means the same rate for all",
            "one learning rate for all arms",
            """
def tuned(validation, test, finished):
    means = validation.mean(-1).masked_fill(~finished.all(-1), -torch.inf)
    return test[:, means.mean(0).argmax()]
""",
        ),
        Wrong(
            "every run may have its best rate",
            "another learning rate for each seed",
            """
def tuned(validation, test, finished):
    best = validation.masked_fill(~finished, -1).argmax(1, keepdim=True)
    return test.gather(1, best)[:, 0]
""",
        ),
        Wrong(
            "the best rate is that of the best run",
            "the luckiest run decides",
            """
def tuned(validation, test, finished):
    best = validation.masked_fill(~finished.all(-1, keepdim=True), -1).amax(-1).argmax(-1)
    return test[torch.arange(len(test)), best]
""",
        ),
        Wrong(
            "lower is better",
            "the worst rate is chosen",
            """
def tuned(validation, test, finished):
    means = validation.mean(-1).masked_fill(~finished.all(-1), torch.inf)
    return test[torch.arange(len(test)), means.argmin(-1)]
""",
        ),
        Wrong(
            "a run that was lost has some score as well",
            "a lost run is overlooked",
            """
def tuned(validation, test, finished):
    return test[torch.arange(len(test)), validation.mean(-1).argmax(-1)]
""",
        ),
        Wrong(
            "the mean of the other runs will do",
            "a lost run is overlooked",
            """
def tuned(validation, test, finished):
    means = (validation * finished).sum(-1) / finished.sum(-1)
    return test[torch.arange(len(test)), means.argmax(-1)]
""",
        ),
        Wrong(
            "no score is below zero",
            "a lost rate is marked with zero",
            """
def tuned(validation, test, finished):
    means = validation.mean(-1) * finished.all(-1)
    return test[torch.arange(len(test)), means.argmax(-1)]
""",
        ),
        Wrong(
            "the median is safer",
            "the middle run decides",
            """
def tuned(validation, test, finished):
    middle = validation.median(-1).values.masked_fill(~finished.all(-1), -1)
    return test[torch.arange(len(test)), middle.argmax(-1)]
""",
        ),
        Wrong(
            "greater or equal finds the best",
            "the last of equally good rates",
            """
def tuned(validation, test, finished):
    rows = []
    for a in range(len(test)):
        best = None
        for r in range(test.shape[1]):
            whole = bool(finished[a, r].all())
            if whole and (best is None or validation[a, r].mean() >= validation[a, best].mean()):
                best = r
        rows.append(test[a, best])
    return torch.stack(rows)
""",
        ),
        Wrong(
            "a table prints means",
            "the mean instead of the runs",
            """
def tuned(validation, test, finished):
    means = validation.mean(-1).masked_fill(~finished.all(-1), -1)
    return test[torch.arange(len(test)), means.argmax(-1)].mean(-1)
""",
        ),
    ],
    "7.4": [
        Wrong(
            "a file holds what was written",
            "a torn line stops everything",
            """
def missing_runs(text, arms, seeds, steps):
    rows = [json.loads(line) for line in text.splitlines()]
    done = {(r["arm"], r["seed"]) for r in rows if r["steps"] == steps and r["accuracy"] is not None}
    pairs = [(a, s) for a, arm in enumerate(arms) for s in seeds if (arm, s) not in done]
    return torch.tensor(pairs).reshape(-1, 2)
""",
        ),
        Wrong(
            "what is written last is true",
            "the last line of a run decides",
            """
def missing_runs(text, arms, seeds, steps):
    done = {}
    for line in text.splitlines():
        try:
            row = json.loads(line)
        except json.JSONDecodeError:
            continue
        done[row["arm"], row["seed"]] = row["steps"] == steps and row["accuracy"] is not None
    pairs = [(a, s) for a, arm in enumerate(arms) for s in seeds if not done.get((arm, s))]
    return torch.tensor(pairs, dtype=torch.long).reshape(-1, 2)
""",
        ),
        Wrong(
            "an empty list is a tensor like others",
            "no pairs, no shape",
            """
def missing_runs(text, arms, seeds, steps):
    done = set()
    for line in text.splitlines():
        try:
            row = json.loads(line)
        except ValueError:
            continue
        if row["steps"] == steps and row["accuracy"] is not None:
            done.add((row["arm"], row["seed"]))
    return torch.tensor([(a, s) for a, arm in enumerate(arms) for s in seeds if (arm, s) not in done]).long()
""",
        ),
        Wrong(
            "behind a torn line there is nothing",
            "everything behind a torn line is lost",
            """
def missing_runs(text, arms, seeds, steps):
    done = set()
    try:
        for line in text.splitlines():
            row = json.loads(line)
            if row["steps"] == steps and row["accuracy"] is not None:
                done.add((row["arm"], row["seed"]))
    except ValueError:
        pass
    pairs = [(a, s) for a, arm in enumerate(arms) for s in seeds if (arm, s) not in done]
    return torch.tensor(pairs, dtype=torch.long).reshape(-1, 2)
""",
        ),
        Wrong(
            "the last line may be torn, so drop it",
            "the last line is taken for torn",
            """
def missing_runs(text, arms, seeds, steps):
    done = set()
    for line in text.splitlines()[:-1]:
        try:
            row = json.loads(line)
        except ValueError:
            continue
        if row["steps"] == steps and row["accuracy"] is not None:
            done.add((row["arm"], row["seed"]))
    pairs = [(a, s) for a, arm in enumerate(arms) for s in seeds if (arm, s) not in done]
    return torch.tensor(pairs, dtype=torch.long).reshape(-1, 2)
""",
        ),
        Wrong(
            "a run is a run",
            "runs of any length",
            """
def missing_runs(text, arms, seeds, steps):
    done = set()
    for line in text.splitlines():
        try:
            row = json.loads(line)
        except ValueError:
            continue
        if row["accuracy"] is not None:
            done.add((row["arm"], row["seed"]))
    pairs = [(a, s) for a, arm in enumerate(arms) for s in seeds if (arm, s) not in done]
    return torch.tensor(pairs, dtype=torch.long).reshape(-1, 2)
""",
        ),
        Wrong(
            "longer is good enough",
            "runs at least as long",
            """
def missing_runs(text, arms, seeds, steps):
    done = set()
    for line in text.splitlines():
        try:
            row = json.loads(line)
        except ValueError:
            continue
        if row["steps"] >= steps and row["accuracy"] is not None:
            done.add((row["arm"], row["seed"]))
    pairs = [(a, s) for a, arm in enumerate(arms) for s in seeds if (arm, s) not in done]
    return torch.tensor(pairs, dtype=torch.long).reshape(-1, 2)
""",
        ),
        Wrong(
            "a row in the file is a finished run",
            "a run without a number is done",
            """
def missing_runs(text, arms, seeds, steps):
    done = set()
    for line in text.splitlines():
        try:
            row = json.loads(line)
        except ValueError:
            continue
        if row["steps"] == steps:
            done.add((row["arm"], row["seed"]))
    pairs = [(a, s) for a, arm in enumerate(arms) for s in seeds if (arm, s) not in done]
    return torch.tensor(pairs, dtype=torch.long).reshape(-1, 2)
""",
        ),
        Wrong(
            "no accuracy means that it is false",
            "zero is taken for nothing",
            """
def missing_runs(text, arms, seeds, steps):
    done = set()
    for line in text.splitlines():
        try:
            row = json.loads(line)
        except ValueError:
            continue
        if row["accuracy"] and row["steps"] == steps:
            done.add((row["arm"], row["seed"]))
    pairs = [(a, s) for a, arm in enumerate(arms) for s in seeds if (arm, s) not in done]
    return torch.tensor(pairs, dtype=torch.long).reshape(-1, 2)
""",
        ),
        Wrong(
            "go on behind the last row",
            "runs are counted, not named",
            """
def missing_runs(text, arms, seeds, steps):
    count = 0
    for line in text.splitlines():
        try:
            json.loads(line)
            count += 1
        except ValueError:
            pass
    pairs = [(a, s) for a in range(len(arms)) for s in seeds]
    return torch.tensor(pairs[count:], dtype=torch.long).reshape(-1, 2)
""",
        ),
        Wrong(
            "a row can be found as text",
            "text instead of numbers",
            """
def missing_runs(text, arms, seeds, steps):
    pairs = []
    for a, arm in enumerate(arms):
        for seed in seeds:
            if f'"arm": "{arm}", "seed": {seed}' not in text:
                pairs.append((a, seed))
    return torch.tensor(pairs, dtype=torch.long).reshape(-1, 2)
""",
        ),
        Wrong(
            "start again from the beginning",
            "the file is not looked at",
            """
def missing_runs(text, arms, seeds, steps):
    return torch.tensor([(a, s) for a in range(len(arms)) for s in seeds])
""",
        ),
        Wrong(
            "all arms with one seed, then the next seed",
            "seeds before arms",
            """
def missing_runs(text, arms, seeds, steps):
    done = set()
    for line in text.splitlines():
        try:
            row = json.loads(line)
        except ValueError:
            continue
        if row["steps"] == steps and row["accuracy"] is not None:
            done.add((row["arm"], row["seed"]))
    pairs = [(a, s) for s in seeds for a, arm in enumerate(arms) if (arm, s) not in done]
    return torch.tensor(pairs, dtype=torch.long).reshape(-1, 2)
""",
        ),
    ],
    "7.5": [
        Wrong(
            "the deviation is the root of the mean square",
            "divided by n, not by n - 1",
            """
def summary(scores, finished):
    rows = []
    for row, done in zip(scores, finished):
        x = row[done]
        rows.append(torch.stack([x.mean(), ((x - x.mean()) ** 2).mean().sqrt()]))
    return torch.stack(rows)
""",
        ),
        Wrong(
            "± is the standard error",
            "the standard error instead of the deviation",
            """
def summary(scores, finished):
    rows = []
    for row, done in zip(scores, finished):
        x = row[done]
        variance = ((x - x.mean()) ** 2).sum() / (len(x) - 1)
        rows.append(torch.stack([x.mean(), (variance / len(x)).sqrt()]))
    return torch.stack(rows)
""",
        ),
        Wrong(
            "the spread is the variance",
            "the variance instead of the deviation",
            """
def summary(scores, finished):
    rows = []
    for row, done in zip(scores, finished):
        x = row[done]
        rows.append(torch.stack([x.mean(), ((x - x.mean()) ** 2).sum() / (len(x) - 1)]))
    return torch.stack(rows)
""",
        ),
        Wrong(
            "the spread is from the worst to the best",
            "the range instead of the deviation",
            """
def summary(scores, finished):
    rows = [x[d] for x, d in zip(scores, finished)]
    return torch.stack([torch.stack([x.mean(), x.max() - x.min()]) for x in rows])
""",
        ),
        Wrong(
            "a model is as good as its best run",
            "the best run is reported",
            """
def summary(scores, finished):
    rows = []
    for row, done in zip(scores, finished):
        x = row[done]
        deviation = (((x - x.mean()) ** 2).sum() / (len(x) - 1)).sqrt()
        rows.append(torch.stack([x.max(), deviation]))
    return torch.stack(rows)
""",
        ),
        Wrong(
            "every place holds a run",
            "lost runs are counted",
            """
def summary(scores, finished):
    mean = scores.mean(1, keepdim=True)
    deviation = ((scores - mean).square().sum(1) / (scores.shape[1] - 1)).sqrt()
    return torch.stack([mean[:, 0], deviation], dim=1)
""",
        ),
        Wrong(
            "zeros do no harm in a sum",
            "lost runs are counted",
            """
def summary(scores, finished):
    n, kept = finished.sum(1), scores * finished
    mean = kept.sum(1) / n
    deviation = ((kept - mean[:, None]).square().sum(1) / (n - 1)).sqrt()
    return torch.stack([mean, deviation], dim=1)
""",
        ),
        Wrong(
            "n is the number of places",
            "divided by the places, not by the finished runs",
            """
def summary(scores, finished):
    rows = []
    for row, done in zip(scores, finished):
        x = row[done]
        rows.append(torch.stack([x.mean(), (((x - x.mean()) ** 2).sum() / (len(row) - 1)).sqrt()]))
    return torch.stack(rows)
""",
        ),
        Wrong(
            "there is one deviation",
            "one deviation for all arms",
            """
def summary(scores, finished):
    means = (scores * finished).sum(1) / finished.sum(1)
    x = scores[finished]
    deviation = (((x - x.mean()) ** 2).sum() / (len(x) - 1)).sqrt()
    return torch.stack([means, deviation.expand(len(means))], dim=1)
""",
        ),
        Wrong(
            "the ready function is an answer",
            "the library does the work",
            """
def summary(scores, finished):
    return torch.stack([torch.stack([x[d].mean(), x[d].std()]) for x, d in zip(scores, finished)])
""",
        ),
    ],
    "7.6": [
        Wrong(
            "the lists stand in one order",
            "paired by place, not by seed",
            """
def paired_interval(a, a_seeds, b, b_seeds, quantiles):
    n = min(len(a), len(b))
    d = a[:n] - b[:n]
    half = quantiles[n - 1] * d.std() / n**0.5
    return torch.stack([d.mean() - half, d.mean() + half])
""",
        ),
        Wrong(
            "sorting puts the seeds side by side",
            "paired by place, not by seed",
            """
def paired_interval(a, a_seeds, b, b_seeds, quantiles):
    n = min(len(a), len(b))
    d = a[a_seeds.argsort()][:n] - b[b_seeds.argsort()][:n]
    half = quantiles[n - 1] * d.std() / n**0.5
    return torch.stack([d.mean() - half, d.mean() + half])
""",
        ),
        Wrong(
            "the best stands beside the best",
            "paired by rank",
            """
def paired_interval(a, a_seeds, b, b_seeds, quantiles):
    a = a[torch.isin(a_seeds, b_seeds)].sort().values
    b = b[torch.isin(b_seeds, a_seeds)].sort().values
    d = a - b
    half = quantiles[len(d) - 1] * d.std() / len(d) ** 0.5
    return torch.stack([d.mean() - half, d.mean() + half])
""",
        ),
        Wrong(
            "two means, two errors",
            "unpaired",
            """
def paired_interval(a, a_seeds, b, b_seeds, quantiles):
    a = a[torch.isin(a_seeds, b_seeds)]
    b = b[torch.isin(b_seeds, a_seeds)]
    error = (a.var() / len(a) + b.var() / len(b)).sqrt()
    middle = a.mean() - b.mean()
    return torch.stack([middle - quantiles[len(a) - 1] * error, middle + quantiles[len(a) - 1] * error])
""",
        ),
        Wrong(
            "use every run there is",
            "unpaired",
            """
def paired_interval(a, a_seeds, b, b_seeds, quantiles):
    n = int(torch.isin(a_seeds, b_seeds).sum())
    half = quantiles[n - 1] * (a.var() / len(a) + b.var() / len(b)).sqrt()
    middle = a.mean() - b.mean()
    return torch.stack([middle - half, middle + half])
""",
        ),
        Wrong(
            "the interval is the mean ± the deviation",
            "the deviation in the place of the error",
            """
def paired_interval(a, a_seeds, b, b_seeds, quantiles):
    d = torch.stack([a[i] - b[j] for i, s in enumerate(a_seeds) for j, t in enumerate(b_seeds) if s == t])
    half = quantiles[len(d) - 1] * d.std()
    return torch.stack([d.mean() - half, d.mean() + half])
""",
        ),
        Wrong(
            "a deviation divides by n",
            "divided by n, not by n - 1",
            """
def paired_interval(a, a_seeds, b, b_seeds, quantiles):
    d = torch.stack([a[i] - b[j] for i, s in enumerate(a_seeds) for j, t in enumerate(b_seeds) if s == t])
    half = quantiles[len(d) - 1] * (d - d.mean()).square().mean().sqrt() / len(d) ** 0.5
    return torch.stack([d.mean() - half, d.mean() + half])
""",
        ),
        Wrong(
            "an error is a deviation divided by n",
            "the root taken twice",
            """
def paired_interval(a, a_seeds, b, b_seeds, quantiles):
    d = torch.stack([a[i] - b[j] for i, s in enumerate(a_seeds) for j, t in enumerate(b_seeds) if s == t])
    half = quantiles[len(d) - 1] * d.std() / len(d)
    return torch.stack([d.mean() - half, d.mean() + half])
""",
        ),
        Wrong(
            "n - 1 everywhere",
            "n - 1 under the root as well",
            """
def paired_interval(a, a_seeds, b, b_seeds, quantiles):
    i, j = (a_seeds[:, None] == b_seeds).nonzero(as_tuple=True)
    d = a[i] - b[j]
    half = quantiles[len(d) - 1] * d.std() / (len(d) - 1) ** 0.5
    return torch.stack([d.mean() - half, d.mean() + half])
""",
        ),
        Wrong(
            "n numbers have n degrees of freedom",
            "n degrees of freedom",
            """
def paired_interval(a, a_seeds, b, b_seeds, quantiles):
    d = torch.stack([a[i] - b[j] for i, s in enumerate(a_seeds) for j, t in enumerate(b_seeds) if s == t])
    half = quantiles[len(d)] * d.std() / len(d) ** 0.5
    return torch.stack([d.mean() - half, d.mean() + half])
""",
        ),
        Wrong(
            "95 % is 1.96",
            "a normal instead of Student's t",
            """
def paired_interval(a, a_seeds, b, b_seeds, quantiles):
    d = torch.stack([a[i] - b[j] for i, s in enumerate(a_seeds) for j, t in enumerate(b_seeds) if s == t])
    half = 1.96 * d.std() / len(d) ** 0.5
    return torch.stack([d.mean() - half, d.mean() + half])
""",
        ),
        Wrong(
            "the order of a difference does not matter",
            "b minus a",
            """
def paired_interval(a, a_seeds, b, b_seeds, quantiles):
    d = torch.stack([b[j] - a[i] for i, s in enumerate(a_seeds) for j, t in enumerate(b_seeds) if s == t])
    half = quantiles[len(d) - 1] * d.std() / len(d) ** 0.5
    return torch.stack([d.mean() - half, d.mean() + half])
""",
        ),
        Wrong(
            "an interval is a mean and a ±",
            "middle and half width",
            """
def paired_interval(a, a_seeds, b, b_seeds, quantiles):
    d = torch.stack([a[i] - b[j] for i, s in enumerate(a_seeds) for j, t in enumerate(b_seeds) if s == t])
    return torch.stack([d.mean(), quantiles[len(d) - 1] * d.std() / len(d) ** 0.5])
""",
        ),
    ],
    "7.7": [
        Wrong(
            "what is not proven is refuted",
            "no verdict left open",
            """
def verdicts(low, high, paper, margin):
    claim = (paper > margin).long() - (paper < -margin).long()
    ours = (low > margin).long() - (high < -margin).long()
    level = (low >= -margin) & (high <= margin)
    holds = torch.where(claim == 0, level, ours == claim)
    return torch.where(holds, 1, -1)
""",
        ),
        Wrong(
            "what is not refuted is proven",
            "no verdict left open",
            """
def verdicts(low, high, paper, margin):
    claim = (paper > margin).long() - (paper < -margin).long()
    outside = torch.where(claim > 0, high <= margin, low >= -margin)
    outside = torch.where(claim == 0, (low > margin) | (high < -margin), outside)
    return torch.where(outside, -1, 1)
""",
        ),
        Wrong(
            "the best guess is the middle",
            "the middle of the interval decides",
            """
def verdicts(low, high, paper, margin):
    def kind(x):
        return (x > margin).long() - (x < -margin).long()

    return torch.where(kind((low + high) / 2) == kind(paper), 1, -1)
""",
        ),
        Wrong(
            "no significant difference means no difference",
            "no difference seen, so there is none",
            """
def verdicts(low, high, paper, margin):
    claim = (paper > margin).long() - (paper < -margin).long()
    ours = (low > 0).long() - (high < 0).long()
    lead = torch.where(claim > 0, (low > margin).long() - (high <= margin).long(),
                       (high < -margin).long() - (low >= -margin).long())
    return torch.where(claim == 0, torch.where(ours == 0, 1, -1), lead)
""",
        ),
        Wrong(
            "significant means that it holds",
            "any difference is large enough",
            """
def verdicts(low, high, paper, margin):
    claim = (paper > margin).long() - (paper < -margin).long()
    ours = (low > 0).long() - (high < 0).long()
    level = ((low >= -margin) & (high <= margin)).long() - ((low > margin) | (high < -margin)).long()
    return torch.where(claim == 0, level, claim * ours)
""",
        ),
        Wrong(
            "the margin is a lead",
            "a lead of just the margin",
            """
def verdicts(low, high, paper, margin):
    level = ((low >= -margin) & (high <= margin)).long() - ((low > margin) | (high < -margin)).long()
    first = (low > margin).long() - (high <= margin).long()
    second = (high < -margin).long() - (low >= -margin).long()
    return torch.where(paper >= margin, first, torch.where(paper <= -margin, second, level))
""",
        ),
        Wrong(
            "a number in a table is an order",
            "every difference in the paper is an order",
            """
def verdicts(low, high, paper, margin):
    level = ((low >= -margin) & (high <= margin)).long() - ((low > margin) | (high < -margin)).long()
    first = (low > margin).long() - (high <= margin).long()
    second = (high < -margin).long() - (low >= -margin).long()
    return torch.where(paper > 0, first, torch.where(paper < 0, second, level))
""",
        ),
        Wrong(
            "a clear difference is a clear difference",
            "a lead the wrong way round",
            """
def verdicts(low, high, paper, margin):
    level = ((low >= -margin) & (high <= margin)).long() - ((low > margin) | (high < -margin)).long()
    return torch.where(paper.abs() <= margin, level, -level)
""",
        ),
        Wrong(
            "only the opposite refutes a lead",
            "level does not contradict an order",
            """
def verdicts(low, high, paper, margin):
    claim = (paper > margin).long() - (paper < -margin).long()
    ours = (low > margin).long() - (high < -margin).long()
    level = ((low >= -margin) & (high <= margin)).long() - ours.abs()
    return torch.where(claim == 0, level, claim * ours)
""",
        ),
        Wrong(
            "a claim holds or it does not",
            "yes or no",
            """
def verdicts(low, high, paper, margin):
    claim = (paper > margin).long() - (paper < -margin).long()
    ours = (low > margin).long() - (high < -margin).long()
    return torch.where(claim == 0, (low >= -margin) & (high <= margin), ours == claim)
""",
        ),
    ],
}

RIGHT = {
    "7.1": [
        Right(
            "one arm after the other, with Python's whole numbers",
            """
def equal_steps(budget, multiply_adds, batch_sizes):
    costs = [6 * m * b for m, b in zip(multiply_adds.tolist(), batch_sizes.tolist())]
    return torch.tensor([budget // cost for cost in costs])
""",
        ),
        Right(
            "torch.div, rounded down",
            """
def equal_steps(budget, multiply_adds, batch_sizes):
    forward = 2 * multiply_adds * batch_sizes
    return torch.div(budget, forward + 2 * forward, rounding_mode="floor")
""",
        ),
    ],
    "7.2": [
        Right(
            "counts by bincount",
            """
def class_accuracy(predictions, labels, num_classes):
    asked = labels >= 0
    of = torch.bincount(labels[asked], minlength=num_classes)
    right = torch.bincount(labels[asked & (predictions == labels)], minlength=num_classes)
    return (right[of > 0] / of[of > 0]).mean()
""",
        ),
        Right(
            "a table of counts",
            """
def class_accuracy(predictions, labels, num_classes):
    table = torch.zeros(num_classes, num_classes)
    for p, y in zip(predictions.tolist(), labels.tolist()):
        if y != -100:
            table[y, p] += 1
    occur = table.sum(1) > 0
    return (table.diagonal()[occur] / table[occur].sum(1)).mean()
""",
        ),
    ],
    "7.3": [
        Right(
            "loops",
            """
def tuned(validation, test, finished):
    rows = []
    for v, t, f in zip(validation, test, finished):
        whole = [r for r in range(len(v)) if f[r].all()]
        rows.append(t[max(whole, key=lambda r: v[r].mean().item())])
    return torch.stack(rows)
""",
        ),
        Right(
            "sums instead of means, and indexing with a mask of one rate",
            """
def tuned(validation, test, finished):
    total = torch.where(finished.all(dim=2), validation.sum(dim=2), -1.0)
    one = F.one_hot(total.argmax(dim=1), total.shape[1]).bool()
    return test[one]
""",
        ),
    ],
    "7.4": [
        Right(
            "a table of what is done",
            """
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
        ),
        Right(
            "a function that reads a line or gives None",
            """
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
        ),
    ],
    "7.5": [
        Right(
            "without a loop",
            """
def summary(scores, finished):
    n = finished.sum(1, keepdim=True)
    mean = scores.masked_fill(~finished, 0).sum(1, keepdim=True) / n
    off = (scores - mean).masked_fill(~finished, 0)
    return torch.cat([mean, (off.square().sum(1, keepdim=True) / (n - 1)).sqrt()], dim=1)
""",
        ),
        Right(
            "by the differences of all pairs of runs",
            """
def summary(scores, finished):
    out = []
    for row, done in zip(scores, finished):
        x = row[done]
        n = len(x)
        variance = (x[:, None] - x).square().sum() / (2 * n * (n - 1))
        out.append(torch.stack([x.sum() / n, variance.sqrt()]))
    return torch.stack(out)
""",
        ),
    ],
    "7.6": [
        Right(
            "a dictionary of seeds",
            """
def paired_interval(a, a_seeds, b, b_seeds, quantiles):
    place = {seed: j for j, seed in enumerate(b_seeds.tolist())}
    pairs = [(i, place[seed]) for i, seed in enumerate(a_seeds.tolist()) if seed in place]
    i, j = torch.tensor(pairs).T
    d = a[i] - b[j]
    half = quantiles[len(d) - 1] * d.std() / len(d) ** 0.5
    return d.mean() + half * torch.tensor([-1.0, 1.0]).to(half)
""",
        ),
        Right(
            "both sorted by seed, after what only one has is left out",
            """
def paired_interval(a, a_seeds, b, b_seeds, quantiles):
    in_a, in_b = torch.isin(a_seeds, b_seeds), torch.isin(b_seeds, a_seeds)
    d = a[in_a][a_seeds[in_a].argsort()] - b[in_b][b_seeds[in_b].argsort()]
    n = len(d)
    error = ((d - d.mean()).square().sum() / (n - 1) / n).sqrt()
    return torch.stack([d.mean() - quantiles[n - 1] * error, d.mean() + quantiles[n - 1] * error])
""",
        ),
    ],
    "7.7": [
        Right(
            "the claim as an interval of its own",
            """
def verdicts(low, high, paper, margin):
    result = []
    for l, h, p in zip(low.tolist(), high.tolist(), paper.tolist()):
        if abs(p) <= margin:
            holds, fails = -margin <= l and h <= margin, l > margin or h < -margin
        elif p > 0:
            holds, fails = l > margin, h <= margin
        else:
            holds, fails = h < -margin, l >= -margin
        result.append(holds - fails)
    return torch.tensor(result)
""",
        ),
        Right(
            "a lead of the second is a lead of the first, turned round",
            """
def verdicts(low, high, paper, margin):
    turn = paper < 0
    low, high, paper = torch.where(turn, -high, low), torch.where(turn, -low, high), paper.abs()
    lead = (low > margin).long() - (high <= margin).long()
    level = ((low >= -margin) & (high <= margin)).long() - ((low > margin) | (high < -margin)).long()
    return torch.where(paper > margin, lead, level)
""",
        ),
    ],
}
