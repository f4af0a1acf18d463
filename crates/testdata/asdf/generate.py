"""Generates the golden ASDF files in this folder, and `expected.json`.

`cargo xtask generate` runs this script with the reference implementation. The expected results are recorded
from the reference if it reads a file correctly, and are otherwise written here by hand, with the reason."""

import hashlib
import json
import pathlib
import struct
import sys

import asdf
import numpy as np

import record

DIRECTORY = pathlib.Path(sys.argv[1])
CASES = []
MAGIC = b"\xd3BLK"
HEAD = "#ASDF 1.0.0\n#ASDF_STANDARD 1.6.0\n%YAML 1.1\n%TAG ! tag:stsci.edu:asdf/\n--- !core/asdf-1.1.0\n"
NDARRAY = "!core/ndarray-1.1.0 {source: %d, datatype: %s, byteorder: little, shape: %s}"


def block(data, *, compression=b"", allocated=None, used=None, size=None, flags=0, checksum=None, extra=b""):
    """Returns the bytes of a block: header, with `extra` after its 48 bytes of fields, data and unused space."""
    allocated = len(data) if allocated is None else allocated
    used = len(data) if used is None else used
    size = used if size is None else size
    checksum = hashlib.md5(data).digest() if checksum is None else checksum
    fields = struct.pack(">I4sQQQ16s", flags, compression.ljust(4, b"\0"), allocated, used, size, checksum)
    header = MAGIC + struct.pack(">H", len(fields) + len(extra)) + fields + extra
    return header + data + b"\0" * max(0, min(allocated, 1 << 20) - len(data))


def index(offsets):
    return ("#ASDF BLOCK INDEX\n%YAML 1.1\n---\n" + "".join(f"- {offset}\n" for offset in offsets) + "...\n").encode()


def tree(text):
    return (HEAD + text + "...\n").encode()


def reference(name, content, **options):
    """Adds a file that the reference writes and reads."""
    path = DIRECTORY / f"{name}.asdf"
    asdf.AsdfFile(content).write_to(path, **options)
    CASES.append({"name": name, "file": path.name, "ours": record.record(path) | {"diagnostics": []}})


def handmade(name, data, ours=None, **more):
    """Adds a file assembled byte by byte. Its expected result is `ours` if the reference fails or is wrong,
    and is otherwise recorded from the reference."""
    path = DIRECTORY / f"{name}.asdf"
    path.write_bytes(data)
    ours = dict(record.record(path) if ours is None else ours)
    CASES.append({"name": name, "file": path.name, "ours": ours | more})


def array(data, dtype="uint8", numpy="|u1"):
    """Returns the expected result for a small array."""
    data = np.asarray(data, dtype)
    return {"dtype": numpy, "shape": list(data.shape), "sha256": hashlib.sha256(data.tobytes()).hexdigest()}


def ndarray(numpy, shape):
    return {"$ndarray": {"dtype": numpy, "shape": shape}}


def science():
    """Adds a typical observation with an image, errors, a mask, a table, metadata and a history."""
    rows, columns = np.mgrid[0:96, 0:128]
    image = (1000 * np.exp(-((rows - 40.5) ** 2 + (columns - 70.25) ** 2) / 90) + 3 * np.sin(columns / 9)).astype("<f4")
    masked = np.ma.MaskedArray(image[:8, :8].copy(), image[:8, :8] < 0)
    table = np.zeros(20, [("id", "<i4"), ("name", "S8"), ("ra", "<f8"), ("dec", "<f8"), ("flux", "<f4", (2,))])
    table["id"] = np.arange(20)
    table["name"] = [f"src{number:03}".encode() for number in range(20)]
    table["ra"], table["dec"] = np.linspace(10.68, 10.69, 20), np.linspace(41.26, 41.27, 20)
    table["flux"] = np.arange(40, dtype="<f4").reshape(20, 2) / 7
    meta = {
        "telescope": "0.5 m reflector", "instrument": "CCD-1", "exposure_time": 120.5, "gain": 1.4,
        "date": "2026-03-01T22:14:09.250", "filters": ["B", "V", "R"], "wcs": {"crpix": [64.5, 48.5], "cdelt": [-0.0001, 0.0001]},
        "zero_point": 25.11, "saturated": False, "observer": None, "phase": 0.25 + 0.5j,
    }
    content = {
        "meta": meta, "image": {"data": image, "error": np.sqrt(np.abs(image)).astype(">f4"), "preview": masked},
        "catalogue": table, "spectrum": {"wavelength": np.linspace(380, 780, 500), "counts": np.arange(500, dtype="<u2")},
    }
    file = asdf.AsdfFile(content)
    file.add_history_entry("Dark frame subtracted", {"name": "reduce", "version": "2.1.0"})
    file.set_array_compression(image, "zlib")
    path = DIRECTORY / "science.asdf"
    file.write_to(path)
    CASES.append({"name": "science", "file": path.name, "ours": record.record(path) | {"diagnostics": []}})


def arrays():
    numbers = ["i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "f2", "f4", "f8", "c8", "c16", "b1"]
    values = [0, 1, 2, 100, 3, 1]
    reference("datatypes_little", {code: np.array(values).astype("<" + code) for code in numbers})
    reference("datatypes_big", {code: np.array(values).astype(">" + code) for code in numbers})
    reference("strings", {
        "ascii": np.array([b"", b"a", b"abcde"], "S5"),
        "ucs4_little": np.array(["", "é", "漢😀x"], "<U3"), "ucs4_big": np.array(["", "é", "漢😀x"], ">U3"),
    })
    fields = [("a", ">i2"), ("b", "<f8", (2, 2)), ("c", [("d", ">u4"), ("e", "S2")])]
    table = np.zeros(3, fields)
    table["a"], table["c"]["d"], table["c"]["e"] = [1, -2, 300], [7, 8, 9], [b"x", b"yz", b""]
    table["b"] = np.arange(12).reshape(3, 2, 2) / 3
    reference("records", {"table": table})
    for codec in ("zlib", "bzp2", "lz4"):
        data = {"smooth": np.sin(np.arange(4000) / 40), "steps": np.repeat(np.arange(50, dtype="<i4"), 40)}
        reference(f"compressed_{codec}", data, all_array_compression=codec)
    base = np.arange(48, dtype="<i4").reshape(6, 8)
    views = {"base": base, "transposed": base.T, "reversed": base[::-1, ::-2], "tile": base[1:4, 2:7:2], "column": base[:, 3]}
    with asdf.config_context() as config:
        config.default_array_save_base = True
        reference("strides", views)
    reference("masked", {
        "image": np.ma.MaskedArray(np.arange(12.0).reshape(3, 4), np.eye(3, 4, dtype=bool)),
    })
    reference("inline", {
        "ints": np.arange(6).reshape(2, 3), "floats": np.array([0.1, np.nan, -np.inf]), "complex": np.array([1 + 2j, -1j]),
        "words": np.array(["a", "bcd"]), "flags": np.array([True, False]),
    }, all_array_storage="inline")
    with open(DIRECTORY / "streamed.asdf", "wb") as stream:
        asdf.AsdfFile({"rows": asdf.tags.core.Stream([4], np.float64)}).write_to(stream)
        stream.write(np.arange(20.0).tobytes())
    CASES.append({"name": "streamed", "file": "streamed.asdf", "ours": record.record(DIRECTORY / "streamed.asdf")})
    reference("exploded", {"data": np.arange(8, dtype="<i8"), "more": np.arange(4, dtype=">f4")}, all_array_storage="external")


def trees():
    text = """scalars: {yes: true, octal: 017, hex: 0x1F, sixty: 1:30, float: 1.5e+3, string: 1e3, nothing: ~, date: 2001-12-14,
  time: 2001-12-14t21:59:43.10-05:00, big: 123456789012345678901234567890, inf: -.inf, quoted: '5', tagged: !!str 5}
base: &base {p: 1, q: 2}
merged: {<<: *base, q: 3}
alias: *base
complex: !core/complex-1.0.0 (1-infj)
integer: !core/integer-1.1.0 {words: !core/ndarray-1.1.0 {data: [1, 2], datatype: uint32, shape: [2]}, sign: '-', string: '-8589934593'}
local: !mine {x: 1}
binary: !!binary SGVsbG8=
literal: |
  two
  lines
"""
    value = {
        "scalars": {"true": True, "octal": 15, "hex": 31, "sixty": 90, "float": 1500.0, "string": "1e3", "nothing": None,
                    "date": "2001-12-14", "time": "2001-12-14T21:59:43.100000-05:00", "big": 123456789012345678901234567890,
                    "inf": "-inf", "quoted": "5", "tagged": "5"},
        "base": {"p": 1, "q": 2}, "merged": {"p": 1, "q": 3}, "alias": {"p": 1, "q": 2},
        "complex": {"$complex": [1.0, "-inf"]}, "integer": -8589934593, "local": {"x": 1},
        "binary": {"$binary": "SGVsbG8="}, "literal": "two\nlines\n",
    }
    # The reference does not support the tag `!mine`, and drops nodes that it cannot construct. The values follow
    # YAML 1.1.
    handmade("tree", tree(text), {"tree": "ok", "value": value, "arrays": {}})
    # A scalar with an unknown tag is text.
    handles = HEAD.replace("--- ", "%TAG !a! tag:example.org:one/\n%TAG !b! tag:example.org:two/\n--- ") + "x: !a!t 1\ny: !b!t 2\n...\n"
    handmade("tag_handles", handles.encode(), {"tree": "ok", "value": {"x": "1", "y": "2"}, "arrays": {}})
    handmade("reference", tree("far: {$ref: 'exploded.asdf#/data'}\nnear: {$ref: '#/x/0'}\nx: [5]\n"), {
        "tree": "ok", "arrays": {},
        "value": {"far": {"$ref": "exploded.asdf#/data"}, "near": {"$ref": "#/x/0"}, "x": [5]},
    })


def damaged():
    data, other = bytes(range(8)), bytes(range(100, 108))
    two = tree(f"a: {NDARRAY % (0, 'uint8', '[8]')}\nb: {NDARRAY % (1, 'uint8', '[8]')}\n")
    both = {"a": ndarray("|u1", [8]), "b": ndarray("|u1", [8])}
    good = {"/a": array(np.frombuffer(data, "u1")), "/b": array(np.frombuffer(other, "u1"))}
    first, second = len(two), len(two) + len(block(data))
    ok = {"tree": "ok", "value": both, "arrays": good, "nblocks": 2}

    handmade("padded", two + b" " * 99 + b"\n" + block(data, allocated=64, extra=b"\0" * 10) + block(other), ok, diagnostics=[])
    handmade("index_stale", two + block(data) + block(other) + index([first + 3, second + 3]), ok, diagnostics=["IndexStale"])
    # The reference trusts the short index and loses the second block.
    handmade("index_short", two + block(data) + block(other) + index([first]), ok, diagnostics=["IndexShort"])
    # A header size below 48 ends the chain of blocks: one array is lost, but the other is intact.
    lost = {"/a": good["/a"], "/b": {"error": "block header"}}
    bad = block(other)[:4] + struct.pack(">H", 47) + block(other)[6:]
    handmade("header_size_47", two + block(data) + bad, ok | {"arrays": lost})
    handmade("block_past_end", two + block(data) + block(other, used=1 << 40), ok | {"arrays": lost})
    handmade("checksum_mismatch", two + block(data) + block(other, checksum=b"\1" * 16), ok, verify=False)
    # There is a gap between the blocks, so only salvaging finds the second one.
    gap = two + block(data) + b"lost bytes" + block(other)
    handmade("gap", gap, ok | {"arrays": lost, "nblocks": 1}, diagnostics=["TrailingBytes"], salvaged=2)
    import zlib
    packed = block(zlib.compress(data * 100), compression=b"zlib", size=800, checksum=hashlib.md5(data * 100).digest())
    one = tree(f"a: {NDARRAY % (0, 'uint8', '[800]')}\n")
    whole = {"tree": "ok", "value": {"a": ndarray("|u1", [800])}, "nblocks": 1,
             "arrays": {"/a": array(np.frombuffer(data * 100, "u1"))}}
    # The MD5 digest is computed from the decoded bytes, as by the reference before release 5.3.0, which now rejects it.
    handmade("checksum_legacy", one + packed, whole, verify=True)
    promise = block(zlib.compress(data), compression=b"zlib", size=1 << 62)
    handmade("data_size_2_62", one + promise, whole | {"arrays": {"/a": {"error": "ShortStream"}}})
    handmade("no_tree", b"#ASDF 1.0.0\n#ASDF_STANDARD 1.6.0\n" + block(data),
             {"tree": "ok", "value": {}, "arrays": {}, "nblocks": 1}, diagnostics=[])


def main():
    for old in DIRECTORY.glob("*.asdf"):
        old.unlink()
    for make in (science, arrays, trees, damaged):
        make()
    text = json.dumps({"reference": f"asdf {asdf.__version__}", "cases": CASES}, indent=1, ensure_ascii=False)
    (DIRECTORY / "expected.json").write_text(text + "\n")
    print(f"{len(CASES)} files")


main()
