"""Read a checkpoint of another toolkit and write it as a bundle."""

from pathlib import Path

from headway.bundle_folder import check_place
from headway.home import expanded
from headway.interop.checkpoints.fairseq import read_fairseq
from headway.interop.checkpoints.joeynmt import read_joeynmt
from headway.interop.folder import check_new
from headway.interop.imported import Imported, write_imported


def import_fairseq(
    path: str | Path,
    out: str | Path,
    *,
    source_language: str | None = None,
    target_language: str | None = None,
) -> Imported:
    """Read a Transformer of fairseq, and write it as a bundle into the folder `out`.

    path: a checkpoint beside `dict.SOURCE.txt`, `dict.TARGET.txt` and perhaps SentencePiece models,
    or their folder, of which `checkpoint_best.pt` is read. source_language, target_language: names
    or codes, in place of those in the checkpoint. Raises BundleError that names the file or the
    setting which does not fit; then nothing is written. Code in the files is never executed.
    """
    check_place(out)  # before the work
    check_new(out)
    return write_imported(
        read_fairseq(expanded(path)),
        "fairseq",
        out,
        source_language=source_language,
        target_language=target_language,
    )


def import_joeynmt(
    path: str | Path,
    out: str | Path,
    *,
    source_language: str | None = None,
    target_language: str | None = None,
) -> Imported:
    """Read a Transformer of JoeyNMT 2, and write it as a bundle into the folder `out`.

    path: a checkpoint beside its `config.yaml` and vocabularies, or their folder, of which
    `best.ckpt` is read. source_language, target_language: names or codes, in place of those in the
    settings. Raises BundleError that names the file or the setting which does not fit; then nothing
    is written. Code in the files is never executed.
    """
    check_place(out)  # before the work
    check_new(out)
    return write_imported(
        read_joeynmt(expanded(path)),
        "joeynmt",
        out,
        source_language=source_language,
        target_language=target_language,
    )
