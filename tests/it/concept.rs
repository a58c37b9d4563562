//! The short course: its sentences filled from the scenario, its pages, its buttons, its sources.

use kvscope::core::presets;
use kvscope::core::scenario::Scenario;
use kvscope::view::concept::{Block, Page, Section, sections, sources};
use kvscope::view::text::concept::{ConceptText, ConceptWords};
use kvscope::view::text::{ENGLISH, exports};

fn scenario(pairs: &[(&str, &str)]) -> Scenario {
    let mut res = Scenario::default();
    for (key, text) in pairs {
        res.set(key, text)
            .unwrap_or_else(|error| panic!("{key}={text}: {error:?}"));
    }
    res
}

fn course(pairs: &[(&str, &str)]) -> Vec<Section> {
    sections(&scenario(pairs), &ConceptWords::ENGLISH.text(), &ENGLISH)
}

/// Every text of a section.
fn texts(section: &Section) -> Vec<String> {
    let mut res = vec![section.title.clone()];
    for block in &section.blocks {
        match block {
            Block::Paragraph(text) => res.push(text.clone()),
            Block::List(points) => {
                for point in points {
                    res.push(point.text.clone());
                    res.extend(point.try_it.iter().map(|button| button.label.clone()));
                }
            }
            Block::Formula { label, line } => res.extend([label.clone(), line.clone()]),
            Block::Table {
                caption,
                head,
                rows,
            } => {
                res.extend((!caption.is_empty()).then(|| caption.clone()));
                res.extend(head.iter().cloned());
                res.extend(
                    rows.iter()
                        .flatten()
                        .filter(|cell| !cell.is_empty())
                        .cloned(),
                );
            }
            Block::Notebook(notebook) => {
                res.extend([notebook.caption.clone(), notebook.summary.clone()]);
                res.push(notebook.frame(notebook.steps, 4, ENGLISH.numbers()).caption);
            }
            Block::Myth { claim, truth } => res.extend([claim.clone(), truth.clone()]),
            Block::Hidden { question, answer } => res.extend([question.clone(), answer.clone()]),
            Block::Try(button) => res.push(button.label.clone()),
            Block::Sources(sources) => {
                res.extend(sources.iter().map(|source| source.title.to_owned()));
            }
        }
    }
    res
}

#[track_caller]
fn says(sections: &[Section], id: &str, sentence: &str) {
    let section = sections.iter().find(|section| section.id == id);
    let texts = texts(section.unwrap_or_else(|| panic!("no section {id}")));
    assert!(
        texts.iter().any(|text| text.contains(sentence)),
        "{id} does not say {sentence:?}:\n{}",
        texts.join("\n")
    );
}

#[test]
fn the_default_in_words() {
    let course = course(&[]);
    let ids: Vec<_> = course.iter().map(|section| section.id).collect();
    assert_eq!(
        ids,
        [
            "what",
            "phases",
            "notebook",
            "arithmetic",
            "hbm",
            "billing",
            "next-turn",
            "eviction",
            "limits",
            "red-flags",
            "myths",
            "minute",
            "interview",
            "sources"
        ]
    );
    for (id, sentence) in [
        ("what", "Here each further token leaves 320 KiB in it"),
        (
            "phases",
            "The cache therefore jumps to 160 MiB at once and then climbs, step by step, to 1.469 GiB. Over the steps it is 831.9 MiB on average",
        ),
        ("notebook", "Prefill fills 32 pages in one go."),
        (
            "notebook",
            "At the end 301 pages are in use, and 4 lines of the last are empty.",
        ),
        ("arithmetic", "Where 4,812 comes from"),
        ("arithmetic", "512 + 4,000 + 300 = 4,812"),
        ("arithmetic", "2 × 80 × 8 × 128 × 2 B = 320 KiB"),
        (
            "arithmetic",
            "4,812 × 327,680 B = 1,576,796,160 B = 1.469 GiB = 1.577 GB",
        ),
        (
            "arithmetic",
            "83 % of it was written while thinking. The part one sees, the answer, is 6 %.",
        ),
        (
            "arithmetic",
            "an engine holds 4,811 tokens. In pages of 16 lines they take 301 pages.",
        ),
        ("arithmetic", "the Mooncake paper gives 320 KB a token"),
        (
            "hbm",
            "131 GiB in bf16, 32.86 GiB on the fullest of 4 × H100 SXM 80 GB",
        ),
        (
            "hbm",
            "so 89 fit at once. If each thought for 32,000 tokens, 13 would.",
        ),
        ("billing", "4,300 output tokens, of which 4,000 reasoning"),
        ("next-turn", "A follow-up of 100 tokens"),
        (
            "eviction",
            "Here 89 requests fit at their peak, and by their mean 160 would.",
        ),
        (
            "limits",
            "gpt-oss 120B keeps 128 tokens in every second layer: one request here would be 173.7 MiB, not the 338.3 MiB",
        ),
        ("limits", "DeepSeek R1: 70,272 B a token."),
        ("limits", "q4_0 takes 0.5625 B a number"),
        (
            "limits",
            "8 requests that share this prompt hold 10.65 GiB, not 11.75 GiB.",
        ),
        ("limits", "On 16 GPUs each holds 188.0 MiB of this request."),
        (
            "red-flags",
            "Query heads stand where stored heads belong: a factor of 8 here.",
        ),
        ("red-flags", "H100 SXM 80 GB is 79.65 GiB to its driver."),
        ("myths", "it is 82.2 %"),
        ("minute", "here 512 + 4,000 + 300 = 4,812"),
        ("interview", "Stored heads fall from 64 to 8"),
        (
            "interview",
            "The old prompt: 512 of its tokens in whole pages. The answer moved, so it is prefilled again with what is new: 400 tokens.",
        ),
    ] {
        says(&course, id, sentence);
    }
}

#[test]
fn three_policies_for_the_next_turn() {
    // Worked in the notes on templates: 512 + 300 + 100 = 912 and 4,812 + 100 = 4,912; 327,680 B each.
    let course = course(&[]);
    let next = course.iter().find(|section| section.id == "next-turn");
    let tables: Vec<_> = next
        .into_iter()
        .flat_map(|section| &section.blocks)
        .filter_map(|block| match block {
            Block::Table { rows, .. } => Some(rows),
            _ => None,
        })
        .collect();
    let [policies, families] = tables.as_slice() else {
        panic!("{} tables", tables.len());
    };
    let rows: Vec<String> = policies.iter().map(|row| row.join(" | ")).collect();
    assert_eq!(
        rows,
        [
            "strip | 912 | 512 | 400 | 285 MiB",
            "interleaved | 912 | 512 | 400 | 285 MiB",
            "preserved | 4,912 | 4,800 | 112 | 1.499 GiB",
        ]
    );
    assert!(
        families
            .iter()
            .all(|row| row.len() == 4 && row.iter().all(|cell| !cell.is_empty()))
    );
    assert!(10 < families.len(), "{}", families.len());
}

#[test]
fn the_text_follows_the_scenario() {
    let windowed = course(&[("model", "gpt-oss-120b")]);
    says(
        &windowed,
        "arithmetic",
        "18 × 128 × 2,048 B + 18 × 4,812 × 2,048 B = 182,108,160 B",
    );
    says(
        &windowed,
        "what",
        "leaves 72 KiB in it, all layers together, and 36 KiB once the windows of 128 tokens are full.",
    );
    says(
        &windowed,
        "minute",
        "here 2 × 18 × 8 × 64 × 2 B + 2 × 18 × 8 × 64 × 2 B = 72 KiB while the windows fill, then 36 KiB.",
    );
    let full = course(&[("tensor_parallel_size", "1")]);
    says(&full, "hbm", "so no cache fits");
    let texts = texts(&full[4]).join(" ");
    assert!(!texts.contains("fit at once"), "{texts}");
    let one = course(&[
        ("prompt_tokens", "1"),
        ("thinking_tokens", "0"),
        ("answer_tokens", "1"),
    ]);
    says(&one, "phases", "Its 1 token goes through the model");
    says(
        &one,
        "phases",
        "1 tokens of thinking and answer take 1 step",
    );
    says(&one, "notebook", "Prefill fills 1 page in one go.");
    says(&one, "notebook", "At the end 1 page is in use");
}

#[test]
fn every_model_has_its_course() {
    for preset in presets::all() {
        for section in course(&[("model", preset.id()), ("num_samples", "2")]) {
            let what = format!("{} {}", preset.id(), section.id);
            assert!(!section.blocks.is_empty(), "{what}");
            for text in texts(&section) {
                let is_whole = !text.contains(['{', '}', '|']) && !text.contains("  ");
                assert!(is_whole && !text.trim().is_empty(), "{what}: {text:?}");
            }
        }
    }
}

#[test]
fn every_button_shows_a_scenario() {
    let mut n_buttons = 0;
    for pairs in [
        &[][..],
        &[("model", "deepseek-r1"), ("weight_format", "fp8")],
        &[("thinking_tokens", "1048576")],
    ] {
        for section in course(pairs) {
            let buttons = section.blocks.iter().flat_map(|block| match block {
                Block::Try(button) => vec![button],
                Block::List(points) => points
                    .iter()
                    .filter_map(|point| point.try_it.as_ref())
                    .collect(),
                _ => Vec::new(),
            });
            for button in buttons {
                let mut scenario = scenario(pairs);
                for (key, value) in &button.pairs {
                    let res = scenario.set(key, value);
                    assert_eq!(res, Ok(()), "{} {key}={value}", section.id);
                }
                n_buttons += 1;
            }
        }
    }
    assert!(30 < n_buttons, "{n_buttons}");
}

#[test]
fn the_notebook_fills_page_by_page() {
    let course = course(&[]);
    let notebook = course
        .iter()
        .flat_map(|section| &section.blocks)
        .find_map(|block| match block {
            Block::Notebook(notebook) => Some(notebook),
            _ => None,
        })
        .expect("there is one");
    assert_eq!((notebook.block_size, notebook.steps), (16, 4300));
    let page = |prompt, thinking, answer| Page {
        prompt,
        thinking,
        answer,
    };
    let frame = |step| notebook.frame(step, 2, ENGLISH.numbers());
    // Prefill: 32 whole pages at once.
    let prefilled = frame(0);
    assert_eq!(prefilled.pages, [page(16, 0, 0), page(16, 0, 0)]);
    assert_eq!(prefilled.n_before, 30);
    assert_eq!(prefilled.before, "30 pages before");
    assert_eq!(prefilled.caption, "512 tokens, 32 pages, 160 MiB");
    // The first token opens a page.
    assert_eq!(frame(1).pages, [page(16, 0, 0), page(0, 1, 0)]);
    assert_eq!(frame(17).pages, [page(0, 16, 0), page(0, 1, 0)]);
    // 512 + 4,000 tokens are 282 whole pages, so the answer begins with one.
    assert_eq!(frame(4000).pages, [page(0, 16, 0), page(0, 16, 0)]);
    let last = frame(4300);
    assert_eq!(last.pages, [page(0, 0, 16), page(0, 0, 12)]);
    assert_eq!(last.caption, "4,812 tokens, 301 pages, 1.469 GiB");
    assert_eq!(frame(9999), last);
    let all = notebook.frame(4300, 1000, ENGLISH.numbers());
    let lines = all
        .pages
        .iter()
        .map(|page| page.prompt + page.thinking + page.answer);
    assert_eq!((all.n_before, lines.sum::<u64>()), (0, 4812));
}

#[test]
fn every_source_is_cited_or_listed_once() {
    let mut ids: Vec<_> = sources::ALL.iter().map(|source| source.id).collect();
    for source in sources::ALL {
        assert!(source.url.starts_with("https://"), "{}", source.url);
    }
    for section in course(&[]) {
        for source in &section.sources {
            assert!(
                sources::ALL.contains(source),
                "{} is not in the list",
                source.id
            );
        }
    }
    let n_sources = ids.len();
    ids.sort_unstable();
    ids.dedup();
    assert_eq!(ids.len(), n_sources);
}

#[test]
fn the_words_go_through_their_file() {
    let json = ConceptWords::ENGLISH.to_json();
    assert_eq!(
        ConceptText::from_json(&json),
        Ok(ConceptWords::ENGLISH.text())
    );
    assert!(
        exports()
            .iter()
            .any(|(name, content)| name == "en-concept.json"
                && serde_json::from_str(content)
                    .is_ok_and(|value: serde_json::Value| value == json))
    );
}
