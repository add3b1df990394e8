// Keys press the buttons that name them: <button data-key="s">. Nothing is decided or kept here.
(function () {
  "use strict";

  function writes(element) {
    return element.matches("input:not([type=hidden]):not([type=checkbox]), textarea, select");
  }

  document.addEventListener("keydown", function (event) {
    if (event.ctrlKey || event.altKey || event.metaKey || event.repeat) return;
    const at = event.target;
    const leaves = event.key === "Escape" || event.key === "Enter";
    if (leaves && at instanceof Element && at.matches("[data-key]") && writes(at)) {
      event.preventDefault();
      at.blur();
      return;
    }
    if (at instanceof Element && writes(at)) return;
    // On a button or a link, these two do what they always do.
    const presses = event.key === " " || event.key === "Enter";
    if (presses && at instanceof Element && at.matches("button, a, summary")) return;
    const key = event.key === " " ? "Space" : event.key;
    const named = document.querySelector('[data-key="' + CSS.escape(key) + '"]');
    if (named === null) return;
    event.preventDefault();
    if (named.disabled || document.querySelector("main .htmx-request, main.htmx-request")) return;
    if (writes(named)) named.focus();
    else named.click();
  });
})();
