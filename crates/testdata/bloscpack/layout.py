"""Writes and reads the bytes of Bloscpack files with `struct` alone: assembles files that the reference
cannot write (old versions and damaged files), and parses the files that it wrote.

    v0   "blpk" | u32 nchunks | chunks
    v1   "blpk" 1 000 | i64 nchunks | chunks
    v2   "blpk" 2 options checksum typesize | i32 chunk_size | i32 last_chunk | i64 nchunks | i64 reserved
         | offsets | (chunk, digest)..
    v3   the same with i64 max_app_chunks in place of reserved, and a metadata section before the offsets
"""

import hashlib
import json
import struct
import zlib

CHECKSUMS = ["None", "adler32", "crc32", "md5", "sha1", "sha224", "sha256", "sha384", "sha512"]
CODECS = ["blosclz", "lz4", "snappy", "zlib", "zstd"]


def digest(checksum, data):
    """Returns a digest as stored: a little-endian number for Adler and CRC, otherwise the bytes in printing order."""
    if checksum == "None":
        return b""
    if checksum in ("adler32", "crc32"):
        return struct.pack("<I", getattr(zlib, checksum)(data))
    return hashlib.new(checksum, data).digest()


def blosc(streams, nbytes, *, blocksize=None, typesize=1, flags=0x10, codec="blosclz", starts=None):
    """Returns a Blosc buffer of blocks, each of which is a list of (length, bytes) streams. `starts` reorders
    the blocks."""
    blocksize = nbytes if blocksize is None else blocksize
    order = range(len(streams)) if starts is None else starts
    body, table = b"", [0] * len(streams)
    for block in order:
        table[block] = 16 + 4 * len(streams) + len(body)
        body += b"".join(struct.pack("<i", length) + stream for length, stream in streams[block])
    body = struct.pack(f"<{len(table)}i", *table) + body
    flags |= CODECS.index(codec) << 5
    return struct.pack("<4B3I", 2, 1, flags, typesize, nbytes, blocksize, 16 + len(body)) + body


def stored(data, typesize=1):
    """Returns a Blosc buffer that stores its data uncompressed (bit 1 of the flags)."""
    return struct.pack("<4B3I", 2, 1, 0x02, typesize, len(data), max(len(data), 1), 16 + len(data)) + data


def section(text, *, magic=b"JSON\0\0\0\0", options=0, checksum="adler32", codec=1, level=6, size=None, room=None, user=b"",
            payload=None, comp_size=None):
    """Returns a metadata section with the JSON `text`."""
    if payload is None:
        payload = zlib.compress(text, level) if codec == 1 else text
    size = len(text) if size is None else size
    room = 10 * len(text) if room is None else room
    comp_size = len(payload) if comp_size is None else comp_size
    checksum_id = CHECKSUMS.index(checksum)
    header = struct.pack("<8s4B3I8s", magic, options, checksum_id, codec, level, size, room, comp_size, user)
    return header + payload + bytes(max(0, room - len(payload))) + digest(checksum, payload)


def header(version, *, options=1, checksum="adler32", typesize=8, chunk_size, last_chunk, nchunks, last_field=0):
    checksum = CHECKSUMS.index(checksum) if isinstance(checksum, str) else checksum
    return b"blpk" + struct.pack("<4B2i2q", version, options, checksum, typesize, chunk_size, last_chunk, nchunks, last_field)


def pack(chunks, *, version=3, checksum="adler32", metadata=None, offsets=True, room=0, order=None, tail=b"", **fields):
    """Returns a file of version 2 or 3 with Blosc buffers as chunks. `fields` overrides fields of the header,
    `offsets` may be the list of offsets to store, and `order` is the order of the chunks in the file."""
    sizes = [struct.unpack_from("<I", chunk, 4)[0] for chunk in chunks]
    options = bool(offsets) | (2 if metadata is not None else 0)
    defaults = {
        "options": options, "chunk_size": sizes[0], "last_chunk": sizes[-1], "nchunks": len(chunks), "last_field": room,
    }
    begin = header(version, checksum=checksum, **(defaults | fields)) + (metadata or b"")
    position = len(begin) + (8 * (len(chunks) + room) if offsets else 0)
    places, body = [-1] * len(chunks), b""
    for index in order or range(len(chunks)):
        places[index] = position + len(body)
        body += chunks[index] + digest(checksum, chunks[index])
    if offsets:
        table = (places if offsets is True else offsets) + [-1] * room
        begin += struct.pack(f"<{len(table)}q", *table[: len(chunks) + room])
    return begin + body + tail


def pack_v1(chunks, nchunks=None):
    return b"blpk\1\0\0\0" + struct.pack("<q", len(chunks) if nchunks is None else nchunks) + b"".join(chunks)


def pack_v0(chunks):
    return b"blpk" + struct.pack("<I", len(chunks)) + b"".join(chunks)


def begin(data, version=3):
    """Returns the number of chunks, the checksum, and the offset of the first chunk."""
    if version < 2:
        return (struct.unpack_from("<I", data, 4)[0], "None", 8) if version == 0 else (struct.unpack_from("<q", data, 8)[0], "None", 16)
    options, checksum = data[5], CHECKSUMS[data[6]]
    nchunks, last_field = struct.unpack_from("<2q", data, 16)
    position = 32
    if version == 3 and options & 2:
        position += 32 + struct.unpack_from("<I", data, 48)[0] + len(digest(CHECKSUMS[data[41]], b""))
    if options & 1:
        position += 8 * (nchunks + (last_field if version == 3 else 0))
    return nchunks, checksum, position


def chunks(data, version=3):
    """Yields each chunk, and the offset of the end of its digest."""
    nchunks, checksum, position = begin(data, version)
    size = len(digest(checksum, b""))
    while nchunks != 0 and position < len(data):
        end = position + struct.unpack_from("<I", data, position + 12)[0]
        yield data[position:end], end + size
        position, nchunks = end + size, nchunks - 1


def metadata(data):
    """Returns the text of the metadata."""
    codec, stored = data[42], struct.unpack_from("<I", data, 52)[0]
    payload = data[64 : 64 + stored]
    return zlib.decompress(payload) if codec == 1 else payload


def record(data, version=3):
    """Returns the fields of a whole file: those of its header, and a summary of those of its chunks."""
    facts = {"version": version}
    if version >= 2:
        _, options, checksum, typesize, chunk_size, last_chunk, nchunks, last_field = struct.unpack_from("<4B2i2q", data, 4)
        facts["header"] = {
            "options": options, "checksum": CHECKSUMS[checksum], "typesize": typesize, "chunk_size": chunk_size,
            "last_chunk": last_chunk, "nchunks": nchunks, "last_field": last_field,
        }
    parts, end = list(chunks(data, version)), begin(data, version)[2]
    facts["chunks"] = len(parts)
    facts["chunk_nbytes"] = [struct.unpack_from("<I", chunk, 4)[0] for chunk, _ in parts][:12]
    facts["codecs"] = sorted({CODECS[chunk[2] >> 5] for chunk, _ in parts})
    facts["stale_tail"] = len(data) - (parts[-1][1] if parts else end)
    return facts


def compact(value):
    """Returns JSON as the reference writes it."""
    return json.dumps(value, separators=(",", ":")).encode()
