"""Checks that the Python reference can read the files that the Rust test `interop` has written, and compares them
with the files that the reference itself writes with the same options: `check.py DIRECTORY`.

With blosclz, lz4, lz4hc and zlib, the chunks must be identical to those of the reference, and without metadata
the whole file must be. Other versions of zstd, and of the zlib that compresses the metadata, produce other bytes,
so only the content is compared. Finally, the reference appends to our files."""

import ast
import io
import json
import pathlib
import sys

import blosc
import bloscpack
import numcodecs
import numpy as np
from bloscpack.append import append_fp
from bloscpack.args import BloscArgs, BloscpackArgs

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[3] / "testdata" / "bloscpack"))
import layout  # noqa: E402

SAME_BYTES = ("blosclz", "lz4", "lz4hc", "zlib")


def packed(plain, facts):
    """Returns the file that the reference writes with the same data and options."""
    args = BloscArgs(**{key: facts[key] for key in ("typesize", "clevel", "shuffle", "cname")})
    pack_args = BloscpackArgs(**{key: facts[key] for key in ("offsets", "checksum", "max_app_chunks")})
    metadata = facts["metadata"] if facts["has_metadata"] else None
    return bloscpack.pack_bytes_to_bytes(plain, chunk_size=facts["chunk_size"], metadata=metadata, blosc_args=args, bloscpack_args=pack_args)


def same_chunks(data, theirs):
    return [bytes(chunk) for chunk, _ in layout.chunks(data)] == [bytes(chunk) for chunk, _ in layout.chunks(theirs)]


def check_file(data, plain, facts):
    metadata = facts["metadata"] if facts["has_metadata"] else None
    assert bloscpack.unpack_bytes_from_bytes(data) == (plain, metadata), "the reference reads something else"
    theirs = packed(plain, facts)
    assert data[:32] == theirs[:32], f"header {data[:32]}, the reference's is {theirs[:32]}"
    if facts["cname"] in SAME_BYTES:
        assert same_chunks(data, theirs), "chunks are not the reference's bytes"
        assert metadata is not None or data == theirs, "the file is not the reference's bytes"
    append(data, plain, facts)


def append(data, plain, facts):
    """Checks that the reference can append to our file."""
    if not facts["offsets"] or facts["max_app_chunks"] < 2 or not plain:
        return
    more = plain[: facts["chunk_size"] + 1]
    file = io.BytesIO(data)
    append_fp(file, io.BytesIO(more), len(more))
    assert bloscpack.unpack_bytes_from_bytes(file.getvalue())[0] == plain + more, "after the reference appended"


def check_stream(data, plain, _facts):
    decode = numcodecs.Blosc().decode
    assert b"".join(bytes(decode(chunk)) for chunk, _ in layout.chunks(data)) == plain, "the chunks contain other data"


def check_appended(data, plain, facts):
    assert bloscpack.unpack_bytes_from_bytes(data)[0] == plain, "the reference reads something else"
    if facts["steps"] is None:
        return
    # Let the reference make the same appends to the same file.
    file, at = io.BytesIO(pathlib.Path(facts["begin"]).read_bytes()), facts["steps"][0]
    for step in facts["steps"][1:]:
        file.seek(0)
        append_fp(file, io.BytesIO(plain[at : at + step]), step)
        at += step
    theirs = file.getvalue()
    assert data[:32] == theirs[:32], "the header is not the reference's"
    if facts["same_bytes"]:
        assert same_chunks(data, theirs), "chunks are not the reference's bytes"
        begin = layout.begin(data)[2]
        assert data[:begin] == theirs[:begin], "offsets or metadata are not the reference's"


def check_changed(data, plain, facts):
    assert bloscpack.unpack_bytes_from_bytes(data) == (plain, facts["metadata"]), "the reference reads something else"
    offsets, room = data[5] & 1, int.from_bytes(data[24:32], "little")
    append(data, plain, facts | {"offsets": offsets, "max_app_chunks": room})


def check_rows(data, plain, facts):
    array = bloscpack.unpack_ndarray_from_bytes(data)
    dtype = np.dtype(ast.literal_eval(facts["dtype"]))
    assert array.dtype == dtype and array.shape == tuple(facts["shape"]), f"{array.dtype} {array.shape}"
    assert array.tobytes() == plain, "the reference reads other elements"


def check_array(data, plain, facts):
    array = bloscpack.unpack_ndarray_from_bytes(data)
    dtype = np.dtype(ast.literal_eval(facts["dtype"]))
    assert array.dtype == dtype and array.shape == tuple(facts["shape"]), f"{array.dtype} {array.shape}"
    assert array.tobytes(facts["order"]) == plain, "the reference reads other elements"
    if array.itemsize > 255 or facts["chunk_size"] % max(array.itemsize, 1):
        return  # The reference cannot write these.
    theirs = bloscpack.pack_ndarray_to_bytes(array, chunk_size=facts["chunk_size"])
    assert same_chunks(data, theirs), "chunks are not the reference's bytes"
    assert layout.metadata(data) == layout.metadata(theirs), "the metadata is not the reference's text"


def main(directory):
    directory = pathlib.Path(directory) / "ours"
    blosc.set_nthreads(1)
    cases = json.loads((directory / "cases.json").read_text())
    failures = []
    for case in cases:
        data, plain = ((directory / case["name"]).with_suffix(suffix).read_bytes() for suffix in (".blp", ".plain"))
        try:
            globals()[f"check_{case['kind']}"](data, plain, case["facts"])
        except Exception as error:
            failures.append(f"{case['name']}: {type(error).__name__}: {error}")
    print(f"{len(cases)} files, {len(failures)} differ", *failures, sep="\n")
    sys.exit(bool(failures))


if __name__ == "__main__":
    main(sys.argv[1])
