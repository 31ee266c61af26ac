"""Bad input to every command that uses a model: one line that says what to do, and nothing written."""

import io

import pytest

GPT, BERT, VIT = "{gpt}", "{bert}", "{vit}"
TABLE = [
    # arguments, exit status, what the message says; {name} is the folder of a trained model, {tmp} an own one
    (f"generate {GPT}", 2, "one of the arguments --prompt --prompt-file is required"),
    (f"generate {GPT} --prompt a --prompt-file b", 2, "not allowed with argument --prompt"),
    (f"generate {GPT} --prompt=", 1, "the prompt is empty: give --prompt a few words"),
    (f"generate {GPT} --prompt a --samples 0", 2, "--samples: must be a positive integer, not '0'"),
    (f"generate {GPT} --prompt a --tokens many", 2, "--tokens: must be a positive integer, not 'many'"),
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
    ("generate {tmp} --prompt a", 1, "is not a model folder: it has no config.json. Give the folder"),
    (
        "generate {tmp}/gpt --prompt a",
        1,
        "is not a folder; give a model folder, or a name on the hub such as gpt2",
    ),
]


@pytest.fixture
def folder(tmp_path):
    """A folder with files that cannot be used."""
    (tmp_path / "empty.txt").write_text("\n")
    (tmp_path / "latin1.txt").write_bytes("a\ncafé".encode("latin-1"))
    return tmp_path


@pytest.mark.parametrize(("line", "status", "message"), TABLE, ids=[row[0] for row in TABLE])
def test_bad_input_is_one_line_and_writes_nothing(line, status, message, folder, trained, fails, monkeypatch):
    names = {name: trained(name) for name in ("gpt", "bert", "vit") if f"{{{name}}}" in line}
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(b"a\n\xff")))
    before = sorted(folder.rglob("*"))
    found = fails([word.format(tmp=folder, **names) for word in line.split()], status=status)
    assert message.format(tmp=folder) in found
    assert sorted(folder.rglob("*")) == before
