//! What a partition's locals reach: Algorithm 2 of LSTC as a search.
//!
//! Enters: an induced subgraph. Leaves: its vertices to which a path leads from a local. Arcs go from larger numbers to
//! smaller ones, so there are no cycles, and a proxy whose in-arcs all come from what stays is one that such a path ends
//! in: removing proxies without an in-arc until none is left keeps exactly these.
//!
//! Nearly all of them have an arc from a local, which `induce` found out on the way. What is missing can only be among
//! the other proxies, mostly of low degree and so with large numbers; each kept proxy's row is read once, from its end
//! down to the smallest of them. In parallel: a thread follows what it finds by itself, and what grows beyond that is
//! dealt out anew. `O(arcs of the kept proxies)`; `n / 4` bytes.

use rayon::prelude::*;

use super::induce::Subgraph;
use super::{RUN, runs};
use crate::control::Control;
use crate::error::Result;
use crate::graph::bits::Bits;

/// Vertices that are dealt out together, of those that a thread found and did not follow.
const DEALT: usize = 256;

/// The vertices of `subgraph` that its locals reach, the locals among them.
///
/// # Errors
/// Only when stopped.
pub(super) fn reached(subgraph: &Subgraph<'_>, control: &Control) -> Result<Bits> {
    let Subgraph { graph, local, pointed, present } = subgraph;
    let open = present.without(local).without(pointed);
    let Some(lowest) = open.iter(0..graph.vertices()).next() else { return Ok(present.clone()) };
    let open = open.thaw();
    let (offsets, heads) = (graph.offsets(), graph.heads());
    let read = |number: u32, found: &mut Vec<u32>| {
        let row = &heads[offsets[number as usize] as usize..offsets[number as usize + 1] as usize];
        found.extend(row.iter().rev().copied().take_while(|&head| head >= lowest).filter(|&head| open.take(head)));
    };
    let follow = |mut found: Vec<u32>| {
        control.check()?;
        for _ in 0..RUN {
            let Some(number) = found.pop() else { break };
            read(number, &mut found);
        }
        graph.relieve();
        Ok(found)
    };
    let mut found = runs(graph.vertices())
        .map(|numbers| {
            let mut found = Vec::new();
            for number in numbers {
                if number > lowest && pointed.contains(number) && !local.contains(number) {
                    read(number, &mut found);
                }
            }
            follow(found)
        })
        .collect::<Result<Vec<_>>>()?
        .concat();
    while !found.is_empty() {
        let dealt = found.par_chunks(DEALT).map(|some| follow(some.to_vec()));
        found = dealt.collect::<Result<Vec<_>>>()?.concat();
    }
    Ok(present.without(&open.finish()))
}
