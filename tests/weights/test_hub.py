"""What happens between a name and a folder, without a hub."""

import os
import subprocess
import sys

import pytest
import torch

from pioneers import from_pretrained
from pioneers.models import GPT, GPTConfig
from pioneers.weights import load_tokenizer, save_pretrained


@pytest.fixture
def hub(monkeypatch):
    """A function that sets what fetching does; it returns the list of calls."""
    module = pytest.importorskip("huggingface_hub", reason="huggingface_hub is not installed")
    calls = []

    def answer(result):
        def snapshot_download(name, **how):
            calls.append((name, how))
            if isinstance(result, Exception):
                raise result
            return str(result)

        monkeypatch.setattr(module, "snapshot_download", snapshot_download)
        return calls

    return answer


def test_a_name_is_fetched_and_read(hub, tmp_path, monkeypatch):
    model = GPT(GPTConfig(vocab_size=31, max_seq_len=11, d_model=12, num_layers=1, num_heads=3))
    save_pretrained(model, tmp_path / "cache")
    (tmp_path / "cache" / "vocab.txt").write_text("[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\nwhite\n")
    monkeypatch.chdir(tmp_path)
    calls = hub(tmp_path / "cache")
    assert torch.equal(from_pretrained("some-one/gpt-1.5").lm_head.weight, model.lm_head.weight)
    assert load_tokenizer("some-one/gpt-1.5").encode("white") == [5]
    (name, model_files), (_, tokenizer_files) = calls
    assert name == "some-one/gpt-1.5"
    assert {"config.json", "model.safetensors", "vocab.txt"} <= {*model_files["allow_patterns"]}
    assert {*tokenizer_files["allow_patterns"]} == {
        "tokenizer.json", "tokenizer_config.json", "vocab.txt", "vocab.json", "merges.txt",
    }  # fmt: skip
    assert not [pattern for pattern in model_files["allow_patterns"] if "bin" in pattern]


def test_a_folder_here_goes_before_the_hub(hub, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    save_pretrained(GPT(GPTConfig.preset("mini")), "gpt2")
    calls = hub(AssertionError("asked the hub"))
    assert from_pretrained("gpt2").config == GPTConfig.preset("mini")
    assert not calls


def test_a_misspelt_folder_is_never_asked_of_the_hub(hub, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    calls = hub(AssertionError("asked the hub"))
    (tmp_path / "runs" / "gpt").mkdir(parents=True)
    message = (
        "there is no folder runs/gtp, and runs holds gpt; correct the name, or, if it is meant for the hub"
    )
    with pytest.raises(FileNotFoundError, match=message):
        from_pretrained("runs/gtp")
    assert not calls


@pytest.mark.parametrize("name", ["./gpt2", "../gpt2", "/nowhere/gpt2", "a/b/c", "C:\\gpt2"])
def test_a_path_is_never_asked_of_the_hub(name, hub):
    calls = hub(AssertionError("asked the hub"))
    with pytest.raises(FileNotFoundError, match="is not a folder; give a model folder, or a name on"):
        from_pretrained(name)
    assert not calls


def test_a_file_is_no_folder(hub, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "gpt2").write_text("")
    calls = hub(AssertionError("asked the hub"))
    with pytest.raises(FileNotFoundError, match="gpt2 is not a folder; give a model folder"):
        from_pretrained("gpt2")
    assert not calls


def test_an_unknown_name_is_named(hub):
    errors = pytest.importorskip("huggingface_hub.errors", reason="huggingface_hub is not installed")
    hub(errors.RepositoryNotFoundError.__new__(errors.RepositoryNotFoundError))
    with pytest.raises(FileNotFoundError, match="hub has no model of that name, or not for everybody: check"):
        from_pretrained("no-such-model")


def test_what_the_network_says_is_passed_on_in_one_line(hub):
    hub(TimeoutError("too slow\nand much more"))
    with pytest.raises(ConnectionError) as caught:
        from_pretrained("gpt2")
    message = str(caught.value)
    assert "gpt2 is not a folder here" in message
    assert "(TimeoutError: too slow): connect to the internet and try again, set HF_HOME" in message
    assert "\n" not in message


def test_a_missing_client_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "huggingface_hub", None)
    with pytest.raises(ModuleNotFoundError, match="one more package: pip install huggingface_hub"):
        from_pretrained("gpt2")


def test_without_a_network_the_error_says_what_to_do(tmp_path):
    pytest.importorskip("huggingface_hub", reason="huggingface_hub is not installed")
    code = (
        "import pioneers\n"
        "try: pioneers.from_pretrained('bert-base-uncased')\n"
        "except ConnectionError as error: print(error)"
    )
    environment = os.environ | {"HF_HUB_OFFLINE": "1", "HF_HOME": str(tmp_path)}
    run = subprocess.run(
        [sys.executable, "-c", code],
        env=environment,
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=True,
    )
    assert run.stdout.startswith(
        "bert-base-uncased is not a folder here, and it cannot be fetched from the Hugging"
    )
    assert run.stdout.count("\n") == 1
    assert "or give a folder" in run.stdout
