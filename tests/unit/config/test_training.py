"""The default recipe is the paper's."""

from headway.config.training import TrainingConfig


def test_the_defaults_are_the_paper() -> None:
    config = TrainingConfig()

    assert (config.adam_beta_1, config.adam_beta_2, config.adam_epsilon) == (0.9, 0.98, 1e-9)
    assert (config.schedule, config.warmup_steps, config.learning_rate) == (
        "inverse_sqrt",
        4000,
        None,
    )
    assert (config.batch_tokens, config.label_smoothing) == (25_000, 0.1)
    assert (config.max_steps, config.average_checkpoints) == (100_000, 5)
    assert (config.weight_decay, config.clip_norm) == (0.0, None)
