//! Keeps a growing log of measurements: `sensor_log FILE [ROWS]`.
//!
//! Each run appends rows to a numpy array in a Bloscpack file, which
//! `bloscpack.unpack_ndarray_from_file` reads in Python. If a run is killed while it appends, the
//! next run first removes the incomplete rows. Each run ends by printing the mean temperature of
//! the last rows. For this, it decodes only the chunks with these rows, however long the log is.

#![allow(clippy::cast_precision_loss, reason = "a log has fewer than 2^53 rows")]

use std::path::Path;

use binio::write::AtomicFile;
use bloscpack::array::{ArrayInfo, Datatype, Order, pack_array};
use bloscpack::change::{AppendOptions, append};
use bloscpack::{ChunkSize, Reader, WriteOptions};

/// The number of columns: time, temperature and pressure.
const COLUMNS: u64 = 3;
const SHOWN: u64 = 100;

type Result<T, E = Box<dyn std::error::Error>> = std::result::Result<T, E>;

fn main() -> Result<()> {
    let mut arguments = std::env::args().skip(1);
    let path = arguments.next().ok_or("usage: sensor_log FILE [ROWS]")?;
    let path = Path::new(&path);
    let rows = arguments.next().map_or(Ok(1000), |rows| rows.parse())?;
    if path.exists() {
        extend(path, rows)?;
    } else {
        begin(path, rows)?;
    }
    show(path)
}

/// Creates the log. Its chunks are small, so that readers decode less, and each append rewrites
/// less of the last chunk.
fn begin(path: &Path, rows: u64) -> Result<()> {
    let columns = serde_json::json!({"columns": ["time", "temperature", "pressure"]});
    let options = WriteOptions::new().chunk_size(ChunkSize::Bytes(64 << 10)).metadata(&columns);
    let info = ArrayInfo::new(Datatype::parse("<f8")?, vec![rows, COLUMNS], Order::C)?;
    let file = AtomicFile::create(path)?;
    pack_array(&info, &measure(0, rows), file, &options, None)?.commit()?;
    Ok(())
}

/// Appends to the log in place. Readers see the old rows until the change is complete.
fn extend(path: &Path, rows: u64) -> Result<()> {
    let first = Reader::open(path)?.array()?.shape()[0];
    let options = AppendOptions::new().in_place(true).axis0(true).grow(true);
    let appended = append(path, &measure(first, rows), &options, None)?;
    if appended.rolled_back {
        eprintln!("a run was killed while it was writing; its rows are gone");
    }
    println!(
        "{} bytes in {} chunks, {} of them new",
        appended.len, appended.nchunks, appended.new_chunks
    );
    Ok(())
}

/// Prints the mean temperature of the last rows, and the diagnostics of the file.
fn show(path: &Path) -> Result<()> {
    let file = Reader::open(path)?;
    for diagnostic in file.diagnostics() {
        eprintln!("{diagnostic}");
    }
    let array = file.array()?;
    let rows = array.shape()[0];
    let last = array.rows(rows.saturating_sub(SHOWN)..rows)?.read::<f64>()?;
    let columns = usize::try_from(COLUMNS)?;
    let temperatures: Vec<f64> = last.chunks_exact(columns).map(|row| row[1]).collect();
    let mean = temperatures.iter().sum::<f64>() / temperatures.len().max(1) as f64;
    println!("{rows} rows, mean of the last {}: {mean:.2} K", temperatures.len());
    Ok(())
}

/// Simulates a sensor. Returns `rows` rows of little-endian numbers, beginning with row `first`.
fn measure(first: u64, rows: u64) -> Vec<u8> {
    let row = |n: u64| {
        let time = n as f64;
        [time, 293.0 + (time / 500.0).sin(), 1013.25 + (time / 3000.0).cos()]
    };
    (first..first + rows).flat_map(row).flat_map(f64::to_le_bytes).collect()
}
