"""The served models, and their descriptions."""

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Annotated, Any

from fastapi import APIRouter, Depends, Request

from headway.errors import suggest
from headway.hub import hub_address
from headway.inspection.ablation import KINDS, attentions_of
from headway.inspection.catalog import catalog
from headway.inspection.model_kind import variant_of
from headway.inspection.sizes import letter_sizes
from headway.inspection.translator import Translator, load
from headway.model.accounting import count_parameters
from headway.saved_bundle import find_bundle
from headway.serving.failures import Json, RefusedError
from headway.serving.limits import BEAM, CACHE_BYTES, CHARACTERS
from headway.serving.mathml import mathml
from headway.serving.traces import TraceStore

router = APIRouter()


@dataclass(eq=False)
class Served:
    """One model, used by one request at a time."""

    name: str
    translator: Translator
    checksum: str
    path: str | None = None
    """The path as the user typed it, for the Python code on the page; None to show the name."""
    turn: asyncio.Lock = field(default_factory=asyncio.Lock)
    """Held while the model computes; it belongs to the event loop that first waited for it."""

    @property
    def longest(self) -> int:
        """Return the largest number of source pieces of a sentence."""
        limit = self.translator.requests.position_limit
        return min(self.translator.bundle.decoding.max_source_pieces, limit)

    @property
    def examples(self) -> list[str]:
        """Return example sentences, from the recipe or else from the validation text.

        They are in the record of the bundle. A file that the record names is never opened, because
        a bundle from a stranger could name any file of this machine.
        """
        record = self.translator.bundle.record
        recipe = (record.get("config") or {}).get("recipe")
        of_recipe = recipe.get("examples") if isinstance(recipe, dict) else None
        return _sentences(of_recipe) or _sentences(record.get("examples"))

    @cached_property
    def description(self) -> dict[str, Any]:
        """Return everything that a page needs to know, except the examples."""
        bundle = self.translator.bundle
        config, sizes = bundle.config, letter_sizes(bundle.model, 1, 1)
        return {
            "name": self.name,
            "given": self.path or self.name,
            "checksum": self.checksum,
            "parameters": count_parameters(bundle.model),
            "config": config.model_dump(),
            "languages": {"source": bundle.source_language, "target": bundle.target_language},
            "sizes": {
                **{name: sizes[name] for name in ("d_model", "d_ff", "d_k", "d_v")},
                "num_heads": config.num_heads,
                "num_encoder_layers": config.num_encoder_layers,
                "num_decoder_layers": config.num_decoder_layers,
                "source_vocab_size": config.source_vocab_size,
                "target_vocab_size": config.target_vocab_size,
            },
            "norm_position": config.norm_position,
            "positional_encoding": variant_of(bundle.model).positions,
            "first_position": variant_of(bundle.model).first_position,
            "decoding": bundle.decoding.model_dump(),
            "max_beam": BEAM,
            "limits": {"characters": CHARACTERS, "pieces": self.longest, "beam": BEAM},
            "catalog": _catalog_rows(self.translator),
            "attention": _attentions(self.translator),
        }


class Explorer:
    """The state that requests share: models by name, and traces."""

    def __init__(self, models: Sequence[Served], cache_bytes: int = CACHE_BYTES) -> None:
        """Serve these models; the first is the default."""
        self.models = {served.name: served for served in models}
        self.traces: TraceStore[Served] = TraceStore(cache_bytes)
        # One at a time, because figures take memory and matplotlib's settings are global.
        self.export_turn = asyncio.Lock()

    def model(self, name: str | None) -> Served:
        """Return the model of this name; RefusedError for an unknown name."""
        if name is None:
            return next(iter(self.models.values()))
        if name not in self.models:
            raise RefusedError(
                404, f"There is no model '{name[:100]}'.", suggest(name, self.models)
            )
        return self.models[name]


def explorer_of(request: Request) -> Explorer:
    """Return the models and traces of the application."""
    return request.app.state.explorer


CurrentExplorer = Annotated[Explorer, Depends(explorer_of)]


def load_models(
    paths: Sequence[Path],
    device: str,
    say: Callable[[str], None] = lambda _: None,
    *,
    trust_code: bool = False,
) -> list[Served]:
    """Load bundles; each gets the name of its folder, its run or its repository on the hub.

    trust_code: run the Python code that a bundle contains.
    """
    models: list[Served] = []
    for path, name in zip(paths, names_of(paths), strict=True):
        say(f"Loading {name}")
        # The pages show translations beside traces, which are in float32.
        loaded = load(find_bundle(path), device, precision="float32", trust_code=trust_code)
        models.append(
            Served(name, loaded, loaded.bundle.checksum, str(hub_address(path) or path.as_posix()))
        )
    return models


@router.get("/api/models")
def models(explorer: CurrentExplorer) -> Json:
    """Return the names of the models; the first is the default."""
    names = list(explorer.models)
    return Json({"models": [{"name": name, "default": name == names[0]} for name in names]})


@router.get("/api/model")
def model(explorer: CurrentExplorer, model: str | None = None) -> Json:
    """Return sizes, limits, examples and catalog of one model."""
    served = explorer.model(model)
    return Json(served.description | {"examples": served.examples})


@router.get("/api/vocabulary")
def vocabulary(explorer: CurrentExplorer, model: str | None = None) -> Json:
    """Return the pieces of the target, in the order of the vocabulary axis."""
    tokenizer = explorer.model(model).translator.bundle.target_tokenizer
    return Json({"target": tokenizer.pieces(range(len(tokenizer)))})


def names_of(paths: Sequence[Path]) -> list[str]:
    """Return a name for each bundle: its folder, run or repository, numbered if it is taken."""
    names: list[str] = []
    for path in paths:
        names.append(_free_name(_name(path, find_bundle(path)), names))
    return names


def _sentences(value: Any) -> list[str]:
    """Return the short texts of a list in a record."""
    texts = value if isinstance(value, list) else []
    return [text for text in texts if isinstance(text, str) and 0 < len(text) <= CHARACTERS]


def _name(path: Path, folder: Path) -> str:
    if address := hub_address(path):
        return address.repository.rpartition("/")[2]
    folder = folder.resolve()
    return folder.parent.name if folder.name in ("averaged", "best") else folder.name


def _free_name(name: str, taken: Sequence[str]) -> str:
    number, free = 2, name
    while free in taken:
        free, number = f"{name}-{number}", number + 1
    return free


def _catalog_rows(translator: Translator) -> list[dict[str, Any]]:
    return [
        {
            "pattern": row.pattern,
            "shape": row.shape,
            "axes": [axis.name for axis in row.axes],
            "equation": row.equation,
            "latex": row.latex,
            "mathml": mathml(row.latex),
            "english": row.english,
            "korean": row.korean,
            "derived": row.derived,
        }
        for row in catalog(variant_of(translator.bundle.model)).values()
    ]


def _attentions(translator: Translator) -> list[dict[str, Any]]:
    attentions = []
    names = dict(zip(KINDS, ("encoder", "decoder", "cross"), strict=True))
    for kind, short in names.items():
        layers = attentions_of(translator.bundle.model, kind)
        for number, (name, attention) in enumerate(layers):
            attentions.append(
                {
                    "name": name,
                    "kind": short,
                    "layer": number,
                    "of": len(layers),
                    "heads": attention.num_heads,
                }
            )
    return attentions
