//! Lists the ASDF golden files, each with its size, the expected outcome of reading its tree, and
//! the number of its arrays.

fn main() -> std::io::Result<()> {
    for case in testdata::cases(&testdata::path("asdf/expected.json")) {
        let size = std::fs::metadata(&case.file)?.len();
        let arrays = case.ours["arrays"].as_object().map_or(0, serde_json::Map::len);
        println!("{:<20} {size:>6} bytes  tree {}, {arrays} arrays", case.name, case.ours["tree"]);
    }
    Ok(())
}
