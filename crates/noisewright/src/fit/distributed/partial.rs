//! Partial sums as bytes, to the bit: what one process tells another of its blocks.

use std::collections::BTreeMap;

use nalgebra::{DMatrix, DVector};

/// What a reduction over blocks makes of one of them, and can hand to another process.
///
/// Numbers are written as their bits, least significant byte first, so that nothing is rounded on the way.
pub(crate) trait Partial: Sized {
    /// Appends the bytes.
    fn write(&self, out: &mut Vec<u8>);

    /// Takes what [`write`](Self::write) has written from the front; `None` where that is not what stands there.
    fn read(from: &mut &[u8]) -> Option<Self>;
}

/// All bytes of a value.
pub(crate) fn to_bytes(value: &impl Partial) -> Vec<u8> {
    let mut out = Vec::new();
    value.write(&mut out);
    out
}

/// A value from all bytes.
pub(crate) fn from_bytes<T: Partial>(mut bytes: &[u8]) -> Option<T> {
    T::read(&mut bytes).filter(|_| bytes.is_empty())
}

/// Writes and reads the named fields of a structure one after the other.
macro_rules! partial_fields {
    ($name:ty { $($field:ident),+ $(,)? }) => {
        impl $crate::fit::distributed::Partial for $name {
            fn write(&self, out: &mut Vec<u8>) {
                $($crate::fit::distributed::Partial::write(&self.$field, out);)+
            }

            fn read(from: &mut &[u8]) -> Option<Self> {
                Some(Self { $($field: $crate::fit::distributed::Partial::read(from)?),+ })
            }
        }
    };
}
pub(crate) use partial_fields;

/// Makes a buffer `Partial` whose contents no other process needs: nothing is written.
macro_rules! partial_scratch {
    ($name:ty) => {
        impl $crate::fit::distributed::Partial for $name {
            fn write(&self, _: &mut Vec<u8>) {}

            fn read(_: &mut &[u8]) -> Option<Self> {
                Some(Self::default())
            }
        }
    };
}
pub(crate) use partial_scratch;

macro_rules! numbers {
    ($($number:ty),*) => {$(
        impl Partial for $number {
            fn write(&self, out: &mut Vec<u8>) {
                out.extend_from_slice(&self.to_le_bytes());
            }

            fn read(from: &mut &[u8]) -> Option<Self> {
                let (bytes, rest) = from.split_first_chunk()?;
                *from = rest;
                Some(Self::from_le_bytes(*bytes))
            }
        }
    )*};
}

numbers!(u8, u64, f64);

impl Partial for usize {
    fn write(&self, out: &mut Vec<u8>) {
        (*self as u64).write(out);
    }

    fn read(from: &mut &[u8]) -> Option<Self> {
        u64::read(from)?.try_into().ok()
    }
}

impl Partial for bool {
    fn write(&self, out: &mut Vec<u8>) {
        u8::from(*self).write(out);
    }

    fn read(from: &mut &[u8]) -> Option<Self> {
        Some(u8::read(from)? != 0)
    }
}

impl Partial for () {
    fn write(&self, _: &mut Vec<u8>) {}

    fn read(_: &mut &[u8]) -> Option<Self> {
        Some(())
    }
}

impl Partial for String {
    fn write(&self, out: &mut Vec<u8>) {
        self.len().write(out);
        out.extend_from_slice(self.as_bytes());
    }

    fn read(from: &mut &[u8]) -> Option<Self> {
        let length = usize::read(from)?;
        let (text, rest) = from.split_at_checked(length)?;
        *from = rest;
        Self::from_utf8(text.to_vec()).ok()
    }
}

impl<T: Partial> Partial for Vec<T> {
    fn write(&self, out: &mut Vec<u8>) {
        self.len().write(out);
        self.iter().for_each(|value| value.write(out));
    }

    fn read(from: &mut &[u8]) -> Option<Self> {
        let length = usize::read(from)?;
        // A length that the bytes cannot hold reserves nothing.
        (0..length).map(|_| T::read(from)).collect()
    }
}

impl<T: Partial> Partial for Option<T> {
    fn write(&self, out: &mut Vec<u8>) {
        self.is_some().write(out);
        if let Some(value) = self {
            value.write(out);
        }
    }

    fn read(from: &mut &[u8]) -> Option<Self> {
        Some(if bool::read(from)? { Some(T::read(from)?) } else { None })
    }
}

impl<T: Partial, const N: usize> Partial for [T; N] {
    fn write(&self, out: &mut Vec<u8>) {
        self.iter().for_each(|value| value.write(out));
    }

    fn read(from: &mut &[u8]) -> Option<Self> {
        let values: Option<Vec<T>> = (0..N).map(|_| T::read(from)).collect();
        values?.try_into().ok()
    }
}

impl<A: Partial, B: Partial> Partial for (A, B) {
    fn write(&self, out: &mut Vec<u8>) {
        self.0.write(out);
        self.1.write(out);
    }

    fn read(from: &mut &[u8]) -> Option<Self> {
        Some((A::read(from)?, B::read(from)?))
    }
}

impl<K: Partial + Ord, V: Partial> Partial for BTreeMap<K, V> {
    fn write(&self, out: &mut Vec<u8>) {
        self.len().write(out);
        for (key, value) in self {
            key.write(out);
            value.write(out);
        }
    }

    fn read(from: &mut &[u8]) -> Option<Self> {
        let length = usize::read(from)?;
        (0..length).map(|_| <(K, V)>::read(from)).collect()
    }
}

impl Partial for DVector<f64> {
    fn write(&self, out: &mut Vec<u8>) {
        self.len().write(out);
        self.iter().for_each(|x| x.write(out));
    }

    fn read(from: &mut &[u8]) -> Option<Self> {
        Some(Self::from_vec(Vec::read(from)?))
    }
}

impl Partial for DMatrix<f64> {
    fn write(&self, out: &mut Vec<u8>) {
        self.nrows().write(out);
        self.ncols().write(out);
        self.iter().for_each(|x| x.write(out));
    }

    fn read(from: &mut &[u8]) -> Option<Self> {
        let (rows, columns) = <(usize, usize)>::read(from)?;
        let length = rows.checked_mul(columns)?;
        let values: Option<Vec<f64>> = (0..length).map(|_| f64::read(from)).collect();
        Some(Self::from_vec(rows, columns, values?))
    }
}

/// A square matrix of which only the entries on and below the diagonal are set: those are all that is written.
pub(crate) struct Triangle(pub(crate) DMatrix<f64>);

impl Triangle {
    /// Appends the bytes of a triangle that somebody else holds.
    pub(crate) fn write_of(matrix: &DMatrix<f64>, out: &mut Vec<u8>) {
        matrix.nrows().write(out);
        for column in 0..matrix.ncols() {
            (column..matrix.nrows()).for_each(|row| matrix[(row, column)].write(out));
        }
    }
}

impl Partial for Triangle {
    fn write(&self, out: &mut Vec<u8>) {
        Self::write_of(&self.0, out);
    }

    fn read(from: &mut &[u8]) -> Option<Self> {
        let size = usize::read(from)?;
        // Eight bytes for each entry must be there.
        size.checked_mul(size.checked_add(1)?)?.checked_mul(4).filter(|bytes| *bytes <= from.len())?;
        let mut matrix = DMatrix::zeros(size, size);
        for column in 0..size {
            for row in column..size {
                matrix[(row, column)] = f64::read(from)?;
            }
        }
        Some(Self(matrix))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn there_and_back<T: Partial>(value: &T) -> Option<T> {
        from_bytes(&to_bytes(value))
    }

    proptest! {
        #[test]
        fn every_bit_comes_back(bits in proptest::collection::vec(any::<u64>(), 0..50), text in ".*", some: Option<bool>) {
            let values: Vec<f64> = bits.iter().map(|b| f64::from_bits(*b)).collect();
            let back: (Vec<f64>, (String, Option<bool>)) = there_and_back(&(values, (text.clone(), some))).unwrap();
            prop_assert_eq!(back.0.iter().map(|x| x.to_bits()).collect::<Vec<_>>(), bits);
            prop_assert_eq!(back.1, (text, some));
        }

        #[test]
        fn bytes_that_are_cut_short_are_nothing(length in 0usize..79) {
            let bytes = to_bytes(&(DMatrix::from_element(2, 3, 1.5), DVector::from_element(2, 0.5)));
            prop_assert_eq!(bytes.len(), 88);
            prop_assert!(from_bytes::<(DMatrix<f64>, DVector<f64>)>(&bytes[..length]).is_none());
        }
    }

    #[test]
    fn a_triangle_takes_half_the_bytes() {
        let lower = DMatrix::from_fn(4, 4, |i, j| if i >= j { (10 * i + j) as f64 } else { 0.0 });
        let bytes = to_bytes(&Triangle(lower.clone()));
        assert_eq!(bytes.len(), 8 + 80);
        assert_eq!(from_bytes::<Triangle>(&bytes).unwrap().0, lower);
        // A size that the bytes do not hold.
        assert!(from_bytes::<Triangle>(&to_bytes(&(usize::MAX >> 2, 1.0))).is_none());
    }
}
