"""Lines that a model of paragraphs is given whole are remarked on, once."""

from dataclasses import replace
from pathlib import Path

from headway.bundle import load_bundle, save_bundle

from .conftest import Run

TEXT = "the cat sat.\nthe cat sat. a dog ran far!\na dog. ran far.\n"


def test_a_line_of_several_sentences_that_stays_whole_is_remarked_on_once(
    run: Run, bundle_path: Path, tmp_path: Path
) -> None:
    path, text = tmp_path / "paragraphs", tmp_path / "text"
    save_bundle(path, replace(load_bundle(bundle_path), record={"several_sentences": 0.5}))
    text.write_text(TEXT, encoding="utf-8")

    _, whole, err = run("translate", path, text)

    assert err.count("is translated as a whole") == 1
    assert "Note: line 2 has 2 sentences and is translated as a whole, because 50% of this" in err
    for option, same in (("--one-sentence-a-line", True), ("--split-sentences", False)):
        _, out, err = run("translate", path, text, option)
        assert "as a whole" not in err
        assert (out == whole) == same
    assert "as a whole" not in run("translate", path, text, "--quiet")[2]
    record = {"several_sentences": 0.5, "usual_sentences": 2}
    save_bundle(path, replace(load_bundle(bundle_path), record=record))
    text.write_text(TEXT + "the cat sat. a dog ran. the cat ran.\n" * 2, encoding="utf-8")
    _, _, err = run("translate", path, text)
    assert err.count("Note: line 2 has 2 sentences and is translated as a whole") == 1
    assert err.count("has 3 sentences and is translated in groups of at most 2") == 1
    assert "line 4 has 3" in err
    text.write_text(TEXT, encoding="utf-8")
    _, other, err = run("translate", bundle_path, text)
    assert "as a whole" not in err
    assert other != whole
