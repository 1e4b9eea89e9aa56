"""Forward, back and play: at each step the page has what Python has; the encoder runs once."""

from typing import Any

from headway.inspection.translator import Translator

SENTENCE = "저는 학생입니다."


def _shown(page: Any) -> tuple[list[str], list[str]]:
    read = page.locator(".block-decoder .read .piece").all_inner_texts()
    return read, page.locator(".reads-writes .piece").all_inner_texts()


def test_each_step_reads_the_prefix_and_writes_the_next_piece(
    seen: Any, translator: Translator
) -> None:
    sentence = translator.trace(SENTENCE).sentence
    assert sentence is not None
    page = seen.open("translate")
    last = len(sentence.writes) - 1
    for row in [*range(last + 1), *range(last - 1, -1, -1)]:
        if row != 0 or seen.state().get("t", "0") != "0":
            forward = row > int(seen.state().get("t", 0))
            page.locator(f'[data-key="transport:{"on" if forward else "back"}"]').click()
            seen.wait()
        read, (reads, writes) = _shown(page)
        assert read == list(sentence.reads[: row + 1])
        assert (reads, writes) == (sentence.reads[row], sentence.writes[row])
    page.locator('[data-key="transport:last"]').click()
    seen.wait()
    assert seen.state()["t"] == str(last)


def test_the_encoder_is_heard_of_once(seen: Any) -> None:
    page = seen.open("translate", src="지민이는 책을 읽습니다.")
    seen.until("document.querySelector('.live')?.dataset.done === 'true'")
    live = page.locator(".live")
    assert live.get_attribute("data-encoded") == "1"
    assert len(seen.paths("/api/translate")) == 1
    steps = int(live.get_attribute("data-steps"))
    assert steps >= page.locator(".stage-target li").count() - 1
    page.locator('[data-key="transport:on"]').click()
    seen.wait()
    assert len(seen.paths("/api/translate")) == 1  # a step asks for nothing


def test_playing_goes_to_the_end_and_stops(seen: Any, translator: Translator) -> None:
    sentence = translator.trace(SENTENCE).sentence
    assert sentence is not None
    page = seen.open("translate")
    page.get_by_label("Speed").select_option("4")
    page.locator('[data-key="transport:play"]').click()
    last = len(sentence.writes) - 1
    seen.until(f"location.hash.includes('t={last}')")
    seen.until("document.querySelector('.transport-play') !== null")
    assert _shown(page)[0] == list(sentence.reads)


def test_changing_the_beam_keeps_the_step(seen: Any) -> None:
    page = seen.open("translate", t=2)
    page.get_by_label("Beam").fill("2")
    page.keyboard.press("Enter")
    seen.until("location.hash.includes('beam=2')")
    seen.wait()
    assert seen.state()["t"] == "2"
    assert seen.state()["src"] == SENTENCE
