# SPDX-License-Identifier: Apache-2.0
# A BERT classifier of IMDB's reviews as other tools write it: one file for each row of tools/interop's table.
# usage: bert_files.py IMDB_FOLDER HUGGING_FACE_FOLDER OUT [WORD...]    writes OUT/<row>/; only rows with a WORD
import pathlib
import shutil
import sys

import onnx
import onnxruntime.quantization as ort
import torch
from reviews import LENGTH, reviews, tokens
from rows import Calibration, Rows
from transformers import AutoModelForSequenceClassification

DATA, SOURCE, OUT = map(pathlib.Path, sys.argv[1:4])
BATCH = 10  # of the files with fixed sizes
NAMES = ["input_ids", "attention_mask", "token_type_ids"]

OUT.mkdir(parents=True, exist_ok=True)
rows = Rows(OUT, [SOURCE / name for name in ("tokenizer.json", "vocab.txt", "tokenizer_config.json")])
texts, _ = reviews(DATA / "train.tsv.gz", 64)
INPUTS = tokens(SOURCE, texts)
EXAMPLE = tuple(torch.from_numpy(INPUTS[name][:BATCH]) for name in NAMES)


class Logits(torch.nn.Module):
    """Inputs by position, one tensor out."""

    def __init__(self, model):
        super().__init__()
        self.model = model

    def forward(self, input_ids, attention_mask, token_type_ids):
        return self.model(input_ids=input_ids, attention_mask=attention_mask, token_type_ids=token_type_ids).logits


def network(attention="sdpa", **more):
    return Logits(AutoModelForSequenceClassification.from_pretrained(SOURCE, attn_implementation=attention, **more)).eval()


plain = {"input_names": NAMES, "output_names": ["logits"]}


def script(path, opset, model):
    axes = {name: {0: "batch", 1: "sequence"} for name in NAMES}
    torch.onnx.export(model, EXAMPLE, path, opset_version=opset, dynamic_axes=axes, dynamo=False, **plain)


def dynamo(path, model, open_sizes=True, **more):
    sizes = {0: torch.export.Dim("batch"), 1: torch.export.Dim("sequence", max=512)}
    more |= {"dynamic_shapes": tuple([sizes] * 3)} if open_sizes else {}
    torch.onnx.export(model, EXAMPLE, path, dynamo=True, external_data=False, **plain, **more)


@rows.add("torch dynamo, opset 20, fixed sizes")
def dynamo_fixed(path):
    dynamo(path, network(), open_sizes=False)


@rows.add("torch dynamo, opset 20, open sizes")
def dynamo_open(path):
    dynamo(path, network())


@rows.add("torch dynamo, opset 18, open sizes")
def dynamo_18(path):
    dynamo(path, network(), opset_version=18)


@rows.add("torch dynamo, opset 23, open sizes")
def dynamo_23(path):
    dynamo(path, network(), opset_version=23)


@rows.add("torch TorchScript, opset 17, open sizes")
def script_17(path):
    script(path, 17, network())


@rows.add("torch TorchScript, opset 14, open sizes")
def script_14(path):
    script(path, 14, network())


@rows.add("torch TorchScript, opset 11, eager attention")
def script_11(path):
    script(path, 11, network("eager"))


@rows.add("torch TorchScript, opset 17, gelu_new")
def gelu_new(path):
    script(path, 17, network(hidden_act="gelu_new"))


@rows.add("torch TorchScript, training mode", simplify=["--drop-training-dropout"])
def training(path):
    axes = {name: {0: "batch", 1: "sequence"} for name in NAMES}
    torch.onnx.export(network("eager").train(), EXAMPLE, path, opset_version=17, dynamic_axes=axes, dynamo=False,
                      training=torch.onnx.TrainingMode.TRAINING, do_constant_folding=False, **plain)


def float_file():
    """What ONNX Runtime's tools start from."""
    path = OUT / "float.onnx"
    if not path.exists():
        script(path, 14, network("eager"))
    return path


def optimized_file():
    from onnxruntime.transformers import optimizer
    path = OUT / "optimized.onnx"
    if not path.exists():
        optimizer.optimize_model(str(float_file()), "bert", num_heads=12, hidden_size=384,
                                 opt_level=0).save_model_to_file(str(path))
    return path


def batches():
    return Calibration([{name: INPUTS[name][at:at + 8] for name in NAMES} for at in range(0, 64, 8)])


@rows.add("ONNX Runtime transformers optimizer", simplify=["--standard-operators"])
def optimized(path):
    shutil.copy(optimized_file(), path)


@rows.add("ONNX Runtime optimizer, level 2, saved", simplify=["--standard-operators"])
def session_optimized(path):
    import onnxruntime
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_ENABLE_EXTENDED
    options.optimized_model_filepath = str(path)
    onnxruntime.InferenceSession(str(float_file()), options, providers=["CPUExecutionProvider"])


@rows.add("quantize_static, defaults", onnxruntime=True, count=8000)
def static(path):
    ort.quantize_static(float_file(), path, batches())


@rows.add("quantize_static, per channel, uint8 activations", count=8000)
def static_uint8(path):
    ort.quantize_static(float_file(), path, batches(), per_channel=True, activation_type=ort.QuantType.QUInt8,
                        op_types_to_quantize=["MatMul", "Gemm"])


@rows.add("quantize_static, QOperator", onnxruntime=True, count=8000)
def static_qoperator(path):
    ort.quantize_static(float_file(), path, batches(), quant_format=ort.QuantFormat.QOperator)


@rows.add("quantize_static of the optimized file", simplify=["--standard-operators"], count=8000)
def static_optimized(path):
    # Without a list of operators it stops at the pooler's bias, whose input it has no scale for.
    ort.quantize_static(optimized_file(), path, batches(), op_types_to_quantize=["MatMul", "Attention"])


@rows.add("quantize_dynamic, defaults", count=8000)
def dynamic(path):
    ort.quantize_dynamic(float_file(), path)


@rows.add("quantize_dynamic of the optimized file", simplify=["--standard-operators"], samples=256, count=8000)
def dynamic_optimized(path):
    ort.quantize_dynamic(optimized_file(), path, extra_options={"DefaultTensorType": onnx.TensorProto.FLOAT})


@rows.add("torchao PT2E, x86 settings, dynamo", count=8000)
def pt2e(path):
    from torchao.quantization.pt2e import quantize_pt2e
    from torchao.quantization.pt2e.quantizer import x86_inductor_quantizer as x86
    quantizer = x86.X86InductorQuantizer().set_global(x86.get_default_x86_inductor_quantization_config())
    prepared = quantize_pt2e.prepare_pt2e(torch.export.export(network(), EXAMPLE).module(), quantizer)
    for at in range(0, 60, BATCH):
        prepared(*(torch.from_numpy(INPUTS[name][at:at + BATCH]) for name in NAMES))
    converted = quantize_pt2e.convert_pt2e(prepared)
    torch.onnx.export(converted, EXAMPLE, path, dynamo=True, external_data=False, **plain)


@rows.add("Brevitas QCDQ linear layers, dynamo", count=8000)
def brevitas(path):
    from brevitas import nn as qnn
    from brevitas import quant
    from brevitas.export import export_onnx_qcdq
    from brevitas.graph.quantize import layerwise_quantize
    model = layerwise_quantize(network(), compute_layer_map={
        torch.nn.Linear: (qnn.QuantLinear, {"weight_quant": quant.Int8WeightPerChannelFloat,
                                            "input_quant": quant.Int8ActPerTensorFloat})})
    from brevitas.graph.calibrate import calibration_mode
    with torch.no_grad(), calibration_mode(model):
        for at in range(0, 60, BATCH):
            model(*(torch.from_numpy(INPUTS[name][at:at + BATCH]) for name in NAMES))
    export_onnx_qcdq(model.eval(), args=EXAMPLE, export_path=str(path), dynamo=True, external_data=False, **plain)


rows.make(sys.argv[4:])