# SPDX-License-Identifier: Apache-2.0
# usage: peers.py FUNCTION FLOAT.onnx CALIBRATION.npz OUT.onnx SETTINGS    SETTINGS: JSON
"""One quantizer of others on one network, in a process of its own: writes OUT.onnx and prints, as JSON, the seconds of one
core that its function took and the memory that its libraries had before it began. What each.npz beside CALIBRATION.npz
holds is given to every run as it stands."""
import json
import pathlib
import resource
import sys
import tempfile
import time

import numpy

FLOAT, OUT = pathlib.Path(sys.argv[2]), pathlib.Path(sys.argv[4])
BATCH = 64


def batches():
    """Of BATCH examples, or of one where the network fixes that or has inputs that are no example's."""
    import onnx
    with numpy.load(sys.argv[3]) as file:
        data = {name: values for name, values in file.items() if name != "label"}
    others = pathlib.Path(sys.argv[3]).with_name("each.npz")
    each = dict(numpy.load(others)) if others.exists() else {}
    first = onnx.load(FLOAT, load_external_data=False).graph.input[0].type.tensor_type.shape.dim
    size = 1 if each or (first and first[0].dim_value == 1) else BATCH
    return [{name: values[at:at + size] for name, values in data.items()} | each for at in range(0, len(next(iter(data.values()))), size)]


def outside(model):
    """Of a BERT: the products that stay in float. Of other networks: nothing."""
    products = [n for n in model.graph.node if n.op_type in ("MatMul", "Gemm")]
    if not any(n.name.startswith("encoder.") for n in products):
        return []
    return [n.name for n in products if not n.name.startswith("encoder.")]


def is_bert(model):
    return any(n.name.startswith("encoder.") for n in model.graph.node)


def onnxruntime_static():
    import onnx
    from onnxruntime import quantization as tool
    from onnxruntime.quantization.shape_inference import quant_pre_process

    class Reader(tool.CalibrationDataReader):
        def __init__(self):
            self.left = iter(batches())

        def get_next(self):
            return next(self.left, None)

    def run(method, per_channel=True, percentile=None, bins=None, symmetric=False):
        if bins is not None:  # quantize_static passes no number of bins on
            make = sys.modules["onnxruntime.quantization.quantize"].create_calibrator
            sys.modules["onnxruntime.quantization.quantize"].create_calibrator = (
                lambda *words, extra_options, **more: make(*words, extra_options=extra_options | {"num_bins": bins}, **more))
        with tempfile.TemporaryDirectory() as scratch:
            ready = pathlib.Path(scratch) / "ready.onnx"
            quant_pre_process(FLOAT, ready, skip_symbolic_shape=True)
            model = onnx.load(ready)
            more = {"op_types_to_quantize": ["MatMul"], "nodes_to_exclude": outside(model)} if is_bert(model) else {}
            extra = {"ActivationSymmetric": True} if symmetric else {}
            if percentile is not None:
                extra["CalibPercentile"] = percentile
            if extra:
                more["extra_options"] = extra
            tool.quantize_static(ready, OUT, Reader(), per_channel=per_channel, calibrate_method=tool.CalibrationMethod[method], **more)
    return run


def onnxruntime_dynamic():
    import onnx
    from onnxruntime import quantization as tool

    def run():
        model = onnx.load(FLOAT)
        more = {"op_types_to_quantize": ["MatMul"], "nodes_to_exclude": outside(model)} if is_bert(model) else {}
        tool.quantize_dynamic(FLOAT, OUT, **more)
    return run


def onnxruntime_blocks():
    import onnx
    from onnxruntime.quantization import matmul_nbits_quantizer as tool

    def run():
        model = onnx.load(FLOAT)
        whole = tool.MatMulNBitsQuantizer(model, block_size=32, is_symmetric=True, nodes_to_exclude=outside(model))
        whole.process()
        onnx.save(whole.model.model, OUT)
    return run


def nncf_quantize():
    import nncf
    import onnx
    from nncf.quantization.advanced_parameters import AdvancedQuantizationParameters
    from nncf.quantization.range_estimator import RangeEstimatorParametersSet

    def run(ranges=None, correct="fast", smooth=False):
        model = onnx.load(FLOAT)
        more = {}
        if ranges is not None:
            more["activations_range_estimator_params"] = getattr(RangeEstimatorParametersSet, ranges)
        if is_bert(model):
            kept = ["Add", "Sub", "Mul", "Div", "LayerNormalization", "Gather", "ReduceMean", "Sqrt", "Pow"]
            scope = nncf.IgnoredScope(names=outside(model), types=kept, validate=False)
        else:
            scope = None
        data = batches()
        done = nncf.quantize(model, nncf.Dataset(data), subset_size=len(data), fast_bias_correction=correct != "full", ignored_scope=scope,
                             model_type=nncf.ModelType.TRANSFORMER if is_bert(model) or smooth else None,
                             advanced_parameters=AdvancedQuantizationParameters(
                                 disable_bias_correction=correct is None,
                                 smooth_quant_alphas=nncf.AdvancedSmoothQuantParameters(*(() if smooth else (-1, -1))), **more))
        onnx.save(done, OUT)
    return run


def nncf_compress():
    import nncf
    import onnx

    def run():
        model = onnx.load(FLOAT)
        done = nncf.compress_weights(model, mode=nncf.CompressWeightsMode.INT4_SYM, group_size=32, all_layers=False,
                                     ignored_scope=nncf.IgnoredScope(names=outside(model), types=["Gather"]))
        onnx.save(done, OUT)
    return run


def aimet_simulate():
    import aimet_onnx
    import onnx
    from aimet_onnx.cross_layer_equalization import equalize_model

    def only_products(sim, model):
        """Of a BERT: quantizers of what the encoder's products read alone."""
        left = set(outside(model))
        read = {name for n in model.graph.node if n.op_type in ("MatMul", "Gemm") and n.name not in left for name in n.input}
        for name, quantizer in sim.qc_quantize_op_dict.items():
            quantizer.enabled = quantizer.enabled and name in read

    def run(bits=8, per_channel=True, scheme="min_max", equalize=False, adaround=0, sequential=False):
        from aimet_onnx.batch_norm_fold import fold_all_batch_norms_to_weight
        model = onnx.load(FLOAT)
        for node in model.graph.node:  # its equalization knows no default of the attribute
            if node.op_type == "Conv" and all(a.name != "group" for a in node.attribute):
                node.attribute.append(onnx.helper.make_attribute("group", 1))
        if equalize:
            equalize_model(model)
        else:
            fold_all_batch_norms_to_weight(model)
        data = batches()
        one_scale = pathlib.Path(aimet_onnx.__file__).parent / "common/quantsim_config/default_config.json"
        sim = aimet_onnx.QuantizationSimModel(model, param_type=f"int{bits}", activation_type="int8", quant_scheme=scheme, dummy_input=data[0],
                                              config_file="default" if per_channel else str(one_scale),
                                              session_options_kwargs={"intra_op_num_threads": 1})
        if is_bert(onnx.load(FLOAT)):
            only_products(sim, onnx.load(FLOAT))
        if sequential:
            aimet_onnx.apply_seq_mse(sim, data)
        if adaround:
            aimet_onnx.apply_adaround(sim, data, num_iterations=adaround)
        sim.compute_encodings(data)
        onnx.save(sim.to_onnx_qdq(prequantize_constants=True), OUT)
    return run


def main():
    function, settings = globals()[sys.argv[1]](), json.loads(sys.argv[5])
    base = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
    begin = time.process_time()
    function(**settings)
    print("\n" + json.dumps({"work_s": time.process_time() - begin, "base_mb": base}))


main()
