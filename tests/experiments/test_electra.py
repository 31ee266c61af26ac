"""What the experiment on ELECTRA stands on: characters find their words, and labels compare tokens."""

import torch

from experiments.electra import CONFIG, MASK_ID, batches, config, corrupt, electra_loss, states
from experiments.text.characters import characters, corpus, words
from pioneers.data import code_words
from pioneers.models import BERT


def test_every_character_finds_its_word():
    sentences = code_words("test")[:50]
    given = words(sentences, ["CODE", "TEXT"], 7)
    letters = {i: c for c, i in characters().items()}
    spoken = [
        "".join(letters[i] for i in given.input_ids.flatten()[given.word == n].tolist()) for n in range(9)
    ]
    said = [word for sentence in sentences for word in sentence.words][:9]
    assert [len(word) for word in spoken] == [len(word) for word in said]
    assert spoken[0] == said[0].lower()
    tags = [tag for sentence in sentences for tag in sentence.tags]
    assert [["CODE", "TEXT"][i] for i in given.tags.tolist()] == tags[: len(given.tags)]


def test_a_token_is_replaced_where_it_differs_from_the_text():
    ids, targets = batches("test", 0, 11, 13, masked=False)(3)
    text = torch.where(targets == -100, ids, targets)
    corrupted, replaced = corrupt((ids, targets))
    assert torch.equal(replaced, corrupted != text)
    assert 0 < replaced.sum() < (targets != -100).sum()  # some samples hit the right token
    assert (ids == MASK_ID).sum() == (targets != -100).sum()


def test_the_loss_at_the_gaps_leaves_the_other_tokens_out():
    batch = batches("test", 0, 11, 13, masked=False)(3)
    gaps = batch[1] != -100
    asked = torch.full(gaps.shape, -20.0).masked_fill(gaps, 0.0)  # sure of the others, undecided at gaps
    torch.manual_seed(0)
    at_gaps, everywhere = (electra_loss(lambda ids: asked, batch, gaps_only=only) for only in (True, False))
    torch.testing.assert_close(at_gaps, torch.tensor(2.0).log())
    torch.testing.assert_close(everywhere, torch.tensor(2.0).log() * gaps.float().mean())


def test_documents_are_read_in_lower_case():
    letters = "".join(characters())
    assert "e" in letters
    assert corpus("test").max() < len(characters())
    assert letters.replace("[MASK]", "").replace("[UNK]", "").islower()


def test_all_states_are_those_from_the_embeddings_to_the_last_block():
    torch.manual_seed(0)
    body, ids = BERT(config(CONFIG["sizes"], 16)).eval(), corpus("test")[:48].view(3, 16)
    first, _, last = states(body, ids).chunk(CONFIG["sizes"]["num_layers"] + 1, dim=-1)
    torch.testing.assert_close(first, body.embed(ids))
    torch.testing.assert_close(last, body(ids))
