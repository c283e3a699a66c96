# SPDX-License-Identifier: Apache-2.0
# usage: inputs.py FILE.onnx SITE OUT    SITE: where the models' packages are installed
"""What a model is calibrated with and judged by: OUT/calibration.npz (64 examples), OUT/test.npz (16 to 128 others) and,
where it has inputs that are no example's, OUT/each.npz; and OUT/float.onnx, the model as the quantizers of others take it. Images are crops of two photographs (scikit-learn's), of drawn scenes and of
printed text; sounds are vowels, tones, noise and silence; the wake words get what the models before them make of sounds;
bytes are those of files of SITE. A model that none of KINDS names gets what its first input looks like."""
import math
import pathlib
import re
import sys

import numpy
import onnx
import onnx.version_converter
import onnxruntime
from PIL import Image, ImageDraw, ImageFont

CALIBRATION = 64
WORDS = "invoice total 2024 Main Street open daily 09:30 warning exit no. 47 ship to Berlin tel 555-0192 thank you page price 12.80 EUR".split()


def tests_of(size):
    """Examples to judge by: outputs of few numbers want many, inputs of many numbers allow few."""
    return min(max(2 ** 21 // size, 16), 128)


def photographs():
    from sklearn.datasets import load_sample_images
    return [Image.fromarray(image) for image in load_sample_images().images]


def drawn_scene(random, width, height):
    """A graded sky of low frequencies, and figures with shading and outlines."""
    coarse = random.uniform(0, 255, (random.integers(2, 8), random.integers(2, 8), 3)).astype(numpy.uint8)
    image = Image.fromarray(coarse).resize((width, height), Image.Resampling.BICUBIC)
    draw = ImageDraw.Draw(image)
    for _ in range(random.integers(2, 9)):
        (x, other_x), (y, other_y) = numpy.sort(random.integers(0, width, 2)), numpy.sort(random.integers(0, height, 2))
        color, edge = (tuple(map(int, random.integers(0, 256, 3))) for _ in range(2))
        figure = draw.ellipse if random.random() < 0.6 else draw.rectangle
        figure([int(x), int(y), int(other_x) + 1, int(other_y) + 1], fill=color, outline=edge)
    noise = random.normal(0, random.uniform(0, 8), (height, width, 3))
    return Image.fromarray(numpy.clip(numpy.asarray(image) + noise, 0, 255).astype(numpy.uint8))


def printed_text(random, width, height, lines):
    paper = int(random.integers(170, 256))
    image = Image.new("RGB", (width, height), (paper, paper - int(random.integers(0, 30)), paper - int(random.integers(0, 40))))
    draw = ImageDraw.Draw(image)
    each = height / lines
    for line in range(lines):
        font = ImageFont.load_default(size=each * random.uniform(0.45, 0.75))
        text = " ".join(random.choice(WORDS, random.integers(1, 6)))
        draw.text((random.uniform(0, 0.1) * width, line * each + 0.1 * each), text, font=font, fill=tuple(map(int, random.integers(0, 90, 3))))
    turned = image.rotate(random.uniform(-2, 2), fillcolor=(paper,) * 3)
    return turned.rotate(180) if random.random() < 0.25 else turned


def cut_from(random, photo, width, height):
    share = random.uniform(0.3, 1)
    scale = share * min(photo.width / width, photo.height / height)
    w, h = max(1, int(width * scale)), max(1, int(height * scale))
    x, y = random.integers(0, photo.width - w + 1), random.integers(0, photo.height - h + 1)
    return photo.crop((x, y, x + w, y + h)).resize((width, height), Image.Resampling.BILINEAR)


def images(shape, mean, deviation, text=0, last=False):
    """f32[3, height, width], or with the channels last; `text`: lines printed on each, 0: scenes."""
    height, width = shape

    def make(random):
        photos = photographs() if not text else []

        def one():
            if text:
                image = printed_text(random, width, height, text)
            elif random.random() < 0.6:
                image = cut_from(random, photos[random.integers(len(photos))], width, height)
            else:
                image = drawn_scene(random, width, height)
            values = ((numpy.asarray(image, numpy.float32) - mean) / deviation).astype(numpy.float32)
            return values if last else values.transpose(2, 0, 1)
        return one
    return make


def sound(random, samples, rate=16000):
    """f32[samples] in -1 to 1: a voice with three formants and a falling pitch, tones, noise, or next to nothing."""
    t = numpy.arange(samples) / rate
    kind = random.random()
    noise = random.normal(0, 10 ** random.uniform(-4, -1.5), samples)
    if kind < 0.15:
        return noise.astype(numpy.float32)
    if kind < 0.3:
        return (0.3 * numpy.sin(2 * math.pi * random.uniform(100, 3000) * t) + noise).astype(numpy.float32)
    pitch = random.uniform(80, 280) * (1 - random.uniform(0, 0.3) * t / max(t[-1], 1e-9))
    phase, formants = 2 * math.pi * numpy.cumsum(pitch) / rate, random.uniform((250, 800, 2000), (900, 2300, 3200))
    voice = sum(numpy.sin(k * phase) * sum(math.exp(-((k * pitch.mean() - f) / (0.1 * f + 60)) ** 2) for f in formants) for k in range(1, 30))
    syllables = numpy.clip(numpy.sin(2 * math.pi * random.uniform(2, 5) * t + random.uniform(0, 6)), 0, 1)
    whole = voice * syllables + noise * 10
    return (whole / max(1.0, numpy.abs(whole).max()) * random.uniform(0.05, 0.9)).astype(numpy.float32)


def sounds(samples, scale=1.0):
    return lambda random: lambda: sound(random, samples) * numpy.float32(scale)


def embedded(steps):
    """What openwakeword's models make of sounds: f32[steps, 96]; of a single step the frames before, f32[76, 32, 1]."""
    def make(random):
        folder = next(pathlib.Path(sys.argv[2]).glob("openwakeword/resources/models"))
        mel, embed = (onnxruntime.InferenceSession(folder / f"{name}.onnx") for name in ("melspectrogram", "embedding_model"))

        def one():
            frames = 76 + 8 * max(steps - 1, 0)
            wave = sound(random, 160 * (frames + 4))[None] * numpy.float32(32767)
            seen = mel.run(None, {mel.get_inputs()[0].name: wave})[0].reshape(-1, 32)[:frames] / 10 + 2
            if steps == 0:
                return seen[:, :, None]
            windows = numpy.stack([seen[8 * i:8 * i + 76, :, None] for i in range(steps)])
            return embed.run(None, {embed.get_inputs()[0].name: windows})[0].reshape(steps, 96)
        return one
    return make


def file_bytes(count, padding):
    def make(random):
        files = sorted(f for f in pathlib.Path(sys.argv[2]).rglob("*") if f.is_file() and f.stat().st_size > 64)

        def one():
            read = files[random.integers(len(files))].read_bytes()[:count]
            return numpy.array([*read, *[padding] * (count - len(read))], numpy.int32)
        return one
    return make


# By what a file's path holds: what its first input gets, and what the other inputs get in each run.
KINDS = [
    ("nudenet", images((320, 320), 0, 255), {}),
    ("OCRv4_det", images((320, 320), 127.5, 127.5, text=8), {}),
    ("OCRv4_rec", images((48, 320), 127.5, 127.5, text=1), {}),
    ("mobile_v2.0_cls", images((48, 192), 127.5, 127.5, text=1), {}),
    ("pnet", images((120, 160), 127.5, 127.5, last=True), {}),
    ("rnet", images((24, 24), 127.5, 127.5, last=True), {}),
    ("onet", images((48, 48), 127.5, 127.5, last=True), {}),
    ("ultraface", images((240, 320), 127, 128), {}),
    ("espcn", images((4, 4), 0, 255), {}),
    ("melspectrogram", sounds(16000, 32767), {}),
    ("embedding_model", embedded(0), {}),
    ("hey_|alexa", embedded(16), {}),
    ("timer", embedded(34), {}),
    ("weather", embedded(22), {}),
    ("openwakeword.*silero", sounds(1280), {"sr": 16000, "h": (2, 1, 64), "c": (2, 1, 64)}),
    ("silero.*sequence", sounds(576), {"h": (1, 1, 128), "c": (1, 1, 128)}),
    ("silero", sounds(576), {"sr": 16000, "state": (2, 1, 128)}),
    ("magika", file_bytes(1024, 256), {}),
]


def guessed(value):
    """For a model that KINDS does not name: four axes with one or three channels are an image, all else is random numbers."""
    shape = [size if isinstance(size, int) else None for size in value.shape]
    if len(shape) == 4 and shape[1] == 3:
        return images([size or 224 for size in shape[2:]], 127.5, 64)
    if len(shape) == 4 and shape[3] == 3:
        return images([size or 224 for size in shape[1:3]], 127.5, 64, last=True)
    sizes = [size or 64 for size in shape[1:]]
    if value.type != "tensor(float)":
        return lambda random: lambda: random.integers(0, 2, sizes).astype(value.type[7:-1])
    return lambda random: lambda: random.standard_normal(sizes).astype(numpy.float32)


def for_others(path):
    """The model in operator set 13 at least, which ONNX Runtime's scales of channels want, its nodes with names of their own, which
    NNCF wants."""
    model = onnx.load(path)
    if any(opset.domain == "" and opset.version < 13 for opset in model.opset_import):
        try:
            model = onnx.version_converter.convert_version(model, 13)
        except RuntimeError as error:  # an operator that it does not convert
            print(f"inputs: {path} stays in its operator set: {error}", file=sys.stderr)
    taken = set()
    for place, node in enumerate(model.graph.node):
        if not node.name or node.name in taken:
            node.name = f"{node.op_type}_{place}"
        taken.add(node.name)
    return model


def main():
    path, out = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[3])
    model = onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"])
    inputs = {value.name: value for value in model.get_inputs()}
    make, others = next(((make, others) for word, make, others in KINDS if re.search(word, str(path))), (None, {}))
    first = next(iter(inputs))
    if make is None:
        make = guessed(inputs[first])
    wanting = [name for name in inputs if name != first and name not in others]
    if wanting:
        sys.exit(f"inputs: nothing for {', '.join(wanting)} of {path}; a line of KINDS says what they get")
    out.mkdir(parents=True, exist_ok=True)
    examples = make(numpy.random.default_rng(1))
    calibration = numpy.stack([examples() for _ in range(CALIBRATION)])
    others_seen = make(numpy.random.default_rng(2))
    test = numpy.stack([others_seen() for _ in range(tests_of(calibration[0].size))])
    for name, values in (("calibration", calibration), ("test", test)):
        numpy.savez(out / f"{name}.npz", **{first: values})
    each = {name: numpy.zeros(value, numpy.float32) if isinstance(value, tuple) else numpy.array(value, numpy.int64)
            for name, value in others.items() if name in inputs}
    if each:
        numpy.savez(out / "each.npz", **each)
    onnx.save(for_others(path), out / "float.onnx")


main()
