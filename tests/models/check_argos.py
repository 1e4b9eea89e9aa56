"""The demonstration as a package that Argos Translate installs and translates with.

Argos Translate is in an environment of its own, whose Python ARGOS_PYTHON names.
"""

import json
import os
import subprocess
from pathlib import Path

import pytest

from headway.decoding.translator import load
from headway.interop.argos import export

ROOT = Path(__file__).parents[2]
DEMO = ROOT / "runs" / "demo"
SENTENCES = 200

# Sentences come one by one. All sockets are closed to it, because Argos Translate would download
# its splitter of sentences.
_PROGRAM = """
import json, socket, sys

def refuse(self, address):
    raise OSError(f"reached for {address}")

socket.socket.connect = refuse
from argostranslate import package, translate

class Whole:
    def split_sentences(self, text):
        return [text]

package.install_from_path(sys.argv[1])
(installed,) = package.get_installed_packages()
translation = translate.get_translation_from_codes("ko", "en")
translation.underlying.sentencizer = Whole()
texts = [translation.translate(line) for line in json.load(sys.stdin)]
json.dump({"codes": [installed.from_code, installed.to_code], "readme": installed.get_readme(),
           "texts": texts}, sys.stdout)
"""


@pytest.fixture(scope="module")
def sentences() -> list[str]:
    text = (ROOT / "runs" / "demo-text" / "test_unseen.ko").read_text(encoding="utf-8")
    return text.splitlines()[:SENTENCES]


@pytest.fixture(scope="module")
def package(sentences: list[str], tmp_path_factory: pytest.TempPathFactory) -> Path:
    return export(DEMO, tmp_path_factory.mktemp("argos"), texts=sentences[:20]).folder


def _translated(package: Path, sentences: list[str], home: Path, beam: int) -> dict[str, list[str]]:
    settings = {
        "ARGOS_PACKAGES_DIR": str(home / "packages"),
        "ARGOS_BEAM_SIZE": str(beam),
        "ARGOS_COMPUTE_TYPE": "float32",
        "XDG_DATA_HOME": str(home),
        "XDG_CONFIG_HOME": str(home),
        "XDG_CACHE_HOME": str(home),
        "PYTHONPATH": "",
    }
    python = os.environ.get("ARGOS_PYTHON", str(ROOT / ".venv-argos" / "bin" / "python"))
    done = subprocess.run(
        [python, "-c", _PROGRAM, package],
        input=json.dumps(sentences),
        env=os.environ | settings,
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    )
    return json.loads(done.stdout)


def test_greedy_translations_are_ours(package: Path, sentences: list[str], tmp_path: Path) -> None:
    theirs = _translated(package, sentences, tmp_path, beam=1)
    assert theirs["codes"] == ["ko", "en"]
    assert "# Korean to English, for Argos Translate" in theirs["readme"]
    ours = load(DEMO, "cpu", precision="float32").translate(
        sentences, beam_size=1, mend_runaways=False
    )
    assert theirs["texts"] == [translation.text for translation in ours]


def test_its_own_search_finds_nearly_the_same(
    package: Path, sentences: list[str], tmp_path: Path
) -> None:
    """Its length penalty is another one, so a few beams may end elsewhere."""
    theirs = _translated(package, sentences, tmp_path, beam=4)["texts"]
    ours = load(DEMO, "cpu", precision="float32").translate(
        sentences, beam_size=4, mend_runaways=False
    )
    same = sum(a == b.text for a, b in zip(theirs, ours, strict=True))
    assert same >= 0.95 * len(sentences), same
