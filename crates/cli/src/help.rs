//! Completing the help that is derived from the arguments: headings for options, examples, and exit
//! statuses. Man pages and shell completions are generated from the result.

use std::fmt::Write as _;

use clap::builder::{StyledStr, Styles};
use clap::{Arg, Command, CommandFactory, ValueHint};

use crate::arguments::Arguments;
use crate::output::color;

/// The options to list under each heading, for all commands. Any other option is listed under the
/// heading from its definition or, without a heading, under "Options".
const HEADINGS: &[(&str, &[&str])] = &[
    (
        "Output",
        &[
            "output",
            "force",
            "overwrite",
            "append",
            "skip_existing",
            "keep_newer",
            "form",
            "npy",
            "metadata_out",
        ],
    ),
    (
        "Reading",
        &[
            "salvage",
            "external",
            "strict",
            "order",
            "no_verify",
            "profile",
            "pointer",
            "lenient_json",
            "statedir",
            "name",
            "job",
        ],
    ),
    (
        "Compression",
        &["compress", "typesize", "clevel", "shuffle", "no_shuffle", "codec", "chunk_size"],
    ),
    ("Blobs", &["store", "stores", "chunksize", "small_file_threshold", "hash", "require_hash"]),
    ("Global options", &["json", "quiet", "color"]),
];

const EXIT_STATUS: &[&str] = &[
    "0  success",
    "1  the data is bad, a check failed, or a comparison found differences",
    "2  error: a file cannot be opened or written, or the arguments are invalid",
];

const EXIT_STATUS_OF_DIFF: &[&str] = &[
    "0  no differences",
    "1  differences found",
    "2  error: a file cannot be read, or the arguments are invalid",
];

/// The exit statuses of `blpk`, which are the same as in the original program.
const EXIT_STATUS_OF_BLPK: &[&str] = &["0  success", "1  error", "2  the arguments are invalid"];

/// Returns the definition of the command line, with the headings and sections that this module
/// adds.
pub(crate) fn command() -> Command {
    described(Arguments::command().arg(color::argument()), "")
}

/// Adds headings and sections to the help of a command and its subcommands. `path` contains the
/// words after `scibin`, such as "asdf info".
fn described(command: Command, path: &str) -> Command {
    let examples = command.get_after_long_help().map(ToString::to_string);
    let help = after_help(path, examples.as_deref());
    command
        .mut_args(|argument| described_argument(argument, path))
        .after_long_help(help)
        .mut_subcommands(|command| {
            let path = format!("{path} {}", command.get_name());
            described(command, path.trim_start())
        })
}

fn described_argument(mut argument: Arg, path: &str) -> Arg {
    let id = argument.get_id().as_str().to_owned();
    let heading = HEADINGS.iter().find(|(_, ids)| ids.contains(&id.as_str()));
    // In `from-numpy` and `put`, `--name` sets the name of a new array or archive. In all other
    // commands, `--name` selects an existing archive, so it is listed under "Reading".
    let is_own_name = id == "name" && matches!(path, "dudley from-numpy" | "flux put");
    if let (Some((heading, _)), false) = (heading, argument.is_positional() || is_own_name) {
        argument = argument.help_heading(*heading);
    }
    let is_directory =
        argument.get_value_names().is_some_and(|names| names.iter().any(|name| name == "DIR"));
    match (argument.get_value_hint(), id.as_str()) {
        _ if is_directory => argument.value_hint(ValueHint::DirPath),
        // Without this hint, shells would complete every value with file names, even a number.
        (ValueHint::Unknown, _) if argument.get_action().takes_values() => {
            argument.value_hint(ValueHint::Other)
        }
        _ => argument,
    }
}

/// Returns the last sections of the long help: the examples, which are defined along with the
/// arguments of the command, and the exit statuses.
fn after_help(path: &str, examples: Option<&str>) -> StyledStr {
    let styles = Styles::styled();
    let header = styles.get_header();
    let mut text = String::new();
    let mut section = |name: &str, lines: &mut dyn Iterator<Item = &str>| {
        let gap = if text.is_empty() { "" } else { "\n" };
        let _ = writeln!(text, "{gap}{header}{name}:{header:#}");
        for line in lines {
            let _ = writeln!(text, "  {line}");
        }
    };
    if let Some(examples) = examples {
        section("Examples", &mut examples.lines());
    }
    let statuses = match path {
        path if path.starts_with("blpk") => EXIT_STATUS_OF_BLPK,
        path if path.ends_with(" diff") => EXIT_STATUS_OF_DIFF,
        _ => EXIT_STATUS,
    };
    section("Exit status", &mut statuses.iter().copied());
    text.trim_end().to_owned().into()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the commands that have no subcommands, each with its path.
    fn leaves() -> Vec<(String, Command)> {
        let mut all = all();
        all.retain(|(_, command)| !command.has_subcommands());
        all
    }

    /// Returns all commands at every level, except `help` commands, each with its path.
    fn all() -> Vec<(String, Command)> {
        let mut command = command();
        command.build();
        let mut stack = vec![(String::new(), command)];
        let mut all = Vec::new();
        while let Some((path, command)) = stack.pop() {
            let below = |command: &Command| {
                let path = format!("{path} {}", command.get_name()).trim_start().to_owned();
                (path, command.clone())
            };
            let commands = command.get_subcommands().filter(|command| command.get_name() != "help");
            stack.extend(commands.map(below));
            all.push((path, command));
        }
        all
    }

    /// Splits a command line into words, without splitting quoted words. Skips environment
    /// variables, redirections, and all but the last command of a pipeline.
    fn words(line: &str) -> Vec<String> {
        let line = line.rsplit(" | ").next().unwrap_or(line);
        let line = line.split(" > ").next().unwrap_or(line);
        let mut words = vec![String::new()];
        for (number, part) in line.split('\'').enumerate() {
            let is_quoted = number % 2 == 1;
            for (at, piece) in part.split(' ').enumerate() {
                match words.last_mut() {
                    Some(word) if is_quoted && at > 0 => {
                        word.push(' ');
                        word.push_str(piece);
                    }
                    Some(word) if at == 0 => *word += piece,
                    _ => words.push(piece.to_owned()),
                }
            }
        }
        words.into_iter().skip_while(|word| word.contains('=')).collect()
    }

    #[test]
    fn every_command_has_examples_that_parse() {
        for (path, described) in all() {
            let help = described.get_after_long_help().unwrap().to_string();
            let examples =
                help.strip_prefix("Examples:\n").and_then(|help| help.split_once("\n\n"));
            let (examples, _) = examples.unwrap_or_else(|| panic!("{path} has no example"));
            for example in examples.lines().map(str::trim_start) {
                let words = words(example);
                let parsed = match words[0].as_str() {
                    "blpk" => crate::arguments::blpk::Blpk::command().try_get_matches_from(&words),
                    _ => command().try_get_matches_from(&words),
                };
                assert!(parsed.is_ok(), "{path}: {example}: {}", parsed.unwrap_err());
                assert!(example.len() <= 78, "{example} is too long for a terminal");
            }
        }
    }

    #[test]
    fn help_fits_a_terminal_with_80_columns() {
        for (path, command) in all() {
            let mut command = command.term_width(80);
            for help in [command.render_help(), command.render_long_help()] {
                for line in help.to_string().lines() {
                    assert!(line.chars().count() <= 80, "{path}: {line}");
                }
            }
        }
    }

    #[test]
    fn help_headings_list_only_existing_arguments() {
        let leaves = leaves();
        for id in HEADINGS.iter().flat_map(|(_, ids)| *ids) {
            let mut arguments = leaves.iter().flat_map(|(_, command)| command.get_arguments());
            assert!(arguments.any(|argument| argument.get_id() == *id), "{id}");
        }
    }

    #[test]
    fn placeholders_in_help_contain_no_underscores() {
        for (path, command) in leaves() {
            if path.starts_with("blpk") {
                continue; // `blpk` shows the help of the original program.
            }
            let takes_value = |argument: &&Arg| argument.get_action().takes_values();
            let arguments = command.get_arguments().filter(takes_value);
            for name in arguments.filter_map(Arg::get_value_names).flatten() {
                assert!(!name.contains('_'), "{path}: {name}");
            }
        }
    }

    /// A short option must stand for the same long option in all commands. A long option must take
    /// a value either in all commands or in none.
    #[test]
    fn short_options_and_option_values_are_consistent_across_commands() {
        let (mut shorts, mut longs) = (Vec::new(), Vec::new());
        for (path, command) in leaves() {
            if path.starts_with("blpk") {
                continue; // `blpk` has the short options of the original program.
            }
            for argument in command.get_arguments() {
                let Some(long) = argument.get_long() else { continue };
                let takes_value = argument.get_action().takes_values();
                shorts.extend(argument.get_short().map(|short| (short, long.to_owned())));
                longs.push((long.to_owned(), takes_value, path.clone()));
            }
        }
        for (short, long) in &shorts {
            let other = shorts.iter().find(|(of, other)| of == short && other != long);
            assert_eq!(other, None, "-{short} also stands for --{long}");
        }
        for (long, takes_value, path) in &longs {
            let other = longs.iter().find(|(of, takes, _)| of == long && takes != takes_value);
            assert_eq!(other, None, "--{long} of {path}");
        }
    }
}
