# SPDX-License-Identifier: Apache-2.0
"""octet view: pages opened in headless Chromium (docs/view.md)."""
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

sys.path.insert(0, str(pathlib.Path(os.environ["OCTET_SOURCE_DIR"]) / "tests" / "support"))
import browser  # noqa: E402

OCTET = pathlib.Path(os.environ["OCTET_BUILD_DIR"]) / "bin" / "octet"
HOSTILE = "<script>parent.x=1</script>\"'><img src=x onerror=alert(1)>&amp;\u2028"
problems = []


def octet(*arguments):
    return subprocess.run([OCTET, *map(str, arguments)], capture_output=True, text=True, check=False)


def expect(what, done, status, *words):
    if done.returncode != status or any(word not in done.stdout + done.stderr for word in words):
        problems.append(f"{what}: exit {done.returncode}, wanted {status} and {words}:\n{done.stdout}{done.stderr}")
    return done


def check(what, holds):
    if not holds:
        problems.append(what)


def page_data(path):
    text = path.read_text(encoding="utf-8")
    return json.loads(re.search(r'id="data">(.*?)</script>', text, re.DOTALL)[1])


def run_page(path, script, *how, **more):
    """The JSON that a script, called when the page is ready, returns."""
    out, bad = browser.run_page(path, script, *how, **more)
    if bad:
        problems.append(f"{path.name}: {bad}")
    return out


def chain(names, path, inputs=("x",)):
    """Relu and Neg by turns, one behind the other."""
    nodes = [helper.make_node("Relu" if i % 2 == 0 else "Neg", [inputs[0] if i == 0 else f"v{i - 1}"], [f"v{i}"], name=name)
             for i, name in enumerate(names)]
    last = helper.make_tensor_value_info(f"v{len(names) - 1}", TensorProto.FLOAT, [1, 4])
    graph = helper.make_graph(nodes, "chain", [helper.make_tensor_value_info("x", TensorProto.FLOAT, [1, 4])], [last])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), path)
    return path


def layered(path, layers):
    """`layers` equal blocks of residual products, named as exporters of transformers do."""
    nodes, constants, at = [], [], "x"
    rng = np.random.default_rng(3)
    for i in range(layers):
        start = at
        for part in ("attention", "output"):
            for j in range(12):
                out = f"l{i}_{part}_{j}"
                weight = f"w{i}_{part}_{j}"
                if j % 4 == 0:
                    constants.append(numpy_helper.from_array(rng.standard_normal((8, 8)).astype(np.float32), weight))
                    nodes.append(helper.make_node("MatMul", [at, weight], [out], name=f"/encoder/layer.{i}/{part}/dense.{j}/MatMul"))
                else:
                    nodes.append(helper.make_node("Tanh", [at], [out], name=f"/encoder/layer.{i}/{part}/Tanh_{j}"))
                at = out
        nodes.append(helper.make_node("Add", [at, start], [f"l{i}"], name=f"/encoder/layer.{i}/Add"))
        at = f"l{i}"
    graph = helper.make_graph(nodes, "layered", [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["N", 8])],
                              [helper.make_tensor_value_info(at, TensorProto.FLOAT, ["N", 8])], constants)
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), path)
    return path


def check_places(what, sizes, group, layout):
    """Boxes lie apart within the drawing, and routes begin and end at their boxes."""
    members = len(group["members"])
    boxes = []
    for i in range(len(layout["at"]) // 2):
        width, height = sizes[:2] if i < members else sizes[2:]
        x, y = layout["at"][2 * i:2 * i + 2]
        boxes.append((x - width / 2, y - height / 2, x + width / 2, y + height / 2))
    for i, a in enumerate(boxes):
        check(f"{what}: box {i} {a} is out of the drawing", a[0] >= -2 and a[1] >= -2 and a[2] <= layout["w"] + 2 and a[3] <= layout["h"] + 2)
        for j, b in enumerate(boxes[:i]):
            check(f"{what}: boxes {j} and {i} overlap", min(a[2], b[2]) - max(a[0], b[0]) <= 2 or min(a[3], b[3]) - max(a[1], b[1]) <= 2)
    for wire, route in zip(group["wires"], layout["routes"]):
        check(f"{what}: a route of {len(route)} numbers", len(route) == 4 or (len(route) >= 8 and (len(route) - 2) % 6 == 0))
        for end, point in ((wire[0], route[:2]), (wire[1], route[-2:])):
            box = boxes[end]
            check(f"{what}: {wire[:2]} ends at {point}, box {box}",
                  box[0] - 14 <= point[0] <= box[2] + 14 and box[1] - 14 <= point[1] <= box[3] + 14)


def check_drawings(what, data):
    """No drawing has more than 200 boxes, each node stands in one, and wires are the edges of the graph."""
    for picture in data["pictures"]:
        placed = []
        for g, group in enumerate(picture["groups"]):
            boxes = len(group["members"]) + len(group["in"]) + len(group["out"])
            check(f"{what}: group {g} has {boxes} boxes", boxes <= 200)
            layout = picture["layouts"][group["layout"]]
            check(f"{what}: group {g}: the layout has other boxes", len(layout["at"]) == 2 * boxes)
            check(f"{what}: group {g}: the layout has other wires", len(layout["routes"]) == len(group["wires"]))
            for wire in group["wires"]:
                check(f"{what}: group {g}: {wire}", 0 <= wire[0] < boxes and 0 <= wire[1] < boxes)
            for member in group["members"]:
                if member >= 0:
                    placed.append(member)
                    check(f"{what}: node {member}", picture["nodes"][member]["parent"] == g)
                else:
                    check(f"{what}: group {~member}", picture["groups"][~member]["parent"] == g)
        for g in {group["layout"]: g for g, group in enumerate(picture["groups"])}.values():
            check_places(f"{what}: group {g}", data["sizes"], picture["groups"][g], picture["layouts"][picture["groups"][g]["layout"]])
        drawn = [i for i, node in enumerate(picture["nodes"]) if node]
        check(f"{what}: nodes are not drawn once each", sorted(placed) == drawn)


def check_groups(folder):
    layered(folder / "layered.onnx", 12)
    done = expect("layered", octet("view", folder / "layered.onnx", "-o", folder / "layered.html", "--json"), 0)
    report = json.loads(done.stdout)["pictures"][0]
    check(f"layered: {report}", report["boxes"] == 12 * 25 and report["layouts"] < report["groups"])
    data = page_data(folder / "layered.html")
    check_drawings("layered", data)
    names = [g["name"] for g in data["pictures"][0]["groups"]]
    check(f"layered: {names[:14]}", all(any(n.endswith(f"layer.{i}") for n in names) for i in range(12)))
    layers = [g for g in data["pictures"][0]["groups"] if re.search(r"layer\.\d+$", g["name"])]
    check("layered: layers are not alike", len({g["alike"] for g in layers}) == 1 and len({g["layout"] for g in layers}) == 1)
    # Names that carry nothing.
    chain([f"node_{i}" for i in range(3001)], folder / "flat.onnx")
    expect("flat", octet("view", folder / "flat.onnx", "-o", folder / "flat.html"), 0)
    check_drawings("flat", page_data(folder / "flat.html"))
    # A graph in which each node reads all before it.
    nodes = [helper.make_node("Sum", ["x"] + [f"v{j}" for j in range(i)], [f"v{i}"], name=f"n{i}") for i in range(120)]
    value = helper.make_tensor_value_info
    graph = helper.make_graph(nodes, "dense", [value("x", TensorProto.FLOAT, [2])], [value("v119", TensorProto.FLOAT, [2])])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), folder / "dense.onnx")
    expect("dense", octet("view", folder / "dense.onnx", "-o", folder / "dense.html"), 0)
    check_drawings("dense", page_data(folder / "dense.html"))


def check_errors(folder):
    expect("there already", octet("view", folder / "layered.onnx", "-o", folder / "layered.html"), 2, "layered.html", "--force")
    expect("over the model", octet("view", folder / "layered.onnx", "-o", folder / "layered.onnx", "--force"), 2, "layered.onnx")
    expect("no such target", octet("view", folder / "layered.onnx", "--target", "tensort-10", "-o", folder / "n.html"), 2, "tensorrt-10")
    expect("times alone", octet("view", folder / "layered.onnx", "--times", "t.json", "-o", folder / "n.html"), 2, "--times")
    (folder / "layers.json").write_text('{"Layers": [{"Name": "a"')
    expect("no layers", octet("view", folder / "layered.onnx", folder / "layers.json", "--target", "tensorrt-10", "-o", folder / "n.html"), 2, "layers.json")
    expect("which TensorRT", octet("view", folder / "layered.onnx", folder / "layers.json", "-o", folder / "n.html"), 2, "--target")
    check("a refused page was written", not (folder / "n.html").exists())


# What is cut off: text that leaves its box, and parts of the page that leave the window.
LAYOUT = """
  const out = [];
  const w = document.documentElement.clientWidth, h = document.documentElement.clientHeight;
  if (document.documentElement.scrollWidth > w) out.push('the page is ' + document.documentElement.scrollWidth + ' wide');
  for (const e of document.querySelectorAll('header > *, .pane, aside, .legend, .crumbs')) {
    const r = e.getBoundingClientRect();
    if (r.right > w + 1 || r.bottom > h + 1 || r.left < -1 || r.width < 8 || r.height < 4) out.push(e.tagName + '.' + e.className + ' ' + JSON.stringify(r));
  }
  for (const g of document.querySelectorAll('.box')) {
    const body = g.querySelector('.body').getBoundingClientRect();
    for (const t of g.querySelectorAll('text')) {
      const r = t.getBoundingClientRect();
      if (r.left < body.left - 1 || r.right > body.right + 1) out.push(t.textContent + ' leaves its box');
    }
  }
  return out;
"""
KEYS = """
  const said = () => document.querySelector('[aria-live]').textContent, out = [];
  const svg = document.querySelector('.pane svg');
  svg.focus();
  key('ArrowDown'); out.push(said());
  key('Enter'); out.push(said());
  const inside = document.querySelectorAll('.crumbs button').length;
  key('ArrowDown'); const first = said(); key('ArrowUp'); const back = said();
  key('Backspace'); out.push(said());
  key('/'); const typed = document.activeElement.tagName;
  document.activeElement.value = 'layer.7 MatMul';
  document.activeElement.dispatchEvent(new Event('input'));
  const hits = document.querySelectorAll('.hits li').length;
  key('Enter'); out.push(said());
  const hash = location.hash;
  key('Escape');
  return {out, inside, first, back, typed, hits, hash, active: document.activeElement.tagName};
"""


def check_page_cuts(what, page, width, dark):
    found = run_page(page, LAYOUT, width, 900, dark)
    check(f"{what} at {width}, dark {dark}: {found}", found == [])


def finish():
    if problems:
        sys.exit("\n".join(problems))


def check_page(folder):
    data = page_data(folder / "layered.html")
    top = data["pictures"][0]["groups"][0]
    for width in (1400, 800):
        for dark in (False, True):
            check_page_cuts("layered", folder / "layered.html", width, dark)
    walk = run_page(folder / "layered.html", KEYS)
    if walk:
        check(f"keys: {walk}", walk["out"][1] != walk["out"][0] and walk["inside"] == 2 and walk["typed"] == "INPUT" and walk["hits"] == 6
              and walk["out"][3].startswith("MatMul /encoder/layer.7/") and "layer.7" in walk["hash"] and walk["active"] == "svg")
        again = run_page(folder / "layered.html", "return document.querySelector('aside h2').textContent + document.querySelector('aside p').textContent",
                         fragment=walk["hash"])
        check(f"permalink: {again}", again and again.startswith("MatMul/encoder/layer.7/"))
    boxes = run_page(folder / "layered.html", "return document.querySelectorAll('.box').length")
    check(f"{boxes} boxes are drawn", boxes == len(top["members"]) + len(top["in"]) + len(top["out"]))
    opened = run_page(folder / "flat.html", LAYOUT, 800, 700)
    check(f"flat: {opened}", opened == [])
    saved = run_page(folder / "layered.html", "let url; const old=URL.createObjectURL; URL.createObjectURL=b=>{url=b;return old(b)};"
                     "HTMLAnchorElement.prototype.click=function(){window.saved=this.download};key('s',document.querySelector('svg'));"
                     "return [url.type,url.size,window.saved]")
    check(f"SVG: {saved}", saved and saved[0] == "image/svg+xml" and saved[1] > 1000 and saved[2].endswith(".svg"))


def check_hostile(folder):
    names = [HOSTILE, "a/" * 5000, "</script><script>parent.x=2</script>", "k" * 10240, "é/ü.3/" + "\U0001f600" * 50, "../..//./.", "", " "]
    chain(names, folder / "hostile.onnx")
    expect("hostile", octet("view", folder / "hostile.onnx", "--target", "onnxruntime", "-o", folder / "hostile.html"), 0)
    text = (folder / "hostile.html").read_text(encoding="utf-8")
    check("a name is a tag", text.count("<script") == 2 and "<img" not in text)
    check_drawings("hostile", page_data(folder / "hostile.html"))
    found = run_page(folder / "hostile.html", "const out = []; for (let i = 0; i < 9; ++i) { key('ArrowDown', document.querySelector('svg'));"
                     "out.push(document.querySelector('aside h2').nextSibling.textContent); }"
                     "return {out, x: typeof x, images: document.images.length}")
    check(f"hostile: {str(found)[:600]}", found and found["x"] == "undefined" and found["images"] == 0 and HOSTILE in found["out"])
    wide = run_page(folder / "hostile.html", LAYOUT, 800, 900)
    check(f"hostile: {str(wide)[:600]}", wide == [])


def check_weights(folder):
    """Every number of a large weight is counted, in float and in codes by channels."""
    rng = np.random.default_rng(5)
    weight = rng.standard_normal((2500, 2001), dtype=np.float32)
    codes = np.clip(np.rint(weight / 0.03), -128, 127).astype(np.int8)
    scales = np.linspace(0.01, 0.05, 2001, dtype=np.float32)
    value = helper.make_tensor_value_info
    for name, nodes, constants, numbers in (
            ("float", [], [numpy_helper.from_array(weight, "w")], weight),
            ("codes", [helper.make_node("DequantizeLinear", ["q", "s"], ["w"], axis=1)],
             [numpy_helper.from_array(codes, "q"), numpy_helper.from_array(scales, "s")], codes.astype(np.float32) * scales)):
        graph = helper.make_graph([*nodes, helper.make_node("MatMul", ["x", "w"], ["y"])], name, [value("x", TensorProto.FLOAT, [1, 2500])],
                                  [value("y", TensorProto.FLOAT, [1, 2001])], constants)
        onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), folder / "large.onnx")
        expect(name, octet("view", folder / "large.onnx", "--force", "-o", folder / "large.html"), 0)
        seen = [v["seen"] for v in page_data(folder / "large.html")["pictures"][0]["values"] if "seen" in v]
        check(f"{name}: {len(seen)} weights are seen", len(seen) == 1)
        for each in seen:
            check(f"{name}: {sum(each['counts'])} numbers", sum(each["counts"]) == weight.size)
            check(f"{name}: {each['least']} to {each['largest']}",
                  np.allclose([each["least"], each["largest"]], [numbers.min(), numbers.max()], rtol=1e-5))
            bars, _ = np.histogram(numbers, len(each["counts"]), (each["from"], each["to"]))
            check(f"{name}: {each['counts']}, not {bars.tolist()}", np.abs(np.cumsum(bars) - np.cumsum(each["counts"])).max() < 0.02 * weight.size)
            largest = np.abs(numbers).max(0)
            groups = [largest[i:i + 32].max() for i in range(0, 2001, 32)]
            check(f"{name}: channels", np.allclose(each["channels"], groups, rtol=1e-5))


def check_models(folder):
    expect("train", octet("train", "cnn", "--data", "generated", "--steps", "60", "-o", folder / "cnn.onnx"), 0)
    expect("quantize", octet("quantize", folder / "cnn.onnx", "--data", "generated", "--target", "tensorrt-10", "-o", folder / "cnn8.onnx"), 0)
    done = expect("two", octet("view", folder / "cnn.onnx", folder / "cnn8.onnx", "--target", "tensorrt-10,octet", "--data", "generated",
                               "--limit", "32", "-o", folder / "two.html", "--json"), 0)
    data = page_data(folder / "two.html")
    check_drawings("two", data)
    left, right = data["pictures"]
    names = {(left["nodes"][a]["name"], right["nodes"][b]["name"]) for a, b in data["links"]}
    check(f"links: {names}", {("conv1", "conv1"), ("conv2", "conv2"), ("fc1", "fc1"), ("fc2", "fc2")} <= names)
    check("codes are drawn", not any(n and n["op"] in ("QuantizeLinear", "DequantizeLinear") for n in right["nodes"]))
    # The numbers of debug, which looks at the same examples.
    debug = json.loads(octet("debug", folder / "cnn.onnx", folder / "cnn8.onnx", "--data", "generated", "--limit", "32", "--remedies", "0", "--json").stdout)
    wanted = {t["value"]: t for t in debug["tensors"]}
    compared = 0
    for value in right["values"]:
        seen, other = value.get("seen"), wanted.get(value["name"])
        if seen and other and "sqnr" in seen:
            compared += 1
            check(f"{value['name']}: {seen['sqnr']} dB, debug {other['sqnr_db']}", abs(seen["sqnr"] - other["sqnr_db"]) < 0.01)
            check(f"{value['name']}: saturated", abs(seen.get("saturated", 0) - other.get("saturated", 0)) < 1e-5)
    check(f"{compared} tensors are as debug has them", compared >= 4)
    explained = json.loads(octet("explain", folder / "cnn8.onnx", "--target", "tensorrt-10", "--json").stdout)
    precision = {n["name"]: n["on"][0].get("precision") for n in right["nodes"] if n}
    for layer in explained["tensorrt-10.16" if "tensorrt-10.16" in explained else next(iter(explained))]["layers"]:
        check(f"{layer['node']}: {precision.get(layer['node'])}, explain {layer['precision']}",
              precision.get(layer["node"], layer["precision"]) == layer["precision"])
    follow = run_page(folder / "two.html", "const s = document.querySelectorAll('.pane svg'); s[0].focus(); let linked = 0, marks = 0;"
                      "for (let i = 0; i < 6; ++i) { key('ArrowDown', s[0]); linked = Math.max(linked, s[1].querySelectorAll('.linked').length); }"
                      "return {linked, pills: s[1].querySelectorAll('.pill').length, bars: document.querySelectorAll('aside figure svg').length,"
                      "worst: document.querySelectorAll('.worst li').length, changed: s[1].querySelectorAll('.warn').length}")
    check(f"two: {follow}", follow and follow["linked"] >= 1 and follow["pills"] >= 4 and follow["bars"] >= 1 and follow["changed"] >= 1)
    for width in (1400, 800):
        cut = run_page(folder / "two.html", LAYOUT, width, 900)
        check(f"two at {width}: {cut}", cut == [])
    # An engine's layers, by hand: conv1 alone in float.
    layers = [{"Name": f"{n} + relu", "LayerType": "CaskConvolution", "Metadata": f"[ONNX Layer: {n}]",
               "Inputs": [{"Name": f"i{k}", "Dimensions": [1, 4], "Format/Datatype": f}],
               "Outputs": [{"Name": f"i{k + 1}", "Dimensions": [1, 4], "Format/Datatype": f}]}
              for k, (n, f) in enumerate([("conv1", "Row major linear FP32"), ("conv2", "Row major Int8 format"), ("fc1", "Row major Int8 format")])]
    (folder / "engine.json").write_text(json.dumps({"Layers": layers}))
    expect("engine", octet("view", folder / "cnn8.onnx", folder / "engine.json", "--target", "tensorrt-10", "-o", folder / "engine.html"), 0)
    data = page_data(folder / "engine.html")
    names = {(data["pictures"][0]["nodes"][a]["name"], data["pictures"][1]["nodes"][b]["name"]) for a, b in data["links"]}
    check(f"engine: {names}", ("conv1", "conv1 + relu") in names and ("fc1", "fc1 + relu") in names)
    on = {n["name"]: n["on"][0]["precision"] for n in data["pictures"][1]["nodes"]}
    check(f"engine: {on}", on == {"conv1 + relu": "fp32", "conv2 + relu": "int8", "fc1 + relu": "int8"})
    otherwise = {n["name"]: n["otherwise"] for p in data["pictures"] for n in p["nodes"] if n and "otherwise" in n}
    check(f"engine: {otherwise}", otherwise == {"conv1": ["predicted int8, the engine runs fp32"],
                                                "conv1 + relu": ["conv1: predicted int8, the engine runs fp32"]})
    check("engine: nothing is marked", run_page(folder / "engine.html", "return document.querySelectorAll('.warn').length"))
    (folder / "times.json").write_text('[{"count": 2}, {"name": "conv1 + relu", "averageMs": 0.5}, {"name": "fc1 + relu", "averageMs": 0.25}]')
    expect("times", octet("view", folder / "cnn8.onnx", folder / "engine.json", "--times", folder / "times.json", "--target", "tensorrt-10",
                          "--force", "-o", folder / "engine.html"), 0)
    times = {n["name"]: n.get("ms") for n in page_data(folder / "engine.html")["pictures"][1]["nodes"]}
    check(f"engine: {times}", times == {"conv1 + relu": 0.5, "conv2 + relu": None, "fc1 + relu": 0.25})
    expect("codes", octet("view", folder / "cnn8.onnx", "--draw-codes", "-o", folder / "codes.html"), 0)
    data = page_data(folder / "codes.html")
    check_drawings("codes", data)
    ops = [n["op"] for n in data["pictures"][0]["nodes"] if n]
    check(f"codes: {ops}", ops.count("DequantizeLinear") == sum(n.op_type == "DequantizeLinear" for n in onnx.load(folder / "cnn8.onnx").graph.node) > 4)
    # Paper: both drawings and what is said of the network, on a few pages.
    paper = browser.print_page(folder / "two.html")
    pages = len(re.findall(rb"/Type\s*/Page\b(?!s)", paper))
    check(f"{pages} pages on paper", paper.startswith(b"%PDF") and 2 <= pages <= 6)
    size = (folder / "two.html").stat().st_size
    check(f"the page of a small network takes {size} bytes", size < 400_000)


def main(folder):
    check_groups(folder)
    check_errors(folder)
    check_weights(folder)
    if browser.CHROMIUM is None:
        sys.exit("view: chromium is missing, in which pages are looked at (Debian: apt-get install chromium)")
    check_page(folder)
    check_hostile(folder)
    check_models(folder)
    finish()


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as name:
        main(pathlib.Path(name))
