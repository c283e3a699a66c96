// SPDX-License-Identifier: Apache-2.0
// What is said beside the drawings of what is chosen, and the worst ten.
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
    ['layout', value.format], ['bytes', value.bytes === undefined ? '' : bytesText(value.bytes)]];
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
  if (value.unseen) out.append(el('p', {class: 'soft'}, value.unseen));
  if (seen && seen.channels) out.append(channels(seen.channels, seen.channel_count, 'largest magnitude'));
  if (grid && grid.scales) out.append(channels(grid.scales, grid.count, 'scale'));
  if (from !== undefined && picture.nodes[from]) out.append(el('p', {}, 'made by ', goButton(pane, from)));
  return out;
}

/** Of a node in a body: which, as names come again there. */
function within(picture, n, most = 40) {
  return picture.nodes[n].within === undefined ? '' : `, in ${shortEnd(picture.path(picture.nodes[n].parent), most)}`;
}
function findingLines(findings) {
  return (findings || []).flatMap((f) => [el('p', {class: f.error ? 'bad' : ''}, `${f.error ? 'error' : 'warning'} ${f.rule}: ${f.message}`),
    el('p', {class: 'soft'}, [f.at, f.fix, f.source].filter(Boolean).join('; '))]);
}
/** Why nodes in the bodies of node `holder` have no precision. */
function untoldInBodies(pane, holder) {
  return el('p', {class: 'soft'}, 'in a body: check looks at its nodes, explain tells how the whole runs: ', goButton(pane, holder));
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
  (picture.engine ? node.on || [] : picture.targets).forEach((_, t) => {
    const on = (node.on && node.on[t]) || {}, untold = node.within !== undefined && !on.precision;
    if (!on.precision && !on.findings && !untold) return;
    aside.append(heading(picture.engine ? 'in the engine' : `on ${picture.targets[t]}`));
    const table = rows([['runs in', on.precision], ['as', on.form], ['predicted', on.predicted], ['with', on.fusion], ['why', on.why], ['to mend it', on.mend], ['source', on.source]]);
    if (table) aside.append(table);
    if (untold) aside.append(untoldInBodies(pane, holderOf(picture, n)));
    aside.append(...findingLines(on.findings));
  });
  const facts = rows([['time', node.ms === undefined ? '' : `${number(node.ms)} ms`], ['kernel', node.kernel], ['multiply-adds', node.work === undefined ? '' : workText(node.work)],
    ['constants', node.bytes === undefined ? '' : bytesText(node.bytes)], ['comes from', node.origin ? node.origin.join(', ') : ''], ['says', node.doc]]);
  if (facts) aside.append(heading('cost and origin'), facts);
  if (node.attributes) aside.append(heading('attributes'), rows(node.attributes));
  if (node.inputs.length) aside.append(heading('reads'), ...node.inputs.slice(0, 40).map((v, i) => valueBlock(pane, v, i, i < 2)));
  if (node.inputs.length > 40) aside.append(el('p', {class: 'soft'}, `and ${node.inputs.length - 40} more`));
  for (const body of node.bodies || [])
    for (const [what, values] of [['hands to', body.takes], ['gets from', body.gives]])
      if (values.length) {
        aside.append(heading(`${what} ${body.name}`), ...values.slice(0, 40).map((v, i) => valueBlock(pane, v, i, false)));
        if (values.length > 40) aside.append(el('p', {class: 'soft'}, `and ${values.length - 40} more`));
      }
  if (node.outputs.length) aside.append(heading('makes'), ...node.outputs.slice(0, 40).map((v, i) => valueBlock(pane, v, i, i < 1)));
}

function groupPanel(pane, g) {
  const {picture} = pane, group = picture.groups[g];
  if (group.node !== undefined) nodePanel(pane, group.node);
  aside.append(el('h2', {}, short(groupName(picture, g), 80)), el('p', {class: 'soft'}, `${group.nodes} nodes, in ${picture.short}${picture.path(g) ? ': ' + short(picture.path(g), 400) : ''}`));
  const facts = [];
  for (const m of candidates) {
    const x = picture.facts[m.id].groups[g];
    if (x !== undefined) facts.push([m.label, m.text(x)]);
  }
  if (picture.foundIn[g]) facts.push(['findings', `of ${picture.foundIn[g]} nodes`]);
  if (two) facts.push(['differences', String(picture.changedIn[g])]);
  const table = rows(facts);
  if (table) aside.append(table);
  const inside = nodesIn(picture, g);
  if (mode.target !== undefined && inside.length && inside.every((n) => picture.nodes[n].within !== undefined))
    aside.append(untoldInBodies(pane, holderOf(picture, inside[0])));
  if (g === 0)
    (picture.findings || []).forEach((findings, t) => { if (findings.length) aside.append(heading(`the model on ${picture.targets[t]}`), ...findingLines(findings)); });
  const copies = picture.copies.get(group.alike);
  if (copies.length > 1) {
    aside.append(heading(`×${copies.length} alike`));
    for (const c of copies.slice(0, 40))
      aside.append(el('div', {}, c === g ? el('span', {}, short(picture.path(c), 80)) : el('button', {class: 'go', onclick: () => goGroup(pane, c)}, short(picture.path(c), 80))));
  }
  const count = new Map();
  for (const n of inside) count.set(picture.nodes[n].op, (count.get(picture.nodes[n].op) || 0) + 1);
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
  for (const [pane, n, , text] of entries.slice(0, 10)) list.append(el('li', {}, goButton(pane, n), el('span', {class: 'soft'}, ` ${two ? (pane.p ? 'right, ' : 'left, ') : ''}${short(text, 80)}${within(pane.picture, n)}`)));
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
