"""Checks files against schemas with the Python reference and with `scibin asdf validate`, and compares the verdicts:
`validate.py DIRECTORY SCIBIN`. The files are those in DIRECTORY, those of a corpus if there is one, files with at most
one fault each, the test files of the mission packages, and Roman data models with and without a fault."""

import json
import os
import pathlib
import subprocess
import sys
import warnings

# The packages of missions are in a separate folder, without most of their dependencies.
MISSIONS = pathlib.Path(sys.prefix) / "missions"
sys.path.append(str(MISSIONS))
warnings.simplefilter("ignore")

import asdf
import asdf_coordinates_schemas
import asdf_standard
import asdf_transform_schemas
import yaml
from asdf.exceptions import ValidationError
from roman_datamodels import datamodels

PACKAGES = [asdf_standard, asdf_transform_schemas, asdf_coordinates_schemas]
FOLDERS = [str(pathlib.Path(package.__file__).parent) for package in PACKAGES]
FOLDERS += [str(MISSIONS / name) for name in ("asdf_astropy", "asdf_wcs_schemas", "dkist", "rad", "sunpy")]
MANIFESTS = ["asdf://asdf-format.org/transform/manifests/transform-1.5.0"]

# Packages that cannot be imported without their dependencies. Their schemas are registered one by one.
NOT_IMPORTED = ["dkist", "sunpy"]

ARRAY = "!core/ndarray-1.0.0 {source: 0, datatype: float32, byteorder: little, shape: [2]}"

# Lines for the tree, each of which is valid or has a single fault.
TEXTS = [
    "x: 1",
    "asdf_library: !core/software-1.0.0 {name: a, version: '1'}",
    "asdf_library: !core/software-1.0.0 {name: 1, version: '1'}",
    "asdf_library: !core/software-1.0.0 {name: a}",
    "asdf_library: [1]",
    "history: {entries: [!core/history_entry-1.0.0 {description: a}]}",
    "history: {entries: [!core/history_entry-1.0.0 {time: 2020-01-01 00:00:00}]}",
    "history: {entries: [!core/history_entry-1.0.0 {description: a, time: 2020-01-01 00:00:00}]}",
    "history: {entries: [!core/history_entry-1.0.0 {description: a, time: 2020-01-01}]}",
    "history: {entries: [!core/history_entry-1.0.0 {description: a, time: 5}]}",
    "history: {entries: {}}",
    "history: 5",
    "history: {extensions: [!core/extension_metadata-1.0.0 {extension_class: a}]}",
    "history: {extensions: [!core/extension_metadata-1.0.0 {extension_uri: a}]}",
    f"x: {ARRAY}",
    f"x: {ARRAY.replace('shape: [2]', 'shape: [-2]')}",
    f"x: {ARRAY.replace('shape: [2]', 'shape: 2')}",
    f"x: {ARRAY.replace('float32', 'float33')}",
    f"x: {ARRAY.replace('little', 'middle')}",
    f"x: {ARRAY.replace('byteorder: little, ', '')}",
    f"x: {ARRAY.replace('datatype: float32, ', '')}",
    f"x: {ARRAY.replace('source: 0', 'offset: -1, source: 0')}",
    f"x: {ARRAY.replace('source: 0', 'strides: [0], source: 0')}",
    f"x: {ARRAY.replace('source: 0', 'mask: no, source: 0')}",
    f"x: {ARRAY.replace('float32', '[ascii, 4]')}",
    f"x: {ARRAY.replace('float32', '[ascii, a]')}",
    f"x: {ARRAY.replace('float32', '[{name: a, datatype: int8}]')}",
    f"x: {ARRAY.replace('float32', '[{name: 5, datatype: int8}]')}",
    "x: !core/ndarray-1.0.0 [1, 2]",
    "x: !core/ndarray-1.0.0 {data: [1, 2]}",
    "x: !core/ndarray-1.0.0 {data: 5}",
    "x: !core/ndarray-1.0.0 5",
    "x: !core/complex-1.0.0 1+2j",
    "x: !core/complex-1.0.0 (1-2i)",
    "x: !core/complex-1.0.0 one",
    "x: !core/constant-1.0.0 5",
    "x: !core/externalarray-1.0.0 {fileuri: a.fits, target: 1, datatype: float32, shape: [2]}",
    "x: !core/externalarray-1.0.0 {fileuri: a.fits, target: 1, datatype: float32}",
    "x: !core/integer-1.0.0 {words: !core/ndarray-1.0.0 [1], sign: +}",
    "x: !core/integer-1.0.0 {words: !core/ndarray-1.0.0 [1], sign: x}",
    "x: !core/integer-1.0.0 {words: [1], sign: +}",
    "x: !core/integer-1.0.0 {sign: +}",
    "x: {$ref: 'other.asdf#/x'}",
    "x: !core/software-1.0.0 {$ref: 'other.asdf#/x'}",
    "x: !transform/identity-1.2.0 {inputs: [a], outputs: [b]}",
    "x: !transform/identity-1.2.0 {n_dims: 2, inputs: [a, b], outputs: [a, b]}",
    "x: !transform/identity-1.2.0 {n_dims: two, inputs: [a], outputs: [b]}",
    "x: !transform/identity-1.2.0 {n_dims: 0, inputs: [a], outputs: [b]}",
    "x: !transform/scale-1.2.0 {factor: 2.0, inputs: [a], outputs: [b]}",
    "x: !transform/scale-1.2.0 {factor: two, inputs: [a], outputs: [b]}",
    "x: !transform/scale-1.2.0 {inputs: [a], outputs: [b]}",
    "x: !transform/compose-1.2.0 {forward: [!transform/scale-1.2.0 {factor: 2.0, inputs: [a], outputs: [b]},"
    " !transform/scale-1.2.0 {factor: 3.0, inputs: [b], outputs: [c]}], inputs: [a], outputs: [c]}",
    "x: !transform/compose-1.2.0 {forward: [!transform/scale-1.2.0 {factor: 2.0, inputs: [a], outputs: [b]}],"
    " inputs: [a], outputs: [c]}",
    "x: !transform/compose-1.2.0 {forward: [5, 6], inputs: [a], outputs: [c]}",
]


def write_texts(folder):
    folder.mkdir(exist_ok=True)
    for number, text in enumerate(TEXTS):
        head = "#ASDF 1.0.0\n#ASDF_STANDARD 1.5.0\n%YAML 1.1\n%TAG ! tag:stsci.edu:asdf/\n--- !core/asdf-1.1.0\n"
        block = b"\xd3BLK\0\x30" + bytes(8) + 3 * (8).to_bytes(8, "big") + bytes(16) + bytes(8)
        path = folder / f"{number:02}.asdf"
        path.write_bytes((head + text + "\n...\n").encode() + block)
        yield path


def write_roman_files(folder):
    """Writes each Roman data model, and a copy with a telescope that no schema allows. Yields the paths."""
    folder.mkdir(exist_ok=True)
    for name in dir(datamodels):
        model = getattr(datamodels, name)
        if not name.endswith("Model") or not hasattr(model, "_node_type"):
            continue
        path = folder / f"{name}.asdf"
        model.create_fake_data(shape=(8, 8)).save(path)
        yield path
        invalid = folder / f"{name}_invalid.asdf"
        invalid.write_bytes(path.read_bytes().replace(b"telescope: ROMAN", b"telescope: MARIO"))
        yield invalid


def resources_that_are_not_imported():
    """Returns the schemas and manifests of packages that cannot be imported, by URI."""
    paths = [path for name in NOT_IMPORTED for path in sorted((MISSIONS / name).glob("**/resources/**/*.yaml"))]
    texts = [path.read_bytes() for path in paths]
    return {yaml.safe_load(text)["id"]: text for text in texts}


RESOURCES = resources_that_are_not_imported()


def python_verdict(path):
    """Returns whether the reference considers a file valid, or `None` if it cannot read the file, and the reason."""
    with asdf.config_context() as config:
        config.validate_on_read = True
        config.add_resource_mapping(RESOURCES)
        for manifest in MANIFESTS + [uri for uri in RESOURCES if "/manifests/" in uri]:
            config.add_extension(asdf.extension.ManifestExtension.from_uri(manifest))
        try:
            with asdf.open(path, _force_raw_types=True):
                return True, ""
        except ValidationError as error:
            return False, str(error).splitlines()[0]
        except Exception as error:
            return None, f"{type(error).__name__}: {error}"


def main(directory, scibin):
    directory = pathlib.Path(directory)
    corpus = pathlib.Path(os.environ.get("SCIBIN_CORPUS", pathlib.Path(__file__).parents[5] / "shared" / "corpus"))
    files = sorted(directory.glob("*.asdf"))
    files += [path for name in ("reference", "fixtures") for path in sorted((corpus / "asdf" / name).glob("**/*.asdf"))]
    files += write_texts(directory / "faults")
    mission_files = sorted(MISSIONS.glob("**/*.asdf")) + list(write_roman_files(directory / "roman"))
    assert len(mission_files) > 100, f"only {len(mission_files)} files of missions"
    files += mission_files
    # One run for all files, because parsing all schemas takes longer than checking a file.
    schemas = [word for folder in FOLDERS for word in ("--schemas", folder)]
    command = [scibin, "asdf", "validate", "--json", "--quiet", *schemas, *files]
    output = subprocess.run(command, capture_output=True, text=True)
    reports = [json.loads(line) for line in output.stdout.splitlines()]
    assert [report["file"] for report in reports] == [str(path) for path in files], output.stderr
    differences, compared, invalid = [], 0, 0
    for path, report in zip(files, reports):
        verdict, reason = python_verdict(path)
        if verdict is None:
            continue
        compared += 1
        invalid += not verdict
        if report["ok"] != verdict:
            found = [f"{one['message']} [{one.get('schema')}]" for one in report["diagnostics"]]
            line = path.read_bytes().split(b"---")[1].splitlines()[1][:100] if path.parent.name == "faults" else ""
            differences.append(f"{path} {line}: the reference says {verdict} {reason}, ours {found}")
    if differences:
        sys.exit("\n".join(differences[:30]) + f"\n{len(differences)} of {compared} verdicts differ")
    assert compared > len(TEXTS) * 3 / 4 and invalid > 20, f"{compared} compared, {invalid} invalid"
    print(f"the same verdict on {compared} files, of which {invalid} are not valid")


if __name__ == "__main__":
    main(*sys.argv[1:])
