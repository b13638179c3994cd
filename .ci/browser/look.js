// What is looked at in a page as it is shown: returns what is wrong, one line each.
(() => {
  const wrong = [];
  const parse = (colour) => {
    const found = colour.match(/[\d.]+/g).map(Number);
    return { rgb: found.slice(0, 3), alpha: found.length > 3 ? found[3] : 1 };
  };
  const luminance = (rgb) => {
    const [r, g, b] = rgb.map((part) => {
      const share = part / 255;
      return share <= 0.04045 ? share / 12.92 : ((share + 0.055) / 1.055) ** 2.4;
    });
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const contrast = (a, b) => {
    const [light, dark] = [luminance(a), luminance(b)].sort((x, y) => y - x);
    return (light + 0.05) / (dark + 0.05);
  };
  // The colour behind an element: the nearest that is painted.
  const behind = (element) => {
    for (let it = element; it; it = it.parentElement) {
      const { rgb, alpha } = parse(getComputedStyle(it).backgroundColor);
      if (alpha === 1) return rgb;
    }
    return parse(getComputedStyle(document.body).backgroundColor).rgb;
  };
  const shown = (element) => element.getClientRects().length > 0;
  const name = (element) => `${element.tagName.toLowerCase()} "${element.textContent.trim().slice(0, 40)}"`;

  for (const details of document.querySelectorAll("details")) details.open = true;
  const texts = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (texts.nextNode()) {
    const element = texts.currentNode.parentElement;
    if (!texts.currentNode.data.trim() || !shown(element) || /^(title|desc)$/.test(element.tagName)) continue;
    const style = getComputedStyle(element);
    const colour = element.namespaceURI.endsWith("svg") ? style.fill : style.color;
    const size = parseFloat(style.fontSize);
    const large = size >= 24 || (size >= 18.66 && Number(style.fontWeight) >= 700);
    const ratio = contrast(parse(colour).rgb, behind(element));
    if (ratio < (large ? 3 : 4.5)) wrong.push(`contrast ${ratio.toFixed(2)} of ${name(element)}`);
  }

  const headings = [...document.querySelectorAll("h1,h2,h3,h4")];
  const levels = headings.map((it) => Number(it.tagName[1]));
  if (levels.filter((it) => it === 1).length !== 1) wrong.push("not exactly one h1");
  levels.forEach((level, n) => {
    if (n > 0 && level > levels[n - 1] + 1) wrong.push(`heading skips a level: ${name(headings[n])}`);
  });
  for (const landmark of ["header", "main", "footer"]) {
    if (document.querySelectorAll(landmark).length !== 1) wrong.push(`not exactly one ${landmark}`);
  }
  for (const table of document.querySelectorAll("table")) {
    if (!table.caption) wrong.push("a table without a caption");
    if (table.querySelector("th:not([scope])")) wrong.push("a heading of a table without its scope");
    const widths = new Set([...table.rows].map((row) => row.cells.length));
    if (widths.size !== 1) wrong.push(`a table with rows of ${[...widths]} cells`);
  }
  for (const svg of document.querySelectorAll("svg")) {
    const named = (svg.getAttribute("aria-labelledby") || "").split(" ").every((id) => document.getElementById(id));
    if (svg.getAttribute("role") !== "img" || !named) wrong.push("a plot without role and name");
    const frame = svg.getBoundingClientRect();
    const boxes = [];
    for (const text of svg.querySelectorAll("text")) {
      const box = text.getBoundingClientRect();
      if (box.left < frame.left - 1 || box.right > frame.right + 1 || box.top < frame.top - 1 || box.bottom > frame.bottom + 1) {
        wrong.push(`${name(text)} is cut off in ${name(svg.querySelector("title"))}`);
      }
      for (const [other, words] of boxes) {
        const across = Math.min(box.right, other.right) - Math.max(box.left, other.left);
        const down = Math.min(box.bottom, other.bottom) - Math.max(box.top, other.top);
        if (across > 1 && down > 3) wrong.push(`${name(text)} lies over "${words}" in ${name(svg.querySelector("title"))}`);
      }
      boxes.push([box, text.textContent.trim()]);
    }
  }
  for (const link of document.querySelectorAll("a[href^='#']")) {
    if (!document.getElementById(link.getAttribute("href").slice(1))) wrong.push(`${name(link)} leads nowhere`);
  }
  const wide = document.documentElement.scrollWidth - document.documentElement.clientWidth;
  if (wide > 0) wrong.push(`the page is ${wide} pixels wider than the window`);
  if (document.documentElement.lang !== "en") wrong.push("the language is not said");
  for (const details of document.querySelectorAll("details")) details.open = false;
  return [...new Set(wrong)];
})()
