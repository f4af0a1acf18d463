"""Tests that files written by numpy, netCDF4, scipy and h5py can be read unchanged through the layouts that
`scibin dudley import` creates, and that generated Python code finds the data that `scibin dudley new` writes:
`foreign.py DIRECTORY SCIBIN`."""

import importlib.util
import pathlib
import random
import subprocess
import sys

import h5py
import netCDF4
import numpy as np
import scipy.io

COUNT = 20
TYPES = ["i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "f2", "f4", "f8", "c8", "c16", "b1", "S5", "U3"]


def scibin(*arguments):
    done = subprocess.run([PROGRAM, "dudley", *map(str, arguments)], capture_output=True, check=False)
    assert done.returncode == 0, (arguments, done.stderr.decode())
    return done.stdout


def described(file):
    layout = file.with_suffix(".dud")
    scibin("import", file, "-o", layout, "--force")
    return layout


def read(file, layout, path):
    out = file.parent / "out.npy"
    scibin("get", file, path, "--layout", layout, "-o", out, "--force")
    return np.load(out)


def array(rng, kind):
    shape = [rng.choice([1, 2, 3, 5]) for _ in range(rng.randrange(4))]
    dtype = np.dtype(kind)
    if dtype.kind == "S":
        return np.array([bytes(rng.choice(b"abc") for _ in range(rng.randrange(6))) for _ in range(int(np.prod(shape)))], dtype).reshape(shape)
    if dtype.kind == "U":
        return np.array(["".join(rng.choice("aé☺") for _ in range(rng.randrange(4))) for _ in range(int(np.prod(shape)))], dtype).reshape(shape)
    numbers = [rng.randrange(100) for _ in range(int(np.prod(shape)))]
    return np.array(numbers).astype(dtype).reshape(shape)


def random_array(rng):
    kind = rng.choice("<>") + rng.choice(TYPES)
    if rng.random() < 0.2:
        record = np.zeros(rng.choice([(), (3,)]), np.dtype([("a", "<f8"), ("b", ">i2", (2,)), ("s", "S3")], align=rng.random() < 0.5))
        record["a"], record["b"], record["s"] = 1.5, 7, b"xy"
        return record
    made = array(rng, kind)
    return np.asfortranarray(made) if rng.random() < 0.3 else made


def equal(found, expected):
    if expected.dtype.names:
        return found.shape == expected.shape and all(np.array_equal(found[name], expected[name]) for name in expected.dtype.names)
    return found.shape == expected.shape and np.array_equal(found, expected)


def numpy_files(directory):
    checked = 0
    for seed in range(COUNT):
        rng = random.Random(seed)
        arrays = {f"v{number}": random_array(rng) for number in range(rng.randrange(1, 6))}
        for name, made in arrays.items():
            file = directory / f"{name}.npy"
            np.save(file, made)
            found = read(file, described(file), f"/{name}")
            is_reversed = made.ndim > 1 and not made.flags.c_contiguous
            assert equal(found.T if is_reversed else found, made), (seed, name)
        file = directory / "all.npz"
        np.savez(file, **arrays)
        layout = described(file)
        for name, made in arrays.items():
            found = read(file, layout, f"/{name}")
            is_reversed = made.ndim > 1 and not made.flags.c_contiguous
            assert equal(found.T if is_reversed else found, made), (seed, name)
            checked += 2
        np.savez_compressed(file, **arrays)
        done = subprocess.run([PROGRAM, "dudley", "import", file], capture_output=True, check=False)
        assert done.returncode == 2 and b"it is deflated" in done.stderr, done
    return checked


def netcdf_types(form):
    types = ["i1", "S1", "i2", "i4", "f4", "f8"]
    return types + ["u1", "u2", "u4", "i8", "u8"] if form == "NETCDF3_64BIT_DATA" else types


def netcdf_file(rng, file, form):
    """Writes a netCDF file with random content, and returns its variables."""
    data = netCDF4.Dataset(file, "w", format=form)
    data.title = "a \"title\""
    names = [f"d{number}" for number in range(3)]
    sizes = {name: rng.choice([1, 2, 3, 5]) for name in names}
    for name, size in sizes.items():
        data.createDimension(name, size)
    data.createDimension("time", None)
    records = rng.randrange(4)
    expected = {}
    of_records = rng.choice([0, 1, 1, 2, 4])
    for number in range(rng.randrange(4) + of_records):
        dims = rng.sample(names, rng.randrange(3))
        shape = [sizes[name] for name in dims]
        if number < of_records:
            dims, shape = ["time", *dims], [records, *shape]
        kind = rng.choice(netcdf_types(form))
        variable = data.createVariable(f"v{number}", kind, dims)
        if rng.random() < 0.5:
            variable.units, variable.level = "K", np.array([1.5, 2], "f4")
        made = array(rng, "i4") if not shape else None
        count = int(np.prod(shape))
        if kind == "S1":
            made = np.array([rng.choice([b"a", b"b", b"c"]) for _ in range(count)], "S1").reshape(shape)
        else:
            made = np.array([rng.randrange(100) for _ in range(count)]).astype(kind).reshape(shape)
        if count:
            variable[...] = made
        expected[f"v{number}"] = made
    data.close()
    return expected


def check_netcdf(file, layout, expected, where):
    for name, made in expected.items():
        found = read(file, layout, f"/{name}")
        if made.dtype == "S1":
            # The last dimension is the length of the strings.
            length = made.shape[-1] if made.ndim else 1
            if made.ndim and not made.size:
                assert found.size == 0, (where, name)
                continue
            if made.ndim == 1 and found.ndim == 1 and found.dtype.itemsize == 1:
                length = 1
            else:
                made = np.frombuffer(made.tobytes(), f"S{length}").reshape(made.shape[:-1])
        assert equal(found, made), (where, name, found, made)


def netcdf_files(directory):
    checked = 0
    for form in ["NETCDF3_CLASSIC", "NETCDF3_64BIT_OFFSET", "NETCDF3_64BIT_DATA"]:
        for seed in range(COUNT):
            rng = random.Random(f"{form}{seed}")
            file = directory / "made.nc"
            expected = netcdf_file(rng, file, form)
            check_netcdf(file, described(file), expected, (form, seed))
            checked += len(expected)

    # The number of records is read from the file, so the layout remains correct when records are added.
    file = directory / "grows.nc"
    with scipy.io.netcdf_file(file, "w", version=1) as data:
        data.createDimension("time", None)
        data.createDimension("x", 3)
        data.createVariable("t", "f8", ("time",))[:] = np.arange(4.0)
        data.createVariable("b", "i1", ("time", "x"))[:] = np.arange(12).reshape(4, 3)
    layout = described(file)
    with scipy.io.netcdf_file(file, "a") as data:
        data.variables["t"][4] = 4.0
        data.variables["b"][4] = [12, 13, 14]
    # scipy may have written the header again, with the data at other offsets.
    with scipy.io.netcdf_file(file, mmap=False) as data:
        expected = {name: data.variables[name][:].copy() for name in ["t", "b"]}
    assert len(expected["t"]) == 5
    check_netcdf(file, layout, expected, "grows")
    return checked + 2


def hdf5_files(directory):
    """Checks random data sets written by h5py in the oldest and the newest version of the format."""
    checked = 0
    for version in ["earliest", "latest"]:
        for seed in range(COUNT):
            rng = random.Random(f"{version}{seed}")
            file, expected = directory / "made.h5", {}
            with h5py.File(file, "w", libver=version, userblock_size=rng.choice([0, 512])) as data:
                for number in range(rng.randrange(1, 12)):
                    group = rng.choice(["", "g/", "g/h/"])
                    made = np.ascontiguousarray(random_array(rng))
                    if made.dtype.kind == "U":
                        made = np.char.encode(made, "utf-8")
                    path = f"{group}v{number}"
                    options = {}
                    if made.ndim and made.size and rng.random() < 0.6:
                        options["chunks"] = tuple(rng.randrange(1, size + 1) for size in made.shape)
                        options["maxshape"] = tuple(rng.choice([size, None]) for size in made.shape)
                    data.create_dataset(path, data=made, **options)
                    expected[path] = (made, options.get("chunks"))
            layout = described(file)
            for path, (made, chunks) in expected.items():
                try:
                    found = read(file, layout, f"/{path}")
                except AssertionError:
                    found = assembled(file, layout, path, made, chunks)
                assert equal(found, made), (version, seed, path, chunks, found, made)
                checked += 1
    return checked


def assembled(file, layout, path, made, chunks):
    """Reads a list of chunks, and returns the whole array."""
    grid = [range(0, size, chunk) for size, chunk in zip(made.shape, chunks)]
    out = np.zeros(made.shape, made.dtype)
    for index, at in enumerate(np.ndindex(*[len(axis) for axis in grid])):
        starts = [axis[step] for axis, step in zip(grid, at)]
        part = read(file, layout, f"/{path}[{index}]")
        target = tuple(slice(start, min(start + chunk, size)) for start, chunk, size in zip(starts, chunks, made.shape))
        cut = tuple(slice(0, where.stop - where.start) for where in target)
        if made.dtype.names:
            for name in made.dtype.names:
                out[name][target] = part[name][cut]
        else:
            out[target] = part[cut]
    return out


def generated_code(directory):
    layout = directory / "run.dud"
    layout.write_text("<\nN : i4  M : i2\ng/ x = f8[N+, M]  p = { a = i1  b = f4[M] }[N]\n/ y = i4[N] z = f8\n")
    np.save(directory / "x.npy", np.arange(12.0).reshape(4, 3))
    np.save(directory / "y.npy", np.arange(3, dtype="i4"))
    file = directory / "run.bd"
    sets = [f"--set=/g/x={directory / 'x.npy'}", f"--set=/y={directory / 'y.npy'}"]
    scibin("new", file, "--layout", layout, "--param", "N=3", "--param", "M=3", *sets, "--force")
    module = directory / "run.py"
    scibin("codegen", layout, "--lang", "python", "--native", "-o", module, "--force")
    spec = importlib.util.spec_from_file_location("run", module)
    run = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(run)
    data = file.read_bytes()
    n = np.frombuffer(data, "<i4", 1, run.offset_N(0, 0))[0]
    m = np.frombuffer(data, "<i2", 1, run.offset_M(0, 0))[0]
    x = np.frombuffer(data, "<f8", run.nbytes_g_x(n, m) // 8, run.offset_g_x(n, m)).reshape(n + 1, m)
    assert np.array_equal(x, np.arange(12.0).reshape(4, 3))
    y = np.frombuffer(data, "<i4", n, run.offset_y(N=n, M=m))
    assert np.array_equal(y, np.arange(3))


def main(directory):
    directory = pathlib.Path(directory) / "foreign"
    directory.mkdir(exist_ok=True)
    print(f"{numpy_files(directory)} arrays in .npy and .npz files, numpy {np.__version__}")
    print(f"{netcdf_files(directory)} variables in netCDF-3 files, netCDF4 {netCDF4.__version__}, scipy {scipy.__version__}")
    print(f"{hdf5_files(directory)} data sets in HDF5 files, h5py {h5py.__version__}")
    generated_code(directory)


PROGRAM = sys.argv[2]
main(sys.argv[1])
