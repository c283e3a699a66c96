#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# `octet engine build` over the stand-in for TensorRT 8.6, 10.1 and 11.1 (tests/engine/fake_tensorrt): what the builder
# is told and in what order, the data that its calibrator gets, caches that come and go, reports. Where octet is built
# with TensorRT itself, that library is found first and nothing here can be asked.
set -euo pipefail
source "$OCTET_SOURCE_DIR/tests/support/cli.sh"
if [ -e "$OCTET_LIB_DIR/liboctet_tensorrt.so" ]; then
  echo "engine_build.sh: built with TensorRT itself: the stand-in is not tested"
  exit 0
fi

# with VERSION: the stand-in for it is what the command loads from now on
with() { export LD_LIBRARY_PATH=$OCTET_BUILD_DIR/fake-tensorrt/$1; }
export OCTET_FAKE_LOG=$work/calls
# build OPTION...: of model.onnx; its calls are in the file calls, its report in out.txt
build() {
  rm -f calls engine
  "$octet" engine build "${model:-model.onnx}" -o engine "$@" >out.txt 2>err.txt || fail "build $*: $(cat err.txt)"
}
# called LINE...: the builder was called in this order, beside others
called() {
  local expected
  expected=$(printf '%s\n' "$@")
  # LINEs as a subsequence of the calls
  awk -v want="$expected" 'BEGIN { n = split(want, w, "\n"); at = 1 } at <= n && $0 == w[at] { ++at }
    END { exit at <= n }' calls || fail "wanted $* in: $(cat calls)"
}
not_called() { ! grep -qxF -- "$1" calls || fail "called: $1"; }
said() { grep -qF -- "$1" "${2:-err.txt}" || fail "not said: $1: $(cat "${2:-err.txt}")"; }

cat >model.txt <<'TEXT'
graph g opset(""=17)
input x: f32[N, 1, 6, 6]
const w: f32[2, 1, 3, 3] = [0.5, -1, 0.25, 1, 2, -0.5, 0.125, -2, 0.75, 1, 1, 1, -1, -1, -1, 0.5, 0.5, 0.5]
c = Conv(x, w) "conv"
r = Relu(c) "relu"
p = GlobalMaxPool(r) "pool"
output p: f32[N, 2, 1, 1]
TEXT
"$octet" assemble model.txt -o model.onnx >/dev/null
sed 's/\[N/[4/' model.txt >fixed.txt
"$octet" assemble fixed.txt -o fixed.onnx >/dev/null
# Integers, of which the products with these weights are exact in any order.
python3 - <<'PY'
import array, random
random.seed(7)
values = array.array("f", [random.randint(-20, 20) * random.choice((1, 1, 1, 8)) for _ in range(64 * 36)])
head = "{'descr': '<f4', 'fortran_order': False, 'shape': (64, 1, 6, 6), }"
head += " " * (63 - (len(head) + 10) % 64) + "\n"
open("x.npy", "wb").write(b"\x93NUMPY\x01\x00" + len(head).to_bytes(2, "little") + head.encode() + values.tobytes())
PY
data=npy:x=x.npy
shape="--shape x=1x1x6x6:8x1x6x6:16x1x6x6"
"$octet" quantize model.onnx --data $data --samples 32 --target tensorrt-10 -o qdq.onnx >/dev/null 2>&1

# ranges FILE: its lines in an order of their own
ranges() { tail -n +2 "$1" | sort; }

# The calibrator gets the examples that octet calibrate looks at, so that the caches are the same to the last bit.
for version in 8 10; do
  with $version
  case $version in 8) number=8601 ;; 10) number=100100 ;; esac
  for pair in minmax:min-max:MinMaxCalibration entropy:entropy:EntropyCalibration2; do
    IFS=: read -r calibrator ours algorithm <<<"$pair"
    for file in model fixed; do
      rm -f theirs
      model=$file.onnx build $shape --calibrate $calibrator --data $data --limit 48 --batch 16 \
        --calibration-cache theirs --report report.json --force
      "$octet" calibrate $file.onnx --data $data --samples 48 --batch 16 --calibrator "$ours" --format tensorrt \
        --heading "TRT-$number-$algorithm" -o ours --force >/dev/null
      [ "$(head -1 theirs)" = "TRT-$number-$algorithm" ] || fail "heading: $(head -1 theirs)"
      [ "$(ranges theirs)" = "$(ranges ours)" ] || fail "$version $file $calibrator: $(diff theirs ours)"
      "$octet" ranges diff ours theirs --tolerance 0 >/dev/null || fail "$version $file $calibrator: ranges differ"
      case $file in
        model)
          called "set int8" "calibrator $calibrator" "batch of 16 x=16x1x6x6" "batch of 16 x=16x1x6x6" \
            "batch of 16 x=16x1x6x6" "calibration cache written" built
          [ "$(grep -c '^batch' calls)" = 3 ] || fail "batches: $(cat calls)" ;;
        fixed) [ "$(grep -c '^batch of 4 x=4x1x6x6$' calls)" = 12 ] || fail "batches: $(cat calls)" ;;
      esac
    done
  done
  # What octet calibrate writes is a cache, whatever version heads it; then no data is read.
  "$octet" calibrate model.onnx --data $data --samples 48 --calibrator entropy --format tensorrt -o cache --force \
    --heading TRT-8503-EntropyCalibration2 >/dev/null
  cp cache before
  build $shape --calibration-cache cache --json
  called "set int8" "calibrator entropy" "calibration cache taken" built
  not_called "calibration cache written"
  said "is headed TRT-8503-EntropyCalibration2; TensorRT"
  cmp cache before || fail "a cache that was read must stay as it is"
  python3 - <<'PY'
import json
report = json.load(open("out.txt"))
assert report["calibration"] == {"calibrator": "entropy", "from": "cache", "cache": "cache",
    "heading": "TRT-8503-EntropyCalibration2", "tensors": 4, "missing": []}, report["calibration"]
PY
done

with 10
# The report.
build $shape --calibrate minmax --data $data --limit 50 --batch 16 --precision fp16 --report report.json --force \
  --workspace 3 --level 2
said "the last 2 of 50 examples fill no batch of 16 and are left out"
called "network 0" "workspace 3145728" "level 2" "set fp16" "set int8" "calibrator minmax" built
said "layers: 2 fp16, 1 int8 (100.0 % of multiply-adds)" out.txt
said "weakly typed, fp16, int8; minmax over 48 examples of" out.txt
said "on stand-in for a GPU, compute capability 8.6 in" out.txt
python3 - <<'PY'
import json, os
report = json.load(open("report.json"))
assert report["tensorrt"] == "10.1.0" and report["device"] == "stand-in for a GPU, compute capability 8.6"
assert report["size_bytes"] == os.path.getsize("engine") and report["seconds"] > 0
assert report["flags"] == {"strongly_typed": False, "fp16": True, "bf16": False, "fp8": False, "int8": True, "tf32": None}
assert report["timing_cache"] == "none"
c = report["calibration"]
assert (c["calibrator"], c["from"], c["samples"], c["batch"], c["missing"]) == ("minmax", "data", 48, 16, []), c
shares = {p["precision"]: (p["layers"], p["work"]) for p in report["precisions"]}
assert shares == {"int8": (1, 1.0), "fp16": (2, 0.0)}, shares
assert [(f["node"], f["precision"]) for f in report["in_float"]] == [("relu", "fp16"), ("pool", "fp16")]
assert "summary" not in report
PY
# A tensor without a range keeps its layers in float, and that is said of them.
grep -v '^c: ' before >part
build $shape --calibration-cache part --json
said 'has no range of 1 of the model'"'"'s 4 tensors (c)'
python3 - <<'PY'
import json
report = json.load(open("out.txt"))
assert report["calibration"]["missing"] == ["c"]
why = {f["node"]: f["why"] for f in report["in_float"]}
assert why == {"conv": 'no range of "c"', "relu": 'no range of "c"', "pool": "the builder's choice"}, why
PY
# Q/DQ need no calibrator; reasons are those of explain.
model=qdq.onnx build $shape --report report.json --force
called "set int8" built
grep -q '^calibrator' calls && fail "a calibrator beside Q/DQ"
python3 - <<'PY'
import json
report = json.load(open("report.json"))
assert report["calibration"] is None and report["summary"]["as predicted"] >= 1, report["summary"]
PY

# Precisions, each as the version has it.
build $shape --precision fp32
called "clear tf32" built
build $shape --precision tf32,bf16
called "set tf32" "set bf16" built
model=qdq.onnx build $shape --strongly-typed
called "network 2" built
not_called "set int8"
refused "--precision fp16: a strongly typed network computes in the types" \
  "$octet" engine build model.onnx $shape --strongly-typed --precision fp16 -o none
refused "--strongly-typed and --calibrate contradict each other" \
  "$octet" engine build model.onnx $shape --strongly-typed --calibrate entropy --data $data -o none
refused "qdq.onnx: the model has Q/DQ, beside which TensorRT ignores a calibrator" \
  "$octet" engine build qdq.onnx $shape --calibrate entropy --data $data -o none
refused "--precision int8: the model has no int8 Q/DQ" "$octet" engine build model.onnx $shape --precision int8 -o none
refused "unknown precision \"int4\"" "$octet" engine build model.onnx --precision fp16,int4 -o none
with 8
refused "TensorRT 8.6.1 has no bf16" "$octet" engine build model.onnx $shape --precision bf16 -o none
refused "TensorRT 8.6.1 has no strongly typed networks" "$octet" engine build model.onnx $shape --strongly-typed -o none
build $shape --precision fp16
called "network 1" "set fp16" built
with 11
refused "TensorRT 11.1.0 has no implicit quantization" \
  "$octet" engine build model.onnx $shape --calibrate entropy --data $data -o none
refused "--precision fp16: TensorRT 11.1.0 computes in the types" \
  "$octet" engine build model.onnx $shape --precision fp16 -o none
model=qdq.onnx build $shape --strongly-typed
called "network 0" built
not_called "set int8"
with 10

# Caches that are not for this build.
head -1 before >empty
echo "something else" >no-cache
"$octet" calibrate model.onnx --data $data --samples 8 --calibrator min-max --format tensorrt \
  --heading TRT-100100-MinMaxCalibration -o extremes >/dev/null
refused "extremes: the cache is of the calibrator minmax, and entropy is asked for" \
  "$octet" engine build model.onnx $shape --calibrate entropy --calibration-cache extremes -o none
refused "empty: of its 0 tensors the model has none" \
  "$octet" engine build model.onnx $shape --calibration-cache empty -o none
refused "no-cache: line 1: \"something else\" is no heading" \
  "$octet" engine build model.onnx $shape --calibration-cache no-cache -o none
refused "gone: there is no such calibration cache" "$octet" engine build model.onnx --calibration-cache gone -o none
refused "--calibrate entropy needs ranges" "$octet" engine build model.onnx --calibrate entropy -o none
refused "--data is what --calibrate" "$octet" engine build model.onnx --data $data -o none
refused "cache: " "$octet" engine build model.onnx --calibration-cache cache --report cache -o none --force
[ ! -e none ] || fail "a refusal must write nothing"
# With --force and data, one that does not fit is made anew.
cp extremes mismatch
build $shape --calibrate entropy --data $data --limit 16 --batch 16 --calibration-cache mismatch --force
said "it is made anew"
[ "$(head -1 mismatch)" = TRT-100100-EntropyCalibration2 ] || fail "not made anew: $(head -1 mismatch)"

# Timings: read, added to, and kept where they are of no use here.
build $shape --timing-cache timings
called "timed conv" "timed relu" "timed pool" built
build $shape --timing-cache timings --json
not_called "timed conv"
said '"timing_cache": "used"' out.txt
sed 's/"relu"/"other"/' model.txt >other.txt
"$octet" assemble other.txt -o other.onnx >/dev/null
OCTET_FAKE_MEANWHILE="echo meanwhile >>timings" model=other.onnx build $shape --timing-cache timings
called "timed other" built
not_called "timed pool"
for key in conv relu other meanwhile; do
  grep -qx $key timings || fail "$key is not among the timings: $(cat timings)"
done
cp timings before
OCTET_FAKE_DEVICE=second build $shape --timing-cache timings
said "the timing cache is not used (of another TensorRT or GPU?): Timing cache of another device"
said "timings: is left as it is; --force writes a new one"
cmp timings before || fail "timings of another device must stay"
OCTET_FAKE_DEVICE=second build $shape --timing-cache timings --force
grep -q second timings || fail "not written anew: $(cat timings)"
echo text >no-timings
build $shape --timing-cache no-timings
said "Magic tag does not match"
[ "$(cat no-timings)" = text ] || fail "a file that is no timing cache must stay"

# The engine runs, and says what it is.
build $shape
"$octet" engine profile model.onnx engine --runs 2 | grep -q 'ms in all layers' || fail "profile"
with 8
refused "engine: the engine does not load" "$octet" engine profile model.onnx engine
