#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# `octet engine` where TensorRT is not installed: one line that says so and what to do. What needs no TensorRT works:
# layers that were written down elsewhere are held against what explain predicts.
set -euo pipefail
octet=$OCTET_BUILD_DIR/bin/octet
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"

fail() {
  echo "engine.sh: $1" >&2
  exit 1
}

# refused EXPECTED COMMAND...: exit 2 and one line that contains EXPECTED
refused() {
  local expected=$1 rc=0
  shift
  "$@" >out.txt 2>err.txt || rc=$?
  [ $rc = 2 ] || fail "$*: exit $rc instead of 2"
  [ "$(wc -l <err.txt)" = 1 ] || fail "$*: not one line: $(cat err.txt)"
  [ ! -s out.txt ] || fail "$*: says something on stdout"
  grep -qF -- "$expected" err.txt || fail "$*: $(cat err.txt)"
}

cat >model.txt <<'TEXT'
graph g opset(""=17)
input x: f32[N, 4]
const s: f32[] = [0.1]
const z: i8[] = [0]
const w: f32[4, 3] = [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12]
const v: f32[3, 2] = [1, 2, 3, 4, 5, 6]
q = QuantizeLinear(x, s, z) "q"
d = DequantizeLinear(q, s, z) "d"
wq = QuantizeLinear(w, s, z) "wq"
wd = DequantizeLinear(wq, s, z) "wd"
m = MatMul(d, wd) "first"
n = MatMul(m, v) "second"
y = Softmax(n) "softmax"
output y: f32[N, 2]
TEXT
"$octet" assemble model.txt -o model.onnx >/dev/null

if [ ! -e "$OCTET_LIB_DIR/liboctet_tensorrt.so" ]; then
  without="this octet was built without TensorRT"
  way_out="build it with TENSORRT_ROOT=DIR make build"
  for command in "build model.onnx -o model.engine" "build gone.onnx -o model.engine --precision fp16" \
    "eval model.onnx model.engine --data generated" "profile model.onnx model.engine"; do
    # shellcheck disable=SC2086
    refused "$without" "$octet" engine $command
    grep -qF "$way_out" err.txt || fail "$command: no way out: $(cat err.txt)"
  done
  [ ! -e model.engine ] || fail "a refusal must write nothing"
else
  echo "engine.sh: built with TensorRT: what is said without it is not tested"
fi

cat >layers.json <<'JSON'
{"Layers": [
 {"Name": "q", "LayerType": "Reformat", "Inputs": [{"Name": "x", "Format/Datatype": "Row major linear FP32"}],
  "Outputs": [{"Name": "q", "Format/Datatype": "Row major Int8 format"}]},
 {"Name": "w + wq + first", "LayerType": "CaskGemmMatrixMultiply", "TacticName": "sm80_i8",
  "Inputs": [{"Name": "q", "Format/Datatype": "Row major Int8 format"}],
  "Outputs": [{"Name": "m", "Format/Datatype": "Row major linear FP16 format"}]},
 {"Name": "__myl_0", "LayerType": "gemm", "Metadata": "[ONNX Layer: second]\u001f[ONNX Layer: softmax]",
  "Inputs": [{"Name": "m", "Format/Datatype": "Int8"}], "Outputs": [{"Name": "y", "Format/Datatype": "Float"}]}],
 "Bindings": ["x", "y"]}
JSON
echo '[{"count": 3}, {"name": "w + wq + first", "averageMs": 0.25}, {"name": "__myl_0", "averageMs": 0.75}]' >times.json

"$octet" engine compare model.onnx layers.json --target tensorrt-10 --times times.json >text.txt
grep -q '^first  *MatMul  *int8  *int8  *w + wq + first  *as predicted$' text.txt || fail "$(cat text.txt)"
grep -q '^second  *MatMul  *float  *int8  *__myl_0  *otherwise$' text.txt || fail "$(cat text.txt)"
grep -qF 'model.onnx against tensorrt-10: 3 layers; of 3 nodes 1 as predicted, 1 otherwise, 1 fused' text.txt || fail "$(cat text.txt)"
grep -q '^__myl_0  *gemm  *float  *int8  *0.7500  *75.0$' text.txt || fail "$(cat text.txt)"
grep -qF '1.0000 ms in all layers, 100.0 % of it in int8' text.txt || fail "$(cat text.txt)"

"$octet" engine compare model.onnx layers.json --target tensorrt-10 --times times.json --json >report.json
python3 - <<'PY'
import json
report = json.load(open("report.json"))
assert report["summary"] == {"as predicted": 1, "otherwise": 1, "fused": 1, "not predicted": 0, "moves data": 0, "gone": 0, "untold": 0}
assert [n["verdict"] for n in report["nodes"]] == ["as predicted", "otherwise", "fused"], report["nodes"]
assert [l.get("ms") for l in report["layers"]] == [None, 0.25, 0.75], report["layers"]
assert report["layers"][2]["origin"] == ["second", "softmax"] and report["layers"][1]["predicted"] == "int8"
PY

echo '{"Layers": [' >broken.json
refused "broken.json: the engine's layers: not valid JSON" "$octet" engine compare model.onnx broken.json --target tensorrt-10
refused "gone.json" "$octet" engine compare model.onnx gone.json --target tensorrt-10
refused "an engine runs on TensorRT" "$octet" engine compare model.onnx layers.json --target onnxruntime
refused "broken.json: the engine's times: not valid JSON at line 2" \
  "$octet" engine compare model.onnx layers.json --target tensorrt-10 --times broken.json
refused "a command is missing; known are build, eval, profile, compare" "$octet" engine
