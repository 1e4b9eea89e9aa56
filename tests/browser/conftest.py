"""A real browser before a real server: `make test-browser`.

The files are called `check_*.py`, so that `make test`, which needs no browser, leaves them alone.
"""

import os
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import Browser, BrowserContext, Page, Route, sync_playwright

import headway
from headway.inspection.translator import Translator
from headway.serving.addresses import write_address

ROOT = Path(__file__).parents[2]
SENTENCE = "저는 학생입니다."
PATIENCE = 60  # seconds; two cores may be shared with other work
_BROWSERS = ("chromium", "chromium-browser", "google-chrome")
_OWN = ("127.0.0.1", "localhost", "::1")

DRAWN = "document.documentElement.dataset.drawn === location.hash"


@dataclass(eq=False)
class Seen:
    """A page, and what it did beside what was asked of it."""

    page: Page
    address: str
    outside: list[str] = field(default_factory=list)
    """Requests to other machines; all were stopped."""
    asked: list[tuple[str, str, str]] = field(default_factory=list)
    """Requests to the server: method, path, body."""
    errors: list[str] = field(default_factory=list)
    """What the page threw, or told the console as an error."""

    def open(self, screen: str = "translate", src: str | None = SENTENCE, **state: Any) -> Page:
        """Show a state and wait until it is drawn."""
        given = {"src": src, **state} if src is not None else state
        values = {"screen": screen, "lang": "en", **{key: str(v) for key, v in given.items()}}
        target = self.address + write_address(values)
        if self.page.url == target:
            self.page.reload()
        else:
            self.page.goto(target)
        self.wait()
        return self.page

    def wait(self) -> None:
        """Wait until the page shows the state of its address."""
        self.until(DRAWN)

    def until(self, condition: str) -> None:
        """Wait until JavaScript says yes; Playwright's own waiting needs `eval` in the page."""
        end = time.monotonic() + PATIENCE
        while not self.page.evaluate(condition):
            assert time.monotonic() < end, f"{condition} is not so. {self.errors}"
            self.page.wait_for_timeout(20)

    def state(self) -> dict[str, str]:
        """Return the state in the address now."""
        from headway.serving.addresses import read_address

        return read_address(urlsplit(self.page.url).fragment)

    def paths(self, ending: str) -> list[str]:
        """Return the bodies of the requests whose path ends so."""
        return [body for _, path, body in self.asked if path.endswith(ending)]


@pytest.fixture(scope="session")
def model_path() -> Path:
    """Return the model that is served: that of `make demo`."""
    path = Path(os.environ.get("HEADWAY_BROWSER_MODEL", ROOT / "runs" / "demo"))
    assert path.is_dir(), f"There is no model {path}. Run `make demo`, or `make test-browser`."
    return path


@pytest.fixture(scope="session")
def translator(model_path: Path) -> Translator:
    """Return the served model in Python, in the explorer's precision."""
    return headway.load(model_path, precision="float32")


@pytest.fixture(scope="session")
def serve() -> Iterator[Callable[..., str]]:
    """Return a function that serves models and returns the address."""
    running: list[subprocess.Popen[str]] = []

    def start(*paths: Path) -> str:
        command = [sys.executable, "-m", "headway", "serve", *map(str, paths), "--port", "0"]
        process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        running.append(process)
        assert process.stdout is not None
        line = process.stdout.readline()
        assert line.startswith("http://"), f"The server said {line!r} and not its address."
        return line.strip()

    yield start
    for process in running:
        assert process.poll() is None, "The server has ended before its tests."
        process.terminate()
        process.wait(timeout=20)
        assert process.stdout is not None
        process.stdout.close()


@pytest.fixture(scope="session")
def server(serve: Callable[..., str], model_path: Path) -> str:
    """Return the address of the server with the model."""
    return serve(model_path)


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    """Return Chromium, which is the system's own."""
    found = [path for name in _BROWSERS if (path := shutil.which(name))]
    assert found, "The tests need Chromium: apt-get install chromium fonts-noto-cjk"
    with sync_playwright() as playwright:
        # As root, as in a container, Chromium cannot make a sandbox of its own.
        arguments = ["--no-sandbox"] if os.geteuid() == 0 else []
        browser = playwright.chromium.launch(executable_path=found[0], args=arguments)
        yield browser
        browser.close()


@pytest.fixture
def see(browser: Browser, server: str) -> Iterator[Callable[..., Seen]]:
    """Return a function that opens a window; afterwards it must have been quiet."""
    contexts: list[BrowserContext] = []
    windows: list[Seen] = []

    def open_window(address: str = server, width: int = 1440, **options: Any) -> Seen:
        context = browser.new_context(
            viewport={"width": width, "height": 900}, locale="en-US", **options
        )
        contexts.append(context)
        seen = Seen(context.new_page(), address)
        windows.append(seen)
        _watch(seen, context)
        return seen

    yield open_window
    for context in contexts:
        context.close()
    for seen in windows:
        assert seen.outside == []
        assert seen.errors == []


@pytest.fixture
def seen(see: Callable[..., Seen]) -> Seen:
    """Return one window of 1440 pixels, in English."""
    return see()


def _watch(seen: Seen, context: BrowserContext) -> None:
    def check(route: Route) -> None:
        address = urlsplit(route.request.url)
        if address.scheme in ("data", "blob", "file") or address.hostname in _OWN:
            if address.hostname in _OWN:
                body = route.request.post_data or ""
                seen.asked.append((route.request.method, address.path, body))
            route.continue_()
        else:
            seen.outside.append(route.request.url)
            route.abort()

    context.route("**/*", check)
    seen.page.on("pageerror", lambda error: seen.errors.append(str(error)))
    seen.page.on(
        "console",
        lambda message: seen.errors.append(message.text) if message.type == "error" else None,
    )
