"""Damaged and hostile files, with the required results of reading them: the bytes, the allowed kinds of
errors, and the exit status of `verify`. Bytes must be returned if they are certain to be correct. Otherwise,
reading must fail, and must never return a wrong byte. The reference is not used, because it crashes on some
of the files."""

import json
import struct
import zlib

import blosc
import numpy as np

import layout

PLAIN = (np.arange(300) // 3).astype("<i4").tobytes()
SIZE = 480
TEXT = layout.compact({"dtype": "'<i4'", "shape": [300], "order": "C", "container": "numpy"})

ERROR = {"unpack": ["error"], "strict": ["error"], "verify": [1, 2]}
CHUNK = ["CorruptChunk", "SizeMismatch", "Truncated", "ChecksumMismatch", "OffsetMismatch"]
SHORT = ["Truncated", "CorruptChunk"]


def chunks():
    options = {"typesize": 4, "cname": "lz4", "clevel": 5}
    return [blosc.compress(PLAIN[at : at + SIZE], **options) for at in range(0, len(PLAIN), SIZE)]


def cases(good):
    """Yields the name, the bytes and the required results of each file."""
    fine, three = good(PLAIN, findings=None), chunks()
    # The bytes are returned and an irregularity is reported, but strict reading rejects the file.
    odd = fine | {"strict": ["error"], "verify": [1]}

    def error(*kinds):
        return ERROR | {"class": list(kinds)}

    pack = lambda **fields: layout.pack(three, typesize=4, **fields)
    yield from headers(pack, three, fine, odd, error)
    yield from offsets(pack, three, good, fine, odd, error)
    yield from cut(pack(), three, error)
    yield from buffers(three, error)
    yield from sections(pack, fine, odd, error)
    yield from arrays(pack, fine)


def headers(pack, three, fine, odd, error):
    whole = pack()
    yield "zero_bytes", b"", error("Truncated", "NotBloscpack")
    yield "magic_only", whole[:4], error("Truncated")
    yield "header_short", whole[:31], error("Truncated")
    yield "header_only", whole[:32], error(*SHORT)
    yield "magic", b"BLPK" + whole[4:], error("NotBloscpack")
    for version in (0, 4, 255):
        yield f"version_{version}", whole[:4] + bytes([version]) + whole[5:], error("UnsupportedVersion")
    # A file of version 3 that claims a different version, in which the chunks have other positions.
    for version in (1, 2):
        roomy = pack(room=2)
        yield f"version_{version}", roomy[:4] + bytes([version]) + roomy[5:], ERROR
    yield "v1_reserved", b"blpk\1\0\7\0" + layout.pack_v1(three)[8:], error("InvalidHeader")
    yield "v1_count_above", layout.pack_v1(three, 4), error(*SHORT)
    yield "v1_count_huge", layout.pack_v1(three, 1 << 60), error(*SHORT)
    yield "v1_count_negative", layout.pack_v1(three, -2), error("InvalidHeader")
    yield "v2_count_huge", pack(version=2, nchunks=1 << 40), error(*SHORT)
    for bit in range(2, 8):
        yield f"option_bit_{bit}", pack(options=1 | 1 << bit), error("UnknownOptions")
    yield "option_metadata", pack(options=3), ERROR
    yield "option_offsets_missing", pack(options=0), ERROR
    yield "option_offsets_added", pack(offsets=False, options=1), ERROR
    for number in (9, 255):
        yield f"checksum_{number}", whole[:6] + bytes([number]) + whole[7:], error("UnknownChecksum")
    yield "checksum_other_of_4_bytes", whole[:6] + b"\2" + whole[7:], error("ChecksumMismatch")
    yield "checksum_other_length", whole[:6] + b"\6" + whole[7:], error(*CHUNK)
    yield "typesize_0", whole[:7] + b"\0" + whole[8:], fine | {"strict": ["error"], "findings": ["TypesizeZero"]}
    for field in ("chunk_size", "last_chunk"):
        for value in (-2, -(1 << 31), 0x7FFF_FFF0, 0x7FFF_FFFF):
            yield f"{field}_{value}", pack(**{field: value}), error("InvalidHeader")
    yield "last_above_chunk_size", pack(last_chunk=SIZE + 1), error("InvalidHeader")
    yield "chunk_size_0", pack(chunk_size=0, last_chunk=0), error("InvalidHeader")
    sizes = odd | {"class": ["SizeMismatch"], "findings": ["SizeMismatch"]}
    yield "chunk_size_above", pack(chunk_size=SIZE + 1), sizes
    yield "chunk_size_below", pack(chunk_size=SIZE - 1), sizes
    yield "last_chunk_above", pack(last_chunk=300), sizes
    yield "last_chunk_0", pack(last_chunk=0), sizes
    unknown = fine | {"strict": ["good", "error"]}
    yield "chunk_size_unknown", pack(chunk_size=-1), unknown
    yield "last_chunk_unknown", pack(last_chunk=-1), unknown
    yield "count_unknown", pack(nchunks=-1, offsets=False), fine | {"findings": ["UnknownCount"]}
    yield "count_unknown_with_offsets", pack(nchunks=-1), error("InvalidHeader")
    yield "count_unknown_with_room", pack(nchunks=-1, offsets=False, last_field=1), error("InvalidHeader")
    yield "count_unknown_cut", pack(nchunks=-1, offsets=False)[:-1], error(*SHORT)
    yield "count_negative", pack(nchunks=-2), error("InvalidHeader")
    for value in (2, 4):
        yield f"count_{value}", pack(nchunks=value), ERROR
    for value in (1 << 40, (1 << 63) - 1):
        yield f"count_{value}", pack(nchunks=value), error("Truncated")
        yield f"count_{value}_no_offsets", pack(nchunks=value, offsets=False), error(*SHORT)
        yield f"room_{value}", pack(last_field=value), error("Truncated", "InvalidHeader")
    yield "room_negative", pack(last_field=-1), error("InvalidHeader")
    yield "room_too_small", pack(room=2, last_field=1), ERROR
    room = odd | {"class": ["InvalidHeader"], "findings": ["SpareWithoutOffsets"]}
    yield "room_without_offsets", pack(offsets=False, last_field=3), room
    empty = {"unpack": ["empty"], "strict": ["error"], "verify": [0, 1], "findings": ["NoChunks"], "class": ["InvalidHeader"]}
    yield "count_0", layout.header(3, options=0, chunk_size=0, last_chunk=0, nchunks=0), empty


def offsets(pack, three, good, fine, odd, error):
    first = 32 + 3 * 8
    right = [first, first + len(three[0]) + 4, first + len(three[0]) + len(three[1]) + 8]
    wrong = odd | {"class": ["OffsetMismatch"], "findings": ["OffsetMismatch"]}
    for name, at, value in (
        ("first_unset", 0, -1), ("middle_unset", 1, -1), ("last_unset", 2, -1), ("middle_off_by_one", 1, right[1] + 1),
        ("negative", 1, -2), ("in_header", 0, 8), ("past_end", 2, 1 << 62), ("at_end", 2, len(pack())), ("duplicate", 1, right[0]),
    ):
        yield f"offset_{name}", pack(offsets=[value if index == at else place for index, place in enumerate(right)]), wrong
    yield "offsets_unset", pack(offsets=[-1] * 3), fine | {"strict": ["good", "error"], "verify": [0, 1], "findings": ["OffsetsUnset"]}
    # The content of the file depends on whether chunks are read in the order of the table or of the file.
    parts = [PLAIN[at : at + SIZE] for at in range(0, len(PLAIN), SIZE)]
    sum_of = lambda order: good(b"".join(parts[index] for index in order))["plain_sha256"]
    permuted = error("OffsetMismatch")
    swapped = {"order_file_sha256": sum_of([0, 1, 2]), "order_offsets_sha256": sum_of([1, 0, 2])}
    yield "offsets_swapped", pack(offsets=[right[1], right[0], right[2]]), permuted | swapped
    moved = {"order_file_sha256": sum_of([1, 0, 2]), "order_offsets_sha256": sum_of([0, 1, 2])}
    yield "chunks_out_of_order", pack(order=[1, 0, 2]), permuted | moved
    spare = bytearray(pack(room=2))
    spare[56:64] = struct.pack("<q", 77)
    yield "offset_spare", bytes(spare), fine | {"strict": ["good", "error"], "verify": [1], "findings": ["SpareOffset"]}
    yield "tail", pack(tail=b"left over"), fine | {"strict": ["good", "error"], "findings": ["StaleTail"]}
    # The writer was killed before it filled in the table, and the last chunk is truncated.
    killed = pack(offsets=[-1] * 3, room=5)
    kept = {"recovered_size": 2 * SIZE, "recovered_sha256": sum_of([0, 1])}
    yield "killed_writer", killed[: len(killed) - 20], error(*SHORT) | kept


def cut(whole, three, error):
    first = 56
    second = first + len(three[0]) + 4
    last = len(whole) - 4 - len(three[2])
    for position in (33, first - 1, first, first + 15, first + 16, first + 20, second - 5, second - 1, second, last + 15, len(whole) - 5, len(whole) - 4, len(whole) - 1):
        yield f"cut_at_{position}", whole[:position], error(*SHORT)
    for name, position in (("header", first + 15), ("data", first + 30), ("digest", second - 1)):
        flipped = bytearray(whole)
        flipped[position] ^= 0x10
        yield f"flip_{name}", bytes(flipped), error(*CHUNK)


def buffers(three, error):
    """Yields files with wrong fields in the second chunk, whose digest is correct."""
    middle, size = three[1], len(three[1])
    flags = middle[2]
    assert struct.unpack_from("<2I", middle, 16) == (20, size - 24) and size - 24 < SIZE, "one block of one stream"

    def buffer(name, at, value, kinds=None):
        fields = bytes([value]) if at < 4 else struct.pack("<I", value & 0xFFFF_FFFF)
        changed = middle[:at] + fields + middle[at + len(fields) :]
        return f"chunk_{name}", layout.pack([three[0], changed, three[2]], typesize=4), error(*(kinds or CHUNK))

    for value in (0, 1, 255):
        yield buffer(f"version_{value}", 0, value, CHUNK + ["Blosc2Chunk"])
    for value in (3, 4, 5):
        yield buffer(f"version_{value}", 0, value, ["Blosc2Chunk"])
    for value in (0, 2):
        yield buffer(f"versionlz_{value}", 1, value)
    yield buffer("flag_bit_3", 2, flags | 8)
    yield buffer("flag_memcpyed", 2, flags | 2)
    for codec in (2, 3, 4, 5, 6, 7):
        yield buffer(f"codec_{codec}", 2, flags & 31 | codec << 5)
    yield buffer("typesize_0", 3, 0)
    for name, value in (("0", 0), ("1", 1), ("less_1", SIZE - 1), ("more_1", SIZE + 1), ("maxbuf", 0x7FFF_FFEF), ("above_maxbuf", 0x7FFF_FFF0), ("negative", -1)):
        yield buffer(f"nbytes_{name}", 4, value)
    for name, value in (("0", 0), ("1", 1), ("half", SIZE // 2), ("more_1", SIZE + 1), ("negative", -1), ("huge", 1 << 31)):
        yield buffer(f"blocksize_{name}", 8, value)
    for name, value in (("0", 0), ("15", 15), ("16", 16), ("less_1", size - 1), ("more_1", size + 1), ("huge", 0x7FFF_FFFF), ("negative", -1)):
        yield buffer(f"ctbytes_{name}", 12, value)
    for name, value in (("0", 0), ("16", 16), ("19", 19), ("last_3", size - 3), ("end", size), ("far", 0x7FFF_FFFF), ("negative", -1)):
        yield buffer(f"start_{name}", 16, value)
    for name, value in (("0", 0), ("negative", -1), ("past_end", size), ("far", 0x7FFF_FFFF), ("less_1", struct.unpack_from("<I", middle, 20)[0] - 1)):
        yield buffer(f"stream_{name}", 20, value)
    for name, chunk in streams():
        data = layout.pack([three[0], chunk, three[2]], typesize=4, chunk_size=SIZE)
        yield f"stream_{name}", data, error(*CHUNK)


def streams():
    """Yields streams that claim more or less than the 480 bytes of their chunk."""
    run = bytes([31]) + bytes(range(32))
    for name, codec, stream in (
        ("blosclz_too_short", "blosclz", run),
        ("blosclz_ends_in_literals", "blosclz", run[:20]),
        ("blosclz_distance_before_begin", "blosclz", run + bytes([0xE0, 255, 182, 40]) + bytes([0, 1])),
        ("blosclz_match_too_long", "blosclz", run + bytes([0xE0]) + b"\xff" * 40 + bytes([0, 0, 0, 1])),
        ("blosclz_ends_in_match", "blosclz", run + bytes([0xE0, 255, 184, 0])),
        ("blosclz_length_without_end", "blosclz", run + bytes([0xE0]) + b"\xff" * 3),
        ("lz4_offset_0", "lz4", bytes([0x1F, 65, 0, 0, 255, 200, 0x50]) + b"abcde"),
        ("lz4_too_long", "lz4", bytes([0x1F, 65, 1, 0, 255, 201, 0x50]) + b"abcde"),
        ("snappy_other_length", "snappy", bytes([0x83, 0x02, 8]) + b"abc"),
        ("zlib_other_length", "zlib", zlib.compress(bytes(SIZE + 1))),
        ("zlib_bad_sum", "zlib", zlib.compress(bytes(SIZE))[:-1] + b"\x77"),
        ("zlib_bomb", "zlib", zlib.compress(bytes(1 << 20))),
        ("zstd_no_frame", "zstd", b"\x28\xb5\x2f\xfd" + bytes(8)),
    ):
        yield name, layout.blosc([[(len(stream), stream)]], SIZE, typesize=4, codec=codec)
    yield "empty_chunk_in_the_middle", layout.stored(b"")


def sections(pack, fine, odd, error):
    # The length of the section is known, so the bytes are returned. Reading the metadata is a separate error.
    bad = odd | {"class": ["Metadata"], "findings": ["Metadata"]}
    either = fine | {"strict": ["good", "error"], "verify": [0, 1]}
    length = ["Metadata", "InvalidHeader", "Truncated", "ChecksumMismatch", "UnknownChecksum", "CorruptChunk", "SizeMismatch", "OffsetMismatch"]
    file = lambda **fields: pack(metadata=layout.section(TEXT, **fields))
    size, stored = len(TEXT), len(zlib.compress(TEXT, 6))
    yield "meta_magic_blanks", file(magic=b"JSON    "), either | {"findings": ["MagicPadding"]}
    for name, magic in (("lower", b"json\0\0\0\0"), ("none", bytes(8)), ("other", b"MSGPACK\0"), ("longer", b"JSONL\0\0\0")):
        yield f"meta_magic_{name}", file(magic=magic), bad
    yield "meta_options", file(options=4), either | {"findings": ["MetadataReserved"]}
    yield "meta_user_codec", file(user=b"mine\0\0\0\0"), either | {"findings": ["MetadataReserved"]}
    section = layout.section(TEXT)
    for number in (9, 255):
        yield f"meta_checksum_{number}", pack(metadata=section[:9] + bytes([number]) + section[10:]), error("UnknownChecksum")
    yield "meta_checksum_other", pack(metadata=section[:9] + b"\2" + section[10:]), error("ChecksumMismatch", "Metadata")
    yield "meta_flip", pack(metadata=section[:40] + bytes([section[40] ^ 1]) + section[41:]), error("ChecksumMismatch", "Metadata")
    yield "meta_codec_2", pack(metadata=section[:10] + b"\2" + section[11:]), bad
    yield "meta_codec_none_but_zlib", pack(metadata=section[:10] + b"\0" + section[11:]), bad
    yield "meta_codec_zlib_but_none", file(payload=TEXT, room=size), bad
    yield "meta_level_10", pack(metadata=section[:11] + b"\12" + section[12:]), fine | {"unpack": ["good", "error"], "strict": ["error"], "verify": [1, 2], "class": ["Metadata", "InvalidHeader"]}
    for name, value in (("less_1", size - 1), ("more_1", size + 1), ("0", 0), ("4g", 0xFFFF_FFFF)):
        yield f"meta_size_{name}", file(size=value), bad
    for name, value in (("0", 0), ("below_stored", stored - 1), ("4g", 0xFFFF_FFFF)):
        yield f"meta_room_{name}", pack(metadata=section[:16] + struct.pack("<I", value) + section[20:]), error(*length)
    for name, value in (("0", 0), ("above_room", 10 * size + 1), ("less_1", stored - 1), ("4g", 0xFFFF_FFFF)):
        yield f"meta_comp_size_{name}", pack(metadata=section[:20] + struct.pack("<I", value) + section[24:]), error(*length)
    for name, at in (("header", 50), ("payload", 80), ("padding", 32 + 32 + stored + 3), ("digest", 32 + len(section) - 1)):
        yield f"meta_cut_in_{name}", pack(metadata=section)[:at], error(*SHORT)
    yield "meta_bomb", file(payload=zlib.compress(bytes(4 << 20), 9), room=5000), bad
    yield "meta_zlib_cut", file(payload=zlib.compress(TEXT)[:-5]), bad
    for name, text in (
        ("bad", b'{"a":'), ("empty", b""), ("bom", b"\xef\xbb\xbf{}"), ("not_utf8", b'{"a":"\xff"}'), ("nan", b'{"a":NaN}'),
        ("infinity", b"[-Infinity]"), ("two_values", b"{} {}"), ("deep", b"[" * 5000 + b"]" * 5000),
    ):
        yield f"meta_json_{name}", pack(metadata=layout.section(text, codec=1 if text else 0, room=len(text) + 16)), bad
    yield "meta_json_twice", pack(metadata=layout.section(b'{"a":1,"a":2}')), either | {"findings": ["DuplicateKey"], "metadata": {"a": 2}}
    yield "meta_json_surrogate", pack(metadata=layout.section(b'{"a":"\\ud800"}')), fine | {"strict": ["good", "error"], "verify": [0, 1]}


def arrays(pack, fine):
    """Yields files that claim to be arrays but are not. Their bytes are valid nevertheless."""
    numpy = {"dtype": "'<i4'", "shape": [300], "order": "C", "container": "numpy"}
    wrong = fine | {"strict": ["good", "error"], "verify": [0, 1]}
    for name, change, kind in (
        ("shape_less", {"shape": [299]}, "ShapeMismatch"), ("shape_more", {"shape": [301]}, "ShapeMismatch"),
        ("shape_negative", {"shape": [-300]}, "ShapeMismatch"), ("shape_two_negative", {"shape": [-20, -15]}, "ShapeMismatch"),
        ("shape_scalar", {"shape": []}, "ShapeMismatch"), ("shape_zero", {"shape": [0, 300]}, "ShapeMismatch"),
        ("shape_wraps", {"shape": [1 << 62, 5]}, "ShapeMismatch"), ("shape_huge", {"shape": [10**30]}, "ShapeMismatch"),
        ("shape_number", {"shape": 300}, "ShapeMismatch"), ("shape_float", {"shape": [300.0]}, "ShapeMismatch"),
        ("shape_text", {"shape": ["300"]}, "ShapeMismatch"), ("shape_absent", {"shape": None}, "ShapeMismatch"),
        ("dtype_object", {"dtype": "'|O'"}, "ObjectDtype"), ("dtype_object_within", {"dtype": "[('a', [('b', '|O', (2,))])]"}, "ObjectDtype"),
        ("dtype_unknown", {"dtype": "'zz'"}, "InvalidDtype"), ("dtype_code", {"dtype": "__import__('os').getcwd()"}, "InvalidDtype"),
        ("dtype_expression", {"dtype": "'<i' + '4'"}, "InvalidDtype"), ("dtype_number", {"dtype": 4}, "InvalidDtype"),
        ("dtype_absent", {"dtype": None}, "InvalidDtype"), ("dtype_open", {"dtype": "[('a', '<i4'"}, "InvalidDtype"),
        ("dtype_deep", {"dtype": "[" * 3000 + "]" * 3000}, "InvalidDtype"), ("dtype_size", {"dtype": "'<i3'"}, "InvalidDtype"),
        ("dtype_width_huge", {"dtype": "'|S99999999999999999999'"}, "InvalidDtype"), ("dtype_other_size", {"dtype": "'<i8'"}, "ShapeMismatch"),
        ("order", {"order": "K"}, "InvalidDtype"), ("container_other", {"container": "carray"}, "NotNumpy"),
        ("container_absent", {"container": None}, "NotNumpy"),
    ):
        value = {key: item for key, item in (numpy | change).items() if item is not None}
        kinds = {"ShapeMismatch": ["ShapeMismatch", "NotNumpy"], "InvalidDtype": ["InvalidDtype", "NotNumpy", "ShapeMismatch"]}
        text = json.dumps(value, separators=(",", ":")).encode()
        yield f"array_{name}", pack(metadata=layout.section(text, room=len(text) + 16)), wrong | {"array_error": kinds.get(kind, [kind])}
    yield "array_no_metadata", pack(), fine | {"array_error": ["NotNumpy"]}
    yield "array_list", pack(metadata=layout.section(b"[1]")), wrong | {"array_error": ["NotNumpy"]}
