"""Other spellings of options are taken, and a wrong call says what would be right."""

from pathlib import Path

import pytest
import typer

LINES = "저는 갑니다 .\n너는 온다 !\n"


@pytest.fixture
def text(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    for name in ("train.en", "train.af", "dev.en", "dev.af"):
        Path(name).write_text(LINES, encoding="utf-8")
    return Path("train.en")


@pytest.mark.parametrize(
    ("arguments", "hint"),
    [
        ("translate M -i train.en", "The text is the second argument"),
        ("inspect M --text one", "The sentence is the second argument: headway inspect MODEL SEN"),
        ("inspect M --sentence one", "The sentence is the second argument"),
        ("inspect M --input one", "The sentence is the second argument"),
        ("translate --model M train.en", "The model is the first argument"),
        ("translate M --int8", "Did you mean --precision int8?"),
        ("translate M --bf16", "Did you mean --precision bfloat16?"),
        ("translate M --gpu", "Did you mean --device cuda?"),
        ("translate M --packed", "Did you mean --engine packed?"),
        ("translate M --greedy", "Did you mean --beam 1?"),
        ("translate M --temprature 1", "Did you mean --temperature?"),
        ("train --sorce x", "Did you mean --source?"),
        ("evaluate M --precison int8", "Did you mean --precision?"),
        ("train --model x", "Did you mean --from MODEL?"),
        ("check --minutes 5", "headway train --minutes N measures the speed"),
        ("clean --set data.source_field=en a.jsonl", "Here --source-field, --source-column"),
        ("train --source-field en", "Did you mean --set data.source_field=…?"),
        ("check --target-column 3", "Did you mean --set data.target_column=…?"),
        ("train --time 5", "Did you mean --minutes?"),
        ("train --valid dev.en", "Did you mean --valid-source and --valid-target?"),
        ("check --dev dev.en", "Did you mean --valid-source and --valid-target?"),
        ("train --minutes 4m", "--minutes is '4m', but must be a number. Give 4, say."),
        ("train --minutes 1:30", "--minutes is '1:30', but must be a number. Give 10, say."),
        ("translate M --beam 4x", "--beam is '4x', but must be a whole number. Give 4, say."),
        ("check --set training.seed 3", "Did you mean --set training.seed=VALUE?"),
        ("check --set seed 3", "Did you mean --set training.seed=VALUE?"),
        ("train -i train.en", "Did you mean --source?"),
        ("train --max-steps 5", "Did you mean --set training.max_steps=…?"),
        ("check --lr 5", "Did you mean --set training.learning_rate=…?"),
        ("check --vocab-size 5", "Did you mean --set tokenizer.vocabulary_size=…?"),
        ("bench train --devise cpu", "`headway bench train` has no option --devise. Did you mean"),
        ("info M --frobnicate", "See headway info --help."),
        ("check train.en train.af", "Did you mean --source train.en --target train.af?"),
        ("check --source train.en train.af", "Text is named with --source and --target."),
        ("check --source train.en nowhere.af", "Text is named with --source and --target."),
        ("score M --source train.en 'a b'", "Did you mean --target 'a b'?"),
        ("train a.toml train.en train.af", "Did you mean --source train.en --target train.af?"),
        (
            "train train.en train.af dev.en dev.af",
            "--target train.af --valid-source dev.en --valid-target dev.af?",
        ),
        ("evaluate M train.en train.af", "Did you mean --source train.en --reference train.af?"),
        ("score M train.en train.af", "Did you mean --source train.en --target train.af?"),
        ("translate M train.en train.af", "It takes one file: call it once for each."),
        ("translate M train.en out.af", "Did you mean --out out.af?"),
        ("translate M nowhere.en out.af", "Did you mean --out out.af?"),
        ("transalte M", "There is no command 'transalte'. Did you mean headway translate?"),
        ("frobnicate", "There is no command 'frobnicate'. See headway --help."),
        ("bench trian", "There is no command 'trian'. Did you mean headway bench train?"),
        ("--frobnicate", "No such option: --frobnicate. See headway --help."),
        ("translate", "MODEL is missing. See headway translate --help."),
        (
            "translate M --beam",
            "--beam is without its value. Write it behind; see headway translate",
        ),
        ("translate M --seed 3", "Error: --seed is for sampling; add --sample, or leave it out.\n"),
        ("translate M --text A two", "--text and FILE are both text; give one of them."),
        ("info", "Error: Name a model, or add --kernels.\n"),
        ("translate M The minister spoke", "--text 'The minister spoke'"),
    ],
)
def test_a_wrong_call_says_in_one_line_what_would_be_right(
    run, text: Path, bundle_path: Path, arguments: str, hint: str
) -> None:
    import shlex

    words = [str(bundle_path) if word == "M" else word for word in shlex.split(arguments)]
    status, out, err = run(*words)
    assert (status, out) == (2, "")
    assert err.startswith("Error: ")
    assert err.count("\n") == 1
    assert hint in err


@pytest.mark.skipif(not hasattr(typer, "_click"), reason="an older Typer has other words")
@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["translate", "M", "--beam", 0], "--beam is 0, but must be at least 1. Give 1, say."),
        (
            ["serve", "--port", 70000],
            "--port is 70000, but must be at most 65535. Give 65535, say.",
        ),
    ],
)
def test_a_number_out_of_range_is_named_with_the_nearest_one(
    run, arguments: list[object], message: str
) -> None:
    assert run(*arguments) == (2, "", f"Error: {message}\n")


@pytest.mark.parametrize("call", [[], ["bench"]])
def test_a_table_of_commands_without_one_prints_its_help(run, call: list[str]) -> None:
    _, out, err = run(*call)
    assert "Commands" in out + err
    assert "Error" not in out + err


@pytest.mark.parametrize(
    ("option", "other"),
    [("--nbest", "--n-best"), ("--beam", "--beam-size"), ("--beam", "--num-beams")],
)
def test_both_spellings_of_an_option_are_one(
    run, text: Path, bundle_path: Path, option: str, other: str
) -> None:
    outputs = [run("translate", bundle_path, text, each, 2)[:2] for each in (option, other)]
    outputs.append(run("translate", bundle_path, text, f"{other}=2")[:2])
    assert outputs[0][0] == 0
    assert outputs[0] == outputs[1] == outputs[2]


def test_references_and_targets_are_taken_for_each_other(run, text: Path, bundle_path) -> None:
    scored = [
        run("score", bundle_path, "--source", text, name, "train.af")
        for name in ("--target", "--reference")
    ]
    assert scored[0] == scored[1]
    assert scored[0][0] == 0
    status, out, _ = run("evaluate", bundle_path, "--source", text, "--target", "train.af")
    assert (status, out[:5]) == (0, "bleu ")


def test_an_option_of_a_command_keeps_its_own_meaning(run, bundle_path: Path) -> None:
    """`inspect --target` is a sentence, and no other spelling of a file."""
    status, out, _ = run("inspect", bundle_path, "너는 온다 !", "--target", "-", "--json")
    assert (status, "stdin" in out) == (0, False)


@pytest.mark.parametrize("option", ["-o", "--out", "--output"])
def test_each_spelling_of_out_writes_the_file(run, text: Path, bundle_path, option: str) -> None:
    assert run("translate", bundle_path, text, option, "lines")[:2] == (0, "")
    assert Path("lines").read_text("utf-8") == run("translate", bundle_path, text)[1]


def test_the_short_form_of_out_is_in_the_help_of_every_command_that_writes(run) -> None:
    for command in ("demo", "train", "translate", "inspect", "export"):
        assert " -o " in run(command, "--help")[1]


def test_a_sentence_is_translated(run, text: Path, bundle_path: Path) -> None:
    first, second = LINES.splitlines()
    status, out, _ = run("translate", bundle_path, "--text", first, "--text", second)
    assert (status, out) == (0, run("translate", bundle_path, text)[1])


def test_a_sentence_in_place_of_a_file_gets_the_command(run, text: Path, bundle_path) -> None:
    status, _, err = run("translate", bundle_path, "The minister spoke.")
    assert status == 2
    assert err == (
        "Error: There is no file 'The minister spoke.'. To translate a sentence: "
        f"headway translate {bundle_path} --text 'The minister spoke.'\n"
    )


def test_a_mistyped_file_is_no_sentence(run, text: Path, bundle_path: Path) -> None:
    status, _, err = run("translate", bundle_path, "trian.en")
    assert (status, "--text" in err) == (1, False)


def test_a_sentence_beside_a_file_is_refused(run, text: Path, bundle_path: Path) -> None:
    status, _, err = run("translate", bundle_path, text, "--text", "a")
    assert (status, "--text and FILE" in err) == (2, True)


def test_a_text_that_is_taken_for_a_configuration_is_named_with_source(run, text: Path) -> None:
    status, _, err = run("check", text)
    assert status == 2
    assert "Text is named with --source and --target" in err


@pytest.fixture
def stdin(text: Path, monkeypatch: pytest.MonkeyPatch):
    """Let standard input be the text, also for what opens /dev/stdin."""
    import os

    before = os.dup(0)
    descriptor = os.open(text, os.O_RDONLY)
    os.dup2(descriptor, 0)
    os.close(descriptor)
    with open(0, encoding="utf-8", closefd=False) as file:
        monkeypatch.setattr("sys.stdin", file)
        yield
    os.dup2(before, 0)
    os.close(before)


def test_a_dash_is_standard_input_wherever_a_text_is_meant(
    run, text: Path, bundle_path: Path, stdin
) -> None:
    both = ("--source", text, "--target")
    expected = run("score", bundle_path, *both, "train.af")
    assert run("score", bundle_path, *both, "-") == expected
    assert expected[0] == 0


def test_a_dash_is_standard_input_among_several_files(run, text: Path, stdin) -> None:
    both = ("evaluate", "--source", text, "--reference", "train.af", "--hypothesis")
    alone = run(*both, text)
    assert run(*both, "-") == alone
    assert alone[0] == 0
    two = run(*both, "dev.en", "--hypothesis", text)
    assert run(*both, "dev.en", "--hypothesis", "-")[0] == two[0] == 0


def test_a_dash_is_the_text_to_translate_and_standard_output(
    run, text: Path, bundle_path: Path, stdin
) -> None:
    status, out, _ = run("translate", bundle_path, "-", "--out", "-")
    assert (status, out) == (0, run("translate", bundle_path, text)[1])
    assert not Path("-").exists()


def test_a_dash_is_refused_where_no_file_is_a_standard_stream(
    run, text: Path, bundle_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("headway.cli.guesses.sys.platform", "win32")
    status, _, err = run("score", bundle_path, "--source", text, "--target", "-")
    assert status == 2
    assert "--target is `-`, but no file of Windows is a standard stream. Name a file." in err


def test_alignments_go_to_standard_output(run, text: Path, bundle_path: Path) -> None:
    status, out, _ = run("translate", bundle_path, text, "--out", "o", "--alignments", "-")
    assert status == 0
    run("translate", bundle_path, text, "--out", "o", "--alignments", "a")
    assert out == Path("a").read_text("utf-8")
    assert not Path("-").exists()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ("score M --source - --target -", "--source and --target are both `-`"),
        (
            "evaluate --hypothesis - --hypothesis - --source train.en --reference train.af",
            "--hypothesis and --hypothesis are both `-`",
        ),
        ("evaluate --hypothesis - --source - --reference train.af", "are both `-`"),
        ("translate M - --alignments - --out -", "--out and --alignments are both `-`"),
        ("translate M - --alignments -", "translations go to standard output, too"),
        ("check --source - --target train.en", "--source is `-`, but this text is read more"),
        ("train --source train.en --out -", "--out is `-`, but it names a file or folder"),
        ("export M --to keras --out -", "--out is `-`, but it names a file or folder"),
    ],
)
def test_a_dash_that_cannot_be_a_stream_is_refused(
    run, text: Path, bundle_path: Path, arguments: str, message: str
) -> None:
    words = [bundle_path if word == "M" else word for word in arguments.split()]
    status, _, err = run(*words)
    assert status == 2
    assert message in err


@pytest.mark.parametrize(
    ("command", "call"),
    [("compare", "evaluate A B"), ("generate", "translate MODEL"), ("bleu", "evaluate --hyp")],
)
def test_a_command_of_another_toolkit_is_named(run, command: str, call: str) -> None:
    status, _, err = run(command, "a", "b")
    assert status == 2
    assert f"Error: There is no command '{command}'. Here it is: headway {call}" in err


@pytest.mark.parametrize("name", ["firefox", "Bergamot", "opus-mt", "huggingface"])
def test_models_that_are_marians_are_imported_as_such(run, name: str) -> None:
    status, _, err = run("import", name, "enpt", "--out", "en-pt")
    assert status == 2
    assert err == (
        f"Error: There is no command '{name}'. Here it is: headway import marian DIR --out BUNDLE\n"
    )


def test_an_import_names_the_program_of_the_model(run, tmp_path: Path) -> None:
    status, _, err = run("import", tmp_path, "--out", "en-pt")
    assert status == 2
    assert "Name its program first: marian or joeynmt or fairseq." in err
    assert "See headway import --help." in run("import", "argos", "x", "--out", "y")[2]


def test_another_unknown_command_stays_one(run) -> None:
    status, _, err = run("trian", "a")
    assert status == 2
    assert "Did you mean headway train?" in err


@pytest.mark.parametrize("name", ["page.html", "page"])
def test_a_document_is_refused_and_its_lines_can_be_forced(
    run, text: Path, bundle_path: Path, name: str
) -> None:
    Path(name).write_text("<!DOCTYPE html>\n<p>너는 온다 !</p>\n", encoding="utf-8")
    status, out, err = run("translate", bundle_path, name)
    assert (status, out) == (1, "")
    assert err.startswith(f"Error: {name} is an HTML page: ")
    assert "--as-text" in err
    status, out, _ = run("translate", bundle_path, name, "--as-text")
    assert (status, out.count("\n")) == (0, 2)
