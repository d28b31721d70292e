// The buttons of an upload are pictures, and its field has no label: whoever does not see them is told what they do.
(() => {
  const ICONS = { clear_all: "Clear all files", done_all: "Clear uploaded files", clear: "Remove the file" };
  const name = (upload) => {
    const title = upload.querySelector(".q-uploader__title")?.textContent.trim() || "Choose a file";
    for (const field of upload.querySelectorAll("input[type=file]")) field.setAttribute("aria-label", title);
    for (const button of upload.querySelectorAll(".q-btn")) {
      const icon = button.querySelector(".q-icon")?.textContent.trim();
      button.setAttribute("aria-label", ICONS[icon] ?? title);
    }
  };
  const all = () => document.querySelectorAll(".q-uploader").forEach(name);
  document.addEventListener("DOMContentLoaded", () => {
    new MutationObserver(all).observe(document.body, { childList: true, subtree: true });
    all();
  });
})();
