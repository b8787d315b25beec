//! CUDA sources, and constants shared with the host. Sources have no includes, so compiling them needs no headers.

#[derive(Debug, Clone, Copy)]
pub struct SourceFile {
    pub name: &'static str,
    pub text: &'static str,
}

/// Sources are statics, so they are compared by address, not by text.
#[derive(Debug, Clone, Copy)]
pub struct CudaSource {
    pub name: &'static str,
    /// The parts, in the order in which they are concatenated and compiled.
    pub parts: &'static [SourceFile],
    /// The archive of its crate's compiled sources ([`crate::images`]).
    pub images: &'static [u8],
}

/// Defines constants that the host and its kernels share: as Rust constants, and as a part of a source.
#[macro_export]
macro_rules! shared_constants {
    ($part:ident = $file:literal; $($(#[$doc:meta])* $name:ident: $type:ident = $value:literal;)*) => {
        $($(#[$doc])* pub(crate) const $name: $type = $value;)*

        /// The part of a CUDA source that defines these constants for the kernels.
        pub(crate) const $part: $crate::SourceFile = $crate::SourceFile {
            name: $file,
            text: concat!(
                "typedef unsigned int u32;\ntypedef unsigned long long u64;\n",
                $("constexpr ", stringify!($type), " ", stringify!($name), " = ", stringify!($value), ";\n",)*
            ),
        };
    };
}

impl CudaSource {
    pub fn code(&self) -> String {
        self.parts.iter().map(|SourceFile { name, text }| format!("#line 1 \"{name}\"\n{text}")).collect()
    }

    /// The names of its kernels, and how many parameters each has.
    pub fn kernels(&self) -> impl Iterator<Item = (&'static str, usize)> {
        let definitions = |part: &'static SourceFile| part.text.split("extern \"C\" __global__ void ").skip(1);
        self.parts.iter().flat_map(definitions).filter_map(|rest| {
            let rest = match rest.strip_prefix("__launch_bounds__(") {
                Some(bounds) => bounds.split_once(')')?.1,
                None => rest,
            };
            let (name, rest) = rest.split_once('(')?;
            let (parameters, _) = rest.split_once(')')?;
            Some((name.trim(), parameters.split(',').count()))
        })
    }
}
