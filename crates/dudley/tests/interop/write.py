"""Generates random layouts that correspond to aligned record dtypes of numpy, and writes the addresses that numpy
assigns to all fields: `write.py DIRECTORY`. The Rust test `interop` resolves the layouts.

A whole layout corresponds to a record, whose fields are the items:

    x = f8[2,3]                       ("x", "<f8", (2, 3))
    x = S1[2,5], U4[2,5]              ("x", "S5", (2,)), ("x", "<U5", (2,))
    x = {..}[2]                       ("x", record, (2,))
    t {""=f8[3]}  x = t[2]            ("x", subarray of 3, (2,))
    N : i4                            ("N", "<i4")

Addresses, shapes and strides are taken from views of a real record, so that this program does not compute them
itself. The bytes of the record, which contain the values of the stored parameters, are the stream.
"""

import json
import pathlib
import random
import sys

import numpy as np

COUNT = 400
# The maximum size of a layout in bytes, and the maximum nesting depth of structs.
SIZE, DEPTH = 1 << 16, 3
PRIMITIVES = ["i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "f2", "f4", "f8", "c8", "c16", "b1", "S1", "U4"]
INTEGERS = PRIMITIVES[:8]


class Case:
    """Generates the text of a layout, together with the fields of the corresponding record."""

    def __init__(self, seed):
        self.random = random.Random(seed)
        self.mark = self.random.choice(["", "<", ">"])
        self.default = self.mark or "<"
        self.lines = [self.mark] if self.mark else []
        self.names = 0
        # The parameters of the root, the types as pairs of a name and a dtype, and the values of stored parameters.
        self.params, self.types, self.values = {}, [], {}

    def fresh(self, prefix):
        self.names += 1
        return f"{prefix}{self.names}"

    def order(self):
        return self.random.choice(["", "", "<", ">"])

    def dim(self):
        """Returns the text and the value of a random dimension. A suffix does not apply to 0 and -1. No value is 0,
        because numpy aligns empty fields."""
        if not self.params or self.random.random() < 0.6:
            value = self.random.choice([1, 1, 2, 3, 4, 5, 7, -1])
            return str(value), value
        name = self.random.choice(list(self.params))
        value = self.params[name]
        suffix = self.random.choice(["", "", "+", "++", "-"])
        if value == -1:
            return name + suffix, value
        moved = value + suffix.count("+") - suffix.count("-")
        return (name + suffix, moved) if moved > 0 else (name, value)

    def shape(self, most):
        dims = [self.dim() for _ in range(self.random.choice([0, 0, 1, 1, 2, most]))]
        text = f"[{', '.join(text for text, _ in dims)}]" if dims else ""
        return text, tuple(value for _, value in dims if value != -1)

    def data(self, depth, bare=False):
        """Returns the text of a random datatype with its shape, the dtype, and the shape in numpy. If `bare` is set,
        for a named type, no parameters are used, because they may not be in scope where the type is used."""
        params = self.params
        if bare:
            self.params = {}
        kind = self.random.random()
        if kind < 0.15 and self.types:
            text, dtype = self.random.choice(self.types)
        elif kind < 0.35 and depth > 0:
            text, dtype = self.struct(depth - 1)
        else:
            primitive, order = self.random.choice(PRIMITIVES), self.order()
            text, dtype = order + primitive, np.dtype((order or self.default) + primitive)
            if primitive in ("S1", "U4"):
                shape, dims = self.shape(2)
                length = self.random.randrange(1, 9)
                shape = shape.replace("]", f", {length}]") if shape else f"[{length}]"
                self.params = params
                return text + shape, np.dtype((order or self.default) + primitive[0] + str(length)), dims
        shape, dims = self.shape(3)
        self.params = params
        return text + shape, dtype, dims

    def struct(self, depth):
        text, fields = [], []
        for _ in range(self.random.randrange(1, 6)):
            name = self.fresh("m")
            if self.random.random() < 0.1:
                declared, dtype = self.stored(name)
                text.append(declared)
                fields.append((name, dtype))
                continue
            data, dtype, dims = self.data(depth)
            text.append(f"{name} = {data}")
            fields.append((name, dtype, dims))
        return "{" + "  ".join(text) + "}", np.dtype(fields, align=True)

    def stored(self, name):
        """Returns the declaration and the dtype of a stored parameter."""
        order, integer = self.order(), self.random.choice(INTEGERS)
        sign = self.random.choice([":", ":="])
        return f"{name} {sign} {order}{integer}", np.dtype((order or self.default) + integer)

    def typedef(self):
        """Declares a named struct, or a typedef of a type with dimensions."""
        name, params = self.fresh("t"), self.params
        if self.random.random() < 0.5:
            self.params = {}
            text, dtype = self.struct(DEPTH - 1)
            self.params = params
        else:
            data, dtype, dims = self.data(DEPTH - 1, bare=True)
            text, dtype = f'{{"" = {data}}}', np.dtype((dtype, dims))
        self.lines.append(f"{name} {text}")
        self.types.append((name, dtype))

    def make(self):
        """Generates the layout, and returns the dtype of the record."""
        fields = []
        for _ in range(self.random.randrange(2, 14)):
            kind = self.random.random()
            name = self.fresh("x")
            if kind < 0.12:
                self.typedef()
            elif kind < 0.2:
                self.params[name] = self.random.choice([-1, 1, 2, 3])
                self.lines.append(f"{name} : {self.params[name]}")
            elif kind < 0.3:
                declared, dtype = self.stored(name)
                # An unsigned parameter cannot be -1, which removes a dimension.
                self.params[name] = self.values[name] = self.random.choice([1, 2, 3] + [-1] * (dtype.kind == "i"))
                self.lines.append(declared)
                fields.append((name, dtype))
            else:
                data, dtype, dims = self.data(DEPTH)
                self.lines.append(f"{name} = {data}")
                fields.append((name, dtype, dims))
        return np.dtype(fields, align=True)


def base(dtype):
    """Returns the base type of a field, and the dimensions of its nested subarrays."""
    dims = ()
    while dtype.subdtype:
        dtype, inner = dtype.subdtype
        dims += inner
    return dtype, dims


def rows(record, dtype, path, outer, found):
    """Appends a row for every field, including the fields of nested structs. Each row is a view of all instances."""
    for name in dtype.names:
        view = record[name]
        inner, own = base(dtype.fields[name][0])
        shape, strides, nbytes = list(view.shape), list(view.strides), dtype.fields[name][0].itemsize
        kind = inner.str.lstrip("|") if inner.names is None else None
        if inner.kind in "SU":
            unit = 1 if inner.kind == "S" else 4
            shape, strides = shape + [inner.itemsize // unit], strides + [unit]
            kind = "S1" if inner.kind == "S" else f"{kind[0]}U4"
        address = view.__array_interface__["data"][0]
        # `outer` is the number of dimensions that belong to enclosing instances.
        row = {"path": path + name, "address": address, "shape": shape, "strides": strides, "outer": outer}
        found.append(row | {"dtype": kind, "nbytes": nbytes})
        if inner.names is not None:
            rows(view, inner, f"{path}{name}.", outer + len(own), found)


def flat(dtype):
    """Returns the same record without nested subarrays, which `.npy` files do not have."""
    if dtype.names is None:
        return dtype
    formats = [(flat(inner), dims) for inner, dims in (base(dtype.fields[name][0]) for name in dtype.names)]
    offsets = [dtype.fields[name][1] for name in dtype.names]
    return np.dtype({"names": dtype.names, "formats": formats, "offsets": offsets, "itemsize": dtype.itemsize})


def described(dtype):
    """Returns the description of a record as numpy writes it, with the addresses of the fields."""
    dtype = flat(dtype)
    record, found = np.zeros((), dtype), []
    rows(record, dtype, "/x.", 0, found)
    begin = record.__array_interface__["data"][0]
    found = [row | {"address": row["address"] - begin} for row in found]
    return {"descr": str(np.lib.format.dtype_to_descr(dtype)), "size": dtype.itemsize, "rows": found}


def main(directory):
    directory = pathlib.Path(directory)
    cases, seed = [], 0
    while len(cases) < COUNT:
        seed += 1
        case = Case(seed)
        dtype = case.make()
        if not dtype.names or dtype.itemsize > SIZE:
            continue
        record = np.zeros((), dtype)
        for name, value in case.values.items():
            record[name] = value
        found = []
        rows(record, dtype, "/", 0, found)
        begin = record.__array_interface__["data"][0]
        found = [row | {"address": row["address"] - begin} for row in found]
        last, offset = dtype.fields[dtype.names[-1]]
        end = offset + last.itemsize
        layout = "\n".join(case.lines)
        records = [described(dtype), described(np.dtype([(name, dtype.fields[name][0]) for name in dtype.names]))]
        cases.append(
            {"layout": layout, "values": case.values, "rows": found, "end": end, "stream": record.tobytes().hex(), "records": records}
        )
    (directory / "numpy.json").write_text(json.dumps(cases))
    print(f"{len(cases)} layouts, {sum(len(case['rows']) for case in cases)} rows, numpy {np.__version__}")


main(sys.argv[1])
