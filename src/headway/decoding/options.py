"""The options of a search, checked when they are made; see `docs/en/howto/decoding.md`."""

import math
from collections.abc import Mapping
from dataclasses import KW_ONLY, dataclass, replace
from numbers import Integral, Real
from typing import Any, Literal, get_args

from headway.errors import ConfigError, require_type

_MOST = 10_000  # hypotheses, and demanded pieces: more would fill any memory

LengthForm = Literal["gnmt", "plain"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Sampling:
    """Draw pieces instead of taking the best; the fields narrow the choice."""

    min_p: float = 0.0
    """Only pieces with at least this fraction of the best piece's probability."""
    seed: int = 0
    """A draw depends on the seed, the sentence's place in the input, the sample and the step."""
    temperature: float = 1.0
    """Logits are divided by it; below 1 probable pieces become more probable."""
    top_k: int = 0
    """Only this many of the best pieces; 0 is all."""
    top_p: float = 1.0
    """Only the best pieces, until they have this probability together."""

    def __post_init__(self) -> None:
        """Refuse values that leave no piece to draw."""
        for name in ("seed", "top_k"):
            _check_whole(name, getattr(self, name))
        for name in ("min_p", "temperature", "top_p"):
            _check_number(name, getattr(self, name))
        _check("min_p", self.min_p, 0 <= self.min_p <= 1, "from 0 to 1", "0 leaves all tokens.")
        _check("seed", self.seed, self.seed >= 0, "at least 0", "Take any whole number.")
        possible = 0 < self.temperature < math.inf
        _check("temperature", self.temperature, possible, "above 0", "For the best, beam_size=1.")
        _check("top_k", self.top_k, self.top_k >= 0, "at least 0", "0 leaves all tokens.")
        _check("top_p", self.top_p, 0 < self.top_p <= 1, "above 0, up to 1", "1 leaves all tokens.")


@dataclass(frozen=True, slots=True)
class SearchOptions:
    """The options of a search; lengths are in pieces."""

    beam_size: int = 4
    """Hypotheses kept at each step; 1 is greedy search. Ignored when sampling."""
    length_penalty: float = 0.6
    """alpha; 0 ranks by probability alone."""
    n_best: int = 1
    """Hypotheses returned; fewer if the search finds fewer."""
    _: KW_ONLY
    attention_layer: int | None = None
    """Decoder layer, from 0, whose attention to the source counts; None is the last."""
    coverage_penalty: float = 0.0
    """beta of the penalty for hypotheses that do not attend to all of the source; 0 is none."""
    diversity: float = 0.5
    """Loss of a piece for each hypothesis of an earlier group that takes it at the same step."""
    groups: int = 1
    """Groups of the beam that avoid each other's pieces; 1 is a plain beam."""
    length_form: LengthForm = "gnmt"
    """gnmt is ((5 + |Y|) / 6)^alpha, as in the paper; plain is |Y|^alpha."""
    max_length: int | None = None
    """The most pieces of a translation, or of each part; the model's limit also holds."""
    min_length: int = 0
    """The fewest pieces of a translation, or of each part, up to 10,000; the end is forbidden
    before."""
    no_repeat_ngram: int = 0
    """Forbid a sequence of this many pieces to occur twice; 0 allows it."""
    patience: float = 1.0
    """A beam goes on until patience * beam_size hypotheses have ended."""
    prefix_bias: float = 1.0
    """1 forces a prefix; less gives its pieces this share of the probability."""
    repetition_penalty: float = 1.0
    """Lowers the logits of pieces that were chosen before; 1 is no penalty."""
    shortlist: bool = False
    """Only pieces that the bundle's shortlist has for the sentence; scores are over these."""
    sampling: Sampling | None = None
    """Draw pieces, n_best times; None searches."""

    def __post_init__(self) -> None:
        """Refuse options that no search can follow."""
        for name in ("beam_size", "n_best", "groups", "min_length", "no_repeat_ngram"):
            _check_whole(name, getattr(self, name))
        for name in ("attention_layer", "max_length"):
            if getattr(self, name) is not None:
                _check_whole(name, getattr(self, name))
        for name in (
            "length_penalty", "coverage_penalty", "diversity", "patience", "prefix_bias",
            "repetition_penalty",
        ):  # fmt: skip
            _check_number(name, getattr(self, name))
        if self.sampling is not None:
            remedy = "Give Sampling, such as Sampling(top_p=0.9), or None to search."
            require_type("sampling", self.sampling, Sampling, remedy)
        self._check_beam()
        for name, value, possible, allowed, remedy in (
            ("length_penalty", self.length_penalty, 0 <= self.length_penalty <= 10,
             "from 0 to 10", "0 ranks by probability alone; the paper has 0.6."),
            ("length_form", self.length_form, self.length_form in get_args(LengthForm),
             "gnmt or plain", "gnmt is the paper's."),
            ("attention_layer", self.attention_layer, (self.attention_layer or 0) >= 0,
             "at least 0", "The lowest layer of the decoder is 0."),
            ("coverage_penalty", self.coverage_penalty, 0 <= self.coverage_penalty < math.inf,
             "at least 0", "0 is no penalty, 0.2 is common."),
            ("diversity", self.diversity, 0 <= self.diversity < math.inf, "at least 0",
             "0.5 is common; groups=1 is a beam without groups."),
            ("min_length", self.min_length, 0 <= self.min_length <= _MOST, f"from 0 to {_MOST:,}",
             "0 allows all."),
            ("max_length", self.max_length, (self.max_length or 0) >= self.min_length,
             f"at least min_length {self.min_length}", "Raise it, or lower min_length."),
            ("no_repeat_ngram", self.no_repeat_ngram, self.no_repeat_ngram >= 0, "at least 0",
             "3 is common; 0 allows repetition."),
            ("patience", self.patience, 0 < self.patience < math.inf, "above 0",
             "1 is usual, 2 searches longer."),
            ("prefix_bias", self.prefix_bias, 0 < self.prefix_bias <= 1, "above 0, up to 1",
             "1 forces the prefix."),
            ("repetition_penalty", self.repetition_penalty,
             0.01 <= self.repetition_penalty <= 100, "from 0.01 to 100",
             "1 is no penalty, 1.2 is common."),
        ):  # fmt: skip
            _check(name, value, value is None or possible, allowed, remedy)

    @property
    def takes_terms(self) -> bool:
        """Return True if the search can have terms that must occur."""
        return self.sampling is None and self.groups == 1

    def _check_beam(self) -> None:
        remedy = "1 is greedy search, 4 the paper's beam."
        possible = 1 <= self.beam_size <= _MOST
        _check("beam_size", self.beam_size, possible, f"from 1 to {_MOST:,}", remedy)
        samples = self.sampling is not None
        most_hypotheses = math.inf if samples else self.beam_size
        allowed = "at least 1" if samples else f"from 1 to beam_size {self.beam_size}"
        remedy = "Ask for fewer, or widen the beam."
        _check("n_best", self.n_best, 1 <= self.n_best <= most_hypotheses, allowed, remedy)
        possible = self.groups >= 1 and self.beam_size % self.groups == 0
        allowed = f"a divisor of beam_size {self.beam_size}"
        _check("groups", self.groups, possible, allowed, "All groups are of one size.")
        if samples and self.groups > 1:
            raise ConfigError(
                f"There are {self.groups} groups, but sampling has no beam to divide.",
                "Leave out groups or sampling.",
            )

    def score(self, log_prob: float, length: int) -> float:
        """Divide a log-probability by the length penalty; length counts the end symbol.

        The coverage penalty is added where the attention is known (`headway.decoding.coverage`).
        """
        return log_prob / length_penalty(length, self.length_penalty, self.length_form)


def length_penalty(length: int, alpha: float, form: LengthForm = "gnmt") -> float:
    """Compute ((5 + |Y|) / 6)^alpha (section 6.1; Wu et al. 2016, equation 14), or plain |Y|^alpha.

    |Y| counts the end symbol.

    >>> length_penalty(1, 0.6), round(length_penalty(19, 0.5), 9)
    (1.0, 2.0)
    >>> length_penalty(9, 0.5, "plain")
    3.0
    """
    return (length if form == "plain" else (5 + length) / 6) ** alpha


def changed_options(options: SearchOptions, values: Mapping[str, Any]) -> SearchOptions:
    """Return the options with these values; a larger n_best widens the beam."""
    remedy = "Give SearchOptions, such as SearchOptions(beam_size=4)."
    require_type("options", options, SearchOptions, remedy)
    if not values:
        return options
    names = ("beam_size", "n_best", "groups", "sampling")
    chosen = {**{name: getattr(options, name) for name in names}, **values}
    for name in names[:-1]:
        _check_whole(name, chosen[name])
    beam_size = chosen["beam_size"]
    if chosen["sampling"] is None:
        beam_size = _widened(beam_size, chosen["n_best"], chosen["groups"])
    return replace(options, **{**values, "beam_size": beam_size})


def _widened(beam_size: int, n_best: int, groups: int = 1) -> int:
    """Return a beam size for `n_best` hypotheses that the groups divide.

    >>> _widened(4, 3, 2), _widened(4, 5, 2)
    (4, 6)
    """
    return beam_size if n_best <= beam_size else -(-n_best // max(groups, 1)) * max(groups, 1)


def _check_whole(name: str, value: object) -> None:
    possible = isinstance(value, Integral) and not isinstance(value, bool)
    _check(name, value, possible, "a whole number", "Round it.")


def _check_number(name: str, value: object) -> None:
    possible = isinstance(value, Real) and not isinstance(value, bool)
    _check(name, value, possible, "a number", "Give one.")


def _check(name: str, value: object, possible: bool, allowed: str, remedy: str) -> None:
    if not possible:
        raise ConfigError(f"{name} is {value}, but must be {allowed}.", remedy)
