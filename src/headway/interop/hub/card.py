"""The page of a bundle on the hub: a header in YAML that the hub reads, then the bundle's card."""

from pathlib import Path, PurePosixPath
from typing import Any

from headway.data.hub import dataset_name
from headway.data.languages import is_language, language_code
from headway.evaluation.units import scores_in_percent
from headway.hub import hub_address, hub_library
from headway.saved_bundle import CODE, SavedBundle

_METRICS = {"exact": "exact_match"}
"""Metrics that the hub knows by another name."""
_SPLITS = {"valid": "validation", "test": "test"}

_USE = """\
## Use

With Headway:

```python
import headway

translator = headway.load("hf://{repository}"{argument})
print(translator.translate("…").text)
```
"""
_TRUST = f"""
The model has parts of its author's own, whose code is in `{CODE}`. It runs only with
`trust_code=True`. Read it first.
"""


def page(saved: SavedBundle, repository: str, licence: str = "", *, has_code: bool) -> str:
    """Return the file README.md of a bundle in a repository of the hub.

    The header has the languages, the data sets of the hub, the scores with their signatures and
    the model that a fine-tune began with, as far as the bundle's record names them.

    licence: of the model, by the hub's name for it; "" leaves it out. has_code: True if the
    repository gets the code of parts that are not Headway's own.
    """
    results = _results(saved.record)
    header = hub_library("Writing a model card").ModelCardData(
        language=_languages(saved) or None,
        license=licence or None,
        library_name="headway",
        pipeline_tag="translation",
        datasets=_datasets(saved.record) or None,
        base_model=_base_model(saved.record) or None,
        model_name=repository.partition("/")[2] if results else None,
        eval_results=results or None,
    )
    use = _USE.format(repository=repository, argument=", trust_code=True" if has_code else "")
    parts = [
        f"---\n{header.to_yaml()}\n---",
        saved.card.strip(),
        use + (_TRUST if has_code else ""),
    ]
    return "\n\n".join(filter(None, parts))


def _languages(saved: SavedBundle) -> list[str]:
    """Return the codes of both languages without their regions, which the hub does not know."""
    names = (saved.source_language, saved.target_language)
    codes = [language_code(name).partition("-")[0] for name in names if is_language(name)]
    return list(dict.fromkeys(codes))


def _datasets(record: dict[str, Any]) -> list[str]:
    """Return the names of the hub's data sets among the training texts."""
    data = _data(record)
    corpora = data.get("corpora") or [data]
    return list(dict.fromkeys(filter(None, (_dataset(corpus.get("source")) for corpus in corpora))))


def _dataset(source: object) -> str:
    """Return the name of a data set on the hub, "" for text from anywhere else."""
    name = dataset_name(source) if isinstance(source, str) else ""
    return "" if Path(name).exists() else name


def _base_model(record: dict[str, Any]) -> str:
    origin = (record.get("started_from") or {}).get("bundle", "")
    address = hub_address(origin) if isinstance(origin, str) and origin else None
    return address.repository if address else ""


def _results(record: dict[str, Any]) -> list[Any]:
    """Return each score of the validation and test text, with its signature."""
    result = hub_library("Writing a model card").EvalResult
    record, data, results = scores_in_percent(record), _data(record), []
    for text, split in _SPLITS.items():
        source = str(data.get(f"{text}_source") or "")
        name = _dataset(source) or PurePosixPath(source).name or f"{split} text of the training"
        results += [
            result(
                task_type="translation",
                dataset_type=name,
                dataset_name=name,
                dataset_split=split,
                metric_type=_METRICS.get(score["name"], score["name"]),
                metric_name=score["name"],
                metric_value=round(score["value"], 2),
                metric_args={"signature": score["signature"]},
            )
            for score in record.get(text, [])
        ]
    return results


def _data(record: dict[str, Any]) -> dict[str, Any]:
    return (record.get("config") or {}).get("data") or {}
