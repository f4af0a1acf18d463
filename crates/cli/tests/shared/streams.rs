//! Tests of standard input and output, given as "-" or by device names.

use std::process::{Command, Output, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use crate::files;
use crate::program::{Folder, json_of, npy_header, status, stderr, stdout};

#[test]
fn info_and_verify_and_get_read_standard_input() {
    let folder = files();
    for (file, commands) in [
        ("good.asdf", &["info", "verify"][..]),
        ("good.blp", &["info", "verify"]),
        ("good.json", &["info", "verify"]),
    ] {
        let input = folder.read(file);
        for command in commands {
            for name in ["-", "/dev/stdin"] {
                let output = folder.feed(&[command, name], &input);
                assert_eq!(status(&output), 0, "{command} {name} < {file}: {}", stderr(&output));
            }
        }
    }
    let output = folder.feed(&["get", "-", "/meta/exposure_time"], &folder.read("good.asdf"));
    assert_eq!(stdout(&output), "120.5\n");
    let output = folder.feed(
        &["asdf", "get", "-", "/image/data", "--slice", "0,0:2", "--json"],
        &folder.read("good.asdf"),
    );
    assert_eq!(json_of(&output)["shape"], serde_json::json!([2]));
    let output = folder.feed(&["asdf", "tree", "-"], &folder.read("good.asdf"));
    assert_eq!(status(&output), 0, "{}", stderr(&output));
    let output = folder.feed(&["info", "-"], b"neither");
    assert_eq!(status(&output), 2);
    assert!(stderr(&output).starts_with("scibin: standard input: "), "{}", stderr(&output));
}

#[test]
fn messages_refer_to_standard_input_but_json_reports_contain_its_path() {
    let folder = files();
    for extension in ["asdf", "blp", "json", "native", "bare"] {
        for command in ["info", "verify"] {
            for state in ["good", "bad"] {
                let file = format!("{state}.{extension}");
                let input = folder.read(&file);
                let output = folder.feed(&[command, "-"], &input);
                let said = stdout(&output) + &stderr(&output);
                assert!(said.contains("standard input"), "{command} < {file}: {said}");
                let is_short = |line: &str| line == "-" || line.contains("-: ");
                assert!(!said.lines().any(is_short), "{command} < {file}: {said}");
                let report = json_of(&folder.feed(&[command, "-", "--json"], &input));
                assert_eq!(report["file"], "-", "{command} < {file}: {report}");
            }
        }
    }
    let input = folder.read("good.asdf");
    for (command, message) in [
        ("asdf search - --key nothing", "standard input: no node matches\n"),
        ("get - /meta -o x.npy", "standard input /meta: expected an array or a table: "),
        ("dudley new - --layout good.dud --strict", "standard output: "),
        ("asdf explode - -o -", "standard output: cannot contain several files; "),
    ] {
        let output = folder.feed(&command.split(' ').collect::<Vec<_>>(), &input);
        let expected = format!("scibin: {message}");
        assert!(stderr(&output).starts_with(&expected), "{command}: {}", stderr(&output));
    }
    let report = json_of(&folder.feed(&["asdf", "history", "-", "--json"], &input));
    assert_eq!(report["file"], "-");
}

#[test]
#[cfg(unix)]
fn output_is_written_to_devices_and_pipes() {
    let folder = files();
    let part = ["get", "good.asdf", "/image/data", "--slice", "0,0:2", "-o"];
    let to = |name: &str| folder.done(&[&part[..], &[name]].concat()).stdout;
    let npy = to("-");
    assert!(npy.starts_with(b"\x93NUMPY"));
    assert_eq!(to("/dev/stdout"), npy);
    assert_eq!(to("/dev/null"), b"");
    let output = folder.done(&["bloscpack", "unpack", "good.blp", "-o", "/dev/stdout"]);
    let plain = output.stdout;
    assert_eq!(folder.done(&["bloscpack", "cat", "good.blp"]).stdout, plain);
    let output = folder.done(&["bloscpack", "convert", "good.blp", "-o", "/dev/stdout"]);
    assert!(output.stdout.starts_with(b"blpk"));
    let output = folder.done(&["flux", "create", "-o", "/dev/stdout", "good.dud"]);
    assert!(output.stdout.starts_with(b"["), "{}", stdout(&output));
    let output = folder.done(&["flux", "convert", "-o", "/dev/stdout", "good.json"]);
    assert_eq!(output.stdout.first(), Some(&b'{'));
}

/// Commands that write a file, in which `%` stands for the name of the file.
const WRITING: &[&str] = &[
    "info good.asdf --html %",
    "get good.asdf /image/data -o %",
    "get good.asdf /image/data --png %",
    "asdf convert good.asdf -o %",
    "asdf get good.asdf /image/data -o %",
    "asdf implode good.asdf -o %",
    "asdf import good.asdf /new good.npy -o %",
    "asdf mv good.asdf /meta/exposure_time time -o %",
    "asdf new % --array /x=good.npy",
    "asdf repair good.asdf -o %",
    "asdf rm good.asdf /meta/exposure_time -o %",
    "asdf set good.asdf /meta/exposure_time 1 -o %",
    "asdf to-yaml good.asdf -o %",
    "bloscpack convert good.blp -o %",
    "bloscpack get npy.blp -o %",
    "bloscpack recover bad.blp -o %",
    "bloscpack unpack good.blp -o %",
    "dudley codegen good.dud --lang c -o %",
    "dudley extract-layout good.native -o %",
    "dudley get good.native /x -o %",
    "dudley import good.npy -o %",
    "dudley index good.dud -o %",
    "dudley new % --layout good.dud",
    "flux convert good.json -o %",
    "flux create good.dud -o %",
    "flux externalize good.json --store store -o %",
    "flux lint good.json --fix -o %",
    "flux pack good.json -o %",
];

#[test]
fn commands_that_write_data_to_standard_output_print_nothing_else_there() {
    let folder = files();
    folder.done(&["bloscpack", "pack", "-q", "good.npy", "-o", "npy.blp"]);
    for command in WRITING {
        for options in [&[][..], &["--json"]] {
            let to = |target: &str| {
                let command = command.replace('%', target);
                folder.run(&command.split(' ').chain(options.iter().copied()).collect::<Vec<_>>())
            };
            let (file, stream) = (to("out"), to("-"));
            let said = stderr(&stream);
            assert_eq!(status(&stream), status(&file), "{command}: {said}");
            if said.contains("scibin: --json: ") {
                assert!(stream.stdout.is_empty(), "{command}");
                continue;
            }
            if stream.stdout != folder.read("out") {
                // A compiled layout contains the time at which the text last changed only if that
                // was long enough ago. This may have become true between the two commands.
                folder.remove("out");
                to("out");
            }
            assert!(stream.stdout == folder.read("out"), "{command} {options:?}");
            folder.remove("out");
            // Losses are still reported, but on standard error.
            let is_reported = said.contains("bad.blp: lost chunk 2, ");
            assert_eq!(is_reported, command.contains("bad.blp"), "{command}: {said}");
        }
    }
}

#[test]
fn commands_that_change_a_file_reject_standard_input() {
    let folder = files();
    for command in [
        "asdf set - /a 1",
        "bloscpack append - good.npy",
        "bloscpack meta rm - /a",
        "bloscpack meta set - /a 1",
        "dudley append - --layout good.dud",
        "dudley put - /x good.npy",
    ] {
        let output = folder.feed(&command.split(' ').collect::<Vec<_>>(), &folder.read("good.blp"));
        assert_eq!(status(&output), 2, "{command}");
        let expected = "scibin: standard input: cannot be changed; ";
        assert!(stderr(&output).starts_with(expected), "{command}: {}", stderr(&output));
    }
}

#[test]
fn recover_reads_a_damaged_file_from_standard_input() {
    let folder = files();
    folder.run(&["bloscpack", "recover", "bad.blp", "-o", "out"]);
    let recover = ["bloscpack", "recover", "-", "-o", "-"];
    let output = folder.feed(&recover, &folder.read("bad.blp"));
    assert_eq!((status(&output), output.stdout), (1, folder.read("out")));
}

#[test]
fn an_output_that_is_a_directory_is_rejected_even_with_force() {
    let folder = files();
    folder.done(&["bloscpack", "pack", "-q", "good.npy", "-o", "npy.blp"]);
    std::fs::create_dir(folder.path("directory")).unwrap();
    for command in WRITING {
        let command = command.replace('%', "directory");
        for options in [&[][..], &["-f"]] {
            let arguments: Vec<_> = command.split(' ').chain(options.iter().copied()).collect();
            let output = folder.run(&arguments);
            let expected = "scibin: directory: is a directory; expected the name of a file\n";
            assert_eq!((status(&output), &*stderr(&output)), (2, expected), "{command}");
        }
    }
}

#[test]
fn an_output_in_a_missing_folder_is_reported_with_the_name_of_the_folder() {
    let folder = files();
    folder.done(&["bloscpack", "pack", "-q", "good.npy", "-o", "npy.blp"]);
    for command in WRITING {
        let output = folder.run(&command.replace('%', "a/b/out").split(' ').collect::<Vec<_>>());
        let expected = "scibin: a/b/out: the folder a/b does not exist\n";
        assert_eq!((status(&output), &*stderr(&output)), (2, expected), "{command}");
    }
}

#[cfg(target_os = "linux")]
#[test]
fn a_failure_to_write_to_standard_output_is_reported_once() {
    let folder = files();
    for command in ["info good.asdf good.blp", "verify good.asdf good.blp", "flux info good.json"] {
        for options in [&[][..], &["--json"]] {
            let arguments: Vec<_> = command.split(' ').chain(options.iter().copied()).collect();
            let full = std::fs::File::options().write(true).open("/dev/full").unwrap();
            let output = folder.command(&arguments).stdout(full).output().unwrap();
            let expected = "scibin: standard output: No space left on device (os error 28)\n";
            assert_eq!((status(&output), &*stderr(&output)), (2, expected), "{command}");
        }
    }
}

#[test]
fn existing_output_is_replaced_only_with_force_or_overwrite() {
    for option in ["--force", "--overwrite", "-f"] {
        let folder = files();
        for command in [
            &["get", "good.asdf", "/image/data", "-o", "out"][..],
            &["bloscpack", "unpack", "good.blp", "-o", "out"],
            &["flux", "convert", "good.json", "-o", "out"],
            #[cfg(unix)]
            &["flux", "create", "good.dud", "-o", "out"],
        ] {
            folder.write("out", "old");
            assert_eq!(status(&folder.run(command)), 2, "{command:?}");
            folder.done(&[command, &[option]].concat());
            assert_ne!(folder.read("out"), b"old", "{command:?} {option}");
        }
    }
}

/// Runs the program under the name `name`, so that `/proc/self/comm`, a file that reports a size of
/// 0, contains this name.
#[cfg(target_os = "linux")]
fn named(folder: &Folder, name: &str, arguments: &[&str]) -> Output {
    let _ = std::os::unix::fs::symlink(env!("CARGO_BIN_EXE_scibin"), folder.path(name));
    let mut command = Command::new(format!("./{name}"));
    command.current_dir(folder.path("")).args(arguments).output().unwrap()
}

#[cfg(target_os = "linux")]
#[test]
fn files_that_report_a_size_of_0_are_read_to_the_end() {
    let folder = Folder::new();
    let file = "/proc/self/comm";
    assert_eq!(std::fs::metadata(file).unwrap().len(), 0);

    // Run the program under a name that is a valid archive.
    for (command, expected) in [
        (&["flux", "list", "--json"][..], "[]\n"),
        (&["flux", "convert", "--to", "array"], "[]"),
        (&["flux", "lint"], ""),
        (&["flux", "verify"], "/proc/self/comm: fine, 0 entries checked\n"),
        (&["verify"], "/proc/self/comm: fine, 0 entries checked\n"),
        (&["get"], "[]\n"),
    ] {
        let output = named(&folder, "[]", &[command, &[file]].concat());
        assert_eq!((stdout(&output), stderr(&output)), (expected.to_owned(), String::new()));
        assert_eq!(status(&output), 0, "{command:?}");
    }
    assert_eq!(status(&named(&folder, "[]", &["info", file])), 0);
    folder.write("f", "content");
    let created = ["flux", "create", "--overwrite", "-o", "a.json", "f", "/proc/filesystems"];
    folder.done(&created);
    let content = std::fs::read("/proc/filesystems").unwrap();
    let cat = ["flux", "cat", "a.json", "proc/filesystems"];
    assert!(!content.is_empty() && folder.done(&cat).stdout == content);
    folder.done(&[&created[..], &["--store", "blobs", "--small-file-threshold", "1"]].concat());
    assert_eq!(folder.done(&[&cat[..], &["--store", "blobs"]].concat()).stdout, content);

    // Run the program under a name that is a valid layout.
    let layout = "x=f8[3]";
    let row = stdout(&named(&folder, layout, &["dudley", "resolve", file]));
    assert!(row.contains("<f8[3]") && row.ends_with(" /x\n"), "{row}");
    for (command, expected) in [
        (&["dudley", "check"][..], "0 errors"),
        (&["dudley", "tree"], "x"),
        (&["dudley", "diff", "-"], "/x"),
    ] {
        let output = named(&folder, layout, &[command, &[file]].concat());
        let said = stdout(&output);
        assert!(said.contains(expected), "{command:?}: {said}{}", stderr(&output));
    }
    // Resolve a layout with the name as the stream, so that the first byte of the name is the value
    // of the parameter.
    folder.write("n.dud", "N : u1  x = u1[N]\n");
    let resolve = ["dudley", "resolve", "n.dud", "--allow", "L-past-end", "--stream", file];
    let output = named(&folder, "!", &resolve);
    assert!(stdout(&output).contains(" u1[33]"), "{}{}", stdout(&output), stderr(&output));
    folder.write("a.npy", "");
    let output = named(&folder, "x", &["dudley", "from-numpy", file]);
    assert_eq!(
        status(&output),
        1,
        "the name is not an array, and must not be read as an empty file: {}",
        stderr(&output)
    );

    // If the name is not a valid ASDF file, the error must not claim that the file is empty.
    for command in ["info", "tree", "blocks", "verify", "get"] {
        let output = named(&folder, "#ASDX 1.0.0", &["asdf", command, file]);
        assert_eq!(status(&output), 1, "{command}: {}{}", stdout(&output), stderr(&output));
        assert!(!stderr(&output).contains("empty"), "{}", stderr(&output));
    }
    // Run the program under a name that is an ASDF header without a tree.
    let output = named(&folder, "#ASDF 1.0.0", &["info", "--json", file]);
    assert_eq!(json_of(&output)["version"], "1.0.0", "{}", stdout(&output));
}

/// A pipe cannot be read at arbitrary offsets. If a command cannot read the pipe from start to end,
/// it must reject the pipe, rather than wait for a writer or treat the pipe as empty.
#[cfg(unix)]
#[test]
fn a_named_pipe_is_read_by_some_commands_and_rejected_without_waiting_by_the_others() {
    let folder = files();
    let made = Command::new("mkfifo").arg(folder.path("fifo")).status();
    if !made.is_ok_and(|status| status.success()) {
        eprintln!("skipped: no mkfifo here");
        return;
    }
    for command in [
        "info fifo",
        "verify fifo",
        "get fifo",
        "asdf info fifo",
        "asdf tree fifo",
        "asdf blocks fifo",
        "asdf get fifo",
        "asdf verify fifo",
        "bloscpack info fifo",
        "bloscpack verify fifo",
        "bloscpack get fifo",
        "bloscpack cat fifo",
        "bloscpack unpack fifo -o out",
        "bloscpack append fifo good.dud",
        "bloscpack recover fifo -o out",
        "bloscpack convert fifo -o out",
        "bloscpack meta get fifo",
        "bloscpack meta set fifo /a 1",
        "bloscpack meta rm fifo /a",
        "dudley resolve good.dud --stream fifo",
        "dudley from-numpy fifo",
        "flux info fifo",
        "flux list fifo",
        "flux cat fifo f",
        "flux extract fifo",
        "flux verify fifo",
        "flux verify --store fifo good.json",
        "flux lint fifo",
        "flux lint --fix fifo",
        "flux convert fifo",
        "flux append fifo good.dud",
        "flux delete fifo f",
        "flux pack fifo",
        "flux put fifo",
        "flux diff fifo good.json",
        "flux diff good.json fifo",
        "flux gc --store . fifo",
        "flux rescue fifo",
        "flux list --statedir fifo",
        "flux create -o a.json fifo",
        "dudley fmt fifo",
    ] {
        let arguments: Vec<&str> = command.split(' ').collect();
        let mut child = folder.command(&arguments).stderr(Stdio::piped()).spawn().unwrap();
        let begun = Instant::now();
        while child.try_wait().unwrap().is_none() {
            let is_late = begun.elapsed() > Duration::from_secs(20);
            if is_late {
                child.kill().unwrap();
            }
            assert!(!is_late, "{command} waits");
            thread::sleep(Duration::from_millis(2));
        }
        let output = child.wait_with_output().unwrap();
        assert_eq!(status(&output), 2, "{command}: {}", stderr(&output));
        assert!(stderr(&output).contains("fifo"), "{command}: {}", stderr(&output));
    }
    // These commands read from start to end, so they accept a pipe and wait for a writer.
    for command in ["dudley check fifo", "dudley tree fifo", "dudley from-c fifo"] {
        let content = if command.ends_with("from-c fifo") { "good.h" } else { "good.dud" };
        let script = format!("cat {content} > fifo & exec \"$0\" {command}");
        let mut shell = Command::new("sh");
        shell.args(["-c", &script, env!("CARGO_BIN_EXE_scibin")]).current_dir(folder.path(""));
        let output = shell.output().unwrap();
        assert_eq!(status(&output), 0, "{command}: {}", stderr(&output));
    }
}

#[test]
fn a_given_format_overrides_detection() {
    let folder = files();
    let layout = b"x = f8[3]\n";
    assert_eq!(status(&folder.feed(&["info", "-"], layout)), 2);
    for command in ["info", "verify"] {
        let output = folder.feed(&[command, "--format", "dudley", "-"], layout);
        assert_eq!(status(&output), 0, "{}", stderr(&output));
        assert!(stdout(&output).starts_with("standard input: "), "{}", stdout(&output));
    }
    let output = folder.run(&["verify", "--format", "flux", "good.asdf"]);
    assert_eq!(status(&output), 1, "{}", stderr(&output));
}

#[test]
fn messages_use_the_singular_for_1() {
    let folder = Folder::new();
    let npy = [npy_header("[('a', '<i2')]", &[2]), vec![1, 0, 2, 0]].concat();
    folder.write("x.npy", npy);
    folder.done(&["asdf", "new", "a.asdf", "-q", "--array", "/x=x.npy"]);
    folder.done(&["bloscpack", "pack", "-q", "x.npy", "-o", "x.blp"]);
    for (command, part) in [
        (&["info", "a.asdf"][..], "1 field "),
        (&["verify", "x.blp"], "x.blp: fine, 1 chunk of "),
        (&["bloscpack", "convert", "x.blp", "-o", "y.blp"], "y.blp: 1 chunk in "),
    ] {
        let output = folder.done(command);
        assert!(stdout(&output).contains(part), "{command:?}: {}", stdout(&output));
    }
}

#[test]
fn library_messages_use_the_singular_for_1() {
    let folder = files();
    let packed = folder.read("good.blp");
    folder.write("long.blp", [&packed[..], &[0]].concat());
    let output = folder.done(&["verify", "long.blp"]);
    assert!(stderr(&output).contains("]: 1 byte after the last chunk "), "{}", stderr(&output));
    folder.write("longer.blp", [&packed[..], &[0, 0]].concat());
    let output = folder.done(&["verify", "longer.blp"]);
    assert!(stderr(&output).contains("]: 2 bytes after the last chunk "), "{}", stderr(&output));

    folder.write("x.npy", [npy_header("'<i2'", &[1]), vec![1, 0]].concat());
    folder.done(&["bloscpack", "pack", "-q", "x.npy", "-o", "x.blp"]);
    let output = folder.run(&["get", "x.blp", "--slice", "0,0"]);
    assert!(stderr(&output).contains("2 slices for 1 dimension"), "{}", stderr(&output));
}
