//! Compiling and running generated code, which must compute the same addresses as the resolver.

use std::collections::HashSet;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use dudley::codegen::Language;
use dudley::layout::{Declaration, ParamId};
use dudley::{Layout, Resolver, Rules, Values};
use serde_json::Value;

/// The values of parameters, in order of declaration.
type Given = Vec<i64>;

struct Case {
    layout: Layout,
    native: bool,
    given: Vec<Given>,
}

fn stored(layout: &Layout) -> Vec<ParamId> {
    let declarations = layout.declarations().iter();
    let stored = declarations.filter_map(|&declaration| match declaration {
        Declaration::Param(id) if layout.param(id).value.is_stored() => Some(id),
        _ => None,
    });
    stored.collect()
}

/// Converts a path to the name that generated code uses for it, as described in the documentation.
fn name_of(path: &str) -> String {
    let path = path.trim_start_matches('/').replace("\"\".", "");
    path.chars()
        .filter(|character| !"]\"".contains(*character))
        .map(|character| if character.is_ascii_alphanumeric() { character } else { '_' })
        .collect()
}

impl Case {
    fn new(layout: Layout, native: bool, given: Vec<Given>) -> Self {
        Self { layout, native, given }
    }

    fn code(&self, language: Language) -> String {
        let resolver = Resolver::new(&self.layout).native(self.native);
        resolver.code(language).unwrap_or_else(|error| panic!("{error}"))
    }

    /// Returns the name, arguments and expected result of each function call. Omits parameter
    /// values for which the resolver cannot compute the addresses.
    fn calls(&self) -> Vec<(String, Given, u64)> {
        let params = stored(&self.layout);
        let code = self.code(Language::Python);
        let mut calls: Vec<(String, Given, u64)> = Vec::new();
        for given in &self.given {
            let values: Values = params
                .iter()
                .zip(given)
                .map(|(&id, &value)| (self.layout.subject_path(id.into()), value))
                .collect();
            let resolver =
                Resolver::new(&self.layout).rules(Rules::new().values(values)).native(self.native);
            let Ok(table) = resolver.table() else { continue };
            let mut seen = HashSet::new();
            for entry in table.iter() {
                let name = name_of(&entry.path());
                if !seen.insert(name.clone()) {
                    continue;
                }
                let of_stream = entry.is_compressed() || entry.is_indeterminate();
                if let Some(address) = entry.address() {
                    calls.push((format!("offset_{name}"), given.clone(), address));
                }
                if let (Some(nbytes), false) = (entry.nbytes(), of_stream) {
                    calls.push((format!("nbytes_{name}"), given.clone(), nbytes));
                }
            }
        }
        // An item after a compressed array has an address only if that array is empty, so no
        // function is generated for the address.
        calls.retain(|(name, ..)| {
            let has_function = code.contains(&format!("def {name}("));
            assert!(
                has_function || self.layout.to_string().contains("->"),
                "{name}: {}",
                self.layout
            );
            has_function
        });
        calls
    }
}

struct Random(u64);

impl Random {
    fn below(&mut self, end: usize) -> usize {
        self.0 =
            self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        usize::try_from(self.0 >> 33).unwrap() % end
    }

    fn one_of<'s>(&mut self, list: &[&'s str]) -> &'s str {
        list[self.below(list.len())]
    }

    fn shape(&mut self) -> String {
        let dims = ["2", "3", "N", "M", "N+", "M--", "K", "F", "0", "-1"];
        match self.below(4) {
            0 => String::new(),
            1 | 2 => format!("[{}]", self.one_of(&dims)),
            _ => format!("[{}, {}]", self.one_of(&dims), self.one_of(&dims)),
        }
    }

    fn placement(&mut self) -> String {
        match self.below(8) {
            0 => format!(" %{}", 1 << self.below(6)),
            1 => format!(" @{}", self.below(2000)),
            _ => String::new(),
        }
    }

    fn datatype(&mut self, types: usize) -> String {
        match self.below(3) {
            0 if types > 0 => format!("t{}", self.below(types)),
            1 if types > 0 && self.below(3) == 0 => {
                format!("{{ a = i1{}  b = t{}{} }}", self.shape(), self.below(types), self.shape())
            }
            _ => self.one_of(&["i1", "i2", "i4", "f8", "c16", "c8", "S1", "U2", "b1"]).to_owned(),
        }
    }

    fn layout(&mut self) -> String {
        let mut text = "N : i2  M : i4  F : 2\ng/ K : i8\n/ K : u1\n".to_owned();
        let types = self.below(4);
        for number in 0..types {
            let align = self.one_of(&["", "", "%1 ", "%16 "]);
            write!(text, "t{number} {{ {align}").unwrap();
            for member in 0..self.below(4) {
                let datatype = self.datatype(number);
                write!(text, "m{member} = {datatype}{}{} ", self.shape(), self.placement())
                    .unwrap();
            }
            if self.below(5) == 0 {
                write!(text, "L : i1 ").unwrap();
            }
            text.push_str("}\n");
        }
        for number in 0..self.below(9) {
            if self.below(6) == 0 {
                text.push_str(self.one_of(&["g/\n", "/\n", "..\n"]));
            }
            let datatype = self.datatype(types);
            let shape = self.shape();
            if self.below(10) == 0 {
                writeln!(text, "x{number} = f8{shape} -> gzip").unwrap();
                continue;
            }
            let placement = self.placement();
            if self.below(8) == 0 {
                writeln!(text, "x{number} [{datatype}{shape}{placement}, i4[N]]").unwrap();
            } else {
                writeln!(text, "x{number} = {datatype}{shape}{placement}").unwrap();
            }
        }
        text
    }
}

/// Returns the layouts of the conformance cases, and random layouts.
fn cases() -> Vec<Case> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../testdata/dudley/conformance/cases");
    let mut cases = Vec::new();
    let mut paths: Vec<PathBuf> =
        std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    paths.sort();
    for path in paths {
        let case: Value = serde_json::from_slice(&std::fs::read(&path).unwrap()).unwrap();
        let lines = case["layout"].as_array().unwrap().iter();
        let text: Vec<&str> = lines.map(|line| line.as_str().unwrap()).collect();
        let Ok(layout) = Layout::parse(text.join("\n")) else { continue };
        if Resolver::new(&layout).code(Language::C).is_err() {
            continue;
        }
        let value = |id: &ParamId| case["params"][layout.param_name(*id)].as_i64().unwrap_or(3);
        let stated = stored(&layout).iter().map(value).collect();
        let others = [-1, 0, 1, 5].map(|value| vec![value; stored(&layout).len()]);
        let given = std::iter::once(stated).chain(others).collect();
        cases.push(Case::new(layout, case["native"] == true, given));
    }
    assert!(cases.len() >= 30, "{} conformance cases", cases.len());
    let mut random = Random(1);
    for number in 0..150 {
        let text = random.layout();
        let layout = Layout::parse(&text).unwrap_or_else(|error| panic!("{error}"));
        let count = stored(&layout).len();
        let given = (0..6).map(|_| {
            let value = |_| [-1, 0, 1, 2, 3, 7, 10][random.below(7)];
            (0..count).map(value).collect()
        });
        let given = given.collect();
        cases.push(Case::new(layout, number % 2 == 0, given));
    }
    cases
}

struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("scibin-{name}-{}", std::process::id()));
        std::fs::create_dir_all(&path).unwrap();
        Self(path)
    }

    fn write(&self, name: &str, text: &str) {
        std::fs::write(self.0.join(name), text).unwrap();
    }

    fn run(&self, command: &mut Command) -> String {
        let output = command.current_dir(&self.0).output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        assert!(output.stderr.is_empty(), "{}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap()
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

fn is_installed(program: &str) -> bool {
    let found = Command::new(program).arg("--version").output().is_ok();
    if !found {
        eprintln!("skipped: no {program}");
    }
    found
}

/// Checks that a program prints the expected result of each call.
fn compare(cases: &[Case], printed: &str) {
    let mut lines = printed.lines();
    let mut count = 0;
    for case in cases {
        for (name, given, expected) in case.calls() {
            let found: u64 = lines.next().unwrap().parse().unwrap();
            assert_eq!(
                found, expected,
                "{name} {given:?} native {} of\n{}",
                case.native, case.layout
            );
            count += 1;
        }
    }
    assert_eq!(lines.next(), None);
    assert!(count > 5000, "{count} calls");
}

fn arguments(given: &Given) -> String {
    given.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ")
}

#[test]
fn generated_c_code_computes_the_same_addresses_as_the_resolver() {
    if !is_installed("cc") {
        return;
    }
    let (cases, folder) = (cases(), Folder::new("code-c"));
    let mut main = "int main(void) {\n".to_owned();
    let mut command = Command::new("cc");
    command.args(["-std=c99", "-Wall", "-Wextra", "-Werror", "-pedantic", "-o", "main", "main.c"]);
    for (number, case) in cases.iter().enumerate() {
        folder.write(&format!("l{number}.h"), &case.code(Language::C));
        let mut text = format!(
            "#include <stdio.h>\n#include <inttypes.h>\n#include \"l{number}.h\"\n\
             void run{number}(void);\nvoid run{number}(void) {{\n"
        );
        for (name, given, _) in case.calls() {
            writeln!(text, "printf(\"%\" PRIu64 \"\\n\", {name}({}));", arguments(&given)).unwrap();
        }
        text.push_str("}\n");
        folder.write(&format!("l{number}.c"), &text);
        command.arg(format!("l{number}.c"));
        main = format!("void run{number}(void);\n{main}run{number}();\n");
    }
    folder.write("main.c", &format!("{main}return 0;\n}}\n"));
    folder.run(&mut command);
    let printed = folder.run(&mut Command::new(folder.0.join("main")));
    compare(&cases, &printed);
}

#[test]
fn generated_rust_code_computes_the_same_addresses_as_the_resolver() {
    let compiler = std::env::var("RUSTC").unwrap_or_else(|_| "rustc".to_owned());
    if !is_installed(&compiler) {
        return;
    }
    let (cases, folder) = (cases(), Folder::new("code-rust"));
    let mut main = String::new();
    let mut body = String::new();
    for (number, case) in cases.iter().enumerate() {
        folder.write(&format!("l{number}.rs"), &case.code(Language::Rust));
        writeln!(main, "mod l{number};\nfn run{number}() {{").unwrap();
        for (name, given, _) in case.calls() {
            writeln!(main, "println!(\"{{}}\", l{number}::{name}({}));", arguments(&given))
                .unwrap();
        }
        main.push_str("}\n");
        writeln!(body, "run{number}();").unwrap();
    }
    folder.write("main.rs", &format!("{main}fn main() {{\n{body}}}\n"));
    folder.run(Command::new(compiler).args(["--edition=2021", "-Dwarnings", "main.rs"]));
    let printed = folder.run(&mut Command::new(folder.0.join("main")));
    compare(&cases, &printed);
}

#[test]
fn generated_python_code_computes_the_same_addresses_as_the_resolver() {
    if !is_installed("python3") {
        return;
    }
    let (cases, folder) = (cases(), Folder::new("code-python"));
    let mut main = String::new();
    for (number, case) in cases.iter().enumerate() {
        folder.write(&format!("l{number}.py"), &case.code(Language::Python));
        writeln!(main, "import l{number}").unwrap();
        for (name, given, _) in case.calls() {
            writeln!(main, "print(l{number}.{name}({}))", arguments(&given)).unwrap();
        }
    }
    folder.write("main.py", &main);
    let printed = folder.run(Command::new("python3").args(["-B", "main.py"]));
    compare(&cases, &printed);
}

#[test]
fn generated_code_aligns_an_address_only_if_its_alignment_depends_on_values() {
    let layout = Layout::parse(
        "IMAX : i8  JMAX : i8  r = f8[IMAX, JMAX]  g/ s = {a = f4  b = i1}[3] \
         v = i1[IMAX]  w = f8  c = f8 -> gzip  d = i1",
    );
    let code = Resolver::new(&layout.unwrap()).code(Language::Rust).unwrap();
    for line in [
        "pub fn offset_r(IMAX: i64, JMAX: i64) -> u64 {\n    16\n}",
        "pub fn nbytes_r(IMAX: i64, JMAX: i64) -> u64 {\n    8 * dudley_dim(IMAX, 0) * dudley_dim(JMAX, 0)\n}",
        "pub fn offset_g_s(IMAX: i64, JMAX: i64) -> u64 {\n    8 * dudley_dim(IMAX, 0) * dudley_dim(JMAX, 0) + 16\n}",
        "pub fn offset_g_s_b(",
        "    let t0 = dudley_up(dudley_dim(IMAX, 0) + 8 * dudley_dim(IMAX, 0) * dudley_dim(JMAX, 0) + 40, 8);\n    t0\n",
        "// /g/c: f8 -> gzip; its size depends on the stream\n",
        "// /g/d: i1; its address depends on the stream\n",
        "pub fn offset_g_c(",
        "pub fn nbytes_g_d(",
    ] {
        assert!(code.contains(line), "{line}\n{code}");
    }
    assert!(!code.contains("nbytes_g_c") && !code.contains("offset_g_d"), "{code}");
}

#[test]
fn generated_names_are_valid_in_each_language() {
    let text = "in : i8  int : i4  fn : i4  t1 : i2  'a b' : i2  '9' : i1  g/ in : i8\n/\n\
                x = f8[in]  'x y' = f8['a b']  x_y = f8  ü = i1['9']  '*/ \\u202e' = i1[t1]  l [i1[fn], i2[int]]";
    let layout = Layout::parse(text).unwrap();
    let resolver = Resolver::new(&layout);
    let c = resolver.code(Language::C).unwrap();
    let params = "(int64_t in, int64_t int_, int64_t fn, int64_t t1_, int64_t a_b, int64_t _9, int64_t g_in)";
    assert!(c.contains(&format!("offset_x{params}")), "{c}");
    assert!(c.contains("offset_x_y_2(") && c.contains("offset_l_1("), "{c}");
    assert!(!c.contains('\u{202e}') && !c.contains("*/ \\u{202e}"), "{c}");
    assert!(resolver.code(Language::Rust).unwrap().contains("(in_: i64, int: i64, fn_: i64,"));
    assert!(resolver.code(Language::Python).unwrap().contains("(in_, int_, fn, t1_,"));
}

#[test]
fn functions_for_members_of_the_unnamed_item_are_named_after_the_member_alone() {
    let layout =
        Layout::parse("N : i4 @4  \"\" = {%4 time = f8 @0  t = f4[3] @8}[N] @200").unwrap();
    let code = Resolver::new(&layout).code(Language::Python).unwrap();
    assert!(code.contains("def offset_t(N):\n    return 208\n"), "{code}");
}

#[test]
fn generating_code_for_a_hostile_layout_succeeds_or_exceeds_the_limit() {
    let mut doubling = "t0 { a = i1[N]  b = f8 }\n".to_owned();
    for level in 1..64 {
        writeln!(doubling, "t{level} {{ a = t{0}[N]  b = i1  c = t{0} }}", level - 1).unwrap();
    }
    let text = format!("N : i4\n{doubling}x = t63");
    let code = Resolver::new(&Layout::parse(text).unwrap()).code(Language::C);
    assert_eq!(code.unwrap_err().code(), Some(dudley::diagnostic::Code::BeyondLimit));

    let mut mixed = "N : i4\n".to_owned();
    for number in 0..20_000 {
        writeln!(mixed, "a{number} = i1[N] b{number} = f8").unwrap();
    }
    let code = Resolver::new(&Layout::parse(mixed).unwrap()).code(Language::C);
    assert!(
        code.is_ok() || code.unwrap_err().code() == Some(dudley::diagnostic::Code::BeyondLimit)
    );

    let plain =
        (0..20_000).map(|number| format!("a{number} = f8[N]\n")).collect::<Vec<_>>().concat();
    let layout = Layout::parse(format!("N : i4\n{plain}")).unwrap();
    let code = Resolver::new(&layout).code(Language::Python).unwrap();
    // Empty items are not aligned, so if N is 0, all items are at address 4.
    let last = "def offset_a19999(N):\n    t0 = dudley_place(4, 8, 8 * dudley_dim(N, 0))\n    \
                return 159992 * dudley_dim(N, 0) + t0\n";
    assert!(code.contains(last));
}

#[test]
fn code_is_generated_even_if_one_dimension_is_zero_and_the_product_of_the_others_overflows() {
    let layout = Layout::parse("x = i1[0x100000000, 0x100000000, 0]  y = i1").unwrap();
    let code = Resolver::new(&layout).code(Language::Python).unwrap();
    assert!(code.contains("def nbytes_x():\n    return 0\n"), "{code}");
    assert!(code.contains("def offset_y():\n    return 0\n"), "{code}");
}
