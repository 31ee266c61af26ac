"""``pioneers compare``: where does a model differ from its counterpart in transformers?"""

from argparse import Namespace
from pathlib import Path
from typing import Any

from torch import nn

from pioneers.cli.parser import Parser
from pioneers.compat import import_torchvision
from pioneers.extras import import_extra
from pioneers.weights import compare_layers, from_pretrained
from pioneers.weights.compare import TOLERANCE, Compared
from pioneers.weights.files import CONFIG, read_json
from pioneers.weights.hub import MODEL_FILES, find_folder
from pioneers.weights.registry import Layout, layout_of

DESCRIPTION = """\
Run a model of pioneers and its counterpart in transformers on the same random input and compare
them layer by layer, up to the first that differs. If none does, the last line says so; otherwise
it names the place and says whether the weights there are the same, and the exit status is 1."""
EPILOG = """\
examples:
  pioneers convert runs/gpt exported --to huggingface
  pioneers compare runs/gpt exported
  pioneers compare gpt2 gpt2
"""


def add_arguments(parser: Parser) -> None:
    """Add the arguments: the two models."""
    parser.description, parser.epilog = DESCRIPTION, EPILOG
    parser.add_argument(
        "model", metavar="RUN", help="what pioneers reads: a run, a folder or a name on the hub"
    )
    parser.add_argument(
        "other", metavar="OTHER", help="what transformers reads: a folder or a name on the hub"
    )


def run(args: Namespace) -> int:
    """Print a line for each layer; returns 1 if one differs."""
    ours = from_pretrained(args.model)
    layout = layout_of(ours)
    if layout is None:
        raise ValueError(f"transformers has no counterpart of a {type(ours).__name__}")
    theirs = _theirs(args.other, layout)
    rows = compare_layers(ours, theirs, layout)
    names = [", ".join([row.ours[0], *(name.rpartition(".")[2] for name in row.ours[1:])]) for row in rows]
    width = max(map(len, names))
    print(f"{'here':{width}}  in {layout.architecture}")
    for name, row in zip(names, rows, strict=True):
        print(f"{name:{width}}  {row.theirs}  {_verdict(row)}")
        if row.difference > TOLERANCE:
            same = "the weights are the same, so the layer or its input is computed in another way"
            print(f"first difference: {name}; {'the weights differ' if row.weights_differ else same}")
            return 1
    print(f"no layer differs by more than {TOLERANCE:g} of its largest number")
    return 0


def _theirs(name: str, layout: Layout) -> nn.Module:
    """The model of ``transformers``, with all its weights."""
    folder = find_folder(name, MODEL_FILES)
    found = read_json(Path(folder) / CONFIG).get("model_type")
    if found != layout.model_type:
        holds = f"holds a {found!r}" if found else "is in the layout of pioneers"
        raise ValueError(
            f"{name} {holds}, and the counterpart is a {layout.model_type!r}; "
            "pioneers convert RUN FOLDER --to huggingface writes one"
        )
    import_torchvision()  # which transformers imports
    transformers = import_extra("transformers", "book")
    transformers.logging.set_verbosity_error()
    reader: Any = getattr(transformers, layout.architecture)
    model, report = reader.from_pretrained(folder, output_loading_info=True)
    if report["missing_keys"]:
        raise ValueError(
            f"{name} lacks {sorted(report['missing_keys'])[0]}, which a {layout.architecture} has"
        )
    return model.eval()


def _verdict(row: Compared) -> str:
    order = ", in another order" if row.reordered else ""
    return f"{row.difference:.1e}{order}"
