//! Parsing and printing dates and date-times.
//!
//! ```text
//! 2001-12-14                         date
//! 2001-12-14t21:59:43.10-05:00       date-time with a fraction and a time zone
//! 2001-12-14 21:59:43                spaces and tabs may replace the `T` or `t`
//! 2001-1-2 3:04:05                   only a date-time may have one-digit months, days and hours
//! ```

use std::fmt;
use std::time::{SystemTime, UNIX_EPOCH};

/// A date in the Gregorian calendar.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Date {
    /// The year, 1 to 9999.
    pub year: u16,
    /// The month, 1 to 12.
    pub month: u8,
    /// The day of the month, 1 to 31.
    pub day: u8,
}

/// A date and time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct DateTime {
    /// The date.
    pub date: Date,
    /// The hour, 0 to 23.
    pub hour: u8,
    /// The minute, 0 to 59.
    pub minute: u8,
    /// The second, 0 to 59.
    pub second: u8,
    /// The microsecond, 0 to 999,999. Finer fractions of a second are truncated.
    pub microsecond: u32,
    /// The time zone, in minutes east of UTC, if the text contains one.
    pub offset_minutes: Option<i16>,
}

impl DateTime {
    /// Converts a system time to UTC, and drops fractions of a second. Returns `None` for times
    /// before 1970 or after 9999.
    pub fn from_system_time(time: SystemTime) -> Option<Self> {
        let seconds = time.duration_since(UNIX_EPOCH).ok()?.as_secs();
        let (days, second) = (seconds / 86_400, seconds % 86_400);
        let byte = |number: u64| u8::try_from(number).unwrap_or_default();
        Some(Self {
            date: Date::from_days(days)?,
            hour: byte(second / 3600),
            minute: byte(second / 60 % 60),
            second: byte(second % 60),
            microsecond: 0,
            offset_minutes: Some(0),
        })
    }
}

impl Date {
    /// Returns the date that is `days` days after 1970-01-01, or `None` if this is after the year
    /// 9999.
    fn from_days(days: u64) -> Option<Self> {
        // Let years begin in March, so that a leap day is the last day of its year. There are
        // 719,468 days between 0000-03-01 and 1970-01-01, and 146,097 days in 400 years.
        let days = days.checked_add(719_468)?;
        let (era, day) = (days / 146_097, days % 146_097);
        let year_of_era = (day - day / 1460 + day / 36_524 - day / 146_096) / 365;
        let day = day - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
        // Any five consecutive months without February have 153 days.
        let month = (5 * day + 2) / 153;
        let day = day - (153 * month + 2) / 5 + 1;
        let (month, next_year) = if month < 10 { (month + 3, 0) } else { (month - 9, 1) };
        let year =
            u16::try_from(era * 400 + year_of_era + next_year).ok().filter(|year| *year <= 9999)?;
        Some(Self { year, month: u8::try_from(month).ok()?, day: u8::try_from(day).ok()? })
    }
}

impl fmt::Display for Date {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:04}-{:02}-{:02}", self.year, self.month, self.day)
    }
}

impl fmt::Display for DateTime {
    /// Writes the time in ISO 8601 format. Microseconds are omitted if they are zero. The time zone, if there
    /// is one, is written as hours and minutes.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}T{:02}:{:02}:{:02}", self.date, self.hour, self.minute, self.second)?;
        if self.microsecond != 0 {
            write!(f, ".{:06}", self.microsecond)?;
        }
        if let Some(offset) = self.offset_minutes {
            let sign = if offset < 0 { '-' } else { '+' };
            let minutes = offset.unsigned_abs();
            write!(f, "{sign}{:02}:{:02}", minutes / 60, minutes % 60)?;
        }
        Ok(())
    }
}

/// The result of parsing text that looks like a timestamp.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Timestamp {
    Date(Date),
    DateTime(DateTime),
    /// The syntax is correct, but the day, time or time zone does not exist.
    Impossible,
}

/// Parses a timestamp. Returns `None` if the text does not have the syntax of a timestamp.
pub(super) fn parse(text: &str) -> Option<Timestamp> {
    let mut cursor = Cursor(text.as_bytes());
    let year = cursor.number(4, 4)?;
    cursor.byte(b"-")?;
    let month = cursor.number(1, 2)?;
    let month_is_full = cursor.0.len() + 7 == text.len();
    cursor.byte(b"-")?;
    let day = cursor.number(1, 2)?;
    let date = date(year, month, day);
    if cursor.0.is_empty() {
        let full = month_is_full && text.len() == 10;
        return full.then(|| date.map_or(Timestamp::Impossible, Timestamp::Date));
    }
    if cursor.byte(b"Tt").is_none() && !cursor.skip_blanks() {
        return None;
    }
    let hour = cursor.number(1, 2)?;
    cursor.byte(b":")?;
    let minute = cursor.number(2, 2)?;
    cursor.byte(b":")?;
    let second = cursor.number(2, 2)?;
    let microsecond = if cursor.byte(b".").is_some() { cursor.fraction() } else { 0 };
    let offset_minutes = match cursor.zone()? {
        Zone::Absent => None,
        Zone::Minutes(minutes) => Some(minutes),
        Zone::Impossible => return Some(Timestamp::Impossible),
    };
    let Some(date) = date else { return Some(Timestamp::Impossible) };
    if hour > 23 || minute > 59 || second > 59 {
        return Some(Timestamp::Impossible);
    }
    let byte = |number: u16| u8::try_from(number).unwrap_or_default();
    let (hour, minute, second) = (byte(hour), byte(minute), byte(second));
    Some(Timestamp::DateTime(DateTime { date, hour, minute, second, microsecond, offset_minutes }))
}

/// Returns the date, or `None` if there is no such day.
fn date(year: u16, month: u16, day: u16) -> Option<Date> {
    let leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
    let days = match month {
        1 | 3 | 5 | 7 | 8 | 10 | 12 => 31,
        4 | 6 | 9 | 11 => 30,
        2 if leap => 29,
        2 => 28,
        _ => return None,
    };
    if year == 0 || !(1..=days).contains(&day) {
        return None;
    }
    Some(Date { year, month: u8::try_from(month).ok()?, day: u8::try_from(day).ok()? })
}

/// The text that has not been parsed yet.
struct Cursor<'a>(&'a [u8]);

impl Cursor<'_> {
    /// Consumes and returns the next byte if it is in `set`.
    fn byte(&mut self, set: &[u8]) -> Option<u8> {
        let (&first, rest) = self.0.split_first().filter(|(first, _)| set.contains(first))?;
        self.0 = rest;
        Some(first)
    }

    /// Parses a number with at least `min` and at most `max` digits. `max` must not exceed 4.
    fn number(&mut self, min: usize, max: usize) -> Option<u16> {
        let digits = self.0.iter().take(max).take_while(|b| b.is_ascii_digit()).count();
        if digits < min {
            return None;
        }
        let (number, rest) = self.0.split_at(digits);
        self.0 = rest;
        Some(number.iter().fold(0, |value, b| value * 10 + u16::from(b & 0xf)))
    }

    fn skip_blanks(&mut self) -> bool {
        let blanks = self.0.iter().take_while(|b| b" \t".contains(b)).count();
        self.0 = &self.0[blanks..];
        blanks > 0
    }

    /// Parses the digits after the decimal point as microseconds.
    fn fraction(&mut self) -> u32 {
        let mut microsecond = 0;
        let mut unit = 100_000;
        while let Some(digit) = self.byte(b"0123456789") {
            microsecond += u32::from(digit & 0xf) * unit;
            unit /= 10;
        }
        microsecond
    }

    /// Parses the rest of the text as a time zone. Returns [`Zone::Absent`] at the end of the text,
    /// and `None` if the rest does not have the syntax of a time zone.
    fn zone(&mut self) -> Option<Zone> {
        if self.0.is_empty() {
            return Some(Zone::Absent);
        }
        self.skip_blanks();
        if self.byte(b"Z").is_some() {
            return self.0.is_empty().then_some(Zone::Minutes(0));
        }
        let negative = self.byte(b"+-")? == b'-';
        let hours = self.number(1, 2)?;
        let minutes = if self.0.is_empty() {
            0
        } else {
            self.byte(b":")?;
            self.number(2, 2)?
        };
        if !self.0.is_empty() {
            return None;
        }
        match i16::try_from(hours * 60 + minutes) {
            Ok(offset) if offset < 24 * 60 => {
                Some(Zone::Minutes(if negative { -offset } else { offset }))
            }
            _ => Some(Zone::Impossible),
        }
    }
}

/// The time zone of a date-time.
enum Zone {
    Absent,
    Minutes(i16),
    /// The offset from UTC is a day or more.
    Impossible,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn iso(text: &str) -> Option<String> {
        parse(text).map(|timestamp| match timestamp {
            Timestamp::Date(date) => date.to_string(),
            Timestamp::DateTime(time) => time.to_string(),
            Timestamp::Impossible => "impossible".into(),
        })
    }

    #[test]
    fn a_date_needs_a_four_digit_year_and_a_two_digit_month_and_day() {
        assert_eq!(iso("2001-12-14").as_deref(), Some("2001-12-14"));
        assert_eq!(iso("2024-02-29").as_deref(), Some("2024-02-29"));
        for string in ["2001-1-14", "2001-12-1", "2001-1-2", "01-12-14", "2001-12-14 ", "2001-"] {
            assert_eq!(iso(string), None, "{string}");
        }
    }

    #[test]
    fn a_date_time_may_use_any_notation_that_yaml_allows() {
        for (text, want) in [
            ("2001-12-14t21:59:43.10-05:00", "2001-12-14T21:59:43.100000-05:00"),
            ("2001-12-14T21:59:43Z", "2001-12-14T21:59:43+00:00"),
            ("2001-1-2 \t3:04:05", "2001-01-02T03:04:05"),
            ("2001-1-2 3:04:05.1234567 +5", "2001-01-02T03:04:05.123456+05:00"),
            ("2001-1-2 3:04:05. Z", "2001-01-02T03:04:05+00:00"),
            ("2001-1-2 3:04:05-00:30", "2001-01-02T03:04:05-00:30"),
            ("2026-11-20 23:24:27+00:00", "2026-11-20T23:24:27+00:00"),
        ] {
            assert_eq!(iso(text).as_deref(), Some(want), "{text}");
        }
        for string in [
            "2001-12-14T1:2:03",
            "2001-12-14T01:02",
            "2001-12-14x01:02:03",
            "2001-12-14T01:02:03 ",
            "2001-12-14T01:02:03z",
            "2001-12-14T01:02:03Zx",
            "2001-12-14T01:02:03+1:2",
            "2001-12-14T01:02:03+0100",
        ] {
            assert_eq!(iso(string), None, "{string}");
        }
    }

    #[test]
    fn nonexistent_days_times_and_zones_are_impossible() {
        for text in [
            "2024-02-30",
            "2023-02-29",
            "1900-02-29",
            "2024-13-01",
            "2024-00-01",
            "2024-01-00",
            "0000-01-01",
            "2024-01-01T24:00:00",
            "2024-01-01T00:60:00",
            "2024-01-01T00:00:60",
            "2024-01-01T00:00:00+24:00",
            "2024-02-30T00:00:00",
        ] {
            assert_eq!(parse(text), Some(Timestamp::Impossible), "{text}");
        }
    }

    #[test]
    fn system_time_is_converted_to_utc() {
        // Expected values come from `date --utc --date=@SECONDS`.
        for (seconds, text) in [
            (0, "1970-01-01T00:00:00+00:00"),
            (951_782_399, "2000-02-28T23:59:59+00:00"),
            (951_782_400, "2000-02-29T00:00:00+00:00"),
            (951_868_800, "2000-03-01T00:00:00+00:00"),
            (4_107_542_400, "2100-03-01T00:00:00+00:00"),
            (1_795_217_067, "2026-11-20T23:24:27+00:00"),
            (253_402_300_799, "9999-12-31T23:59:59+00:00"),
        ] {
            let time = UNIX_EPOCH + std::time::Duration::from_secs(seconds);
            assert_eq!(DateTime::from_system_time(time).unwrap().to_string(), text);
        }
        let later = UNIX_EPOCH + std::time::Duration::from_secs(253_402_300_800);
        assert_eq!(DateTime::from_system_time(later), None);
    }
}
