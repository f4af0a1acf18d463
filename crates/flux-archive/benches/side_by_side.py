"""Compares our program with tar and with Python's json, base64 and hashlib on the same files, in a single run,
and prints ratios:

    side_by_side.py DIRECTORY OURS [--quick]

DIRECTORY contains the data, which is created by the first run. Output is written to memory if there is enough
space, so that the disk is not measured. OURS is the program `flux_tasks`. Every measurement runs a process of its
own, and except for hashing, the time includes starting and ending it. The programs take turns, so that a machine
that slows down affects all of them. Times are medians in seconds. `x1` is our program on one thread, and `x2` on
two threads.

`tar` is our time on two threads divided by the time of tar, so below 1 we are faster. `python` is the time of
Python divided by ours, so above 1 we are faster. Python writes and reads the same archives, and verifies digests
as we do.

Memory is the peak resident set size.
"""

import base64
import hashlib
import io
import json
import math
import os
import pathlib
import random
import shutil
import statistics
import subprocess
import sys
import tarfile
import tempfile
import time

MIB = 1 << 20
# The floors: the maximum times of creation, of extraction and of listing relative to tar, the minimum speed of creation
# relative to hashing alone, the minimum speed-up from a second thread, and the maximum memory in MiB, plus one blob per
# thread.
CREATE, EXTRACT, LIST, HASH, SCALING, MEMORY = 1.1, 1.2, 1, 0.9, 1.5, 32
# A description of each tree. Files that are not text contain incompressible bytes.
TREES = {
    "small": "3000 files of 14 MiB in all, a third text",
    "medium": "200 files of 1 MiB, a third text",
    "large": "512 MiB of bytes in one file",
    "text": "256 MiB of lines in one file",
}


def line(number):
    return f"{number:>9} {number * number % 9973:>5} \"é\"\tvalue {number / 7:.6f}\n"


def content(generator, size, text):
    if not text:
        return generator.randbytes(size)
    first = generator.randrange(10**6)
    lines = "".join(line(first + n) for n in range(size // 30 + 1)).encode()
    return lines[:size].decode(errors="ignore").encode()


def make(directory, quick):
    """Creates the trees that do not exist yet, always with the same random content."""
    directory, quick = pathlib.Path(directory), quick == "quick"
    generator = random.Random(1)
    small = 300 if quick else 3000
    medium = 20 if quick else 200
    large = 16 if quick else 512
    text = 8 if quick else 256
    for name in TREES:
        tree = directory / name
        if (directory / f"{name}.done").exists():
            continue
        shutil.rmtree(tree, ignore_errors=True)
        tree.mkdir(parents=True)
        if name == "small":
            for n in range(small):
                folder = tree / f"d{n % 30:02}"
                folder.mkdir(exist_ok=True)
                (folder / f"f{n:04}").write_bytes(content(generator, generator.randrange(1, 9600), n % 3 == 0))
        elif name == "medium":
            for n in range(medium):
                (tree / f"f{n:03}").write_bytes(content(generator, MIB, n % 3 == 0))
        else:
            part = content(generator, 8 * MIB, name == "text")
            with open(tree / "file", "wb") as file:
                for _ in range((large if name == "large" else text) // 8):
                    file.write(part)
                    if name == "large":
                        part = generator.randbytes(8 * MIB)
        (directory / f"{name}.done").touch()


def make_large(path, size):
    """Creates a file for measuring peak memory, in which no two blobs are equal."""
    part = random.Random(2).randbytes(MIB)
    with open(path, "wb") as file:
        for n in range(int(size) // MIB):
            file.write(n.to_bytes(8, "little"))
            file.write(part[8:])


def make_many(archive, tar, number):
    """Creates an archive with many short text files, and a tar file with the same files."""
    with open(archive, "w") as file, tarfile.open(tar, "w", format=tarfile.GNU_FORMAT) as out:
        separator = "["
        for n in range(int(number)):
            path, text = f"run{n // 100:04}/file{n:06}.txt", f"line {n}\nvalue {n * n}\n"
            entry = {"path": path, "encoding": "utf-8", "data": text, "size": len(text), "mtime": n, "ctime": n, "mode": 0o100644}
            file.write(separator + json.dumps(entry, separators=(",", ":")))
            separator = ","
            info = tarfile.TarInfo(path)
            info.size, info.mtime = len(text), n
            out.addfile(info, io.BytesIO(text.encode()))
        file.write("]")


# The reference: the same work as flux does in C, written in Python.


def python_create(source, target, store):
    entries = []
    source = pathlib.Path(source)
    for path in sorted(source.rglob("*")):
        stat = path.lstat()
        entry = {"path": str(path.relative_to(source))}
        if path.is_file():
            data = path.read_bytes()
            if store != "-" and len(data) > 1024:
                regions = []
                for offset in range(0, len(data), MIB):
                    blob = data[offset : offset + MIB]
                    name = f"sha1-{hashlib.sha1(blob).hexdigest()}"
                    (pathlib.Path(store) / name).write_bytes(blob)
                    regions.append([offset, len(blob), name])
                entry |= {"encoding": "blobvec", "data": regions}
            elif data:
                try:
                    entry |= {"encoding": "utf-8", "data": data.decode()}
                except UnicodeDecodeError:
                    entry |= {"encoding": "base64", "data": base64.b64encode(data).decode()}
            entry["size"] = stat.st_size
        entry |= {"mtime": int(stat.st_mtime), "ctime": int(stat.st_ctime), "mode": stat.st_mode}
        entries.append(entry)
    with open(target, "w") as file:
        json.dump(entries, file, ensure_ascii=False, separators=(",", ":"))


def python_parse(source):
    with open(source) as file:
        json.load(file)


def python_extract(source, target, store):
    with open(source) as file:
        entries = json.load(file)
    for entry in entries:
        path = pathlib.Path(target) / entry["path"]
        path.parent.mkdir(parents=True, exist_ok=True)
        if entry["mode"] & 0o170000 == 0o040000:
            path.mkdir(exist_ok=True)
            continue
        with open(path, "wb") as file:
            encoding = entry.get("encoding")
            if encoding == "utf-8":
                file.write(entry["data"].encode())
            elif encoding == "base64":
                file.write(base64.b64decode(entry["data"]))
            elif encoding == "blobvec":
                for offset, size, name in entry["data"]:
                    blob = (pathlib.Path(store) / name).read_bytes()
                    if len(blob) != size or f"sha1-{hashlib.sha1(blob).hexdigest()}" != name:
                        raise SystemExit(f"{name} is damaged")
                    file.seek(offset)
                    file.write(blob)
        os.chmod(path, entry["mode"] & 0o777)
        os.utime(path, (entry["mtime"], entry["mtime"]))


# The driver. It keeps nothing large in memory, because a process inherits the peak memory of its parent.


def task(*words):
    return [sys.executable, __file__, "--task", *words]


def measure(command, threads=2):
    """Runs a command, and returns its wall-clock and CPU time in seconds, its peak memory, and the JSON that it
    prints."""
    environment = os.environ | {"RAYON_NUM_THREADS": str(threads)}
    begin = time.perf_counter()
    process = subprocess.Popen([str(word) for word in command], stdout=subprocess.PIPE, text=True, env=environment)
    output = process.stdout.read()
    _, status, usage = os.wait4(process.pid, 0)
    wall = time.perf_counter() - begin
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode != 0:
        raise SystemExit(f"{' '.join(map(str, command))} gave {process.returncode}")
    own = json.loads(output) if output else {}
    return {"wall": wall, "cpu": usage.ru_utime + usage.ru_stime, "peak": usage.ru_maxrss * 1024, "own": own}


def room(directory, size):
    """Creates a temporary directory, in memory if `size` bytes are free there, or else in `directory`."""
    memory = pathlib.Path("/dev/shm")
    if not os.access(memory, os.W_OK) or shutil.disk_usage(memory).free < size:
        memory = directory
    return pathlib.Path(tempfile.mkdtemp(prefix="flux-archive-", dir=memory))


class Bench:
    def __init__(self, directory, ours, quick):
        self.directory, self.ours, self.quick = directory, ours, quick
        self.targets = room(directory, 4 << 30)
        self.missed, self.rows, self.tree = [], [], ""

    def fresh(self, name):
        """Returns the path of an empty directory to write to."""
        path = self.targets / name
        shutil.rmtree(path, ignore_errors=True)
        path.mkdir()
        return path

    def turns(self, sides, rounds):
        """Runs each side `rounds` times, taking turns, and returns the medians. A side is a function that prepares
        a run, and returns the command and the number of threads."""
        runs = {side: [] for side in sides}
        for _ in range(1 if self.quick else rounds):
            for side, prepare in sides.items():
                runs[side].append(measure(*prepare()))
        middle = lambda side, key: statistics.median(run[key] for run in runs[side])
        return {side: {key: middle(side, key) for key in ("wall", "cpu", "peak")} for side in sides}

    def verdict(self, name, text, held):
        if self.quick:
            return ""
        if not held:
            self.missed.append(name)
        return f"{text}{'' if held else ' MISSED'}"

    def row(self, name, result, limit=None):
        wall = lambda side: result[side]["wall"] if side in result else float("nan")
        tar, python = wall("two") / wall("tar"), wall("python") / wall("two")
        verdict = self.verdict(name, f"tar <= {limit}", tar <= limit) if limit else ""
        peak = result["two"]["peak"] / MIB
        for side, ratio in ("tar", 1 / tar), ("Python", python):
            if not math.isnan(ratio):
                floor = 1 / limit if limit and side == "tar" else None
                self.rows.append((f"{self.tree}: {name}", side, ratio, floor, peak))
        print(
            f"{name:<28}{wall('tar'):>8.3f}{wall('python'):>8.3f}{wall('one'):>8.3f}{wall('two'):>8.3f}"
            f"  {tar:>6.2f}{python:>8.1f}  {result['two']['cpu']:>7.3f}{result['two']['peak'] / MIB:>8.0f}  {verdict}",
            flush=True,
        )

    def heading(self, text):
        print(f"\n{text}\n{'':<28}{'tar':>8}{'python':>8}{'x1':>8}{'x2':>8}  {'tar':>6}{'python':>8}  {'cpu x2':>7}{'MiB x2':>8}  floor")

    def trees(self):
        for name, about in TREES.items():
            tree, self.tree = self.directory / name, name
            rounds = 7 if name == "small" else 3
            archive, tar, store = self.targets / "a.json", self.targets / "a.tar", self.targets / "blobs"
            own = lambda *words: [self.ours, *words]
            self.heading(f"{name}: {about}")
            self.row("create, all inside", self.turns({
                "tar": lambda: (["tar", "-cf", tar, "-C", tree, "."],),
                "python": lambda: (task("create", tree, archive, "-"),),
                "one": lambda: (own("create", tree, archive, "-"), 1),
                "two": lambda: (own("create", tree, archive, "-"),),
            }, rounds), CREATE)
            self.row("extract, all inside", self.turns({
                "tar": lambda: (["tar", "-xf", tar, "-C", self.fresh("out")],),
                "python": lambda: (task("extract", archive, self.fresh("out"), "-"),),
                "one": lambda: (own("extract", archive, self.fresh("out"), "-"), 1),
                "two": lambda: (own("extract", archive, self.fresh("out"), "-"),),
            }, rounds), EXTRACT)
            self.fresh("out")
            self.row("create, blobs", self.turns({
                "python": lambda: (task("create", tree, archive, self.fresh("blobs")),),
                "one": lambda: (own("create", tree, archive, self.fresh("blobs")), 1),
                "two": lambda: (own("create", tree, archive, self.fresh("blobs")),),
            }, rounds))
            self.row("extract, blobs verified", self.turns({
                "tar": lambda: (["tar", "-xf", tar, "-C", self.fresh("out")],),
                "python": lambda: (task("extract", archive, self.fresh("out"), store),),
                "one": lambda: (own("extract", archive, self.fresh("out"), store), 1),
                "two": lambda: (own("extract", archive, self.fresh("out"), store),),
            }, rounds))
            self.fresh("out"), self.fresh("blobs")
            for path in (archive, tar):
                path.unlink()

    def metadata(self):
        """Compares listing an archive of many small files with listing a tar file, and checking the archive with
        loading it in Python."""
        number, self.tree = 1000 if self.quick else 100_000, "many"
        archive, tar = self.targets / "many.json", self.targets / "many.tar"
        measure(task("make_many", archive, tar, number))
        self.heading(f"metadata: {number} files of 30 bytes")
        for what in ("list", "parse"):
            sides = {
                "tar": lambda: (["tar", "-tf", tar, "--index-file=/dev/null"],),
                "python": lambda: (task("parse", archive),),
                "one": lambda: ([self.ours, what, archive, "-", "-"], 1),
                "two": lambda: ([self.ours, what, archive, "-", "-"],),
            }
            if what == "parse":
                del sides["tar"]
            self.row(what, self.turns(sides, 7), LIST if what == "list" else None)
        archive.unlink(), tar.unlink()

    def hashing(self):
        """Compares creating an archive without storing blobs to only hashing the same bytes, in memory and in files.
        The floor applies to hashing files, because creating an archive has to read the files as well."""
        print(f"\nhashing by sha1, MiB/s, the fastest of several\n{'':<28}{'memory':>8}{'files':>8}{'x1':>8}{'x2':>8}  {'part':>6}{'gain':>8}  floor")
        for name in ("large", "medium"):
            tree = self.directory / name
            size = sum(path.stat().st_size for path in tree.iterdir()) / MIB
            sides = {"memory": ("sha1", 1), "files": ("read_sha1", 1), "one": ("hash", 1), "two": ("hash", 2)}
            fastest = {side: float("inf") for side in sides}
            for _ in range(1 if self.quick else 5):
                for side, (what, threads) in sides.items():
                    own = measure([self.ours, what, tree, "-", "-"], threads)["own"]
                    fastest[side] = min(fastest[side], own["wall"])
            part, gain = fastest["files"] / fastest["one"], fastest["one"] / fastest["two"]
            verdicts = self.verdict(f"hash {name}", f"part >= {HASH}", part >= HASH), self.verdict(f"hash {name} x2", f"gain > {SCALING}", gain > SCALING)
            speeds = "".join(f"{size / fastest[side]:>8.0f}" for side in fastest)
            print(f"{name:<28}{speeds}  {part:>6.2f}{gain:>8.2f}  {', '.join(filter(None, verdicts))}", flush=True)

    def memory(self):
        """Measures peak memory with a file of 4 GiB on disk. In total, this needs 12 GiB of disk space."""
        size = (64 if self.quick else 4096) * MIB
        work = self.directory / "memory"
        shutil.rmtree(work, ignore_errors=True)
        (work / "tree").mkdir(parents=True)
        measure(task("make_large", work / "tree" / "file", size))
        print(f"\npeak memory with a file of {size // MIB} MiB, two threads (MiB)\n{'':<28}{'peak':>8}  floor")
        for name, store, bound in (("all inside", "-", MEMORY), ("blobs", work / "blobs", MEMORY + 2)):
            archive = work / "a.json"
            for what, words in (("create", (work / "tree", archive)), ("extract", (archive, work / "out"))):
                if what == "extract":
                    (work / "out").mkdir()
                peak = measure([self.ours, what, *words, store])["peak"] / MIB
                label = f"{what}, {name}"
                print(f"{label:<28}{peak:>8.1f}  {self.verdict(label, f'<= {bound}', peak <= bound)}", flush=True)
            shutil.rmtree(work / "out")
        shutil.rmtree(work)


def save(rows, path):
    """Writes the ratios for `cargo xtask bench`, one row per line: work, peer, ratio, floor and our peak memory in MiB."""
    text = lambda value: "" if value is None else str(value)
    path.write_text("".join("\t".join(map(text, row)) + "\n" for row in rows))


def main(directory, ours, quick):
    directory = pathlib.Path(directory) / ("quick" if quick else "full")
    directory.mkdir(parents=True, exist_ok=True)
    measure(task("make", directory, "quick" if quick else "full"))
    bench = Bench(directory, ours, quick)
    try:
        bench.trees()
        bench.metadata()
        bench.hashing()
        bench.memory()
    finally:
        shutil.rmtree(bench.targets, ignore_errors=True)
    save(bench.rows, directory / "ratios.tsv")
    print("\nfloors missed: " + (", ".join(bench.missed) if bench.missed else "none"))


if __name__ == "__main__":
    if sys.argv[1] == "--task":
        tasks = {
            "make": make,
            "make_large": make_large,
            "make_many": make_many,
            "create": python_create,
            "extract": python_extract,
            "parse": python_parse,
        }
        tasks[sys.argv[2]](*sys.argv[3:])
    else:
        main(sys.argv[1], sys.argv[2], "--quick" in sys.argv[3:])
