"""Without CTranslate2 there is one clear sentence."""

import importlib
import sys
from types import ModuleType

import pytest

from headway.errors import MissingExtraError


@pytest.mark.parametrize(
    ("found", "message"),
    [
        (None, r"is not installed\. Install it with: pip install 'headway\[ctranslate2\]'\."),
        (ModuleType("ctranslate2"), r"is installed, but cannot be imported: No module named"),
    ],
)
def test_what_is_missing_is_said(
    monkeypatch: pytest.MonkeyPatch, found: ModuleType | None, message: str
) -> None:
    monkeypatch.setitem(sys.modules, "ctranslate2", found)
    for name in ("ctranslate2.specs", "headway.interop.ctranslate2.library"):
        monkeypatch.delitem(sys.modules, name, raising=False)
    with pytest.raises(MissingExtraError, match=f"^CTranslate2 {message}"):
        importlib.import_module("headway.interop.ctranslate2.library")
