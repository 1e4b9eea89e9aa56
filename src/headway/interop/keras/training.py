"""Training with `compile` and `fit` as the paper trains (section 5)."""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from headway.config.model import ModelConfig
from headway.config.training import TrainingConfig
from headway.data.batching import collate, token_batches
from headway.data.encoded import EncodedPair
from headway.errors import ConfigError
from headway.interop.keras.backend import keras

ops = keras.ops


@keras.saving.register_keras_serializable(package="headway")
class LabelSmoothedCrossEntropy(keras.losses.Loss):
    """Compare logits (B, T, V) with labels (B, T): the mean over real pieces (section 5.4).

    The true piece gets 1 - smoothing; smoothing is spread over the V - 1 pieces that are not
    padding. Labels that are padding do not count.

    Elsewhere: LabelSmoothing, loss_function, masked_loss.
    """

    def __init__(self, smoothing: float = 0.1, pad_id: int = 0, **settings: Any) -> None:
        """Keep the settings; the mean is over pieces, whatever the reduction."""
        settings.setdefault("reduction", None)
        super().__init__(**settings)
        self.smoothing = smoothing
        self.pad_id = pad_id

    def call(self, y_true: Any, y_pred: Any) -> Any:
        """Return the mean loss, one number."""
        labels = ops.cast(y_true, "int32")
        real = ops.cast(ops.not_equal(labels, self.pad_id), y_pred.dtype)
        log_probs = ops.log_softmax(y_pred, axis=-1)
        nll = -ops.take_along_axis(log_probs, labels[..., None], axis=-1)[..., 0]
        log_prob_sums = ops.sum(log_probs, axis=-1) - log_probs[..., self.pad_id]
        uniform = -log_prob_sums / (y_pred.shape[-1] - 1)
        loss = (1 - self.smoothing) * nll + self.smoothing * uniform
        return ops.sum(loss * real) / ops.maximum(ops.sum(real), 1.0)

    def get_config(self) -> dict[str, Any]:
        """Return what `from_config` needs."""
        settings = {"smoothing": self.smoothing, "pad_id": self.pad_id}
        return super().get_config() | settings


@keras.saving.register_keras_serializable(package="headway")
class PaperSchedule(keras.optimizers.schedules.LearningRateSchedule):
    """Compute d_model^-0.5 min(step^-0.5, step warmup_steps^-1.5) (equation 3).

    Elsewhere: CustomSchedule, NoamOpt.
    """

    def __init__(self, d_model: int, warmup_steps: int = 4000) -> None:
        """Keep the sizes."""
        self.d_model = d_model
        self.warmup_steps = warmup_steps

    def __call__(self, step: Any) -> Any:
        """Return the rate of a step; Keras counts from 0, the paper from 1."""
        step = ops.cast(step, "float32") + 1
        rate = ops.minimum(ops.rsqrt(step), step * self.warmup_steps**-1.5)
        return self.d_model**-0.5 * rate

    def get_config(self) -> dict[str, Any]:
        """Return what `from_config` needs."""
        return {"d_model": self.d_model, "warmup_steps": self.warmup_steps}


@keras.saving.register_keras_serializable(package="headway")
class RecipeSchedule(keras.optimizers.schedules.LearningRateSchedule):
    """The rate of each step of a recipe: a linear rise to the peak, then the named fall.

    The last decay_steps fall in a straight line to zero instead.
    """

    def __init__(
        self, name: str, peak: float, warmup_steps: int, max_steps: int, decay_steps: int = 0
    ) -> None:
        """Choose inverse_sqrt, linear, cosine or constant, as in [training] of a recipe."""
        if name not in ("inverse_sqrt", "linear", "cosine", "constant"):
            raise ConfigError(
                f"There is no schedule '{name}'.", "Known: constant, cosine, inverse_sqrt, linear."
            )
        self.name = name
        self.peak = peak
        self.warmup_steps = warmup_steps
        self.max_steps = max_steps
        self.decay_steps = decay_steps

    def __call__(self, step: Any) -> Any:
        """Return the rate of a step; Keras counts from 0."""
        step = ops.cast(step, "float32") + 1
        if not self.decay_steps:
            return self._undecayed(step)
        share_left = ops.maximum(self.max_steps + 1 - step, 0) / (self.decay_steps + 1)
        decay_start = self.max_steps - self.decay_steps
        return self._undecayed(ops.minimum(step, decay_start)) * ops.minimum(share_left, 1.0)

    def _undecayed(self, step: Any) -> Any:
        rise = step / self.warmup_steps
        return self.peak * ops.where(
            rise < 1, rise, self._fall(ops.maximum(step, self.warmup_steps))
        )

    def _fall(self, step: Any) -> Any:
        if self.name == "constant":
            return ops.ones_like(step)
        if self.name == "inverse_sqrt":
            return ops.sqrt(self.warmup_steps / step)
        progress = (step - self.warmup_steps) / (self.max_steps + 1 - self.warmup_steps)
        progress = ops.minimum(progress, 1.0)
        return 1 - progress if self.name == "linear" else 0.5 * (1 + ops.cos(math.pi * progress))

    def get_config(self) -> dict[str, Any]:
        """Return what `from_config` needs."""
        return {
            "name": self.name,
            "peak": self.peak,
            "warmup_steps": self.warmup_steps,
            "max_steps": self.max_steps,
            "decay_steps": self.decay_steps,
        }


class BatchDataset(keras.utils.PyDataset):
    """Our batches for `fit`, for up to 131,072 pairs in the order of our trainer.

    Item i is ((inputs, decoder_inputs), labels) of step i + 1, epoch after epoch of the text. An
    epoch of Keras has `steps_per_epoch` of `fit`, or all steps. `fit` needs `shuffle=False`,
    because batches are shuffled already. Rows and lengths are padded to a few sizes, because JAX
    compiles the model for each size; padding changes no result.
    """

    def __init__(
        self,
        pairs: Sequence[EncodedPair],
        *,
        max_tokens: int,
        steps: int | None = None,
        seed: int = 1,
        multiple: int = 8,
    ) -> None:
        """Prepare this number of steps, or all pairs once.

        multiple: both lengths are padded to a multiple of it, so a batch may slightly exceed
        max_tokens.
        """
        super().__init__()
        if not pairs:
            raise ConfigError("There are no pairs to train on.", "Give at least one.")
        self.pairs = pairs
        self.lengths = [(len(pair.source_ids), len(pair.target_ids)) for pair in pairs]
        self.max_tokens = max_tokens
        self.seed = seed
        self.multiple = multiple
        self._batches: list[list[int]] = []
        self._epochs = 0
        self._prepare(1)
        self.steps = len(self._batches) if steps is None else steps

    def __len__(self) -> int:
        """Return the number of steps."""
        return self.steps

    def __getitem__(self, index: int) -> tuple[tuple[Any, Any], Any]:
        """Return one padded batch; IndexError beyond the last step."""
        if not 0 <= index < self.steps:
            raise IndexError(index)
        self._prepare(index + 1)
        rows = self._batches[index]
        batch = collate([self.pairs[row] for row in rows], rows)
        width = self._width(index)
        height = max(self.max_tokens // width, len(rows))
        if index == 0 and self.steps > 1 and width == self._width(1):
            # TensorFlow expects all batches to share what the first two have in common.
            width += self.multiple
        source, target, labels = (
            _filled(ids.numpy(), height, width)
            for ids in (batch.source_ids, batch.target_ids, batch.label_ids)
        )
        return (source, target), labels

    def _width(self, index: int) -> int:
        """Return the number of pieces that the longer side of a batch is padded to."""
        self._prepare(index + 1)
        width = 1 + max(max(self.lengths[row]) for row in self._batches[index])  # START or END
        return width + -width % self.multiple

    def _prepare(self, steps: int) -> None:
        """Add epochs until there are enough batches for the steps."""
        while len(self._batches) < steps:
            self._batches += token_batches(
                self.lengths, max_tokens=self.max_tokens, seed=self.seed, epoch=self._epochs
            )
            self._epochs += 1


def compile_model(model: keras.Model, training: TrainingConfig, config: ModelConfig) -> None:
    """Compile with the optimizer, the schedule and the loss of a recipe.

    Raises ConfigError for `accumulate` above 1. `fit` decides the number of steps; everything is
    float32.
    """
    if training.accumulate > 1:
        raise ConfigError(
            f"training.accumulate is {training.accumulate}, but fit does not accumulate gradients.",
            "Set it to 1, with a larger batch_tokens if memory allows.",
        )
    peak = training.learning_rate or (config.d_model * training.warmup_steps) ** -0.5
    optimizer = keras.optimizers.AdamW(
        RecipeSchedule(
            training.schedule,
            peak,
            training.warmup_steps,
            training.max_steps,
            training.decay_steps or 0,
        ),
        weight_decay=training.weight_decay,
        beta_1=training.adam_beta_1,
        beta_2=training.adam_beta_2,
        epsilon=training.adam_epsilon,
        global_clipnorm=training.clip_norm,
    )
    # As in our trainer, biases and LayerNorm have no decay.
    optimizer.exclude_from_weight_decay(
        var_list=[v for v in model.trainable_variables if len(v.shape) < 2]
    )
    loss = LabelSmoothedCrossEntropy(training.label_smoothing, config.pad_id)
    model.compile(optimizer, loss)


def _filled(ids: Any, height: int, width: int) -> Any:
    """Return ids padded to a number of rows and columns."""
    return np.pad(ids, ((0, height - ids.shape[0]), (0, width - ids.shape[1]))).astype(np.int32)
