"""The words and phrases that come with the package, in files of YAML."""

from __future__ import annotations

from importlib.resources import files
from typing import Any

import yaml

_LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)  # in C where it can be: some are read at every start


def read_words(name: str) -> Any:
    """What is in a file of this package, or of one within it.

    >>> "families" in read_words("safety.yaml")
    True
    """
    written = files(__package__).joinpath(name).read_text(encoding="utf-8")
    return yaml.load(written, Loader=_LOADER)  # noqa: S506 - a safe loader, and a file of our own
