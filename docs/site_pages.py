"""Hooks of the documentation site: pages that stand outside `docs/` become pages of it, and links to them follow.

On a code host the pages link to each other by their place in the repository, and that must go on working.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from posixpath import dirname, join, normpath, relpath

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

ROOT = Path(__file__).resolve().parents[1]
OUTSIDE: Mapping[str, str] = {
    "README.md": "readme.md",
    "CONTRIBUTING.md": "contributing.md",
    "SECURITY.md": "security.md",
    "CHANGELOG.md": "changelog.md",
    "LICENSE": "licence.md",
    "examples/README.md": "examples.md",
}
"""Where a page stands in the repository, and where it stands on the site."""

_FENCE_OPTIONS = re.compile(r"^(?P<fence>\s*`{3,}\w+) [^\n`]+$", re.MULTILINE)
_CODE = re.compile(r"(^\s*(?P<fence>`{3,}).*?^\s*(?P=fence)\s*$)", re.MULTILINE | re.DOTALL)
_LINK = re.compile(r"(?P<text>\]\()(?P<target>[^)\s#:]+)(?P<rest>[^)\s]*\))")


def on_files(files: Files, *, config: MkDocsConfig) -> Files:
    """Add the pages outside `docs/`, and the examples as files to download."""
    for source, place in OUTSIDE.items():
        text = (ROOT / source).read_text(encoding="utf-8")
        content = f"# Licence\n\n```text\n{text}\n```\n" if source == "LICENSE" else text
        files.append(File.generated(config, place, content=content))
    for example in sorted((ROOT / "examples").rglob("*")):
        place = example.relative_to(ROOT).as_posix()
        if example.is_file() and place not in OUTSIDE and "__pycache__" not in place:
            files.append(File.generated(config, place, abs_src_path=str(example)))
    return files


def on_page_markdown(markdown: str, *, page: Page, config: MkDocsConfig, files: Files) -> str:  # noqa: ARG001
    """Turn links between places in the repository into links between pages of the site."""
    markdown = _FENCE_OPTIONS.sub(r"\g<fence>", markdown)
    pieces = _CODE.split(markdown)[::3]
    blocks = [match[0] for match in _CODE.finditer(markdown)]
    linked = [_LINK.sub(lambda link: _on_site(link, page.file.src_uri), piece) for piece in pieces]
    return "".join(piece + block for piece, block in zip(linked, [*blocks, ""], strict=True))


def site_target(page: str, target: str) -> str:
    """Where a link of a page leads on the site; both are places, the page's on the site.

    >>> site_target("words/judge.md", "../../CONTRIBUTING.md"), site_target("contributing.md", "docs/words/judge.md")
    ('../contributing.md', 'words/judge.md')
    """
    written = {place: source for source, place in OUTSIDE.items()}.get(page, f"docs/{page}")
    goal = normpath(join(dirname(written), target))
    place = OUTSIDE.get(goal, goal.removeprefix("docs/"))
    return relpath(place, dirname(page) or ".")


def _on_site(link: re.Match[str], page: str) -> str:
    return f"{link['text']}{site_target(page, link['target'])}{link['rest']}"
