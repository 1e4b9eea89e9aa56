"""Send the recorded requests to a server of ours and to LibreTranslate; print each difference.

    python benchmarks/libretranslate_judge.py OURS THEIRS --text TEXT --source ko --target en

OURS and THEIRS are addresses such as http://127.0.0.1:8080, of servers with the same model
(`headway export --to argos`). Statuses must be the same, and the names and types in the answers.
"""

import argparse
import http.client
import json
from typing import Any
from urllib.parse import urlsplit

from tests.clients.recorded import Recorded, requests


def answer(address: str, request: Recorded) -> tuple[int, Any]:
    """Return the status and the JSON of an answer; None for other content."""
    parts = urlsplit(address)
    connection = http.client.HTTPConnection(parts.hostname or "", parts.port, timeout=60)
    headers = {"Content-Type": request.content_type} if request.content_type else {}
    connection.request(request.method, request.path, request.body or None, headers)
    reply = connection.getresponse()
    content = reply.read()
    connection.close()
    try:
        return reply.status, json.loads(content)
    except ValueError:
        return reply.status, None


def shape(value: Any) -> Any:
    """Return the names and types of a value; a list has the types of its elements."""
    if isinstance(value, dict):
        return {name: shape(inner) for name, inner in sorted(value.items())}
    if isinstance(value, list):
        return sorted({json.dumps(shape(inner)) for inner in value})
    return "number" if type(value) in (int, float) else type(value).__name__


def main() -> None:
    """Print the differences, and their number."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("ours")
    parser.add_argument("theirs")
    parser.add_argument("--text", required=True)
    parser.add_argument("--source", required=True)
    parser.add_argument("--target", required=True)
    given = parser.parse_args()
    different = count = 0
    for request in requests(given.text, given.source, given.target):
        count += 1
        ours, theirs = answer(given.ours, request), answer(given.theirs, request)
        if ours[0] != theirs[0] or shape(ours[1]) != shape(theirs[1]):
            different += 1
            print(f"{request}\n  ours   {ours[0]} {json.dumps(ours[1], ensure_ascii=False)[:200]}")
            print(f"  theirs {theirs[0]} {json.dumps(theirs[1], ensure_ascii=False)[:200]}")
    print(f"{count} requests, {count - different} with the same status, names and types")


if __name__ == "__main__":
    main()
