"""Split running text into sentences, by the rules of `sentencex` and a few of our own.

sentencex knows abbreviations and sentence ends of some 300 languages. But it never splits the
inside of a quotation or a bracket, and it knows little Korean. So it gets the text without
quotation marks, and its cuts are checked afterwards (benchmarks/log/074 compares it with other
splitters).
"""

import re
from functools import cache
from itertools import accumulate

import sentencex

from headway.data.headers import is_word_for_a_side
from headway.data.languages import language_code

_OPENERS = "\"'“„‟‘‚‛«»‹›(（[［{「『〈《【〔¿¡"
_CLOSERS = "\"'”“‟’‘»«›‹)）]］}」』〉》】〕"
# Shown to sentencex as spaces; square brackets stay, because it knows [1] after a sentence.
_MARKS = '"“”„‟‘‚‛«»‹›()（）「」『』〈〉《》【】〔〕'
_SPACES = "\t\v\f\r\x1c\x1d\x1e\x1f\x85\xa0\u2028\u2029\u202f\u3000"
_SHOWN = str.maketrans(dict.fromkeys(_MARKS + _SPACES, " ") | {"…": "."})
_APOSTROPHES_AS_MARKS = re.compile(r"(?<!\w)['’]|['’](?!\w)")
_SURROGATE = re.compile("[\ud800-\udfff]")

# O.K.? Yes. Then :) He. 고마워요~ 또
_MORE_ENDS = re.compile(r"(?:\.[!?]|\s[:;]-?[)(]|(?<=[요다죠네까])[~^ㅋㅎㅠㅜ]+)\s+(?=[^\W\d_])")
_ENTITY = re.compile("&[a-z]{2,6};")

_CLOSING = re.compile(rf"[{re.escape(_CLOSERS)}]*(?:[ \xa0\u202f][»”](?=\s|$))?")
_OPENING = re.compile(rf"[{re.escape(_OPENERS)}]*")
_ENUMERATOR = re.compile(r"\s*[(\[]?(?:\d{1,3}|[A-Za-z]|[ivx]{2,4}|[IVX]{2,4}|[가-하])[.)]+\s*")
_HANGUL = re.compile("[가-힣]")
_HANGUL_WORD = re.compile("[가-힣]{2}[.!?]+$")
# Words that continue a sentence after a quotation, with a space or without.
_SAID = re.compile("(?:이?라고|이?라는|이?라며|하고|하며|하는|했)")
_PARTICLE = re.compile("と(?!ころ|ても)|って|は|が|を|に|も(?!し)|の|で(?!も)|など|へ|や")
_WORD_BEFORE = re.compile(r"(?:^|[\s(\[])([^\W\d_]+)\.$")
_ORDINAL = re.compile(r"(?:^|\s)([a-zäöü]+) \d{1,2}\.$", re.IGNORECASE)
_BEFORE_ORDINALS = re.compile(
    "ab|am|beim|bis|dem|den|der|des|die|das|ein|eine|einem|einen|einer|im|ins|seit|vom|zum|zur",
    re.IGNORECASE,
)
_YEAR, _DAY = r"(?<!\d)(?:\d{4}|['’]\d{2})\.", r"\s*\d{1,2}\."
# 2020. 5. 3. 10시에: text before a stop, and the text after it with which the date goes on.
_KOREAN_DATE = (
    (re.compile(f"{_YEAR}$"), re.compile(r"(?:0?[1-9]|1[0-2])\.(?!\s*\d{3})")),
    (re.compile(f"{_YEAR}{_DAY}$"), re.compile(r"\d{1,2}\.(?!\s*\d{3})")),
    (re.compile(f"{_YEAR}{_DAY}{_DAY}$"), re.compile(r"\d{1,2}\s*[시:]|[A-Za-z]")),
)
# Without a space after the stop: prose that runs on, not a name of a program or a web address.
_RUN_TOGETHER = re.compile(r"(?:^|\s)(?:\S*['’-])?[a-z]{2,}\.$")
_FIRST_WORD = re.compile(
    "(?:A|After|All|Also|An|And|As|At|Because|Before|But|By|Each|Every|For|From|Give|He|Her|Here|"
    "His|How|However|I|If|In|It|Its|Just|Let|Many|Most|My|No|Not|Now|Of|On|Once|One|Only|Or|Our|"
    "Please|She|Since|So|Some|Such|That|The|Their|Then|There|These|They|This|Those|Three|To|Two|"
    "Until|Use|We|What|When|Where|Which|While|Who|Why|With|Yes|You|Your)(?:['’][a-z]+)?,? [\\w'\"]"
)
# Abbreviations that sentencex lacks. They hardly ever end a sentence.
_ENGLISH = "Approx Avg Excl Ft Incl Messrs Misc approx appr avg equiv excl incl misc"
_GERMAN = (
    "Abb Abt Anm Aufl Ausg Bd Bde Bhf Bsp Fa Frl Hbf Hrn Hrsg Kap Pfd Tel Tsd abzgl allg amtl bes "
    "betr bspw dt ehem eigtl einschl engl entspr evang exkl geb gegr gem gest inkl insb insbes lfd "
    "max mind monatl nördl röm sog staatl städt südl tägl urspr verh vorm zzgl zz"
)
_ABBREVIATIONS = {
    "af": frozenset(("mnr", "mev", "mej", "bv", "nr", "nl", "bl", "ens")),
    "de": frozenset(_GERMAN.split()),
    "en": frozenset(_ENGLISH.split()),
    "fr": frozenset(("M", "MM", "Mme", "Mlle", "Me")),
}
# These end a sentence only before a capital letter: max. 30, but: It is at its max. Then …
_ENGLISH_BEFORE_NUMBERS = (
    "Apt Ch Chap Dia Diam Ed Eq Eqs Est Ext Figs Lat Max Min Pop Qty Ref Rm Rte Sect Std Ste Tel "
    "Temp Ver Vol Vols Wt apt arr ch chap circ dia diam dim ed eds edn encl eq eqs est ext figs "
    "hrs lat lbs max min mins orig pop pts qty ref refs resp rm rte secs sect std ste suppl tbsp "
    "tel temp tsp ver vol vols wks wt yrs"
)
_BEFORE_NUMBERS = {"en": frozenset(_ENGLISH_BEFORE_NUMBERS.split())}
_UNIT = re.compile(r"\d[\s-]?[^\W\d_]+\.$")  # 5 min.
_SUM = re.compile(r"[A-Z]{2,3}\s?[$€£¥]?\s?\d")  # EUR 30
# A lower-case word of prose, and not a name such as iPhone, json.dumps or b).
_LOWER_CASE_WORD = re.compile(r"[^\W\d_]+(?:['’-][^\W\d_]+)*['’]?[,;:.!?…]*(?=\s|$)")
# The name of an argument or a function begins a sentence in documentation: maxsize is the …
_NAME_AS_SUBJECT = re.compile(
    r"\w+(?:(?:, | and |, and | or )\w+)*,? (?:also |only )?(?:is|are|was|were|will|must|may|might|"
    r"can|could|should|does|do|has|have|had|defaults|gives|needs|returns|specifies|stores|takes|"
    r"accepts|contains|sets|means|cannot)\b"
)
_CASELESS = re.compile("[ა-ჿ]")  # Georgian letters are lower-case ones in Unicode
_ARTICLE = re.compile(r"['’]?[a-z]\s+(?=[^\W\d_])")  # Afrikaans and Dutch: 'n Hond, 't Is
_SMALL_I = re.compile(r"(?<!\S)i(?:'[a-z]+)?\s")
_STOPS = re.compile(r"[^\W\d_]{2}\.\s+([^\W\d_])")
_LETTERS = re.compile(r"[^\W\d_]*")
_SPACE = re.compile(r"\s*")
_LETTER_OR_DIGIT = re.compile(r"[^\W_]")
_NEAR = 200  # characters before and after a place that decide whether a sentence ends there


@cache
def splitting_language(name: str) -> str:
    """Return the code of a language for `split_sentences`; English if the name is none.

    >>> splitting_language("Korean (formal)"), splitting_language("source")
    ('ko', 'en')
    """
    return _code(name) or "en"


def has_rules_of_its_own(name: str) -> bool:
    """Return True for a language by whose rules text is cut, and not by those of English instead.

    >>> has_rules_of_its_own("Korean"), has_rules_of_its_own("eng"), has_rules_of_its_own("src")
    (True, True, False)
    """
    return bool(_code(name)) and not is_word_for_a_side(name)


def _code(name: str) -> str:
    """Return the code of a language; empty if the name is none."""
    first = _LETTERS.match(name.strip())
    code = language_code(first[0]) if first else ""
    return code if code.isascii() and 2 <= len(code) <= 3 else ""


def split_sentences(text: str, language: str = "en") -> list[str]:
    """Return the sentences of a text, each with the spaces after it: joined they are the text.

    The first one has the spaces before it, too. A text without a letter or a digit is one sentence.
    language: a code, as `splitting_language` returns it.

    >>> split_sentences("Dr. Smith left. He was tired.")
    ['Dr. Smith left. ', 'He was tired.']
    """
    shown = _shown(text)
    sentences = sentencex.segment(language, shown)  # pyright: ignore[reportAttributeAccessIssue]
    ends = {*accumulate(map(len, sentences)), *(end.end() for end in _MORE_ENDS.finditer(text))}
    ends.discard(len(text))
    if not ends:
        return [text]
    words = _Words(text)
    capitals = _begins_sentences_with_capitals(text, language)
    parts: list[str] = []
    start = 0
    for end in sorted(ends):
        if end > start and (
            cut := _sentence_end(text, shown, start, end, words, language, capitals)
        ):
            parts.append(text[start:cut])
            start = cut
    return [*parts, text[start:]]


class _Words:
    """The places of letters and digits in a text, except those of entities such as `&quot;`."""

    def __init__(self, text: str) -> None:
        """Find the last place."""
        blank = _ENTITY.sub(lambda entity: " " * len(entity[0]), text) if "&" in text else text
        self._text = blank
        self.last = next((n for n in reversed(range(len(text))) if blank[n].isalnum()), -1)
        self._next = -1

    def next(self, start: int) -> int:
        """Return the first place from `start` on, or the length of the text.

        Starts must ascend, so that no character is searched twice.
        """
        if self._next < start:
            word = _LETTER_OR_DIGIT.search(self._text, start)
            self._next = word.start() if word else len(self._text)
        return self._next


def _shown(text: str) -> str:
    """Return the text for sentencex: of the same length, with spaces for quotation marks."""
    shown = _APOSTROPHES_AS_MARKS.sub(" ", text.translate(_SHOWN))
    return shown if shown.isascii() else _SURROGATE.sub("x", shown)


def _begins_sentences_with_capitals(text: str, language: str) -> bool:
    """Return False for text in lower case, such as that of chats and of many captions."""
    first = next((letter for letter in text if letter.islower() or letter.isupper()), "")
    if not first.isupper() or (language == "en" and _SMALL_I.search(text)):
        return False
    after_stops = [letter.islower() for letter in _STOPS.findall(text)]
    return not (len(after_stops) > 1 and all(after_stops))


def _sentence_end(
    text: str, shown: str, start: int, end: int, words: _Words, language: str, capitals: bool
) -> int:
    """Return where the sentence that begins at `start` ends, near `end`; 0 if it goes on."""
    stop = end  # after the last character that is not a mark
    while stop > start and shown[stop - 1].isspace():
        stop -= 1
    closed = _end_of(_CLOSING, text, stop)
    cut = _end_of(_SPACE, text, closed)
    begin = _end_of(_SPACE, text, _end_of(_OPENING, text, cut))
    if words.next(start) >= stop or words.last < begin:
        return 0  # such as a smiley or a dash
    # Only characters nearby, because copies of all later text would take quadratic time.
    sentence, following = text[max(start, stop - _NEAR) : stop], text[begin : begin + _NEAR]
    spaced, quoted = cut > closed, closed > stop
    goes_on = (
        (stop - start <= _NEAR and _ENUMERATOR.fullmatch(sentence))
        or (quoted and _after_quotation(following, spaced))
        or (not (quoted or spaced) and _within_word(sentence, following))
        or _after_stop(sentence, following, language, capitals)
    )
    return 0 if goes_on else cut


def _end_of(pattern: re.Pattern[str], text: str, start: int) -> int:
    """Return where a pattern that may match nothing ends."""
    match = pattern.match(text, start)
    assert match is not None
    return match.end()


def _after_quotation(following: str, spaced: bool) -> bool:
    """Return True if a sentence goes on after a quotation or a bracket that ends like one."""
    first = following[0]
    if first.islower() or first in ",;:" or _SAID.match(following):
        return True
    # Particles of Korean and Japanese follow at once: "…다."라고, 「…。」と.
    if "ぁ" <= first <= "ゟ":
        return not spaced and bool(_PARTICLE.match(following))
    return not spaced and not (first.isupper() or "ァ" <= first <= "鿿")


def _within_word(sentence: str, following: str) -> bool:
    """Return True if a stop without a space after it ends no sentence, as in 3.5 and a.b."""
    stop, first = sentence[-1], following[0]
    if stop not in ".!?":
        return stop == "…"  # a pause; 。 and its like have no space after them
    if _HANGUL_WORD.search(sentence):
        return not _HANGUL.match(first)
    if stop != ".":
        return not (first.isupper() and (following[1:2].isalpha() or following[1:2] in " '’"))
    return not (_RUN_TOGETHER.search(sentence) and _FIRST_WORD.match(following))


def _after_stop(sentence: str, following: str, language: str, capitals: bool) -> bool:
    """Return True if the stop is that of an abbreviation, a number or a pause.

    capitals: the sentences of the text begin with capital letters.
    """
    first = following[0]
    if sentence.endswith(("…", "..")):
        return first.islower()
    if not sentence.endswith("."):
        return False
    if sentence[-2:-1].isdigit():
        if first.islower():
            return True  # 1. milk, 2. eggs
        korean = (
            _HANGUL.match(first)
            or (first.isdigit() and _HANGUL.search(sentence))
            or _within_korean_date(sentence, following, language)
        )
        ordinal = _ORDINAL.search(sentence) if language == "de" else None
        return bool(korean) or (
            ordinal is not None and bool(_BEFORE_ORDINALS.fullmatch(ordinal[1]))
        )
    if capitals and _goes_on_in_lower_case(sentence, following):
        return True
    word = _WORD_BEFORE.search(sentence)
    return word is not None and (
        word[1] in _ABBREVIATIONS.get(language, ())
        or (word[1] in _BEFORE_NUMBERS.get(language, ()) and _is_before_number(sentence, following))
    )


def _goes_on_in_lower_case(sentence: str, following: str) -> bool:
    """Return True if a lower-case word of prose follows the stop of a word."""
    article = _ARTICLE.match(following)
    word = _LOWER_CASE_WORD.match(following, article.end() if article else 0)
    before = sentence[-2:-1]
    return (
        word is not None
        and word[0].islower()
        and (before.islower() or before.isupper())
        and not _CASELESS.match(word[0])
        and not _NAME_AS_SUBJECT.match(following)
    )


def _is_before_number(sentence: str, following: str) -> bool:
    """Return True if the stop of an abbreviation such as `max.` does not end the sentence."""
    if _UNIT.search(sentence):
        return following[0].isdigit()  # 2 hrs. 30 mins.
    return not following[0].isupper() or bool(_SUM.match(following))


def _within_korean_date(sentence: str, following: str, language: str) -> bool:
    """Return True if a stop belongs to a date that Korean text goes on with."""
    if language != "ko" and not _HANGUL.search(following):
        return False
    return any(before.search(sentence) and after.match(following) for before, after in _KOREAN_DATE)
