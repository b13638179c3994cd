//! The JSON Schemas under `schemas/` are those that the types give. `UPDATE_SCHEMAS=1` rewrites
//! them.
#![cfg(feature = "schemars")]

use std::fs;
use std::path::Path;

use streamgauge_schema::{digest_bytes, json_schema, schema_names};

#[test]
fn generated_schemas_are_current() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("schemas");
    for name in schema_names() {
        let bytes = digest_bytes(&json_schema(name).unwrap()).unwrap();
        let file = folder.join(format!("{name}.json"));
        if std::env::var_os("UPDATE_SCHEMAS").is_some() {
            fs::create_dir_all(&folder).unwrap();
            fs::write(&file, &bytes).unwrap();
        }
        assert!(
            fs::read(&file).is_ok_and(|known| known == bytes),
            "schemas/{name}.json is stale: run this test with UPDATE_SCHEMAS=1"
        );
    }
}
