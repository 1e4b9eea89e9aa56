"""Train the demonstration's recipe twice, with our trainer and with Keras' `fit`.

    KERAS_BACKEND=jax python benchmarks/keras_fit.py --steps 1500

Both begin with the same weights, take the same batches in the same order, and are judged by our
validation loss; dropout falls differently. Prints a line for each.
"""

import argparse
import json
import time
from pathlib import Path
from tempfile import TemporaryDirectory

import torch

from headway.bundle import Bundle, load_bundle
from headway.config.run import RunConfig
from headway.demo import demo_config, write_corpus
from headway.interop.keras import BatchDataset, compile_model, from_bundle, to_bundle
from headway.interop.keras.backend import keras
from headway.sample_corpus import build_sample_corpus
from headway.training.encode import encode_texts
from headway.training.objective import Objective
from headway.training.optimizer import build_optimizer
from headway.training.prepare import build_bundle
from headway.training.schedule import Schedule
from headway.training.stream import BatchStream
from headway.training.texts import read_texts
from headway.training.tokenizers import build_tokenizers
from headway.training.update import TrainingStep
from headway.training.validation import Validator


def main() -> None:
    """Read the arguments, train both, print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--steps", type=int, help="all steps of the recipe unless given")
    parser.add_argument("--only", choices=["ours", "keras"], help="train one of them")
    arguments = parser.parse_args()

    with TemporaryDirectory() as folder:
        text = Path(folder) / "text"
        write_corpus(build_sample_corpus(), text)
        config = demo_config(text)
        if arguments.steps:
            config = config.replace({"training": {"max_steps": arguments.steps}})
        texts = read_texts(config.data)
        source, target = build_tokenizers(config.tokenizer, texts.train, config.training.seed)
        encoded = encode_texts(texts, source, target, config.data)
        validate = Validator(
            encoded.valid, [], metrics=[], bleu_tokenize="13a", batch_tokens=4096,
            precision="float32",
        )  # fmt: skip
        for name, run in (("ours", train_ours), ("keras", train_keras)):
            if arguments.only not in (None, name):
                continue
            fresh = build_bundle(config, source, target, torch.device("cpu"))
            started = time.perf_counter()
            trained = run(config, fresh, encoded.train, Path(folder))
            print(
                json.dumps(
                    {
                        "trainer": name,
                        "backend": keras.backend.backend() if name == "keras" else "torch",
                        "steps": config.training.max_steps,
                        "validation_loss": validate(trained).loss,
                        "minutes": (time.perf_counter() - started) / 60,
                    }
                ),
                flush=True,
            )


def train_ours(config: RunConfig, bundle: Bundle, pairs: list, folder: Path) -> Bundle:
    """Take the recipe's steps with our own trainer."""
    training = config.training
    stream = BatchStream(
        pairs, max_tokens=training.batch_tokens, accumulate=training.accumulate, seed=training.seed
    )
    peak = training.learning_rate
    step = TrainingStep(
        Objective(bundle.model.train(), training.label_smoothing, "float32"),
        build_optimizer(bundle.model, weight_decay=training.weight_decay),
        Schedule(training.schedule, peak, training.warmup_steps, training.max_steps),
        clip_norm=training.clip_norm,
    )
    for number, group in zip(range(1, training.max_steps + 1), stream.groups(0, 0), strict=False):
        step(number, group.batches)
    return bundle


def train_keras(config: RunConfig, bundle: Bundle, pairs: list, folder: Path) -> Bundle:
    """Take the recipe's steps with `compile` and `fit`."""
    training = config.training
    model = from_bundle(bundle)
    compile_model(model, training, bundle.config)
    batches = BatchDataset(
        pairs, max_tokens=training.batch_tokens, steps=training.max_steps, seed=training.seed
    )
    model.fit(batches, shuffle=False, verbose=0)
    to_bundle(model, folder / "trained", like=bundle)
    return load_bundle(folder / "trained")


if __name__ == "__main__":
    main()
