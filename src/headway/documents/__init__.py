"""Documents in common formats: their text is translated, and all else stays."""

from headway.documents.forms import (
    FORMS,
    Finished,
    Form,
    Steps,
    check_form,
    endings,
    form_of,
    steps_of_file,
    steps_of_text,
)
from headway.documents.sentences import TextSentence, sentences_of
from headway.documents.steps import Answer, Wish
from headway.documents.translating import translate_file, translate_text

__all__ = [
    "FORMS",
    "Answer",
    "Finished",
    "Form",
    "Steps",
    "TextSentence",
    "Wish",
    "check_form",
    "endings",
    "form_of",
    "sentences_of",
    "steps_of_file",
    "steps_of_text",
    "translate_file",
    "translate_text",
]
