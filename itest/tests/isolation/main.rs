//! Nobody sees what is somebody else's, and nobody can tell it from what does not exist.

mod matrix;
mod page_tokens;
mod support;
mod v03;
