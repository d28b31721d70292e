"""The files in deploy/ name commands, options, paths and extras that exist, and fit together."""

from __future__ import annotations

import json
import re
import shlex
import tomllib
from collections.abc import Iterator, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
import yaml
from typer.main import get_command

from rubrica.cli.app import COMMANDS
from rubrica.server.routes import health

ROOT = Path(__file__).resolve().parents[2]
DEPLOY = ROOT / "deploy"
FILES = sorted(DEPLOY.rglob("*.yaml"))
PATHS = {route.path for route in health.router.routes} | {"/readyz", "/healthz"}  # type: ignore[attr-defined]
USER = 10001


def documents() -> list[tuple[str, Any]]:
    return [(path.name, one) for path in FILES for one in yaml.safe_load_all(path.read_text("utf-8"))]


def inside(data: Any, name: str) -> Iterator[Any]:
    """Every value of a key, wherever it stands."""
    if isinstance(data, dict):
        for key, value in data.items():
            if key == name:
                yield value
            yield from inside(value, name)
    elif isinstance(data, list):
        for value in data:
            yield from inside(value, name)


def dockerfile() -> list[tuple[str, str]]:
    """Its instructions, each with its arguments."""
    text = re.sub(r"\\\n\s*", "", (DEPLOY / "Dockerfile").read_text("utf-8"))
    lines = [line for line in text.splitlines() if line and not line.startswith("#")]
    return [(name, rest) for name, _, rest in (line.partition(" ") for line in lines)]


def instruction(name: str) -> str:
    return [rest for found, rest in dockerfile() if found == name][-1]


def commands() -> list[tuple[str, list[str]]]:
    """Every command line of ours in the files, without the program's name."""
    found = [("Dockerfile", json.loads(instruction("CMD")))]
    for file, document in documents():
        found += [(file, args) for args in inside(document, "args")]
        found += [
            (file, service["command"]) for service in document.get("services", {}).values() if "command" in service
        ]
        found += [(file, shlex.split(line)[1:]) for line in inside(document, "entrypoint") if isinstance(line, str)]
    page = (ROOT / "docs" / "deploy.md").read_text("utf-8")
    found += [("deploy.md", shlex.split(line)) for line in re.findall(r"^rubrica +(.+)$", page, re.MULTILINE)]
    for path in [*FILES, DEPLOY / "Dockerfile"]:  # and in comments
        for line in re.findall(r"run --rm server (.+?)(?:\s{2}|$)", path.read_text("utf-8"), re.MULTILINE):
            found.append((path.name, shlex.split(line, comments=True)))
    return found


def check(args: Sequence[str]) -> None:
    """A command line is parsed as the program would parse it, up to what it does."""
    assert args[0] in COMMANDS, args
    command: Any = get_command(import_module(f"rubrica.cli.{args[0]}").app)
    rest = list(args[1:])
    if rest and rest[0] in getattr(command, "commands", {}):
        command = command.commands[rest.pop(0)]
    command.make_context(args[0], rest, resilient_parsing=False)


@pytest.mark.parametrize("file", FILES, ids=lambda path: path.name)
def test_every_file_is_yaml_of_a_known_kind(file: Path) -> None:
    for document in yaml.safe_load_all(file.read_text("utf-8")):
        assert isinstance(document, dict)
        assert "services" in document or {"apiVersion", "kind", "metadata"} <= document.keys()


def test_every_command_line_is_one_that_the_program_takes() -> None:
    found = commands()
    assert {args[0] for _, args in found} >= {"serve", "worker", "gateway", "run", "keys"}
    for _, args in found:
        check(args)
    with pytest.raises(Exception, match="No such option"):
        check(["worker", "--jbos", "4"])


def test_the_image_installs_extras_that_exist_and_does_not_run_as_root() -> None:
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]["optional-dependencies"]
    (installed,) = [rest for name, rest in dockerfile() if name == "RUN" and "pip install" in rest]
    named = set(re.findall(r"/src\[(.+)\]", installed)[0].split(","))
    assert {"studio", "gateway", "queue"} <= named <= extras.keys()
    copied = [shlex.split(rest)[:-1] for name, rest in dockerfile() if name == "COPY" and "--from" not in rest]
    kept = (DEPLOY / "Dockerfile.dockerignore").read_text("utf-8").splitlines()
    for source in (one for sources in copied for one in sources):
        assert (ROOT / source).exists()
        assert f"!{source}" in kept
    assert instruction("USER") == f"{USER}:{USER}"
    assert f"--uid {USER}" in " ".join(rest for name, rest in dockerfile() if name == "RUN")
    assert json.loads(instruction("ENTRYPOINT")) == ["rubrica"]
    users = [one["runAsUser"] for _, document in documents() for one in inside(document, "securityContext")]
    assert set(users) == {USER}


def test_probes_ask_for_paths_that_are_answered_at_ports_that_are_served() -> None:
    checks = [instruction("HEALTHCHECK")]
    for _, document in documents():
        checks += [str(one) for one in inside(document, "healthcheck") if "urlopen" in str(one)]
        for probe in inside(document, "httpGet"):
            assert probe["path"] in PATHS
            assert probe["port"] == "http"
    for text in checks:
        ((port, path),) = re.findall(r"http://127\.0\.0\.1:(\d+)(/\w+)", text)
        assert path in PATHS
        assert port in instruction("EXPOSE").split()
    json.loads(instruction("HEALTHCHECK").partition(" CMD ")[2])


def test_what_is_named_is_there() -> None:
    """Secrets, claims, labels, and the folder that servers and workers share."""
    kinds = {(one["kind"], one["metadata"]["name"]) for _, one in documents() if "kind" in one}
    for _, document in documents():
        for reference in inside(document, "secretRef"):
            assert ("Secret", reference["name"]) in kinds
        for claim in inside(document, "claimName"):
            assert ("PersistentVolumeClaim", claim) in kinds
        if document.get("kind") == "Deployment":
            labels = document["spec"]["template"]["metadata"]["labels"]
            assert document["spec"]["selector"]["matchLabels"] == labels
    folders = {
        (file == "deploy.md", args[args.index(option) + 1])
        for file, args in commands()
        for option in ("--runs", "--folder")
        if option in args
    }
    assert folders == {(False, "/data/runs"), (True, "/srv/runs")}
    compose = yaml.safe_load((DEPLOY / "compose.yaml").read_text("utf-8"))
    for service in compose["services"].values():
        for volume in service.get("volumes", []):
            assert volume.partition(":")[0] in compose["volumes"]


def test_a_job_is_not_started_with_the_servers() -> None:
    """`kubectl apply -f deploy/kubernetes/` applies every file in there."""
    kinds = {one["kind"] for path in (DEPLOY / "kubernetes").iterdir() for one in yaml.safe_load_all(path.read_text())}
    assert "RayJob" not in kinds
    assert "RayJob" in {one.get("kind") for _, one in documents()}
