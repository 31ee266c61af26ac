"""What every exported model must do: learn with all its parameters, compile, run in bfloat16, go to JSON and
back. Sizes differ from one another, so that a swapped axis cannot pass: B 5, T 7, S 11, V 17.
"""

import copy
import dataclasses
import json

import pytest
import torch
from torch import nn

from pioneers import models
from pioneers.config import Config
from pioneers.device import autocast, best_device
from pioneers.layers import FeedForward, padding_mask
from pioneers.objectives import mask_patches

B, T, S, V, D, CLASSES = 5, 7, 11, 17, 12, 3
TEXT = {"vocab_size": V, "max_seq_len": 13, "d_model": D, "num_layers": 2, "num_heads": 3}
GPT = models.GPTConfig(**TEXT)
LLAMA = models.LlamaConfig(**TEXT | {"num_heads": 6}, d_ff=19, num_kv_heads=3)
BERT = models.BERTConfig(**TEXT, dropout=0.0)
DEBERTA = models.DeBERTaConfig(
    vocab_size=V, d_model=D, num_layers=2, num_heads=3, max_distance=5, dropout=0.0
)
XLNET = models.XLNetConfig(vocab_size=V, d_model=D, num_layers=2, num_heads=3, dropout=0.0)
SEQ2SEQ = models.TransformerConfig(**TEXT, d_ff=19, dropout=0.0)
BART = models.BARTConfig(**TEXT, d_ff=19, num_decoder_layers=1, dropout=0.0, inner_dropout=0.0)
T5 = models.T5Config(
    vocab_size=V, d_model=D, d_ff=19, num_layers=2, num_heads=3, head_dim=5, dropout=0.0, max_seq_len=13
)
DISTILBERT = models.DistilBERTConfig(**TEXT, dropout=0.0)
ROBERTA = models.RoBERTaConfig(**TEXT, dropout=0.0)
ALBERT = models.ALBERTConfig(**TEXT, dropout=0.0, d_embed=5)
ELECTRA = models.ELECTRAConfig(**TEXT, dropout=0.0, d_embed=5, generator_width=2 / 3)
VIT = models.ViTConfig(
    image_size=15, patch_size=5, num_classes=CLASSES, d_model=D, num_layers=2, num_heads=3, in_channels=2,
    d_ff=19, labels=("cat", "dog", "neither"), image_mean=(0.4, 0.5), image_std=(0.2, 0.3),
)  # fmt: skip
MAE = models.MAEConfig(
    image_size=15, patch_size=5, d_model=D, num_layers=2, num_heads=3, in_channels=2, d_ff=19,
    decoder_d_model=8, decoder_layers=1, decoder_heads=2, image_mean=(0.4, 0.5), image_std=(0.2, 0.3),
)  # fmt: skip
CLIP = models.CLIPConfig(
    image_size=15, patch_size=5, in_channels=2, image_d_model=D, image_layers=2, image_heads=3, image_d_ff=19,
    vocab_size=V, max_seq_len=13, text_d_model=8, text_layers=1, text_heads=2, d_embed=5, end_id=1,
)  # fmt: skip
DETR = models.DETRConfig(
    num_classes=CLASSES, num_queries=T, d_model=D, d_ff=19, num_layers=1, num_decoder_layers=2, num_heads=3,
    backbone_channels=20, in_channels=2, dropout=0.0, labels=("cat", "dog", "bird"),
)  # fmt: skip
SWIN = {
    "image_size": 24, "patch_size": 2, "num_classes": CLASSES, "d_model": D, "num_layers": (2, 1),
    "num_heads": (2, 3), "window_size": 3, "in_channels": 2, "labels": ("cat", "dog", "neither"),
}  # fmt: skip
DEIT = models.DeiTConfig(
    image_size=15,
    patch_size=5,
    num_classes=CLASSES,
    d_model=D,
    num_layers=2,
    num_heads=3,
    in_channels=2,
    d_ff=19,
)
CONFIGS = {
    "gpt": (models.GPT, GPT),
    "gpt post-norm": (models.GPT, GPT.replace(norm_placement="post", activation="gelu")),
    "llama": (models.Llama, LLAMA),
    "qwen3": (models.Llama, LLAMA.replace(head_dim=10, qk_norm=True, tied_head=True)),
    "mixtral": (models.Llama, LLAMA.replace(num_experts=3, experts_per_token=2)),
    "bert for pretraining": (models.BERTForPretraining, BERT.replace(num_segments=4)),
    "deberta masked lm": (models.DeBERTaForMaskedLM, DEBERTA),
    "deberta v3": (models.DeBERTaForMaskedLM, DEBERTA.replace(num_buckets=4)),
    "xlnet": (models.XLNet, XLNET),
    "distilbert": (models.DistilBERTForMaskedLM, DISTILBERT),
    "roberta": (models.RoBERTaForMaskedLM, ROBERTA),
    "albert for pretraining": (models.ALBERTForPretraining, ALBERT),
    "electra discriminator": (models.ELECTRADiscriminator, ELECTRA),
    "transformer": (models.Transformer, SEQ2SEQ),
    "transformer sandwich": (models.Transformer, SEQ2SEQ.replace(norm_placement="sandwich")),
    "t5": (models.T5, T5),
    "t5 gated": (models.T5, T5.replace(gated=True, tied_head=False, num_decoder_layers=1)),
    "bart": (models.BART, BART),
    "vit": (models.ViT, VIT),
    "mae": (models.MAE, MAE),
    "clip": (models.CLIP, CLIP),
    "detr": (models.DETR, DETR),
    "anchor detr": (models.AnchorDETR, DETR),
    "deit": (models.DeiT, DEIT),
    "swin": (models.Swin, models.SwinConfig(**SWIN)),
    # Wide, because its cosines are multiplied by 10, and so are their roundings.
    "swin v2": (models.SwinV2, models.SwinV2Config(**SWIN | {"d_model": 24}, trained_windows=(2, 3))),
}
RESIDUAL = ("resnet", "backbone", "detr", "anchor detr")
DEVICES = sorted({"cpu", best_device().type})


def without_pooler(make):
    """A model that reads the tokens' own states: the pooler does not take part."""
    model = make(models.BERT(BERT))
    model.bert.pooler.requires_grad_(False)
    return model


def scorer():
    """A scorer at work: its head is zero at the start."""
    model = models.GPTScorer(models.GPT(GPT))
    nn.init.normal_(model.head.weight)
    return model


class Joint(nn.Module):
    """ELECTRA's two predictions, without the ids between them."""

    def __init__(self):
        super().__init__()
        self.joint = models.ELECTRAForPretraining(ELECTRA)

    def forward(self, input_ids, predict_mask):
        out = self.joint(input_ids, predict_mask=predict_mask)
        return out.generator, out.discriminator


class Task(nn.Module):
    """GPT with a task, beside its own logits for the auxiliary loss."""

    def __init__(self, num_classes):
        super().__init__()
        self.task = models.GPTTaskModel(models.GPT(GPT), num_classes, dropout=0.0)

    def forward(self, input_ids, extract):
        logits, hidden = self.task(input_ids, extract)
        return logits, self.task.gpt.lm_head(hidden)


def ids(length):
    return torch.randint(V, (B, length))


def segments(count):
    return torch.arange(B * T).view(B, T) % count


def in_some_order():
    """Masks of XLNet's streams for a random order, another one for each row."""
    rank = torch.stack([torch.randperm(T) for _ in range(B)])
    earlier = rank[:, None] < rank[:, :, None]
    return {"content_mask": earlier | torch.eye(T, dtype=torch.bool), "query_mask": earlier}


def detector(model_class):
    """A DETR at work. Its first self-attention mixes contents of zero: only biases take part."""
    model = model_class(DETR)
    attn = model.decoder.blocks[0].attn
    for p in (attn.q_proj.weight, attn.q_proj.bias, attn.k_proj.weight, attn.v_proj.weight):
        p.requires_grad_(False)
    nn.init.normal_(model.box_head[-1].weight, std=0.1)  # zero at the start, where boxes are anchors
    return model


CASES = {
    **{name: (lambda made=made: made[0](made[1])) for name, made in CONFIGS.items()},
    "detr": lambda: detector(models.DETR),
    "anchor detr": lambda: detector(models.AnchorDETR),
    "bert classifier": lambda: models.BERTClassifier(models.BERT(BERT), CLASSES),
    "bert tagger": lambda: without_pooler(lambda bert: models.BERTTagger(bert, CLASSES)),
    "bert reader": lambda: without_pooler(models.BERTReader),
    "bert masked lm": lambda: without_pooler(lambda _: models.BERTForMaskedLM(BERT)),
    "span boundaries": lambda: models.SpanBoundaryHead(models.BERT(BERT), max_span=5, place_dim=7),
    "roberta": lambda: without_pooler(lambda _: models.RoBERTaForMaskedLM(ROBERTA)),
    "albert masked lm": lambda: without_pooler(lambda _: models.ALBERTForMaskedLM(ALBERT)),
    "electra for pretraining": Joint,
    "gpt last token": lambda: models.GPTClassifier(models.GPT(GPT), CLASSES, pad_id=0),
    "gpt scorer": lambda: scorer(),
    "gpt classifier": lambda: Task(CLASSES),
    "gpt multiple choice": lambda: Task(None),
    "lstm": lambda: models.LSTMLanguageModel(V, D, num_layers=2),
    "word2vec": lambda: models.Word2Vec(V, D),
    "backbone": lambda: models.ConvBackbone(2, 20),
    "resnet": lambda: models.SmallResNet(2, CLASSES, width=7, blocks_per_stage=2),
    "in context": lambda: models.InContextRegressor(2, d_model=D, num_layers=2, num_heads=3, max_examples=13),
}
INPUTS = {
    "bert for pretraining": lambda: ((ids(T),), {"segment_ids": segments(4)}),
    "bert classifier": lambda: ((ids(T),), {"mask": padding_mask(torch.tensor([7, 2, 5, 1, 3]), T)}),
    "bert tagger": lambda: ((ids(T),), {"segment_ids": segments(2)}),
    "bert reader": lambda: ((ids(T),), {"segment_ids": segments(2)}),
    "deberta masked lm": lambda: ((ids(T),), {"mask": padding_mask(torch.tensor([7, 2, 5, 1, 3]), T)}),
    "xlnet": lambda: ((ids(T),), {"segment_ids": segments(2), **in_some_order()}),
    "albert for pretraining": lambda: ((ids(T),), {"segment_ids": segments(2)}),
    "albert masked lm": lambda: ((ids(T),), {"segment_ids": segments(2)}),
    "electra discriminator": lambda: ((ids(T),), {"segment_ids": segments(2)}),
    "electra for pretraining": lambda: ((ids(T), segments(3) == 0), {}),
    "transformer": lambda: ((ids(S), ids(T)), {"mask": padding_mask(torch.tensor([11, 2, 5, 1, 3]))}),
    "transformer sandwich": lambda: ((ids(S), ids(T)), {}),
    "t5": lambda: ((ids(S), ids(T)), {"mask": padding_mask(torch.tensor([11, 2, 5, 1, 3]))}),
    "t5 gated": lambda: ((ids(S), ids(T)), {}),
    "span boundaries": lambda: ((torch.randn(5, D), torch.randn(5, D), torch.arange(5)), {}),
    "bart": lambda: ((ids(S), ids(T)), {"mask": padding_mask(torch.tensor([11, 2, 5, 1, 3]))}),
    "gpt classifier": lambda: ((ids(T), torch.tensor([6, 1, 4, 0, 2])), {}),
    "gpt multiple choice": lambda: ((torch.randint(V, (2, 5, T)), torch.arange(10).view(2, 5) % T), {}),
    "word2vec": lambda: ((torch.randperm(V), torch.randint(V, (V, V))), {}),
    "vit": lambda: ((torch.randn(B, 2, 15, 15),), {}),
    "mae": lambda: ((torch.randn(B, 2, 15, 15), *mask_patches(torch.rand(B, 9))[:2]), {}),
    "clip": lambda: ((torch.randn(B, 2, 15, 15), ids(T).index_fill(1, torch.tensor([5]), 1)), {}),
    "deit": lambda: ((torch.randn(B, 2, 15, 15),), {}),
    "swin": lambda: ((torch.randn(B, 2, 24, 24),), {}),
    "swin v2": lambda: ((torch.randn(B, 2, 24, 24),), {}),
    "resnet": lambda: ((torch.randn(B, 2, 11, 13),), {}),
    "backbone": lambda: ((torch.randn(B, 2, 24, 32),), {}),
    "detr": lambda: ((torch.randn(B, 2, 24, 32), torch.arange(32) < torch.full((B, 24, 1), 20)), {}),
    "anchor detr": lambda: ((torch.randn(B, 2, 24, 32),), {}),
    "in context": lambda: ((torch.randn(B, T, 2), torch.randn(B, T)), {}),
}


def to(device, x):
    return x.to(device) if isinstance(x, torch.Tensor) else x


def build(name, device="cpu"):
    """A model, and a function that calls a model on fixed inputs and gives a list of its outputs."""
    torch.manual_seed(0)
    args, kwargs = INPUTS.get(name, lambda: ((ids(T),), {}))()

    def run(model, dtype=torch.float32):
        cast = [to(device, x).to(dtype) if x.is_floating_point() else to(device, x) for x in args]
        torch.manual_seed(0)  # ELECTRA samples
        out = model(*cast, **{key: to(device, x) for key, x in kwargs.items()})
        return [out] if isinstance(out, torch.Tensor) else list(out)

    return CASES[name]().to(device), run


def gradients(model, outputs):
    """The gradients of a weighted sum of all outputs, in float32, by the name of the parameter."""
    model.zero_grad()
    generator = torch.Generator().manual_seed(1)
    weighted = [(x.float() * torch.randn(x.shape, generator=generator).to(x.device)).sum() for x in outputs]
    sum(weighted).backward()
    return {n: p.grad.float() for n, p in model.named_parameters() if p.requires_grad and p.grad is not None}


def exported(base):
    things = [getattr(models, name) for name in models.__all__]
    return {thing for thing in things if isinstance(thing, type) and issubclass(thing, base)}


def test_no_exported_model_is_missing_here():
    covered = {type(module) for make in CASES.values() for module in make().modules()}
    assert exported(nn.Module) - covered == set()
    assert exported(Config) - {type(config) for _, config in CONFIGS.values()} == set()


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("name", CASES)
def test_gradient_reaches_every_parameter(name, device):
    model, run = build(name, device)
    outputs = run(model)
    assert all(x.isfinite().all() for x in outputs)
    reached = {n for n, grad in gradients(model, outputs).items() if grad.isfinite().all() and grad.any()}
    silent = {n for n, p in model.named_parameters() if p.requires_grad} - reached
    # A bias on the keys adds the same amount to every score of a row, which softmax takes out again.
    assert {n for n in silent if not n.endswith("k_proj.bias")} == set()


@pytest.mark.parametrize("name", CONFIGS)
def test_a_configuration_goes_to_json_and_back_and_makes_the_same_model(name):
    model_class, config = CONFIGS[name]
    again = type(config).from_json(config.to_json())
    assert again == config
    written = {n: list(v) if isinstance(v, tuple) else v for n, v in dataclasses.asdict(config).items()}
    assert json.loads(config.to_json()) == written
    with pytest.raises(dataclasses.FrozenInstanceError):
        config.d_model = 3
    model, run = build(name)
    twin = model_class(again)
    twin.load_state_dict(model.state_dict())
    for ours, theirs in zip(run(twin.eval()), run(model.eval()), strict=True):
        assert torch.equal(ours, theirs)


def assert_compiled_equals_eager(model, run, **how):
    expected = run(model)
    wanted = gradients(model, expected)
    torch.compiler.reset()
    got = run(torch.compile(model, fullgraph=True, **how))  # fullgraph: a break in the graph is an error
    for ours, theirs in zip(got, expected, strict=True):
        torch.testing.assert_close(ours, theirs, atol=1e-5, rtol=1e-5)
    grads = gradients(model, got)
    assert grads.keys() == wanted.keys()
    for parameter, grad in grads.items():
        torch.testing.assert_close(grad, wanted[parameter], atol=1e-5, rtol=1e-4, msg=parameter)


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("name", CASES)
def test_compiles_into_one_graph(name, device):
    with torch._dynamo.config.patch(allow_rnn=True):  # PyTorch's own LSTM is traced on request only
        assert_compiled_equals_eager(*build(name, device), backend="aot_eager")


@pytest.mark.parametrize("device", DEVICES)
def test_runs_compiled_to_machine_code(device):
    _, run = build("gpt", device)
    assert_compiled_equals_eager(models.GPT(GPT.replace(num_layers=1)).to(device), run)


def relative_error(got, expected):
    return ((got.float() - expected.float()).norm() / expected.float().norm()).item()


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("weights", ["float32 under autocast", "bfloat16"])
@pytest.mark.parametrize("name", CASES)
def test_bfloat16_stays_close_to_float32(name, weights, device):
    """bfloat16 keeps 8 bits, so one rounding errs by up to 0.4%, and some dozens follow one another."""
    model, run = build(name, device)
    for module in model.modules() if name == "t5" else ():
        if isinstance(module, FeedForward):  # smooth: six hidden units of T5's ReLU change their sign here
            module.activation = torch.nn.functional.gelu
    expected = run(model)
    wanted = gradients(model, expected)
    if weights == "bfloat16":
        low = copy.deepcopy(model).to(torch.bfloat16)
        got = run(low, torch.bfloat16)
    else:
        low = model
        with autocast(torch.device(device), "bf16"):
            got = run(low)
    assert {x.dtype for x in got} == {torch.bfloat16}
    errors = [relative_error(x.detach(), y.detach()) for x, y in zip(got, expected, strict=True)]
    assert max(errors) < 0.03
    grads = gradients(low, got)
    assert all(grad.isfinite().all() for grad in grads.values())
    whole = [torch.cat([g[n].flatten() for n in wanted]) for g in (grads, wanted)]
    # Where the input of a ReLU changes its sign the gradient jumps, and the residual network is full of them.
    assert relative_error(*whole) < (0.3 if name in RESIDUAL else 0.06)
