"""The translator: texts in, translations out, in order and independent of batching."""

from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from dataclasses import fields, replace
from functools import cached_property, lru_cache, partial
from itertools import chain
from pathlib import Path
from typing import Any, Self, overload

import torch

from headway.bundle import Bundle, Change, load_bundle, load_mapped_bundle, summary
from headway.decoding.assemble import JoinedText, TranslationBuilder, is_lost
from headway.decoding.attention import AttentionReader
from headway.decoding.banned import BannedTexts
from headway.decoding.build_engine import EngineName, PrecisionName, build_engine, computed_by
from headway.decoding.build_search import build_search, search_all
from headway.decoding.candidates import next_pieces
from headway.decoding.confidence import Confidence, confidence_in, is_low
from headway.decoding.counting import counting_sentences
from headway.decoding.ensemble import EnsembleEngine, as_bundles, as_paths, check_vocabularies
from headway.decoding.familiarity import unfamiliar_parts
from headway.decoding.flags import flags_where, is_copy
from headway.decoding.glossary import Glossary, as_glossary
from headway.decoding.hypothesis import Hypothesis
from headway.decoding.options import SearchOptions, changed_options
from headway.decoding.request import Request
from headway.decoding.request_maker import (
    RequestMaker,
    as_sentences,
    check_count,
    check_request,
    refuse_mapping,
)
from headway.decoding.runaway import better, runs_away, shortened, tightened
from headway.decoding.search_record import SearchRecord
from headway.decoding.search_recorder import SearchRecorder, Watcher, record_search
from headway.decoding.streaming import stream_search, text_fragments
from headway.decoding.translation import Alternative, StreamEnd, Translation
from headway.decoding.weight_snapshot import WeightSnapshot, check_ready
from headway.errors import ConfigError, hinted, require_type
from headway.model.probe import listening
from headway.runtime.devices import resolve_device

_WORTH_A_WORKER = 8  # sentences

# A method refuses an argument of the command line or of another library by naming its own.
_foreign_names_hinted = hinted(
    beam="beam_size",
    nbest="n_best",
    num_beams="beam_size",
    num_return_sequences="n_best",
    **{field.name: f"options=SearchOptions({field.name}=…)" for field in fields(SearchOptions)},
)


class TextTranslator:
    """Translate text with a bundle, or with several of one vocabulary."""

    def __init__(
        self,
        bundle: Bundle,
        engine: EngineName = "auto",
        precision: PrecisionName = "float32",
        *,
        ensemble: Sequence[Bundle] = (),
    ) -> None:
        """Use a loaded bundle; `headway.load` reads one from disk.

        engine and precision: see `headway.decoding.build_engine`. The packed engine prepares the
        weights here. If they change later, or parts get hooks, this Translator refuses to
        translate. The models are put into eval mode. ensemble: more bundles; the probabilities of
        all are averaged at each step.
        """
        ensemble = as_bundles(bundle, ensemble)
        self.bundle = bundle
        self.device = next(bundle.model.parameters()).device
        self.models = [member.model.eval() for member in (bundle, *ensemble)]
        self.requests = RequestMaker([bundle, *ensemble])
        # A rule looks at the whole vocabulary; successive calls usually need the same one.
        self._banning_rule = lru_cache(4)(lambda texts: BannedTexts(texts, bundle.target_tokenizer))
        check_vocabularies(bundle, ensemble)
        # Averaged probabilities are not those that the calibration is of.
        self.confidence = None if ensemble else Confidence.of(bundle)
        self._arguments = (bundle, engine, precision, ensemble)
        self._prepare()

    def _prepare(self) -> None:
        """Prepare the engines with the present weights."""
        _, name, precision, ensemble = self._arguments
        drafts = None if ensemble else self.bundle.drafts
        engines = [build_engine(model, name, precision, drafts=drafts) for model in self.models]
        self.engine = EnsembleEngine(engines) if ensemble else engines[0]
        self._snapshot = WeightSnapshot(self.models)
        self._copies_weights = any(engine.copies_weights for engine in engines)

    @classmethod
    def _remark_on(cls, *paths: str | Path) -> None:
        """Say nothing about runs; commands print which weights they take."""

    @classmethod
    @hinted(dtype="precision")
    def load(
        cls,
        path: str | Path,
        device: str = "auto",
        *,
        engine: EngineName = "auto",
        change: Change | None = None,
        ensemble: Sequence[str | Path] = (),
        precision: PrecisionName = "auto",
        trust_code: bool = False,
    ) -> Self:
        """Load a bundle, or the bundle of a run, and make a translator of it.

        path: a folder, or an address on the hub: `hf://OWNER/NAME`, or `hf://OWNER/NAME@REVISION`.
        device: auto, cpu, cuda or mps. change: puts parts of your own into each model, as in
        `headway.train`. engine: see `headway.decoding.build_engine`. precision: of its matrix
        products. "auto" is the fastest on this machine whose translations score as those of
        float32; the translator's repr names it. "float32" is the most exact.
        ensemble: more bundles with the same vocabulary, whose probabilities are averaged.
        trust_code: run the code in `parts.py`, with which a bundle may come, for parts that are
        not Headway's own. Raises BundleError if a bundle is damaged.

        Elsewhere: beam_search, greedy_decode, translate, translate_sentence.
        """
        where, ensemble = resolve_device(device), as_paths(ensemble)
        cls._remark_on(path, *ensemble)
        if where != "cpu":
            first, *members = [
                load_bundle(member, where, change, trust_code=trust_code)
                for member in (path, *ensemble)
            ]
            return cls(first, engine, precision, ensemble=members)
        loaded = (
            load_mapped_bundle(member, change, trust_code=trust_code)
            for member in (path, *ensemble)
        )
        bundles, weights = zip(*loaded, strict=True)
        translator = cls(bundles[0], engine, precision, ensemble=bundles[1:])
        for mapped in weights:  # the engine has prepared its weights
            mapped.let_go()
        return translator

    def __repr__(self) -> str:
        count = len(self.models)
        ensemble = [f"ensemble of {count} models"] if count > 1 else []
        parts = [*summary(self.bundle), *ensemble, computed_by(self.engine), str(self.device)]
        return f"{type(self).__name__}({', '.join(parts)})"

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle the arguments alone: a copy, or another process, prepares the weights again."""
        return _rebuild, (type(self), *self._arguments)

    @cached_property
    def options(self) -> SearchOptions:
        """The default search of the bundle; `dataclasses.replace` makes variants."""
        return SearchOptions(self.bundle.decoding.beam_size, self.bundle.decoding.length_penalty)

    @overload
    def translate(  # pyright: ignore[reportOverlappingOverload]
        self,
        text: str,
        *,
        attention: bool = False,
        banned: Sequence[str] = (),
        batch_tokens: int = 16384,
        beam_size: int | None = None,
        first: int = 0,
        glossary: Mapping[str, str] | Glossary | None = None,
        length_penalty: float | None = None,
        mend_runaways: bool = True,
        n_best: int | None = None,
        options: SearchOptions | None = None,
        prefix: str | Sequence[str] | None = None,
        split_sentences: bool | None = None,
        terms: Sequence[str] | Sequence[Sequence[str]] = (),
    ) -> Translation: ...

    @overload
    def translate(
        self,
        text: Iterable[str],
        *,
        attention: bool = False,
        banned: Sequence[str] = (),
        batch_tokens: int = 16384,
        beam_size: int | None = None,
        first: int = 0,
        glossary: Mapping[str, str] | Glossary | None = None,
        length_penalty: float | None = None,
        mend_runaways: bool = True,
        n_best: int | None = None,
        options: SearchOptions | None = None,
        prefix: str | Sequence[str] | None = None,
        split_sentences: bool | None = None,
        terms: Sequence[str] | Sequence[Sequence[str]] = (),
    ) -> list[Translation]: ...

    @_foreign_names_hinted
    def translate(
        self,
        text: str | Iterable[str],
        *,
        attention: bool = False,
        banned: Sequence[str] = (),
        batch_tokens: int = 16384,
        beam_size: int | None = None,
        first: int = 0,
        glossary: Mapping[str, str] | Glossary | None = None,
        length_penalty: float | None = None,
        mend_runaways: bool = True,
        n_best: int | None = None,
        options: SearchOptions | None = None,
        prefix: str | Sequence[str] | None = None,
        split_sentences: bool | None = None,
        terms: Sequence[str] | Sequence[Sequence[str]] = (),
    ) -> Translation | list[Translation]:
        """Translate one text, or several in order.

        Each sentence of a text is translated by itself; the translations are joined with the spaces
        of the source. A blank text has a blank translation. attention: also return the attention of
        each hypothesis to the source, and a word alignment. banned: texts that must not occur; a
        text that begins with a space is banned only at the beginning of a word. batch_tokens:
        source pieces at work together, each counted once for each hypothesis; affects speed and
        memory, but in float32 no text. first: the number of the first text in the input, which
        affects sampling. glossary: source terms with the translations that they must get
        (`Glossary`). mend_runaways: search a part again whose translation runs away
        (`headway.decoding.runaway`); False keeps the translation of the plain search, as does
        sampling. options: the search; the default is the bundle's (`translator.options`).
        beam_size, length_penalty and n_best change it. prefix: the required beginning, one for all
        texts or one for each. split_sentences: False takes each text as one sentence; None does so
        for a model that was trained on several sentences a line. terms: words that must occur, for
        all texts or for each.
        """
        sentences = as_sentences(text)
        check_request(sentences, first)
        check_count("batch_tokens", batch_tokens)
        for name, number in (("beam_size", beam_size), ("n_best", n_best)):
            check_count(name, 1 if number is None else number)
        self._check_ready()
        options = self._options(options, beam_size, length_penalty, n_best)
        at_most = self.requests.sentences_a_part(split_sentences)
        parts = [self.requests.parts(sentence, at_most=at_most) for sentence in sentences]
        rule = self._banned(banned)
        requests = self.requests.make(
            parts, options, first=first, prefix=prefix, terms=terms,
            glossary=as_glossary(glossary), banned=rule,
        )  # fmt: skip
        attend = self._attend(options)
        search = partial(
            search_all, self.engine, attend=attend, banned=rule, max_tokens=batch_tokens
        )
        workers = self._workers(len(requests))
        results = search(options, requests, workers=workers)
        ran_away = self._ran_away(options, requests, results)
        if mend_runaways and options.sampling is None:
            self._mend(search, options, requests, results, ran_away)
        builder = self._builder(options)
        if workers > 1:
            builder.read(chain.from_iterable(results))
        translations = []
        forced = [request.is_forced for request in requests]
        end = 0
        for sentence, its_parts in zip(sentences, parts, strict=True):
            begin, end = end, end + len(its_parts)
            words = self.requests.source_words(sentence, its_parts) if attention else ()
            translations.append(
                builder.join(
                    sentence,
                    its_parts,
                    results[begin:end],
                    forced[begin:end],
                    attend if attention else None,
                    words,
                    ran_away=ran_away[begin:end],
                )
            )
        return translations[0] if isinstance(text, str) else translations

    @_foreign_names_hinted
    def stream(
        self,
        text: str,
        *,
        banned: Sequence[str] = (),
        first: int = 0,
        glossary: Mapping[str, str] | Glossary | None = None,
        options: SearchOptions | None = None,
        prefix: str | Sequence[str] | None = None,
        split_sentences: bool | None = None,
        terms: Sequence[str] | Sequence[Sequence[str]] = (),
    ) -> Generator[str, None, StreamEnd]:
        """Yield the translation of one text in fragments, each as soon as it is certain.

        Together the fragments are the text of `translate` with mend_runaways=False, because what
        has been sent cannot be mended; arguments are as there. In a beam, a fragment is certain if
        all hypotheses that can still be the best have it. The generator returns a `StreamEnd`, as
        the value of its StopIteration.
        """
        check_request([text], first)
        self._check_ready()
        options, rule = self._options(options), self._banned(banned)
        at_most = self.requests.sentences_a_part(split_sentences)
        parts = self.requests.parts(text, at_most=at_most)
        requests = self.requests.make(
            [parts], options, first=first, prefix=prefix, terms=terms,
            glossary=as_glossary(glossary), banned=rule,
        )  # fmt: skip
        best: list[Hypothesis] = []
        joined = JoinedText()
        for part, request in zip(parts, requests, strict=True):
            search = build_search(
                options, attend=self._attend(options), banned=rule, terms=bool(request.terms)
            )
            joint = part.joint
            growing = stream_search(self.engine, search, request, best.append)
            for fragment in text_fragments(self.bundle.target_tokenizer, growing):
                yield joined.add(fragment, joint)
                joint = None
            joined.add("", joint)
        tokenizer = self.bundle.source_tokenizer
        written = [self.bundle.target_tokenizer.decode(hypothesis.ids) for hypothesis in best]
        num_parts = max(1, len(parts))  # a blank text has none, but counts as one
        num_sentences = max(1, len({part.sentence for part in parts}))
        complete = all(hypothesis.complete for hypothesis in best)
        forced = [request.is_forced for request in requests]
        unfamiliar = unfamiliar_parts(self.bundle, parts, best, forced)
        confidence = confidence_in(self.confidence, best, forced, unfamiliar)
        return StreamEnd(
            num_parts=num_parts,
            num_sentences=num_sentences,
            complete=complete,
            unknown_pieces=sum(tokenizer.unknown_count(part.ids) for part in parts),
            empty_parts=sum(not target.strip() for target in written)
            or int(not parts and is_lost(self.bundle, text)),
            unfamiliar_parts=sum(unfamiliar),
            deleted_characters=len(tokenizer.deleted_texts(text)),
            confidence=confidence,
            flags=flags_where(
                split=num_parts > num_sentences,
                cut=not complete,
                repeated=any(self._ran_away(options, requests, [[h] for h in best])),
                copied=is_copy(text, joined.text, self.bundle.tags),
                low_confidence=is_low(confidence) or any(unfamiliar),
            ),
        )

    @_foreign_names_hinted
    def alternatives(
        self,
        text: str,
        pieces: Sequence[str] = (),
        *,
        count: int = 5,
        options: SearchOptions | None = None,
    ) -> list[Alternative]:
        """Return the pieces that could follow these pieces of a translation, most probable first.

        pieces: such as `translation.pieces[:3]`. Each alternative has the best translation that
        contains it there.
        """
        check_request([text])
        check_count("count", count)
        self._check_ready()
        parts, options = self.requests.single_part(text, "alternatives are"), self._options(options)
        before = self.requests.unfinished_ids(pieces)
        source = parts[0].ids
        choices = next_pieces(self.engine, self.requests.make_one(source, before, options), count)
        # Each choice, even the end, is the last piece of a prefix that the search completes.
        requests = [
            self.requests.make_one(source, [*before, piece], options) for piece, _ in choices
        ]
        best = search_all(
            self.engine,
            replace(options, prefix_bias=1.0),
            requests,
            attend=self._attend(options),
        )
        builder = self._builder(options)
        return [
            Alternative(
                self.bundle.target_tokenizer.piece(piece),
                probability,
                builder.join(text, parts, [hypotheses], [True], ran_away=[ran]),
            )
            for (piece, probability), hypotheses, ran in zip(
                choices, best, self._ran_away(options, requests, best), strict=True
            )
        ]

    @_foreign_names_hinted
    def search(
        self,
        text: str,
        *,
        banned: Sequence[str] = (),
        candidates: int = 10,
        options: SearchOptions | None = None,
        prefix: str | None = None,
        terms: Sequence[str] = (),
        watcher: Watcher | None = None,
    ) -> SearchRecord:
        """Translate one sentence and return the record of the search, step by step.

        A text of several sentences is taken as one, because a record describes one search.

        candidates: the number of pieces to list after each hypothesis, with their probabilities.
        watcher: receives each step when it is done. The other arguments and the translation are
        those of `translate` with split_sentences=False and mend_runaways=False. Raises ConfigError
        for a sentence in several parts, for several samples and for a beam with groups.
        """
        check_request([text])
        check_count("candidates", candidates)
        self._check_ready()
        options, rule = self._options(options), self._banned(banned)
        parts = self.requests.single_part(text, "a record of a search is")
        (request,) = self.requests.make([parts], options, prefix=prefix, terms=terms, banned=rule)
        recorder = SearchRecorder(request, self.bundle.target_tokenizer, candidates, watcher)
        hypotheses = record_search(
            self.engine, recorder, options, attend=self._attend(options), banned=rule
        )
        return SearchRecord(
            tuple(self.bundle.source_tokenizer.pieces(request.source_ids)),
            recorder.vocabulary,
            options,
            tuple(recorder.nodes),
            tuple(recorder.steps),
            tuple(recorder.ranking),
            self._builder(options).join(
                text,
                parts,
                [hypotheses],
                [request.is_forced],
                ran_away=self._ran_away(options, [request], [hypotheses]),
            ),
        )

    def _builder(self, options: SearchOptions) -> TranslationBuilder:
        return TranslationBuilder(self.bundle, options, self.confidence)

    def _ran_away(
        self,
        options: SearchOptions,
        requests: Sequence[Request],
        results: Sequence[Sequence[Hypothesis]],
    ) -> list[bool]:
        """Return for each request whether its best translation runs away."""
        tokenizer = self.bundle.source_tokenizer
        return [
            runs_away(best.ids, request, options, tokenizer)
            for request, (best, *_) in zip(requests, results, strict=True)
        ]

    def _mend(
        self,
        search: Callable[..., list[list[Hypothesis]]],
        options: SearchOptions,
        requests: Sequence[Request],
        results: list[list[Hypothesis]],
        away: Sequence[bool],
    ) -> None:
        """Search the parts again that ran away, and replace their results by the better ones."""
        places = [place for place, ran in enumerate(away) if ran]
        if not places:
            return
        again = [shortened(requests[place], options) for place in places]
        with counting_sentences(lambda _: None):  # they have been counted
            new_results = search(tightened(options), again, workers=self._workers(len(again)))
        tokenizer = self.bundle.source_tokenizer
        for place, second in zip(places, new_results, strict=True):
            results[place] = better(results[place], second, requests[place], options, tokenizer)

    def _check_ready(self) -> None:
        if check_ready(self.models, self._snapshot if self._copies_weights else None):
            self._prepare()

    def _options(
        self,
        options: SearchOptions | None,
        beam_size: int | None = None,
        length_penalty: float | None = None,
        n_best: int | None = None,
    ) -> SearchOptions:
        """Return the options with these values; a larger n_best widens the beam."""
        values = {"beam_size": beam_size, "length_penalty": length_penalty, "n_best": n_best}
        values = {name: value for name, value in values.items() if value is not None}
        return changed_options(self.options if options is None else options, values)

    def _attend(self, options: SearchOptions) -> AttentionReader:
        return AttentionReader(self.models, options.attention_layer)

    def _banned(self, banned: Sequence[str]) -> BannedTexts | None:
        remedy = "Give texts, such as banned=['never']."
        refuse_mapping("banned", banned, remedy)
        require_type("banned", banned, Iterable, remedy)
        texts = (banned,) if isinstance(banned, str) else tuple(banned)
        for text in texts:
            require_type("A banned text", text, str, remedy)
        return self._banning_rule(texts) if texts else None

    def _workers(self, jobs: int) -> int:
        """Return the number of parallel searches: at most one a core, each with enough work."""
        workers = min(torch.get_num_threads(), jobs // _WORTH_A_WORKER)
        if workers < 2 or self.device.type != "cpu" or listening() or self._snapshot.have_hooks():
            return 1  # a trace or a hook collects its data in this process
        return workers


def _rebuild(
    cls: type[TextTranslator],
    bundle: Bundle,
    engine: Any,
    precision: Any,
    ensemble: Sequence[Bundle],
) -> TextTranslator:
    return cls(bundle, engine, precision, ensemble=ensemble)


def only_bundle(model: Bundle | TextTranslator, purpose: str) -> Bundle:
    """Return the bundle of a single model; ConfigError for an ensemble.

    purpose: the subject of the message, such as `An alignment`.
    """
    if isinstance(model, Bundle):
        return model
    if not hasattr(model, "models"):
        require_type("model", model, Bundle, "Give a Bundle, or a Translator of one model.")
    if len(model.models) > 1:
        raise ConfigError(
            f"{purpose} needs a single model, but this translator averages {len(model.models)}.",
            "Load one of its models by itself.",
        )
    return model.bundle


load = TextTranslator.load
