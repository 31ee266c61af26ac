"""GPT, BERT and ViT outside of Python: torch.export and ONNX give the outputs of the model."""

import pytest
import torch

from pioneers.models import BERT, GPT, BERTConfig, GPTConfig, ViT, ViTConfig

onnxruntime = pytest.importorskip("onnxruntime")
pytest.importorskip("onnxscript")

TEXT = {"vocab_size": 31, "max_seq_len": 13, "d_model": 12, "num_layers": 2, "num_heads": 3}
MODELS = {
    "gpt": (lambda: GPT(GPTConfig(**TEXT)), lambda batch: torch.randint(31, (batch, 11))),
    "bert": (lambda: BERT(BERTConfig(**TEXT)), lambda batch: torch.randint(31, (batch, 11))),
    "vit": (
        lambda: ViT(
            ViTConfig(image_size=15, patch_size=5, num_classes=7, d_model=12, num_layers=2, num_heads=3)
        ),
        lambda batch: torch.randn(batch, 3, 15, 15),
    ),
}


@pytest.mark.filterwarnings("ignore::FutureWarning")  # of torch, about itself
@pytest.mark.parametrize("kind", MODELS)
def test_the_exported_model_gives_the_same(kind, tmp_path):
    torch.manual_seed(0)
    make, inputs = MODELS[kind]
    model = make().eval()
    batch = torch.export.Dim("batch", min=1, max=64)
    exported = torch.export.export(model, (inputs(2),), dynamic_shapes=({0: batch},))
    onnx = tmp_path / "model.onnx"
    torch.onnx.export(exported, f=onnx, verbose=False)
    session = onnxruntime.InferenceSession(onnx, providers=["CPUExecutionProvider"])
    given = inputs(5)
    with torch.inference_mode():
        expected = model(given)
    torch.testing.assert_close(exported.module()(given), expected, rtol=0, atol=1e-5)
    (found,) = session.run(None, {session.get_inputs()[0].name: given.numpy()})
    torch.testing.assert_close(torch.from_numpy(found), expected, rtol=0, atol=1e-4)
