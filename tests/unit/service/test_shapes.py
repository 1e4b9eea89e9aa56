"""Requests in the shapes of large users of LibreTranslate, written down from their code."""

from fastapi.testclient import TestClient

HTML = ["<p>안녕하세요</p>", "<p>가나</p>"]


def test_mastodon_reads_a_detection_for_each_html_text(client: TestClient) -> None:
    """app/lib/translation_service/libre_translate.rb."""
    body = {"q": HTML, "source": "auto", "target": "en", "format": "html", "api_key": None}
    answer = client.post("/translate", json=body)
    assert answer.status_code == 200
    told = answer.json()
    for place in range(len(HTML)):
        assert isinstance(told["translatedText"][place], str)
        assert told["detectedLanguage"][place]["language"] == "ko"
    korean = client.get("/languages").json()[0]
    assert (korean["code"], korean["targets"]) == ("ko", ["ko", "en"])


def test_weblate_sends_twenty_texts_with_an_empty_key(client: TestClient) -> None:
    """weblate/machinery/libretranslate.py."""
    texts = [f"가나 {number}" for number in range(20)]
    body = {"api_key": "", "q": texts, "source": "ko", "target": "en"}
    answer = client.post("/translate", json=body)
    assert answer.json()["translatedText"] == [text[::-1] for text in texts]


def test_discourse_detects_first_and_sends_forms(client: TestClient) -> None:
    """The plug-in discourse-translator."""
    found = client.post("/detect", data={"q": "안녕하세요"})
    assert found.status_code == 200
    source = found.json()[0]["language"]
    fields = {"q": "안녕하세요", "source": source, "target": "en", "format": "html"}
    assert client.post("/translate", data=fields).json() == {"translatedText": "요세하녕안"}


def test_libretranslates_page_sends_parts_and_asks_for_alternatives(client: TestClient) -> None:
    told = client.get("/frontend/settings").json()
    assert told["charLimit"] == -1
    parts = {
        "q": "가나", "source": "auto", "target": "en", "format": "text", "alternatives": "3",
        "api_key": "",
    }  # fmt: skip
    files = {name: (None, value) for name, value in parts.items()}
    answer = client.post("/translate", files=files)  # type: ignore[arg-type]
    assert answer.status_code == 200
    told = answer.json()
    assert told["alternatives"] == ["나가!"]  # of four, one twice and one empty
    assert set(told["detectedLanguage"]) == {"confidence", "language"}
