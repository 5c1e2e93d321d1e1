//! Which workers are alive. No clock decides that: each holds the lock of a file of its own as
//! long as it lives, and the system lets the lock go when its process dies, however it dies.

use std::fs::{File, OpenOptions, TryLockError};
use std::io;
use std::path::{Path, PathBuf};

use crate::backend::WorkerId;

/// The directory of the workers' files, beside the store.
#[derive(Clone, Debug)]
pub(super) struct Workers {
    directory: PathBuf,
}

/// A worker's hold on its file.
pub(super) struct Alive {
    path: PathBuf,
    _locked: File,
}

impl Workers {
    pub(super) fn beside(store: &Path) -> Self {
        let mut name = store.file_name().unwrap_or_default().to_owned();
        name.push("-workers");
        Self {
            directory: store.with_file_name(name),
        }
    }

    /// Makes a file for a new worker and locks it.
    pub(super) fn enlist(&self) -> io::Result<(WorkerId, Alive)> {
        std::fs::create_dir_all(&self.directory)?;
        let id = uuid::Uuid::new_v4().to_string();
        // Locked before it has its name, so that nobody finds it unlocked and removes it.
        let unnamed = self.directory.join(format!("new.{id}"));
        let file = OpenOptions::new()
            .write(true)
            .create_new(true)
            .open(&unnamed)?;
        file.lock()?;
        let path = self.directory.join(&id);
        std::fs::rename(&unnamed, &path)?;
        let alive = Alive {
            path,
            _locked: file,
        };
        Ok((WorkerId(id.into()), alive))
    }

    /// Whether the worker is dead for certain. A dead worker's file is removed.
    pub(super) fn is_gone(&self, id: &str) -> bool {
        // Only names that we give out are looked for.
        let is_name = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'-';
        if id.is_empty() || id.len() > 64 || !id.bytes().all(is_name) {
            return true;
        }
        let path = self.directory.join(id);
        match File::open(&path).map(|file| (file.try_lock(), file)) {
            Ok((Ok(()), _locked)) => {
                // Should it stay, the next one removes it.
                let _ = std::fs::remove_file(&path);
                true
            }
            Ok((Err(TryLockError::WouldBlock | TryLockError::Error(_)), _)) => false,
            Err(error) => error.kind() == io::ErrorKind::NotFound,
        }
    }

    /// How many are alive. Files of dead workers are removed.
    pub(super) fn count(&self) -> usize {
        let Ok(entries) = std::fs::read_dir(&self.directory) else {
            return 0;
        };
        let names = entries.filter_map(|entry| entry.ok()?.file_name().into_string().ok());
        names
            .filter(|name| !name.starts_with("new.") && !self.is_gone(name))
            .count()
    }
}

impl Drop for Alive {
    fn drop(&mut self) {
        // Without its file, a worker is as dead as without its lock.
        let _ = std::fs::remove_file(&self.path);
    }
}
