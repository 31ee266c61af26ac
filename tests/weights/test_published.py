"""The page "With published weights", run against a local server that speaks the protocol of the hub.

What it serves has the files, the names of tensors and the configurations of the real models, small and with
random weights. ``tests/weights/test_real_weights.py`` has the real ones.
"""

import hashlib
import json
import re
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import jupytext
import pytest
import torch
from nbclient import NotebookClient
from nbformat.v4 import new_code_cell
from PIL import Image
from safetensors.torch import load_file, save

from pioneers import from_pretrained
from pioneers.cli import main
from pioneers.tokenizers import ByteLevelBPE
from pioneers.tokenizers.wordpiece import SPECIAL_TOKENS
from pioneers.weights import download

SENTENCE = "The animal didn't cross the street because it was too"
ENDINGS = " tired", " wide"
SIZES = {"d_model": 12, "num_layers": 2, "num_heads": 3}  # those of the fixture make_theirs
LFS = (".safetensors", ".bin", ".h5", ".msgpack", ".onnx")


class Handler(BaseHTTPRequestHandler):
    """Answers of the hub: information, trees, and files; large ones are redirected to another host."""

    protocol_version = "HTTP/1.1"

    def log_message(self, *words):
        pass

    def answer(self, status, body=b"", length=None, **headers):
        self.send_response(status)
        advice = "unauthenticated; You are sending unauthenticated requests. Please set a HF_TOKEN."
        sent = {"X-HF-Warning": advice, "Content-Length": len(body) if length is None else length} | headers
        for name, value in sent.items():
            self.send_header(name.replace("_", "-"), str(value))
        self.end_headers()
        if self.command == "GET":
            self.wfile.write(body)

    def do_GET(self):
        server, path = self.server, self.path.partition("?")[0]
        server.asked.append((self.command, path))
        if path.startswith("/blobs/"):
            return self.blob(server.blobs[path.removeprefix("/blobs/")])
        found = re.fullmatch(r"/(api/models/)?([\w-]+/[\w.-]+)/(revision|tree|resolve)/([^/]+)/?(.*)", path)
        if not found:  # what the client asks about itself
            return self.answer(404)
        api, name, kind, revision, file = found.groups()
        if name not in server.repositories:
            return self.answer(404, X_Error_Code="RepoNotFound")
        commit, files = server.repositories[name]
        if revision not in ("main", commit):
            return self.answer(404, X_Error_Code="RevisionNotFound")
        if api:
            return self.answer(200, json.dumps(self.about(kind, name, commit, files)).encode())
        return self.file(files[file], commit, large=file.endswith(LFS))

    do_HEAD = do_GET

    def about(self, kind, name, commit, files):
        if kind == "revision":
            return {"id": name, "sha": commit, "siblings": [{"rfilename": file} for file in files]}
        return [
            {"type": "file", "path": file, "size": len(body), "oid": hashlib.sha1(body).hexdigest()}
            for file, body in files.items()
        ]

    def file(self, body, commit, large):
        digest = hashlib.sha256(body).hexdigest()
        about = {"ETag": f'"{digest}"', "X_Repo_Commit": commit}
        if not large:
            return self.answer(200, body, **about)
        self.server.blobs[digest] = body
        linked = {"X_Linked_ETag": f'"{digest}"', "X_Linked_Size": len(body)}
        return self.answer(302, Location=f"{self.server.elsewhere}/blobs/{digest}", **about, **linked)

    def blob(self, body):
        start = int((self.headers.get("Range") or "bytes=0-").removeprefix("bytes=").rstrip("-"))
        self.server.starts.append(start)
        part = {"Content_Range": f"bytes {start}-{len(body) - 1}/{len(body)}"} if start else {}
        sent = body[start:]
        if self.server.breaks:  # in the middle
            self.server.breaks -= 1
            self.close_connection = True
            return self.answer(206 if start else 200, sent[: len(sent) // 2], len(sent), **part)
        return self.answer(206 if start else 200, sent, **part)


@pytest.fixture
def hub(tmp_path, monkeypatch):
    """A server, and this process pointed to it, with an empty cache."""
    constants = pytest.importorskip("huggingface_hub.constants", reason="huggingface_hub is not installed")
    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    hosts = ("127.0.0.1", "localhost")
    server.address, server.elsewhere = (f"http://{host}:{server.server_port}" for host in hosts)
    server.repositories, server.blobs, server.asked, server.starts, server.breaks = {}, {}, [], [], 0
    threading.Thread(target=server.serve_forever, daemon=True).start()
    monkeypatch.setattr(constants, "ENDPOINT", server.address)
    template = server.address + "/{repo_id}/resolve/{revision}/{filename}"
    monkeypatch.setattr(constants, "HUGGINGFACE_CO_URL_TEMPLATE", template)
    monkeypatch.setattr(constants, "HF_HUB_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(constants, "DOWNLOAD_CHUNK_SIZE", 2**16)  # a broken chunk is lost
    monkeypatch.setattr("huggingface_hub.file_download.time.sleep", lambda seconds: None)
    yield server
    server.shutdown()
    server.server_close()


# The configurations as they are on the hub, with the sizes left out.
GPT2 = {
    "activation_function": "gelu_new", "architectures": ["GPT2LMHeadModel"], "attn_pdrop": 0.1,
    "embd_pdrop": 0.1, "initializer_range": 0.02, "layer_norm_epsilon": 1e-05, "model_type": "gpt2",
    "resid_pdrop": 0.1, "summary_activation": None, "summary_first_dropout": 0.1,
    "summary_proj_to_labels": True, "summary_type": "cls_index", "summary_use_proj": True,
    "task_specific_params": {"text-generation": {"do_sample": True, "max_length": 50}},
}  # fmt: skip
BERT = {
    "architectures": ["BertForMaskedLM"], "attention_probs_dropout_prob": 0.1,
    "gradient_checkpointing": False, "hidden_act": "gelu", "hidden_dropout_prob": 0.1,
    "initializer_range": 0.02, "layer_norm_eps": 1e-12, "model_type": "bert", "pad_token_id": 0,
    "position_embedding_type": "absolute", "transformers_version": "4.6.0.dev0", "type_vocab_size": 2,
    "use_cache": True,
}  # fmt: skip
VIT = {
    "_name_or_path": "google/vit-base-patch16-224-in21k", "architectures": ["ViTForImageClassification"],
    "attention_probs_dropout_prob": 0.0, "hidden_act": "gelu", "hidden_dropout_prob": 0.0,
    "initializer_range": 0.02, "layer_norm_eps": 1e-12, "model_type": "vit", "num_channels": 3,
    "qkv_bias": True, "transformers_version": "4.13.0.dev0",
}  # fmt: skip
LABELS = ["tench, Tinca tinca", "crane", "palace", "crane", "daisy"]  # ImageNet has two kinds of cranes
PICKLES = ["pytorch_model.bin", "tf_model.h5", "flax_model.msgpack", "onnx/model.onnx", "onnx/config.json"]


def repository(config, tensors, **files):
    texts = {name: text.encode() for name, text in files.items()}
    weights = save({name: t.contiguous() for name, t in tensors.items()}, {"format": "pt"})
    never = dict.fromkeys(PICKLES, b"\x80\x04 not to be fetched")
    return never | texts | {"config.json": json.dumps(config).encode(), "model.safetensors": weights}


def saved(model, folder):
    """Its tensors as they are in a file: in memory, the library has newer names for some."""
    model.save_pretrained(folder)
    return load_file(folder / "model.safetensors")


def gpt2(make_theirs, folder):
    """As on the hub: no prefix, the head left out, and a mask in each block."""
    text = " ".join(SENTENCE + ending for ending in ENDINGS)
    bpe = ByteLevelBPE(ByteLevelBPE.train(text, 330).merges, ["<|endoftext|>"])
    folder.mkdir()
    bpe.save_gpt2(folder / "merges.txt", folder / "vocab.json")
    sizes = {"vocab_size": bpe.vocab_size, "n_positions": 64, "n_embd": 12, "n_layer": 2, "n_head": 3}
    state = saved(make_theirs("GPT2LMHeadModel", **sizes), folder)
    tensors = {name.removeprefix("transformer."): t for name, t in state.items()}
    tensors |= {f"h.{i}.attn.bias": torch.ones(1, 1, 64, 64).tril() for i in range(2)}
    files = {name: (folder / name).read_text() for name in ("merges.txt", "vocab.json")}
    ids = {"bos_token_id": bpe.vocab_size - 1, "eos_token_id": bpe.vocab_size - 1, "n_ctx": 64}
    return repository(GPT2 | sizes | ids, tensors, **files)


def bert(make_theirs, folder):
    """As on the hub: the old names of the norms, and no copy of the token embedding."""
    words = re.findall(r"\w+|[^\w\s]", " ".join([SENTENCE, *ENDINGS, "Paris is the capital of."]).lower())
    vocabulary = [*SPECIAL_TOKENS, *sorted({*words})]
    sizes = {"vocab_size": len(vocabulary), "max_position_embeddings": 64, "type_vocab_size": 2}
    state = saved(make_theirs("BertForPreTraining", **sizes), folder)
    old = {"LayerNorm.weight": "LayerNorm.gamma", "LayerNorm.bias": "LayerNorm.beta"}
    tensors = {re.sub("|".join(old), lambda new: old[new[0]], name): t for name, t in state.items()}
    tensors |= {name: 30 * t for name, t in tensors.items() if ".query." in name}  # attention that chooses
    sizes |= {"hidden_size": 12, "num_hidden_layers": 2, "num_attention_heads": 3, "intermediate_size": 48}
    tokenizer = {"tokenizer_config.json": '{"do_lower_case": true}', "vocab.txt": "\n".join(vocabulary)}
    return repository(BERT | sizes, tensors, **tokenizer)


def vit(make_theirs, folder):
    labels = {"id2label": dict(enumerate(LABELS)), "label2id": {name: i for i, name in enumerate(LABELS)}}
    state = saved(make_theirs("ViTForImageClassification", **labels), folder)
    sizes = {"hidden_size": 12, "num_hidden_layers": 2, "num_attention_heads": 3, "intermediate_size": 48}
    images = {"do_normalize": True, "do_resize": True, "image_mean": [0.5] * 3, "image_std": [0.5] * 3}
    config = VIT | sizes | labels | {"image_size": 15, "patch_size": 5}
    return repository(config, state, **{"preprocessor_config.json": json.dumps(images | {"size": 15})})


def presets(served):
    """A cell that makes the page expect the small sizes."""
    v, w = (json.loads(served[name]["config.json"])["vocab_size"] for name in ("gpt2", "bert"))
    small = {
        "GPTConfig": ("gpt2", SIZES | {"vocab_size": v, "max_seq_len": 64}),
        "BERTConfig": ("base", SIZES | {"vocab_size": w, "max_seq_len": 64}),
        "ViTConfig": ("base16", SIZES | {"image_size": 15, "patch_size": 5, "num_classes": len(LABELS)}),
    }
    lines = [f"models.{config}.presets[{name!r}] = {sizes}" for config, (name, sizes) in small.items()]
    return new_code_cell("\n".join(["from pioneers import models", *lines]))


def test_the_page_runs_as_it_would_with_the_hub(root, hub, make_theirs, tmp_path, monkeypatch):
    served = {make.__name__: make(make_theirs, tmp_path / make.__name__) for make in (gpt2, bert, vit)}
    page = jupytext.read(root / "book" / "published_weights.md")
    code = "\n".join(cell.source for cell in page.cells if cell.cell_type == "code")
    pinned = re.findall(r'\("([\w-]+/[\w-]+)",\s+"([0-9a-f]{40})"\)', code)
    assert [name for name, _ in pinned] == [
        "openai-community/gpt2", "google-bert/bert-base-uncased", "google/vit-base-patch16-224",
    ]  # fmt: skip
    for (name, commit), files in zip(pinned, served.values(), strict=True):
        hub.repositories[name] = commit, files
    page.cells.insert(0, presets(served))
    monkeypatch.syspath_prepend(root / "book" / "_ext")
    from network import QUIET

    for name, value in {"HF_ENDPOINT": hub.address, "HF_HOME": str(tmp_path / "home"), **QUIET}.items():
        monkeypatch.setenv(name, value)
    NotebookClient(page, timeout=120, kernel_name="python3", skip_cells_with_tag="").execute()
    outputs = [out for cell in page.cells for out in cell.get("outputs", []) if out.get("name") != "stderr"]
    said = "".join(out.get("text", "") for out in outputs)
    kinds = {kind for out in outputs for kind in out.get("data", {})}
    assert kinds <= {
        "text/plain",
        "text/html",
        "image/png",
    }
    assert re.findall(r"^(\S+) +[\d,]+ logits agree$", said, re.MULTILINE) == ["GPT-2", "BERT", "ViT-B/16"]
    assert sum("image/png" in out.get("data", {}) for out in outputs) == 2
    assert len(re.findall(r"\d\.\d\d bits per character", said)) == 4
    assert len(re.findall(r"^(?:.+ 0\.\d\d; ){2}.+ 0\.\d\d$", said, re.MULTILINE)) == 2  # labels
    fetched = {path.split("/", 5)[-1] for method, path in hub.asked if "/resolve/" in path}
    assert not fetched & {*PICKLES}
    assert {"model.safetensors", "merges.txt", "vocab.txt", "preprocessor_config.json"} <= fetched


def test_the_command_line_takes_published_names(hub, make_theirs, tmp_path, monkeypatch, capsys):
    for name, make in {"some/gpt2": gpt2, "some/bert": bert, "some/vit": vit}.items():
        hub.repositories[name] = "c" * 40, make(make_theirs, tmp_path / make.__name__)
    for name, value in {"PIONEERS_DEVICE": "cpu", "TQDM_DISABLE": "1"}.items():
        monkeypatch.setenv(name, value)
    (tmp_path / "text.txt").write_text(f"{SENTENCE} tired\n" * 99)
    rows = (f"{SENTENCE.lower()}{end},{end.strip()}\n" for end in ENDINGS for _ in range(9))
    (tmp_path / "rows.csv").write_text("text,label\n" + "".join(rows))
    for label, shade in (("dark", 9), ("light", 240)):
        (tmp_path / "images" / label).mkdir(parents=True)
        for n in range(9):
            image = Image.new("RGB", (15, 15), (shade, shade, shade + n))
            image.save(tmp_path / "images" / label / f"{n}.png")
    how = ["--steps", "2", "--batch-size", "2", "--precision", "fp32"]
    for task, name, option, source in (
        ("gpt", "some/gpt2", "--text", "text.txt"),
        ("classifier", "some/bert", "--data", "rows.csv"),
        ("vit", "some/vit", "--images", "images"),
    ):
        given = ["--init-from", name, option, tmp_path / source, "--out", tmp_path / "runs" / task]
        assert main(["finetune", task, *map(str, given), *how]) == 0, capsys.readouterr().err
        from_pretrained(tmp_path / "runs" / task)
    capsys.readouterr()
    assert main(["generate", "some/gpt2", "--prompt", SENTENCE, "--tokens", "3"]) == 0
    assert main(["fill", "some/bert", f"{SENTENCE} [MASK]"]) == 0
    assert main(["classify", "some/vit", str(tmp_path / "images" / "dark" / "0.png")]) == 0
    said = capsys.readouterr()
    assert said.err == ""
    assert said.out.startswith(SENTENCE)
    assert any(label in said.out for label in LABELS)
    assert main(["generate", "some/gtp2", "--prompt", SENTENCE]) == 1
    assert "some/gtp2" in capsys.readouterr().err


def tiny(**changes):
    config = GPT2 | {"vocab_size": 7, "n_positions": 5, "n_embd": 4, "n_layer": 1, "n_head": 2} | changes
    return repository(config, {"wte.weight": torch.zeros(7, 4), "more": torch.zeros(2**18)})


def test_a_broken_connection_is_taken_up_where_it_broke(hub, tmp_path):
    hub.repositories["some/gpt"] = "c" * 40, tiny()
    hub.breaks = 2
    folder = download("some/gpt")
    assert (folder / "model.safetensors").read_bytes() == hub.repositories["some/gpt"][1]["model.safetensors"]
    assert hub.starts[0] == 0 < hub.starts[1] < hub.starts[2]
    asked = len(hub.asked)
    hub.shutdown()
    hub.server_close()
    assert download("some/gpt", revision="c" * 40) == folder  # from the cache, without a network
    assert len(hub.asked) == asked


def test_what_cannot_be_fetched_is_named_with_what_to_do(hub):
    hub.repositories["some/gpt"] = "c" * 40, tiny()
    hub.repositories["some/mamba"] = "d" * 40, tiny(model_type="mamba")
    hub.repositories["some/pickle"] = (
        "e" * 40,
        {name: body for name, body in tiny().items() if name != "model.safetensors"},
    )
    with pytest.raises(
        FileNotFoundError, match="no model of that name, or not for everybody: check the name"
    ):
        download("some/typo")
    with pytest.raises(FileNotFoundError, match=r"has some/gpt, but no revision f+ of it: check the commit"):
        download("some/gpt", revision="f" * 40)
    with pytest.raises(FileNotFoundError, match="some/where/else is not the name of a model on the hub"):
        download("some/where/else")
    with pytest.raises(ValueError, match=r"is for a 'mamba'; of Hugging Face's models only .* can be read"):
        from_pretrained("some/mamba")
    with pytest.raises(FileNotFoundError, match=r"neither model.safetensors nor .* only pickled weights"):
        from_pretrained("some/pickle")
    hub.breaks = 1000
    with pytest.raises(
        ConnectionError, match=r"some/gpt .* cannot be fetched .*: connect to the internet and"
    ):
        download("some/gpt")
    hub.shutdown()
    hub.server_close()
    with pytest.raises(
        ConnectionError, match=r"some/gpt .* cannot be fetched .*: connect to the internet and"
    ):
        download("some/gpt")
