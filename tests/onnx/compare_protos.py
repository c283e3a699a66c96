# SPDX-License-Identifier: Apache-2.0
"""Compares models with what octet wrote after reading them, by the onnx package: equal but for the order of unordered
things and the field that a tensor's values lie in. What onnx.checker accepted before it accepts after. The models are
those of the backend tests, real ones, and ones made for the parts of ONNX that these leave out."""
import difflib
import itertools
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

import onnx
from google.protobuf.descriptor import FieldDescriptor
from onnx import checker, numpy_helper

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "support"))
import onnx_models  # noqa: E402

BUILD = pathlib.Path(os.environ["OCTET_BUILD_DIR"])
DATA = pathlib.Path(os.environ.get("OCTET_DATA") or pathlib.Path(os.environ["OCTET_SOURCE_DIR"]) / "../shared/data")
SOURCE = pathlib.Path(os.environ["OCTET_SOURCE_DIR"])


def normalize_tensor(tensor):
    if tensor.data_type == onnx.TensorProto.STRING or tensor.data_location == onnx.TensorProto.EXTERNAL:
        return
    if not tensor.HasField("raw_data"):
        raw = numpy_helper.from_array(numpy_helper.to_array(tensor)).raw_data
        for field in ("float_data", "int32_data", "int64_data", "double_data", "uint64_data"):
            tensor.ClearField(field)
        tensor.raw_data = raw
    if not tensor.raw_data:
        tensor.ClearField("raw_data")


def sort(repeated, key):
    items = sorted(repeated, key=key)
    copies = [type(i).FromString(i.SerializeToString()) for i in items]
    del repeated[:]
    repeated.extend(copies)


def normalize(message):
    """Unordered things in order, default texts unset, tensors as raw data."""
    if isinstance(message, (onnx.NodeProto, onnx.OperatorSetIdProto)) and message.domain == "ai.onnx":
        message.domain = ""
    for field, value in list(message.ListFields()):
        if field.message_type is not None:
            for item in value if field.is_repeated else [value]:
                normalize(item)
        elif (not field.is_repeated and field.type == FieldDescriptor.TYPE_STRING and value == ""
              and field.containing_oneof is None):
            message.ClearField(field.name)
    if isinstance(message, onnx.TensorProto):
        normalize_tensor(message)
    elif isinstance(message, onnx.NodeProto):
        sort(message.attribute, lambda a: a.name)
    elif isinstance(message, onnx.GraphProto):
        for field in (message.initializer, message.value_info):
            sort(field, lambda v: v.name)
        sort(message.sparse_initializer, lambda v: v.values.name)
        sort(message.quantization_annotation, lambda v: v.tensor_name)
    elif isinstance(message, onnx.ModelProto):
        sort(message.opset_import, lambda o: o.domain)
        if message.model_version == 0:
            message.ClearField("model_version")


def accepted(model):
    try:
        checker.check_model(model)
        return True
    except checker.ValidationError:
        return False


def main():
    unpacked = subprocess.run(["bash", SOURCE / "tests/support/unpack_backend_tests.sh", BUILD], check=True,
                              stdout=subprocess.PIPE, text=True).stdout.strip()
    failures, compared, checked = [], 0, 0
    with tempfile.TemporaryDirectory() as temporary:
        folder = pathlib.Path(temporary)
        onnx_models.make(folder / "made")
        for path in [*pathlib.Path(unpacked).glob("light/*.onnx"), *(DATA / "models").rglob("*.onnx")]:
            shutil.copy(path, folder / "made" / f"{path.parent.name}-{path.name}")
        subprocess.run([BUILD / "bin/octet_test_onnx", "--gtest_filter=RoundTrip.EveryModelReadsBackEqual"], check=True,
                       env=dict(os.environ, OCTET_ROUND_TRIP=temporary), stdout=subprocess.DEVNULL)
        originals = [(f"{p.parent.parent.name}/{p.parent.name}.onnx", p)
                     for p in sorted(pathlib.Path(unpacked).glob("*/*/model.onnx"))]
        originals += [(f"made/{p.name}", p) for p in sorted((folder / "made").iterdir())]
        for name, original in originals:
            before, after = onnx.load(original), onnx.load(folder / "written" / name)
            if accepted(before):
                checked += 1
                if not accepted(after):
                    failures.append(f"{name}: onnx.checker refuses what octet wrote")
            normalize(before)
            normalize(after)
            compared += 1
            if before.SerializeToString(deterministic=True) != after.SerializeToString(deterministic=True):
                failures.append(f"{name}: differs")
                lines = difflib.unified_diff(str(before).splitlines(), str(after).splitlines(), lineterm="", n=2)
                print("\n".join([name, *itertools.islice(lines, 20)]))
    for failure in failures[:20]:
        print(failure)
    print(f"{compared} models compared, {checked} of them checked, {len(failures)} failures")
    return 1 if failures or compared < 1802 + len(onnx_models.MODELS) else 0


if __name__ == "__main__":
    sys.exit(main())
