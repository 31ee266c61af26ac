"""Relative positions: RoPE, ALiBi, T5's buckets, and 2-D sinusoids."""

import math

import pytest
import torch

from pioneers.layers import (
    KVCache,
    MultiHeadAttention,
    RelativeBias,
    Rotary,
    alibi_bias,
    alibi_slopes,
    sinusoidal_table,
    sinusoidal_table_2d,
)

B, H, T, K = 2, 3, 7, 10


def test_rotary_turns_each_plane_by_its_angle():
    torch.manual_seed(0)
    x = torch.randn(B, H, T, K, dtype=torch.float64)
    turned = Rotary(K, max_seq_len=19)(x, start=5)
    planes = torch.complex(x[..., : K // 2], x[..., K // 2 :])
    for t in range(T):
        for i in range(K // 2):
            angle = (5 + t) * 10000 ** (-2 * i / K)
            expected = planes[..., t, i] * complex(math.cos(angle), math.sin(angle))
            torch.testing.assert_close(turned[..., t, i], expected.real, atol=1e-5, rtol=0)
            torch.testing.assert_close(turned[..., t, K // 2 + i], expected.imag, atol=1e-5, rtol=0)


def test_rotary_scores_depend_on_the_distance_alone():
    torch.manual_seed(0)
    rotary = Rotary(K, max_seq_len=40)
    q, k = torch.randn(1, 1, 1, K), torch.randn(1, 1, 1, K)
    scores = [(rotary(q, 3 + s) * rotary(k, s)).sum().item() for s in (0, 11, 30)]
    assert scores[1] == pytest.approx(scores[0], abs=1e-4)
    assert scores[2] == pytest.approx(scores[0], abs=1e-4)
    assert abs((rotary(q, 4) * rotary(k, 0)).sum().item() - scores[0]) > 1e-2


def test_rotary_attention_cached_equals_uncached():
    torch.manual_seed(0)
    attn, rotary = MultiHeadAttention(30, H), Rotary(K, max_seq_len=T)
    x = torch.randn(B, T, 30)
    cache = KVCache(T)
    pieces = [attn(p, causal=True, rotary=rotary, cache=cache) for p in (x[:, :4], x[:, 4:5], x[:, 5:])]
    whole = attn(x, causal=True, rotary=rotary)
    torch.testing.assert_close(torch.cat(pieces, dim=1), whole, atol=1e-5, rtol=0)
    assert not torch.allclose(whole, attn(x, causal=True), atol=1e-2)
    with pytest.raises(ValueError, match="needs 8 positions and the model has max_seq_len=7"):
        attn(torch.zeros(1, 8, 30), rotary=rotary)


def test_the_weights_with_rotary_positions_are_those_of_the_forward():
    torch.manual_seed(0)
    attn, rotary = MultiHeadAttention(30, H), Rotary(K, max_seq_len=T)
    x = torch.randn(B, T, 30)
    values = attn.v_proj(x).unflatten(-1, (H, K)).transpose(1, 2)
    mixed = attn.weights(x, causal=True, rotary=rotary) @ values
    expected = attn(x, causal=True, rotary=rotary)
    torch.testing.assert_close(attn.o_proj(mixed.transpose(1, 2).flatten(2)), expected, atol=1e-5, rtol=0)


def test_alibi_slopes_are_the_papers():
    assert alibi_slopes(8).tolist() == pytest.approx([2**-h for h in range(1, 9)])
    assert alibi_slopes(16)[0].item() == pytest.approx(2**-0.5)
    # 12 heads: the eight slopes of 8 heads, then every second of 16
    assert alibi_slopes(12)[8:].tolist() == pytest.approx([2**-0.5, 2**-1.5, 2**-2.5, 2**-3.5])


def test_alibi_falls_linearly_with_distance():
    bias = alibi_bias(8, 2, 5)
    assert bias.shape == (8, 2, 5)
    assert bias[0].tolist() == [[-1.5, -1.0, -0.5, 0.0, -0.5], [-2.0, -1.5, -1.0, -0.5, 0.0]]


def test_relative_bias_has_exact_then_logarithmic_buckets():
    bias = RelativeBias(H, num_buckets=32, max_distance=128)
    distances = torch.tensor(
        [0, 1, 7, 8, 11, 12, 15, 16, 22, 23, 31, 32, 45, 46, 63, 64, 90, 91, 127, 128, 999]
    )
    # T5: 8 exact buckets a side, then 8 + floor(8 · ln(d / 8) / ln(128 / 8)), at most 15
    expected = [
        d if d < 8 else min(15, 8 + int(8 * math.log(d / 8) / math.log(16) + 1e-6))
        for d in distances.tolist()
    ]
    assert bias._bucket(-distances).tolist() == expected
    assert bias._bucket(distances[1:]).tolist() == [16 + e for e in expected[1:]]
    causal = RelativeBias(H, num_buckets=8, max_distance=20, bidirectional=False)
    assert causal._bucket(torch.tensor([3, 1, 0, -1, -3, -4, -100])).tolist() == [0, 0, 0, 1, 3, 4, 7]


def test_relative_bias_is_the_same_along_each_diagonal_and_fits_a_cache():
    torch.manual_seed(0)
    bias = RelativeBias(H, num_buckets=10, max_distance=9)
    whole = bias(T)
    assert whole.shape == (H, T, T)
    for offset in range(-T + 1, T):
        diagonal = whole.diagonal(offset, dim1=1, dim2=2)
        assert (diagonal == diagonal[:, :1]).all()
    assert torch.equal(bias(2, T), whole[:, -2:])
    x = torch.randn(B, T, 12)
    assert MultiHeadAttention(12, H)(x, bias=whole).shape == x.shape


@pytest.mark.parametrize(
    ("sizes", "message"),
    [
        ({"num_buckets": 3}, "num_buckets must be at least 4 here, not 3"),
        ({"num_buckets": 1, "bidirectional": False}, "num_buckets must be at least 2 here, not 1"),
    ],
)
def test_buckets_that_cannot_be_are_refused(sizes, message):
    with pytest.raises(ValueError, match=message):
        RelativeBias(H, **sizes)
    assert RelativeBias(H, num_buckets=2, max_distance=2, bidirectional=False)(T).shape == (H, T, T)


def test_grid_positions_name_row_and_column():
    table = sinusoidal_table_2d(3, 5, 8)
    assert table.shape == (15, 8)
    rows, columns = sinusoidal_table(3, 4), sinusoidal_table(5, 4)
    assert torch.equal(table[1 * 5 + 4], torch.cat([rows[1], columns[4]]))
    with pytest.raises(ValueError, match="d_model=6 to be divisible by 4"):
        sinusoidal_table_2d(3, 5, 6)
