// Keys press the buttons that name them: <button data-key="s">. Nothing is decided or kept here.
(function () {
  "use strict";

  function writes(element) {
    return element.matches("input:not([type=hidden]):not([type=checkbox]), textarea, select");
  }

  const SLOW = 2000; // milliseconds
  let sending = 0; // forms on their way: a key meant for this pair must not answer the next one
  let slow = 0;

  function sends(event) {
    return event.detail.requestConfig.verb === "post";
  }

  document.addEventListener("htmx:beforeRequest", function (event) {
    if (!sends(event)) return;
    sending += 1;
    clearTimeout(slow);
    slow = setTimeout(say, SLOW, "Waiting for the server: keys do nothing until it answers.");
  });
  document.addEventListener("htmx:afterRequest", function (event) {
    if (!sends(event)) return;
    sending -= 1;
    clearTimeout(slow);
  });

  function say(text) {
    const notice = document.getElementById("notice");
    if (notice !== null) notice.textContent = text;
  }

  document.addEventListener("htmx:sendError", function () {
    say("The server does not answer. The key may not be recorded: press it again, nothing is done twice.");
  });
  document.addEventListener("htmx:responseError", function (event) {
    say("Not recorded: the server answered " + event.detail.xhr.status + ". Load the page again.");
  });

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
    const plain = event.key.length === 1 ? event.key.toLowerCase() : event.key; // caps lock
    const key = plain === " " ? "Space" : plain;
    const named = document.querySelector('[data-key="' + CSS.escape(key) + '"]');
    if (named === null) return;
    event.preventDefault();
    if (named.disabled || sending > 0) return;
    if (writes(named)) named.focus();
    else named.click();
    if (named.matches("summary")) named.parentElement.scrollIntoView({ block: "nearest" });
  });
})();
