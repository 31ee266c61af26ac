"""The published results are those of the experiments as they stand: the same cases, each with every seed."""

import importlib
import json

import pytest

from pioneers.analysis import experiment

NAMES = (
    "attention_cost",
    "bert_ablation",
    "bert_steps",
    "bert_tasks",
    "block_parts",
    "clip_digits",
    "cross_lingual",
    "experts",
    "far_apart",
    "few_images",
    "finetuning_rates",
    "gpt_ablation",
    "gpt_documents",
    "gpt_lstm",
    "gpt_tasks",
    "gpt_tasks_rates",
    "growing_model",
    "grpo",
    "in_context",
    "input_formats",
    "layers_transferred",
    "live_dates",
    "lora",
    "mae",
    "mae_longer",
    "masked_against_causal",
    "masking_rates",
    "modern_decoder",
    "norm_placement",
    "patch_size",
    "preferences",
    "pretraining_labels",
    "pretraining_rates",
    "reading_time",
    "recipe",
    "scaling_budgets",
    "scaling_held_out",
    "scaling_law",
    "scaling_rates",
    "span_masking",
    "variations",
    "vit_convnet_grid",
    "vit_positions",
    "vit_transfer",
    "vocabularies",
)


@pytest.mark.parametrize("name", NAMES)
def test_the_published_cases_are_those_of_the_script(name):
    cases = importlib.import_module(f"experiments.{name}").CASES
    published = experiment(name)
    assert published["cases"] == json.loads(json.dumps(cases))
    seeds = {row["seed"] for row in published["rows"]}
    assert {(row["case"], row["seed"]) for row in published["rows"]} == {
        (case, seed) for case in cases for seed in seeds
    }
    assert len(published["rows"]) == len(cases) * len(seeds)
