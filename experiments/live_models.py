"""Write the stored BERT and ViT as scripts that run in a page: ``book/_static/live/NAME.js``.

    make experiments NAME=live_models

It takes a second. ``bert_documents`` and ``vit_digits`` make the models.
"""

from experiments.common import ROOT
from experiments.text.live import export_script
from pioneers.weights import from_pretrained, load_tokenizer

STORED = ROOT / "pioneers" / "weights"
LIVE = ROOT / "book" / "_static" / "live"


def main() -> None:
    """Write the scripts."""
    bert, tokenizer = from_pretrained(STORED / "bert_documents"), load_tokenizer(STORED / "bert_documents")
    unread = ("bert.pooler.", "next_sentence.")  # the page fills gaps only
    export_script(bert, LIVE / "bert.js", without=unread, vocab=tokenizer.vocab)
    export_script(from_pretrained(STORED / "vit_digits"), LIVE / "vit.js")


if __name__ == "__main__":
    main()
