"""Writes files of random content with the Python reference, using its various options, and records
the results expected when the files are read: `write.py DIRECTORY`. The Rust test
`interop_files_of_the_python_reference_are_read_as_recorded` of `golden` reads them."""

import hashlib
import io
import itertools
import json
import pathlib
import sys

import blosc
import bloscpack
import numpy as np
from bloscpack.append import append_fp
from bloscpack.args import BloscArgs, BloscpackArgs, MetadataArgs

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[3] / "testdata" / "bloscpack"))
import layout  # noqa: E402

RANDOM = np.random.default_rng(20260101)
CASES = []


def content(kind, size):
    """Returns `size` bytes of a kind of data. The kinds differ in how well they are compressed."""
    count = size // 8 + 1
    match kind:
        case "smooth":
            data = np.cumsum(np.sin(np.arange(count) / 50.0))
        case "noisy":
            data = RANDOM.normal(1000, 3, count).round(2)
        case "steps":
            data = np.repeat(RANDOM.integers(0, 1 << 40, count // 30 + 1), 30)
        case "zeros":
            data = np.zeros(count)
        case "text":
            words = RANDOM.choice([b"sky ", b"star ", b"galaxy ", b"flux\n", b"0.125 "], count * 2)
            return b"".join(words.tolist())[:size].ljust(size, b"x")
        case _:
            return RANDOM.bytes(size)
    return data.astype("<f8" if data.dtype.kind == "f" else "<i8").tobytes()[:size]


KINDS = ("smooth", "noisy", "steps", "zeros", "text", "random")


def case(directory, name, data, plain, **more):
    (directory / f"{name}.blp").write_bytes(data)
    ours = {"unpack": ["good"], "strict": ["good"], "verify": [0]} | layout.record(data) | more
    ours |= {"plain_size": len(plain), "plain_sha256": hashlib.sha256(plain).hexdigest()}
    CASES.append({"name": name, "file": f"{name}.blp", "ours": ours})


def pick(values):
    return values[int(RANDOM.integers(len(values)))]


def files(directory):
    """Writes files with every codec, shuffle and level. The other options are random."""
    for cname, shuffle, clevel in itertools.product(blosc.compressor_list(), (0, 1, 2), range(10)):
        name = f"file_{cname}_{shuffle}_{clevel}"
        typesize = pick([1, 2, 3, 4, 7, 8, 12, 16, 17, 31, 64, 255])
        size = pick([0, 1, int(RANDOM.integers(2, 300)), *(int(RANDOM.integers(300, 120_000)) for _ in range(4))])
        chunk_size = pick([1 << 20, 65536, max(1, size), max(1, size // 2), max(1, size // 7), max(1, size // 30 + 1)])
        plain = content(pick(KINDS), size)
        args = {"offsets": bool(RANDOM.integers(4)), "checksum": pick(layout.CHECKSUMS), "max_app_chunks": int(RANDOM.integers(20))}
        metadata = pick([None, None, {"level": clevel, "name": name, "ratio": 0.5}, [cname] * 30, "é\u4e2d\U0001f600", 17, {}])
        meta = {"meta_checksum": pick(layout.CHECKSUMS), "meta_codec": pick(["None", "zlib"]), "meta_level": int(RANDOM.integers(10))}
        data = bloscpack.pack_bytes_to_bytes(
            plain, chunk_size=chunk_size, metadata=metadata,
            blosc_args=BloscArgs(typesize=typesize, clevel=clevel, shuffle=shuffle, cname=cname),
            bloscpack_args=BloscpackArgs(**args), metadata_args=MetadataArgs(**meta) if metadata is not None else None)
        case(directory, name, data, plain, **({} if metadata is None else {"metadata": metadata}))


def appended(directory):
    for number in range(60):
        chunk_size = pick([100, 1000, 4096, 65536])
        plain = content(pick(KINDS), int(RANDOM.integers(1, 6 * chunk_size)))
        file = io.BytesIO(bloscpack.pack_bytes_to_bytes(plain, chunk_size=chunk_size, bloscpack_args=BloscpackArgs(max_app_chunks=200)))
        for _ in range(int(RANDOM.integers(1, 4))):
            more = content(pick(KINDS), int(RANDOM.integers(0, 4 * chunk_size)))
            other = BloscArgs(typesize=pick([1, 4, 8]), clevel=int(RANDOM.integers(10)), shuffle=int(RANDOM.integers(3)), cname=pick(blosc.compressor_list()))
            file.seek(0)
            append_fp(file, io.BytesIO(more), len(more), other)
            plain += more
        case(directory, f"appended_{number}", file.getvalue(), plain)


def descr(dtype):
    lists = lambda item: [lists(part) for part in item] if isinstance(item, (list, tuple)) else item
    return lists(dtype.descr) if dtype.names else dtype.str


def arrays(directory):
    codes = [order + code for code in ("i2", "i4", "i8", "u2", "u4", "u8", "f2", "f4", "f8", "f16", "c8", "c16", "c32", "U3", "M8[us]", "m8[D]") for order in "<>"]
    codes += ["i1", "u1", "b1", "S5", "V3", "S200", "V255"]
    records = [
        [("id", "<i4"), ("name", "S5"), ("title", "<U3"), ("z", ">c16"), ("m", "<f8", (2, 3)), ("flag", "?")],
        [("a", ">i2"), ("b", [("c", "<u8"), ("d", [("e", "S2")], (3,))])],
        [("é \"x\"", "<f4"), ("y'", "<f4")],
    ]
    for number, code in enumerate(codes + records):
        dtype = np.dtype(code)
        for shape in ((), (0,), (1,), (701,), (13, 17), (0, 4), (5, 6, 7), (2, 3, 4, 5)):
            count = int(np.prod(shape))
            values = np.frombuffer(content(pick(KINDS), count * dtype.itemsize), dtype).reshape(shape) if dtype.kind != "U" else np.full(shape, "aé😀", dtype)
            values = pick([values, np.asfortranarray(values), values.T, values[::2] if values.ndim else values])
            name = f"array_{number}_{'x'.join(map(str, shape))}"
            chunk_size = pick([1 << 20, 7, 64]) // dtype.itemsize * dtype.itemsize or dtype.itemsize
            data = bloscpack.pack_ndarray_to_bytes(values, chunk_size=chunk_size, blosc_args=BloscArgs(cname=pick(blosc.compressor_list())))
            back = bloscpack.unpack_ndarray_from_bytes(data)
            assert back.tobytes() == values.tobytes() and back.shape == values.shape, name
            order = "F" if np.isfortran(values) else "C"
            facts = {"descr": descr(dtype), "shape": list(values.shape), "order": order, "itemsize": dtype.itemsize}
            case(directory, name, data, values.tobytes(order), array=facts)


def main(directory):
    directory = pathlib.Path(directory) / "theirs"
    directory.mkdir(parents=True, exist_ok=True)
    for old in directory.glob("*.blp"):
        old.unlink()
    blosc.set_nthreads(1)
    for write in (files, appended, arrays):
        write(directory)
    (directory / "expected.json").write_text(json.dumps({"cases": CASES}))
    print(f"{len(CASES)} files")


if __name__ == "__main__":
    main(sys.argv[1])
