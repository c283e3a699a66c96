// SPDX-License-Identifier: Apache-2.0
// The page of octet view: draws the groups of one or two pictures, whose places the file has, and
// says of what is chosen all that the file knows. Names reach the page as text only. The files of
// this folder are one script (cmake/OctetPage.cmake); here: what is known, and what colours say.
const data = JSON.parse(document.getElementById('data').textContent);
const pictures = data.pictures;
const two = pictures.length > 1;
const [BOX_W, BOX_H, PORT_W, PORT_H] = data.sizes;
const SVG = 'http://www.w3.org/2000/svg';

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
    if (!node) return;
    for (const v of node.outputs) if (v >= 0) picture.maker.set(v, n);
    for (const body of node.bodies || []) for (const v of body.takes) picture.maker.set(v, n);
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
/** All that a node reads, also what its bodies give. */
const readBy = (node) => [...node.inputs, ...(node.bodies || []).flatMap((body) => body.gives)];
const isStored = (value) => value.kind === 'constant' || value.stored !== undefined;

/** What is other in the counterparts of a node. */
function differences(p, n) {
  if (!two) return [];
  const picture = pictures[p], other = pictures[1 - p], node = picture.nodes[n];
  const there = linkOf[p].get(n) || [];
  if (picture.engine || other.engine) return node.otherwise || [];
  if (!there.length) return ['no counterpart in the other model'];
  const out = [];
  for (const m of there) {
    const mate = other.nodes[m];
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
  amount('time', 'time', (_, node) => node.ms, (x) => x < 0.1 ? `${(1000 * x).toPrecision(3)} µs` : `${x.toPrecision(3)} ms`, 'milliseconds of one run'),
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
/** What check found is told in groups by the number of nodes that it is about. */
for (const picture of pictures) {
  picture.found = picture.nodes.map((node) => Boolean(node) && (node.on || []).some((on) => on.findings));
  picture.foundIn = new Array(picture.groups.length).fill(0);
  for (let g = picture.groups.length; g-- > 0;)
    for (const m of picture.groups[g].members) picture.foundIn[g] += m >= 0 ? (picture.found[m] ? 1 : 0) : picture.foundIn[~m];
}
/** The node of the graph itself whose bodies, or theirs, a node stands in. */
function holderOf(picture, n) {
  let holder = picture.nodes[n].within;
  while (holder !== undefined && picture.nodes[holder].within !== undefined) holder = picture.nodes[holder].within;
  return holder;
}
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
    let untold = 0; // of nodes in bodies
    for (const n of nodesIn(picture, ~member)) {
      const x = kind(n);
      if (x === undefined && picture.nodes[n].within !== undefined) ++untold;
      if (x !== undefined) count.set(x, (count.get(x) || 0) + 1 + (mode.target !== undefined && picture.nodes[n].work ? 1e-12 * picture.nodes[n].work : 0));
    }
    const all = sum([...count.values()]) + untold;
    return {parts: [...count].sort((a, b) => b[1] - a[1]).map(([x, c]) => [color(x), c / all, x])};
  }
  const facts = picture.facts[mode.id];
  const x = member >= 0 ? facts.nodes[member] : facts.groups[~member];
  if (x === undefined) return {};
  const share = Math.round(100 * mode.share(x, picture));
  return {fill: `color-mix(in oklab, var(--high) ${share}%, var(--low))`, text: mode.text(x)};
}
