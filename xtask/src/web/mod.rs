//! Building, serving and testing the web page of `crates/web`.

mod serve;

use std::fs;
use std::net::TcpListener;
use std::path::{Path, PathBuf};

use crate::Outcome;
use crate::process::{
    build_programs, cargo, is_ci, no_more, output, program, root, run, skip, take_flag,
};
use crate::targets::{self, WASM};

/// The version of the `wasm-bindgen` program. It must match the version of the `wasm-bindgen` crate
/// in `crates/web/Cargo.toml`.
const WASM_BINDGEN: &str = "0.2.130";

/// The npm packages: the optimiser, and the library that controls the browser.
const NPM: &[&str] = &["binaryen@132.0.0", "playwright-core@1.65.1"];

/// Maximum size of the WebAssembly module in bytes.
const MAX_SIZE: u64 = 1_500_000;

/// The address at which `--serve` serves the page.
const ADDRESS: &str = "127.0.0.1:8017";

/// `web [--serve | --test]`: builds the page in `target/web`, and serves or tests it if requested.
pub(crate) fn web(arguments: &[String]) -> Outcome {
    let (is_served, rest) = take_flag(arguments, "--serve");
    let (is_tested, rest) = take_flag(&rest, "--test");
    no_more(&rest)?;
    if is_tested {
        return test();
    }
    let page = build()?;
    if !is_served {
        return Ok(());
    }
    let listener = TcpListener::bind(ADDRESS).map_err(|error| format!("{ADDRESS}: {error}"))?;
    eprintln!("http://{ADDRESS}/ (press Ctrl-C to stop)");
    serve::serve(&listener, &page);
    Ok(())
}

/// Builds the page and tests it in a browser. If npm or Chromium is missing, skips the test or, in
/// continuous integration, fails.
pub(crate) fn test() -> Outcome {
    if output(program("npm").arg("--version")).is_none() {
        return skip("npm is not installed, but it is needed to build the web page");
    }
    let Some(browser) = browser() else {
        return skip(
            "Chromium is not installed, but it is needed to test the web page (apt-get install chromium)",
        );
    };
    let page = build()?;
    unit_tests()?;
    let scibin = build_programs()?.join("scibin");
    let listener = TcpListener::bind("127.0.0.1:0").map_err(|error| error.to_string())?;
    let address = listener.local_addr().map_err(|error| error.to_string())?;
    std::thread::spawn(move || serve::serve(&listener, &page));
    run(program("node")
        .arg("crates/web/tests/browser.mjs")
        .arg(format!("http://{address}/"))
        .arg(browser)
        .arg(scibin))
}

/// Runs the tests and lints of the crate, which is not in the workspace.
fn unit_tests() -> Outcome {
    let manifest = "crates/web/Cargo.toml";
    run(&mut cargo(&["fmt", "--check", "--manifest-path", manifest]))?;
    run(&mut cargo(&[
        "clippy",
        "--quiet",
        "--release",
        "--target",
        WASM,
        "--manifest-path",
        manifest,
        "--",
        "-D",
        "warnings",
    ]))?;
    run(&mut cargo(&["test", "--quiet", "--manifest-path", manifest]))
}

/// Returns the path of Chromium, or `None` if it is not installed. In continuous integration, tries
/// to install it first.
fn browser() -> Option<PathBuf> {
    let find = || {
        let named = std::env::var_os("SCIBIN_CHROMIUM").map(PathBuf::from);
        let usual = ["/usr/bin/chromium", "/usr/bin/chromium-browser", "/usr/bin/google-chrome"];
        named.into_iter().chain(usual.map(PathBuf::from)).find(|path| path.is_file())
    };
    find().or_else(|| {
        if is_ci() {
            // Ignore the results, because the next call checks whether Chromium is installed.
            let _ = run(program("apt-get").args(["update", "--quiet"]));
            let _ = run(program("apt-get").args(["install", "--yes", "--quiet", "chromium"]));
        }
        find()
    })
}

/// Builds the page and returns its folder.
fn build() -> Result<PathBuf, String> {
    targets::install(WASM)?;
    let (folder, tools) = (root().join("target/web"), root().join("target/tools"));
    let bindgen = bindgen(&tools)?;
    let node = node(&tools)?;
    run(cargo(&[
        "build",
        "--release",
        "--target",
        WASM,
        "--manifest-path",
        "crates/web/Cargo.toml",
    ])
    .env("CARGO_ENCODED_RUSTFLAGS", flags()))?;
    let _ = fs::remove_dir_all(&folder);
    run(program(bindgen)
        .args(["--target", "web", "--no-typescript", "--out-dir"])
        .arg(&folder)
        .arg(format!("crates/web/target/{WASM}/release/scibin_web.wasm")))?;
    let module = folder.join("scibin_web_bg.wasm");
    run(program("node")
        .arg(node.join("binaryen/bin/wasm-opt"))
        .args(["-Oz", "-o"])
        .args([&module, &module]))?;
    copy(&root().join("crates/web/page"), &folder)?;
    let size = fs::metadata(&module).map_err(|error| error.to_string())?.len();
    eprintln!("{}: {size} bytes", module.display());
    if size > MAX_SIZE {
        return Err(format!("the module has {size} bytes, but the limit is {MAX_SIZE}"));
    }
    Ok(folder)
}

/// Returns compiler flags that make the module smaller. They select the compact implementation of
/// SHA-2, and shorten the paths in panic messages. The full paths would take up several kilobytes of
/// the module, and reveal the names of folders on this machine.
fn flags() -> String {
    let folder = |name: &str| std::env::var_os(name).map(PathBuf::from);
    let home = folder("CARGO_HOME").or_else(|| Some(folder("HOME")?.join(".cargo")));
    let packages = home.map(|home| home.join("registry/src"));
    let short = |folder: PathBuf| format!("--remap-path-prefix={}=", folder.display());
    let paths = [Some(root()), packages].into_iter().flatten().map(short);
    let compact = "--cfg=sha2_backend_soft=\"compact\"".to_owned();
    paths.chain([compact]).collect::<Vec<_>>().join("\x1f")
}

/// Returns the path of the program `wasm-bindgen`. Installs the program if necessary.
fn bindgen(tools: &Path) -> Result<PathBuf, String> {
    let folder = tools.join(format!("wasm-bindgen-{WASM_BINDGEN}"));
    let path = folder.join("bin/wasm-bindgen").with_extension(std::env::consts::EXE_EXTENSION);
    if !path.is_file() {
        run(cargo(&[
            "install",
            "wasm-bindgen-cli",
            "--version",
            WASM_BINDGEN,
            // Optimising the program would take longer than running it without optimisation.
            "--debug",
            "--quiet",
            "--root",
        ])
        .arg(&folder)
        .arg("--target-dir")
        .arg(tools.join("build")))?;
    }
    Ok(path)
}

/// Returns the folder that contains the npm packages. Installs the packages if necessary.
fn node(tools: &Path) -> Result<PathBuf, String> {
    let folder = tools.join("node");
    let stamp = folder.join("packages");
    let wanted = NPM.join("\n");
    if fs::read_to_string(&stamp).ok().as_deref() != Some(&wanted) {
        fs::create_dir_all(&folder).map_err(|error| format!("{}: {error}", folder.display()))?;
        run(program("npm")
            .args(["install", "--no-audit", "--no-fund", "--no-save", "--prefix"])
            .arg(&folder)
            .args(NPM))?;
        fs::write(&stamp, &wanted).map_err(|error| format!("{}: {error}", stamp.display()))?;
    }
    Ok(folder.join("node_modules"))
}

/// Copies all files in a folder to another folder.
fn copy(from: &Path, to: &Path) -> Outcome {
    let copied = || -> std::io::Result<()> {
        for entry in fs::read_dir(from)? {
            let entry = entry?;
            fs::copy(entry.path(), to.join(entry.file_name()))?;
        }
        Ok(())
    };
    copied().map_err(|error| format!("{}: {error}", from.display()))
}
