#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# LibTorch's threads sleep soon where they wait, so that training beside another program keeps its speed; what the user sets counts.
set -euo pipefail
source "$OCTET_SOURCE_DIR/tests/support/cli.sh"
export PYTHONPATH=$OCTET_SOURCE_DIR/tests/support PYTHONDONTWRITEBYTECODE=1
unset OMP_WAIT_POLICY GOMP_SPINCOUNT

python3 - <<'PY'
import arrays, random
arrays.npz("images.npz", x=("<f4", (64, 1, 28, 28), [random.random() for _ in range(64 * 784)]), y=("<i8", (64,), [i % 10 for i in range(64)]))
PY
train=("$octet" train cnn --data npz:images.npz --batch 32 --no-validation --steps 1 --channels1 2 --channels2 4 --hidden 8 --force -o cnn.onnx)

# spins COUNT SETTING...: what GNU OpenMP says of itself
spins() {
  local count=$1
  shift
  trains env "$@" OMP_DISPLAY_ENV=verbose "${train[@]}"
  grep -q "GOMP_SPINCOUNT = '$count'" err.txt || fail "$*: not $count: $(grep GOMP_SPINCOUNT err.txt)"
}
spins 1000
spins 7 GOMP_SPINCOUNT=7
spins 0 OMP_WAIT_POLICY=passive
