// The map: pan, zoom, hover, isolate.

function makeMap() {
  const box = byId("map-box");
  const overlay = byId("map-overlay");
  const tip = byId("map-tip");
  const ink = overlay.getContext("2d");
  const places = new Float32Array(2 * N);
  for (let i = 0; i < N; i++) {
    places[2 * i] = DATA.x[i] / 32767 - 1;
    places[2 * i + 1] = DATA.y[i] / 32767 - 1;
  }
  const nearest = gridIndex(places);
  const anchors = DATA.clusters.map((cluster) => cluster.at.map((value) => value / 32767 - 1));
  const bySize = DATA.clusters.map((_, k) => k).sort((a, b) => DATA.clusters[b].size - DATA.clusters[a].size);
  const extent = [0, 1].map((axis) => {
    let most = 0.05;
    for (let i = 0; i < N; i++) most = Math.max(most, Math.abs(places[2 * i + axis]));
    return most;
  });
  const view = { x: 0, y: 0, zoom: 1, scale: 1, width: 1, height: 1, ratio: 1, layers: [] };
  let canvas = byId("map-points");
  let points = webglPoints(canvas, places);
  if (!points) {
    // A canvas that was asked for WebGL may refuse another kind.
    const fresh = canvas.cloneNode();
    canvas.replaceWith(fresh);
    canvas = fresh;
    points = canvasPoints(canvas, places);
  }
  box.dataset.renderer = points.kind;
  // What a WebGL canvas shows is not always printed; what a plain one shows is.
  const paper = canvasPoints(overlay, places);
  let hovered = -1;
  let isQueued = false;

  function toScreen(x, y) {
    return [view.width / 2 + (x - view.x) * view.scale, view.height / 2 - (y - view.y) * view.scale];
  }

  function toMap(px, py) {
    return [view.x + (px - view.width / 2) / view.scale, view.y - (py - view.height / 2) / view.scale];
  }

  function measure() {
    view.width = box.clientWidth || 1;
    view.height = box.clientHeight || 1;
    view.ratio = isPrinting ? 2 : Math.min(window.devicePixelRatio || 1, 3);
    for (const each of [canvas, overlay]) {
      each.width = Math.round(view.width * view.ratio);
      each.height = Math.round(view.height * view.ratio);
    }
  }

  function pointSize() {
    const base = Math.min(9, Math.max(3, 2.4 + 130 / Math.sqrt(N + 200)));
    return base * Math.min(2.2, view.zoom ** 0.3);
  }

  function draw() {
    isQueued = false;
    const fit = 0.93 * Math.min(view.width / 2 / extent[0], view.height / 2 / extent[1]);
    view.scale = fit * view.zoom;
    const size = pointSize();
    const isAll = state.matches === N;
    view.layers = [
      { match: 0, size: size * 0.75, alpha: isDark() ? 0.16 : 0.12 },
      { match: 1, size: isAll ? size : size * 1.15, alpha: N > 5000 && isAll ? 0.7 : 0.85 },
    ];
    if (isPrinting) paper.draw(view);
    else points.draw(view);
    drawOverlay();
  }

  function queue() {
    if (!isQueued) requestAnimationFrame(draw);
    isQueued = true;
  }

  function drawOverlay() {
    const style = isPrinting
      ? { surface: "#ffffff", ink: "#1d2327" }
      : {
          surface: getComputedStyle(box).backgroundColor,
          ink: getComputedStyle(box).color,
        };
    ink.setTransform(view.ratio, 0, 0, view.ratio, 0, 0);
    if (!isPrinting) ink.clearRect(0, 0, view.width, view.height);
    ink.globalAlpha = 1;
    ink.font = `600 11.5px ${getComputedStyle(document.body).fontFamily}`;
    ink.textAlign = "center";
    ink.textBaseline = "middle";
    for (const { x, y, half, label } of namePlaces()) {
      ink.fillStyle = style.surface;
      ink.globalAlpha = 0.74;
      ink.beginPath();
      ink.roundRect(x - half, y - 9, 2 * half, 18, 6);
      ink.fill();
      ink.globalAlpha = 1;
      ink.fillStyle = style.ink;
      ink.fillText(label, x, y);
    }
    if (hovered >= 0) {
      const [x, y] = toScreen(places[2 * hovered], places[2 * hovered + 1]);
      ink.strokeStyle = style.ink;
      ink.lineWidth = 2;
      ink.beginPath();
      ink.arc(x, y, pointSize() / 2 + 3, 0, 2 * Math.PI);
      ink.stroke();
    }
  }

  // Names of the largest clusters in view, moved a little where they would overlap; more of them
  // the closer one looks.
  function namePlaces() {
    // The buttons in the corner come first.
    const taken = [{ x: view.width - 30, y: view.height - 66, half: 30, tall: 66 }];
    const most = view.width < 600 ? 10 : 26 * view.zoom ** 1.5;
    const asked = bySize.filter((k) => !state.selected.size || state.selected.has(k));
    for (const k of asked) {
      if (taken.length > most) break;
      const [exact, middle] = toScreen(...anchors[k]);
      if (exact < 0 || exact > view.width) continue;
      const label = shorten(DATA.clusters[k].label, view.width < 600 ? 18 : 26);
      const half = ink.measureText(label).width / 2 + 6;
      const x = Math.max(half + 4, Math.min(exact, view.width - half - 4));
      const isFree = (y) =>
        y > 14 && y < view.height - 14 &&
        taken.every((t) => Math.abs(t.x - x) > t.half + half || Math.abs(t.y - y) > t.tall + 10);
      const y = [-14, 16, 0, -34, 36].map((step) => middle + step).find(isFree);
      if (y !== undefined) taken.push({ x, y, half, tall: 10, label });
    }
    return taken.slice(1);
  }

  function hover(i) {
    if (i === hovered) return;
    hovered = i;
    tip.hidden = i < 0;
    box.classList.toggle("over", i >= 0);
    if (i >= 0) {
      const k = DATA.cluster[i];
      const head = element("p", "tip-head");
      head.append(element("span", `dot ${clusterClass(k)}`), element("bdi", "", clusterName(k)));
      const body = element("p", "tip-text", DATA.texts[i]);
      body.dir = "auto";
      tip.replaceChildren(head, body, element("p", "tip-foot", `${DATA.ids ? "id" : "row"} ${rowName(i)} · confidence ${percent(DATA.confidence[i])}`));
      const [x, y] = toScreen(places[2 * i], places[2 * i + 1]);
      const left = x + 16 + tip.offsetWidth > view.width ? x - 16 - tip.offsetWidth : x + 16;
      const top = Math.min(view.height - tip.offsetHeight - 8, y - 20);
      tip.style.transform = `translate(${Math.round(Math.max(8, Math.min(left, view.width - tip.offsetWidth - 8)))}px, ${Math.round(Math.max(8, top))}px)`;
    }
    queue();
  }

  function zoomBy(factor, px = view.width / 2, py = view.height / 2) {
    const [x, y] = toMap(px, py);
    const zoom = Math.min(60, Math.max(0.6, view.zoom * factor));
    const change = zoom / view.zoom;
    view.x = x + (view.x - x) / change;
    view.y = y + (view.y - y) / change;
    view.zoom = zoom;
    hover(-1);
    queue();
  }

  function panBy(dx, dy) {
    view.x = Math.max(-1.2, Math.min(1.2, view.x - dx / view.scale));
    view.y = Math.max(-1.2, Math.min(1.2, view.y + dy / view.scale));
    hover(-1);
    queue();
  }

  function reset() {
    Object.assign(view, { x: 0, y: 0, zoom: 1 });
    hover(-1);
    queue();
  }

  function recolour() {
    points.recolour();
    paper.recolour();
    queue();
  }

  listeners.push(() => {
    points.rematch();
    if (hovered >= 0 && !state.match[hovered]) hover(-1);
    queue();
  });
  canvas.addEventListener("webglcontextlost", (event) => event.preventDefault());
  canvas.addEventListener("webglcontextrestored", () => {
    points.restart();
    points.rematch();
    recolour();
  });
  new ResizeObserver(() => { measure(); draw(); }).observe(box);
  points.rematch();
  points.recolour();
  measure();
  handleMapInput(box, { nearest, toMap, hover, zoomBy, panBy, reset, view, toScreen, places });
  return { recolour, redraw: () => { measure(); draw(); }, zoomBy, reset };
}

function shorten(text, limit) {
  return text.length > limit ? `${text.slice(0, limit - 1).trimEnd()}…` : text;
}
