import os
import re
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path
from types import SimpleNamespace

import pytest
import torch
import yaml
from filelock import FileLock
from PIL import Image
from safetensors.torch import load_file

import pioneers
from pioneers.cli import main, train, train_help
from pioneers.cli import pairs as pairs_module
from pioneers.cli.recipes import RECIPES
from pioneers.cli.sources import Pictures, read_images, read_pairs, read_text
from pioneers.cli.tasks import Task
from pioneers.data import ImageSet, RandomWindows, language_reference
from pioneers.models import GPT, BERTForPretraining, Transformer, ViT
from pioneers.tokenizers import FastBPE, WordPiece
from pioneers.training import read_metrics
from pioneers.weights import load_tokenizer

KINDS = {"gpt": GPT, "bert": BERTForPretraining, "transformer": Transformer, "vit": ViT}


def losses(folder):
    return [(row["step"], row["loss"], row["val_loss"]) for row in read_metrics(folder / "metrics.jsonl")]


def start(arguments, *launcher):
    """A real process that trains, or a launcher of several."""
    environment = os.environ | {"OMP_NUM_THREADS": "1"}
    return subprocess.Popen(
        [sys.executable, *launcher, "-m", "pioneers", *arguments],
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        # a shell's background job ignores Ctrl-C, and so would all that it starts
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )


def wait_for(path, process, seconds=120):
    end = time.monotonic() + seconds
    while not path.exists():
        assert process.poll() is None, process.communicate()
        assert time.monotonic() < end, f"no {path}"
        time.sleep(0.005)


@pytest.mark.parametrize("model", KINDS)
def test_a_run_ends_as_a_model_folder(model, trained):
    folder = trained(model)
    found = pioneers.from_pretrained(folder)
    assert isinstance(found, KINDS[model])
    assert not found.training
    names = {path.name for path in folder.iterdir()}
    assert {"config.json", "model.safetensors", "checkpoint.safetensors", "curve.png", "run.yaml"} <= names
    rows = read_metrics(folder / "metrics.jsonl")
    assert [row["step"] for row in rows] == [0, 2, 4, 6]
    assert all(row["val_loss"] > 0 for row in rows)
    assert ("accuracy" in rows[0]) == (model in ("transformer", "vit"))
    assert (folder / "curve.png").read_bytes().startswith(b"\x89PNG")


@pytest.mark.parametrize("model", KINDS)
def test_help_names_every_file_and_every_number_of_a_run(model, trained):
    results, numbers = train_help.RESULTS.split("In a line of metrics.jsonl: ")
    files = {path.name for path in trained(model).iterdir() if not path.name.startswith(".")}
    listed = set(re.findall(r"[\w.]+\.\w+", results))
    assert files <= listed
    kept = {f"checkpoint.stable{kind}.safetensors" for kind in ("", ".best")}  # with a cool-down
    assert listed - files <= {"tokenizer.json", "vocab.txt", "left_out.json"} | kept
    said = set(re.findall(r"[\w/]+", numbers))
    assert set(read_metrics(trained(model) / "metrics.jsonl")[0]) <= said


def test_a_model_without_its_run_is_still_a_model(trained, tmp_path, command, fails):
    for name in ("config.json", "model.safetensors", "tokenizer.json"):
        (tmp_path / name).write_bytes((trained("gpt") / name).read_bytes())
    assert isinstance(pioneers.from_pretrained(tmp_path), GPT)
    assert "contains other files but no run" in fails(command("gpt", tmp_path))


@pytest.mark.parametrize(("model", "kind"), [("gpt", FastBPE), ("transformer", FastBPE), ("bert", WordPiece)])
def test_the_tokenizer_lies_beside_the_model(model, kind, trained):
    tokenizer, found = load_tokenizer(trained(model)), pioneers.from_pretrained(trained(model))
    assert isinstance(tokenizer, kind)
    assert tokenizer.vocab_size == found.config.vocab_size


def test_the_model_is_the_best_one_and_the_checkpoint_the_last(command, tmp_path, capsys, monkeypatch):
    scores = iter([3.0, 1.5, 2.0, 1.75])
    monkeypatch.setattr(Task, "evaluate", lambda task, model: {"val_loss": next(scores)})
    assert main(command("gpt", tmp_path)) == 0
    assert "best after step 3: val_loss 1.500\n" in capsys.readouterr().out
    result, last = load_file(tmp_path / "model.safetensors"), load_file(tmp_path / "checkpoint.safetensors")
    kept = load_file(tmp_path / "checkpoint.best.safetensors")
    assert all(torch.equal(tensor, kept[name]) for name, tensor in result.items())
    assert not torch.equal(result["embed.token.weight"], last["model.embed.token.weight"])


def test_a_run_says_what_it_does_and_what_comes_next(command, tmp_path, capsys):
    assert main(command("transformer", tmp_path / "run")) == 0
    out, err = capsys.readouterr()
    assert err == ""
    lines = out.splitlines()
    size = sum(p.numel() for p in pioneers.from_pretrained(tmp_path / "run").parameters())
    assert lines[0] == f"Transformer of {size:,} parameters on cpu, trained on 91 pairs"
    assert lines[1] == f"starts in {tmp_path / 'run'}"
    assert re.fullmatch(r"best after step \d: val_loss \d\.\d{3}, accuracy 0\.\d{3}", lines[2])
    assert lines[-1] == f'try: pioneers translate {tmp_path / "run"} "Friday, March 1, 2024"'


def test_a_finished_run_is_not_repeated(command, trained, capsys):
    before = (trained("gpt") / "metrics.jsonl").read_text()
    assert main(command("gpt", trained("gpt"))) == 0
    assert f"has already made all 7 steps in {trained('gpt')}" in capsys.readouterr().out
    assert (trained("gpt") / "metrics.jsonl").read_text() == before


def test_a_run_that_stopped_early_is_not_said_to_go_on(command, tmp_path, capsys, monkeypatch):
    scores = iter([1.0, 2.0])
    monkeypatch.setattr(Task, "evaluate", lambda task, model: {"val_loss": next(scores)})
    for _ in range(2):
        assert main(command("gpt", tmp_path, "--patience", "1")) == 0
    begun, again = re.findall(r"^(?:starts|had|resumes) .*", capsys.readouterr().out, re.MULTILINE)
    assert begun == f"starts in {tmp_path}"
    assert again == f"had stopped early in {tmp_path}, after step 3: --patience 1"


def test_a_folder_trains_for_one_command_at_a_time(command, tmp_path, fails):
    arguments = command("gpt", tmp_path / "run", steps=100_000)
    first = start(arguments)
    wait_for(tmp_path / "run" / "checkpoint.safetensors", first)
    try:
        assert fails(arguments) == (
            f"another process is training in {tmp_path / 'run'}; wait for it, or give another --out"
        )
    finally:
        first.kill()
        first.communicate()
    with FileLock(tmp_path / "run" / ".lock", timeout=0):
        assert not (tmp_path / "run" / "model.safetensors").exists()


def test_a_lock_alone_does_not_make_a_folder_foreign(command, tmp_path):
    (tmp_path / ".lock").touch()
    assert main(command("vit", tmp_path)) == 0
    with FileLock(tmp_path / ".lock", timeout=0):  # the run has given it back
        assert pioneers.from_pretrained(tmp_path)


@pytest.mark.usefixtures("interruptible")
@pytest.mark.parametrize(
    ("kind", "status", "word"), [(signal.SIGINT, 130, "interrupted"), (signal.SIGTERM, 143, "terminated")]
)
def test_ctrl_c_and_sigterm_say_what_is_saved_and_how_to_go_on(kind, status, word, command, tmp_path):
    process = start(command("gpt", tmp_path / "run", steps=100_000))
    wait_for(tmp_path / "run" / "checkpoint.safetensors", process)
    process.send_signal(kind)
    err = process.communicate()[1]
    assert process.returncode == status
    done = re.fullmatch(
        rf"pioneers: {word}; (\d+) of 100000 steps are in .*run: the same command resumes from there",
        err.strip(),
    )
    assert int(done[1]) % 3 == 0
    assert isinstance(pioneers.from_pretrained(tmp_path / "run"), GPT)


def test_an_interrupted_run_leaves_a_model_and_goes_on(command, trained, tmp_path, capsys, monkeypatch):
    with monkeypatch.context() as patch:
        windows = RandomWindows.__call__

        def interrupted(source, step):
            if step == 5:
                raise KeyboardInterrupt
            return windows(source, step)

        patch.setattr(RandomWindows, "__call__", interrupted)
        assert main(command("gpt", tmp_path)) == 130
    assert f"interrupted; 3 of 7 steps are in {tmp_path}: the same command" in capsys.readouterr().err
    result, best = (load_file(tmp_path / f"{name}.safetensors") for name in ("model", "checkpoint.best"))
    assert all(torch.equal(tensor, best[name]) for name, tensor in result.items())
    assert isinstance(pioneers.from_pretrained(tmp_path), GPT)
    assert main(command("gpt", tmp_path)) == 0
    assert f"resumes in {tmp_path} after step 3 of 7" in capsys.readouterr().out
    assert losses(tmp_path) == losses(trained("gpt"))
    for file in ("model.safetensors", "checkpoint.safetensors"):
        assert (tmp_path / file).read_bytes() == (trained("gpt") / file).read_bytes()


def test_interrupted_before_the_first_checkpoint_nothing_is_promised(command, tmp_path, capsys, monkeypatch):
    def interrupted(*args, **options):
        raise KeyboardInterrupt

    monkeypatch.setattr(train, "fit", interrupted)
    assert main(command("gpt", tmp_path)) == 130
    assert "interrupted before anything was saved; the same command starts again" in capsys.readouterr().err


def test_a_run_interrupted_without_a_checkpoint_may_begin_with_other_settings(command, tmp_path, monkeypatch):
    with monkeypatch.context() as patch:
        patch.setattr(train, "fit", lambda *args, **options: (_ for _ in ()).throw(KeyboardInterrupt))
        assert main(command("gpt", tmp_path)) == 130
    assert main(command("gpt", tmp_path, "--vocab-size", "277")) == 0
    assert load_tokenizer(tmp_path).vocab_size == 277


def test_other_settings_in_the_same_folder_are_refused(command, trained, sources, tmp_path, fails):
    folder = trained("gpt")
    assert fails(command("gpt", folder, "--seq-len", "19", steps=11)) == (
        f"{folder} holds a run with --seq-len 23 (now 19), --steps 7 (now 11); give the same options "
        "to resume it, or give --out a new folder"
    )
    (tmp_path / "other.txt").write_text(language_reference()[:15_000])
    other = command("gpt", folder, "--text", tmp_path / "other.txt")
    assert fails(other).startswith(f"{folder} holds a run with other data; ")
    copy = tmp_path / "copy.txt"
    copy.write_text(Path(sources["gpt"][1]).read_text())
    assert main(command("gpt", folder, "--text", copy)) == 0  # the same text under another name
    assert fails(command("bert", folder)).startswith(f"{folder} holds a run with the model gpt (now bert), ")


def test_a_result_without_its_checkpoint_is_kept_from_other_settings(command, trained, tmp_path, fails):
    for file in ("run.yaml", "tokenizer.json", "config.json", "model.safetensors"):
        shutil.copy(trained("gpt") / file, tmp_path)
    assert fails(command("gpt", tmp_path, "--d-model", "15")).startswith(
        f"{tmp_path} holds a run with --d-model 12 (now 15); "
    )


def test_folders_that_cannot_hold_the_run_are_refused_before_training(command, tmp_path, fails, monkeypatch):
    (tmp_path / "file").touch()
    assert fails(command("gpt", tmp_path / "file")) == (
        f"cannot write to {tmp_path / 'file'} (File exists); give another --out"
    )
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "thesis.tex").touch()
    assert fails(command("gpt", tmp_path / "full")) == (
        f"{tmp_path / 'full'} contains other files but no run; give --out a new folder"
    )
    (tmp_path / "damaged").mkdir()
    (tmp_path / "damaged" / "run.yaml").write_text("{")
    assert "run.yaml is damaged" in fails(command("gpt", tmp_path / "damaged"))
    monkeypatch.setattr("shutil.disk_usage", lambda path: SimpleNamespace(free=100_000))
    assert re.fullmatch(
        r"the run needs about 0 MB and the disk of .* has 0 MB left; make room, or give another --out",
        fails(command("gpt", tmp_path / "new")),
    )


def test_a_model_too_large_for_the_disk_is_never_built(command, tmp_path, fails, monkeypatch):
    monkeypatch.setattr("shutil.disk_usage", lambda path: SimpleNamespace(free=10**12))
    gpt3 = ["--d-model", "12288", "--num-layers", "96", "--num-heads", "96"]
    assert re.fullmatch(
        r"the run needs about 5,5\d\d,\d\d\d MB and the disk of .* has 1,000,000 MB left; make room, or .*",
        fails(command("gpt", tmp_path / "run", *gpt3)),
    )


def test_what_a_run_has_on_disk_is_not_asked_for_again(command, trained, tmp_path, fails, monkeypatch):
    size = sum(4 * p.numel() for p in pioneers.from_pretrained(trained("gpt")).parameters())
    monkeypatch.setattr("shutil.disk_usage", lambda path: SimpleNamespace(free=4 * size))
    assert main(command("gpt", trained("gpt"))) == 0
    assert "the run needs about" in fails(command("gpt", tmp_path / "new"))


def test_a_loss_that_is_no_number_ends_the_run_with_advice(command, tmp_path, fails, monkeypatch, capsys):
    monkeypatch.setattr("pioneers.cli.tasks.causal_lm_loss", lambda logits, targets: logits.sum() * torch.nan)
    monkeypatch.setattr(train, "_say", lambda line: None)
    assert fails(command("gpt", tmp_path)) == (
        "the loss is nan at step 0. The same command would fail there again: give a lower --lr, more "
        "--warmup-steps or --precision fp32, and another --out"
    )


def test_a_missing_matplotlib_costs_the_curve_only(command, tmp_path, capsys, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    assert main(command("vit", tmp_path)) == 0
    assert "no curve, because matplotlib is not installed: pip install" in capsys.readouterr().out
    assert (tmp_path / "model.safetensors").exists()
    assert not (tmp_path / "curve.png").exists()


def test_two_processes_train_as_one(command, tmp_path):
    launcher = ["-m", "torch.distributed.run", "--standalone", "--nproc_per_node=2"]
    runs = [
        start(command("gpt", tmp_path / "one", "--batch-size", "6")),
        start(command("gpt", tmp_path / "two", "--batch-size", "6", "--shard"), *launcher),
    ]
    for run in runs:
        out, err = run.communicate()
        assert run.returncode == 0, err
        assert out.count("starts in") == 1
    two, one = losses(tmp_path / "two"), losses(tmp_path / "one")
    assert [row[0] for row in two] == [row[0] for row in one]
    assert [row[1] for row in two] == pytest.approx([row[1] for row in one], rel=1e-4)
    assert main(command("gpt", tmp_path / "two", "--batch-size", "6")) == 0  # the same run, without --shard
    assert (
        pioneers.from_pretrained(tmp_path / "two").config == pioneers.from_pretrained(tmp_path / "one").config
    )


def test_a_model_is_not_sharded_over_one_process(command, tmp_path, fails):
    assert fails(command("gpt", tmp_path / "run", "--shard")) == (
        "--shard divides the model over several processes, and there is one: start them with "
        "torchrun --nproc-per-node N -m pioneers train ..., or leave out --shard"
    )
    assert not (tmp_path / "run").exists()


def test_later_processes_read_what_the_first_one_wrote(monkeypatch, capsys):
    made = []
    monkeypatch.setattr(train, "rank", lambda: 1)
    assert train._first_process_first(lambda: made.append(len(made)) or 7) == 7
    assert made == [0]
    train._say("nothing")
    train._conclude(None, None, None, [])
    assert capsys.readouterr().out == ""


def test_texts_and_pairs_go_by_name(monkeypatch):
    monkeypatch.setattr(pairs_module, "TRAIN_PAIRS", 211)
    monkeypatch.setattr(pairs_module, "TEST_PAIRS", 31)
    assert "".join(read_text("language-reference").data.blocks()) == language_reference()
    train_pairs, test_pairs = read_pairs("numbers", "de").data[:2]
    assert (len(train_pairs), len(test_pairs)) == (211, 31)
    assert not {source for source, _ in train_pairs} & {source for source, _ in test_pairs}
    assert read_pairs("numbers", "de").sha256 != read_pairs("numbers", "fr").sha256


def test_the_last_tenth_of_a_file_of_pairs_is_held_out(sources):
    train_pairs, test_pairs = read_pairs(sources["transformer"][1], "fr").data[:2]
    lines = Path(sources["transformer"][1]).read_text().splitlines()
    assert ["\t".join(pair) for pair in train_pairs + test_pairs] == lines
    assert (len(train_pairs), len(test_pairs)) == (91, 10)


def test_pictures_decide_the_sizes_of_a_vit():
    args = SimpleNamespace(preset="digits", d_model=None, patch_size=None)
    large = ImageSet(torch.zeros(3, 1, 28, 28), torch.tensor([0, 4, 2]))
    config = RECIPES["vit"].configure(args, Pictures(large, large))
    assert (config.image_size, config.patch_size, config.num_classes, config.d_model) == (28, 4, 5, 64)
    args.patch_size = 7
    assert RECIPES["vit"].configure(args, Pictures(large, large)).patch_size == 7


@pytest.mark.parametrize(
    ("side", "patch_size"), [(8, 2), (28, 4), (32, 4), (64, 8), (96, 12), (13, 13), (1, 1)]
)
def test_patches_fit_into_pictures_of_every_side(side, patch_size):
    args = SimpleNamespace(preset="digits", d_model=None, patch_size=None)
    pictures = ImageSet(torch.zeros(2, 3, side, side), torch.tensor([0, 1]))
    config = RECIPES["vit"].configure(args, Pictures(pictures, pictures, ("cat", "dog")))
    assert (config.patch_size, config.num_classes, config.labels) == (patch_size, 2, ("cat", "dog"))


def test_a_vit_learns_from_a_folder_of_pictures_and_keeps_their_names(tmp_path, capsys):
    for name, colour in (("cat", 250), ("dog", 5)):
        (tmp_path / "pets" / name).mkdir(parents=True)
        for number in range(10):
            Image.new("RGB", (20 + number, 16), (colour, colour, 100)).save(
                tmp_path / "pets" / name / f"{number}.png"
            )
    sizes = "--image-size 12 --d-model 12 --num-layers 1 --num-heads 3 --batch-size 4 --steps 3"
    main(["train", "vit", "--images", str(tmp_path / "pets"), "--out", str(tmp_path / "run"), *sizes.split()])
    model = pioneers.from_pretrained(tmp_path / "run")
    assert model.config.labels == ("cat", "dog")
    assert model.config.image_size == 12
    assert "18 images" in capsys.readouterr().out


def test_a_folder_without_two_classes_is_refused(tmp_path):
    (tmp_path / "pets" / "cat").mkdir(parents=True)
    Image.new("RGB", (9, 9)).save(tmp_path / "pets" / "cat" / "1.png")
    with pytest.raises(ValueError, match="at least two classes"):
        read_images(str(tmp_path / "pets"), 8)
    with pytest.raises(FileNotFoundError, match="there is no folder 'cats'; name one, or one of: digits"):
        read_images("cats", 8)


def test_settings_are_on_disk_as_they_were_given(trained):
    settings = yaml.safe_load((trained("gpt") / "run.yaml").read_text())
    given = {"model": "gpt", "preset": "mini", "d_model": 12, "seq_len": 23, "steps": 7, "lr": 0.004}
    assert given.items() <= settings.items()
    assert "out" not in settings
    assert re.fullmatch(r"[0-9a-f]{64}", settings["sha256"])
