"""Writes arrays of various datatypes, byte orders, strides, masks and codecs with the Python reference, and
records what the reference reads back: `write.py DIRECTORY`. The Rust tests then read the files, and
compare the results with the records."""

import itertools
import json
import pathlib
import sys

import asdf
import numpy as np

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[3] / "testdata" / "asdf"))
import record  # noqa: E402

RANDOM = np.random.default_rng(20260101)
NUMBERS = ["i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "f2", "f4", "f8", "c8", "c16", "b1"]
RECORD = [("id", "{}i4"), ("name", "S5"), ("title", "{}U3"), ("z", "{}c16"), ("m", "{}f8", (2, 3)), ("flag", "?")]


def random_array(dtype, shape):
    """Returns an array with random elements. Text consists of valid characters, and booleans are 0 or 1."""
    dtype = np.dtype(dtype)
    if dtype.names:
        result = np.zeros(shape, dtype)
        for name in dtype.names:
            field = dtype.fields[name][0]
            result[name] = random_array(field.base, tuple(shape) + field.shape)
        return result
    if dtype.kind == "b":
        return RANDOM.integers(0, 2, shape).astype(dtype)
    if dtype.kind in "SU":
        length = dtype.itemsize // (4 if dtype.kind == "U" else 1)
        alphabet = "abcXYZ 09" if dtype.kind == "S" else "aZ é漢😀"
        words = ["".join(RANDOM.choice(list(alphabet), RANDOM.integers(0, length + 1))) for _ in range(int(np.prod(shape)))]
        return np.array(words, dtype=dtype).reshape(shape)
    if dtype.kind in "fc":
        part = lambda: RANDOM.standard_normal(shape) * 10.0 ** RANDOM.integers(-3, 4, shape)
        numbers = part() + 1j * part() if dtype.kind == "c" else part()
        result = numbers.astype(dtype)
        if result.size > 3:
            flat = result.reshape(-1)
            flat[0], flat[1], flat[2] = np.nan, np.inf, -0.0
        return result
    limits = np.iinfo(dtype)
    return RANDOM.integers(limits.min, limits.max, shape, dtype=dtype.newbyteorder("="), endpoint=True).astype(dtype)


def views(array):
    """Yields views of an array with various strides, each with a name."""
    yield "plain", array
    yield "step", array[::2]
    yield "reversed", array[::-1]
    if array.ndim > 1:
        yield "transposed", array.T
        yield "fortran", np.asfortranarray(array)
        yield "tile", array[1:4, 1:5:2]
        yield "both_reversed", array[::-1, ::-2]
        yield "row", array[2]
        yield "column", array[:, 3]


def dtypes():
    for code, order in itertools.product(NUMBERS, "<>"):
        if np.dtype(code).itemsize > 1 or order == "<":
            yield f"{code}_{'le' if order == '<' else 'be'}", np.dtype(order + code)
    yield "S5", np.dtype("S5")
    for order, name in (("<", "le"), (">", "be")):
        yield f"U3_{name}", np.dtype(order + "U3")
        fields = [(field[0], field[1].format(order), *field[2:]) for field in RECORD]
        yield f"record_{name}", np.dtype(fields)
    yield "record_mixed", np.dtype([("a", ">i2"), ("b", "<f8"), ("c", [("d", ">u4"), ("e", "S2")])])


def trees():
    for name, dtype in dtypes():
        tree = {}
        for shape_name, shape in (("one", (7,)), ("two", (6, 8)), ("three", (3, 4, 5)), ("empty", (0, 4)), ("zero_d", ())):
            array = random_array(dtype, shape)
            kinds = views(array) if array.ndim in (1, 2) and array.size else [("plain", array)]
            tree[shape_name] = {kind: view for kind, view in kinds}
        yield name, tree, {}
        base = random_array(dtype, (6, 8))
        yield f"{name}_shared", dict(views(base)), {"save_base": True}
        if dtype.names is None and dtype.kind not in "SU":
            array = random_array(dtype, (6, 8))
            mask = RANDOM.integers(0, 2, array.shape).astype(bool)
            yield f"{name}_masked", {"m": np.ma.MaskedArray(array, mask)}, {}
    # All codecs after the first three need the package asdf-compression.
    for codec in ("zlib", "bzp2", "lz4", "lz4f", "zstd", "blsc"):
        tree = {code: random_array(code, (300, 41)) for code in (">f8", "<i2", "<c16")}
        tree["smooth"] = np.linspace(0, 1, 1_500_000)
        tree["none"] = np.zeros((0,), "<f8")
        yield f"codec_{codec}", tree, {"all_array_compression": codec}
    inline = {code: random_array(code, (3, 4)) for code in NUMBERS if code not in ("c8", "c16")}
    inline["u8"] >>= 2  # a literal in the tree is an int64
    inline["i8"] >>= 2
    inline |= {"c16": random_array("c16", (5,)), "S5": random_array("S5", (4,)), "U3": random_array("<U3", (4,))}
    yield "inline", inline, {"all_array_storage": "inline"}


def main(directory):
    directory = pathlib.Path(directory)
    directory.mkdir(parents=True, exist_ok=True)
    for old in directory.glob("*.asdf"):
        old.unlink()
    cases = []
    for name, tree, options in trees():
        path = directory / f"{name}.asdf"
        with asdf.config_context() as config:
            config.default_array_save_base = options.pop("save_base", False)
            asdf.AsdfFile(tree).write_to(path, **options)
        cases.append({"name": name, "file": path.name, "ours": record.record(path)})
    (directory / "expected.json").write_text(json.dumps({"cases": cases}))
    print(f"{len(cases)} files, {sum(len(case['ours']['arrays']) for case in cases)} arrays, asdf {asdf.__version__}")


if __name__ == "__main__":
    main(sys.argv[1])
