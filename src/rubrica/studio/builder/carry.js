// The form is drawn anew when a thing in it is called otherwise, comes or goes. Whoever types meanwhile goes on typing:
// what the field with the cursor holds, its cursor and its selection pass to the field that takes its place, before
// the browser can handle another key.
(() => {
  if (window.rubricaCarry) return;
  const OWN = "input, textarea, button, [tabindex]";
  const DRAWN = 60; // milliseconds in which what was just unfolded takes its place
  const REMEMBERED = 10_000; // milliseconds in which a change of name counts for what is typed
  let held = null; // the field with the cursor, and its place in the document
  let moves = []; // places that have another path since

  const isWritten = (field) => field.matches("textarea, input:not([type=range], [type=checkbox], [role=combobox])");
  const begins = (path, start) => start.every((step, i) => path[i] === step);
  const at = (path) => document.querySelector(`[data-place="${CSS.escape(JSON.stringify(path))}"]`);

  const moved = (path, { from, to }) => (begins(path, from) ? [...to, ...path.slice(from.length)] : path);

  function successor(path) {
    const same = at(path);
    if (same) return same;
    for (let first = moves.length - 1; first >= 0; first--) {
      // The latest first: a name that is free again may have been another thing's before.
      const found = at(moves.slice(first).reduce(moved, path));
      if (found) return found;
    }
    return null;
  }

  function reworded(text, field) {
    if (field.dataset.formula === undefined) return text;
    const known = moves.filter((move) => move.word && Date.now() - move.since < REMEMBERED).reverse();
    for (const { word, by } of known)
      text = text.replace(new RegExp(`\\b${word}(_share)?\\b`, "g"), `${by}$1`);
    return text;
  }

  function hand(from, to) {
    const own = to.matches(OWN) ? to : to.querySelector(OWN);
    if (!own) return;
    if (isWritten(own) && isWritten(from)) {
      const text = reworded(from.value, own);
      if (own.value !== text) {
        own.value = text;
        own.dispatchEvent(new Event("input", { bubbles: true }));
      }
    }
    own.focus({ preventScroll: true });
    if (isWritten(own) && own.type !== "number" && from.value === own.value)
      own.setSelectionRange(from.selectionStart, from.selectionEnd);
  }

  document.addEventListener("focusin", ({ target }) => {
    const place = target.closest?.("[data-place]")?.dataset.place;
    held = place ? { target, path: JSON.parse(place) } : null;
  });
  document.addEventListener("focusout", ({ target }) =>
    queueMicrotask(() => {
      if (held?.target === target && target.isConnected) held = null;
    }),
  );
  new MutationObserver(() => {
    if (!held || held.target.isConnected) return;
    const found = successor(held.path);
    if (!found) return;
    const { target } = held;
    held = null;
    hand(target, found);
  }).observe(document.body, { childList: true, subtree: true });

  // Whoever asked for a place may have gone on to a field before the answer came: then the cursor stays there, or the
  // next keys would be written into another field.
  const isWriting = () => {
    const field = document.activeElement;
    return !!field && (field.isContentEditable || (field.matches("input, textarea") && isWritten(field)));
  };

  window.rubricaCarry = {
    isWriting,
    focus(id) {
      setTimeout(() => {
        const found = document.getElementById(id);
        if (!found || isWriting()) return;
        found.scrollIntoView({ block: "center" });
        const own = "input, textarea, button";
        (found.matches(own) ? found : (found.querySelector(own) ?? found)).focus({ preventScroll: true });
      }, DRAWN);
    },
    move(from, to, reads) {
      const [word, by] = reads ? [from.at(-1), to.at(-1)] : [null, null];
      moves = [...moves.slice(-20), { from, to, word, by, since: Date.now() }];
    },
  };
})();
