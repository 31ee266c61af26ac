"""Operations by formula and as counted."""

import pytest
import torch

from pioneers.analysis import count_operations, training_operations
from pioneers.models import GPT, GPTConfig

SIZES = {"vocab_size": 37, "max_seq_len": 11, "d_model": 21, "num_layers": 2, "num_heads": 3}


def counted(config, batch):
    """Three times the operations of a forward pass: a backward pass takes twice as many."""
    ids = torch.zeros(batch, config.max_seq_len, dtype=torch.long, device="meta")
    return 3 * count_operations(lambda: GPT(config)(ids))


def test_a_product_takes_two_operations_per_multiplication():
    assert count_operations(lambda: torch.ones(3, 5) @ torch.ones(5, 7)) == 2 * 3 * 5 * 7


@pytest.mark.parametrize("d_ff", [None, 13])
def test_the_formula_is_what_is_counted(d_ff):
    config = GPTConfig(d_ff=d_ff, **SIZES)
    assert training_operations(config, 5 * config.max_seq_len) == counted(config, 5)


def test_a_backward_pass_takes_two_forward_passes():
    config = GPTConfig(**SIZES)
    forward = torch.zeros(5, 11, dtype=torch.long, device="meta")

    def both():
        GPT(config)(forward).sum().backward()

    # The scores of attention are computed once more going back, where they are not kept.
    assert counted(config, 5) <= count_operations(both) < 1.1 * counted(config, 5)


def test_six_times_parameters_and_tokens_is_close_for_a_wide_model():
    config = GPTConfig.preset("gpt2")
    with torch.device("meta"):
        parameters = sum(p.numel() for p in GPT(config).parameters())
    exact = training_operations(config, 1024)
    assert 6 * parameters * 1024 == pytest.approx(exact, rel=0.15)
    assert 6 * parameters * 1024 != pytest.approx(exact, rel=0.05)  # attention is missing
