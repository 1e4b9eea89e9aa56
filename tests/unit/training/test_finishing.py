"""A run stands for its better weights, at every moment, and its scores are theirs."""

import json
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from headway.bundle import Bundle, load_bundle
from headway.config.run import RunConfig
from headway.data.corpus import read_parallel
from headway.decoding.translator import TextTranslator
from headway.evaluation.metrics import score_texts
from headway.saved_bundle import find_bundle, which_weights
from headway.training import finishing
from headway.training.averaging import average_snapshots
from headway.training.finishing import fewer_and_fewer
from headway.training.reporting import Reporter
from headway.training.run import train
from headway.training.validation import ValidationResult, Validator

MakeConfig = Callable[..., RunConfig]
pytestmark = pytest.mark.usefixtures("no_picture")


def judging(values: Sequence[float], monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the averages of a finished run have these losses, one after the other."""
    losses = iter(values)

    def judge(bundle: Bundle, precision: str) -> ValidationResult:
        return ValidationResult(next(losses), {})

    monkeypatch.setattr(Validator, "alone", lambda _: judge)


@pytest.mark.parametrize(("loss", "better"), [(99.0, "best"), (0.5, "averaged")])
def test_scores_and_cards_are_those_of_the_better_weights(
    make_config: MakeConfig,
    tmp_path: Path,
    quiet: Reporter,
    monkeypatch: pytest.MonkeyPatch,
    loss: float,
    better: str,
) -> None:
    judging([loss] * 2, monkeypatch)
    monkeypatch.setattr("headway.evaluation.confidence.FEWEST", 3)
    data = {"test_source": "valid.source", "test_target": "valid.target", "source_language": "ko"}
    config = make_config(data=data)
    said: list[str] = []
    quiet.say = said.append  # type: ignore[method-assign]

    result = train(config, tmp_path / "run", reporter=quiet)

    report, run = result.report, tmp_path / "run"
    other = {"best": "averaged", "averaged": "best"}[better]
    assert report["weights"] == better == result.bundle.name
    assert result.bundle == find_bundle(run)
    folder = Path(config.data.directory)
    pairs = read_parallel(folder / "valid.source", folder / "valid.target")
    texts = TextTranslator(load_bundle(run / better)).translate(
        [pair.source for pair in pairs], mend_runaways=False
    )
    metrics = config.evaluation.metrics
    expected = score_texts([t.text for t in texts], [pair.target for pair in pairs], metrics)
    assert report["test"] == [score.as_dict() for score in expected]
    bundles = {name: load_bundle(run / name) for name in (better, other)}
    assert bundles[better].record["test"] == report["test"]
    assert "test" not in bundles[other].record
    assert bundles[better].record["confidence"] == report["confidence"]
    assert report["confidence"]["sentences"] == len(pairs)
    assert "confidence" not in bundles[other].record
    assert report["validation"]["averaged"]["loss"] == loss
    for name, bundle in bundles.items():
        assert bundle.record["validation_loss"] == report["validation"][name]["loss"]
        assert "| languages | ko → target |" in bundle.card
        assert "| training text | train.source train.target |" in bundle.card
    assert report["validation_loss"] == report["validation"][better]["loss"]
    assert any(str(run / better) in message for message in said)
    assert not any(str(run / other) in message for message in said)


def test_a_stop_between_the_files_of_the_end_leaves_the_best_weights(
    make_config: MakeConfig, tmp_path: Path, quiet: Reporter, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = tmp_path / "run"
    train(make_config(), run, reporter=quiet)
    whole = find_bundle(run)
    weights = (whole / "model.safetensors").read_bytes()
    save = finishing.save_bundle
    for saved in range(3):
        left = [saved]

        def killed(path: Path, bundle: Bundle, left: list[int] = left) -> None:
            if not left[0]:
                raise KeyboardInterrupt
            left[0] -= 1
            save(path, bundle)

        with monkeypatch.context() as patch:
            patch.setattr(finishing, "save_bundle", killed)
            patch.setattr("headway.training.run.draw_losses", lambda *_: 1 / 0)
            with pytest.raises((KeyboardInterrupt, ZeroDivisionError)):
                train(None, run, resume=True, reporter=quiet)
        # All is written where the picture failed.
        assert find_bundle(run) == (run / "best" if saved < 2 else whole)
        assert load_bundle(run).record["validation_loss"] > 0

    train(None, run, resume=True, reporter=quiet)
    assert find_bundle(run) == whole
    assert (whole / "model.safetensors").read_bytes() == weights


def test_a_run_that_goes_on_stands_for_its_best_weights_meanwhile(
    make_config: MakeConfig, tmp_path: Path, quiet: Reporter, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = tmp_path / "run"
    with monkeypatch.context() as patch:
        judging([0.5], patch)
        train(make_config(), run, reporter=quiet)
    assert find_bundle(run) == run / "averaged"
    meanwhile = []
    quiet.validation = lambda record, metric: meanwhile.append(find_bundle(run))  # type: ignore[method-assign]

    result = train(make_config(training={"max_steps": 20}), run, resume=True, reporter=quiet)

    assert meanwhile == [run / "best"] * 2
    assert find_bundle(run).name == result.report["weights"]


@pytest.mark.parametrize(
    ("losses", "steps"),
    [
        ([0.1], [4, 8, 12, 16, 20]),  # as in the paper, where that does no worse than the best
        ([99.0, 0.1], [16, 20]),
        ([99.0, 98.0], [16, 20]),
        ([98.0, 99.0], [4, 8, 12, 16, 20]),
        ([float("nan"), 99.0], [16, 20]),
    ],
)
def test_fewer_weights_are_averaged_where_all_do_worse(
    make_config: MakeConfig,
    tmp_path: Path,
    quiet: Reporter,
    monkeypatch: pytest.MonkeyPatch,
    losses: list[float],
    steps: list[int],
) -> None:
    judging(losses, monkeypatch)
    training = {"max_steps": 20, "average_checkpoints": 5, "validation_sentences": 0}
    said: list[str] = []
    quiet.say = said.append  # type: ignore[method-assign]

    report = train(make_config(training=training), tmp_path / "run", reporter=quiet).report

    assert report["averaged_steps"] == steps
    mean = average_snapshots(tmp_path / "run" / "checkpoints", steps)
    for name, weights in load_bundle(tmp_path / "run" / "averaged").model.named_parameters():
        assert torch.equal(weights, mean[name])
    fewer = "Averaging the weights of the last 2 validations instead of 5"
    assert any(fewer in message for message in said) == (len(steps) == 2)
    assert report["best_is_better"] == (losses[-1] > 90)


def test_an_average_of_one_is_said_to_be_the_best_weights(
    make_config: MakeConfig, tmp_path: Path, quiet: Reporter
) -> None:
    training = {"max_steps": 4, "average_checkpoints": 1, "validation_sentences": 0}
    said: list[str] = []
    quiet.say = said.append  # type: ignore[method-assign]
    run = tmp_path / "run"

    report = train(make_config(training=training), run, reporter=quiet).report

    assert report["same_weights"]
    words = (
        f"{run / 'averaged'} and {run / 'best'} are the same weights, because the weights of one "
        "validation were averaged; use either."
    )
    assert any(message.startswith(words) for message in said)
    assert f"the same as {run / 'best'}, because" in which_weights(run)


@given(st.lists(st.integers(), min_size=1, max_size=40))
def test_fewer_are_always_the_last_ones_down_to_two(steps: list[int]) -> None:
    tried = list(fewer_and_fewer(steps))

    assert tried[0] == steps
    assert all(steps[-len(some) :] == some for some in tried)
    sizes = [len(some) for some in tried]
    assert sizes == sorted(set(sizes), reverse=True)
    assert sizes[-1] == min(2, len(steps))
    assert len(tried) <= len(steps).bit_length()


def test_the_best_weights_of_a_run_in_progress_are_described(
    make_config: MakeConfig, tmp_path: Path, quiet: Reporter
) -> None:
    cards = []
    quiet.validation = lambda record, metric: cards.append(  # type: ignore[method-assign]
        load_bundle(tmp_path / "run").card
    )
    train(make_config(training={"max_steps": 4}), tmp_path / "run", reporter=quiet)

    (card,) = cards
    for line in (
        "| training text | train.source train.target |",
        "Weights `best` of the run, those of step 4: the best so far, of a run that is not "
        "finished.",
    ):
        assert line in card.splitlines()
    assert "| steps, epochs | 4, " in card
    assert "## Scores" not in card


def test_what_a_record_tells_of_the_text_stays_from_the_first_best_weights_on(
    make_config: MakeConfig, data_folder: Path, tmp_path: Path, quiet: Reporter
) -> None:
    for side in ("source", "target"):
        lines = ["One two. Three four. Five six." for _ in range(32)]
        (data_folder / f"train.{side}").write_text("".join(f"{line}\n" for line in lines))
    sources = (data_folder / "valid.source").read_text().splitlines()
    run = tmp_path / "run"
    bundles = []
    quiet.validation = lambda record, metric: bundles.append(load_bundle(run))  # type: ignore[method-assign]

    train(make_config(training={"max_steps": 4}), run, reporter=quiet)

    bundles += [load_bundle(run / "best"), load_bundle(run / "averaged")]
    for bundle in bundles:
        assert bundle.several_sentences == 1.0
        assert bundle.trained_on_paragraphs
        assert bundle.record["examples"] == list(dict.fromkeys(sources))[:5]
    assert len(bundles) == 3


def test_best_weights_that_cannot_be_read_are_named_and_the_run_ends(
    make_config: MakeConfig, tmp_path: Path, quiet: Reporter
) -> None:
    run = tmp_path / "run"
    train(make_config(), run, reporter=quiet)
    (run / "best" / "model.safetensors").write_bytes(b"damaged")
    said: list[str] = []
    quiet.say = said.append  # type: ignore[method-assign]

    result = train(None, run, resume=True, reporter=quiet)

    assert result.bundle == run / "averaged"
    assert any("The best weights are not compared:" in message for message in said)
    assert json.loads((run / "report.json").read_text())["best_is_better"] is False
