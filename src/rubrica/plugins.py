"""What installed packages add to Rubrica, by entry points: ``rubrica.providers``, ``rubrica.rules``, …

A package says in its ``pyproject.toml`` which object it adds, and under which name::

    [project.entry-points."rubrica.rules"]
    keyword_count = "rubrica_example.keyword_count:RULE"

Packages are looked for once, when something is first asked for, and an object is imported when its group is wanted.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from functools import cache
from importlib.metadata import Distribution, EntryPoint, EntryPoints, distributions
from threading import RLock
from typing import Literal, TypeVar

from rubrica.errors import RubricaError

Group = Literal["rubrica.providers", "rubrica.rules", "rubrica.features", "rubrica.packs"]

T = TypeVar("T")
_importing = RLock()  # two threads that need the same group import it once


class PluginError(RubricaError):
    """Something that an installed package adds cannot be used; names the package."""


def added(group: Group, kind: type[T], taken: Collection[str]) -> Mapping[str, T]:
    """The objects that installed packages add to a group, by name; none may have a name of Rubrica's own.

    >>> added("rubrica.rules", str, ())
    {}
    """
    with _importing:
        found = _objects(group)
    owners: dict[str, str] = dict.fromkeys(taken, "Rubrica")
    for name, (package, value) in found:
        if name in owners:
            raise PluginError(
                f"{package} adds {name!r} to {group}, which {owners[name]} has already (uninstall one of them)"
            )
        if not isinstance(value, kind):
            raise PluginError(
                f"{package}: {name!r} of {group} is a {type(value).__name__}, not a {kind.__name__} "
                f"(correct its entry point, or pip uninstall {package})"
            )
        called = getattr(value, "name", name)
        if called != name:
            raise PluginError(f"{package}: {name!r} of {group} calls itself {called!r} (give both the same name)")
        owners[name] = package
    return {name: value for name, (_, value) in found if isinstance(value, kind)}


@cache
def _objects(group: Group) -> tuple[tuple[str, tuple[str, object]], ...]:
    return tuple((point.name, (package, _imported(point, package))) for point, package in _points(group))


def _imported(point: EntryPoint, package: str) -> object:
    try:
        return point.load()
    except RubricaError:
        raise
    except Exception as error:  # whatever a foreign module raises while it is imported
        raise PluginError(
            f"{package}: {point.value} cannot be imported: {type(error).__name__}: {error} "
            f"(mend the package, or pip uninstall {package})"
        ) from error


def _points(group: Group) -> list[tuple[EntryPoint, str]]:
    return sorted(((point, package) for point, package in _every_point() if point.group == group), key=lambda p: p[1])


@cache
def _every_point() -> tuple[tuple[EntryPoint, str], ...]:
    """The entry points of all groups. Reading 150 packages takes some 3 ms."""
    found: dict[str, EntryPoints] = {}
    for package in distributions():
        text = package.read_text("entry_points.txt")
        if text is not None and "[rubrica." in text:
            found.setdefault(_name(package), package.entry_points)  # what comes first on the path is what is imported
    return tuple((point, package) for package, points in found.items() for point in points)


def _name(package: Distribution) -> str:
    return str(package.metadata["Name"])
