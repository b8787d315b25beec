//! 'Did you mean': the known name nearest to what was typed.

/// `; did you mean X?` for the name of `known` that takes the fewest edits, if they are few for its length (a third, at least one); else nothing.
pub fn did_you_mean<'a>(typed: &str, known: impl IntoIterator<Item = &'a str>) -> String {
    let same = |c: char| if c == '_' { '-' } else { c.to_ascii_lowercase() };
    let typed: String = typed.chars().map(same).collect();
    let edits = known.into_iter().map(|name| {
        let plain: String = name.chars().map(same).collect();
        (strsim::damerau_levenshtein(&typed, &plain), name)
    });
    edits
        .filter(|(edits, name)| *edits <= (typed.chars().count().max(name.chars().count()) / 3).max(1))
        .min_by_key(|(edits, _)| *edits)
        .map_or(String::new(), |(_, name)| format!("; did you mean `{name}`?"))
}
