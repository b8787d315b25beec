//! SciPy's `.npz`, as `scipy.sparse.save_npz` writes it: a square sparse matrix as the arcs of a graph; CSR, CSC and COO, compressed or not.
//!
//! The entry in row `i` and column `j` is the arc `i -> j`, whatever its value: a stored zero is an edge, as in `networkx.from_scipy_sparse_array`
//! and in SciPy's `csgraph`, where its weight is 0. Indices must be inside the matrix, `indptr` ascend from 0 to their number. Uncompressed arrays
//! are read in place; compressed ones are unpacked to anonymous files. Memory: two windows per thread. The first scan reads `indptr` once more;
//! opening reads all arrays, to verify checksums.

mod arrays;

use super::compressed_rows::CompressedRows;
use super::file::InputFile;
use super::npy::Npy;
use super::source::HowToOpen;
use super::{Reader, check_vertices, not_square};
use arrays::Arrays;
use trimill_system::text::plural;
use trimill_system::{Error, Result};

const SAVE_AGAIN: &str = "write the matrix again with scipy.sparse.save_npz";

pub(super) fn open(file: &InputFile, how: &HowToOpen<'_>) -> Result<Box<dyn Reader>> {
    let arrays = Arrays::open(file, how)?;
    let format = arrays.text("format")?;
    let shape = arrays.numbers("shape")?;
    let vertices = match shape[..] {
        [rows, columns] if rows == columns => rows,
        [rows, columns] => return Err(not_square(rows, columns).at(&file.path)),
        _ => {
            let found = format!("an array of {}", plural(shape.len(), "dimension", "dimensions"));
            return Err(Error::data(&file.path, found).expected("a square matrix, which has two"));
        }
    };
    check_vertices(vertices).map_err(|error| error.at(&file.path))?;
    let matrix: Box<dyn Reader> = match format.as_str() {
        "coo" => {
            let (rows, columns) = (arrays.integers("row")?, arrays.integers("col")?);
            if rows.length != columns.length {
                return Err(Error::data(&columns.file.path, format!("{} columns of entries", columns.length))
                    .expected(format!("{}, as there are rows of entries", rows.length))
                    .advice(SAVE_AGAIN));
            }
            Box::new(Npy::of_columns(rows, columns, vertices, how.sizes.window))
        }
        "csr" | "csc" => {
            let (indptr, indices) = (arrays.integers("indptr")?, arrays.integers("indices")?);
            if indptr.length != vertices + 1 {
                return Err(Error::data(&indptr.file.path, format!("{} numbers", indptr.length))
                    .expected(format!("{}, one more than rows", vertices + 1))
                    .advice(SAVE_AGAIN));
            }
            Box::new(CompressedRows::new(indptr, indices, format == "csc", how.sizes.window, SAVE_AGAIN)?)
        }
        _ => {
            return Err(Error::data(&file.path, format!("a sparse matrix of format '{}'", format.escape_debug()))
                .expected("csr, csc or coo")
                .advice("convert it before it is saved: scipy.sparse.save_npz(file, matrix.tocsr())"));
        }
    };
    arrays.check_values(matrix.facts().arcs_at_most)?;
    Ok(matrix)
}
