// Pointer, wheel and keys of the map.

const REACH = 9; // pixels within which a point counts as pointed at
const STILL = 4; // pixels that a click may move

function handleMapInput(box, map) {
  const pointers = new Map();
  let travelled = 0;

  function local(event) {
    const frame = box.getBoundingClientRect();
    return [event.clientX - frame.left, event.clientY - frame.top];
  }

  function pointAt(event) {
    const [x, y] = map.toMap(...local(event));
    return map.nearest(x, y, REACH / map.view.scale);
  }

  function spread() {
    const [a, b] = [...pointers.values()];
    return { gap: Math.hypot(a[0] - b[0], a[1] - b[1]), x: (a[0] + b[0]) / 2, y: (a[1] + b[1]) / 2 };
  }

  box.addEventListener("pointerdown", (event) => {
    if (event.target.closest("button") || event.button > 0) return;
    pointers.set(event.pointerId, local(event));
    box.setPointerCapture(event.pointerId);
    travelled = pointers.size > 1 ? Infinity : 0;
  });

  box.addEventListener("pointermove", (event) => {
    if (!pointers.has(event.pointerId)) {
      if (event.target.closest("button")) map.hover(-1);
      else map.hover(pointAt(event));
      return;
    }
    const before = pointers.get(event.pointerId);
    const now = local(event);
    if (pointers.size === 2) {
      const old = spread();
      pointers.set(event.pointerId, now);
      const fresh = spread();
      map.panBy(fresh.x - old.x, fresh.y - old.y);
      if (old.gap > 0) map.zoomBy(fresh.gap / old.gap, fresh.x, fresh.y);
      return;
    }
    travelled += Math.hypot(now[0] - before[0], now[1] - before[1]);
    pointers.set(event.pointerId, now);
    if (travelled > STILL) {
      box.classList.add("dragging");
      map.panBy(now[0] - before[0], now[1] - before[1]);
    }
  });

  function release(event) {
    if (!pointers.delete(event.pointerId)) return;
    box.classList.remove("dragging");
    if (event.type !== "pointerup" || travelled > STILL) return;
    const i = pointAt(event);
    if (i < 0) isolate([]);
    else if (event.pointerType === "touch") map.hover(i);
    else toggleCluster(DATA.cluster[i], event.shiftKey || event.ctrlKey || event.metaKey);
  }
  box.addEventListener("pointerup", release);
  box.addEventListener("pointercancel", release);
  box.addEventListener("pointerleave", () => map.hover(-1));

  // The page scrolls unless the map has been entered or a key is held.
  box.addEventListener(
    "wheel",
    (event) => {
      if (!box.contains(document.activeElement) && !event.ctrlKey && !event.metaKey) return;
      event.preventDefault();
      const step = event.deltaMode === 1 ? 20 * event.deltaY : event.deltaY;
      map.zoomBy(Math.exp(-Math.max(-120, Math.min(120, step)) / 300), ...local(event));
    },
    { passive: false },
  );

  // Walks through the texts that are shown, in the order of the input.
  let walked = -1;
  function walk(step) {
    if (!state.matches) return;
    do walked = (walked + step + N) % N;
    while (!state.match[walked]);
    const [x, y] = [map.places[2 * walked], map.places[2 * walked + 1]];
    const [px, py] = map.toScreen(x, y);
    const isOutside = px < 0 || py < 0 || px > map.view.width || py > map.view.height;
    if (isOutside) Object.assign(map.view, { x, y });
    map.hover(-1);
    if (isOutside) requestAnimationFrame(() => map.hover(walked));
    else map.hover(walked);
  }

  function nextCluster(step) {
    if (!K) return;
    const [current] = state.selected;
    isolate([current === undefined ? (step > 0 ? 0 : K - 1) : (current + step + K) % K]);
  }

  const keys = {
    ArrowLeft: () => map.panBy(60, 0),
    ArrowRight: () => map.panBy(-60, 0),
    ArrowUp: () => map.panBy(0, 60),
    ArrowDown: () => map.panBy(0, -60),
    "+": () => map.zoomBy(1.4),
    "=": () => map.zoomBy(1.4),
    "-": () => map.zoomBy(1 / 1.4),
    0: () => map.reset(),
    n: () => walk(1),
    p: () => walk(-1),
    PageDown: () => nextCluster(1),
    PageUp: () => nextCluster(-1),
    Escape: () => { map.hover(-1); isolate([]); },
  };
  box.addEventListener("keydown", (event) => {
    if (event.target !== box || event.ctrlKey || event.metaKey || event.altKey) return;
    if (!Object.hasOwn(keys, event.key)) return;
    event.preventDefault();
    keys[event.key]();
  });
}
