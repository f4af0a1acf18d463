"""Times the parser and resolver of layouts and readers of other formats that hold addresses of arrays, in one
run, in turns, and prints ratios:

    side_by_side.py DIRECTORY OURS [--quick]

DIRECTORY holds the files, made on first use. OURS is the program `dudley_tasks`. Every measurement is a
separate process, which starts its clock after loading its libraries. The sides take turns, so that a slow
moment of the machine affects all of them. Files are in the cache of the system.

Speeds are those of the fastest of several runs. There are two texts: `plain` has one short line for each array,
`documented` has parameters, dicts, lists, structs, comments and attributes. Items are arrays and scalars.

"Locate all" opens a file, or reads and parses a layout, and gets name, address and shape of every array; for
netCDF4, which has no function for addresses, names and shapes. `h5py low` calls the functions of HDF5 through
h5py. `numpy` uses offsets written by hand, as a formula and as a table by name: nothing is parsed, and nothing
can be faster. A ratio above 1 means that we are faster. For one array of a huge file HDF5 must win: it has an
index, while a text must be parsed to its end.
"""

import json
import os
import pathlib
import statistics
import subprocess
import sys
import time

# Floors: MB/s to the tree and to the checked layout, ns per item for addresses, how much more an item may cost
# in a text of a million items than in the cheapest, how many times faster than h5py. Checking and addresses
# use a plain hash table and one general path; they were 80 and 15 with a table that prefetched its slots and
# with short cuts for simple arrays.
SYNTAX, PARSE, RESOLVE, LINEAR, LOCATE = 150, 53, 22.5, 1.5, 200

SIZES = [10_000, 100_000, 1_000_000]
ARRAYS, LENGTH = 100_000, 16


def name(number):
    return f"var_{number:06}"


def plain(count):
    return "".join(f"{name(number)} = f8[{LENGTH}]\n" for number in range(count))


def documented(count):
    """Ten items a turn."""
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
    """The layouts, and one file of each other format."""
    directory, quick = pathlib.Path(directory), quick == "quick"
    arrays = ARRAYS // 50 if quick else ARRAYS
    sizes = {f"{text}_{size}.dud": lambda path, text=text, size=size: path.write_text(TEXTS[text](size)) for text in TEXTS for size in SIZES}
    made = sizes | {
        "arrays.dud": lambda path: path.write_text(plain(arrays)),
        "arrays.h5": lambda path: make_hdf5(path, arrays),
        "arrays.nc": lambda path: make_netcdf(path, arrays),
        "arrays.npz": lambda path: make_npz(path, arrays),
    }
    for file, write in made.items():
        path = directory / file
        if not path.exists():
            part = path.with_name("part_" + file)
            part.unlink(missing_ok=True)
            write(part)
            part.rename(path)


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


# The other sides: each function prepares, and returns the function to time.


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
    """The numbers follow two headers."""
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


def child(task, times, *arguments):
    run = globals()[task](*arguments)
    walls = []
    for _ in range(int(times)):
        begin = time.perf_counter()
        found = run()
        walls.append(time.perf_counter() - begin)
        del found
    print(json.dumps({"wall": walls}))


# The driver.


def measure(command):
    """The JSON that a process prints."""
    return json.loads(subprocess.run([str(word) for word in command], stdout=subprocess.PIPE, check=True, text=True).stdout or "{}")


class Bench:
    def __init__(self, directory, ours, quick):
        self.directory, self.ours, self.quick = directory, ours, quick
        self.missed = []

    def verdict(self, what, text, held):
        if self.quick:
            return ""
        if not held:
            self.missed.append(what)
        return f"{text}{'' if held else ' MISSED'}"

    def speeds(self):
        """Runs all tasks in turns, so that a busy moment affects all of them."""
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

    def beside(self, title, ours, others, rounds):
        """Us and others in turns. A row for each of the others, in seconds, medians of all times."""
        runs = {side: [] for side in ["ours", *others]}
        for _ in range(1 if self.quick else rounds):
            for side in runs:
                command = ours if side == "ours" else [sys.executable, __file__, "--task", *others[side]]
                runs[side] += measure(command)["wall"]
        middle = {side: statistics.median(times) for side, times in runs.items()}
        print(f"\n{title}\n{'':<34}{'ms':>12}{'times ours':>12}   floor\n{'ours':<34}{middle['ours'] * 1e3:>12.3f}")
        return middle

    def row(self, side, middle, verdict=""):
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
                self.row(side, middle, self.verdict("locate all", f">= {LOCATE}", ratio >= LOCATE))
            elif side != "ours":
                self.row(side, middle)

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
        slower = middle["ours"] / middle["h5py"]
        if slower > 1:
            print(f"HDF5 wins: for one array of a huge file it takes {middle['h5py'] * 1e3:.2f} ms, we take {slower:.0f} times as long.")

    def arrays(self):
        return ARRAYS // 50 if self.quick else ARRAYS


def main(directory, ours, quick):
    directory = pathlib.Path(directory) / ("quick" if quick else "full")
    directory.mkdir(parents=True, exist_ok=True)
    begin = time.perf_counter()
    subprocess.run([sys.executable, __file__, "--make", directory, "quick" if quick else "full"], check=True)
    bench = Bench(directory, ours, quick)
    bench.speeds()
    bench.all()
    bench.one()
    print(f"\nfloors missed: {', '.join(bench.missed) if bench.missed else 'none'} ({time.perf_counter() - begin:.0f} s)")


if __name__ == "__main__":
    if sys.argv[1] == "--make":
        make(*sys.argv[2:])
    elif sys.argv[1] == "--task":
        child(*sys.argv[2:])
    else:
        main(sys.argv[1], sys.argv[2], "--quick" in sys.argv[3:])
