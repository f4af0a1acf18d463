"""Tests that numpy can read files written by `scibin dudley new`, using the address table, and that
`scibin dudley get` can read files that numpy writes at the addresses in the table: `data.py DIRECTORY SCIBIN`."""

import json
import pathlib
import random
import subprocess
import sys

import numpy as np

COUNT = 25
SCALARS = ["i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "f2", "f4", "f8", "c8", "c16", "b1"]


def scalar(rng, others=()):
    """Returns a random scalar type as a Dudley type and a numpy type."""
    name = rng.choice([name for name in SCALARS if name not in others])
    if name[1:] == "1":
        return name, np.dtype(name)
    order = rng.choice("<>")
    return order + name, np.dtype(order + name)


def item(rng):
    """Returns a random item: its declaration without the name, its numpy type, and its shape."""
    shape = [rng.choice([1, 2, 3, 5]) for _ in range(rng.randrange(3))]
    dims = f"[{', '.join(map(str, shape))}]" if shape else ""
    kind = rng.randrange(4)
    if kind == 0:
        # Exclude c8, which numpy aligns to the size of its real part.
        fields = [(f"m{number}", *scalar(rng, ["c8"]), rng.choice([(), (2,)])) for number in range(rng.randrange(1, 4))]
        text = " ".join(f"{name} = {text}{f'[{own[0]}]' if own else ''}" for name, text, _, own in fields)
        dtype = np.dtype([(name, kind, own) for name, _, kind, own in fields], align=True)
        return f"{{ {text} }}{dims}", dtype, shape
    if kind == 1:
        length = rng.randrange(1, 9)
        return f"S1[{', '.join(map(str, [*shape, length]))}]", np.dtype(f"S{length}"), shape
    text, dtype = scalar(rng)
    return text + dims, dtype, shape


def values(rng, dtype, shape):
    count = int(np.prod(shape)) * dtype.itemsize
    if dtype.names:
        out = np.zeros(shape, dtype)
        for name in dtype.names:
            inner, own = dtype[name].base, dtype[name].shape
            out[name] = values(rng, inner, [*shape, *own])
        return out
    if dtype.kind == "S":
        return np.frombuffer(bytes(rng.choice(b"abcxyz") for _ in range(count)), dtype).reshape(shape)
    if dtype.kind == "b":
        return np.array([rng.random() < 0.5 for _ in range(count)], dtype).reshape(shape)
    size = int(np.prod(shape))
    return np.array([rng.randrange(-100, 100) if dtype.kind != "u" else rng.randrange(100) for _ in range(size)]).astype(dtype).reshape(shape)


def main(directory, program):
    directory = pathlib.Path(directory) / "data"
    directory.mkdir(exist_ok=True)
    checked = 0

    def scibin(*arguments):
        done = subprocess.run([program, "dudley", *map(str, arguments)], capture_output=True, check=False)
        assert done.returncode == 0, (arguments, done.stderr.decode())
        return done.stdout

    for seed in range(COUNT):
        rng = random.Random(seed)
        items = {f"v{number}": item(rng) for number in range(rng.randrange(1, 7))}
        arrays = {name: values(rng, dtype, shape) for name, (_, dtype, shape) in items.items()}
        text = "N : i4\n" + "\n".join(f"{name} = {declared}" for name, (declared, _, _) in items.items()) + "\n"
        layout, file = directory / f"{seed}.dud", directory / f"{seed}.bd"
        layout.write_text(text)
        sets = []
        for name, array in arrays.items():
            np.save(directory / f"{seed}-{name}.npy", array)
            sets += ["--set", f"/{name}={directory / f'{seed}-{name}.npy'}"]
        omitted = ["--omit-layout"] if seed % 2 else []
        scibin("new", file, "--layout", layout, "--param", f"N={seed}", "--force", *omitted, *sets)
        rows = json.loads(scibin("resolve", layout, "--stream", file, "--json"))
        table = {row["path"][1:]: row["address"] for row in rows}

        data = file.read_bytes()
        for name, array in arrays.items():
            found = np.frombuffer(data, array.dtype, array.size, table[name]).reshape(array.shape)
            assert np.array_equal(found, array), (seed, name)

        end = max(row["address"] + row["nbytes"] for row in rows)
        other = bytearray(end)
        other[:16] = data[:8] + bytes(8)
        other[table["N"] : table["N"] + 4] = int(seed).to_bytes(4, sys.byteorder, signed=True)
        for name, array in arrays.items():
            raw = array.tobytes()
            other[table[name] : table[name] + len(raw)] = raw
        mine = directory / f"{seed}-numpy.bd"
        mine.write_bytes(other)
        for name, array in arrays.items():
            out = directory / "out.npy"
            scibin("get", mine, f"/{name}", "--layout", layout, "-o", out, "--force")
            found = np.load(out)
            assert found.shape == array.shape, (seed, name)
            if array.dtype.names:
                assert all(np.array_equal(found[field], array[field]) for field in array.dtype.names), (seed, name)
                offsets = [found.dtype.fields[field][1] for field in array.dtype.names]
                assert offsets == [array.dtype.fields[field][1] for field in array.dtype.names], (seed, name)
            else:
                assert np.array_equal(found, array), (seed, name)
                assert found.dtype.newbyteorder("=") == array.dtype.newbyteorder("="), (seed, name)
            checked += 1
    print(f"{checked} arrays in {COUNT} files, in both directions, numpy {np.__version__}")


main(*sys.argv[1:])
