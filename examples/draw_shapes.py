# SPDX-License-Identifier: Apache-2.0
"""Writes shapes/circle, shapes/square and shapes/stripes, sixty noisy PNGs each: images of one's own to try octet with
(docs/walkthroughs.md). Wants numpy and Pillow."""
import pathlib

import numpy as np
from PIL import Image, ImageDraw

rng = np.random.default_rng(0)
for kind in ("circle", "square", "stripes"):
    folder = pathlib.Path("shapes", kind)
    folder.mkdir(parents=True)
    for i in range(60):
        image = Image.fromarray(rng.integers(0, 90, (40, 48, 3), dtype=np.uint8))
        draw = ImageDraw.Draw(image)
        color = tuple(int(c) for c in rng.integers(120, 255, 3))
        x, y, r = (int(v) for v in rng.integers((12, 12, 7), (36, 28, 11)))
        if kind == "circle":
            draw.ellipse((x - r, y - r, x + r, y + r), fill=color)
        elif kind == "square":
            draw.rectangle((x - r, y - r, x + r, y + r), fill=color)
        else:
            for line in range(int(rng.integers(0, 6)), 40, 7):
                draw.line((0, line, 48, line), fill=color, width=2)
        image.save(folder / f"{i:02}.png")
