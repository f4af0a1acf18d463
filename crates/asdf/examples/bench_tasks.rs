//! Does one task of the side-by-side benchmark several times and prints its times as JSON:
//! `bench_tasks TASK FILE REPETITIONS`. `cargo xtask bench asdf` calls it.

use std::hint::black_box;
use std::time::{Duration, Instant};

use asdf::{Asdf, ChecksumVerdict, OpenOptions, Verify};

type Outcome = Result<(), Box<dyn std::error::Error>>;

fn main() -> Outcome {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [task, path, repetitions] = &arguments[..] else {
        return Err("usage: bench_tasks TASK FILE REPETITIONS".into());
    };
    let repetitions: usize = repetitions.parse()?;
    let view = prepared_view(task, path)?;
    let (mut walls, mut cpus) = (Vec::new(), Vec::new());
    for _ in 0..=repetitions {
        let (cpu, wall) = (cpu_time(), Instant::now());
        match &view {
            Some(file) => read_view(file, task)?,
            None => once(task, path)?,
        }
        walls.push(wall.elapsed().as_secs_f64());
        cpus.push(cpu_time().saturating_sub(cpu).as_secs_f64());
    }
    let skip = usize::from(repetitions > 1);
    println!(
        "{{\"wall\": {:?}, \"cpu\": {:?}, \"peak\": {}}}",
        &walls[skip..],
        &cpus[skip..],
        peak_bytes()
    );
    Ok(())
}

/// How files are opened: without comparing checksums, as the reference opens them.
fn options() -> OpenOptions {
    OpenOptions::new().verify(Verify::Never)
}

/// Strided reads are timed on an open file, which is a memory map, as they are for the reference.
fn prepared_view(task: &str, path: &str) -> Result<Option<Asdf>, asdf::Error> {
    if task.starts_with("strided_") || task.starts_with("complex_") {
        let options = options();
        #[cfg(feature = "mmap")]
        let options = options.mmap(true);
        options.open(path).map(Some)
    } else {
        Ok(None)
    }
}

fn once(task: &str, path: &str) -> Outcome {
    let file = options().open(path)?;
    if task.starts_with("open_") || task.starts_with("tree_") {
        black_box(file.tree()?.len());
        if task.contains("blocks") {
            black_box(file.blocks().len()?);
        }
        if task.starts_with("tree_") {
            for node in file.nodes()? {
                let _ = black_box(node.value());
            }
        }
    } else if task.starts_with("verify_") {
        for verdict in file.blocks().verify_all()? {
            if verdict? != ChecksumVerdict::Stored {
                return Err("a checksum does not pass".into());
            }
        }
    } else if task == "many_zlib_blocks" {
        for decoded in file.blocks().decode_all()? {
            black_box(decoded?.len());
        }
    } else {
        let array = file.tree()?.pointer("/data")?.ndarray()?;
        match array.datatype().itemsize() {
            2 => drop(black_box(array.read::<i16>()?)),
            _ => drop(black_box(array.read::<f64>()?)),
        }
    }
    Ok(())
}

fn read_view(file: &Asdf, task: &str) -> Outcome {
    let key = match task {
        "strided_step" => "step",
        "strided_transposed" => "transposed",
        "strided_reversed" => "reversed",
        "strided_big_endian" => "big_step",
        "complex_big_endian" => "complex_big",
        _ => "complex_step",
    };
    let array = file.tree()?.pointer(&format!("/{key}"))?.ndarray()?;
    if task.starts_with("complex_") {
        black_box(array.read::<num_complex::Complex<f64>>()?);
    } else {
        black_box(array.read::<f64>()?);
    }
    Ok(())
}

/// CPU time of the process so far, from the kernel's accounting; wall time where there is none.
fn cpu_time() -> Duration {
    let stat = std::fs::read_to_string("/proc/self/schedstat").unwrap_or_default();
    let tasks = std::fs::read_dir("/proc/self/task").into_iter().flatten().flatten();
    let nanos: u64 = tasks
        .filter_map(|task| std::fs::read_to_string(task.path().join("schedstat")).ok())
        .filter_map(|text| text.split(' ').next()?.parse::<u64>().ok())
        .sum();
    if nanos == 0 && stat.is_empty() {
        return std::time::SystemTime::now()
            .duration_since(std::time::UNIX_EPOCH)
            .unwrap_or_default();
    }
    Duration::from_nanos(nanos)
}

/// Largest resident set so far, in bytes; 0 where the system does not tell.
fn peak_bytes() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap_or_default();
    line.split_whitespace().next().and_then(|kib| kib.parse::<u64>().ok()).unwrap_or(0) * 1024
}
