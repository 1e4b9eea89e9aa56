"""What the documents say is true: versions, files, commands, code."""

import importlib
import re
import subprocess
import tomllib
from pathlib import Path

import pytest
import yaml
from tests.meta.pages import prose

import headway
from headway.bundle import Bundle
from headway.cli.app import app
from headway.config.decoding import DecodingConfig
from headway.config.model import Architecture
from headway.config.run import RunConfig, load_run_config
from headway.data.tokenizer import train_tokenizer
from headway.inspection.translator import Translator
from headway.model.transformer import Transformer

ROOT = Path(__file__).parents[2]
READMES = ["README.md", "README.ko.md"]


def _blocks(name: str, language: str) -> list[str]:
    text = (ROOT / name).read_text(encoding="utf-8")
    return re.findall(rf"```{language}\n(.*?)```", text, flags=re.DOTALL)


def test_the_changelog_begins_with_the_version_of_the_package() -> None:
    text = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    newest = re.search(r"^## (\S+)", text, flags=re.MULTILINE)
    assert newest is not None
    assert newest.group(1) == headway.__version__
    assert f'version = "{headway.__version__}"' in (ROOT / "pyproject.toml").read_text()


def test_the_code_of_the_readme_runs(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    tokenizer = train_tokenizer(
        ["저는 학생입니다.", "I am a student."], kind="char", vocabulary_size=40
    )
    config = Architecture(d_model=8, d_ff=12, num_heads=2).with_vocabulary(len(tokenizer))
    model = Transformer.from_config(config).eval()
    translator = Translator(Bundle(config, model, tokenizer, tokenizer, DecodingConfig()))
    monkeypatch.setattr(headway, "load", lambda path: translator)
    (code,) = _blocks("README.md", "python")

    exec(code, {})

    assert "decoder.layers.0.self_attention.weights" in capsys.readouterr().out


@pytest.mark.parametrize("name", READMES)
def test_a_readme_has_at_most_400_words(name: str) -> None:
    assert len((ROOT / name).read_text(encoding="utf-8").split()) <= 400


def test_the_korean_readme_leads_to_korean_pages() -> None:
    text = (ROOT / "README.ko.md").read_text(encoding="utf-8")
    links = [link for link in re.findall(r"\]\(([^)#]*)", text) if link.startswith("docs/")]
    assert len(links) >= 5
    assert all(link.startswith(("docs/ko/", "docs/screens/ko/")) for link in links)


def test_the_citation_names_this_version() -> None:
    text = (ROOT / "CITATION.cff").read_text(encoding="utf-8")
    assert f"\nversion: {headway.__version__}\n" in text


def test_both_readmes_show_the_same_code_and_commands() -> None:
    for language in ("python", ""):
        english, korean = (_blocks(name, language) for name in READMES)
        assert [_commands(block) for block in english] == [_commands(block) for block in korean]


def _commands(block: str) -> list[str]:
    return [line.split("#")[0].rstrip() for line in block.splitlines()]


@pytest.mark.parametrize("name", READMES)
def test_every_command_and_option_in_a_readme_exists(name: str) -> None:
    import typer

    group = typer.main.get_command(app)
    text = " ".join("".join(_blocks(name, "")).replace("\\\n", " ").split("\n"))
    used = re.findall(r"headway (\w+)([^#$|]*?)(?=headway |$|#|\$|\|)", text)
    assert len(used) >= 3
    for command, rest in used:
        options = {o for p in group.commands[command].params for o in p.opts}  # type: ignore[attr-defined]
        assert set(re.findall(r"--[a-z-]+", rest)) <= options, (command, rest)


PAGES = [ROOT / "CONTRIBUTING.md", *(ROOT / name for name in READMES)]
PAGES += sorted((ROOT / "docs").rglob("*.md"))
of_each_page = pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))


def _anchors(text: str) -> set[str]:
    """Return the anchor of each heading, as GitHub makes it."""
    headings = re.findall(r"^#+ (.*)$", text, flags=re.MULTILINE)
    return {re.sub(r"[^\w -]", "", heading).replace(" ", "-").lower() for heading in headings}


@of_each_page
def test_every_link_leads_to_a_file_and_a_heading(page: Path) -> None:
    text = prose(page.read_text(encoding="utf-8"))
    for name, anchor in re.findall(r"\]\((?!\w+:)([^)#]*)#?([^)]*)\)", text):
        target = page.parent / name if name else page
        assert target.exists(), name
        assert not anchor or anchor in _anchors(target.read_text(encoding="utf-8")), anchor


@of_each_page
def test_every_test_that_a_page_names_exists(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    for name, target in re.findall(r"\[`(test_\w+)`\]\(([^)#]+)\)", text):
        assert f"def {name}(" in (page.parent / target).read_text(encoding="utf-8"), name


@pytest.mark.parametrize("path", sorted((ROOT / "recipes").glob("*.toml")), ids=lambda p: p.stem)
def test_every_recipe_is_a_valid_configuration_that_names_its_source(path: Path) -> None:
    config = load_run_config(path)
    assert config.recipe.data_source.startswith("https://")
    assert config.recipe.licence
    assert config.recipe.expected
    assert config.recipe.took
    assert config.data.directory.startswith("data/")


def test_every_file_in_the_paper_map_exists() -> None:
    text = (ROOT / "docs" / "en" / "reference" / "paper-map.md").read_text(encoding="utf-8")
    package, tests = ROOT / "src" / "headway", ROOT / "tests"
    text, what_runs = text.split("## What runs")
    for name in re.findall(r"`([\w/]+\.py)`", what_runs):
        assert (package / name).is_file(), name
    for row in re.findall(r"^\| (?!paper|---)(.*) \|$", text, flags=re.MULTILINE):
        _, _, where, test = (cell.strip() for cell in row.split(" | "))
        folder = ""
        for name in re.findall(r"`([\w/]+\.py)`", where):
            path = name if "/" in name else f"{folder}/{name}"
            folder = path.rpartition("/")[0]
            assert (package / path).is_file(), path
        for name in re.findall(r"`([^`]+)`", test):
            assert (tests / name).exists(), name


@of_each_page
def test_every_file_and_module_that_a_page_names_exists(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    package = ROOT / "src" / "headway"
    for name in re.findall(r"`([\w/]+/[\w]+\.py)`", text):
        assert any((folder / name).is_file() for folder in (package, ROOT, ROOT / "tests")), name
    for dotted in re.findall(r"`headway((?:\.\w+)+)`", text):
        path, parts = package, dotted.removeprefix(".").split(".")
        while parts and path.is_dir():
            path /= parts.pop(0)
            path = path if path.is_dir() else path.with_suffix(".py")
        source = path / "__init__.py" if path.is_dir() else path
        if not source.is_file():  # a name of the package itself, such as headway.load
            source, parts = package / "__init__.py", [path.stem, *parts]
        code = source.read_text(encoding="utf-8")
        assert not parts or re.search(rf"\b{parts[0]}\b", code), dotted


def test_the_architecture_has_the_levels_of_the_import_contract() -> None:
    contracts = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    (levels,) = [
        contract["layers"]
        for contract in contracts["tool"]["importlinter"]["contracts"]
        if contract.get("exhaustive")
    ]
    picture = _blocks("docs/en/explain/architecture.md", "")[0].splitlines()
    assert [re.split(" {2,}", line)[0] for line in picture] == levels


def test_every_deviation_marked_in_the_code_has_its_row() -> None:
    text = (ROOT / "docs" / "en" / "explain" / "deviations.md").read_text(encoding="utf-8")
    rows = set(re.findall(r"^\| ([^|]+) \|", text, flags=re.MULTILINE))
    marked = set()
    for path in (ROOT / "src").rglob("*.py"):
        source = path.read_text(encoding="utf-8")
        marked |= set(re.findall(r"Deviation \(([^)]+)\)", source))
        assert "Deviation:" not in source, path
    assert {"projection biases", "pre-norm"} <= marked <= rows


@pytest.mark.parametrize("language", ["en", "ko"])
@pytest.mark.parametrize(
    "page", ["explain/deviations.md", "explain/promises.md", "reference/paper-map.md"]
)
def test_every_test_file_in_a_table_exists(language: str, page: str) -> None:
    text = (ROOT / "docs" / language / page).read_text(encoding="utf-8")
    names = re.findall(r"`([a-z_/]+/test_\w+\.py)`", text)
    assert len(names) >= 10
    assert [name for name in names if not (ROOT / "tests" / name).is_file()] == []


@pytest.mark.parametrize("language", ["en", "ko"])
def test_every_problem_that_training_may_say_has_its_row(language: str) -> None:
    text = (ROOT / "docs" / language / "howto" / "watching.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| `([^`]+?)(?:, …)?` \|.*\|.*\|.*\|$", text, flags=re.MULTILINE)
    problems = set()
    for path in (ROOT / "src" / "headway" / "training").glob("*.py"):
        source = path.read_text(encoding="utf-8")
        problems |= set(re.findall(r'(?:Finding|TrainingProblem)\(\s*f?"([^",]+)', source))
    assert len(problems) >= 9
    assert set(rows) == problems


def test_each_page_on_the_paper_asks_its_exercises_and_solves_them() -> None:
    for path in sorted((ROOT / "src" / "headway" / "learn").glob("page_*.py")):
        page = path.stem.removeprefix("page_")
        module = importlib.import_module(f"headway.learn.{path.stem}")
        numbers = [exercise.number for exercise in module.EXERCISES]
        assert 2 <= len(numbers) <= 4, path.name
        for language in ("en", "ko"):
            (document,) = (ROOT / "docs" / language / "paper").glob(f"{page}-*.md")
            text = document.read_text(encoding="utf-8")
            for number in numbers:
                assert f'learn.check("{number}", ' in text, (document, number)
                question = rf'learn.check\("{number}"\)|for number in \(.*"{number}".*\):'
                assert re.search(question, text), (document, number)


def test_every_option_on_the_page_about_processes_exists() -> None:
    import typer
    from torch.distributed.run import get_args_parser

    train = typer.main.get_command(app).commands["train"]  # type: ignore[attr-defined]
    own = {option for parameter in train.params for option in parameter.opts}
    torchs = {option for action in get_args_parser()._actions for option in action.option_strings}
    text = (ROOT / "docs" / "en" / "howto" / "several-processes.md").read_text(encoding="utf-8")
    commands = re.findall(r"torchrun (--.*?) -m headway train (.*)", text.replace("\\\n", " "))
    assert len(commands) >= 8
    for before, after in commands:
        assert set(re.findall(r"--[a-z-]+", before)) <= torchs
        assert set(re.findall(r"--[a-z-]+", after)) <= own
        for section, key in re.findall(r"--set (\w+)\.(\w+)=", after):
            assert key in type(getattr(RunConfig(), section)).model_fields


def test_the_scripts_on_the_page_about_processes_can_be_read() -> None:
    (script,) = _blocks("docs/en/howto/several-processes.md", "bash")
    subprocess.run(["bash", "-n"], input=script, text=True, check=True)
    (pods,) = _blocks("docs/en/howto/several-processes.md", "yaml")
    service, job = yaml.safe_load_all(pods)
    assert job["spec"]["completions"] == job["spec"]["parallelism"] == 2
    (container,) = job["spec"]["template"]["spec"]["containers"]
    subprocess.run(["sh", "-n"], input=container["args"][0], text=True, check=True)
    assert f"{job['metadata']['name']}-0.{service['metadata']['name']}:" in container["args"][0]
    assert job["spec"]["template"]["spec"]["subdomain"] == service["metadata"]["name"]


def test_the_dockerfile_copies_files_and_runs_commands_that_exist() -> None:
    import typer

    commands = typer.main.get_command(app).commands  # type: ignore[attr-defined]
    (dockerfile,) = _blocks("docs/en/howto/production.md", "dockerfile")
    copied = re.findall(r"^COPY --chown=app (.*) \S+$", dockerfile, flags=re.MULTILINE)
    names = " ".join(copied).split()
    assert {"pyproject.toml", "src"} <= {*names}
    missing = [name for name in names if not (ROOT / name).exists()]
    assert missing == ["runs/mine/best"]  # the reader's own
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert {project["readme"], *project["license-files"]} <= {*names}  # the build reads them
    assert {*re.findall(r"^RUN headway ([\w-]+)", dockerfile, flags=re.MULTILINE)} <= {*commands}


LOG = ROOT / "benchmarks" / "log"


def _entries() -> dict[str, str]:
    """Return the name of each log entry by its number."""
    names = [path.name for path in LOG.glob("*.md") if path.name != "README.md"]
    assert all(re.fullmatch(r"\d{3}-[a-z0-9-]+\.md", name) for name in names), sorted(names)
    return {name[:3]: name for name in names}


def test_the_contents_table_of_the_log_has_each_entry_once_with_its_date() -> None:
    entries = _entries()
    assert sorted(entries) == [f"{number:03d}" for number in range(1, len(entries) + 1)]
    assert len(entries) == len(list(LOG.glob("*.md"))) - 1, "two entries have one number"
    text = (LOG / "README.md").read_text(encoding="utf-8")
    rows = re.findall(
        r"^\| \[(\d{3})\]\(([^)]+)\) \| (\d{4}-\d\d-\d\d) \| ([^|]+) \| [^|]+ \| [^|]+ \|$",
        text,
        flags=re.MULTILINE,
    )
    assert {number: name for number, name, _, _ in rows} == entries
    assert len(rows) == len(entries)
    for number, name, date, title in rows:
        entry = (LOG / name).read_text(encoding="utf-8")
        assert entry.startswith(f"# {number}. {title}\n"), name
        assert f"| date | {date}" in entry, name


def test_every_log_entry_and_benchmark_that_is_cited_exists() -> None:
    entries = _entries()
    paths = [
        path
        for folder in ("src", "tests", "docs", "benchmarks")
        for path in (ROOT / folder).rglob("*")
        if path.suffix in (".py", ".md") and path != Path(__file__)
    ]
    links = 0
    for path in paths:
        text = path.read_text(encoding="utf-8")
        for number in re.findall(r"benchmarks/log/(\d+)", text):
            assert number in entries, (path, number)
        for target in re.findall(r"\bbenchmarks/[\w/-]+\.(?:md|py)\b", text):
            assert (ROOT / target).is_file(), (path, target)
        for target in re.findall(r"\]\(([^)#]*\d{3}-[a-z0-9-]+\.md)\)", text):
            links += 1
            assert (path.parent / target).is_file(), (path, target)
    assert links > len(entries), "the log is not linked"
