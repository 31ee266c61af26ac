"""Windows: cutting and merging are inverse, and a mask hides what is not a neighbour in the image."""

import pytest
import torch

from pioneers.layers import (
    CosineAttention,
    FeedForward,
    LogWindowBias,
    MultiHeadAttention,
    PatchMerging,
    TransformerBlock,
    WindowBias,
    cyclic_shift,
    log_offsets,
    shifted_window_mask,
    window_merge,
    window_offsets,
    window_partition,
)

B, D, H = 2, 15, 5
GRIDS = pytest.mark.parametrize(("height", "width", "size"), [(6, 15, 3), (10, 15, 5), (7, 14, 7), (3, 2, 1)])


def grid(height, width, seed=0):
    return torch.randn(B, height, width, D, generator=torch.Generator().manual_seed(seed))


def attention():
    torch.manual_seed(0)
    return MultiHeadAttention(D, H).eval(), torch.randn(H, 9, 9)


@GRIDS
def test_merging_undoes_partitioning(height, width, size):
    x = grid(height, width)
    windows = window_partition(x, size)
    assert windows.shape == (B, height * width // size**2, size**2, D)
    assert torch.equal(window_merge(windows, height), x)
    assert torch.equal(window_partition(window_merge(windows, height), size), windows)
    last = x[:, height - size :, width - size :].flatten(1, 2)
    assert torch.equal(windows[:, -1], last)


@pytest.mark.parametrize("shift", [0, 1, 2, 5])
def test_a_shift_moves_up_and_left_and_back(shift):
    x = grid(5, 7)
    moved = cyclic_shift(x, shift)
    assert torch.equal(moved[:, 0, 0], x[:, shift % 5, shift % 7])
    assert torch.equal(cyclic_shift(moved, -shift), x)


def inside(height, width, size, shift):
    """The tokens of every window of the image itself: shifted windows that jut out are cut at its edge."""
    starts = [range(shift - size if shift else 0, side, size) for side in (height, width)]
    for top in starts[0]:
        for left in starts[1]:
            rows = [r for r in range(top, top + size) if 0 <= r < height]
            columns = [c for c in range(left, left + size) if 0 <= c < width]
            if rows and columns:
                yield rows, columns


@pytest.mark.parametrize("shift", [0, 1, 2])
def test_attention_in_shifted_windows_equals_a_loop_over_the_windows_of_the_image(shift):
    """The oracle attends in each window alone, one by one, and never sees across the edge of the image."""
    height, width, size = 6, 15, 3
    attn, bias = attention()
    x = grid(height, width)
    mask = shifted_window_mask(height, width, size, shift)[:, None] if shift else None
    windows = window_partition(cyclic_shift(x, shift), size)
    got = cyclic_shift(window_merge(attn(windows, mask=mask, bias=bias), height), -shift)
    expected = torch.full_like(x, torch.nan)
    for rows, columns in inside(height, width, size, shift):
        places = [(r, c) for r in rows for c in columns]
        tokens = torch.stack([x[:, r, c] for r, c in places], dim=1)
        inner = [((r + size - shift) % size) * size + (c + size - shift) % size for r, c in places]
        out = attn(tokens, bias=bias[:, inner][:, :, inner])
        for i, (r, c) in enumerate(places):
            expected[:, r, c] = out[:, i]
    torch.testing.assert_close(got, expected, atol=1e-5, rtol=1e-5)


def test_no_token_learns_of_one_from_across_the_edge():
    height, width, size, shift = 9, 6, 3, 1
    attn, bias = attention()
    mask = shifted_window_mask(height, width, size, shift)[:, None]

    def run(x):
        windows = window_partition(cyclic_shift(x, shift), size)
        return cyclic_shift(window_merge(attn(windows, mask=mask, bias=bias), height), -shift)

    x = grid(height, width)
    changed = x.clone()
    changed[:, 0, 0] += 1  # alone in the corner, where the shift puts it together with three other corners
    moved = (run(changed) - run(x)).abs().sum(dim=(0, -1)) > 1e-6
    assert moved.nonzero().tolist() == [[0, 0]]


def test_without_a_shift_nothing_is_hidden_and_a_shift_out_of_range_is_refused():
    assert shifted_window_mask(6, 9, 3, 0).all()
    for shift in (-1, 3):
        with pytest.raises(ValueError, match=f"at least 0 and less than window_size=3, not {shift}"):
            shifted_window_mask(6, 9, 3, shift)


def test_a_block_on_windows_is_the_block_on_each_window():
    torch.manual_seed(0)
    block = TransformerBlock(MultiHeadAttention(12, 4, num_kv_heads=2), FeedForward(12))
    x = torch.randn(B, 7, 5, 12)
    one_by_one = torch.stack([block(x[:, w]) for w in range(7)], dim=1)
    torch.testing.assert_close(block(x), one_by_one)


def test_drop_path_keeps_or_drops_all_windows_of_an_image():
    torch.manual_seed(0)
    block = TransformerBlock(MultiHeadAttention(6, 2), torch.nn.Identity(), drop_path=0.5)
    x = torch.randn(31, 3, 5, 6)
    factor = (block(x) - x).abs().amax(dim=(2, 3)) > 1e-6  # (31, 3)
    assert torch.equal(factor, factor[:, :1].expand(-1, 3))
    assert 0 < factor.sum() < factor.numel()


@pytest.mark.parametrize("size", [1, 2, 5])
def test_offsets_are_numbered_by_rows_and_columns(size):
    index, width = window_offsets(size), 2 * size - 1
    for query in range(size**2):
        for key in range(size**2):
            down, right = query // size - key // size, query % size - key % size
            assert index[query, key] == (down + size - 1) * width + right + size - 1
    assert set(index.flatten().tolist()) == set(range(width**2))


def test_coordinates_are_logarithms_of_the_offsets():
    table = log_offsets(5, 5)
    assert table[0].tolist() == pytest.approx([-torch.log2(torch.tensor(9.0)).item() / 3] * 2)
    assert table[window_offsets(5)[7, 7]].tolist() == [0, 0]
    assert log_offsets(1, 1).tolist() == [[0, 0]]
    # One row down in a window of 5 is as far, for the network, as 3 rows in one of 13.
    wide = log_offsets(13, 13)[window_offsets(13)[3 * 13, 0]]
    torch.testing.assert_close(wide, table[window_offsets(5)[5, 0]])


def test_a_network_moved_to_larger_windows_keeps_the_biases_of_near_tokens():
    torch.manual_seed(0)
    small = LogWindowBias(H, 3, hidden=7)
    large = LogWindowBias(H, 5, trained_size=3, hidden=7)
    large.load_state_dict(small.state_dict())
    inner = [r * 5 + c for r in range(3) for c in range(3)]
    torch.testing.assert_close(large()[:, inner][:, :, inner], small())
    with torch.no_grad():
        table = small.down(small.up(small.coordinates).relu())
    theirs = 16 * torch.sigmoid(table)[small.offset].permute(2, 0, 1)  # as the authors' code has it
    torch.testing.assert_close(small(), theirs - 8)


def test_equal_offsets_share_a_bias():
    bias = WindowBias(H, 3)()
    assert bias.shape == (H, 9, 9)
    assert torch.equal(bias[:, 4, 0], bias[:, 8, 4])
    assert not torch.equal(bias[:, 4, 0], bias[:, 0, 4])


@pytest.mark.parametrize("norm_first", [True, False])
def test_merging_joins_the_four_of_a_square(norm_first):
    torch.manual_seed(0)
    merge = PatchMerging(D, norm_first=norm_first)
    x = grid(6, 10)
    square = torch.cat([x[:, 2, 6], x[:, 3, 6], x[:, 2, 7], x[:, 3, 7]], dim=-1)
    expected = merge.proj(merge.norm(square)) if norm_first else merge.norm(merge.proj(square))
    assert merge(x).shape == (B, 3, 5, 2 * D)
    torch.testing.assert_close(merge(x)[:, 1, 3], expected)


def test_scores_depend_on_angles_alone_and_are_bounded():
    torch.manual_seed(0)
    attn = CosineAttention(D, H).eval()
    with torch.no_grad():
        attn.q_proj.bias.zero_()
        attn.q_norm.log_scale.fill_(9.0)  # e^9 is far above the bound of 100
    x = torch.randn(B, 7, D)
    weights = attn.weights(x)
    torch.testing.assert_close(attn.weights(3 * x), weights)
    q, k = (proj(x).unflatten(-1, (H, 3)).transpose(1, 2) for proj in (attn.q_proj, attn.k_proj))
    angles = torch.nn.functional.cosine_similarity(q[:, :, :, None], k[:, :, None], dim=-1)
    torch.testing.assert_close(weights, (100 * angles).softmax(dim=-1), atol=1e-4, rtol=1e-3)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: window_partition(torch.zeros(1, 6, 10, 3), 5), "must divide the grid of 6 x 10 tokens"),
        (lambda: window_merge(torch.zeros(1, 4, 5, 3), 4), "make no grid of height=4"),
        (lambda: window_merge(torch.zeros(1, 4, 9, 3), 7), "make no grid of height=7"),
        (lambda: PatchMerging(3)(torch.zeros(1, 4, 5, 3)), "one of 4 x 5 tokens has no half"),
    ],
)
def test_what_does_not_fit_is_refused(call, message):
    with pytest.raises(ValueError, match=message):
        call()
