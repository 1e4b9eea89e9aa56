"""The recipe of training (section 5); the defaults are the paper's where it has them."""

from typing import Literal

from pydantic import Field

from headway.config.section import PathText, Section


class TrainingConfig(Section):
    """How long, how fast, in which batches, and what is kept."""

    seed: int = Field(default=1, ge=0)
    """Fixes initial weights, order of the data and dropout."""
    max_steps: int = Field(default=100_000, ge=1)
    """Updates at most."""
    max_epochs: int | None = Field(default=None, ge=1)
    """Passes over the data at most."""
    batch_tokens: int = Field(default=25_000, ge=1)
    """Padded pieces of each side in a batch, at most."""
    accumulate: int = Field(default=1, ge=1)
    """Batches whose gradients are summed into one update."""
    parts: int | None = Field(default=None, ge=1)
    """Parts into which each batch is cut for several processes; at least one for each process.

    Dropout is drawn part by part: with as many parts, any number of processes makes the same run.
    """
    shard: bool = False
    """Divide weights, gradients and optimizer among the processes (FSDP2), for a model that does
    not fit into one."""
    schedule: Literal["inverse_sqrt", "linear", "cosine", "constant"] = "inverse_sqrt"
    """How the rate falls after warm-up: as in the paper, or to zero at max_steps, or not."""
    learning_rate: float | None = Field(default=None, gt=0)
    """Highest rate, reached at the end of warm-up; the paper's (d_model * warmup)^-0.5 if unset."""
    warmup_steps: int = Field(default=4000, ge=1)
    """Updates during which the rate rises."""
    adam_beta_1: float = Field(default=0.9, ge=0, lt=1)
    """How slowly Adam's mean of the gradients forgets."""
    adam_beta_2: float = Field(default=0.98, ge=0, lt=1)
    """How slowly Adam's mean of their squares forgets."""
    adam_epsilon: float = Field(default=1e-9, gt=0)
    """Added to the root of that mean, by which Adam divides."""
    weight_decay: float = Field(default=0.0, ge=0)
    """Decoupled weight decay (AdamW); the paper has none."""
    label_smoothing: float = Field(default=0.1, ge=0, lt=1)
    """Probability taken from the true piece and spread over the vocabulary."""
    clip_norm: float | None = Field(default=None, gt=0)
    """Largest norm of the gradient; not in the paper."""
    not_finite: Literal["stop", "skip"] = "stop"
    """What to do when a loss or its gradient is not finite: end, or leave that update out."""
    precision: Literal["auto", "float32", "bfloat16"] = "auto"
    """auto is what is faster on this processor: measured once, and remembered."""
    compile: bool = False
    """Compile the layers with torch.compile; a CUDA GPU that trains alone records whole passes, too
    (CUDA graphs). For a GPU: on a CPU the loops of the extra `fast` are faster. The first steps
    take up to minutes, and some of that comes again with the first batch, or part of one, that has
    a single pair or none. Needs a C++ compiler, and Triton on a GPU. Batches are of rounded
    lengths. What is compiled may depend on the first batches, so that a continued run may differ in
    rounding."""
    validate_every_steps: int | None = Field(default=None, ge=1)
    """Updates between validations; once an epoch if unset."""
    validation_sentences: int = Field(default=200, ge=0)
    """Validation sentences translated greedily for BLEU and chrF each time; 0 for the loss alone.
    The scores at the end are of all of them, by the search of [decoding]."""
    patience: int | None = Field(default=None, ge=1)
    """Stop after so many validations without a new best."""
    best_metric: Literal["loss", "bleu", "chrf"] = "loss"
    """What decides which weights are the best ones."""
    checkpoint_every_steps: int = Field(default=500, ge=1)
    """Updates between checkpoints; one is also written at each validation."""
    record_every_steps: int = Field(default=50, ge=1)
    """Updates whose mean loss makes one record of metrics.jsonl; a validation begins another."""
    average_checkpoints: int = Field(default=5, ge=1)
    """How many of the last validations have their weights averaged at the end; fewer if averaging
    all does worse on validation text than the best weights. Not with ema_decay."""
    ema_decay: float | None = Field(default=None, gt=0, lt=1)
    """Exponential moving average of the weights, such as 0.999: validation, the best and the final
    weights are those of the average."""
    start_from: PathText = ""
    """A bundle or run to continue from, with its architecture, tokenizers and weights; optimizer
    and schedule start afresh."""
    tensorboard: bool = False
    """Also write event files for TensorBoard, into the run's folder."""
