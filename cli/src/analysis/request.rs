//! Parses a line into a request: a JSON object with an id. A line may contain anything; one that is no request gets one
//! answer, with the id if it can be found.

use serde_json::{Value, json};

use super::lines::InputLine;
use crate::fields::Object;

/// The most JSON values of a line. Each takes some hundred bytes of memory, however short its text is. A query for
/// every position of a game of 10,000 plies, each with a priority, has 30,000.
pub const MOST_VALUES: usize = 1 << 16;

/// The longest id, in bytes. It is kept with each query, each search and each session, and written with each answer.
/// KataGo takes any, and its recorded conversations have one of a million bytes.
const LONGEST_ID: usize = 1 << 20;

/// Longest part of a bad line that its error repeats, in bytes.
const LONGEST_QUOTE: usize = 200;

/// The kind of a request.
#[derive(Clone, Debug, PartialEq)]
pub enum Request {
    /// `action` and the whole object.
    Action(String, Object),
    /// A query for analysis.
    Query(Object),
}

/// Why a line is refused.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refusal {
    /// What is wrong.
    pub error: String,
    /// The wrong field, if the error is in one.
    pub field: Option<String>,
    /// The id of the request, if it can be read.
    pub id: Option<String>,
}

impl Refusal {
    /// The line of the answer.
    pub fn line(&self) -> String {
        let mut answer = Object::new();
        answer.insert("error".into(), json!(self.error));
        let rest = [("field", &self.field), ("id", &self.id)];
        answer.extend(rest.into_iter().filter_map(|(key, value)| Some((key.to_string(), json!(value.as_ref()?)))));
        Value::Object(answer).to_string()
    }
}

/// Parses a line. Returns `None` for a blank one, which gets no answer.
///
/// # Errors
/// The line is too long, not UTF-8, not JSON, not an object, has too many values, no id or too long a one.
pub fn read(line: &InputLine) -> Result<Option<(String, Request)>, Refusal> {
    let refuse = |error: String, id| Refusal { error, field: None, id };
    let text = match line {
        InputLine::Text(text) if text.is_empty() => return Ok(None),
        InputLine::Text(text) => text,
        InputLine::NotUtf8(text) => {
            let error = format!("Input line was not valid UTF-8, ignoring: {}", beginning(text));
            return Err(refuse(error, sound_id_in(text)));
        }
        InputLine::TooLong(text) => {
            return Err(refuse("Input line was too long, ignoring (see --line-mb)".to_string(), sound_id_in(text)));
        }
    };
    if has_too_many_values(text) {
        let error = format!("Input line had more than {MOST_VALUES} values, ignoring: {}", beginning(text));
        return Err(refuse(error, id_in(text)));
    }
    let value: Value = serde_json::from_str(text).map_err(|error| {
        let error = format!("{error} - could not parse input line as json request: {}", beginning(text));
        refuse(error, id_in(text))
    })?;
    let Value::Object(object) = value else {
        let error =
            format!("Request line was valid json but was not an object, ignoring: {}", beginning(&value.to_string()));
        return Err(refuse(error, None));
    };
    let Some(Value::String(id)) = object.get("id") else {
        return Err(refuse("Request must have a string \"id\" field".to_string(), None));
    };
    if id.len() > LONGEST_ID {
        return Err(refuse(format!("Request has an \"id\" of {} bytes, more than {LONGEST_ID}", id.len()), None));
    }
    let id = id.clone();
    Ok(Some(match object.get("action") {
        Some(Value::String(action)) => (id, Request::Action(action.clone(), object)),
        _ => (id, Request::Query(object)),
    }))
}

/// The first bytes of a text, cut at a character boundary.
fn beginning(text: &str) -> &str {
    &text[..text.floor_char_boundary(LONGEST_QUOTE)]
}

/// Whether the JSON text has more than [`MOST_VALUES`] values: it counts one for the whole text, and one for each
/// opening bracket or comma outside of strings. A value takes at least two bytes.
fn has_too_many_values(text: &str) -> bool {
    if text.len() / 2 < MOST_VALUES {
        return false;
    }
    let (mut rest, mut begun) = (text, 1);
    while let Some(at) = rest.find(['"', '{', '[', ',']) {
        if rest[at..].starts_with('"') {
            // The string has no end, so the text has no more values.
            let Some((_, after)) = string(&rest[at..]) else { break };
            rest = after;
        } else {
            rest = &rest[at + 1..];
            begun += 1;
        }
    }
    begun > MOST_VALUES
}

/// Like [`id_in`], for a text in which invalid UTF-8 was replaced by U+FFFD. An id with that character is not returned.
fn sound_id_in(text: &str) -> Option<String> {
    id_in(text).filter(|id| !id.contains('\u{fffd}'))
}

/// Finds the id in a text that is not a valid JSON object: the first string after `"id":` directly within the outermost
/// braces.
fn id_in(text: &str) -> Option<String> {
    let mut depth = 0;
    let mut rest = text;
    while let Some(at) = rest.find(['"', '{', '[', '}', ']']) {
        let (token, after) = if rest[at..].starts_with('"') { string(&rest[at..])? } else { rest[at..].split_at(1) };
        match token {
            "{" | "[" => depth += 1,
            "}" | "]" => depth -= 1,
            "\"id\"" if depth == 1 => {
                if let Some(value) = after.trim_start().strip_prefix(':') {
                    let (id, _) = string(value.trim_start())?;
                    return serde_json::from_str(id).ok();
                }
            }
            _ => {}
        }
        rest = after;
    }
    None
}

/// Splits a text after the JSON string at its beginning; the first part includes the quotes.
fn string(text: &str) -> Option<(&str, &str)> {
    let mut escaped = false;
    let inside = text.strip_prefix('"')?;
    let end = inside.find(|c| {
        let ends = c == '"' && !escaped;
        escaped = c == '\\' && !escaped;
        ends
    })?;
    Some(text.split_at(end + 2))
}

#[cfg(test)]
mod tests {
    use super::*;
    use quickcheck::quickcheck;

    fn refusal(text: &str) -> Refusal {
        read(&InputLine::Text(text.to_string())).unwrap_err()
    }

    #[test]
    fn requests() {
        let read = |text: &str| read(&InputLine::Text(text.to_string()));
        assert_eq!(read(""), Ok(None));
        let (id, request) = read(r#"{"id":"a","moves":[],"moves":[1]}"#).unwrap().unwrap();
        assert_eq!(id, "a");
        assert!(matches!(request, Request::Query(object) if object["moves"] == json!([1])), "the last key counts");
        let (_, request) = read(r#"{"id":"","action":"stats"}"#).unwrap().unwrap();
        assert!(matches!(request, Request::Action(action, _) if action == "stats"));
        // As in KataGo, an `action` that is not a string is ignored.
        assert!(matches!(read(r#"{"id":"a","action":5}"#).unwrap().unwrap().1, Request::Query(_)));
    }

    #[test]
    fn refusals_carry_the_id_that_can_be_read() {
        for (text, id) in [
            (r#"{"id":"a","moves":[}"#, Some("a")),
            (r#"{"x":{"id":"inner"}, "id" : "ou\"ter", oops"#, Some("ou\"ter")),
            (r#"{"x":"\"id\":\"no\"","#, None),
            (r#"{"id":5,"#, None),
            (r#"{"id":"a"#, None),
            ("quit", None),
            (r#"{'id':'a'}"#, None),
            (r#"{"id":"a","x":1e999}"#, Some("a")),
            (r#"{"id":"a"} x"#, Some("a")),
        ] {
            assert_eq!(refusal(text).id.as_deref(), id, "{text}");
            assert!(refusal(text).error.contains(" - could not parse input line as json request: "), "{text}");
        }
        let not_utf8 = InputLine::NotUtf8("{\"id\":\"a\",\"moves\":[\"\u{fffd}\"]}".to_string());
        assert_eq!(read(&not_utf8).unwrap_err().id.as_deref(), Some("a"));
        let not_utf8 = InputLine::NotUtf8("{\"id\":\"\u{fffd}\"}".to_string());
        assert_eq!(read(&not_utf8).unwrap_err().id, None);
    }

    #[test]
    fn other_json_is_refused() {
        let object = "Request line was valid json but was not an object, ignoring: ";
        assert_eq!(refusal("[1, 2]").line(), format!("{{\"error\":\"{object}[1,2]\"}}"));
        for text in ["{}", r#"{"id":5}"#, r#"{"id":null}"#] {
            assert_eq!(refusal(text).error, "Request must have a string \"id\" field");
        }
    }

    #[test]
    fn an_id_has_a_longest_length() {
        let of = |length: usize| format!(r#"{{"id":"{}"}}"#, "a".repeat(length));
        assert_eq!(read(&InputLine::Text(of(LONGEST_ID))).unwrap().unwrap().0.len(), LONGEST_ID);
        let long = refusal(&of(LONGEST_ID + 1));
        assert_eq!((&long.error[..], long.id), ("Request has an \"id\" of 1048577 bytes, more than 1048576", None));
    }

    #[test]
    fn a_long_line_keeps_its_id_and_many_values_are_refused() {
        let long = |text: &str| read(&InputLine::TooLong(text.to_string())).unwrap_err();
        assert!(long("").error.contains("too long"));
        assert_eq!(long(r#"{"id":"big","moves":["e2e4","#).id.as_deref(), Some("big"));
        assert_eq!(long("{\"id\":\"bi\u{fffd}").id, None);
        // The object, the id, the list and its elements are values.
        let values = |count: usize| format!(r#"{{"id":"a","x":[{}]}}"#, vec!["0"; count - 3].join(","));
        assert!(read(&InputLine::Text(values(MOST_VALUES))).is_ok());
        let many = refusal(&values(MOST_VALUES + 1));
        assert!(many.error.contains("more than 65536 values") && many.id.as_deref() == Some("a"), "{many:?}");
        let objects = format!(r#"{{"id":"a","x":[{}{{"":0}}]}}"#, r#"{"":0},"#.repeat(MOST_VALUES / 2));
        assert!(refusal(&objects).error.contains("values"));
        // Brackets and commas inside of a string don't count, and neither does its length.
        let text = format!(r#"{{"id":"a","x":"{}"}}"#, r#"[{,\","#.repeat(MOST_VALUES));
        assert!(read(&InputLine::Text(text)).is_ok());
        // An unterminated string is scanned only once.
        let endless = r#"\","#.repeat(1 << 20);
        assert!(refusal(&format!(r#"{{"id":"a","x":"{endless}"#)).error.contains("could not parse"));
        assert!(refusal(&format!("[{},\"{endless}", vec!["0"; MOST_VALUES].join(","))).error.contains("values"));
    }

    #[test]
    fn deep_nesting_and_long_lines_are_answered() {
        let deep = format!(r#"{{"id":"deep","x":{}"#, "[".repeat(100_000));
        assert_eq!(refusal(&deep).id.as_deref(), Some("deep"));
        assert!(refusal(&deep).line().len() < 500);
        assert!(refusal(&"é".repeat(1_000_000)).line().len() < 500);
    }

    quickcheck! {
        fn anything_is_answered(text: String) -> bool {
            match read(&InputLine::Text(text.clone())) {
                Ok(_) => true,
                Err(refusal) => serde_json::from_str::<Value>(&refusal.line()).is_ok_and(|line| line["error"].is_string()),
            }
        }

        fn a_cut_request_keeps_its_id(id: String, cut: usize) -> bool {
            let whole = json!({ "id": id, "moves": ["e2e4", "e7e5"], "x": { "id": "no" } }).to_string();
            let head = format!("{{\"id\":{}", json!(id)).len();
            let text = &whole[..whole.floor_char_boundary(head + cut % (whole.len() - head))];
            refusal(text).id == Some(id)
        }
    }
}
