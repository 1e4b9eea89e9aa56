"""Search under edits: translate as if something in the model were different.

The search runs step by step on the module itself, and each step has one new row of the target. So
an edit holds in every step; an edit of certain rows, or of the look-ahead mask, has no meaning.
"""

from torch import Tensor

from headway.decoding.options import SearchOptions
from headway.decoding.search_record import SearchRecord
from headway.decoding.search_recorder import Watcher
from headway.decoding.translator import TextTranslator
from headway.errors import ConfigError, TraceError
from headway.inspection.catalog import catalog, matching, model_names, pattern_of
from headway.inspection.edit import Edit, Edits, check_edits
from headway.inspection.model_kind import variant_of
from headway.inspection.sentence import TracedSentence
from headway.inspection.trace import edited
from headway.model.transformer import Transformer


def search_edited(
    translator: TextTranslator,
    text: str,
    edit: Edits,
    *,
    candidates: int = 10,
    options: SearchOptions | None = None,
    prefix: str | None = None,
    watcher: Watcher | None = None,
) -> SearchRecord:
    """Return the record of a search that runs while the edits are in force.

    Arguments as in `Translator.search` and `Translator.trace`. Raises TraceError for an edit that
    names rows of the target, or replaces them by a tensor.
    """
    if len(translator.models) > 1:
        raise ConfigError(
            f"An edit needs a single model, but this translator averages {len(translator.models)}.",
            "Load the one to edit by itself.",
        )
    bundle = translator.bundle
    check_search_edits(bundle.model, edit)
    reference = TextTranslator(bundle, engine="reference")
    requests, options = reference.requests, options or reference.options
    pieces = [requests.make_one(p.ids, [], options).source_ids for p in requests.parts(text)[:1]]
    source_ids = tuple(pieces[0]) if pieces else ()
    sentence = TracedSentence(
        source=text, target="", source_ids=source_ids, target_ids=(), label_ids=(),
        source_pieces=tuple(bundle.source_tokenizer.pieces(source_ids)), reads=(), writes=(),
        vocabulary=tuple(bundle.target_tokenizer.pieces(range(len(bundle.target_tokenizer)))),
    )  # fmt: skip
    with edited(bundle.model, edit, sentence=sentence):
        return reference.search(
            text, candidates=candidates, options=options, prefix=prefix, watcher=watcher
        )


def check_search_edits(model: Transformer, edit: Edits) -> None:
    """Raise TraceError for edits that no search can have: of unknown names or of target rows."""
    variant = variant_of(model)
    names = model_names(model, variant)
    check_edits(edit, names, model_names(model, variant, derived=True))
    for pattern, edits in edit.items():
        for name in matching(names, pattern):
            axes = catalog(variant)[pattern_of(name)].axes
            rows = {axis.name for axis in axes if axis.letter == "T"}
            for single in edits.each():
                _check(name, single, rows)


def _check(name: str, edit: Edit, rows: set[str]) -> None:
    if name == "target_mask":
        raise TraceError(
            "A search decodes row by row and has no 'target_mask', so it cannot be edited there.",
            "Edit it in a trace.",
        )
    if named := sorted((rows | {"batch"}) & edit.where.keys()):
        raise TraceError(
            f"The edit of '{name}' names places along '{named[0]}', but a search has one row of "
            "the target at a time.",
            "Leave that axis out, so that the edit holds in every step, or edit a trace.",
        )
    if rows and isinstance(edit.value, Tensor) and edit.value.dim():
        raise TraceError(
            f"A tensor cannot take the place of '{name}' in a search, which has one row of the "
            "target at a time.",
            "Replace by one number, replace a tensor of the encoder, or edit a trace.",
        )
