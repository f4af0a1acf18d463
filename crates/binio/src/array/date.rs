//! Formatting dates.

/// Returns the date that is `n * count` units after the start of 1970, with the precision of the
/// unit. Returns `None` for an unknown unit. The units are the same as in numpy: `Y M W D h m s ms
/// us ns ps fs as`.
pub(super) fn iso_8601(n: i64, count: u32, unit: &str) -> Option<String> {
    // The product is below 2^95, so no intermediate result exceeds 128 bits.
    let n = i128::from(n) * i128::from(count);
    let minute = |seconds| time(seconds).strip_suffix(":00").map(str::to_owned);
    Some(match unit {
        "Y" => format!("{:04}", n + 1970),
        "M" => format!("{:04}-{:02}", n.div_euclid(12) + 1970, n.rem_euclid(12) + 1),
        "W" => date(n * 7),
        "D" => date(n),
        "h" => format!("{}T{:02}", date(n.div_euclid(24)), n.rem_euclid(24)),
        "m" => minute(n * 60)?,
        "s" => time(n),
        "ms" => fraction(n, 3),
        "us" => fraction(n, 6),
        "ns" => fraction(n, 9),
        "ps" => fraction(n, 12),
        "fs" => fraction(n, 15),
        "as" => fraction(n, 18),
        _ => return None,
    })
}

/// Returns the Gregorian date that is `days` days after 1970-01-01.
fn date(days: i128) -> String {
    const ERA: i128 = 146_097; // days in 400 years
    // Count years from March, so that the leap day is the last day of a year.
    let from_march = days + 719_468;
    let (era, day) = (from_march.div_euclid(ERA), from_march.rem_euclid(ERA));
    let year_of_era = (day - day / 1_460 + day / 36_524 - day / 146_096) / 365;
    let day = day - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month = (5 * day + 2) / 153;
    let day = day - (153 * month + 2) / 5 + 1;
    let (month, next) = if month < 10 { (month + 3, 0) } else { (month - 9, 1) };
    let year = era * 400 + year_of_era + next;
    format!("{year:04}-{month:02}-{day:02}")
}

fn time(seconds: i128) -> String {
    let (day, second) = (seconds.div_euclid(86_400), seconds.rem_euclid(86_400));
    let (hour, minute, second) = (second / 3600, second / 60 % 60, second % 60);
    format!("{}T{hour:02}:{minute:02}:{second:02}", date(day))
}

fn fraction(n: i128, digits: u32) -> String {
    let unit = 10_i128.pow(digits);
    let width = digits as usize;
    format!("{}.{:0width$}", time(n.div_euclid(unit)), n.rem_euclid(unit))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The expected values are numpy's output.
    #[test]
    fn dates_are_formatted_as_in_numpy() {
        for (n, count, unit, expected) in [
            (0, 1, "D", "1970-01-01"),
            (-1, 1, "D", "1969-12-31"),
            (11_016, 1, "D", "2000-02-29"),
            (-25_509, 1, "D", "1900-02-28"),
            (-719_529, 1, "D", "-001-12-31"),
            (50, 1, "Y", "2020"),
            (-1, 1, "M", "1969-12"),
            (2, 1, "W", "1970-01-15"),
            (25, 1, "h", "1970-01-02T01"),
            (-1, 1, "m", "1969-12-31T23:59"),
            (3, 25, "s", "1970-01-01T00:01:15"),
            (1_500, 1, "ms", "1970-01-01T00:00:01.500"),
            (-1, 1, "us", "1969-12-31T23:59:59.999999"),
            (i64::MAX, 1, "ns", "2262-04-11T23:47:16.854775807"),
            (1, 1, "as", "1970-01-01T00:00:00.000000000000000001"),
        ] {
            assert_eq!(iso_8601(n, count, unit).as_deref(), Some(expected), "{n} {unit}");
        }
        assert_eq!(iso_8601(0, 1, "x"), None);
    }

    #[test]
    fn extreme_dates_do_not_overflow() {
        for unit in ["Y", "M", "W", "D", "h", "m", "s", "ms", "us", "ns", "ps", "fs", "as"] {
            for n in [i64::MIN, i64::MAX] {
                assert!(iso_8601(n, u32::MAX, unit).is_some());
            }
        }
    }
}
