//! `scibin bloscpack estimate`: estimates the packed size with each codec and shuffle from a
//! sample.

use std::io::{self, Write};
use std::time::Instant;

use binio::ReadAt;
use bloscpack::format::Chunking;
use bloscpack::{ChunkSize, Compressor, Shuffle, pack_to_vec};
use serde_json::{Value, json};

use super::chunks::ratio;
use super::pack::writer_options;
use super::plain_source;
use crate::Verdict;
use crate::arguments::bloscpack::{Estimate, Threads};
use crate::failure::Failure;
use crate::output::{Output, print_json, size, table};

/// The approximate size of the sample in bytes, unless a single chunk is larger.
const SAMPLE: u64 = 8 << 20;

/// The result of packing the sample with one codec and one shuffle.
struct Trial {
    compressor: Compressor,
    shuffle: Shuffle,
    ratio: f64,
    /// The number of bytes compressed per second, on a single thread.
    speed: f64,
}

pub(super) fn estimate(command: &Estimate, output: Output) -> Result<Verdict, Failure> {
    let path = &command.input;
    let fail = |error| Failure::bloscpack(path, error);
    let source = plain_source(path)?;
    let sample = sample(&source, command.chunk_size.unwrap_or_default()).map_err(fail)?;
    let one = Threads { threads: Some(1) };
    let options = writer_options(&command.compression, command.chunk_size, one);
    let compressors = command.compression.codec.map_or(Compressor::ALL.to_vec(), |one| vec![one]);
    let shuffles = [Shuffle::None, Shuffle::Byte, Shuffle::Bit];
    let shuffles = command.compression.shuffle().map_or(shuffles.to_vec(), |one| vec![one]);
    let mut trials = Vec::new();
    for &compressor in &compressors {
        for &shuffle in &shuffles {
            let options = options.clone().compressor(compressor).shuffle(shuffle);
            let begin = Instant::now();
            let packed = pack_to_vec(&sample, &options).map_err(fail)?;
            let seconds = begin.elapsed().as_secs_f64();
            let ratio = ratio(sample.len() as u64, packed.len() as u64);
            #[allow(clippy::cast_precision_loss, reason = "a measured speed need not be exact")]
            let speed = sample.len() as f64 / seconds;
            trials.push(Trial { compressor, shuffle, ratio, speed });
        }
    }
    if output.json {
        print_json(&json!({
            "file": path.display().to_string(), "nbytes": source.len(), "sample": sample.len(),
            "trials": trials.iter().map(Trial::json).collect::<Value>(),
        }))?;
    } else {
        let heading = ["codec", "shuffle", "ratio", "size", "per second"];
        let mut rows = vec![heading.map(str::to_owned).to_vec()];
        rows.extend(trials.iter().map(|trial| trial.row(source.len())));
        let text = table(&rows, &[false, false, true, true, true]);
        io::stdout().lock().write_all(text.as_bytes())?;
        if (sample.len() as u64) < source.len() {
            let (sample, all) = (size(sample.len() as u64), size(source.len()));
            output.remark(&format_args!("estimated from a sample of {sample} out of {all}"));
        }
    }
    Ok(Verdict::Fine)
}

impl Trial {
    #[allow(
        clippy::cast_precision_loss,
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "the values are not negative, and at most two decimals are printed"
    )]
    fn row(&self, len: u64) -> Vec<String> {
        let packed = if self.ratio > 0.0 { len as f64 / self.ratio } else { 0.0 };
        vec![
            self.compressor.name().to_owned(),
            self.shuffle.name().to_owned(),
            format!("{:.2}", self.ratio),
            size(packed as u64),
            size(self.speed as u64),
        ]
    }

    fn json(&self) -> Value {
        json!({
            "codec": self.compressor.name(), "shuffle": self.shuffle.name(),
            "ratio": self.ratio, "bytes_per_second": self.speed,
        })
    }
}

/// Returns the bytes of evenly spaced chunks, or of the whole file if it is small.
fn sample(source: &dyn ReadAt, chunk_size: ChunkSize) -> bloscpack::Result<Vec<u8>> {
    let chunking = Chunking::of(source.len(), chunk_size)?;
    let wanted = (SAMPLE / u64::from(chunking.chunk_size).max(1)).clamp(1, chunking.nchunks);
    let mut sample = Vec::new();
    for n in 0..wanted {
        let chunk = n * (chunking.nchunks / wanted);
        let Some(range) = chunking.range(chunk) else { break };
        let len = usize::try_from(range.end - range.start).unwrap_or(usize::MAX);
        sample.extend_from_slice(&source.bytes_at(range.start, len)?);
    }
    Ok(sample)
}
