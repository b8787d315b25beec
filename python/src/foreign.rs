//! Memory of other packages: arrays of NumPy as columns of ids, read where they are, and streams in Arrow's format.
//!
//! All that is unsafe in this package is here. An array is read without the GIL:
//!
//! - The memory stays: a reference to the array is held. NumPy frees or moves the memory of an array that is referenced only if its
//!   owner calls `resize(refcheck=False)`, whose documentation leaves that to the caller.
//! - It may be read: the address, the length and the stride were taken from the array while the GIL was held, and NumPy guarantees that
//!   they describe memory of its own. Addresses are aligned, which is checked once.
//! - Other threads of Python may write to it meanwhile. So each number is read by a relaxed atomic load of its size, which is defined
//!   then, and also in memory that cannot be written. Any value of these types is a number; the library checks each one that it loads,
//!   and two loads of the same number may differ.

use std::sync::atomic::{
    AtomicI8, AtomicI16, AtomicI32, AtomicI64, AtomicU8, AtomicU16, AtomicU32, AtomicU64, Ordering,
};

use arrow_array::ffi_stream::{FFI_ArrowArrayStream, RecordBatchStreamReader};
use numpy::{PyArray1, PyArrayMethods, PyUntypedArray, PyUntypedArrayMethods};
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::PyCapsule;
use trimill::{Column, Error, Result};

/// An array of one dimension.
pub(crate) struct Array {
    /// Keeps the memory.
    _owner: Py<PyUntypedArray>,
    first: *const u8,
    /// Bytes from a number to the next one; negative for reversed views.
    stride: isize,
    len: usize,
    number: Number,
}

// SAFETY: the memory behind `first` is only loaded from, atomically; the reference is only dropped, which pyo3 allows on any thread.
unsafe impl Send for Array {}
// SAFETY: as above.
unsafe impl Sync for Array {}

#[derive(Clone, Copy)]
enum Number {
    I8,
    I16,
    I32,
    I64,
    U8,
    U16,
    U32,
    U64,
}

impl Number {
    fn size(self) -> usize {
        match self {
            Self::I8 | Self::U8 => 1,
            Self::I16 | Self::U16 => 2,
            Self::I32 | Self::U32 => 4,
            Self::I64 | Self::U64 => 8,
        }
    }
}

/// The type of an array of one dimension in the machine's byte order, and where its first number is; `None` for another array.
fn typed(array: &Bound<'_, PyUntypedArray>) -> Option<(Number, *const u8)> {
    macro_rules! try_all {
        ($($type:ty: $number:ident),*) => {
            $(if let Ok(array) = array.cast::<PyArray1<$type>>() {
                return Some((Number::$number, array.data().cast_const().cast()));
            })*
        };
    }
    try_all!(i64: I64, i32: I32, u64: U64, u32: U32, i16: I16, u16: U16, i8: I8, u8: U8);
    None
}

impl Array {
    /// The numbers of `array`.
    ///
    /// # Errors
    /// `TypeError`: it is not aligned, not of integers in the machine's byte order, or not of one dimension. The Python code has checked
    /// that, with better words.
    pub(crate) fn new(array: &Bound<'_, PyUntypedArray>) -> PyResult<Self> {
        let (Some((number, first)), &[len], &[stride]) = (typed(array), array.shape(), array.strides()) else {
            return Err(PyTypeError::new_err("not a column of integers"));
        };
        let size = number.size();
        if len > 0 && (!(first as usize).is_multiple_of(size) || !stride.unsigned_abs().is_multiple_of(size)) {
            return Err(PyTypeError::new_err("an array that is not aligned"));
        }
        Ok(Self { _owner: array.clone().unbind(), first, stride, len, number })
    }

    /// Loads the numbers from place `first` on; `load` is given the address of each.
    #[inline]
    fn load(&self, first: u64, ids: &mut [u64], load: impl Fn(*const u8) -> i128) -> Result<()> {
        let places = self.places(first, ids.len())?;
        for (place, id) in places.zip(ids) {
            // The address is within the array, so nothing overflows.
            let at = self.first.wrapping_offset(place as isize * self.stride);
            *id = Self::id(load(at), place as u64)?;
        }
        Ok(())
    }
}

macro_rules! load {
    ($number:ty) => {
        |at: *const u8| {
            // SAFETY: see the head of this file. `places` has checked that the place is in the array.
            i128::from(unsafe { &*at.cast::<$number>() }.load(Ordering::Relaxed))
        }
    };
}

impl Column for Array {
    fn len(&self) -> u64 {
        self.len as u64
    }

    fn read_ids(&self, first: u64, ids: &mut [u64]) -> Result<()> {
        match self.number {
            Number::I8 => self.load(first, ids, load!(AtomicI8)),
            Number::I16 => self.load(first, ids, load!(AtomicI16)),
            Number::I32 => self.load(first, ids, load!(AtomicI32)),
            Number::I64 => self.load(first, ids, load!(AtomicI64)),
            Number::U8 => self.load(first, ids, load!(AtomicU8)),
            Number::U16 => self.load(first, ids, load!(AtomicU16)),
            Number::U32 => self.load(first, ids, load!(AtomicU32)),
            Number::U64 => self.load(first, ids, load!(AtomicU64)),
        }
    }

    fn width(&self) -> u64 {
        self.number.size() as u64
    }
}

/// Takes the stream out of a capsule of Arrow's PyCapsule interface.
///
/// # Errors
/// Another capsule; a stream without a schema, or that was taken before.
pub(crate) fn stream(capsule: &Bound<'_, PyCapsule>) -> PyResult<Result<RecordBatchStreamReader>> {
    let stream = capsule.pointer_checked(Some(c"arrow_array_stream"))?.cast::<FFI_ArrowArrayStream>();
    // SAFETY: by the interface's contract a capsule of this name holds a stream, which its first consumer takes. The GIL is held, so
    // no other consumer takes it now; `from_raw` leaves a stream that is marked as taken.
    let stream = unsafe { FFI_ArrowArrayStream::from_raw(stream.as_ptr()) };
    Ok(RecordBatchStreamReader::try_new(stream).map_err(|error| Error::data("table", error.to_string())))
}
