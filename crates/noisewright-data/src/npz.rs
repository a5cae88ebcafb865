//! NPZ: an archive of NumPy arrays, each a column under its own name, or one matrix alone.

use std::io::{Cursor, Read};

use zip::ZipArchive;

use crate::input::Input;
use crate::names::{locate, repeated};
use crate::npy::{self, Array};
use crate::{Error, Options, Result, Table};

/// Reads an NPZ archive.
pub(crate) fn read(input: Input<'_>, options: &Options) -> Result<Table> {
    let file = input.file.clone();
    let bytes = input.into_bytes()?;
    if bytes.is_empty() {
        return Err(Error::Empty { file });
    }
    let malformed = |error: &dyn ToString| malformed(&file, error.to_string());
    let mut archive = ZipArchive::new(Cursor::new(bytes)).map_err(|error| malformed(&error))?;
    let names: Vec<String> =
        archive.file_names().filter_map(|name| name.ok()?.strip_suffix(".npy").map(str::to_owned)).collect();
    if names.is_empty() {
        return Err(malformed(&"it holds no arrays"));
    }
    if let [name] = &names[..] {
        let member = member(&file, &mut archive, name)?;
        let array = Array::parse(&format!("{file} (array `{name}`)"), &member)?;
        if array.is_matrix {
            return npy::unnamed(&array, &file, options);
        }
    }
    let names = given_names(names, &file, options)?;
    columns(&file, &mut archive, &names, options)
}

/// The array's name in the archive beside the name of its column.
type Named = Vec<(String, String)>;

/// Arrays saved without names are called `arr_0`, `arr_1`, … by NumPy; the caller's names stand in for those.
fn given_names(arrays: Vec<String>, file: &str, options: &Options) -> Result<Named> {
    if let Some(array) = repeated(&arrays) {
        return Err(Error::DuplicateColumn { file: file.to_owned(), column: array.to_owned() });
    }
    let nameless = (0..arrays.len()).all(|j| arrays.contains(&format!("arr_{j}")));
    match &options.names {
        Some(names) if nameless && names.len() != arrays.len() => {
            Err(Error::ColumnCount { file: file.to_owned(), found: arrays.len(), names: names.clone() })
        }
        Some(names) if nameless => {
            Ok(names.iter().enumerate().map(|(j, name)| (format!("arr_{j}"), name.clone())).collect())
        }
        _ => Ok(arrays.into_iter().map(|array| (array.clone(), array)).collect()),
    }
}

/// Reads the arrays asked for, and no others, as columns.
fn columns(
    file: &str,
    archive: &mut ZipArchive<Cursor<Vec<u8>>>,
    named: &Named,
    options: &Options,
) -> Result<Table> {
    let names: Vec<String> = named.iter().map(|(_, name)| name.clone()).collect();
    let chosen = match &options.columns {
        Some(wanted) => locate(file, &names, wanted)?,
        None => (0..names.len()).collect(),
    };
    let members = chosen.iter().map(|&j| member(file, archive, &named[j].0)).collect::<Result<Vec<_>>>()?;
    let pairs = members.iter().zip(&chosen);
    let arrays = pairs.map(|(member, &j)| column(file, &named[j].0, member)).collect::<Result<Vec<_>>>()?;
    let sources: Vec<_> = arrays.iter().map(|array| (array, 0)).collect();
    let chosen_names: Vec<String> = chosen.iter().map(|&j| names[j].clone()).collect();
    npy::chosen_columns(file, &chosen_names, &sources, options)
}

fn column<'a>(file: &str, name: &str, member: &'a [u8]) -> Result<Array<'a>> {
    let array = Array::parse(&format!("{file} (array `{name}`)"), member)?;
    if array.is_matrix {
        return Err(Error::SeveralMatrices { file: file.to_owned(), array: name.to_owned() });
    }
    Ok(array)
}

fn malformed(file: &str, reason: String) -> Error {
    Error::Malformed { file: file.to_owned(), format: "NPZ", reason }
}

/// The unpacked bytes of one array.
fn member(file: &str, archive: &mut ZipArchive<Cursor<Vec<u8>>>, name: &str) -> Result<Vec<u8>> {
    let mut bytes = Vec::new();
    let mut entry =
        archive.by_name(&format!("{name}.npy")).map_err(|error| malformed(file, error.to_string()))?;
    entry.read_to_end(&mut bytes).map_err(|error| malformed(file, format!("array `{name}`: {error}")))?;
    Ok(bytes)
}
