"""Generates files in other formats and their expected content: `make.py DIRECTORY`. Our layouts of these files (`.dud`)
are recorded for review by `SCIBIN_RECORD=1 cargo test -p scibin-dudley --all-features --test foreign golden`."""

import json
import pathlib
import sys

import h5py
import netCDF4
import numpy as np

RECORD = np.array([(1, [0.5, -1.5], b"ab"), (2, [2.5, 3.5], b"c")], np.dtype([("id", "<i4"), ("pos", "<f8", (2,)), ("label", "S3")], align=True))
VALUES = {}


def note(file, path, array):
    array = np.asarray(array)
    if array.dtype.names:
        record = lambda row: {name: plain(row[name]) for name in array.dtype.names}
        VALUES.setdefault(file, {})[path] = [record(row) for row in array] if array.ndim else record(array[()])
        return
    VALUES.setdefault(file, {})[path] = plain(array)


def plain(array):
    value = np.asarray(array).tolist()
    return json.loads(json.dumps(value, default=lambda text: text.decode()))


def numpy_files(directory):
    np.save(directory / "record.npy", RECORD)
    note("record.npy", "/record", RECORD)
    fortran = np.asfortranarray(np.arange(6, dtype=">i2").reshape(2, 3))
    np.save(directory / "fortran.npy", fortran)
    note("fortran.npy", "/fortran", fortran.T)
    arrays = {"a": np.arange(4, dtype="<u1"), "b/c": np.float64(1.5)}
    np.savez(directory / "stored.npz", **arrays)
    note("stored.npz", "/a", arrays["a"])
    note("stored.npz", '/"b/c"', arrays["b/c"])


def netcdf_files(directory):
    for name, form in [("classic.nc", "NETCDF3_CLASSIC"), ("data64.nc", "NETCDF3_64BIT_DATA")]:
        with netCDF4.Dataset(directory / name, "w", format=form) as data:
            data.title = "a model"
            data.createDimension("time", None)
            data.createDimension("x", 3)
            variables = {"x": ("f4", ("x",)), "time": ("f8", ("time",)), "t": ("i2", ("time", "x"))}
            for variable, (kind, dims) in variables.items():
                data.createVariable(variable, kind, dims).units = "m"
            data["x"][:] = [0.5, 1.5, 2.5]
            data["time"][:] = [10.0, 20.0]
            data["t"][:] = [[1, 2, 3], [4, 5, 6]]
        note(name, "/x", np.float32([0.5, 1.5, 2.5]))
        note(name, "/time", np.array([10.0, 20.0]))
        note(name, "/t", np.array([[1, 2, 3], [4, 5, 6]]))


def hdf5_files(directory):
    for name, version in [("earliest.h5", "earliest"), ("latest.h5", "latest")]:
        with h5py.File(directory / name, "w", libver=version) as data:
            grid = data.create_group("grid")
            arrays = {
                "plain": np.arange(6, dtype=">f4").reshape(2, 3),
                "record": RECORD,
                "complex": np.array([1 + 2j, -0.5j], "c16"),
                "flags": np.array([True, False]),
                "scalar": np.array(7, "<i8"),
            }
            for item, array in arrays.items():
                grid.create_dataset(item, data=array)
                if item != "complex":
                    note(name, f"/grid/{item}", array)
            # A list of complex numbers cannot be converted to JSON.
            VALUES[name]["/grid/complex"] = [{"$complex": [z.real, z.imag]} for z in arrays["complex"].tolist()]
            rows = np.arange(10, dtype="<i4").reshape(5, 2)
            data.create_dataset("rows", data=rows, chunks=(5, 2))
            note(name, "/rows", rows)
            tiles = np.arange(12, dtype="<i2").reshape(3, 4)
            data.create_dataset("tiles", data=tiles, chunks=(2, 2))
            padded = np.zeros((4, 4), "<i2")
            padded[:3] = tiles
            for index, (row, column) in enumerate([(0, 0), (0, 2), (2, 0), (2, 2)]):
                note(name, f"/tiles[{index}]", padded[row : row + 2, column : column + 2])
            data.create_dataset("packed", data=np.arange(8), compression="gzip")
            data.create_dataset("text", data=["variable", "length"])


def main(directory):
    directory = pathlib.Path(directory)
    numpy_files(directory)
    netcdf_files(directory)
    hdf5_files(directory)
    (directory / "expected.json").write_text(json.dumps(VALUES, indent=1) + "\n")


main(*sys.argv[1:])
