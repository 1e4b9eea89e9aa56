"""The card says what the model is, in words and numbers of the run."""

import pytest

from headway.config.run import parse_run_config
from headway.training.card import write_card

REPORT = {
    "steps": 1234,
    "epochs": 5,
    "seed": 6,
    "precision": "bfloat16",
    "target_tokens": 78901,
    "seconds": 90.0,
    "weights": "averaged",
    "averaged_steps": [10, 20, 30],
    "best_step": 20,
    "best_is_better": False,
    "validation": {
        "averaged": {"loss": 1.23456, "scores": {"bleu": 7.891}},
        "best": {"loss": 2.34567, "scores": {}},
    },
    "parameters": 456789,
    "trained_on": "2026-01-02",
    "machine": {
        "processor": "one, AVX2",
        "threads": 1,
        "versions": {"headway": "0.1.0", "torch": "2.9.0", "numba": None},
    },
    "valid": [{"name": "bleu", "value": 12.34567, "signature": "nrefs:1|tok:13a"}],
    "test": [{"name": "exact", "value": 50.0, "signature": "share of equal lines"}],
}


def test_the_card_holds_data_licence_scores_and_training() -> None:
    config = parse_run_config(
        {
            "recipe": {"name": "Tiny", "data_source": "a shelf", "licence": "CC0"},
            "data": {"source": "a.ko", "target": "a.en", "source_language": "ko"},
        }
    )

    card = write_card(config, REPORT)

    assert card.startswith("# Tiny\n")
    for line in (
        "| languages | ko → target |",
        "| training text | a.ko a.en |",
        "| origin of the text | a shelf |",
        "| licence of the text | CC0 |",
        "| parameters | 456,789 |",
        "| steps, epochs | 1,234, 5 |",
        "| time | 1.5 minutes |",
        "| precision, seed | bfloat16, 6 |",
        "| processor | one, AVX2, 1 thread |",
        "| versions | headway 0.1.0, torch 2.9.0 |",
        "Weights `averaged` of the run, a mean over validations: the better ones by validation.",
        "| averaged weights | 3 |",
        "Loss on validation text: 1.2346.",
        "Greedy search on some of it: bleu 7.89 %.",
        "| trained on | 2026-01-02 |",
        "| valid | bleu | 12.35 | `nrefs:1\\|tok:13a` |",
        "| test | exact | 50.00 | `share of equal lines` |",
    ):
        assert line in card.splitlines()


@pytest.mark.parametrize(
    ("weights", "best_is_better", "words"),
    [
        ("averaged", True, "a mean over validations. By validation `best` is better."),
        ("best", True, "those of step 20: the better ones by validation."),
        ("best", False, "those of step 20. By validation `averaged` is better."),
        ("best", None, "those of step 20: the best so far, of a run that is not finished."),
    ],
)
def test_the_card_says_which_weights_of_the_run_are_better(
    weights: str, best_is_better: bool | None, words: str
) -> None:
    record = REPORT | {"weights": weights, "best_is_better": best_is_better}
    if best_is_better is None:
        del record["best_is_better"]

    card = write_card(parse_run_config({}), record)

    assert f"Weights `{weights}` of the run, {words}" in card.splitlines()


@pytest.mark.parametrize(("weights", "other"), [("averaged", "best"), ("best", "averaged")])
def test_the_card_says_that_the_average_of_one_validation_is_the_best(
    weights: str, other: str
) -> None:
    record = REPORT | {"weights": weights, "best_is_better": False, "same_weights": True}
    card = write_card(parse_run_config({}), record)
    assert f": the same as `{other}`, because one validation was averaged." in card


def test_what_nobody_said_is_not_stated() -> None:
    card = write_card(parse_run_config({}), REPORT)

    assert card.startswith("# source to target\n")
    assert "| licence of the text | not stated |" in card


def test_each_corpus_is_named_with_what_is_done_to_it() -> None:
    files = {"source": "a.ko", "target": "a.en"}
    back = {"source": "b.jsonl", "tag": "<back>", "reverse": True, "weight": 0.5}
    config = parse_run_config({"data": {"corpora": [files, back]}})

    rows = [line for line in write_card(config, REPORT).splitlines() if "training text" in line]

    assert rows == [
        "| training text | a.ko a.en |",
        "| training text | b.jsonl <back> reversed × 0.5 |",
    ]


def test_the_average_of_one_validation_is_named_by_its_step() -> None:
    record = REPORT | {"weights": "averaged", "best_is_better": True, "averaged_steps": [1023]}

    assert "Weights `averaged` of the run, those of step 1,023. By" in write_card(
        parse_run_config({}), record
    )
