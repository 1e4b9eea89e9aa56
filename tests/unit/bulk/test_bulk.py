"""What a bulk translation promises: the text of `headway translate`, whole, whatever happens."""

import gzip
import hashlib
import json
import lzma
import os
import socket
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
import torch
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.unit.bulk.conftest import TRAPS, MakePlan, ready
from tests.unit.cli.conftest import Run

from headway.bulk import claims, parts, rows, whole, work
from headway.bulk.claims import claim, claim_path, is_expired, kept
from headway.bulk.inputs import inputs_of, shards_of_input
from headway.bulk.plan import read_plan
from headway.bulk.planning import slow_to_read
from headway.bulk.work import Outcome, load_worker, task_number
from headway.decoding.translator import TextTranslator
from headway.errors import BundleError, ConfigError, DataError, HeadwayError, RunError


def never() -> bool:
    return False


def finished(folder: Path, out: Path) -> bytes:
    """Work until all is done, and return the merged file."""
    worker = ready(folder)
    assert worker.work(lease=60, until=never) is Outcome.DONE
    whole.merge(folder, worker.plan, out)
    return out.read_bytes()


@pytest.fixture
def expected(bundle_path: Path) -> bytes:
    """The translations as `headway translate` gives them."""
    translator = TextTranslator.load(bundle_path, "cpu", engine="reference", precision="float32")
    return b"".join(t.text.encode() + b"\n" for t in translator.translate(TRAPS))


@pytest.mark.parametrize("shard_lines", [1, 3, 5, 14, 100])
def test_the_merged_text_is_that_of_translate_for_any_shards(
    text: Path, tmp_path: Path, planned: MakePlan, expected: bytes, shard_lines: int
) -> None:
    plan = planned(tmp_path / "job", text, shard_lines=shard_lines)
    assert plan.lines == len(TRAPS)
    assert len(plan.shards) == -(-len(TRAPS) // shard_lines)
    assert finished(tmp_path / "job", tmp_path / "out.txt") == expected


@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(content=st.binary(max_size=60), lines=st.integers(1, 5))
def test_shards_are_the_input_in_order_whatever_its_bytes(
    tmp_path: Path, content: bytes, lines: int
) -> None:
    path = tmp_path / "any.txt"
    path.write_bytes(b"x\nx" + content)
    shards = list(shards_of_input(0, inputs_of([path])[0], lines))
    raw = path.read_bytes()
    assert b"".join(raw[s.offset : s.offset + s.size] for s in shards) == raw
    assert [s.first_line for s in shards] == list(range(0, sum(s.lines for s in shards), lines))
    assert sum(s.lines for s in shards) == len(raw.removesuffix(b"\n").split(b"\n"))


@pytest.mark.parametrize("ending", [".gz", ".xz"])
def test_compressed_inputs_and_results(
    text: Path, tmp_path: Path, planned: MakePlan, expected: bytes, ending: str
) -> None:
    pack, unpack = (
        (gzip.compress, gzip.decompress) if ending == ".gz" else (lzma.compress, lzma.decompress)
    )
    packed = tmp_path / f"packed.txt{ending}"
    packed.write_bytes(pack(text.read_bytes()))
    planned(tmp_path / "job", packed)
    assert unpack(finished(tmp_path / "job", tmp_path / f"out.txt{ending}")) == expected


def test_a_compressed_input_of_many_shards_is_noted(tmp_path: Path, planned: MakePlan) -> None:
    path = tmp_path / "long.txt.gz"
    path.write_bytes(gzip.compress(b"a\n" * 51))
    assert slow_to_read(planned(tmp_path / "one", path, shard_lines=1)) == str(path)
    assert slow_to_read(planned(tmp_path / "two", path, shard_lines=2)) == ""


def test_several_inputs_are_merged_in_order_and_a_mark_at_the_beginning_is_no_text(
    tmp_path: Path, planned: MakePlan, expected: bytes
) -> None:
    first, second = tmp_path / "b.txt", tmp_path / "a.txt"
    first.write_bytes(b"\xef\xbb\xbf" + "\n".join(TRAPS[:5]).encode())
    second.write_bytes("\n".join(TRAPS[5:]).encode() + b"\n")
    planned(tmp_path / "job", first, second)
    assert finished(tmp_path / "job", tmp_path / "out.txt") == expected


def test_an_empty_input_gives_an_empty_result(tmp_path: Path, planned: MakePlan) -> None:
    empty = tmp_path / "empty.txt"
    empty.touch()
    planned(tmp_path / "job", empty)
    assert finished(tmp_path / "job", tmp_path / "out.txt") == b""


def test_other_fields_of_json_lines_stay_byte_for_byte(
    tmp_path: Path, planned: MakePlan, expected: bytes
) -> None:
    path = tmp_path / "rows.jsonl"
    objects = [
        f'{{"id": {number}.50,  "t":{json.dumps(line)}, "deep": {{"a": [1e3, null]}} }}'
        for number, line in enumerate(TRAPS)
    ]
    path.write_text("\n".join(objects))
    planned(tmp_path / "job", path, column="t", into="out")
    written = finished(tmp_path / "job", tmp_path / "out.jsonl").decode().removesuffix("\n")
    for line, before, target in zip(
        written.split("\n"), objects, expected.decode().removesuffix("\n").split("\n"), strict=True
    ):
        assert line.startswith(before.removesuffix("}").rstrip() + ", ")
        assert json.loads(line) == json.loads(before) | {"out": target}


def test_lines_that_cannot_be_translated_are_told_and_keep_their_places(
    tmp_path: Path, planned: MakePlan
) -> None:
    path, folder, out = tmp_path / "rows.jsonl", tmp_path / "job", tmp_path / "out.jsonl"
    path.write_bytes(
        b'{"t": "the cat"}\nno object\n{"t": null}\n{"u": 1}\n{"t": 5}\n\xff\n{"t": "a dog"}'
        b'\n{"t": "\\ud800"}\n  \n\n{"t": "ran far"}\n{"t": "a", "translation": "b"}'
    )
    plan = planned(folder, path, column="t", shard_lines=3)
    assert ready(folder).work(lease=60, until=never) is Outcome.FAILURES
    failed = [
        json.loads(line)
        for file in sorted((folder / "failures").iterdir())
        for line in file.read_text().splitlines()
    ]
    assert [failure["line"] for failure in failed] == [2, 4, 5, 6, 8, 12]
    assert "no field 't'" in failed[1]["reason"]
    with pytest.raises(RunError, match=r"6 lines could not be translated"):
        whole.merge(folder, plan, out)
    assert not out.exists()
    whole.merge(folder, plan, out, allow_failures=True)
    lines = out.read_bytes().removesuffix(b"\n").split(b"\n")
    assert len(lines) == 12
    assert lines[11] == b'{"t": "a", "translation": "b"}'
    assert lines[1] == lines[5] == lines[8] == lines[9] == b""
    assert json.loads(lines[2]) == {"t": None, "translation": None}
    assert json.loads(lines[3]) == {"u": 1, "translation": None}
    assert json.loads(lines[6])["translation"] is not None


def test_a_line_with_invalid_bytes_is_empty_and_the_others_are_translated(
    tmp_path: Path, planned: MakePlan, expected: bytes
) -> None:
    lines = [line.encode() for line in TRAPS]
    lines[6] = b"the \xff cat"
    path, folder = tmp_path / "text.txt", tmp_path / "job"
    path.write_bytes(b"\n".join(lines))
    plan = planned(folder, path)
    assert ready(folder).work(lease=60, until=never) is Outcome.FAILURES
    whole.merge(folder, plan, tmp_path / "out.txt", allow_failures=True)
    right = expected.split(b"\n")
    right[6] = b""
    assert (tmp_path / "out.txt").read_bytes().split(b"\n") == right


@pytest.mark.parametrize(
    "error",
    [
        MemoryError(), DataError("It cannot be translated."), torch.OutOfMemoryError("CUDA"),
        RuntimeError("DefaultCPUAllocator: can't allocate memory: you tried to allocate 5 bytes."),
    ],
    ids=["memory", "data", "GPU", "PyTorch"],
)  # fmt: skip
def test_a_text_that_stops_the_group_is_tried_alone(
    text: Path, tmp_path: Path, planned: MakePlan, expected: bytes,
    monkeypatch: pytest.MonkeyPatch, error: Exception,
) -> None:  # fmt: skip
    translate = TextTranslator.translate

    def failing(self: TextTranslator, texts: list[str], **named: Any) -> Any:
        if TRAPS[3] in texts:
            raise error
        return translate(self, texts, **named)

    monkeypatch.setattr(TextTranslator, "translate", failing)
    folder = tmp_path / "job"
    plan = planned(folder, text)
    assert ready(folder).work(lease=60, until=never) is Outcome.FAILURES
    whole.merge(folder, plan, tmp_path / "out.txt", allow_failures=True)
    right = expected.split(b"\n")
    right[3] = b""
    assert (tmp_path / "out.txt").read_bytes().split(b"\n") == right


def test_columns_of_parquet_are_carried_over(
    tmp_path: Path, planned: MakePlan, expected: bytes
) -> None:
    pyarrow, parquet = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    path, folder = tmp_path / "rows.parquet", tmp_path / "job"
    table = pyarrow.table(
        {
            "id": list(range(len(TRAPS))),
            "text": TRAPS,
            "tags": [[str(n)] * (n % 3) for n in range(len(TRAPS))],
            "when": pyarrow.array([n * 1000 for n in range(len(TRAPS))], pyarrow.timestamp("us")),
        }
    )
    parquet.write_table(table, path, row_group_size=3)
    plan = planned(folder, path, column="text", shard_lines=5)
    assert [shard.lines for shard in plan.shards] == [6, 6, 2]
    finished(folder, tmp_path / "out.parquet")
    merged = parquet.read_table(tmp_path / "out.parquet")
    assert merged.drop_columns("translation").equals(table)
    right = expected.decode().removesuffix("\n").split("\n")
    assert merged.column("translation").to_pylist() == right


def test_a_result_of_another_form_than_its_name_is_refused(
    text: Path, tmp_path: Path, planned: MakePlan
) -> None:
    plan = planned(tmp_path / "job", text)
    assert ready(tmp_path / "job").work(lease=60, until=never) is Outcome.DONE
    with pytest.raises(ConfigError, match=r"\.txt"):
        whole.merge(tmp_path / "job", plan, tmp_path / "out.parquet")


# What processes that are killed leave behind.


@pytest.mark.parametrize("moment", ["claim", "partial", "part", "failures", "merge"])
def test_a_worker_killed_at_any_moment_costs_no_line(
    text: Path, tmp_path: Path, planned: MakePlan, expected: bytes, moment: str
) -> None:
    folder, out = tmp_path / "job", tmp_path / "out.txt"
    plan = planned(folder, text)
    worker = ready(folder)
    assert claim(folder, 1, lease=60)
    read = rows.read_rows(plan, 1)
    if moment == "partial":
        (folder / "parts" / ".000001.txt-12345678.partial").write_bytes(b"half a li")
    if moment == "part":
        work.translate_rows(worker.translator, plan, read)
        content = rows.written(plan, 1, read)
        digest = hashlib.sha256(content).hexdigest()
        parts.part_path(folder, plan, 1, digest).write_bytes(content)
    if moment == "failures":
        parts.failures_path(folder, 1, "f" * 64).write_text('{"line": 1, "reason": "killed"}\n')
    if moment == "merge":
        (tmp_path / ".out.txt-12345678.partial").write_bytes(b"half")
    # The claim is young, and its process lives.
    assert worker.work(lease=60, until=never) is Outcome.OTHERS_AT_WORK
    _make_old(claim_path(folder, 1))
    assert finished(folder, out) == expected


def test_of_two_workers_on_one_shard_the_part_of_the_first_counts(
    text: Path, tmp_path: Path, planned: MakePlan, expected: bytes
) -> None:
    folder = tmp_path / "job"
    planned(folder, text)
    first, second = ready(folder), ready(folder)
    first.translate(2)
    before = parts.read_manifest(folder, 2)
    second.translate(2)
    assert parts.read_manifest(folder, 2) == before
    assert finished(folder, tmp_path / "out.txt") == expected


def test_a_shard_that_is_finished_just_before_its_claim_is_released(
    text: Path, tmp_path: Path, planned: MakePlan, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "job"
    planned(folder, text)
    other, done = ready(folder), []

    def late(folder: Path, shard: int, lease: float) -> bool:
        if shard == 1:
            other.translate(shard)
        return claim(folder, shard, lease)

    monkeypatch.setattr(work, "claim", late)
    worker = load_worker(folder, lambda shard, manifest: done.append(shard))
    assert worker.work(lease=60, until=never) is Outcome.DONE
    assert done == [0, 2, 3]
    assert not list((folder / "claims").iterdir())


def test_a_worker_with_other_texts_that_was_killed_before_its_manifest_leaves_nothing_that_counts(
    text: Path, tmp_path: Path, planned: MakePlan, expected: bytes
) -> None:
    folder = tmp_path / "job"
    plan = planned(folder, text)
    other = b"of another processor\n" * 4
    digest = hashlib.sha256(other).hexdigest()
    parts.part_path(folder, plan, 1, digest).write_bytes(other)
    parts.failures_path(folder, 1, digest).write_text('{"line": 5, "reason": "memory"}\n')
    assert finished(folder, tmp_path / "out.txt") == expected


def _make_old(path: Path, seconds: float = 3600) -> None:
    then = path.stat().st_mtime - seconds
    os.utime(path, (then, then))


def test_a_claim_has_one_owner_until_its_lease_ends(tmp_path: Path) -> None:
    (tmp_path / "claims").mkdir()
    assert claim(tmp_path, 7, lease=60)
    assert not claim(tmp_path, 7, lease=60)
    _make_old(claim_path(tmp_path, 7))
    assert is_expired(claim_path(tmp_path, 7), lease=60)
    assert claim(tmp_path, 7, lease=60)
    assert not claim(tmp_path, 7, lease=60)
    assert len(list((tmp_path / "claims").iterdir())) == 1


def test_the_claim_of_a_process_of_this_machine_that_has_ended_is_free(tmp_path: Path) -> None:
    (tmp_path / "claims").mkdir()
    done = subprocess.run([sys.executable, "-c", "import os; print(os.getpid())"],
                          capture_output=True, text=True, check=True)  # fmt: skip
    path = claim_path(tmp_path, 0)
    owner = {"host": socket.gethostname(), "pid": int(done.stdout), "nonce": "0"}
    path.write_text(json.dumps(owner | {"host": "another"}))
    assert not claim(tmp_path, 0, lease=60)
    path.write_text(json.dumps(owner))
    assert claim(tmp_path, 0, lease=60) == (sys.platform != "win32")


def test_a_worker_renews_its_claim_while_it_works_and_releases_it_at_the_end(
    tmp_path: Path,
) -> None:
    (tmp_path / "claims").mkdir()
    assert claim(tmp_path, 0, lease=0.04)
    path = claim_path(tmp_path, 0)
    with kept(tmp_path, 0, lease=0.04):
        _make_old(path)
        end = time.monotonic() + 60
        while is_expired(path, lease=60) and time.monotonic() < end:
            time.sleep(0.01)
        assert not is_expired(path, lease=60)
    assert not path.exists()


def test_a_claim_made_between_the_look_and_the_takeover_stays(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "claims").mkdir()
    assert claim(tmp_path, 0, lease=60)
    path = claim_path(tmp_path, 0)
    _make_old(path)
    replace = claims.replace

    def late(source: Path, target: Path) -> None:
        monkeypatch.setattr(claims, "replace", replace)
        path.unlink()
        path.write_text("of another worker")
        replace(source, target)

    monkeypatch.setattr(claims, "replace", late)
    assert not claim(tmp_path, 0, lease=60)
    assert path.read_text() == "of another worker"


def test_the_clock_of_a_worker_does_not_matter(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "claims").mkdir()
    assert claim(tmp_path, 0, lease=60)
    monkeypatch.setattr("time.time", lambda: 1e10)
    assert not is_expired(claim_path(tmp_path, 0), lease=60)


# What has changed since the plan.


def test_another_plan_in_the_folder_is_refused_and_the_same_one_is_not(
    text: Path, tmp_path: Path, planned: MakePlan
) -> None:
    plan = planned(tmp_path / "job", text)
    assert planned(tmp_path / "job", text) == plan
    with pytest.raises(DataError, match=r"another translation, with other options"):
        planned(tmp_path / "job", text, search={"beam_size": 7})
    assert read_plan(tmp_path / "job") == plan
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "something").touch()
    with pytest.raises(DataError, match="has other files and no plan"):
        planned(tmp_path / "full", text)


@pytest.mark.parametrize("place", ["a-file", "a-file/job"])
def test_a_place_that_cannot_be_a_folder_is_said(
    text: Path, tmp_path: Path, planned: MakePlan, place: str
) -> None:
    (tmp_path / "a-file").write_text("mine\n")
    with pytest.raises(DataError, match="cannot be a folder"):
        planned(tmp_path / place, text)
    assert (tmp_path / "a-file").read_text() == "mine\n"


def test_an_input_that_changed_is_refused(text: Path, tmp_path: Path, planned: MakePlan) -> None:
    planned(tmp_path / "job", text)
    content = bytearray(text.read_bytes())
    content[2] ^= 1
    text.write_bytes(content)
    with pytest.raises(DataError, match=r"has changed since it was planned \(lines 1 to 4\)"):
        ready(tmp_path / "job").work(lease=60, until=never)
    assert not list((tmp_path / "job" / "claims").iterdir())  # the claim is released


def test_a_model_that_changed_is_refused(text: Path, tmp_path: Path, planned: MakePlan) -> None:
    planned(tmp_path / "job", text)
    path = tmp_path / "job" / "plan.json"
    values = json.loads(path.read_text())
    path.write_text(json.dumps(values | {"model_sha256": "0" * 64}))
    with pytest.raises(BundleError, match="is another model than the one that was planned"):
        ready(tmp_path / "job")


def test_a_damaged_part_is_found_and_done_again(
    text: Path, tmp_path: Path, planned: MakePlan, expected: bytes
) -> None:
    folder, out = tmp_path / "job", tmp_path / "out.txt"
    plan = planned(folder, text)
    assert finished(folder, out) == expected
    (part,) = (folder / "parts").glob("000001-*.txt")
    part.write_bytes(part.read_bytes()[:-2] + b"~\n")
    out.unlink()
    with pytest.raises(RunError, match="Shard 1 has a damaged part"):
        whole.merge(folder, plan, out)
    assert not out.exists()
    assert whole.reopen(folder, plan) == [1]
    assert finished(folder, out) == expected


def test_a_full_disk_loses_nothing(
    text: Path, tmp_path: Path, planned: MakePlan, expected: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "job"
    plan = planned(folder, text)

    def full(path: Path, content: bytes) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patched:
        patched.setattr(parts, "write_atomically", full)
        with pytest.raises(RunError, match="No space left on device"):
            ready(folder).work(lease=60, until=never)
    assert whole.status(folder, plan).done == whole.status(folder, plan).claimed == 0
    assert finished(folder, tmp_path / "out.txt") == expected


def test_a_folder_that_cannot_be_written_is_told(
    text: Path, tmp_path: Path, planned: MakePlan, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "job"
    planned(folder, text)

    def refused(path: Path) -> bool:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(claims, "_create", refused)
    with pytest.raises(RunError, match=r"claims cannot be written \(Permission denied\)"):
        ready(folder).work(lease=60, until=never)


def test_a_worker_looks_from_its_last_shard_on_and_then_from_the_beginning(
    text: Path, tmp_path: Path, planned: MakePlan
) -> None:
    folder = tmp_path / "job"
    planned(folder, text, shard_lines=3)
    done: list[int] = []
    worker = load_worker(folder, lambda shard, manifest: done.append(shard))
    for shard in (0, 1):
        assert claim(folder, shard, lease=60)
    assert worker.work(lease=60, until=lambda: len(done) == 2) is Outcome.OTHERS_AT_WORK
    assert done == [2, 3]
    for shard in (0, 1):
        claim_path(folder, shard).unlink()
    assert worker.work(lease=60, until=never) is Outcome.DONE
    assert done == [2, 3, 0, 1, 4]


def test_inputs_that_are_no_text_are_refused(tmp_path: Path, planned: MakePlan) -> None:
    path = tmp_path / "book.txt"
    path.write_bytes(b"%PDF-1.7\n")
    with pytest.raises(DataError, match="begins as a PDF does"):
        planned(tmp_path / "job", path)
    text, table = tmp_path / "a.txt", tmp_path / "b.jsonl"
    text.write_text("a\n")
    table.write_text("{}\n")
    with pytest.raises(ConfigError, match=r"a\.txt is text, b\.jsonl is jsonl"):
        planned(tmp_path / "job", text, table)
    for path, column in ((text, "t"), (table, None)):
        with pytest.raises(ConfigError, match=r"--column|no column"):
            planned(tmp_path / "job", path, column=column)


@pytest.mark.parametrize(
    ("name", "value", "number"),
    [
        ("SLURM_ARRAY_TASK_ID", "4", 4), ("JOB_COMPLETION_INDEX", "0", 0),
        ("PBS_ARRAY_INDEX", "2", 2), ("SGE_TASK_ID", "1", 0),
    ],
)  # fmt: skip
def test_the_number_of_a_task(name: str, value: str, number: int) -> None:
    assert task_number({name: value}) == number


def test_no_scheduler_is_told() -> None:
    with pytest.raises(ConfigError, match="The number of this task is unknown"):
        task_number({"SGE_TASK_ID": "undefined"})


# The commands.


def test_run_goes_on_where_it_stopped(
    text: Path, tmp_path: Path, bundle_path: Path, run: Run, expected: bytes
) -> None:
    folder = tmp_path / "job"
    call = [
        "bulk", "run", bundle_path, text, "--out", folder, "--shard-lines", 4,
        "--engine", "reference", "--precision", "float32", "--device", "cpu",
    ]  # fmt: skip
    status, _, err = run(*call)
    assert status == 0, err
    assert (folder / "translation.txt").read_bytes() == expected
    assert "14 lines in" in err
    parts.manifest_path(folder, 2).unlink()
    status, _, err = run(*call)
    assert status == 0, err
    assert err.count("a second") == 1  # one shard alone
    status, out, _ = run("bulk", "status", folder, "--json")
    now = json.loads(out)
    assert (status, now["done"], now["shards"], now["lines_done"]) == (0, 4, 4, 14)


def test_the_commands_one_by_one(
    text: Path, tmp_path: Path, bundle_path: Path, run: Run, expected: bytes,
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    folder, out = tmp_path / "job", tmp_path / "out.txt"
    options = ["--engine", "reference", "--precision", "float32", "--device", "cpu"]
    assert (
        run("bulk", "plan", bundle_path, text, "--out", folder, "--shard-lines", 5, *options)[0]
        == 0
    )
    assert run("bulk", "work", folder, "--shard", 1)[0] == 0
    assert run("bulk", "work", folder, "--minutes", 0)[0] == 3
    status, _, err = run("bulk", "work", folder, "--shard", 3)
    assert (status, "There is no shard 3: the plan has 3 shards" in err) == (1, True)
    status, _, err = run("bulk", "merge", folder, "--out", out)
    assert (status, "Shard 0 is not done" in err, out.exists()) == (1, True, False)
    monkeypatch.setenv("SLURM_ARRAY_TASK_ID", "2")
    assert run("bulk", "work", folder, "--shard", "auto")[0] == 0
    assert run("bulk", "work", folder)[0] == 0
    assert run("bulk", "verify", folder)[1] == "All 3 parts are whole: 14 lines.\n"
    assert run("bulk", "merge", folder, "--out", out)[0] == 0
    assert out.read_bytes() == expected
    with pytest.raises(HeadwayError):
        read_plan(tmp_path)
