//! Prints an array's shape and datatype, and the largest element of a tile:
//! `read_array FILE POINTER`.

use asdf::Asdf;
use asdf::ndarray::Slice;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut arguments = std::env::args().skip(1);
    let (Some(path), Some(pointer)) = (arguments.next(), arguments.next()) else {
        return Err("usage: read_array FILE POINTER".into());
    };
    let file = Asdf::open(path)?;
    for diagnostic in file.diagnostics() {
        eprintln!("{diagnostic}");
    }
    let array = file.tree()?.pointer(&pointer)?.ndarray()?;
    println!("{} {:?}", array.datatype(), array.shape());
    // Read every other column of the first ten rows. The other rows of a large file are not read.
    let tile = array.slice(&Slice::parse("0:10,::2")?)?.read::<f32>()?;
    println!(
        "largest of the {} elements in the tile: {}",
        tile.len(),
        tile.iter().copied().fold(f32::MIN, f32::max)
    );
    Ok(())
}
