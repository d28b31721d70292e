"""How many of the cases a run judges, and how often: the fields for it, folded away until they are wanted."""

from __future__ import annotations

from nicegui import ui

from rubrica.errors import InputError
from rubrica.studio.parts import error_text
from rubrica.workspace.run_extent import EVERYTHING, MOST_REPEATS, RunExtent, read_extent

TITLE = "How many cases, and how often"
ALL = "all of them, once each"


class ExtentFields:
    """The fields, and a line that tells what they come to. `asks`: a judge is asked, so that repeats make sense."""

    def __init__(self, *, asks: bool) -> None:
        self._count: int | None = None
        self._asks = asks
        self._fold = ui.expansion(TITLE, caption=ALL).classes("fold")
        with self._fold, ui.element("div").classes("fold-body"), ui.element("div").classes("extent"):
            self.sample = ui.input("A sample of", placeholder="200 or 5%", on_change=self._changed)
            self.limit = ui.number("Only the first", placeholder="10", min=1, precision=0, on_change=self._changed)
            self.repeat = ui.number(
                "Times each is judged", value=1, min=1, max=MOST_REPEATS, precision=0, on_change=self._changed
            )
            self.seed = ui.number("Seed of the sample", value=0, min=0, precision=0, on_change=self._changed)
            for field in (self.sample, self.limit, self.repeat, self.seed):
                field.props("outlined dense hide-bottom-space")
            self.repeat.tooltip("The judge is asked anew each time, which shows how steady it is.")
            self.seed.tooltip("Another number draws another sample; the same number the same one.")
        self._told = ui.label("").classes("quiet").props('aria-live="polite"')
        self.offer_repeats(asks)

    def read(self) -> RunExtent:
        """What the fields say; an InputError where that cannot be meant."""
        repeat = self.repeat.value if self._asks else 1
        return read_extent(self.sample.value or "", self.limit.value, repeat, self.seed.value)

    def offer_repeats(self, asks: bool) -> None:
        """Show or hide what only a judge makes sense of."""
        self._asks = asks
        self.repeat.set_visibility(asks)
        self._changed()

    def tell(self, count: int | None) -> None:
        """So many cases there are; None: that is not known."""
        self._count = count
        self._changed()

    def _changed(self) -> None:
        try:
            extent = self.read()
        except InputError as error:
            self._told.set_text(error_text(error))
            return
        self._told.set_text(extent.description(self._count))
        self.seed.set_visibility(bool(extent.sample))
        self._fold.props["caption"] = ALL if extent == EVERYTHING else _short(extent)


def _short(extent: RunExtent) -> str:
    """An extent in a few words.

    >>> _short(RunExtent("5%", 10, 3))
    'a sample of 5%, only the first 10, 3 times each'
    """
    parts = [f"a sample of {extent.sample}"] if extent.sample else []
    parts += [f"only the first {extent.limit:,}"] if extent.limit is not None else []
    return ", ".join([*parts, f"{extent.repeat} times each" if extent.repeat > 1 else "once each"])
