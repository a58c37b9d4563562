//! The ways in: every one shows the same scenario, and bears what the pages around it and the frames within it do.

use anyhow::{Result, ensure};
use fantoccini::key::Key;
use serde_json::json;

use crate::page::Page;

/// A scenario, and its tokens as pages show them.
const LINK: &str = "v=1&thinking_tokens=8000";
const TOTAL: &str = "8,812";

/// JavaScript that is true when the document shows the total.
fn shows_total(document: &str) -> String {
    format!(
        "{document}?.querySelector(\"[data-testid='total-tokens']\")?.textContent.includes('{TOTAL}')"
    )
}

pub(crate) async fn every_door_shows_the_same(page: &Page<'_>) -> Result<()> {
    page.open(&format!("#{LINK}")).await?;
    page.shows("total-tokens", TOTAL).await?;
    page.open("../pages/doors.html").await?;
    page.until("document.querySelector('#computed').textContent === '8812'")
        .await?;
    let frame = |of: &str| format!("document.querySelector('{of}').contentDocument");
    let element =
        "document.querySelector('kv-scope').shadowRoot?.querySelector('iframe').contentDocument";
    for (place, document) in [
        ("#plain", frame("#plain")),
        ("kv-scope", element.to_owned()),
        ("#mounted", "document.querySelector('#mounted')".to_owned()),
        ("#offline", frame("#offline")),
    ] {
        page.eval(&format!(
            "document.querySelector('{place}').scrollIntoView()"
        ))
        .await?;
        page.until(&shows_total(&document)).await?;
        page.until(&format!("{document}.querySelector('figure svg')"))
            .await?;
    }
    page.until("window.mounted.figures.tokens.total === 8812")
        .await?;
    page.until("document.querySelector('kv-scope').value.kv_cache.per_seq_bytes === 8812 * 327680")
        .await
}

/// The offline file as one gets it by a double click: nothing can be loaded, and it does all that the page does.
pub(crate) async fn offline_file(page: &Page<'_>) -> Result<()> {
    let file = xtask::dist_dir().join("kvscope-offline.html");
    let address = url::Url::from_file_path(&file).ok();
    let address = address.map_or_else(String::new, |address| format!("{address}#{LINK}"));
    page.client().goto(&address).await?;
    page.shows("total-tokens", TOTAL).await?;
    page.retype("field-thinking_tokens", "16000").await?;
    page.shows("total-tokens", "16,812").await?;
    page.until("location.hash.includes('thinking_tokens=16000')")
        .await?;
    let config = xtask::root().join("tests/data/configs/Qwen__Qwen3-8B.json");
    page.drop_file("sentence", &config).await?;
    page.shows("fact-per_token", "144 KiB").await?;
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
    let asked: Vec<String> = page.requests().await?;
    let asked: Vec<&String> = asked
        .iter()
        .filter(|url| {
            !["data:", "blob:"]
                .iter()
                .any(|scheme| url.starts_with(scheme))
        })
        .collect();
    ensure!(asked.len() == 1, "the file asked for {asked:?}");
    page.accessible().await
}

/// A sandbox without `allow-same-origin`, which can load nothing, goes to the offline file; it computes, and talks.
pub(crate) async fn sandbox_without_an_origin(page: &Page<'_>) -> Result<()> {
    page.open("../pages/sandbox.html").await?;
    page.client().clone().enter_frame(0).await?;
    page.until("document.querySelector('figure svg')").await?;
    page.shows("total-tokens", TOTAL).await?;
    page.retype("field-thinking_tokens", "16000").await?;
    page.shows("total-tokens", "16,812").await?;
    page.client().clone().enter_parent_frame().await?;
    page.until(
        "window.heard.some(({ type, height }) => type === 'kvscope:height' && 100 < height)",
    )
    .await?;
    page.until("window.heard.some(({ type, tokens, origin }) => type === 'kvscope:change' && tokens.total === 16812 && origin === 'null')")
        .await?;
    Ok(())
}

pub(crate) async fn element_follows_and_tells(page: &Page<'_>) -> Result<()> {
    page.open("../pages/doors.html").await?;
    page.eval(
        "(() => {
            window.told = [];
            const element = document.querySelector('kv-scope');
            for (const type of ['ready', 'change']) element.addEventListener(type, ({ detail }) => window.told.push([type, detail.tokens.total]));
            element.scrollIntoView();
        })()",
    )
    .await?;
    page.until("document.querySelector('kv-scope').value?.tokens.total === 8812")
        .await?;
    // It is as high as its content.
    page.until(
        "(() => {
            const frame = document.querySelector('kv-scope').shadowRoot.querySelector('iframe');
            return Math.abs(frame.clientHeight - frame.contentDocument.body.offsetHeight) <= 1;
        })()",
    )
    .await?;
    page.eval("document.querySelector('kv-scope').setAttribute('thinking', '16000')")
        .await?;
    page.until("document.querySelector('kv-scope').value.tokens.total === 16812")
        .await?;
    page.eval("document.querySelector('kv-scope').value = { answer_tokens: 1000 }")
        .await?;
    page.until("document.querySelector('kv-scope').value.tokens.total === 17512")
        .await?;
    page.eval("document.querySelector('kv-scope').setAttribute('theme', 'dark')")
        .await?;
    page.until("document.querySelector('kv-scope').value.link.includes('theme=dark')")
        .await?;
    let told = page
        .eval("window.told.slice(-2).map(([type, total]) => `${type} ${total}`)")
        .await?;
    ensure!(
        told == json!(["change 17512", "change 17512"]),
        "it told {told}"
    );
    // Moved, it keeps what the reader made of it.
    page.eval("document.body.prepend(document.querySelector('kv-scope'))")
        .await?;
    page.until("document.querySelector('kv-scope').value?.tokens.total === 17512")
        .await
}

pub(crate) async fn hostile_parent_and_child(page: &Page<'_>) -> Result<()> {
    page.open("../pages/hostile.html").await?;
    let victim = "document.querySelector('#victim').contentDocument";
    page.until(&format!("{victim}.querySelector('figure svg')"))
        .await?;
    let wrong = page.eval("window.attack()").await?;
    ensure!(
        50 < wrong.as_u64().unwrap_or_default(),
        "only {wrong} wrong messages were sent"
    );
    page.eval("window.reconcile()").await?;
    page.until(&shows_total(victim)).await?;
    page.eval("window.sibling()").await?;
    page.eval("window.ask()").await?;
    page.until("window.heard.some(({ id, tokens }) => id === 'at last' && tokens.total === 8812)")
        .await?;
    page.until(&format!(
        "{victim}.querySelector(\"[data-testid='notes']\").hidden"
    ))
    .await?;
    // A frame cannot make the element that holds it larger than a page, nor a sibling smaller.
    let height = page
        .eval("document.querySelector('kv-scope').getBoundingClientRect().height")
        .await?;
    let height = height.as_f64().unwrap_or_default();
    ensure!(
        (100.0..=20_000.0).contains(&height),
        "the element is {height} px high"
    );
    // The page in the frame still follows the reader.
    page.client().clone().enter_frame(0).await?;
    page.retype("field-thinking_tokens", "16000").await?;
    page.shows("total-tokens", "16,812").await?;
    Ok(page.client().clone().enter_parent_frame().await?)
}

pub(crate) async fn keyboard_leaves_a_frame(page: &Page<'_>) -> Result<()> {
    page.open("../pages/doors.html").await?;
    let plain = "document.querySelector('#plain').contentDocument";
    page.until(&format!("{plain}.querySelector('figure svg')"))
        .await?;
    page.eval("document.querySelector('#before').focus()")
        .await?;
    let mut was_inside = false;
    for _ in 0..60 {
        page.press(Key::Tab).await?;
        match page.eval("document.activeElement.id").await?.as_str() {
            Some("plain") => was_inside = true,
            Some("after") => {
                ensure!(was_inside, "Tab went by the frame");
                return Ok(());
            }
            _ => {}
        }
    }
    anyhow::bail!("60 tabs did not leave the frame")
}

/// Frames keep the room that they are given, so what stands below them does not jump.
pub(crate) async fn frames_do_not_shift_the_page(page: &Page<'_>) -> Result<()> {
    page.open("../pages/twenty.html").await?;
    page.until("20 <= document.querySelectorAll('iframe').length")
        .await?;
    page.until("document.querySelector('iframe').contentDocument.querySelector('figure svg')")
        .await?;
    let shift = page
        .eval_async(
            "return await new Promise((done) => {
                let sum = 0;
                const observer = new PerformanceObserver((list) => { for (const { value } of list.getEntries()) sum += value; });
                observer.observe({ type: 'layout-shift', buffered: true });
                requestAnimationFrame(() => requestAnimationFrame(() => done(sum)));
            });",
        )
        .await?;
    ensure!(shift.as_f64() == Some(0.0), "the page shifted by {shift}");
    Ok(())
}

/// Twenty frames: each starts when it comes into view, all of one download, and each can be used.
pub(crate) async fn twenty_frames(page: &Page<'_>) -> Result<()> {
    page.open("../pages/twenty.html").await?;
    page.until("document.querySelectorAll('iframe').length === 20")
        .await?;
    let started = "[...document.querySelectorAll('iframe')].filter((frame) => frame.contentDocument?.querySelector('figure svg')).length";
    page.until(&format!("0 < {started}")).await?;
    let at_once = page.eval(started).await?;
    ensure!(
        at_once.as_u64() < Some(20),
        "all {at_once} started before they were seen"
    );
    for frame in 0..20 {
        let document = format!("document.querySelectorAll('iframe')[{frame}].contentDocument");
        page.eval(&format!(
            "document.querySelectorAll('iframe')[{frame}].scrollIntoView()"
        ))
        .await?;
        page.until(&format!("{document}?.querySelector('figure svg')"))
            .await?;
        page.client().clone().enter_frame(frame).await?;
        page.retype("field-thinking_tokens", "16000").await?;
        page.shows("total-tokens", "16,812").await?;
        page.client().clone().enter_parent_frame().await?;
    }
    let loads = page
        .eval(
            "[...document.querySelectorAll('iframe')].flatMap((frame) =>
                frame.contentWindow.performance.getEntriesByType('resource')
                    .filter(({ name, transferSize }) => name.endsWith('.wasm') && 2000 < transferSize)).length",
        )
        .await?;
    ensure!(loads == json!(1), "the module was downloaded {loads} times");
    Ok(())
}

/// The share dialog makes the code for a course page; its preview and the page that has the code show what was chosen.
pub(crate) async fn code_for_a_course(page: &Page<'_>) -> Result<()> {
    page.open(&format!("#{LINK}")).await?;
    page.shows("total-tokens", TOTAL).await?;
    page.find("share-open").await?.click().await?;
    page.find("share-tab-embed").await?.click().await?;
    page.find("embed-part-hbm").await?.click().await?;
    page.find("embed-control-num_seqs")
        .await?
        .select_by_value("locked")
        .await?;
    page.find("embed-theme")
        .await?
        .select_by_value("dark")
        .await?;
    let preview = "document.querySelector(\"[data-testid='embed-preview']\")";
    let shown = format!("{preview}.contentDocument");
    page.until(&shows_total(&shown)).await?;
    page.until(&format!(
        "{shown}.querySelector(\"[data-testid='figure-hbm'] svg\")"
    ))
    .await?;
    page.until(&format!(
        "{shown}.querySelector('.kvscope').dataset.theme === 'dark'"
    ))
    .await?;
    page.until(&format!(
        "{shown}.querySelector(\"[data-testid='field-num_seqs']\").disabled"
    ))
    .await?;
    page.until(&format!(
        "!{shown}.querySelector(\"[data-testid='field-thinking_tokens']\").disabled"
    ))
    .await?;
    // The room that is kept is what the preview takes.
    page.until(&format!(
        "Math.abs({preview}.clientHeight - {shown}.body.offsetHeight) <= 2"
    ))
    .await?;
    page.until(&format!("document.querySelector(\"[data-testid='embed-height']\").value == Math.ceil({shown}.body.getBoundingClientRect().height)")).await?;
    page.accessible().await?;
    let frame = page.value("embed-code").await?;
    page.find("embed-as-element").await?.click().await?;
    page.until(
        "document.querySelector(\"[data-testid='embed-code']\").value.includes('<kv-scope')",
    )
    .await?;
    let element = page.value("embed-code").await?;
    page.press(Key::Escape).await?;
    // Following the choices left no places to go back to.
    page.until("history.length <= 3").await?;
    page.open("../pages/empty.html").await?;
    page.eval(&format!(
        "(document.write({}), document.close())",
        json!(format!("{frame}{element}"))
    ))
    .await?;
    let element =
        "document.querySelector('kv-scope')?.shadowRoot?.querySelector('iframe').contentDocument";
    for document in ["document.querySelector('iframe').contentDocument", element] {
        page.until(&shows_total(document)).await?;
        page.until(&format!(
            "{document}.querySelector(\"[data-testid='figure-hbm'] svg\")"
        ))
        .await?;
        page.until(&format!(
            "{document}.querySelector('.kvscope').dataset.theme === 'dark'"
        ))
        .await?;
    }
    Ok(())
}

/// What the share dialog saves.
pub(crate) async fn scenario_and_working_as_files(page: &Page<'_>) -> Result<()> {
    page.open(&format!("#{LINK}")).await?;
    page.shows("total-tokens", TOTAL).await?;
    page.eval(
        "(() => {
            window.saved = [];
            const make = URL.createObjectURL;
            URL.createObjectURL = (blob) => { blob.text().then((text) => window.saved.push(text)); return make(blob); };
        })()",
    )
    .await?;
    page.find("share-open").await?.click().await?;
    page.find("share-tab-files").await?.click().await?;
    for (id, part) in [
        ("save-json", "\"thinking_tokens\": 8000"),
        ("save-markdown", "512 + 8,000 + 300 = 8,812"),
        ("save-latex", "512 + 8{,}000 + 300 = 8{,}812"),
    ] {
        page.find(id).await?.click().await?;
        page.until(&format!("window.saved.at(-1)?.includes({})", json!(part)))
            .await?;
    }
    Ok(())
}

/// The whole page is two sheets of A4.
pub(crate) async fn prints_on_two_sheets(page: &Page<'_>) -> Result<()> {
    page.open(&format!("#{LINK}")).await?;
    page.shows("total-tokens", TOTAL).await?;
    page.until("document.querySelector(\"[data-testid='working'] math\")")
        .await?;
    let params = json!({ "paperWidth": 8.27, "paperHeight": 11.69, "printBackground": true });
    let pdf = page.cdp("Page.printToPDF", params).await?;
    let data = pdf["data"].as_str().unwrap_or_default();
    // A PDF names each of its pages.
    let pages = page
        .eval(&format!(
            "atob({}).match(/\\/Type\\s*\\/Page[^s]/g).length",
            json!(data)
        ))
        .await?;
    ensure!(pages == json!(2), "it prints on {pages} sheets");
    Ok(())
}
