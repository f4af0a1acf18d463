"""Compares this crate with the Python reference, with the C library and with blosc2 on the same data, in a single run:

    side_by_side.py DIRECTORY OURS SPEED PEERS [--quick]

DIRECTORY contains the data, which is created on first use. OURS is the program `bloscpack_tasks`, SPEED is
`blosc_speed`, and PEERS is a Python interpreter that can import blosc2.

Each measurement runs in its own process. The programs take turns, so that a slow phase of the machine
affects all of them. The reported time is the shortest one, in seconds, of the task alone, without loading
its input. Input files are in the cache of the system, and output is written to a file system in memory if it
has enough space, because disks are not compared here. A ratio above 1 means that our program is faster. `wall`
and `cpu` compare it with the reference, each on one thread. `raw` (CPU time) compares it with the C library,
which is called chunk by chunk, without files and digests. `blosc2` (wall time) compares it with blosc2, which stores
the same chunks with the same codec in its own format, without digests. `x2` is our gain from a second thread. Peak
memory is the largest resident set of the process. Our program and the reference verify all digests.

Arrays are unpacked to new memory. In rows named `memory reused`, they are unpacked to memory that has already been
written to. The reference cannot do this, so our program is compared only with the C library, which also decodes
into existing memory. Neither program can pack faster than `raw`.

If a chunk is a single block, the reference does not gain from more threads. A floor applies to the smaller of
`wall` and `cpu`. zlib and Zstandard have no floors, because both programs spend their time in the same codec.
"""

import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import time

MIB = 1 << 20
LEVELS = {"blosclz": 7, "lz4": 5, "zlib": 1, "zstd": 1}
# The floors for packing and for unpacking relative to the reference, for both relative to the C library, for both
# relative to blosc2, and for the gain from a second thread. The C library neither reads files nor computes digests.
PACK, UNPACK, RAW, BLOSC2, SCALING = 1, 1.1, 0.7, 1, 1.7

# Kind of data, codec, chunk size in KiB, size of the data in MiB, and number of rounds. Most tasks with a floor
# use 1 GiB of data, and the others use 256 MiB.
ARRAYS = [
    ("smooth", "blosclz", 1024, 1024, 5),
    ("smooth", "lz4", 1024, 1024, 5),
    ("noisy", "blosclz", 1024, 1024, 5),
    ("noisy", "lz4", 1024, 1024, 5),
    ("random", "blosclz", 1024, 1024, 5),
    ("random", "lz4", 1024, 1024, 5),
    ("smooth", "lz4", 256, 1024, 5),
    ("smooth", "lz4", 4096, 1024, 5),
    ("noisy", "blosclz", 256, 256, 5),
    ("noisy", "blosclz", 4096, 256, 5),
    ("noisy", "lz4", 16384, 256, 5),
    ("smooth", "zlib", 1024, 256, 2),
    ("noisy", "zlib", 1024, 256, 2),
    ("smooth", "zstd", 1024, 256, 5),
    ("noisy", "zstd", 4096, 256, 2),
]
FILES = [("smooth", "lz4", 1024, 1024, 5), ("noisy", "blosclz", 1024, 256, 5)]
DECODE = [(codec, typesize, kind) for codec in ("lz4", "blosclz") for typesize in (4, 8) for kind in ("smooth", "noisy")]


def make(directory, size):
    """Creates a file for each kind of data, in parts, so that this takes little memory. lz4 compresses
    them to 17, 31 and 88 % of their size."""
    import numpy as np

    generator = np.random.default_rng(1)
    part = 4 * MIB
    for kind in ("smooth", "noisy", "random"):
        path = directory / f"{kind}.bin"
        if path.exists() and path.stat().st_size == size * MIB:
            continue
        with open(path, "wb") as file:
            for at in range(0, size * MIB // 8, part):
                index = np.arange(at, at + part)
                wave = lambda: 100 * np.sin(index / 1000.0)
                data = {
                    "smooth": lambda: np.round(wave() * 1024) / 1024,
                    "noisy": lambda: np.round((wave() + generator.standard_normal(part)) * 1024) / 1024,
                    "random": lambda: generator.random(part),
                }[kind]()
                file.write(data.tobytes())


# Tasks of the reference and of the C library. Each function prepares a task and returns the function to time.


def load(path, size):
    import numpy as np

    return np.fromfile(path, "<f8", size // 8)


def arguments(codec, chunk_size):
    from bloscpack.args import BloscArgs

    return {"chunk_size": chunk_size, "blosc_args": BloscArgs(typesize=8, clevel=LEVELS[codec], shuffle=True, cname=codec)}


def pack_array(source, target, codec, chunk_size, size):
    import bloscpack

    data = load(source, size)
    return lambda: bloscpack.pack_ndarray_to_file(data, target, **arguments(codec, chunk_size))


def unpack_array(source, *_):
    import bloscpack

    return lambda: bloscpack.unpack_ndarray_from_file(source)


def pack_file(source, target, codec, chunk_size, size):
    import bloscpack

    return lambda: bloscpack.pack_file_to_file(source, target, **arguments(codec, chunk_size))


def unpack_file(source, target, *_):
    import bloscpack

    return lambda: bloscpack.unpack_file_from_file(source, target)


def raw_pack(source, _target, codec, chunk_size, size):
    import blosc

    data = load(source, size)

    def run():
        pointer = data.ctypes.data
        for at in range(0, size, chunk_size):
            items = min(chunk_size, size - at) // 8
            blosc.compress_ptr(pointer + at, items, 8, LEVELS[codec], blosc.SHUFFLE, codec)

    return run


def raw_unpack(source, _target, codec, chunk_size, size):
    import blosc
    import numpy as np

    data = load(source, size)
    pointer = data.ctypes.data
    chunks = [
        blosc.compress_ptr(pointer + at, min(chunk_size, size - at) // 8, 8, LEVELS[codec], blosc.SHUFFLE, codec)
        for at in range(0, size, chunk_size)
    ]
    del data

    def run(result=None):
        result = np.empty(size, "u1") if result is None else result
        address = result.ctypes.data
        for chunk in chunks:
            address += blosc.decompress_ptr(chunk, address)

    return run


def raw_unpack_into(source, target, codec, chunk_size, size):
    import numpy as np

    run, result = raw_unpack(source, target, codec, chunk_size, size), np.ones(size, "u1")
    return lambda: run(result)


def blosc2_pack(source, target, codec, chunk_size, size):
    import blosc2

    data = load(source, size)
    filters = {"filters": [blosc2.Filter.SHUFFLE], "filters_meta": [0]}
    cparams = {"codec": blosc2.Codec[codec.upper()], "clevel": LEVELS[codec], "typesize": 8, "nthreads": 1, **filters}
    return lambda: blosc2.asarray(data, chunks=(chunk_size // 8,), urlpath=target, mode="w", cparams=cparams)


def blosc2_unpack(source, *_):
    import blosc2

    return lambda: blosc2.open(source, dparams={"nthreads": 1})[:]


def decode(source, *_):
    """Decodes a single Blosc buffer into existing memory."""
    import blosc
    import numpy as np

    chunk = pathlib.Path(source).read_bytes()
    nbytes = int.from_bytes(chunk[4:8], "little")
    result = np.zeros(nbytes, "u1")
    return lambda: blosc.decompress_ptr(chunk, result.ctypes.data)


def adler32(source, *_):
    import zlib

    data = pathlib.Path(source).read_bytes()
    return lambda: zlib.adler32(data)


def child(task, source, target, codec, chunk_size, size, repetitions):
    if not task.startswith("blosc2"):
        import blosc

        blosc.set_nthreads(1)
    run = globals()[task](source, target, codec, int(chunk_size), int(size))
    walls, cpus = [], []
    for _ in range(int(repetitions)):
        pathlib.Path(target).unlink(missing_ok=True)
        wall, cpu = time.perf_counter(), time.process_time()
        run()
        walls.append(time.perf_counter() - wall)
        cpus.append(time.process_time() - cpu)
    print(json.dumps({"wall": walls, "cpu": cpus}))


# The driver. It imports nothing large, because a new process inherits the peak memory of its parent.


def measure(command):
    """Runs a command, and returns the JSON that it prints together with its peak memory."""
    process = subprocess.Popen([str(word) for word in command], stdout=subprocess.PIPE, text=True)
    output = process.stdout.read()
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode != 0:
        raise SystemExit(f"{' '.join(map(str, command))} ended with {process.returncode}")
    return json.loads(output) | {"peak": usage.ru_maxrss * 1024}


def targets(directory, room):
    """Returns the folder for output files, which is in memory if there is enough space."""
    memory = pathlib.Path("/dev/shm")
    if not os.access(memory, os.W_OK) or shutil.disk_usage(memory).free < room:
        return directory
    return pathlib.Path(tempfile.mkdtemp(prefix="bloscpack-", dir=memory))


class Bench:
    def __init__(self, directory, ours, speed, peers, quick):
        self.directory, self.ours, self.speed, self.peers, self.quick = directory, ours, speed, peers, quick
        self.targets = targets(directory, 4 * self.size(1024))
        self.missed, self.rows = [], []

    def size(self, mib):
        return (max(mib // 32, 8) if self.quick else mib) * MIB

    def written(self):
        """Returns the paths of the output files: a packed one, two for other results, and the one of blosc2."""
        return [self.targets / name for name in ("packed.blp", "target.blp", "target", "packed.b2nd")]

    def reference(self, task, source, target, codec="lz4", chunk_size=MIB, size=0, repetitions=1):
        return [sys.executable, __file__, "--task", task, source, target, codec, chunk_size, size, repetitions]

    def blosc2(self, *task, **options):
        return [self.peers, *self.reference(*task, **options)[1:]]

    def own(self, task, source, target, codec="lz4", chunk_size=MIB, size=0, threads=1, repetitions=1):
        return [self.ours, task, source, target, codec, LEVELS[codec], chunk_size, size, threads, repetitions]

    def turns(self, commands, rounds):
        """Runs each command `rounds` times, in turns. Returns its shortest wall and CPU times and its largest peak."""
        runs = {key: [] for key in commands}
        for _ in range(1 if self.quick else rounds):
            for key, command in commands.items():
                runs[key].append(measure(command))
        fastest = lambda key, of: min(time for run in runs[key] for time in run[of])
        return {key: (fastest(key, "wall"), fastest(key, "cpu"), max(run["peak"] for run in runs[key])) for key in commands}

    def record(self, work, beside, ratio, floor=None, peak=None):
        """Adds a row to the file of ratios."""
        self.rows.append((work, beside, ratio, floor, peak))

    def floor(self, name, value, floor):
        """Compares a value with its floor, and returns the verdict as text."""
        if floor is None or self.quick:
            return ""
        if value < floor:
            self.missed.append(name)
        return f">= {floor}" + (" MISSED" if value < floor else "")

    def sides(self, name, commands, rounds, floor, scaling):
        """Prints a row: the reference, the C library if it was measured, and our program on one and two threads.
        If unpacking into existing memory was measured, prints a second row for it."""
        result = self.turns(commands, rounds)
        self.row(name, result["reference"], result.get("raw"), result.get("blosc2"), result["ours"], result["two"], floor, scaling)
        if "into" in result:
            self.row(f"{name}, memory reused", None, result["raw into"], None, result["into"], result["into two"], None, scaling)

    def row(self, name, reference, raw, blosc2, ours, two, floor, scaling):
        (wall, cpu, peak), (wall2, _, _) = ours, two
        gain = wall / wall2
        raw_wall, raw_shown = (f"{raw[0]:.3f}", f"{raw[1] / max(cpu, 1e-9):.2f}") if raw else ("", "")
        their_wall, ratios, their_peak, verdicts = "", "", "", []
        if reference:
            ratio, cpu_ratio = reference[0] / wall, reference[1] / max(cpu, 1e-9)
            their_wall, ratios, their_peak = f"{reference[0]:.3f}", f"{ratio:>6.2f}{cpu_ratio:>6.2f}", f"{reference[2] / MIB:.0f}"
            verdicts.append(self.floor(name, min(ratio, cpu_ratio), floor))
            self.record(name, "Python", min(ratio, cpu_ratio), floor, peak / MIB)
        if raw:
            # The C library only copies random data.
            raw_floor = RAW if floor and "random" not in name else None
            raw_ratio = raw[1] / max(cpu, 1e-9)
            self.record(name, "C library, CPU", raw_ratio, raw_floor)
            verdicts.append(f"raw {verdict}" if (verdict := self.floor(f"{name} raw", raw_ratio, raw_floor)) else "")
        blosc2_shown = ""
        if blosc2:
            ratio, blosc2_floor = blosc2[0] / wall, BLOSC2 if floor else None
            self.record(name, "blosc2", ratio, blosc2_floor)
            blosc2_shown = f"{ratio:.2f}"
            verdicts.append(f"blosc2 {verdict}" if (verdict := self.floor(f"{name} blosc2", ratio, blosc2_floor)) else "")
        self.record(name, "ours on one thread", gain, scaling)
        if second := self.floor(f"{name} x2", gain, scaling):
            verdicts.append(f"x2 {second}")
        print(
            f"{name:<48}{their_wall:>8}{raw_wall:>8}{wall:>8.3f}{wall2:>8.3f}  {ratios:>12}{gain:>6.2f}{raw_shown:>6}{blosc2_shown:>8}"
            f"  {their_peak:>7}{peak / MIB:>7.0f}  {', '.join(filter(None, verdicts))}",
            flush=True,
        )

    def heading(self, text):
        print(f"\n{text}\n{'':<48}{'python':>8}{'raw':>8}{'ours':>8}{'ours x2':>8}  {'wall':>6}{'cpu':>6}{'x2':>6}{'raw':>6}{'blosc2':>8}  {'peak py':>7}{'ours':>7}  floor")

    def arrays(self):
        self.heading("arrays: from memory to a file, and from a file to memory with its digests checked")
        for kind, codec, kib, mib, rounds in ARRAYS:
            source, (packed, target, _, packed2) = self.directory / f"{kind}.bin", self.written()
            name = f"{kind} {codec} {kib} KiB {self.size(mib) // MIB} MiB"
            floors = codec in ("blosclz", "lz4")
            common = {"codec": codec, "chunk_size": kib << 10, "size": self.size(mib)}
            self.sides(f"pack {name}", {
                "reference": self.reference("pack_array", source, packed, **common),
                "raw": self.reference("raw_pack", source, target, **common),
                "blosc2": self.blosc2("blosc2_pack", source, packed2, **common),
                "ours": self.own("pack_array", source, target, **common),
                "two": self.own("pack_array", source, target, **common, threads=2),
            }, rounds, PACK if floors else None, SCALING if floors else None)
            self.sides(f"unpack {name}", {
                "reference": self.reference("unpack_array", packed, target, **common),
                "raw": self.reference("raw_unpack", source, target, **common),
                "blosc2": self.blosc2("blosc2_unpack", packed2, target, **common),
                "ours": self.own("unpack_array", packed, target, **common),
                "two": self.own("unpack_array", packed, target, **common, threads=2),
                "raw into": self.reference("raw_unpack_into", source, target, **common),
                "into": self.own("unpack_array_into", packed, target, **common),
                "into two": self.own("unpack_array_into", packed, target, **common, threads=2),
            }, rounds, UNPACK if floors else None, SCALING if floors else None)

    def files(self):
        self.heading("from file to file")
        for kind, codec, kib, mib, rounds in FILES:
            source, (packed, ours, target, _) = self.plain(kind, mib), self.written()
            common = {"codec": codec, "chunk_size": kib << 10, "size": self.size(mib)}
            for task, source, goal in (("pack_file", source, packed), ("unpack_file", packed, target)):
                self.sides(f"{task.replace('_', ' ')} {kind} {codec} {kib} KiB {self.size(mib) // MIB} MiB", {
                    "reference": self.reference(task, source, goal, **common),
                    "ours": self.own(task, source, ours, **common),
                    "two": self.own(task, source, ours, **common, threads=2),
                }, rounds, None, None)

    def plain(self, kind, mib):
        """Returns a file with the first `mib` MiB of a kind of data."""
        whole = self.directory / f"{kind}.bin"
        if whole.stat().st_size == self.size(mib):
            return whole
        path = self.directory / f"{kind}_{mib}.bin"
        with open(whole, "rb") as source, open(path, "wb") as file:
            for _ in range(self.size(mib) // MIB):
                file.write(source.read(MIB))
        return path

    def decoding(self):
        """Compares our decoder with that of the C library."""
        print(f"\ndecoding one buffer of 1 MiB to existing memory, one thread\n{'':<48}{'C GB/s':>8}{'ours':>8}  {'ratio':>6}  floor")
        for codec, typesize, kind in DECODE:
            path = self.directory / f"buffer_{codec}_{typesize}_{kind}"
            subprocess.run([sys.executable, __file__, "--buffer", self.directory / f"{kind}.bin", path, codec, str(typesize)], check=True)
            repetitions = 50 if self.quick else 1000
            c = self.reference("decode", path, self.directory / "target", repetitions=repetitions)
            fastest = {"c": float("inf"), "ours": float("inf")}
            for _ in range(5):
                fastest["c"] = min(fastest["c"], *measure(c)["wall"])
                fastest["ours"] = min(fastest["ours"], measure([self.speed, path, repetitions])["best_seconds"])
            speed = lambda side: MIB / fastest[side] / 1e9
            name = f"decode {codec} typesize {typesize} {kind}"
            ratio = speed("ours") / speed("c")
            self.record(name, "C library", ratio, 0.8)
            print(f"{name:<48}{speed('c'):>8.2f}{speed('ours'):>8.2f}  {ratio:>6.2f}  {self.floor(name, ratio, 0.8)}", flush=True)

    def random_access(self):
        print(f"\n1 MiB at random from a file, opening it included, and unpacking it whole (ms)\n{'':<48}{'python':>10}{'ours':>10}{'1 MiB':>10}  {'ratio':>6}  floor")
        packed, _, target, _ = self.written()
        for codec in ("lz4", "blosclz"):
            common = {"codec": codec, "size": self.size(1024)}
            measure(self.reference("pack_array", self.directory / "noisy.bin", packed, **common))
            result = self.turns({
                "reference": self.reference("unpack_array", packed, target, **common),
                "ours": self.own("unpack_array", packed, target, **common),
                "read": self.own("read_1_mib", packed, target, **common, repetitions=200),
            }, 3)
            name = f"read 1 of {self.size(1024) // MIB} MiB {codec}"
            ratio = result["ours"][0] / result["read"][0]
            times = "".join(f"{result[side][0] * 1e3:>10.3f}" for side in ("reference", "ours", "read"))
            print(f"{name:<48}{times}  {ratio:>6.0f}  {self.floor(name, ratio, 20)}", flush=True)

    def memory(self):
        print(f"\npeak memory from file to file, two threads, chunks of 1 MiB (MiB)\n{'':<48}{'256 MiB':>8}{'1 GiB':>8}  bound")
        packed, _, target, _ = self.written()
        for task in ("pack_file", "unpack_file"):
            peaks = []
            for mib in (256, 1024):
                common = {"codec": "lz4", "size": self.size(mib), "threads": 2}
                source = self.plain("noisy", mib)
                if task != "pack_file":
                    measure(self.own("pack_file", source, packed, **common))
                    source = packed
                peaks.append(measure(self.own(task, source, target, **common))["peak"] / MIB)
            bound = 64 + 3 * 2
            name = f"peak of {task.replace('_', ' ')}"
            if max(peaks) > bound:
                self.missed.append(name)
            print(f"{name:<48}{peaks[0]:>8.1f}{peaks[1]:>8.1f}  <= {bound}{' MISSED' if max(peaks) > bound else ''}", flush=True)

    def verifying(self):
        print(f"\nverifying the digests of a file, against zlib's digest of as many bytes in memory (GB/s of stored bytes, one thread)\n{'':<48}{'zlib':>8}{'simd':>8}{'verify':>8}  {'ratio':>6}  floor")
        packed, _, target, _ = self.written()
        common = {"codec": "lz4", "size": self.size(1024)}
        measure(self.reference("pack_array", self.directory / "noisy.bin", packed, **common))
        result = self.turns({
            "zlib": self.reference("adler32", packed, target),
            "simd": self.own("adler32", packed, target),
            "verify": self.own("verify", packed, target),
        }, 5)
        stored = packed.stat().st_size
        speed = {side: stored / result[side][0] / 1e9 for side in result}
        ratio = speed["verify"] / speed["zlib"]
        self.record("verify", "zlib's digest in memory", ratio, 1)
        print(f"{'verify':<48}{speed['zlib']:>8.2f}{speed['simd']:>8.2f}{speed['verify']:>8.2f}  {ratio:>6.2f}  {self.floor('verify', ratio, 1)}", flush=True)


def buffer(source, target, codec, typesize):
    """Writes a Blosc buffer with 1 MiB of data for the decoders."""
    import blosc

    blosc.set_nthreads(1)
    with open(source, "rb") as file:
        data = file.read(MIB)
    if typesize == "4":
        import numpy as np

        data = np.frombuffer(data + data, "<f8").astype("<f4").tobytes()
    pathlib.Path(target).write_bytes(blosc.compress(data, int(typesize), LEVELS[codec], blosc.SHUFFLE, codec))


def save(rows, path):
    """Writes the ratios for `cargo xtask bench`, one row per line: work, peer, ratio, floor and our peak memory in MiB."""
    text = lambda value: "" if value is None else str(value)
    path.write_text("".join("\t".join(map(text, row)) + "\n" for row in rows))


def main(directory, ours, speed, peers, quick):
    directory = pathlib.Path(directory) / ("quick" if quick else "full")
    directory.mkdir(parents=True, exist_ok=True)
    begin = time.perf_counter()
    bench = Bench(directory, ours, speed, peers, quick)
    subprocess.run([sys.executable, __file__, "--make", directory, str(bench.size(1024) // MIB)], check=True)
    for section in (bench.arrays, bench.files, bench.decoding, bench.random_access, bench.memory, bench.verifying):
        section()
    for path in bench.written():
        path.unlink(missing_ok=True)
    if bench.targets != directory:
        bench.targets.rmdir()
    save(bench.rows, directory / "ratios.tsv")
    verdict = "no floors are judged on small files" if quick else f"floors missed: {', '.join(bench.missed) or 'none'}"
    print(f"\n{time.perf_counter() - begin:.0f} s; {verdict}")


if __name__ == "__main__":
    match sys.argv[1]:
        case "--task":
            child(*sys.argv[2:])
        case "--make":
            make(pathlib.Path(sys.argv[2]), int(sys.argv[3]))
        case "--buffer":
            buffer(*sys.argv[2:])
        case _:
            main(*sys.argv[1:5], "--quick" in sys.argv[5:])
