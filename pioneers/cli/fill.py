"""``pioneers fill``: let a BERT fill the gaps of a text."""

from argparse import Namespace

import torch

from pioneers.cli.inputs import texts_of
from pioneers.cli.origin import Origin
from pioneers.cli.parser import Parser, positive_int
from pioneers.device import best_device
from pioneers.models import BERTForMaskedLM, BERTForPretraining
from pioneers.objectives import padded_inputs

GAP = "[MASK]"
DESCRIPTION = """\
Fill the gaps of each TEXT, or of each line of standard input. A line of the output has the number
of the gap, a probability and a token, with tabs between them, the most likely token first."""
EPILOG = """\
examples:
  pioneers fill runs/bert "The value of the [MASK] is a number."
  pioneers fill bert-base-uncased --top 1 < sentences.txt
"""


def add_arguments(parser: Parser) -> None:
    """Add the arguments: model and texts."""
    parser.description, parser.epilog = DESCRIPTION, EPILOG
    parser.add_argument("model", metavar="MODEL", help="a BERT: a folder, or a name on the hub")
    parser.add_argument("texts", nargs="*", metavar="TEXT", help=f"with {GAP} for each gap, a token")
    parser.add_argument("--top", type=positive_int, default=5, metavar="N", help="tokens to show for a gap")


@torch.no_grad()
def run(args: Namespace) -> int:
    """Print the most likely tokens of every gap."""
    texts = texts_of(args.texts)
    for text in texts:
        if GAP not in text:
            raise ValueError(f"{text[:40]!r} has no gap: write {GAP} where a token is to be guessed")
    origin = Origin.of(args.model)
    kinds = (BERTForMaskedLM, BERTForPretraining)
    body = origin.require(kinds, "only a BERT with its masked-language-model head fills gaps").encoder("")
    model, tokenizer = origin.model.to(best_device()), origin.tokenizer
    for text in texts:
        ids = tokenizer.special_ids[GAP]
        pieces = [tokenizer.encode(part) for part in text.split(GAP)]
        row = tokenizer.assemble([i for piece in pieces for i in (ids, *piece)][1:])
        if len(row.input_ids) > body.config.max_seq_len:
            raise ValueError(
                f"{text[:40]!r}... has {len(row.input_ids)} tokens and the model reads at most "
                f"{body.config.max_seq_len}: split it"
            )
        batch = padded_inputs([row], tokenizer).input_ids.to(best_device())
        out = model(batch, predict_mask=batch == ids)
        logits = out if isinstance(out, torch.Tensor) else out.masked_lm
        best = logits.softmax(-1).topk(min(args.top, logits.shape[-1]))
        for gap, (shares, tokens) in enumerate(
            zip(best.values.tolist(), best.indices.tolist(), strict=True), start=1
        ):
            for share, token in zip(shares, tokens, strict=True):
                print(f"{gap}\t{share:.3f}\t{tokenizer.vocab[token]}")
    return 0
