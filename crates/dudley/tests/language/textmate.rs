//! A small reader of `TextMate` grammars, which finds the scopes in a string line by line, like an
//! editor.

use std::cell::RefCell;
use std::collections::HashMap;
use std::rc::Rc;

use fancy_regex::{Captures, Regex};
use serde_json::Value;

/// The scopes of a byte, outermost first.
pub(crate) type Scopes<'a> = Rc<[&'a str]>;

pub(crate) struct Grammar {
    json: Value,
    regexes: RefCell<HashMap<String, Rc<Regex>>>,
}

/// A rule that has begun but not ended.
struct Open<'a> {
    end: Rc<Regex>,
    end_captures: &'a Value,
    name: Option<&'a str>,
    scopes: Scopes<'a>,
    rules: Vec<&'a Value>,
}

fn inside<'a>(scopes: &Scopes<'a>, name: Option<&'a str>) -> Scopes<'a> {
    scopes.iter().copied().chain(name).collect()
}

impl Grammar {
    pub(crate) fn new(json: Value) -> Self {
        Self { json, regexes: RefCell::default() }
    }

    /// Returns all rules, including nested rules.
    pub(crate) fn rules(&self) -> Vec<&Value> {
        let (mut rules, mut rest) = (Vec::new(), vec![&self.json]);
        while let Some(value) = rest.pop() {
            match value {
                Value::Object(fields) => {
                    rules.push(value);
                    rest.extend(fields.values());
                }
                Value::Array(values) => rest.extend(values),
                _ => {}
            }
        }
        rules
    }

    pub(crate) fn regex(&self, pattern: &str) -> Rc<Regex> {
        let mut regexes = self.regexes.borrow_mut();
        let compile = || Regex::new(pattern).unwrap_or_else(|error| panic!("{pattern}: {error}"));
        Rc::clone(regexes.entry(pattern.to_owned()).or_insert_with(|| Rc::new(compile())))
    }

    /// Returns the rule that an `include` refers to.
    pub(crate) fn included(&self, name: &str) -> &Value {
        let name = name.strip_prefix('#').unwrap_or_else(|| panic!("include of {name}"));
        let rule = &self.json["repository"][name];
        assert!(rule.is_object(), "nothing in the repository is called {name}");
        rule
    }

    /// Appends the rules in a list. References are replaced by the rules that they refer to.
    fn flatten<'a>(&'a self, patterns: &'a Value, rules: &mut Vec<&'a Value>) {
        for rule in patterns.as_array().into_iter().flatten() {
            let rule = rule["include"].as_str().map_or(rule, |name| self.included(name));
            if rule["match"].is_string() || rule["begin"].is_string() {
                rules.push(rule);
            } else {
                self.flatten(&rule["patterns"], rules);
            }
        }
    }

    /// Returns the scopes of every byte of a string.
    pub(crate) fn scopes<'a>(&'a self, text: &str) -> Vec<Scopes<'a>> {
        let top: Scopes<'a> = self.json["scopeName"].as_str().into_iter().collect();
        let mut all = vec![Rc::clone(&top); text.len()];
        let mut rules = Vec::new();
        self.flatten(&self.json["patterns"], &mut rules);
        let mut stack: Vec<Open<'a>> = Vec::new();
        let mut from = 0;
        for line in text.split_inclusive(['\n', '\r']) {
            let range = from..from + line.len();
            let out = &mut all[range.clone()];
            self.line(line.trim_end_matches(['\n', '\r']), out, &mut stack, &top, &rules);
            from = range.end;
        }
        all
    }

    fn line<'a>(
        &'a self,
        line: &str,
        out: &mut [Scopes<'a>],
        stack: &mut Vec<Open<'a>>,
        top: &Scopes<'a>,
        top_rules: &[&'a Value],
    ) {
        let mut at = 0;
        loop {
            let open = stack.last();
            let (scopes, rules) =
                open.map_or((top, top_rules), |open| (&open.scopes, &open.rules[..]));
            let scopes = Rc::clone(scopes);
            // Use the leftmost match. If several matches begin at the same byte, the end of the
            // open rule takes precedence, followed by the first rule in the list.
            let mut found: Option<(Captures<'_, str>, Option<&'a Value>)> = None;
            let end = open.map(|open| (Rc::clone(&open.end), None));
            let begins = rules.iter().map(|&rule| {
                let pattern = rule["match"].as_str().or(rule["begin"].as_str());
                (self.regex(pattern.unwrap_or_default()), Some(rule))
            });
            for (regex, rule) in end.into_iter().chain(begins) {
                let Some(captures) = regex.captures_from_pos(line, at).unwrap() else { continue };
                let start = |captures: &Captures<'_, str>| captures.get(0).map(|all| all.start());
                if found.as_ref().is_none_or(|(first, _)| start(&captures) < start(first)) {
                    found = Some((captures, rule));
                }
            }
            let Some((captures, rule)) = found else {
                out[at..line.len()].fill(scopes);
                return;
            };
            let all = captures.get(0).unwrap();
            out[at..all.start()].fill(Rc::clone(&scopes));
            at = all.end();
            let Some(rule) = rule else {
                // The end of a rule has the scope of the rule.
                let open = stack.pop().unwrap();
                let outer = stack.last().map_or(top, |outer| &outer.scopes);
                paint(out, &captures, &inside(outer, open.name), open.end_captures);
                continue;
            };
            let within = inside(&scopes, rule["name"].as_str());
            if rule["match"].is_string() {
                assert!(!all.range().is_empty(), "{rule} would match for ever");
                paint(out, &captures, &within, &rule["captures"]);
                continue;
            }
            paint(out, &captures, &within, &rule["beginCaptures"]);
            let mut rules = Vec::new();
            self.flatten(&rule["patterns"], &mut rules);
            stack.push(Open {
                end: self.regex(rule["end"].as_str().unwrap()),
                end_captures: &rule["endCaptures"],
                name: rule["name"].as_str(),
                scopes: within,
                rules,
            });
        }
    }
}

fn paint<'a>(
    out: &mut [Scopes<'a>],
    captures: &Captures<'_, str>,
    scopes: &Scopes<'a>,
    names: &'a Value,
) {
    for (number, capture) in captures.iter().enumerate() {
        let Some(capture) = capture else { continue };
        let name = names[number.to_string()]["name"].as_str();
        if number == 0 || name.is_some() {
            out[capture.range()].fill(inside(scopes, name));
        }
    }
}
