//! What the help adds to the arguments: headings, examples, exit statuses, and what shared arguments mean
//! for the format in hand. Man pages and completions are made from the same.

use std::fmt::Write as _;

use clap::builder::{StyledStr, Styles};
use clap::{Arg, Command, CommandFactory, ValueHint};

use crate::arguments::Arguments;
use crate::output::color;

/// The options under each heading, in all commands; the others are under "Options".
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

/// What shared arguments mean for one format: the command, the argument, its help.
const MEANINGS: &[(&str, &str, &str)] = &[
    ("flux lint", "profile", "How much an archive may differ from RFC 37 [default: strict]"),
    (
        "bloscpack pack",
        "typesize",
        "Bytes of an element, 1 to 255 [default: 8, or that of the array]",
    ),
    ("bloscpack pack", "shuffle", "Order of the bytes before compression [default: byte]"),
    ("bloscpack pack", "codec", "Codec [default: blosclz]"),
    ("bloscpack estimate", "typesize", "Bytes of an element, 1 to 255 [default: 8]"),
    ("bloscpack estimate", "shuffle", "Order of the bytes before compression [default: byte]"),
    ("bloscpack estimate", "codec", "Codec [default: blosclz]"),
    ("asdf info", "files", "The ASDF files, \"-\" for standard input"),
    ("asdf verify", "files", "The ASDF files, \"-\" for standard input"),
    (
        "asdf get",
        "pointer",
        "JSON Pointer into the tree, such as /image/data [default: the whole tree]",
    ),
    ("bloscpack info", "files", "The Bloscpack files, \"-\" for standard input"),
    ("bloscpack verify", "files", "The Bloscpack files, \"-\" for standard input"),
    (
        "bloscpack get",
        "pointer",
        "JSON Pointer into the metadata, such as /unit; \"\" is all of them [default: the array]",
    ),
];

const EXIT_STATUS: &[&str] = &[
    "0  success",
    "1  the data are bad, or a check or comparison found something",
    "2  error: a file cannot be opened or written, or an option is wrong",
];

const EXIT_STATUS_OF_DIFF: &[&str] = &[
    "0  nothing differs",
    "1  something differs",
    "2  error: a file cannot be read, or an option is wrong",
];

/// The statuses of the original.
const EXIT_STATUS_OF_BLPK: &[&str] = &["0  success", "1  error", "2  an option is wrong"];

/// The command line, as the arguments and the tables here describe it.
pub(crate) fn command() -> Command {
    described(Arguments::command().arg(color::argument()), "")
}

/// Describes a command, whose words after `scibin` are the path, and those below it.
fn described(command: Command, path: &str) -> Command {
    let help = after_help(path);
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
    let of_this = |meaning: &&(&str, &str, &str)| meaning.0 == path && meaning.1 == id;
    if let Some((_, _, help)) = MEANINGS.iter().find(of_this) {
        argument = argument.help(*help);
    }
    let heading = HEADINGS.iter().find(|(_, ids)| ids.contains(&id.as_str()));
    // Elsewhere the name is that of an archive that is read.
    let is_own_name = id == "name" && matches!(path, "dudley from-numpy" | "flux put");
    if let (Some((heading, _)), false) = (heading, argument.is_positional() || is_own_name) {
        argument = argument.help_heading(*heading);
    }
    let is_directory =
        argument.get_value_names().is_some_and(|names| names.iter().any(|name| name == "DIR"));
    match (argument.get_value_hint(), id.as_str()) {
        _ if is_directory => argument.value_hint(ValueHint::DirPath),
        // So that no shell proposes files for a number.
        (ValueHint::Unknown, _) if argument.get_action().takes_values() => {
            argument.value_hint(ValueHint::Other)
        }
        _ => argument,
    }
}

fn after_help(path: &str) -> StyledStr {
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
    let examples = EXAMPLES.iter().find(|(of, _)| *of == path);
    if let Some((_, examples)) = examples {
        section("Examples", &mut examples.iter().copied());
    }
    let statuses = match path {
        path if path.starts_with("blpk") => EXIT_STATUS_OF_BLPK,
        path if path.ends_with(" diff") => EXIT_STATUS_OF_DIFF,
        _ => EXIT_STATUS,
    };
    section("Exit status", &mut statuses.iter().copied());
    text.trim_end().to_owned().into()
}

/// Examples of each command.
const EXAMPLES: &[(&str, &[&str])] = &[
    (
        "",
        &[
            "scibin info science.asdf",
            "scibin verify *.asdf *.blp",
            "scibin get science.asdf /image/data --slice 0:10,::2 -o part.npy",
        ],
    ),
    (
        "info",
        &[
            "scibin info science.asdf data.blp",
            "scibin info --json *.asdf",
            "zcat a.asdf.gz | scibin info -",
        ],
    ),
    ("verify", &["scibin verify *.asdf *.blp", "scibin verify --json archive.json"]),
    (
        "get",
        &[
            "scibin get science.asdf /meta/exposure_time",
            "scibin get science.asdf /image/data --slice 0:10,::2 -o part.npy",
            "scibin get data.npy.blp -o data.csv",
            "scibin get archive.json /0/path",
        ],
    ),
    (
        "asdf",
        &[
            "scibin asdf tree science.asdf",
            "scibin asdf get science.asdf /image/data -o image.npy",
            "scibin asdf convert science.asdf -o small.asdf --compress zlib",
            "scibin asdf verify *.asdf",
        ],
    ),
    (
        "asdf info",
        &[
            "scibin asdf info science.asdf",
            "scibin asdf info --salvage damaged.asdf",
            "scibin asdf info science.asdf --describe --schemas schemas/",
        ],
    ),
    (
        "asdf tree",
        &[
            "scibin asdf tree science.asdf",
            "scibin asdf tree science.asdf /meta --depth 2",
            "scibin asdf tree science.asdf --json --tags",
        ],
    ),
    ("asdf blocks", &["scibin asdf blocks science.asdf"]),
    (
        "asdf get",
        &[
            "scibin asdf get science.asdf /image/data -o image.npy",
            "scibin asdf get science.asdf /image/data --slice 0,: --as csv",
            "scibin asdf get science.asdf /catalogue -o catalogue.csv",
            "scibin asdf get science.asdf /catalogue/ra",
            "scibin asdf get exploded.asdf /data --external deny",
        ],
    ),
    (
        "asdf search",
        &[
            "scibin asdf search science.asdf --key time",
            "scibin asdf search science.asdf --type NDArrayType",
            "scibin asdf search science.asdf --key exposure --value '>100'",
            "scibin asdf search science.asdf --tag 'gwcs/*'",
            "scibin asdf search science.asdf --pointer '/meta/**/name' --value '^R'",
        ],
    ),
    (
        "asdf diff",
        &[
            "scibin asdf diff before.asdf after.asdf",
            "scibin asdf diff before.asdf after.asdf --rtol 1e-6 --ignore /history",
            "scibin asdf diff a.asdf b.asdf --ignore '/**/date' --json",
        ],
    ),
    (
        "asdf history",
        &[
            "scibin asdf history science.asdf",
            "scibin asdf history science.asdf --add 'Flat-fielded'",
        ],
    ),
    ("asdf verify", &["scibin asdf verify *.asdf", "scibin asdf verify --external any a.asdf"]),
    (
        "asdf new",
        &[
            "scibin asdf new out.asdf --tree tree.yaml --array /image=image.npy",
            "scibin asdf new out.asdf --array /x=x.npy --compress zlib:9 --align 4096",
        ],
    ),
    (
        "asdf convert",
        &[
            "scibin asdf convert old.asdf -o new.asdf --compress zstd",
            "scibin asdf convert a.asdf -o b.asdf --inline-below 20 --pad-tree 4096",
        ],
    ),
    (
        "asdf set",
        &[
            "scibin asdf set science.asdf /meta/gain 2.5",
            "scibin asdf set science.asdf /meta/filters/- '\"F110W\"'",
            "scibin asdf set science.asdf /meta/site/altitude 2400 --parents",
            "scibin asdf set science.asdf /meta/target '{name: M31}' -o new.asdf",
        ],
    ),
    (
        "asdf rm",
        &["scibin asdf rm science.asdf /meta/draft", "scibin asdf rm science.asdf /list/0"],
    ),
    (
        "asdf mv",
        &["scibin asdf mv science.asdf /meta/gian gain", "scibin asdf mv science.asdf /a/b /a/c"],
    ),
    (
        "asdf import",
        &[
            "scibin asdf import science.asdf /image/data image.npy --compress zlib",
            "scibin asdf import science.asdf /meta/matrix m.npy --inline",
        ],
    ),
    ("asdf edit", &["scibin asdf edit science.asdf", "EDITOR=nano scibin asdf edit science.asdf"]),
    (
        "asdf to-yaml",
        &["scibin asdf to-yaml small.asdf", "scibin asdf to-yaml small.asdf -o small.yaml"],
    ),
    ("asdf explode", &["scibin asdf explode science.asdf -o exploded.asdf"]),
    (
        "asdf validate",
        &[
            "scibin asdf validate science.asdf --schemas schemas/",
            "scibin asdf validate *.asdf --schemas site-packages/asdf_standard",
        ],
    ),
    (
        "asdf repair",
        &[
            "scibin asdf repair damaged.asdf -o good.asdf",
            "scibin asdf repair damaged.asdf -o good.asdf --dry-run",
        ],
    ),
    ("asdf implode", &["scibin asdf implode exploded.asdf -o science.asdf"]),
    (
        "bloscpack",
        &[
            "scibin bloscpack pack data.npy",
            "scibin bloscpack unpack data.npy.blp",
            "scibin bloscpack verify *.blp",
        ],
    ),
    (
        "bloscpack meta",
        &["scibin bloscpack meta get data.blp", "scibin bloscpack meta set data.blp /unit '\"K\"'"],
    ),
    (
        "bloscpack pack",
        &[
            "scibin bloscpack pack data.npy",
            "scibin bloscpack pack -c zstd -z 4M data.bin -o packed.blp",
            "tar c folder | scibin bloscpack pack - -o folder.tar.blp",
        ],
    ),
    (
        "bloscpack unpack",
        &[
            "scibin bloscpack unpack data.npy.blp",
            "scibin bloscpack unpack data.blp --range 0..4096 -o -",
            "scibin bloscpack unpack data.blp --chunks 2..4 -o part.bin",
        ],
    ),
    (
        "bloscpack append",
        &[
            "scibin bloscpack append data.blp more.bin",
            "scibin bloscpack append --axis0 data.npy.blp rows.npy",
        ],
    ),
    ("bloscpack info", &["scibin bloscpack info data.blp"]),
    (
        "bloscpack verify",
        &["scibin bloscpack verify *.blp", "scibin bloscpack verify --quick data.blp"],
    ),
    (
        "bloscpack get",
        &["scibin bloscpack get data.npy.blp --slice 0:10", "scibin bloscpack get data.blp /unit"],
    ),
    ("bloscpack cat", &["scibin bloscpack cat data.blp --range 0..100"]),
    (
        "bloscpack recover",
        &[
            "scibin bloscpack recover broken.blp -o whole.blp",
            "scibin bloscpack recover --fill-zeros broken.blp -o whole.blp",
        ],
    ),
    ("bloscpack meta get", &["scibin bloscpack meta get data.blp /unit"]),
    (
        "bloscpack meta set",
        &[
            "scibin bloscpack meta set data.blp /unit '\"K\"'",
            "scibin bloscpack meta set data.blp '' -m metadata.json",
        ],
    ),
    ("bloscpack meta rm", &["scibin bloscpack meta rm data.blp /unit"]),
    (
        "bloscpack convert",
        &[
            "scibin bloscpack convert old.blp -o new.blp",
            "scibin bloscpack convert a.blp -k crc32 -o b.blp",
        ],
    ),
    ("bloscpack estimate", &["scibin bloscpack estimate data.bin"]),
    ("dudley", &["scibin dudley check run.dud", "scibin dudley resolve run.dud --stream run.bd"]),
    (
        "dudley check",
        &["scibin dudley check run.dud", "scibin dudley check --deny notes --json *.dud"],
    ),
    ("dudley fmt", &["scibin dudley fmt run.dud", "scibin dudley fmt --check *.dud"]),
    ("dudley tree", &["scibin dudley tree run.dud"]),
    (
        "dudley resolve",
        &[
            "scibin dudley resolve run.dud --param N=100",
            "scibin dudley resolve run.dud --stream run.bd --json",
        ],
    ),
    (
        "dudley get",
        &[
            "scibin dudley get run.bd /grid/x",
            "scibin dudley get run.bd /te --layout run.dud --slice 0,:10 -o te.npy",
            "scibin dudley get data.bin /v --layout v.dud --param N=100",
        ],
    ),
    (
        "dudley dump",
        &["scibin dudley dump run.bd", "scibin dudley dump run.bd --layout run.dud --json"],
    ),
    (
        "dudley new",
        &[
            "scibin dudley new run.bdud --layout run.dud --param N=100 --set /x=x.npy",
            "scibin dudley new run.bd --layout run.dud --set /v.id=ids.npy --apart",
        ],
    ),
    ("dudley put", &["scibin dudley put run.bdud /x x.npy"]),
    (
        "dudley append",
        &[
            "scibin dudley append run.bdud --layout more.dud --set '/time[1]=t.npy'",
            "scibin dudley append run.bdud --layout more.dud --set /y=y.npy --in-place",
        ],
    ),
    ("dudley extract-layout", &["scibin dudley extract-layout run.bd -o run.dud"]),
    ("dudley explain", &["scibin dudley explain run.bd 0x428 --layout run.dud"]),
    ("dudley index", &["scibin dudley index run.dud", "scibin dudley index run.dud -o run.dudx"]),
    (
        "dudley locate",
        &[
            "scibin dudley locate run.dud /te --summary all.bd",
            "scibin dudley locate run.dud /te run_*.bd --json",
        ],
    ),
    (
        "dudley diff",
        &["scibin dudley diff old.dud new.dud", "scibin dudley diff old.dud new.dud --param N=100"],
    ),
    (
        "dudley codegen",
        &[
            "scibin dudley codegen run.dud --lang c -o run.h",
            "scibin dudley codegen run.dud --native --lang python > run.py",
        ],
    ),
    (
        "dudley import",
        &[
            "scibin dudley import ocean.nc -o ocean.dud",
            "scibin dudley get ocean.nc /temperature --layout ocean.dud --slice 0",
        ],
    ),
    ("dudley from-c", &["scibin dudley from-c particles.h > particles.dud"]),
    (
        "dudley from-numpy",
        &[
            "scibin dudley from-numpy rho.npy > rho.dud",
            "scibin dudley from-numpy '<f8' --name x --shape 100,3",
        ],
    ),
    (
        "flux",
        &[
            "scibin flux create -o archive.json folder",
            "scibin flux list -l archive.json",
            "scibin flux extract archive.json -C folder",
        ],
    ),
    (
        "flux create",
        &[
            "scibin flux create -o archive.json folder",
            "scibin flux create -o archive.json --store blobs -C /data run1 run2",
            "scibin flux create -o archive.json --ignore-failed-read /home/me",
        ],
    ),
    (
        "flux list",
        &[
            "scibin flux list -l archive.json",
            "scibin flux list archive.json '*.h5'",
            "scibin flux list --statedir /var/lib/flux --name input",
        ],
    ),
    (
        "flux extract",
        &[
            "scibin flux extract archive.json -C folder",
            "scibin flux extract archive.json etc '*.conf' --exclude '*.bak' -C folder",
        ],
    ),
    (
        "flux cat",
        &[
            "scibin flux cat archive.json etc/hosts",
            "scibin flux cat archive.json log --range 0..100",
        ],
    ),
    (
        "flux verify",
        &[
            "scibin flux verify --store blobs archive.json",
            "scibin flux verify archive.json -C folder",
        ],
    ),
    (
        "flux diff",
        &["scibin flux diff old.json new.json", "scibin flux diff archive.json -C folder"],
    ),
    (
        "flux lint",
        &["scibin flux lint archive.json", "scibin flux lint --fix archive.json -o fixed.json"],
    ),
    ("flux convert", &["scibin flux convert archive.json --to dict --pretty"]),
    ("flux append", &["scibin flux append archive.json newfile -C folder"]),
    ("flux delete", &["scibin flux delete archive.json '*.tmp'"]),
    ("flux pack", &["scibin flux pack --store blobs archive.json -o all.json"]),
    ("flux externalize", &["scibin flux externalize --store blobs archive.json -o small.json"]),
    ("flux info", &["scibin flux info archive.json"]),
    ("flux gc", &["scibin flux gc --store blobs --dry-run a.json b.json"]),
    (
        "flux rescue",
        &[
            "scibin flux rescue /var/lib/flux",
            "scibin flux rescue /var/lib/flux --job f23XyZ -C found",
        ],
    ),
    ("flux put", &["scibin flux put archive.json --store blobs --name input"]),
    ("blpk", &["scibin blpk compress data.bin", "scibin blpk decompress data.bin.blp"]),
    ("blpk compress", &["scibin blpk -n 4 compress data.bin", "blpk -f c data.bin packed.blp"]),
    ("blpk decompress", &["scibin blpk decompress data.bin.blp", "blpk d -e packed data.bin"]),
    ("blpk append", &["scibin blpk append data.bin.blp more.bin"]),
    ("blpk info", &["scibin blpk info data.bin.blp"]),
    (
        "completions",
        &[
            "scibin completions bash > ~/.local/share/bash-completion/completions/scibin",
            "scibin completions zsh > ~/.zfunc/_scibin",
            "scibin completions fish > ~/.config/fish/completions/scibin.fish",
        ],
    ),
    ("man", &["scibin man ~/.local/share/man/man1"]),
];

#[cfg(test)]
mod tests {
    use super::*;

    /// All commands that do something, each with its path.
    fn leaves() -> Vec<(String, Command)> {
        let mut all = all();
        all.retain(|(_, command)| !command.has_subcommands());
        all
    }

    /// All commands, each with its path.
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

    /// The words of a command line, quoted ones whole, without variables of the
    /// environment; only the last command of a pipe.
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
    fn every_command_has_examples_that_it_takes() {
        for (path, _) in all() {
            assert!(EXAMPLES.iter().any(|(of, _)| *of == path), "{path} has no example");
        }
        for (path, examples) in EXAMPLES {
            for example in *examples {
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

    /// A user of the original sees its own texts.
    #[test]
    fn help_fits_a_terminal_of_80_columns() {
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
    fn tables_name_commands_and_arguments_that_exist() {
        let leaves = leaves();
        for (path, id, _) in MEANINGS {
            let command = leaves.iter().find(|(of, _)| of == path);
            let has_it = command.is_some_and(|(_, command)| {
                command.get_arguments().any(|argument| argument.get_id() == *id)
            });
            assert!(has_it, "{path}: {id}");
        }
        for id in HEADINGS.iter().flat_map(|(_, ids)| *ids) {
            let mut arguments = leaves.iter().flat_map(|(_, command)| command.get_arguments());
            assert!(arguments.any(|argument| argument.get_id() == *id), "{id}");
        }
    }

    #[test]
    fn placeholders_are_words() {
        for (path, command) in leaves() {
            if path.starts_with("blpk") {
                continue; // the words of the original
            }
            let takes_value = |argument: &&Arg| argument.get_action().takes_values();
            let arguments = command.get_arguments().filter(takes_value);
            for name in arguments.filter_map(Arg::get_value_names).flatten() {
                assert!(!name.contains('_'), "{path}: {name}");
            }
        }
    }

    /// The same short letter is the same long option, and a long option takes the same value.
    #[test]
    fn an_option_means_the_same_in_every_command() {
        let (mut shorts, mut longs) = (Vec::new(), Vec::new());
        for (path, command) in leaves() {
            if path.starts_with("blpk") {
                continue; // the letters of the original
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
            assert_eq!(other, None, "-{short} is --{long} too");
        }
        for (long, takes_value, path) in &longs {
            let other = longs.iter().find(|(of, takes, _)| of == long && takes != takes_value);
            assert_eq!(other, None, "--{long} of {path}");
        }
    }
}
