//! Tests of `--quiet`.

use crate::files;
use crate::program::{Folder, npy_header, status, stderr, stdout};

/// Commands that only write, check or compare files, and therefore print nothing with `--quiet`.
const SILENT: &[&str] = &[
    "verify good.asdf good.blp good.json good.dud good.native",
    "man pages",
    "asdf convert good.asdf -o out",
    "asdf diff good.asdf good.asdf",
    "asdf edit good.asdf",
    "asdf explode good.asdf -o out",
    "asdf implode good.asdf -o out",
    "asdf import good.asdf /new good.npy",
    "asdf mv good.asdf /meta/exposure_time time",
    "asdf new out --array /x=good.npy",
    "asdf repair good.asdf -o out",
    "asdf rm good.asdf /meta/exposure_time",
    "asdf set good.asdf /meta/exposure_time 1",
    "asdf to-yaml good.asdf -o out",
    "asdf validate good.asdf --schemas SCHEMAS",
    "asdf verify good.asdf",
    "blpk append good.blp good.npy",
    "blpk compress good.npy",
    "blpk decompress good.blp out",
    "bloscpack append good.blp good.npy",
    "bloscpack convert good.blp -o out",
    "bloscpack meta rm npy.blp /container",
    "bloscpack meta set npy.blp /new 1",
    "bloscpack pack good.npy",
    "bloscpack recover good.blp -o out",
    "bloscpack unpack good.blp -o out",
    "bloscpack verify good.blp",
    "dudley append good.native --layout more.dud --set /y=three.npy",
    "dudley check good.dud",
    "dudley codegen good.dud --lang c -o out",
    "dudley diff good.dud good.dud",
    "dudley extract-layout good.native -o out",
    "dudley fmt more.dud",
    "dudley import good.npy -o out",
    "dudley index good.dud",
    "dudley new out --layout good.dud --set /x=three.npy",
    "dudley put good.native /x three.npy",
    "flux append good.json good.dud",
    "flux convert good.json -o out",
    "flux create good.dud -o out",
    "flux delete good.json f",
    "flux diff good.json good.json",
    "flux externalize good.json -o out --store store",
    "flux extract good.json -C store",
    "flux gc good.json --store store",
    "flux lint good.json --fix -o out",
    "flux pack good.json -o out",
    "flux verify good.json",
];

/// The commands that print data, even with `--quiet`.
const PRINTING: &[&str] = &[
    "completions",
    "get",
    "info",
    "asdf blocks",
    "asdf get",
    "asdf history",
    "asdf info",
    "asdf search",
    "asdf tree",
    "blpk info",
    "bloscpack cat",
    "bloscpack estimate",
    "bloscpack get",
    "bloscpack info",
    "bloscpack meta get",
    "dudley dump",
    "dudley explain",
    "dudley from-c",
    "dudley from-numpy",
    "dudley get",
    "dudley locate",
    "dudley resolve",
    "dudley tree",
    "flux cat",
    "flux info",
    "flux list",
    // `put` needs the `flux` program.
    "flux put",
    "flux rescue",
];

#[test]
fn commands_that_write_or_check_or_compare_files_print_nothing_with_quiet() {
    let mut faults = Vec::new();
    let schemas = testdata::path("asdf/schemas");
    for command in SILENT {
        let folder = files();
        std::fs::create_dir(folder.path("store")).unwrap();
        folder.write("more.dud", "y=f8[3]\n");
        folder.write("three.npy", [npy_header("<f8", &[3]), vec![0; 24]].concat());
        folder.done(&["bloscpack", "pack", "-q", "good.npy", "-o", "npy.blp"]);
        let command = command.replace("SCHEMAS", schemas.to_str().unwrap());
        let arguments: Vec<&str> = command.split(' ').chain(["--quiet"]).collect();
        let output = folder.command(&arguments).env("EDITOR", "true").output().unwrap();
        let printed = stdout(&output) + &stderr(&output);
        if status(&output) != 0 || !printed.is_empty() {
            faults.push(format!("scibin {command}: status {}: {printed}", status(&output)));
        }
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

#[test]
fn diff_of_different_files_prints_nothing_with_quiet() {
    let folder = files();
    folder.write("other.dud", "y = f8[3]\n");
    folder.write("other.json", "[]");
    folder.done(&["asdf", "new", "-q", "other.asdf"]);
    for (format, extension) in [("asdf", "asdf"), ("dudley", "dud"), ("flux", "json")] {
        let files = ["good", "other"].map(|name| format!("{name}.{extension}"));
        let output = folder.run(&[format, "diff", &files[0], &files[1], "--quiet"]);
        assert_eq!((status(&output), stdout(&output) + &stderr(&output)), (1, String::new()));
    }
}

#[test]
fn every_command_is_in_one_of_the_two_lists() {
    let folder = Folder::new();
    folder.done(&["man", "."]);
    let pages = folder.names();
    let names: Vec<&str> = pages.iter().filter_map(|page| page.strip_suffix(".1")).collect();
    let is_group = |name: &str| names.iter().any(|other| other.starts_with(&format!("{name}-")));
    let listed = |name: &str| {
        let all = SILENT.iter().chain(PRINTING).map(|command| command.replace(' ', "-") + "-");
        let wanted = format!("{}-", name.trim_start_matches("scibin-"));
        all.filter(|command| command.starts_with(&wanted)).count()
    };
    for name in names.iter().filter(|name| !is_group(name)) {
        assert!(listed(name) == 1, "{name} is in the lists {} times", listed(name));
    }
}
