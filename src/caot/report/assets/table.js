// The table of texts: searched, filtered, sorted, a page at a time.

const PAGE_SIZE = 50;

function makeTable() {
  const body = byId("rows");
  const count = byId("row-count");
  const pageName = byId("page-name");
  const sort = { by: "row", down: false };
  let page = 0;
  let order = [];

  const values = {
    row: (i) => i,
    cluster: (i) => rank[DATA.cluster[i]] ?? K,
    confidence: (i) => DATA.confidence[i],
  };
  const rank = {};
  DATA.clusters
    .map((cluster, k) => [cluster.label, k])
    .sort((a, b) => a[0].localeCompare(b[0]))
    .forEach(([, k], place) => { rank[k] = place; });

  function collect() {
    order = [];
    for (let i = 0; i < N; i++) if (state.match[i]) order.push(i);
    const value = values[sort.by];
    const sign = sort.down ? -1 : 1;
    order.sort((a, b) => sign * (value(a) - value(b)) || a - b);
    page = 0;
    show();
  }

  // Appends the text with the searched words marked; folding that changes lengths marks nothing.
  function appendMarked(cell, text) {
    const plain = fold(text);
    if (!state.terms.length || plain.length !== text.length) {
      cell.append(text);
      return;
    }
    const marked = new Uint8Array(text.length);
    for (const term of state.terms) {
      for (let at = plain.indexOf(term); at >= 0; at = plain.indexOf(term, at + term.length))
        marked.fill(1, at, at + term.length);
    }
    for (let from = 0; from < text.length; ) {
      let to = from;
      while (to < text.length && marked[to] === marked[from]) to++;
      const piece = text.slice(from, to);
      cell.append(marked[from] ? element("mark", "", piece) : piece);
      from = to;
    }
  }

  function clusterCell(k) {
    const cell = element("td", "cell-cluster");
    const button = element("button", "chip");
    button.type = "button";
    button.dataset.cluster = k;
    button.append(element("span", `dot ${clusterClass(k)}`), element("bdi", "", clusterName(k)));
    button.title = "Isolate this cluster";
    cell.append(button);
    return cell;
  }

  function confidenceCell(i) {
    const cell = element("td", "cell-confidence");
    const bar = element("span", "meter");
    const fill = element("span", "meter-fill");
    fill.style.width = `${DATA.confidence[i] / 10}%`;
    bar.append(fill);
    cell.append(bar, element("span", "number", percent(DATA.confidence[i])));
    return cell;
  }

  function secondCell(i) {
    const cell = element("td", "cell-second");
    const k = DATA.second[i];
    if (k === NO_CLUSTER) return cell;
    cell.append(element("bdi", "", clusterName(k)), ` ${percent(DATA.secondConfidence[i])}`);
    return cell;
  }

  function row(i) {
    const line = element("tr");
    const name = element("th", "cell-row", rowName(i));
    name.scope = "row";
    const text = element("td", "cell-text");
    text.dir = "auto";
    appendMarked(text, DATA.texts[i]);
    line.append(name, text, clusterCell(DATA.cluster[i]), confidenceCell(i));
    if (DATA.second) line.append(secondCell(i));
    return line;
  }

  function show() {
    const pages = Math.max(1, Math.ceil(order.length / PAGE_SIZE));
    page = Math.max(0, Math.min(page, pages - 1));
    const from = page * PAGE_SIZE;
    body.replaceChildren(...order.slice(from, from + PAGE_SIZE).map(row));
    byId("no-rows").hidden = order.length > 0;
    count.textContent = `${order.length.toLocaleString("en")} of ${N.toLocaleString("en")} texts`;
    pageName.textContent = `Page ${(page + 1).toLocaleString("en")} of ${pages.toLocaleString("en")}`;
    byId("page-first").disabled = byId("page-previous").disabled = page === 0;
    byId("page-next").disabled = byId("page-last").disabled = page === pages - 1;
  }

  function turn(to) {
    page = to;
    show();
    byId("texts-top").scrollIntoView({ block: "nearest" });
  }

  byId("page-first").addEventListener("click", () => turn(0));
  byId("page-previous").addEventListener("click", () => turn(page - 1));
  byId("page-next").addEventListener("click", () => turn(page + 1));
  byId("page-last").addEventListener("click", () => turn(Infinity));
  for (const button of document.querySelectorAll("[data-sort]")) {
    button.addEventListener("click", () => {
      sort.down = sort.by === button.dataset.sort ? !sort.down : false;
      sort.by = button.dataset.sort;
      for (const other of document.querySelectorAll("[data-sort]"))
        other.closest("th").setAttribute("aria-sort", other !== button ? "none" : sort.down ? "descending" : "ascending");
      collect();
    });
  }
  body.addEventListener("click", (event) => {
    const chip = event.target.closest("[data-cluster]");
    if (chip) toggleCluster(Number(chip.dataset.cluster), false);
  });

  const search = byId("search");
  let timer = 0;
  search.addEventListener("input", () => {
    clearTimeout(timer);
    timer = setTimeout(() => update({ terms: fold(search.value).split(/\s+/).filter(Boolean) }), 120);
  });
  byId("filter-confidence").addEventListener("change", (event) => {
    const [low, high] = event.target.value.split("-").map(Number);
    update({ low, high });
  });
  const clusters = byId("filter-cluster");
  clusters.addEventListener("change", () => {
    if (clusters.value === "all") isolate([]);
    else if (clusters.value !== "several") isolate([Number(clusters.value)]);
  });
  byId("filter-reset").addEventListener("click", () => {
    search.value = "";
    byId("filter-confidence").value = "0-1001";
    update({ selected: new Set(), terms: [], low: 0, high: 1001 });
  });

  listeners.push(() => {
    const [only] = state.selected;
    clusters.value = state.selected.size > 1 ? "several" : only ?? "all";
    collect();
  });
  collect();
}
