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
    stream.onmessage = event => {
      if (event.data === shown) return;
      const before = runs();
      live.innerHTML = shown = event.data;
      if (before.difference(runs()).size) document.getElementById("ended").hidden = false;
    };
  };
  document.addEventListener("visibilitychange", watch);
  watch();
}
