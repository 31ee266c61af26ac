"""Whoever sees the answer learns nothing. Two ways to find out: change a token and watch, or ask for noise.

Each check passes for our models and objectives, and fails for models and objectives with a leak built in.
"""

import math
from functools import partial

import pytest
import torch
import torch.nn.functional as F

from pioneers.layers import causal_mask
from pioneers.models import (
    GPT,
    BERTConfig,
    BERTForPretraining,
    GPTConfig,
    LSTMLanguageModel,
    Transformer,
    TransformerConfig,
)
from pioneers.objectives import causal_lm, causal_lm_loss, masked_lm, masked_lm_loss

B, T, V, D = 3, 7, 17, 12
MASK, SPECIAL = 4, range(5)
SIZES = {"vocab_size": V, "max_seq_len": T, "d_model": D, "num_layers": 2, "num_heads": 3}


def tells_the_future(model):
    """Whether some logits move when a later token changes."""
    torch.manual_seed(1)
    ids = torch.randint(V, (B, T))
    with torch.no_grad():
        before = model(ids)
        for s in range(1, T):
            changed = ids.clone()
            changed[:, s] = (changed[:, s] + 1) % V
            if not torch.allclose(model(changed)[:, :s], before[:, :s], atol=1e-6):
                return True
    return False


class WithoutMask(GPT):
    def hidden_states(self, input_ids, *, caches=None):
        return self.stack(self.embed(input_ids), causal=False)


class OneTooFar(GPT):
    """Its mask lets a position see the next one: an index off by one."""

    def hidden_states(self, input_ids, *, caches=None):
        length = input_ids.shape[1]
        mask = causal_mask(length + 1)[1:, :length]
        return self.stack(self.embed(input_ids), mask=mask)


class Centred(GPT):
    """It takes the mean over the sequence from its embeddings, future included."""

    def hidden_states(self, input_ids, *, caches=None):
        x = self.embed(input_ids)
        return self.stack(x - x.mean(dim=1, keepdim=True), causal=True)


def gpt(kind=GPT, **changes):
    torch.manual_seed(0)
    return kind(GPTConfig(**SIZES | changes)).eval()


class Decoder(torch.nn.Module):
    """A Transformer as a function of its decoder's inputs."""

    def __init__(self):
        super().__init__()
        torch.manual_seed(0)
        self.model = Transformer(TransformerConfig(**SIZES, d_ff=19)).eval()

    def forward(self, input_ids):
        return self.model(torch.ones(B, 5, dtype=torch.long), input_ids)


SOUND = {
    "gpt": gpt,
    "gpt post-norm": partial(gpt, norm_placement="post"),
    "lstm": lambda: LSTMLanguageModel(V, D, num_layers=2).eval(),
    "transformer": Decoder,
}


@pytest.mark.parametrize("name", SOUND)
def test_no_logits_depend_on_a_later_token(name):
    assert not tells_the_future(SOUND[name]())


@pytest.mark.parametrize("leaky", [WithoutMask, OneTooFar, Centred])
def test_a_model_that_sees_a_later_token_is_caught(leaky):
    assert tells_the_future(gpt(leaky))


def hide(ids, **how):
    return masked_lm(ids, mask_id=MASK, vocab_size=V, special_ids=SPECIAL, **how)


def hide_nothing(ids, *, generator):
    """An objective with a leak: the tokens that are asked for stay in the input."""
    _, targets = hide(ids, generator=generator)
    return ids, targets


def hide_by_shifting(ids, *, generator):
    """Another: each answer is still there, one number further in the vocabulary."""
    _, targets = hide(ids, generator=generator)
    return torch.where(
        targets != -100, SPECIAL.stop + (ids - SPECIAL.stop + 1) % (V - SPECIAL.stop), ids
    ), targets


def share_told(objective):
    """Of the tokens asked for, at how many the input moves with the answer; and how many are asked for."""
    draw = partial(torch.Generator().manual_seed, 0)
    ids = torch.randint(SPECIAL.stop, V, (300, 300), generator=torch.Generator().manual_seed(1))
    others = SPECIAL.stop + (ids - SPECIAL.stop + 1) % (V - SPECIAL.stop)
    inputs, targets = objective(ids, generator=draw())
    asked = targets != -100
    changed, _ = objective(torch.where(asked, others, ids), generator=draw())
    return (inputs != changed)[asked].float().mean().item(), int(asked.sum())


@pytest.mark.parametrize(
    ("shares", "kept"), [((0.8, 0.1, 0.1), 0.1), ((1.0, 0.0, 0.0), 0.0), ((0.0, 1.0, 0.0), 0.0)]
)
def test_the_input_tells_the_answer_where_a_token_is_kept_and_nowhere_else(shares, kept):
    share, n = share_told(partial(hide, shares=shares))
    assert abs(share - kept) <= 4 * math.sqrt(kept * (1 - kept) / n)


@pytest.mark.parametrize("leaky", [hide_nothing, hide_by_shifting])
def test_an_objective_that_leaves_its_targets_in_the_input_is_caught(leaky):
    share, _ = share_told(leaky)
    assert share == 1


NOISE, ROWS, STEPS = 11, 32, 120  # kinds of tokens, rows of a batch


def loss_on_noise(model, loss_fn):
    """What a model comes to on tokens drawn independently, of which nothing tells another."""
    optimizer = torch.optim.Adam(model.train().parameters(), lr=1e-2)
    losses = []
    for step in range(STEPS):
        generator = torch.Generator().manual_seed(step)
        ids = torch.randint(SPECIAL.stop, SPECIAL.stop + NOISE, (ROWS, T), generator=generator)
        loss = loss_fn(model, ids, generator)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return sum(losses[-20:]) / 20


def next_token(model, ids, generator):
    input_ids, targets = causal_lm(ids)
    return causal_lm_loss(model(input_ids), targets)


def not_shifted(model, ids, generator):
    return causal_lm_loss(model(ids), ids)


def test_noise_cannot_be_predicted_and_a_leak_predicts_it():
    floor = math.log(NOISE)
    assert loss_on_noise(gpt(), next_token) > 0.97 * floor
    assert loss_on_noise(gpt(WithoutMask), next_token) < 0.7 * floor
    assert loss_on_noise(gpt(), not_shifted) < 0.1 * floor


def hidden_token(objective):
    def loss_fn(model, ids, generator):
        inputs, targets = objective(ids, generator=generator)
        return masked_lm_loss(model(inputs, predict_mask=targets != -100).masked_lm, targets)

    return loss_fn


def bert():
    torch.manual_seed(0)
    return BERTForPretraining(BERTConfig(**SIZES, dropout=0.0))


def test_hidden_noise_cannot_be_predicted_and_a_leak_predicts_it():
    objective = partial(masked_lm, mask_id=MASK, vocab_size=SPECIAL.stop + NOISE, special_ids=SPECIAL)
    n = NOISE  # where a token is shown, it is right in 1 + n of 2n cases, and any other in 1 of 2n
    belief = torch.tensor([1 + n, *[1] * (n - 1)]) / (2 * n)
    floor = 0.8 * math.log(n) - 0.2 * (belief * belief.log()).sum().item()
    assert loss_on_noise(bert(), hidden_token(objective)) > 0.97 * floor
    assert loss_on_noise(bert(), hidden_token(hide_nothing)) < 0.3 * floor
    assert F.cross_entropy(torch.zeros(1, n), torch.tensor([0])).item() > floor  # knowing nothing costs more
