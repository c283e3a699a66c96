# SPDX-License-Identifier: Apache-2.0
"""The wheel as users get it: made, checked by auditwheel, installed into an environment of its own, and used there
(session.py) beside ONNX Runtime; its command runs."""
import os
import pathlib
import subprocess
import sys
import tempfile
import venv
import zipfile

SOURCE, BUILD = pathlib.Path(os.environ["OCTET_SOURCE_DIR"]), pathlib.Path(os.environ["OCTET_BUILD_DIR"])


def run(*words, **more):
    done = subprocess.run([str(word) for word in words], capture_output=True, text=True, **more)
    if done.returncode != 0:
        sys.exit(f"{' '.join(map(str, words))}: exit {done.returncode}\n{done.stdout}{done.stderr}")
    return done.stdout


def main():
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        said = run(sys.executable, SOURCE / "tools/make_wheel", BUILD, folder)
        wheel, = folder.glob("*.whl")
        assert "-py3-none-manylinux_" in wheel.name, wheel.name
        platform = wheel.stem.rsplit("-", 1)[1]
        assert any(f'"{tag}"' in said for tag in platform.split(".")), said  # what auditwheel says that it fits
        names = zipfile.ZipFile(wheel).namelist()
        assert not [name for name in names if "torch" in name or "curl" in name or "liboctet_train" in name], names
        again = folder / "again"
        run(sys.executable, SOURCE / "tools/make_wheel", BUILD, again)
        assert next(again.iterdir()).read_bytes() == wheel.read_bytes(), "two wheels of one build differ"

        place = folder / "environment"
        venv.create(place, with_pip=False)
        python = place / "bin/python"
        run(sys.executable, "-m", "pip", "--python", python, "install", "--no-index", "--no-deps", wheel)
        # Its numpy, and what it is compared with, are those of this environment.
        packages, = (place / "lib").glob("python3*/site-packages")
        (packages / "peers.pth").write_text(next(path for path in sys.path if path.endswith("site-packages")) + "\n")
        clean = {key: value for key, value in os.environ.items() if key not in ("LD_LIBRARY_PATH", "PYTHONPATH")}
        print(run(python, SOURCE / "tests/python/checks/session.py", env=clean, cwd=folder), end="")

        version = run(BUILD / "bin/octet", "--version")
        assert run(place / "bin/octet", "--version", env=clean) == version
        assert run(python, "-m", "octet", "--version", env=clean) == version
        (folder / "net.txt").write_text('graph g opset(""=17)\ninput x: f32[2]\ny = Relu(x)\noutput y: f32[2]\n')
        run(place / "bin/octet", "assemble", folder / "net.txt", "-o", folder / "assembled.onnx", env=clean)
        refused = subprocess.run([place / "bin/octet", "inspect", folder / "none.onnx"], env=clean, capture_output=True)
        assert refused.returncode == 2, "the command's exit code is lost"
        # A reader that has seen enough ends it quietly, as it does programs that Python does not start.
        cut = subprocess.run(f"{place}/bin/octet help --completion bash | true", shell=True, env=clean, capture_output=True, text=True)
        assert not cut.stderr, cut.stderr
        run(sys.executable, "-m", "pip", "--python", python, "uninstall", "-y", "octet")
        assert not (packages / "octet").exists() and not (place / "bin/octet").exists()


main()
