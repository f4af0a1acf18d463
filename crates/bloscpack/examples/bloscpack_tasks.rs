//! Runs a task of the side-by-side benchmark several times, and prints the times as JSON. `cargo
//! xtask bench bloscpack` runs this program with the following arguments:
//!
//! ```text
//! bloscpack_tasks TASK SOURCE TARGET CODEC LEVEL CHUNK_SIZE SIZE THREADS REPETITIONS
//! ```

use std::fs::File;
use std::hint::black_box;
use std::io::Read;
use std::time::{Duration, Instant};

use binio::FileSource;
use binio::checksum::Algorithm;
use binio::memory::prefer_huge_pages;
use bloscpack::{
    ChunkSize, Compressor, Reader, UnpackOptions, VerifyOptions, WriteOptions, pack_slice,
    pack_source, verify,
};

type Outcome<T = ()> = Result<T, Box<dyn std::error::Error>>;

struct Task {
    name: String,
    source: String,
    target: String,
    options: WriteOptions,
    threads: usize,
    size: usize,
}

fn main() -> Outcome {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [name, source, target, codec, level, chunk_size, size, threads, repetitions] =
        &arguments[..]
    else {
        return Err("usage: bloscpack_tasks TASK SOURCE TARGET CODEC LEVEL CHUNK_SIZE SIZE THREADS REPETITIONS".into());
    };
    let threads = threads.parse()?;
    let compressor = Compressor::from_name(codec).ok_or("unknown codec")?;
    let task = Task {
        name: name.clone(),
        source: source.clone(),
        target: target.clone(),
        options: WriteOptions::new()
            .compressor(compressor)
            .level(level.parse()?)
            .chunk_size(ChunkSize::Bytes(chunk_size.parse()?))
            .threads(threads),
        threads,
        size: size.parse()?,
    };
    let mut run = task.prepare()?;
    let (mut walls, mut cpus) = (Vec::new(), Vec::new());
    for repetition in 0..repetitions.parse()? {
        let _ = std::fs::remove_file(target);
        let (cpu, wall) = (cpu_time(), Instant::now());
        run(repetition)?;
        walls.push(wall.elapsed().as_secs_f64());
        cpus.push(cpu_time().saturating_sub(cpu).as_secs_f64());
    }
    println!("{{\"wall\": {walls:?}, \"cpu\": {cpus:?}}}");
    Ok(())
}

impl Task {
    /// Prepares the task, and returns a function that runs it once. Only this function is timed.
    fn prepare(&self) -> Outcome<Box<dyn FnMut(u64) -> Outcome + '_>> {
        Ok(match self.name.as_str() {
            "pack_array" => {
                let data = self.load()?;
                let options = self.options.clone().metadata(&serde_json::json!({
                    "dtype": "'<f8'", "shape": [self.size / 8], "order": "C", "container": "numpy",
                }));
                Box::new(move |_| {
                    pack_slice(&data, File::create(&self.target)?, &options, None)?;
                    Ok(())
                })
            }
            "unpack_array" => Box::new(|_| {
                let file = Reader::open(&self.source)?;
                black_box(file.read_all_parallel(&self.unpacking())?);
                Ok(())
            }),
            "unpack_array_into" => {
                let mut out = vec![0; self.size];
                prefer_huge_pages(&mut out);
                out.fill(1);
                Box::new(move |_| {
                    let file = Reader::open(&self.source)?;
                    file.read_into(&mut out, 0, &self.unpacking())?;
                    black_box(&out);
                    Ok(())
                })
            }
            "pack_file" => Box::new(|_| {
                let source = FileSource::open(&self.source)?;
                pack_source(&source, File::create(&self.target)?, &self.options, None)?;
                Ok(())
            }),
            "unpack_file" => Box::new(|_| {
                let file = Reader::open(&self.source)?;
                file.unpack_to_file(&File::create(&self.target)?, &self.unpacking())?;
                Ok(())
            }),
            "read_1_mib" => {
                let mut out = vec![0; 1 << 20];
                let last = (self.size - out.len()) as u64;
                Box::new(move |repetition| {
                    let file = Reader::open(&self.source)?;
                    // Multiples of the golden ratio spread evenly over the data and do not repeat.
                    let position = repetition.wrapping_mul(0x9E37_79B9_7F4A_7C15) % last;
                    file.read_exact_at(&mut out, position)?;
                    black_box(&out);
                    Ok(())
                })
            }
            "verify" => Box::new(|_| {
                let file = Reader::open(&self.source)?;
                let options = VerifyOptions::new().deep(false).threads(self.threads);
                let report = verify(&file, &options)?;
                if report.diagnostics.is_empty() {
                    Ok(())
                } else {
                    Err("expected a file without diagnostics".into())
                }
            }),
            "adler32" => {
                let stored = std::fs::read(&self.source)?;
                Box::new(move |_| {
                    black_box(Algorithm::Adler32.digest(&stored));
                    Ok(())
                })
            }
            _ => return Err("unknown task".into()),
        })
    }

    fn load(&self) -> Outcome<Vec<u8>> {
        let mut data = Vec::with_capacity(self.size);
        // Use huge pages, as numpy does for its arrays.
        prefer_huge_pages(&mut data);
        File::open(&self.source)?.take(self.size as u64).read_to_end(&mut data)?;
        Ok(data)
    }

    fn unpacking(&self) -> UnpackOptions<'static> {
        UnpackOptions::new().threads(self.threads)
    }
}

/// Returns the CPU time that all threads of the process have used so far.
fn cpu_time() -> Duration {
    #[cfg(unix)]
    {
        let time = rustix::time::clock_gettime(rustix::time::ClockId::ProcessCPUTime);
        Duration::try_from(time).unwrap_or_default()
    }
    #[cfg(not(unix))]
    Duration::ZERO
}
