"""The card of a bundle: what it is, for the person who finds it."""

from typing import Any

from headway.config.data import CorpusConfig, DataConfig
from headway.config.run import RunConfig


def write_card(config: RunConfig, report: dict[str, Any]) -> str:
    """Return Markdown with data, licence, scores with signatures, and how it was trained."""
    data, recipe = config.data, config.recipe
    escaped = r"\|"  # or it would divide the cells of the table, even within code
    title = recipe.name or " to ".join(data.languages)
    lines = [f"# {title}", ""]
    if recipe.description:
        lines += [recipe.description, ""]
    lines += [
        "| | |",
        "|---|---|",
        f"| languages | {' → '.join(data.languages)} |",
        *(f"| training text | {_text(corpus)} |" for corpus in data.corpora or [data]),
        *_origin(report),
        f"| origin of the text | {recipe.data_source or 'not stated'} |",
        f"| licence of the text | {recipe.licence or 'not stated'} |",
        f"| parameters | {report['parameters']:,} |",
        f"| steps, epochs | {report['steps']:,}, {report['epochs']} |",
        f"| target pieces seen | {report['target_tokens']:,} |",
        f"| time | {report['seconds'] / 60:.1f} minutes |",
        f"| precision, seed | {report['precision']}, {report['seed']} |",
        f"| averaged weights | {len(report['averaged_steps'])} |",
        f"| trained on | {report['trained_on']} |",
        "",
        "## Scores",
        "",
        "| text | metric | score in % | signature |",
        "|---|---|---|---|",
    ]
    lines += [
        f"| {name} | {score['name']} | {score['value']:.2f} | "
        f"`{score['signature'].replace('|', escaped)}` |"
        for name in ("valid", "test")
        for score in report.get(name, [])
    ]
    return "\n".join([*lines, ""])


def write_interim_card(step: int, epoch: int, loss: float, scores: dict[str, float]) -> str:
    """Return Markdown for the best weights so far of a run that is not over.

    loss, scores: what validation found of them.
    """
    found = [f"- {name}: {value:.2f} %" for name, value in scores.items()]
    lines = [
        "# Best weights of a run",
        "",
        f"After step {step:,}, epoch {epoch}; validation loss {loss:.4f}.",
        *(["", "Greedy search on some validation text:", "", *found] if found else []),
    ]
    return "\n".join([*lines, ""])


def _text(corpus: DataConfig | CorpusConfig) -> str:
    """Name files and tag of a corpus, and what else is done with it."""
    words = [corpus.source, corpus.target, corpus.tag, "reversed" * corpus.reverse]
    if isinstance(corpus, CorpusConfig) and corpus.weight != 1.0:
        words.append(f"× {corpus.weight:g}")
    return " ".join(filter(None, words))


def _origin(report: dict[str, Any]) -> list[str]:
    """Return the row that names the model which training started from, if there is one."""
    if not (origin := report.get("started_from")):
        return []
    return [f"| continued from | {origin['bundle']} (manifest SHA-256 {origin['checksum']}) |"]
