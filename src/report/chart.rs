//! A comparison as a picture: a bar for each method on each graph, on one logarithmic scale of seconds.
//!
//! The bar is the median time of the kernels (on the CPU, of counting), the stroke on its end the range from the fastest
//! to the slowest run, and the line behind it ends at the time of the whole job. The fastest method comes first.

use super::bench::{BenchReport, GraphReport, MethodReport};
use super::bench_table::{hardware, milliseconds, rounded, runs, times, wrong};
use super::svg::{Anchor, Drawing, shortened};
use super::table::{or_dash, seconds, thousands};
use crate::job::Backend;

const WIDTH: f64 = 980.0;
const EDGE: f64 = 24.0;
/// Where the bars begin and end.
const PLOT: (f64, f64) = (226.0, 676.0);
/// Where the columns of numbers end.
const COLUMNS: [(f64, &str); 3] = [(766.0, "kernel"), (858.0, "total"), (956.0, "speed-up")];
const ROW: f64 = 23.0;
const BAR: f64 = 13.0;
const ABOVE_GRAPHS: f64 = 100.0;
const ABOVE_ROWS: f64 = 34.0;
const BELOW_ROWS: f64 = 46.0;
/// Characters that fit beside the bars, and in place of them.
const LABEL: usize = 28;
const REASON: usize = 108;

/// The picture.
pub fn svg(report: &BenchReport) -> String {
    let mut drawing = Drawing::default();
    let scale = Scale::of(report);
    let title = "Triangle counting by method";
    let machine = hardware(report);
    drawing.text((EDGE, 34.0), Anchor::Start, "title", title);
    let line = format!("{machine}; trimill {}; {}; logarithmic scale", report.version, runs(report));
    drawing.text((EDGE, 56.0), Anchor::Start, "muted", &shortened(&line, 140));
    legend(&mut drawing, report);
    let mut top = ABOVE_GRAPHS;
    for (graph, title) in report.graphs.iter().zip(report.titles()) {
        top = panel(&mut drawing, &scale, report, graph, &title, top);
    }
    let description = format!("The time of each method on {} graphs, on {machine}", report.graphs.len());
    drawing.finish((WIDTH, top), title, &description)
}

fn legend(drawing: &mut Drawing, report: &BenchReport) {
    let methods = || report.graphs.iter().flat_map(|graph| &graph.methods);
    let mut x = EDGE;
    let y = 78.0;
    for (backend, class, text) in
        [(Backend::Cuda, "cuda", "kernels on a GPU"), (Backend::Cpu, "cpu", "counting on the CPU")]
    {
        if methods().any(|method| method.backend == backend && !method.runs.is_empty()) {
            drawing.bar((x, y - 10.0), (22.0, 11.0), class);
            drawing.text((x + 29.0, y), Anchor::Start, "small muted", text);
            x += 165.0;
        }
    }
    for (class, from, text) in [("range", 6.0, "fastest to slowest run"), ("whole", 0.0, "to the end of the whole job")]
    {
        drawing.line((x + from, y - 4.5), (x + 22.0 - from, y - 4.5), class);
        if class == "whole" {
            drawing.line((x + 22.0, y - 8.0), (x + 22.0, y - 1.0), class);
        }
        drawing.text((x + 29.0, y), Anchor::Start, "small muted", text);
        x += 178.0;
    }
}

/// Draws a graph below `top`; returns where it ends.
fn panel(
    drawing: &mut Drawing,
    scale: &Scale,
    report: &BenchReport,
    graph: &GraphReport,
    title: &str,
    top: f64,
) -> f64 {
    let heading = match &graph.problem {
        Some(_) => title.to_owned(),
        None => format!(
            "{}: {} edges, {} triangles",
            shortened(title, 44),
            rounded(graph.edges),
            or_dash(graph.triangles, thousands)
        ),
    };
    drawing.text((EDGE, top + 18.0), Anchor::Start, "graph", &heading);
    let first = top + ABOVE_ROWS;
    if let Some(problem) = &graph.problem {
        drawing.text((EDGE, first + 12.0), Anchor::Start, "muted", &shortened(&problem.message, 130));
        return first + BELOW_ROWS;
    }
    for (x, heading) in COLUMNS {
        drawing.text((x, top + 18.0), Anchor::End, "small muted", heading);
    }
    let mut methods: Vec<&MethodReport> = graph.methods.iter().collect();
    methods.sort_by(|a, b| median(a).total_cmp(&median(b)));
    let bottom = first + ROW * methods.len() as f64 + 2.0;
    for (seconds, label) in scale.ticks() {
        let x = scale.x(seconds);
        drawing.line((x, first - 2.0), (x, bottom), "grid");
        drawing.text((x, bottom + 15.0), Anchor::Middle, "small muted", &label);
    }
    for (i, method) in methods.into_iter().enumerate() {
        row(drawing, scale, report, graph, method, first + ROW * i as f64);
    }
    bottom + BELOW_ROWS - 10.0
}

fn row(
    drawing: &mut Drawing,
    scale: &Scale,
    report: &BenchReport,
    graph: &GraphReport,
    method: &MethodReport,
    top: f64,
) {
    let (middle, base) = (top + ROW / 2.0, top + ROW / 2.0 + 4.5);
    let wrong = wrong(method, graph);
    let reason = wrong.clone().or_else(|| method.problem.as_ref().map(|problem| problem.message.clone()));
    drawing.open(&format!("{}@{}: {}", method.title(), method.backend, reason.as_deref().unwrap_or("right")));
    drawing.text((EDGE, base), Anchor::Start, "", &shortened(&method.title(), LABEL));
    let (Some(kernel), Some(whole)) = (method.kernel_seconds, method.seconds) else {
        let reason = reason.unwrap_or_else(|| "did not run".into());
        drawing.bar((PLOT.0 + 1.0, top), (COLUMNS[2].0 - PLOT.0, ROW), "page");
        drawing.text((PLOT.0 + 6.0, base), Anchor::Start, "small muted", &shortened(&reason, REASON));
        drawing.close();
        return;
    };
    let class = match (&wrong, method.backend) {
        (Some(_), _) => "bad",
        (None, Backend::Cpu) => "cpu",
        (None, _) => "cuda",
    };
    let (end, job) = (scale.x(kernel.median), scale.x(whole.median));
    drawing.line((end, middle), (job, middle), "whole");
    drawing.line((job, middle - 4.0), (job, middle + 4.0), "whole");
    drawing.bar((PLOT.0, middle - BAR / 2.0), ((end - PLOT.0).max(1.0), BAR), class);
    drawing.line((scale.x(kernel.min), middle), (scale.x(kernel.max), middle), "range");
    let compared = match method.is(&report.baseline) {
        true => "baseline".into(),
        false => or_dash(method.kernel_speedup, times),
    };
    let numbers = [in_words(kernel.median), in_words(whole.median), compared];
    match wrong {
        Some(_) => drawing.text((COLUMNS[2].0, base), Anchor::End, "wrong", "WRONG COUNT"),
        None => {
            for ((x, _), number) in COLUMNS.iter().zip(&numbers) {
                drawing.text((*x, base), Anchor::End, "", number);
            }
        }
    }
    drawing.close();
}

fn median(method: &MethodReport) -> f64 {
    method.kernel_seconds.map_or(f64::INFINITY, |kernel| kernel.median)
}

/// `22.7 ms`, `1.50 s`
fn in_words(time: f64) -> String {
    if time < 0.9995 { format!("{} ms", milliseconds(time)) } else { seconds(time) }
}

/// Maps seconds to positions, logarithmically; whole powers of ten at both ends.
struct Scale {
    low: i32,
    high: i32,
}

impl Scale {
    fn of(report: &BenchReport) -> Self {
        let methods = report.graphs.iter().flat_map(|graph| &graph.methods);
        let ends = methods.flat_map(|method| [method.kernel_seconds, method.seconds]).flatten();
        let (low, high) = ends
            .flat_map(|spread| [spread.min, spread.max])
            .filter(|seconds| *seconds > 0.0)
            .fold((f64::INFINITY, 0.0_f64), |(low, high), seconds| (low.min(seconds), high.max(seconds)));
        if low > high {
            return Self { low: -3, high: 0 };
        }
        // The shortest bar must be visible.
        let low = (0.8 * low).log10().floor() as i32;
        Self { low, high: (high.log10().ceil() as i32).max(low + 1) }
    }

    fn x(&self, seconds: f64) -> f64 {
        let share = (seconds.log10() - f64::from(self.low)) / f64::from(self.high - self.low);
        PLOT.0 + share.clamp(0.0, 1.0) * (PLOT.1 - PLOT.0)
    }

    fn ticks(&self) -> impl Iterator<Item = (f64, String)> {
        (self.low..=self.high).map(|power| {
            let label = match power {
                ..-6 => format!("1e{power} s"),
                -6..-3 => format!("{} µs", 10_u32.pow((power + 6) as u32)),
                -3..0 => format!("{} ms", 10_u32.pow((power + 3) as u32)),
                0..6 => format!("{} s", 10_u32.pow(power as u32)),
                _ => format!("1e{power} s"),
            };
            (10_f64.powi(power), label)
        })
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::expect_used)]
mod tests {
    use super::*;
    use crate::report::bench::example::example;

    /// The values of an attribute of the elements that have all of `words`.
    fn values(svg: &str, words: &[&str], attribute: &str) -> Vec<f64> {
        let lines = svg.lines().filter(|line| words.iter().all(|word| line.contains(word)));
        let key = format!(" {attribute}=\"");
        lines.map(|line| line.split(&key).nth(1).unwrap().split('"').next().unwrap().parse().unwrap()).collect()
    }

    #[test]
    fn a_tenfold_time_is_a_decade_further() {
        let svg = svg(&example());
        // From 100 ms to 100 s, the total of the slowest being 40 s: three decades on 450 places.
        let decade = (PLOT.1 - PLOT.0) / 3.0;
        let width = |seconds: f64| (seconds.log10() + 1.0) * decade;
        let bars = [
            values(&svg, &["class=\"cuda\"", "height=\"13\""], "width"),
            values(&svg, &["class=\"cpu\"", "height=\"13\""], "width"),
            values(&svg, &["class=\"bad\""], "width"),
        ]
        .concat();
        assert_eq!(bars.len(), 3, "{svg}");
        for (bar, seconds) in bars.iter().zip([0.35, 2.0, 20.0]) {
            assert!((bar - width(seconds)).abs() < 0.1, "{seconds}: {bar}");
        }
        let tops = values(&svg, &["height=\"13\""], "y");
        assert!(tops.windows(2).all(|pair| pair[0] < pair[1]), "the fastest first: {tops:?}");
    }

    #[test]
    fn it_is_xml_and_stays_within_its_bounds() {
        let svg = svg(&example());
        let mut open = Vec::new();
        for piece in svg.split('<').skip(1) {
            let (tag, text) = piece.split_once('>').unwrap();
            let name = tag.split(' ').next().unwrap();
            assert_eq!(tag.matches('"').count() % 2, 0, "{tag}");
            match name.strip_prefix('/') {
                Some(name) => assert_eq!(open.pop(), Some(name), "{svg}"),
                None if tag.ends_with('/') => {}
                None => open.push(name),
            }
            for entity in text.split('&').skip(1) {
                assert!(["amp;", "lt;", "gt;", "quot;"].iter().any(|known| entity.starts_with(known)), "{text}");
            }
        }
        assert!(open.is_empty() && !svg.contains("NaN") && !svg.contains("inf"));
        for attribute in ["x", "x1", "x2"] {
            let key = format!(" {attribute}=\"");
            assert!(values(&svg, &[&key], attribute).iter().all(|x| (0.0..=WIDTH).contains(x)));
        }
    }

    #[test]
    fn it_says_what_was_counted_on_what_and_what_went_wrong() {
        let svg = svg(&example());
        // Each text is on its own line.
        for words in [
            "2 x Loom; 4 threads of Abacus",
            "medians of 4 runs",
            "some &amp; more.txt: 1.00 k edges, 7 triangles",
            "\n350 ms\n",
            "\n700 ms\n",
            "\n5.71x\n",
            "\nbaseline\n",
            "\nWRONG COUNT\n",
            "\nodd &lt;&amp;&gt;\n",
            "\nstopped after 60 s\n",
            "\nauto (swift)\n",
            "\n100 ms\n",
            "\n10 s\n",
            "\n100 s\n",
        ] {
            assert!(svg.contains(words), "{words}: {svg}");
        }
    }

    #[test]
    fn nothing_to_draw_is_a_picture_too() {
        let mut report = example();
        report.graphs[0].methods.clear();
        assert!(svg(&report).ends_with("</svg>\n"));
        report.graphs.clear();
        assert!(svg(&report).ends_with("</svg>\n"));
    }
}
