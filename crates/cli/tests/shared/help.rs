//! Tests of help, completions, man pages and colours.

use std::process::Command;

use crate::files;
use crate::program::{Folder, program, scibin, status, stderr, stdout};

#[test]
fn the_long_help_shows_examples_and_exit_statuses() {
    for command in [&["--help"][..], &["get", "--help"], &["flux", "create", "--help"]] {
        let help = stdout(&scibin(command));
        assert!(help.contains("\nExamples:\n  scibin "), "{help}");
        assert!(help.contains("\nExit status:\n  0  success\n"), "{help}");
    }
    let short = stdout(&scibin(&["get", "-h"]));
    assert!(!short.contains("Examples:"), "{short}");
}

#[test]
fn the_help_of_a_format_mentions_no_other_format() {
    let help = stdout(&scibin(&["asdf", "get", "--help"]));
    assert!(!help.contains("Bloscpack") && !help.contains("archive"), "{help}");
    let help = stdout(&scibin(&["bloscpack", "get", "--help"]));
    assert!(!help.contains("ASDF") && !help.contains("archive"), "{help}");
}

#[test]
fn completions_are_printed_for_each_shell() {
    for shell in ["bash", "zsh", "fish", "powershell", "elvish"] {
        let output = scibin(&["completions", shell]);
        assert_eq!(status(&output), 0, "{}", stderr(&output));
        assert!(stdout(&output).contains("bloscpack"), "{shell}");
    }
}

#[test]
#[cfg(unix)]
fn bash_completes_file_names_for_file_arguments() {
    let folder = files();
    folder.write("scibin.bash", scibin(&["completions", "bash"]).stdout);
    let proposed = |words: &str| {
        let script = format!(
            "source scibin.bash; COMP_WORDS=(scibin {words}); COMP_CWORD=$(( ${{#COMP_WORDS[@]}} - 1 )); \
             _scibin scibin \"${{COMP_WORDS[COMP_CWORD]}}\" \"${{COMP_WORDS[COMP_CWORD-1]}}\"; \
             echo \"${{COMPREPLY[*]}}\""
        );
        let mut bash = Command::new("bash");
        let output = bash.current_dir(folder.path("")).args(["-c", &script]).output().ok()?;
        Some(stdout(&output).trim_end().to_owned())
    };
    let Some(subcommands) = proposed("as") else { return };
    assert_eq!(subcommands, "asdf");
    // If the script proposes nothing, bash completes file names.
    assert_eq!(proposed("info ''").unwrap(), "");
    assert_eq!(proposed("bloscpack unpack ''").unwrap(), "");
    assert_eq!(proposed("asdf tree --sal").unwrap(), "--salvage");
    assert_eq!(proposed("flux extract --links r").unwrap(), "reject-absolute reject-escaping");
}

#[test]
fn man_pages_show_examples_and_exit_statuses() {
    let folder = Folder::new();
    folder.done(&["man", "pages/man1"]);
    let page = |name: &str| String::from_utf8(folder.read(&format!("pages/man1/{name}"))).unwrap();
    for name in ["scibin.1", "scibin-asdf-get.1", "scibin-bloscpack-meta-set.1", "scibin-flux-gc.1"]
    {
        let page = page(name);
        for heading in [".SH NAME", ".SH SYNOPSIS", ".SH EXAMPLES", ".SH \"EXIT STATUS\""] {
            assert!(page.contains(heading), "{name}: {heading}: {page}");
        }
    }
}

#[test]
fn the_color_option_overrides_the_environment_and_the_detection_of_a_terminal() {
    let folder = files();
    let colored = |arguments: &[&str], no_color: bool| {
        let mut command = program();
        command.current_dir(folder.path("")).args(arguments);
        if no_color {
            command.env("NO_COLOR", "1");
        }
        let output = command.output().unwrap();
        let is_colored = |text: String| text.contains("\u{1b}[");
        (is_colored(stdout(&output)), is_colored(stderr(&output)))
    };
    for command in ["info missing", "dudley check bad.dud", "verify missing"] {
        let arguments: Vec<&str> = command.split(' ').collect();
        let with = |when| [&arguments[..], &["--color", when]].concat();
        assert_eq!(colored(&arguments, false), (false, false), "{command} into a pipe");
        assert_eq!(colored(&with("always"), false), (false, true), "{command}");
        assert_eq!(colored(&with("always"), true), (false, true), "{command}");
        assert_eq!(colored(&with("never"), false), (false, false), "{command}");
    }
    assert!(colored(&["verify", "--color=always", "bad.blp"], false).0);
    folder.write("odd.json", r#"[{"path":"./d","mode":16877,"x":0}]"#);
    for command in [&["flux", "lint", "odd.json"][..], &["flux", "verify", "odd.json"]] {
        assert!(!colored(command, false).0, "{command:?}");
        assert!(!colored(&[command, &["--color", "never"]].concat(), false).0, "{command:?}");
        assert!(!colored(&[command, &["--color", "always", "--json"]].concat(), false).0);
    }
    let lint = ["flux", "lint", "odd.json", "--color", "always"];
    let shown = stdout(&folder.run(&lint));
    assert_eq!(shown.matches("\u{1b}[0m").count(), shown.lines().count(), "{shown}");
    assert_eq!(colored(&["--help", "--color", "always"], false), (true, false));
    assert_eq!(status(&scibin(&["--color", "mauve", "info", "x"])), 2);
}
