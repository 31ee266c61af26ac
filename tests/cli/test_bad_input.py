"""Bad input to every command: one line that says what to do, nothing written and nothing lost."""

import io

import pytest
from PIL import Image

from pioneers.data import language_reference

GPT, BERT, VIT, PAIRS = "{gpt}", "{bert}", "{vit}", "{transformer}"
FINETUNE = "--init-from {bert} --out {tmp}/new"
CLASSIFIER = f"finetune classifier {FINETUNE} --data"
TAGGER, READER = f"finetune tagger {FINETUNE} --data", f"finetune reader {FINETUNE} --data"
IN_VIT = "finetune vit --init-from {vit} --out {tmp}/new --images"
NEW = "--out {tmp}/new --d-model 12 --num-layers 1 --num-heads 3"
TRAIN_GPT = f"train gpt --text {{tmp}}/long.txt --vocab-size 293 --seq-len 23 {NEW}"
TRAIN_BERT = f"train bert --text {{tmp}}/long.txt --vocab-size 397 --seq-len 23 {NEW}"
TRAIN_PAIRS = f"train transformer {NEW} --vocab-size 293 --seq-len 47 --pairs"
TRAIN_VIT = f"train vit {NEW} --images"
NO_MODEL = "is not a model folder: it has no config.json"
TABLE = [
    # arguments, exit status, what the message says; {name} is the folder of a trained model, {tmp} an own one
    ("", 2, "the following arguments are required: COMMAND (see: pioneers --help)"),
    ("fly", 2, "invalid choice: 'fly'"),
    ("train", 2, "required: MODEL (see: pioneers train --help)"),
    ("train gtp", 2, "invalid choice: 'gtp' (choose from 'gpt', 'bert', 'transformer', 'vit')"),
    ("train gpt --out x", 2, "required: --text (see: pioneers train gpt --help)"),
    ("train gpt --ste 5", 2, "required: --text, --out"),
    (f"{TRAIN_GPT} --stepps 3", 2, "unrecognized arguments: --stepps 3; did you mean --steps?"),
    (f"{TRAIN_GPT} --no-tensorbord", 2, "--no-tensorbord; did you mean --no-tensorboard?"),
    (f"{TRAIN_GPT} more", 2, "unrecognized arguments: more (see: pioneers train gpt --help)"),
    (f"{TRAIN_GPT} --config", 2, "argument --config: expected one argument"),
    (f"{TRAIN_GPT} --config nowhere.yaml", 2, "there is no file 'nowhere.yaml'; a run has its settings in"),
    (f"{TRAIN_GPT} --cooldown-steps 3", 1, "goes with --schedule constant: give both or neither"),
    (
        f"{TRAIN_GPT} --schedule constant --cooldown-steps 9 --steps 7",
        1,
        "--cooldown-steps 9 is more than --steps 7; give less",
    ),
    (f"{TRAIN_GPT} --schedule inverse_sqrt --warmup-steps 0", 1, "needs warmup_steps of at least 1"),
    (f"{TRAIN_GPT} --schedule step", 2, "argument --schedule: invalid choice: 'step'"),
    (f"{TRAIN_GPT} --dry-run --text missing.txt", 1, "there is no file 'missing.txt'"),
    (f"{TRAIN_GPT} --dry-run --num-heads 5", 1, "num_heads=5 must divide d_model=12"),
    (f"{TRAIN_GPT} --num-heads 5", 1, "GPTConfig: num_heads=5 must divide d_model=12"),
    (f"{TRAIN_GPT} --text missing.txt", 1, "'missing.txt'; name one, or one of: shakespeare, lang"),
    (f"{TRAIN_GPT} --text {{tmp}}/empty.txt", 1, "contains no text; choose another file"),
    (f"{TRAIN_GPT} --text {{tmp}}/latin1.txt", 1, "line 2: byte 0xe9 is not UTF-8; save the file again"),
    (
        f"{TRAIN_GPT} --text {{tmp}}/few.txt --vocab-size 280",
        1,
        "too short for --seq-len 23: use a longer text",
    ),
    (f"{TRAIN_GPT} --vocab-size 99", 1, "vocab_size=99 is too small: the 256 bytes"),
    (f"{TRAIN_GPT} --out {{tmp}}", 1, "contains other files but no run; give --out a new folder"),
    (f"{TRAIN_GPT} --out {{tmp}}/few.txt", 1, "(File exists); give another --out"),
    (f"{TRAIN_BERT} --seq-len 3", 1, "--seq-len 3 leaves no room between [CLS] and [SEP]; give at least 4"),
    (f"{TRAIN_BERT} --vocab-size 20", 1, "vocab_size=20 is too small"),
    (f"{TRAIN_BERT} --text {{tmp}}/few.txt", 1, "short for --seq-len 23: use a longer"),
    (f"{TRAIN_PAIRS} {{tmp}}/long.tsv --seq-len 5", 1, "tokens, the first in line 1, the longest with"),
    (f"{TRAIN_PAIRS} dates --target tlh", 1, "there is no target language 'tlh'; there are:"),
    (f"{TRAIN_PAIRS} {{tmp}}/no_tab.tsv", 1, "line 2: 1 tab-separated columns where 2 are expected"),
    (f"{TRAIN_PAIRS} {{tmp}}/half.tsv", 1, "line 2: one side is empty; give it a source and a target"),
    (f"{TRAIN_PAIRS} {{tmp}}/pair.tsv", 1, "contains one pair; at least two are needed, one of them for"),
    (f"{TRAIN_PAIRS} {{tmp}}/good.csv --columns text", 1, "must name two columns, as in --columns source"),
    (f"{TRAIN_PAIRS} {{tmp}}/good.csv", 1, "line 1: no column 'source', 'target', only 'text', 'label'"),
    (f"{TRAIN_PAIRS} {{tmp}}/pair.tsv --columns en,de", 1, "--columns goes with a .csv or .jsonl file"),
    (f"{TRAIN_PAIRS} {{tmp}}/few.txt --drop-broken", 1, "contains no pair; at least two are needed"),
    (f"{TRAIN_VIT} digits --patch-size 3", 1, "patch_size must be a divisor of image_size=8, not 3"),
    (f"{TRAIN_VIT} none.npz", 1, "there is no file 'none.npz'; name one, or one of: digits"),
    (f"generate {GPT}", 2, "one of the arguments --prompt --prompt-file is required"),
    (f"generate {GPT} --prompt a --prompt-file b", 2, "not allowed with argument --prompt"),
    (f"generate {GPT} --prompt=", 1, "the prompt is empty: give --prompt a few words"),
    (f"generate {GPT} --prompt a --samples 0", 2, "--samples: must be a positive integer, not '0'"),
    (f"generate {GPT} --prompt a --tokens many", 2, "--tokens: must be a positive integer, not 'many'"),
    (f"generate {GPT} --prompt a --seed -1", 2, "--seed: must be an integer of at least 0, not '-1'"),
    (f"generate {GPT} --prompt a --top-p wide", 2, "must be a number of at least 0, not 'wide'"),
    (f"generate {GPT} --prompt a --temperature -1", 2, "must be a number of at least 0, not '-1'"),
    (f"generate {GPT} --prompt a --top-p 2", 1, "top_p must lie in (0, 1], not 2.0"),
    (f"generate {GPT} --prompt-file missing.txt", 1, "missing.txt does not exist; correct the path"),
    (f"generate {GPT} --prompt-file {{tmp}}", 1, "is a folder, not a file; correct the path"),
    (f"generate {GPT} --prompt-file {{tmp}}/empty.txt", 1, "empty.txt contains no text; choose another file"),
    (
        f"generate {GPT} --prompt-file {{tmp}}/latin1.txt",
        1,
        "line 2: byte 0xe9 is not UTF-8; save the file again",
    ),
    (f"generate {GPT} --prompt-file -", 1, "standard input, byte 3: 0xff is not UTF-8; convert it first"),
    (f"generate {BERT} --prompt a", 1, "is a BERTForPretraining; only a GPT or a Llama continues texts"),
    (f"generate {VIT} --prompt a", 1, "is a ViT; only a GPT or a Llama continues texts"),
    ("generate {tmp} --prompt a", 1, f"{NO_MODEL}. Give the folder"),
    (
        "generate {tmp}/gpt --prompt a",
        1,
        "is not a folder; give a model folder, or a name on the hub such as gpt2",
    ),
    (f"{CLASSIFIER} {{tmp}}/missing.csv", 1, "missing.csv does not exist; correct the path"),
    (f"{CLASSIFIER} {{tmp}}/latin1.txt", 1, "is not a table: its name must end in .csv, .tsv or .jsonl"),
    (f"{CLASSIFIER} {{tmp}}/good.csv --label-column stars", 1, "no column 'stars', only 'text', 'label'"),
    (f"{CLASSIFIER} {{tmp}}/good.csv --val {{tmp}}/other.csv", 1, "has the label 'so-so', which"),
    (f"{CLASSIFIER} {{tmp}}/good.csv --val {{tmp}}/none.csv", 1, "none.csv does not exist; correct the path"),
    (
        f"{CLASSIFIER} {{tmp}}/one.csv",
        1,
        "holds one example; at least two are needed, one of them for validation",
    ),
    (f"{CLASSIFIER} {{tmp}}/same.csv", 1, "has one label, 'good'; there is nothing to tell apart"),
    (f"{CLASSIFIER} {{tmp}}/gap.csv", 1, "line 3: the column 'label' is empty; fill it or delete the line"),
    (f"{CLASSIFIER} {{tmp}}/names.csv", 1, "holds no examples; choose another file"),
    (f"{CLASSIFIER} {{tmp}}/good.csv --text-column 1 --label-column 7", 1, "2 columns, and 7 is asked for"),
    (f"{CLASSIFIER} {{tmp}}/broken.jsonl", 1, "line 1: not JSON"),
    (f"{CLASSIFIER} {{tmp}}/good.csv --lora 99", 1, "rank=99 must be from 1 to 12"),
    (f"{CLASSIFIER} {{tmp}}/good.csv --lora 0", 2, "--lora: must be a positive integer, not '0'"),
    (f"{CLASSIFIER} {{tmp}}/good.csv --seq-len 99", 1, "--seq-len 99 is more than"),
    (f"{CLASSIFIER} {{tmp}}/good.csv --init-from {GPT}", 1, "is a GPT, and only a BERT becomes a classifier"),
    (f"{CLASSIFIER} {{tmp}}/good.csv --init-from {{tmp}}", 1, NO_MODEL),
    (
        f"{CLASSIFIER} {{tmp}}/good.csv --out {{tmp}}",
        1,
        "contains other files but no run; give --out a new folder",
    ),
    (
        "finetune classifier --data x.csv --out y",
        2,
        "required: --init-from (see: pioneers finetune classifier",
    ),
    (
        f"{TAGGER} {{tmp}}/good.csv",
        1,
        "has no tagged words: its name must end in .conllu, .conll or .jsonl",
    ),
    (f"{TAGGER} {{tmp}}/a.conll --tag-column 9", 1, "line 1: no column '9' in 2; there are: 1 to 2"),
    (f"{TAGGER} {{tmp}}/a.conll --tag-column ner", 1, "line 1: no column 'ner' in 2; there are: 1 to 2"),
    (f"{TAGGER} {{tmp}}/short.conllu", 1, "line 1: no column 'upos' in 2; there are: id, form"),
    (f"{TAGGER} {{tmp}}/uneven.jsonl", 1, "line 1: tokens and tags must be lists of equally many texts"),
    (f"{READER} {{tmp}}/asked.csv", 1, "line 2: the answer 'Oslo' is not in the text; copy it exactly"),
    (f"{READER} {{tmp}}/good.csv", 1, "no column 'question', 'context', 'answer', only 'text', 'label'"),
    (f"{READER} {{tmp}}/list.json", 1, "is not in SQuAD's format"),
    (f"{IN_VIT} {{tmp}}/none", 1, "there is no folder"),
    (f"{IN_VIT} {{tmp}}/flat", 1, "needs one subfolder of images for each class"),
    (f"{IN_VIT} {{tmp}}/broken", 1, "is not an image that can be read"),
    (f"{IN_VIT} {{tmp}}/flat --init-from {GPT}", 1, "is a GPT, and only a ViT classifies images"),
    (
        f"finetune gpt --init-from {GPT} --out {{tmp}}/new --text {{tmp}}/pair.txt",
        1,
        "tokens, which is too short for --seq-len 23",
    ),
    (
        f"finetune gpt --init-from {GPT} --out {{tmp}}/new --text {{tmp}}/good.csv",
        1,
        "to put between documents; give another --tokenizer",
    ),
    (
        f"finetune gpt --init-from {BERT} --out {{tmp}}/new --text {{tmp}}/good.csv",
        1,
        "only a GPT or a Llama goes on",
    ),
    (
        f"finetune transformer --init-from {PAIRS} --out {{tmp}}/new --pairs {{tmp}}/long.tsv",
        1,
        "--drop-long to leave them out",
    ),
    (f"evaluate {GPT}", 2, "one of the arguments --text --data --images --pairs is required"),
    (f"evaluate {GPT} --data {{tmp}}/good.csv", 1, "is a GPT, which is measured with --text"),
    (f"evaluate {BERT} --text {{tmp}}/good.csv", 1, "which has no task to measure; fine-tune it for one"),
    (f"evaluate {GPT} --text {{tmp}}/letter.txt", 1, "the text has fewer than two tokens; give a longer one"),
    (f"evaluate {GPT} --text {{tmp}}/good.csv --seq-len 99", 1, "--seq-len 99 is more than"),
    (f"evaluate {VIT} --images {{tmp}}/animals", 1, "has the class 'cat'; the model knows 0, 1, 2"),
    (f"evaluate {PAIRS} --pairs {{tmp}}/good.csv", 1, "line 1: 1 tab-separated columns where 2 are expected"),
    (f"fill {BERT} nothing", 1, "'nothing' has no gap: write [MASK] where a token is to be guessed"),
    (f"fill {GPT} [MASK]", 1, "only a BERT with its masked-language-model head fills gaps"),
    (f"fill {BERT}", 1, "standard input, byte 3: 0xff is not UTF-8"),
    (f"fill {BERT} {'[MASK]' * 40}", 1, "tokens and the model reads at most 23: split it"),
    (f"classify {BERT} text", 1, "only a BERT classifier or a ViT classifies"),
    (f"classify {VIT} none.png", 1, "there is no image 'none.png'; correct the path"),
    (f"classify {VIT} {{tmp}}/letter.txt", 1, "letter.txt is not an image that can be read"),
    (f"tag {BERT} text", 1, "only a BERT tagger tags words"),
    (f"answer {BERT} --question a --context b", 1, "only a BERT reader answers questions"),
    (f"answer {BERT} --question a --context=", 1, "the question or the text is empty: give both"),
    (f"answer {BERT} --question a", 2, "one of the arguments --context --context-file is required"),
    (f"embed {GPT} text", 1, "only a BERT or a ViT makes a vector of its input here"),
    (f"embed {VIT} none.png", 1, "there is no image 'none.png'; correct the path"),
    (f"translate {GPT} text", 1, "is a GPT, and only a Transformer translates"),
    (f"translate {PAIRS} {'seven' * 60}", 1, "tokens but the model reads at most 47: split it"),
    (f"translate {PAIRS}", 1, "standard input is not UTF-8; convert it first"),
    (f"translate {PAIRS} text --beams 0", 2, "--beams: must be a positive integer, not '0'"),
    (f"translate {PAIRS} text --alpha wide", 2, "--alpha: must be a number of at least 0, not 'wide'"),
    ("translate {tmp} text", 1, NO_MODEL),
    ("convert", 2, "required: FROM, TO (see: pioneers convert --help)"),
    ("convert {tmp} {tmp}/new", 1, NO_MODEL),
    (f"convert {GPT} {BERT}", 1, "holds another model"),
    (f"convert {GPT} {{tmp}}/few.txt", 1, "few.txt is a file: choose a new folder"),
    (f"convert {GPT} {{tmp}}/new --to elsewhere", 2, "--to: invalid choice: 'elsewhere' (choose from"),
    (f"convert {PAIRS} {{tmp}}/new --to huggingface", 1, "a Transformer cannot be written"),
    (f"compare {GPT}", 2, "required: OTHER (see: pioneers compare --help)"),
    (f"compare {GPT} {{tmp}}", 1, NO_MODEL),
    (f"compare {GPT} {GPT}", 1, "pioneers convert RUN FOLDER --to huggingface writes one"),
    (f"compare {PAIRS} {PAIRS}", 1, "transformers has no counterpart of a Transformer"),
    ("bench --only flying", 2, "--only: invalid choice: 'flying' (choose from"),
    ("bench --rounds 0", 1, "--rounds must be at least 1, not 0"),
    ("bench --out {tmp}/none/speed.json", 1, "none to write speed.json into"),
    ("grade {tmp}", 2, "required: LAB (see: pioneers grade --help)"),
    ("grade {tmp} lab", 1, "has no gradebook.db; run there: nbgrader generate_assignment lab"),
    ("grade {tmp} lab --processes 0", 2, "--processes: must be a positive integer, not '0'"),
    ("grade {tmp} lab --minutes -1", 2, "--minutes: must be a number of at least 0, not '-1'"),
    ("doctor me", 2, "unrecognized arguments: me (see: pioneers doctor --help)"),
]
TABLES = {
    "good.csv": "text,label\nfine,good\nmean,bad\nnice,good\n",
    "other.csv": "text,label\nwell,so-so\n",
    "one.csv": "text,label\nfine,good\n",
    "same.csv": "text,label\nfine,good\nnice,good\n",
    "gap.csv": "text,label\nfine,good\nmean,\n",
    "names.csv": "text,label\n",
    "broken.jsonl": "{text\n",
    "a.conll": "Ann B-PER\nsees O\n\nBob B-PER\n",
    "short.conllu": "1\tAnn\n",
    "uneven.jsonl": '{"tokens": ["a", "b"], "tags": ["X"]}\n',
    "asked.csv": "question,context,answer\nwhere,in Rome,Oslo\n",
    "list.json": "[1]",
    "long.tsv": "".join(f"{n} {'one two ' * 40}\tun\n" for n in range(9)),
    "no_tab.tsv": "one\tun\ntwo\n",
    "half.tsv": "one\tun\n\tdeux\n",
    "pair.tsv": "one\tun\n",
    "pair.txt": "two words",
    "few.txt": "a few words " * 20,
    "long.txt": language_reference()[:20_000],
}


@pytest.fixture
def folder(tmp_path):
    """A folder with files that cannot be used."""
    (tmp_path / "empty.txt").write_text("\n")
    (tmp_path / "latin1.txt").write_bytes("a\ncafé".encode("latin-1"))
    (tmp_path / "letter.txt").write_text("a")
    for name, rows in TABLES.items():
        (tmp_path / name).write_text(rows)
    for label in ("broken/a", "broken/b", "animals/cat", "animals/dog"):
        (tmp_path / label).mkdir(parents=True)
        if label.startswith("broken"):
            (tmp_path / label / "1.png").write_text("no image")
        else:
            Image.new("RGB", (9, 9)).save(tmp_path / label / "1.png")
    (tmp_path / "flat").mkdir()
    return tmp_path


def contents(*folders):
    """What is in the folders: names, and when each was written."""
    return {path: path.stat().st_mtime_ns for folder in folders for path in folder.rglob("*")}


@pytest.mark.parametrize(("line", "status", "message"), TABLE, ids=[row[0] for row in TABLE])
def test_bad_input_is_one_line_and_changes_nothing(
    line, status, message, folder, trained, fails, monkeypatch
):
    names = {name: trained(name) for name in ("gpt", "bert", "vit", "transformer") if f"{{{name}}}" in line}
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(b"a\n\xff")))
    before = contents(folder, *names.values())
    found = fails([word.format(tmp=folder, **names) for word in line.split()], status=status)
    assert message.format(tmp=folder) in found
    (folder / "new").is_dir() and (folder / "new").rmdir()  # an empty folder at most
    assert contents(folder, *names.values()) == before
