//! Which columns a Parquet file has, and what kind of number each holds, if it holds numbers.

use ::parquet::basic::{ConvertedType, LogicalType, Type};
use ::parquet::schema::types::{ColumnDescriptor, SchemaDescriptor};

/// Most digits of a decimal that are read: those of 16 bytes.
const DIGITS: i32 = 38;

/// How the bytes of a column are to be understood.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Number {
    /// As the physical type says.
    Plain,
    /// The bits of an unsigned integer.
    Unsigned,
    /// Half precision.
    Half,
    /// An integer over ten to this power.
    Decimal(u32),
    /// Text that is a label.
    Label,
}

/// One column.
#[derive(Clone, Debug)]
pub(super) struct Leaf {
    /// Its name; with a dot before the name of a field in a struct.
    pub(super) name: String,
    /// Its position among the columns of each row group.
    pub(super) position: usize,
    /// The definition level of a value that is there.
    pub(super) definition: i16,
    /// What it holds, or the name of a type that is no number.
    pub(super) number: Result<Number, String>,
}

/// All columns, in order; a list or map is one column that holds no numbers.
pub(super) fn leaves(schema: &SchemaDescriptor) -> Vec<Leaf> {
    let mut leaves: Vec<Leaf> = Vec::with_capacity(schema.num_columns());
    let mut last_list = None;
    for (position, column) in schema.columns().iter().enumerate() {
        let root = schema.get_column_root_idx(position);
        let repeated = column.max_rep_level() > 0;
        if repeated && last_list == Some(root) {
            continue;
        }
        last_list = repeated.then_some(root);
        let parts = column.path().parts();
        let (name, number) = if repeated {
            (parts.first().cloned().unwrap_or_default(), Err("list".to_owned()))
        } else {
            (parts.join("."), number(column))
        };
        leaves.push(Leaf { name, position, definition: column.max_def_level(), number });
    }
    leaves
}

/// What kind of number a column holds, or the name of its type.
fn number(column: &ColumnDescriptor) -> Result<Number, String> {
    match column.logical_type_ref() {
        Some(LogicalType::Decimal(_)) => return decimal_type(column),
        Some(LogicalType::Integer(integer)) if !integer.is_signed => return Ok(Number::Unsigned),
        Some(LogicalType::Float16) => return Ok(Number::Half),
        // A column of nothing but nulls has no other type.
        Some(LogicalType::Integer(_) | LogicalType::Unknown) => return Ok(Number::Plain),
        Some(other) => return Err(named(other).to_owned()),
        None => {}
    }
    match column.converted_type() {
        ConvertedType::DECIMAL => decimal_type(column),
        ConvertedType::UINT_8 | ConvertedType::UINT_16 | ConvertedType::UINT_32 | ConvertedType::UINT_64 => {
            Ok(Number::Unsigned)
        }
        ConvertedType::INT_8 | ConvertedType::INT_16 | ConvertedType::INT_32 | ConvertedType::INT_64 => {
            Ok(Number::Plain)
        }
        ConvertedType::NONE => physical(column.physical_type()),
        other => Err(other.to_string().to_lowercase()),
    }
}

fn physical(kind: Type) -> Result<Number, String> {
    match kind {
        Type::BOOLEAN | Type::INT32 | Type::INT64 | Type::FLOAT | Type::DOUBLE => Ok(Number::Plain),
        Type::INT96 => Err("timestamp".to_owned()),
        Type::BYTE_ARRAY | Type::FIXED_LEN_BYTE_ARRAY => Err("binary".to_owned()),
    }
}

fn decimal_type(column: &ColumnDescriptor) -> Result<Number, String> {
    let (precision, scale) = (column.type_precision(), column.type_scale());
    match u32::try_from(scale) {
        Ok(scale) if precision <= DIGITS => Ok(Number::Decimal(scale)),
        _ => Err(format!("decimal({precision}, {scale})")),
    }
}

fn named(logical: &LogicalType) -> &'static str {
    match logical {
        LogicalType::String => "string",
        LogicalType::Map => "map",
        LogicalType::List => "list",
        LogicalType::Enum => "enum",
        LogicalType::Date => "date",
        LogicalType::Time(_) => "time",
        LogicalType::Timestamp(_) => "timestamp",
        LogicalType::Json => "json",
        LogicalType::Bson => "bson",
        LogicalType::Uuid => "uuid",
        LogicalType::Variant(_) => "variant",
        LogicalType::Geometry(_) => "geometry",
        LogicalType::Geography(_) => "geography",
        _ => "unknown",
    }
}

/// The number nearest to `unscaled / 10^scale`, as text of the same digits would be read.
pub(super) fn decimal(unscaled: i128, scale: u32) -> f64 {
    // Up to 2^53 and 10^22 both are exact, and one division rounds once.
    if unscaled.unsigned_abs() <= 1 << 53 && scale <= 22 {
        return unscaled as f64 / 10_f64.powi(scale.cast_signed());
    }
    format!("{unscaled}e-{scale}").parse().unwrap_or(f64::NAN)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn decimals_are_the_nearest_numbers() {
        assert_eq!(decimal(1, 1), 0.1);
        assert_eq!(decimal(-123_456, 3), -123.456);
        assert_eq!(decimal(1, 22), 1e-22);
        assert_eq!(decimal(3, 30), 3e-30);
        let digits = 12_345_678_901_234_567_890_123_456_789_012_345_678;
        assert_eq!(decimal(digits, 37), 1.234_567_890_123_456_8);
        assert_eq!(decimal(9_007_199_254_740_993, 0), 9_007_199_254_740_992.0);
    }
}
