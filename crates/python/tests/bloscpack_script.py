"""Call every function of the Bloscpack interface, and print the results.

    bloscpack_script.py PACKAGE

PACKAGE is `bloscpack` or `scibin.bloscpack`; both print the same.
"""

import collections
import collections.abc
import importlib
import sys
import tempfile
import warnings
from pathlib import Path

import numpy as np

# Python 3.10 removed this name, which the original still imports.
collections.MutableMapping = collections.abc.MutableMapping

bp = importlib.import_module(sys.argv[1])
append = importlib.import_module(sys.argv[1] + ".append")
exceptions = importlib.import_module(sys.argv[1] + ".exceptions")

warnings.simplefilter("ignore")


def attempt(function, *args, **kwargs):
    """Print the result of a call or, if it fails, the original name of the exception."""
    try:
        print(repr(function(*args, **kwargs)))
    except Exception as error:
        names = {cls.__name__ for cls in type(error).__mro__}
        known = [*exceptions_of_original, "TypeError", "FileNotFoundError"]
        print(next((name for name in known if name in names), type(error).__name__))


exceptions_of_original = [
    "NoSuchChecksum", "NoSuchCodec", "ChunkSizeTypeSizeMismatch", "ChecksumMismatch",
    "FormatVersionMismatch", "MetadataSectionTooSmall", "NotEnoughSpace", "NotANumpyArray",
    "ObjectNumpyArrayRejection", "NoSuchSerializer",
]  # fmt: skip
for name in exceptions_of_original:
    print(name, issubclass(getattr(exceptions, name), (ValueError, RuntimeError)))

data = b"some data, again and again. " * 1000
array = np.arange(1000.0).reshape(20, 50)
record = np.zeros(5, [("a", "<f8"), ("b", "<i2", (3,))])
record["a"] = range(5)

for args in (
    bp.BloscArgs(clevel=3),
    bp.BloscpackArgs(checksum=None, max_app_chunks=3),
    bp.MetadataArgs(max_meta_size=100),
):
    print(args, repr(args), len(args), list(args), dict(args))
    copy = args.copy()
    key = next(iter(copy))
    copy[key] = 5
    print(copy[key], getattr(copy, key), args[key])
    attempt(lambda args=args: args["unknown"])
    attempt(args.__setitem__, "unknown", 1)
    attempt(args.__delitem__, key)

options = {
    "blosc_args": bp.BloscArgs(cname="lz4", typesize=4),
    "bloscpack_args": bp.BloscpackArgs(checksum="sha256"),
    "metadata_args": bp.MetadataArgs(meta_checksum="crc32", max_meta_size=lambda size: 500),
}
with tempfile.TemporaryDirectory() as folder:
    folder = Path(folder)
    plain, packed, out = (str(folder / name) for name in ("plain", "packed.blp", "out"))
    Path(plain).write_bytes(data)

    print(bp.pack_file_to_file(plain, packed, chunk_size=1000, metadata={"unit": "K"}, **options))
    print(bp.unpack_file_from_file(packed, out), Path(out).read_bytes() == data)
    print(bp.pack_bytes_to_file(data, packed, "2K", {"list": [1, 2.5, None]}, **options))
    print(bp.unpack_bytes_from_file(packed) == (data, {"list": [1, 2.5, None]}))
    print(bp.unpack_bytes_from_bytes(bp.pack_bytes_to_bytes(data)) == (data, None))
    print(bp.unpack_bytes_from_bytes(bp.pack_bytes_to_bytes(b"")))
    cases = [
        array,
        np.asfortranarray(array),
        array[::2, ::-1],
        np.array(2.5, "f4"),
        record,
        array.astype(">i2"),
        np.array(["a", "bcd"]),
        np.empty((0, 3)),
    ]
    for case in cases:
        print(bp.pack_ndarray_to_file(case, packed, **{**options, "metadata_args": None}))
        found = bp.unpack_ndarray_from_file(packed)
        print(found.dtype, found.shape, found.flags.f_contiguous, found.flags.writeable)
        print(np.array_equal(found, case))
        found = bp.unpack_ndarray_from_bytes(bp.pack_ndarray_to_bytes(case))
        print(found.dtype, np.array_equal(found, case))

    bp.pack_file_to_file(plain, packed, chunk_size=1000)
    print(append.append(packed, plain))
    print(append.append(packed, plain, blosc_args=bp.BloscArgs(cname="zlib")))
    print(bp.unpack_bytes_from_file(packed)[0] == 3 * data)

    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        bp.pack_file(plain, packed)
        print(bp.unpack_file(packed, out))
        bp.pack_bytes_file(data, packed)
        print(bp.unpack_bytes_file(packed) == (data, None))
        bp.pack_ndarray_file(array, packed)
        print(np.array_equal(bp.unpack_ndarray_file(packed), array))
        print(np.array_equal(bp.unpack_ndarray_str(bp.pack_ndarray_str(array)), array))
        print(sum(issubclass(warning.category, DeprecationWarning) for warning in caught))

    attempt(bp.pack_bytes_to_bytes, data, 0)
    attempt(bp.pack_bytes_to_bytes, data, "1X")
    attempt(bp.pack_bytes_to_bytes, data, bloscpack_args=bp.BloscpackArgs(max_app_chunks="a"))
    attempt(bp.pack_bytes_to_bytes, data, bloscpack_args=bp.BloscpackArgs(max_app_chunks=-1))
    attempt(
        bp.pack_bytes_to_bytes, data, metadata={}, metadata_args=bp.MetadataArgs(max_meta_size=0)
    )
    attempt(bp.pack_ndarray_to_bytes, array, chunk_size=1001)
    attempt(bp.pack_ndarray_to_bytes, np.array([{}, None]))
    attempt(bp.unpack_ndarray_from_bytes, bp.pack_bytes_to_bytes(data))
    attempt(bp.unpack_file_from_file, str(folder / "none"), out)
    damaged = bytearray(bp.pack_bytes_to_bytes(data))
    damaged[-1] ^= 1
    attempt(bp.unpack_bytes_from_bytes, bytes(damaged))
    damaged[4] = 9
    attempt(bp.unpack_bytes_from_bytes, bytes(damaged))
    bp.pack_file_to_file(
        plain, packed, chunk_size=1000, bloscpack_args=bp.BloscpackArgs(max_app_chunks=1)
    )
    attempt(append.append, packed, plain)
