//! Jobs that end at any moment and are started again: the answer is the published one, and nothing is counted twice.

mod damage;
mod devices;
mod faults;
mod kills;
mod leftovers;
mod refusals;
mod restarts;
mod support;
