"""Messages to the jailed process and back arrive unchanged, whatever their layout in memory."""

import io

import pytest
import torch

from pioneers.autograder.jailed.wire import BadMessage, pack, unpack

GRID = torch.arange(12.0).view(3, 4)
TENSORS = {
    "one element of a column": GRID[:1, 1],
    "a column": GRID[:, 1],
    "transposed": GRID.T,
    "expanded": GRID[:1].expand(5, 4),
    "empty": GRID[:0],
    "a number": torch.tensor(3),
    "bools": GRID > 5,
    "half precision": GRID.bfloat16()[:, ::2],
    "with a gradient": GRID.clone().requires_grad_(),
}


def sent(content):
    return unpack(io.BytesIO(pack(content)).read)


@pytest.mark.parametrize("tensor", TENSORS.values(), ids=TENSORS)
def test_a_tensor_arrives_as_it_was(tensor):
    got = sent({"answer": [tensor, None, 1.5, "text"]})["answer"]
    assert got[1:] == [None, 1.5, "text"]
    assert got[0].dtype == tensor.dtype
    assert torch.equal(got[0], tensor)


def test_what_is_no_data_is_refused():
    with pytest.raises(BadMessage, match="a function cannot be sent"):
        pack(lambda: None)
