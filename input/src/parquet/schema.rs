//! Finds the ends of edges in Parquet files. Input: the schema, names by the user. Output: two leaves of integers or text ([`tables`] chooses).

use parquet::basic::{ConvertedType, LogicalType, Type};
use parquet::schema::types::{ColumnDescriptor, SchemaDescriptor};

use crate::settings::InputSettings;
use crate::tables;
use trimill_system::Result;

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct EndColumn {
    pub(super) leaf: usize,
    pub(super) name: String,
    pub(super) values: EndValues,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum EndValues {
    Narrow { signed: bool },
    Wide { signed: bool },
    Text,
}

impl EndValues {
    /// `None` for text.
    pub(super) const fn width(self) -> Option<u64> {
        match self {
            Self::Narrow { .. } => Some(4),
            Self::Wide { .. } => Some(8),
            Self::Text => None,
        }
    }
}

/// The columns of tails and heads, of text if ids are names; the error does not name the file.
pub(super) fn ends(schema: &SchemaDescriptor, reading: &InputSettings) -> Result<[EndColumn; 2]> {
    let fields: Vec<&str> = schema.root_schema().get_fields().iter().map(|field| field.name()).collect();
    let kind_of = |field: usize| match flat_leaf(schema, field) {
        Some(leaf) => kind(&schema.column(leaf)),
        None => "(nested)".into(),
    };
    let listed = tables::listed(fields.iter().enumerate().map(|(field, name)| ((*name).to_owned(), kind_of(field))));
    tables::ends(&fields, reading.columns.as_ref(), &listed, |field| column(schema, field, reading.names))
}

fn column(schema: &SchemaDescriptor, field: usize, names: bool) -> Result<EndColumn> {
    let name = schema.root_schema().get_fields()[field].name();
    let refused = |what: &str| Err(tables::no_ids(name, what, names));
    let Some(leaf) = flat_leaf(schema, field) else { return refused("nested") };
    let column = schema.column(leaf);
    let values = match (column.physical_type(), signed(&column)) {
        (Type::INT32, Some(signed)) if !names => EndValues::Narrow { signed },
        (Type::INT64, Some(signed)) if !names => EndValues::Wide { signed },
        (Type::BYTE_ARRAY, _) if names && is_text(&column) => EndValues::Text,
        _ => return refused(&format!("of type {}", kind(&column))),
    };
    Ok(EndColumn { leaf, name: name.to_owned(), values })
}

/// The index of a field among the leaves, if it is not nested.
fn flat_leaf(schema: &SchemaDescriptor, field: usize) -> Option<usize> {
    let leaf = (0..schema.num_columns()).find(|&leaf| schema.get_column_root_idx(leaf) == field)?;
    let column = schema.column(leaf);
    let is_flat = column.path().parts().len() == 1 && column.max_rep_level() == 0 && column.max_def_level() <= 1;
    is_flat.then_some(leaf)
}

/// Declared as text, or undeclared, as some programs write text. UTF-8 is checked when the text is read.
fn is_text(column: &ColumnDescriptor) -> bool {
    match column.logical_type_ref() {
        Some(kind) => matches!(kind, LogicalType::String),
        None => matches!(column.converted_type(), ConvertedType::NONE | ConvertedType::UTF8),
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

fn kind(column: &ColumnDescriptor) -> String {
    match (column.logical_type_ref(), column.converted_type()) {
        (Some(LogicalType::Integer(integer)), _) => {
            format!("{}INT{}", if integer.is_signed { "" } else { "U" }, integer.bit_width)
        }
        (Some(logical), _) => {
            // The name of the type, without its settings.
            let named = format!("{logical:?}");
            let name = named.split(['(', ' ']).next().unwrap_or_default();
            format!("{} ({name})", column.physical_type())
        }
        (None, ConvertedType::NONE) => column.physical_type().to_string(),
        (None, converted) => format!("{} ({converted})", column.physical_type()),
    }
}
