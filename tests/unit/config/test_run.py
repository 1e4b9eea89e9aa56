"""A run's configuration is read, overridden, checked and written."""

from pathlib import Path
from typing import Any

import pytest

from headway.config import presets
from headway.config.presets import TABLE_3
from headway.config.run import RunConfig, dump_run_config, load_run_config, parse_run_config
from headway.errors import ConfigError

TOML = """
[model]
preset = "tiny"
d_ff = 300

[training]
max_steps = 9
clip_norm = 5
"""


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "run.toml"
    path.write_text(TOML, encoding="utf-8")
    return path


def test_a_file_changes_what_it_names_and_nothing_else(file: Path) -> None:
    config = load_run_config(file)

    assert config.model == presets.architecture("tiny").replace({"d_ff": 300})
    assert config.training == RunConfig().training.replace({"max_steps": 9, "clip_norm": 5.0})
    assert config.decoding == RunConfig().decoding


def test_without_a_file_the_defaults_stand() -> None:
    assert load_run_config(None) == RunConfig()


def test_overrides_win_and_the_last_one_most(file: Path) -> None:
    config = load_run_config(
        file,
        [
            "training.max_steps=11",
            "training.max_steps = 12",
            "model.preset=small",
            "model.d_k=none",
            "data.source=train.en",
            'data.target="12"',
            "evaluation.metrics=['ter']",
            "tokenizer.joint=false",
            "data.directory=2026-01-31",
        ],
    )

    assert config.training.max_steps == 12
    assert config.model == presets.architecture("small").replace({"d_ff": 300})
    assert (config.data.source, config.data.target) == ("train.en", "12")
    assert config.evaluation.metrics == ["ter"]
    assert config.tokenizer.joint is False
    assert config.data.directory == "2026-01-31"
    for text in ("2024", "1.5", "true", "[a]"):  # folders may be called so
        named = load_run_config(file, [f"data.directory={text}", f'data.source="{text}"'])
        assert (named.data.directory, named.data.source) == (text, text)


def test_a_mark_of_byte_order_at_the_start_is_no_setting(file: Path) -> None:
    expected = load_run_config(file)
    file.write_text("\ufeff" + TOML, encoding="utf-8")
    assert load_run_config(file) == expected


def test_a_preset_that_would_change_nothing_is_refused(tmp_path: Path) -> None:
    own = tmp_path / "config.toml"
    tiny = load_run_config(None, ["model.preset=tiny", "model.dropout=0.3"])
    own.write_text(dump_run_config(tiny), encoding="utf-8")

    assert load_run_config(own, ["model.preset=tiny"]) == tiny
    with pytest.raises(ConfigError, match=r"'big', with d_model 1024, but .*toml has d_model 128"):
        load_run_config(own, ["model.preset=big"])
    sizes = ["d_model", "d_ff", "num_heads", "num_encoder_layers", "num_decoder_layers"]
    named = [f"model.{key}={getattr(tiny.model, key)}" for key in sizes]
    with pytest.raises(ConfigError, match=r"with dropout 0\.0, but .* has dropout 0\.3"):
        load_run_config(own, [*named, "model.preset=D-dropout-0.0"])
    part = tmp_path / "part.toml"
    part.write_text("[model]\nnum_encoder_layers = 2\ndropout = 0.1\n")
    some = {"num_encoder_layers": 2, "dropout": 0.1}
    big = presets.architecture("big").replace(some)
    assert load_run_config(part, ["model.preset=big"]).model == big
    named.append("model.dropout=0.2")
    assert load_run_config(own, [*named, "model.preset=D-dropout-0.0"]).model.dropout == 0.2


def test_a_preset_whose_training_would_change_nothing_is_refused(tmp_path: Path) -> None:
    own = tmp_path / "config.toml"
    own.write_text(dump_run_config(load_run_config(None, ["model.preset=base"])), encoding="utf-8")

    with pytest.raises(ConfigError, match=r"label_smoothing 0\.2, but .* has label_smoothing 0\.1"):
        load_run_config(own, ["model.preset=D-smoothing-0.2"])
    chosen = ["model.preset=D-smoothing-0.2", "training.label_smoothing=0.2"]
    assert load_run_config(own, chosen).training.label_smoothing == 0.2
    own.write_text("[model]\nd_ff = 4096\n[training]\nlabel_smoothing = 0.1\n")
    assert load_run_config(own, chosen[:1]).training.label_smoothing == 0.1


@pytest.mark.parametrize("wrong", [5, [{"max_steps": 3}]])
def test_a_section_that_is_no_table_is_refused_beside_a_preset(wrong: object) -> None:
    with pytest.raises(ConfigError, match="training"):
        parse_run_config({"model": {"preset": "tiny"}, "training": wrong})


@pytest.mark.parametrize("name", [*presets.ARCHITECTURES, *presets.TABLE_3])
def test_every_preset_can_be_named_in_a_file(name: str) -> None:
    assert parse_run_config({"model": {"preset": name}}).model == presets.architecture(name)


def test_a_preset_leaves_the_values_that_it_was_given_alone() -> None:
    values = {"model": {"preset": "tiny", "d_ff": 5}}

    parse_run_config(values)

    assert values == {"model": {"preset": "tiny", "d_ff": 5}}


@pytest.mark.parametrize(
    ("override", "message"),
    [
        (
            "max_steps=3",
            "'max_steps=3' is not of the form section.key=value. "
            "Did you mean --set training.max_steps=3?",
        ),
        (
            "training.max_steps",
            "'training.max_steps' is not of the form section.key=value. "
            "Did you mean --set training.max_steps=VALUE?",
        ),
        ("trainin.max_steps=3", "no setting 'trainin.max_steps'. Did you mean 'training'?"),
        (
            "training.max_step=3",
            "no setting 'training.max_step'. Did you mean 'training.max_steps'",
        ),
        ("training.max_steps=x", "'training.max_steps' is 'x' (str), but must be a valid integer"),
        ("model.preset=basis", "There is no preset 'basis'. Did you mean 'base'"),
        ("model.d_model=30", "d_model 30 is not divisible by num_heads 4 (remainder 2)"),
    ],
    ids=["no section", "no value", "section", "key", "type", "preset", "sizes"],
)
def test_a_wrong_override_is_refused(file: Path, override: str, message: str) -> None:
    with pytest.raises(ConfigError) as error:
        load_run_config(file, [override])

    assert message in str(error.value)


def test_a_section_that_is_no_table_cannot_be_overridden() -> None:
    path_values: dict[str, Any] = {"training": 3}

    with pytest.raises(ConfigError, match="'training' is 3"):
        parse_run_config(path_values)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"[model", "is not valid TOML"),
        (b"name = '\xff'", "is not UTF-8 text"),
        (b"training = 3", "'training' is 3, but must be a table of settings"),
    ],
    ids=["no TOML", "no UTF-8", "no table"],
)
def test_a_file_that_cannot_be_used_is_refused(
    tmp_path: Path, content: bytes, message: str
) -> None:
    path = tmp_path / "run.toml"
    path.write_bytes(content)

    with pytest.raises(ConfigError, match=message):
        load_run_config(path, ["training.max_steps=3"])


def test_a_file_that_is_missing_or_a_folder_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="There is no configuration file"):
        load_run_config(tmp_path / "none.toml")
    with pytest.raises(ConfigError, match="cannot be read"):
        load_run_config(tmp_path)


def test_what_is_written_can_be_read_by_people() -> None:
    text = dump_run_config(RunConfig())

    assert text.startswith('[recipe]\nname = ""\n')
    assert "\n[training]\nseed = 1\nmax_steps = 100000\n" in text
    assert "max_epochs" not in text  # unset, and TOML has no word for it


def test_every_recipe_of_this_repository_can_be_read() -> None:
    recipes = sorted((Path(__file__).parents[3] / "recipes").glob("*.toml"))

    assert recipes
    for recipe in recipes:
        assert load_run_config(recipe).recipe.name


def test_any_character_survives_writing_and_reading(tmp_path: Path) -> None:
    odd = 'tab \t, quote ", backslash \\, delete \x7f, null \0, line \n, \u2028, \u0085, 한, 🙂'
    config = RunConfig.parse({"recipe": {"name": odd}})
    path = tmp_path / "run.toml"

    path.write_text(dump_run_config(config), encoding="utf-8")

    assert load_run_config(path) == config


def test_a_row_of_table_3_brings_its_training() -> None:
    smoothed = load_run_config(None, ["model.preset=D-smoothing-0.2"])
    assert smoothed.training.label_smoothing == 0.2
    assert load_run_config(None, ["model.preset=D-smoothing-0.0"]).training.label_smoothing == 0.0
    big = load_run_config(None, ["model.preset=big"])
    assert (big.training.max_steps, big.training.average_checkpoints) == (300_000, 20)
    own = load_run_config(None, ["model.preset=big", "training.max_steps=7"])
    assert own.training.max_steps == 7


def test_every_row_of_table_3_is_another_run() -> None:
    base = load_run_config(None, ["model.preset=base"])
    for name in TABLE_3:
        assert (load_run_config(None, [f"model.preset={name}"]) == base) == (name == "base")


def test_none_is_a_word_where_a_setting_cannot_be_empty() -> None:
    config = load_run_config(None, ["evaluation.bleu_tokenize=none", "training.clip_norm=none"])
    assert config.evaluation.bleu_tokenize == "none"
    assert config.training.clip_norm is None


@pytest.mark.parametrize("text", [f"[training]\nseed = {'9' * 5000}", "a = " + "[" * 5000])
def test_toml_beyond_what_python_reads_is_no_valid_toml(tmp_path: Path, text: str) -> None:
    path = tmp_path / "a.toml"
    path.write_text(text)
    with pytest.raises(ConfigError, match=r"a\.toml is not valid TOML"):
        load_run_config(path)


@pytest.mark.parametrize(
    ("override", "message"),
    [
        ("training.seed=5\nx=6", r"'training.seed' is '5\\nx=6' \(str\)"),
        ("data.max_pieces=99999999999999999999999", "'data.max_pieces' does not fit into 64 bits"),
        ("model.num_encoder_layers=1000000", "less than or equal to 1024"),
        ("model.d_v=9223372036854775807", "less than or equal to 1048576"),
        ("training.compile=" + "[" * 5000, "'training.compile' is"),
    ],
)
def test_an_override_that_nothing_can_be_made_of_is_refused(override: str, message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        load_run_config(None, [override])


def test_what_is_no_name_and_no_text_is_refused() -> None:
    with pytest.raises(ConfigError, match="A configuration is of type list"):
        load_run_config([])  # type: ignore[arg-type]
    with pytest.raises(ConfigError, match="An override is of type NoneType"):
        load_run_config(None, [None])  # type: ignore[list-item]
