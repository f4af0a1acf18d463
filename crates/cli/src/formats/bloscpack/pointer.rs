//! Setting and removing the value at a JSON Pointer.

use serde_json::Value;

/// Sets the value at the pointer, or replaces the whole value if the pointer is "". The last key
/// may be new, and "-" as the last key appends to a list. The error says which part of the pointer
/// is wrong.
pub(super) fn set(root: &mut Value, pointer: &str, value: Value) -> Result<(), String> {
    let Some((parent, key)) = split(pointer)? else {
        *root = value;
        return Ok(());
    };
    match parent_of(root, parent)? {
        Value::Object(map) => {
            map.insert(key, value);
        }
        Value::Array(items) if key == "-" => items.push(value),
        Value::Array(items) => *item(items, &key)? = value,
        _ => return Err(format!("{parent:?} is neither an object nor a list")),
    }
    Ok(())
}

/// Removes the value at the pointer, which must not be "".
pub(super) fn remove(root: &mut Value, pointer: &str) -> Result<(), String> {
    let Some((parent, key)) = split(pointer)? else {
        return Err("expected a pointer to a single value, found \"\"".to_owned());
    };
    match parent_of(root, parent)? {
        // Remove without reordering the remaining keys.
        Value::Object(map) => match map.shift_remove(&key) {
            Some(_) => Ok(()),
            None => Err(format!("no key {key:?}")),
        },
        Value::Array(items) => {
            item(items, &key)?;
            let index = key.parse().unwrap_or(items.len());
            items.remove(index);
            Ok(())
        }
        _ => Err(format!("{parent:?} is neither an object nor a list")),
    }
}

/// Splits a pointer into the pointer to the parent and the unescaped key. Returns `None` for "".
fn split(pointer: &str) -> Result<Option<(&str, String)>, String> {
    if pointer.is_empty() {
        return Ok(None);
    }
    match pointer.rsplit_once('/') {
        Some((parent, key)) if parent.is_empty() || parent.starts_with('/') => {
            Ok(Some((parent, key.replace("~1", "/").replace("~0", "~"))))
        }
        _ => Err(format!("{pointer:?} does not begin with \"/\"")),
    }
}

fn parent_of<'a>(root: &'a mut Value, parent: &str) -> Result<&'a mut Value, String> {
    root.pointer_mut(parent).ok_or_else(|| format!("no value at {parent:?}"))
}

fn item<'a>(items: &'a mut [Value], key: &str) -> Result<&'a mut Value, String> {
    let len = items.len();
    let is_plain = key == "0" || !key.starts_with(['0', '+']);
    let index = key.parse::<usize>().ok().filter(|_| is_plain);
    index
        .and_then(|index| items.get_mut(index))
        .ok_or_else(|| format!("no item {key:?} in a list of length {len}"))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn edited(edit: impl FnOnce(&mut Value) -> Result<(), String>) -> Result<String, String> {
        let mut value = json!({"a": 1, "l": [1, {"x": 2}], "c/d": 3});
        edit(&mut value)?;
        Ok(value.to_string())
    }

    #[test]
    fn pointers_set_values_in_objects_and_lists() {
        let set_to_7 = |pointer: &str| edited(|value| set(value, pointer, json!(7))).unwrap();
        assert_eq!(set_to_7(""), "7");
        assert_eq!(set_to_7("/a"), r#"{"a":7,"l":[1,{"x":2}],"c/d":3}"#);
        assert_eq!(set_to_7("/new"), r#"{"a":1,"l":[1,{"x":2}],"c/d":3,"new":7}"#);
        assert_eq!(set_to_7("/l/1/x"), r#"{"a":1,"l":[1,{"x":7}],"c/d":3}"#);
        assert_eq!(set_to_7("/l/-"), r#"{"a":1,"l":[1,{"x":2},7],"c/d":3}"#);
        assert_eq!(set_to_7("/c~1d"), r#"{"a":1,"l":[1,{"x":2}],"c/d":7}"#);
    }

    #[test]
    fn removing_a_value_keeps_the_order_of_the_remaining_keys() {
        let removed = |pointer: &str| edited(|value| remove(value, pointer)).unwrap();
        assert_eq!(removed("/a"), r#"{"l":[1,{"x":2}],"c/d":3}"#);
        assert_eq!(removed("/l/0"), r#"{"a":1,"l":[{"x":2}],"c/d":3}"#);
        assert_eq!(removed("/c~1d"), r#"{"a":1,"l":[1,{"x":2}]}"#);
    }

    #[test]
    fn a_pointer_to_a_missing_key_or_item_is_an_error() {
        for pointer in ["a", "/x/y", "/l/2", "/l/01", "/l/+1", "/l/x", "/a/b"] {
            assert!(edited(|value| set(value, pointer, json!(7))).is_err(), "{pointer}");
            assert!(edited(|value| remove(value, pointer)).is_err(), "{pointer}");
        }
        assert_eq!(edited(|value| remove(value, "/x")), Err("no key \"x\"".to_owned()));
        assert!(edited(|value| remove(value, "/l/-")).is_err());
        assert!(edited(|value| remove(value, "")).is_err());
    }
}
