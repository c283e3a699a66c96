// SPDX-License-Identifier: Apache-2.0
// Going about: groups and boxes, the other picture, the address, search, pointer, keys, SVG and paper.
const boxOfMember = (pane, member) => pane.picture.groups[pane.group].members.indexOf(member);

/** To a group, with a box of it chosen or none. */
function go(pane, g, box, quiet) {
  const moved = g !== pane.group;
  pane.group = g;
  pane.box = box;
  pane.linked = new Set();
  if (moved) show(pane, false);
  else paint(pane);
  if (!moved && box >= 0) bringIn(pane);
  if (quiet) return;
  if (two) follow(pane);
  showPanel(pane);
  remember();
  live.textContent = box >= 0 ? describe(pane, pane.boxes[box]) : `${groupName(pane.picture, g)}, ${pane.boxes.length} boxes`;
}
function choose(pane, box) { go(pane, pane.group, box); }
function goNode(pane, n) {
  const g = pane.picture.nodes[n].parent;
  go(pane, g, pane.picture.groups[g].members.indexOf(n));
}
function goGroup(pane, g) { go(pane, g, -1); }
function open(pane) {
  const box = pane.boxes[pane.box];
  if (!box) return;
  if (box.side) { followPort(pane, box); return; }
  if (box.member < 0) go(pane, ~box.member, pane.picture.groups[~box.member].members.length ? 0 : -1);
}
function up(pane) {
  const g = pane.group, parent = pane.picture.groups[g].parent;
  if (parent >= 0) go(pane, parent, pane.picture.groups[parent].members.indexOf(~g));
  else choose(pane, -1);
}
function followPort(pane, box) {
  const made = box.values[0], {picture} = pane;
  const n = picture.maker.get(made);
  if (box.side === 'in') { if (n !== undefined) goNode(pane, n); return; }
  const inside = new Set(nodesIn(picture, pane.group));
  const reader = picture.nodes.findIndex((node, i) => node && !inside.has(i) && readBy(node).some((v) => v === made || (v >= 0 && valueOf(picture, v).of === made)));
  if (reader >= 0) goNode(pane, reader);
}

/** The other picture shows what came of the choice, or what it came from. */
function follow(pane) {
  const other = panes[1 - pane.p], {picture} = pane;
  const box = pane.boxes[pane.box];
  let mine;
  if (box && !box.side) mine = box.member >= 0 ? [box.member] : nodesIn(picture, ~box.member);
  else if (pane.box < 0 && pane.group > 0) mine = nodesIn(picture, pane.group);
  else if (pane.box < 0) { if (other.group !== 0 || other.box >= 0) go(other, 0, -1, true); return; }
  else return;
  const there = [...new Set(mine.flatMap((n) => linkOf[pane.p].get(n) || []))];
  if (!there.length) { other.box = -1; other.linked = new Set(); paint(other); return; }
  const chain = (n) => {
    const out = [];
    for (let g = other.picture.nodes[n].parent; g >= 0; g = other.picture.groups[g].parent) out.unshift(g);
    return out;
  };
  let common = chain(there[0]);
  for (const n of there) {
    const next = chain(n);
    let i = 0;
    while (i < common.length && i < next.length && common[i] === next[i]) ++i;
    common = common.slice(0, i);
  }
  const g = common[common.length - 1], depth = common.length;
  const moved = other.group !== g;
  other.group = g;
  other.box = -1;
  other.linked = new Set(there.map((n) => {
    const next = chain(n);
    return other.picture.groups[g].members.indexOf(next.length > depth ? ~next[depth] : n);
  }));
  if (moved) show(other, false);
  else paint(other);
  bringIn(other);
}

function neighbour(pane, key) {
  const group = pane.picture.groups[pane.group], layout = pane.picture.layouts[group.layout];
  if (pane.box < 0) return pane.boxes.length ? 0 : -1;
  const x = (i) => layout.at[2 * i], y = (i) => layout.at[2 * i + 1];
  const near = (list) => list.sort((a, b) => Math.abs(x(a) - x(pane.box)) - Math.abs(x(b) - x(pane.box)) || Math.abs(y(a) - y(pane.box)) - Math.abs(y(b) - y(pane.box)))[0];
  let found;
  if (key === 'ArrowDown') found = near(group.wires.filter((w) => w[0] === pane.box).map((w) => w[1]));
  else if (key === 'ArrowUp') found = near(group.wires.filter((w) => w[1] === pane.box).map((w) => w[0]));
  else {
    const right = key === 'ArrowRight';
    const beside = pane.boxes.map((_, i) => i).filter((i) => i !== pane.box && (right ? x(i) > x(pane.box) : x(i) < x(pane.box)));
    const far = (i) => Math.abs(x(i) - x(pane.box)) + 4 * Math.abs(y(i) - y(pane.box));
    found = beside.sort((a, b) => far(a) - far(b))[0];
  }
  return found === undefined ? pane.box : found;
}

let own = '';
function remember() {
  const parts = new URLSearchParams();
  panes.forEach((pane, p) => {
    const box = pane.boxes[pane.box];
    if (box && box.member >= 0) parts.set(`n${p}`, pane.picture.nodes[box.member].name.slice(0, 2000));
    else if (box && box.member < 0) parts.set(`b${p}`, ~box.member);
    if (pane.group > 0) parts.set(`g${p}`, pane.group);
  });
  parts.set('by', mode.id);
  own = '#' + parts;
  if (location.hash !== own) history.pushState(null, '', own);
}
function recall() {
  if (location.hash === own && own) return;
  const parts = new URLSearchParams(location.hash.slice(1));
  mode = modes.find((m) => m.id === parts.get('by')) || mode;
  select.value = mode.id;
  let chosen = null;
  panes.forEach((pane, p) => {
    const {picture} = pane;
    const g = Number(parts.get(`g${p}`) || 0), name = parts.get(`n${p}`), b = Number(parts.get(`b${p}`) || 0);
    pane.group = Number.isInteger(g) && g >= 0 && g < picture.groups.length ? g : 0;
    pane.box = -1;
    pane.linked = new Set();
    // Names in bodies may come again: in the group first.
    const named = (node) => node && node.name.slice(0, 2000) === name;
    const beside = name === null ? -1 : picture.nodes.findIndex((node) => named(node) && node.parent === pane.group);
    const n = name === null || beside >= 0 ? beside : picture.nodes.findIndex(named);
    if (n >= 0) {
      pane.group = picture.nodes[n].parent;
      pane.box = boxOfMember(pane, n);
    } else if (b > 0) {
      pane.box = boxOfMember(pane, ~b);
    }
    if (pane.box >= 0) chosen = chosen || pane;
  });
  for (const pane of panes) show(pane, false);
  if (chosen) { activate(chosen); if (two) follow(chosen); }
  showPanel(active);
}
window.addEventListener('popstate', recall);
window.addEventListener('hashchange', recall);
function refresh() {
  select.value = mode.id;
  for (const pane of panes) show(pane, true);
  showPanel(active);
  remember();
}

let found = [], marked = 0;
function search() {
  const words = input.value.toLowerCase().split(/\s+/).filter(Boolean);
  found = [];
  marked = 0;
  if (words.length)
    for (const pane of panes) {
      pane.picture.nodes.forEach((node, n) => {
        if (!node || found.length >= 60) return;
        const rules = (node.on || []).flatMap((on) => on.findings || []).map((f) => f.rule);
        const text = [node.op, node.name, ...node.outputs.map((v) => v >= 0 ? valueOf(pane.picture, v).name : ''), ...rules].join(' ').toLowerCase();
        if (words.every((w) => text.includes(w))) found.push({pane, n, text: `${short(node.op, 24)}  ${shortEnd(node.name, 70)}${within(pane.picture, n, 24)}`});
      });
      pane.picture.groups.forEach((group, g) => {
        if (g > 0 && found.length < 60 && words.every((w) => group.name.toLowerCase().includes(w))) found.push({pane, g, text: `group  ${short(pane.picture.path(g), 70)}`});
      });
    }
  hits.replaceChildren(...found.map((hit, i) => el('li', {role: 'option', id: `hit${i}`, 'aria-selected': String(i === marked), onpointerdown: (e) => { e.preventDefault(); take(i); }}, (two ? (hit.pane.p ? 'right: ' : 'left: ') : '') + hit.text)));
  if (words.length && !found.length) hits.append(el('li', {class: 'none'}, 'nothing of that name'));
  hits.hidden = !words.length;
  input.setAttribute('aria-expanded', String(!hits.hidden));
  input.setAttribute('aria-activedescendant', found.length ? 'hit0' : '');
}
function mark(i) {
  marked = (i + found.length) % Math.max(found.length, 1);
  [...hits.children].forEach((li, j) => li.setAttribute('aria-selected', String(j === marked)));
  input.setAttribute('aria-activedescendant', `hit${marked}`);
  if (hits.children[marked]) hits.children[marked].scrollIntoView({block: 'nearest'});
}
function take(i) {
  const hit = found[i];
  if (!hit) return;
  closeSearch();
  activate(hit.pane);
  if (hit.g !== undefined) goGroup(hit.pane, hit.g);
  else goNode(hit.pane, hit.n);
  hit.pane.svg.focus();
}
function closeSearch() {
  hits.hidden = true;
  input.setAttribute('aria-expanded', 'false');
}
input.addEventListener('input', search);
input.addEventListener('focus', () => { if (input.value) search(); });
input.addEventListener('blur', closeSearch);
input.addEventListener('keydown', (e) => {
  if (e.key === 'ArrowDown') mark(marked + 1);
  else if (e.key === 'ArrowUp') mark(marked - 1);
  else if (e.key === 'Enter') take(marked);
  else if (e.key === 'Escape') { closeSearch(); active.svg.focus(); }
  else return;
  e.preventDefault();
});

for (const pane of panes) {
  const {svg} = pane;
  const pointers = new Map();
  let moved = 0;
  svg.addEventListener('wheel', (e) => {
    e.preventDefault();
    const r = svg.getBoundingClientRect();
    if (e.ctrlKey || !e.shiftKey) zoom(pane, Math.exp(-Math.max(-60, Math.min(60, e.deltaY)) / 220), e.clientX - r.left, e.clientY - r.top);
    else { pane.x -= e.deltaX || e.deltaY; place(pane); }
  }, {passive: false});
  svg.addEventListener('pointerdown', (e) => { pointers.set(e.pointerId, [e.clientX, e.clientY]); moved = 0; });
  svg.addEventListener('pointermove', (e) => {
    const last = pointers.get(e.pointerId);
    if (!last) return;
    const at = [e.clientX, e.clientY];
    if (pointers.size === 2) {
      const [other] = [...pointers].filter(([id]) => id !== e.pointerId).map(([, p]) => p);
      const far = (p) => Math.hypot(p[0] - other[0], p[1] - other[1]) || 1;
      const r = svg.getBoundingClientRect();
      zoom(pane, far(at) / far(last), other[0] - r.left, other[1] - r.top);
    } else {
      moved += Math.abs(at[0] - last[0]) + Math.abs(at[1] - last[1]);
      if (moved > 4) {
        if (!svg.hasPointerCapture(e.pointerId)) svg.setPointerCapture(e.pointerId);
        pane.x += at[0] - last[0];
        pane.y += at[1] - last[1];
        place(pane);
      }
    }
    pointers.set(e.pointerId, at);
  });
  const end = (e) => pointers.delete(e.pointerId);
  svg.addEventListener('pointerup', end);
  svg.addEventListener('pointercancel', end);
  const boxAt = (e) => { const g = e.target.closest('[data-box]'); return g ? +g.getAttribute('data-box') : -1; };
  svg.addEventListener('click', (e) => { if (moved <= 4) choose(pane, boxAt(e)); });
  svg.addEventListener('dblclick', (e) => { const i = boxAt(e); if (i >= 0) { pane.box = i; open(pane); } });
}
document.addEventListener('keydown', (e) => {
  if (e.ctrlKey || e.metaKey || e.altKey || help.open || e.target === input) return;
  if (e.key === '/') { e.preventDefault(); input.focus(); input.select(); return; }
  if (e.target instanceof HTMLSelectElement || (e.target instanceof HTMLButtonElement && (e.key === 'Enter' || e.key === ' ')) || (e.target.closest && e.target.closest('summary') && e.key === 'Enter')) return;
  const scrolls = e.target === aside || aside.contains(e.target);
  if (e.key.startsWith('Arrow')) { if (scrolls) return; choose(active, neighbour(active, e.key)); }
  else if (e.key === 'Enter') open(active);
  else if (e.key === 'Backspace' || e.key === 'Escape') up(active);
  else if (e.key === '+' || e.key === '=') zoom(active, 1.25);
  else if (e.key === '-') zoom(active, 1 / 1.25);
  else if (e.key === '0') fit(active, true);
  else if (e.key === 'm') { mode = modes[(modes.indexOf(mode) + 1) % modes.length]; refresh(); }
  else if (e.key === 's') save(active);
  else if (e.key === '?') help.showModal();
  else return;
  e.preventDefault();
});

function svgText(pane) {
  const layout = pane.picture.layouts[pane.picture.groups[pane.group].layout];
  const copy = pane.svg.cloneNode(true);
  const styled = ['fill', 'fill-opacity', 'stroke', 'stroke-width', 'stroke-dasharray', 'font-size', 'font-weight', 'font-family'];
  const from = pane.svg.querySelectorAll('*'), to = copy.querySelectorAll('*');
  from.forEach((element, i) => {
    if (!/^(rect|path|text)$/.test(element.localName)) return;
    const style = getComputedStyle(element);
    to[i].removeAttribute('style');
    for (const key of styled) to[i].setAttribute(key, style.getPropertyValue(key));
  });
  const pad = 12;
  copy.lastElementChild.removeAttribute('transform');
  copy.setAttribute('xmlns', SVG);
  copy.setAttribute('viewBox', `${-pad} ${-pad} ${layout.w + 2 * pad} ${layout.h + 2 * pad}`);
  copy.setAttribute('width', layout.w + 2 * pad);
  copy.setAttribute('height', layout.h + 2 * pad);
  const ground = draw('rect', {x: -pad, y: -pad, width: layout.w + 2 * pad, height: layout.h + 2 * pad, fill: getComputedStyle(document.body).backgroundColor});
  copy.insertBefore(ground, copy.firstChild);
  return new XMLSerializer().serializeToString(copy);
}
function save(pane) {
  const url = URL.createObjectURL(new Blob([svgText(pane)], {type: 'image/svg+xml'}));
  const name = (groupName(pane.picture, pane.group) || 'model').replace(/[^\w.-]+/g, '_').slice(0, 60);
  el('a', {href: url, download: `${name}.svg`}).click();
  setTimeout(() => URL.revokeObjectURL(url), 10000);
}
window.addEventListener('beforeprint', () => {
  for (const pane of panes) {
    const layout = pane.picture.layouts[pane.picture.groups[pane.group].layout];
    pane.svg.setAttribute('viewBox', `-8 -8 ${layout.w + 16} ${layout.h + 16}`);
    pane.canvas.removeAttribute('transform');
  }
});
window.addEventListener('afterprint', () => {
  for (const pane of panes) { pane.svg.removeAttribute('viewBox'); place(pane); }
});
let waiting = 0;
window.addEventListener('resize', () => {
  cancelAnimationFrame(waiting);
  waiting = requestAnimationFrame(() => { for (const pane of panes) fit(pane, false); });
});

activate(panes[0]);
recall();
document.documentElement.setAttribute('data-ready', '');
