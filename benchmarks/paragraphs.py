"""How many sentences of running text are translated as they are alone.

    python benchmarks/paragraphs.py BUNDLE SENTENCES --sizes 2 6
    python benchmarks/paragraphs.py BUNDLE --hard en

SENTENCES has one sentence a line. The first form joins some of them, from 2 to 6, to each of 200
texts. The second takes the texts of `tests/unit/data/test_sentences.py` in a language instead. A
sentence counts if its text in the paragraph is the one that it has alone.
"""

import argparse
import random
import sys
from pathlib import Path

import headway
from headway.data.sentences import split_sentences

ROOT = Path(__file__).parents[1]
TEXTS = 200


def main() -> None:
    """Print the figures of one text and the sentences that differ."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("bundle")
    parser.add_argument("sentences", type=Path, nargs="?")
    parser.add_argument("--sizes", type=int, nargs=2, default=(2, 6))
    parser.add_argument("--hard", help="A language of the examples, such as en.")
    options = parser.parse_args()
    paragraphs = (
        _examples(options.hard) if options.hard else _joined(options.sentences, options.sizes)
    )

    translator = headway.load(options.bundle)
    whole = translator.translate([text for text, _ in paragraphs])
    alone = translator.translate(
        [sentence for _, sentences in paragraphs for sentence in sentences], split_sentences=False
    )
    rest = iter(alone)
    total = same = divided = 0
    for (text, sentences), translation in zip(paragraphs, whole, strict=True):
        expected = [next(rest).text for _ in sentences]
        divided += translation.num_sentences == len(sentences)
        total += len(sentences)
        found = translation.text
        for sentence, of_it in zip(sentences, expected, strict=True):
            if found.startswith(of_it):
                same += 1
                found = found[len(of_it) :].lstrip()
            else:
                print(f"{text!r}: {sentence!r} should be {of_it!r}, then {found!r}")
                break
    print(f"{len(paragraphs)} texts, divided as expected: {divided}")
    print(f"{total} sentences, as alone: {same}")


def _joined(path: Path, sizes: tuple[int, int]) -> list[tuple[str, list[str]]]:
    rng = random.Random(3)
    lines = (line.strip() for line in path.read_text(encoding="utf-8").split("\n"))
    single = [line for line in lines if line[-1:] in ".?!" and len(split_sentences(line)) == 1]
    rng.shuffle(single)
    paragraphs = []
    for _ in range(TEXTS):
        sentences = [single.pop() for _ in range(rng.randint(*sizes))]
        paragraphs.append((" ".join(sentences), sentences))
    return paragraphs


def _examples(language: str) -> list[tuple[str, list[str]]]:
    sys.path.insert(0, str(ROOT))
    from tests.unit.data.test_sentences import EXAMPLES

    return [
        (example.replace("¦", ""), [part.strip() for part in example.split("¦")])
        for example in EXAMPLES[language]
    ]


if __name__ == "__main__":
    main()
