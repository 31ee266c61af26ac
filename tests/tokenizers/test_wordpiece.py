import pickle
from collections import Counter
from itertools import pairwise

import pytest
from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, processors, trainers

from pioneers.data import language_reference
from pioneers.tokenizers import WordPiece
from pioneers.tokenizers.wordpiece import SPECIAL_TOKENS, frequency, likelihood

VOCAB = [
    *SPECIAL_TOKENS,
    "un",
    "##aff",
    "##able",
    "cafe",
    "!",
    "a",
    "##a",
    "in",
    "pa",
    "##ris",
    "Paris",
    "漢",
]


@pytest.fixture(scope="module")
def tokenizer():
    return WordPiece(VOCAB)


def pieces(tokenizer, text):
    return [tokenizer.vocab[i] for i in tokenizer.encode(text)]


def test_the_longest_piece_that_fits_comes_first(tokenizer):
    assert pieces(tokenizer, "Unaffable") == ["un", "##aff", "##able"]
    assert pieces(tokenizer, "unaffably a") == ["[UNK]", "a"]


def test_text_is_cleaned_split_and_stripped_of_case_and_accents(tokenizer):
    assert pieces(tokenizer, "CAFÉ! cafe\u0301\t\ncaf\u200be a漢a") == [
        "cafe",
        "!",
        *["cafe"] * 2,
        "a",
        "漢",
        "a",
    ]


def test_words_of_more_than_a_hundred_characters_are_unknown(tokenizer):
    assert pieces(tokenizer, "a" * 100) == ["a"] + 99 * ["##a"]
    assert pieces(tokenizer, "a" * 101 + " a") == ["[UNK]", "a"]


def test_a_cased_vocabulary_keeps_case_and_accents(make_library_wordpiece):
    cased = WordPiece([*VOCAB, "É"], lowercase=False)
    theirs = make_library_wordpiece(cased.vocab, lowercase=False)
    for text in ("Paris paris É e\u0301 É!", "CAFÉ cafe"):
        assert cased.encode(text) == theirs.encode(text).ids
    assert pieces(cased, "Paris paris É") == ["Paris", "pa", "##ris", "É"]


def test_offsets_lead_back_to_the_text(tokenizer):
    text = " In\u200b Páris!\n"
    ids, offsets = tokenizer.encode_with_offsets(text)
    assert ids == tokenizer.encode(text)
    assert [text[start:end] for start, end in offsets] == ["In", "Pá", "ris", "!"]


def test_control_characters_alone_and_empty_texts_have_no_tokens(tokenizer):
    for text in ("", " \n", "\x00\u200b"):
        assert tokenizer.encode(text) == []
        assert tokenizer.encode_with_offsets(text) == ([], [])


def test_text_cannot_smuggle_in_a_special_token(tokenizer):
    assert not set(tokenizer.encode("[MASK] [SEP]")) & {tokenizer.special_ids[t] for t in ("[MASK]", "[SEP]")}


def test_one_and_two_texts_are_assembled_as_the_library_does(tokenizer, make_library_wordpiece):
    theirs = make_library_wordpiece(VOCAB)
    theirs.post_processor = processors.BertProcessing(("[SEP]", 3), ("[CLS]", 2))
    first, second = "in Paris", "a cafe!"
    one, two = theirs.encode(first), theirs.encode(first, second)
    assert tokenizer.assemble(tokenizer.encode(first)) == (one.ids, one.type_ids)
    assert tokenizer.assemble(tokenizer.encode(first), tokenizer.encode(second)) == (two.ids, two.type_ids)
    assert tokenizer.assemble([], []).segment_ids == [0, 0, 1]


def test_decoding_joins_pieces_to_words(tokenizer):
    ids, _ = tokenizer.assemble(tokenizer.encode("Unaffable in Paris!"))
    assert tokenizer.decode(ids) == "[CLS] unaffable in paris ! [SEP]"
    assert tokenizer.decode(iter(ids[:0])) == ""


def test_vocabularies_are_written_and_read(tokenizer, tmp_path):
    tokenizer.save(tmp_path / "vocab.txt")
    assert [p.name for p in tmp_path.iterdir()] == ["vocab.txt"]
    assert WordPiece.from_vocab(tmp_path / "vocab.txt").vocab == VOCAB
    assert (tmp_path / "vocab.txt").read_text(encoding="utf-8").splitlines() == VOCAB
    (tmp_path / "windows.txt").write_bytes("\r\n".join(VOCAB).encode())
    assert WordPiece.from_vocab(tmp_path / "windows.txt", lowercase=False).vocab == VOCAB
    tokenizer.save(tmp_path / "a" / "new" / "vocab.txt")
    assert WordPiece.from_vocab(tmp_path / "a" / "new" / "vocab.txt").vocab == VOCAB


def test_travels_to_other_processes():
    again = pickle.loads(pickle.dumps(WordPiece(VOCAB, lowercase=False)))
    assert again.lowercase is False
    assert pieces(again, "Paris") == ["Paris"]


def test_bad_vocabularies_and_inputs_say_what_to_do(tokenizer, tmp_path):
    with pytest.raises(FileNotFoundError, match=r"no vocabulary at .*; BERT's is published as vocab\.txt"):
        WordPiece.from_vocab(tmp_path / "nothing.txt")
    (tmp_path / "vocab.txt").write_text("[PAD]\n[UNK]\na\n")
    with pytest.raises(ValueError, match=r"vocab\.txt: the vocabulary has no \[CLS\], \[SEP\], \[MASK\]"):
        WordPiece.from_vocab(tmp_path / "vocab.txt")
    with pytest.raises(ValueError, match="the vocabulary has 'a' twice; each piece needs one id"):
        WordPiece([*VOCAB, "a"])
    for bad in (-1, len(VOCAB)):
        with pytest.raises(ValueError, match=f"token id {bad} is not in the vocabulary of {len(VOCAB)}"):
            tokenizer.decode([bad])
    for empty in ("", " \n\x00"):
        with pytest.raises(ValueError, match="cannot train a tokenizer on a text without words"):
            WordPiece.train(empty, vocab_size=100)
    with pytest.raises(ValueError, match=r"vocab_size=7 is too small: .* of this text need 8"):
        WordPiece.train("abc", vocab_size=7)


def learn_naively(text, vocab_size, score):
    """WordPiece training with every count made anew at every step; also how often each chosen pair tied."""
    words = Counter(token for token, _ in bert_tokens(text))
    spelled = {word: [word[0], *("##" + char for char in word[1:])] for word in words}
    vocab = [*SPECIAL_TOKENS, *sorted({piece for parts in spelled.values() for piece in parts})]
    alphabet, ties = len(vocab), []
    while len(vocab) < vocab_size:
        single, double = Counter(), Counter()
        for word, count in words.items():
            for piece in spelled[word]:
                single[piece] += count
            for pair in pairwise(spelled[word]):
                double[pair] += count
        if not double:
            break
        scores = {(a, b): score(n, single[a], single[b]) for (a, b), n in double.items()}
        top = max(scores.values())
        best = [pair for pair, value in scores.items() if value == top]
        ties.append(len(best))
        a, b = min(best, key=lambda pair: (vocab.index(pair[0]), vocab.index(pair[1])))
        vocab.append(a + b.removeprefix("##"))
        for parts in spelled.values():
            i = 0
            while i + 1 < len(parts):
                if parts[i : i + 2] == [a, b]:
                    parts[i : i + 2] = [vocab[-1]]
                i += 1
    return vocab, alphabet, ties


def bert_tokens(text):
    normal = normalizers.BertNormalizer().normalize_str(text)
    return pre_tokenizers.BertPreTokenizer().pre_tokenize_str(normal)


@pytest.mark.parametrize("score", [likelihood, frequency])
def test_training_joins_the_pair_of_the_highest_score(score):
    text = language_reference()[:5_000]
    vocab, alphabet, _ = learn_naively(text, 151, score)
    assert alphabet < 120
    assert WordPiece.train(text, 151, score=score).vocab == vocab


def test_likelihood_prefers_the_pair_that_single_counts_do_not_explain():
    text = "qu qu " + "ab " * 5 + "a " * 20 + "b " * 20 + "xb xb"
    start = [*SPECIAL_TOKENS, *sorted({"q", "##u", "a", "##b", "b", "x"})]
    assert WordPiece.train(text, 12).vocab == [*start, "qu"]
    assert WordPiece.train(text, 12, score=frequency).vocab == [*start, "ab"]


def test_training_stops_when_nothing_is_left_to_join():
    assert WordPiece.train("ab ab", 100).vocab == [*SPECIAL_TOKENS, "##b", "a", "ab"]


def test_by_frequency_the_library_learns_the_same_pieces_until_its_first_tie():
    """The library numbers its pieces in an order that differs from run to run, and breaks ties by it."""
    text = language_reference()
    _, alphabet, ties = learn_naively(text, 200, frequency)
    untied = next((i for i, tied in enumerate(ties) if tied > 1), len(ties))
    assert untied >= 20
    other = Tokenizer(models.WordPiece(unk_token="[UNK]"))
    other.normalizer = normalizers.BertNormalizer()
    other.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    trainer = trainers.WordPieceTrainer(
        vocab_size=alphabet + untied, special_tokens=list(SPECIAL_TOKENS), show_progress=False
    )
    other.train_from_iterator([text], trainer)
    theirs = sorted(other.get_vocab(), key=other.get_vocab().get)
    ours = WordPiece.train(text, alphabet + untied, score=frequency).vocab
    assert set(theirs[:alphabet]) == set(ours[:alphabet])
    assert theirs[alphabet:] == ours[alphabet:]


def test_the_most_frequent_pair_is_found_without_comparing_all():
    text = language_reference()[:30_000]
    fast = WordPiece.train(text, 900, score=frequency)
    assert fast.vocab == WordPiece.train(text, 900, score=lambda ab, a, b: ab).vocab
