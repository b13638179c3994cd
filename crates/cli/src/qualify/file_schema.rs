//! The JSON Schema of a plan's file, for editors: made of the flags that `run` and `turnover` have and of
//! the schema of gates, so that neither is written twice.
//!
//! It knows keys, types and words. What a plan must agree on with itself is found when it is read.

use clap::{Arg, ArgAction, Command};
use serde_json::{Map, Value, json};
use streamgauge_metrics::MatchingCondition;
use streamgauge_schema::{QualificationPlan, json_schema};

use super::arm::ARM_KEYS;
use super::flags::Place;
use crate::flags::{argument, command};

/// The schema.
pub(crate) fn file_schema() -> Value {
    let gates = json_schema("gates").expect("gates have a schema");
    let (run, turnover) = (command("run"), command("turnover"));
    let flags = |place| table(flags_of(&run, place));
    let arm = || {
        let mut keys = flags_of(&run, Place::Arm);
        keys.extend(ARM_KEYS.map(|key| (key.to_owned(), arm_key(key))));
        table(keys)
    };
    let conditions = MatchingCondition::ALL.map(MatchingCondition::as_str);
    let blocks =
        json!({ "type": "integer", "minimum": 3, "maximum": QualificationPlan::MAX_BLOCKS });
    let property = |name: &str| gates["properties"][name].clone();
    json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "QualificationFile",
        "description": "The plan of a qualification as it is written, in TOML.",
        "type": "object",
        "properties": {
            "version": { "description": "Version of the file's layout.", "const": 1 },
            "name": {
                "description": "Name of the qualification; directories and runs begin with it.",
                "type": "string",
                "maxLength": 60,
                "pattern": "^[A-Za-z0-9][A-Za-z0-9._-]*$",
            },
            "blocks": described(blocks, "Blocks of one run of each build."),
            "until_decided": until_decided(),
            "aa": {
                "description": "Blocks of the baseline against itself, before all others; 0 or at \
                                least 3.",
                "type": "integer",
                "minimum": 0,
                "maximum": QualificationPlan::MAX_BLOCKS,
            },
            "gates": { "description": "File of gates, in TOML.", "type": "string" },
            "gate": property("gate"),
            "alpha": property("alpha"),
            "max_failure_ratio": property("max_failure_ratio"),
            "allow_differing": {
                "description": "Matching conditions that may differ between the builds.",
                "type": "array",
                "items": { "enum": conditions },
            },
            "allow_insecure": {
                "description": "Judge runs that do not verify the certificate of their server.",
                "type": "boolean",
            },
            "run": described(flags(Place::Run), "What all runs have in common."),
            "cell": {
                "description": "What differs from cell to cell; without any there is one.",
                "type": "array",
                "items": flags(Place::Cell),
            },
            "turnover": described(
                table(flags_of(&turnover, Place::Turnover)),
                "Exact-output runs of both builds, after all blocks.",
            ),
            "baseline": described(arm(), "What ships now."),
            "candidate": described(arm(), "What may ship next."),
        },
        "required": ["version", "name", "baseline", "candidate"],
        "additionalProperties": false,
        "$defs": gates["$defs"],
    })
}

fn described(mut schema: Value, description: &str) -> Value {
    schema["description"] = description.into();
    schema
}

fn table(keys: Map<String, Value>) -> Value {
    json!({ "type": "object", "properties": keys, "additionalProperties": false })
}

fn until_decided() -> Value {
    let keys = json!({
        "max_blocks": {
            "description": "Blocks at the last look: an even number.",
            "type": "integer",
            "minimum": 4,
            "maximum": QualificationPlan::MAX_BLOCKS,
        },
        "max_time_s": described(seconds(), "Time after which no block begins, in seconds."),
    });
    let keys = keys.as_object().cloned().unwrap_or_default();
    described(table(keys), "Look after 4, 6, 8 … blocks, and stop where nothing is left to decide.")
}

fn seconds() -> Value {
    json!({ "type": "number", "minimum": 0.001, "maximum": 86_400 })
}

fn arm_key(key: &str) -> Value {
    match key {
        "activate" => json!({
            "description": "Brings the arm up: a program and its arguments, without a shell, or \
                            \"ask\".",
            "oneOf": [
                { "const": "ask" },
                { "type": "array", "items": { "type": "string" }, "minItems": 1 },
            ],
        }),
        "activate_timeout_s" => described(
            seconds(),
            "Time after which the program and what it started are killed, in seconds.",
        ),
        _ => {
            let keys = json!({
                "path": {
                    "description": "Path below the address that answers with success.",
                    "type": "string",
                    "pattern": "^/",
                },
                "timeout_s": described(seconds(), "How long it is waited for, in seconds."),
            });
            let keys = keys.as_object().cloned().unwrap_or_default();
            described(table(keys), "How the arm is known to be up.")
        }
    }
}

/// The flags of a command that may stand in a table.
fn flags_of(command: &Command, place: Place) -> Map<String, Value> {
    let names = place.names(command).into_iter();
    let flags = names.filter_map(|name| Some((name.to_owned(), flag(argument(command, name)?))));
    flags.collect()
}

fn flag(argument: &Arg) -> Value {
    let words: Vec<String> =
        argument.get_possible_values().iter().map(|word| word.get_name().to_owned()).collect();
    let one = if words.is_empty() {
        json!({ "type": ["string", "number"] })
    } else {
        json!({ "enum": words })
    };
    let schema = match argument.get_action() {
        action if !action.takes_values() => json!({ "type": "boolean" }),
        ArgAction::Append => json!({ "anyOf": [one, { "type": "array", "items": one }] }),
        _ if argument.get_num_args().is_some_and(|range| range.min_values() == 0) => {
            json!({ "anyOf": [{ "type": "boolean" }, one] })
        }
        _ => one,
    };
    let help = argument.get_help().map(ToString::to_string).unwrap_or_default();
    described(schema, &help)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn faults(plan: &str) -> Vec<String> {
        let plan: Value = toml::from_str(plan).unwrap();
        let validator = jsonschema::validator_for(&file_schema()).unwrap();
        validator.iter_errors(&plan).map(|error| error.to_string()).collect()
    }

    #[test]
    fn plans_that_run_are_valid() {
        for plan in [
            include_str!("../../../../examples/qualify/two-builds.toml"),
            include_str!("../../../../examples/qualify/llamacpp/q4-q8.toml"),
            "version = 1\nname = \"a\"\naa = 3\n[until_decided]\nmax_blocks = 8\n[run]\n\
             requests = 64\nwarmup = 8\nignore-eos = true\ngoodput = [\"ttft:500\"]\n\
             arrival = \"poisson\"\n[[cell]]\nrequest-rate = 2.5\n[turnover]\nwaves = 5\n[baseline]\n\
             base-url = \"http://127.0.0.1:1\"\nactivate = \"ask\"\n[candidate]\n\
             base-url = \"http://127.0.0.1:1\"\nheader = [\"x: 1\"]\nactivate = [\"./switch\"]\n\
             activate_timeout_s = 5\nready = { path = \"/health\", timeout_s = 3 }\n",
        ] {
            assert_eq!(faults(plan), Vec::<String>::new(), "{plan}");
        }
    }

    #[test]
    fn what_no_plan_may_hold_is_none() {
        let good = "version = 1\nname = \"a\"\nblocks = 3\n[baseline]\n[candidate]\n";
        assert_eq!(faults(good), Vec::<String>::new());
        for (from, to) in [
            ("version = 1", "version = 2"),
            ("name = \"a\"", "name = \"a b\""),
            ("blocks = 3", "blocks = 2"),
            ("blocks", "block"),
            ("[baseline]", "[baseline]\nactivat = \"ask\""),
            ("[baseline]", "[baseline]\nactivate = []"),
            ("[baseline]", "[baseline]\nrequests = 5"),
            ("[baseline]", "[run]\nout = \"x\"\n[baseline]"),
            ("[baseline]", "[run]\narrival = \"never\"\n[baseline]"),
            ("[baseline]", "[[cell]]\nmodel = \"m\"\n[baseline]"),
            ("[baseline]", "[turnover]\nrequests = 5\n[baseline]"),
            ("[baseline]", "[[gate]]\nmetric = \"ttft_p50_ms\"\n[baseline]"),
            ("[candidate]", ""),
        ] {
            let plan = good.replace(from, to);
            assert_ne!(faults(&plan), Vec::<String>::new(), "{plan}");
        }
    }
}
