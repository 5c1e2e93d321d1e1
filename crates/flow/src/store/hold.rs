//! Who runs a run. No clock decides that: a hold is the lock of a file beside the store, and the
//! system lets it go when its process dies, however it dies.

use std::collections::HashSet;
use std::fs::{File, OpenOptions, TryLockError};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use super::error::RunStoreError;

/// Runs of stores in memory, and of this process: a process's own locks do not keep it out on
/// every system.
static HELD: Mutex<Option<HashSet<(PathBuf, String)>>> = Mutex::new(None);

/// A run that this process runs; it is let go when this value is dropped.
#[derive(Debug)]
pub struct Hold {
    key: (PathBuf, String),
    file: Option<(PathBuf, File)>,
}

impl Hold {
    pub(super) fn take(store: Option<&Path>, run: &str) -> Result<Option<Self>, RunStoreError> {
        let key = (store.unwrap_or(Path::new("")).to_owned(), run.to_owned());
        if !with(|held| held.insert(key.clone())) {
            return Ok(None);
        }
        // From here on it is let go by its drop.
        let mut hold = Self { key, file: None };
        let Some(store) = store else {
            return Ok(Some(hold));
        };
        let made = lock(store, run).map_err(|error| RunStoreError::io("the run's lock", &error));
        let Some(file) = made? else {
            return Ok(None);
        };
        hold.file = Some(file);
        Ok(Some(hold))
    }
}

impl Drop for Hold {
    fn drop(&mut self) {
        if let Some((path, file)) = self.file.take() {
            // Should it stay, the next hold takes it as it is.
            let _ = std::fs::remove_file(path);
            drop(file);
        }
        with(|held| held.remove(&self.key));
    }
}

fn lock(store: &Path, run: &str) -> std::io::Result<Option<(PathBuf, File)>> {
    let mut folder = store.file_name().unwrap_or_default().to_owned();
    folder.push("-holds");
    let folder = store.with_file_name(folder);
    std::fs::create_dir_all(&folder)?;
    let path = folder.join(file_name(run));
    loop {
        let file = OpenOptions::new()
            .create(true)
            .truncate(false)
            .write(true)
            .open(&path)?;
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => return Ok(None),
            Err(TryLockError::Error(error)) => return Err(error),
        }
        // Whoever had it before may have removed it between the opening and the lock.
        if is_same(&path, &file) {
            return Ok(Some((path, file)));
        }
    }
}

#[cfg(unix)]
fn is_same(path: &Path, file: &File) -> bool {
    use std::os::unix::fs::MetadataExt as _;
    match (std::fs::metadata(path), file.metadata()) {
        (Ok(there), Ok(ours)) => there.ino() == ours.ino() && there.dev() == ours.dev(),
        _ => false,
    }
}

#[cfg(not(unix))]
fn is_same(path: &Path, _file: &File) -> bool {
    path.exists()
}

/// A run's id as a file's name, whatever characters it has.
fn file_name(run: &str) -> String {
    let mut name = String::new();
    for byte in run.bytes() {
        if byte.is_ascii_alphanumeric() || byte == b'-' {
            name.push(char::from(byte));
        } else {
            name.push_str(&format!("_{byte:02x}"));
        }
    }
    name
}

fn with<T>(use_held: impl FnOnce(&mut HashSet<(PathBuf, String)>) -> T) -> T {
    let mut held = HELD.lock().unwrap_or_else(PoisonError::into_inner);
    use_held(held.get_or_insert_default())
}
