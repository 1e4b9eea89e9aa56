"""Ray Data as the engine: the texts are those of `headway translate`, whatever the blocks."""

from pathlib import Path

import pyarrow
import pytest

import headway.bulk
from headway.decoding.translator import TextTranslator
from headway.errors import ConfigError

pytestmark = pytest.mark.filterwarnings("default")  # Ray uses settings of its own that are old

TEXTS = ["저는 학생입니다.", "", "오늘은 날씨가 좋아요.", None, "친구가 책을 읽었다."] * 24


@pytest.fixture
def demo() -> Path:
    return Path("runs/demo").absolute()


@pytest.fixture(scope="module", autouse=True)
def cluster() -> None:
    import ray

    ray.init(num_cpus=4, include_dashboard=False)  # two actors, and tasks that feed them


def test_two_actors_add_a_column_and_keep_the_others(demo: Path) -> None:
    import ray.data

    table = pyarrow.table(
        {
            "id": list(range(len(TEXTS))),
            "text": TEXTS,
            "tags": [[str(n)] * (n % 3) for n in range(len(TEXTS))],
        }
    )
    rows = headway.bulk.ray_dataset(
        ray.data.from_arrow(table).repartition(5), demo, "text", into="there", workers=2,
        device="cpu", precision="float32", beam_size=2,
    )  # fmt: skip
    found = pyarrow.concat_tables(ray.get(rows.to_arrow_refs())).sort_by("id")
    assert found.drop_columns("there").equals(table)
    translator = TextTranslator.load(demo, "cpu", precision="float32")
    given = [text for text in TEXTS if text is not None]
    right = iter(translator.translate(given, beam_size=2))
    assert found.column("there").to_pylist() == [
        None if text is None else next(right).text for text in TEXTS
    ]


def test_a_column_that_is_missing_or_taken_is_refused(demo: Path) -> None:
    import ray.data

    rows = ray.data.from_items([{"text": "a", "translation": "b"}])
    with pytest.raises(ConfigError, match="no column 'txt'"):
        headway.bulk.ray_dataset(rows, demo, "txt")
    with pytest.raises(ConfigError, match="already has a column 'translation'"):
        headway.bulk.ray_dataset(rows, demo, "text")
