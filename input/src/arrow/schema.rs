//! Finds the columns of an Arrow schema with the ends of arcs, and their place in record batches. A batch lists, in order, a node for each field,
//! also nested ones, and the buffers of its type: the types before a column give its place. A batch states the number of buffers of views.

use arrow_ipc::{Endianness, Field, Int, MetadataVersion, Schema, Type};

use crate::settings::InputSettings;
use crate::tables;
use trimill_system::{Error, Result};

/// The deepest nesting of fields; the check of the metadata allows about as many levels.
const MOST_LEVELS: usize = 64;

const SOME_TEXT: u64 = 24;

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct ArrowColumn {
    pub(super) name: String,
    pub(super) values: ArrowValues,
    /// Bytes of an integer, or of the place of a text: 1, 2, 4, 8 or 16.
    pub(super) width: u64,
    pub(super) place: ColumnPlace,
    pub(super) dictionary: Option<DictionaryColumn>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct DictionaryColumn {
    pub(super) id: i64,
    values: ArrowValues,
    width: u64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ArrowValues {
    Integers {
        signed: bool,
    },
    Text,
    /// Length and place of each text; a short text is stored instead of its place.
    Views,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct ColumnPlace {
    pub(super) nodes: usize,
    /// Not counting the buffers of views, whose number the batch states.
    pub(super) buffers: usize,
    pub(super) views: usize,
}

/// The columns of tails and heads, of text if ids are names; the error does not name the file.
pub(super) fn ends(schema: Schema<'_>, version: MetadataVersion, reading: &InputSettings) -> Result<[ArrowColumn; 2]> {
    if version < MetadataVersion::V4 {
        return Err(Error::data("", "metadata of an Arrow before 0.8").advice("write the data again, by a newer one"));
    }
    if schema.endianness() != Endianness::Little {
        return Err(Error::data("", "big-endian values").expected("little-endian ones").advice("write the data again"));
    }
    let (mut fields, mut places, mut place) = (Vec::new(), Vec::new(), ColumnPlace::default());
    for field in schema.fields().into_iter().flatten() {
        places.push(place);
        place.skip(field, version, MOST_LEVELS)?;
        fields.push(field);
    }
    let titles: Vec<&str> = fields.iter().map(|field| field.name().unwrap_or_default()).collect();
    let described = fields.iter().map(|field| (field.name().unwrap_or_default().to_owned(), kind(*field)));
    let InputSettings { columns, names, .. } = reading;
    tables::ends(&titles, columns.as_ref(), &tables::listed(described), |at| column(fields[at], places[at], *names))
}

fn column(field: Field<'_>, place: ColumnPlace, names: bool) -> Result<ArrowColumn> {
    let name = field.name().unwrap_or_default();
    let refused = || {
        let error = tables::no_ids(name, &format!("of type {}", kind(field)), names);
        Err(if names { error.advice("write it as utf8, as by column.cast(pyarrow.string())") } else { error })
    };
    let integers = |integer: Int<'_>| {
        let bits = Some(integer.bitWidth()).filter(|bits| matches!(bits, 8 | 16 | 32 | 64))?;
        Some((ArrowValues::Integers { signed: integer.is_signed() }, bits as u64 / 8))
    };
    let (stored, dictionary) = match (field.dictionary(), names) {
        (None, false) => (field.type_as_int().and_then(integers), None),
        (None, true) => (texts(field), None),
        (Some(encoding), true) => {
            let Some((values, width)) = texts(field) else { return refused() };
            // Without a type the numbers are signed, of 32 bits.
            let usual = Some((ArrowValues::Integers { signed: true }, 4));
            let numbers = encoding.indexType().map_or(usual, integers);
            (numbers, Some(DictionaryColumn { id: encoding.id(), values, width }))
        }
        (Some(_), false) => return refused(),
    };
    let Some((values, width)) = stored else { return refused() };
    Ok(ArrowColumn { name: name.to_owned(), values, width, place, dictionary })
}

/// How a field stores texts, if it does; whether they are UTF-8 is checked when they are read.
fn texts(field: Field<'_>) -> Option<(ArrowValues, u64)> {
    match field.type_type() {
        Type::Utf8 | Type::Binary => Some((ArrowValues::Text, 4)),
        Type::LargeUtf8 | Type::LargeBinary => Some((ArrowValues::Text, 8)),
        Type::Utf8View | Type::BinaryView => Some((ArrowValues::Views, 16)),
        _ => None,
    }
}

fn kind(field: Field<'_>) -> String {
    let name = match field.type_as_int() {
        Some(integer) => format!("{}int{}", if integer.is_signed() { "" } else { "u" }, integer.bitWidth()),
        None => field.type_type().variant_name().unwrap_or("unknown").trim_end_matches('_').to_lowercase(),
    };
    if field.dictionary().is_some() { format!("dictionary of {name}") } else { name }
}

impl ArrowColumn {
    pub(super) fn bytes(&self) -> u64 {
        self.width + if self.values == ArrowValues::Text { SOME_TEXT } else { 0 }
    }

    /// The only column of this column's dictionary messages.
    pub(super) fn of_dictionary(&self) -> Option<Self> {
        let DictionaryColumn { values, width, .. } = self.dictionary?;
        let name = self.name.clone();
        Some(Self { name, values, width, place: ColumnPlace::default(), dictionary: None })
    }
}

impl ColumnPlace {
    fn skip(&mut self, field: Field<'_>, version: MetadataVersion, levels: usize) -> Result<()> {
        self.nodes += 1;
        // Numbers of a dictionary's texts; the texts are in messages of their own.
        if field.dictionary().is_some() {
            self.buffers += 2;
            return Ok(());
        }
        self.buffers += match field.type_type() {
            Type::Null | Type::RunEndEncoded => 0,
            Type::FixedSizeList | Type::Struct_ => 1,
            Type::Int
            | Type::FloatingPoint
            | Type::Bool
            | Type::Decimal
            | Type::Date
            | Type::Time
            | Type::Timestamp
            | Type::Interval
            | Type::Duration
            | Type::FixedSizeBinary
            | Type::List
            | Type::LargeList
            | Type::Map => 2,
            Type::Binary | Type::Utf8 | Type::LargeBinary | Type::LargeUtf8 | Type::ListView | Type::LargeListView => 3,
            Type::BinaryView | Type::Utf8View => {
                self.views += 1;
                2
            }
            Type::Union => {
                let dense = field.type_as_union().is_some_and(|union| union.mode() == arrow_ipc::UnionMode::Dense);
                1 + usize::from(dense) + usize::from(version < MetadataVersion::V5)
            }
            _ => {
                let found = format!("the column '{}' of a type that is not known", field.name().unwrap_or_default());
                return Err(Error::data("", found).advice("write the table without that column"));
            }
        };
        let deeper = levels.checked_sub(1).ok_or_else(|| Error::data("", "columns that are nested too deeply"))?;
        field.children().into_iter().flatten().try_for_each(|child| self.skip(child, version, deeper))
    }
}
