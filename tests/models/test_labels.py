import pytest

from pioneers.models import (
    BERT,
    GPT,
    BERTClassifier,
    BERTConfig,
    BERTTagger,
    GPTClassifier,
    GPTConfig,
    ViTConfig,
)
from pioneers.models.labels import label_names

MAKE = {
    "classifier": lambda labels: BERTClassifier(BERT(BERTConfig.preset("mini")), 3, labels=labels),
    "tagger": lambda labels: BERTTagger(BERT(BERTConfig.preset("mini")), 3, labels=labels),
    "gpt": lambda labels: GPTClassifier(GPT(GPTConfig.preset("mini")), 3, labels=labels),
    "vit": lambda labels: ViTConfig.preset("digits", num_classes=3, labels=labels),
}


@pytest.mark.parametrize("kind", MAKE)
def test_labels_are_one_for_each_class_or_none(kind):
    assert MAKE[kind](["a", "b", "c"]).labels == ("a", "b", "c")
    assert MAKE[kind]([]).labels == ()
    for wrong in (["a", "b"], ["a", "b", "c", "d"]):
        with pytest.raises(ValueError, match=rf"{len(wrong)} labels for 3 classes: name each class, in the"):
            MAKE[kind](wrong)


def test_a_label_is_a_text():
    with pytest.raises(ValueError, match="a label is a text, not 7"):
        label_names(["a", 7], 2)
    with pytest.raises(ValueError, match="must be a list of names, not the text 'abc'"):
        label_names("abc", 3)


def test_the_statistics_of_images_are_one_for_each_channel():
    assert ViTConfig.preset("digits", image_mean=[0.5], image_std=[0.25]).image_std == (0.25,)
    for statistics in ({"image_mean": (0.5,)}, {"image_mean": (0.5, 0.5), "image_std": (0.5, 0.5)}):
        with pytest.raises(ValueError, match="image_mean must be one number a channel, like image_std"):
            ViTConfig.preset("digits", **statistics)
