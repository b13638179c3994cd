//! `json-schema-v1`: an answer is JSON that a JSON Schema admits.

use jsonschema::{PatternOptions, Validator};
use streamgauge_schema::{CheckFault, GradeCheck, Json};

use crate::error::GraderError;
use crate::findings::{Findings, check, same};
use crate::json_answer::{in_single_fence, read, value_of};

pub(crate) const RULES: &str = "The whole answer is one JSON value without a member twice, and the JSON \
    Schema admits it. Patterns run in linear time; nothing is fetched. A single Markdown fence is \
    looked into, reported, and changes nothing.";

const CHECK: &str = "json_schema";

pub(crate) struct JsonSchemaGrader {
    validator: Validator,
}

impl std::fmt::Debug for JsonSchemaGrader {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("JsonSchemaGrader").finish_non_exhaustive()
    }
}

impl JsonSchemaGrader {
    pub(crate) fn new(schema: &Json) -> Result<Self, GraderError> {
        let schema = value_of(schema).ok_or(GraderError::MemberTwice)?;
        let options = jsonschema::options().with_pattern_options(PatternOptions::regex());
        let validator = options.build(&schema);
        let validator = validator.map_err(|error| GraderError::Schema(error.to_string()))?;
        Ok(Self { validator })
    }

    pub(crate) fn check(&self, text: &str) -> Findings {
        let result = self.result(text);
        let fenced = || Some(self.result(in_single_fence(text)?).is_ok());
        let fenced_would_pass = match result {
            Err(CheckFault::NotJson) => fenced(),
            _ => None,
        };
        let checks: Vec<GradeCheck> = vec![check(CHECK, result)];
        Findings { checks, words: None, fenced_would_pass }
    }

    fn result(&self, text: &str) -> Result<(), CheckFault> {
        same(self.validator.is_valid(&read(text)?))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn grader(schema: &str) -> Result<JsonSchemaGrader, GraderError> {
        JsonSchemaGrader::new(&serde_json::from_str(schema).unwrap())
    }

    #[test]
    fn a_schema_admits_answers() {
        let schema = r#"{
            "type": "object",
            "properties": {"city": {"type": "string", "pattern": "^[A-Z]"}, "people": {"type": "integer"}},
            "required": ["city"],
            "additionalProperties": false
        }"#;
        let grader = grader(schema).unwrap();
        let cases = [
            (r#"{"city": "Oslo", "people": 717710}"#, None, None),
            (r#"{"city": "oslo"}"#, Some(CheckFault::Differs), None),
            (r#"{"people": 1}"#, Some(CheckFault::Differs), None),
            (r#"{"city": "Oslo", "x": 1}"#, Some(CheckFault::Differs), None),
            ("Oslo", Some(CheckFault::NotJson), None),
            ("```json\n{\"city\": \"Oslo\"}\n```", Some(CheckFault::NotJson), Some(true)),
        ];
        for (text, fault, fenced) in cases {
            let found = grader.check(text);
            assert_eq!((found.checks[0].fault, found.fenced_would_pass), (fault, fenced), "{text}");
        }
    }

    #[test]
    fn schemas_that_cannot_be_used_are_refused() {
        for schema in [
            r#"{"type": "objekt"}"#,
            r#"{"pattern": "(a"}"#,
            r#"{"pattern": "(?=a)b"}"#,
            r#"{"$ref": "https://schemas.invalid/other.json"}"#,
            r#"{"$ref": "file:///etc/hosts"}"#,
        ] {
            assert!(matches!(grader(schema), Err(GraderError::Schema(_))), "{schema}");
        }
        assert!(matches!(grader(r#"{"type": [], "type": "null"}"#), Err(GraderError::MemberTwice)));
    }
}
