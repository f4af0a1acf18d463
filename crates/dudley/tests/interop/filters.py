"""The first run writes compressed arrays with zfpy and Pillow for the tests in `filters.rs`. The second run checks the
arrays that those tests compressed: `filters.py DIRECTORY`."""

import io
import json
import pathlib
import random
import sys
import zlib
from importlib.metadata import version

import numpy as np
import PIL.Image
import zfpy

COUNT = 12


def zfp_cases(rng):
    for _ in range(COUNT):
        kind = rng.choice(["<f4", "<f8", "<i4", "<i8"])
        shape = [rng.choice([1, 3, 4, 7, 9]) for _ in range(rng.randrange(1, 5))]
        count = int(np.prod(shape))
        if kind[1] == "f":
            array = np.cumsum(np.array([rng.uniform(-1, 1) for _ in range(count)])).astype(kind).reshape(shape)
        else:
            array = np.cumsum(np.array([rng.randrange(-50, 50) for _ in range(count)])).astype(kind).reshape(shape)
        argument, options = rng.choice([("(0)", {}), ("(-12)", {"precision": 12}), ("(1e-3)", {"tolerance": 1e-3}), ("", {"precision": 15})])
        if kind[1] == "i" and "tolerance" in options:
            argument, options = "(0)", {}
        payload = zfpy.compress_numpy(array, write_header=True, **options)
        yield {"filter": f"zfp{argument}", "dtype": kind, "array": array, "payload": payload, "decoded": zfpy.decompress_numpy(payload), "exact": True}


def image(rng, dtype, colours):
    height, width = rng.randrange(1, 40), rng.randrange(1, 40)
    rows = np.add.outer(np.arange(height) * 3, np.arange(width) * 2)
    array = np.stack([rows * (channel + 1) + rng.randrange(9) for channel in range(max(colours, 1))], -1) % np.iinfo(dtype).max
    return array.astype(dtype) if colours else array[..., 0].astype(dtype)


def png_cases(rng):
    for _ in range(COUNT):
        dtype, colours = rng.choice([("u1", 0), ("u1", 3), (">u2", 0), ("<u2", 0)])
        array = image(rng, dtype, colours)
        out = io.BytesIO()
        PIL.Image.fromarray(array.astype(dtype.replace(">", "<"))).save(out, "PNG")
        yield {"filter": f"png({rng.randrange(10)})", "dtype": dtype, "array": array, "payload": out.getvalue(), "decoded": array, "exact": True}


def jpeg_cases(rng):
    for _ in range(COUNT):
        colours = rng.choice([0, 3])
        array = image(rng, "u1", colours)
        quality = rng.choice([50, 75, 95])
        out = io.BytesIO()
        PIL.Image.fromarray(array).save(out, "JPEG", quality=quality, subsampling=0)
        decoded = np.asarray(PIL.Image.open(io.BytesIO(out.getvalue())))
        yield {"filter": f"jpeg({quality})", "dtype": "u1", "array": array, "payload": out.getvalue(), "decoded": decoded, "exact": False}


def gzip_cases(rng):
    array = np.arange(100, dtype=">f4")
    yield {"filter": "gzip(5)", "dtype": ">f4", "array": array, "payload": zlib.compress(array.tobytes()), "decoded": array, "exact": True}


def write(directory):
    cases = []
    rng = random.Random(1)
    for number, case in enumerate([*zfp_cases(rng), *png_cases(rng), *jpeg_cases(rng), *gzip_cases(rng)]):
        (directory / f"{number}.payload").write_bytes(case["payload"])
        (directory / f"{number}.array").write_bytes(case["array"].tobytes())
        (directory / f"{number}.decoded").write_bytes(case["decoded"].astype(case["dtype"]).tobytes())
        cases.append({"filter": case["filter"], "dtype": case["dtype"], "shape": list(case["array"].shape), "exact": case["exact"]})
    (directory / "cases.json").write_text(json.dumps(cases))


def read(directory, cases):
    for number, case in enumerate(cases):
        ours = (directory / f"{number}.ours").read_bytes()
        dtype = np.dtype(case["dtype"])
        array = np.frombuffer((directory / f"{number}.array").read_bytes(), dtype).reshape(case["shape"])
        decoded = np.frombuffer((directory / f"{number}.back").read_bytes(), dtype).reshape(case["shape"])
        name = case["filter"].split("(")[0]
        if name == "zfp":
            # The bytes must be those of the C library.
            assert ours == (directory / f"{number}.payload").read_bytes(), case
        elif name == "gzip":
            assert zlib.decompress(ours, wbits=31) == array.tobytes()
        else:
            found = np.asarray(PIL.Image.open(io.BytesIO(ours)))
            assert found.shape == array.shape, case
            if name == "png":
                assert np.array_equal(found, array), case
            else:
                # JPEG decoders round differently.
                assert np.abs(found.astype(int) - decoded.astype(int)).max() <= 4, case
    print(f"{len(cases)} arrays through gzip, zfp, png and jpeg, in both directions, zfpy {version('zfpy')}, Pillow {PIL.__version__}")


def main(directory):
    directory = pathlib.Path(directory) / "filters"
    directory.mkdir(exist_ok=True)
    if (directory / "0.ours").exists():
        read(directory, json.loads((directory / "cases.json").read_text()))
        for file in directory.iterdir():
            file.unlink()
    else:
        write(directory)


main(*sys.argv[1:])
