"""New processes translate one sentence: with empty folders, with full ones, and by the peer."""

import sys
from pathlib import Path

import pytest

from headway.bench import first_sentence
from headway.bench.first_of_ctranslate2 import main
from headway.bench.first_sentence import measure_first_sentence
from headway.bench.jobs import Text
from headway.bundle import Bundle
from headway.decoding.options import SearchOptions
from headway.decoding.translator import TextTranslator
from headway.errors import RunError
from headway.interop.ctranslate2 import write

TEXT = Text(("the cat sat", "far"), 4, 100, length=5)


class Finished:
    """A process that has ended."""

    returncode = 0
    stderr = ""


def test_folders_are_new_after_an_installation_and_kept_after_a_start(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    clock = 0.0
    runs: list[tuple[str, str | None]] = []

    def run(command: list[str], env: dict[str, str], **options: object) -> Finished:
        nonlocal clock
        folder = env["NUMBA_CACHE_DIR"] if "headway" in command else None
        if folder is None:
            clock += 0.5
            assert command[1] == "-P"
            assert command[-3:] == ["3", "5", "5"]
        else:
            assert env["XDG_CACHE_HOME"] == folder
            assert "--trust-code" in command
            assert command[command.index("--text") + 1] == "the cat sat"
            for option, value in (("--beam", "3"), ("--min-length", "5"), ("--max-length", "5")):
                assert command[command.index(option) + 1] == value
            machine_code = Path(folder) / "code"
            clock += 2.0 if machine_code.exists() else 20.0
            machine_code.touch()
        runs.append((command[0], folder))
        return Finished()

    monkeypatch.setattr(first_sentence.subprocess, "run", run)
    monkeypatch.setattr(first_sentence.time, "perf_counter", lambda: clock)

    first = measure_first_sentence(Path("bundle"), Path("exported"), TEXT, 3, 2, trust_code=True)

    assert (first.after_installation, first.after_start, first.peer) == (20.0, 2.0, 0.5)
    assert {command for command, _ in runs} == {sys.executable}
    folders = [folder for _, folder in runs if folder is not None]
    assert len(folders) == 5
    assert len(set(folders)) == 3  # one for each round, and the one that is kept
    assert not any(Path(folder).exists() for folder in folders)


def test_a_process_that_fails_is_an_error_with_its_words(monkeypatch: pytest.MonkeyPatch) -> None:
    class Failed:
        returncode = 3
        stderr = "out of memory\n"

    monkeypatch.setattr(first_sentence.subprocess, "run", lambda *a, **k: Failed())
    with pytest.raises(RunError, match=r"ended with 3: out of memory Run this to see it alone"):
        measure_first_sentence(Path("bundle"), None, TEXT, 1, rounds=1)


def test_the_script_of_the_peer_prints_our_translation(
    bundle: Bundle, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write(bundle, tmp_path)
    main(str(tmp_path), "the cat sat", 1, 5, 5)
    options = SearchOptions(1, 0.0, min_length=5, max_length=5)
    translation = TextTranslator(bundle).translate(
        "the cat sat", mend_runaways=False, options=options
    )
    assert capsys.readouterr().out.rstrip("\n") == translation.text
