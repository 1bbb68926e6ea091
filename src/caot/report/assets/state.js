// What the reader has chosen, shared by the map, the table and the cards.

const DATA = JSON.parse(document.getElementById("data").textContent);
const N = DATA.texts.length;
const K = DATA.clusters.length;
const NO_CLUSTER = -1;

const state = {
  selected: new Set(), // numbers of isolated clusters; empty means all
  terms: [], // folded words that a text must contain
  low: 0, // confidence in thousandths, low <= c < high
  high: 1001,
  match: new Uint8Array(N).fill(1),
  matches: N,
};

const listeners = [];

function byId(id) {
  return document.getElementById(id);
}

function element(tag, className, text) {
  const node = document.createElement(tag);
  if (className) node.className = className;
  if (text !== undefined) node.textContent = text;
  return node;
}

// Lower case without accents; the length changes only for rare letters.
function fold(text) {
  return text.normalize("NFD").replace(/\p{M}/gu, "").toLowerCase();
}

function percent(thousandths) {
  return `${(thousandths / 10).toFixed(thousandths === 1000 ? 0 : 1)}%`;
}

function rowName(i) {
  if (DATA.ids) return DATA.ids[i];
  return String((DATA.rows ? DATA.rows[i] : i) + 1);
}

function clusterName(k) {
  return k === NO_CLUSTER ? "no cluster" : DATA.clusters[k].label;
}

function clusterClass(k) {
  return k === NO_CLUSTER ? "none" : `k${k}`;
}

let folded = null;

function isMatch(i) {
  if (state.selected.size && !state.selected.has(DATA.cluster[i])) return 0;
  const confidence = DATA.confidence[i];
  if (confidence < state.low || confidence >= state.high) return 0;
  if (!state.terms.length) return 1;
  folded ??= DATA.texts.map((text, j) => fold(`${rowName(j)} ${text}`));
  return state.terms.every((term) => folded[i].includes(term)) ? 1 : 0;
}

function update(change) {
  Object.assign(state, change);
  state.matches = 0;
  for (let i = 0; i < N; i++) state.matches += state.match[i] = isMatch(i);
  for (const listener of listeners) listener();
}

function isolate(clusters) {
  update({ selected: new Set(clusters) });
}

// A second click on the only isolated cluster shows all again; with add, several are compared.
function toggleCluster(k, add) {
  const selected = new Set(add ? state.selected : []);
  const wasAlone = state.selected.size === 1 && state.selected.has(k);
  if (add && state.selected.has(k)) selected.delete(k);
  else if (add || !wasAlone) selected.add(k);
  update({ selected });
}

const darkQuery = matchMedia("(prefers-color-scheme: dark)");
let isPrinting = false;

function isDark() {
  if (isPrinting) return false;
  const theme = document.documentElement.dataset.theme;
  return theme ? theme === "dark" : darkQuery.matches;
}
