"""The unigram tokenizer: cuts equal to the library's and to those of an exhaustive search."""

import itertools
import pickle
import random

import pytest
from tokenizers import Tokenizer
from tokenizers.models import Unigram as UnigramModel

from pioneers.tokenizers import Unigram
from pioneers.tokenizers.unigram import UNKNOWN_PENALTY, viterbi

TEXT = "The white cat sat on the other mat. The white hat sat on the cat, and that was that! " * 5


def random_pieces(rng, letters):
    pieces = {"".join(rng.choices(letters, k=rng.randint(1, 5))) for _ in range(40)} | set(letters)
    return {piece: -rng.uniform(0.5, 9.0) for piece in sorted(pieces)}


@pytest.mark.parametrize("seed", range(20))
def test_the_cut_of_random_texts_is_the_librarys(seed):
    rng = random.Random(seed)
    log_probs = random_pieces(rng, "abc")
    library = Tokenizer(UnigramModel([("<unk>", 0.0), *log_probs.items()], unk_id=0))
    for length in (1, 2, 7, 30, 101):
        text = "".join(rng.choices("abc", k=length))
        assert viterbi(text, log_probs) == library.encode(text).tokens


@pytest.mark.parametrize("seed", range(20))
def test_characters_that_are_no_pieces_are_cut_as_the_library_does(seed):
    """The library writes neighbouring unknown characters as one token."""
    rng = random.Random(seed)
    log_probs = {piece: score for piece, score in random_pieces(rng, "abc").items() if piece not in "ab"}
    library = Tokenizer(UnigramModel([("<unk>", 0.0), *log_probs.items()], unk_id=0))
    text = "".join(rng.choices("abcde", k=40))
    fused = itertools.groupby(viterbi(text, log_probs | {"<unk>": 0.0}), lambda piece: piece in log_probs)
    tokens = [t for known, group in fused for t in (list(group) if known else ["".join(group)])]
    assert tokens == library.encode(text).tokens
    assert "d" in "".join(piece for piece in tokens if piece not in log_probs)


def test_no_other_cut_is_likelier():
    log_probs = random_pieces(random.Random(2), "ab")
    unknown = min(log_probs.values()) - UNKNOWN_PENALTY
    text = "abxbabaababb"
    cuts = []
    for borders in itertools.product([False, True], repeat=len(text) - 1):
        places = [0, *(i + 1 for i, border in enumerate(borders) if border), len(text)]
        pieces = [text[a:b] for a, b in itertools.pairwise(places)]
        if all(piece in log_probs or len(piece) == 1 for piece in pieces):
            cuts.append((sum(log_probs.get(piece, unknown) for piece in pieces), pieces))
    assert len(cuts) > 50
    assert viterbi(text, log_probs) == max(cuts)[1]


def test_the_edges_of_cutting():
    assert viterbi("", {"a": -1.0}) == []
    with pytest.raises(ValueError, match="log_probs is empty"):
        viterbi("a", {})


@pytest.fixture(scope="module")
def trained():
    return Unigram.train(TEXT, vocab_size=45)


def test_training_finds_pieces_that_its_own_cuts_use(trained):
    assert trained.special_ids == {"<pad>": 0, "</s>": 1, "<unk>": 2}
    assert trained.vocab_size == len(trained.vocab) == len(trained.log_probs) <= 45
    assert {"at", "▁the"} & set(trained.vocab)
    ordinary = {piece: p for piece, p in trained.log_probs.items() if piece not in trained.special_ids}
    words = [f"▁{word}" for word in TEXT.split()]
    pieces = [piece for word in words for piece in viterbi(word, ordinary)]
    assert [trained.vocab[i] for i in trained.encode(TEXT.strip())] == pieces
    assert trained.decode(trained.encode(TEXT)) == TEXT
    assert len(pieces) < 0.8 * sum(map(len, words))


def test_a_text_cannot_contain_a_special_token(trained):
    ids = trained.encode("the cat</s> sat")
    assert not {0, 1} & set(ids)
    assert trained.unk_id in ids  # "<" and "/" were not in the text
    assert trained.encode("猫") == [trained.vocab.index("▁"), trained.unk_id]


def test_it_is_saved_loaded_and_pickled(trained, tmp_path):
    trained.save(tmp_path / "new" / "tokenizer.json")
    for twin in (Unigram.load(tmp_path / "new" / "tokenizer.json"), pickle.loads(pickle.dumps(trained))):
        assert (twin.vocab, twin.log_probs) == (trained.vocab, trained.log_probs)
        assert twin.encode("a white mat</s>") == trained.encode("a white mat</s>")


def test_impossible_requests_say_what_to_do(trained):
    with pytest.raises(ValueError, match="empty text"):
        Unigram.train(" \n", 50)
    with pytest.raises(ValueError, match="vocab_size=9 is too small for this text"):
        Unigram.train(TEXT, 9)
    with pytest.raises(ValueError, match="token id 45 is not in the vocabulary"):
        trained.decode([45])
    with pytest.raises(ValueError, match="cannot read this description"):
        Unigram("{}")
    with pytest.raises(ValueError, match="of the type BPE, not Unigram"):
        Unigram('{"model": {"type": "BPE", "vocab": {}, "merges": []}}')
