"""Runs the same command lines with the original program `blpk` and with `scibin blpk`, and compares the results:
`blpk.py DIRECTORY SCIBIN`.

Each scenario begins with the same files in two folders. After each step, both programs must have returned the
same status and printed the same lines, although ours prints messages on standard error. They must also have
written the same files: plain files are compared byte by byte, packed files by the fields of their headers, and
each program must be able to unpack the files of the other. If the original ends with a traceback, ours prints its
own message. A step in which our program differs on purpose states the difference and the reason."""

import ast
import concurrent.futures
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys

import bloscpack
import numpy as np

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[3] / "testdata" / "bloscpack"))
import layout  # noqa: E402

CODECS = ("blosclz", "lz4", "lz4hc", "zlib", "zstd")
SIZES = ("64K", "65536", "100K", "1.5K", "0.25M", "1000B", "1G", "max")
WRONG_SIZES = ("0", "-1", "2G", "0.5B", "1k", "1KB", "", "nan", "nanK", "-1K", "K", "NO_SUCH_VALUE", "9999999999999T")


class Differs(str):
    """A step whose outcome differs on purpose, with the reason. `ours` is our exit status, if it differs. `leaves`
    lists files that only one of the programs leaves behind, or whose content differs; they are then removed."""

    def __new__(cls, line, why, ours=None, leaves=()):
        step = super().__new__(cls, line)
        step.why, step.ours, step.leaves = why, ours, leaves
        return step


def scenarios():
    yield "compress", ["compress data.dat", "rm data.dat.blp", "c data.dat", "compress data.dat packed.blp", "c data.dat packed"]
    yield "decompress", ["c data.dat", "rm data.dat", "decompress data.dat.blp", "rm data.dat", "d data.dat.blp", "d data.dat.blp data.dat.dcmp"]
    for codec in CODECS:
        yield f"codec {codec}", [f"c --codec {codec} data.dat", "d data.dat.blp out", f"c -c {codec} text.txt", "d text.txt.blp out2"]
    yield "codec unknown", ["c --codec NO_SUCH_CODEC data.dat", "c -c LZ4 data.dat", "c -c"]
    why = "the original's library is built without it"
    yield "codec snappy", [Differs("c -c snappy data.dat", why, ours=0, leaves=["data.dat.blp"])]
    for level in (0, 1, 5, 9):
        yield f"level {level}", [f"c -l {level} data.dat", f"c --clevel {level} -c lz4 data.dat packed.blp", "d packed.blp out"]
    yield "level out of range", ["c -l 10 data.dat", "c -l -1 data.dat", "c -l x data.dat"]
    yield "no shuffle", ["c -s data.dat", "c --no-shuffle data.dat packed.blp", "d packed.blp out"]
    for typesize in (1, 2, 4, 7, 16, 255):
        yield f"typesize {typesize}", [f"c -t {typesize} data.dat", f"c --typesize {typesize} -c lz4 data.dat packed.blp", "d packed.blp out"]
    partial = "the original leaves a file without chunks behind"
    for typesize in (0, 256, -1):
        yield f"typesize {typesize}", [Differs(f"c -t {typesize} data.dat", partial, leaves=["data.dat.blp"])]
    for size in SIZES:
        yield f"chunk size {size}", [f"c --chunk-size {size} data.dat", "info data.dat.blp", "d data.dat.blp out", f"c -z {size} data.dat packed.blp"]
    for size in WRONG_SIZES:
        yield f"chunk size {size!r} rejected", [["c", f"--chunk-size={size}", "data.dat"]]
    for checksum in layout.CHECKSUMS:
        yield f"checksum {checksum}", [f"c --checksum {checksum} data.dat", "info data.dat.blp", "d data.dat.blp out", f"c -k {checksum} data.dat packed.blp"]
    yield "checksum unknown", ["c --checksum NO_SUCH_CHECKSUM data.dat", "c -k ADLER32 data.dat"]
    yield "no offsets", [
        "c --no-offsets data.dat", "i data.dat.blp", "d data.dat.blp out", "c -o data.dat packed.blp",
        Differs("a packed.blp data.dat", "the original needs offsets to find the last chunk", ours=0, leaves=["packed.blp"]),
    ]
    yield "metadata", ["c --metadata meta.json data.dat", "info data.dat.blp", "d data.dat.blp out", "c -m meta.json data.dat packed.blp"]
    yield "metadata missing", ["c -m nowhere.json data.dat", "c -m text.txt data.dat"]
    yield "force", [
        "c data.dat", "c data.dat", "--force c data.dat", "-f c data.dat", "d data.dat.blp", "--force d data.dat.blp", "-f d data.dat.blp",
        "c data.dat text.txt", "-f c data.dat text.txt",
    ]
    yield "extension", [
        "c data.dat", "mv data.dat.blp data.dat.bla", "d data.dat.bla out", "d --no-check-extension data.dat.bla",
        "d --no-check-extension data.dat.bla out", "rm out", "d -e data.dat.bla out", "a data.dat.bla data.dat", "a -e data.dat.bla data.dat",
    ]
    yield "missing files", ["c nowhere", "d nowhere.blp", "a nowhere.blp data.dat", "c data.dat", "a data.dat.blp nowhere", "info nowhere", "i nowhere.blp"]
    yield "no file of this kind", [Differs("d -e data.dat out", "the original leaves an empty file behind", leaves=["out"]), "info data.dat", "i empty.dat", "a -e data.dat text.txt"]
    yield "empty file", ["c empty.dat", "i empty.dat.blp", "d empty.dat.blp out", "c -m meta.json empty.dat packed.blp", "c -o empty.dat packed2.blp"]
    yield "append", ["c data.dat", "append data.dat.blp data.dat", "info data.dat.blp", "d data.dat.blp out", "a data.dat.blp text.txt", "d data.dat.blp out2"]
    for option in ("-t 4", "-l 9", "-s", "-c zlib", "-c zstd -l 1 -t 2"):
        yield f"append {option}", ["c -z 100K data.dat", f"append {option} data.dat.blp text.txt", "d data.dat.blp out"]
    yield "append metadata", ["c -m meta.json data.dat", "append -m other.json data.dat.blp text.txt", "info data.dat.blp", "d data.dat.blp out"]
    yield "append no room", ["c -z 10 small.dat", "info small.dat.blp", "a small.dat.blp data.dat"]
    yield "append nothing", ["c data.dat", Differs("a data.dat.blp empty.dat", "the original divides by the size appended, once all is done", ours=0), "d data.dat.blp out"]
    yield "threads without a command", ["-n 257", "--nthreads 0", "-n 1"]
    yield "threads", ["-n 1 c data.dat", "rm data.dat.blp", "--nthreads 2 c data.dat", "-n 2 d data.dat.blp out", "-n 257 c text.txt", "-n 0 c text.txt", "-n -1 c text.txt", "-n x c text.txt"]
    yield "verbose", ["-v c data.dat", "-v d data.dat.blp out", "--verbose c text.txt", "-d c small.dat", "--debug d small.dat.blp out2", "-v -d c data.dat packed.blp"]
    yield "verbose in chunks", [
        "-v c -z 200K -m meta.json data.dat", "-v d data.dat.blp out", "-v a data.dat.blp text.txt", "-v a data.dat.blp small.dat",
        "-v c empty.dat", "-v c -k None -o text.txt", "-v -f d data.dat.blp out", "-v i data.dat.blp", "-v -n 1 c small.dat",
    ]
    yield "debug in chunks", [
        "--debug compress --chunk-size 200K data.dat", "--debug decompress data.dat.blp data.dat.dcmp", "-d append data.dat.blp text.txt",
        "-d a data.dat.blp small.dat", "-d c -m meta.json text.txt", "-d d text.txt.blp out", "-d i text.txt.blp", "-d c -k None -o small.dat",
        "-d d small.dat.blp out2", "-d -n 1 c -z 1K -k sha512 -l 9 -s -c lz4 -t 4 small.dat packed.blp",
    ]
    yield "usage", ["", "NO_SUCH_COMMAND", "c", "d", "a data.dat", "c --no-such-option data.dat", "c data.dat a b", "info"]
    yield "help", ["-h", "--help", "--version", "c -h", "compress --help", "d -h", "a -h", "i --help"]
    partial = "the original leaves what it had unpacked behind"
    yield "damage", [
        "c -z 100K data.dat", "flip data.dat.blp", Differs("d data.dat.blp out", partial, leaves=["out"]), "cut data.dat.blp",
        Differs("d data.dat.blp out2", partial, leaves=["out2"]),
    ]


def prepare(folder):
    folder.mkdir(parents=True)
    (folder / "data.dat").write_bytes(np.linspace(0, 100, 150_000).tobytes())
    (folder / "text.txt").write_bytes(b"".join(b"line %d of some text\n" % number for number in range(9000)))
    (folder / "small.dat").write_bytes(bytes(range(95)))
    (folder / "empty.dat").write_bytes(b"")
    (folder / "meta.json").write_text(json.dumps({"dtype": "<f8", "shape": [150000], "container": "none", "order": "C"}))
    (folder / "other.json").write_text(json.dumps({"dtype": "<f8", "shape": [1]}))


def change(folder, words):
    """Runs a step that is not a command of the program."""
    path = folder / words[1]
    match words[0]:
        case "rm":
            path.unlink()
        case "mv":
            path.rename(folder / words[2])
        case "flip":
            data = bytearray(path.read_bytes())
            data[len(data) // 2] ^= 0x55
            path.write_bytes(data)
        case "cut":
            path.write_bytes(path.read_bytes()[:-1000])


def run(program, folder, words):
    return subprocess.run([*program, *words], cwd=folder, capture_output=True, text=True, stdin=subprocess.DEVNULL)


# Lines that depend on the version of zlib, which compresses the metadata.
ZLIB = re.compile("meta_codec|meta_comp_size|metadata of size|raw.metadata.header|metadata checksum|preallocated|compression requested")


def printed(result):
    """Returns the lines of standard output and standard error, sorted, without memory addresses, without the codec
    that only one of the programs supports, without lines that begin with `bloscpack: `, and without lines that depend
    on the version of zlib. Ordered dictionaries have the form in which Python prints them up to version 3.11, as our
    program does."""
    lines = (result.stdout + result.stderr).splitlines()
    lines = (re.sub(r" at 0x[0-9a-f]+", "", line) for line in lines)
    lines = (line.replace("'snappy', ", "").replace("snappy, ", "") for line in lines)
    lines = (re.sub(r"OrderedDict\(\{(.*)\}\)", with_pairs, line) for line in lines)
    return sorted(line for line in lines if not line.startswith("bloscpack: ") and not ZLIB.search(line))


def with_pairs(match):
    """Returns an ordered dictionary in the form in which Python prints it up to version 3.11."""
    return f"OrderedDict({list(ast.literal_eval('{' + match[1] + '}').items())})"


def prints_alike(words, expected, found):
    """Returns whether both programs print the same lines. With --debug, our program prints only the lines of --verbose,
    whereas the original adds lines about its own variables."""
    expected, found = printed(expected), printed(found)
    if {"-d", "--debug"} & set(words):
        return set(found) <= set(expected)
    return expected == found


def contents(folder):
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def is_packed(data):
    return data[:4] == b"blpk"


def compare(theirs, ours):
    """Returns a description of the first difference between the files of both folders, or `None`."""
    theirs_files, ours_files = contents(theirs), contents(ours)
    if theirs_files.keys() != ours_files.keys():
        return f"files {sorted(theirs_files)}, ours {sorted(ours_files)}"
    for name, data in theirs_files.items():
        other = ours_files[name]
        if is_packed(data) != is_packed(other) or (not is_packed(data) and data != other):
            return f"{name} has other content"
        if data == other or not is_packed(data):
            continue
        if layout.record(data)["header"] != layout.record(other)["header"]:
            return f"{name} has another header: {layout.record(other)['header']}, the original's is {layout.record(data)['header']}"
    return None


def cross(theirs, ours, scibin, done):
    """Checks that each program reads the files that the other packed. Returns an error message or `None`."""
    for name, data in contents(theirs).items():
        other = (ours / name).read_bytes()
        if not is_packed(data) or (data, other) in done:
            continue
        done.add((data, other))
        try:
            expected = bloscpack.unpack_bytes_from_bytes(data)
        except Exception:
            continue  # The file was damaged on purpose.
        if bloscpack.unpack_bytes_from_bytes(other) != expected:
            return f"{name}: the original reads other bytes or metadata from ours"
        target = ours.parent / "crossed"
        target.unlink(missing_ok=True)
        result = run([*scibin, "d", "-e"], theirs, [name, str(target)])
        if result.returncode != 0 or target.read_bytes() != expected[0]:
            return f"{name}: ours reads other bytes from the original's: {result.stderr.strip()}"
    return None


def scenario(directory, _name, steps, blpk, scibin):
    shutil.rmtree(directory, ignore_errors=True)
    theirs, ours = directory / "theirs", directory / "ours"
    prepare(theirs)
    prepare(ours)
    done = set()
    for step in steps:
        words = step if isinstance(step, list) else step.split()
        if words and words[0] in ("rm", "mv", "flip", "cut"):
            change(theirs, words)
            change(ours, words)
            continue
        expected, found = run(blpk, theirs, words), run(scibin, ours, words)
        deviation = step if isinstance(step, Differs) else None
        wanted = expected.returncode if deviation is None or deviation.ours is None else deviation.ours
        if deviation is not None and deviation.ours is not None and expected.returncode == deviation.ours:
            return f"{words}: the original gives {wanted} too, though listed as a difference"
        if found.returncode != wanted:
            return f"{words}: status {found.returncode}, the original's is {wanted}: {found.stderr.strip() or found.stdout.strip()}"
        if "panicked" in found.stderr or (wanted != 0 and not found.stderr.strip()):
            return f"{words}: failed without a message of its own: {found.stderr.strip()}"
        if deviation is None and "Traceback" not in expected.stderr and not prints_alike(words, expected, found):
            missing = [line for line in printed(expected) if line not in printed(found)]
            more = [line for line in printed(found) if line not in printed(expected)]
            return f"{words}: prints {more}, the original {missing}"
        for leaf in deviation.leaves if deviation is not None else ():
            if contents(theirs).get(leaf) == contents(ours).get(leaf):
                return f"{words}: {leaf} is the same, though listed as a difference"
            (theirs / leaf).unlink(missing_ok=True)
            (ours / leaf).unlink(missing_ok=True)
        difference = compare(theirs, ours) or cross(theirs, ours, scibin, done)
        if difference:
            return f"{words}: {difference}"
    return None


def main(directory, scibin):
    directory = pathlib.Path(directory) / "blpk"
    blpk = [str(pathlib.Path(sys.executable).parent / "blpk")]
    cases = list(scenarios())
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        play = lambda number: scenario(directory / str(number), *cases[number], blpk, [scibin, "blpk"])
        differences = list(pool.map(play, range(len(cases))))
    shutil.rmtree(directory, ignore_errors=True)
    failures = [f"{name}: {text}" for (name, _), text in zip(cases, differences) if text]
    print(f"{len(cases)} scenarios, {len(failures)} differ", *failures, sep="\n")
    sys.exit(bool(failures))


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2])
