"""Folders of our own format, and the way back into Hugging Face's: whole or not at all, same outputs."""

import errno
import json
import os
import subprocess
import sys

import pytest
import torch
from safetensors import SafetensorError
from safetensors.torch import load_file

import pioneers
from pioneers import from_pretrained
from pioneers.models import (
    BERT,
    GPT,
    BERTConfig,
    BERTForPretraining,
    GPTConfig,
    LSTMLanguageModel,
    Transformer,
    TransformerConfig,
    ViT,
    ViTConfig,
)
from pioneers.weights import files, save_huggingface, save_pretrained

V, T, D = 31, 11, 12
SIZES = {"d_model": D, "num_layers": 2, "num_heads": 3}
TEXT = {"vocab_size": V, "max_seq_len": T, **SIZES}


def ids(*shape):
    return torch.randint(V, shape, generator=torch.Generator().manual_seed(1))


def images():
    return torch.randn(2, 3, 15, 15, generator=torch.Generator().manual_seed(1))


def vit(**changes):
    return ViT(ViTConfig(image_size=15, patch_size=5, num_classes=7, **SIZES, **changes))


MODELS = {
    "GPT": (lambda: GPT(GPTConfig(**TEXT, dropout=0.2)), lambda m: m(ids(2, 7))),
    "BERT": (lambda: BERT(BERTConfig(**TEXT, num_segments=5)), lambda m: m.pool(m(ids(2, 7)))),
    "BERTForPretraining": (
        lambda: BERTForPretraining(BERTConfig(**TEXT)),
        lambda m: torch.cat([logits.flatten() for logits in m(ids(2, 7))]),
    ),
    "ViT": (vit, lambda m: m(images())),
    "Transformer": (
        lambda: Transformer(TransformerConfig(**TEXT, d_ff=17)),
        lambda m: m(ids(2, 7), ids(2, 5)),
    ),
}  # fmt: skip


def new(name, seed=0):
    torch.manual_seed(seed)
    return MODELS[name][0]().eval()


def same(a, b):
    return all(torch.equal(x, y) for x, y in zip(a.parameters(), b.parameters(), strict=True))


@pytest.mark.parametrize("name", MODELS)
def test_what_was_saved_comes_back(name, tmp_path):
    model, run = new(name), MODELS[name][1]
    save_pretrained(model.train(), tmp_path / "deep" / "model")
    back = from_pretrained(tmp_path / "deep" / "model")
    assert type(back) is type(model)
    assert back.config == model.config
    assert not back.training
    assert torch.equal(run(back), run(model.eval()))
    assert sorted(os.listdir(tmp_path / "deep")) == ["model"]
    assert sorted(os.listdir(tmp_path / "deep" / "model")) == ["config.json", "model.safetensors"]
    saved = json.loads((tmp_path / "deep" / "model" / "config.json").read_text())
    assert saved["model"] == name
    names = load_file(tmp_path / "deep" / "model" / "model.safetensors").keys()
    assert sorted(names) == sorted(name for name, _ in model.named_parameters())


def test_a_folder_keeps_its_other_files_and_takes_newer_weights(tmp_path):
    (tmp_path / "vocab.txt").write_text("mine")
    save_pretrained(new("GPT"), tmp_path)
    newer = new("GPT", seed=1)
    save_pretrained(newer, str(tmp_path))
    assert same(from_pretrained(str(tmp_path)), newer)
    assert sorted(os.listdir(tmp_path)) == ["config.json", "model.safetensors", "vocab.txt"]
    assert not list(tmp_path.parent.glob(".*partial"))


def test_a_folder_on_another_disk_than_its_parent_takes_a_model(tmp_path, monkeypatch):
    disk, replace = tmp_path / "disk", os.replace
    disk.mkdir()
    (tmp_path / "model").symlink_to(disk)

    def replace_on_one_disk(source, target):
        if len({disk in path.resolve().parents for path in (source, target)}) > 1:
            raise OSError(errno.EXDEV, "Invalid cross-device link")
        replace(source, target)

    monkeypatch.setattr(os, "replace", replace_on_one_disk)
    model = new("GPT")
    save_pretrained(model, tmp_path / "model")
    assert same(from_pretrained(disk), model)
    assert sorted(os.listdir(disk)) == ["config.json", "model.safetensors"]


def test_another_model_in_the_folder_is_not_overwritten(tmp_path):
    model = new("GPT")
    save_pretrained(model, tmp_path)
    for other in (new("BERT"), GPT(model.config.replace(num_layers=3))):
        with pytest.raises(FileExistsError, match=r"holds another model \(its config\.json differs\)"):
            save_pretrained(other, tmp_path)
    with pytest.raises(FileExistsError, match="choose a new folder, or delete this one"):
        save_huggingface(model, tmp_path)
    assert same(from_pretrained(tmp_path), model)


@pytest.fixture
def full_disk():
    """A function that lets no file grow beyond some bytes, as a full disk does."""
    resource = pytest.importorskip("resource", reason="this system cannot limit the size of files")
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    yield lambda free: resource.setrlimit(resource.RLIMIT_FSIZE, (free, before[1]))
    resource.setrlimit(resource.RLIMIT_FSIZE, before)


@pytest.mark.parametrize("write", [save_pretrained, save_huggingface])
@pytest.mark.parametrize("exists", [True, False])
def test_a_full_disk_leaves_everything_as_it_was(write, exists, tmp_path, full_disk):
    old = new("GPT")
    if exists:
        write(old, tmp_path / "model")
    full_disk(5000)
    with pytest.raises(OSError, match=r"cannot write the model to .*model \(.*\); nothing there was changed"):
        write(new("GPT", seed=1), tmp_path / "model")
    full_disk(10**9)
    assert os.listdir(tmp_path) == ["model"] * exists
    if exists:
        assert same(from_pretrained(tmp_path / "model"), old)


@pytest.mark.parametrize("step", ["_write_synced", "_move"])
def test_a_failure_after_the_weights_were_written_leaves_everything_as_it_was(step, tmp_path, monkeypatch):
    old = new("GPT")
    save_pretrained(old, tmp_path / "model")

    def fail(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(files, step, fail)
    with pytest.raises(OSError, match=r"No space left on device\); nothing there was changed"):
        save_pretrained(new("GPT", seed=1), tmp_path / "model")
    assert os.listdir(tmp_path) == ["model"]
    assert same(from_pretrained(tmp_path / "model"), old)


def test_an_error_of_the_library_is_an_error_of_the_disk(tmp_path, monkeypatch):
    def fail(*_, **__):
        raise SafetensorError("no space")

    monkeypatch.setattr(files, "save_file", fail)
    with pytest.raises(OSError, match=r"cannot write the model to .*model \(no space\); nothing there"):
        save_huggingface(new("GPT"), tmp_path / "model")
    assert not os.listdir(tmp_path)


def test_only_the_first_process_writes(tmp_path, monkeypatch):
    monkeypatch.setattr(files, "rank", lambda: 1)
    called = []
    files.write_folder(tmp_path / "model", {"config.json": {"model": "GPT"}}, called.append)
    assert called == [tmp_path / ".model.partial" / "model.safetensors"]
    assert not os.listdir(tmp_path)


def test_only_models_with_a_configuration_have_a_folder(tmp_path):
    with pytest.raises(
        TypeError,
        match=r"a LSTMLanguageModel cannot be written as a folder, only BERTFor.*, GPT, .*Transformer;",
    ):
        save_pretrained(LSTMLanguageModel(V, D, num_layers=1), tmp_path / "model")
    with pytest.raises(
        TypeError,
        match=r"a Transformer cannot be written as a folder, only .*BERTFor.*, GPT, GPTClassifier, .*T5, .*;",
    ):
        save_huggingface(new("Transformer"), tmp_path / "model")
    assert not os.listdir(tmp_path)


@pytest.fixture
def saved(tmp_path):
    save_pretrained(new("GPT"), tmp_path)
    return tmp_path


def configure(folder, **changes):
    path = folder / "config.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | changes))


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"model": "GTP"}, r"names the model 'GTP'; known here: .*GPT, .*_type (?=.*gpt2, )(?=.*t5, ).*vit"),
        ({"num_head": 3}, r"config\.json: GPTConfig has no field 'num_head' \(did you mean 'num_heads'\?\)"),
        ({"activation": "elu"}, r"config\.json: GPTConfig: activation must be one of .*, not 'elu'"),
        ({"vocab_size": "many"}, r"config\.json: .* vocab_size must be a positive integer, not 'many'"),
        ({"dropout": "much"}, r"config\.json: .*str"),
        ({"vocab_size": 37}, r"another model: 1 tensors differ, first 'embed\.token\.weight', \(31, 12"),
    ],
)  # fmt: skip
def test_a_wrong_configuration_is_named(changes, message, saved):
    configure(saved, **changes)
    with pytest.raises(ValueError, match=message):
        from_pretrained(saved)


def test_a_damaged_folder_is_named(saved):
    weights, config = saved / "model.safetensors", saved / "config.json"
    whole = weights.read_bytes()
    weights.write_bytes(whole[:-100])
    with pytest.raises(ValueError, match=r"model\.safetensors is .*truncated or damaged"):
        from_pretrained(saved)
    weights.unlink()
    with pytest.raises(
        FileNotFoundError, match=r"has no model\.safetensors: saving or copying .* was interrupted; save"
    ):
        from_pretrained(saved)
    config.write_text("{'model': GPT}")
    with pytest.raises(ValueError, match=r"config\.json is not JSON \(.*\); restore it from a copy"):
        from_pretrained(saved)
    config.write_text("[1, 2]")
    with pytest.raises(ValueError, match=r"config\.json should hold a JSON object, not list"):
        from_pretrained(saved)
    config.unlink()
    with pytest.raises(FileNotFoundError, match=r"is not a model folder: it has no config\.json"):
        from_pretrained(saved)


@pytest.mark.parametrize("name", ["GPT", "BERT", "BERTForPretraining", "ViT"])
def test_what_was_exported_is_read_by_the_other_library_and_by_us(name, tmp_path, transformers):
    model, run = new(name), MODELS[name][1]
    save_huggingface(model, tmp_path)
    architecture = json.loads((tmp_path / "config.json").read_text())["architectures"][0]
    theirs, report = getattr(transformers, architecture).from_pretrained(tmp_path, output_loading_info=True)
    assert not any(report[problem] for problem in ("missing_keys", "unexpected_keys", "mismatched_keys"))
    with torch.no_grad():
        expected = {
            "GPT": lambda: theirs(ids(2, 7)).logits,
            "BERT": lambda: theirs(ids(2, 7)).pooler_output,
            "BERTForPretraining": lambda: torch.cat([t.flatten() for t in theirs(ids(2, 7)).to_tuple()]),
            "ViT": lambda: theirs(images()).logits,
        }[name]()  # fmt: skip
        torch.testing.assert_close(run(model), expected, atol=1e-5, rtol=1e-5)
    back = from_pretrained(tmp_path)
    assert back.config == model.config
    assert same(back, model)


@pytest.mark.parametrize(("vocab_size", "end"), [(50257, 50256), (V, None), (50304, None)])
def test_the_end_of_a_text_has_an_id_where_the_vocabulary_is_that_of_gpt2(
    vocab_size, end, tmp_path, transformers
):
    sizes = {"max_seq_len": T, "d_model": 2, "num_layers": 1, "num_heads": 1}
    save_huggingface(GPT(GPTConfig(vocab_size=vocab_size, **sizes)), tmp_path)
    theirs = transformers.AutoConfig.from_pretrained(tmp_path)
    assert (theirs.bos_token_id, theirs.eos_token_id) == (end, end)


def test_settings_without_a_counterpart_are_not_exported(tmp_path):
    for placement in ("post", "sandwich"):
        model = GPT(GPTConfig(**TEXT, norm_placement=placement))
        message = (
            f"norm_placement='{placement}' has no counterpart in Hugging Face's model, only 'pre' has: keep"
        )
        with pytest.raises(ValueError, match=message):
            save_huggingface(model, tmp_path / "model")
    assert not os.listdir(tmp_path)


def test_every_activation_finds_the_way_there_and_back(tmp_path):
    for activation in ("relu", "gelu", "gelu_tanh", "gelu_sigmoid", "swish"):
        model = GPT(GPTConfig(**TEXT, activation=activation))
        save_huggingface(model, tmp_path / activation)
        assert from_pretrained(tmp_path / activation).config == model.config


def test_the_package_is_light_until_it_is_needed():
    code = "import sys, pioneers; assert 'torch' not in sys.modules; print(pioneers.from_pretrained.__name__)"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout == "from_pretrained\n"
    with pytest.raises(AttributeError, match="module 'pioneers' has no attribute 'from_scratch'"):
        pioneers.from_scratch  # noqa: B018


def test_a_model_reads_and_writes_itself(tmp_path):
    torch.manual_seed(0)
    model = GPT(GPTConfig.preset("mini"))
    model.save_pretrained(tmp_path)
    again = GPT.from_pretrained(tmp_path)
    assert all(torch.equal(a, b) for a, b in zip(model.parameters(), again.parameters(), strict=True))
    with pytest.raises(ValueError, match=r"holds a GPT: read it with GPT\.from_pretrained"):
        BERT.from_pretrained(tmp_path)
