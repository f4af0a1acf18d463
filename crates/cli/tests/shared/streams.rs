//! Standard input and output, by "-" and by the names of devices.

use crate::files;
use crate::program::{json_of, status, stderr, stdout};

#[test]
fn standard_input_is_read_by_info_verify_and_get() {
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
#[cfg(unix)]
fn output_goes_to_devices_and_pipes() {
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
    let output = folder.done(&["bloscpack", "convert", "-q", "good.blp", "-o", "/dev/stdout"]);
    assert!(output.stdout.starts_with(b"blpk"));
    let output = folder.done(&["flux", "create", "-o", "/dev/stdout", "good.dud"]);
    assert!(output.stdout.starts_with(b"["), "{}", stdout(&output));
    let output = folder.done(&["flux", "convert", "-o", "/dev/stdout", "good.json"]);
    assert_eq!(output.stdout.first(), Some(&b'{'));
}

#[test]
fn existing_output_is_replaced_by_force_and_by_overwrite() {
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
