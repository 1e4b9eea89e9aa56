"""The search for a translation (section 6.1); the defaults are the paper's."""

from pydantic import Field

from headway.config.section import Section


class DecodingConfig(Section):
    """Search settings that a bundle carries as its own defaults."""

    beam_size: int = Field(default=4, ge=1)
    """Hypotheses kept at each step; 1 is greedy search."""
    length_penalty: float = Field(default=0.6, ge=0, le=10)
    """alpha; the log-probability of a hypothesis Y is divided by `((5 + |Y|) / 6)^alpha`."""
    max_extra_pieces: int = Field(default=50, ge=1)
    """Output limit: this many tokens more than the source has."""
    alignment_layer: int | None = Field(default=None, ge=0)
    """Decoder layer, from 0, that `headway align` reads; the last if unset."""
    alignment_head: int | None = Field(default=None, ge=0)
    """Head of that layer, from 0; the average of all if unset."""
    max_source_pieces: int = Field(default=512, ge=1)
    """A sentence of more tokens is split, translated part by part, and flagged. In a trained model
    the limit is at most its `data.max_pieces`, or that of the model that training started from."""
