use std::fs::{self, OpenOptions};
use std::io::{self, ErrorKind, Write};
use std::path::Path;

use crate::error::CliError;

use super::template::File;

const ANOTHER: &str = "give a new or an empty folder with --dir";

/// Refuses a folder that has something in it. Nothing is created.
pub(crate) fn check_vacant(folder: &Path) -> Result<(), CliError> {
    let shown = folder.display();
    let first = match fs::read_dir(folder) {
        Ok(mut entries) => entries.next().transpose(),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
        Err(error) if error.kind() == ErrorKind::NotADirectory => {
            return Err(CliError::usage(format!("{shown} is no folder")).with_next(ANOTHER));
        }
        Err(error) => Err(error),
    };
    match first {
        Ok(None) => Ok(()),
        Ok(Some(entry)) => {
            let name = entry.file_name();
            let message = format!("the folder {shown} is not empty, it has {name:?}");
            Err(CliError::usage(message).with_next(ANOTHER))
        }
        Err(error) => {
            let message = format!("the folder {shown} cannot be read: {error}");
            Err(CliError::usage(message).with_next(ANOTHER))
        }
    }
}

/// Writes all files, or says which of them it has written.
pub(crate) fn write(folder: &Path, files: &[File]) -> Result<(), CliError> {
    for (index, file) in files.iter().enumerate() {
        let path = folder.join(file.path);
        write_new(&path, &file.text).map_err(|error| {
            let written: Vec<&str> = files.iter().take(index).map(|file| file.path).collect();
            let next = if written.is_empty() {
                "no file has been written; choose another folder with --dir".to_owned()
            } else {
                let written = written.join(", ");
                format!("these have been written; remove them before you try again: {written}")
            };
            let message = format!("{} cannot be written: {error}", path.display());
            CliError::usage(message).with_next(next)
        })?;
    }
    Ok(())
}

/// Whatever is there already stays as it is, also what has come since the folder was looked at.
fn write_new(path: &Path, text: &str) -> io::Result<()> {
    if let Some(parent) = path.parent() {
        fs::create_dir_all(parent)?;
    }
    let mut file = OpenOptions::new().write(true).create_new(true).open(path)?;
    file.write_all(text.as_bytes())
}

#[cfg(test)]
mod tests {
    use std::fs;

    use tempfile::tempdir;

    use super::super::template::File;
    use super::{check_vacant, write};

    fn file(path: &'static str) -> File {
        File {
            path,
            text: format!("{path}, new\n"),
        }
    }

    #[test]
    fn a_new_and_an_empty_folder_are_vacant_and_nothing_is_created() {
        let home = tempdir().unwrap();
        check_vacant(home.path()).unwrap();
        let inner = home.path().join("a/b");
        check_vacant(&inner).unwrap();
        assert!(!home.path().join("a").exists());
    }

    #[test]
    fn a_folder_with_something_in_it_and_a_file_are_refused() {
        let home = tempdir().unwrap();
        fs::write(home.path().join(".hidden"), "mine").unwrap();
        let error = check_vacant(home.path()).unwrap_err().to_string();
        assert!(error.contains("not empty"), "{error}");
        assert!(error.contains(".hidden"), "{error}");
        let error = check_vacant(&home.path().join(".hidden")).unwrap_err();
        assert!(error.to_string().contains("no folder"), "{error}");
    }

    #[test]
    fn what_is_there_is_never_overwritten_and_what_was_written_is_told() {
        let home = tempdir().unwrap();
        let folder = home.path().join("new");
        write(&folder, &[file("a"), file("src/b")]).unwrap();
        assert_eq!(
            fs::read_to_string(folder.join("src/b")).unwrap(),
            "src/b, new\n"
        );

        fs::write(folder.join("src/b"), "mine").unwrap();
        let error = write(&folder, &[file("c"), file("d"), file("src/b"), file("e")]);
        let error = error.unwrap_err();
        let path = folder.join("src/b").display().to_string();
        assert!(error.to_string().contains(&path), "{error}");
        let next = error.next().unwrap();
        assert!(
            next.contains("been written") && next.ends_with(": c, d"),
            "{next}"
        );
        assert_eq!(fs::read_to_string(folder.join("src/b")).unwrap(), "mine");
        assert!(!folder.join("e").exists());

        let error = write(&folder, &[file("c")]).unwrap_err();
        assert!(error.next().unwrap().contains("no file"), "{error:?}");
    }
}
