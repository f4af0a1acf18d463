"""Converting arguments into the options of the extension."""

from __future__ import annotations

import json
import operator
from collections.abc import Callable, Mapping
from typing import Any

from .args import BloscArgs, BloscpackArgs, MetadataArgs
from .exceptions import (
    ChunkingException,
    NoSuchChecksum,
    NoSuchCodec,
    NoSuchSerializer,
)

_SUFFIXES = {"B": 1, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30, "T": 1 << 40}
_CHECKSUMS = (
    "None",
    "adler32",
    "crc32",
    "md5",
    "sha1",
    "sha224",
    "sha256",
    "sha384",
    "sha512",
)
_MAX_CHUNK_SIZE = (1 << 31) - 1 - 16
_MAX_CHUNKS = (1 << 63) - 1


def chunking(size: int, chunk_size: int | str) -> tuple[int, int]:
    """Return the number of chunks for `size` bytes of data, and the size of a chunk in bytes."""
    if size == 0:
        return 1, 0
    if isinstance(chunk_size, str):
        chunk_size = _parse_size(chunk_size)
    chunk_size = operator.index(chunk_size)
    check_range("chunk_size", chunk_size, 1, _MAX_CHUNK_SIZE)
    chunk_size = min(chunk_size, size)
    count = -(-size // chunk_size)
    if count > _MAX_CHUNKS:
        raise ChunkingException(f"{count} chunks: expected at most {_MAX_CHUNKS}")
    return count, chunk_size


def _parse_size(text: str) -> int:
    suffix = text[-1:]
    if suffix not in _SUFFIXES:
        raise ValueError(
            f"{text!r} is not a size: expected one of the suffixes {''.join(_SUFFIXES)}"
        )
    return int(float(text[:-1]) * _SUFFIXES[suffix])


def check_range(name: str, value: int, low: int, high: int) -> None:
    """Raise `ValueError` if a number is out of range."""
    if not low <= value <= high:
        raise ValueError(f"{name} is {value}: expected {low} to {high}")


def packing(
    size: int,
    chunk_size: int | str,
    metadata: Any,
    blosc_args: Mapping[str, Any] | None,
    bloscpack_args: Mapping[str, Any] | None,
    metadata_args: Mapping[str, Any] | None,
    threads: int | None,
) -> dict[str, Any]:
    """Return the options for packing `size` bytes of data."""
    count, chunk_size = chunking(size, chunk_size)
    options = compression(BloscArgs() if blosc_args is None else blosc_args)
    options["chunk_size"] = max(chunk_size, 1)
    if bloscpack_args is None:
        bloscpack_args = BloscpackArgs()
    _check_keys("bloscpack", bloscpack_args, BloscpackArgs())
    options["offsets"] = bool(bloscpack_args["offsets"])
    options["checksum"] = _checksum(bloscpack_args["checksum"])
    if options["offsets"]:
        spare = _number("max_app_chunks", bloscpack_args["max_app_chunks"], count)
        options["max_app_chunks"] = min(spare, _MAX_CHUNKS - count)
    if metadata is not None:
        options |= _metadata(metadata, MetadataArgs() if metadata_args is None else metadata_args)
    if threads is not None:
        check_range("threads", threads, 1, 1 << 16)
        options["threads"] = threads
    return options


def compression(blosc_args: Mapping[str, Any]) -> dict[str, Any]:
    """Return the options for compressing chunks."""
    _check_keys("blosc", blosc_args, BloscArgs())
    level = operator.index(blosc_args["clevel"])
    check_range("clevel", level, 0, 9)
    typesize = operator.index(blosc_args["typesize"])
    check_range("typesize", typesize, 1, 255)
    return {
        "typesize": typesize,
        "level": level,
        "shuffle": int(blosc_args["shuffle"]),
        "compressor": str(blosc_args["cname"]),
    }


def _metadata(metadata: Any, args: Mapping[str, Any]) -> dict[str, Any]:
    _check_keys("metadata", args, MetadataArgs())
    if args["magic_format"] != b"JSON":
        raise NoSuchSerializer(f"serializer {args['magic_format']!r} does not exist")
    if args["meta_codec"] not in ("None", "zlib"):
        raise NoSuchCodec(f"codec {args['meta_codec']!r} does not exist")
    level = operator.index(args["meta_level"])
    check_range("meta_level", level, 0, 9)
    text = json.dumps(metadata, separators=(",", ":"))
    return {
        "metadata": text,
        "meta_checksum": _checksum(args["meta_checksum"]),
        "meta_compress": args["meta_codec"] == "zlib",
        "meta_level": level,
        "max_meta_size": _number("max_meta_size", args["max_meta_size"], len(text)),
    }


def _checksum(name: str | None) -> str:
    name = "None" if name is None else name
    if name not in _CHECKSUMS:
        raise NoSuchChecksum(f"checksum {name!r} does not exist")
    return name


def _number(name: str, value: int | Callable[[int], int], count: int) -> int:
    """Return a number, which may be given as a function of `count`."""
    number = value(count) if callable(value) else value
    try:
        number = operator.index(number)
    except TypeError:
        raise TypeError(f"{name} is {number!r}: expected an integer, or a function") from None
    if number < 0:
        raise ValueError(f"{name} is {number}: expected a positive number or 0")
    return number


def _check_keys(name: str, args: Mapping[str, Any], expected: Mapping[str, Any]) -> None:
    missing = [key for key in expected if key not in args]
    extra = [key for key in args if key not in expected]
    if missing:
        raise ValueError(f"{name} args lack {', '.join(missing)}")
    if extra:
        raise ValueError(f"{name} args have unknown keys: {', '.join(map(str, extra))}")
