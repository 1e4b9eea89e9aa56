"""The tag that says into which language a model of several languages should translate."""

from headway.bundle import Bundle
from headway.counted import listed
from headway.data.tokenizer import LEADING_TAG
from headway.errors import DataError, shown


def tag_before(bundle: Bundle, text: str) -> str:
    """Return the tag that is put before a text; "" if it has its own, or if the model needs none.

    Only tokenizers with tags such as `>>deu<<` have one put before a text. Raises DataError for a
    text without a tag if there are several tags and none was chosen, and for an unknown tag:
    without the right one, the language of the translation would be chance.
    """
    if not (text.strip() and bundle.source_tokenizer.has_leading_tags):
        return ""
    tags = bundle.tags
    begin = LEADING_TAG.match(text.lstrip())
    if begin is None and (bundle.tag or len(tags) < 2 or "" in tags):
        return bundle.tag
    if begin is None:
        problem = f"The text {shown(text)} begins with no tag"
    elif begin[0] not in tags and any(tags):
        problem = f"The text begins with {shown(begin[0])}, which is not a tag of the model"
    elif text != text.lstrip():
        problem = f"The text begins with a space before the tag {begin[0]}"
    else:
        return ""
    remedy = "" if bundle.tag else " To choose one for all texts, import the model with --tag."
    raise DataError(
        f"{problem}; the model has {listed(tags)}.",
        f"Begin the text with the tag of the language that you want.{remedy}",
    )
