"""Records the content of an ASDF file according to the reference implementation: the tree, in the form
that `scibin asdf tree --json` prints, and a digest of every array. The Rust tests compare their results
with it."""

import base64
import datetime
import hashlib
import math

import asdf
import numpy as np
from asdf.tags.core import Constant, IntegerType
from asdf.tags.core.ndarray import NDArrayType


def describe_dtype(dtype):
    """Returns numpy's descr, with lists instead of tuples: '<f8', or [['a', '>i4'], ['c', '<f8', [2, 2]]]."""
    if dtype.subdtype is not None:
        raise ValueError("a shaped field belongs to a record")
    if dtype.names is None:
        return dtype.str
    fields = []
    for name in dtype.names:
        field = dtype.fields[name][0]
        base, shape = (field.base, list(field.shape)) if field.subdtype else (field, [])
        fields.append([name, describe_dtype(base)] + ([shape] if shape else []))
    return fields


def is_array(node):
    return isinstance(node, (NDArrayType, np.ndarray))


def materialise(node):
    return node if isinstance(node, np.ma.MaskedArray) else np.asanyarray(node[...] if isinstance(node, NDArrayType) else node)


def describe_array(node):
    """Returns the dtype, the shape, the mask, and the sha256 of the bytes in C order and little-endian byte
    order, with masked elements set to zero."""
    array = materialise(node)
    result = {"dtype": describe_dtype(array.dtype.newbyteorder("<")), "shape": list(array.shape)}
    if isinstance(array, np.ma.MaskedArray):
        mask = np.broadcast_to(np.ma.getmaskarray(array), array.shape)
        result["mask"] = [bool(bit) for bit in mask.flatten()]
        data = np.array(array.data)
        data[mask] = np.zeros((), data.dtype)
        array = data
    if array.dtype.kind == "f":
        # PyYAML sets the sign bit of `.nan`, so make all NaNs equal.
        array = np.where(np.isnan(array), np.array(np.nan, array.dtype), array)
    little = np.ascontiguousarray(array).astype(array.dtype.newbyteorder("<"))
    result["sha256"] = hashlib.sha256(little.tobytes()).hexdigest()
    return result


def key_text(key):
    if key is None:
        return "null"
    if isinstance(key, bool):
        return "true" if key else "false"
    return str(key)


def value(node, pointer, arrays):
    """Returns a node as JSON. Adds the arrays inside it to `arrays` by their JSON Pointer."""
    if is_array(node):
        arrays[pointer] = describe_array(node)
        dtype = node.dtype if isinstance(node, NDArrayType) else node.dtype
        return {"$ndarray": {"dtype": describe_dtype(dtype), "shape": list(node.shape)}}
    if isinstance(node, Constant):
        return value(node._value, pointer, arrays)
    if isinstance(node, IntegerType):
        return int(node)
    if isinstance(node, dict) or hasattr(node, "items"):
        escape = lambda key: key_text(key).replace("~", "~0").replace("/", "~1")
        return {key_text(key): value(item, f"{pointer}/{escape(key)}", arrays) for key, item in node.items()}
    if isinstance(node, (list, tuple)) or type(node).__name__ in ("LazyList", "TaggedList"):
        return [value(item, f"{pointer}/{index}", arrays) for index, item in enumerate(node)]
    if isinstance(node, complex):
        return {"$complex": [value(node.real, pointer, arrays), value(node.imag, pointer, arrays)]}
    if isinstance(node, float) and not math.isfinite(node):
        return "nan" if math.isnan(node) else "inf" if node > 0 else "-inf"
    if isinstance(node, bytes):
        return {"$binary": base64.b64encode(node).decode()}
    if isinstance(node, (datetime.datetime, datetime.date)):
        return node.isoformat()
    if node is None or isinstance(node, (bool, int, float, str)):
        return node
    return value(vars(node), pointer, arrays)


def record(path):
    """Returns the expected result for a file that the reference reads correctly."""
    with asdf.open(path, lazy_load=False, memmap=False) as file:
        arrays = {}
        tree = file.tree
        plain = {}
        for key, item in tree.items():
            if key in ("asdf_library", "history"):
                continue
            plain[key] = value(item, f"/{key}", arrays)
        return {"tree": "ok", "value": plain, "arrays": arrays}
