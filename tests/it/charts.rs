//! The figures: snapshots, and laws that hold for any scenario at any width.

use std::fmt::{self, Write};

use expect_test::expect_file;
use kvscope::core::link;
use kvscope::core::presets;
use kvscope::core::report::{Report, report};
use kvscope::core::scenario::{EngineKind, ModelSource, ParallelSize, Scenario};
use kvscope::core::units::Tokens;
use kvscope::view::chart::{self, ChartModel, Input, Size};
use kvscope::view::charts::{self, growth, hbm, layers, sweep, tokens};
use kvscope::view::svg::{self, Theme};
use kvscope::view::table::Cell;
use kvscope::view::text::ENGLISH;
use proptest::prelude::*;

/// A scenario with everything that figures are made of.
struct Case {
    scenario: Scenario,
    report: Report,
    now: Report,
    step: u64,
    pinned: Vec<(String, Scenario)>,
}

impl fmt::Debug for Case {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "step {} of {}",
            self.step,
            link::to_fragment(&self.scenario)
        )
    }
}

impl Case {
    fn of(scenario: Scenario, step: Option<u64>) -> Self {
        let mut report_at_end = report(&scenario);
        // The estimate of time is another test's business.
        for point in &mut report_at_end.life {
            point.seconds = 0.25 + point.step as f64 * 0.018;
        }
        let step = step.unwrap_or(u64::MAX).min(scenario.decode_steps());
        let mut at_step = scenario.at_step(step);
        at_step.tensor_parallel_size =
            ParallelSize::Fixed(report_at_end.hardware.tensor_parallel_size);
        let now = report(&at_step);
        Self {
            scenario,
            report: report_at_end,
            now,
            step,
            pinned: Vec::new(),
        }
    }

    fn new(pairs: &[(&str, &str)], step: Option<u64>) -> Self {
        Self::of(scenario(pairs), step)
    }

    fn input(&self) -> Input<'_> {
        Input {
            scenario: &self.scenario,
            report: &self.report,
            now: &self.now,
            step: self.step,
            pinned: &self.pinned,
            messages: &ENGLISH,
        }
    }
}

fn scenario(pairs: &[(&str, &str)]) -> Scenario {
    let mut res = Scenario::default();
    for (key, text) in pairs {
        res.set(key, text)
            .unwrap_or_else(|error| panic!("{error:?}"));
    }
    res
}

fn svg_of(model: &ChartModel, width: u32) -> String {
    chart::svg(model, chart::size(model, width), "k")
}

/// Everything a figure says and shows, one element a line.
pub(crate) fn snapshot(model: &ChartModel, width: u32) -> String {
    let mut res = String::new();
    let _ = writeln!(res, "<!-- {} | {}", model.title, model.subtitle);
    let _ = writeln!(res, "{} -->", model.summary);
    res + &svg_of(model, width).replace("><", ">\n<") + "\n"
}

#[track_caller]
fn check(name: &str, case: &Case, widths: &[u32]) {
    for chart in charts::ALL {
        let model = (chart.model)(&case.input());
        assert_eq!(model.id, chart.id, "a figure has one id");
        for width in widths {
            let path = format!(
                "{}/tests/it/snapshots/{name}-{}-{width}.svg",
                env!("CARGO_MANIFEST_DIR"),
                chart.id
            );
            expect_file![path].assert_eq(&snapshot(&model, *width));
        }
    }
}

#[test]
fn default_scenario() {
    check("default", &Case::new(&[], None), &[340, 900]);
}

#[test]
fn scrubbed() {
    check("scrubbed", &Case::new(&[], Some(2117)), &[430]);
}

#[test]
fn weights_do_not_fit() {
    check(
        "overflow",
        &Case::new(&[("tensor_parallel_size", "1")], None),
        &[430],
    );
}

#[test]
fn cache_does_not_fit() {
    let pairs = [("tensor_parallel_size", "4"), ("num_seqs", "200")];
    check("full", &Case::new(&pairs, None), &[430]);
}

#[test]
fn states_of_constant_size() {
    check(
        "state",
        &Case::new(&[("model", "nemotron-nano-9b-v2")], None),
        &[430],
    );
}

#[test]
fn sliding_windows() {
    check(
        "sliding",
        &Case::new(
            &[("model", "gemma-3-27b"), ("thinking_tokens", "2000")],
            None,
        ),
        &[430],
    );
}

#[test]
fn long_numbers() {
    let most = "1048576";
    let pairs = [
        ("prompt_tokens", most),
        ("thinking_tokens", most),
        ("answer_tokens", most),
        ("num_samples", "1000"),
        ("num_seqs", "100000"),
        ("tensor_parallel_size", "8"),
    ];
    check("long", &Case::new(&pairs, None), &[340]);
}

#[test]
fn pinned_comparisons() {
    let mut case = Case::new(&[], None);
    case.pinned = vec![
        (
            "Llama 3.1 70B · fp8".to_owned(),
            scenario(&[("kv_cache_dtype", "fp8")]),
        ),
        (
            "QwQ 32B".to_owned(),
            scenario(&[("model", "qwq-32b"), ("tensor_parallel_size", "4")]),
        ),
    ];
    let model = sweep::model(&case.input());
    for width in [340, 900] {
        let path = format!(
            "{}/tests/it/snapshots/pinned-sweep-{width}.svg",
            env!("CARGO_MANIFEST_DIR")
        );
        expect_file![path].assert_eq(&snapshot(&model, width));
    }
    // A column of bytes and one of requests for each line, after the thinking tokens.
    assert_eq!(model.table.head.len(), 1 + 2 * 3);
    assert!(
        model.table.rows.iter().all(|row| row.len() == 7),
        "every row has every column"
    );
}

#[test]
fn pictures_are_small() {
    let mut case = Case::new(&[("num_seqs", "64")], Some(1000));
    case.pinned = vec![
        ("a".to_owned(), scenario(&[])),
        ("b".to_owned(), scenario(&[("model", "gemma-3-27b")])),
    ];
    for chart in charts::ALL {
        let svg = svg_of(&(chart.model)(&case.input()), 900);
        let n_nodes = svg.matches('<').count() - svg.matches("</").count();
        assert!(
            svg.len() < 6_000 && n_nodes < 60,
            "{}: {} bytes, {n_nodes} nodes",
            chart.id,
            svg.len()
        );
    }
}

#[test]
fn summaries() {
    let check = |model: ChartModel, expected: &str| assert_eq!(model.summary, expected);
    let case = Case::new(&[], None);
    check(
        tokens::model(&case.input()),
        "4,812 tokens in the cache: 512 of the prompt (10.64 %), 4,000 of thinking (83.13 %) and 300 of the answer (6.23 %).",
    );
    check(
        growth::model(&case.input()),
        "The KV cache of one request holds 160 MiB after prefill and 1.47 GiB after 4,300 decode steps; the mean over the steps is 832 MiB, 55.3 % of the peak. At step 4,300 it holds 1.47 GiB.",
    );
    check(
        sweep::model(&case.input()),
        "With 4,000 thinking tokens 89 such requests fit at once, with 32,000 it is 13. The longest thinking is 130,260 tokens, where the model's trained context ends.",
    );
    check(
        tokens::model(&Case::new(&[], Some(1)).input()),
        "After 1 of 4,300 decode steps 513 of 4,812 tokens are in the cache: 512 of the prompt, 1 of thinking and 0 of the answer.",
    );
    let none = [
        ("prompt_tokens", "0"),
        ("thinking_tokens", "0"),
        ("answer_tokens", "0"),
    ];
    check(
        tokens::model(&Case::new(&none, None).input()),
        "The cache is empty: the request has no tokens.",
    );
    check(
        growth::model(&Case::new(&none, None).input()),
        "The KV cache of one request holds 0 B after prefill; nothing is decoded.",
    );
}

#[test]
fn tables() {
    let case = Case::new(&[], None);
    assert_eq!(
        tokens::model(&case.input()).table.csv(),
        "phase,tokens,starts at,ends at,share\r\n\
         prompt,512,0,512,10.64 %\r\n\
         thinking,4000,512,4512,83.13 %\r\n\
         answer,300,4512,4812,6.23 %\r\n\
         total,4812,0,4812,100.00 %\r\n"
    );
    assert_eq!(
        growth::model(&case.input()).table.csv(),
        "decode step,tokens,bytes,state,prompt,thinking,answer,\"seconds, estimated\"\r\n\
         0,512,167772160,0,167772160,0,0,0.25\r\n\
         4000,4512,1478492160,0,167772160,1310720000,0,72.25\r\n\
         4300,4812,1576796160,0,167772160,1310720000,98304000,77.65\r\n"
    );
    let html = tokens::model(&case.input()).table.html("Tokens");
    assert!(
        html.starts_with("<table><caption>Tokens</caption><thead><tr><th scope=\"col\">phase</th>"),
        "{html}"
    );
    assert!(
        html.contains("<tr><th scope=\"row\">thinking</th><td>4,000</td>"),
        "{html}"
    );
}

#[test]
fn reserved_beside_held() {
    let vllm: &[(&str, &str)] = &[("model", "gemma-3-27b"), ("engine", "vllm")];
    check("reserved", &Case::new(vllm, None), &[430]);
    let summary = |pairs: &[(&str, &str)]| growth::model(&Case::new(pairs, None).input()).summary;
    assert!(
        summary(vllm).ends_with("more than it holds at its peak."),
        "{}",
        summary(vllm)
    );
    // 131,072 cells of 320 KiB, whatever is in them.
    let llama = summary(&[
        ("engine", "llama.cpp"),
        ("n_ctx", "131072"),
        ("n_seq_max", "1"),
    ]);
    assert!(
        llama.ends_with(
            "The engine reserves 40 GiB for it, 38.5 GiB more than it holds at its peak."
        ),
        "{llama}"
    );
    assert!(
        !summary(&[]).contains("reserves"),
        "exact bytes have no padding"
    );
}

#[test]
fn layers_by_what_they_do() {
    for (model, is_mixed, summary, layer, words) in [
        (
            "llama-3.1-70b",
            false,
            "Of 80 layers, at 4,812 tokens: 80 grow with every token and hold 1.469 GiB (100.0 %).",
            79,
            "Layer 79: full attention with 4,812 tokens, 18.80 MiB.",
        ),
        // 18 × 4,812 × 2 × 8 × 64 × 2 B, and 18 × 128 of them.
        (
            "gpt-oss-120b",
            true,
            "Of 36 layers, at 4,812 tokens: 18 grow with every token and hold 169.2 MiB (97.4 %), 18 are capped by their window and hold 4.500 MiB (2.6 %).",
            0,
            "Layer 0: sliding window with 128 tokens, 256 KiB.",
        ),
        // 48 × (48 × 128 × 128 × 4 B + 10,240 × 3 × 2 B) of states.
        (
            "qwen3.5-27b",
            true,
            "Of 64 layers, at 4,812 tokens: 16 grow with every token and hold 300.8 MiB (67.2 %), 48 keep a state of constant size, 146.8 MiB (32.8 %).",
            0,
            "Layer 0: gated delta net state, 3.059 MiB at any length.",
        ),
        (
            "gemma-4-e4b",
            true,
            "Of 42 layers, at 4,812 tokens: 4 grow with every token and hold 75.19 MiB (79.0 %), 20 are capped by their window and hold 20 MiB (21.0 %), 18 use another layer's cache.",
            41,
            "Layer 41: no cache of its own, it uses another layer's.",
        ),
        (
            "nemotron-nano-9b-v2",
            true,
            "Of 56 layers, at 4,812 tokens: 4 grow with every token and hold 75.19 MiB (35.5 %), 27 keep a state of constant size, 136.9 MiB (64.5 %), 25 keep nothing.",
            1,
            "Layer 1: no cache.",
        ),
    ] {
        let case = Case::new(&[("model", model)], None);
        let input = case.input();
        assert_eq!(layers::is_mixed(&input), is_mixed, "{model}");
        assert_eq!(layers::model(&input).summary, summary, "{model}");
        assert_eq!(layers::describe(&input, layer), words, "{model}");
    }
    // The cells of every preset sum to the request.
    for preset in presets::all() {
        let case = Case::new(&[("model", preset.id())], Some(700));
        let model = layers::model(&case.input());
        let bytes = model.table.rows.iter().map(|row| match row.last() {
            Some(Cell::Count(bytes, _)) => *bytes,
            _ => 0,
        });
        let all = case.now.kv_cache.per_seq_bytes.0;
        assert_eq!(bytes.sum::<u64>(), all, "{}", preset.id());
    }
}

#[test]
fn strangers_text_is_shown_and_not_run() {
    let evil = "<img src=x onerror=\"alert(1)\">'&\u{1}";
    let mut scenario = Scenario::default();
    let mut config = (*scenario.model.config).clone();
    config.name = evil.to_owned();
    scenario.model.config = config.into();
    scenario.model.source = ModelSource::File {
        name: evil.to_owned(),
        json: "{}".into(),
    };
    let mut case = Case::of(scenario, None);
    case.pinned = vec![
        (format!("={evil}"), Scenario::default()),
        ("a, \"b\"".to_owned(), Scenario::default()),
    ];
    for chart in charts::ALL {
        let model = (chart.model)(&case.input());
        let size = chart::size(&model, 900);
        let pictures = [
            chart::svg(&model, size, "\"><script>"),
            chart::svg_file(&model, 900, Theme::Light).0,
            model.table.html(evil),
        ];
        for picture in pictures {
            assert!(
                !picture.contains("<img") && !picture.contains("<script"),
                "{}: {picture}",
                chart.id
            );
            assert!(!picture.contains('\u{1}'), "no control characters in XML");
        }
    }
    let svg = svg_of(&sweep::model(&case.input()), 900);
    assert!(svg.contains("&lt;img src="), "the name is shown: {svg}");
    let csv = sweep::model(&case.input()).table.csv();
    assert!(
        csv.contains("\"'=<img"),
        "a spreadsheet does not run it: {csv}"
    );
    assert!(csv.contains("\"a, \"\"b\"\": requests at once\""), "{csv}");
}

#[test]
fn files_stand_alone() {
    let case = Case::new(&[("tensor_parallel_size", "1")], None);
    for chart in charts::ALL {
        let model = (chart.model)(&case.input());
        for theme in [Theme::Light, Theme::Dark] {
            let (file, size) = chart::svg_file(&model, 600, theme);
            assert_eq!(size.width, 600);
            let head = format!(
                "<svg viewBox=\"-16 -64 600 {0}\" width=\"600\" height=\"{0}\"",
                size.height
            );
            assert!(file.starts_with(&head), "room around the picture: {file}");
            assert!(
                file.contains(&format!(">{}</text>", model.title)),
                "the title can be read: {file}"
            );
            assert!(
                file.starts_with("<svg ") && file.contains("xmlns=\"http://www.w3.org/2000/svg\""),
                "{file}"
            );
            assert!(
                file.contains(&format!("<title>{}</title><desc>", model.title)),
                "{file}"
            );
            assert!(
                !file.contains("class=") && !file.contains("var("),
                "no style sheet is needed: {file}"
            );
        }
    }
}

#[test]
fn pages_name_their_pictures() {
    let case = Case::new(&[], None);
    for chart in charts::ALL {
        let model = (chart.model)(&case.input());
        let svg = svg_of(&model, 600);
        let (title, summary) = (
            chart::title_id("k", chart.id),
            chart::summary_id("k", chart.id),
        );
        assert!(
            svg.contains("role=\"img\"")
                && svg.contains(&format!("aria-labelledby=\"{title} {summary}\"")),
            "{svg}"
        );
        assert!(
            !svg.contains("style="),
            "the page's policy allows no style attributes: {svg}"
        );
    }
    // Two figures on one page share no pattern.
    let model = hbm::model(&case.input());
    let (a, b) = (
        chart::svg(&model, chart::size(&model, 600), "a"),
        chart::svg(&model, chart::size(&model, 600), "b"),
    );
    assert!(
        a.contains("id=\"a-hbm-c-grid\"") && a.contains("url(#a-hbm-c-grid)"),
        "{a}"
    );
    assert!(!b.contains("a-hbm"), "{b}");
}

#[test]
fn the_style_sheet_has_every_class_and_its_colors() {
    let css = include_str!("../../www/style.css");
    let (light, dark) = css.split_once("[data-theme=\"dark\"]").expect("two themes");
    for (class, light_color, dark_color) in svg::palette() {
        assert!(
            css.contains(&format!(".{class} {{ --c: ")),
            "{class} has no rule"
        );
        let name = class.trim_start_matches("c-");
        if light.contains(&format!("--{name}: #")) {
            assert!(
                light.contains(&format!("--{name}: {light_color};")),
                "{class} on light paper is not {light_color}"
            );
            let is_same = light_color == dark_color;
            let has_dark = dark.contains(&format!("--{name}: {dark_color};"));
            assert!(
                is_same || has_dark,
                "{class} on dark paper is not {dark_color}"
            );
        }
    }

    let own = svg::palette()
        .filter(|(class, ..)| light.contains(&format!("--{}: #", class.trim_start_matches("c-"))));
    assert_eq!(own.count(), 15, "colors of figures, ink, dim and paper");
}

#[test]
fn a_pointer_finds_its_step() {
    let case = Case::new(&[], Some(2117));
    for width in [280, 340, 900] {
        let model = growth::model(&case.input());
        let size = chart::size(&model, width);
        let scale = model.draw.scale(size).expect("growth can be dragged");
        assert_eq!(scale.value_at(-1e9), 0);
        assert_eq!(scale.value_at(1e9), 4300);
        assert_eq!(scale.value_at(f64::NAN), 0);
        for step in [0, 1, 2117, 4299, 4300] {
            assert_eq!(scale.value_at(scale.pixels_at(step)), step, "at {width} px");
        }
        // The scrubber's line is where the scale says.
        let x = format!("M{:.1} 18V", scale.pixels_at(2117))
            .replace(".0 ", " ")
            .replace('V', "v");
        assert!(
            svg_of(&model, width).contains(&x),
            "{x} in {}",
            svg_of(&model, width)
        );
    }
    assert_eq!(
        tokens::model(&case.input()).draw.scale(Size {
            width: 300,
            height: 100
        }),
        None
    );
    let flat = Case::new(&[("thinking_tokens", "0"), ("answer_tokens", "0")], None);
    assert_eq!(
        growth::model(&flat.input()).draw.scale(Size {
            width: 300,
            height: 250
        }),
        None
    );
}

/// A text of a picture and the box it is estimated to fill.
#[derive(Debug)]
struct TextBox {
    text: String,
    left: f64,
    right: f64,
    bottom: f64,
}

fn attribute<'a>(tag: &'a str, name: &str) -> Option<&'a str> {
    tag.split_once(&format!("{name}=\""))?
        .1
        .split_once('"')
        .map(|(value, _)| value)
}

fn text_boxes(svg: &str) -> Vec<TextBox> {
    let font_size: f64 = attribute(svg, "font-size")
        .expect("a font size")
        .parse()
        .expect("a number");
    svg.split("<text ")
        .skip(1)
        .map(|rest| {
            let (tag, rest) = rest.split_once('>').expect("a tag");
            let (text, _) = rest.split_once("</text>").expect("an end");
            let number = |name| {
                attribute(tag, name)
                    .expect(name)
                    .parse::<f64>()
                    .expect("a number")
            };
            let text = text
                .replace("&lt;", "<")
                .replace("&gt;", ">")
                .replace("&amp;", "&");
            let width = svg::text_width(&text, font_size, tag.contains("font-weight"));
            let left = match attribute(tag, "text-anchor") {
                Some("middle") => number("x") - width / 2.0,
                Some("end") => number("x") - width,
                _ => number("x"),
            };
            TextBox {
                text,
                left,
                right: left + width,
                bottom: number("y"),
            }
        })
        .collect()
}

/// Every point of every path, with arcs taken as their ends.
fn points(svg: &str) -> Vec<(f64, f64)> {
    let body = svg.split("</pattern>").last().unwrap_or(svg);
    let mut res = Vec::new();
    for rest in body.split(" d=\"").skip(1) {
        let path = rest.split('"').next().unwrap_or_default();
        let mut at = (0.0, 0.0);
        for command in path
            .split_inclusive(|c: char| c.is_ascii_alphabetic())
            .collect::<Vec<_>>()
            .windows(2)
        {
            let (letter, numbers) = (command[0].chars().last().unwrap_or(' '), command[1]);
            let numbers = numbers
                .trim_end_matches(|c: char| c.is_ascii_alphabetic())
                .replace('-', " -");
            let numbers: Vec<f64> = numbers
                .split_whitespace()
                .map(|number| {
                    number
                        .parse()
                        .unwrap_or_else(|_| panic!("{number} in {path}"))
                })
                .collect();
            at = match (letter, numbers.as_slice()) {
                ('M', [x, y]) => (*x, *y),
                ('l', [dx, dy]) | ('a', [.., dx, dy]) => (at.0 + dx, at.1 + dy),
                ('h', [dx]) => (at.0 + dx, at.1),
                ('v', [dy]) => (at.0, at.1 + dy),
                ('z', []) => at,
                other => panic!("{other:?} in {path}"),
            };
            res.push(at);
        }
    }
    res
}

fn check_layout(case: &Case, width: u32) {
    for chart in charts::ALL {
        check_model_layout(&(chart.model)(&case.input()), width);
    }
}

/// Whatever the scenario: every mark lies in the picture, every text too, and no two texts meet.
pub(crate) fn check_model_layout(model: &ChartModel, width: u32) {
    let size = chart::size(model, width);
    let svg = chart::svg(model, size, "k");
    let (right, bottom) = (f64::from(size.width), f64::from(size.height));
    assert!(!svg.contains("NaN") && !svg.contains("inf"), "{svg}");
    for (x, y) in points(&svg) {
        assert!(
            (-0.5..=right + 0.5).contains(&x) && (-0.5..=bottom + 0.5).contains(&y),
            "{} at {width} px: a mark at {x}, {y} of {right}, {bottom}\n{svg}",
            model.id
        );
    }
    let boxes = text_boxes(&svg);
    for (idx, a) in boxes.iter().enumerate() {
        assert!(
            -1.0 <= a.left && a.right <= right + 1.0 && 8.0 <= a.bottom && a.bottom <= bottom,
            "{} at {width} px: \"{}\" leaves the picture: {a:?}\n{svg}",
            model.id,
            a.text
        );
        for b in boxes.iter().skip(idx + 1) {
            let is_apart =
                a.right <= b.left || b.right <= a.left || 9.5 <= (a.bottom - b.bottom).abs();
            assert!(
                is_apart,
                "{} at {width} px: {a:?} meets {b:?}\n{svg}",
                model.id
            );
        }
    }
}

#[test]
fn nothing_meets_in_usual_scenarios() {
    let cases = [
        Case::new(&[], None),
        Case::new(&[], Some(0)),
        Case::new(&[], Some(2117)),
        Case::new(&[("tensor_parallel_size", "1")], None),
        Case::new(
            &[("num_seqs", "200"), ("tensor_parallel_size", "4")],
            Some(4100),
        ),
        Case::new(&[("thinking_tokens", "131072")], Some(40)),
        Case::new(
            &[("prompt_tokens", "100000"), ("thinking_tokens", "0")],
            None,
        ),
    ];
    for case in &cases {
        for width in (280..1400).step_by(7) {
            check_layout(case, width);
        }
    }
}

/// A number of ten digits "or more" had no room on either side of its dot, and met a tick.
#[test]
fn long_counts_meet_no_tick() {
    for thinking in ["0", "20000", "40000", "65000", "90000", "131072"] {
        let case = Case::new(
            &[
                ("model", "llama-3.1-8b"),
                ("gpu", "b300"),
                ("prompt_tokens", "4"),
                ("thinking_tokens", thinking),
                ("answer_tokens", "4"),
                ("data_parallel_size", "997"),
                ("engine", "sglang"),
                ("available_kv_cache_bytes", "1125899906842624"),
            ],
            None,
        );
        for width in 280..420 {
            check_layout(&case, width);
        }
    }
}

fn tokens_of_any_size() -> impl Strategy<Value = u64> {
    prop_oneof![0..20_u64, 0..10_000_u64, 0..=1_048_576_u64]
}

prop_compose! {
    fn any_case()(
        preset in 0..presets::all().len(),
        gpu in 0..kvscope::core::gpus::all().len(),
        (prompt, thinking, answer) in (tokens_of_any_size(), tokens_of_any_size(), tokens_of_any_size()),
        num_samples in prop_oneof![Just(1), 1..1000_u64],
        num_seqs in prop_oneof![Just(1), 1..100_u64, 1..100_000_u64],
        tp in prop_oneof![Just("auto"), Just("1"), Just("3"), Just("8"), Just("1000")],
        (pp, dp) in prop_oneof![Just((1, 1)), (1..100_u64, 1..1000_u64)],
        format in prop_oneof![Just("bf16"), Just("fp8"), Just("q8_0/q4_0"), Just("nvfp4")],
        utilization in prop_oneof![Just("0.9"), Just("0.01"), Just("1")],
        engine in 0..EngineKind::ALL.len(),
        pool in prop_oneof![3 => Just("auto".to_owned()), 1 => (0..1_u64 << 45).prop_map(|bytes| bytes.to_string())],
        step in tokens_of_any_size(),
    ) -> Case {
        let mut scenario = Scenario::default();
        let pairs = [
            ("model", presets::all()[preset].id().to_owned()),
            ("gpu", kvscope::core::gpus::all()[gpu].id.to_owned()),
            ("prompt_tokens", prompt.to_string()),
            ("thinking_tokens", thinking.to_string()),
            ("answer_tokens", answer.to_string()),
            ("num_samples", num_samples.to_string()),
            ("num_seqs", num_seqs.to_string()),
            ("tensor_parallel_size", tp.to_owned()),
            ("pipeline_parallel_size", pp.to_string()),
            ("data_parallel_size", dp.to_string()),
            ("kv_cache_dtype", format.to_owned()),
            ("gpu_memory_utilization", utilization.to_owned()),
            ("engine", EngineKind::ALL[engine].id().to_owned()),
            ("available_kv_cache_bytes", pool),
        ];
        for (key, text) in pairs {
            scenario.set(key, &text).unwrap_or_else(|error| panic!("{error:?}"));
        }
        Case::of(scenario, Some(step))
    }
}

fn count(cell: Option<&Cell>) -> u128 {
    match cell {
        Some(Cell::Count(n, _)) => u128::from(*n),
        other => panic!("{other:?} is no count"),
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_scenario_is_drawn(case in any_case(), width in 280..1400_u32) {
        check_layout(&case, width);
    }

    #[test]
    fn sentences_and_tables_are_true(case in any_case()) {
        let input = case.input();
        let numbers = ENGLISH.numbers();

        let model = tokens::model(&input);
        let column = |idx: usize| model.table.rows.iter().map(move |row| count(row.get(idx))).collect::<Vec<_>>();
        let held = column(1);
        prop_assert_eq!(held[0] + held[1] + held[2], held[3]);
        if 0 < case.report.tokens.total.0 {
            prop_assert!(model.summary.contains(&numbers.integer(case.now.tokens.total.0)), "{}", model.summary);
        }

        let model = hbm::model(&input);
        let bytes: Vec<u128> = model.table.rows.iter().map(|row| count(row.get(1))).collect();
        let [parts @ .., missing, capacity] = bytes.as_slice() else { panic!("too few rows") };
        let says_missing = model.summary.contains("is missing");
        prop_assert_eq!(says_missing, 0 < *missing);
        prop_assert_eq!(says_missing, !case.now.fit.fits);
        let largest = parts.iter().all(|part| *part < 1 << 50);
        let is_pool_given = case.scenario.engine.available_kv_cache_bytes.is_some();
        if largest && *missing == 0 && !is_pool_given {
            prop_assert_eq!(parts.iter().sum::<u128>(), *capacity, "the parts are the whole");
        }

        let model = growth::model(&input);
        let life: Vec<u128> = model.table.rows.iter().map(|row| count(row.get(2))).collect();
        prop_assert!(life.is_sorted(), "a request's cache never shrinks: {life:?}");
        let peak = numbers.bytes_short(case.report.kv_cache.per_seq_bytes);
        prop_assert!(model.summary.contains(&peak), "{} in {}", peak, model.summary);

        let model = sweep::model(&input);
        for row in model.table.rows.windows(2) {
            prop_assert!(count(row[0].get(1)) <= count(row[1].get(1)), "more thinking, more cache: {row:?}");
            prop_assert!(count(row[1].get(2)) <= count(row[0].get(2)), "more thinking, fewer at once: {row:?}");
        }
        // The short cuts of the figure find what the report finds.
        for row in model.table.rows.iter().step_by(4) {
            let thinking = u64::try_from(count(row.first())).expect("tokens");
            let mut scenario = case.scenario.clone();
            scenario.tensor_parallel_size = ParallelSize::Fixed(case.report.hardware.tensor_parallel_size);
            scenario.thinking_tokens = Tokens(thinking);
            let expected = report(&scenario);
            prop_assert_eq!(count(row.get(1)), u128::from(expected.hbm.kv_held_bytes.0));
            prop_assert_eq!(count(row.get(2)), u128::from(expected.fit.max_concurrency));
        }
        if let Some(longest) = case.report.fit.max_thinking_tokens {
            prop_assert!(model.summary.contains(&numbers.integer(longest.0)), "{}", model.summary);
        }
    }
}

#[test]
fn summaries_say_what_is_free_and_how_many_do_not_fit() {
    let check = |pairs: &[(&str, &str)], chart: fn(&Input<'_>) -> ChartModel, needle: &str| {
        let summary = chart(&Case::new(pairs, Some(100)).input()).summary;
        assert!(summary.contains(needle), "{pairs:?}: {summary}");
    };
    let llama = [("model", "llama-3.1-8b"), ("engine", "llama.cpp")];
    // 4,864 cells of 128 KiB, at whatever step.
    check(&llama, hbm::model, "in 608 MiB of cells; ");
    check(&llama, hbm::model, " is free.");
    check(
        &[("num_seqs", "10000")],
        sweep::model,
        "Not even 10,000 requests without thinking fit.",
    );
}
