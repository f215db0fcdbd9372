// What the page does besides, where scripts run. Everything can be done without it.
"use strict";

// What is under way, as it goes on. A page that nobody looks at is told nothing.
const live = document.querySelector("[data-live]");
if (live) {
  let stream, shown;
  const runs = () => new Set([...live.querySelectorAll("[data-run]")].map(run => run.dataset.run));
  const watch = () => {
    if (stream) stream.close();
    stream = undefined;
    if (document.hidden) return;
    stream = new EventSource(live.dataset.live);
    const ended = () => { document.getElementById("ended").hidden = false; };
    stream.addEventListener("ended", ended);
    stream.onmessage = event => {
      if (event.data === shown) return;
      const before = runs();
      live.innerHTML = shown = event.data;
      if (before.difference(runs()).size) ended();
    };
  };
  document.addEventListener("visibilitychange", watch);
  watch();
}

// What is looked for, as one types.
for (const form of document.querySelectorAll("[data-as-typed]")) {
  const results = document.getElementById(form.dataset.asTyped);
  let waiting, request;
  const look = async () => {
    clearTimeout(waiting);
    if (request) request.abort();
    request = new AbortController();
    const q = new URLSearchParams([...new FormData(form)].filter(([, value]) => value !== ""));
    const address = form.action + (q.size ? "?" + q : "");
    results.ariaBusy = "true";
    try {
      const answer = await fetch(address, { signal: request.signal });
      const found = new DOMParser().parseFromString(await answer.text(), "text/html").getElementById(results.id);
      if (answer.ok && !answer.redirected && found) {
        results.replaceChildren(...found.childNodes);
        history.replaceState(null, "", address);
      }
    } catch (error) {
      if (error.name === "AbortError") return; // for another one
    }
    results.ariaBusy = "false";
  };
  form.addEventListener("input", event => {
    clearTimeout(waiting);
    waiting = setTimeout(look, event.target.matches("input[type=search], input:not([type])") ? 250 : 0);
  });
}

// Keys. Those that are written into a field are the field's.
const keys = document.getElementById("keys");
const rows = () => [...document.querySelectorAll("main :is(table.cards tbody > tr, .rows > li, .change, .items > li, .talk > li, .version)")]
  .filter(row => row.checkVisibility());
const move = by => {
  const list = rows();
  const at = list.findLastIndex(row => row.contains(document.activeElement));
  const row = list[Math.min(Math.max(at + by, 0), list.length - 1)];
  if (!row) return;
  const target = row.querySelector("a[href], summary, button") || row;
  if (target === row) row.tabIndex = -1;
  target.focus({ preventScroll: true });
  row.scrollIntoView({ block: "nearest" });
};
const onKey = {
  "/": () => document.querySelector("main :is(input[type=search], .filter input:not([type=hidden]))")?.select(),
  "j": () => move(1),
  "k": () => move(-1),
  "?": () => keys.showModal(),
};
document.addEventListener("keydown", event => {
  const field = event.target.closest("input, select, textarea");
  if (field && event.key === "Escape") field.blur();
  if (field || keys.open || event.ctrlKey || event.metaKey || event.altKey || event.isComposing || !onKey[event.key]) return;
  event.preventDefault();
  onKey[event.key]();
});
const show = document.getElementById("show-keys");
if (show) {
  show.hidden = false;
  show.addEventListener("click", () => keys.showModal());
}
