// Joins the parts: legend, cards, theme, print.

const map = makeMap();
makeTable();

function showSelection() {
  const names = [...state.selected].map(clusterName);
  byId("selection").textContent = names.length
    ? `Isolated: ${names.join(" and ")}`
    : `All ${K} clusters`;
  byId("show-all").hidden = !names.length;
  for (const button of document.querySelectorAll("[data-isolate]")) {
    const isOn = state.selected.has(Number(button.dataset.isolate));
    button.setAttribute("aria-pressed", isOn);
  }
  for (const card of document.querySelectorAll(".card"))
    card.classList.toggle("chosen", state.selected.has(Number(card.dataset.card)));
  byId("map-count").textContent =
    state.matches === N ? "" : `${state.matches.toLocaleString("en")} texts match`;
}

listeners.push(showSelection);

document.addEventListener("click", (event) => {
  const button = event.target.closest("[data-isolate], [data-compare]");
  if (!button) return;
  if (button.dataset.compare) isolate(button.dataset.compare.split(" ").map(Number));
  else toggleCluster(Number(button.dataset.isolate), event.shiftKey || event.ctrlKey || event.metaKey);
  if (button.dataset.goto) byId(button.dataset.goto).scrollIntoView({ block: "start" });
});
byId("show-all").addEventListener("click", () => {
  isolate([]);
  byId("map-box").focus({ preventScroll: true });
});
byId("zoom-in").addEventListener("click", () => map.zoomBy(1.5));
byId("zoom-out").addEventListener("click", () => map.zoomBy(1 / 1.5));
byId("zoom-fit").addEventListener("click", () => map.reset());

// Cards: found by any word on them, sorted, the first two dozen open.
const deck = byId("deck");
const cards = [...deck.children];
const words = cards.map((card) => fold(card.textContent));
const FIRST = 24;
let isWhole = cards.length <= FIRST;

function showCards() {
  const terms = fold(byId("find-cluster").value).split(/\s+/).filter(Boolean);
  let shown = 0;
  for (const [i, card] of cards.entries()) {
    const isFound = terms.every((term) => words[i].includes(term));
    shown += isFound;
    card.classList.toggle("folded", !isFound || (!terms.length && !isWhole && shown > FIRST));
  }
  byId("more-cards").hidden = isWhole || terms.length > 0;
  byId("card-count").textContent = `${shown} of ${cards.length} clusters`;
}

function sortCards(by) {
  const keys = {
    size: (card) => -Number(card.dataset.size),
    confidence: (card) => Number(card.dataset.confidence),
  };
  const order = cards.map((_, i) => i);
  if (by === "label") order.sort((a, b) => cards[a].dataset.label.localeCompare(cards[b].dataset.label));
  else order.sort((a, b) => keys[by](cards[a]) - keys[by](cards[b]));
  const sortedCards = order.map((i) => cards[i]);
  const sortedWords = order.map((i) => words[i]);
  cards.splice(0, cards.length, ...sortedCards);
  words.splice(0, words.length, ...sortedWords);
  deck.append(...cards);
  showCards();
}

byId("find-cluster").addEventListener("input", showCards);
byId("sort-cards").addEventListener("change", (event) => sortCards(event.target.value));
byId("more-cards").addEventListener("click", () => {
  isWhole = true;
  showCards();
});
// A link to a card unfolds it.
document.addEventListener("click", (event) => {
  const link = event.target.closest('a[href^="#cluster-"]');
  const card = link && document.querySelector(link.getAttribute("href"));
  if (card?.classList.contains("folded")) {
    byId("find-cluster").value = "";
    isWhole = true;
    showCards();
  }
});

// Theme: as the system has it, until the switch is used; remembered where that is allowed.
const root = document.documentElement;
const themeButton = byId("theme");

function showTheme() {
  themeButton.setAttribute("aria-pressed", isDark());
  map.recolour();
}

function remembered() {
  try {
    return localStorage.getItem("caot-theme");
  } catch {
    return null;
  }
}

if (["light", "dark"].includes(remembered())) root.dataset.theme = remembered();
themeButton.addEventListener("click", () => {
  root.dataset.theme = isDark() ? "light" : "dark";
  try {
    localStorage.setItem("caot-theme", root.dataset.theme);
  } catch {
    // A page opened from a file may not be allowed to remember.
  }
  showTheme();
});
darkQuery.addEventListener("change", showTheme);

function setPrinting(value) {
  isPrinting = value;
  map.recolour();
  map.redraw();
}
window.addEventListener("beforeprint", () => setPrinting(true));
window.addEventListener("afterprint", () => setPrinting(false));

root.classList.add("live");
showTheme();
showCards();
showSelection();
