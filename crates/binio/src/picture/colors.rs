//! Colour maps.

/// A colour map from dark to light.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ColorMap {
    /// Black to white.
    #[default]
    Grey,
    /// Dark purple, blue, green, yellow: matplotlib's `viridis`.
    Viridis,
    /// Black, purple, orange, light yellow: matplotlib's `inferno`.
    Inferno,
}

/// The colours at 17 equidistant positions in a colour map, as 0xrrggbb. They are from matplotlib's
/// colour maps, which are in the public domain.
type Table = [u32; 17];

const VIRIDIS: Table = [
    0x44_0154, 0x48_186a, 0x47_2d7b, 0x42_4086, 0x3b_528b, 0x33_638d, 0x2c_728e, 0x26_818e,
    0x21_908c, 0x1f_9f88, 0x28_ae80, 0x3e_bc74, 0x5d_c963, 0x82_d34c, 0xab_dc32, 0xd5_e21a,
    0xfd_e725,
];

const INFERNO: Table = [
    0x00_0004, 0x0b_0724, 0x21_0c4a, 0x3c_0965, 0x57_106d, 0x70_196e, 0x89_226a, 0xa3_2b61,
    0xbb_3755, 0xd1_4644, 0xe3_5932, 0xf1_711e, 0xf9_8d0a, 0xfc_ab0f, 0xf9_ca32, 0xf2_e865,
    0xfc_ffa4,
];

impl ColorMap {
    /// Returns the colour of a value from 0 to 1 as red, green and blue. Values outside this range
    /// have the colour of the nearer end, and NaN has the colour of 0.
    pub fn color(self, value: f64) -> [u8; 3] {
        let value = if value.is_nan() { 0.0 } else { value.clamp(0.0, 1.0) };
        match self {
            Self::Grey => [rounded(255.0 * value); 3],
            Self::Viridis => interpolated(&VIRIDIS, value),
            Self::Inferno => interpolated(&INFERNO, value),
        }
    }
}

fn interpolated(table: &Table, value: f64) -> [u8; 3] {
    let position = value * (table.len() - 1) as f64;
    let index = (position as usize).min(table.len() - 2);
    let fraction = position - index as f64;
    let [_, low @ ..] = table[index].to_be_bytes();
    let [_, high @ ..] = table[index + 1].to_be_bytes();
    std::array::from_fn(|i| {
        rounded(f64::from(low[i]) * (1.0 - fraction) + f64::from(high[i]) * fraction)
    })
}

/// Rounds a number from 0 to 255 to the nearest integer.
fn rounded(value: f64) -> u8 {
    value.round() as u8
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn first_middle_and_last_colours_match_matplotlib() {
        assert_eq!(ColorMap::Grey.color(0.5), [128; 3]);
        assert_eq!(ColorMap::Viridis.color(0.0), [0x44, 0x01, 0x54]);
        assert_eq!(ColorMap::Viridis.color(1.0), [0xfd, 0xe7, 0x25]);
        assert_eq!(ColorMap::Inferno.color(0.5), [0xbb, 0x37, 0x55]);
    }

    #[test]
    fn values_outside_the_range_are_clamped_and_nan_has_the_colour_of_0() {
        for (outside, end) in [(-3.0, 0.0), (7.0, 1.0), (f64::INFINITY, 1.0), (f64::NAN, 0.0)] {
            assert_eq!(ColorMap::Inferno.color(outside), ColorMap::Inferno.color(end));
        }
    }
}
