//! Lists the golden files of ASDF with their name, their size, the expected outcome for the tree,
//! and the number of arrays.

fn main() -> std::io::Result<()> {
    for case in testdata::cases(&testdata::path("asdf/expected.json")) {
        let size = std::fs::metadata(&case.file)?.len();
        let arrays = case.ours["arrays"].as_object().map_or(0, serde_json::Map::len);
        println!("{:<20} {size:>6} bytes  tree {}, {arrays} arrays", case.name, case.ours["tree"]);
    }
    Ok(())
}
