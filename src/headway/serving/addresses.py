"""The state of the page in its address, as `static/app/address.js` reads and writes it."""

import json
from collections.abc import Mapping
from typing import Any
from urllib.parse import parse_qsl, urlencode

_SCREEN = "translate"
_BEAM = 4  # if the address has no beam


def read_address(address: str) -> dict[str, str]:
    """Return the state in an address, with the screen under `screen`.

    >>> read_address("#/attention?src=나는&l=1")
    {'screen': 'attention', 'src': '나는', 'l': '1'}
    """
    path, _, query = address.lstrip("#").lstrip("/").partition("?")
    return {"screen": path or _SCREEN, **dict(parse_qsl(query, keep_blank_values=True))}


def write_address(state: Mapping[str, str]) -> str:
    """Return the address of a state.

    >>> write_address({"screen": "tree", "beam": "2"})
    '#/tree?beam=2'
    """
    query = urlencode({key: value for key, value in state.items() if key != "screen"})
    path = f"#/{state.get('screen', _SCREEN)}"
    return f"{path}?{query}" if query else path


def search_body(state: Mapping[str, str]) -> dict[str, Any]:
    """Return the request for the search of a state, as `Explorer.request` of the page does.

    >>> search_body({"src": "나는", "lp": "1", "temp": "0"})
    {'source': '나는', 'beam': 4, 'length_penalty': 1}
    """
    temperature = _number(state, "temp", 0.0)
    body: dict[str, Any] = {
        "source": state.get("src", ""),
        "beam": 1 if temperature > 0 else int(_number(state, "beam", _BEAM)),
    }
    if state.get("prefix"):
        body["prefix"] = state["prefix"]
    if (penalty := _number(state, "lp", -1.0)) >= 0:
        body["length_penalty"] = penalty
    if (max_length := int(_number(state, "max", 0))) > 0:
        body["max_length"] = max_length
    if temperature > 0:
        top_p = _number(state, "topp", 1.0)
        body["sampling"] = {
            "temperature": temperature,
            "top_k": int(_number(state, "topk", 0)) or None,
            "top_p": top_p if top_p < 1 else None,
            "seed": int(_number(state, "seed", 0)),
        }
    return body


def _number(state: Mapping[str, str], key: str, default: float) -> float:
    """Return a number of the state, or the default if it is not a number."""
    try:
        number = json.loads(state.get(key, ""))
    except (ValueError, RecursionError):
        return default
    is_number = isinstance(number, int | float) and not isinstance(number, bool)
    return number if is_number and abs(number) < 2**53 else default
