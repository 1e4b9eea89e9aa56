"""Translations as a column of a data set of Ray Data; needs the extra `ray`."""

from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from headway.bulk.work import AT_ONCE
from headway.decoding.translator import TextTranslator
from headway.errors import ConfigError, MissingExtraError, suggest

if TYPE_CHECKING:
    import pyarrow


class _Actor:
    """Translates blocks of rows with a model that is loaded once."""

    def __init__(self, model: str, column: str, into: str, arguments: dict[str, Any]) -> None:
        loading = {name: arguments.pop(name) for name in _LOADING if name in arguments}
        self.translator = TextTranslator.load(model, **loading)
        self.column, self.into, self.arguments = column, into, arguments

    def __call__(self, rows: "pyarrow.Table") -> "pyarrow.Table":
        import pyarrow

        texts = cast("list[str | None]", rows.column(self.column).to_pylist())
        present_texts = [text for text in texts if text is not None]
        translations = iter(self.translator.translate(present_texts, **self.arguments))
        column = [None if text is None else next(translations).text for text in texts]
        return rows.append_column(self.into, pyarrow.array(column, pyarrow.string()))


_LOADING = ("device", "engine", "precision", "trust_code")


def ray_dataset(
    dataset: Any,
    model: str | Path,
    column: str,
    *,
    into: str = "translation",
    workers: int = 1,
    num_cpus: float = 1,
    **arguments: Any,
) -> Any:
    """Return a data set of Ray with one more column: the translations of another one.

    model: as for `headway.load`. workers: actors, each of which loads the model. num_cpus: the
    cores of each actor. arguments: those of `headway.load` and `Translator.translate`. A null stays
    null.
    Raises ConfigError for a missing column, or a name that is taken.
    """
    try:
        import ray.data  # pyright: ignore[reportMissingImports] - an extra of its own
    except ImportError as error:
        raise MissingExtraError.of("ray", "Ray Data is not installed.") from error
    names = dataset.columns()
    if names is not None and column not in names:
        raise ConfigError(f"The data set has no column '{column}'.", suggest(column, names))
    if names is not None and into in names:
        raise ConfigError(f"The data set already has a column '{into}'.", "Name another with into.")
    return dataset.map_batches(
        _Actor,
        fn_constructor_args=(str(model), column, into, arguments),
        batch_size=AT_ONCE,
        batch_format="pyarrow",
        compute=ray.data.ActorPoolStrategy(size=workers),
        num_cpus=num_cpus,
    )
