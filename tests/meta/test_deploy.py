"""The files for containers, systemd and Kubernetes: what they name exists, and they agree."""

import configparser
import re
import shlex
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
import typer
import yaml

from headway.cli.app import app

DEPLOY = Path(__file__).parents[2] / "deploy"
CONTAINERFILE = (DEPLOY / "Containerfile").read_text(encoding="utf-8")
SERVE = typer.main.get_command(app).commands["serve"]  # type: ignore[attr-defined]
KNOWN = {name for parameter in SERVE.params for name in parameter.opts}


@pytest.fixture(scope="module")
def objects() -> dict[str, dict[str, Any]]:
    content = (DEPLOY / "kubernetes.yaml").read_text(encoding="utf-8")
    return {value["kind"]: value for value in yaml.safe_load_all(content)}


@pytest.fixture(scope="module")
def unit() -> configparser.SectionProxy:
    parser = configparser.ConfigParser(interpolation=None)
    parser.optionxform = str  # type: ignore[assignment,method-assign]
    parser.read(DEPLOY / "headway.service")
    return parser["Service"]


def _options(arguments: list[str]) -> set[str]:
    return {argument.partition("=")[0] for argument in arguments if argument.startswith("--")}


def _timeout(arguments: list[str]) -> float:
    (value,) = re.findall(r"--timeout[ =](\d+)", " ".join(arguments))
    return float(value)


def test_every_option_is_one_of_serve(
    objects: dict[str, dict[str, Any]], unit: configparser.SectionProxy
) -> None:
    pod = objects["Deployment"]["spec"]["template"]["spec"]["containers"][0]
    command = re.findall(r'"([^"]+)"', CONTAINERFILE.rpartition("\nCMD ")[2])
    for arguments in (pod["args"], command, shlex.split(unit["ExecStart"])):
        assert _options(arguments)
        assert _options(arguments) <= KNOWN


def test_a_stopped_server_has_time_for_accepted_requests(
    objects: dict[str, dict[str, Any]], unit: configparser.SectionProxy
) -> None:
    pod = objects["Deployment"]["spec"]["template"]["spec"]
    assert pod["terminationGracePeriodSeconds"] > _timeout(pod["containers"][0]["args"])
    assert float(unit["TimeoutStopSec"]) > _timeout(shlex.split(unit["ExecStart"]))


def test_user_and_port_are_those_of_the_image(objects: dict[str, dict[str, Any]]) -> None:
    user = int(re.findall(r"^USER (\d+)$", CONTAINERFILE, flags=re.MULTILINE)[0])
    port = int(re.findall(r"^EXPOSE (\d+)$", CONTAINERFILE, flags=re.MULTILINE)[0])
    for kind in ("Deployment", "Job"):
        pod = objects[kind]["spec"]["template"]["spec"]
        assert pod["securityContext"]["runAsUser"] == user != 0
        for container in pod["containers"]:
            assert container["securityContext"]["readOnlyRootFilesystem"]
            threads = {entry["name"]: entry["value"] for entry in container["env"]}
            assert threads["OMP_NUM_THREADS"] == container["resources"]["limits"]["cpu"]
            mounted = {mount["mountPath"] for mount in container["volumeMounts"]}
            assert {"/cache", "/tmp", "/models"} <= mounted
    ports = objects["Deployment"]["spec"]["template"]["spec"]["containers"][0]["ports"]
    assert [entry["containerPort"] for entry in ports] == [port]
    default = next(p.default for p in SERVE.params if "--port" in p.opts)
    assert default == port


@pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="systemd is not here")
def test_systemd_understands_the_unit(tmp_path: Path) -> None:
    there = shutil.which("true")
    text = (DEPLOY / "headway.service").read_text(encoding="utf-8")
    unit = tmp_path / "headway.service"
    unit.write_text(text.replace("/opt/headway/bin/headway", str(there)))
    call = ["systemd-analyze", "verify", "--man=no", str(unit)]
    checked = subprocess.run(call, capture_output=True, text=True, check=False)
    assert (checked.returncode, checked.stderr) == (0, "")
