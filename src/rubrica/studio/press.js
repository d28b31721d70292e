// What is drawn anew while somebody presses it was meant all the same: the press passes to what has taken its place.
(() => {
  const PRESSED = "button, a[href], [role=button], [role=tab], [role=option], [role=switch], [role=radio]";
  const words = (element) => `${element.tagName} ${element.getAttribute("aria-label") ?? element.textContent.trim()}`;
  let pressed = null;

  const press = ({ target, button }) => {
    const element = button === 0 && target.closest?.(PRESSED);
    pressed = element ? { element, said: words(element) } : null;
  };
  const release = ({ clientX, clientY }) => {
    const before = pressed;
    pressed = null;
    if (!before || before.element.isConnected) return; // the browser itself tells of a click
    const now = document.elementFromPoint(clientX, clientY)?.closest(PRESSED);
    if (now && words(now) === before.said) now.click();
  };
  document.addEventListener("pointerdown", press, true);
  document.addEventListener("pointerup", release, true);
  document.addEventListener("pointercancel", () => (pressed = null), true);
})();
