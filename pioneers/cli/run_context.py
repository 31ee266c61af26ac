"""What a task knows of its run: folder, device and options; it makes the model, the tokenizer and windows."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
from torch import nn

from pioneers.cli.run_folder import RunFolder
from pioneers.cli.texts import end_id, given_tokenizer, learn_tokenizer, processes
from pioneers.data import Corpus, RandomWindows, corpus_tokens
from pioneers.tokenizers.bulk import Encodes


@dataclass(frozen=True, kw_only=True)
class RunContext:
    """The run's folder and device, and the options that a task looks at."""

    folder: RunFolder
    device: torch.device
    batch_size: int
    seed: int
    shard: bool = False
    tokenizer: str | None = None
    drop_long: bool | None = None

    def build(self, make: Callable[[], nn.Module]) -> nn.Module:
        """Build the model, after checking that the disk has room for the run.

        It is on its device, or, where it may not fit there before it is sharded, on the CPU.

        Args:
            make: makes the model; first called without allocating memory, to measure its size.

        Raises:
            OSError: the disk has too little space.
        """
        with torch.device("meta"):
            self.folder.check_room(sum(p.numel() * p.element_size() for p in make().parameters()))
        return make() if self.shard else make().to(self.device)

    def windows(
        self, corpus: Corpus, tokenizer: Encodes, seq_len: int, option: str
    ) -> tuple[RandomWindows, RandomWindows]:
        """Make batches of windows of T + 1 tokens from both parts of a text."""
        end, cores = end_id(corpus, tokenizer), processes()
        parts = corpus_tokens(corpus, tokenizer, end_id=end, device=self.device, processes=cores)
        shortest = min(map(len, parts))
        if shortest <= seq_len:
            raise ValueError(
                f"a part of the text (nine tenths of it are learned from, one is held out) has {shortest} "
                f"tokens, which is too short for {option}: use a longer text or a smaller --seq-len"
            )
        how = {"seq_len": seq_len, "batch_size": self.batch_size, "seed": self.seed}
        return RandomWindows(parts[0], **how), RandomWindows(parts[1], **how)

    def text_tokenizer(self, corpus: Corpus, kind: type, vocab_size: int) -> Any:
        """Return the tokenizer of the run; that of a new run is given, or learned from the text."""
        if self.tokenizer is None:
            return self.folder.tokenizer(lambda: learn_tokenizer(corpus, kind, vocab_size))
        name = self.tokenizer
        return self.folder.tokenizer(lambda: given_tokenizer(name, kind))
