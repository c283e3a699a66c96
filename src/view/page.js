// SPDX-License-Identifier: Apache-2.0
// The page of octet view: draws the groups of one or two pictures, whose places the file has, and
// says of what is chosen all that the file knows. Names reach the page as text only.
'use strict';
(() => {
const data = JSON.parse(document.getElementById('data').textContent);
const pictures = data.pictures;
const two = pictures.length > 1;
const [BOX_W, BOX_H, PORT_W, PORT_H] = data.sizes;
const SVG = 'http://www.w3.org/2000/svg';

// ---- small things

function el(tag, attributes, ...children) {
  const out = document.createElement(tag);
  for (const [key, value] of Object.entries(attributes || {}))
    if (key.startsWith('on')) out.addEventListener(key.slice(2), value);
    else if (value !== undefined && value !== false) out.setAttribute(key, value);
  out.append(...children.filter((c) => c !== null && c !== undefined));
  return out;
}
function draw(tag, attributes, text) {
  const out = document.createElementNS(SVG, tag);
  for (const [key, value] of Object.entries(attributes || {}))
    if (value !== undefined) out.setAttribute(key, value);
  if (text !== undefined) out.textContent = text;
  return out;
}
const short = (text, most) => {
  const letters = Array.from(text.length > 4 * most ? text.slice(0, 4 * most) : text);
  return letters.length <= most ? letters.join('') : letters.slice(0, most - 1).join('') + '…';
};
/** The end of a name tells more than its beginning. */
const shortEnd = (text, most) => {
  const letters = Array.from(text.length > 4 * most ? text.slice(-4 * most) : text);
  return letters.length <= most && text.length <= 4 * most ? text : '…' + letters.slice(1 - most).join('');
};
const number = (x) => {
  if (x === null || x === undefined) return '-';
  if (x === 0) return '0';
  const size = Math.abs(x);
  return size >= 1e5 || size < 1e-3 ? x.toExponential(2) : String(+x.toPrecision(4));
};
const scaled = (x, units) => {
  let i = 0;
  while (Math.abs(x) >= 1000 && i + 1 < units.length) { x /= 1000; ++i; }
  return (i === 0 && Number.isInteger(x) ? x : x.toPrecision(3)) + units[i];
};
const bytesText = (x) => scaled(x, [' B', ' kB', ' MB', ' GB']);
const workText = (x) => scaled(x, ['', ' k', ' M', ' G', ' T']);
const leaf = (name) => {
  const at = Math.max(name.lastIndexOf('/'), -1);
  return at >= 0 && at + 1 < name.length ? name.slice(at + 1) : name;
};

// ---- facts of nodes and groups

const linkOf = pictures.map(() => new Map());
for (const [a, b] of data.links || []) {
  if (!linkOf[0].has(a)) linkOf[0].set(a, []);
  linkOf[0].get(a).push(b);
  if (!linkOf[1].has(b)) linkOf[1].set(b, []);
  linkOf[1].get(b).push(a);
}
pictures.forEach((picture, p) => {
  picture.index = p;
  picture.short = picture.title.split('/').filter(Boolean).pop() || 'model';
  picture.path = (g) => {
    const parts = [];
    for (; g > 0; g = picture.groups[g].parent) parts.unshift(groupName(picture, g));
    return parts.join(' / ');
  };
  picture.copies = new Map();
  picture.groups.forEach((group, g) => {
    if (!picture.copies.has(group.alike)) picture.copies.set(group.alike, []);
    picture.copies.get(group.alike).push(g);
  });
  picture.maker = new Map();
  picture.nodes.forEach((node, n) => {
    if (node) for (const v of node.outputs) if (v >= 0) picture.maker.set(v, n);
  });
});
const valueOf = (picture, v) => picture.values[v];
const seenOf = (picture, v) => {
  const value = valueOf(picture, v);
  return value.seen || (value.of !== undefined ? valueOf(picture, value.of).seen : undefined);
};
function nodesIn(picture, g) {
  const out = [], open = [g];
  while (open.length)
    for (const m of picture.groups[open.pop()].members) m >= 0 ? out.push(m) : open.push(~m);
  return out;
}
const isStored = (value) => value.kind === 'constant' || value.stored !== undefined;

/** What is other in the counterparts of a node. */
function differences(p, n) {
  if (!two) return [];
  const picture = pictures[p], other = pictures[1 - p], node = picture.nodes[n];
  const there = linkOf[p].get(n) || [];
  if (!there.length) return other.engine || picture.engine ? [] : ['no counterpart in the other model'];
  const out = [];
  for (const m of there) {
    const mate = other.nodes[m];
    if (picture.engine || other.engine) {
      const engine = picture.engine ? node : mate;
      const kind = (x) => /^(fp32|fp16|bf16|tf32|float)$/.test(x) ? 'float' : x;
      const model = picture.engine ? mate : node;
      const wanted = model.on && model.on[0] && model.on[0].precision, got = engine.on && engine.on[0].precision;
      if (wanted && got && !/^(fused|codes|untold|refused|bool|int32|int64)$/.test(wanted) &&
          !/^(untold|bool|int32|int64)$/.test(got) && kind(wanted) !== kind(got))
        out.push(`predicted ${wanted}, the engine runs ${got}`);
      continue;
    }
    const say = (what, mine, theirs) => { if (mine !== theirs) out.push(`${what}: ${mine} here, ${theirs} there`); };
    say('operator', node.op, mate.op);
    const attributes = (x) => new Map(x.attributes || []);
    const mine = attributes(node), theirs = attributes(mate);
    for (const key of new Set([...mine.keys(), ...theirs.keys()]))
      say(key, mine.has(key) ? mine.get(key) : 'none', theirs.has(key) ? theirs.get(key) : 'none');
    picture.targets.forEach((target, t) => {
      const on = (x) => (x.on && x.on[t] && x.on[t].precision) || 'nothing';
      say(`on ${target}`, on(node), on(mate));
    });
    const codes = (pic, x) => x.inputs.filter((v) => v >= 0 && valueOf(pic, v).behind)
        .map((v) => valueOf(pic, v).grid ? valueOf(pic, v).grid.codes : '?').join(', ') || 'float';
    say('reads', codes(picture, node), codes(other, mate));
  }
  return [...new Set(out)];
}

// ---- what nodes are coloured by

const PRECISIONS = {int8: 'int8', uint8: 'int8', fp8: 'fp8', fp4: 'fp4', codes: 'codes', fused: 'fused', refused: 'refused'};
const precisionColor = (precision) => `var(--${PRECISIONS[precision] || 'float'})`;
const maxOf = (list) => list.reduce((most, x) => Math.max(most, x), -Infinity);
const minOf = (list) => list.reduce((least, x) => Math.min(least, x), Infinity);

function errorOf(picture, node) {
  const all = [];
  for (const v of node.outputs) {
    const seen = v >= 0 && seenOf(picture, v);
    if (seen && seen.sqnr !== undefined) all.push(seen.sqnr);
    else if (seen && seen.alone !== undefined) all.push(seen.alone);
  }
  for (const v of node.inputs) {
    const seen = v >= 0 && isStored(valueOf(picture, v)) && seenOf(picture, v);
    if (seen && seen.grid && seen.alone !== undefined && seen.alone < 199) all.push(seen.alone);
  }
  return all.length ? minOf(all) : undefined;
}
function saturationOf(picture, node) {
  const all = [];
  for (const v of [...node.outputs, ...node.inputs]) {
    const seen = v >= 0 && seenOf(picture, v);
    if (seen && seen.saturated !== undefined) all.push(seen.saturated);
  }
  return all.length ? maxOf(all) : undefined;
}
const sum = (list) => list.reduce((a, b) => a + b, 0);
function amount(id, label, of, text, title) {
  return {
    id, label, title, of, join: sum, text,
    share: (x, picture) => { const all = picture.total[id]; return all > 0 ? Math.sqrt(x / all) : 0; },
    worse: (a, b) => b - a,
  };
}
const candidates = [
  {
    id: 'error', label: 'error (SQNR)', title: 'least signal over noise of what the node makes and of its weights',
    of: errorOf, join: minOf, text: (x) => `${x.toFixed(1)} dB`,
    share: (x) => Math.min(1, Math.max(0, (50 - x) / 40)), worse: (a, b) => a - b,
  },
  {
    id: 'saturated', label: 'saturation', title: 'largest share of numbers beyond what the codes stand for',
    of: saturationOf, join: maxOf, text: (x) => `${(100 * x).toPrecision(x >= 0.0995 ? 3 : 2)} %`,
    share: (x) => Math.min(1, Math.sqrt(x / 0.05)), worse: (a, b) => b - a,
  },
  amount('time', 'time', (_, node) => node.ms, (x) => `${x.toPrecision(3)} ms`, 'milliseconds of one run'),
  amount('work', 'multiply-adds', (_, node) => node.work, workText, 'multiply-adds of one run; open sizes count as 1'),
  amount('size', 'size', (_, node) => node.bytes, bytesText, 'bytes of the constants that are read'),
];
const modes = [{id: 'plain', label: 'nothing'}];
pictures[0].targets.forEach((target, t) => modes.push({id: `precision-${t}`, label: `precision on ${target}`, target: t}));
if (two) modes.push({id: 'difference', label: 'differences'});
for (const mode of candidates) {
  let any = false;
  for (const picture of pictures) {
    picture.total = picture.total || {};
    picture.facts = picture.facts || {};
    const nodes = picture.nodes.map((node) => node ? mode.of(picture, node) : undefined);
    const groups = new Array(picture.groups.length);
    for (let g = groups.length; g-- > 0;) {
      const inside = picture.groups[g].members.map((m) => m >= 0 ? nodes[m] : groups[~m]).filter((x) => x !== undefined);
      groups[g] = inside.length ? mode.join(inside) : undefined;
    }
    picture.facts[mode.id] = {nodes, groups};
    picture.total[mode.id] = groups[0];
    any = any || groups[0] !== undefined;
  }
  if (any) modes.push(mode);
}
pictures.forEach((picture, p) => {
  picture.changes = two ? picture.nodes.map((node, n) => node ? differences(p, n) : []) : [];
  picture.changedIn = new Array(picture.groups.length).fill(0);
  if (two)
    for (let g = picture.groups.length; g-- > 0;)
      for (const m of picture.groups[g].members)
        picture.changedIn[g] += m >= 0 ? (picture.changes[m].length > 0 ? 1 : 0) : picture.changedIn[~m];
});
const changeKind = (p, n) => !pictures[p].changes[n].length ? 'same' : linkOf[p].has(n) ? 'changed' : 'only';
const precisionOf = (node, t) => node.on && node.on[t] ? node.on[t].precision : undefined;

/** {fill, text, parts} of a member. */
function colorOf(pane, member) {
  const {picture} = pane;
  if (mode.id === 'plain') return {};
  if (mode.target !== undefined || mode.id === 'difference') {
    const kind = mode.target !== undefined ? (n) => precisionOf(picture.nodes[n], mode.target) : (n) => changeKind(picture.index, n);
    const color = mode.target !== undefined ? precisionColor : (x) => `var(--${x})`;
    if (member >= 0) {
      const x = kind(member);
      return x === undefined ? {} : {fill: color(x), text: x === 'same' ? '' : x};
    }
    const count = new Map();
    for (const n of nodesIn(picture, ~member)) {
      const x = kind(n);
      if (x !== undefined) count.set(x, (count.get(x) || 0) + 1 + (mode.target !== undefined && picture.nodes[n].work ? 1e-12 * picture.nodes[n].work : 0));
    }
    const all = sum([...count.values()]);
    return {parts: [...count].sort((a, b) => b[1] - a[1]).map(([x, c]) => [color(x), c / all, x])};
  }
  const facts = picture.facts[mode.id];
  const x = member >= 0 ? facts.nodes[member] : facts.groups[~member];
  if (x === undefined) return {};
  const share = Math.round(100 * mode.share(x, picture));
  return {fill: `color-mix(in oklab, var(--high) ${share}%, var(--low))`, text: mode.text(x)};
}

// ---- the frame

let mode = modes.find((m) => m.target !== undefined) || modes.find((m) => m.id === 'difference') || modes[0];
const title = pictures.map((p) => p.short).join('  |  ');
const input = el('input', {type: 'search', placeholder: 'search names and operators  ( / )', 'aria-label': 'search', autocomplete: 'off', role: 'combobox', 'aria-expanded': 'false', 'aria-controls': 'hits'});
const hits = el('ul', {class: 'hits', id: 'hits', role: 'listbox', hidden: ''});
const select = el('select', {'aria-label': 'colour by', onchange: () => { mode = modes.find((m) => m.id === select.value); refresh(); }});
for (const m of modes) select.append(el('option', {value: m.id}, m.label));
const help = el('dialog', {});
for (const [keys, what] of [['/', 'search'], ['↑ ↓', 'to what it reads, to what reads it'], ['← →', 'to the box beside'], ['Enter', 'open a group'],
  ['Backspace, Esc', 'up'], ['+ − 0', 'zoom in, out, fit'], ['Tab', 'to the other picture, to the panel'], ['m', 'colour by the next fact'], ['s', 'save as SVG'], ['?', 'this list']])
  help.append(el('p', {}, ...keys.split(' ').flatMap((k) => [el('kbd', {}, k), ' ']), ' ' + what));
help.append(el('form', {method: 'dialog'}, el('button', {onclick: (e) => { e.preventDefault(); help.close(); }}, 'close')));
const header = el('header', {},
  el('h1', {title: pictures.map((p) => p.title).join('  |  ')}, title),
  el('div', {class: 'search'}, input, hits),
  el('label', {}, 'colour ', select),
  el('button', {title: 'up (Backspace)', onclick: () => up(active)}, 'up'),
  el('button', {title: 'zoom out (-)', 'aria-label': 'zoom out', onclick: () => zoom(active, 1 / 1.25)}, '−'),
  el('button', {title: 'zoom in (+)', 'aria-label': 'zoom in', onclick: () => zoom(active, 1.25)}, '+'),
  el('button', {title: 'fit (0)', onclick: () => fit(active, true)}, 'fit'),
  el('button', {title: 'save this drawing (s)', onclick: () => save(active)}, 'SVG'),
  el('button', {title: 'keys (?)', 'aria-label': 'keys', onclick: () => help.showModal()}, '?'));
const holder = el('main', {class: 'panes'});
const aside = el('aside', {'aria-label': 'what is chosen', tabindex: '0'});
const live = el('div', {class: 'quiet', 'aria-live': 'polite'});
document.body.append(header, holder, aside, live, help);

const panes = pictures.map((picture, p) => {
  const crumbs = el('nav', {class: 'crumbs', 'aria-label': 'place in the model'});
  const svg = draw('svg', {tabindex: '0', role: 'application', 'aria-label': `picture of ${picture.title}: arrows choose, Enter opens`});
  const legend = el('div', {class: 'legend'});
  const section = el('section', {class: 'pane'}, crumbs, svg, legend);
  holder.append(section);
  const pane = {picture, p, crumbs, svg, legend, section, group: 0, box: -1, linked: new Set(), boxes: [], k: 1, x: 0, y: 0};
  svg.addEventListener('focus', () => activate(pane));
  section.addEventListener('pointerdown', () => activate(pane));
  return pane;
});
let active = panes[0];
function activate(pane) {
  active = pane;
  for (const each of panes) each.section.classList.toggle('active', each === pane);
}

// ---- drawings

/** The boxes of a group: {member} or {side, values}. */
function boxesOf(pane, g) {
  const group = pane.picture.groups[g];
  return [...group.members.map((member) => ({member})), ...group.in.map((values) => ({side: 'in', values})),
    ...group.out.map((values) => ({side: 'out', values}))];
}
function groupName(picture, g) {
  const group = picture.groups[g];
  if (g === 0) return short(picture.short, 40);
  if (!/^\d+ to \d+$/.test(group.name)) return group.name;
  const ends = [group.members[0], group.members[group.members.length - 1]];
  const label = (m, end) => m >= 0 ? shortEnd(leaf(picture.nodes[m].name), 18) : groupName(picture, ~m).split(' … ').at(end);
  return `${label(ends[0], 0)} … ${label(ends[1], -1)}`;
}
function portName(picture, box) {
  const name = valueOf(picture, box.values[0]).name;
  return box.values.length > 1 ? `${box.values.length} values: ${name}` : name;
}
function describe(pane, box) {
  const {picture} = pane;
  if (box.side) return `${box.side === 'in' ? 'from elsewhere' : 'to elsewhere'}: ${portName(picture, box)}`;
  if (box.member < 0) return `group ${groupName(picture, ~box.member)}, ${picture.groups[~box.member].nodes} nodes`;
  const node = picture.nodes[box.member];
  return `${node.op} ${node.name}`;
}

function pathData(points) {
  let out = `M${points[0]} ${points[1]}`;
  if (points.length === 4) return out + `L${points[2]} ${points[3]}`;
  for (let i = 2; i + 5 < points.length; i += 6) out += `C${points.slice(i, i + 6).join(' ')}`;
  return out;
}
function middle(points) {
  if (points.length === 4) return [(points[0] + points[2]) / 2, (points[1] + points[3]) / 2];
  const curves = (points.length - 2) / 6, at = Math.floor(curves / 2);
  const p = points.slice(6 * at, 6 * at + 8);
  if (curves % 2 === 0) return [p[0], p[1]];
  return [(p[0] + 3 * p[2] + 3 * p[4] + p[6]) / 8, (p[1] + 3 * p[3] + 3 * p[5] + p[7]) / 8];
}

/** f32[N, 3, h, w] with sizes that are long to write left out. */
const typeText = (type) => type.replace(/"[^"]*"/g, '…').replace(/[^\[\], ]{11,}/g, (word) => short(word, 9));
/** Text that is cut to a width when it is drawn: letters differ. */
function roomy(text, attributes, room, end) {
  const out = draw('text', attributes, text);
  out.room = room;
  out.cut = end ? shortEnd : short;
  return out;
}
function cutTexts(root) {
  const long = [];
  for (const text of root.querySelectorAll('text'))
    if (text.room) {
      const width = text.getComputedTextLength();
      if (width > text.room) long.push([text, Math.max(2, Math.floor(Array.from(text.textContent).length * text.room / width))]);
    }
  for (const [text, letters] of long) text.textContent = text.cut(text.textContent, letters);
  return long.length;
}

function drawBox(pane, box, i, x, y) {
  const {picture} = pane;
  const port = Boolean(box.side), w = port ? PORT_W : BOX_W, h = port ? PORT_H : BOX_H;
  const g = draw('g', {class: 'box', transform: `translate(${x - w / 2} ${y - h / 2})`, 'data-box': i});
  g.append(draw('title', {}, describe(pane, box)));
  if (port) {
    g.classList.add('port');
    g.append(draw('rect', {class: 'body', width: w, height: h, rx: 12}),
      roomy(shortEnd(portName(picture, box), 60), {class: 'small', x: w / 2, y: h / 2 + 4, 'text-anchor': 'middle'}, w - 16, true));
    return g;
  }
  const isGroup = box.member < 0, color = colorOf(pane, box.member);
  if (isGroup) g.append(draw('rect', {class: 'back', x: 4, y: 4, width: w, height: h, rx: 6}));
  const body = draw('rect', {class: 'body', width: w, height: h, rx: isGroup ? 6 : 4});
  if (color.fill) { body.style.fill = color.fill; g.classList.add('colored'); }
  g.classList.toggle('group', isGroup);
  g.append(body);
  const text = color.text || '';
  if (text) g.append(roomy(short(text, 14), {class: 'small', x: w - 7, y: 18, 'text-anchor': 'end'}, 60));
  if (isGroup) {
    const group = picture.groups[~box.member], copies = picture.copies.get(group.alike).length;
    g.append(roomy(shortEnd(groupName(picture, ~box.member), 60), {class: 'op', x: 8, y: 18}, w - 16 - (text ? 66 : 0), true),
      roomy(`${group.nodes} nodes${copies > 1 ? `, ×${copies} alike` : ''}`, {class: 'name', x: 8, y: 34}, w - 16 - (two ? 40 : 0)));
    let at = 0;
    for (const [fill, share, kind] of color.parts || []) {
      const part = draw('rect', {x: 4 + at * (w - 8), y: h - 7, width: Math.max(share * (w - 8), 1), height: 4});
      part.style.fill = fill;
      part.append(draw('title', {}, kind));
      g.append(part);
      at += share;
    }
    if (two && picture.changedIn[~box.member]) g.append(draw('text', {class: 'warn', x: w - 8, y: 33, 'text-anchor': 'end'}, `≠${picture.changedIn[~box.member]}`));
    return g;
  }
  const node = picture.nodes[box.member];
  const stored = node.inputs.filter((v) => v >= 0 && valueOf(picture, v).stored !== undefined && valueOf(picture, v).grid).map((v) => valueOf(picture, v).grid.codes);
  const findings = (node.on || []).some((on) => on.findings);
  const marks = (stored.length ? [`w ${stored[0]}`] : []);
  const changed = two && picture.changes[box.member].length > 0;
  const signs = (findings ? '!' : '') + (changed ? (linkOf[pane.p].has(box.member) ? '≠' : '+') : '');
  g.append(roomy(short(node.op, 60), {class: 'op', x: 8, y: 18}, w - 16 - (text ? 66 : 0)),
    roomy(shortEnd(leaf(node.name), 60), {class: 'name', x: 8, y: 35}, w - 16 - (marks.length ? 34 : 0) - 12 * signs.length, true));
  if (marks.length) g.append(draw('text', {class: 'mark', x: w - 7 - 10 * signs.length, y: 35, 'text-anchor': 'end'}, marks[0]));
  if (signs) g.append(draw('text', {class: 'warn', x: w - 6, y: 36, 'text-anchor': 'end'}, signs));
  return g;
}

function drawWires(pane, to, group, layout) {
  const {picture} = pane;
  const tags = group.wires.length <= 90;
  const top = [], said = new Set();
  group.wires.forEach((wire, i) => {
    const points = layout.routes[i];
    const value = valueOf(picture, wire[3]);
    const path = draw('path', {class: wire[2] > 1 ? 'wire many' : 'wire', d: pathData(points), 'marker-end': `url(#arrow${pane.p})`, 'data-wire': i});
    path.append(draw('title', {}, wire.slice(3).map((v) => `${valueOf(picture, v).name}: ${valueOf(picture, v).type || '?'}`).join('\n') + (wire[2] > wire.length - 3 ? `\n${wire[2]} in all` : '')));
    to.append(path);
    const [x, y] = middle(points);
    const codes = value.behind && value.grid ? value.grid.codes : value.behind ? 'codes' : '';
    if (codes) {
      const width = 7 + 5.6 * codes.length;
      top.push(draw('rect', {class: 'pill', x: x - width / 2, y: y - 7, width, height: 13, rx: 6.5}), draw('text', {class: 'pilltext', x, y: y + 3, 'text-anchor': 'middle'}, codes));
    }
    const made = value.of === undefined ? wire[3] : value.of;
    if (tags && wire[2] === 1 && value.type && !said.has(made)) {
      said.add(made);
      top.push(draw('text', {class: 'tag', x: x + (codes ? 7 + 2.8 * codes.length : 5), y: y + 3}, short(typeText(value.type), 26)));
    }
  });
  return top;
}

function show(pane, keepView) {
  const {picture, svg} = pane, group = picture.groups[pane.group], layout = picture.layouts[group.layout];
  pane.boxes = boxesOf(pane, pane.group);
  const defs = draw('defs');
  const marker = draw('marker', {id: `arrow${pane.p}`, viewBox: '0 0 8 8', refX: 7, refY: 4, markerWidth: 7, markerHeight: 7, orient: 'auto', markerUnits: 'userSpaceOnUse'});
  marker.append(draw('path', {class: 'arrow', d: 'M0 0L8 4L0 8z'}));
  defs.append(marker);
  pane.canvas = draw('g');
  const wires = draw('g'), boxes = draw('g');
  const tags = drawWires(pane, wires, group, layout);
  pane.boxes.forEach((box, i) => boxes.append(drawBox(pane, box, i, layout.at[2 * i], layout.at[2 * i + 1])));
  const over = draw('g');
  over.append(...tags);
  pane.canvas.append(wires, over, boxes);
  svg.replaceChildren(defs, pane.canvas);
  for (let i = 0; i < 3 && cutTexts(boxes); ++i);
  pane.crumbs.replaceChildren();
  const chain = [];
  for (let g = pane.group; g >= 0; g = picture.groups[g].parent) chain.unshift(g);
  chain.forEach((g, i) => {
    if (i) pane.crumbs.append('›');
    pane.crumbs.append(el('button', {title: groupName(picture, g), 'aria-current': i + 1 === chain.length ? 'page' : undefined, onclick: () => go(pane, g, -1)}, short(groupName(picture, g), 40)));
  });
  const copies = picture.copies.get(group.alike);
  if (copies.length > 1) pane.crumbs.append(el('span', {class: 'soft'}, ` ×${copies.length} alike`));
  showLegend(pane);
  if (!keepView) fit(pane, false);
  paint(pane);
}

function showLegend(pane) {
  const {legend, picture} = pane;
  legend.replaceChildren();
  legend.title = '';
  const swatch = (color, text) => {
    const box = el('span', {class: 'swatch'});
    box.style.background = color;
    legend.append(el('span', {}, box, text));
  };
  if (mode.target !== undefined) {
    const kinds = new Set(picture.nodes.map((n) => n && precisionOf(n, mode.target)).filter(Boolean));
    for (const kind of kinds) swatch(precisionColor(kind), kind);
  } else if (mode.id === 'difference') {
    swatch('var(--same)', 'as there'); swatch('var(--changed)', 'other there (≠)'); swatch('var(--only)', 'only here (+)');
  } else if (mode.share) {
    const more = mode.worse(1, 2) < 0 ? ['most', 'least'] : ['least', 'most'];
    swatch('var(--low)', more[0]);
    swatch('var(--high)', more[1]);
    legend.title = mode.title;
  }
  legend.append(el('span', {}, `${picture.groups[0].nodes} nodes; ${pane.boxes.length} boxes here`));
}

/** Classes that follow the choice. */
function paint(pane) {
  const group = pane.picture.groups[pane.group];
  for (const g of pane.svg.querySelectorAll('[data-box]')) {
    const i = +g.getAttribute('data-box');
    g.classList.toggle('found', i === pane.box);
    g.classList.toggle('linked', pane.linked.has(i));
  }
  for (const path of pane.svg.querySelectorAll('[data-wire]')) {
    const wire = group.wires[+path.getAttribute('data-wire')];
    path.classList.toggle('lit', pane.box >= 0 && (wire[0] === pane.box || wire[1] === pane.box));
  }
}

function place(pane) {
  pane.canvas.setAttribute('transform', `translate(${pane.x} ${pane.y}) scale(${pane.k})`);
}
function sizeOf(pane) {
  const r = pane.svg.getBoundingClientRect();
  return [Math.max(r.width, 50), Math.max(r.height, 50)];
}
function fit(pane, all) {
  const layout = pane.picture.layouts[pane.picture.groups[pane.group].layout];
  const [w, h] = sizeOf(pane), pad = 16;
  const whole = Math.min((w - 2 * pad) / layout.w, (h - 2 * pad) / layout.h, 1.25);
  pane.k = all ? whole : Math.min(Math.max(whole, Math.min((w - 2 * pad) / layout.w, 0.8), 0.3), 1.25);
  pane.x = (w - layout.w * pane.k) / 2;
  pane.y = layout.h * pane.k <= h - pad ? (h - layout.h * pane.k) / 2 : pad;
  place(pane);
  if (!all && pane.box >= 0) bringIn(pane);
}
function bringIn(pane) {
  const layout = pane.picture.layouts[pane.picture.groups[pane.group].layout];
  const [w, h] = sizeOf(pane);
  const show = (at, size, box) => at - box < 8 || at + box > size - 8 ? size / 2 - at : 0;
  const i = pane.box >= 0 ? pane.box : [...pane.linked][0];
  if (i === undefined) return;
  pane.x += show(layout.at[2 * i] * pane.k + pane.x, w, BOX_W / 2 * pane.k);
  pane.y += show(layout.at[2 * i + 1] * pane.k + pane.y, h, BOX_H / 2 * pane.k);
  place(pane);
}
function zoom(pane, by, cx, cy) {
  const [w, h] = sizeOf(pane);
  cx = cx === undefined ? w / 2 : cx;
  cy = cy === undefined ? h / 2 : cy;
  const k = Math.min(Math.max(pane.k * by, 0.05), 6);
  pane.x = cx - (cx - pane.x) * k / pane.k;
  pane.y = cy - (cy - pane.y) * k / pane.k;
  pane.k = k;
  place(pane);
}

// ---- going about

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
  const reader = picture.nodes.findIndex((node, i) => node && !inside.has(i) && node.inputs.some((v) => v === made || (v >= 0 && valueOf(picture, v).of === made)));
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

// ---- permalinks

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
    const n = name === null ? -1 : picture.nodes.findIndex((node) => node && node.name.slice(0, 2000) === name);
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

// ---- the panel

function rows(list) {
  const table = el('table');
  for (const [key, value] of list)
    if (value !== undefined && value !== null && value !== '') table.append(el('tr', {}, el('th', {}, key), el('td', {}, typeof value === 'object' ? value : el('span', {class: 'long', title: String(value).slice(0, 4000)}, String(value)))));
  return table.children.length ? table : null;
}
const heading = (text) => el('h3', {}, text);
function goButton(pane, n, text) {
  const node = pane.picture.nodes[n];
  return el('button', {class: 'go', onclick: () => { activate(pane); goNode(pane, n); }}, text || `${short(node.op, 24)} ${shortEnd(node.name, 60)}`);
}

function histogram(value, seen) {
  const W = 320, H = 84, span = seen.to > seen.from ? seen.to - seen.from : 1;
  const at = (v) => Math.min(Math.max((v - seen.from) / span, 0), 1) * W;
  const svg = draw('svg', {viewBox: `0 0 ${W} ${H + 18}`, role: 'img', 'aria-label': `histogram from ${number(seen.least)} to ${number(seen.largest)}`});
  const grid = seen.grid;
  if (grid) {
    svg.append(draw('rect', {class: 'band', x: at(grid[0]), y: 0, width: Math.max(at(grid[1]) - at(grid[0]), 1), height: H}),
      draw('path', {class: 'edge', d: `M${at(grid[0])} 0V${H}M${at(grid[1])} 0V${H}`}));
    if (seen.step > 0 && (grid[1] - grid[0]) / seen.step <= 64) {
      let d = '';
      for (let v = grid[0]; v <= grid[1] + seen.step / 2; v += seen.step) d += `M${at(v).toFixed(1)} ${H}v-4`;
      svg.append(draw('path', {class: 'edge', d}));
    }
  }
  const most = Math.log1p(maxOf(seen.counts)) || 1, width = W / seen.counts.length;
  seen.counts.forEach((count, i) => {
    const height = Math.log1p(count) / most * (H - 4);
    if (height > 0) svg.append(draw('rect', {class: 'bars', x: (i * width).toFixed(1), y: (H - height).toFixed(1), width: Math.max(width - 0.5, 0.5).toFixed(1), height: height.toFixed(1)}));
  });
  svg.append(draw('path', {class: 'axis', d: `M0 ${H}H${W}`}));
  const said = [];
  for (const v of [...(grid || []), 0, seen.from, seen.to]) {
    if (said.some((other) => Math.abs(at(other) - at(v)) < 56)) continue;
    said.push(v);
    svg.append(draw('text', {x: at(v), y: H + 14, 'text-anchor': at(v) < 20 ? 'start' : at(v) > W - 20 ? 'end' : 'middle'}, number(v)));
  }
  const words = [`${number(seen.least)} to ${number(seen.largest)}`];
  if (grid) words.push(`codes stand for ${number(grid[0])} to ${number(grid[1])}${seen.step ? `, step ${number(seen.step)}` : ''}`);
  if (seen.used !== undefined) words.push(`${Math.round(100 * seen.used)} % of them used`);
  if (seen.saturated !== undefined) words.push(`${number(100 * seen.saturated)} % saturated`);
  if (seen.sqnr !== undefined) words.push(`SQNR ${seen.sqnr.toFixed(1)} dB beside the float model`);
  if (seen.alone !== undefined) words.push(`${seen.alone >= 199 ? 'no rounding' : `${seen.alone.toFixed(1)} dB`} on its codes alone`);
  return el('figure', {}, svg, el('figcaption', {}, words.join('; ')));
}
function channels(list, count, what) {
  const W = 320, H = 44, most = maxOf(list) || 1, width = W / list.length;
  const svg = draw('svg', {viewBox: `0 0 ${W} ${H}`, role: 'img', 'aria-label': `${what} of ${count} channels`});
  list.forEach((x, i) => {
    const height = Math.max(Math.abs(x) / most * (H - 2), 0.5);
    svg.append(draw('rect', {class: 'bars', x: (i * width).toFixed(1), y: (H - height).toFixed(1), width: Math.max(width - 0.5, 0.5).toFixed(1), height: height.toFixed(1)}));
  });
  return el('figure', {}, svg, el('figcaption', {}, `${what} by channel (${count}${list.length < count ? `, ${Math.ceil(count / list.length)} a bar` : ''}): ${number(minOf(list))} to ${number(most)}`));
}

function valueBlock(pane, v, index, open) {
  const {picture} = pane;
  if (v < 0) return el('p', {class: 'soft'}, `${index}: left out`);
  const value = valueOf(picture, v), seen = seenOf(picture, v), grid = value.grid;
  const from = picture.maker.get(value.of === undefined ? v : value.of);
  const out = el('details', {open: open ? '' : undefined}, el('summary', {}, `${shortEnd(value.name, 44)}  `, el('span', {class: 'soft'}, value.type || '')));
  const facts = [['name', value.name], ['kind', isStored(value) ? (value.kind === 'constant' ? 'constant' : `constant in codes: ${value.stored}`) : value.kind === 'node' ? '' : value.kind],
    ['bytes', value.bytes === undefined ? '' : bytesText(value.bytes)]];
  if (value.of !== undefined) facts.push(['in codes of', picture.values[value.of].name]);
  if (grid) {
    const pair = (x) => x[0] === x[1] ? number(x[0]) : `${number(x[0])} to ${number(x[1])}`;
    facts.push(['codes', grid.codes + (grid.count ? `, ${grid.count} scales${grid.axis !== undefined ? ` along axis ${grid.axis}` : ''}${grid.block ? `, blocks of ${grid.block}` : ''}` : '')],
      ['scale', pair(grid.scale)], ['zero point', grid.zero ? pair(grid.zero) : ''], ['stand for', grid.range ? `${number(grid.range[0])} to ${number(grid.range[1])}` : '']);
  }
  if (value.no_grid) facts.push(['codes', `not read: ${value.no_grid}`]);
  if (seen && seen.outliers) facts.push(['worst channels', seen.outliers.map(([c, m, r]) => `${c}: ${number(m)} (${r === null ? '∞' : number(r)} ×)`).join(', ')]);
  out.append(rows(facts));
  if (seen) out.append(histogram(value, seen));
  if (seen && seen.channels) out.append(channels(seen.channels, seen.channel_count, 'largest magnitude'));
  if (grid && grid.scales) out.append(channels(grid.scales, grid.count, 'scale'));
  if (from !== undefined && picture.nodes[from]) out.append(el('p', {}, 'made by ', goButton(pane, from)));
  return out;
}

function nodePanel(pane, n) {
  const {picture} = pane, node = picture.nodes[n];
  aside.append(el('h2', {}, `${node.domain ? node.domain + '.' : ''}${node.op}`), el('p', {class: 'long', title: node.name.slice(0, 4000)}, node.name),
    el('p', {class: 'soft'}, [picture.short, picture.path(node.parent)].filter(Boolean).join(': ')));
  const changes = picture.changes[n] || [];
  if (two) {
    const there = linkOf[pane.p].get(n) || [], other = panes[1 - pane.p];
    aside.append(heading(there.length ? `in ${other.picture.short}` : `not in ${other.picture.short}`));
    for (const m of there.slice(0, 20)) aside.append(el('div', {}, goButton(other, m)));
    if (there.length > 20) aside.append(el('p', {class: 'soft'}, `and ${there.length - 20} more`));
    for (const change of changes) aside.append(el('p', {}, '≠ ', change));
  }
  for (const line of node.otherwise || []) aside.append(el('p', {class: 'bad'}, line));
  (node.on || []).forEach((on, t) => {
    if (!on.precision && !on.findings) return;
    aside.append(heading(picture.engine ? 'in the engine' : `on ${picture.targets[t]}`));
    const table = rows([['runs in', on.precision], ['as', on.form], ['predicted', on.predicted], ['with', on.fusion], ['why', on.why], ['to mend it', on.mend], ['source', on.source]]);
    if (table) aside.append(table);
    for (const f of on.findings || [])
      aside.append(el('p', {class: f.error ? 'bad' : ''}, `${f.error ? 'error' : 'warning'} ${f.rule}: ${f.message}`), el('p', {class: 'soft'}, [f.fix, f.source].filter(Boolean).join('; ')));
  });
  const facts = rows([['time', node.ms === undefined ? '' : `${number(node.ms)} ms`], ['kernel', node.kernel], ['multiply-adds', node.work === undefined ? '' : workText(node.work)],
    ['constants', node.bytes === undefined ? '' : bytesText(node.bytes)], ['comes from', node.origin ? node.origin.join(', ') : ''], ['says', node.doc]]);
  if (facts) aside.append(heading('cost and origin'), facts);
  if (node.attributes) aside.append(heading('attributes'), rows(node.attributes));
  if (node.inputs.length) aside.append(heading('reads'), ...node.inputs.slice(0, 40).map((v, i) => valueBlock(pane, v, i, i < 2)));
  if (node.inputs.length > 40) aside.append(el('p', {class: 'soft'}, `and ${node.inputs.length - 40} more`));
  if (node.outputs.length) aside.append(heading('makes'), ...node.outputs.slice(0, 40).map((v, i) => valueBlock(pane, v, i, i < 1)));
}

function groupPanel(pane, g) {
  const {picture} = pane, group = picture.groups[g];
  aside.append(el('h2', {}, short(groupName(picture, g), 80)), el('p', {class: 'soft'}, `${group.nodes} nodes, in ${picture.short}${picture.path(g) ? ': ' + short(picture.path(g), 400) : ''}`));
  const facts = [];
  for (const m of candidates) {
    const x = picture.facts[m.id].groups[g];
    if (x !== undefined) facts.push([m.label, m.text(x)]);
  }
  if (two) facts.push(['differences', String(picture.changedIn[g])]);
  const table = rows(facts);
  if (table) aside.append(table);
  const copies = picture.copies.get(group.alike);
  if (copies.length > 1) {
    aside.append(heading(`×${copies.length} alike`));
    for (const c of copies.slice(0, 40))
      aside.append(el('div', {}, c === g ? el('span', {}, short(picture.path(c), 80)) : el('button', {class: 'go', onclick: () => goGroup(pane, c)}, short(picture.path(c), 80))));
  }
  const count = new Map();
  for (const n of nodesIn(picture, g)) count.set(picture.nodes[n].op, (count.get(picture.nodes[n].op) || 0) + 1);
  aside.append(heading('operators'), rows([...count].sort((a, b) => b[1] - a[1]).slice(0, 40).map(([op, c]) => [short(op, 40), String(c)])) || '');
}

function portPanel(pane, box) {
  aside.append(el('h2', {}, box.side === 'in' ? 'from elsewhere' : 'to elsewhere'));
  for (const v of box.values.slice(0, 60)) aside.append(valueBlock(pane, v, 0, box.values.length < 4));
  if (box.values.length > 60) aside.append(el('p', {class: 'soft'}, `and ${box.values.length - 60} more`));
}

function worstTen() {
  const entries = [];
  panes.forEach((pane) => {
    const {picture} = pane;
    picture.nodes.forEach((node, n) => {
      if (!node) return;
      if (mode.target !== undefined) {
        if (two && !pane.p) return; // what came of it counts
        const precision = precisionOf(node, mode.target);
        if ((precision && !PRECISIONS[precision] && node.work) || precision === 'refused') entries.push([pane, n, node.work || 0, `${precision}, ${workText(node.work || 0)}`]);
      } else if (mode.id === 'difference') {
        if (picture.changes[n].length) entries.push([pane, n, -n, picture.changes[n][0]]);
      } else if (mode.of) {
        const x = picture.facts[mode.id].nodes[n];
        if (x !== undefined && (mode.id !== 'saturated' || x > 0) && (mode.id !== 'error' || x < 199)) entries.push([pane, n, x, mode.text(x)]);
      }
    });
  });
  const worse = mode.worse || ((a, b) => b - a);
  entries.sort((a, b) => worse(a[2], b[2]));
  const name = mode.target !== undefined ? `not in 8 bits on ${pictures[0].targets[mode.target]}, most multiply-adds first` : mode.id === 'difference' ? 'differences' : `worst by ${mode.label}`;
  if (!entries.length) return;
  const list = el('ol');
  for (const [pane, n, , text] of entries.slice(0, 10)) list.append(el('li', {}, goButton(pane, n), el('span', {class: 'soft'}, ` ${two ? (pane.p ? 'right, ' : 'left, ') : ''}${short(text, 80)}`)));
  aside.append(el('details', {open: '', class: 'worst'}, el('summary', {}, `${name} (${Math.min(10, entries.length)} of ${entries.length})`), list));
}

function showPanel(pane) {
  aside.replaceChildren();
  const box = pane.boxes[pane.box];
  if (!box) groupPanel(pane, pane.group);
  else if (box.side) portPanel(pane, box);
  else if (box.member < 0) groupPanel(pane, ~box.member);
  else nodePanel(pane, box.member);
  worstTen();
  if (data.data) aside.append(el('p', {class: 'soft'}, `measured on ${data.data}`));
  aside.scrollTop = 0;
}

// ---- search

let found = [], marked = 0;
function search() {
  const words = input.value.toLowerCase().split(/\s+/).filter(Boolean);
  found = [];
  marked = 0;
  if (words.length)
    for (const pane of panes) {
      pane.picture.nodes.forEach((node, n) => {
        if (!node || found.length >= 60) return;
        const text = `${node.op} ${node.name} ${node.outputs.map((v) => v >= 0 ? valueOf(pane.picture, v).name : '').join(' ')}`.toLowerCase();
        if (words.every((w) => text.includes(w))) found.push({pane, n, text: `${short(node.op, 24)}  ${shortEnd(node.name, 70)}`});
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

// ---- pointer and keys

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

// ---- SVG file and paper

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
})();
