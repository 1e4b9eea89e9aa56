"""How well the confidence of runs is calibrated on a text that none of them has seen.

python benchmarks/confidence.py SOURCE REFERENCE RUN... [--nonsense FILE]

Runs that were trained before bundles had a confidence are calibrated first, on their validation
text: --valid SOURCE REFERENCE. Prints the expected calibration error, the ten bins, and how much of
the nonsense is in the lowest bin.
"""

import argparse
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import headway
from headway.data.corpus import Pair, read_parallel
from headway.data.lines import read_lines
from headway.decoding.confidence import CONFIDENCE
from headway.decoding.translator import TextTranslator
from headway.evaluation.comparing import sentence_chrf
from headway.evaluation.confidence import (
    WITHIN_REACH,
    calibration_error,
    measured_confidence,
)


def calibrated(run: Path, valid: Sequence[Pair]) -> TextTranslator:
    """Return the translator of a run, calibrated on this text if its bundle is not."""
    translator = headway.load(run, "cpu", precision="float32")
    if translator.confidence is not None:
        return translator
    sources = [pair.source for pair in valid]
    translations = translator.translate(sources, mend_runaways=False, split_sentences=False)
    found = measured_confidence(translator, valid, translations)
    bundle = translator.bundle
    return TextTranslator(replace(bundle, record=bundle.record | {CONFIDENCE: found}))


def main() -> None:
    """Print the figures of each run."""
    parser = argparse.ArgumentParser()
    parser.add_argument("source", type=Path)
    parser.add_argument("reference", type=Path)
    parser.add_argument("runs", type=Path, nargs="+")
    parser.add_argument("--valid", type=Path, nargs=2)
    parser.add_argument("--nonsense", type=Path)
    asked = parser.parse_args()
    pairs = read_parallel(asked.source, asked.reference)
    valid = read_parallel(*asked.valid) if asked.valid else []
    for run in asked.runs:
        translator = calibrated(run, valid)
        found = translator.translate([pair.source for pair in pairs], split_sentences=False)
        chrf = sentence_chrf([t.text for t in found], [pair.target for pair in pairs])
        within = [value >= WITHIN_REACH for value in chrf]
        sure = [t.confidence or 0.0 for t in found]
        print(f"{run}: expected calibration error {calibration_error(sure, within):.4f}")
        for low in range(10):
            bin_ = [(c, w) for c, w in zip(sure, within, strict=True) if min(int(c * 10), 9) == low]
            if bin_:
                said, seen = (sum(column) / len(bin_) for column in zip(*bin_, strict=True))
                print(f"  {len(bin_):5} of {len(sure):,}: said {said:.2f}, seen {seen:.2f}")
        if asked.nonsense:
            lines = list(read_lines(asked.nonsense))
            low = sum((t.confidence or 0.0) < 0.1 for t in translator.translate(lines))
            print(f"  nonsense in the lowest bin: {low} of {len(lines)}")


if __name__ == "__main__":
    main()
