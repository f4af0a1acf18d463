//! Suggesting the correct spelling of a misspelt name.

/// Returns the name that is most similar to `text`. Returns `None` if every name differs from
/// `text` in more than two characters, or in more than half of the characters of `text`.
///
/// ```
/// let names = ["exposure_time", "gain"];
/// assert_eq!(binio::diagnostic::nearest("exposure_tme", names), Some("exposure_time".to_owned()));
/// assert_eq!(binio::diagnostic::nearest("other", names), None);
/// ```
pub fn nearest<N: AsRef<str>>(text: &str, names: impl IntoIterator<Item = N>) -> Option<String> {
    let len = text.chars().count();
    let limit = (len / 2).min(2);
    let near = names.into_iter().filter(|name| name.as_ref().chars().count() <= len + 2);
    let near = near.map(|name| (distance(text, name.as_ref()), name));
    let near = near.filter(|near| near.0 <= limit).min_by_key(|near| near.0)?;
    Some(near.1.as_ref().to_owned())
}

/// Returns the minimum number of characters to change, add or remove to turn one string into the
/// other.
fn distance(one: &str, other: &str) -> usize {
    let other: Vec<char> = other.chars().collect();
    let mut row: Vec<usize> = (0..=other.len()).collect();
    for (at, from) in one.chars().enumerate() {
        let mut diagonal = row[0];
        row[0] = at + 1;
        for (column, &to) in other.iter().enumerate() {
            let change = diagonal + usize::from(from != to);
            diagonal = row[column + 1];
            row[column + 1] = change.min(diagonal + 1).min(row[column] + 1);
        }
    }
    row[other.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn differences_are_counted_in_characters_not_bytes() {
        assert_eq!(nearest("abcd", ["abcd\u{e9}\u{e9}"]), Some("abcd\u{e9}\u{e9}".to_owned()));
        assert_eq!(nearest("abcd", ["abcdefg"]), None);
    }
}
