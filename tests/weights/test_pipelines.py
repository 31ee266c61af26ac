"""``transformers.pipeline`` on what we write, with a tokenizer of ours: it says what our model says."""

import numpy as np
import pytest
import torch
from PIL import Image

from pioneers.generation import generate
from pioneers.models import (
    BERT,
    GPT,
    BERTClassifier,
    BERTConfig,
    BERTForMaskedLM,
    BERTForPretraining,
    BERTReader,
    BERTTagger,
    GPTClassifier,
    GPTConfig,
    ViT,
    ViTConfig,
    best_span,
)
from pioneers.tokenizers import ByteLevelBPE, WordPiece
from pioneers.tokenizers.wordpiece import SPECIAL_TOKENS
from pioneers.weights import save_huggingface, save_tokenizer

WORDS = ["the", "white", "cat", "sat", "on", "a", "mat", "where", "did", "it", "sit", "?"]
PIECES = WordPiece([*SPECIAL_TOKENS, *WORDS])
BYTES = ByteLevelBPE(ByteLevelBPE.train(" ".join(WORDS) * 3, vocab_size=270).merges, [])
SIZES = {"max_seq_len": 64, "d_model": 12, "num_layers": 2, "num_heads": 3, "d_ff": 17, "dropout": 0.0}
TEXT, QUESTION = "the white cat sat on a mat", "where did it sit ?"
NAMES = ("cat", "dog", "neither")

pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::FutureWarning")


def bert():
    return BERT(BERTConfig(vocab_size=PIECES.vocab_size, **SIZES))


def gpt():
    return GPT(GPTConfig(vocab_size=BYTES.vocab_size, **SIZES))


def randomised(model):
    generator = torch.Generator().manual_seed(0)
    for p in model.parameters():
        torch.nn.init.normal_(p, std=0.3, generator=generator)
    return model.eval()


@pytest.fixture
def pipeline(tmp_path, transformers):
    """A function that writes a model with its tokenizer, and reads the folder as a user does."""

    def make(task, model, tokenizer=None):
        save_huggingface(model, tmp_path)
        if tokenizer is not None:
            save_tokenizer(tokenizer, tmp_path)
        return transformers.pipeline(task, model=str(tmp_path), device="cpu")

    return make


def assembled(*texts):
    ids, segments = PIECES.assemble(*map(PIECES.encode, texts))
    return torch.tensor([ids]), torch.tensor([segments])


def assert_same_scores(answers, probabilities, names=NAMES):
    assert {answer["label"] for answer in answers} == set(names)
    for answer in answers:
        assert answer["score"] == pytest.approx(float(probabilities[names.index(answer["label"])]), abs=1e-5)


@torch.no_grad()
def test_text_classification_with_bert(pipeline):
    model = randomised(BERTClassifier(bert(), 3, labels=NAMES))
    answers = pipeline("text-classification", model, PIECES)(TEXT, top_k=None)
    ids, segments = assembled(TEXT)
    assert_same_scores(answers, model(ids, segment_ids=segments)[0].softmax(-1))


@torch.no_grad()
def test_text_classification_with_gpt2(pipeline):
    model = randomised(GPTClassifier(gpt(), 3, labels=NAMES))
    answers = pipeline("text-classification", model, BYTES)(TEXT, top_k=None)
    assert_same_scores(answers, model(torch.tensor([BYTES.encode(TEXT)]))[0].softmax(-1))


@torch.no_grad()
def test_token_classification(pipeline):
    model = randomised(BERTTagger(bert(), 3, labels=NAMES))
    answers = pipeline("token-classification", model, PIECES)(TEXT, ignore_labels=[])
    assert [answer["word"] for answer in answers] == TEXT.split()
    ids, segments = assembled(TEXT)
    best = model(ids, segment_ids=segments)[0].softmax(-1)[1:-1].max(-1)
    assert [answer["entity"] for answer in answers] == [NAMES[i] for i in best.indices]
    assert [answer["score"] for answer in answers] == pytest.approx(best.values.tolist(), abs=1e-5)


@torch.no_grad()
def test_question_answering(tmp_path, transformers):
    """Without a pipeline: transformers 5 has none for this task. Its model and its tokenizer answer."""
    model = randomised(BERTReader(bert()))
    save_huggingface(model, tmp_path)
    save_tokenizer(PIECES, tmp_path)
    theirs = transformers.AutoModelForQuestionAnswering.from_pretrained(tmp_path)
    tokenizer = transformers.AutoTokenizer.from_pretrained(tmp_path)
    out = theirs(**tokenizer(QUESTION, TEXT, return_tensors="pt"))
    ids, segments = assembled(QUESTION, TEXT)
    logits = model(ids, segment_ids=segments, allowed=segments == 1)
    start, end = best_span(logits, max_length=3)[0].tolist()
    theirs_logits = torch.stack([out.start_logits, out.end_logits], dim=-1)
    torch.testing.assert_close(theirs_logits[segments == 1], logits[segments == 1], atol=1e-5, rtol=1e-5)
    masked = theirs_logits.masked_fill(segments[..., None] == 0, torch.finfo(torch.float32).min)
    assert best_span(masked, max_length=3)[0].tolist() == [start, end]
    answer = tokenizer.decode(ids[0, start : end + 1]).split()
    assert answer == PIECES.decode(ids[0, start : end + 1].tolist()).split()


@torch.no_grad()
@pytest.mark.parametrize("cls", [BERTForMaskedLM, BERTForPretraining])
def test_filling_a_gap(cls, pipeline):
    model = randomised(cls(bert().config))
    answers = pipeline("fill-mask", model, PIECES)("the white [MASK] sat on a mat", top_k=3)
    ids, segments = assembled("the white cat sat on a mat")
    ids[0, 3] = PIECES.special_ids["[MASK]"]
    out = model(ids, segment_ids=segments)
    scores = (out if cls is BERTForMaskedLM else out.masked_lm)[0, 3].softmax(-1).topk(3)
    assert [answer["token"] for answer in answers] == scores.indices.tolist()
    assert [answer["score"] for answer in answers] == pytest.approx(scores.values.tolist(), abs=1e-5)


def test_text_generation(pipeline):
    model = randomised(gpt())
    (answer,) = pipeline("text-generation", model, BYTES)(
        TEXT, max_new_tokens=9, do_sample=False, return_tensors=True
    )
    prompt = torch.tensor([BYTES.encode(TEXT)])
    assert answer["generated_token_ids"] == generate(model, prompt, 9, top_k=1)[0].tolist()


@torch.no_grad()
@pytest.mark.parametrize("statistic", [(), (0.4, 0.5, 0.6)])
def test_image_classification(statistic, pipeline):
    sizes = {name: value for name, value in SIZES.items() if name != "max_seq_len"}
    model = randomised(
        ViT(
            ViTConfig(
                image_size=15,
                patch_size=5,
                num_classes=3,
                labels=NAMES,
                image_mean=statistic,
                image_std=statistic,
                **sizes,
            )
        )
    )
    pixels = np.random.default_rng(0).integers(0, 256, (15, 15, 3), dtype=np.uint8)
    answers = pipeline("image-classification", model)(Image.fromarray(pixels))
    image = torch.from_numpy(pixels).permute(2, 0, 1) / 255
    if statistic:
        image = (image - torch.tensor(statistic).view(3, 1, 1)) / torch.tensor(statistic).view(3, 1, 1)
    assert_same_scores(answers, model(image[None])[0].softmax(-1))
