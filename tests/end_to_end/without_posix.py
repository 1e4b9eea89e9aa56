"""A program that hides from Headway what Windows does not have, and then works with it.

Only Headway's modules see the other system: libraries go on with the one they were made for.
"""

import builtins
import errno
import fcntl
import io
import itertools
import json
import os
import signal
import sys
import threading
import urllib.request
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

HIDDEN_MODULES = {
    "_posixsubprocess", "fcntl", "grp", "posix", "pwd", "resource", "termios", "tty",
    "matplotlib", "numba",  # Windows has these two, but they take time here
}  # fmt: skip
HIDDEN = {
    "os": {
        "chown", "confstr", "fchmod", "fchown", "fork", "forkpty", "geteuid", "getgid",
        "getloadavg", "getpgid", "getuid", "killpg", "lchown", "mkfifo", "nice", "openpty",
        "posix_spawn", "pread", "pwrite", "register_at_fork", "sched_getaffinity",
        "sched_setaffinity", "sendfile", "setsid", "statvfs", "sysconf", "uname", "wait",
        "WNOHANG", "RTLD_NOLOAD", "RTLD_NOW",
    },
    "signal": {
        "SIGALRM", "SIGCHLD", "SIGCONT", "SIGHUP", "SIGKILL", "SIGPIPE", "SIGQUIT", "SIGSTOP",
        "SIGTSTP", "SIGUSR1", "SIGUSR2", "alarm", "pause", "pthread_kill", "pthread_sigmask",
        "setitimer", "sigwait",
    },
    "mmap": {"MADV_DONTNEED", "MADV_NOHUGEPAGE", "MAP_ANONYMOUS", "MAP_PRIVATE", "MAP_SHARED"},
    "ctypes": {"CDLL"},
}  # fmt: skip


class Msvcrt(ModuleType):
    """Locks as Windows has them, made of those that are here."""

    LK_NBLCK = 2

    @staticmethod
    def locking(descriptor: int, mode: int, count: int) -> None:
        assert (mode, count) == (2, 1)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES)) from None


class Partial(ModuleType):
    """A module without some of its names."""

    def __init__(self, module: Any, hidden: set[str], **changed: Any) -> None:
        super().__init__(module.__name__)
        vars(self).update(changed, _module=module, _hidden=hidden)

    def __getattr__(self, name: str) -> Any:
        if name in vars(self)["_hidden"]:
            raise AttributeError(f"Windows has no {self.__name__}.{name}")
        return getattr(vars(self)["_module"], name)

    def __setattr__(self, name: str, value: Any) -> None:
        setattr(vars(self)["_module"], name, value)


def refused(path: Any) -> PermissionError:
    return PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(path))


def open_descriptor(path: Any, *given: Any, **named: Any) -> int:
    if Path(path).is_dir():
        raise refused(path)
    return os.open(path, *given, **named)


MODULES = {name: Partial(__import__(name), hidden) for name, hidden in HIDDEN.items()}
MODULES["sys"] = Partial(sys, set(), platform="win32")
vars(MODULES["os"])["open"] = open_descriptor
MODULES["msvcrt"] = Msvcrt("msvcrt")
real_import = builtins.__import__


def import_as_on_windows(
    name: str, globals: Any = None, locals: Any = None, fromlist: Any = (), level: int = 0
) -> Any:
    if str((globals or {}).get("__name__", "")).partition(".")[0] == "headway" and not level:
        if name in HIDDEN_MODULES:
            raise ImportError(f"Windows has no module {name}")
        if name in MODULES:
            return MODULES[name]
    return real_import(name, globals, locals, fromlist, level)


def names_in_use() -> set[str]:
    """Return the files that this process has open or mapped."""
    names = set()
    for number in listdir("/proc/self/fd"):
        try:
            names.add(os.readlink(f"/proc/self/fd/{number}"))
        except FileNotFoundError:  # that of the list itself
            continue
    with real_open("/proc/self/maps") as file:
        return names | {line.split(maxsplit=5)[5].strip() for line in file if line.count("/")}


def while_unused(change: Any) -> Any:
    """Let a change of a name be refused while the file, or one in the folder, is in use."""

    def changed(*paths: Any, **named: Any) -> Any:
        if "dir_fd" not in named and "src_dir_fd" not in named:
            used = names_in_use()
            for path in map(os.path.realpath, paths):
                if any(name == path or name.startswith(f"{path}/") for name in used):
                    REFUSALS.append(path)
                    raise refused(path)
        return change(*paths, **named)

    return changed


def hide_proc(function: Any) -> Any:
    def hidden(path: Any, *given: Any, **named: Any) -> Any:
        if isinstance(path, (str, Path)) and str(path).startswith("/proc"):
            raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), str(path))
        return function(path, *given, **named)

    return hidden


def never(*given: Any, **named: Any) -> Any:
    raise AssertionError("this is not there on Windows")


REFUSALS: list[str] = []
listdir, real_open = os.listdir, open


def hide_posix() -> None:
    """Hide it from this process, which must be one of its own: pytest imports this file, too."""
    builtins.__import__ = import_as_on_windows
    for name in ("rename", "replace", "unlink", "remove"):
        setattr(os, name, while_unused(getattr(os, name)))
    os.fork = never
    builtins.open = io.open = hide_proc(io.open)
    os.stat, os.listdir = hide_proc(os.stat), hide_proc(os.listdir)


def run(*words: object) -> None:
    from headway.cli.app import main

    with pytest.raises(SystemExit) as ended:
        main([str(word) for word in words])
    assert not ended.value.code, words


def demonstrate(folder: Path) -> None:
    """Run `headway demo` on a small corpus."""
    from headway import demo
    from headway.sample_corpus import SampleCorpus, SamplePair

    pairs = tuple(
        SamplePair(f"저는 {number} 갑니다.", f"I go {number}.", "go") for number in range(24)
    )
    part = SampleCorpus(pairs[:10], pairs[10:13], pairs[13:23], pairs[23:])
    config = demo.demo_config

    def small_config(text: Path, examples: Any) -> Any:
        full = config(text, examples)
        values = {
            "tokenizer": full.tokenizer.replace({"kind": "char", "vocabulary_size": 400}),
            "model": full.model.replace({"d_model": 8, "d_ff": 12, "num_heads": 2}),
            "training": full.training.replace(
                {"max_steps": 2, "warmup_steps": 1, "validation_sentences": 1, "batch_tokens": 99}
            ),
            "decoding": full.decoding.replace({"max_extra_pieces": 2, "beam_size": 2}),
        }
        return full.replace(values)

    demo.build_sample_corpus, demo.demo_config = lambda: part, small_config
    demo.CALIBRATING = 20
    demo.more_sentences = lambda seed: (
        SamplePair(f"저는 {number} 갑니다.", "", "go") for number in itertools.count(seed)
    )
    run("demo", "--out", folder, "--quiet")
    assert (folder / "averaged" / "manifest.json").is_file()


def train_and_translate(folder: Path, text: Path) -> None:
    from headway.errors import RunError
    from headway.training.run_folder import RunFolder

    sides = [f"--{side}={text / name}" for side, name in SIDES.items()]
    sizes = {"model.d_model": 8, "model.d_ff": 12, "model.num_heads": 2,
             "tokenizer.kind": "char", "tokenizer.vocabulary_size": 400,
             "training.checkpoint_every_steps": 1, "training.warmup_steps": 1,
             "decoding.max_extra_pieces": 2}  # fmt: skip
    settings = [f"--set={key}={value}" for key, value in sizes.items()]
    run("train", *sides, *settings, "--out", folder, "--set=training.max_steps=2", "--quiet")
    with (
        RunFolder(folder).locked(),
        pytest.raises(RunError, match="Another process is training"),
        RunFolder(folder).locked(),
    ):
        pass
    run("train", "--out", folder, "--resume", "--set=training.max_steps=3", "--quiet")
    for _ in range(2):  # the second time a file is replaced
        run("translate", folder, text / "valid.ko", "--out", folder.parent / "out.txt")
    assert (folder.parent / "out.txt").read_text("utf-8").count("\n") == 3


def replace_in_use(folder: Path) -> None:
    """A bundle in use is replaced; a file that another program has open, once it is closed."""
    import headway
    from headway.bundle import save_bundle
    from headway.runtime.atomic_files import write_atomically

    translator = headway.load(folder)
    save_bundle(folder / "best", translator.bundle)
    assert (
        translator.translate("저는 갑니다.").text
        == headway.load(folder / "best").translate("저는 갑니다.").text
    )

    kept = (folder.parent / "out.txt").open()
    threading.Timer(0.2, kept.close).start()
    REFUSALS.clear()
    write_atomically(folder.parent / "out.txt", b"new")
    assert REFUSALS


def remove(folder: Path) -> None:
    from headway.demo import remove_demo

    remove_demo(folder)
    assert not folder.exists()


def serve(folder: Path) -> None:
    from headway.service.running import serve as serve_models

    answers = []

    def ask(address: str) -> None:
        try:
            with urllib.request.urlopen(f"{address}api/models", timeout=20) as reply:
                answers.append(json.load(reply))
        finally:
            os.kill(os.getpid(), signal.SIGINT)

    serve_models(
        [folder], port=0, ready=lambda address: threading.Thread(target=ask, args=[address]).start()
    )
    assert answers


SIDES = {
    "source": "train.ko", "target": "train.en", "valid-source": "valid.ko",
    "valid-target": "valid.en",
}  # fmt: skip

if __name__ == "__main__":
    hide_posix()
    place = Path(sys.argv[1])
    demonstrate(place / "demo")
    train_and_translate(place / "run", place / "demo-text")
    replace_in_use(place / "run")
    serve(place / "run")
    remove(place / "demo")
    print("done")
