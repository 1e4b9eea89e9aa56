"""Plain text: each line is a paragraph, and all space around and between them stays."""

from headway.documents.document import Parts
from headway.documents.passage import Passage


def parts_of_text(text: str) -> Parts:
    r"""Return the lines of a text that have text, and the rest.

    A line may end as Unicode has it: "\n", "\r\n", a form feed, a line separator.
    """
    parts: Parts = []
    for line in text.splitlines(keepends=True):
        content = line.strip()
        if not content:
            parts.append(line)
            continue
        begin = line.index(content)
        passage = Passage(content.replace("\t", " "), spelled=content)
        parts += [line[:begin], passage, line[begin + len(content) :]]
    return parts
