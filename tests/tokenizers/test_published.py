"""GPT-2's and BERT's published vocabularies on real texts, against the `tokenizers` library."""

import time

import pytest

from pioneers.tokenizers import FastBPE

CORPORA = ["shakespeare", "en", "de", "fr"]


def test_gpt2_numbers_the_end_of_a_text(gpt2):
    assert gpt2.vocab_size == 50_257
    assert gpt2.special_ids == {"<|endoftext|>": 50_256}
    assert 50_256 not in gpt2.encode("<|endoftext|>")


def test_rare_names_fall_into_pieces(gpt2):
    ids = gpt2.encode("Aragorn told Frodo to mind Lothlorien")
    assert [gpt2.decode([i]) for i in ids] == [
        "Ar", "ag", "orn", " told", " Fro", "do", " to", " mind", " L", "oth", "lor", "ien",
    ]  # fmt: skip


@pytest.mark.parametrize("name", CORPORA)
def test_gpt2_gives_the_librarys_ids(gpt2, library_gpt2, corpora, name):
    text = corpora[name]
    ids = library_gpt2.encode(text).ids
    assert gpt2.encode(text) == ids
    assert FastBPE(gpt2.merges).encode(text) == ids
    assert gpt2.decode(ids) == text


@pytest.mark.parametrize("name", CORPORA)
def test_bert_gives_the_librarys_ids_offsets_and_text(bert, library_bert, corpora, name):
    theirs = library_bert.encode(corpora[name])
    assert bert.encode(corpora[name]) == theirs.ids
    assert bert.encode_with_offsets(corpora[name]) == (theirs.ids, theirs.offsets)
    assert bert.decode(theirs.ids) == library_bert.decode(theirs.ids, skip_special_tokens=False)


def test_bert_knows_playing_as_one_piece(bert):
    """Figure 2 of Devlin et al. shows ``play ##ing``; the published vocabulary has the whole word."""
    assert bert.vocab_size == 30_522
    assert [bert.vocab[i] for i in bert.encode("playing")] == ["playing"]


def test_the_form_to_be_read_needs_no_patience(gpt2, bert, corpora):
    for tokenizer in (type(gpt2)(gpt2.merges), type(bert)(bert.vocab)):
        started = time.process_time()
        tokens = tokenizer.encode(corpora["shakespeare"])
        assert time.process_time() - started < 10
        assert len(tokens) > 200_000
