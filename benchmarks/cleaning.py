"""Plant faults in parallel text, clean it, and count mended faults and wrong changes.

    python benchmarks/cleaning.py SOURCE TARGET OUT [--pairs 8000] [--seed 0]

Writes OUT/right.*, OUT/messy.* and OUT/clean.*, and prints a table. No line has
two faults, except in the two shifted stretches, which also have the other faults.
"""

import argparse
import html
import random
from collections import Counter
from pathlib import Path

import headway
from headway.data.corpus import Pair, read_pairs
from headway.data.survey import survey

FIX = ["mojibake", "html", "spaces", "shift", "exchanged"]
DROP = ["empty", "duplicates", "script", "language"]
SHARES = {
    "html": 0.03,
    "mojibake": 0.03,
    "spaces": 0.03,
    "empty": 0.02,
    "exchanged": 0.03,
    "wrong language": 0.03,
    "duplicate": 0.05,
}


def planted(kind: str, pair: Pair, other: Pair, rng: random.Random) -> Pair:
    """Return a pair with a fault. other: a pair whose source becomes a wrong target."""
    source, target = pair
    if kind == "html":
        return Pair(html.escape(source), html.escape(target) if rng.random() < 0.5 else target)
    if kind == "mojibake":
        return Pair(source.encode().decode("latin-1"), target)
    if kind == "spaces":
        return Pair(source, target.replace(" ", rng.choice(["\u00a0", "  ", "\t", "\u2009"]), 2))
    if kind == "empty":
        return Pair("", target) if rng.random() < 0.5 else Pair(source, " ")
    if kind == "exchanged":
        return Pair(target, source)
    return Pair(source, other.source)  # the wrong language


def messy_text(
    pairs: list[Pair], spare: list[Pair], rng: random.Random
) -> tuple[list[Pair], list[str]]:
    """Return pairs with faults, and the fault of each line, which is empty for most.

    spare: as many pairs that are none of these.
    """
    rows = [(pair, "") for pair in pairs]
    free = list(range(len(rows)))
    rng.shuffle(free)
    for kind, share in SHARES.items():
        fits = [row for row in free if kind != "html" or set(rows[row][0].source) & set("<>&'\"")]
        for row in fits[: round(share * len(pairs))]:
            free.remove(row)
            if kind != "duplicate":
                rows[row] = planted(kind, rows[row][0], spare[row], rng), kind
            else:
                rows[row] = rows[row][0], "is repeated"
    for pair, fault in [row for row in rows if row[1] == "is repeated"]:
        rows.insert(
            rng.randrange(rows.index((pair, fault)) + 1, len(rows) + 1), (pair, "duplicate")
        )
    messy = [pair for pair, _ in rows]
    faults = ["" if fault == "is repeated" else fault for _, fault in rows]
    targets = [pair.target for pair in messy]
    for start, end, late in ((1500, 2100, 1), (5000, 5300, -2)):
        if late > 0:  # lines that belong to nothing, and as many missing at the end
            strangers = [pair.target for pair in spare[:late]]
            targets[start:end] = [*strangers, *targets[start : end - late]]
        else:
            strangers = [pair.target for pair in spare[5 : 5 - late]]
            targets[start:end] = [*targets[start - late : end], *strangers]
        for row in range(start, end):
            faults[row] = faults[row] or "shift"
    return [Pair(pair.source, target) for pair, target in zip(messy, targets, strict=True)], faults


def write(pairs: list[Pair], stem: Path) -> list[Path]:
    """Write two files and return them."""
    paths = [stem.with_suffix(".source"), stem.with_suffix(".target")]
    for side, path in enumerate(paths):
        path.write_text("".join(f"{pair[side]}\n" for pair in pairs), encoding="utf-8")
    return paths


def main() -> None:
    """Plant, clean and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("source", type=Path)
    parser.add_argument("target", type=Path)
    parser.add_argument("out", type=Path)
    parser.add_argument("--pairs", type=int, default=8000)
    parser.add_argument("--seed", type=int, default=0)
    asked = parser.parse_args()
    asked.out.mkdir(parents=True, exist_ok=True)
    rng = random.Random(asked.seed)
    text = read_pairs(asked.source, asked.target)
    everything = list(dict.fromkeys(pair.stripped() for pair in text))
    suspicious = {line for finding in survey(everything) for line in finding.lines}
    quiet = [pair for line, pair in enumerate(everything, 1) if line not in suspicious]
    pairs, spare = quiet[: asked.pairs], quiet[asked.pairs : 2 * asked.pairs]
    messy, faults = messy_text(pairs, spare, rng)
    write(pairs, asked.out / "right")
    done = headway.clean_text(
        *write(messy, asked.out / "messy"),
        out=(asked.out / "clean.source", asked.out / "clean.target"),
        fix=FIX,
        drop=DROP,
    )
    print("\n".join(done.lines()))
    log = Path(done.log).read_text(encoding="utf-8").split("\n")[1:-1]
    changed: dict[int, set[str]] = {}
    for line, id, *_ in (row.split("\t") for row in log):
        changed.setdefault(int(line), set()).add(id)
    kept = Counter(read_pairs(*done.files))
    right = set(pairs)
    totals, logged = Counter(faults), Counter(faults[line - 1] for line in changed)
    print("| fault | planted | in the log |\n|---|---|---|")
    for kind in (*SHARES, "shift"):
        print(f"| {kind} | {totals[kind]:,} | {logged[kind]:,} |")
    print(f"| none | {totals['']:,} | {logged['']:,} (falsely) |")
    wrong = sum(count for pair, count in kept.items() if pair not in right)
    lost = sum(pair not in kept for pair in pairs)
    before = sum(pair not in right for pair in messy)
    print(f"Pairs that are no right ones: {before:,} before, {wrong:,} after cleaning.")
    missing = len(right - set(messy))
    print(f"Right pairs that are missing: {missing:,} before, {lost:,} after cleaning.")


if __name__ == "__main__":
    main()
