//! Compiles and runs the snippets of `docs/libraries.md` as doc tests, so that they stay true.
#![cfg_attr(doctest, doc = include_str!("../../docs/libraries.md"))]
