// What is wrong with a page for somebody who cannot see it as it was meant, or at all.
(() => {
  const wrong = [];
  const name = el => el.outerHTML.replace(/\s+/g, " ").slice(0, 100);
  const all = selector => [...document.querySelectorAll(selector)];
  const spoken = el => (el.getAttribute("aria-label") || el.textContent).trim() || [...el.querySelectorAll("img[alt]")].map(i => i.alt).join("");

  if (!document.documentElement.lang) wrong.push("no language");
  if (document.title.trim() === "") wrong.push("no title");
  if (all("h1").length !== 1) wrong.push(all("h1").length + " h1");
  if (all("main").length !== 1) wrong.push(all("main").length + " main");
  let level = 0;
  for (const h of all("h1, h2, h3, h4, h5, h6")) {
    const l = Number(h.tagName[1]);
    if (l > level + 1) wrong.push("a heading is skipped before " + name(h));
    level = l;
  }
  for (const el of all("input:not([type=hidden]), select, textarea"))
    if (!el.labels.length && !el.getAttribute("aria-label")) wrong.push("no label: " + name(el));
  for (const el of all("[tabindex]")) if (el.tabIndex > 0) wrong.push("tabindex: " + name(el));
  for (const el of all("img:not([alt])")) wrong.push("no alt: " + name(el));
  for (const el of all("a[href], button, summary")) if (!spoken(el)) wrong.push("nothing to read out: " + name(el));
  for (const el of all("svg:not([aria-hidden=true])")) if (!el.querySelector("title")) wrong.push("a picture without a title: " + name(el));
  for (const el of all("[aria-labelledby], [aria-describedby]"))
    for (const id of ((el.getAttribute("aria-labelledby") || "") + " " + (el.getAttribute("aria-describedby") || "")).trim().split(/\s+/))
      if (!document.getElementById(id)) wrong.push("no element " + id + " for " + name(el));
  const ids = all("[id]").map(el => el.id);
  for (const id of ids) if (ids.indexOf(id) !== ids.lastIndexOf(id)) wrong.push("twice: id " + id);
  if (all("[style], script:not([src]), [onclick]").length) wrong.push("style or script within the page");

  // Short words in cells that are cut in two.
  const cells = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (cells.nextNode()) {
    const el = cells.currentNode.parentElement, text = cells.currentNode.data.trim();
    if (!/^[A-Za-z]{2,12}$/.test(text) || !el.closest("th, td") || el.closest("thead")?.offsetWidth < 2) continue;
    const range = document.createRange();
    range.selectNodeContents(cells.currentNode);
    if (new Set([...range.getClientRects()].map(r => r.top)).size > 1) wrong.push("a word is broken: " + name(el));
  }

  // The contrast of each text with what it stands on.
  const parse = c => { const m = c.match(/[\d.]+/g).map(Number); return { rgb: m.slice(0, 3), a: m.length > 3 ? m[3] : 1 }; };
  const over = (top, bottom) => top.rgb.map((v, i) => v * top.a + bottom[i] * (1 - top.a));
  const ground = el => {
    const layers = [];
    for (let at = el; at; at = at.parentElement) layers.push(parse(getComputedStyle(at).backgroundColor));
    return layers.reverse().reduce((below, layer) => over(layer, below), [255, 255, 255]);
  };
  const light = rgb => rgb.map(v => v / 255).map(v => v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4)
    .reduce((sum, v, i) => sum + v * [0.2126, 0.7152, 0.0722][i], 0);
  const seen = new Set();
  const texts = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (texts.nextNode()) {
    const el = texts.currentNode.parentElement;
    if (!texts.currentNode.data.trim() || seen.has(el) || !el.checkVisibility() || el.closest("svg")) continue;
    seen.add(el);
    const style = getComputedStyle(el), back = ground(el), size = parseFloat(style.fontSize);
    const [a, b] = [light(over(parse(style.color), back)), light(back)].sort((x, y) => y - x);
    const least = size >= 24 || size >= 18.66 && Number(style.fontWeight) >= 700 ? 3 : 4.5;
    const contrast = (a + 0.05) / (b + 0.05);
    if (contrast < least) wrong.push("contrast " + contrast.toFixed(2) + ": " + name(el));
  }
  return wrong;
})()
