//! Counting the public names at the root of each crate. A test limits their number.
//!
//! A name counts if lib.rs makes it public: a module, a re-export or an item. Exported macros, and
//! names in inline modules, do not count.

use std::collections::BTreeSet;
use std::fs;

use crate::imports::{Source, identifier, inline_modules, paths};
use crate::process::root;

/// The crates, and the maximum number of names at the root of each.
const LIMITS: &[(&str, usize)] =
    &[("asdf", 30), ("binio", 25), ("bloscpack", 40), ("dudley", 35), ("flux-archive", 40)];

/// Fails if the root of a crate has more names than its limit.
fn check(name: &str, limit: usize, lib: &str) -> Result<(), String> {
    let names = root_names(lib);
    if names.len() > limit {
        let list: Vec<_> = names.iter().map(String::as_str).collect();
        return Err(format!(
            "the root of {name} has {} public names, but the limit is {limit}; move some into a module: {}",
            names.len(),
            list.join(" ")
        ));
    }
    Ok(())
}

/// Returns the public names that are defined or re-exported in the text of a lib.rs.
fn root_names(lib: &str) -> BTreeSet<String> {
    let source = Source::new(lib);
    let code = &source.code;
    let inner = inline_modules(code);
    let mut names = BTreeSet::new();
    for at in source.after("pub ").filter(|at| !inner.iter().any(|range| range.contains(at))) {
        let item = code[at..].trim_start();
        if let Some(tree) = item.strip_prefix("use ") {
            let end = tree.find(';').unwrap_or(tree.len());
            names.extend(paths(&tree[..end]).into_iter().filter_map(|path| match path.last() {
                // `module::{self}` makes the name of the module public.
                Some(last) if last == "self" => path.iter().rev().nth(1).cloned(),
                last => last.cloned(),
            }));
        } else {
            let keywords =
                ["const", "unsafe", "async", "fn", "mod", "struct", "enum", "trait", "type"];
            let name = item.split_whitespace().find(|word| !keywords.contains(word));
            names.extend(name.map(identifier).filter(|name| !name.is_empty()));
        }
    }
    names
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_crate_root_stays_within_its_name_limit() {
        for (name, limit) in LIMITS {
            let path = root().join("crates").join(name).join("src/lib.rs");
            let lib = fs::read_to_string(&path).unwrap();
            assert!(root_names(&lib).len() > 5, "{name}: {:?}", root_names(&lib));
            check(name, *limit, &lib).unwrap();
        }
    }

    #[test]
    fn names_that_lib_rs_makes_public_count_as_names_of_the_root() {
        let lib = "//! pub mod text;\nmod hidden;\npub mod shown;\npub(crate) mod inner;\n\
                   pub mod inline {\n    pub use crate::hidden::NotHere;\n}\n\
                   pub use hidden::{A, deep::{B, C as Renamed}};\npub use binio::{self, Bytes};\n\
                   pub const fn f() {}\npub const N: u8 = 1;\npub struct S<T>(T);\n\
                   #[cfg(test)]\npub mod tests;";
        let names: Vec<_> = root_names(lib).into_iter().collect();
        assert_eq!(
            names,
            ["A", "B", "Bytes", "N", "Renamed", "S", "binio", "f", "inline", "shown"]
        );
    }

    #[test]
    fn a_crate_root_with_too_many_names_is_rejected_with_a_list_of_the_names() {
        let error = check("x", 1, "pub mod a;\npub use b::C;").unwrap_err();
        assert_eq!(
            error,
            "the root of x has 2 public names, but the limit is 1; move some into a module: C a"
        );
    }
}
