//! A share over time, drawn with characters.

use std::fmt::Write as _;

/// How much room there is, and what may be drawn with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::cli) struct Canvas {
    /// Columns.
    pub(in crate::cli) width: usize,
    /// Whether blocks of Unicode are shown as such.
    pub(in crate::cli) blocks: bool,
}

/// Narrower or wider than this, it is no good.
const WIDTHS: std::ops::RangeInclusive<usize> = 40..=120;
const USUAL_WIDTH: usize = 80;
/// Lines of the drawing.
const ROWS: usize = 8;
/// What stands to the left: `100% |`.
const LABEL: usize = 6;
/// Eighths of a cell.
const BLOCKS: [char; 9] = [' ', '▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];
/// The same in ASCII: no more than half.
const PLAIN: [char; 9] = [' ', ' ', ' ', ' ', '.', '.', '.', '.', '#'];

impl Canvas {
    /// What the environment says: `COLUMNS`, and a locale with UTF-8.
    pub(in crate::cli) fn of_environment() -> Canvas {
        let set = |name| std::env::var(name).ok().filter(|value: &String| !value.is_empty());
        let width = set("COLUMNS").and_then(|columns| columns.parse().ok()).unwrap_or(USUAL_WIDTH);
        let locale = ["LC_ALL", "LC_CTYPE", "LANG"].into_iter().find_map(set).unwrap_or_default().to_ascii_lowercase();
        Canvas { width, blocks: locale.contains("utf-8") || locale.contains("utf8") }
    }
}

/// Draws a share (0 to 1) over seconds, up to `end`. A mark is a word and where it stands: `("90%", 55.0)`; those that have no
/// place are left out.
pub(in crate::cli) fn curve(
    share: impl Fn(f64) -> f64,
    end: f64,
    marks: &[(&str, Option<f64>)],
    canvas: Canvas,
) -> String {
    let end = if end.is_finite() && end > 0.0 { end } else { 1.0 };
    let width = canvas.width.clamp(*WIDTHS.start(), *WIDTHS.end());
    let columns = width - LABEL;
    let eighths: Vec<usize> = (0..columns)
        .map(|column| {
            let share = share(end * (column as f64 + 0.5) / columns as f64);
            (share.clamp(0.0, 1.0) * (ROWS * 8) as f64).round() as usize
        })
        .collect();
    let (cells, wall, floor, corner) =
        if canvas.blocks { (BLOCKS, '┤', '─', '┼') } else { (PLAIN, '|', '-', '+') };
    let mut text = String::new();
    for row in (0..ROWS).rev() {
        let label = if (row + 1) % 2 == 0 { format!("{}%", (row + 1) * 100 / ROWS) } else { String::new() };
        let line: String = eighths.iter().map(|filled| cells[filled.saturating_sub(row * 8).min(8)]).collect();
        let _ = writeln!(text, "{}", format!("{label:>4} {wall}{line}").trim_end());
    }
    let _ = writeln!(text, "{:>4} {corner}{}", "0%", floor.to_string().repeat(columns));
    let column = |seconds: f64| LABEL + ((seconds / end * columns as f64) as usize).min(columns - 1);
    let placed = marks.iter().filter_map(|(word, at)| at.filter(|at| *at <= end).map(|at| (column(at), *word)));
    text += &spread(placed.collect(), width);
    let times = (0..3).map(|third| end * f64::from(third) / 3.0).map(|at| (column(at), seconds(at)));
    text += &spread(times.chain([(LABEL + columns - 1, seconds(end))]).collect(), width);
    text
}

/// Words in a line, each at its column, or behind the one before it where that is in the way. What would not fit in the
/// line is moved to the left as far as there is room, or left out.
fn spread<T: AsRef<str>>(words: Vec<(usize, T)>, width: usize) -> String {
    let mut line = String::new();
    for (column, word) in &words {
        let (used, len) = (line.chars().count(), word.as_ref().chars().count());
        let least = if line.is_empty() { 0 } else { used + 1 };
        let start = (*column).max(least).min(width.saturating_sub(len));
        if start >= least {
            let _ = write!(line, "{:1$}{2}", "", start - used, word.as_ref());
        }
    }
    if line.is_empty() { line } else { line + "\n" }
}

/// A span as people say it: `41 s`, `3 min 20 s`, `2 h 5 min`.
pub(in crate::cli) fn seconds(span: f64) -> String {
    let whole = span.round().max(0.0) as u64;
    let two = |great: u64, unit: &str, small: u64, of: &str| {
        if small == 0 { format!("{great} {unit}") } else { format!("{great} {unit} {small} {of}") }
    };
    match whole {
        0..120 => format!("{whole} s"),
        120..7200 => two(whole / 60, "min", whole % 60, "s"),
        7200..172_800 => two(whole / 3600, "h", whole / 60 % 60, "min"),
        _ => two(whole / 86_400, "d", whole / 3600 % 24, "h"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn drawn(width: usize, blocks: bool) -> String {
        let marks = [("50%", Some(50.0)), ("90%", Some(90.0)), ("99%", Some(99.0)), ("never", None)];
        curve(|seconds| seconds / 100.0, 120.0, &marks, Canvas { width, blocks })
    }

    #[test]
    fn blocks_show_eighths() {
        assert_eq!(
            drawn(40, true),
            "\
100% ┤                         ▂▄▆██████
     ┤                     ▁▃▅▇█████████
 75% ┤                  ▂▄▆█████████████
     ┤              ▁▃▅█████████████████
 50% ┤           ▂▄▆████████████████████
     ┤       ▁▃▅████████████████████████
 25% ┤    ▂▄▇███████████████████████████
     ┤▁▃▆███████████████████████████████
  0% ┼──────────────────────────────────
                    50%        90% 99%
      0 s        40 s       80 s   2 min
"
        );
    }

    #[test]
    fn plain_characters_do_where_there_are_no_others() {
        let plain = drawn(60, false);
        assert!(plain.is_ascii() && plain.lines().all(|line| line.len() <= 60), "{plain}");
        assert!(plain.lines().next().unwrap().starts_with("100% |"), "{plain}");
        assert!(plain.contains("50%") && plain.contains("99%") && plain.ends_with("2 min\n"), "{plain}");
    }

    #[test]
    fn odd_curves_are_drawn_nevertheless() {
        for width in [0, 1, 39, 79, 10_000] {
            for end in [0.0, f64::NAN, f64::INFINITY, -1.0, 1e300] {
                let text = curve(
                    |_| f64::NAN,
                    end,
                    &[("x", Some(f64::NAN)), ("y", Some(-4.0))],
                    Canvas { width, blocks: true },
                );
                assert!(text.lines().all(|line| line.chars().count() <= 120), "{text}");
            }
        }
    }

    #[test]
    fn spans_are_said_in_two_units() {
        for (span, text) in
            [(0.4, "0 s"), (119.0, "119 s"), (120.0, "2 min"), (200.0, "3 min 20 s"), (7500.0, "2 h 5 min")]
        {
            assert_eq!(seconds(span), text);
        }
        assert_eq!((seconds(176_400.0), seconds(f64::NAN)), ("2 d 1 h".into(), "0 s".into()));
    }
}
