import json
import shutil
from pathlib import Path

import pytest
import torch
from PIL import Image

import pioneers
from pioneers import data
from pioneers.cli import main
from pioneers.compat import import_torchvision
from pioneers.data import RandomWindows
from pioneers.models import BERTClassifier, BERTReader, BERTTagger
from pioneers.training import read_metrics
from pioneers.weights import load_tokenizer

CLASSES = {
    "classifier": "BertForSequenceClassification",
    "tagger": "BertForTokenClassification",
    "reader": "BertForQuestionAnswering",
    "vit": "ViTForImageClassification",
    "gpt": "GPT2LMHeadModel",
}
IDS = torch.tensor([[7, 2, 11, 5, 3]])


def weights(folder):
    return pioneers.from_pretrained(folder).state_dict()


@pytest.mark.parametrize("task", [*CLASSES, "transformer"])
def test_fine_tuning_writes_a_folder_that_loads_again(task, tuned, trained):
    model = pioneers.from_pretrained(tuned(task))
    before = pioneers.from_pretrained(trained("bert" if task in ("classifier", "tagger", "reader") else task))
    inside = getattr(model, "bert", model).state_dict()
    start = getattr(before, "bert", before).state_dict()
    moved = [
        name
        for name, tensor in inside.items()
        if name in start and not torch.equal(tensor, start[name]) and "pooler" not in name
    ]
    assert len(moved) > len(inside) / 2
    assert max((inside[n] - start[n]).abs().max() for n in moved if inside[n].shape == start[n].shape) < 0.1
    history = read_metrics(tuned(task) / "metrics.jsonl")
    assert [row["step"] for row in history] == [0, 2, 4, 6]
    if task != "vit":
        text = "The value of 1,234 words"
        origin = {"gpt": "gpt", "transformer": "transformer"}.get(task, "bert")
        assert load_tokenizer(tuned(task)).encode(text) == load_tokenizer(trained(origin)).encode(text)


@pytest.mark.parametrize(
    ("task", "kind", "labels"),
    [
        ("classifier", BERTClassifier, ("bad", "good")),
        ("tagger", BERTTagger, ("B-LOC", "B-PER", "O")),
        ("reader", BERTReader, None),
    ],
)
def test_labels_are_kept_by_name(task, kind, labels, tuned):
    model = pioneers.from_pretrained(tuned(task))
    assert isinstance(model, kind)
    assert getattr(model, "labels", None) == labels
    names = json.loads((tuned(task) / "config.json").read_text()).get("id2label", {})
    assert labels is None or tuple(names.values()) == labels


@pytest.mark.parametrize("task", CLASSES)
def test_transformers_reads_the_folder(task, tuned):
    import_torchvision()
    transformers = pytest.importorskip("transformers")
    theirs = getattr(transformers, CLASSES[task]).from_pretrained(tuned(task)).eval()
    ours = pioneers.from_pretrained(tuned(task))
    given = torch.rand(2, 1, 8, 8) if task == "vit" else IDS
    with torch.no_grad():
        found, expected = theirs(given), ours(given)
    logits = torch.stack([found[0], found[1]], dim=-1) if task == "reader" else found[0]
    torch.testing.assert_close(logits, expected, rtol=0, atol=1e-5)
    if task == "vit":
        assert theirs.config.id2label == {0: "dark", 1: "light"}
        assert json.loads((tuned(task) / "preprocessor_config.json").read_text())["size"] == {
            "height": 8,
            "width": 8,
        }


@pytest.mark.parametrize("task", ["classifier", "gpt", "vit", "transformer"])
def test_adapters_are_merged_when_the_model_is_saved(task, tuning, trained, tmp_path):
    assert main(tuning(task, tmp_path / "run", "--lora", "2", "--lr", "0.05")) == 0
    after = weights(tmp_path / "run")
    before = weights(trained({"classifier": "bert"}.get(task, task)))
    assert not [name for name in after if "lora" in name]
    both = [name for name, t in after.items() if name in before and t.shape == before[name].shape]
    changed = [name for name in both if not torch.equal(after[name], before[name])]
    assert {name.split(".")[-2] for name in changed} == {"q_proj", "v_proj"}
    assert len(weights(tmp_path / "run")) == len(after)
    assert main(tuning(task, tmp_path / "run", "--lora", "2", "--lr", "0.05")) == 0  # over, and written again
    assert all(torch.equal(after[name], t) for name, t in weights(tmp_path / "run").items())


def test_an_interrupted_run_goes_on(tuning, tuned, tmp_path, monkeypatch, capsys):
    again = tuning("gpt", tmp_path)
    with monkeypatch.context() as patch:
        windows = RandomWindows.__call__

        def interrupted(source, step):
            if step == 5:
                raise KeyboardInterrupt
            return windows(source, step)

        patch.setattr(RandomWindows, "__call__", interrupted)
        assert main(again) == 130
    assert f"interrupted; 3 of 7 steps are in {tmp_path}: the same command" in capsys.readouterr().err
    assert main(again) == 0
    assert f"resumes in {tmp_path} after step 3 of 7" in capsys.readouterr().out
    result, straight = (folder / "model.safetensors" for folder in (tmp_path, tuned("gpt")))
    assert result.read_bytes() == straight.read_bytes()


def test_another_origin_or_other_examples_need_another_folder(
    tuning, tuned, trained, examples, tmp_path, fails
):
    other = tuning("classifier", tuned("classifier"), "--init-from", trained("bert"), "--lora", "2")
    assert fails(other).startswith(
        f"{tuned('classifier')} holds a run with --lora None (now 2); give the same"
    )
    (tmp_path / "fewer.csv").write_text("\n".join((examples / "reviews.csv").read_text().splitlines()[:12]))
    fewer = tuning("classifier", tuned("classifier"), "--data", tmp_path / "fewer.csv")
    assert fails(fewer).startswith(f"{tuned('classifier')} holds a run with other data; ")


def test_the_file_with_the_examples_may_be_renamed(tuning, tuned, examples, tmp_path, capsys):
    shutil.copytree(tuned("classifier"), tmp_path / "run")
    shutil.copy(examples / "reviews.csv", tmp_path / "renamed.csv")
    assert main(tuning("classifier", tmp_path / "run", "--data", tmp_path / "renamed.csv")) == 0
    assert "has already made all 7 steps" in capsys.readouterr().out


def test_a_gpt_goes_on_with_documents(command, tuning, tmp_path, fails, capsys):
    rows = [json.dumps({"body": f"{n} document after the other, " * 30}) for n in range(20)]
    (tmp_path / "notes.jsonl").write_text("\n".join(rows))
    documents = ["--text", tmp_path / "notes.jsonl", "--column", "body"]
    assert fails(tuning("gpt", tmp_path / "run", *documents)) == (
        "the tokenizer has none of <|endoftext|>, <|end_of_text|>, </s>, [SEP] to put between documents; "
        "give another --tokenizer, or join the documents to one text"
    )
    assert main(command("gpt", tmp_path / "origin", *documents, steps=1)) == 0
    assert main(tuning("gpt", tmp_path / "run", *documents, "--init-from", tmp_path / "origin", steps=1)) == 0
    assert capsys.readouterr().out.count("trained on 18 documents") == 2


def test_a_head_for_the_same_labels_is_kept(tuning, tuned, tmp_path):
    again = tuning(
        "classifier", tmp_path / "again", "--init-from", tuned("classifier"), "--lr", "1e-9", steps=1
    )
    assert main(again) == 0
    torch.testing.assert_close(weights(tmp_path / "again"), weights(tuned("classifier")), rtol=0, atol=1e-6)


def test_a_separate_file_is_held_out(tuning, examples, tmp_path, capsys):
    (tmp_path / "val.csv").write_text("text,label\na dull film,bad\n")
    assert main(tuning("classifier", tmp_path / "run", "--val", tmp_path / "val.csv", steps=1)) == 0
    assert "trained on 24 examples" in capsys.readouterr().out


def test_pairs_of_texts_are_told_apart(tuning, tmp_path):
    rows = [{"a": "it rains", "b": "wet", "y": n % 2} for n in range(6)]
    (tmp_path / "pairs.jsonl").write_text("\n".join(map(json.dumps, rows)))
    columns = ["--text-column", "a", "--pair-column", "b", "--label-column", "y"]
    assert (
        main(tuning("classifier", tmp_path / "run", "--data", tmp_path / "pairs.jsonl", *columns, steps=1))
        == 0
    )
    assert pioneers.from_pretrained(tmp_path / "run").labels == ("0", "1")


UD = "{}\t{}\t_\t{}\t_\t_\t_\t_\t_\t_\n"
TAGGED = [
    ("ner.conll", "-DOCSTART- -X- O\n\nAnn NNP B-PER\nsees VBZ O\n\nBob NNP B-PER\nruns VBZ O\n", ""),
    ("ner.conll", "B-PER Ann NNP\nO sees VBZ\n\nO he PRP\n", "--word-column 2 --tag-column 1"),
    (
        "ud.conllup",
        "# global.columns = ID FORM NER\n1\tAnn\tB-PER\n2\tsees\tO\n\n1\the\tO\n",
        "--tag-column ner",
    ),
    (
        "ner.jsonl",
        '{"w": ["Ann", "sees"], "t": ["B-PER", "O"]}\n{"w": ["he"], "t": ["O"]}',
        "--word-column w --tag-column t",
    ),
    (
        "ud.conllu",
        "# id = 1\n"
        + "".join([UD.format("1-2", "dont", "X"), UD.format(1, "do", "O"), UD.format(2, "nt", "B-PER")])
        + "\n"
        + UD.format(1, "he", "O"),
        "",
    ),
]


@pytest.mark.parametrize(("name", "text", "options"), TAGGED)
def test_tagged_words_come_in_many_kinds_of_files(name, text, options, tuning, tmp_path):
    (tmp_path / name).write_text(text)
    assert main(tuning("tagger", tmp_path / "run", "--data", tmp_path / name, *options.split(), steps=1)) == 0
    assert pioneers.from_pretrained(tmp_path / "run").labels == ("B-PER", "O")


def test_images_get_the_channels_of_the_model(tuned, trained):
    assert pioneers.from_pretrained(trained("vit")).config.in_channels == 1
    assert pioneers.from_pretrained(tuned("vit")).config.labels == ("dark", "light")


def test_published_data_sets_are_read_as_they_are(public_data, trained, tmp_path, capsys):
    sst2, ewt = (Path(data.fetch(name)) for name in ("sst2/dev.tsv", "ud_english_ewt/en_ewt-ud-dev.conllu"))
    squad = Path(data.fetch("squad2/dev-v2.0-sample.json"))
    images, labels = data.mnist("test")
    for number, (image, label) in enumerate(zip(images[:40], labels[:40].tolist(), strict=True)):
        folder = tmp_path / "mnist" / str(label)
        folder.mkdir(parents=True, exist_ok=True)
        Image.fromarray((image[0] * 255).byte().numpy()).save(folder / f"{number}.png")
    pairs = data.multi30k("validation")[:50]
    short = [(a, b) for a, b in pairs if max(map(len, (a, b))) < 45]
    (tmp_path / "multi30k.tsv").write_text("".join(f"{a}\t{b}\n" for a, b in short))
    ways = {
        "classifier": ["bert", "--data", sst2, "--text-column", "1", "--label-column", "2"],
        "tagger": ["bert", "--data", ewt],
        "reader": ["bert", "--data", squad],
        "vit": ["vit", "--images", tmp_path / "mnist"],
        "transformer": ["transformer", "--pairs", tmp_path / "multi30k.tsv"],
    }
    for task, (origin, *source) in ways.items():
        out = tmp_path / task
        how = ["--out", out, "--steps", 2, "--batch-size", 4, "--log-every", 99]
        assert main([*map(str, ["finetune", task, "--init-from", trained(origin), *source, *how])]) == 0
        assert main([*map(str, ["evaluate", out, *source, "--json"])]) == 0
    said = capsys.readouterr().out
    assert "trained on 785 examples" in said
    assert '"words": 25' in said
