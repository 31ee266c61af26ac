"""What is compared in the experiment on CLIP differs in the language left out, or in the temperature."""

import torch

from experiments.clip_digits import (
    CASES,
    CONFIG,
    END,
    batches,
    by_spelling,
    captions,
    class_vectors,
    clip,
    edits,
    one_case,
)
from pioneers.data import digit_captions
from pioneers.data.captions import TEMPLATES
from pioneers.tokenizers import ByteTokenizer


def test_captions_are_bytes_with_an_end():
    ids = captions("pt")[3, 1].tolist()
    length = ids.index(END)
    assert ByteTokenizer().decode(ids[:length]) == digit_captions("pt")[3][1]
    assert not any(ids[length + 1 :])


def test_a_language_that_is_left_out_is_in_no_batch():
    languages = [language for language in TEMPLATES if language != "fi"]
    read, tokenizer = batches(languages, 64, seed=0), ByteTokenizer()
    seen = {
        tokenizer.decode([i for i in row if i > END]) for step in range(40) for row in read(step)[1].tolist()
    }
    finnish = {way for ways in digit_captions("fi") for way in ways}
    assert not seen & finnish
    assert len(seen) > 300


def test_a_class_vector_is_the_mean_direction_of_its_captions():
    torch.manual_seed(0)
    model = clip(8, 1).eval()
    vectors = model.encode_texts(captions("sv")[4])
    mean = (vectors / vectors.norm(dim=-1, keepdim=True)).mean(0)
    torch.testing.assert_close(class_vectors(model, "sv")[4], mean / mean.norm())


def test_edits_are_counted_and_spelling_finds_relatives():
    pairs = ("três", "tres"), ("sete", "siete"), ("", "abc"), ("kitten", "sitting")
    assert [edits(*pair) for pair in pairs] == [1, 1, 3, 3]
    assert by_spelling("fi") < by_spelling("nl") < by_spelling("pt")


def test_a_case_judges_all_languages_and_the_names_of_the_one_left_out():
    tiny = {**CONFIG, "steps": 5, "width": 8, "num_layers": 1, "batch_size": 4}
    everything = one_case(seed=0, **{**tiny, **CASES["none"]})
    without = one_case(seed=0, **{**tiny, **CASES["Dutch"]})
    assert set(TEMPLATES) < set(everything)
    assert without.keys() - everything.keys() == {"names_right", "names_right_by_spelling"}
    assert 0 <= without["nl"] <= 1


def test_a_given_temperature_stays():
    tiny = {**CONFIG, "steps": 5, "width": 8, "num_layers": 1, "batch_size": 4}
    assert one_case(seed=0, **{**tiny, **CASES["Portuguese, temperature 1"]})["scale"] == 1.0
    assert one_case(seed=0, **{**tiny, **CASES["Portuguese"]})["scale"] != 1.0
