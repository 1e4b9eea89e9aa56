"""Compare a bundle in Keras with the same bundle in PyTorch, on real sentences.

    KERAS_BACKEND=jax python benchmarks/keras_equality.py runs/demo \
        runs/demo-text/test_unseen.ko runs/demo-text/test_unseen.en

It prints the largest difference of the logits at real target positions, how many greedy
translations are the same, and whether the weights that come back are the same bytes and translate
to the same text.
"""

import argparse
import json
import tempfile
from pathlib import Path

import numpy as np
import torch

import headway
from headway.bundle import load_bundle
from headway.data.batching import collate
from headway.data.cleaning import EncodedPair
from headway.data.corpus import read_pairs
from headway.interop.keras import from_bundle, greedy_decode, to_bundle
from headway.interop.keras.backend import keras

BATCH = 50


def main() -> None:
    """Read the arguments, compare, print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("bundle", type=Path)
    parser.add_argument("source", type=Path)
    parser.add_argument("target", type=Path)
    parser.add_argument("--sentences", type=int, default=200)
    arguments = parser.parse_args()

    bundle = load_bundle(arguments.bundle)
    texts = read_pairs(arguments.source, arguments.target)[: arguments.sentences]
    pairs = [
        EncodedPair(
            bundle.source_tokenizer.encode(text.source),
            bundle.target_tokenizer.encode(text.target),
            line,
        )
        for line, text in enumerate(texts, start=1)
    ]
    pairs.sort(key=lambda pair: len(pair.source_ids))
    model = from_bundle(bundle)
    translator = headway.load(arguments.bundle)
    extra = bundle.decoding.max_extra_pieces

    largest, same = 0.0, 0
    for start in range(0, len(pairs), BATCH):
        group = pairs[start : start + BATCH]
        batch = collate(group)
        source, target = batch.source_ids.numpy(), batch.target_ids.numpy()
        with torch.inference_mode():
            ours = bundle.model(batch.source_ids, batch.target_ids).numpy()
        theirs = np.asarray(model.predict_on_batch([source, target]))
        largest = max(largest, float(abs(ours - theirs)[target != bundle.config.pad_id].max()))

        limits = [len(pair.source_ids) + extra for pair in group]
        found = greedy_decode(model, source, limits)
        expected = translator.translate(
            [bundle.source_tokenizer.decode(pair.source_ids) for pair in group], beam_size=1
        )
        same += sum(
            tuple(bundle.target_tokenizer.pieces(ids)) == translation.pieces
            for ids, translation in zip(found, expected, strict=True)
        )

    with tempfile.TemporaryDirectory() as folder:
        to_bundle(model, Path(folder) / "back")
        name = "model.safetensors"
        before, after = (path / name for path in (arguments.bundle, Path(folder) / "back"))
        byte_identical = before.read_bytes() == after.read_bytes()
        sources = [text.source for text in texts]
        back = headway.load(Path(folder) / "back").translate(sources)
        same_text = [t.text for t in back] == [t.text for t in translator.translate(sources)]

    print(
        json.dumps(
            {
                "backend": keras.backend.backend(),
                "sentences": len(pairs),
                "largest_difference": largest,
                "same_greedy_translations": same,
                "byte_identical": byte_identical,
                "same_text": same_text,
            }
        )
    )


if __name__ == "__main__":
    main()
