//! The two columns of a Parquet file that hold the ends of edges.
//!
//! Input: the schema, and the names that the user gave. Output: two leaves of integers. Without names the first two columns are
//! taken, unless the names of the columns say that the ends of edges are elsewhere.

use parquet::basic::{ConvertedType, LogicalType, Type};
use parquet::schema::types::{ColumnDescriptor, SchemaDescriptor};

use crate::column_names::ColumnNames;
use crate::ends::{is_index, places};
use trimill_system::error::Error;
use trimill_system::text::printable;

/// The most columns that an error lists.
const MOST_LISTED: usize = 12;

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct IntegerColumn {
    /// Its place among the leaves.
    pub(super) leaf: usize,
    pub(super) name: String,
    /// Whether integers are of 64 bits; else of 32.
    pub(super) wide: bool,
    pub(super) signed: bool,
}

/// The columns of tails and heads; the error lacks the file.
pub(super) fn ends(schema: &SchemaDescriptor, named: Option<&ColumnNames>) -> Result<[IntegerColumn; 2], Error> {
    let fields: Vec<&str> = schema.root_schema().get_fields().iter().map(|field| field.name()).collect();
    let advice = "name the columns with the ends of edges: --columns TAIL,HEAD";
    let listed = || format!("the columns {}", listed(schema));
    if let Some(names) = named {
        let column = |name: &String| {
            let mut found = (0..fields.len()).filter(|&at| fields[at] == name);
            match (found.next(), found.next()) {
                (Some(field), None) => {
                    column(schema, field).map_err(|error| error.also(&format!("there are {}", listed())))
                }
                (None, _) => Err(Error::data("", format!("no column '{}'", printable(name)))
                    .expected(format!("one of {}", listed()))),
                _ => Err(Error::data("", format!("several columns '{}'", printable(name))).expected("one")),
            }
        };
        let [tail, head] = names.ends();
        return Ok([column(tail)?, column(head)?]);
    }
    if fields.len() < 2 {
        return Err(Error::data("", format!("a table with {}", listed())).expected("two columns of integers"));
    }
    let lower: Vec<String> = fields.iter().map(|name| name.to_lowercase()).collect();
    let elsewhere = places(&lower).is_some_and(|found| found != (0, 1));
    if elsewhere || (fields.len() > 2 && is_index(&lower[0])) {
        return Err(Error::data("", listed()).expected("the ends of edges in the first two").advice(advice));
    }
    let of = |field| column(schema, field).map_err(|error| error.also(&format!("there are {}; {advice}", listed())));
    Ok([of(0)?, of(1)?])
}

/// The column of integers that is this field of the root.
fn column(schema: &SchemaDescriptor, field: usize) -> Result<IntegerColumn, Error> {
    let mut leaves = (0..schema.num_columns()).filter(|&leaf| schema.get_column_root_idx(leaf) == field);
    let name = schema.root_schema().get_fields()[field].name();
    let refused = |what: &str| {
        Err(Error::data("", format!("the column '{}' is {what}", printable(name))).expected("a column of integers"))
    };
    let Some(leaf) = leaves.next() else { return refused("nested") };
    let column = schema.column(leaf);
    if column.path().parts().len() != 1 || column.max_rep_level() > 0 || column.max_def_level() > 1 {
        return refused("nested");
    }
    let wide = match column.physical_type() {
        Type::INT32 => false,
        Type::INT64 => true,
        _ => return refused(&format!("of type {}", kind(&column))),
    };
    match signed(&column) {
        Some(signed) => Ok(IntegerColumn { leaf, name: name.to_owned(), wide, signed }),
        None => refused(&format!("of type {}", kind(&column))),
    }
}

/// Whether integers have a sign; `None` for dates, times and decimal fractions.
fn signed(column: &ColumnDescriptor) -> Option<bool> {
    match (column.logical_type_ref(), column.converted_type()) {
        (Some(LogicalType::Integer(integer)), _) => Some(integer.is_signed),
        (Some(_), _) => None,
        (None, ConvertedType::NONE) => Some(true),
        (None, ConvertedType::INT_8 | ConvertedType::INT_16 | ConvertedType::INT_32 | ConvertedType::INT_64) => {
            Some(true)
        }
        (None, ConvertedType::UINT_8 | ConvertedType::UINT_16 | ConvertedType::UINT_32 | ConvertedType::UINT_64) => {
            Some(false)
        }
        _ => None,
    }
}

/// The type of a column in words.
fn kind(column: &ColumnDescriptor) -> String {
    match (column.logical_type_ref(), column.converted_type()) {
        (Some(LogicalType::Integer(integer)), _) => {
            format!("{}INT{}", if integer.is_signed { "" } else { "U" }, integer.bit_width)
        }
        (Some(logical), _) => format!("{} ({logical:?})", column.physical_type()),
        (None, ConvertedType::NONE) => column.physical_type().to_string(),
        (None, converted) => format!("{} ({converted})", column.physical_type()),
    }
}

/// The names and types of the leaves.
fn listed(schema: &SchemaDescriptor) -> String {
    let columns = schema.columns();
    let mut listed: Vec<String> = columns
        .iter()
        .take(MOST_LISTED)
        .map(|column| format!("'{}' {}", printable(&column.path().string()), kind(column)))
        .collect();
    if columns.len() > MOST_LISTED {
        listed.push(format!("{} more", columns.len() - MOST_LISTED));
    }
    if listed.is_empty() { "(none)".into() } else { listed.join(", ") }
}
