"""The recipe of training (section 5); the defaults are the paper's where it has them."""

from typing import Literal

from pydantic import Field

from headway.config.section import PathText, Section


class TrainingConfig(Section):
    """Length, learning rate, batches, validation and checkpoints of a run."""

    seed: int = Field(default=1, ge=0)
    """Fixes initial weights, order of the data and dropout."""
    max_steps: int = Field(default=100_000, ge=1)
    """Largest number of updates."""
    max_epochs: int | None = Field(default=None, ge=1)
    """Largest number of passes over the data."""
    batch_tokens: int = Field(default=25_000, ge=1)
    """Largest number of tokens on each side of a batch, padding included."""
    accumulate: int = Field(default=1, ge=1)
    """Batches whose gradients are summed into one update."""
    parts: int | None = Field(default=None, ge=1)
    """Parts into which each batch is cut for several processes; at least one for each process.
    Dropout is drawn part by part, so equal parts make the same run with any number of processes."""
    shard: bool = False
    """Divide weights, gradients and optimizer among the processes (FSDP2), if a model does not fit
    into one."""
    schedule: Literal["inverse_sqrt", "linear", "cosine", "constant"] = "inverse_sqrt"
    """Fall of the learning rate after warm-up: as in the paper, to zero at max_steps, or none."""
    decay_steps: int | None = Field(default=None, ge=1)
    """Last updates, in which the rate leaves `inverse_sqrt` or `constant` and falls in a straight
    line to zero; none if unset."""
    learning_rate: float | None = Field(default=None, gt=0)
    """Highest learning rate, at the end of warm-up; if unset, the paper's `(d_model *
    warmup)^-0.5`."""
    warmup_steps: int = Field(default=4000, ge=1)
    """Updates during which the learning rate rises."""
    adam_beta_1: float = Field(default=0.9, ge=0, lt=1)
    """Decay of Adam's mean of the gradients."""
    adam_beta_2: float = Field(default=0.98, ge=0, lt=1)
    """Decay of Adam's mean of the squared gradients."""
    adam_epsilon: float = Field(default=1e-9, gt=0)
    """Added to Adam's divisor, the root of the mean of the squared gradients."""
    weight_decay: float = Field(default=0.0, ge=0)
    """Decoupled weight decay (AdamW); the paper has none."""
    label_smoothing: float = Field(default=0.1, ge=0, lt=1)
    """Probability taken from the true token and spread over all tokens except padding, the true one
    included."""
    clip_norm: float | None = Field(default=None, gt=0)
    """Largest norm of the gradient; the paper has none."""
    not_finite: Literal["stop", "skip"] = "stop"
    """If a loss or its gradient is not finite, end the run, or skip that update."""
    precision: Literal["auto", "float32", "bfloat16"] = "auto"
    """On a CPU, `auto` is bfloat16 if its products are 1.5 times as fast, measured once and
    remembered; on a CUDA GPU, if it has instructions for bfloat16. Otherwise it is float32."""
    compile: bool = False
    """Compile the layers with torch.compile, and record whole passes on a CUDA GPU that trains
    alone. On a CPU the kernels that Numba compiles are faster. Needs a C++ compiler, and Triton on
    a GPU."""
    validate_every_steps: int | None = Field(default=None, ge=1)
    """Updates between validations; once an epoch if unset."""
    validation_sentences: int = Field(default=200, ge=0)
    """Validation sentences translated greedily for BLEU and chrF each time; 0 for the loss alone.
    The scores at the end are of all sentences, by the search of `[decoding]`."""
    patience: int | None = Field(default=None, ge=1)
    """Stop after this many validations without a new best."""
    best_metric: Literal["loss", "bleu", "chrf"] = "loss"
    """Metric that chooses the best weights."""
    checkpoint_every_steps: int = Field(default=500, ge=1)
    """Updates between checkpoints; one is also written at each validation."""
    record_every_steps: int = Field(default=50, ge=1)
    """Updates whose mean loss makes one record of `metrics.jsonl`; a validation begins a new one.
    """
    average_checkpoints: int = Field(default=5, ge=1)
    """Number of last validations whose weights are averaged at the end; fewer if averaging all is
    worse on validation text than the best weights. Not with `ema_decay`."""
    ema_decay: float | None = Field(default=None, gt=0, lt=1)
    """Decay of an exponential moving average of the weights, such as 0.999. Validation, best and
    final weights then use the average."""
    start_from: PathText = ""
    """A bundle or run to continue from, with its architecture, tokenizers and weights. Optimizer
    and schedule start again."""
    tensorboard: bool = False
    """Also write event files for TensorBoard into the run's folder."""
