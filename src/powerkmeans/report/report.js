"use strict";
(() => {
  const data = JSON.parse(document.getElementById("data").textContent);
  const root = document.documentElement;
  const byId = (id) => document.getElementById(id);
  const nClusters = data.sizes.length;
  const system = matchMedia("(prefers-color-scheme: dark)");
  const chosen = new Set(); // clusters that are shown; none means all
  const listeners = [];
  const isShown = (cluster) => chosen.size === 0 || chosen.has(cluster);
  const grouped = (value) => value.toLocaleString("en-US");
  const signed = (value, digits) => (value < 0 ? "\u2212" : "+") + Math.abs(value).toFixed(digits);

  function make(name, options = {}, ...children) {
    const element = document.createElement(name);
    for (const [key, value] of Object.entries(options)) {
      if (key in element) element[key] = value;
      else element.setAttribute(key, value);
    }
    element.append(...children);
    return element;
  }

  /* Colours: a fixed set for few clusters, hues all around for many. */
  const isDark = () => (root.dataset.theme ? root.dataset.theme === "dark" : system.matches);

  function colour(cluster) {
    if (nClusters <= 10) return getComputedStyle(root).getPropertyValue(`--c${cluster}`).trim();
    const hue = (cluster * 137.508) % 360;
    const light = (isDark() ? [0.72, 0.84, 0.64] : [0.5, 0.62, 0.4])[cluster % 3];
    return `oklch(${light} 0.13 ${hue.toFixed(1)})`;
  }

  function paint(scope = document) {
    const colours = data.sizes.map((_, cluster) => colour(cluster));
    for (const element of scope.querySelectorAll("[data-cluster]")) {
      element.style.setProperty("--own", colours[Number(element.dataset.cluster)]);
    }
  }

  /* The filter: every part of the page listens to it. */
  const filter = byId("filter");
  const showAll = byId("all");

  function filterChanged() {
    const only = chosen.size === 1 ? String([...chosen][0]) : "";
    filter.querySelector("option[data-several]")?.remove();
    if (chosen.size > 1) {
      filter.append(make("option", { value: "several", textContent: `${chosen.size} clusters`, "data-several": "1" }));
    }
    filter.value = chosen.size > 1 ? "several" : only;
    showAll.hidden = chosen.size === 0;
    document.body.classList.toggle("filtered", chosen.size > 0);
    for (const button of document.querySelectorAll("button.cluster")) {
      button.setAttribute("aria-pressed", String(chosen.has(Number(button.dataset.cluster))));
    }
    for (const listener of listeners) listener();
  }

  byId("clusters").addEventListener("click", (event) => {
    const button = event.target.closest("button.cluster");
    if (!button) return;
    const cluster = Number(button.dataset.cluster);
    if (!chosen.delete(cluster)) chosen.add(cluster);
    filterChanged();
  });
  filter.addEventListener("change", () => {
    if (filter.value === "several") return;
    chosen.clear();
    if (filter.value !== "") chosen.add(Number(filter.value));
    filterChanged();
  });
  showAll.addEventListener("click", () => {
    chosen.clear();
    filterChanged();
    filter.focus();
  });

  /* The maps: the same samples in other places. */
  function makeMap(canvas, stage, tip, places) {
    const points = data.map;
    const n = places.x.length;
    const outlier = new Set(points.outlier);
    const context = canvas.getContext("2d");
    const base = document.createElement("canvas");
    let width = 0, height = 0, ratio = 1, at = -1;
    let px = [], py = [];

    const jitter = (i) => ((Math.imul(i + 1, 2654435761) >>> 0) / 4294967296 - 0.5) * 0.3;
    const xs = places.x;
    const ys = places.flat ? xs.map((_, i) => jitter(i)) : places.y;
    const usual = n <= 150 ? 5 : n <= 800 ? 4 : n <= 2500 ? 3.2 : 2.6;
    let radius = usual;

    function place() {
      ratio = Math.max(devicePixelRatio || 1, root.dataset.printing ? 2 : 1);
      width = Math.max(stage.clientWidth, 1); // 0 while the page is not laid out
      height = Math.round(Math.min(Math.max(width * 0.74, 280), 560));
      radius = usual * Math.min(Math.max(width / 640, 0.6), 1);
      for (const one of [canvas, base]) {
        one.width = Math.round(width * ratio);
        one.height = Math.round(height * ratio);
      }
      const [left, right] = [Math.min(...xs), Math.max(...xs)];
      const [low, high] = [Math.min(...ys), Math.max(...ys)];
      const margin = 34;
      const scale = Math.min((width - 2 * margin) / (right - left || 1), (height - 2 * margin) / (high - low || 1));
      px = xs.map((x) => width / 2 + (x - (left + right) / 2) * scale);
      py = ys.map((y) => height / 2 - (y - (low + high) / 2) * scale);
    }

    function mark(draw, i, size) {
      const [x, y] = [px[i], py[i]];
      draw.beginPath();
      if (outlier.has(i)) {
        const r = size * 1.35;
        draw.moveTo(x - r, y - r);
        draw.lineTo(x + r, y + r);
        draw.moveTo(x - r, y + r);
        draw.lineTo(x + r, y - r);
        draw.stroke();
      } else {
        draw.arc(x, y, size, 0, 2 * Math.PI);
        draw.fill();
      }
    }

    function median(values) {
      values.sort((a, b) => a - b);
      return values[values.length >> 1];
    }

    function labels(draw, style) {
      if (nClusters === 1) return;
      const taken = [];
      const order = data.sizes.map((size, cluster) => [size, cluster]).sort((a, b) => b[0] - a[0]);
      draw.font = "600 12px system-ui, sans-serif";
      draw.textAlign = "center";
      draw.textBaseline = "middle";
      for (const [, cluster] of order) {
        const mine = [];
        if (isShown(cluster)) points.cluster.forEach((c, i) => c === cluster && mine.push(i));
        if (mine.length === 0) continue;
        const x = median(mine.map((i) => px[i]));
        const y = median(mine.map((i) => py[i]));
        const w = 12 + 7 * String(cluster).length;
        if (taken.some(([a, b, v]) => Math.abs(a - x) < (v + w) / 2 + 2 && Math.abs(b - y) < 22)) continue;
        taken.push([x, y, w]);
        draw.beginPath();
        draw.roundRect(x - w / 2, y - 10, w, 20, 6);
        draw.fillStyle = style.getPropertyValue("--surface");
        draw.fill();
        draw.strokeStyle = colour(cluster);
        draw.lineWidth = 2;
        draw.stroke();
        draw.fillStyle = style.getPropertyValue("--ink");
        draw.fillText(String(cluster), x, y + 0.5);
      }
    }

    function render() {
      const draw = base.getContext("2d");
      const style = getComputedStyle(root);
      draw.setTransform(ratio, 0, 0, ratio, 0, 0);
      draw.clearRect(0, 0, width, height);
      draw.lineWidth = 1.6;
      const colours = data.sizes.map((_, cluster) => colour(cluster));
      draw.fillStyle = draw.strokeStyle = style.getPropertyValue("--rule");
      if (chosen.size) for (let i = 0; i < n; i++) if (!chosen.has(points.cluster[i])) mark(draw, i, radius * 0.8);
      for (const crosses of [false, true]) {
        draw.globalAlpha = crosses ? 1 : n > 800 ? 0.72 : 0.85;
        for (let i = 0; i < n; i++) {
          if (outlier.has(i) !== crosses || !isShown(points.cluster[i])) continue;
          draw.fillStyle = draw.strokeStyle = colours[points.cluster[i]];
          mark(draw, i, radius);
        }
      }
      draw.globalAlpha = 1;
      labels(draw, style);
      show();
    }

    function show() {
      context.setTransform(1, 0, 0, 1, 0, 0);
      context.clearRect(0, 0, canvas.width, canvas.height);
      context.drawImage(base, 0, 0);
      if (at < 0) return;
      context.setTransform(ratio, 0, 0, ratio, 0, 0);
      context.strokeStyle = getComputedStyle(root).getPropertyValue("--ink");
      context.lineWidth = 2;
      context.beginPath();
      context.arc(px[at], py[at], radius + 4, 0, 2 * Math.PI);
      context.stroke();
    }

    function tell(i) {
      at = i;
      tip.hidden = i < 0;
      show();
      if (i < 0) return;
      const cluster = points.cluster[i];
      const list = make("dl", {});
      const line = (name, value) => list.append(make("dt", {}, name), make("dd", {}, value));
      line("Cluster", String(cluster));
      if (data.scored) line("Typicality", points.typicality[i].toFixed(3));
      line("Probability", points.probability[i].toFixed(3));
      tip.replaceChildren(make("strong", {}, points.id[i]), list);
      if (outlier.has(i)) tip.append(make("div", {}, "Outlier"));
      const [w, h] = [tip.offsetWidth, tip.offsetHeight];
      const x = px[i] + 14 + w > width ? px[i] - 14 - w : px[i] + 14;
      const y = py[i] - h - 10 < 4 ? py[i] + 14 : py[i] - h - 10;
      tip.style.left = `${Math.max(4, Math.min(x, width - w - 4))}px`;
      tip.style.top = `${Math.max(4, Math.min(y, height - h - 4))}px`;
    }

    function nearest(x, y) {
      let best = -1, least = 18 * 18;
      for (let i = 0; i < n; i++) {
        if (!isShown(points.cluster[i])) continue;
        const d = (px[i] - x) ** 2 + (py[i] - y) ** 2;
        if (d < least) [best, least] = [i, d];
      }
      return best;
    }

    function hover(event) {
      const box = canvas.getBoundingClientRect();
      const i = nearest(event.clientX - box.left, event.clientY - box.top);
      if (i !== at) tell(i);
    }
    canvas.addEventListener("pointermove", hover);
    canvas.addEventListener("pointerdown", hover);
    canvas.addEventListener("pointerleave", (event) => event.pointerType === "mouse" && tell(-1));
    canvas.addEventListener("blur", () => tell(-1));
    canvas.addEventListener("keydown", (event) => {
      const step = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 }[event.key];
      if (event.key === "Escape") tell(-1);
      if (!step) return;
      event.preventDefault();
      const order = [...px.keys()].filter((i) => isShown(points.cluster[i])).sort((a, b) => px[a] - px[b] || a - b);
      if (order.length === 0) return;
      const here = order.indexOf(at);
      tell(order[here < 0 ? 0 : (here + step + order.length) % order.length]);
    });

    const redraw = () => {
      at = -1;
      tip.hidden = true;
      place();
      render();
    };
    new ResizeObserver(() => stage.clientWidth !== width && redraw()).observe(stage);
    listeners.push(() => {
      tell(-1);
      render();
    });
    redraw();
    return { redraw };
  }
  const maps = [makeMap(byId("map"), byId("stage"), byId("tip"), data.map)];
  if (data.apart) maps.push(makeMap(byId("apart"), byId("apart-stage"), byId("apart-tip"), data.apart));

  /* Columns: portraits of clusters, and the table of all means. */
  const columns = (() => {
    const profiles = data.profiles;
    const p = profiles.name.length;
    const several = data.views.length > 1;
    const TOP = 6, PORTRAITS = 12, PAGE = 25, PRINTED = 7, WIDEST = 100;
    let portraitsShown = PORTRAITS, columnsShown = PAGE;
    let sort = { by: "explained", down: true };
    const find = byId("find");

    const away = (c, cluster) => {
      const mean = profiles.means[c][cluster];
      return mean === null || !profiles.deviation[c] ? null : (mean - profiles.overall[c]) / profiles.deviation[c];
    };
    function shown(value, c) {
      if (value === null) return "\u2014";
      const decimals = profiles.decimals[c];
      const size = Math.abs(value);
      let text = decimals > 6 || size >= 1e9
        ? value.toExponential(3)
        : value.toLocaleString("en-US", { minimumFractionDigits: Math.max(0, decimals), maximumFractionDigits: Math.max(0, decimals) });
      if (text.startsWith("-")) text = "\u2212" + text.slice(1);
      return /^\u22120(\.0*)?$/.test(text) ? text.slice(1) : text;
    }
    const reach = (() => {
      let most = 1;
      for (let c = 0; c < p; c++) for (let cluster = 0; cluster < nClusters; cluster++) most = Math.max(most, Math.abs(away(c, cluster) ?? 0));
      return Math.min(most, 4);
    })();
    function deviation(z) {
      const bar = make("span", { className: "dev", "aria-hidden": "true" });
      if (z) {
        const fill = make("i", { className: z > 0 ? "above" : "below" });
        fill.style.width = `${(50 * Math.min(Math.abs(z), reach)) / reach}%`;
        bar.append(fill);
      }
      return bar;
    }
    const seen = new Set(), twice = new Set(); // names that several views have
    for (const name of profiles.name) (seen.has(name) ? twice : seen).add(name);
    const short = (c) => {
      const name = profiles.name[c], label = profiles.label[name];
      if (label === undefined) return [name];
      return [make("span", { "aria-hidden": "true" }, label), make("span", { className: "unseen" }, name)];
    };
    const label = (c) => (several ? `${profiles.name[c]} (${data.views[profiles.view[c]]})` : profiles.name[c]);

    function portrait(cluster) {
      const ranked = [];
      for (let c = 0; c < p; c++) {
        const z = away(c, cluster);
        if (z !== null) ranked.push([Math.abs(z), c, z]);
      }
      ranked.sort((a, b) => b[0] - a[0] || a[1] - b[1]);
      const body = make("tbody");
      for (const [, c, z] of ranked.slice(0, TOP)) {
        body.append(make("tr", { title: `${label(c)}: mean ${shown(profiles.means[c][cluster], c)}, all samples ${shown(profiles.overall[c], c)}` },
          make("th", { scope: "row", title: profiles.name[c] }, ...short(c),
            ...(several && twice.has(profiles.name[c]) ? [make("small", {}, data.views[profiles.view[c]])] : [])),
          make("td", { className: "number value" }, shown(profiles.means[c][cluster], c)),
          make("td", {}, deviation(z)),
          make("td", { className: "number away" }, signed(z, 1))));
      }
      const head = make("h3", {}, `Cluster ${cluster}`, make("span", {}, data.sizes[cluster] === 1 ? "1 sample" : `${grouped(data.sizes[cluster])} samples`));
      const box = make("div", { className: "portrait", "data-cluster": cluster }, head);
      if (body.children.length) box.append(make("table", { "aria-label": `Cluster ${cluster}: mean, and distance from the average in sd` }, body));
      else box.append(make("p", { className: "muted" }, data.sizes[cluster] ? "No column varies." : "No samples."));
      return box;
    }

    function portraits(all) {
      const clusters = data.sizes.map((_, c) => c).filter(isShown);
      if (clusters.length > PORTRAITS) clusters.sort((a, b) => data.sizes[b] - data.sizes[a] || a - b);
      const some = clusters.slice(0, all ? clusters.length : portraitsShown);
      const holder = byId("portraits");
      holder.replaceChildren(...some.map(portrait));
      const more = byId("more-portraits");
      more.hidden = some.length === clusters.length;
      more.textContent = `Show all ${clusters.length} clusters (${some.length} largest shown)`;
      paint(holder);
    }

    function ordered() {
      const wanted = find.value.trim().toLowerCase();
      const found = [];
      for (let c = 0; c < p; c++) if (!wanted || label(c).toLowerCase().includes(wanted)) found.push(c);
      const key = {
        explained: (c) => profiles.explained[c],
        name: (c) => profiles.name[c],
      }[sort.by] || ((c) => away(c, sort.by) ?? -Infinity);
      const names = new Intl.Collator("en", { numeric: true });
      const compare = sort.by === "name" ? (a, b) => names.compare(key(a), key(b)) : (a, b) => key(a) - key(b);
      return found.sort((a, b) => (sort.down ? -compare(a, b) : compare(a, b)) || a - b);
    }

    function heading(text, by, className, title) {
      const button = make("button", { type: "button", title: title || "" }, text);
      button.dataset.by = by;
      const state = sort.by === by ? (sort.down ? "descending" : "ascending") : "none";
      const onPaper = make("span", { className: "paper", "aria-hidden": "true" }, text);
      const head = make("th", { scope: "col", className, "aria-sort": state }, button, onPaper);
      if (typeof by === "number") head.dataset.cluster = by;
      return head;
    }

    function table(rows, clusters) {
      const head = make("tr", {}, heading("Column", "name", ""), heading("Explained", "explained", "number column-share"),
        make("th", { scope: "col", className: "number" }, make("span", {}, "All")));
      for (const cluster of clusters) head.append(heading(`Cluster ${cluster}`, cluster, "number", "Sort by the deviation in this cluster"));
      const body = make("tbody");
      for (const c of rows) {
        const name = make("th", { scope: "row" }, make("span", { className: "name" }, profiles.name[c]));
        if (several) name.append(make("small", {}, data.views[profiles.view[c]]));
        const line = make("tr", {}, name,
          make("td", { className: "number column-share" }, `${(100 * profiles.explained[c]).toFixed(0)}\u00a0%`),
          make("td", { className: "number" }, shown(profiles.overall[c], c), make("small", {}, `sd ${shown(profiles.deviation[c], c)}`)));
        for (const cluster of clusters) {
          const z = away(c, cluster);
          const title = z === null ? "" : `${signed(z, 2)} sd`;
          line.append(make("td", { className: "number", title }, shown(profiles.means[c][cluster], c), deviation(z)));
        }
        body.append(line);
      }
      return make("table", { className: clusters.length < 6 ? "matrix few" : "matrix" }, make("thead", {}, head), body);
    }

    function matrix(printing) {
      const bySize = data.sizes.map((_, c) => c).filter(isShown).sort((a, b) => data.sizes[b] - data.sizes[a] || a - b);
      const clusters = bySize.slice(0, WIDEST).sort((a, b) => a - b);
      const found = ordered();
      const rows = found.slice(0, columnsShown);
      const holder = byId("matrix");
      const tables = [];
      const step = printing ? Math.ceil(clusters.length / Math.ceil(clusters.length / PRINTED)) : clusters.length;
      for (let start = 0; start < clusters.length; start += step) tables.push(table(rows, clusters.slice(start, start + step)));
      const focused = holder.contains(document.activeElement) ? document.activeElement.dataset.by : undefined;
      holder.replaceChildren(...tables);
      paint(holder);
      if (focused !== undefined) holder.querySelector(`button[data-by="${focused}"]`)?.focus();
      const total = find.value.trim() ? `${grouped(found.length)} found, ` : "";
      byId("matrix-count").textContent = `${total}${grouped(rows.length)} of ${grouped(p)} columns shown` +
        (clusters.length < bySize.length ? `, the ${WIDEST} largest of ${grouped(bySize.length)} clusters` : "");
      const more = byId("more-columns");
      more.hidden = rows.length === found.length;
      more.textContent = `Show ${Math.min(4 * PAGE, found.length - rows.length)} more columns`;
    }

    byId("matrix").addEventListener("click", (event) => {
      const button = event.target.closest("th button");
      if (!button) return;
      const by = /^\d+$/.test(button.dataset.by) ? Number(button.dataset.by) : button.dataset.by;
      sort = { by, down: sort.by === by ? !sort.down : by !== "name" };
      matrix();
    });
    find.addEventListener("input", () => {
      columnsShown = PAGE;
      matrix();
    });
    byId("more-columns").addEventListener("click", () => {
      columnsShown += 4 * PAGE;
      matrix();
    });
    byId("more-portraits").addEventListener("click", () => {
      portraitsShown = nClusters;
      portraits();
    });
    byId("matrix-reach").textContent = `Bars end at ${reach.toFixed(1)} sd.`;
    const redraw = (printing = false) => {
      portraits(printing);
      matrix(printing);
    };
    if (p) {
      listeners.push(() => redraw());
      redraw();
    }
    return { redraw: p ? redraw : () => {} };
  })();

  /* The table of outliers: sorts by every column, shows the chosen clusters. */
  (() => {
    const table = byId("outliers");
    const body = table.tBodies[0];
    const rows = [...body.rows];
    const heads = [...table.tHead.rows[0].cells];
    const text = new Intl.Collator("en", { numeric: true });

    function sortBy(index) {
      const head = heads[index];
      const numeric = head.dataset.kind !== "text";
      const before = head.getAttribute("aria-sort");
      const down = before === "none" ? head.dataset.kind === "number" : before === "ascending";
      for (const other of heads) other.setAttribute("aria-sort", "none");
      head.setAttribute("aria-sort", down ? "descending" : "ascending");
      const key = (row) => row.cells[index].dataset.key;
      const compare = numeric ? (a, b) => Number(key(a)) - Number(key(b)) : (a, b) => text.compare(key(a), key(b));
      const sorted = rows.map((row, place) => [row, place]).sort(([a, i], [b, j]) => (down ? compare(b, a) : compare(a, b)) || i - j);
      body.append(...sorted.map(([row]) => row));
    }
    table.tHead.addEventListener("click", (event) => {
      const head = event.target.closest("th");
      if (head && event.target.closest("button")) sortBy(heads.indexOf(head));
    });

    function narrow() {
      let n = 0;
      for (const row of rows) {
        row.hidden = !isShown(Number(row.dataset.cluster));
        n += row.hidden ? 0 : 1;
      }
      const known = data.outliers.reduce((sum, count, cluster) => sum + (isShown(cluster) ? count : 0), 0);
      const listed = rows.filter((row) => !row.hidden && row.classList.contains("outlier")).length;
      const status = data.scored ? `${grouped(listed)} of the ${grouped(known)} outliers` : `${grouped(n)} samples`;
      byId("outlier-count").textContent = chosen.size ? `Of the chosen clusters: ${status} listed.` : "";
      byId("outlier-none").hidden = n > 0;
      table.hidden = n === 0;
    }
    listeners.push(narrow);
    narrow();
  })();

  /* Tables that are wider than the page say so, and shade the side on which they go on. */
  for (const region of document.querySelectorAll(".scroll")) {
    const hint = make("p", { className: "hint no-print", hidden: true }, "The table goes on to the right: scroll it sideways.");
    region.before(hint);
    const look = () => {
      const beyond = region.scrollWidth - region.clientWidth;
      hint.hidden = beyond < 2;
      region.classList.toggle("more-left", region.scrollLeft > 1);
      region.classList.toggle("more-right", beyond - region.scrollLeft > 1);
    };
    region.addEventListener("scroll", look, { passive: true });
    const watcher = new ResizeObserver(look);
    watcher.observe(region);
    for (const table of region.children) watcher.observe(table);
    new MutationObserver(() => {
      for (const table of region.children) watcher.observe(table);
      look();
    }).observe(region, { childList: true });
  }

  /* Light and dark, and paper. */
  const theme = byId("theme");
  function themeChanged() {
    theme.textContent = isDark() ? "Light" : "Dark";
    theme.setAttribute("aria-label", isDark() ? "Use light colours" : "Use dark colours");
    paint();
    for (const map of maps) map.redraw();
  }
  theme.addEventListener("click", () => {
    root.dataset.theme = isDark() ? "light" : "dark";
    themeChanged();
  });
  system.addEventListener("change", themeChanged);

  let before, folded = [];
  addEventListener("beforeprint", () => {
    before = root.dataset.theme;
    root.dataset.theme = "light";
    root.dataset.printing = "1";
    folded = [...document.querySelectorAll("details:not([open])")];
    for (const details of folded) details.open = true;
    columns.redraw(true);
    themeChanged();
  });
  addEventListener("afterprint", () => {
    if (before) root.dataset.theme = before;
    else delete root.dataset.theme;
    delete root.dataset.printing;
    for (const details of folded) details.open = false;
    columns.redraw();
    themeChanged();
  });

  for (const link of document.querySelectorAll('nav a[href="#fit-section"]')) {
    link.addEventListener("click", () => byId("fit-section").querySelector("details").setAttribute("open", ""));
  }

  themeChanged();
  filterChanged();
})();
