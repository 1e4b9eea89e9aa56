"""What is looked at on another device has the numbers of the CPU."""

from pathlib import Path

import pytest
import torch

import headway
from headway import Trace, Translator
from headway.evaluation.aligning import align_pairs
from headway.evaluation.scoring import score_pairs
from headway.inspection.ablation import head_importance
from headway.inspection.attribution import attribute
from headway.inspection.edit import Edit, forbid, replace, zero
from headway.inspection.lens import logit_lens

SOURCES = ["one two three", "six five"]
TARGETS = ["three two one", "five seven"]


@pytest.fixture(scope="module")
def both(runs: dict[str, Path], device: str) -> tuple[Translator, Translator]:
    """Return the model on the other device and on the CPU."""
    there, here = (headway.load(runs["cpu"], where) for where in (device, "cpu"))
    assert {p.device.type for p in there.models[0].parameters()} == {device}
    return there, here


def test_every_number_of_a_trace(both: tuple[Translator, Translator], tmp_path: Path) -> None:
    ours, theirs = (translator.trace(SOURCES[0], TARGETS[0]) for translator in both)
    assert list(ours) == list(theirs)
    for name in theirs:
        torch.testing.assert_close(
            ours[name].detach().cpu().as_subclass(torch.Tensor),
            theirs[name].detach().as_subclass(torch.Tensor),
            rtol=0,
            atol=1e-4,
            msg=lambda text, name=name: f"{name}: {text}",
        )
        ours.explain(name, *(0 for _ in ours[name].shape))
    for kind in ("safetensors", "json", "npz"):
        ours.save(tmp_path / f"trace.{kind}")
        assert list(Trace.load(tmp_path / f"trace.{kind}")) == list(ours)


@pytest.mark.parametrize(
    ("name", "edit"),
    [
        ("encoder.layers.0.self_attention.heads", zero(head=1)),
        ("encoder.layers.1.output", replace(torch.linspace(-1, 1, 4 * 18).reshape(4, 18))),
        ("source_mask", forbid(key=1)),
    ],
)
def test_an_edit(both: tuple[Translator, Translator], name: str, edit: Edit) -> None:
    ours, theirs = (t.trace(SOURCES[0], TARGETS[0], edit={name: edit})["logits"] for t in both)
    torch.testing.assert_close(
        ours.detach().cpu().as_subclass(torch.Tensor),
        theirs.detach().as_subclass(torch.Tensor),
        rtol=0,
        atol=1e-4,
    )


def test_the_lens(both: tuple[Translator, Translator]) -> None:
    ours, theirs = (logit_lens(t.trace(SOURCES[0], TARGETS[0])) for t in both)
    for some, others in zip(ours, theirs, strict=True):
        assert [[piece for piece, _ in row.best] for row in some.rows] == [
            [piece for piece, _ in row.best] for row in others.rows
        ]


def test_what_a_piece_is_due_to(both: tuple[Translator, Translator]) -> None:
    ours, theirs = (attribute(t, SOURCES[0], TARGETS[0], place=1, steps=8) for t in both)
    assert ours.source_scores == pytest.approx(theirs.source_scores, abs=1e-3)
    assert ours.prefix_scores == pytest.approx(theirs.prefix_scores, abs=1e-3)


def test_of_what_use_heads_are(both: tuple[Translator, Translator]) -> None:
    ours, theirs = (head_importance(t, SOURCES, TARGETS) for t in both)
    for kind, table in theirs.rises.items():
        torch.testing.assert_close(ours.rises[kind], table, rtol=0, atol=1e-3)


def test_scores_and_alignments_of_given_texts(both: tuple[Translator, Translator]) -> None:
    ours, theirs = ([s.log_prob for s in score_pairs(t, SOURCES, TARGETS)] for t in both)
    assert ours == pytest.approx(theirs, abs=1e-4)
    for moment in ("written", "read"):
        first, second = (align_pairs(t, SOURCES, TARGETS, moment=moment) for t in both)
        assert first == second


def test_a_keras_model_has_the_same_logits(
    runs: dict[str, Path], device: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("KERAS_BACKEND", "torch")
    pytest.importorskip("keras")
    from headway.interop.keras import from_bundle
    from headway.interop.keras.parity import largest_difference

    bundle = headway.load_bundle(runs["cpu"], device)
    assert largest_difference(bundle, from_bundle(bundle)) < 1e-4
