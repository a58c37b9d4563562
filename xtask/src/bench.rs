//! `cargo xtask bench`: what `report()` costs natively, and a slider drag in Chromium.

use anyhow::{Context, Result};

use crate::dist::{Mode, dist};
use crate::{run, setup};

/// `report()` may take this long for any preset, natively, in µs.
const REPORT_BUDGET: f64 = 20.0;

/// Runs both.
pub fn bench() -> Result<()> {
    println!("== report() of every preset, natively, in the page's own profile");
    let table =
        run::read(setup::cargo().args(["bench", "--package", "kvscope", "--bench", "report"]))?;
    println!("{table}");
    let medians = table.lines().filter_map(median);
    let slowest = medians
        .max_by(|a, b| a.1.total_cmp(&b.1))
        .context("divan printed no table")?;
    let verdict = if slowest.1 <= REPORT_BUDGET {
        "within"
    } else {
        "OVER"
    };
    println!(
        "slowest median: {:.1} µs ({}), {verdict} the budget of {REPORT_BUDGET} µs",
        slowest.1, slowest.0
    );
    println!("\n== a slider drag in the browser");
    dist(Mode::Release)?;
    run::run(setup::cargo().args(["run", "--package", "browser-tests", "--", "--bench"]))
}

/// The name and the median in µs of one line of divan's table.
fn median(line: &str) -> Option<(&str, f64)> {
    let mut columns = line.split('│');
    let name = columns
        .next()?
        .trim_start_matches([' ', '├', '╰', '─'])
        .split_whitespace()
        .next()?;
    let (number, unit) = columns.nth(1)?.trim().split_once(' ')?;
    let scale = match unit {
        "ns" => 0.001,
        "µs" => 1.0,
        "ms" => 1000.0,
        _ => return None,
    };
    Some((name, number.parse::<f64>().ok()? * scale))
}

#[cfg(test)]
mod tests {
    use super::median;

    #[test]
    fn medians() {
        // Lines of divan 0.1.21.
        let row = "   ├─ command-r7b    11.78 µs      │ 26.2 µs       │ 11.84 µs      │ 12 µs   │ 100     │ 100";
        assert_eq!(median(row), Some(("command-r7b", 11.84)));
        let head = "report               fastest       │ slowest       │ median        │ mean     │ samples │ iters";
        assert_eq!(median(head), None);
        assert_eq!(
            median("╰─ preset     │               │               │          │         │"),
            None
        );
    }
}
