//! metis
