//! The `.properties` file of a BVGraph: the numbers of vertices and arcs, and how rows are encoded.

use dsi_bitstream::dispatch::Codes;

use super::BvGraphFiles;
use super::row::Encoding;
use crate::check_vertices;
use crate::hints::{TELLING, in_place_of_a_graph};
use crate::java_properties::PropertyValues;
use trimill_system::{Error, Result};

pub(super) struct Properties {
    pub(super) little_endian: bool,
    pub(super) arcs: u64,
    pub(super) encoding: Encoding,
}

const LARGEST_WINDOW: u64 = 1 << 20;
const LONGEST_SHORTEST_INTERVAL: u64 = 1 << 32;

impl Properties {
    pub(super) fn read(files: &BvGraphFiles) -> Result<Self> {
        let path = &files.properties;
        if !path.is_file() {
            return Err(Error::missing(path)
                .expected(format!("the properties of the BVGraph {}", files.graph.display()))
                .advice("fetch it too, or name both if it is in another folder; if the .graph is of another format, name that with --format"));
        }
        let text = std::fs::read(path).map_err(|e| Error::read(path, e))?;
        if let Some(error) = in_place_of_a_graph(&text[..text.len().min(TELLING as usize)]) {
            return Err(error.at(path));
        }
        let values = PropertyValues::of(&String::from_utf8_lossy(&text));
        let properties = values.properties().map_err(|found| {
            Error::data(path, found).expected("the properties of a BVGraph").advice("fetch the file again")
        })?;
        check_vertices(properties.encoding.nodes).map_err(|error| error.at(path))?;
        Ok(properties)
    }
}

impl PropertyValues {
    fn properties(&self) -> Result<Properties, String> {
        if let Some(class) = self.get("graphclass").filter(|class| !class.ends_with("BVGraph")) {
            return Err(format!("a graph of class {class}"));
        }
        let little_endian = match self.get("endianness") {
            None | Some("big") => false,
            Some("little") => true,
            Some(other) => return Err(format!("endianness '{other}', not 'big' or 'little'")),
        };
        // Version 1 added streams whose low bits come first, and codes named in full, such as `ZETA3`.
        let version = self.number("version")?.unwrap_or(0);
        if version > 1 || little_endian && version == 0 {
            return Err(format!("version {version} of endianness {}", if little_endian { "little" } else { "big" }));
        }
        let needed = |name: &str| self.number(name)?.ok_or_else(|| format!("no '{name}'"));
        let (nodes, arcs) = (needed("nodes")?, needed("arcs")?);
        if u128::from(arcs) > u128::from(nodes) * u128::from(nodes) {
            return Err(format!("{arcs} arcs between {nodes} vertices"));
        }
        let window = self.number("windowsize")?.unwrap_or(7);
        let shortest_interval = self.number("minintervallength")?.unwrap_or(4);
        if window > LARGEST_WINDOW || shortest_interval > LONGEST_SHORTEST_INTERVAL {
            return Err(format!("a window of {window} rows and intervals of at least {shortest_interval}"));
        }
        let k = self.number("zetak")?.unwrap_or(3);
        let mut encoding = Encoding {
            nodes,
            window,
            // WebGraph writes -1 if there is no limit.
            longest_chain: self.get("maxrefcount").and_then(|most| most.parse().ok()),
            shortest_interval,
            outdegrees: Codes::Gamma,
            references: Codes::Unary,
            blocks: Codes::Gamma,
            intervals: Codes::Gamma,
            residuals: zeta(k).ok_or_else(|| format!("'zetak' is {k}, not 1 to 7"))?,
            offsets: Codes::Gamma,
        };
        for flag in self.get("compressionflags").unwrap_or_default().split('|').filter(|flag| !flag.is_empty()) {
            let unknown = || format!("the compression flag '{flag}'");
            let (name, code) = flag.trim().split_once('_').ok_or_else(unknown)?;
            let code = code_of(code, k).ok_or_else(unknown)?;
            match name {
                "OUTDEGREES" => encoding.outdegrees = code,
                "REFERENCES" => encoding.references = code,
                "BLOCKS" => encoding.blocks = code,
                "INTERVALS" => encoding.intervals = code,
                "RESIDUALS" => encoding.residuals = code,
                "OFFSETS" => encoding.offsets = code,
                _ => return Err(unknown()),
            }
        }
        Ok(Properties { little_endian, arcs, encoding })
    }
}

fn zeta(k: u64) -> Option<Codes> {
    (1..=7).contains(&k).then_some(Codes::Zeta(k as usize))
}

/// The code that WebGraph calls `name`. Version 0 has `ZETA` and a property for its k; version 1 has `ZETA3`.
fn code_of(name: &str, k: u64) -> Option<Codes> {
    let numbered = |prefix: &str| name.strip_prefix(prefix)?.parse::<u64>().ok();
    match name {
        "UNARY" => Some(Codes::Unary),
        "GAMMA" => Some(Codes::Gamma),
        "DELTA" => Some(Codes::Delta),
        "OMEGA" => Some(Codes::Omega),
        "ZETA" => zeta(k),
        _ => match numbered("PI") {
            Some(k) => (1..=4).contains(&k).then_some(Codes::Pi(k as usize)),
            None => zeta(numbered("ZETA")?),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<Properties, String> {
        PropertyValues::of(text).properties()
    }

    #[test]
    fn defaults_are_those_of_webgraph() {
        let properties = read("#BVGraph\ngraphclass=it.unimi.dsi.webgraph.BVGraph\nnodes=5\narcs = 20\n").unwrap();
        assert_eq!((properties.little_endian, properties.arcs), (false, 20));
        let read = properties.encoding;
        assert_eq!((read.nodes, read.window, read.longest_chain, read.shortest_interval), (5, 7, None, 4));
        assert_eq!([read.outdegrees, read.blocks, read.intervals, read.offsets], [Codes::Gamma; 4]);
        assert_eq!([read.references, read.residuals], [Codes::Unary, Codes::Zeta(3)]);
    }

    #[test]
    fn codes_are_those_of_the_flags() {
        let flags =
            "nodes=1\narcs=0\nzetak=4\ncompressionflags=OUTDEGREES_DELTA|RESIDUALS_ZETA|BLOCKS_PI2|INTERVALS_ZETA5";
        let encoding = read(flags).unwrap().encoding;
        assert_eq!([encoding.outdegrees, encoding.residuals], [Codes::Delta, Codes::Zeta(4)]);
        assert_eq!([encoding.blocks, encoding.intervals], [Codes::Pi(2), Codes::Zeta(5)]);
        for (flag, named) in [("RESIDUALS_MORSE", "MORSE"), ("ARCS_GAMMA", "ARCS"), ("RESIDUALS", "RESIDUALS")] {
            let error = read(&format!("nodes=1\narcs=0\ncompressionflags={flag}")).err().unwrap();
            assert!(error.contains(named), "{error}");
        }
    }
}
