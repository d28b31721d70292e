"""The formula field: suggests names, marks errors at their column, and shows the value on the sample."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from markupsafe import Markup
from nicegui import ui

from rubrica.engine.vocabulary import Scope
from rubrica.studio.builder.document import Path
from rubrica.studio.builder.form_schema import field_at
from rubrica.studio.builder.formulas import (
    NameSuggestion,
    completed,
    completions,
    fault_of,
    pointed,
    shown_value,
    suggestions,
    value_of,
)

from .editor import LONGEST_FIELD, DraftEditor, keep_focus, text_at, typed_text

_CARET = "(event) => emit(event.target.selectionStart ?? 0)"
# As if it were typed: a value that comes from here could overwrite the keys that follow.
_FILL = """{
  const [field, text, caret] = [document.getElementById(%s), %s, %d];
  if (field) {
    field.value = text;
    field.dispatchEvent(new Event("input", {bubbles: true}));
    if (document.activeElement === field || !window.rubricaCarry?.isWriting()) {
      field.focus();
      field.setSelectionRange(caret, caret);
    }
  }
}"""


class FormulaField:
    """One formula of the document."""

    def __init__(self, editor: DraftEditor, path: Path, scope: Scope = "context") -> None:
        self._draft, self._path, self._scope, self._caret = editor, path, scope, 0
        label = field_at(editor.document, path).title
        with ui.element("div").classes("formula grow"):
            self.input = ui.input(label, value=text_at(editor.document, path), on_change=self._changed)
            self.input.props("outlined dense input-class=mono spellcheck=false autocomplete=off data-formula")
            self.input.props(f"maxlength={LONGEST_FIELD}")
            keep_focus(self.input, path)
            self.input.on("keyup", self._moved, js_handler=_CARET, throttle=0.1)
            self.input.on("click", self._moved, js_handler=_CARET)
            self._offers = ui.element("div").classes("offers").props(f'role="group" aria-label="Names for {label}"')
            self._said = ui.html("", sanitize=False).classes("formula-said")
        self._messages: Sequence[str] = ()
        editor.place(path, self.input, self._problems)
        editor.live(self.input, self.follow)
        self.follow()

    def follow(self) -> None:
        """Tell what is wrong, or the value on the sample."""
        text, document = text_at(self._draft.document, self._path), self._draft.document
        self._said.set_content(str(self._told(text, document) if text.strip() else Markup("")))

    def _told(self, text: str, document: dict[str, Any]) -> Markup:
        fault = fault_of(text, document, self._scope)
        if fault is not None:
            line, caret = pointed(text, fault.column)
            fix = f" ({fault.fix})" if fault.fix else ""
            return Markup('<pre class="caret" role="alert">{}\n<b>{}</b> {}{}</pre>').format(
                line, caret, fault.message, fix
            )
        if self._messages:
            return Markup('<span class="wrong" role="alert">{}</span>').format(" ".join(self._messages))
        value, why = value_of(text, document, self._scope, self._draft.formula_sample)
        if value is not None:
            return Markup('on the sample: <b class="mono">{}</b>').format(shown_value(value, text))
        return Markup("on the sample: no value ({})").format(why) if why else Markup("")

    def _problems(self, messages: Sequence[str]) -> None:
        self._messages = messages
        self.input.props.set_optional("error", bool(messages) or None)
        self.input.props.set_optional("no-error-icon", True)
        self.input.update()

    def _changed(self, event: Any) -> None:
        self._draft.put(self._path, typed_text(event.value) or None)
        self.follow()

    def _moved(self, event: Any) -> None:
        caret = event.args if isinstance(event.args, int) else 0
        self._caret = caret
        text = self.input.value or ""
        self._offer(completions(text, caret, suggestions(self._draft.document, self._scope)))

    def _offer(self, found: Sequence[NameSuggestion]) -> None:
        self._offers.clear()
        with self._offers:
            for offer in found:
                button = ui.element("button").classes("offer").props('type="button"')
                button.on("click", lambda offer=offer: self._take(offer))
                with button:
                    ui.label(offer.name).classes("mono")
                    ui.label(offer.says).classes("quiet")

    def _take(self, offer: NameSuggestion) -> None:
        text, caret = completed(self.input.value or "", self._caret, offer)
        self._offers.clear()
        self._draft.client.run_javascript(_FILL % (json.dumps(self.input.html_id), json.dumps(text), caret))
