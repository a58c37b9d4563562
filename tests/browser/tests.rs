//! What the page must do.

use std::future::Future;
use std::pin::Pin;

use anyhow::{Context, Result, ensure};
use fantoccini::key::Key;
use serde_json::json;

use crate::doors::{
    code_for_a_course, element_follows_and_tells, every_door_shows_the_same,
    frames_do_not_shift_the_page, hostile_parent_and_child, keyboard_leaves_a_frame, offline_file,
    prints_on_two_sheets, sandbox_without_an_origin, scenario_and_working_as_files, twenty_frames,
};
use crate::files::{gguf_dropped, logs_pasted, several_files_at_once};
use crate::learn::{
    another_language, concept_opens, importer_in_another_language, predict_by_keyboard,
    predict_by_link, typical_requests, words_find_their_place,
};
use crate::page::Page;
use crate::requests::{fixed_by_a_button, many_requests, price_and_turns, traces};
use crate::tools::{tools_see_trouble, tools_use_real_events};

type Test = for<'a> fn(&'a Page<'a>) -> Pin<Box<dyn Future<Output = Result<()>> + 'a>>;

/// A table of the named functions.
macro_rules! table {
    ($($name:ident),* $(,)?) => {
        &[$((stringify!($name), |page| Box::pin($name(page)))),*]
    };
}

/// Every test, in the order in which a person would notice.
pub(crate) const ALL: &[(&str, Test)] = table![
    tools_use_real_events,
    tools_see_trouble,
    default_scenario,
    slider_by_pointer,
    slider_by_keys,
    sentence_by_typing,
    sentence_by_dragging,
    wrong_number_is_kept_and_explained,
    typing_is_taken_back,
    the_sheet_of_a_phone,
    another_gpu,
    facts_lead_to_the_formula,
    pins_tables_and_links,
    pins_that_cannot_be_read,
    typed_slowly_is_one_edit,
    dimensions_follow_typing,
    the_picker_opens_at_the_model,
    notes_move_no_control,
    config_dropped,
    config_picked,
    config_pasted,
    wrong_files,
    gguf_dropped,
    logs_pasted,
    several_files_at_once,
    layer_map,
    how_we_know,
    fixed_by_a_button,
    price_and_turns,
    many_requests,
    traces,
    link_opened_changed_reloaded,
    broken_link,
    nothing_is_fetched_after_loading,
    narrow_and_wide,
    barriers_in_light_and_dark,
    keyboard_reaches_everything,
    course_page,
    javascript_in_a_worker,
    two_mounts_on_one_page,
    every_door_shows_the_same,
    offline_file,
    sandbox_without_an_origin,
    element_follows_and_tells,
    hostile_parent_and_child,
    keyboard_leaves_a_frame,
    frames_do_not_shift_the_page,
    twenty_frames,
    code_for_a_course,
    scenario_and_working_as_files,
    prints_on_two_sheets,
    predict_by_keyboard,
    predict_by_link,
    concept_opens,
    typical_requests,
    another_language,
    importer_in_another_language,
    words_find_their_place,
];

/// Tokens of the default scenario beside the thinking.
const PROMPT_AND_ANSWER: u64 = 812;

async fn default_scenario(page: &Page<'_>) -> Result<()> {
    page.open("").await?;
    page.shows("total-tokens", "4,812").await?;
    page.shows("sentence-size", "1.47 GiB").await?;
    page.shows("working", "1.469 GiB").await?;
    page.shows("fact-per_token", "320 KiB").await?;
    page.shows("fact-blocks", "301").await?;
    page.shows("fact-max_concurrency", "89").await?;
    for id in [
        "figure-tokens",
        "figure-hbm",
        "figure-growth",
        "figure-sweep",
    ] {
        page.until(&format!(
            "document.querySelector(\"[data-testid='{id}'] svg\")"
        ))
        .await?;
    }
    for boundary in ["512", "4,512", "4,812"] {
        page.shows("figure-tokens", boundary).await?;
    }
    page.until("document.querySelector(\"[data-testid='working'] math\")")
        .await
}

/// The number in a field, which may have commas in it.
async fn number(page: &Page<'_>, id: &str) -> Result<u64> {
    let value = page.value(id).await?;
    value
        .replace(',', "")
        .parse()
        .with_context(|| format!("{id} holds {value:?}"))
}

/// `4812` as the page writes it.
fn with_commas(number: u64) -> String {
    let digits = number.to_string();
    let mut res = String::new();
    for (idx, digit) in digits.chars().enumerate() {
        if 0 < idx && (digits.len() - idx).is_multiple_of(3) {
            res.push(',');
        }
        res.push(digit);
    }
    res
}

/// Waits until every place that shows the thinking tokens shows this many.
async fn thinking_is(page: &Page<'_>, tokens: u64) -> Result<()> {
    page.shows("total-tokens", &with_commas(PROMPT_AND_ANSWER + tokens))
        .await?;
    for id in ["field-thinking_tokens", "sentence-thinking_tokens"] {
        let shown = number(page, id).await?;
        ensure!(
            shown == tokens,
            "{id} shows {shown} while the total is that of {tokens}"
        );
    }
    page.shows("figure-tokens", &with_commas(512 + tokens))
        .await?;
    page.until(&format!(
        "location.hash.includes('thinking_tokens={tokens}&')"
    ))
    .await
}

async fn slider_by_pointer(page: &Page<'_>) -> Result<()> {
    page.open("").await?;
    page.shows("total-tokens", "4,812").await?;
    let charts = ["figure-tokens", "figure-hbm", "figure-growth"];
    let mut before = Vec::new();
    for id in charts {
        before.push(page.find(id).await?.html(true).await?);
    }
    page.drag_slider("slider-thinking_tokens", 40.0, 10).await?;
    let tokens = number(page, "field-thinking_tokens").await?;
    ensure!(
        4000 < tokens,
        "a drag to the right gave {tokens} thinking tokens"
    );
    thinking_is(page, tokens).await?;
    for (id, before) in charts.into_iter().zip(before) {
        ensure!(
            page.find(id).await?.html(true).await? != before,
            "{id} did not change"
        );
    }
    page.drag_slider("slider-thinking_tokens", -80.0, 10)
        .await?;
    let fewer = number(page, "field-thinking_tokens").await?;
    ensure!(
        fewer < 4000,
        "a drag to the left gave {fewer} thinking tokens"
    );
    thinking_is(page, fewer).await
}

async fn slider_by_keys(page: &Page<'_>) -> Result<()> {
    page.open("").await?;
    page.keys("slider-thinking_tokens", &[Key::Right]).await?;
    let more = number(page, "field-thinking_tokens").await?;
    ensure!(4000 < more, "the right arrow gave {more} thinking tokens");
    thinking_is(page, more).await?;
    page.keys("slider-thinking_tokens", &[Key::Left, Key::Left])
        .await?;
    let fewer = number(page, "field-thinking_tokens").await?;
    ensure!(fewer < 4000, "two left arrows gave {fewer} thinking tokens");
    thinking_is(page, fewer).await?;
    page.keys("slider-thinking_tokens", &[Key::Home]).await?;
    thinking_is(page, 0).await
}

async fn sentence_by_typing(page: &Page<'_>) -> Result<()> {
    page.open("").await?;
    page.retype("sentence-thinking_tokens", "8000").await?;
    thinking_is(page, 8000).await?;
    // 8,812 × 320 KiB.
    page.shows("working", "2.689 GiB").await?;
    page.retype("sentence-thinking_tokens", "32k").await?;
    thinking_is(page, 32_768).await?;
    page.keys("sentence-thinking_tokens", &[Key::Up]).await?;
    let more = number(page, "field-thinking_tokens").await?;
    ensure!(32_768 < more, "the up arrow gave {more} thinking tokens");
    thinking_is(page, more).await
}

async fn sentence_by_dragging(page: &Page<'_>) -> Result<()> {
    page.open("").await?;
    page.drag_element("sentence-thinking_tokens", 60.0, 10)
        .await?;
    let more = number(page, "field-thinking_tokens").await?;
    ensure!(
        4000 < more,
        "a drag to the right gave {more} thinking tokens"
    );
    thinking_is(page, more).await
}

async fn wrong_number_is_kept_and_explained(page: &Page<'_>) -> Result<()> {
    page.open("").await?;
    page.retype("field-thinking_tokens", "many").await?;
    let kept = page.value("field-thinking_tokens").await?;
    ensure!(
        kept == "many",
        "the field holds {kept:?} instead of what was typed"
    );
    page.until(
        "(() => {
            const field = document.querySelector(\"[data-testid='field-thinking_tokens']\");
            const message = document.getElementById(field.getAttribute('aria-describedby'));
            return field.getAttribute('aria-invalid') === 'true' && message.textContent.includes('1,048,576');
        })()",
    )
    .await?;
    page.shows("total-tokens", "4,812").await
}

/// Escape brings back what was there; a field that says `auto` makes room for a number; two lines are not one number.
async fn typing_is_taken_back(page: &Page<'_>) -> Result<()> {
    page.open("").await?;
    page.retype("sentence-thinking_tokens", "9000").await?;
    page.shows("total-tokens", "9,812").await?;
    page.press(Key::Escape).await?;
    page.shows("total-tokens", "4,812").await?;
    page.keys("slider-prompt_tokens", &[Key::Right]).await?;
    page.shows("total-tokens", "4,820").await?;
    page.press(Key::Left).await?;
    page.shows("total-tokens", "4,812").await?;
    let field = "document.querySelector(\"[data-testid='field-tensor_parallel_size']\")";
    page.find("field-tensor_parallel_size")
        .await?
        .click()
        .await?;
    page.until(&format!("{field}.value === ''")).await?;
    page.find("field-tensor_parallel_size")
        .await?
        .send_keys("8")
        .await?;
    page.shows("fact-fits", "8 × H100").await?;
    page.eval(
        "(() => {
            const clipboardData = new DataTransfer();
            clipboardData.setData('text/plain', '12\\n34');
            document.querySelector(\"[data-testid='field-prompt_tokens']\")
                .dispatchEvent(new ClipboardEvent('paste', { clipboardData, bubbles: true, cancelable: true }));
        })()",
    )
    .await?;
    page.until("document.querySelector(\"[data-testid='field-prompt_tokens']\").value === '12⏎34'")
        .await?;
    page.shows("total-tokens", "4,812").await
}

/// It takes the focus, Escape closes it and gives the focus back, and the bar under it covers none of its fields.
async fn the_sheet_of_a_phone(page: &Page<'_>) -> Result<()> {
    page.resize(320, 640).await?;
    page.open("").await?;
    page.shows("total-tokens", "4,812").await?;
    page.find("controls-toggle").await?.click().await?;
    page.until("document.querySelector('.panel').contains(document.activeElement)")
        .await?;
    page.until(
        "document.querySelector('.panel').getBoundingClientRect().bottom
            <= document.querySelector(\"[data-testid='controls-toggle']\").getBoundingClientRect().top",
    )
    .await?;
    page.until(
        "200 < document.querySelector(\"[data-testid='slider-prompt_tokens']\").clientWidth",
    )
    .await?;
    page.press(Key::Escape).await?;
    page.until("document.activeElement.dataset.testid === 'controls-toggle'")
        .await?;
    page.until("!document.querySelector('.panel').checkVisibility()")
        .await
}

async fn another_gpu(page: &Page<'_>) -> Result<()> {
    page.open("").await?;
    page.shows("fact-max_concurrency", "89").await?;
    let before = page.find("figure-hbm").await?.html(true).await?;
    page.find("select-gpu")
        .await?
        .select_by_value("h200-sxm-141gb")
        .await?;
    page.until("location.hash.includes('gpu=h200-sxm-141gb')")
        .await?;
    page.until("!document.querySelector(\"[data-testid='fact-max_concurrency']\").textContent.includes('89')").await?;
    ensure!(
        page.find("figure-hbm").await?.html(true).await? != before,
        "figure-hbm did not change"
    );
    Ok(())
}

/// A real file, of a model whose cache is 36 × 2 × 8 × 128 × 2 B = 144 KiB per token.
fn config() -> std::path::PathBuf {
    xtask::root().join("tests/data/configs/Qwen__Qwen3-8B.json")
}

async fn config_is_in_use(page: &Page<'_>) -> Result<()> {
    page.shows("fact-per_token", "144 KiB").await?;
    // What was typed before stays.
    page.shows("total-tokens", "4,812").await
}

async fn config_dropped(page: &Page<'_>) -> Result<()> {
    page.open("").await?;
    page.drop_file("sentence", &config()).await?;
    config_is_in_use(page).await?;
    // The link holds the model, so it opens the same without the file.
    page.until("location.hash.includes('qwen3')").await?;
    page.client().refresh().await?;
    config_is_in_use(page).await
}

async fn config_picked(page: &Page<'_>) -> Result<()> {
    page.open("").await?;
    page.find("import-open").await?.click().await?;
    page.find("import-file")
        .await?
        .send_keys(&config().to_string_lossy())
        .await?;
    config_is_in_use(page).await
}

async fn config_pasted(page: &Page<'_>) -> Result<()> {
    page.open("").await?;
    page.find("import-open").await?.click().await?;
    page.find("import-text")
        .await?
        .send_keys(&std::fs::read_to_string(config())?)
        .await?;
    page.find("import-use").await?.click().await?;
    config_is_in_use(page).await
}

async fn wrong_files(page: &Page<'_>) -> Result<()> {
    page.open("").await?;
    for file in [
        "README.md",
        "www/icon.svg",
        "tests/browser/package.json",
        "Cargo.toml",
    ] {
        page.drop_file("sentence", &xtask::root().join(file))
            .await?;
        page.until(
            "document.querySelector(\"[data-testid='import-message']\")?.textContent.length > 20",
        )
        .await?;
        page.shows("fact-per_token", "320 KiB").await?;
        page.shows("total-tokens", "4,812").await?;
        page.client().refresh().await?;
    }
    Ok(())
}

async fn facts_lead_to_the_formula(page: &Page<'_>) -> Result<()> {
    page.open("").await?;
    page.shows("working", "1.469 GiB").await?;
    page.find("fact-max_concurrency").await?.click().await?;
    page.find("fact-formula").await?.click().await?;
    // The step is open and has the focus: its last number is the fact's.
    page.until("document.activeElement.id.endsWith('step-concurrency')")
        .await?;
    page.until("document.activeElement.textContent.includes('89')")
        .await
}

async fn pins_tables_and_links(page: &Page<'_>) -> Result<()> {
    page.open("").await?;
    page.shows("total-tokens", "4,812").await?;
    page.find("pin").await?.click().await?;
    page.retype("field-thinking_tokens", "16000").await?;
    page.until("location.hash.includes('pin=')").await?;
    page.client().refresh().await?;
    let table = "document.querySelector(\"[data-testid='figure-sweep'] details.data\")";
    page.until(&format!("!!{table}")).await?;
    page.eval(&format!(
        "{table}.querySelector('summary').scrollIntoView()"
    ))
    .await?;
    page.client()
        .find(fantoccini::Locator::Css(
            "[data-testid='figure-sweep'] details.data summary",
        ))
        .await?
        .click()
        .await?;
    // Thinking, and two columns each for what is shown and what is pinned.
    page.until(&format!(
        "{table}.querySelectorAll('thead th').length === 5"
    ))
    .await
}

/// Another model, read by the other module, is compared with; what is no scenario is left out and said.
async fn pins_that_cannot_be_read(page: &Page<'_>) -> Result<()> {
    let dims = "%7B%22dims%22:%7B%22num_hidden_layers%22:2,%22num_attention_heads%22:8,%22num_key_value_heads%22:8,%22head_dim%22:64%7D%7D";
    let pin = format!("v=1&model={dims}")
        .replace('%', "%25")
        .replace('=', "%3D")
        .replace('&', "%26");
    page.open(&format!(
        "#v=1&pin=nonsense&pin={pin}&pin=v%3D1%26gpu%3Dh200-sxm-141gb"
    ))
    .await?;
    page.shows("notes", "pin is \"nonsense\": a pin is a scenario")
        .await?;
    for name in ["a model typed by hand bf16", "Llama 3.1 70B bf16 · H200"] {
        page.shows("figure-sweep", name).await?;
    }
    page.until("document.querySelectorAll('.pins button').length === 3")
        .await
}

/// Each digit is a scenario of its own; the way back leads to what was there before the first.
async fn typed_slowly_is_one_edit(page: &Page<'_>) -> Result<()> {
    page.open("").await?;
    page.shows("total-tokens", "4,812").await?;
    let before = page.eval("history.length").await?;
    page.retype("field-thinking_tokens", "1").await?;
    for digit in ["2", "3"] {
        let typed = page.value("field-thinking_tokens").await?;
        page.until(&format!(
            "location.hash.includes('thinking_tokens={typed}&')"
        ))
        .await?;
        page.find("field-thinking_tokens")
            .await?
            .send_keys(digit)
            .await?;
    }
    page.until("location.hash.includes('thinking_tokens=123&')")
        .await?;
    page.until(&format!("history.length === {before} + 1"))
        .await?;
    page.client().back().await?;
    page.shows("total-tokens", "4,812").await
}

/// Nothing but a rest is needed for a dimension to be taken, and the field keeps what is typed.
async fn dimensions_follow_typing(page: &Page<'_>) -> Result<()> {
    page.open("").await?;
    page.shows("fact-per_token", "320 KiB").await?;
    page.retype("field-num_hidden_layers", "40").await?;
    page.shows("fact-per_token", "160 KiB").await?;
    page.until("document.activeElement.dataset.testid === 'field-num_hidden_layers' && document.activeElement.value === '40'")
        .await?;
    page.retype("field-num_hidden_layers", "0").await?;
    page.until("document.activeElement.getAttribute('aria-invalid') === 'true'")
        .await?;
    page.shows("fact-per_token", "160 KiB").await
}

/// The list opens at the model that is shown, and names no line where there is none.
async fn the_picker_opens_at_the_model(page: &Page<'_>) -> Result<()> {
    page.open("#v=1&model=qwen3-32b").await?;
    page.find("select-model").await?.click().await?;
    let active = "document.querySelector(\"[data-testid='model-search']\").getAttribute('aria-activedescendant')";
    page.until(&format!(
        "document.getElementById({active})?.dataset.testid === 'model-qwen3-32b'"
    ))
    .await?;
    page.until(&format!(
        "(() => {{
            const line = document.getElementById({active}).getBoundingClientRect();
            const list = document.querySelector('.picker ul').getBoundingClientRect();
            return list.top <= line.top && line.bottom <= list.bottom;
        }})()"
    ))
    .await?;
    page.retype("model-search", "no such model").await?;
    page.until(&format!("{active} === ''")).await?;
    page.retype("model-search", "qwq").await?;
    page.press(Key::Enter).await?;
    page.shows("sentence-model", "QwQ 32B").await
}

/// What is held does not move while warnings come and numbers gain digits.
async fn notes_move_no_control(page: &Page<'_>) -> Result<()> {
    for width in [1360, 820] {
        page.resize(width, 900).await?;
        page.open("").await?;
        page.shows("total-tokens", "4,812").await?;
        let top = "document.querySelector(\"[data-testid='slider-thinking_tokens']\").getBoundingClientRect().top + scrollY";
        let before = page.eval(top).await?;
        page.retype("field-thinking_tokens", "1048576").await?;
        page.shows("notes", "more than the 131,072").await?;
        page.until(&format!("{top} === {before}")).await?;
    }
    Ok(())
}

/// The posted logs are a page of their own, folded by engine.
async fn how_we_know(page: &Page<'_>) -> Result<()> {
    page.open("").await?;
    page.shows("total-tokens", "4,812").await?;
    page.eval("document.querySelector('body > footer a').click()")
        .await?;
    page.until("document.querySelector('h1')?.textContent === 'How we know'")
        .await?;
    for width in [390, 1280] {
        page.resize(width, 800).await?;
        page.eval(
            "document.querySelectorAll('details').forEach((details) => { details.open = true })",
        )
        .await?;
        page.until("document.documentElement.scrollWidth <= innerWidth")
            .await?;
        page.accessible().await?;
    }
    page.until("5 < document.querySelectorAll('details').length && 200 < document.querySelectorAll('tr').length")
        .await?;
    page.eval("document.querySelector('header a').click()")
        .await?;
    page.shows("total-tokens", "4,812").await?;
    page.open("#v=1&embed=tokens").await?;
    page.shows("figure-tokens", "4,812").await?;
    page.until("!document.querySelector('body > footer').checkVisibility()")
        .await
}

/// Where layers differ there is a map of them, with one layer in words, by keys and by pointer.
async fn layer_map(page: &Page<'_>) -> Result<()> {
    page.open("#v=1&model=gemma-3-27b").await?;
    page.shows("figure-layers", "Of 62 layers").await?;
    page.shows("layer-words", "Layer 0: sliding window with 1,024 tokens")
        .await?;
    page.keys(
        "layer",
        &[Key::Right, Key::Right, Key::Right, Key::Right, Key::Right],
    )
    .await?;
    page.shows("layer-words", "Layer 5: full attention with 4,812 tokens")
        .await?;
    // As the tokens go, so do the layers.
    page.retype("field-thinking_tokens", "8000").await?;
    page.shows("layer-words", "Layer 5: full attention with 8,812 tokens")
        .await?;
    page.accessible().await?;
    page.open("").await?;
    page.shows("working", "1.469 GiB").await?;
    page.until("!document.querySelector(\"[data-testid='figure-layers']\")")
        .await?;
    page.open("#v=1&embed=layers").await?;
    page.shows("figure-layers", "80 grow with every token")
        .await
}

async fn link_opened_changed_reloaded(page: &Page<'_>) -> Result<()> {
    page.open("#v=1&thinking_tokens=8000").await?;
    page.shows("total-tokens", "8,812").await?;
    page.retype("field-thinking_tokens", "16000").await?;
    thinking_is(page, 16_000).await?;
    page.client().refresh().await?;
    thinking_is(page, 16_000).await?;
    page.client().back().await?;
    page.shows("total-tokens", "8,812").await?;
    page.client().forward().await?;
    thinking_is(page, 16_000).await
}

async fn broken_link(page: &Page<'_>) -> Result<()> {
    page.open("#v=1&thinking_tokens=banana&gpu=abacus&answer_tokens=100&colour=red")
        .await?;
    for part in ["banana", "abacus", "colour"] {
        page.shows("notes", part).await?;
    }
    // What can be read counts.
    page.shows("total-tokens", "4,612").await
}

async fn nothing_is_fetched_after_loading(page: &Page<'_>) -> Result<()> {
    page.open("").await?;
    page.shows("total-tokens", "4,812").await?;
    // The importer is loaded behind the page, and so are the words of the panels.
    for file in ["doors_bg", "en-predict", "en-concept"] {
        page.until(&format!(
            "performance.getEntriesByType('resource').some((entry) => /{file}/.test(entry.name) && 0 < entry.responseEnd)",
        ))
        .await?;
    }
    let loaded = page.requests().await?;
    for name in ["page_bg", "doors_bg"] {
        let count = loaded.iter().filter(|url| url.contains(name)).count();
        ensure!(count == 1, "{name} was asked for {count} times: {loaded:?}");
    }
    page.drag_slider("slider-thinking_tokens", 40.0, 10).await?;
    page.drop_file("sentence", &config()).await?;
    config_is_in_use_with_any_tokens(page).await?;
    page.find("figure-tokens")
        .await?
        .find(fantoccini::Locator::Css("details > summary"))
        .await?
        .click()
        .await?;
    let after: Vec<String> = page.requests().await?.split_off(loaded.len());
    let after: Vec<&String> = after
        .iter()
        .filter(|url| !url.starts_with("data:") && !url.starts_with("blob:"))
        .collect();
    ensure!(
        after.is_empty(),
        "after it had loaded, the page asked for {after:?}"
    );
    Ok(())
}

async fn config_is_in_use_with_any_tokens(page: &Page<'_>) -> Result<()> {
    page.shows("fact-per_token", "144 KiB").await
}

async fn narrow_and_wide(page: &Page<'_>) -> Result<()> {
    for width in [320, 390, 820, 1280, 1920] {
        page.resize(width, 900).await?;
        page.open("").await?;
        page.shows("total-tokens", "4,812").await?;
        page.until(&format!("innerWidth === {width}")).await?;
        page.eval(
            "document.querySelectorAll('details').forEach((details) => { details.open = true })",
        )
        .await?;
        let [content, window] =
            ["scrollWidth", "clientWidth"].map(|of| format!("document.documentElement.{of}"));
        let (content, window) = (page.eval(&content).await?, page.eval(&window).await?);
        ensure!(
            content == window,
            "a window {width} px wide has room for {window} and scrolls sideways to {content}"
        );
    }
    Ok(())
}

async fn barriers_in_light_and_dark(page: &Page<'_>) -> Result<()> {
    for theme in ["light", "dark"] {
        let page = page.another().await?;
        page.theme(theme).await?;
        page.open("#v=1&thinking_tokens=131072&num_seqs=64").await?;
        page.shows("fact-fits", "").await?;
        page.accessible()
            .await
            .with_context(|| format!("in the {theme} theme"))?;
        page.find("import-open").await?.click().await?;
        page.find("import-text").await?;
        page.accessible()
            .await
            .with_context(|| format!("with the import open, in the {theme} theme"))?;
        page.clean().await?;
        page.close().await?;
    }
    Ok(())
}

/// Tab comes by every control in turn, and each shows that it has the focus.
async fn keyboard_reaches_everything(page: &Page<'_>) -> Result<()> {
    page.open("").await?;
    page.shows("total-tokens", "4,812").await?;
    page.eval("document.body.focus()").await?;
    let mut reached = std::collections::BTreeSet::new();
    for _ in 0..400 {
        page.press(Key::Tab).await?;
        let now = page
            .eval(
                "(() => {
                    const active = document.activeElement;
                    if (active === document.body) return null;
                    const style = getComputedStyle(active);
                    const seen = style.outlineStyle !== 'none' && parseFloat(style.outlineWidth) > 0
                        || style.boxShadow !== 'none';
                    return [active.dataset.testid ?? '', seen, active.outerHTML.slice(0, 120)];
                })()",
            )
            .await?;
        if now.is_null() {
            break;
        }
        ensure!(now[1] == true, "the focus cannot be seen on {}", now[2]);
        reached.insert(now[0].as_str().unwrap_or_default().to_owned());
    }
    for id in [
        "sentence-thinking_tokens",
        "slider-thinking_tokens",
        "field-prompt_tokens",
        "fact-fits",
        "scrub",
        "import-open",
    ] {
        ensure!(reached.contains(id), "Tab does not come by {id}");
    }
    Ok(())
}

/// A course page with two figures in frames.
async fn course_page(page: &Page<'_>) -> Result<()> {
    page.open("examples/course.html").await?;
    page.until("document.querySelectorAll('iframe').length === 2")
        .await?;
    for frame in 0..2 {
        page.client().clone().enter_frame(frame).await?;
        page.until("document.querySelector('figure svg')").await?;
        ensure!(
            page.eval("document.querySelector('header.top')")
                .await?
                .is_null(),
            "frame {frame} shows the whole page"
        );
        page.client().clone().enter_parent_frame().await?;
    }
    // The frames' pages tell how tall they are, and the course page follows.
    page.until(
        "[...document.querySelectorAll('iframe')].every(frame =>
            frame.getBoundingClientRect().height >= frame.contentDocument.documentElement.scrollHeight - 1)",
    )
    .await?;
    let wasm = page
        .requests()
        .await?
        .iter()
        .filter(|url| url.ends_with(".wasm"))
        .count();
    ensure!(wasm <= 2, "two frames asked for the module {wasm} times");
    Ok(())
}

async fn javascript_in_a_worker(page: &Page<'_>) -> Result<()> {
    page.open("examples/worker.html").await?;
    page.until("document.querySelector('#answer').textContent.includes('4000: 89 at once')")
        .await
}

async fn two_mounts_on_one_page(page: &Page<'_>) -> Result<()> {
    page.open("../pages/mounts.html").await?;
    page.until("document.querySelectorAll('figure svg').length >= 2")
        .await?;
    let ids = page
        .eval("[...document.querySelectorAll('[id]')].map(element => element.id).filter((id, at, all) => all.indexOf(id) !== at)")
        .await?;
    ensure!(ids == json!([]), "both mounts use the ids {ids}");
    // The style sheets are for what is mounted, those of the panels too.
    page.eval("document.querySelector('#first details.data summary').click()")
        .await?;
    page.until("document.querySelector('#first details.data table')")
        .await?;
    let styles = page
        .eval(
            "(() => {
                const style = (selector) => getComputedStyle(document.querySelector(selector));
                const { boxSizing, display, position, overflowX, fontSize } = style('#theirs');
                return [
                    [style('body').marginLeft, boxSizing, display, position, overflowX, fontSize],
                    [style('#first .scroll').overflowX, style('#first figure').boxSizing, style('#first figure h2').fontSize, style('#first .lede').paddingLeft],
                    [style('#first .data th').fontWeight, style('#first .bar-label, #first svg text').fontFamily === style('body').fontFamily],
                ];
            })()",
        )
        .await?;
    let expected = json!([
        ["8px", "content-box", "block", "static", "visible", "24px"],
        ["auto", "border-box", "15px", "0px"],
        ["400", false],
    ]);
    ensure!(styles == expected, "{styles} and not {expected}");
    page.eval("window.mounts[0].update({ thinking_tokens: 8000 })")
        .await?;
    page.until("document.querySelector('#first').textContent.includes('8,812')")
        .await?;
    page.until("document.querySelector('#second').textContent.includes('4,812')")
        .await?;
    page.eval("window.mounts[0].unmount()").await?;
    page.until("document.querySelector('#first').childElementCount === 0")
        .await?;
    page.until("document.querySelector('#second figure svg')")
        .await
}
