"""The documentation site builds without a warning, has search, and asks nothing of other hosts."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from docs_pages import DOCS, ROOT

from docs import site_pages


def build(config: Path, site: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "--strict", "--config-file", str(config), "--site-dir", str(site)],
        env={**os.environ, "NO_MKDOCS_2_WARNING": "1", "NO_COLOR": "1"},
        capture_output=True,
        text=True,
        encoding="utf-8",
        timeout=120,
        check=False,
    )


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("site")
    done = build(ROOT / "mkdocs.yml", folder)
    assert done.returncode == 0, done.stderr
    assert "WARNING" not in done.stderr
    return folder


def test_every_page_is_built(site: Path) -> None:
    pages = [page.relative_to(DOCS).with_suffix(".html").as_posix() for page in DOCS.rglob("*.md")]
    pages += [Path(place).with_suffix(".html").as_posix() for place in site_pages.OUTSIDE.values()]
    assert {page for page in pages if not (site / page).is_file()} == {"decisions/template.html"}


def test_a_link_to_a_page_outside_of_the_folder_leads_to_its_page_on_the_site(site: Path) -> None:
    home, readme = ((site / name).read_text(encoding="utf-8") for name in ("index.html", "readme.html"))
    assert 'href="contributing.html"' in home
    assert 'src="pictures/build.png"' in readme
    assert (site / "pictures" / "build.png").is_file()
    assert 'href="words/judge.html"' in readme
    assert (site / "examples" / "ci" / "workflow.yml").is_file()


def test_search_finds_words_of_the_pages(site: Path) -> None:
    index = json.loads((site / "search" / "search_index.json").read_text(encoding="utf-8"))
    assert any(
        entry["location"].startswith("decisions/re2-patterns") for entry in index["docs"] if "RE2" in entry["text"]
    )


def test_no_page_loads_anything_from_another_host(site: Path) -> None:
    loading = re.compile(r"<(?:script|img|link|iframe)\b[^>]*?(?:src|href)=[\"']?(?:https?:)?//[^\s\"'>]+")
    found = {page.name: loading.findall(page.read_text(encoding="utf-8")) for page in site.rglob("*.html")}
    assert {name: links for name, links in found.items() if links} == {}


def test_a_broken_link_or_anchor_fails_the_build(tmp_path: Path) -> None:
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "index.md").write_text("# Home\n\n[gone](gone.md) [nowhere](#nowhere)\n", encoding="utf-8")
    config = tmp_path / "mkdocs.yml"
    config.write_text(f"INHERIT: {ROOT / 'mkdocs.yml'}\nhooks: []\nnav: [index.md]\n", encoding="utf-8")
    done = build(config, tmp_path / "site")
    assert done.returncode != 0
    assert "gone.md" in done.stderr
    assert "#nowhere" in done.stderr


def test_links_follow_pages_to_their_place_on_the_site() -> None:
    assert site_pages.site_target("runs.md", "../examples/README.md") == "examples.md"
    assert site_pages.site_target("examples.md", "../docs/words/rubric.md") == "words/rubric.md"
    assert site_pages.site_target("examples.md", "ci/workflow.yml") == "examples/ci/workflow.yml"
    assert site_pages.site_target("readme.md", "docs/pictures/run.png") == "pictures/run.png"
