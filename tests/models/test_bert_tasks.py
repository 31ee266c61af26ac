import pytest
import torch

from pioneers.models import (
    ALBERT,
    ELECTRA,
    ALBERTConfig,
    BERTClassifier,
    BERTConfig,
    BERTForPretraining,
    BERTReader,
    BERTTagger,
    DistilBERT,
    DistilBERTConfig,
    ELECTRAConfig,
    RoBERTa,
    RoBERTaConfig,
    best_span,
)
from pioneers.models.bert import Encoder
from pioneers.objectives import (
    BERTInputs,
    classification_loss,
    question_inputs,
    span_loss,
    tagging_inputs,
    tagging_loss,
    text_inputs,
)
from pioneers.tokenizers import WordPiece
from pioneers.tokenizers.wordpiece import SPECIAL_TOKENS

B, T, V, D, CLASSES = 3, 7, 31, 12, 5
SIZES = {"vocab_size": V, "max_seq_len": 13, "d_model": D, "num_layers": 2, "num_heads": 3, "dropout": 0.0}
TASKS = {
    "classifier": (lambda bert: BERTClassifier(bert, CLASSES), (B, CLASSES)),
    "tagger": (lambda bert: BERTTagger(bert, CLASSES), (B, T, CLASSES)),
    "reader": (BERTReader, (B, T, 2)),
}


def pretrained(**changes):
    torch.manual_seed(0)
    return BERTForPretraining(BERTConfig(**SIZES | changes))


def batch():
    torch.manual_seed(1)
    return BERTInputs(
        torch.randint(5, V, (B, T)), torch.arange(B * T).view(B, T) % 2, torch.tensor([7, 4, 2])
    )


def run(model, inputs, **how):
    return model(inputs.input_ids, segment_ids=inputs.segment_ids, mask=inputs.mask, **how)


@pytest.mark.parametrize("task", TASKS)
def test_the_answer_is_a_linear_map_of_what_bert_gives(task):
    build, shape = TASKS[task]
    whole, inputs = pretrained(), batch()
    model = build(whole.bert).eval()
    assert model.bert is whole.bert
    hidden = run(model.bert, inputs)
    read = whole.bert.pool(hidden) if task == "classifier" else hidden
    logits = run(model, inputs)
    assert logits.shape == shape
    torch.testing.assert_close(logits, read @ model.head.proj.weight.T + model.head.proj.bias)


@pytest.mark.parametrize("task", TASKS)
def test_segments_matter_and_padding_does_not(task):
    model, inputs = TASKS[task][0](pretrained().bert).eval(), batch()
    logits = run(model, inputs)
    assert (run(model, inputs._replace(segment_ids=1 - inputs.segment_ids)) - logits).abs().max() > 1e-3
    padded = inputs.input_ids.masked_fill(~inputs.mask[:, 0, 0], 5)
    assert not torch.equal(padded, inputs.input_ids)
    other = run(model, inputs._replace(input_ids=padded))
    real = slice(None) if task == "classifier" else inputs.mask[:, 0, 0]
    torch.testing.assert_close(other[real], logits[real])


@pytest.mark.parametrize("task", TASKS)
def test_every_parameter_that_is_used_gets_a_gradient(task):
    model = TASKS[task][0](pretrained().bert)
    run(model, batch()).square().sum().backward()
    for name, p in model.named_parameters():
        unused = "pooler" in name and task != "classifier"
        cancels = name.endswith("k_proj.bias")  # added to all keys alike
        assert unused == (p.grad is None), name
        assert unused or (p.grad.abs().max() > 1e-6) != cancels, name


@pytest.mark.parametrize("task", ["classifier", "tagger"])
def test_the_head_drops_as_much_as_its_bert(task):
    inputs, build = batch(), TASKS[task][0]
    assert torch.equal(*(run(build(pretrained().bert).train(), inputs) for _ in range(2)))
    dropping = build(pretrained(dropout=0.3).bert)
    assert dropping.head.dropout.p == 0.3
    assert not torch.equal(run(dropping, inputs), run(dropping, inputs))


TOKENIZER = WordPiece([*SPECIAL_TOKENS, *"abcdefgh"])
LETTERS = "abcdefgh"


def texts(number, seed):
    draw = torch.Generator().manual_seed(seed)
    return [" ".join(LETTERS[i] for i in torch.randperm(8, generator=draw)[:6]) for _ in range(number)]


def learn(model, make, loss, steps=60):
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3)
    for step in range(steps):
        inputs, answer, how = make(32, step)
        optimizer.zero_grad()
        loss(run(model, inputs, **how), answer).backward()
        optimizer.step()
    inputs, answer, how = make(200, 999)
    return run(model.eval(), inputs, **how).detach(), answer


def small():
    return pretrained(d_model=48, vocab_size=TOKENIZER.vocab_size, max_seq_len=16).bert


def test_a_classifier_learns_which_texts_have_a_letter():
    def make(number, seed):
        rows = texts(number, seed)
        labels = torch.tensor([int("a" in row) for row in rows])
        return text_inputs(rows, TOKENIZER, max_seq_len=16), labels, {}

    logits, labels = learn(BERTClassifier(small(), 2), make, classification_loss)
    assert 0.5 < labels.float().mean() < 0.9
    assert (logits.argmax(-1) == labels).float().mean() > 0.97


def test_a_tagger_learns_from_the_word_and_from_the_others():
    def make(number, seed):
        rows = [row.split() for row in texts(number, seed)]
        tags = [[int("a" in row and word in "bcd") for word in row] for row in rows]
        return (*tagging_inputs(rows, tags, TOKENIZER, max_seq_len=16), {})

    logits, tags = learn(BERTTagger(small(), 2), make, tagging_loss)
    known = tags != -100
    assert 0.1 < (tags[known] == 1).float().mean() < 0.4
    assert (logits.argmax(-1)[known] == tags[known]).float().mean() > 0.97


def test_a_reader_learns_to_find_the_asked_letter_and_that_it_is_missing():
    def make(number, seed):
        contexts = texts(number, seed)
        letters = [
            LETTERS[i] for i in torch.randint(8, (number,), generator=torch.Generator().manual_seed(seed))
        ]
        places = [context.find(letter) for letter, context in zip(letters, contexts, strict=True)]
        answers = [(place, place + 1) if place >= 0 else None for place in places]
        found = question_inputs(letters, contexts, answers, TOKENIZER, max_seq_len=16)
        return found.inputs, torch.stack([found.starts, found.ends], dim=1), {"allowed": found.allowed}

    logits, spans = learn(
        BERTReader(small()), make, lambda logits, spans: span_loss(logits, *spans.unbind(1)), steps=150
    )
    assert 0.1 < (spans[:, 0] == 0).float().mean() < 0.4
    assert (best_span(logits, max_length=1) == spans).all(1).float().mean() > 0.9


BODIES = {
    "albert": lambda: ALBERT(ALBERTConfig(**SIZES, d_embed=5)),
    "roberta": lambda: RoBERTa(RoBERTaConfig(**SIZES)),
    "distilbert": lambda: DistilBERT(DistilBERTConfig(**SIZES)),
    "electra": lambda: ELECTRA(ELECTRAConfig(**SIZES, d_embed=5)),
}


@pytest.mark.parametrize("body", BODIES)
@pytest.mark.parametrize("task", TASKS)
def test_every_encoder_can_be_the_body_of_every_task(task, body):
    make, shape = TASKS[task]
    inputs, bert = batch(), BODIES[body]()
    assert isinstance(bert, Encoder)
    model = make(bert)
    segments = inputs.segment_ids if bert.config.num_segments > 1 else None
    logits = model(inputs.input_ids, segment_ids=segments, mask=inputs.mask)
    assert logits.shape == shape
    hidden = bert(inputs.input_ids, segment_ids=segments, mask=inputs.mask)
    state = bert.pool(hidden) if task == "classifier" else hidden
    torch.testing.assert_close(logits, model.head.proj(state))


def test_a_pooler_reads_the_first_token_and_a_body_without_one_gives_its_state():
    hidden = torch.randn(B, T, D)
    assert torch.equal(BODIES["electra"]().pool(hidden), hidden[:, 0])
    bert = pretrained().bert
    torch.testing.assert_close(bert.pool(hidden), bert.pooler(hidden[:, 0]).tanh())


@pytest.mark.parametrize("body", ["distilbert", "roberta"])
def test_segments_are_refused_by_a_body_that_does_not_tell_them_apart(body):
    with pytest.raises(ValueError, match="does not tell sentences apart: leave segment_ids out"):
        run(BERTTagger(BODIES[body](), CLASSES), batch())
