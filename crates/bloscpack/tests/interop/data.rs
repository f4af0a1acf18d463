//! Pseudorandom data and options, which are the same in every run.

use bloscpack::Checksum;
use bloscpack::format::MetadataOptions;
use serde_json::{Value, json};

/// A small random number generator (xorshift).
pub(crate) struct Random(u64);

impl Random {
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed)
    }

    pub(crate) fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    /// Returns a random number below `end`.
    pub(crate) fn below(&mut self, end: u32) -> u32 {
        let high = u32::try_from(self.next() >> 32).unwrap_or_default();
        high % end
    }

    pub(crate) fn pick<T: Copy>(&mut self, items: &[T]) -> T {
        items[self.below(items.len().try_into().unwrap_or(u32::MAX)) as usize]
    }

    /// Returns `size` bytes of data of a random kind, such as smooth numbers, zeros or noise. The
    /// kinds compress differently.
    pub(crate) fn data(&mut self, size: u32) -> Vec<u8> {
        let (count, size) = (size / 8 + 1, size as usize);
        let smooth = |i: u32| (f64::from(i) / 50.0).sin() * 100.0;
        let mut data: Vec<u8> = match self.below(5) {
            0 => (0..count).flat_map(|i| smooth(i).to_le_bytes()).collect(),
            1 => {
                (0..count).flat_map(|_| (f64::from(self.below(500)) / 8.0).to_le_bytes()).collect()
            }
            2 => (0..count).flat_map(|i| u64::from(i / 30 * 977).to_le_bytes()).collect(),
            3 => vec![0; size],
            _ => (0..count).flat_map(|_| self.next().to_le_bytes()).collect(),
        };
        data.truncate(size);
        data
    }

    /// Returns a random JSON value, or `None` for a file without metadata.
    pub(crate) fn metadata(&mut self) -> Option<Value> {
        match self.below(6) {
            0 => Some(
                json!({"name": "M 31", "ratio": 0.5, "counts": [1, -2, 3], "deep": {"none": null}}),
            ),
            1 => Some(json!("é中😀\u{2028}\"\\\u{7f}")),
            2 => Some(json!({})),
            3 => Some(json!(vec!["the same words"; 40])),
            _ => None,
        }
    }

    pub(crate) fn metadata_options(&mut self) -> MetadataOptions {
        let options = MetadataOptions::new()
            .checksum(self.pick(&Checksum::ALL))
            .compress(self.below(3) != 0)
            .level(self.pick(&[0, 1, 6, 9]));
        self.pick(&[None, Some(5000)]).map_or(options, |room| options.max_size(room))
    }
}
