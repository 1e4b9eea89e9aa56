"""The beginning of a run in each of its processes: prepare it, begin or continue its folder.

Process 0 leads: it prepares the run, writes its folder and may refuse. The other processes, if any,
read what it wrote. Remarks of the preparation are printed here.
"""

import contextlib
from collections.abc import Iterable
from dataclasses import asdict, dataclass, replace
from typing import Any

import torch

from headway.bundle import Change
from headway.config.run import RunConfig
from headway.counted import counted
from headway.data.tokenizer import Tokenizer
from headway.errors import ConfigError, HeadwayError, RunError
from headway.model.accounting import count_parameters
from headway.training.budget import Budget, Deadline
from headway.training.checkpoint import saved_step
from headway.training.costs import Tried, plan_within
from headway.training.diagnosis import TrainingProblem
from headway.training.distributed import World, restarted
from headway.training.encode import keep_encoded
from headway.training.languages import language_remarks, with_languages
from headway.training.prepare import PreparedRun, prepare
from headway.training.random_numbers import training_here
from headway.training.reporting import Reporter
from headway.training.rewritten import rewritten_remarks
from headway.training.run_folder import RunFolder, from_its_weights, writing_run
from headway.training.samples import choose_examples, choose_samples
from headway.training.schedule import falls_to_end
from headway.training.settings import check_settings, remarks
from headway.training.shards import check_shard
from headway.training.start_from import Start, open_start
from headway.training.text_findings import text_findings
from headway.training.text_statistics import describe_sources, frequency_loss
from headway.training.texts import Texts, read_texts, untag
from headway.training.trainer import Trainer
from headway.training.validation import Validator


@dataclass(frozen=True, slots=True)
class RunContext:
    """The folder of a run, its device and processes, and its reporter."""

    folder: RunFolder
    device: torch.device
    world: World
    reporter: Reporter
    change: Change | None = None
    """Puts a user's own parts into the new model."""
    budget: Budget | None = None
    """How long a new run may take."""
    trust_code: bool = False
    """Run the code of the model that the run starts from."""

    def hardware(self, shard: bool) -> str:
        """Describe the hardware and processes on which equal computations give equal bits."""
        processes = f", {self.world.size} processes" if self.world.size > 1 else ""
        shares = " with a share each" if shard else ""
        return f"{self.device.type}, {torch.get_num_threads()} threads{processes}{shares}"

    def shares_generators(self, config: RunConfig) -> bool:
        """Return True if the training draws from PyTorch's generators, which the process shares."""
        own_parts = self.change is not None or self.trust_code
        return self.device.type != "cpu" or own_parts or config.training.compile

    def with_parts(self, start: "Start | None") -> "RunContext":
        """Return the context with the change by the code of the model that the run starts from."""
        if self.change is not None:
            return self
        change = start.change if start else self.folder.change(trust_code=self.trust_code)
        return replace(self, change=change)

    def say(self, sentences: Iterable[str]) -> None:
        """Print sentences, one a line."""
        for sentence in sentences:
            self.reporter.say(sentence)


@dataclass(frozen=True, slots=True)
class BegunRun:
    """A run whose next step can be made."""

    config: RunConfig
    trainer: Trainer
    texts: Texts
    change: Change | None
    """Puts parts that are not Headway's own into the model."""


def was_restarted(folder: RunFolder, world: World) -> bool:
    """Return True if `torchrun` has started this process in place of one that began this run.

    torchrun does not count all of its restarts, and if the leader is on another machine now, the
    marker of a begun run is gone. So a run that was refused leaves a marker as well.
    """
    if not folder.has_begun():
        return False
    return world.has_marker(_begun(folder)) or (
        restarted() and not world.has_marker(_refused(folder))
    )


def _begun(folder: RunFolder) -> str:
    return f"begun: {str(folder.path.resolve())!a}"


def _refused(folder: RunFolder) -> str:
    return f"refused: {str(folder.path.resolve())!a}"


def begin(
    config: RunConfig | None, context: RunContext, resume: bool, stack: contextlib.ExitStack
) -> BegunRun:
    """Begin a run, or continue the one in the folder, in each of its processes.

    The stack holds the lock of the folder. Raises HeadwayError if text, settings or folder are
    wrong; a new run then leaves no folder behind.
    """
    if context.world.leads:
        try:
            run = _lead(config, context, resume, stack)
        except Exception:  # whatever it is, the other processes must not wait in vain
            with contextlib.suppress(RuntimeError):  # of a process that is gone already
                context.world.agree(False)
            raise
        context.world.agree(True)
    elif context.world.agree(False):
        run = _follow(config, context)
    else:
        raise RunError("Process 0 did not begin this run.", "Its own message says why.")
    # Each process has measured which is faster on its machine, but all must train in the same.
    progress = run.trainer.progress
    progress.precision = context.world.agree(progress.precision)
    return run


def _lead(
    config: RunConfig | None, context: RunContext, resume: bool, stack: contextlib.ExitStack
) -> BegunRun:
    """Prepare the run, and begin or continue its folder."""
    folder = context.folder
    config = _continued(config, folder, stack) if resume else _new(config, context)
    stack.enter_context(training_here(shared=context.shares_generators(config)))
    start = None
    if not folder.checkpoint.exists():
        start = open_start(config, context.change, trust_code=context.trust_code)
    context = context.with_parts(start)
    check_shard(config.training, context.world, changed=context.change is not None)
    config = start.config if start else config
    config = config if resume else with_languages(config)
    check_settings(config, context.device)  # before hours of cutting text into pieces
    texts = read_texts(config.data, reporter=context.reporter)
    context.say(texts.remarks)
    if resume:
        _check_same_text(folder, texts)
    kept = start.tokenizers if start else folder.read_tokenizers() if resume else None
    known_length = start.max_source_pieces if start else folder.known_length()
    prepared = _prepare(config, context, texts, kept, known_length)
    context.say(prepared.remarks)
    # Before the budget is planned, because they take seconds of it.
    direction = start.direction if start else None
    findings = text_findings(prepared, _compares(context), direction)
    config, deadline = _within_budget(prepared, context)
    trainer = _build_trainer(config, prepared, findings, context)
    trainer.deadline = deadline
    if start:
        _start_with(start, trainer, context)
    if resume:
        folder.remove_leftovers()
    else:
        stack.enter_context(folder.locked())
        folder.begin(config)
        context.world.post_marker(_begun(folder))
    _write_folder(config, prepared, trainer, start, resume, context)
    trainer.progress.hardware = context.hardware(config.training.shard)
    if start:
        trainer.save()  # from here on the model that it starts from is not needed
    return BegunRun(config, trainer, texts, context.change)


def _write_folder(
    config: RunConfig,
    prepared: PreparedRun,
    trainer: Trainer,
    start: Start | None,
    resume: bool,
    context: RunContext,
) -> None:
    """Go back to the last checkpoint, or write what a new run writes before its first step."""
    folder = context.folder
    if prepared.texts.valid_lines is not None:
        folder.write_held_out(untag(config.data.tag, prepared.texts.valid))
    if folder.checkpoint.exists():
        _continue(trainer, context)
    else:
        if resume:
            context.reporter.say(f"{folder.path} has no checkpoint yet: it begins at step 0.")
        context.say(_remarks_of_new_run(config, prepared, trainer, start))
        _write_preparation(prepared, folder, start)
    if context.world.size > 1 and not config.data.shards:
        keep_encoded(prepared.encoded, folder.encoded)  # once the folder names its text
    if resume:  # from here on nothing is refused, and the run is not finished any more
        with writing_run(folder.report):
            folder.report.unlink(missing_ok=True)
        folder.write_config(config)


def _follow(config: RunConfig | None, context: RunContext) -> BegunRun:
    """Prepare what process 0 has begun, and write nothing."""
    folder = context.folder
    config = folder.resume(config)  # with the decisions of a model that the run starts from
    context = context.with_parts(None)
    tokenizers = folder.read_tokenizers()
    if tokenizers is None:
        raise RunError(
            f"Process {context.world.rank} does not see what process 0 has written to "
            f"{folder.path}.",
            "Let --out name a folder that all machines share.",
        )
    texts = read_texts(config.data, reporter=context.reporter)
    _check_same_text(folder, texts)
    prepared = _prepare(config, context, texts, tokenizers, folder.known_length())
    trainer = _build_trainer(config, prepared, text_findings(prepared, _compares(context)), context)
    if folder.checkpoint.exists():
        trainer.resume()
    return BegunRun(config, trainer, texts, context.change)


def _prepare(
    config: RunConfig,
    context: RunContext,
    texts: Texts,
    tokenizers: tuple[Tokenizer, Tokenizer] | None,
    known_length: int,
) -> PreparedRun:
    return prepare(
        config,
        texts,
        context.device,
        tokenizers=tokenizers,
        known_length=known_length,
        change=context.change,
        encoded_folder=context.folder.encoded,
        divided=config.training.shard,
        reporter=context.reporter,
    )


def _continued(
    config: RunConfig | None, folder: RunFolder, stack: contextlib.ExitStack
) -> RunConfig:
    """Return the configuration of the run that continues here, and lock its folder."""
    config = folder.resume(config)
    _check_steps(config, folder)
    stack.enter_context(folder.locked())
    folder.check_whole()
    return config


def _check_steps(config: RunConfig, folder: RunFolder) -> None:
    max_steps = config.training.max_steps
    if folder.checkpoint.exists() and (steps_made := saved_step(folder.checkpoint)) > max_steps:
        raise ConfigError(
            f"training.max_steps is {max_steps:,}, but the run in {folder.path} has made "
            f"{counted(steps_made, 'step')} already.",
            f"Give {steps_made:,} to end it here, or more.",
        )


def _new(config: RunConfig | None, context: RunContext) -> RunConfig:
    """Return the configuration of a run that may begin here.

    Otherwise the folder holds another run, which no restart may take for this one.
    """
    try:
        if config is None:
            raise ConfigError("There is no configuration.", "Name a file, or --resume a run.")
        context.folder.check_free()
    except HeadwayError:
        context.world.post_marker(_refused(context.folder))
        raise
    return config


def _start_with(start: Start, trainer: Trainer, context: RunContext) -> None:
    """Give the new model the weights of the trained one; all of them, unless it has own parts."""
    tensors = start.tensors
    if context.change:
        tensors, messages = start.completed(trainer.bundle.model)
        start.messages.extend(messages)
    trainer.start_with(tensors)


def _continue(trainer: Trainer, context: RunContext) -> None:
    """Go back to the last checkpoint, and say so."""
    trainer.resume()
    progress, say = trainer.progress, context.reporter.say
    if trainer.has_ended():
        say(_how_to_train_further(trainer, context.folder))
    else:
        say(f"Continuing {context.folder.path} after step {progress.step:,}.")
    hardware = context.hardware(trainer.config.shard)
    if progress.hardware != hardware:
        say(
            f"It began on {progress.hardware} and goes on with {hardware}: right, but not bit for "
            "bit."
        )
        progress.estimate = {}  # it was for the other hardware


def _how_to_train_further(trainer: Trainer, folder: RunFolder) -> str:
    """Return the sentences on a run whose last step is made; an early end is explained later."""
    config, step = trainer.config, trainer.progress.step
    sentences = [
        f"The run in {folder.path} has ended after step {step:,}, and nothing is trained. Only "
        "its average, its scores and its bundles are made again."
    ]
    if step >= config.max_steps and not falls_to_end(config):
        sentences.append("To go on, add --set training.max_steps= a larger number.")
    sentences.append(f"Another run can begin with its weights: {from_its_weights(folder.path)}")
    return " ".join(sentences)


def _within_budget(prepared: PreparedRun, context: RunContext) -> tuple[RunConfig, Deadline | None]:
    """Return the configuration, with steps that fit into the budget of the run if it has one."""
    config, texts = prepared.config, prepared.texts
    if context.budget is None:
        return config, None
    tried = Tried(
        prepared.bundle,
        prepared.stream,
        prepared.encoded.valid,
        texts.valid,
        texts.test,
        prepared.precision,
    )
    plan = plan_within(context.budget, tried, config, context.folder.path, context.reporter)
    context.say(plan.summary())
    return config.model_copy(update={"training": plan.training}), plan.deadline


def _build_trainer(
    config: RunConfig,
    prepared: PreparedRun,
    findings: list[TrainingProblem],
    context: RunContext,
) -> Trainer:
    """Return the trainer of a prepared run.

    config: with steps that fit into the budget. findings: problems of its text.
    """
    texts, encoded, training = prepared.texts, prepared.encoded, config.training
    translated = texts.valid[: training.validation_sentences]
    validator = Validator(
        encoded.valid,
        translated,
        metrics=config.evaluation.metrics,
        bleu_tokenize=config.evaluation.bleu_tokenize,
        batch_tokens=training.batch_tokens,
        samples=choose_samples(translated or texts.valid),
        world=context.world,
    )
    record: dict[str, Any] = {"config": config.model_dump()}
    if context.world.leads:  # which writes the bundles
        record |= describe_sources(texts.corpora, config.data.languages[0])
        record["examples"] = choose_examples(texts.valid)
    bundle = replace(prepared.bundle, record=record)
    return Trainer(
        bundle,
        prepared.stream,
        validator,
        training,
        context.folder,
        context.reporter,
        context.world,
        precision=prepared.precision,
        unigram_loss=frequency_loss(encoded.train, encoded.valid, bundle.config.target_vocab_size),
        text_findings=findings,
    )


def _compares(context: RunContext) -> bool:
    """Return True if this process compares the sides of the text: the leader of a new run.

    A fine-tune still begins after the checkpoint of step 0, which holds no findings on its text.
    """
    checkpoint = context.folder.checkpoint
    return context.world.leads and (not checkpoint.exists() or saved_step(checkpoint) == 0)


def _remarks_of_new_run(
    config: RunConfig, prepared: PreparedRun, trainer: Trainer, start: Start | None
) -> list[str]:
    """Return the sentences for the user before the first step, in order."""
    bundle, encoded, training = trainer.bundle, prepared.encoded, config.training
    sentences = language_remarks(config.data)
    if config.data.hold_out and config.data.valid_source:
        sentences.append("data.hold_out is not used, because data.valid_source names a text.")
    decoding, longest = config.decoding, bundle.decoding.max_source_pieces
    if "max_source_pieces" in decoding.model_fields_set and longest < decoding.max_source_pieces:
        which = " or of the model that it starts from" if start else ""
        sentences.append(
            f"decoding.max_source_pieces is {longest:,}, not {decoding.max_source_pieces:,}: by "
            f"data.max_pieces no sentence of the training{which} is longer."
        )
    steps = trainer.stream.steps(training.max_steps, training.max_epochs)
    sentences += remarks(training, steps, len(encoded.train))
    sentences += start.messages if start else []
    sentences.append(f"Training text: {encoded.report.summary()}")
    if bundle.trained_on_paragraphs:
        sentences.append(
            f"{bundle.several_sentences:.0%} of its lines have several sentences, so the "
            "model will translate whole lines instead of single sentences "
            "(docs/en/howto/several-sentences.md)."
        )
    sentences.append(f"Validation text: {encoded.valid_report.summary()}")
    sentences.append(
        f"{count_parameters(bundle.model):,} parameters, "
        f"{bundle.config.target_vocab_size:,} tokens, {trainer.progress.precision}, "
        f"{counted(torch.get_num_threads(), 'thread')}"
    )
    if trainer.average is not None:
        sentences.append(trainer.average.summary())
    target = bundle.target_tokenizer
    return sentences + rewritten_remarks(config, prepared.texts, encoded.report, target)


def _write_preparation(prepared: PreparedRun, folder: RunFolder, start: Start | None) -> None:
    """Write the tokenizers of a new run, and an account of its text."""
    texts, encoded, bundle = prepared.texts, prepared.encoded, prepared.bundle
    folder.write_json(
        folder.data,
        {
            "checksum": texts.checksum,
            "files": texts.files,
            "training": asdict(encoded.report),
            "validation": asdict(encoded.valid_report),
            "held_out": len(texts.valid_lines or ()),
            "parameters": count_parameters(bundle.model),
            **(_record_of_start(start) if start else {}),
        },
    )
    if start:
        folder.write_learned(start.learned)
    if bundle.code:
        folder.write_code(bundle.code)
    folder.write_tokenizers(bundle.source_tokenizer, bundle.target_tokenizer)
    folder.forget_metrics_after(-1)  # of an attempt that was killed before its first checkpoint


def _record_of_start(start: Start) -> dict[str, Any]:
    return {
        "started_from": start.origin,
        "max_source_pieces": start.max_source_pieces,
        "learned": start.learned_record,
    }


def _check_same_text(folder: RunFolder, texts: Texts) -> None:
    if not folder.data.exists():
        return  # the run was stopped before it had written down its text
    recorded = folder.read_json(folder.data)
    if recorded.get("checksum") != texts.checksum:
        before = list(dict(recorded.get("files") or {}).values())  # names do not count
        current_files = texts.files.items()
        changed = [
            name
            for (name, digest), old in zip(current_files, before, strict=False)
            if digest != old
        ]
        which = f": {changed[0]} is another" if changed else ""
        raise RunError(
            f"The training or validation text has changed since this run began{which}.",
            "Restore the files, or start another run with --out.",
        )
    if "held_out" not in recorded and not texts.held_out_as_before:
        raise RunError(
            "This run began with an earlier version of Headway, which held out other pairs for "
            "validation: blank ones too, and trained on some that are nearly equal to them.",
            "Continue it with that version, or start another run with --out.",
        )
