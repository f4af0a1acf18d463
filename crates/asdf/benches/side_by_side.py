"""Times our ASDF reader and writer, the Python reference, and asdf-rs, the fastest other reader for Rust, on the same
files in a single run, and prints the ratios of the times.

    side_by_side.py DIRECTORY OURS PEER [--quick]

DIRECTORY contains the files, which are created on first use. OURS is the program `bench_tasks`, and PEER is the
program in `benches/peer`. Each measurement is a separate process that repeats a task. The programs take turns, so
that a machine that slows down affects all of them. The column "ours" is our program with one thread, and "ours x2"
with two. Ratios compare one thread, except for views and for writing uncompressed blocks: in these tasks, the other
programs are compared with ours on two cores. The time of a program is that of its fastest repetition, in
milliseconds, because other load on the machine can only slow a repetition down. A ratio above 1 means that ours is
faster. All programs read into new memory, which they touch before each repetition, and copy no more than necessary. Only
the tasks with `verify` or `checked` in their names verify blocks. In the `checked` tasks, our program verifies the
blocks that it reads, and the reference verifies only those of 1 GiB. The peak memory is the largest resident set of
the process.

Some rows also compare ours on two cores with a lower bound: reading the file with numpy, or computing the MD5 of the
block in memory.

Further tables list the time for each node, block or inline number, by their number, to show that it hardly grows.
"""

import hashlib
import json
import math
import os
import pathlib
import shutil
import statistics
import subprocess
import sys
import time
import typing

ROUNDS = 3
# Minimum number of seconds for which a task is repeated before it is timed, as in our programs.
WARM_UP = 0.1


class Task(typing.NamedTuple):
    file: str
    repetitions: int  # per process
    python: float | None = None  # minimum ratio of the times of Python and ours; None: no minimum
    peer: float | None = None  # minimum ratio for asdf-rs; NaN: no minimum; None: asdf-rs is not run
    milliseconds: float | None = None  # maximum time of our program


SHOWN = math.nan

TASKS = {
    "open_1000_blocks": Task("blocks.asdf", 15, 15, 3, 1),
    "open_1000_blocks_no_index": Task("blocks_no_index.asdf", 15, 15, 3),
    "arrays_1000": Task("blocks.asdf", 15, 15, 1.8),
    "open_100000_blocks_no_index": Task("tiny_blocks.asdf", 5, None, 1),
    "read_block": Task("blocks.asdf", 15, None, SHOWN),
    "read_1000_blocks": Task("blocks.asdf", 15, 15, 1.5),
    "tree_10000_nodes": Task("tree.asdf", 15, 10, 3, 2),
    "inline_100000_floats": Task("inline.asdf", 5, None, 3, 10),
    "open_1gib_index": Task("big.asdf", 5, None, SHOWN),
    "open_1gib_no_index": Task("big_no_index.asdf", 1, 100, SHOWN),
    "read_1gib": Task("big.asdf", 1, None, SHOWN),
    "checked_read_1gib": Task("big.asdf", 1, 1),
    "verify_1gib": Task("big.asdf", 1, 1),
    "verify_1gib_16_blocks": Task("big_16.asdf", 1, 1),
    "zlib_smooth": Task("zlib_smooth.asdf", 3, 1.7),
    "zlib_noisy": Task("zlib_noisy.asdf", 3, 1.7),
    "bzp2_smooth": Task("bzp2_smooth.asdf", 1, 1),
    "bzp2_noisy": Task("bzp2_noisy.asdf", 1, 1),
    "lz4_smooth": Task("lz4_smooth.asdf", 3, 2.9),
    "lz4_noisy": Task("lz4_noisy.asdf", 3, 2.9),
    "checked_zlib_smooth": Task("zlib_smooth.asdf", 3, 1.2),
    "checked_zlib_noisy": Task("zlib_noisy.asdf", 3, 1.2),
    "checked_lz4_smooth": Task("lz4_smooth.asdf", 3, 1),
    "checked_lz4_noisy": Task("lz4_noisy.asdf", 3, 1),
    "many_zlib_blocks": Task("many_zlib.asdf", 3, 1.4),
    "strided_step": Task("views.asdf", 15, 1),
    "strided_transposed": Task("views.asdf", 15, 1),
    "strided_reversed": Task("views.asdf", 15, 1),
    "strided_big_endian": Task("views.asdf", 15, 1),
    "complex_big_endian": Task("views.asdf", 15, 1),
    "complex_step": Task("views.asdf", 15, 1),
}

# Numbers of nodes of the trees in memory, and the limits for the largest two trees: the number of bytes per node, and
# the time per node as a multiple of the time per node in the smallest tree.
NODES = [10**4, 10**5, 10**6, 10**7]
NODE_BYTES = 80
NODE_SLOWDOWN = 2

# Tasks that read an array of views.asdf, with the key of the array.
VIEWS = {
    "strided_step": "step", "strided_transposed": "transposed", "strided_reversed": "reversed",
    "strided_big_endian": "big_step", "complex_big_endian": "complex_big", "complex_step": "complex_step",
}

# Tasks that write the content of a file, whose arrays are in memory. No program waits for the disk. A single block of
# 1 GiB has no minimum ratio to the reference, because its MD5, which cannot be computed on two cores, takes nearly all
# of the time.
WRITING = {
    "write_1gib": Task("big.asdf", 3, None, 2),
    "write_1gib_16_blocks": Task("big_16.asdf", 3, 1.5, 2),
    "write_1000_blocks": Task("blocks.asdf", 5, 20, SHOWN),
    "write_tree_10000_nodes": Task("tree.asdf", 5, 20, SHOWN),
    "write_zlib_smooth": Task("zlib_smooth.asdf", 1, 1.7, SHOWN),
    "write_zlib_noisy": Task("zlib_noisy.asdf", 1, 1.7, SHOWN),
    "write_bzp2_smooth": Task("bzp2_smooth.asdf", 1, None, SHOWN),
    "write_lz4_smooth": Task("lz4_smooth.asdf", 1, None, SHOWN),
}
TASKS |= WRITING
# Tasks that change a number, or a long text in a large tree with enough padding, in place. Each program waits for the
# disk as it does by default.
TASKS["edit_number_1gib"] = Task("edit.asdf", 3, None, None, 10)
TASKS["edit_tree_1gib"] = Task("edit_tree.asdf", 3, None, None, 10)

# The alternating values of the text in a large tree. More than a page differs between them.
LONG_TEXTS = ["short " * 700, "much longer " * 800]

# Tasks whose ratios are for our program with two threads.
ON_TWO_CORES = [*VIEWS, "write_1gib", "write_1gib_16_blocks", "write_1000_blocks"]

# The lower bound of a task, and the minimum ratio of its time and ours.
BOUNDS = {
    "read_1gib": ("numpy_read", 0.85),
    "checked_read_1gib": ("md5", 0.85),
    "verify_1gib": ("md5", 0.85),
}
BOUND_NAMES = {"numpy_read": "numpy, reading the file", "md5": "MD5 of the block in memory"}

# Tasks whose time must grow hardly faster than the number of items, with these numbers. The exponent of the growth
# over the last two powers of ten is at most 1.1, so the time per item grows to at most 1.58 times its value.
GROWTH = {
    "inline_100000_floats": ("inline numbers", [10**5, 10**6, 10**7]),
    "open_100000_blocks_no_index": ("blocks without an index", [10**4, 10**5, 10**6]),
}
GROWTH_FLOOR = 100**-0.1

# Tasks that a second thread must make faster. The files to write have a single block.
SCALING = ["bzp2_smooth", "bzp2_noisy", "many_zlib_blocks", "write_zlib_smooth", "write_zlib_noisy", "write_bzp2_smooth"]


HEAD = b"#ASDF 1.0.0\n#ASDF_STANDARD 1.6.0\n%YAML 1.1\n%TAG ! tag:stsci.edu:asdf/\n--- !core/asdf-1.1.0"


def tiny_blocks(count):
    """Returns a file with blocks of 80 bytes and no index."""
    block = b"\xd3BLK\0\x30" + bytes(8) + (80).to_bytes(8, "big") * 3 + bytes(16) + bytes(80)
    return HEAD + b" {}\n...\n" + block * count


def inline_numbers(count):
    """Returns a file with an inline array."""
    import numpy as np

    numbers = np.random.default_rng(1).uniform(1, 10, count)
    text = ", ".join(map(repr, numbers.tolist()))
    return HEAD + f"\ndata: !core/ndarray-1.1.0\n  data: [{text}]\n  datatype: float64\n  shape: [{count}]\n...\n".encode()


GROWING = {"inline_100000_floats": inline_numbers, "open_100000_blocks_no_index": tiny_blocks}


def growing(task, count):
    return f"{task}_{count}.asdf"


def make(directory, quick):
    import asdf
    import numpy as np

    random = np.random.default_rng(1)
    scale = 16 if quick else 1
    gib = (1 << 30) // scale

    def write(name, tree, **options):
        path = directory / name
        if not path.exists():
            asdf.AsdfFile(tree()).write_to(path, **options)

    def without_index(name, source):
        path, data = directory / name, directory / source
        if not path.exists():
            subprocess.run(["cp", data, path], check=True)
            with open(path, "r+b") as file:
                file.seek(-65536, os.SEEK_END)
                tail = file.read()
                file.seek(-65536 + tail.rindex(b"#ASDF BLOCK INDEX"), os.SEEK_END)
                file.truncate()

    def with_room(name, source):
        """Copies a file with padding after its tree, and without the index, whose offsets would be wrong."""
        path = directory / name
        with open(directory / source, "rb") as old, open(path, "wb") as new:
            head = old.read(1 << 20)
            first = head.index(b"\xd3BLK")
            new.write(head[:first] + b" " * (64 << 10) + b"\n")
            old.seek(first)
            shutil.copyfileobj(old, new, 16 << 20)
        with open(path, "r+b") as file:
            file.seek(-65536, os.SEEK_END)
            index = file.read().rindex(b"#ASDF BLOCK INDEX")
            file.seek(-65536 + index, os.SEEK_END)
            file.truncate()
        (directory / source).unlink()

    def smooth(bytes):
        return np.cumsum(np.sin(np.arange(bytes // 8) / 1000.0)).round(3)

    def noisy(bytes):
        return random.normal(1000, 30, bytes // 2).astype("<i2")

    tree = lambda: {f"group_{g:03}": {f"key_{k:02}": [g, k / 7, f"text {k}"] for k in range(25)} for g in range(100)}
    write("blocks.asdf", lambda: {f"array_{n:04}": np.arange(1000.0) + n for n in range(1000)})
    without_index("blocks_no_index.asdf", "blocks.asdf")
    if not (directory / "tiny_blocks.asdf").exists():
        (directory / "tiny_blocks.asdf").write_bytes(tiny_blocks(100_000 // scale))
    for task, (_, counts) in GROWTH.items():
        for count in counts:
            path = directory / growing(task, count // scale)
            if not path.exists():
                path.write_bytes(GROWING[task](count // scale))
    write("tree.asdf", tree)
    write("inline.asdf", lambda: {"data": random.normal(0, 1, 100_000)}, all_array_storage="inline")
    write("edit.asdf", lambda: {"gain": 1, "data": np.arange(gib // 8, dtype="<f8")})
    if not (directory / "edit_tree.asdf").exists():
        write("edit_tree_tight.asdf", lambda: {**tree(), "text": LONG_TEXTS[0], "data": np.arange(gib // 8, dtype="<f8")})
        with_room("edit_tree.asdf", "edit_tree_tight.asdf")
        # The reference may move the block, so that no padding is left.
        shutil.copyfile(directory / "edit_tree.asdf", directory / "edit_tree_python.asdf")
    write("big.asdf", lambda: {"data": np.arange(gib // 8, dtype="<f8")})
    write("big_16.asdf", lambda: {f"data_{n}": np.arange(gib // 128, dtype="<f8") + n for n in range(16)})
    without_index("big_no_index.asdf", "big.asdf")
    for codec, size in (("zlib", 64 << 20), ("bzp2", 16 << 20), ("lz4", 256 << 20)):
        size //= scale
        write(f"{codec}_smooth.asdf", lambda: {"data": smooth(size)}, all_array_compression=codec)
        write(f"{codec}_noisy.asdf", lambda: {"data": noisy(size)}, all_array_compression=codec)
    write("many_zlib.asdf", lambda: {f"data_{n}": smooth((8 << 20) // scale) + n for n in range(16)}, all_array_compression="zlib")

    def views():
        side = 2896 // (4 if quick else 1)
        base = random.normal(0, 1, (side, side))
        big, wave = base.astype(">f8"), (base + 1j * base).astype("<c16")
        return {
            "step": base[:, ::2], "transposed": base.T, "reversed": base[::-1, ::-1], "big_step": big[:, ::2],
            "complex_big": wave.astype(">c16"), "complex_step": wave[:, ::2],
        }

    with asdf.config_context() as config:
        config.default_array_save_base = True
        write("views.asdf", views)


def reference(task, path):
    """Returns a function that does a task as a user of the reference would, to be timed."""
    import asdf
    import numpy as np

    if task in ("checked_read_1gib", "verify_1gib", "verify_1gib_16_blocks"):
        def run():
            with asdf.open(path, validate_checksums=True) as file:
                for node in file.tree.values():
                    if hasattr(node, "dtype"):
                        node[...]
    elif task == "numpy_read":
        def run():
            np.fromfile(path, "u1")
    elif task == "md5":
        data = np.fromfile(path, "u1")

        def run():
            hashlib.md5(data)
    elif task in VIEWS:
        file = asdf.open(path, memmap=True)
        view = file[VIEWS[task]][...]
        native = view.dtype.newbyteorder("=")

        def run():
            view.astype(native, order="C")  # one copy
    elif task == "read_block":
        def run():
            with asdf.open(path) as file:
                np.array(file["array_0500"])
    elif task.startswith("arrays_"):
        def run():
            with asdf.open(path) as file:
                for node in file.tree.values():
                    if hasattr(node, "dtype"):
                        node.shape
    elif task == "edit_tree_1gib":
        def run():
            with asdf.open(pathlib.Path(path).with_name("edit_tree_python.asdf"), mode="rw") as file:
                file["text"] = LONG_TEXTS[file["text"] == LONG_TEXTS[0]]
                file.update()
    elif task.startswith("edit_"):
        def run():
            with asdf.open(path, mode="rw") as file:
                file["gain"] = 3 - file["gain"]
                file.update()
    elif task.startswith("open_") or task.startswith("tree_"):
        def run():
            with asdf.open(path) as file:
                file.tree
    else:
        def run():
            with asdf.open(path) as file:
                for node in file.tree.values():
                    if hasattr(node, "dtype"):
                        np.asarray(node[...])  # a copy only of inline data, which is a list
    return run


def writing(task, path):
    """Returns a function that writes the content of a file with the reference, to be timed."""
    import asdf

    with asdf.open(path, lazy_load=False, memmap=False) as file:
        tree = {key: node[...] if hasattr(node, "dtype") else node for key, node in file.tree.items()}
    tree = {key: node for key, node in tree.items() if key not in ("asdf_library", "history")}
    codec = task.split("_")[1]
    options = {"all_array_compression": codec} if codec in ("zlib", "bzp2", "lz4") else {}
    return lambda: asdf.AsdfFile(tree).write_to(written(path), **options)


def written(path):
    """Returns the path of the file that the reference writes. It is removed after each run, as in our programs."""
    return f"{path}.python"


def child(task, path, repetitions):
    run = writing(task, path) if task in WRITING else reference(task, path)
    clean = (lambda: os.unlink(written(path))) if task in WRITING else lambda: None
    walls, cpus = [], []
    begin = time.perf_counter()
    while repetitions > 1 and time.perf_counter() - begin < WARM_UP:
        run()
        clean()
    for _ in range(max(repetitions, 2)):
        touch_memory()
        wall, cpu = time.perf_counter(), time.process_time()
        run()
        walls.append(time.perf_counter() - wall)
        cpus.append(time.process_time() - cpu)
        clean()
    print(json.dumps({"wall": walls, "cpu": cpus, "peak": peak()}))


def touch_memory():
    """Writes to as much memory as the task has needed so far, then frees it, as our programs do."""
    import numpy as np

    np.ones(max(peak() - status_bytes("VmRSS:"), 0), "u1")


def peak():
    """Returns the peak memory of this process in bytes. `ru_maxrss` would begin with that of the parent process."""
    return status_bytes("VmHWM:")


def status_bytes(name):
    """Returns a memory statistic of this process in bytes, by the name that the kernel uses."""
    status = pathlib.Path("/proc/self/status").read_text()
    return next(int(line.split()[1]) for line in status.splitlines() if line.startswith(name)) * 1024


def measure(command, threads):
    environment = os.environ | {"RAYON_NUM_THREADS": str(threads), "OMP_NUM_THREADS": "1"}
    return json.loads(subprocess.run(command, check=True, capture_output=True, text=True, env=environment).stdout)


def collect(runs):
    fastest = lambda key: min(min(run[key]) for run in runs)
    return fastest("wall"), fastest("cpu"), max(run["peak"] for run in runs)


def compare(directory, ours, peer, name, quick):
    task = TASKS[name]
    path = directory / task.file
    repetitions = str(min(task.repetitions, 3) if quick else task.repetitions)
    commands = {
        "python": [sys.executable, __file__, "--task", name, path, repetitions],
        "one": [ours, name, path, repetitions],
        "two": [ours, name, path, repetitions],
    }
    if name in BOUNDS:
        commands["bound"] = [sys.executable, __file__, "--task", BOUNDS[name][0], path, repetitions]
    if task.peer is not None:
        commands["peer"] = [peer, name, path, repetitions]
    runs = {key: [] for key in commands}
    for _ in range(1 if quick else ROUNDS):
        for key, command in commands.items():
            runs[key].append(measure(command, 2 if key == "two" else 1))
    return {key: collect(values) for key, values in runs.items()}


def verdicts(name, ratio, peer_ratio, milliseconds, scaling):
    """Yields each limit of a task as text, and whether the limit is met."""
    task = TASKS[name]
    if task.python is not None:
        yield f"python >= {task.python}", ratio >= task.python
    if task.peer is not None and not math.isnan(task.peer):
        yield f"asdf-rs >= {task.peer}", peer_ratio >= task.peer
    if task.milliseconds is not None:
        yield f"<= {task.milliseconds} ms", milliseconds <= task.milliseconds
    if name in SCALING:
        yield "x2/x1 >= 1.7", scaling >= 1.7


def judged(name, verdicts, missed):
    texts = []
    for text, met in verdicts:
        texts.append(text if met else f"{text} MISSED")
        if not met:
            missed.append(f"{name} {text}")
    return ", ".join(texts)


def compare_nodes(ours, quick, missed):
    """Prints the time and the memory per node for trees of different sizes. Appends missed limits to `missed`."""
    print(f"\n{'nodes':<12}{'ms':>10}{'ns/node':>10}{'bytes/node':>12}")
    first = None
    for count in NODES[:2] if quick else NODES:
        runs = []
        for _ in range(1 if quick else ROUNDS):
            command = [ours, "nodes", str(count), "3" if count < 10**7 else "1"]
            memory, times = subprocess.run(command, check=True, capture_output=True, text=True).stdout.splitlines()
            runs.append((json.loads(memory), json.loads(times)))
        nodes = runs[0][0]["nodes"]
        memory = statistics.median(memory["bytes"] for memory, _ in runs) / nodes
        wall = min(statistics.median(times["wall"]) for _, times in runs)
        first = first or wall / nodes
        checks = []
        if count >= 10**6:  # a smaller tree needs too little memory to be measured
            checks = [
                (f"<= {NODE_BYTES} bytes", memory <= NODE_BYTES),
                (f"<= {NODE_SLOWDOWN} x the first", wall / nodes <= NODE_SLOWDOWN * first),
            ]
        shown = f"{memory:>12.1f}" if checks else f"{'-':>12}"
        print(f"{nodes:<12}{wall * 1e3:>10.2f}{wall / nodes * 1e9:>10.1f}{shown}  {judged(f'{count} nodes', checks, missed)}", flush=True)


def compare_growth(directory, ours, quick, missed, rows):
    """Prints the time per item for files with different numbers of items, and adds a row for each task. Appends missed
    limits to `missed`."""
    scale = 16 if quick else 1
    for task, (items, counts) in GROWTH.items():
        counts = [count // scale for count in counts]
        runs = {count: [] for count in counts}
        for _ in range(1 if quick else ROUNDS):
            for count in counts:
                runs[count].append(measure([ours, task, directory / growing(task, count), "3"], 1))
        print(f"\n{items:<26}{'ms':>10}{'ns each':>10}{'MiB':>8}")
        each = {}
        for count in counts:
            wall, _, peak = collect(runs[count])
            each[count] = wall / count
            print(f"{count:<26}{wall * 1e3:>10.2f}{each[count] * 1e9:>10.1f}{peak / 2**20:>8.0f}")
        ratio = each[counts[0]] / each[counts[-1]]
        exponent = 1 - math.log(ratio, counts[-1] / counts[0])
        print(f"exponent {exponent:.2f}  " + judged(f"growth of {items}", [("<= 1.1", ratio >= GROWTH_FLOOR)], missed), flush=True)
        rows.append((f"{counts[-1]} {items}, time for each", f"ours, {counts[0]}", ratio, GROWTH_FLOOR, peak / 2**20))


def save(rows, path):
    """Writes the ratios for `cargo xtask bench`, one row per line: work, peer, ratio, floor and our peak memory in MiB."""
    text = lambda value: "" if value is None else str(value)
    path.write_text("".join("\t".join(map(text, row)) + "\n" for row in rows))


def main(directory, ours, peer, quick):
    directory = pathlib.Path(directory) / ("quick" if quick else "full")
    directory.mkdir(parents=True, exist_ok=True)
    make(directory, quick)
    print(f"{'task':<26}{'python':>10}{'asdf-rs':>10}{'ours':>10}{'ours x2':>10}  {'ratio to':>8}{'ratio to':>9}{'cpu':>7}{'x2/x1':>7}   {'peak python':>11}{'ours':>8}  floors")
    print(f"{'':<26}{'ms':>10}{'ms':>10}{'ms':>10}{'ms':>10}  {'python':>8}{'asdf-rs':>9}{'':>7}{'':>7}   {'MiB':>11}{'MiB':>8}")
    missed, rows = [], []
    for task in TASKS:
        result = compare(directory, ours, peer, task, quick)
        (their_wall, their_cpu, their_peak), (wall, cpu, peak), (wall2, _, _) = result["python"], result["one"], result["two"]
        peer_wall = result["peer"][0] if "peer" in result else math.nan
        ratio, scaling = their_wall / wall, wall / wall2
        cpu_ratio = their_cpu / cpu if cpu > 0 else math.nan  # short times are rounded to 0
        peer_ratio = peer_wall / wall
        if task in ON_TWO_CORES:
            ratio, peer_ratio = their_wall / wall2, peer_wall / wall2
        floors = judged(task, verdicts(task, ratio, peer_ratio, wall * 1e3, scaling), missed)
        rows.append((task, "Python", ratio, TASKS[task].python, peak / 2**20))
        if not math.isnan(peer_ratio):
            floor = TASKS[task].peer
            rows.append((task, "asdf-rs", peer_ratio, None if math.isnan(floor) else floor, None))
        if task in BOUNDS:
            bound, floor = BOUNDS[task]
            rows.append((task, BOUND_NAMES[bound], result["bound"][0] / wall2, floor, None))
            verdict = judged(task, [(f"{bound} >= {floor}", result["bound"][0] / wall2 >= floor)], missed)
            floors += f"  {bound} {result['bound'][0] / wall2:.2f} {verdict}"
        shown = lambda value, format: "-" if math.isnan(value) else f"{value:{format}}"
        print(f"{task:<26}{their_wall * 1e3:>10.2f}{shown(peer_wall * 1e3, '.2f'):>10}{wall * 1e3:>10.2f}{wall2 * 1e3:>10.2f}"
              f"  {ratio:>8.2f}{shown(peer_ratio, '.2f'):>9}{shown(cpu_ratio, '.2f'):>7}{scaling:>7.2f}"
              f"   {their_peak / 2**20:>11.0f}{peak / 2**20:>8.0f}  {floors}", flush=True)
    compare_nodes(ours, quick, missed)
    compare_growth(directory, ours, quick, missed, rows)
    save(rows, directory / "ratios.tsv")
    print("floors missed: " + (", ".join(missed) if missed else "none"))


if __name__ == "__main__":
    if sys.argv[1] == "--task":
        child(sys.argv[2], sys.argv[3], int(sys.argv[4]))
    else:
        main(sys.argv[1], sys.argv[2], sys.argv[3], "--quick" in sys.argv[4:])
