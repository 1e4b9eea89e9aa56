"""The README of an exported folder: how to run the model, and its pitfalls."""

from headway.bundle import Bundle, tokenizer_files
from headway.interop.ctranslate2.spec import num_positions

_NOTE = """\
# {source_language} to {target_language}, for CTranslate2

Exported by Headway. To run it in this folder: `pip install ctranslate2 sentencepiece`, then

```python
import ctranslate2
import sentencepiece

translator = ctranslate2.Translator(".", device="cpu")
source = sentencepiece.SentencePieceProcessor(model_file="{source_model}")
target = sentencepiece.SentencePieceProcessor(model_file="{target_model}")


def translate(sentences, beam_size=1):
    if isinstance(sentences, str):
        return translate([sentences], beam_size)[0]
    pieces = [source.id_to_piece(ids) for ids in source.encode(list(sentences))]
    results = translator.translate_batch(
        pieces,
        beam_size=beam_size,
        disable_unk=True,
        suppress_sequences=[["<pad>"], ["<s>"]],
        min_decoding_length=0,
        max_input_length=0,
        max_decoding_length=max(map(len, pieces), default=0) + {max_extra_pieces},
    )
    return [target.decode(result.hypotheses[0]) for result in results]


print(translate(["…"]))
```

With a beam of 1 this is Headway's greedy search. Each of these settings matters:

- `id_to_piece` of ids, and not tokens at once: a text that the vocabulary lacks is then `<unk>`,
  whatever it spells.
- `disable_unk` and `suppress_sequences`: Headway never puts out these tokens.
- `min_decoding_length=0`: 1, the default, forbids an empty translation.
- `max_input_length=0`: 1024, the default, cuts the source there and says nothing.
- `max_decoding_length`: 256, the default, ends a translation there and says nothing. It is one
  limit for all sentences of a call; Headway's is the tokens of each source plus
  {max_extra_pieces}.
- The model has {num_positions} positions, one of them for the start or end symbol; beyond them
  CTranslate2 raises an error. Headway splits a sentence of more than {max_source_pieces} tokens
  and translates it part by part.
- `length_penalty` is another formula here: the log-probability is divided by `length ** alpha`, by
  default with alpha 1. In Headway and in the paper it is `((5 + length) / 6) ** alpha`, for this
  model with alpha {length_penalty} and a beam of {beam_size}. The numbers do not carry over:
  choose alpha on text of your own. Beams also stop by another rule, so translations may differ
  where greedy ones do not.
- A blank sentence gives an empty translation.
{tags}"""
_TAGS = """\
- Each sentence begins with {tags} and a space: the tag says what the translation is to be like. A
  sentence that is split is to have it in each part, and one of nothing but a tag is blank.
"""


def note(bundle: Bundle) -> str:
    """Return the README, in Markdown."""
    names = list(tokenizer_files(bundle))
    return _NOTE.format(
        source_language=bundle.source_language,
        target_language=bundle.target_language,
        source_model=names[0],
        target_model=names[-1],
        num_positions=num_positions(bundle),
        max_source_pieces=bundle.decoding.max_source_pieces,
        max_extra_pieces=bundle.decoding.max_extra_pieces,
        length_penalty=bundle.decoding.length_penalty,
        beam_size=bundle.decoding.beam_size,
        tags=_about_tags(bundle.tags),
    )


def _about_tags(tags: list[str]) -> str:
    named = [f"`{tag}`" if tag else "no tag" for tag in tags]
    return _TAGS.format(tags=" or ".join(named)) if any(tags) else ""
