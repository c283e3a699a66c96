# SPDX-License-Identifier: Apache-2.0
"""octet view: the bodies of If, Loop and Scan on the page, held against the model's own nodes (docs/view.md)."""
import collections
import json
import pathlib
import tempfile

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

from view import check, check_drawings, check_page_cuts, expect, finish, octet, page_data, run_page

F, I, B = TensorProto.FLOAT, TensorProto.INT64, TensorProto.BOOL
value, node = helper.make_tensor_value_info, helper.make_node


def branch(what, many=0):
    """Gives x, captured, through an operator, or `many` of them one behind the other."""
    nodes = [node(what, ["x"], ["b0"], name="inner")]
    nodes += [node("Neg", [f"b{i}"], [f"b{i + 1}"], name=f"step_{i}") for i in range(many)]
    return helper.make_graph(nodes, what, [], [value(f"b{many}", F, [2, 4])])


def model(path):
    """An If with equal names in both branches, a Loop that carries a value and holds an If, a Scan, and branches of which one has a constant alone, one is long."""
    deep = node("If", ["keep"], ["grown"], name="choice",
                then_branch=helper.make_graph([node("Add", ["h", "y"], ["t0"], name="deep_add")], "then", [], [value("t0", F, [2, 4])]),
                else_branch=helper.make_graph([node("Mul", ["h", "w"], ["e0"], name="deep_mul")], "else", [], [value("e0", F, [2, 4])]))
    loop = helper.make_graph([node("Not", ["go"], ["keep"], name="inner"), deep, node("Identity", ["go"], ["go_on"], name="pass"),
                              node("Abs", ["grown"], ["seen"], name="abs")], "loop",
                             [value("i", I, []), value("go", B, []), value("h", F, [2, 4])],
                             [value("go_on", B, []), value("grown", F, [2, 4]), value("seen", F, [2, 4])])
    scan = helper.make_graph([node("Add", ["s", "row"], ["s_next"], name="sum"), node("Exp", ["s_next"], ["out_row"], name="exp")], "scan",
                             [value("s", F, [4]), value("row", F, [4])], [value("s_next", F, [4]), value("out_row", F, [4])])
    empty = helper.make_graph([node("Constant", [], ["zeros"], value=helper.make_tensor("", F, [2, 4], [0.0] * 8))], "empty", [],
                              [value("zeros", F, [2, 4])])
    nodes = [node("If", ["c"], ["y"], name="/net/If_1", then_branch=branch("Relu"), else_branch=branch("Tanh")),
             node("Loop", ["n", "c", "y"], ["z", "all"], name="/net/Loop_2", body=loop),
             node("Scan", ["zero", "z"], ["last", "rows"], name="/net/Scan_3", body=scan, num_scan_inputs=1),
             node("If", ["c"], ["q"], name="long", then_branch=branch("Sin", 400), else_branch=empty)]
    graph = helper.make_graph(nodes, "bodies", [value("c", B, []), value("x", F, [2, 4]), value("n", I, [])],
                              [value("all", F, ["K", 2, 4]), value("rows", F, [2, 4]), value("last", F, [4]), value("q", F, [2, 4])],
                              [helper.make_tensor("w", F, [2, 4], [2.0] * 8), helper.make_tensor("zero", F, [4], [0.0] * 4)])
    made = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    onnx.checker.check_model(made)
    onnx.save(made, path)
    return made


def nodes_of(graph, around=()):
    """Each node with the nodes and attributes around it."""
    for each in graph.node:
        name = each.name or each.output[0]
        yield around, each
        bodies = [a for a in each.attribute if a.type == onnx.AttributeProto.GRAPH]
        for attribute in bodies:
            yield from nodes_of(attribute.g, (*around, (name, attribute.name)))


def groups_around(picture, n):
    """The bodies that a node of the page stands in, from outside."""
    out, g, below = [], picture["nodes"][n]["parent"], None
    while g >= 0:
        group = picture["groups"][g]
        if "node" in group and below is not None:
            out.insert(0, (picture["nodes"][group["node"]]["name"], below))
        below, g = group["name"], group["parent"]
    return tuple(out)


def drawn_edges(picture):
    """Ends of wires, nodes and groups by name and ports as None, with the names of values."""
    out = set()
    for group in picture["groups"]:
        names = [picture["nodes"][m]["name"] if m >= 0 else picture["groups"][~m]["name"] for m in group["members"]]
        for wire in group["wires"]:
            ends = [names[end] if end < len(names) else None for end in wire[:2]]
            out |= {(*ends, picture["values"][v]["name"]) for v in wire[3:]}
    return out


EDGES = {
    ("If_1", "Loop_2", "y"), ("Loop_2", "Scan_3", "z"), (None, "If_1", "c"), (None, "If_1", "x"),  # nodes with bodies, from outside
    (None, "then_branch", "x"), (None, "else_branch", "x"), (None, "/net/If_1", "c"), ("then_branch", "/net/If_1", "b0"), ("else_branch", "/net/If_1", "b0"),
    (None, "body", "y"), ("/net/Loop_2", "body", "go"), ("/net/Loop_2", "body", "h"), ("body", "/net/Loop_2", "go_on"), ("body", "/net/Loop_2", "grown"),
    ("inner", "choice", "keep"), ("choice", "abs", "grown"), (None, "pass", "go"), ("pass", None, "go_on"), (None, "deep_add", "y"), (None, "deep_mul", "h"),
    ("/net/Scan_3", "body", "s"), ("/net/Scan_3", "body", "row"), ("sum", "exp", "s_next"), ("body", "/net/Scan_3", "out_row"),
    ("then_branch", "long", "b400"), ("long", None, "q"),
}


def check_model(what, proto, picture):
    wanted = collections.Counter((around, each.op_type, each.name or each.output[0]) for around, each in nodes_of(proto.graph)
                                 if each.op_type not in ("Constant", "QuantizeLinear", "DequantizeLinear"))
    found = collections.Counter((groups_around(picture, n), each["op"], each["name"]) for n, each in enumerate(picture["nodes"]) if each)
    check(f"{what}: only in the model {list((wanted - found).items())[:4]}, only on the page {list((found - wanted).items())[:4]}", wanted == found)
    check(f"{what}: {picture['groups'][0]['nodes']} nodes of {sum(wanted.values())}", picture["groups"][0]["nodes"] == sum(wanted.values()))


WALK = """
  const svg = document.querySelector('.pane svg'), out = {};
  const crumbs = () => [...document.querySelectorAll('.crumbs button')].map((b) => b.textContent);
  const boxes = () => [...document.querySelectorAll('.box title')].map((t) => t.textContent);
  out.top = boxes();
  const open = (name) => { const box = [...document.querySelectorAll('.box')].find((b) => b.querySelector('title').textContent.startsWith(name));
    box.dispatchEvent(new MouseEvent('click', {bubbles: true})); out.panel = document.querySelector('aside').textContent;
    box.dispatchEvent(new MouseEvent('dblclick', {bubbles: true})); };
  open('group Loop_2');
  out.loop = boxes();
  open('group body');
  out.body = boxes();
  open('group If choice');
  open('group else_branch');
  out.inner = boxes();
  out.crumbs = crumbs();
  const box = [...document.querySelectorAll('.box')].find((b) => b.querySelector('title').textContent === 'Mul deep_mul');
  box.dispatchEvent(new MouseEvent('click', {bubbles: true}));
  out.details = document.querySelector('aside').textContent;
  out.hash = location.hash;
  const port = [...document.querySelectorAll('.port')].find((b) => b.textContent.endsWith('h'));
  port.dispatchEvent(new MouseEvent('click', {bubbles: true}));
  key('Enter', svg);
  out.followed = document.querySelector('[aria-live]').textContent;
  key('/');
  document.activeElement.value = 'deep_add';
  document.activeElement.dispatchEvent(new Event('input'));
  key('Enter');
  out.searched = document.querySelector('[aria-live]').textContent;
  out.where = crumbs();
  return out;
"""
SAID = "return [...document.querySelectorAll('aside h2, aside h2 + p, .crumbs button')].map((e) => e.textContent)"


def check_walk(page, picture):
    for width, dark in ((1400, False), (800, True)):
        check_page_cuts("bodies", page, width, dark)
    walk = run_page(page, WALK)
    if not walk:
        return
    check(f"top: {walk['top']}", {"group If_1, 3 nodes in else_branch, then_branch", "group Scan_3, 3 nodes in body"} <= set(walk["top"]))
    check(f"loop: {walk['loop']}", {"Loop /net/Loop_2", "group body, 6 nodes"} <= set(walk["loop"]))
    check(f"body: {walk['body']}", {"Not inner", "Abs abs", "Identity pass"} <= set(walk["body"]))
    check(f"inner: {walk['inner']}", "Mul deep_mul" in walk["inner"])
    check(f"crumbs: {walk['crumbs']}", walk["crumbs"][1:] == ["Loop_2", "body", "If choice", "else_branch"])
    check(f"details: {walk['details']}", all(word in walk["details"] for word in ("deep_mul", "h", "f32[2, 4]", "e0", "constant")))
    check(f"followed: {walk['followed']}", walk["followed"] == "Loop /net/Loop_2")
    check(f"searched: {walk['searched']}, {walk['where']}", walk["searched"] == "Add deep_add" and walk["where"][-1] == "then_branch")
    again = run_page(page, SAID, fragment=walk["hash"])
    check(f"permalink: {again}", again and "else_branch" in again and "deep_mul" in again)
    # Of equal names the one that was chosen.
    for n, each in enumerate(picture["nodes"]):
        if each and each["name"] == "inner":
            said = run_page(page, SAID, fragment=f"#n0=inner&g0={each['parent']}")
            check(f"permalink to {each['op']}: {said}", said and each["op"] in said)


def coded(zero, name):
    """x by a weight of its own, behind codes whose zero point is `zero`."""
    weight = numpy_helper.from_array(np.linspace(-1, 1, 16, dtype=np.float32).reshape(4, 4), "own")
    return helper.make_graph([node("QuantizeLinear", ["x", "s", zero], ["q"], name="to_codes"),
                              node("DequantizeLinear", ["q", "s", zero], ["d"], name="from_codes"),
                              node("MatMul", ["d", "own"], ["m"], name="product"), node("Relu", ["m"], ["b0"], name="behind")],
                             name, [], [value("b0", F, [2, 4])], [weight])


def findings_model(path):
    """Codes that TensorRT refuses in one branch of an If, and in one of an If in a Loop; an input that it refuses."""
    deep = node("If", ["go"], ["grown"], name="choice", then_branch=coded("three", "then"), else_branch=coded("none", "else"))
    loop = helper.make_graph([deep, node("Identity", ["go"], ["go_on"], name="pass")], "loop",
                             [value("i", I, []), value("go", B, []), value("h", F, [2, 4])], [value("go_on", B, []), value("grown", F, [2, 4])])
    nodes = [node("Relu", ["given"], ["x"], name="before"), node("Loop", ["n", "c", "x"], ["z"], name="/net/Loop_2", body=loop),
             node("If", ["c"], ["y"], name="/net/If_1", then_branch=coded("none", "then"), else_branch=coded("three", "else")),
             node("Cast", ["wide"], ["narrow"], name="cast", to=F)]
    graph = helper.make_graph(nodes, "findings", [value("c", B, []), value("given", F, [2, 4]), value("n", I, []), value("wide", TensorProto.UINT32, [2])],
                              [value("y", F, [2, 4]), value("z", F, [2, 4]), value("narrow", F, [2])],
                              [numpy_helper.from_array(np.array(v), n) for n, v in (("s", np.float32(0.1)), ("three", np.int8(3)), ("none", np.int8(0)))])
    made = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    onnx.checker.check_model(made)
    onnx.save(made, path)


FINDINGS = """
  const svg = document.querySelector('.pane svg'), out = {}, aside = document.querySelector('aside');
  const named = (name) => [...document.querySelectorAll('.box')].find((b) => b.querySelector('title').textContent.startsWith(name));
  const open = (name) => named(name).dispatchEvent(new MouseEvent('dblclick', {bubbles: true}));
  const click = (name) => { named(name).dispatchEvent(new MouseEvent('click', {bubbles: true})); return aside.textContent; };
  const marks = () => Object.fromEntries([...document.querySelectorAll('.box:not(.port)')].map((b) => [b.querySelector('title').textContent, [...b.querySelectorAll('.warn')].map((t) => t.textContent).join()]));
  out.top = aside.textContent;
  out.worst = [...document.querySelectorAll('.worst li')].map((li) => li.textContent);
  out.marks = marks();
  open('group If_1');
  out.branches = marks();
  out.sound = click('group then_branch');
  open('group else_branch');
  out.refused = click('MatMul product');
  out.hash = location.hash;
  out.fill = ['MatMul', 'Relu'].map((op) => named(op).querySelector('.body').style.fill);
  out.untold = click('Relu behind');
  key('/');
  document.activeElement.value = 'zero-point-not-zero';
  document.activeElement.dispatchEvent(new Event('input'));
  out.hits = [...document.querySelectorAll('.hits li')].map((li) => li.textContent);
  return out;
"""


def check_findings(folder):
    """What check finds is on the page once, at nodes of bodies too, and explain's silence is told."""
    findings_model(folder / "findings.onnx")
    page = folder / "findings.html"
    done = octet("check", folder / "findings.onnx", "--target", "tensorrt-10", "--json")
    said = sorted((f["rule"], f["node"]) for f in json.loads(done.stdout)["findings"])
    codes = [(around, name) for around in ('Loop "/net/Loop_2" body: If "choice" then_branch: ', 'If "/net/If_1" else_branch: ')
             for name in ('QuantizeLinear "to_codes"', 'DequantizeLinear "from_codes"')]
    check(f"check: {said}", said == sorted([("input-type", "wide"), *(("zero-point-not-zero", a + n) for a, n in codes)]))
    for how in ((), ("--draw-codes",)):
        expect("findings", octet("view", folder / "findings.onnx", "--target", "tensorrt-10", *how, "--force", "-o", page), 0)
        data = page_data(page)
        check_drawings("findings", data)
        picture = data["pictures"][0]
        found = [(f["rule"], f["at"]) for f in picture["findings"][0]]
        for n, each in enumerate(picture["nodes"]):
            if not each:
                continue
            around = "".join(f'{next(o["op"] for o in picture["nodes"] if o and o["name"] == name)} "{name}" {body}: ' for name, body in groups_around(picture, n))
            for f in each.get("on", [{}])[0].get("findings", []):
                found.append((f["rule"], f.get("at", f'{around}{each["op"]} "{each["name"]}"')))
                check(f"{f} at {each['name']}", each["name"] in (("to_codes", "from_codes") if how else ("product",)))
                check(f"{f} is not in {around}", found[-1][1].startswith(around))
        check(f"findings {how}: {sorted(found)}", sorted(found) == said)
        refused = sorted(groups_around(picture, n) for n, each in enumerate(picture["nodes"]) if each and each["name"] == "product"
                         and each.get("on", [{}])[0].get("precision") == "refused")
        check(f"refused {how}: {refused}", refused == [(("/net/If_1", "else_branch"),), (("/net/Loop_2", "body"), ("choice", "then_branch"))])
    expect("findings", octet("view", folder / "findings.onnx", "--target", "tensorrt-10", "--force", "-o", page), 0)
    picture = page_data(page)["pictures"][0]
    bars = [sum(picture["values"][v]["seen"]["counts"]) for each in picture["nodes"] if each and each["op"] == "MatMul" for v in each["inputs"][1:]]
    check(f"weights in bodies: {bars}", bars == [16] * 4)
    for width, dark in ((1400, True), (800, False)):
        check_page_cuts("findings", page, width, dark)
    walk = run_page(page, FINDINGS)
    if not walk:
        return
    check(f"top: {walk['top']}", "input-type" in walk["top"] and "wide" in walk["top"])
    check(f"worst: {walk['worst']}", len(walk["worst"]) == 2 and all("product" in each and "refused" in each for each in walk["worst"])
          and any("If_1 / else_branch" in each for each in walk["worst"]))
    check(f"marks: {walk['marks']}", [walk["marks"][k] for k in sorted(walk["marks"]) if k.startswith("group")] == ["!1", "!1"]
          and walk["marks"]["Relu before"] == "")
    check(f"branches: {walk['branches']}", walk["branches"] == {"If /net/If_1": "", "group then_branch, 2 nodes": "", "group else_branch, 2 nodes": "!1"})
    check(f"refused: {walk['refused']}", all(word in walk["refused"] for word in ("error zero-point-not-zero", 'QuantizeLinear "to_codes"', "refused")))
    check(f"fill: {walk['fill']}", "refused" in walk["fill"][0] and walk["fill"][1] == "")
    check(f"untold: {walk['untold']}", all("in a body" in walk[k] and "If /net/If_1" in walk[k] for k in ("sound", "untold")))
    check(f"hits: {walk['hits']}", len(walk["hits"]) == 2 and any("else_branch" in each for each in walk["hits"]))
    again = run_page(page, SAID, fragment=walk["hash"])
    check(f"permalink: {again}", again and "else_branch" in again and "MatMul" in again)


def main(folder):
    check_findings(folder)
    proto = model(folder / "bodies.onnx")
    page = folder / "bodies.html"
    expect("bodies", octet("view", folder / "bodies.onnx", "--target", "onnxruntime", "-o", page), 0)
    data = page_data(page)
    check_drawings("bodies", data)
    picture = data["pictures"][0]
    check_model("bodies", proto, picture)
    edges = drawn_edges(picture)
    check(f"edges {EDGES - edges} are not in {sorted(map(str, edges))}", edges >= EDGES)
    check("i, which the loop does not read, is drawn", not any(e[2] == "i" for e in edges))
    reads = {(each["name"], picture["values"][v]["name"]) for each in picture["nodes"] if each for v in each["inputs"] if v >= 0}
    wanted = {(each.name, name) for _, each in nodes_of(proto.graph) for name in each.input}
    check(f"inputs: {reads ^ wanted}", reads == wanted)
    handed = {each["name"]: [(b["name"], [picture["values"][v]["name"] for v in b["takes"]], [picture["values"][v]["name"] for v in b["gives"]])
                             for b in each["bodies"]] for each in picture["nodes"] if each and "bodies" in each}
    wanted = {each.name: [(a.name, [i.name for i in a.g.input], [o.name for o in a.g.output])
                          for a in sorted(each.attribute, key=lambda a: a.name) if a.type == onnx.AttributeProto.GRAPH]
              for _, each in nodes_of(proto.graph) if any(a.type == onnx.AttributeProto.GRAPH for a in each.attribute)}
    check(f"bodies: {handed}, in the model {wanted}", handed == wanted)
    # A value is one for all who capture it, wherever they stand.
    captured = {v for each in picture["nodes"] if each for v in each["inputs"] if v >= 0 and picture["values"][v]["name"] == "x"}
    check(f"x is {captured}", len(captured) == 1)
    types = {picture["values"][v]["name"]: picture["values"][v]["type"] for each in picture["nodes"] if each for v in each["outputs"]}
    check(f"types: {types}", types["seen"] == "f32[2, 4]" and types["s_next"] == "f32[4]" and types["e0"] == "f32[2, 4]")
    check_walk(page, picture)
    # Beside itself each node has itself for a counterpart, also where names come again.
    expect("beside itself", octet("view", folder / "bodies.onnx", folder / "bodies.onnx", "-o", folder / "two.html"), 0)
    data = page_data(folder / "two.html")
    links = {tuple(link) for link in data["links"]}
    own = {(n, n) for n, each in enumerate(data["pictures"][0]["nodes"]) if each}
    check(f"beside itself: {sorted(links ^ own)[:6]}", links == own)
    finish()


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as name:
        main(pathlib.Path(name))
