//! Warnings of the library, for Python's `logging`: collected from all threads here, and handed over by a thread that holds the GIL.

use std::collections::VecDeque;
use std::fmt::{Debug, Write};
use std::sync::{Mutex, PoisonError};

use pyo3::prelude::*;
use tracing::field::{Field, Visit};
use tracing::level_filters::LevelFilter;
use tracing::{Event, Subscriber};
use tracing_subscriber::layer::{Context, Layer, SubscriberExt};
use tracing_subscriber::registry;
use tracing_subscriber::util::SubscriberInitExt;

use crate::error::in_python;

/// The most warnings that wait; more are dropped.
const MOST: usize = 1000;

static WAITING: Mutex<VecDeque<String>> = Mutex::new(VecDeque::new());

/// Collects warnings from now on. Does nothing when called again.
pub(crate) fn collect() {
    // Fails if a subscriber is set, which can only be this one: the module has its own copy of `tracing`.
    let _ = registry().with(Collector.with_filter(LevelFilter::WARN)).try_init();
}

/// Hands the warnings that wait to the logger `trimill`.
pub(crate) fn log(py: Python<'_>) -> PyResult<()> {
    let warnings = std::mem::take(&mut *WAITING.lock().unwrap_or_else(PoisonError::into_inner));
    if warnings.is_empty() {
        return Ok(());
    }
    let logger = py.import("logging")?.call_method1("getLogger", ("trimill",))?;
    for warning in warnings {
        logger.call_method1("warning", ("%s", in_python(py, &warning)?))?;
    }
    Ok(())
}

struct Collector;

impl<S: Subscriber> Layer<S> for Collector {
    fn on_event(&self, event: &Event<'_>, _: Context<'_, S>) {
        let mut message = Message::default();
        event.record(&mut message);
        let mut waiting = WAITING.lock().unwrap_or_else(PoisonError::into_inner);
        if waiting.len() < MOST {
            waiting.push_back(message.0);
        }
    }
}

#[derive(Default)]
struct Message(String);

impl Visit for Message {
    fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
        if field.name() == "message" {
            // Writing to memory does not fail.
            let _ = write!(self.0, "{value:?}");
        }
    }
}
