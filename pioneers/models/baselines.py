"""Earlier models to compare with: an LSTM language model and a small residual convolutional network."""

import torch
import torch.nn.functional as F
from torch import Tensor, nn


class LSTMLanguageModel(nn.Module):
    """Reads tokens one after the other and predicts the next: Hochreiter & Schmidhuber 1997; tied as in GPT.

    Args:
        vocab_size: V.
        d_model: D, width of embeddings and state.
        num_layers: number of LSTM layers.
        dropout: share dropped in training, after the embedding and each layer.

    Example:
        >>> import torch
        >>> LSTMLanguageModel(11, 6, num_layers=2)(torch.zeros(2, 5, dtype=torch.long)).shape
        torch.Size([2, 5, 11])
    """

    def __init__(self, vocab_size: int, d_model: int, *, num_layers: int, dropout: float = 0.0) -> None:
        super().__init__()
        self.token = nn.Embedding(vocab_size, d_model)
        between = dropout if num_layers > 1 else 0.0
        self.lstm = nn.LSTM(d_model, d_model, num_layers, batch_first=True, dropout=between)
        self.dropout = nn.Dropout(dropout)
        self.lm_head = nn.Linear(d_model, vocab_size, bias=False)
        nn.init.normal_(self.token.weight, std=d_model**-0.5)
        self.lm_head.weight = self.token.weight

    def hidden_states(self, input_ids: Tensor) -> Tensor:
        """Ids ``(B, T)`` → states ``(B, T, D)``."""
        x = self.dropout(self.token(input_ids))
        # oneDNN has no bfloat16 LSTM for processors without AVX-512, so on a CPU the LSTM stays in float32.
        lower = x.device.type != "cpu" and torch.is_autocast_enabled(x.device.type)
        with torch.autocast(x.device.type, enabled=lower):
            return self.dropout(self.lstm(x)[0])

    def forward(self, input_ids: Tensor) -> Tensor:
        """Ids ``(B, T)`` → logits ``(B, T, V)``; those at position t are for token t + 1."""
        return self.lm_head(self.hidden_states(input_ids))


class ResidualConv(nn.Module):
    """Two 3 x 3 convolutions added to what came in: He et al. 2016, figure 2.

    Args:
        in_channels: C of what comes in.
        out_channels: C of what goes out; if it differs, the shortcut is a 1 x 1 convolution.
        stride: 2 halves height and width.
    """

    def __init__(self, in_channels: int, out_channels: int, *, stride: int = 1) -> None:
        super().__init__()
        self.conv1 = nn.Conv2d(in_channels, out_channels, 3, stride=stride, padding=1, bias=False)
        self.norm1 = nn.BatchNorm2d(out_channels)
        self.conv2 = nn.Conv2d(out_channels, out_channels, 3, padding=1, bias=False)
        self.norm2 = nn.BatchNorm2d(out_channels)
        self.shortcut: nn.Module = nn.Identity()
        if stride != 1 or in_channels != out_channels:
            self.shortcut = nn.Sequential(
                nn.Conv2d(in_channels, out_channels, 1, stride=stride, bias=False),
                nn.BatchNorm2d(out_channels),
            )

    def forward(self, x: Tensor) -> Tensor:
        """(B, C, height, width) → (B, out_channels, height / stride, width / stride)."""
        out = self.norm2(self.conv2(F.relu(self.norm1(self.conv1(x)))))
        return F.relu(out + self.shortcut(x))


class SmallResNet(nn.Module):
    """A residual network for small images: He et al. 2016, section 4.2, with one block per stage or more.

    Args:
        in_channels: C of the images.
        num_classes: number of labels.
        width: channels of the first stage; the second has twice and the third four times as many.
        blocks_per_stage: residual blocks in each of the three stages.

    Example:
        >>> import torch
        >>> SmallResNet(1, 10, width=8)(torch.zeros(2, 1, 8, 8)).shape
        torch.Size([2, 10])
    """

    def __init__(self, in_channels: int, num_classes: int, *, width: int, blocks_per_stage: int = 1) -> None:
        super().__init__()
        self.stem = nn.Sequential(
            nn.Conv2d(in_channels, width, 3, padding=1, bias=False), nn.BatchNorm2d(width), nn.ReLU()
        )
        blocks, channels = [], width
        for stage in range(3):
            for first in (True, *[False] * (blocks_per_stage - 1)):
                stride = 2 if first and stage > 0 else 1
                blocks.append(ResidualConv(channels, width * 2**stage, stride=stride))
                channels = width * 2**stage
        self.blocks = nn.Sequential(*blocks)
        self.head = nn.Linear(channels, num_classes)

    def forward(self, images: Tensor) -> Tensor:
        """(B, C, height, width) → logits (B, num_classes)."""
        return self.head(self.blocks(self.stem(images)).mean(dim=(2, 3)))


class ConvBackbone(nn.Module):
    """A small residual network whose feature map is 8 times smaller than the image: He et al. 2016.

    Args:
        in_channels: C of the images.
        out_channels: of the feature map, divisible by 4.

    Example:
        >>> import torch
        >>> ConvBackbone(3, 16)(torch.zeros(2, 3, 48, 40)).shape
        torch.Size([2, 16, 6, 5])
    """

    def __init__(self, in_channels: int, out_channels: int) -> None:
        super().__init__()
        width = out_channels // 4
        self.stem = nn.Conv2d(in_channels, width, 3, stride=2, padding=1, bias=False)
        self.norm = nn.BatchNorm2d(width)
        self.blocks = nn.Sequential(
            ResidualConv(width, 2 * width, stride=2), ResidualConv(2 * width, out_channels, stride=2)
        )

    def forward(self, images: Tensor) -> Tensor:
        """(B, C, height, width) → (B, out_channels, height / 8, width / 8)."""
        return self.blocks(F.relu(self.norm(self.stem(images))))
