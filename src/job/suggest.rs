//! 'Did you mean': the known name nearest to what was typed.

/// `; did you mean X?` for the nearest of `known`, or nothing when none is near.
pub fn did_you_mean<'a>(typed: &str, known: impl IntoIterator<Item = &'a str>) -> String {
    nearest(typed, known).map(|name| format!("; did you mean `{name}`?")).unwrap_or_default()
}

/// The name of `known` that takes the fewest edits, if they are few for its length (a third, at least one).
pub fn nearest<'a>(typed: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let same = |c: char| if c == '_' { '-' } else { c.to_ascii_lowercase() };
    let typed: String = typed.chars().map(same).collect();
    known
        .into_iter()
        .map(|name| {
            let plain: String = name.chars().map(same).collect();
            (strsim::damerau_levenshtein(&typed, &plain), name)
        })
        .filter(|(edits, name)| *edits <= (typed.chars().count().max(name.chars().count()) / 3).max(1))
        .min_by_key(|(edits, _)| *edits)
        .map(|(_, name)| name)
}
