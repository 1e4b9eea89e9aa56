"""The card of a bundle: a page in Markdown for its users."""

from typing import Any

from headway.config.data import CorpusConfig, DataConfig
from headway.config.run import RunConfig
from headway.counted import counted
from headway.saved_bundle import AVERAGED, BEST


def write_card(config: RunConfig, record: dict[str, Any]) -> str:
    """Return Markdown with data, licence, scores with their signatures, and the training.

    record: of one bundle, with the keys of the run's report.
    """
    data, recipe = config.data, config.recipe
    title = recipe.name or " to ".join(data.languages)
    lines = [f"# {title}", "", *([recipe.description, ""] if recipe.description else [])]
    lines += [
        _weights(record),
        "",
        "| | |",
        "|---|---|",
        f"| languages | {' → '.join(data.languages)} |",
        *(f"| training text | {_text(corpus)} |" for corpus in data.corpora or [data]),
        *_origin(record),
        f"| origin of the text | {recipe.data_source or 'not stated'} |",
        f"| licence of the text | {recipe.licence or 'not stated'} |",
        f"| parameters | {record['parameters']:,} |",
        f"| steps, epochs | {record['steps']:,}, {record['epochs']} |",
        f"| target tokens seen | {record['target_tokens']:,} |",
        f"| time | {record['seconds'] / 60:.1f} minutes |",
        f"| precision, seed | {record['precision']}, {record['seed']} |",
        *_machine(record),
        *([f"| averaged weights | {len(steps)} |"] if (steps := record["averaged_steps"]) else []),
        f"| trained on | {record['trained_on']} |",
        *_scores(record),
    ]
    validation = record["validation"][record["weights"]]
    lines += ["", f"Loss on validation text: {validation['loss']:.4f}."]
    if validation["scores"]:
        scores = ", ".join(f"{name} {value:.2f} %" for name, value in validation["scores"].items())
        lines.append(f"Greedy search on some of it: {scores}.")
    return "\n".join([*lines, ""])


def _weights(record: dict[str, Any]) -> str:
    """Return a sentence on which weights of the run these are, and which are better."""
    best = record["weights"] == BEST
    name, alternative = (BEST, AVERAGED) if best else (AVERAGED, BEST)
    averaged = record.get("averaged_steps") or []
    step = record["best_step"] if best else averaged[0] if len(averaged) == 1 else None
    begin = f"Weights `{name}` of the run, " + (
        f"those of step {step:,}" if step is not None else "a mean over validations"
    )
    if "best_is_better" not in record:
        return f"{begin}: the best so far, of a run that is not finished."
    if record.get("same_weights"):
        return f"{begin}: the same as `{alternative}`, because one validation was averaged."
    if record["best_is_better"] == best:
        return f"{begin}: the better ones by validation."
    return f"{begin}. By validation `{alternative}` is better."


def _scores(record: dict[str, Any]) -> list[str]:
    escaped = r"\|"  # a plain one divides cells, even within code
    rows = [
        f"| {name} | {score['name']} | {score['value']:.2f} | "
        f"`{score['signature'].replace('|', escaped)}` |"
        for name in ("valid", "test")
        for score in record.get(name, [])
    ]
    heads = ["", "## Scores", "", "| text | metric | score in % | signature |", "|---|---|---|---|"]
    return heads + rows if rows else []


def _text(corpus: DataConfig | CorpusConfig) -> str:
    """Return the files, tag, direction and weight of a corpus."""
    words = [corpus.source, corpus.target, corpus.tag, "reversed" * corpus.reverse]
    if isinstance(corpus, CorpusConfig) and corpus.weight != 1.0:
        words.append(f"× {corpus.weight:g}")
    return " ".join(filter(None, words))


def _machine(record: dict[str, Any]) -> list[str]:
    """Return the rows on processor and versions; earlier versions recorded none."""
    if not (machine := record.get("machine")):
        return []
    versions = [f"{name} {number}" for name, number in machine["versions"].items() if number]
    return [
        f"| processor | {machine['processor']}, {counted(machine['threads'], 'thread')} |",
        f"| versions | {', '.join(versions)} |",
    ]


def _origin(record: dict[str, Any]) -> list[str]:
    """Return the row on the model that a fine-tune started from, if it is one."""
    if not (origin := record.get("started_from")):
        return []
    return [f"| continued from | {origin['bundle']} (manifest SHA-256 {origin['checksum']}) |"]
