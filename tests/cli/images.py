# SPDX-License-Identifier: Apache-2.0
"""Image files beside Pillow: what octet makes of PNG and JPEG files of every kind and prepares of them, files that are
damaged or hostile, folders and tables of classes; then a folder from training to labels that predict names."""
import io
import itertools
import json
import os
import pathlib
import struct
import subprocess
import sys
import tempfile
import zlib

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "support"))
import numpy as np
import onnx
import onnxruntime
from octet_command import OCTET, octet, refused
from PIL import Image, ImageOps

RAW = "mean=0&std=1"


def export(spec, *arguments):
    """Pixels 0 .. 255 as octet reads them, [N, H, W, C], and the labels."""
    octet("data", "export", spec, "-o", "x.npz", "--force", *arguments)
    with np.load("x.npz") as arrays:
        x = np.rint(arrays["x"] * 255).astype(int)
        return x.transpose(0, 2, 3, 1), arrays["y"] if "y" in arrays else None


def picture(width, height, seed=0):
    """Smooth with some noise, so that scaling and JPEG have something to do."""
    rng = np.random.default_rng(seed)
    y, x = np.mgrid[:height, :width]
    planes = [128 + 100 * np.sin(x / (3 + c) + y / (5 - c) + c) for c in range(3)]
    return np.clip(np.stack(planes, -1) + rng.normal(0, 20, (height, width, 3)), 0, 255).astype(np.uint8)


def encoded(image, kind, **options):
    out = io.BytesIO()
    image.save(out, kind, **options)
    return out.getvalue()


def folder_of(name, files):
    for path, content in files.items():
        path = pathlib.Path(name) / path
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
    return name


def as_pillow(content, mode):
    return np.asarray(ImageOps.exif_transpose(Image.open(io.BytesIO(content))).convert(mode)).astype(int)


def chunk(kind, data):
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))


def png(width, height, depth, color, rows, extra=b""):
    return (b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, depth, color, 0, 0, 0)) + extra +
            chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b""))


def check_decoders():
    rgb = Image.fromarray(picture(37, 23))
    alpha = rgb.copy()
    alpha.putalpha(Image.fromarray(picture(37, 23, 1)[..., 0]))
    exif = Image.Exif()
    kinds = {
        "gray.png": encoded(rgb.convert("L"), "PNG"), "rgb.png": encoded(rgb, "PNG"), "alpha.png": encoded(alpha, "PNG"),
        "gray_alpha.png": encoded(alpha.convert("LA"), "PNG"), "palette.png": encoded(rgb.quantize(37), "PNG"),
        "bits.png": encoded(rgb.convert("1"), "PNG"), "four.png": encoded(rgb.quantize(4), "PNG", bits=2),
        "gray.jpg": encoded(rgb.convert("L"), "JPEG"), "rgb.jpeg": encoded(rgb, "JPEG", quality=90),
        "full.JPG": encoded(rgb, "JPEG", subsampling=0), "progressive.jpg": encoded(rgb, "JPEG", progressive=True),
        "cmyk.jpg": encoded(rgb.convert("CMYK"), "JPEG"), "stripes.jpg": encoded(rgb, "JPEG", subsampling=1),
        "keep_rgb.jpg": encoded(rgb, "JPEG", keep_rgb=True),
    }
    transparent = rgb.quantize(8)
    transparent.info["transparency"] = 3
    kinds["transparent.png"] = encoded(transparent, "PNG", transparency=3)
    for turn in range(1, 9):
        exif[0x0112] = turn
        kinds[f"turn{turn}.jpg"] = encoded(rgb, "JPEG", exif=exif)
        kinds[f"turn{turn}.png"] = encoded(rgb, "PNG", exif=exif)
    # Adam7, which Pillow does not write: the passes of a picture of 8 x 8.
    small = picture(8, 8)[..., 0]
    passes = [(0, 0, 8, 8), (4, 0, 8, 8), (0, 4, 4, 8), (2, 0, 4, 4), (0, 2, 2, 4), (1, 0, 2, 2), (0, 1, 1, 2)]
    rows = b"".join(b"\0" + row.tobytes() for x, y, dx, dy in passes for row in small[y::dy, x::dx])
    interlaced = png(8, 8, 8, 0, rows)
    header = bytearray(interlaced[8:33])
    header[20] = 1
    kinds["interlaced.png"] = interlaced[:8] + chunk(b"IHDR", bytes(header[8:21])) + interlaced[33:]
    assert (np.asarray(Image.open(io.BytesIO(kinds["interlaced.png"]))) == small).all()
    for name, content in kinds.items():
        folder_of(f"kinds/{name}", {name: content})
        for color, mode in (("rgb", "RGB"), ("gray", "L")):
            got, _ = export(f"images:kinds/{name}?color={color}&{RAW}")
            want = as_pillow(content, mode)
            want = want[..., None] if want.ndim == 2 else want
            assert got[0].shape == want.shape, (name, color, got.shape, want.shape)
            # Of JPEG the libraries may be other versions; all that was seen is equal.
            assert np.abs(got[0] - want).max() <= (1 if "jp" in name.lower() else 0), (name, color)
    # 16 bits become 8 by scale: 65535 is 255, and 257 is 1.
    values = np.array([[0, 257, 128, 129], [65535, 65406, 65407, 32768]], ">u2")
    folder_of("deep", {"deep.png": png(4, 2, 16, 0, b"".join(b"\0" + row.tobytes() for row in values))})
    got, _ = export(f"images:deep?{RAW}")
    assert got.shape == (1, 2, 4, 1), got.shape
    assert (got[0, ..., 0] == np.rint(values.astype(float) / 257)).all(), got


def check_scaling():
    """Bit for bit Pillow's resize, and torchvision's Resize and CenterCrop in Pillow's terms."""
    for (w, h), (to_w, to_h), (filter_name, method) in itertools.product(
            [(37, 23), (8, 64), (100, 99)], [(28, 28), (64, 40), (5, 3)],
            [("bilinear", Image.BILINEAR), ("bicubic", Image.BICUBIC)]):
        image = Image.fromarray(picture(w, h))
        name = folder_of(f"scale/{w}x{h}", {"a.png": encoded(image, "PNG")})
        got, _ = export(f"images:{name}?size={to_w}x{to_h}&filter={filter_name}&{RAW}")
        assert (got[0] == np.asarray(image.resize((to_w, to_h), method))).all(), (w, h, to_w, to_h, filter_name)
        gray, _ = export(f"images:{name}?size={to_w}x{to_h}&filter={filter_name}&color=gray&{RAW}")
        assert (gray[0, ..., 0] == np.asarray(image.convert("L").resize((to_w, to_h), method))).all()
        for side, resize in ((28, 28), (28, 37), (5, 6)):
            scale = resize / min(w, h)
            size = (resize, int(resize * h / w)) if w <= h else (int(resize * w / h), resize)
            whole = image.resize(size, method)
            left, top = round((size[0] - side) / 2), round((size[1] - side) / 2)
            want = np.asarray(whole.crop((left, top, left + side, top + side)))
            got, _ = export(f"images:{name}?size={side}&crop=center&resize={resize}&filter={filter_name}&{RAW}")
            assert (got[0] == want).all(), (w, h, side, resize, scale)
    # Planes, mean and deviation.
    image = picture(12, 10)
    name = folder_of("plain", {"a.png": encoded(Image.fromarray(image), "PNG")})
    octet("data", "export", f"images:{name}?mean=0.1,0.2,0.3&std=0.5,0.25,2", "-o", "x.npz", "--force")
    with np.load("x.npz") as arrays:
        want = (image / 255 - [0.1, 0.2, 0.3]) / [0.5, 0.25, 2]
        np.testing.assert_allclose(arrays["x"][0], want.transpose(2, 0, 1), rtol=1e-6)


def check_hostile():
    good = encoded(Image.fromarray(picture(40, 30)), "PNG")
    photo = encoded(Image.fromarray(picture(40, 30)), "JPEG")
    bomb = png(100_000, 100_000, 8, 0, b"\0")
    broken = bytearray(good)
    broken[60] ^= 0xff
    for name, content, words in [
            ("bomb.png", bomb, "has 100000 x 100000 pixels, above the limit"),
            ("cut.png", good[:len(good) // 2], "damaged PNG: the file is truncated"),
            ("few.png", png(10, 10, 8, 0, b"\0" * 50), "damaged PNG"), ("flip.png", bytes(broken), "damaged PNG: IDAT"),
            ("text.png", b"not an image", "neither a PNG nor a JPEG"), ("empty.png", b"", "empty"),
            ("cut.jpg", photo[:len(photo) // 2], "damaged JPEG"), ("head.jpg", photo[:100], "damaged JPEG"),
            ("gif.png", b"GIF89a" + bytes(20), "neither a PNG nor a JPEG")]:
        folder_of(f"bad/{name}", {name: content})
        refused(words, "data", "export", f"images:bad/{name}?size=8", "-o", "no.npz")
        assert name in octet("data", "export", f"images:bad/{name}?size=8", "-o", "no.npz", code=2)
    folder_of("bad/narrow", {"narrow.png": encoded(Image.fromarray(picture(1, 60_000)), "PNG")})
    refused("too narrow", "data", "export", "images:bad/narrow?size=4000&crop=center", "-o", "no.npz")
    # A JPEG whose last marker is missing is whole all the same, for Pillow too.
    folder_of("ends", {"a.jpg": photo[:-2]})
    got, _ = export(f"images:ends?{RAW}")
    assert np.abs(got[0] - as_pillow(photo, "RGB")).max() <= 1


def check_folders():
    pixel = encoded(Image.new("L", (4, 4), 7), "PNG")
    other = encoded(Image.new("L", (4, 4), 9), "PNG")
    folder_of("pets", {"train/dog/b.png": pixel, "train/cat/a.png": other, "train/dog/.hidden.png": b"", "train/dog/notes.txt": b"x",
                       "test/dog/1.png": other, "val/cat/ignored.png": pixel})
    x, y = export(f"images:pets?{RAW}", "--split", "train")
    assert list(y) == [0, 1] and [v.flat[0] for v in x] == [9, 7], (y, x)
    _, y = export("images:pets")
    assert list(y) == [1]
    shown = octet("data", "show", "images:pets", "--examples", "0")
    assert "pets/train, 2 training images" in shown and 'label 0: 1 example, "cat"' in shown, shown
    folder_of("pets2", {"a/1.png": pixel, "a/2.png": pixel, "b/1.png": other})
    folder_of("unknown", {"a/1.png": pixel, "c/1.png": pixel})
    refused('the class "c", which the training images do not have', "data", "show", "images:pets2?test=unknown")
    assert "the same for training and testing" in octet("data", "show", "images:pets2")
    pathlib.Path("names.csv").write_text("file,label\nb/1.png,yes\na/2.png,no\n")
    x, y = export(f"images:pets2?labels=names.csv&{RAW}")
    assert list(y) == [1, 0] and [v.flat[0] for v in x] == [9, 7]
    many = folder_of("many", {f"{c}/{i}.png": pixel for c in "ab" for i in range(100)})
    sizes = [len(export(f"images:{many}?test=20%", "--split", s)[1]) for s in ("train", "test")]
    assert sum(sizes) == 200 and 20 < sizes[1] < 60, sizes
    folder_of("mixed", {"a/1.png": pixel, "2.png": pixel})
    folder_of("none", {"a/x.txt": b""})
    folder_of("sizes", {"a/1.png": pixel, "a/2.png": encoded(Image.new("L", (5, 4)), "PNG")})
    refused("holds folders and images", "data", "show", "images:mixed")
    refused("holds no images", "data", "show", "images:none")
    refused("?size=64", "data", "show", "images:sizes")
    refused("is no folder", "data", "show", "images:nothing")
    refused('did you mean "size"', "data", "show", "images:pets2?sise=3")
    refused("is a folder without its kind; write images:pets2", "data", "show", "pets2")
    for option, words in [("size=0", "is no size"), ("size=9x9x9", "is no size"), ("crop=middle", "is not known"),
                          ("std=0", "out of range"), ("mean=a", "is no number"), ("resize=9", "is for crop=center"),
                          ("mean=1,2", "2 numbers"), ("mean=1,2,3&color=gray", "3 numbers"), ("size=99999", "sides go up to"),
                          ("size=9&crop=center&resize=8", "less than the size")]:
        refused(words, "data", "show", f"images:pets2?{option}")


def figures(folder, count, seed):
    """Bars that lie and bars that stand, RGB, of several sizes."""
    rng = np.random.default_rng(seed)
    for i in range(count):
        w, h = rng.integers(20, 40, 2)
        image = rng.normal(60, 20, (h, w, 3))
        lies = i % 2
        at = rng.integers(5, 12)
        image[at:at + 5, 2:-2] += 120 * lies
        image[2:-2, at:at + 5] += 120 * (1 - lies)
        name = "lies" if lies else "stands"
        folder_of(folder, {f"{name}/{i:04}.png": encoded(Image.fromarray(np.clip(image, 0, 255).astype(np.uint8)), "PNG")})


def check_workflow():
    """Train, quantize, train again and predict without saying a second time how images are prepared."""
    figures("bars/train", 400, 1)
    figures("bars/test", 60, 2)
    spec = "images:bars?size=24&mean=0.4,0.5,0.6&std=0.2,0.3,0.4"
    octet("train", "cnn", "--data", spec, "--epochs", "4", "--channels1", "8", "--channels2", "16", "--batch", "32", "-o", "bars.onnx")
    octet("quantize", "bars.onnx", "--data", "images:bars", "-o", "bars8.onnx")
    octet("qat", "bars8.onnx", "--data", "images:bars", "-o", "no.onnx", code=2)
    foreign = onnx.load("bars.onnx")
    del foreign.metadata_props[:]
    onnx.save(foreign, "foreign.onnx")
    octet("quantize", "foreign.onnx", "--data", spec, "-o", "foreign8.onnx")
    octet("predict", "bars8.onnx", "--data", "images:bars", "-o", "bars8.npz")
    octet("predict", "foreign8.onnx", "--data", "images:bars", "-o", "foreign8.npz")
    with np.load("bars8.npz") as a, np.load("foreign8.npz") as b:
        assert (a["probabilities"] == b["probabilities"]).all()
    octet("qat", "bars.onnx", "--data", "images:bars", "--epochs", "1", "--batch", "32", "-o", "qat/")
    assert pathlib.Path("qat/labels.txt").read_text() == "lies\nstands\n"
    accuracy = json.loads(octet("eval", "bars.onnx", "bars8.onnx", "qat", "--data", "images:bars", "--latency-runs", "0", "--json"))
    assert all(model["accuracy"] > 0.9 for model in accuracy), accuracy
    files = sorted(pathlib.Path("bars/test").glob("*/*.png"))
    session = onnxruntime.InferenceSession("bars.onnx", providers=["CPUExecutionProvider"])
    lines = [json.loads(line) for line in octet("predict", "bars.onnx", *files, "--format", "jsonl", "--top", "2").splitlines()]
    assert [line["file"] for line in lines] == [str(f) for f in files]
    for path, line in zip(files, lines):
        pixels = np.asarray(Image.open(path).resize((24, 24), Image.BILINEAR)) / 255
        x = ((pixels - [0.4, 0.5, 0.6]) / [0.2, 0.3, 0.4]).transpose(2, 0, 1)[None].astype(np.float32)
        want = session.run(None, {"x": x})[0][0]
        assert line["predicted"] == ["lies", "stands"][want.argmax()]
        assert abs(line["probability"] - want.max()) < 1e-4
        assert abs(sum(t["probability"] for t in line["top"]) - 1) < 1e-4
    said = octet("predict", "qat", "bars/test/lies")
    assert said.count("\n") == 30 and said.splitlines()[0].startswith("lies"), said
    octet("predict", "bars8.onnx", "--data", "images:bars", "-o", "p.npz")
    octet("eval", "bars8.onnx", "--data", "images:bars", "--latency-runs", "0", "--save-predictions", "e.npz")
    octet("eval", "bars8.onnx", "--data", "images:bars", "--latency-runs", "0", "--save-predictions", "e.csv")
    octet("eval", "bars8.onnx", "--data", "images:bars", "--latency-runs", "0", "--save-predictions", "e.jsonl")
    with np.load("p.npz") as p, np.load("e.npz") as e:
        assert sorted(p) == sorted(e) == ["classes", "file", "index", "label", "predicted", "probabilities"]
        assert all((p[k] == e[k]).all() for k in p)
        assert (p["label"] == [0] * 30 + [1] * 30).all() and (p["predicted"] == p["probabilities"].argmax(1)).all()
        share = (p["label"] == p["predicted"]).mean()
        assert abs(share - accuracy[1]["accuracy"]) < 1e-9
        rows = [json.loads(line) for line in pathlib.Path("e.jsonl").read_text().splitlines()]
        np.testing.assert_allclose([row["probabilities"] for row in rows], e["probabilities"], rtol=1e-6)
        table = pathlib.Path("e.csv").read_text().splitlines()
        assert table[0] == "index,file,label,predicted,probability,p lies,p stands" and len(table) == 61, table[:2]
        assert [row.split(",")[3] for row in table[1:]] == [row["predicted"] for row in rows]
    refused("is of one model", "eval", "bars.onnx", "bars8.onnx", "--data", "images:bars", "--save-predictions", "z.npz")
    refused("its ending says the form", "eval", "bars.onnx", "--data", "images:bars", "--save-predictions", "z.txt")
    refused("exists; use --force", "eval", "bars.onnx", "--data", "images:bars", "--save-predictions", "e.csv")
    refused("takes no texts", "predict", "bars.onnx", "--text", "names.csv")
    refused("name images", "predict", "bars.onnx")
    refused("nowhere.png: there is no such file or folder", "predict", "bars.onnx", "nowhere.png")
    # What trtexec takes: the bytes of the inputs as the model has them.
    said = octet("data", "export", "images:bars", "--model", "bars.onnx", "--limit", "4", "--raw", "-o", "raw/")
    assert "trtexec --shapes=x:4x3x24x24 --loadInputs=x:raw/x.bin" in said, said
    x = np.fromfile("raw/x.bin", np.float32).reshape(4, 3, 24, 24)
    octet("data", "export", "images:bars", "--model", "bars.onnx", "--limit", "4", "-o", "raw.npz")
    with np.load("raw.npz") as arrays:
        assert (arrays["x"] == x).all() and list(arrays["y"]) == [0] * 4


def check_arrays():
    """Grey images without an axis for channels, and the network's size and classes from the data."""
    rng = np.random.default_rng(0)
    y = np.arange(200) % 3
    x = rng.integers(0, 60, (200, 20, 20)).astype(np.uint8)
    for i, c in enumerate(y):
        x[i, 6 * c:6 * c + 6] += 180
    np.savez("gray.npz", x=x, y=y)
    octet("train", "cnn", "--data", "npz:gray.npz", "--epochs", "3", "--batch", "20", "-o", "gray.onnx")
    session = onnxruntime.InferenceSession("gray.onnx", providers=["CPUExecutionProvider"])
    assert session.get_inputs()[0].shape[1:] == [1, 20, 20] and session.get_outputs()[0].shape[1] == 3
    octet("predict", "gray.onnx", "--data", "npz:gray.npz", "-o", "gray_p.npz")
    with np.load("gray_p.npz") as p:
        want = session.run(None, {"x": x[:, None].astype(np.float32)})[0]
        np.testing.assert_allclose(p["probabilities"], want, atol=1e-5)
    np.savez("unlabelled.npz", x=x[:, None].astype(np.float32))
    octet("predict", "gray.onnx", "--data", "npz:unlabelled.npz", "-o", "un.npz")
    with np.load("un.npz") as p, np.load("gray_p.npz") as q:
        assert "label" not in p and (p["predicted"] == q["predicted"]).all()
    np.savez("wide.npz", x=x[:, None, :, :16], y=y)
    refused("takes square ones", "train", "cnn", "--data", "npz:wide.npz", "-o", "no.onnx")


def check_preprocessor():
    """A model of others: preprocessor_config.json beside it, or options, or pixels as they are with a note."""
    os.makedirs("other", exist_ok=True)
    os.rename("qat/model.onnx", "other/model.onnx")
    pathlib.Path("plain.txt").write_text('graph g opset(""=17)\ninput x: f32[N, 3, 2, 2]\ny = GlobalMaxPool(x)\nz = Flatten(y)\noutput z: f32[N, 3]\n')
    octet("assemble", "plain.txt", "-o", "other/model.onnx", "--force")
    image = picture(12, 9)
    folder_of("one", {"a.png": encoded(Image.fromarray(image), "PNG")})
    done = subprocess.run([OCTET, "data", "export", "images:one", "--model", "other", "-o", "o.npz"], capture_output=True, text=True, check=True)
    assert "does not say how its images were prepared" in done.stderr, done.stderr
    with np.load("o.npz") as arrays:
        want = np.asarray(Image.fromarray(image).resize((2, 2), Image.BILINEAR)) / 255
        np.testing.assert_allclose(arrays["x"][0], want.transpose(2, 0, 1), rtol=1e-6)
    pathlib.Path("other/preprocessor_config.json").write_text(json.dumps({
        "do_resize": True, "size": {"shortest_edge": 4}, "do_center_crop": True, "crop_size": {"height": 2, "width": 2},
        "resample": 3, "image_mean": [0.1, 0.2, 0.3], "image_std": [0.5, 0.5, 0.25], "rescale_factor": 1 / 255}))
    done = subprocess.run([OCTET, "data", "export", "images:one", "--model", "other", "-o", "o.npz", "--force"], capture_output=True, text=True, check=True)
    assert done.stderr == "", done.stderr
    with np.load("o.npz") as arrays:
        whole = Image.fromarray(image).resize((5, 4), Image.BICUBIC)
        cut = np.asarray(whole.crop((2, 1, 4, 3))) / 255
        np.testing.assert_allclose(arrays["x"][0], ((cut - [0.1, 0.2, 0.3]) / [0.5, 0.5, 0.25]).transpose(2, 0, 1), rtol=1e-5)
    octet("simplify", "other", "-o", "other8/")
    assert pathlib.Path("other8/preprocessor_config.json").exists()


def main():
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        check_decoders()
        check_scaling()
        check_hostile()
        check_folders()
        check_workflow()
        check_arrays()
        check_preprocessor()
        os.chdir("/")


if __name__ == "__main__":
    main()
