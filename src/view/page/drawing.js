// SPDX-License-Identifier: Apache-2.0
// The frame of the page, and the drawing of a group.
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

/** What a node's name says beside that of its group. */
function nameWithin(picture, node) {
  const group = picture.groups[node.parent].name, at = group ? node.name.lastIndexOf(group) : -1;
  const rest = at < 0 ? '' : node.name.slice(at + group.length).replace(/^[/.]/, '');
  return rest || (node.parent === 0 ? node.name : leaf(node.name));
}
/** The boxes of a group: {member} or {side, values}. */
function boxesOf(pane, g) {
  const group = pane.picture.groups[g];
  return [...group.members.map((member) => ({member})), ...group.in.map((values) => ({side: 'in', values})),
    ...group.out.map((values) => ({side: 'out', values}))];
}
function groupName(picture, g) {
  const group = picture.groups[g];
  if (g === 0) return short(picture.short, 40);
  if (group.node !== undefined) {
    const {op} = picture.nodes[group.node];
    return group.name.startsWith(op) ? group.name : `${op} ${group.name}`;
  }
  if (!/^\d+ to \d+$/.test(group.name)) return group.name;
  const ends = [group.members[0], group.members[group.members.length - 1]];
  const label = (m, end) => m >= 0 ? shortEnd(leaf(picture.nodes[m].name), 18) : groupName(picture, ~m).split(' … ').at(end);
  return `${label(ends[0], 0)} … ${label(ends[1], -1)}`;
}
const bodiesText = (node) => node.bodies.map((body) => body.name).join(', ');
function portName(picture, box) {
  const name = valueOf(picture, box.values[0]).name;
  return box.values.length > 1 ? `${box.values.length} values: ${name}` : name;
}
function describe(pane, box) {
  const {picture} = pane;
  if (box.side) return `${box.side === 'in' ? 'from elsewhere' : 'to elsewhere'}: ${portName(picture, box)}`;
  if (box.member < 0) {
    const group = picture.groups[~box.member];
    return `group ${groupName(picture, ~box.member)}, ${group.nodes} nodes${group.node === undefined ? '' : ` in ${bodiesText(picture.nodes[group.node])}`}`;
  }
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
    const changed = two ? picture.changedIn[~box.member] : 0, found = picture.foundIn[~box.member];
    const signs = [found ? `!${found}` : '', changed ? `≠${changed}` : ''].filter(Boolean).join(' ');
    const bodies = group.node === undefined ? '' : `, ${bodiesText(picture.nodes[group.node])}`;
    g.append(roomy(shortEnd(groupName(picture, ~box.member), 60), {class: 'op', x: 8, y: 18}, w - 16 - (text ? Math.min(66, 10 + 6.6 * text.length) : 0), true),
      roomy(`${group.nodes} nodes${bodies}${copies > 1 ? `, ×${copies} alike` : ''}`, {class: 'name', x: 8, y: 34}, w - 16 - 8 * signs.length));
    let at = 0;
    for (const [fill, share, kind] of color.parts || []) {
      const part = draw('rect', {x: 4 + at * (w - 8), y: h - 7, width: Math.max(share * (w - 8), 1), height: 4});
      part.style.fill = fill;
      part.append(draw('title', {}, kind));
      g.append(part);
      at += share;
    }
    if (signs) g.append(draw('text', {class: 'warn', x: w - 8, y: 33, 'text-anchor': 'end'}, signs));
    return g;
  }
  const node = picture.nodes[box.member];
  const stored = node.inputs.filter((v) => v >= 0 && valueOf(picture, v).stored !== undefined && valueOf(picture, v).grid).map((v) => valueOf(picture, v).grid.codes);
  const marks = (stored.length ? [`w ${stored[0]}`] : []);
  const changed = two && picture.changes[box.member].length > 0;
  const signs = (picture.found[box.member] ? '!' : '') + (changed ? (linkOf[pane.p].has(box.member) ? '≠' : '+') : '');
  g.append(roomy(short(node.op, 60), {class: 'op', x: 8, y: 18}, w - 16 - (text ? Math.min(66, 10 + 6.6 * text.length) : 0)),
    roomy(shortEnd(nameWithin(picture, node), 60), {class: 'name', x: 8, y: 35}, w - 16 - (marks.length ? 34 : 0) - 12 * signs.length, true));
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
  if (!all && (pane.box >= 0 || pane.linked.size)) bringIn(pane);
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
