"""LibreTranslate's clients, unchanged, against a running server: `make test-clients`.

They run in an environment of their own, without Headway: HEADWAY names its command, NODE_PATH the
folder of the npm packages.
"""

import asyncio
import json
import os
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

KO, EN = "저는 학생입니다.", "I am a student."
KEY = "k-1"


@contextmanager
def running(*options: str) -> Iterator[str]:
    """Run the server until it translates; give its address."""
    command = [os.environ["HEADWAY"], "serve", "runs/demo", "--no-explorer", "--port", "0"]
    with subprocess.Popen(
        [*command, "--device", "cpu", *options], stdout=subprocess.PIPE, text=True
    ) as server:
        try:
            yield _ready(server)
        finally:
            server.terminate()


def _ready(server: subprocess.Popen[str]) -> str:
    assert server.stdout is not None
    address = server.stdout.readline().strip().rstrip("/")
    end = time.monotonic() + 120
    while True:
        try:
            urllib.request.urlopen(f"{address}/health/ready", timeout=10).close()
        except urllib.error.URLError:
            assert time.monotonic() < end
            time.sleep(0.2)
        else:
            return address


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    with running() as place:
        yield place


@pytest.fixture(scope="module")
def guarded(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    keys = tmp_path_factory.mktemp("keys") / "keys.txt"
    keys.write_text(f"{KEY} Ada\n")
    with running("--api-keys", str(keys), "--require-key") as place:
        yield place


@pytest.mark.parametrize("slash", ["", "/"])
def test_libretranslatepy(address: str, slash: str) -> None:
    from libretranslatepy import LibreTranslateAPI

    client = LibreTranslateAPI(address + slash)
    assert client.translate(KO, "ko", "en") == EN
    assert client.translate(KO, "auto", "en") == EN
    assert client.detect(KO)[0]["language"] == "ko"
    assert [language["code"] for language in client.languages()] == ["ko", "en"]


def test_libretranslatepy_with_a_key(guarded: str) -> None:
    from libretranslatepy import LibreTranslateAPI

    client = LibreTranslateAPI(guarded, KEY)
    assert client.translate(KO, "ko", "en") == EN
    assert client.detect(KO)[0]["language"] == "ko"
    assert len(client.languages()) == 2  # a GET with a body
    with pytest.raises(urllib.error.HTTPError) as refused:
        LibreTranslateAPI(guarded, "wrong").translate(KO, "ko", "en")
    assert refused.value.code == 403


def test_libretranslate_aio(address: str, tmp_path: Path) -> None:
    from libretranslate_aio import LibreTranslate
    from libretranslate_aio.exceptions import LibreTranslateError

    with LibreTranslate(address) as client:
        assert client.translate(KO, "ko", "en").translated_text == EN
        assert client.translate([KO, KO], "ko", "en").translated_text == [EN, EN]
        found = client.translate([KO, EN], "auto", "en", alternatives=2)
        assert found.translated_text == [EN, EN]
        assert [one.language for one in found.detected_language] == ["ko", "en"]
        assert len(found.alternatives) == 2
        page = client.translate(f"<p>{KO}</p>", "ko", "en", format="html")
        assert page.translated_text == f"<p>{EN}</p>"
        _check_rest(
            client.detect(KO), client.languages(), client.frontend_settings(), client.health()
        )
        path = tmp_path / "한국어 1.txt"
        path.write_text(f"{KO}\n\n  {KO}\n", encoding="utf-8")
        found = client.translate_file(path, "ko", "en").translated_file_url
        with urllib.request.urlopen(found, timeout=10) as answer:
            assert answer.read().decode() == f"{EN}\n\n  {EN}\n"
        with pytest.raises(LibreTranslateError) as refused:
            client.translate(KO, "zz", "en")
        assert refused.value.status_code == 400


def test_libretranslate_aio_without_waiting(address: str) -> None:
    from libretranslate_aio import AsyncLibreTranslate

    async def run() -> None:
        async with AsyncLibreTranslate(address) as client:
            found = await asyncio.gather(*(client.translate(KO, "ko", "en") for _ in range(20)))
            assert {one.translated_text for one in found} == {EN}
            assert (await client.translate([KO, KO], "ko", "en")).translated_text == [EN, EN]
            _check_rest(
                await client.detect(KO),
                await client.languages(),
                await client.frontend_settings(),
                await client.health(),
            )

    asyncio.run(run())


def _check_rest(detected: Any, languages: Any, settings: Any, health: bool) -> None:
    assert detected[0].language == "ko"
    assert languages[0].targets == ["ko", "en"]
    assert (settings.char_limit, settings.language.target.code) == (-1, "en")
    assert health is True


def test_deep_translator(guarded: str) -> None:
    from deep_translator import LibreTranslator
    from deep_translator.exceptions import AuthorizationException

    wanted = {"source": "ko", "target": "en", "custom_url": f"{guarded}/"}
    assert LibreTranslator(api_key=KEY, **wanted).translate(KO) == EN
    assert LibreTranslator(api_key=KEY, **wanted).translate_batch([KO, KO]) == [EN, EN]
    with pytest.raises(AuthorizationException):
        LibreTranslator(api_key="wrong", **wanted).translate(KO)


def _node(script: str, *arguments: str) -> Any:
    result = subprocess.run(
        ["node", "--input-type=commonjs", "-e", script, *arguments],
        capture_output=True, text=True, timeout=60, check=False,
    )  # fmt: skip
    assert result.returncode == 0, result.stderr
    return json.loads(result.stdout)


def test_npm_libretranslate(address: str) -> None:
    script = """
        const [url, query] = process.argv.slice(1);
        const {translate} = require("libretranslate");
        const ask = (source) => translate({query, source, target: "en", apiurl: url});
        Promise.all([ask("ko"), ask("auto"), ask()]).then(t => console.log(JSON.stringify(t)));
    """
    assert _node(script, address, KO) == [EN, EN, EN]


def test_npm_translate(address: str) -> None:
    script = """
        const [url, text] = process.argv.slice(1);
        import(require.resolve("translate")).then(async ({default: translate}) => {
            translate.engine = "libre";
            translate.url = url + "/translate";
            console.log(JSON.stringify(await translate(text, {from: "ko", to: "en"})));
        });
    """
    assert _node(script, address, KO) == EN


def test_this_environment_has_no_headway() -> None:
    assert "headway" not in sys.modules
    assert not list(Path(sys.prefix).glob("lib/python*/site-packages/headway*"))
