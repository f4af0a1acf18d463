"""Times our ASDF reader and writer beside the Python reference and asdf-rs, the fastest other reader for Rust, on
the same files in one run, and prints ratios.

    side_by_side.py DIRECTORY OURS PEER [--quick]

DIRECTORY holds the files, made on first use. OURS is the program `bench_tasks`, PEER the program in
`benches/peer`. Every measurement is a process of its own that does a task several times; they take
turns, so that a machine that slows down slows all. "ours" has one thread and "ours x2" two. Ratios are
those of one thread, except for views and for the checksummed writes of 1 GiB and of 1,000 blocks: there the others
are compared with ours on two cores. Times are
those of the fastest of the processes of a side, the medians of its repetitions, in milliseconds: what else the
machine does can only make a process slower. A ratio above 1 means that ours is faster. All read into new memory
and copy no more than they must. Blocks are not verified, except by the tasks named so. In those named `checked`, ours
verifies what it reads; the reference does so for 1 GiB only. Peak memory is the largest resident set of
the process itself.

A second table is of trees made in memory: the time and the memory of a node, by the number of nodes.
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
import typing

ROUNDS = 3
# Seconds that a short task is done before it is timed, as by our programs.
WARM_UP = 0.1


class Task(typing.NamedTuple):
    file: str
    repetitions: int  # in a process
    python: float | None = None  # floor of the wall ratio to Python; None: shown only
    peer: float | None = None  # the same to asdf-rs; NaN: shown only; None: not run
    milliseconds: float | None = None  # what ours may take


SHOWN = math.nan

TASKS = {
    "open_1000_blocks": Task("blocks.asdf", 15, 15, 3, 1),
    "open_1000_blocks_no_index": Task("blocks_no_index.asdf", 15, 15, 3),
    "arrays_1000": Task("blocks.asdf", 15, 15, 3),
    "open_100000_blocks_no_index": Task("tiny_blocks.asdf", 5, None, 1),
    "read_block": Task("blocks.asdf", 15, None, SHOWN),
    "tree_10000_nodes": Task("tree.asdf", 15, 10, 3, 2),
    "inline_100000_floats": Task("inline.asdf", 5, None, 3, 10),
    "open_1gib_index": Task("big.asdf", 5, None, SHOWN),
    "open_1gib_no_index": Task("big_no_index.asdf", 1, 100, SHOWN),
    "read_1gib": Task("big.asdf", 1, None, SHOWN),
    "checked_read_1gib": Task("big.asdf", 1),
    "verify_1gib": Task("big.asdf", 1),
    "verify_1gib_16_blocks": Task("big_16.asdf", 1),
    "zlib_smooth": Task("zlib_smooth.asdf", 3, 1.4),
    "zlib_noisy": Task("zlib_noisy.asdf", 3, 1.4),
    "bzp2_smooth": Task("bzp2_smooth.asdf", 1),
    "bzp2_noisy": Task("bzp2_noisy.asdf", 1),
    "lz4_smooth": Task("lz4_smooth.asdf", 3, 2),
    "lz4_noisy": Task("lz4_noisy.asdf", 3, 2),
    "checked_zlib_smooth": Task("zlib_smooth.asdf", 3),
    "checked_zlib_noisy": Task("zlib_noisy.asdf", 3),
    "checked_lz4_smooth": Task("lz4_smooth.asdf", 3),
    "checked_lz4_noisy": Task("lz4_noisy.asdf", 3),
    "many_zlib_blocks": Task("many_zlib.asdf", 3),
    "strided_step": Task("views.asdf", 15, 1),
    "strided_transposed": Task("views.asdf", 15, 1),
    "strided_reversed": Task("views.asdf", 15, 1),
    "strided_big_endian": Task("views.asdf", 15, 1),
    "complex_big_endian": Task("views.asdf", 15, 1),
    "complex_step": Task("views.asdf", 15, 1),
}

# Nodes of the trees made in memory, and what the largest two may cost: bytes of a node, and its time
# as a multiple of that in the smallest tree.
NODES = [10**4, 10**5, 10**6, 10**7]
NODE_BYTES = 80
NODE_SLOWDOWN = 2

# Tasks over one array of views.asdf: the key in the tree.
VIEWS = {
    "strided_step": "step", "strided_transposed": "transposed", "strided_reversed": "reversed",
    "strided_big_endian": "big_step", "complex_big_endian": "complex_big", "complex_step": "complex_step",
}

# Writing a tree whose arrays are in memory: the content of the file. No side waits for the disk. One block of 1 GiB
# has no floor beside the reference: its MD5, which no second core can help with, takes nearly all of the time.
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
# Changing one number in a file, and a long text in a large tree that has room to grow, in place. Both sides wait
# for what their own way of doing it waits for.
TASKS["edit_number_1gib"] = Task("edit.asdf", 3, None, None, 10)
TASKS["edit_tree_1gib"] = Task("edit_tree.asdf", 3, None, None, 10)

# What the text in a large tree is changed to, by turns: more than a page differs.
LONG_TEXTS = ["short " * 700, "much longer " * 800]

# Tasks whose ratios are those of two threads of ours.
ON_TWO_CORES = [*VIEWS, "write_1gib", "write_1gib_16_blocks", "write_1000_blocks"]

# Tasks that a second thread must make faster; those that write do it within one block.
SCALING = ["many_zlib_blocks", "write_zlib_smooth", "write_zlib_noisy", "write_bzp2_smooth"]


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
        """The file with room after its tree, and without the index, which would be wrong."""
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
        head = b"#ASDF 1.0.0\n#ASDF_STANDARD 1.6.0\n%YAML 1.1\n%TAG ! tag:stsci.edu:asdf/\n--- !core/asdf-1.1.0 {}\n...\n"
        block = b"\xd3BLK\0\x30" + bytes(8) + (80).to_bytes(8, "big") * 3 + bytes(16) + bytes(80)
        (directory / "tiny_blocks.asdf").write_bytes(head + block * (100_000 // scale))
    write("tree.asdf", tree)
    write("inline.asdf", lambda: {"data": random.normal(0, 1, 100_000)}, all_array_storage="inline")
    write("edit.asdf", lambda: {"gain": 1, "data": np.arange(gib // 8, dtype="<f8")})
    if not (directory / "edit_tree.asdf").exists():
        write("edit_tree_tight.asdf", lambda: {**tree(), "text": LONG_TEXTS[0], "data": np.arange(gib // 8, dtype="<f8")})
        with_room("edit_tree.asdf", "edit_tree_tight.asdf")
        # The reference may move the block, which takes the room.
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
    """The task as a user of the reference does it, as a function to time."""
    import asdf
    import numpy as np

    if task in ("checked_read_1gib", "verify_1gib", "verify_1gib_16_blocks"):
        def run():
            with asdf.open(path, validate_checksums=True) as file:
                for node in file.tree.values():
                    if hasattr(node, "dtype"):
                        node[...]
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
    """The same for a task that writes."""
    import asdf

    with asdf.open(path, lazy_load=False, memmap=False) as file:
        tree = {key: node[...] if hasattr(node, "dtype") else node for key, node in file.tree.items()}
    tree = {key: node for key, node in tree.items() if key not in ("asdf_library", "history")}
    codec = task.split("_")[1]
    options = {"all_array_compression": codec} if codec in ("zlib", "bzp2", "lz4") else {}
    return lambda: asdf.AsdfFile(tree).write_to(written(path), **options)


def written(path):
    """What the reference writes. It is removed each time, as by our programs."""
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
        wall, cpu = time.perf_counter(), time.process_time()
        run()
        walls.append(time.perf_counter() - wall)
        cpus.append(time.process_time() - cpu)
        clean()
    print(json.dumps({"wall": walls, "cpu": cpus, "peak": peak()}))


def peak():
    """Peak memory of this process alone: `ru_maxrss` begins with that of the process that started it."""
    status = pathlib.Path("/proc/self/status").read_text()
    return next(int(line.split()[1]) for line in status.splitlines() if line.startswith("VmHWM:")) * 1024


def measure(command, threads):
    environment = os.environ | {"RAYON_NUM_THREADS": str(threads), "OMP_NUM_THREADS": "1"}
    return json.loads(subprocess.run(command, check=True, capture_output=True, text=True, env=environment).stdout)


def collect(runs):
    fastest = lambda key: min(statistics.median(run[key]) for run in runs)
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
    if task.peer is not None:
        commands["peer"] = [peer, name, path, repetitions]
    runs = {key: [] for key in commands}
    for _ in range(1 if quick else ROUNDS):
        for key, command in commands.items():
            runs[key].append(measure(command, 2 if key == "two" else 1))
    return {key: collect(values) for key, values in runs.items()}


def verdicts(name, ratio, peer_ratio, milliseconds, scaling):
    """Each floor or ceiling of a task, and whether it is met."""
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
    """Time and memory of a node in trees of different sizes."""
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
        if count >= 10**6:  # the memory of a smaller tree is lost in that of the process
            checks = [
                (f"<= {NODE_BYTES} bytes", memory <= NODE_BYTES),
                (f"<= {NODE_SLOWDOWN} x the first", wall / nodes <= NODE_SLOWDOWN * first),
            ]
        shown = f"{memory:>12.1f}" if checks else f"{'-':>12}"
        print(f"{nodes:<12}{wall * 1e3:>10.2f}{wall / nodes * 1e9:>10.1f}{shown}  {judged(f'{count} nodes', checks, missed)}", flush=True)


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
        cpu_ratio = their_cpu / cpu if cpu > 0 else math.nan  # the kernel's clock has ticks
        peer_ratio = peer_wall / wall
        if task in ON_TWO_CORES:
            ratio, peer_ratio = their_wall / wall2, peer_wall / wall2
        floors = judged(task, verdicts(task, ratio, peer_ratio, wall * 1e3, scaling), missed)
        rows.append((task, "Python", ratio, TASKS[task].python, peak / 2**20))
        if not math.isnan(peer_ratio):
            floor = TASKS[task].peer
            rows.append((task, "asdf-rs", peer_ratio, None if math.isnan(floor) else floor, None))
        shown = lambda value, format: "-" if math.isnan(value) else f"{value:{format}}"
        print(f"{task:<26}{their_wall * 1e3:>10.2f}{shown(peer_wall * 1e3, '.2f'):>10}{wall * 1e3:>10.2f}{wall2 * 1e3:>10.2f}"
              f"  {ratio:>8.2f}{shown(peer_ratio, '.2f'):>9}{shown(cpu_ratio, '.2f'):>7}{scaling:>7.2f}"
              f"   {their_peak / 2**20:>11.0f}{peak / 2**20:>8.0f}  {floors}", flush=True)
    compare_nodes(ours, quick, missed)
    save(rows, directory / "ratios.tsv")
    print("floors missed: " + (", ".join(missed) if missed else "none"))


if __name__ == "__main__":
    if sys.argv[1] == "--task":
        child(sys.argv[2], sys.argv[3], int(sys.argv[4]))
    else:
        main(sys.argv[1], sys.argv[2], sys.argv[3], "--quick" in sys.argv[4:])
