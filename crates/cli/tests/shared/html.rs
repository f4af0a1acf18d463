//! Tests of HTML reports.

use crate::files;
use crate::program::{Folder, npy_header, status, stderr, stdout};

/// Runs `info --html` and returns the page.
fn page(folder: &Folder, files: &[&str]) -> String {
    stdout(&folder.run(&[&["info"], files, &["--html", "-"]].concat()))
}

#[test]
fn an_html_report_contains_tables_and_a_tree_and_pictures_and_a_verification_result() {
    let folder = files();
    let page = page(&folder, &["good.asdf"]);
    for expected in [
        "<p class=\"ok\">Verification: fine</p>",
        "<img src=\"data:image/png;base64,iVBORw0KGgo",
        "<figcaption>/image/data</figcaption>",
        "<h2>Tree</h2>\n<pre>",
        "<th>checksum</th>",
        "<th>standard</th>",
    ] {
        assert!(page.contains(expected), "{expected}: {page}");
    }
}

#[test]
fn an_html_report_runs_no_scripts_and_loads_nothing() {
    let folder = files();
    let page = page(&folder, &["good.asdf"]);
    let policy = "default-src 'none'; img-src data:; style-src 'unsafe-inline'";
    assert!(page.contains(&format!("content=\"{policy}\"")));
    assert!(!page.contains("<script"));
    let pictures = page.matches("<img src=\"data:image/png;base64,").count();
    assert!(pictures > 0);
    assert_eq!(page.matches("src=").count() + page.matches("href=").count(), pictures);
}

#[test]
fn keys_and_values_in_html_reports_are_escaped() {
    let folder = Folder::new();
    let mut npy = npy_header("|u1", &[1, 1]);
    npy.push(7);
    folder.write("x.npy", npy);
    folder.write("t.yaml", "'<script>alert(1)</script>': '\"&<img src=x>'\n");
    let name = "<b>.asdf";
    let array = "/<i>\"=x.npy";
    folder.done(&["asdf", "new", name, "--tree", "t.yaml", "--array", array, "-q"]);
    let page = page(&folder, &[name]);
    assert!(page.contains("&lt;script&gt;alert(1)&lt;/script&gt;"), "{page}");
    assert!(page.contains("&quot;&amp;&lt;img src=x&gt;"), "{page}");
    assert!(page.contains("<h1>&lt;b&gt;.asdf</h1>"), "{page}");
    assert!(page.contains("<figcaption>/&lt;i&gt;&quot;</figcaption>"), "{page}");
    assert!(!page.contains("<script") && !page.contains("<img src=x") && !page.contains("<i>"));
}

#[test]
fn html_reports_show_the_content_and_the_damage_of_files() {
    let folder = files();
    for (file, expected) in [
        ("good.blp", "<th>chunks</th>"),
        ("good.json", "           2  f"),
        ("good.dud", "x = f8[3]"),
        ("good.native", "<th>byte_order</th>"),
    ] {
        let page = page(&folder, &[file]);
        assert!(page.contains("<p class=\"ok\">"), "{file}: {page}");
        assert!(page.contains(expected), "{file}: {page}");
    }
    let output = folder.run(&["info", "bad.blp", "good.asdf", "--html", "all.html"]);
    assert_eq!(status(&output), 1, "{}", stderr(&output));
    let page = String::from_utf8(folder.read("all.html")).unwrap();
    assert_eq!(page.matches("<article>").count(), 2);
    assert!(page.contains("<p class=\"bad\">Verification: problems found</p>"));
    assert!(page.contains("needs 2416 bytes, found only 2415"), "{page}");
}

#[test]
fn an_existing_html_report_is_replaced_only_with_force() {
    let folder = files();
    folder.write("all.html", "kept");
    let report = ["info", "good.asdf", "--html", "all.html"];
    assert_eq!(status(&folder.run(&report)), 2);
    assert_eq!(folder.read("all.html"), b"kept");
    folder.done(&[&report[..], &["--force"]].concat());
}
