"""Times the parser and resolver of layouts against readers of other formats that contain addresses of arrays. All
sides take turns in a single run, and the ratios are printed:

    side_by_side.py DIRECTORY OURS [--quick]

DIRECTORY contains the files, which are created on first use. OURS is the program `dudley_tasks`. Every measurement
is a separate process, which starts its clock after loading its libraries. The sides take turns, so that a slow
moment of the machine affects all of them. Files are in the page cache.

Each speed is that of the fastest of several runs. For other times, the median of the runs is computed for each
process, and the fastest process of each side counts, because other activity of the machine can only make a process
slower. There are two texts: `plain` has one short line for each array, and `documented` has parameters, dicts,
lists, structs, comments and attributes. Arrays and scalars count as items.

"Locate all" opens a file, or reads and parses a layout, and returns the name, address and shape of every array.
netCDF4 has no function for addresses, so it returns only names and shapes. `h5py low` calls the functions of HDF5
through h5py. `numpy` uses offsets written by hand, as a formula and as a table by name: nothing is parsed, so
nothing can be faster. A ratio above 1 means that we are faster. For one array in a huge file, HDF5 is faster than a
text, which must be parsed to its end. A compiled layout has an index, as HDF5 does.

"Family" reads one array from each of many small files with the same layout, in one call, with all threads of the
machine. `numpy` reads the parameters of each file and the array after them, by hand. The lower bound is the time
that the system takes to open each file, to read these bytes at known offsets, and to close it. "Copy" copies an
array of 1 GiB from a memory map of its file into memory that has been used before. "Read" reads it into new memory.
Both sides read the same file, because two files of the same size may be cached in pages of different sizes, which
takes up to a quarter longer.
"Write" writes an array from memory to a new file, and waits until it is on disk; the peak is the maximum memory
usage of the process.
"""

import json
import math
import os
import pathlib
import shutil
import statistics
import subprocess
import sys
import time

# Floors: the speeds of parsing to a tree and to a checked layout in MB/s, the time per item for addresses in ns, the
# ratio of the time per item in a text of a million items to that in the cheapest text, and the speed relative to
# h5py. The cheapest text fits into the caches and into memory that the process already has, but a million items do
# not.
SYNTAX, PARSE, RESOLVE, LINEAR, LOCATE = 150, 40, 22.5, 2, 200

# Floors for compiled layouts: the times in ms to open one and to locate a single array or all of 100,000 arrays, and
# the speed relative to h5py. For families: the speed relative to h5py, npz and numpy by hand. For copies: the speed
# relative to numpy. For writes: the speed relative to numpy's `tofile`, and the memory relative to the data. For
# reads: the speed relative to numpy's `fromfile` and to h5py.
INDEX_MS, ALL_MS, INDEX, FAMILY_H5PY, FAMILY_NPZ, FAMILY_NUMPY, COPY = 0.1, 25, 1, 60, 20, 0.5, 0.9
WRITE, WRITE_PEAK = 0.9, 1.1
READ = {"numpy": 0.85, "h5py": 1}

# Floors for locating one item after the first pass over a stream, in microseconds, and for locating all items from
# the text, in milliseconds.
AGAIN_US, TEXT_MS = 10, 25

# Floor for locating one array by a template, in microseconds.
TEMPLATE_US = 0.2

# The exponent of the growth of the time to check a layout, over the last two powers of ten. The time per item in the
# longest text is therefore at most 1.58 times that in the shortest text.
GROWTH = 1.1

SIZES = [10_000, 100_000, 1_000_000]
ARRAYS, LENGTH = 100_000, 16
FILES, COPIED = 10_000, 1 << 30

# The template in the language document.
TEMPLATE = """<
{ IMAX : i8  JMAX : i8  NGROUP : i8  time = f8 }
r = f8[IMAX, JMAX]  z = f8[IMAX, JMAX]  u = f8[IMAX, JMAX]  v = f8[IMAX, JMAX]
rho = f8[IMAX-, JMAX-]  te = f8[IMAX-, JMAX-]  gb = f8[NGROUP+]  unu = f8[NGROUP, IMAX-, JMAX-]
"""
SHAPE = 20, 10, 4


def name(number):
    return f"var_{number:06}"


def plain(count):
    return "".join(f"{name(number)} = f8[{LENGTH}]\n" for number in range(count))


def documented(count):
    """Returns a documented text with ten items in each block."""
    parts = ["## Zones of a mesh, in time\nNX : i8  NY : i8\nNG : 12\nzone { r = f8  z = f8  material = i4 }\n"]
    for turn in range(count // 10):
        parts.append(
            f"/ block_{turn:06}/  ## A part of the mesh\n"
            f"density_{turn} = f8[NX, NY]  ## (g/cc) mass density\n"
            f"  #: units='g/cc', limits=[0.0, 19.3]\n"
            f"energy_{turn} = f8[NX, NY]  ## (kJ/g) specific internal energy\n"
            f"opacity_{turn} = f4[NG, NX, NY]\n"
            f"nodes_{turn} = zone[NX+, NY+]  # one more than zones\n"
            f"bounds_{turn} = {{ low = f8[3]  high = f8[3]  name = S1[16] }}[NG]\n"
            f"cycle_{turn} = i4\n"
            f"time_{turn} = f8  ## (ns)\n"
            f"history [f8[NX], <i4[2, 3], >u2]  # by turns\n"
        )
    return "".join(parts)


TEXTS = {"plain": plain, "documented": documented}


def make(directory, quick):
    """Creates the layouts, and one file in each of the other formats, unless they exist."""
    directory, quick = pathlib.Path(directory), quick == "quick"
    arrays = ARRAYS // 50 if quick else ARRAYS
    sizes = {f"{text}_{size}.dud": lambda path, text=text, size=size: path.write_text(TEXTS[text](size)) for text in TEXTS for size in SIZES}
    made = sizes | {
        "arrays.dud": lambda path: path.write_text(plain(arrays)),
        "arrays.h5": lambda path: make_hdf5(path, arrays),
        "arrays.nc": lambda path: make_netcdf(path, arrays),
        "arrays.npz": lambda path: make_npz(path, arrays),
    }
    files = FILES // 50 if quick else FILES
    made |= {
        "family.dud": lambda path: path.write_text(TEMPLATE),
        "family": lambda path: make_family(path, files),
        "native.dud": lambda path: path.write_text(f"< x = f8[{copied(quick) // 8}]\n"),
        "swapped.dud": lambda path: path.write_text(f"> x = f8[{copied(quick) // 8}]\n"),
        "copied.bin": lambda path: make_copied(path, copied(quick)),
        "copied.h5": lambda path: make_copied_hdf5(path, copied(quick)),
        "inside_hdf5.dud": lambda path: make_inside_hdf5(path, directory / "copied.h5"),
    }
    for file, write in made.items():
        path = directory / file
        if not path.exists():
            part = path.with_name("part_" + file)
            shutil.rmtree(part) if part.is_dir() else part.unlink(missing_ok=True)
            write(part)
            part.rename(path)


def copied(quick):
    return COPIED // 16 if quick else COPIED


def make_copied(path, size):
    import numpy as np

    np.arange(size // 8, dtype="<f8").tofile(path)


def make_copied_hdf5(path, size):
    import h5py
    import numpy as np

    with h5py.File(path, "w") as file:
        file["x"] = np.arange(size // 8, dtype="<f8")


def make_inside_hdf5(path, source):
    """Describes the array in an HDF5 file, so that both sides read the same file."""
    import h5py

    with h5py.File(source, "r") as file:
        x = file["x"]
        path.write_text(f"< x = f8[{x.size}] @{x.id.get_offset()}\n")


def make_family(folder, files):
    """Creates each file in native format, HDF5 and npz, and a file with the summaries of all files."""
    import struct
    import h5py
    import numpy as np

    folder.mkdir(exist_ok=True)
    imax, jmax, groups = SHAPE
    nodes, zones = (imax, jmax), (imax - 1, jmax - 1)
    shapes = {"r": nodes, "z": nodes, "u": nodes, "v": nodes, "rho": zones, "te": zones, "gb": (groups + 1,), "unu": (groups, *zones)}
    signature = b"\x8d<BD\r\n\x1a\n" + bytes(8)
    with open(folder / "all.bd", "wb") as summary:
        summary.write(signature + struct.pack("<q", files))
        for number in range(files):
            head = struct.pack("<qqqd", imax, jmax, groups, number / 2)
            summary.write(head)
            arrays = {name: np.full(shape, number, "<f8") for name, shape in shapes.items()}
            (folder / f"{number}.bd").write_bytes(signature + head + b"".join(array.tobytes() for array in arrays.values()))
            with h5py.File(folder / f"{number}.h5", "w") as file:
                for name, array in arrays.items():
                    file[name] = array
            np.savez(folder / f"{number}.npz", **arrays)


def values(number):
    import numpy as np

    return np.arange(LENGTH, dtype="f8") + number


def make_hdf5(path, arrays):
    import h5py

    with h5py.File(path, "w") as file:
        for number in range(arrays):
            file.create_dataset(name(number), data=values(number))


def make_netcdf(path, arrays):
    from scipy.io import netcdf_file

    with netcdf_file(path, "w", version=2) as file:
        file.createDimension("n", LENGTH)
        for number in range(arrays):
            file.createVariable(name(number), ">f8", ("n",))[:] = values(number)


def make_npz(path, arrays):
    import zipfile
    import numpy as np

    with zipfile.ZipFile(path, "w", allowZip64=True) as file:
        for number in range(arrays):
            with file.open(name(number) + ".npy", "w") as member:
                np.lib.format.write_array(member, values(number))


# The other sides. Each of these functions makes preparations, and returns the function to time.


def h5py_all(path):
    import h5py

    def run():
        with h5py.File(path, "r") as file:
            return [(name, item.id.get_offset(), item.shape) for name, item in file.items()]

    return run


def h5py_low_all(path):
    import h5py

    def run():
        file = h5py.h5f.open(os.fsencode(path), h5py.h5f.ACC_RDONLY)
        found = []
        for name in file:
            item = h5py.h5d.open(file, name)
            found.append((name, item.get_offset(), item.shape))
        file.close()
        return found

    return run


def scipy_all(path):
    from scipy.io import netcdf_file

    def run():
        with netcdf_file(path, "r", mmap=True) as file:
            begin = file._mm_buf.__array_interface__["data"][0]
            return [(name, item.data.__array_interface__["data"][0] - begin, item.shape) for name, item in file.variables.items()]

    return run


def netcdf4_all(path):
    import netCDF4

    def run():
        with netCDF4.Dataset(path) as file:
            return [(name, item.shape) for name, item in file.variables.items()]

    return run


def npz_all(path):
    """Locates all arrays in an npz file, in which two headers precede the numbers of each array."""
    import zipfile
    import numpy as np

    def run():
        found = []
        with zipfile.ZipFile(path) as file:
            for member in file.infolist():
                with file.open(member) as data:
                    np.lib.format.read_magic(data)
                    shape, _, _ = np.lib.format.read_array_header_1_0(data)
                    head = 30 + len(member.filename) + len(member.extra)
                    found.append((member.filename, member.header_offset + head + data.tell(), shape))
        return found

    return run


def numpy_formula_all(path):
    import numpy as np

    arrays = os.path.getsize(path) // len(f"{name(0)} = f8[{LENGTH}]\n")
    return lambda: np.arange(arrays) * (8 * LENGTH)


def numpy_table_all(path):
    arrays = os.path.getsize(path) // len(f"{name(0)} = f8[{LENGTH}]\n")
    return lambda: {name(number): (8 * LENGTH * number, (LENGTH,)) for number in range(arrays)}


def h5py_one(path, wanted):
    import h5py

    def run():
        with h5py.File(path, "r") as file:
            return file[wanted].id.get_offset()

    return run


def scipy_one(path, wanted):
    from scipy.io import netcdf_file

    def run():
        with netcdf_file(path, "r", mmap=True) as file:
            begin = file._mm_buf.__array_interface__["data"][0]
            return file.variables[wanted].data.__array_interface__["data"][0] - begin

    return run


def numpy_formula_one(path, wanted):
    return lambda: int(wanted.split("_")[1]) * 8 * LENGTH


def numbered(folder, suffix, count):
    return [os.path.join(folder, f"{number}{suffix}") for number in range(int(count))]


def h5py_family(folder, count):
    import h5py

    def run():
        found = []
        for path in numbered(folder, ".h5", count):
            with h5py.File(path, "r") as file:
                found.append(file["te"][()])
        return found

    return run


def npz_family(folder, count):
    import numpy as np

    def run():
        found = []
        for path in numbered(folder, ".npz", count):
            with np.load(path) as file:
                found.append(file["te"])
        return found

    return run


def numpy_family(folder, count):
    import struct
    import numpy as np

    def run():
        found = []
        for path in numbered(folder, ".bd", count):
            with open(path, "rb", buffering=0) as file:
                imax, jmax, groups = struct.unpack("<qqq", file.read(40)[16:])
                zones = (imax - 1) * (jmax - 1)
                file.seek(48 + 8 * (4 * imax * jmax + zones))
                found.append(np.frombuffer(file.read(8 * zones)).reshape(imax - 1, jmax - 1))
        return found

    return run


def numpy_copy(path, dtype):
    import numpy as np

    stored = np.memmap(path, dtype=dtype, mode="r")
    out = np.ones(stored.shape, "f8")
    np.copyto(out, stored)
    return lambda: np.copyto(out, stored)


def numpy_read(path):
    import numpy as np

    return lambda: np.fromfile(path, "f8")


def h5py_read(path):
    import h5py

    def run():
        with h5py.File(path, "r") as file:
            return file["x"][()]

    return run


def numpy_write(path, size):
    import numpy as np

    data = np.ones(int(size) // 8)

    def run():
        pathlib.Path(path).unlink(missing_ok=True)
        with open(path, "wb") as file:
            data.tofile(file)
            os.fsync(file.fileno())

    return run


def child(task, times, *arguments):
    run = globals()[task](*arguments)
    walls = []
    for _ in range(int(times)):
        begin = time.perf_counter()
        found = run()
        walls.append(time.perf_counter() - begin)
        del found
    print(json.dumps({"wall": walls}))


# The driver of the benchmark.


def measure(command):
    """Runs a command, and returns the JSON that it prints, together with the maximum memory usage of its process in
    bytes."""
    process = subprocess.Popen([str(word) for word in command], stdout=subprocess.PIPE, text=True)
    output = process.stdout.read()
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode != 0:
        raise SystemExit(f"{' '.join(map(str, command))} ended with {process.returncode}")
    return json.loads(output or "{}") | {"peak": usage.ru_maxrss << 10}


class Bench:
    def __init__(self, directory, ours, quick):
        self.directory, self.ours, self.quick = directory, ours, quick
        self.missed, self.rows, self.title, self.peak = [], [], "", 0

    def verdict(self, what, text, held):
        if self.quick:
            return ""
        if not held:
            self.missed.append(what)
        return f"{text}{'' if held else ' MISSED'}"

    def speeds(self):
        """Runs all tasks in turns, so that a slow moment of the machine affects all of them, and prints the speeds."""
        sizes = SIZES[:1] if self.quick else SIZES
        fastest, about = {}, {}
        for _ in range(1 if self.quick else 5):
            for text in TEXTS:
                for size in sizes:
                    for task in ("syntax", "parse", "resolve"):
                        times = max(1_000_000 // size, 1) * (1 if task == "parse" else 3)
                        run = measure([self.ours, task, self.directory / f"{text}_{size}.dud", 1 if self.quick else times])
                        key = text, size, task
                        fastest[key] = min(fastest.get(key, float("inf")), *run["wall"])
                        about[text, size] = run
        print(f"\n{'text to tree, to layout, to addresses':<34}{'MB':>7}{'tree':>9}{'checked':>9}   {'ns an item: tree':>18}{'checked':>9}{'addresses':>10}   floor")
        print(f"{'':<34}{'':>7}{'MB/s':>9}{'MB/s':>9}")
        for text in TEXTS:
            for size in sizes:
                run = about[text, size]
                megabytes, items = run["bytes"] / 1e6, run["items"]
                tree, checked, resolved = (fastest[text, size, task] for task in ("syntax", "parse", "resolve"))
                label = f"{text}, {size} items"
                verdicts = [
                    self.verdict(f"{label}: tree", f"tree >= {SYNTAX}", megabytes / tree >= SYNTAX),
                    self.verdict(f"{label}: checked", f"checked >= {PARSE}", megabytes / checked >= PARSE),
                    self.verdict(f"{label}: addresses", f"addresses <= {RESOLVE} ns", resolved / items * 1e9 <= RESOLVE),
                ]
                nanoseconds = [seconds / items * 1e9 for seconds in (tree, checked, resolved)]
                print(
                    f"{label:<34}{megabytes:>7.2f}{megabytes / tree:>9.0f}{megabytes / checked:>9.0f}   "
                    f"{nanoseconds[0]:>18.1f}{nanoseconds[1]:>9.1f}{nanoseconds[2]:>10.1f}   {', '.join(filter(None, verdicts))}"
                )
        print(f"\nlinear: an item in a text of {sizes[-1]} against one in the cheapest of {', '.join(map(str, sizes))}\n{'':<34}{'ratio':>7}   floor")
        for text in TEXTS:
            for task in ("syntax", "parse", "resolve"):
                costs = [fastest[text, size, task] / about[text, size]["items"] for size in sizes]
                ratio = costs[-1] / min(costs)
                label = f"{text}: {task}"
                print(f"{label:<34}{ratio:>7.2f}   {self.verdict(f'linear, {label}', f'<= {LINEAR}', ratio <= LINEAR)}")
                if task == "parse" and not self.quick:
                    growth, factor = costs[0] / costs[-1], sizes[-1] / sizes[0]
                    floor = factor ** (1 - GROWTH)
                    self.rows.append((f"check a {text} layout of {sizes[-1]} items, time for each", f"ours, {sizes[0]}", growth, floor, None))
                    verdict = self.verdict(f"growth, {label}", f"<= {GROWTH}", growth >= floor)
                    print(f"{label + ', exponent':<34}{1 - math.log(growth, factor):>7.2f}   {verdict}")

    def beside(self, title, ours, others, rounds):
        """Runs all sides in turns. Returns the time of each side in seconds: the median of its fastest process."""
        runs, self.peak = {side: [] for side in ["ours", *others]}, 0
        for _ in range(1 if self.quick else rounds):
            for side in runs:
                command = others.get(side, ours)
                if command[0] != self.ours:
                    command = [sys.executable, __file__, "--task", *command]
                run = measure(command)
                runs[side].append(statistics.median(run["wall"]))
                if side == "ours":
                    self.peak = max(self.peak, run["peak"])
        middle = {side: min(medians) for side, medians in runs.items()}
        self.title = title
        print(f"\n{title}\n{'':<34}{'ms':>12}{'times ours':>12}   floor\n{'ours':<34}{middle['ours'] * 1e3:>12.3f}")
        return middle

    def row(self, side, middle, verdict="", floor=None):
        """Adds a row. The first row of each comparison contains our peak memory."""
        is_first = not self.rows or self.rows[-1][0] != self.title
        self.rows.append((self.title, side, middle[side] / middle["ours"], floor, self.peak / 2**20 if is_first else None))
        print(f"{side:<34}{middle[side] * 1e3:>12.4f}{middle[side] / middle['ours']:>12.3g}   {verdict}")

    def all(self):
        path = lambda suffix: self.directory / f"arrays{suffix}"
        middle = self.beside(
            f"open and locate all of {self.arrays()} arrays of {LENGTH} f8 in one file",
            [self.ours, "locate_all", path(".dud"), 5],
            {
                "h5py": ("h5py_all", 1, path(".h5")),
                "h5py low": ("h5py_low_all", 1, path(".h5")),
                "scipy, netCDF-3": ("scipy_all", 1, path(".nc")),
                "netCDF4, netCDF-3, no addresses": ("netcdf4_all", 1, path(".nc")),
                "npz": ("npz_all", 1, path(".npz")),
                "numpy, a formula by hand": ("numpy_formula_all", 5, path(".dud")),
                "numpy, a table by hand": ("numpy_table_all", 5, path(".dud")),
            },
            2,
        )
        for side in middle:
            if side == "h5py":
                ratio = middle[side] / middle["ours"]
                self.row(side, middle, self.verdict("locate all", f">= {LOCATE}", ratio >= LOCATE), LOCATE)
            elif side != "ours":
                self.row(side, middle)
        print(self.verdict("locate all: ms", f"floor: ours <= {TEXT_MS} ms", middle["ours"] * 1e3 <= TEXT_MS))
        # Measure again with the C library keeping its memory. Otherwise, it returns the memory to the system after each
        # run, and the system has to clear it again.
        os.environ["GLIBC_TUNABLES"] = "glibc.malloc.mmap_threshold=1073741824:glibc.malloc.trim_threshold=4294967296"
        kept = statistics.median(measure([self.ours, "locate_all", path(".dud"), 5])["wall"])
        del os.environ["GLIBC_TUNABLES"]
        print(f"in memory that the process keeps: {kept * 1e3:.2f} ms")

    def one(self):
        path = lambda suffix: self.directory / f"arrays{suffix}"
        wanted = name(self.arrays() // 2)
        middle = self.beside(
            f"open and locate one of {self.arrays()} arrays",
            [self.ours, "locate_one", path(".dud"), 10, f"/{wanted}"],
            {
                "h5py": ("h5py_one", 10, path(".h5"), wanted),
                "scipy, netCDF-3": ("scipy_one", 1, path(".nc"), wanted),
                "numpy, a formula by hand": ("numpy_formula_one", 10, path(".dud"), wanted),
            },
            3,
        )
        for side in middle:
            if side != "ours":
                self.row(side, middle)
        again = statistics.median(measure([self.ours, "locate_again", path(".dud"), 10, f"/{wanted}"])["wall"]) * 1e3
        floor = self.verdict("locate again", f", floor <= {AGAIN_US} us", again <= AGAIN_US)
        print(f"one more, after a pass over a stream: {again:.3f} us{floor}")
        index = path(".dudx")
        index.unlink(missing_ok=True)
        measure([self.ours, "index", path(".dud"), 1, index])
        opened = self.beside(
            f"compiled layout: open and locate one of {self.arrays()} arrays",
            [self.ours, "index_one", index, 10, f"/{wanted}"],
            {"h5py": ("h5py_one", 10, path(".h5"), wanted)},
            3,
        )
        all_ms = statistics.median(measure([self.ours, "index_all", index, 5])["wall"]) * 1e3
        print(self.verdict("compiled: all", f"all of them: {all_ms:.2f} ms, floor <= {ALL_MS} ms", all_ms <= ALL_MS))
        ratio = opened["h5py"] / opened["ours"]
        self.row("h5py", opened, self.verdict("compiled: open", f">= {INDEX}", ratio >= INDEX), INDEX)
        held = opened["ours"] * 1e3 <= INDEX_MS
        print(self.verdict("compiled: ms", f"floor: ours <= {INDEX_MS} ms", held))
        slower = middle["ours"] / middle["h5py"]
        if slower > 1:
            print(f"HDF5 wins against the text: for one array of a huge file it takes {middle['h5py'] * 1e3:.2f} ms, we take {slower:.0f} times as long.")

    def family(self):
        folder, layout = self.directory / "family", self.directory / "family.dud"
        count = FILES // 50 if self.quick else FILES
        files = numbered(folder, ".bd", count)
        sides = {"files": files, "family": files, "summary": [folder / "all.bd", *files], "alone": files}
        ways = {side: [self.ours, side, layout, 3, *arguments] for side, arguments in sides.items()}
        middle = self.beside(
            f"family: one {(SHAPE[0] - 1) * (SHAPE[1] - 1) * 8}-byte array from each of {count} files",
            ways["family"],
            {
                "h5py": ("h5py_family", 1, folder, count),
                "npz": ("npz_family", 1, folder, count),
                "numpy, by hand": ("numpy_family", 3, folder, count),
                "ours, with a summary": ways["summary"],
            },
            3,
        )
        floors = {"h5py": FAMILY_H5PY, "npz": FAMILY_NPZ, "numpy, by hand": FAMILY_NUMPY}
        for side, floor in floors.items():
            ratio, summary = (middle[side] / middle[way] for way in ("ours", "ours, with a summary"))
            verdict = self.verdict(f"family: {side}", f">= {floor}", ratio >= floor)
            by_summary = self.verdict(f"family by summary: {side}", f">= {floor}", summary >= floor)
            self.row(side, middle, f"{verdict}   with a summary {summary:.3g} {by_summary}", floor)
        self.row("ours, with a summary", middle)
        microseconds = statistics.median(measure([self.ours, "template", layout, 200, "/te"])["wall"]) * 1e3
        verdict = self.verdict("template", f", floor <= {TEMPLATE_US} us", microseconds <= TEMPLATE_US)
        print(f"one array, located by a template: {microseconds:.3f} us{verdict}")
        labels = {
            "files": "each file opened by itself",
            "family": "one call for all",
            "summary": "one call for all, with a summary",
            "alone": "open, read, close alone",
        }
        print(f"\n{'us a file':<34}{'1 thread':>12}{'all threads':>12}{'files/s':>12}")
        for side, label in labels.items():
            one, all_threads = (self.fastest(ways[side], count, threads) for threads in ("1", None))
            print(f"{label:<34}{one:>12.2f}{all_threads:>12.2f}{1e6 / all_threads:>12.0f}")

    def fastest(self, command, count, threads):
        """Returns the shortest time per file in microseconds."""
        if threads:
            os.environ["RAYON_NUM_THREADS"] = threads
        runs = [wall for _ in range(1 if self.quick else 3) for wall in measure(command)["wall"]]
        os.environ.pop("RAYON_NUM_THREADS", None)
        return min(runs) / count * 1e6

    def copies(self):
        data = self.directory / "copied.bin"
        for kind, dtype in {"native": "<f8", "swapped": ">f8"}.items():
            middle = self.beside(
                f"copy: {data.stat().st_size >> 20} MiB, {kind}",
                [self.ours, "copy", self.directory / f"{kind}.dud", 3, data],
                {"numpy": ("numpy_copy", 3, data, dtype)},
                3,
            )
            ratio = middle["numpy"] / middle["ours"]
            self.row("numpy", middle, self.verdict(f"copy: {kind}", f">= {COPY}", ratio >= COPY), COPY)

    def reads(self):
        for side, file, layout in [("numpy", "copied.bin", "native.dud"), ("h5py", "copied.h5", "inside_hdf5.dud")]:
            data = self.directory / file
            middle = self.beside(
                f"read: {data.stat().st_size >> 20} MiB of {file} to new memory",
                [self.ours, "read", self.directory / layout, 3, data],
                {side: (f"{side}_read", 3, data)},
                3,
            )
            self.row(side, middle, self.verdict(f"read: {side}", f">= {READ[side]}", middle[side] / middle["ours"] >= READ[side]), READ[side])

    def writes(self):
        size, out = copied(self.quick), self.directory / "written.bin"
        ours = [self.ours, "write", self.directory / "native.dud", 3, out]
        middle = self.beside(f"write: {size >> 20} MiB", ours, {"numpy": ("numpy_write", 3, out, size)}, 3)
        ratio = middle["numpy"] / middle["ours"]
        peak = self.peak / size
        self.row("numpy", middle, self.verdict("write", f">= {WRITE}", ratio >= WRITE), WRITE)
        print(self.verdict("write: peak", f"peak: {peak:.2f} times the data, floor <= {WRITE_PEAK}", peak <= WRITE_PEAK))
        out.unlink()

    def arrays(self):
        return ARRAYS // 50 if self.quick else ARRAYS


def save(rows, path):
    """Writes the ratios for `cargo xtask bench`, one row per line: work, peer, ratio, floor and our peak memory in MiB."""
    text = lambda value: "" if value is None else str(value)
    path.write_text("".join("\t".join(map(text, row)) + "\n" for row in rows))


def main(directory, ours, quick):
    directory = pathlib.Path(directory) / ("quick" if quick else "full")
    directory.mkdir(parents=True, exist_ok=True)
    begin = time.perf_counter()
    subprocess.run([sys.executable, __file__, "--make", directory, "quick" if quick else "full"], check=True)
    bench = Bench(directory, ours, quick)
    bench.speeds()
    bench.all()
    bench.one()
    bench.family()
    bench.copies()
    bench.reads()
    bench.writes()
    save(bench.rows, directory / "ratios.tsv")
    print(f"\nfloors missed: {', '.join(bench.missed) if bench.missed else 'none'} ({time.perf_counter() - begin:.0f} s)")


if __name__ == "__main__":
    if sys.argv[1] == "--make":
        make(*sys.argv[2:])
    elif sys.argv[1] == "--task":
        child(*sys.argv[2:])
    else:
        main(sys.argv[1], sys.argv[2], "--quick" in sys.argv[3:])
