// Timing tasks and printing the results, for both our program and the peer's in the side-by-side
// benchmark.

use std::time::{Duration, Instant};

/// Minimum time for which a task is repeated before it is measured, so that the processor's clock
/// rate has risen.
const WARM_UP: Duration = Duration::from_millis(100);

/// Runs a task `repetitions` times, but at least twice, and prints the times and the peak memory as
/// JSON.
pub(crate) fn measure(
    repetitions: usize,
    task: impl FnMut() -> Result<(), Box<dyn std::error::Error>>,
) -> Result<(), Box<dyn std::error::Error>> {
    measure_and_clean(repetitions, task, || Ok(()))
}

/// Like `measure`, but for a task that writes the file at `path`. The file is removed after each
/// run; otherwise, the system would begin to write it to disk, and later runs would wait for that.
pub(crate) fn measure_writing(
    repetitions: usize,
    path: &str,
    task: impl Fn(&str) -> Result<(), Box<dyn std::error::Error>>,
) -> Result<(), Box<dyn std::error::Error>> {
    measure_and_clean(repetitions, || task(path), || Ok(std::fs::remove_file(path)?))
}

fn measure_and_clean(
    repetitions: usize,
    mut task: impl FnMut() -> Result<(), Box<dyn std::error::Error>>,
    clean: impl Fn() -> Result<(), Box<dyn std::error::Error>>,
) -> Result<(), Box<dyn std::error::Error>> {
    let (mut walls, mut cpus) = (Vec::new(), Vec::new());
    let begin = Instant::now();
    while repetitions > 1 && begin.elapsed() < WARM_UP {
        task()?;
        clean()?;
    }
    for _ in 0..repetitions.max(2) {
        touch_memory();
        let (cpu, wall) = (cpu_time(), Instant::now());
        task()?;
        walls.push(wall.elapsed().as_secs_f64());
        cpus.push(cpu_time().saturating_sub(cpu).as_secs_f64());
        clean()?;
    }
    println!("{{\"wall\": {walls:?}, \"cpu\": {cpus:?}, \"peak\": {}}}", status_bytes("VmHWM:"));
    Ok(())
}

/// Writes to as much memory as the task has needed so far, then frees it. A virtual machine may have
/// returned memory to its host since it was freed, and would get it back page by page.
fn touch_memory() {
    let needed = status_bytes("VmHWM:").saturating_sub(status_bytes("VmRSS:"));
    std::hint::black_box(vec![1_u8; usize::try_from(needed).unwrap_or(0)]);
}

/// Returns the CPU time of the process so far according to the kernel, or the wall-clock time if
/// the kernel does not report it.
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

/// Returns a memory statistic of the process in bytes, by the name that the kernel uses: `VmHWM:`
/// is the largest resident set so far, and `VmRSS:` the present one. Returns 0 if the system does
/// not report it.
pub(crate) fn status_bytes(name: &str) -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix(name)).unwrap_or_default();
    line.split_whitespace().next().and_then(|kib| kib.parse::<u64>().ok()).unwrap_or(0) * 1024
}
