// Keys press the buttons that name them: <button data-key="s">. Nothing is decided here, and nothing kept
// but a reason that was not sent before the session ended.
(function () {
  "use strict";

  const SLOW = 2000; // milliseconds
  const waiting = []; // keys pressed while an answer is on its way: they are for the next pairs
  let sending = 0;
  let slow = 0;
  let stalled = false; // the server is slow: a key pressed now repeats one, and is dropped

  function writes(element) {
    return element.matches("input:not([type=hidden]):not([type=checkbox]), textarea, select");
  }

  function say(text) {
    const notice = document.getElementById("notice");
    if (notice === null) return;
    notice.textContent = text;
    notice.dataset.failed = "";
  }

  // -- what is in view -------------------------------------------------------------------------

  function isInView(text) {
    const box = text.getBoundingClientRect();
    const visible = Math.min(box.bottom, innerHeight) - Math.max(box.top, 0);
    return visible >= Math.min(box.height, innerHeight / 4);
  }

  // The text to be looked at before the pair is answered. A small window shows one after the other.
  function unseen() {
    const texts = [...document.querySelectorAll(".said")];
    const inView = texts.filter(isInView);
    for (const text of inView) text.dataset.seen = "";
    return inView.length > 0 ? texts.find((text) => !("seen" in text.dataset)) : texts[0];
  }

  // Whether a button is about a pair that is not in view, which is then brought into view.
  function isBlind(button) {
    if (!button.form || !button.form.elements.namedItem("decision")) return false;
    const text = unseen();
    if (text === undefined) return false;
    text.scrollIntoView({ block: "center" });
    unseen();
    waiting.length = 0;
    say("The pair was not in view, and nothing is recorded: look at it, and press the key again.");
    return true;
  }

  document.addEventListener("DOMContentLoaded", unseen);
  document.addEventListener("scroll", unseen, { passive: true });
  document.addEventListener("htmx:afterSettle", function (event) {
    if (event.target.id === "board" && unseen() !== undefined) {
      event.target.scrollIntoView();
      unseen();
    }
  });

  // -- what is sent ----------------------------------------------------------------------------

  function sends(event) {
    return event.detail.requestConfig.verb === "post";
  }

  document.addEventListener("htmx:beforeRequest", function (event) {
    if (!sends(event)) return;
    sending += 1;
    clearTimeout(slow);
    slow = setTimeout(function () {
      stalled = true;
      say("Waiting for the server: keys do nothing until it answers.");
    }, SLOW);
  });
  document.addEventListener("htmx:afterRequest", function (event) {
    if (!sends(event)) return;
    sending -= 1;
    clearTimeout(slow);
    stalled = false;
    if (document.querySelector("#notice:not([data-failed])") === null) waiting.length = 0;
    while (sending === 0 && waiting.length > 0) press(waiting.shift());
  });
  document.addEventListener("htmx:sendError", function () {
    waiting.length = 0;
    say("The server does not answer. The key may not have been recorded. Press it again: nothing is done twice.");
  });
  document.addEventListener("htmx:responseError", function (event) {
    waiting.length = 0;
    say("Not recorded: the server answered " + event.detail.xhr.status + ". Load the page again.");
  });

  // -- a reason outlives the session: who signs in again finds it beside its pair -----------------

  function answering(then) {
    const form = document.getElementById("answer");
    if (form === null) return;
    const { because, decision, existing } = form.elements;
    then(because, "because:" + decision.value + ":" + (existing ? existing.value : ""));
  }

  function restore() {
    answering(function (because, pair) {
      because.value ||= sessionStorage.getItem(pair) ?? "";
      sessionStorage.removeItem(pair);
    });
  }

  document.addEventListener("DOMContentLoaded", restore);
  document.addEventListener("htmx:afterSettle", restore);
  document.addEventListener("htmx:beforeOnLoad", function (event) {
    if (event.detail.xhr.getResponseHeader("HX-Redirect") === null) return;
    answering(function (because, pair) {
      if (because.value !== "") sessionStorage.setItem(pair, because.value);
    });
  });

  // -- keys ------------------------------------------------------------------------------------

  function named(key) {
    return document.querySelector('[data-key="' + CSS.escape(key) + '"]');
  }

  function press(key) {
    const found = named(key);
    if (found === null || found.disabled || isBlind(found)) return;
    if (writes(found)) found.focus();
    else found.click();
    if (found.matches("summary")) found.parentElement.scrollIntoView({ block: "nearest" });
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
    if (presses && at instanceof Element && at.matches("button, a, summary")) {
      if (at.matches("button") && isBlind(at)) event.preventDefault();
      return;
    }
    const plain = event.key.length === 1 ? event.key.toLowerCase() : event.key; // caps lock
    const key = plain === " " ? "Space" : plain;
    const found = named(key);
    if (found === null) return;
    event.preventDefault();
    if (sending === 0) press(key);
    // What follows the key of a field is the field's text, not an answer.
    else if (!stalled && !waiting.some((one) => writes(named(one)))) waiting.push(key);
  });
})();
