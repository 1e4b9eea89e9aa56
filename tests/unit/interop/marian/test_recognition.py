"""The kind of a folder, by the names of its files."""

from pathlib import Path

import pytest

from headway.errors import BundleError, ConfigError
from headway.interop.marian.recognition import recognize


@pytest.mark.parametrize(
    ("names", "kind"),
    [
        (["config.json", "vocab.json", "source.spm", "pytorch_model.bin"], "hugging-face"),
        (["model.npz", "decoder.yml", "opus.vocab.yml", "source.spm"], "marian"),
        (["model.enpt.bin", "vocab.enpt.spm", "lex.50.50.enpt.s2t.bin"], "student"),
    ],
)
def test_each_kind(tmp_path: Path, names: list[str], kind: str) -> None:
    for name in names:
        (tmp_path / name).touch()
    assert recognize(tmp_path).kind == kind
    assert recognize(str(tmp_path)).path == tmp_path


def test_folders_of_something_else(tmp_path: Path) -> None:
    with pytest.raises(BundleError, match=r"holds no model of Marian\. Of Hugging Face it has co"):
        recognize(tmp_path)
    (tmp_path / "model.npz").mkdir()
    with pytest.raises(BundleError, match="holds no model"):
        recognize(tmp_path)
    with pytest.raises(BundleError, match="none does not exist"):
        recognize(tmp_path / "none")
    for name in ("config.json", "manifest.json", "model.safetensors"):
        (tmp_path / name).touch()
    with pytest.raises(BundleError, match="is a bundle of Headway"):
        recognize(tmp_path)
    with pytest.raises(BundleError, match=r"config\.json is a file\. Give the folder"):
        recognize(tmp_path / "config.json")
    with pytest.raises(ConfigError):
        recognize(3)  # type: ignore[arg-type]
