"""What a model of several corpora expects each line to begin with, and lines that do not."""

import sys
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from headway.counted import counted

if TYPE_CHECKING:
    from headway.bundle import Bundle


def remark_on_tags(bundle: "Bundle", lines: Iterable[str], quiet: bool) -> set[str]:
    """Remark on lines without a tag, all at once; return with which words lines begin."""
    tags = TagWatch(bundle, quiet)
    beginnings = {words[0] for line in tags.of(lines) if (words := line.split(maxsplit=1))}
    tags.finish()
    return beginnings


class TagWatch:
    """Remark on lines without a tag, if the model was trained on tagged text alone.

    Such a line is translated, but into what is chance: the tag is what says which corpus, or
    language, the translation is to be like.
    """

    def __init__(self, bundle: "Bundle", quiet: bool) -> None:
        """Take the tags from the record of its training."""
        self.tags = bundle.tags if all(bundle.tags) else []
        self.quiet = quiet
        self.number = 0
        self.untagged = 0

    def of(self, lines: Iterable[str]) -> Iterator[str]:
        """Yield the lines again; the first without a tag is remarked on at once."""
        for line in lines:
            self.number += 1
            if self.tags and line.strip() and line.split(maxsplit=1)[0] not in self.tags:
                self.untagged += 1
                if self.untagged == 1:
                    self._say(
                        f"line {self.number}: begins with none of the tags that this model was "
                        f"trained with, each followed by a space: {', '.join(self.tags)}."
                    )
            yield line

    def finish(self) -> None:
        """Say how many there were in all."""
        if self.untagged > 1:
            begin = "begins" if self.untagged == 1 else "begin"
            self._say(f"{counted(self.untagged, 'line')} in all {begin} with no tag of this model.")

    def _say(self, note: str) -> None:
        if not self.quiet:
            print(f"Note: {note}", file=sys.stderr)
