"""What happens before the first step: text, tokenizers, model, and the folder of the run.

Process 0 does it, writes it down and may refuse; the others, if there are any, read what it wrote.
"""

import contextlib
from collections.abc import Iterator
from dataclasses import asdict, dataclass, replace
from typing import Any

import torch

from headway.bundle import apply_change
from headway.config.run import RunConfig
from headway.counted import counted
from headway.data.tokenizer import Tokenizer
from headway.decoding.stepwise_check import find_stepwise_mismatch
from headway.errors import ConfigError, HeadwayError, RunError
from headway.model.accounting import count_parameters
from headway.model.customized import lost_buffers
from headway.training.checkpoint import saved_step
from headway.training.costs import Tried, within_minutes
from headway.training.distributed import World, restarted
from headway.training.encode import EncodedTexts, encode_texts, keep_encoded
from headway.training.new_model import build_bundle, check_positions
from headway.training.place import Place
from headway.training.precision import choose_precision
from headway.training.random_numbers import training_here
from headway.training.rewritten import rewritten_remarks
from headway.training.run_folder import RunFolder, writing_run
from headway.training.run_stream import build_stream
from headway.training.samples import choose_examples, choose_samples
from headway.training.settings import check_settings, check_tokenizers, remarks
from headway.training.shards import check_shard
from headway.training.start_from import Start, open_start
from headway.training.suspicious import suspicious_findings
from headway.training.text_check import Looked, is_held_out, looked_at
from headway.training.text_statistics import (
    frequency_loss,
    sentences_a_line,
    tokenized_finding,
    unknown_findings,
)
from headway.training.texts import Texts, read_texts, untag
from headway.training.tokenizers import find_tokenizers
from headway.training.trainer import Trainer
from headway.training.validation import Validator

_COMPARED = 100_000  # pairs of each text, in about eight seconds


def goes_on(folder: RunFolder, world: World) -> bool:
    """Tell whether `torchrun` has started this process in place of one that began this run.

    torchrun does not count all of its restarts, and where the leader is on another machine now, the
    mark that a run began is gone. So a run that was refused leaves a mark as well.
    """
    if not folder.has_begun():
        return False
    return world.has_word(_begun(folder)) or (restarted() and not world.has_word(_refused(folder)))


def _begun(folder: RunFolder) -> str:
    return f"begun: {str(folder.path.resolve())!a}"


def _refused(folder: RunFolder) -> str:
    return f"refused: {str(folder.path.resolve())!a}"


@dataclass(frozen=True, slots=True)
class Ready:
    """What is there before the first step."""

    config: RunConfig
    trainer: Trainer
    texts: Texts


def begin(
    config: RunConfig | None, place: Place, resume: bool, stack: contextlib.ExitStack
) -> Ready:
    """Begin a run, or continue the one in the folder, in each of its processes.

    The stack holds the lock of the folder. Raises what is wrong with text, settings or folder; a
    new run then leaves no folder behind.
    """
    if place.world.leads:
        try:
            ready = _lead(config, place, resume, stack)
        except Exception:  # whatever it is, the others must not wait for what does not come
            with contextlib.suppress(RuntimeError):  # of another process that is gone already
                place.world.agree(False)
            raise
        place.world.agree(True)
    elif place.world.agree(False):
        ready = _follow(config, place)
    else:
        raise RunError("Process 0 did not begin this run.", "Its own message says why.")
    # Each has measured which is faster where it is, but all must train in the same.
    trainer = ready.trainer
    trainer.progress.precision = place.world.agree(trainer.progress.precision)
    return ready


def _lead(
    config: RunConfig | None, place: Place, resume: bool, stack: contextlib.ExitStack
) -> Ready:
    """Read everything, and begin or continue the folder."""
    folder = place.folder
    if resume:
        config = folder.resume(config)
        _check_steps(config, folder)
        stack.enter_context(folder.locked())
        folder.check_whole()
    else:
        config = _new(config, place)
    check_shard(config.training, place.world, changed=place.change is not None)
    on_default_generators = place.device.type != "cpu" or place.change or config.training.compile
    stack.enter_context(training_here(shared=bool(on_default_generators)))
    start = None if folder.checkpoint.exists() else open_start(config, place.change)
    config = start.config if start else config
    check_settings(config, place.device)  # before hours of cutting text into pieces
    texts = read_texts(config.data, reporter=place.reporter)
    for remark in texts.remarks:
        place.reporter.say(remark)
    if resume:
        _check_same_text(folder, texts)
    kept = start.tokenizers if start else folder.read_tokenizers() if resume else None
    tokenizers = kept or find_tokenizers(config, texts, place.reporter)
    check_tokenizers(config, *tokenizers)
    encoded = _encode(config, place, texts, tokenizers)
    trainer, config = _build_trainer(config, place, texts, encoded, tokenizers)
    if start:
        _start_with(start, trainer, place)
    if resume:
        folder.remove_leftovers()
    else:
        stack.enter_context(folder.locked())
        folder.begin(config)
        place.world.leave_word(_begun(folder))
    if texts.valid_lines is not None:
        folder.write_held_out(untag(config.data.tag, texts.valid))
    if folder.checkpoint.exists():
        _continue(trainer, place)
    else:
        if resume:
            place.reporter.say(f"{folder.path} has no checkpoint yet: it begins at step 0.")
        if config.data.hold_out and config.data.valid_source:
            place.reporter.say("data.hold_out is not used, for data.valid_source names a text.")
        asked, longest = config.decoding, trainer.bundle.decoding.max_source_pieces
        if "max_source_pieces" in asked.model_fields_set and longest < asked.max_source_pieces:
            place.reporter.say(
                f"decoding.max_source_pieces is {longest:,}, not {asked.max_source_pieces:,}: by "
                "data.max_pieces no sentence of the training is longer."
            )
        training = config.training
        steps = trainer.stream.steps(training.max_steps, training.max_epochs)
        for remark in remarks(training, steps):
            place.reporter.say(remark)
        _record_start(trainer, place, texts, encoded, start)
        for remark in rewritten_remarks(config, texts, encoded.report, tokenizers[1]):
            place.reporter.say(remark)
    if place.world.size > 1 and not config.data.shards:
        keep_encoded(encoded, folder.encoded)  # once the folder says of which text it is
    if resume:  # nothing can be refused any more, and the run is not over any more
        with writing_run(folder.report):
            folder.report.unlink(missing_ok=True)
        folder.write_config(config)
    trainer.progress.hardware = place.hardware(config.training.shard)
    if start:
        trainer.save()  # from here on the model that it starts from is not needed
    return Ready(config, trainer, texts)


def _check_steps(config: RunConfig, folder: RunFolder) -> None:
    most = config.training.max_steps
    if folder.checkpoint.exists() and (made := saved_step(folder.checkpoint)) > most:
        raise ConfigError(
            f"training.max_steps is {most:,}, but the run in {folder.path} has made "
            f"{counted(made, 'step')} already.",
            f"Give {made:,} to end it here, or more.",
        )


def _new(config: RunConfig | None, place: Place) -> RunConfig:
    """Return the configuration of a run that may begin here.

    What lies in the folder otherwise is another run, and no restart may take it for this one.
    """
    try:
        if config is None:
            raise ConfigError("There is no configuration.", "Name a file, or --resume a run.")
        place.folder.check_free()
    except HeadwayError:
        place.world.leave_word(_refused(place.folder))
        raise
    return config


def _start_with(start: Start, trainer: Trainer, place: Place) -> None:
    """Give the new model the weights of the trained one; all of them, unless it has own parts."""
    tensors = start.tensors
    if place.change:
        tensors, messages = start.completed(trainer.bundle.model)
        start.messages.extend(messages)
    trainer.start_with(tensors)


def _continue(trainer: Trainer, place: Place) -> None:
    """Go back to the last checkpoint, and say so."""
    trainer.resume()
    progress, say = trainer.progress, place.reporter.say
    say(f"Continuing {place.folder.path} after step {progress.step:,}.")
    hardware = place.hardware(trainer.config.shard)
    if progress.hardware != hardware:
        say(
            f"It began on {progress.hardware} and goes on with {hardware}: right, but not bit for "
            "bit."
        )
        progress.estimate = {}  # it was for the other hardware


def _follow(config: RunConfig | None, place: Place) -> Ready:
    """Read what process 0 has begun, and write nothing."""
    folder = place.folder
    config = folder.resume(config)  # with what a model decides which the run starts from
    tokenizers = folder.read_tokenizers()
    if tokenizers is None:
        raise RunError(
            f"Process {place.world.rank} does not see what process 0 has written to {folder.path}.",
            "Let --out name a folder that all machines share.",
        )
    texts = read_texts(config.data, reporter=place.reporter)
    _check_same_text(folder, texts)
    encoded = _encode(config, place, texts, tokenizers)
    trainer, config = _build_trainer(config, place, texts, encoded, tokenizers)
    if folder.checkpoint.exists():
        trainer.resume()
    return Ready(config, trainer, texts)


def _encode(
    config: RunConfig, place: Place, texts: Texts, tokenizers: tuple[Tokenizer, Tokenizer]
) -> EncodedTexts:
    """Encode the text, or map what process 0 has encoded for this run."""
    return encode_texts(
        texts,
        *tokenizers,
        config.data,
        kept=place.folder.encoded,
        keep_texts=config.tokenizer.sampling is not None,
        reporter=place.reporter,
    )


def _build_trainer(
    config: RunConfig,
    place: Place,
    texts: Texts,
    encoded: EncodedTexts,
    tokenizers: tuple[Tokenizer, Tokenizer],
) -> tuple[Trainer, RunConfig]:
    """Return the trainer and its configuration, which minutes have changed if there are some."""
    training = config.training
    stream = build_stream(config, texts, encoded, tokenizers)
    check_positions(config.model, encoded)
    translated = texts.valid[: training.validation_sentences]
    validator = Validator(
        encoded.valid,
        translated,
        metrics=config.evaluation.metrics,
        bleu_tokenize=config.evaluation.bleu_tokenize,
        batch_tokens=training.batch_tokens,
        samples=choose_samples(translated or texts.valid),
        world=place.world,
    )
    # A model that is to be divided may be too large for the device before that.
    device = torch.device("cpu") if training.shard else place.device
    bundle = build_bundle(config, *tokenizers, device, shared=place.change is not None)
    if place.change:
        apply_change(place.change, bundle.model)
        bundle.model.to(device)
        if lost := lost_buffers(bundle.model):
            raise ConfigError(
                f"{lost[0]} is a buffer, which neither checkpoints nor bundles hold.",
                "Make it a parameter, or persistent=False if it can be computed anew.",
            )
        if fault := find_stepwise_mismatch(bundle.model):
            place.reporter.say(fault)
    precision = choose_precision(training.precision, place.device)
    findings = [
        *suspicious_findings(
            _to_compare(config, place, texts), drops_exchanged=config.data.drop_exchanged
        ),
        *unknown_findings({"training": encoded.train, "validation": encoded.valid}, config),
        *tokenized_finding([pair.target for pair in texts.valid], config.evaluation),
    ]
    if place.budget:
        tried = Tried(bundle, stream, encoded.valid, texts.valid, texts.test, precision)
        config = within_minutes(place.budget, tried, config, place.folder.path, place.reporter)
    record: dict[str, Any] = {"config": config.model_dump()}
    if place.world.leads:  # which writes the bundles
        record |= sentences_a_line(texts.corpora, config.data.languages[0])
        record["examples"] = choose_examples(texts.valid)
    bundle = replace(bundle, record=record)
    trainer = Trainer(
        bundle,
        stream,
        validator,
        config.training,
        place.folder,
        place.reporter,
        place.world,
        precision=precision,
        unigram_loss=frequency_loss(encoded.train, encoded.valid, bundle.config.target_vocab_size),
        text_findings=findings,
    )
    return trainer, config


def _to_compare(config: RunConfig, place: Place, texts: Texts) -> Iterator[Looked]:
    """Yield the text whose sides are compared: by one process, when a run begins.

    A tuned one still begins after the checkpoint of step 0, with which it says nothing of its text.
    """
    checkpoint = place.folder.checkpoint
    if place.world.leads and (not checkpoint.exists() or saved_step(checkpoint) == 0):
        looked = looked_at(config.data, texts, _COMPARED)
        yield from (text for text in looked if not is_held_out(text.name, texts))


def _record_start(
    trainer: Trainer, place: Place, texts: Texts, encoded: EncodedTexts, start: Start | None
) -> None:
    """Say what will be trained on, and write it down with the tokenizers."""
    folder, reporter = place.folder, place.reporter
    bundle = trainer.bundle
    parameters = count_parameters(bundle.model)
    for message in start.messages if start else []:
        reporter.say(message)
    reporter.say(f"Training text: {encoded.report.summary()}")
    if bundle.trained_on_paragraphs:
        reporter.say(
            f"{bundle.several_sentences:.0%} of its lines have several sentences, so the "
            "model will translate whole lines instead of single sentences (docs/decoding.md)."
        )
    reporter.say(f"Validation text: {encoded.valid_report.summary()}")
    threads = torch.get_num_threads()
    reporter.say(
        f"{parameters:,} parameters, {bundle.config.target_vocab_size:,} pieces, "
        f"{trainer.progress.precision}, {counted(threads, 'thread')}"
    )
    if trainer.average is not None:
        reporter.say(trainer.average.summary())
    folder.write_json(
        folder.data,
        {
            "checksum": texts.checksum,
            "files": texts.files,
            "training": asdict(encoded.report),
            "validation": asdict(encoded.valid_report),
            "held_out": len(texts.valid_lines or ()),
            "parameters": parameters,
            **({"started_from": start.origin} if start else {}),
        },
    )
    folder.write_tokenizers(bundle.source_tokenizer, bundle.target_tokenizer)
    folder.forget_metrics_after(-1)  # of an attempt that was killed before its first checkpoint


def _check_same_text(folder: RunFolder, texts: Texts) -> None:
    if not folder.data.exists():
        return  # the run was stopped before it had written down its text
    recorded = folder.read_json(folder.data)
    if recorded.get("checksum") != texts.checksum:
        before = list(dict(recorded.get("files") or {}).values())  # names do not count
        now = texts.files.items()
        changed = [name for (name, digest), old in zip(now, before, strict=False) if digest != old]
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
