"""An export is compared with the bundle before anybody sees it."""

import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from headway.bundle import Bundle, save_bundle
from headway.cli.app import main
from headway.errors import BundleError
from headway.interop.keras import export as export_module
from headway.interop.keras import from_bundle
from headway.interop.keras.backend import keras
from headway.interop.keras.export import export

MakeBundle = Callable[..., Bundle]


@pytest.fixture
def saved(make_bundle: MakeBundle, tmp_path: Path) -> Path:
    save_bundle(tmp_path / "ours", make_bundle())
    return tmp_path / "ours"


def test_the_folder_holds_the_model_and_its_tokenizer(saved: Path, tmp_path: Path) -> None:
    result = export(saved, tmp_path / "out")

    assert result.largest_difference < 1e-5
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == [
        "model.keras",
        "tokenizer.model",
    ]
    model = keras.saving.load_model(tmp_path / "out" / "model.keras")
    for one, other in zip(model.get_weights(), from_bundle(saved).get_weights(), strict=True):
        np.testing.assert_array_equal(one, other)


def test_logits_that_differ_leave_nothing_behind(
    saved: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def disturbed(bundle: Bundle) -> keras.Model:
        model = from_bundle(bundle)
        layer = model.get_layer("decoder").get_layer("decoder_layer_1")
        bias = layer.get_layer("decoder_layer_1_w_2").bias
        bias.assign(bias + 0.01 * np.arange(14))
        return model

    monkeypatch.setattr(export_module, "from_bundle", disturbed)

    with pytest.raises(BundleError, match="logits differ from ours by"):
        export(saved, tmp_path / "out")
    assert [path.name for path in tmp_path.iterdir()] == ["ours"]


def test_a_folder_with_content_is_not_touched(saved: Path, tmp_path: Path) -> None:
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "mine.txt").write_text("mine")
    with pytest.raises(BundleError, match="not empty"):
        export(saved, tmp_path / "out")
    assert (tmp_path / "out" / "mine.txt").read_text() == "mine"


def test_the_command(saved: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    main_exits(["export", str(saved), "--to", "keras", "--out", str(tmp_path / "a"), "--json"], 0)
    assert json.loads(capsys.readouterr().out)["largest_difference"] < 1e-5

    main_exits(["export", str(saved), "--to", "keros", "--out", str(tmp_path / "b")], 2)
    assert "Did you mean 'keras'" in capsys.readouterr().err


def main_exits(arguments: list[str], status: int) -> None:
    with pytest.raises(SystemExit) as stopped:
        main(arguments)
    assert stopped.value.code == status
