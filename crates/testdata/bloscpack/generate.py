"""Generates the golden Bloscpack files in this folder, and `expected.json`.

`cargo xtask generate` runs this script with the reference implementation, which writes the files of the
current version and must read them back. `layout.py` assembles the files that the reference cannot write or
read (old versions and damaged files); the required results of reading these are written here by hand."""

import hashlib
import io
import itertools
import json
import pathlib
import struct
import sys

import blosc
import bloscpack
import numpy as np
from bloscpack.append import append_fp
from bloscpack.args import BloscArgs, BloscpackArgs, MetadataArgs

import hostile
import layout

DIRECTORY = pathlib.Path(sys.argv[1])
PLAIN = (np.arange(1500) * 0.5).astype("<f8").tobytes()
CHUNK = 4800
CASES = []


def case(folder, name, data, ours):
    assert all(entry["name"] != f"{folder}_{name}" for entry in CASES), name
    path = DIRECTORY / folder / f"{name}.blp"
    path.write_bytes(data)
    CASES.append({"name": f"{folder}_{name}", "file": f"{folder}/{path.name}", "ours": ours})


def good(plain, **more):
    """Returns the expected result for a valid file with these bytes and without irregularities."""
    defaults = {"unpack": ["good"], "strict": ["good"], "verify": [0], "findings": []}
    sums = {"plain_size": len(plain), "plain_sha256": hashlib.sha256(plain).hexdigest()}
    return defaults | more | sums


def reference(name, plain, *, chunk_size=CHUNK, metadata=None, codec=None, args=None, meta=None, **more):
    """Adds a file that the reference writes and reads."""
    data = bloscpack.pack_bytes_to_bytes(
        plain, chunk_size=chunk_size, metadata=metadata, blosc_args=BloscArgs(**(codec or {})),
        bloscpack_args=BloscpackArgs(**(args or {})), metadata_args=MetadataArgs(**(meta or {})) if meta else None)
    assert bloscpack.unpack_bytes_from_bytes(data)[0] == plain, name
    ours = good(plain, **layout.record(data), **more)
    if metadata is not None and "metadata_text" not in ours:
        ours["metadata"] = metadata
    case("v3", name, data, ours)
    return data


def old(folder, name, plain, data, **more):
    """Adds a file of a version that no current reference reads."""
    case(folder, name, data, good(plain, **layout.record(data, int(folder[1:]))) | more)


def codecs():
    for cname, shuffle, level in itertools.product(blosc.compressor_list(), (0, 1, 2), (1, 9)):
        reference(f"codec_{cname}_{shuffle}_{level}", PLAIN, codec={"cname": cname, "shuffle": shuffle, "clevel": level})
    reference("level_0", PLAIN, codec={"clevel": 0})
    noise = np.random.default_rng(1).bytes(3000)
    reference("incompressible", noise, chunk_size=1000)
    for typesize in (1, 2, 3, 4, 16, 17, 255):
        reference(f"typesize_{typesize}", PLAIN, codec={"typesize": typesize, "cname": "lz4"})
    # Many blocks per chunk, the last of which is short. With bitshuffle, its number of elements is not a
    # multiple of 8.
    steps = np.repeat(np.arange(1300, dtype="<i4"), 31).tobytes()
    for cname, shuffle in itertools.product(("blosclz", "lz4", "zlib", "zstd"), (1, 2)):
        blosc.set_blocksize(16384)
        reference(f"blocks_{cname}_{shuffle}", steps, chunk_size=100_000, codec={"cname": cname, "shuffle": shuffle, "typesize": 4})
        blosc.set_blocksize(0)


def containers():
    for checksum in layout.CHECKSUMS:
        reference(f"checksum_{checksum}", PLAIN, args={"checksum": checksum})
    for size in (0, 1, 15, 16, 17, 127, 128, 129, 999, 1000, 1001, 2000):
        reference(f"length_{size}", PLAIN[:size], chunk_size=1000)
    reference("chunk_size_1", PLAIN[:12], chunk_size=1)
    reference("chunk_size_odd", PLAIN[:4000], chunk_size=1001)
    reference("chunk_size_default", PLAIN, chunk_size="1M")
    for offsets, room in itertools.product((True, False), (0, 1, 7)):
        reference(f"offsets_{'yes' if offsets else 'no'}_room_{room}", PLAIN, args={"offsets": offsets, "max_app_chunks": room})


def metadata():
    some = {"instrument": "CCD-1", "exposure": 120.5, "filters": ["B", "V"], "saturated": False, "observer": None}
    reference("metadata", PLAIN, metadata=some)
    for name, value in {
        "empty": {}, "list": [1, [2, {"three": 3}]], "number": 5, "text": "naïve \u2028 😀", "true": True,
        "floats": [1e300, 1e-7, 0.1, -0.0, 1e16, 5e-324], "order": {"z": 1, "a": 2, "m": {"y": 3, "b": 4}},
    }.items():
        reference(f"metadata_{name}", PLAIN, metadata=value)
    reference("metadata_huge_integer", PLAIN, metadata={"n": 2**70}, metadata_text=f'{{"n":{2**70}}}', findings=["BigInteger"])
    for checksum in ("None", "crc32", "sha512"):
        reference(f"metadata_checksum_{checksum}", PLAIN, metadata=some, meta={"meta_checksum": checksum})
    reference("metadata_codec_none", PLAIN, metadata=some, meta={"meta_codec": "None"})
    reference("metadata_room_2000", PLAIN, metadata=some, meta={"max_meta_size": 2000})
    text = layout.compact(some)
    reference("metadata_no_room", PLAIN, metadata=some, meta={"max_meta_size": len(text), "meta_codec": "None"})
    reference("metadata_no_checksums_at_all", PLAIN, metadata=some, args={"checksum": "None"}, meta={"meta_checksum": "None"})


def appended():
    """Adds files to which the reference has appended, with a refilled last chunk, fewer spare offsets, and stale
    bytes."""
    extra = PLAIN[::-1]

    def append(name, size, times=1, codec=None):
        file = io.BytesIO(bloscpack.pack_bytes_to_bytes(PLAIN, chunk_size=CHUNK, blosc_args=BloscArgs(**(codec or {}))))
        plain = PLAIN
        for _ in range(times):
            file.seek(0)
            append_fp(file, io.BytesIO(extra[:size]), size)
            plain += extra[:size]
        data = file.getvalue()
        assert bloscpack.unpack_bytes_from_bytes(data)[0] == plain, name
        facts = layout.record(data)
        case("v3", name, data, good(plain, **facts, findings=["StaleTail"] if facts["stale_tail"] else []))

    append("append_nothing", 0)
    append("append_into_last", 100)
    append("append_exact_fill", 2400)
    append("append_one_more", 2401)
    append("append_many", 12000)
    append("append_twice", 4000, times=2)
    # The last chunk was stored uncompressed, and is now compressed.
    append("append_stale_tail", 800, codec={"clevel": 0})


def descr(dtype):
    """Returns numpy's description, with lists instead of tuples."""
    lists = lambda item: [lists(part) for part in item] if isinstance(item, (list, tuple)) else item
    return lists(dtype.descr) if dtype.names else dtype.str


def arrays():
    def array(name, values, **options):
        data = bloscpack.pack_ndarray_to_bytes(values, **options)
        back = bloscpack.unpack_ndarray_from_bytes(data)
        # The reference adds a name to padding, so its dtype differs.
        assert "padded" in name or back.dtype == values.dtype, name
        assert back.shape == values.shape and back.tobytes() == values.tobytes(), name
        order = "F" if np.isfortran(values) else "C"
        facts = {"descr": descr(values.dtype), "shape": list(values.shape), "order": order, "itemsize": values.itemsize}
        case("numpy", name, data, good(values.tobytes(order), **layout.record(data), array=facts))

    numbers = ["i1", "u1", "b1"] + [o + c for c in ("i2", "i4", "i8", "u2", "u4", "u8", "f2", "f4", "f8", "f16", "c8", "c16", "c32") for o in "<>"]
    for code in numbers:
        if np.dtype(code).itemsize > 8 and "<" not in code:
            continue
        # Only ten bytes of a 16-byte number are significant, and numpy does not write the others.
        values = (np.arange(48) % 7).astype(code) if code[1:] not in ("f16", "c32") else np.frombuffer(bytes(range(32)) * 24, code)
        array(f"dtype_{code.replace('<', 'l').replace('>', 'b')}", values)
    for code in ("S5", "<U3", ">U3", "V7", "<M8[ns]", ">M8[D]", "<m8[25s]", "<m8[ms]"):
        name = code.translate(str.maketrans({"<": "l", ">": "b", "[": "_", "]": ""}))
        array(f"dtype_{name}", np.frombuffer(bytes(range(48)) * np.dtype(code).itemsize, code) if "U" not in code
              else np.array(["", "é", "漢😀x"] * 4, code))
    fields = [("a", ">i2"), ("b", "<f8", (2, 2)), ("c", [("d", ">u4"), ("e", "S2")]), ("it's \"é\"\\\n", "?")]
    array("struct", np.frombuffer(bytes(41 * 6), np.dtype(fields)).copy())
    array("struct_padded", np.zeros(5, np.dtype([("a", "i1"), ("b", "<f4")], align=True)))
    array("struct_titled", np.zeros(5, np.dtype([(("A title", "a"), "<i4"), ("b", "<f4")])))
    array("struct_one_field", np.arange(9.0).view([("x", "<f8")]))
    cube = np.arange(60.0).reshape(3, 4, 5)
    array("order_c", cube)
    array("order_f", np.asfortranarray(cube))
    array("order_f_transposed", cube.T)
    array("not_contiguous", cube[:, ::2, 1:4])
    array("zero_d", np.array(2.5))
    array("empty", np.zeros(0))
    array("empty_2d", np.zeros((0, 5), "<f4"))
    array("single", np.array([7], ">i4"))
    array("chunks", np.arange(64.0), chunk_size=96)
    array("itemsize_255", np.zeros(3, "V255"), chunk_size=510)
    array("no_offsets_sha256", cube, bloscpack_args=BloscpackArgs(offsets=False, checksum="sha256"))

    def spelled(name, dtype, plain, facts, **more):
        """Adds an array whose dtype is spelled as by an earlier release."""
        text = layout.compact({"dtype": dtype, "shape": facts["shape"], "order": facts["order"], "container": "numpy"} | more)
        data = layout.pack([blosc.compress(plain, 8)], metadata=layout.section(text))
        case("numpy", name, data, good(plain, **layout.record(data), array=facts))

    eight = {"descr": "<f8", "shape": [1500], "order": "C", "itemsize": 8}
    pair = {"descr": [["a", "|S1"], ["b", "<f8"]], "shape": [2], "order": "C", "itemsize": 9}
    spelled("spelled_040_plain", [["", "<f8"]], PLAIN, eight)
    spelled("spelled_041_plain", "<f8", PLAIN, eight)
    spelled("spelled_041_struct", [["a", "|S1"], ["b", "<f8"]], PLAIN[:18], pair)
    spelled("spelled_073_struct_unicode", "[(u'a', '|S1'), (u'b', '<f8')]", PLAIN[:18], pair)
    spelled("spelled_with_more_keys", "'<f8'", PLAIN, eight, author="someone", dims=["t"])
    spelled("spelled_f_order", "<f8", PLAIN, eight | {"shape": [30, 50], "order": "F"})


def chunks_of(plain, size, **options):
    parts = [plain[at : at + size] for at in range(0, len(plain), size)] or [b""]
    return [blosc.compress(part, **({"typesize": 8, "cname": "blosclz"} | options)) for part in parts]


def versions_0_to_2():
    three, nine = chunks_of(PLAIN, CHUNK), bytes(range(1, 10))
    thirds = [blosc.compress(part, 1) for part in (nine[:3], nine[3:6], nine[6:], b"")]
    # The low byte of the count is at the offset of the version in later files.
    for count in (1, 2, 3, 5):
        parts = chunks_of(PLAIN, -(-len(PLAIN) // count))
        old("v0", f"chunks_{count}", PLAIN, layout.pack_v0(parts), findings=None)
    old("v0", "zero_length_chunk", nine, layout.pack_v0(thirds), findings=None)
    old("v1", "chunks_3", PLAIN, layout.pack_v1(three))
    old("v1", "single", PLAIN, layout.pack_v1(chunks_of(PLAIN, len(PLAIN))))
    old("v1", "zero_length_chunk", nine, layout.pack_v1(thirds))
    old("v1", "count_unknown", PLAIN, layout.pack_v1(three, -1), findings=["UnknownCount"])
    for checksum in layout.CHECKSUMS:
        old("v2", f"checksum_{checksum}", PLAIN, layout.pack(three, version=2, checksum=checksum))
    no_offsets = {"version": 2, "offsets": False}
    old("v2", "no_offsets", PLAIN, layout.pack(three, **no_offsets))
    # Release 0.2.0 wrote files like these: a single chunk has chunk_size 0, and a number of chunks leads to
    # chunks of 4 and 5 bytes, or of 3, 3, 3 and 0 bytes.
    old("v2", "single_chunk_size_0", PLAIN, layout.pack(chunks_of(PLAIN, len(PLAIN)), version=2, chunk_size=0))
    halves = [blosc.compress(part, 1) for part in (nine[:4], nine[4:])]
    old("v2", "last_above_chunk_size", nine, layout.pack(halves, version=2))
    old("v2", "last_of_0", nine, layout.pack(thirds, version=2))
    old("v2", "typesize_0", PLAIN, layout.pack(three, version=2, typesize=0), findings=["TypesizeZero"], strict=["error"])
    old("v2", "reserved", PLAIN, layout.pack(three, version=2, last_field=7), header=None, findings=["ReservedNotZero"], strict=["error"], verify=[1])
    old("v2", "option_bits", PLAIN, layout.pack(three, version=2, options=0b1000_0011), header=None, findings=["UnknownOptions"], strict=["error"], verify=[1])
    old("v2", "count_unknown", PLAIN, layout.pack(three, nchunks=-1, **no_offsets), findings=["UnknownCount"])
    old("v2", "sizes_unknown", PLAIN, layout.pack(three, version=2, chunk_size=-1, last_chunk=-1))
    old("v2", "offsets_unset", PLAIN, layout.pack(three, version=2, offsets=[-1] * 3), findings=["OffsetsUnset"], strict=["good", "error"], verify=[0, 1])


def buffers():
    """Adds Blosc buffers that the reference reads but the installed library does not write."""
    text = bytes(range(97, 123)) * 20
    element = np.frombuffer(text[:512], "<u4")
    shuffled = element.view("u1").reshape(-1, 4).T.tobytes()

    def buffer(name, chunk, plain, **more):
        data = layout.pack([chunk], typesize=1)
        case("blosc", name, data, good(plain, **layout.record(data)) | more)

    length = len(text)
    literal = lambda part: bytes([(len(part) - 1) << 2]) + part
    copies = b"".join(struct.pack("<BH", (63 << 2) | 2, 26) for _ in range((length - 26) // 64))
    rest = (length - 26) % 64
    stream = bytes([length & 127 | 128, length >> 7]) + literal(text[:26]) + copies + struct.pack("<BH", (rest - 1) << 2 | 2, 26)
    buffer("snappy", layout.blosc([[(len(stream), stream)]], length, codec="snappy"), text)
    halves = [[(256, text[:256])], [(256, text[256:512])], [(8, text[512:])]]
    buffer("blocks_out_of_order", layout.blosc(halves, length, blocksize=256, starts=[2, 0, 1]), text)
    twice = layout.blosc([[(256, text[:256])]] * 2, 512, blocksize=256)
    shared = twice[:20] + twice[16:20] + twice[24:284]
    shared = shared[:12] + struct.pack("<I", len(shared)) + shared[16:]
    buffer("blocks_shared", shared, text[:256] * 2)
    buffer("stored", layout.stored(text, 4), text)
    # If bit 4 is clear, a block of 128 4-byte elements has four streams, unless its streams would be too short.
    split = [[(128, shuffled[at : at + 128]) for at in range(0, 512, 128)]]
    buffer("split", layout.blosc(split, 512, typesize=4, flags=0x01), element.tobytes())
    buffer("split_not", layout.blosc([[(512, shuffled)]], 512, typesize=4, flags=0x11), element.tobytes())
    few = element[:100].view("u1").reshape(-1, 4).T.tobytes()
    buffer("split_too_small", layout.blosc([[(400, few)]], 400, typesize=4, flags=0x01), element[:100].tobytes())
    buffer("both_shuffles", layout.blosc([[(512, shuffled)]], 512, typesize=4, flags=0x15), element.tobytes())
    buffer("shuffle_tail", layout.blosc([[(515, shuffled + text[512:515])]], 515, typesize=4, flags=0x11), text[:515])
    buffer("bitshuffle_not_by_8", layout.blosc([[(36, text[:36])]], 36, typesize=4, flags=0x14), text[:36])
    bits = np.packbits(np.unpackbits(element[:16].view("u1").reshape(16, 4), axis=1, bitorder="little").T, axis=1, bitorder="little")
    buffer("bitshuffle", layout.blosc([[(64, bits.tobytes())]], 64, typesize=4, flags=0x14), element[:16].tobytes())
    buffer("typesize_above_nbytes", layout.blosc([[(9, text[:9])]], 9, typesize=255, flags=0x11), text[:9])
    # A blosclz stream with literals, a long match at a distance above 8191, and a match at distance 1.
    far = bytes(range(256)) * 40
    literals = b"".join(bytes([31]) + far[at : at + 32] for at in range(0, 8320, 32))
    distance = 8256
    match = bytes([0xFF, 20, 255]) + struct.pack(">H", distance - 8192)  # length 6 + 20 + 3
    plain = bytearray(far[:8320])
    for _ in range(29):
        plain.append(plain[-distance])
    run = bytes([0x40, 0])  # length 1 + 3, distance 1
    plain += plain[-1:] * 4
    chunk = literals + match + run + bytes([1]) + b"ab"
    plain += b"ab"
    buffer("blosclz_by_hand", layout.blosc([[(len(chunk), chunk)]], len(plain)), bytes(plain))
    for entry in CASES:
        if entry["file"].startswith("blosc/") and "snappy" not in entry["file"]:
            data = (DIRECTORY / entry["file"]).read_bytes()
            assert hashlib.sha256(bloscpack.unpack_bytes_from_bytes(data)[0]).hexdigest() == entry["ours"]["plain_sha256"], entry["name"]


def main():
    blosc.set_nthreads(1)
    for folder in ("v0", "v1", "v2", "v3", "blosc", "numpy", "hostile"):
        (DIRECTORY / folder).mkdir(exist_ok=True)
        for old_file in (DIRECTORY / folder).glob("*.blp"):
            old_file.unlink()
    for make in (codecs, containers, metadata, appended, arrays, versions_0_to_2, buffers):
        make()
    for name, data, ours in hostile.cases(good):
        case("hostile", name, data, ours)
    for entry in CASES:
        entry["ours"] = {key: value for key, value in entry["ours"].items() if value is not None}
    text = json.dumps({"reference": f"bloscpack 0.16.0, blosc {blosc.__version__}", "cases": CASES}, ensure_ascii=False)
    # Write one case per line, so that the file is short and its diffs are readable.
    text = text.replace(' {"name": ', '\n{"name": ').replace('[{"name"', '[\n{"name"')
    (DIRECTORY / "expected.json").write_text(f"{text[:-2]}\n]}}\n")
    print(f"{len(CASES)} files")


main()
