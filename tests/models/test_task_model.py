import pytest
import torch
from torch import nn

from pioneers.models import GPT, GPTConfig, GPTTaskModel
from pioneers.objectives import (
    TaskTokens,
    classification_inputs,
    classification_loss,
    entailment_inputs,
    multiple_choice_inputs,
    similarity_inputs,
)

V, T, D, H = 23, 17, 12, 3
TOKENS = TaskTokens(start=V - 3, delimiter=V - 2, extract=V - 1)


def model(num_classes, **sizes):
    torch.manual_seed(0)
    sizes = {"d_model": D, "num_layers": 2, "num_heads": H} | sizes
    return GPTTaskModel(GPT(GPTConfig(vocab_size=V, max_seq_len=T, **sizes)), num_classes)


def texts(number, *, seed=0, longest=5):
    generator = torch.Generator().manual_seed(seed)
    lengths = torch.randint(1, longest + 1, (number,), generator=generator).tolist()
    return [torch.randint(1, V - 3, (n,), generator=generator).tolist() for n in lengths]


def task(kind, number=5):
    a, b, how = texts(number), texts(number, seed=1), {"max_seq_len": T}
    if kind == "classification":
        return classification_inputs(a, TOKENS, **how)
    if kind == "entailment":
        return entailment_inputs(a, b, TOKENS, **how)
    if kind == "similarity":
        return similarity_inputs(a, b, TOKENS, **how)
    return multiple_choice_inputs(a, [texts(3, seed=i) for i in range(number)], TOKENS, **how)


CLASSES = {"classification": 7, "entailment": 3, "similarity": 2, "multiple choice": None}
ROWS = {"classification": 5, "entailment": 5, "similarity": 10, "multiple choice": 15}


@pytest.mark.parametrize("kind", CLASSES)
def test_the_answer_is_a_linear_map_of_the_state_at_the_extract_token(kind):
    inputs, tasks = task(kind), model(CLASSES[kind]).eval()
    logits, hidden = tasks(*inputs)
    assert logits.shape == (5, CLASSES[kind] or 3)
    assert hidden.shape == (ROWS[kind], inputs.input_ids.shape[-1], D)
    weight, bias = tasks.head.proj.weight, tasks.head.proj.bias
    for example in range(5):
        sequences = inputs.input_ids[example].reshape(-1, inputs.input_ids.shape[-1])
        ends = inputs.extract[example].reshape(-1)
        states = torch.stack(
            [tasks.gpt.hidden_states(s[None, : e + 1])[0, -1] for s, e in zip(sequences, ends, strict=True)]
        )
        read = (states @ weight.T + bias)[:, 0] if CLASSES[kind] is None else weight @ states.sum(0) + bias
        torch.testing.assert_close(logits[example], read, atol=1e-5, rtol=1e-5)


@pytest.mark.parametrize("kind", CLASSES)
def test_padding_does_not_matter(kind):
    (ids, extract), tasks = task(kind), model(CLASSES[kind]).eval()
    longer = nn.functional.pad(ids, (0, T - ids.shape[-1]), value=5)
    assert longer.shape[-1] > ids.shape[-1]
    torch.testing.assert_close(tasks(longer, extract).logits, tasks(ids, extract).logits)


@pytest.mark.parametrize("max_seq_len", [T, 8, 7])
def test_the_order_of_similar_texts_does_not_matter(max_seq_len):
    a, b, tasks = texts(5, longest=7), texts(5, seed=1, longest=7), model(2).eval()
    one = tasks(*similarity_inputs(a, b, TOKENS, max_seq_len=max_seq_len)).logits
    other = tasks(*similarity_inputs(b, a, TOKENS, max_seq_len=max_seq_len)).logits
    torch.testing.assert_close(one, other)
    ordered = tasks(*entailment_inputs(a, b, TOKENS, max_seq_len=max_seq_len)).logits
    reversed_order = tasks(*entailment_inputs(b, a, TOKENS, max_seq_len=max_seq_len)).logits
    assert (ordered - reversed_order).abs().max() > 1e-3


def loss_of(tasks, inputs, labels):
    logits, hidden = tasks(*inputs)
    lm = {"lm_logits": tasks.gpt.lm_head(hidden), "lm_targets": inputs.lm_targets()}
    return classification_loss(logits, labels, **lm)


@pytest.mark.parametrize("kind", CLASSES)
def test_every_parameter_gets_a_gradient(kind):
    tasks = model(CLASSES[kind])
    loss_of(tasks, task(kind), torch.tensor([0, 1, 0, 1, 1])).backward()
    for name, p in tasks.named_parameters():
        assert p.grad is not None, name
        # What is added to all keys, or to the scores of all choices, cancels in the softmax over them.
        cancels = name.endswith("k_proj.bias") or (CLASSES[kind] is None and name == "head.proj.bias")
        assert (p.grad.abs().max() > 1e-6) != cancels, name


def test_dropout_acts_in_training_only():
    inputs, tasks = task("classification"), model(7)
    assert not torch.equal(tasks(*inputs).logits, tasks(*inputs).logits)
    assert torch.equal(tasks.eval()(*inputs).logits, tasks(*inputs).logits)


def choose_the_same(number, seed):
    """Which of three choices is the context's only token?"""
    generator = torch.Generator().manual_seed(seed)
    choices = torch.stack([torch.randperm(9, generator=generator)[:3] + 1 for _ in range(number)])
    labels = torch.randint(3, (number,), generator=generator)
    contexts = choices.gather(1, labels[:, None])
    answers = [[[c] for c in row] for row in choices.tolist()]
    return multiple_choice_inputs(contexts.tolist(), answers, TOKENS, max_seq_len=T), labels


def test_it_learns_to_choose():
    tasks = model(None, d_model=48)
    optimizer = torch.optim.AdamW(tasks.parameters(), lr=5e-3)
    for step in range(40):
        inputs, labels = choose_the_same(32, seed=step)
        optimizer.zero_grad()
        loss_of(tasks, inputs, labels).backward()
        optimizer.step()
    inputs, labels = choose_the_same(300, seed=999)
    right = (tasks.eval()(*inputs).logits.argmax(dim=1) == labels).float().mean()
    assert right > 0.9


def test_multiple_choice_wants_choices():
    inputs = classification_inputs(texts(2), TOKENS, max_seq_len=T)
    with pytest.raises(ValueError, match=r"multiple choice needs ids \(B, C, T\), got \(2, \d+\)"):
        model(None)(*inputs)
