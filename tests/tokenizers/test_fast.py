import pytest

from pioneers.data import language_reference
from pioneers.tokenizers import ByteLevelBPE, FastBPE

TEXTS = {
    "prose": language_reference()[:60_000],
    "signs in long rows": "=" * 61 + " " + "-" * 37 + "\n" + "ab" * 53 + "\t" * 11,
    "many scripts": "Ünïcödé naïve 漢字かな 漢字 🙂🙂 नमस्ते \x00\x85\u2028 '\u0301" * 3,
    "one character": "a",
}


@pytest.mark.parametrize("text", TEXTS.values(), ids=TEXTS)
def test_same_merges_and_ids_as_the_form_to_be_read(text):
    slow, fast = ByteLevelBPE.train(text, vocab_size=701), FastBPE.train(text, vocab_size=701)
    assert type(fast) is FastBPE
    assert fast.merges == slow.merges
    for sample in TEXTS.values():
        assert fast.encode(sample) == slow.encode(sample)
        assert fast.decode(fast.encode(sample)) == sample


def test_files_are_the_same(tmp_path):
    fast = FastBPE.train("low lower lowest", vocab_size=259)
    fast.save(tmp_path / "bpe.json")
    assert ByteLevelBPE.load(tmp_path / "bpe.json").merges == fast.merges
    assert FastBPE.load(tmp_path / "bpe.json").merges == fast.merges


def test_errors_are_the_same():
    with pytest.raises(ValueError, match="cannot train a tokenizer on an empty text"):
        FastBPE.train("", vocab_size=300)
    with pytest.raises(ValueError, match="vocab_size=100 is too small"):
        FastBPE.train("abc", vocab_size=100)
    with pytest.raises(ValueError, match="merge 0 joins 0 and 999, which are not tokens yet"):
        FastBPE([(0, 999)])


def test_two_ways_to_one_token_are_refused():
    twice = [(64, 64), (256, 64), (64, 256)]
    assert ByteLevelBPE(twice).vocab[257:] == [b"aaa", b"aaa"]
    with pytest.raises(ValueError, match="two merges make the same token: use ByteLevelBPE"):
        FastBPE(twice)
