"""The tables and the picture of the page on performance, from results of translation.

    python benchmarks/draw_translation.py en --picture FILE RESULT [RESULT …]

Each RESULT is written by `translation_limits.py`. Prints Markdown in English or Korean (`ko`): one
line for each cell, then the time of a sentence alone and beside a busy core. The picture has the
same ratios. Both sides are in int8, also where the comparison does not count it because of a score.
"""

import argparse
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from headway.inspection.drawing import drawing

WORDS = {
    "en": {
        "models": {"tiny": "tiny", "base": "base", "opus-mt": "OPUS-MT's size"},
        "greedy": "greedy",
        "beam4": "beam 4",
        "file": "file",
        "one": "one sentence",
        "axis": "times the speed of CTranslate2's best",
        "series": ("as installed", "best", "limit"),
        "head": (
            "model", "search", "text", "as installed", "best", "CTranslate2", "ratio", "limit",
            "share of the limit",
        ),
        "times": (
            "model", "search", "as installed", "CTranslate2", "busy: as installed",
            "busy: CTranslate2", "file, busy: ratio",
        ),
        "limit by": {"products": "products", "bytes": "bytes"},
    },
    "ko": {
        "models": {"tiny": "tiny", "base": "base", "opus-mt": "OPUS-MT 크기"},
        "greedy": "그리디",
        "beam4": "빔 4",
        "file": "파일",
        "one": "한 문장씩",
        "axis": "CTranslate2의 가장 빠른 구성을 1로 본 속도",
        "series": ("설치한 그대로", "가장 빠른 구성", "한계"),
        "head": (
            "모델", "탐색", "글", "설치한 그대로", "가장 빠른 구성", "CTranslate2", "비율", "한계",
            "한계 대비",
        ),
        "times": (
            "모델", "탐색", "설치한 그대로", "CTranslate2", "바쁠 때: 설치한 그대로",
            "바쁠 때: CTranslate2", "바쁠 때 파일: 비율",
        ),
        "limit by": {"products": "곱셈", "bytes": "읽기"},
    },
}  # fmt: skip


def cells_of(result: dict[str, Any], *, busy: bool) -> list[dict[str, Any]]:
    """Return the cells: files first, each with greedy search first."""
    cells = [cell for cell in result["cells"] if cell["busy"] == busy]
    return sorted(cells, key=lambda cell: (cell["batch"] == 1, cell["search"] != "greedy"))


def fastest(cell: dict[str, Any], side: str) -> float:
    """Return the tokens a second of a side's fastest configuration in int8."""
    return max(
        row["tokens_per_second"]
        for row in cell["configurations"]
        if row["side"] == side and row["precision"] == "int8"
    )


def ratios(cell: dict[str, Any]) -> tuple[float, float, float]:
    """Return how many times as fast as the peer we are as installed, at best and at the limit."""
    peer = fastest(cell, "ctranslate2")
    ours = cell["as_installed"]["tokens_per_second"], fastest(cell, "headway")
    return ours[0] / peer, ours[1] / peer, cell["limit"]["tokens_per_second"] / peer


def main_table(results: list[dict[str, Any]], words: dict[str, Any]) -> Iterator[str]:
    """Yield a line for each cell: tokens a second, ratio, limit, share."""
    yield f"| {' | '.join(words['head'])} |"
    yield "|" + "---|" * len(words["head"])
    for result in results:
        for cell in cells_of(result, busy=False):
            limit, best = cell["limit"], fastest(cell, "headway")
            as_installed, at_best, _ = ratios(cell)
            values = [
                words["models"][result["model"]],
                words[cell["search"]],
                words["one" if cell["batch"] == 1 else "file"],
                f"{cell['as_installed']['tokens_per_second']:,.0f}",
                f"{best:,.0f}",
                f"{fastest(cell, 'ctranslate2'):,.0f}",
                f"{as_installed:.2f} / **{at_best:.2f}**",
                f"{limit['tokens_per_second']:,.0f}, {words['limit by'][limit['by']]}",
                f"{best / limit['tokens_per_second']:.0%}",
            ]
            yield f"| {' | '.join(values)} |"


def times_table(results: list[dict[str, Any]], words: dict[str, Any]) -> Iterator[str]:
    """Yield p50 / p99 of a sentence in milliseconds, alone and beside a busy core."""
    yield f"| {' | '.join(words['times'])} |"
    yield "|" + "---|" * len(words["times"])
    for result in results:
        for search in ("greedy", "beam4"):
            of_search = [c for c in result["cells"] if c["search"] == search]
            single = {c["busy"]: c for c in of_search if c["batch"] == 1}
            file = next((c for c in of_search if c["batch"] > 1 and c["busy"]), None)
            if True not in single or file is None:
                continue
            times = [
                f"{row['ms']['p50']:.2f} / {row['ms']['p99']:.2f}"
                for busy in (False, True)
                for row in (single[busy]["as_installed"], single[busy]["fastest_peer"])
            ]
            name = words["models"][result["model"]]
            rates = [file[side]["tokens_per_second"] for side in ("as_installed", "fastest_peer")]
            ratio = f"{rates[0] / rates[1]:.2f}"
            yield f"| {' | '.join([name, words[search], *times, ratio])} |"


def draw(results: list[dict[str, Any]], words: dict[str, Any], path: Path) -> None:
    """Draw the ratios as bars, and the limits as marks, on a logarithmic axis."""
    installed_name, best_name, limit_name = words["series"]
    with drawing(path, 4.3 * len(results), 2.6) as figure:
        panels = figure.subplots(1, len(results), squeeze=False)[0]
        for panel, result in zip(panels, results, strict=True):
            cells = cells_of(result, busy=False)
            places = range(len(cells))
            installed, best, limits = zip(*map(ratios, cells), strict=True)
            panel.barh(
                [p - 0.19 for p in places], installed, 0.34, color="#9ecae1", label=installed_name
            )
            panel.barh([p + 0.19 for p in places], best, 0.34, color="#2171b5", label=best_name)
            panel.plot(limits, places, "|", color="#d94801", markersize=16, label=limit_name)
            for place, value in zip(places, best, strict=True):
                panel.text(value * 1.05, place + 0.19, f"{value:.2f}", va="center", fontsize=8)
            panel.axvline(1, color="black", linewidth=0.8)
            panel.set_xscale("log", base=2)
            panel.set_xlim(0.5, max(32, 1.2 * max(limits)))
            panel.xaxis.set_major_formatter(lambda value, place: f"{value:g}")
            panel.set_title(words["models"][result["model"]], fontsize=10)
            panel.tick_params(labelsize=9)
            panel.spines[["top", "right"]].set_visible(False)
            titles = [
                f"{words['one' if cell['batch'] == 1 else 'file']}, {words[cell['search']]}"
                for cell in cells
            ]
            panel.set_yticks(places, titles)
            panel.invert_yaxis()

        figure.supxlabel(words["axis"], fontsize=9)
        handles, labels = panels[0].get_legend_handles_labels()
        figure.legend(
            handles, labels, loc="outside upper center", ncols=3, fontsize=9, frameon=False
        )


def main() -> None:
    """Print and draw."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("language", choices=sorted(WORDS))
    parser.add_argument("results", type=Path, nargs="+")
    parser.add_argument("--picture", type=Path, required=True)
    arguments = parser.parse_args()
    words = WORDS[arguments.language]
    results = [json.loads(path.read_text(encoding="utf-8")) for path in arguments.results]
    for line in main_table(results, words):
        print(line)
    print()
    for line in times_table(results, words):
        print(line)
    draw(results, words, arguments.picture)


if __name__ == "__main__":
    main()
