//! Creating layouts from C code. The sizes and offsets in the layouts must equal those of the C
//! compiler.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::ops::ControlFlow;
use std::process::Command;

use dudley::import::from_c;
use dudley::{ErrorKind, Layout, Resolver};

const TYPES: &[&str] = &[
    "char",
    "signed char",
    "unsigned char",
    "short",
    "unsigned short int",
    "int",
    "unsigned",
    "long",
    "long long",
    "unsigned long",
    "float",
    "double",
    "_Bool",
    "float _Complex",
    "double _Complex",
    "int8_t",
    "uint16_t",
    "int32_t",
    "uint64_t",
    "size_t",
    "wide",
    "enum color",
];

/// Returns a random number below `end`.
fn random(state: &mut u64, end: usize) -> usize {
    *state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
    usize::try_from(*state >> 33).unwrap() % end
}

/// Generates structs. The members of each struct may have the types of earlier structs.
fn structs(count: usize) -> String {
    let mut state = 7;
    let mut text =
        "#define LEN 3\nenum color { RED, GREEN = 4 };\ntypedef double wide[2];\n".to_owned();
    for number in 0..count {
        let packed = if random(&mut state, 5) == 0 { " __attribute__((packed))" } else { "" };
        writeln!(text, "struct s{number} {{").unwrap();
        for member in 0..=random(&mut state, 7) {
            let name = if number > 0 && random(&mut state, 4) == 0 {
                format!("struct s{}", random(&mut state, number))
            } else {
                TYPES[random(&mut state, TYPES.len())].to_owned()
            };
            let dims = ["", "", "[3]", "[LEN][2]", "[2 * (LEN + 1)]"][random(&mut state, 5)];
            writeln!(text, "    {name} m{member}{dims};  /* comment {member} */").unwrap();
        }
        writeln!(text, "    struct {{ char c; double d; }} inner[2];").unwrap();
        writeln!(text, "}}{packed};").unwrap();
    }
    text
}

/// Returns the size of a struct in the layout, and the offset and size of each direct member by
/// name.
fn members(layout: &str, name: &str) -> (u64, BTreeMap<String, (u64, u64)>) {
    let layout = Layout::parse(format!("{layout}\nx_ = {name}\n")).unwrap();
    let resolver = Resolver::new(&layout);
    let item = dudley::ItemId::ROOT;
    let x = layout.child(item, "x_").unwrap();
    let table = resolver.table_to(x).unwrap().unwrap();
    let row = table.row_of(x).unwrap();
    let mut found = BTreeMap::new();
    let walked = resolver.walk(&table, &[row], |_, member| {
        if let Some(member) = member.filter(|member| member.path.matches('.').count() == 1) {
            let name = member.path.trim_start_matches("/x_.").to_owned();
            found.insert(
                name,
                (member.address.unwrap() - row.address().unwrap(), member.nbytes.unwrap()),
            );
        }
        ControlFlow::Continue(())
    });
    walked.unwrap();
    (row.nbytes().unwrap(), found)
}

#[test]
fn sizes_and_offsets_equal_the_results_of_the_c_compiler() {
    if Command::new("cc").arg("--version").output().is_err() {
        eprintln!("skipped: no C compiler named cc");
        return;
    }
    let count = 60;
    let text = structs(count);
    let layout = from_c(&text).unwrap();
    let mut program = format!(
        "#include <stdio.h>\n#include <stddef.h>\n#include <stdint.h>\n{text}\nint main(void) {{\n"
    );
    let mut expected = Vec::new();
    for number in 0..count {
        let (size, found) = members(&layout, &format!("s{number}"));
        writeln!(program, "printf(\"%zu\\n\", sizeof(struct s{number}));").unwrap();
        expected.push(size);
        for (name, (offset, len)) in found {
            writeln!(program, "printf(\"%zu\\n\", offsetof(struct s{number}, {name}));").unwrap();
            writeln!(program, "printf(\"%zu\\n\", sizeof(((struct s{number} *)0)->{name}));")
                .unwrap();
            expected.extend([offset, len]);
        }
    }
    program.push_str("}\n");
    let folder = std::env::temp_dir().join(format!("scibin-from-c-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    std::fs::write(folder.join("structs.c"), program).unwrap();
    let run = |command: &mut Command| {
        let output = command.current_dir(&folder).output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap()
    };
    run(Command::new("cc").args(["structs.c", "-o", "structs"]));
    let found: Vec<u64> = run(&mut Command::new(folder.join("structs")))
        .lines()
        .map(|line| line.parse().unwrap())
        .collect();
    std::fs::remove_dir_all(&folder).unwrap();
    assert_eq!(expected, found, "{text}\n{layout}");
    assert!(found.len() > 500);
}

#[test]
fn typedefs_become_types_and_variables_become_items_and_comments_become_documentation() {
    let layout = from_c(
        "// A simulation.\n#include <stdint.h>\n#define N 4\n\
         typedef float vec[3];\n\
         typedef struct node_s { int32_t id; vec pos; } node;\n\
         struct mesh {\n  node nodes[N], first;  // (cm) nodes\n  struct node_s last;\n};\n\
         static const struct mesh m[2], other;\nunsigned long count; /* of meshes */\n",
    )
    .unwrap();
    assert_eq!(
        layout,
        "node {\n  id = i4\n  pos = f4[3]\n}\nmesh {\n  nodes = node[4]  ## (cm) nodes\n  first = node\n  \
         last = node\n}\nm = mesh[2]\nother = mesh\ncount = u8  ## of meshes\n"
    );
    Layout::parse(layout).unwrap();
}

#[test]
fn a_c_syntax_error_states_what_was_expected_and_what_was_found() {
    for (text, message) in [
        ("struct a { int b; } c", "expected `;`, found the end of the text"),
        ("struct a { int b c; };", "expected `;`, found `c`"),
        ("int 3;", "expected a name, found `3`"),
        ("int", "expected a name, found the end of the text"),
        ("int a[", "expected a constant, found the end of the text"),
    ] {
        let error = from_c(text).unwrap_err().to_string();
        assert!(error.ends_with(message), "{text}: {error}");
    }
}

#[test]
fn c_constructs_that_a_layout_cannot_describe_are_rejected_with_their_line() {
    for (text, line, message) in [
        (
            "struct a {\n int *p;\n};",
            2,
            "pointers are not supported, because they have no meaning in a file",
        ),
        (
            "struct a {\n int p : 3;\n};",
            2,
            "bit-fields are not supported, because their layout depends on the compiler",
        ),
        (
            "union a { int b; };",
            1,
            "unions are not supported: replace the union with one of its members",
        ),
        ("struct a { long double b; };", 1, "corresponds to `long double`"),
        ("struct a { foo b; };", 1, "no type named `foo`"),
        ("struct a { struct b c; };", 1, "struct `b` is not defined before its use"),
        (
            "struct a { struct a *next; };",
            1,
            "pointers are not supported, because they have no meaning in a file",
        ),
        ("struct a { int b[]; };", 1, "the length of `b` is not stated"),
        ("struct a { int b[M]; };", 1, "`M` is not a constant"),
        ("struct a { int b[1 - 2]; };", 1, "the length of `b` is -1"),
        ("int main(void) { return 0; }", 1, "not functions"),
        ("#pragma pack(1)\nstruct a { int b; };", 1, "`#pragma pack` is not supported"),
        ("struct a { int b; ", 1, "expected a type"),
        ("/* open", 1, "unterminated comment"),
    ] {
        let error = from_c(text).unwrap_err();
        let ErrorKind::Foreign { line: found, .. } = *error.kind() else { panic!("{error}") };
        assert!(error.to_string().contains(message), "{text}: {error}");
        assert_eq!(found, line, "{text}");
    }
}

/// A layout repeats an unnamed struct wherever the struct is used, so the text would double with
/// each typedef.
#[test]
fn hostile_c_code_is_rejected() {
    let mut doubling = "typedef struct { int a; } t0[1];\n".to_owned();
    for level in 1..64 {
        writeln!(doubling, "typedef struct {{ t{0} a; t{0} b; }} t{level}[1];", level - 1).unwrap();
    }
    for text in [
        doubling,
        "struct { ".repeat(100_000),
        format!("int a[{}1{}];", "(".repeat(100_000), ")".repeat(100_000)),
        format!("int a[{}1];", "-".repeat(100_000)),
    ] {
        from_c(&text).unwrap_err();
    }
}
