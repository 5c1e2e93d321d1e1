//! The sources that this command was built from.

use std::path::{Path, PathBuf};

/// The folder of the crate `llamon` in the checkout that this command was built from, which may be
/// gone by now. `None` in what `itest/release/build.sh` makes: what is released says nothing of
/// the machine that built it, so that it has the same bytes from everywhere.
pub(crate) fn cli_folder() -> Option<&'static Path> {
    const FOLDER: Option<&str> = match option_env!("LLAMON_RELEASE") {
        Some(_) => None,
        None => Some(env!("CARGO_MANIFEST_DIR")),
    };
    FOLDER.map(Path::new)
}

/// The lock file of that checkout.
pub(crate) fn lock_file() -> Option<PathBuf> {
    Some(cli_folder()?.join("../../Cargo.lock"))
}
