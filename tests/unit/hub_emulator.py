"""The routes of the hub that a bundle needs, on 127.0.0.1; repositories are in memory.

Weights are uploaded by the protocol of Git LFS, as the hub wants it, and all other files within the
commit. A commit is refused unless all its large files have arrived.
"""

import base64
import contextlib
import hashlib
import json
import re
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import unquote, urlsplit

TOKEN = "hf_of_the_tests"
_API = re.compile(r"/api/models/([\w.-]+/[\w.-]+)(?:/(\w+)/([^/]+))?")
_FILE = re.compile(r"/([\w.-]+/[\w.-]+)/resolve/([^/]+)/(.+)")
_LFS = re.compile(r"/([\w.-]+/[\w.-]+)\.git/info/lfs/objects/batch")


@dataclass
class Repository:
    """Commits by hash, and the hash at the head of each branch."""

    private: bool = False
    commits: dict[str, dict[str, bytes]] = field(default_factory=dict)
    branches: dict[str, str] = field(default_factory=dict)

    def commit(self, branch: str, files: dict[str, bytes]) -> str:
        """Put files beside those of the branch; return the hash of the commit."""
        tree = self.files(branch) | files
        name = hashlib.sha1(repr((len(self.commits), sorted(tree.items()))).encode()).hexdigest()
        self.commits[name] = tree
        self.branches[branch] = name
        return name

    def resolve(self, revision: str) -> str | None:
        """Return the hash that a branch or a hash means; None if there is no such revision."""
        return self.branches.get(revision, revision if revision in self.commits else None)

    def files(self, revision: str) -> dict[str, bytes]:
        """Return the files of a revision."""
        return self.commits.get(self.resolve(revision) or "", {})


@dataclass
class Hub:
    """What the server has, and the faults that a test wants of it."""

    repositories: dict[str, Repository] = field(default_factory=dict)
    objects: dict[str, bytes] = field(default_factory=dict)
    requests: list[str] = field(default_factory=list)
    breaks_at: str = ""
    """The beginning of a method and path that the server answers with an error."""
    address: str = ""


@contextlib.contextmanager
def emulated() -> Iterator[Hub]:
    """Run the server until the block ends."""
    hub = Hub()
    server = ThreadingHTTPServer(("127.0.0.1", 0), type("_Handler", (_Routes,), {"hub": hub}))
    hub.address = f"http://127.0.0.1:{server.server_port}"
    thread = threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True)
    thread.start()
    try:
        yield hub
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


class _Routes(BaseHTTPRequestHandler):
    hub: Hub
    protocol_version = "HTTP/1.1"

    def log_message(self, *words: Any) -> None:
        """Print nothing."""

    def do_GET(self) -> None:
        self._answer(self._get)

    def do_HEAD(self) -> None:
        self._answer(self._get)

    def do_POST(self) -> None:
        self._answer(self._post)

    def do_PUT(self) -> None:
        self._answer(self._put)

    def _answer(self, route: Any) -> None:
        path = unquote(urlsplit(self.path).path)
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        request = f"{self.command} {path}"
        self.hub.requests.append(request)
        if self.hub.breaks_at and request.startswith(self.hub.breaks_at):
            self._send(403, {"error": "Broken here, as the test asked."})
        else:
            route(urlsplit(self.path).path, body)

    def _send(self, status: int, value: Any = None, **headers: str) -> None:
        data = value if isinstance(value, bytes) else json.dumps(value).encode()
        self.send_response(status)
        for name, text in headers.items():
            self.send_header(name.replace("_", "-"), text)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(data)

    @property
    def _is_known(self) -> bool:
        return self.headers.get("Authorization") == f"Bearer {TOKEN}"

    def _repository(self, name: str) -> Repository | None:
        """Return a repository; answer and return None if this caller may not see it."""
        repository = self.hub.repositories.get(name)
        if repository and (not repository.private or self._is_known):
            return repository
        self._send(404 if self._is_known else 401, {}, X_Error_Code="RepoNotFound")
        return None

    def _get(self, path: str, body: bytes) -> None:
        if match := _FILE.fullmatch(path):
            name, revision, file = match.groups()
            if repository := self._repository(name):
                self._send_file(repository, unquote(revision), unquote(file))
        elif match := _API.fullmatch(path):
            name, kind, revision = match.groups()
            if repository := self._repository(name):
                self._describe(name, repository, kind, unquote(revision or "main"))
        else:
            self._send(404, {})

    def _describe(self, name: str, repository: Repository, kind: str, revision: str) -> None:
        commit = repository.resolve(revision)
        if commit is None:
            self._send(404, {}, X_Error_Code="RevisionNotFound")
            return
        files = repository.commits[commit]
        if kind == "tree":
            self._send(200, [_entry(file, data) for file, data in files.items()])
            return
        siblings = [{"rfilename": file} for file in files]
        answer = {"id": name, "sha": commit, "private": repository.private, "siblings": siblings}
        self._send(200, answer)

    def _send_file(self, repository: Repository, revision: str, file: str) -> None:
        commit = repository.resolve(revision)
        if commit is None:
            self._send(404, {}, X_Error_Code="RevisionNotFound")
        elif file not in (files := repository.commits[commit]):
            self._send(404, {}, X_Error_Code="EntryNotFound", X_Repo_Commit=commit)
        else:
            data, large = files[file], {}
            etag = f'"{hashlib.sha256(data).hexdigest()}"'
            if file.endswith(".safetensors"):
                large = {"X_Linked_Size": str(len(data)), "X_Linked_Etag": etag}
            self._send(200, data, ETag=etag, X_Repo_Commit=commit, **large)

    def _post(self, path: str, body: bytes) -> None:
        if not self._is_known:
            self._send(401, {"error": "Invalid username or password."})
        elif path == "/api/repos/create":
            self._create(json.loads(body))
        elif path == "/api/validate-yaml":
            self._send(200, {"errors": [], "warnings": []})
        elif match := _LFS.fullmatch(path):
            self._send(
                200, {"objects": [self._wanted(each) for each in json.loads(body)["objects"]]}
            )
        elif match := _API.fullmatch(path):
            name, kind, revision = match.groups()
            if repository := self._repository(name):
                routes = {"preupload": _modes, "branch": self._branch, "commit": self._commit}
                routes[kind](self, repository, unquote(revision), body)
        else:
            self._send(404, {})

    def _create(self, wanted: dict[str, Any]) -> None:
        name = f"{wanted['organization']}/{wanted['name']}"
        status = 409 if name in self.hub.repositories else 200
        if status == 200:
            repository = Repository(
                private=wanted.get("visibility") == "private" or wanted.get("private", False)
            )
            repository.commit("main", {".gitattributes": b""})
            self.hub.repositories[name] = repository
        self._send(status, {"url": f"{self.hub.address}/{name}", "name": name})

    def _wanted(self, large: dict[str, Any]) -> dict[str, Any]:
        """Return where to put a large file, and nothing for one that is there."""
        target = {"href": f"{self.hub.address}/objects/{large['oid']}", "header": {}}
        present = large["oid"] in self.hub.objects
        return large | ({} if present else {"actions": {"upload": target}})

    def _put(self, path: str, body: bytes) -> None:
        self.hub.objects[path.rpartition("/")[2]] = body
        self._send(200, {})

    @staticmethod
    def _branch(self: "_Routes", repository: Repository, branch: str, body: bytes) -> None:
        status = 409 if branch in repository.branches else 200
        if status == 200:
            repository.branches[branch] = repository.branches["main"]
        self._send(status, {})

    @staticmethod
    def _commit(self: "_Routes", repository: Repository, branch: str, body: bytes) -> None:
        files = {}
        for line in body.splitlines():
            entry = json.loads(line)
            value = entry["value"]
            if entry["key"] == "file":
                files[value["path"]] = base64.b64decode(value["content"])
            elif entry["key"] == "lfsFile":
                if value["oid"] not in self.hub.objects:
                    self._send(400, {"error": f"{value['path']} was not uploaded."})
                    return
                files[value["path"]] = self.hub.objects[value["oid"]]
        commit = repository.commit(branch, files)
        name = next(n for n, each in self.hub.repositories.items() if each is repository)
        url = f"{self.hub.address}/{name}/commit/{commit}"
        self._send(200, {"commitUrl": url, "commitOid": commit})


def _modes(self: _Routes, repository: Repository, revision: str, body: bytes) -> None:
    """Answer which files are large."""
    files = [
        {
            "path": file["path"],
            "uploadMode": "lfs" if file["path"].endswith(".safetensors") else "regular",
            "shouldIgnore": False,
            "oid": None,
        }
        for file in json.loads(body)["files"]
    ]
    self._send(200, {"files": files})


def _entry(path: str, data: bytes) -> dict[str, Any]:
    return {"type": "file", "path": path, "size": len(data), "oid": hashlib.sha1(data).hexdigest()}
