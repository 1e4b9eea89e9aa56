"""Remarks on lines without a tag, for models that were trained with tags."""

import sys
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from headway.counted import counted, listed
from headway.errors import DataError

if TYPE_CHECKING:
    from headway.bundle import Bundle


def remark_on_tags(bundle: "Bundle", lines: Iterable[str], quiet: bool) -> set[str]:
    """Remark on lines without a tag; return the first words of all lines."""
    tags = TagWatch(bundle, quiet)
    beginnings = {words[0] for line in tags.of(lines) if (words := line.split(maxsplit=1))}
    tags.finish()
    return beginnings


class TagWatch:
    """Remarks on lines without a tag, if all training text of the model was tagged.

    Such a line is translated, but the result is left to chance: only a tag names the corpus, or
    the language, that the translation should resemble. An imported model with several tags
    refuses the line instead, unless a tag is put before it.
    """

    def __init__(self, bundle: "Bundle", quiet: bool) -> None:
        """Take the tags from the record of the model's training."""
        self.bundle = bundle
        self.tags = bundle.tags if all(bundle.tags) and not bundle.tag else []
        self.quiet = quiet
        self.number = 0
        self.untagged = 0

    def of(self, lines: Iterable[str]) -> Iterator[str]:
        """Yield the lines unchanged; the first one without a tag is remarked on at once.

        Raises DataError with the number of a line that is refused.
        """
        from headway.decoding.tags import tag_before

        for line in lines:
            self.number += 1
            try:
                tag_before(self.bundle, line)
            except DataError as error:
                raise DataError(f"line {self.number}: {error.message}", error.remedy) from None
            if self.tags and line.strip() and line.split(maxsplit=1)[0] not in self.tags:
                self.untagged += 1
                if self.untagged == 1:
                    self._say(
                        f"line {self.number}: begins with none of the tags that this model was "
                        f"trained with, each followed by a space: {listed(self.tags)}."
                    )
            yield line

    def finish(self) -> None:
        """Print the number of all lines without a tag."""
        if self.untagged > 1:
            begin = "begins" if self.untagged == 1 else "begin"
            self._say(f"{counted(self.untagged, 'line')} in all {begin} with no tag of this model.")

    def _say(self, note: str) -> None:
        if not self.quiet:
            print(f"Note: {note}", file=sys.stderr)
