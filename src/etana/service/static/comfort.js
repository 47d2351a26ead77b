// Comfort only: every page works without this script.
"use strict";

// A second click while the first is on its way must not send the form twice. A download leaves the page as it is, and a
// page that comes back from the browser's memory has to work again.
for (const form of document.forms) {
  form.addEventListener("submit", (event) => {
    const question = form.dataset.ask;
    if (form.dataset.sent || (question && !window.confirm(question))) {
      event.preventDefault();
      return;
    }
    form.dataset.sent = "yes";
    if ("download" in form.dataset) setTimeout(() => delete form.dataset.sent, 2000);
  });
}
window.addEventListener("pageshow", (event) => {
  if (event.persisted) location.reload();
});

// Ready to type, where that does not push up a keyboard over the page.
const first = document.querySelector("form.answer :is(input, select):not([type=hidden])");
if (first && window.matchMedia("(pointer: fine)").matches) first.focus({ preventScroll: true });

// Turning the wheel over a number must not change it.
for (const number of document.querySelectorAll("input[type=number]")) {
  number.addEventListener("wheel", (event) => {
    if (document.activeElement === number) event.preventDefault();
  }, { passive: false });
}

// Printing needs this script anyway.
for (const button of document.querySelectorAll("button[data-print]")) {
  button.hidden = false;
  button.addEventListener("click", () => window.print());
}
