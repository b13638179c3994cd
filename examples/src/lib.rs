//! Compiles and runs the snippets of the README as doc tests, so that they stay true.
#![cfg_attr(doctest, doc = include_str!("../../README.md"))]
