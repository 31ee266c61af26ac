"""Small random models of the library whose files we read. Nothing is downloaded."""

import importlib
import importlib.util
import os

import pytest
import torch
from torch import nn

from pioneers.compat import import_torchvision

V, T, D, H, LAYERS = 31, 11, 12, 3, 2

# Real weights are fetched from the hub, so these tests exist only for those who ask for them.
collect_ignore = [] if os.environ.get("PIONEERS_REAL_WEIGHTS") == "1" else ["test_real_weights.py"]


@pytest.fixture(scope="session")
def transformers():
    for needed in ("transformers", "torchvision"):
        if importlib.util.find_spec(needed) is None:
            pytest.skip(f"{needed} is not installed")
    import_torchvision()
    return importlib.import_module("transformers")


@pytest.fixture(scope="session")
def make_theirs(transformers):
    """A function from the name of one of their classes to such a model, with random weights."""

    def make(architecture, **changes):
        if architecture.startswith("GPT2"):
            sizes = {"vocab_size": V, "n_positions": T, "n_embd": D, "n_layer": LAYERS, "n_head": H}
            config = transformers.GPT2Config(**(sizes | {"bos_token_id": 0, "eos_token_id": 0} | changes))
        else:
            sizes = {"hidden_size": D, "num_hidden_layers": LAYERS, "num_attention_heads": H}
            sizes["intermediate_size"] = 4 * D
            if architecture.startswith("Bert"):
                sizes |= {"vocab_size": V, "max_position_embeddings": T, "type_vocab_size": 3}
                config = transformers.BertConfig(**(sizes | changes))
            else:
                images = {"image_size": 15, "patch_size": 5}
                images |= {} if "id2label" in changes else {"num_labels": 7}
                config = transformers.ViTConfig(**(sizes | images | changes))
        model = getattr(transformers, architecture)(config)
        generator = torch.Generator().manual_seed(0)
        for p in model.parameters():
            nn.init.normal_(p, std=0.3, generator=generator)
        return model.eval()

    return make
