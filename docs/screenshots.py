"""Pictures of every page of the studio: ``python -m docs.screenshots`` writes docs/pictures/*.png.

It serves a studio of its own with made-up content, opens each page in a real browser and takes its picture. A page that
is not there, or that cannot be brought into the state its picture should show, is told and left out or taken as it is.
"""

from __future__ import annotations

import argparse
import io
import sys
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from PIL import Image
from playwright.sync_api import Browser, Error, Page, expect

from docs.scene import PEOPLE, QUESTION, Scene, fill, scripts

sys.path.insert(0, str(Path(__file__).parent.parent / "tests"))
from browser.browsers import CHROMIUM, Site, asked, browser, opened, served, sign_in, tab

PICTURES = Path(__file__).parent / "pictures"
COLOURS = 96
MOST_BYTES = 150_000


@dataclass(frozen=True, slots=True)
class Shot:
    """One picture: its name, the page's path with ids from the scene in braces, and what is done before it is taken."""

    name: str
    path: str
    then: Callable[[Page], None] | None = None
    width: int = 1280
    dark: bool = False
    who: str = "ann"
    tallest: int = 1_400  # pixels, from the top of the page


def _ask(page: Page) -> None:
    """Put a question to the council, and wait for its answer."""
    page.get_by_label("Question").fill(QUESTION)
    page.get_by_role("button", name="Ask").click()
    expect(page.locator(".matrix")).to_be_visible(timeout=40_000)


def _figures(page: Page) -> None:
    expect(page.locator(".gauges")).to_be_visible(timeout=20_000)


def _first_case(page: Page) -> None:
    page.locator("main table a").first.click()
    page.wait_for_url("**/runs/*/*")


def _first_item(page: Page) -> None:
    page.get_by_role("button", name="Score the next one").click()
    page.wait_for_url("**/reviews/*")


SHOTS = (
    Shot("rubrics", "/rubrics"),
    Shot("rubric", "/rubrics/answer-quality"),
    Shot("versions", "/rubrics/{own}/versions"),
    Shot("build-new", "/build/new"),
    Shot("build", "/build/{own}"),
    Shot("build-criteria", "/build/new?begin=criteria"),
    Shot("sandbox", "/sandbox?rubric=answer-quality"),
    Shot("runs", "/runs"),
    Shot("run", "/runs/questions-monday"),
    Shot("case", "/runs/questions-monday", _first_case),
    Shot("compare", "/runs/compare?a=questions-monday&b=questions-friday"),
    Shot("baselines", "/runs/baselines"),
    Shot("reviews", "/reviews"),
    Shot("review", "/reviews", _first_item),
    Shot("market", "/market"),
    Shot("offer", "/market/council-review"),
    Shot("games", "/games"),
    Shot("game", "/games/{game}"),
    Shot("round", "/games/{game}/rounds/{player}/1"),
    Shot("council", "/council", _ask, tallest=2_100),
    Shot("gateway", "/gateway", _figures),
    Shot("request", "/gateway/{trace}", who="maya"),
    Shot("rubric-dark", "/rubrics/answer-quality", dark=True),
    Shot("gateway-dark", "/gateway", _figures, dark=True),
    Shot("run-phone", "/runs/questions-monday", width=390),
)


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m docs.screenshots", description=__doc__)
    parser.add_argument("--only", metavar="NAME", action="append", help="this picture; may be repeated")
    parser.add_argument("--to", metavar="DIR", type=Path, default=PICTURES, help="where pictures go")
    chosen = parser.parse_args(arguments)
    if CHROMIUM is None:
        print("no chromium on this machine: there are no pictures (as root, `make screenshots` installs it)")
        return 1
    wanted = [shot for shot in SHOTS if chosen.only is None or shot.name in chosen.only]
    chosen.to.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        models = [part for model in scripts(folder) for part in ("--model", model)]
        with served(folder, models, {"RUBRICA_CONFIG": "", "XDG_CONFIG_HOME": name}) as site, browser() as seen:
            scene = _scene(site)
            fill(scene)
            missing = [shot.name for shot in wanted if not _taken(shot, scene, site, seen, chosen.to)]
    print(
        f"{len(wanted) - len(missing)} pictures in {chosen.to}"
        + (f"; left out: {', '.join(missing)}" if missing else "")
    )
    return 0


def _scene(site: Site) -> Scene:
    scene = Scene(site.url, site.database, site.runs, {"maya": site.key("maya", PEOPLE["maya"])})
    for name, role in PEOPLE.items():
        if name not in scene.keys:
            scene.keys[name] = scene.send("POST", "/api/keys", {"user": name, "role": role}, "maya")["key"]
    return scene


def _taken(shot: Shot, scene: Scene, site: Site, seen: Browser, folder: Path) -> bool:
    try:
        path = shot.path.format(**scene.places)
        with tab(seen, site, width=shot.width, dark=shot.dark) as page:
            sign_in(page, scene.keys[shot.who])
            reply = asked(page, "GET", f"{site.url}{path}")
            if not reply.ok:
                print(f"{shot.name}: {path} answers {reply.status}; left out")
                return False
            opened(page, path)
            _prepared(shot, page)
            page.wait_for_timeout(1200)  # until drawings and fonts stand
            return _written(shot, page, folder / f"{shot.name}.png")
    except (Error, AssertionError, KeyError) as error:
        print(f"{shot.name}: {str(error).splitlines()[0]}; left out")
        return False


def _prepared(shot: Shot, page: Page) -> None:
    try:
        if shot.then is not None:
            shot.then(page)
    except (Error, AssertionError) as error:
        print(f"{shot.name}: taken as it is, for {str(error).splitlines()[0]}")


def _written(shot: Shot, page: Page, path: Path) -> bool:
    """Few colours make a small file, and these pages have few."""
    tall = min(page.evaluate("document.documentElement.scrollHeight"), shot.tallest)
    page.set_viewport_size({"width": shot.width, "height": max(tall, 600)})
    page.wait_for_timeout(400)
    drawn = Image.open(io.BytesIO(page.screenshot())).convert("RGB")
    for colours in (COLOURS, 48, 24):
        drawn.quantize(colours, dither=Image.Dither.NONE).save(path, optimize=True)
        if path.stat().st_size <= MOST_BYTES:
            break
    print(f"{shot.name}: {path.stat().st_size // 1024} kB")
    return True


if __name__ == "__main__":
    sys.exit(main())
