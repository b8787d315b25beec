//! Memory of other packages: arrays of NumPy as columns of ids, read where they are, and streams in Arrow's format.
//!
//! All that is unsafe in this package is here. An array is read without the GIL:
//!
//! - The memory stays: a reference to the array is held. NumPy frees or moves the memory of an array that is referenced only if its
//!   owner calls `resize(refcheck=False)`, whose documentation leaves that to the caller.
//! - It may be read: address, length and stride were taken from the array while the GIL was held, and NumPy guarantees that they describe
//!   memory of its own. Alignment is checked once.
//! - Other threads of Python may write to it meanwhile. So each number is read by a relaxed atomic load of its size, which is defined even
//!   then, also in read-only memory. Every bit pattern is a number; the library checks each that it loads, and two loads may differ.

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
    /// Keeps the memory alive.
    _owner: Py<PyUntypedArray>,
    first: *const u8,
    /// Bytes from a number to the next one; negative for reversed views.
    stride: isize,
    len: usize,
    /// Bytes of a number.
    width: u64,
    read: Read,
}

/// Reads ids as [`Column::read_ids`] does, from numbers of one type.
type Read = fn(&Array, u64, &mut [u64]) -> Result<()>;

// SAFETY: the memory behind `first` is only loaded from, atomically; the reference is only dropped, which pyo3 allows on any thread.
unsafe impl Send for Array {}
// SAFETY: as above.
unsafe impl Sync for Array {}

/// The reader, the bytes per number and the first address of an array of one dimension in the machine's byte order.
fn typed(array: &Bound<'_, PyUntypedArray>) -> Option<(Read, usize, *const u8)> {
    macro_rules! try_all {
        ($($number:ty: $atomic:ty),*) => {
            $(if let Ok(found) = array.cast::<PyArray1<$number>>() {
                let read: Read = |array, first, ids| {
                    // SAFETY: see the head of this file. `places` has checked that the place is in the array.
                    array.load(first, ids, |at| i128::from(unsafe { &*at.cast::<$atomic>() }.load(Ordering::Relaxed)))
                };
                return Some((read, size_of::<$number>(), found.data().cast_const().cast()));
            })*
        };
    }
    try_all!(
        i64: AtomicI64, i32: AtomicI32, u64: AtomicU64, u32: AtomicU32,
        i16: AtomicI16, u16: AtomicU16, i8: AtomicI8, u8: AtomicU8
    );
    None
}

impl Array {
    /// The numbers of `array`.
    ///
    /// # Errors
    /// `TypeError`: not aligned, not of integers in the machine's byte order, or not of one dimension; Python code refuses that before.
    pub(crate) fn new(array: &Bound<'_, PyUntypedArray>) -> PyResult<Self> {
        let (Some((read, size, first)), &[len], &[stride]) = (typed(array), array.shape(), array.strides()) else {
            return Err(PyTypeError::new_err("not a column of integers"));
        };
        let is_aligned = |bytes: usize| bytes.is_multiple_of(size);
        // As for NumPy: where there is no second number, the stride does not matter.
        if (len > 0 && !is_aligned(first as usize)) || (len > 1 && !is_aligned(stride.unsigned_abs())) {
            return Err(PyTypeError::new_err("an array that is not aligned"));
        }
        Ok(Self { _owner: array.clone().unbind(), first, stride, len, width: size as u64, read })
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

impl Column for Array {
    fn len(&self) -> u64 {
        self.len as u64
    }

    fn read_ids(&self, first: u64, ids: &mut [u64]) -> Result<()> {
        (self.read)(self, first, ids)
    }

    fn width(&self) -> u64 {
        self.width
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
