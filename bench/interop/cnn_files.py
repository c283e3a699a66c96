# SPDX-License-Identifier: Apache-2.0
# The small CNN on Fashion-MNIST as other tools write it: one file for each row of tools/interop's table.
# usage: cnn_files.py FASHION_MNIST_FOLDER OUT [WORD...]    writes OUT/<row>/model.onnx and row.json; only rows with a WORD
import gzip
import pathlib
import sys

import numpy
import onnx
import onnxruntime.quantization as ort
import torch
from rows import Calibration, Rows
from torch import nn

DATA, OUT = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2])
BATCH = 50  # of the files with fixed sizes


def read(name, offset):
    with gzip.open(DATA / f"{name}.gz") as file:
        return numpy.frombuffer(file.read(), numpy.uint8, offset=offset)


def images(split):
    pixels = read(f"{split}-images-idx3-ubyte", 16).reshape(-1, 1, 28, 28)
    return torch.from_numpy((pixels.astype(numpy.float32) / 255 - 0.2860) / 0.3530)


def layers(conv=nn.Conv2d, relu=nn.ReLU, linear=nn.Linear):
    return [conv(1, 8, 3, 2), relu(), conv(8, 64, 3, 2), relu(), nn.AvgPool2d(3, 2), nn.Flatten(), nn.Dropout(0.05),
            linear(256, 128), nn.Dropout(0.05), linear(128, 10)]


def load(model):
    """The weights of the trained network in one of the same layers."""
    trained = torch.load(OUT / "weights.pt")
    own = model.state_dict()
    own.update({k: v for k, v in trained.items() if k in own})
    model.load_state_dict(own)
    return model.eval()


def train():
    if (OUT / "weights.pt").exists():
        return
    torch.manual_seed(0)
    x, y = images("train"), torch.from_numpy(read("train-labels-idx1-ubyte", 8).astype(numpy.int64))
    model = nn.Sequential(*layers())
    epochs, steps = 3, (len(x) + 127) // 128
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, max_lr=0.01, total_steps=steps * epochs)
    for _ in range(epochs):
        for batch in torch.randperm(len(x)).split(128):
            optimizer.zero_grad()
            nn.functional.cross_entropy(model(x[batch]), y[batch]).backward()
            optimizer.step()
            schedule.step()
    torch.save(model.state_dict(), OUT / "weights.pt")


rows = Rows(OUT)
X = images("train")[:512]
plain = {"input_names": ["x"], "output_names": ["logits"]}
open_batch = {"dynamic_axes": {"x": {0: "batch"}}, "dynamo": False, **plain}
open_dynamo = {"dynamic_shapes": ({0: torch.export.Dim("batch")},), "dynamo": True, **plain}


def network():
    return load(nn.Sequential(*layers()))


def batches():
    return Calibration([{"x": x.numpy()} for x in X.split(64)])


def float_file():
    """What ONNX Runtime's quantizers start from."""
    path = OUT / "float.onnx"
    if not path.exists():
        torch.onnx.export(network(), (X[:2],), path, opset_version=13, **open_batch)
    return path


@rows.add("torch dynamo, opset 20, fixed sizes")
def dynamo(path):
    torch.onnx.export(network(), (X[:BATCH],), path, dynamo=True, **plain)


@rows.add("torch dynamo, open batch")
def dynamo_open(path):
    torch.onnx.export(network(), (X[:2],), path, **open_dynamo)


@rows.add("torch dynamo, opset 13 asked for")
def dynamo_13(path):
    torch.onnx.export(network(), (X[:2],), path, opset_version=13, **open_dynamo)


@rows.add("torch TorchScript, opset 20")
def script(path):
    torch.onnx.export(network(), (X[:2],), path, opset_version=20, **open_batch)


@rows.add("torch TorchScript, opset 11")
def script_11(path):
    torch.onnx.export(network(), (X[:2],), path, opset_version=11, **open_batch)


@rows.add("torch TorchScript, batch norm, training mode", simplify=["--drop-training-dropout"])
def training(path):
    normed = layers()
    normed.insert(1, nn.BatchNorm2d(8))
    model = nn.Sequential(*normed)
    trained = torch.load(OUT / "weights.pt")
    own = model.state_dict()  # the inserted layer moves the names behind it by one
    own.update({(k if k[0] == "0" else f"{int(k[0]) + 1}{k[1:]}"): v for k, v in trained.items()})
    model.load_state_dict(own)
    with torch.no_grad():
        features = model[0](X)
        model[1].running_mean.copy_(features.mean((0, 2, 3)))
        model[1].running_var.copy_(features.var((0, 2, 3)))
        model[1].weight.copy_(features.std((0, 2, 3)))
        model[1].bias.copy_(features.mean((0, 2, 3)))
    model.train()
    model[1].eval()
    torch.onnx.export(model, (X[:2],), path, opset_version=17, training=torch.onnx.TrainingMode.PRESERVE,
                      do_constant_folding=False, **open_batch)


def torch_ao(path, settings):
    from torch.ao import quantization as ao
    model = nn.Sequential(ao.QuantStub(), *network(), ao.DeQuantStub()).eval()
    torch.backends.quantized.engine = settings
    model.qconfig = ao.get_default_qconfig(settings)
    model = ao.fuse_modules(model, [["1", "2"], ["3", "4"]])
    ao.prepare(model, inplace=True)
    model(X)
    ao.convert(model, inplace=True)
    torch.onnx.export(model, (X[:2],), path, opset_version=20, **open_batch)


@rows.add("torch.ao eager, fbgemm")
def ao_fbgemm(path):
    torch_ao(path, "fbgemm")


@rows.add("torch.ao eager, x86")
def ao_x86(path):
    torch_ao(path, "x86")


@rows.add("torch.ao eager, QAT, x86")
def ao_qat(path):
    from torch.ao import quantization as ao
    model = nn.Sequential(ao.QuantStub(), *network(), ao.DeQuantStub()).eval()
    torch.backends.quantized.engine = "x86"
    model.qconfig = ao.get_default_qat_qconfig("x86")
    model = ao.fuse_modules_qat(model.train(), [["1", "2"], ["3", "4"]])
    ao.prepare_qat(model, inplace=True)
    for x in X.split(64):
        model(x)
    ao.convert(model.eval(), inplace=True)
    torch.onnx.export(model, (X[:2],), path, opset_version=20, **open_batch)


@rows.add("torchao PT2E, x86 settings, dynamo")
def pt2e(path):
    from torchao.quantization.pt2e import quantize_pt2e
    from torchao.quantization.pt2e.quantizer import x86_inductor_quantizer as x86
    quantizer = x86.X86InductorQuantizer().set_global(x86.get_default_x86_inductor_quantization_config())
    program = torch.export.export(network(), (X[:BATCH],)).module()
    prepared = quantize_pt2e.prepare_pt2e(program, quantizer)
    for x in X.split(BATCH):
        if len(x) == BATCH:
            prepared(x)
    converted = quantize_pt2e.convert_pt2e(prepared)
    torch.onnx.export(converted, (X[:BATCH],), path, dynamo=True, **plain)


def brevitas(path, dynamo=False, bits=8, bias=False, per_channel=False):
    from brevitas import nn as qnn, quant
    from brevitas.export import export_onnx_qcdq
    from brevitas.graph.calibrate import calibration_mode
    weight = quant.Int8WeightPerChannelFloat if per_channel else quant.Int8WeightPerTensorFloat
    more = {"bias_quant": quant.Int32Bias} if bias else {}
    conv = lambda *a: qnn.QuantConv2d(*a, weight_quant=weight, weight_bit_width=bits, **more)
    linear = lambda *a: qnn.QuantLinear(*a, bias=True, weight_quant=weight, weight_bit_width=bits,
                                        **({**more, "input_quant": quant.Int8ActPerTensorFloat} if bias else more))
    relu = lambda: qnn.QuantReLU(bit_width=8, return_quant_tensor=bias)
    body = layers(conv, relu, linear)
    model = nn.Sequential(qnn.QuantIdentity(bit_width=8, return_quant_tensor=True), *body)
    trained = {f"{int(k.split('.')[0]) + 1}.{k.split('.')[1]}": v for k, v in torch.load(OUT / "weights.pt").items()}
    model.load_state_dict(trained, strict=False)
    model.eval()
    with torch.no_grad(), calibration_mode(model):
        for x in X.split(64):
            model(x)
    if dynamo:
        export_onnx_qcdq(model, args=X[:BATCH], export_path=str(path), dynamo=True, input_names=["x"])
    else:
        export_onnx_qcdq(model, args=X[:2], export_path=str(path), opset_version=13, dynamic_axes={"x": {0: "batch"}},
                         input_names=["x"], dynamo=False)


@rows.add("Brevitas QCDQ, TorchScript")
def brevitas_script(path):
    brevitas(path)


@rows.add("Brevitas QCDQ, TorchScript, per channel, int32 bias")
def brevitas_bias(path):
    brevitas(path, bias=True, per_channel=True)


@rows.add("Brevitas QCDQ, TorchScript, 4-bit weights")
def brevitas_4(path):
    brevitas(path, bits=4)


@rows.add("Brevitas QCDQ, dynamo")
def brevitas_dynamo(path):
    brevitas(path, dynamo=True)


def static(path, **options):
    ort.quantize_static(float_file(), path, batches(), **options)


@rows.add("quantize_static, defaults", onnxruntime=True)
def static_defaults(path):
    static(path)


@rows.add("quantize_static, per channel, reduced range")
def static_reduced(path):
    static(path, per_channel=True, reduce_range=True)


@rows.add("quantize_static, uint8")
def static_uint8(path):
    static(path, activation_type=ort.QuantType.QUInt8, weight_type=ort.QuantType.QUInt8)


@rows.add("quantize_static, uint8 activations, symmetric")
def static_symmetric(path):
    static(path, activation_type=ort.QuantType.QUInt8, extra_options={"ActivationSymmetric": True})


@rows.add("quantize_static, int16 activations")
def static_int16(path):
    static(path, activation_type=ort.QuantType.QInt16)


@rows.add("quantize_static, weights with Q and DQ, entropy")
def static_pairs(path):
    static(path, calibrate_method=ort.CalibrationMethod.Entropy, extra_options={"AddQDQPairToWeight": True})


@rows.add("quantize_static, QOperator", onnxruntime=True)
def static_qoperator(path):
    static(path, quant_format=ort.QuantFormat.QOperator)


@rows.add("quantize_static, QOperator, uint8, per channel", onnxruntime=True)
def static_qoperator_uint8(path):
    static(path, quant_format=ort.QuantFormat.QOperator, per_channel=True, activation_type=ort.QuantType.QUInt8)


@rows.add("quantize_dynamic, defaults")
def dynamic(path):
    ort.quantize_dynamic(float_file(), path)


@rows.add("quantize_dynamic of the dynamo file")
def dynamic_of_dynamo(path):
    model = onnx.load(OUT / "torch-dynamo-open-batch" / "model.onnx")
    del model.graph.value_info[:]  # with them it stops with an error of its own
    onnx.save(model, OUT / "stripped.onnx")
    ort.quantize_dynamic(OUT / "stripped.onnx", path)


OUT.mkdir(parents=True, exist_ok=True)
train()
rows.make(sys.argv[3:])
