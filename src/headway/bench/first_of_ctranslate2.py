"""A script: load a model that was exported for CTranslate2, and translate one sentence.

    python first_of_ctranslate2.py FOLDER SENTENCE BEAM LIMIT SHORTEST

It is a program of the peer's users and imports nothing of Headway. PyTorch is hidden from
CTranslate2, whose converters would import it.
"""

import sys
from pathlib import Path


def main(folder: str, sentence: str, beam_size: int, limit: int, shortest: int) -> None:
    """Print the translation."""
    import ctranslate2
    from sentencepiece import SentencePieceProcessor

    translator = ctranslate2.Translator(folder, device="cpu", compute_type="int8")
    names = sorted(str(file) for file in Path(folder).glob("*.model"))  # one, or source and target
    source, target = (SentencePieceProcessor(model_file=name) for name in (names[0], names[-1]))
    (result,) = translator.translate_batch(
        [[source.id_to_piece(i) for i in source.encode(sentence)]],
        beam_size=beam_size,
        disable_unk=True,
        min_decoding_length=shortest,
        max_decoding_length=limit,
    )
    print(target.decode(result.hypotheses[0]))


if __name__ == "__main__":
    sys.modules["torch"] = None  # pyright: ignore[reportArgumentType]
    _, folder, sentence, *numbers = sys.argv
    main(folder, sentence, *map(int, numbers))
