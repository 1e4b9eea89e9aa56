"""A trained model on disk: config, tokenizer, weights and card, with a checksum of each file.

A bundle is a folder:

    config.json         sizes of the model, default search, languages, record of the training,
                        and the classes of parts that are not Headway's own
    model.safetensors   weights by their attribute path; a shared table is stored once
    tokenizer.model     SentencePiece for both sides; or source.model and target.model
    card.md             the same for people: data, scores with signatures, licence, how trained
    shortlist.safetensors   if one was learned: which pieces a sentence's translation may need
    parts.py            if pushed with one: code of parts that are not Headway's own
    drafts.safetensors  if they were counted: which pieces follow others in the training text
    manifest.json       SHA-256 of each of the files above
"""

import hashlib
import json
import pickle
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from multiprocessing.reduction import ForkingPickler
from pathlib import Path
from types import ModuleType
from typing import Any

import torch
from torch import Tensor, nn

from headway.bundle_folder import MANIFEST, check_place, new_bundle
from headway.config.decoding import DecodingConfig
from headway.config.model import ModelConfig
from headway.data.draft_counts import DraftCounts
from headway.data.shortlist import Shortlist
from headway.data.tokenizer import Tokenizer
from headway.errors import BundleError, ConfigError, require_type
from headway.home import expanded
from headway.hub import hub_address
from headway.json_text import to_json
from headway.model.customized import changed_parts, lost_buffers, other_settings
from headway.model.transformer import Transformer
from headway.model.uninitialized import empty_model
from headway.runtime.atomic_files import write_atomically, writing
from headway.runtime.devices import check_device
from headway.runtime.mapped_tensors import MappedTensors, safetensors_parts
from headway.saved_bundle import (
    CODE,
    DRAFTS,
    FORMAT,
    SHORTLIST,
    WEIGHTS,
    SavedBundle,
    as_bundle_error,
    read_bundle,
)

_OTHER_PARTS = "A model that was changed before it was saved is loaded with the same change=."

SEVERAL_SENTENCES = 0.25
"""Text with more lines of several sentences is not split; aligned sentences have 0.05 at most."""


def summary(bundle: "Bundle") -> list[str]:
    """Describe a bundle in phrases of a few words: its languages, and the sizes of its model."""
    config, target = bundle.config, bundle.config.target_vocab_size
    source = "" if bundle.joint else f"{config.source_vocab_size:,} and "
    layers = f"{config.num_encoder_layers} + {config.num_decoder_layers} layers"
    parameters = sum(weights.numel() for weights in bundle.model.parameters())
    return [
        f"{bundle.source_language} to {bundle.target_language}",
        f"{layers} of width {config.d_model}",
        f"{parameters:,} parameters",
        f"{source}{target:,} tokens",
    ]


Change = Callable[[Transformer], object]
"""A function that puts parts of the caller's own into a model, before weights are set."""


@dataclass(frozen=True, slots=True)
class OwnParts:
    """A change by the code of a bundle, which has run."""

    code: bytes
    """The content of the file parts.py."""
    change: Change
    """The function of this name in it."""

    def __call__(self, model: Transformer) -> object:
        """Put the parts into a model."""
        return self.change(model)


@dataclass(frozen=True, slots=True)
class Bundle:
    """A model with everything that it needs to translate text."""

    config: ModelConfig
    model: Transformer
    source_tokenizer: Tokenizer
    target_tokenizer: Tokenizer
    decoding: DecodingConfig = field(default_factory=DecodingConfig)
    source_language: str = "source"
    target_language: str = "target"
    record: dict[str, Any] = field(default_factory=dict)
    """How it was trained and what it scored: plain JSON values."""
    card: str = ""
    shortlist: Shortlist | None = None
    """Learned from parallel text (`headway shortlist`); used if a search asks for it."""
    drafts: DraftCounts | None = None
    """Counted in parallel text (`headway drafts`); greedy search guesses pieces by them."""
    code: bytes = b""
    """The file parts.py, the code of the author's own parts; empty without one."""
    checksum: str = ""
    """SHA-256 of the files of the bundle; empty for a bundle that was not read from files."""
    folder: Path | None = None
    """The folder that it was read from; for a run, the folder of its better weights."""

    def __repr__(self) -> str:
        """Return languages and sizes, on one line."""
        return f"Bundle({', '.join(summary(self))})"

    @property
    def tags(self) -> list[str]:
        """Return the tags that training put before sources, one for each corpus; "" for none.

        For an imported model, they are all tags in its vocabulary.
        """
        if tags := (self.record.get("imported") or {}).get("tags"):
            return list(tags)
        data = (self.record.get("config") or {}).get("data", {})
        corpora = data.get("corpora") or [data]
        return list(dict.fromkeys(corpus.get("tag", "") for corpus in corpora))

    @property
    def tag(self) -> str:
        """Return the tag that is put before each source that has none; "" for none.

        For an imported model, it is the tag given at the import. A fine-tune of such a model has
        the tag of its training text.
        """
        if imported := self.record.get("imported"):
            return str(imported.get("tag", ""))
        tags = self.tags if self.source_tokenizer.has_leading_tags else []
        return tags[0] if len(tags) == 1 else ""

    @property
    def several_sentences(self) -> float:
        """Return the share of its training lines with more than one sentence; 0 if unknown."""
        share = self.record.get("several_sentences")
        return float(share) if isinstance(share, int | float) else 0.0

    @property
    def trained_on_paragraphs(self) -> bool:
        """Return True if the model was trained on lines of several sentences, and expects them."""
        return self.several_sentences > SEVERAL_SENTENCES

    @property
    def usual_sentences(self) -> int | None:
        """Return the number of sentences that 95 % of training lines do not exceed, or None."""
        usual = self.record.get("usual_sentences")
        return usual if type(usual) is int and usual > 0 else None

    @property
    def source_script(self) -> str:
        """Return the script of nine in ten of its training sources, such as `HANGUL`, or ""."""
        script = self.record.get("source_script")
        return script if isinstance(script, str) else ""

    @property
    def target_script(self) -> str:
        """Return the script of nine in ten of its training targets, or "" if there is none."""
        script = self.record.get("target_script")
        return script if isinstance(script, str) else ""

    @property
    def joint(self) -> bool:
        """Return True if both sides share one tokenizer."""
        return self.source_tokenizer == self.target_tokenizer


def _in_one_piece(bundle: Bundle) -> tuple[Callable[[bytes], Any], tuple[bytes]]:
    return pickle.loads, (pickle.dumps(bundle, pickle.HIGHEST_PROTOCOL),)


# For a pool or a queue PyTorch would move the weights of this process into shared memory, while a
# translator may be reading them.
ForkingPickler.register(Bundle, _in_one_piece)


def save_bundle(path: str | Path, bundle: Bundle) -> None:
    """Write a bundle; a reader sees the whole old bundle or the whole new one.

    Other files in its folder stay. Raises BundleError when the folder is neither empty nor a
    bundle, or cannot be written.
    """
    if address := hub_address(path):
        raise ConfigError(
            f"{address} is not a folder.", "Save the bundle in a folder, then use `headway push`."
        )
    check_place(path)
    require_type("bundle", bundle, Bundle, "Give a Bundle, such as `translator.bundle`.")
    target = expanded(path).resolve()
    if lost := lost_buffers(bundle.model):
        raise BundleError(
            f"{lost[0]} is a buffer, which a bundle does not hold.",
            "Make it a parameter, or persistent=False if it can be computed again.",
        )
    remedy = "Free some space or choose another folder; an older bundle there is unchanged."
    with writing(f"The bundle {path}", BundleError, remedy), new_bundle(target) as fresh:
        _write_files(fresh, bundle)


def load_bundle(
    path: str | Path,
    device: torch.device | str = "cpu",
    change: Change | None = None,
    *,
    trust_code: bool = False,
) -> Bundle:
    """Read and check a bundle, the better bundle of a run by validation, or one on the hub.

    change: puts into the model those parts that are not Headway's own. trust_code: take them from
    the file `parts.py` of the bundle, whose code then runs. Raises BundleError that names the file
    or part which is missing, changed or of the wrong kind.
    """
    check_device(device)
    saved = read_bundle(path)
    return bundle_of(saved, device, change or change_of(saved, trust_code=trust_code))


def load_mapped_bundle(
    path: str | Path, change: Change | None = None, *, trust_code: bool = False
) -> tuple[Bundle, MappedTensors]:
    """Read and check a bundle for the CPU whose weights stay in their file; return both."""
    saved = read_bundle(path, mapped=True)
    assert saved.mapped is not None
    change = change or change_of(saved, trust_code=trust_code)
    return bundle_of(saved, "cpu", change, copy=False), saved.mapped


def change_of(saved: SavedBundle, *, trust_code: bool) -> OwnParts | None:
    """Return the change by the bundle's own code; None for a bundle that needs no code.

    Raises BundleError if the code is needed and not trusted; then none of it has run.
    """
    if not (saved.code and saved.changed):
        return None
    return change_in(saved.code, saved.folder / CODE, trust_code=trust_code)


def change_in(code: bytes, path: Path, *, trust_code: bool) -> OwnParts:
    """Run the code of a file, and return the change by its function `change`.

    Raises BundleError if the code is not trusted, fails or has no such function.
    """
    if not trust_code:
        raise BundleError(
            f"The model needs the code in {path}, which was not run.",
            "Read that file. If you trust it, add --trust-code; in Python, trust_code=True.",
        )
    module = ModuleType(f"headway_parts_{hashlib.sha256(code).hexdigest()[:16]}")
    module.__file__ = str(path)
    sys.modules[module.__name__] = module  # dataclasses look up the module of their class
    try:
        exec(compile(code, path, "exec"), module.__dict__)
    except Exception as error:
        del sys.modules[module.__name__]
        raise BundleError(
            f"The code in {path} failed with {type(error).__name__}: {error}",
            "Ask the author of the model to correct it.",
        ) from error
    if not callable(change := module.__dict__.get("change")):
        raise BundleError(
            f"{path} has no function `change`.",
            "It takes the model and puts its parts into it, as for `headway.train`.",
        )
    return OwnParts(code, change)


def model_tensors(model: nn.Module) -> dict[str, Tensor]:
    """Return the parameters by attribute path, on the CPU; a shared parameter appears once."""
    return {
        name: parameter.detach().cpu().contiguous() for name, parameter in model.named_parameters()
    }


def set_model_tensors(model: nn.Module, tensors: dict[str, Tensor], *, copy: bool = True) -> None:
    """Copy tensors into the parameters of these names, or replace the parameters by them.

    Raises BundleError when a name is missing, unknown or has another shape.
    """
    parameters = dict(model.named_parameters())
    if missing := sorted(parameters.keys() - tensors.keys()):
        message = f"The weights lack {missing[0]} ({len(missing)} missing in all)."
        raise BundleError(message, _OTHER_PARTS)
    if unknown := sorted(tensors.keys() - parameters.keys()):
        message = f"The weights hold {unknown[0]}, which the model does not have."
        raise BundleError(message, _OTHER_PARTS)
    with torch.no_grad():
        for name, parameter in parameters.items():
            if parameter.shape != tensors[name].shape:
                raise BundleError(
                    f"{name} has shape {tuple(tensors[name].shape)}, but the configuration says "
                    f"{tuple(parameter.shape)}."
                )
            if copy or parameter.dtype != tensors[name].dtype:
                parameter.copy_(tensors[name])
            else:
                parameter.data = tensors[name]


def _write_files(folder: Path, bundle: Bundle) -> None:
    description = {
        "format": FORMAT,
        "model": bundle.config.model_dump(),
        "decoding": bundle.decoding.model_dump(),
        "source_language": bundle.source_language,
        "target_language": bundle.target_language,
        "record": bundle.record,
    }
    if changed := _changes(bundle.model, bundle.config):
        description["changed"] = changed
    files = {
        "config.json": to_json(description, indent=2).encode(),
        "card.md": bundle.card.encode(),
        **tokenizer_files(bundle),
    }
    if bundle.shortlist is not None:
        files[SHORTLIST] = bundle.shortlist.to_bytes()
    if bundle.drafts is not None:
        files[DRAFTS] = bundle.drafts.to_bytes()
    if bundle.code:
        files[CODE] = bundle.code
    parts: dict[str, Iterator[bytes | memoryview]]
    parts = {name: iter([data]) for name, data in files.items()}
    parts[WEIGHTS] = safetensors_parts(model_tensors(bundle.model))
    hashes = {name: hashlib.sha256() for name in sorted(parts)}
    for name, data in parts.items():
        write_atomically(folder / name, _hashed(data, hashes[name]))
    manifest = {name: total.hexdigest() for name, total in hashes.items()}
    write_atomically(folder / MANIFEST, json.dumps(manifest, indent=2).encode())


def _hashed(
    parts: Iterator[bytes | memoryview], total: "hashlib._Hash"
) -> Iterator[bytes | memoryview]:
    """Yield the parts of a file, and add them to its checksum."""
    for part in parts:
        total.update(part)
        yield part


def tokenizer_files(bundle: Bundle) -> dict[str, bytes]:
    """Return the tokenizer files of a bundle by name: one shared file, or two."""
    if bundle.joint:
        return {"tokenizer.model": bundle.source_tokenizer.to_bytes()}
    return {
        "source.model": bundle.source_tokenizer.to_bytes(),
        "target.model": bundle.target_tokenizer.to_bytes(),
    }


def apply_change(change: Change, model: Transformer) -> None:
    """Apply a change to the model; ConfigError if it returns another model instead."""
    if not callable(change):
        raise ConfigError(
            f"change is a {type(change).__name__}, which cannot be called.",
            "Give a function that takes the model and puts parts of your own into it.",
        )
    returned = change(model)
    if isinstance(returned, nn.Module) and returned is not model:
        raise ConfigError(
            f"change returned another model, a {type(returned).__qualname__}, which would not "
            "be used.",
            "Let it change the model that it is given.",
        )


def bundle_of(
    saved: SavedBundle,
    device: torch.device | str = "cpu",
    change: Change | None = None,
    *,
    copy: bool = True,
) -> Bundle:
    """Build the model of a saved bundle, with its changed parts, and set its weights.

    copy: if False, the parameters are the saved tensors themselves, where their type allows it.
    """
    with as_bundle_error(saved.folder):
        model = empty_model(saved.config, device)
    if change:
        apply_change(change, model)
        model.to(device)
    if change or saved.changed:
        _check_changes(saved.folder, _changes(model, saved.config), saved.changed)
    set_model_tensors(model, saved.tensors, copy=copy)
    return Bundle(
        config=saved.config,
        model=model.eval(),
        source_tokenizer=saved.source_tokenizer,
        target_tokenizer=saved.target_tokenizer,
        decoding=saved.decoding,
        source_language=saved.source_language,
        target_language=saved.target_language,
        record=saved.record,
        card=saved.card,
        shortlist=saved.shortlist,
        drafts=saved.drafts,
        code=saved.code,
        checksum=saved.checksum,
        folder=saved.folder,
    )


def _changes(model: Transformer, config: ModelConfig) -> dict[str, str]:
    """Return how a model differs from its configuration, by the path of each changed part."""
    return other_settings(model, empty_model(config, "cpu")) | changed_parts(model)


def _check_changes(folder: Path, built: dict[str, str], saved: dict[str, str]) -> None:
    """Refuse a model whose changed parts differ from those that were saved."""
    for path in sorted(saved.keys() | built.keys()):
        if saved.get(path) != built.get(path):
            usual = "that of Headway"
            raise BundleError(
                f"In {folder} the class of {path or 'the model'} is {saved.get(path, usual)}, but "
                f"here it is {built.get(path, usual)}.",
                "Load it in Python with change=, the function that `headway.train` was given.",
            )
