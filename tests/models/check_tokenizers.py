"""Ids and text of imported tokenizers equal those of transformers' MarianTokenizer."""

import random
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from headway.bundle import Bundle, load_bundle
from headway.data.tokenizer import END_ID, UNK_ID
from headway.interop.marian import import_marian

from .check_hugging_face import Both

GENERATED = 10_000
ALPHABET = "abcdefghij ABC  éüñß 가나다 漢字 ½ﬁ…«»‚ \t\u00a0\u200b\u3000 123,.!?-()[]{}'"
ALPHABET += '"&%$#@~>>deu<< ▁🙂'
FORMS = {"shared, tags": {"tags": True}, "separate": {"separate": True}}


@pytest.fixture(scope="module", params=FORMS, ids=list(FORMS))
def both(
    request: pytest.FixtureRequest,
    make_folder: Callable[..., Path],
    tmp_path_factory: pytest.TempPathFactory,
) -> Both:
    folder = make_folder(**FORMS[request.param])
    out = tmp_path_factory.mktemp("imported") / "bundle"
    import_marian(folder, out)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        from transformers import MarianTokenizer

        return Both(folder, None, MarianTokenizer.from_pretrained(folder), load_bundle(out))


def _generated() -> list[str]:
    """Return strings of letters, marks and spaces, some of which begin with a tag."""
    drawn = random.Random(7)
    texts = ["".join(drawn.choices(ALPHABET, k=drawn.randrange(1, 40))) for _ in range(GENERATED)]
    tags = (">>deu<<", ">>fra<< ", ">>kor_Hang<<  ", ">>xyz<< ")
    texts = [drawn.choice(tags) + t if i % 9 == 0 else t for i, t in enumerate(texts)]
    # A tag has no spaces here; transformers takes all text up to `<<` for one.
    return [t for t in texts if not (t.startswith(">>") and " " in t.partition("<<")[0])]


def _sides(both: Both, bundle: Bundle) -> list[tuple[Any, list[int], str]]:
    return [
        (bundle.source_tokenizer, both.theirs(0), "text"),
        (bundle.target_tokenizer, both.theirs(1), "text_target"),
    ]


@pytest.mark.parametrize("kind", ["real", "generated"])
def test_ids(both: Both, lines: tuple[list[str], list[str]], kind: str) -> None:
    for side, (ours, old, argument) in enumerate(_sides(both, both.bundle)):
        texts = lines[side] if kind == "real" else _generated()
        theirs = both.tokenizer(**{argument: texts})["input_ids"]
        expected = [[*(old[i] for i in ids), old[END_ID]] for ids in ours.encode_batch(texts)]
        different = [
            i for i, pair in enumerate(zip(theirs, expected, strict=True)) if pair[0] != pair[1]
        ]
        print(kind, side, len(texts), len(different), [texts[i] for i in different[:5]])
        assert not different


def test_text_of_each_piece_and_of_lines(both: Both, lines: tuple[list[str], list[str]]) -> None:
    ours, old = both.bundle.target_tokenizer, both.theirs(1)
    drawn = random.Random(3)
    ids = [[i] for i in range(4, len(ours))]
    ids += [drawn.choices(range(4, len(ours)), k=drawn.randrange(1, 30)) for _ in range(2000)]
    ids += [row for row in ours.encode_batch(lines[1]) if UNK_ID not in row]
    theirs = both.tokenizer.batch_decode(
        [[old[i] for i in row] for row in ids],
        skip_special_tokens=True,
        clean_up_tokenization_spaces=False,
        use_source_tokenizer=not both.separate,
    )
    written = [ours.decode(row).strip() for row in ids]
    different = [
        i for i, pair in enumerate(zip(theirs, written, strict=True)) if pair[0] != pair[1]
    ]
    print(len(ids), len(different), [(theirs[i], written[i]) for i in different[:5]])
    assert not different
