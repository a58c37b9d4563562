//! What learners and teachers do, and the page in other languages.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};
use fantoccini::key::Key;
use kvscope::view::text::pseudo::Pseudo;
use serde_json::json;
use xtask::server::Mount;
use xtask::{dist_dir, target_dir};

use crate::page::Page;

/// Types into whatever has the focus, which must be the element called `id`, and presses Enter.
async fn type_into(page: &Page<'_>, id: &str, text: &str) -> Result<()> {
    page.until(&format!("document.activeElement.dataset.testid === '{id}'"))
        .await?;
    let active = page.client().active_element().await?;
    Ok(active
        .send_keys(&format!("{text}{}", char::from(Key::Enter)))
        .await?)
}

/// A round without a pointer: a named slip, a right answer, one that is probed, a number that slips share.
pub(crate) async fn predict_by_keyboard(page: &Page<'_>) -> Result<()> {
    page.open("").await?;
    page.keys("predict-open", &[Key::Enter]).await?;
    page.shows("predict-step", "Question 1 of 7").await?;
    page.until("document.elementFromPoint(12, innerHeight / 2).closest('dialog')")
        .await
        .context("the page is not covered")?;
    type_into(page, "predict-answer", "4000").await?;
    page.shows("predict-said", "512 prompt tokens stand before it")
        .await?;
    // What is typed now takes the place of the wrong answer.
    type_into(page, "predict-answer", "4812").await?;
    page.shows("predict-said", "Right: 4,812 tokens.").await?;
    page.shows("predict-working", "512 + 4,000 + 300").await?;
    page.accessible().await?;
    type_into(page, "predict-next", "").await?;

    page.shows("predict-step", "Question 2 of 7").await?;
    type_into(page, "predict-answer", "320").await?;
    page.until("document.querySelector('.predict .answer .message').textContent.includes('7.4 %')")
        .await
        .context("the unit is not asked for")?;
    type_into(page, "predict-answer", "320 KiB").await?;
    page.shows("predict-follow-up", "Llama 3.1 8B").await?;
    type_into(page, "follow-up-answer", "128 KiB").await?;
    page.shows("predict-said", "the idea holds").await?;
    type_into(page, "predict-next", "").await?;

    page.shows("predict-step", "Question 3 of 7").await?;
    type_into(page, "predict-answer", "12.614 GB").await?;
    page.shows("predict-said", "Several ways lead to 12.614 GB")
        .await?;
    page.shows("predict-follow-up", "one head's key").await?;
    type_into(page, "follow-up-answer", "1024").await?;
    page.shows("predict-said", "is not the size of a head")
        .await?;
    type_into(page, "predict-answer", "1.577 MB").await?;
    page.shows("predict-said", "Is that what you typed?")
        .await?;
    page.keys("predict-meant-true", &[Key::Enter]).await?;
    page.shows("predict-said", "Right: 1.469 GiB").await?;
    type_into(page, "follow-up-answer", "131072 B").await?;
    page.shows("predict-working", "4,812 × ").await?;
    // Progress is kept while the page is there.
    page.press(Key::Escape).await?;
    page.until("!document.querySelector('dialog[open]')")
        .await?;
    page.keys("predict-open", &[Key::Enter]).await?;
    page.shows("predict-step", "Question 3 of 7").await
}

/// A teacher's questions in a frame: nothing gives the answer away, hints lead to the working, the page around it is told.
pub(crate) async fn predict_by_link(page: &Page<'_>) -> Result<()> {
    page.open("#v=1&embed=predict&predict=tokens,per_seq_bytes")
        .await?;
    page.shows("predict-step", "Question 1 of 2").await?;
    page.shows("questions", "These questions were chosen for you.")
        .await?;
    page.until("!document.body.textContent.includes('4,812')")
        .await?;
    page.eval("(window.results = [], addEventListener('kvscope:result', (event) => results.push(event.detail)))")
        .await?;
    page.retype("predict-answer", "4,812").await?;
    page.shows("predict-said", "Right").await?;
    page.find("predict-next").await?.click().await?;
    for hint in 1..=3 {
        page.shows("predict-hint", &format!("Hint {hint} of 3"))
            .await?;
        page.find("predict-hint").await?.click().await?;
    }
    page.shows("predict-hint", "Show the working").await?;
    page.find("predict-hint").await?.click().await?;
    page.shows("predict-working", "1,576,796,160 B").await?;
    page.find("predict-next").await?.click().await?;
    page.shows("predict-summary", "1 of 2 right").await?;
    let result = page.eval("window.results.at(-1)").await?;
    ensure!(
        result["is_done"] == true && result["text"] == "tokens 1 0 r;per_seq_bytes 0 3 w",
        "the page around it was told {result}"
    );
    page.accessible().await?;
    // A new question is another scenario; its link asks everybody the same.
    page.find("predict-level")
        .await?
        .select_by_value("3")
        .await?;
    page.find("predict-new").await?.click().await?;
    page.shows("predict-step", "Question 1 of").await?;
    page.until("document.querySelector(\"[data-testid='predict-link']\").value.includes('predict_level=3&predict_seed=')")
        .await?;
    // On the whole page the questions open by themselves, and the link stays.
    page.open("?whole#v=1&predict=fits").await?;
    page.shows("predict-step", "Question 1 of 1").await?;
    page.find("predict-yes").await?.click().await?;
    page.shows("predict-said", "Right: Yes.").await?;
    page.until("location.hash.includes('predict=fits')").await
}

/// The course: every part opens, the pages fill, and what is tried is on the page.
pub(crate) async fn concept_opens(page: &Page<'_>) -> Result<()> {
    page.open("").await?;
    page.find("concept-open").await?.click().await?;
    page.until("document.activeElement.dataset.testid === 'concept'")
        .await?;
    // The sections above it are filled when they come near, and it stays where it is.
    page.until("document.querySelector(\"[data-testid='section-serve'] figure svg\")")
        .await?;
    page.until(
        "(() => {
            const { top } = document.querySelector(\"[data-testid='concept']\").getBoundingClientRect();
            const isAtEnd = document.documentElement.scrollHeight - 2 <= scrollY + innerHeight;
            return Math.abs(top) < 40 || isAtEnd && 0 < top && top < innerHeight / 2;
        })()",
    )
    .await?;
    let parts = page
        .eval("[...document.querySelectorAll(\"[data-testid='concept'] details\")].map((part) => (part.open = true, part.dataset.testid))")
        .await?;
    ensure!(
        parts.as_array().map(Vec::len) == Some(14),
        "the parts are {parts}"
    );
    page.shows("concept-arithmetic", "4,812 × 327,680 B")
        .await?;
    page.shows("notebook", "512 tokens, 32 pages").await?;
    page.find("notebook-play").await?.click().await?;
    page.until("Number(document.querySelector(\"[data-testid='notebook-step']\").value) > 3")
        .await?;
    page.find("notebook-play").await?.click().await?;
    page.eval(
        "document.querySelector(\"[data-testid='concept-interview'] details > summary\").click()",
    )
    .await?;
    page.shows("concept-interview", "Queries are not kept.")
        .await?;
    page.accessible().await?;
    page.eval("document.querySelector(\"[data-testid='concept-what'] button.try\").click()")
        .await?;
    page.shows("total-tokens", "8,812").await?;
    page.shows("concept-arithmetic", "8,812 × 327,680 B").await
}

pub(crate) async fn typical_requests(page: &Page<'_>) -> Result<()> {
    page.open("").await?;
    page.shows("lengths-open", "A logic puzzle").await?;
    page.find("lengths-open").await?.click().await?;
    page.shows("lengths", "7,379").await?;
    page.accessible().await?;
    page.find("lengths-aime-problem").await?.click().await?;
    page.shows("total-tokens", "12,850").await?;
    page.shows("lengths-open", "A competition problem").await
}

/// The page in Chinese: chosen in its header, kept in its link, with its own way to type numbers.
pub(crate) async fn another_language(page: &Page<'_>) -> Result<()> {
    page.open("").await?;
    page.shows("total-tokens", "4,812").await?;
    page.find("language").await?.select_by_value("zh").await?;
    page.until("document.documentElement.lang === 'zh-Hans'")
        .await?;
    page.shows("sentence", "提示词").await?;
    page.shows("working", "80 层").await?;
    page.until("location.hash.includes('lang=zh')").await?;
    page.client().refresh().await?;
    page.shows("sentence", "提示词").await?;
    page.find("predict-open").await?.click().await?;
    page.shows("predict-step", "第 1 题").await?;
    page.retype("predict-answer", "0.4812 万").await?;
    page.shows("predict-working", "512 + 4,000 + 300").await?;
    page.press(Key::Escape).await?;
    // What a teacher puts into a course speaks the same language.
    page.find("share-open").await?.click().await?;
    page.find("share-tab-embed").await?.click().await?;
    page.until("document.querySelector(\"[data-testid='embed-preview']\")?.contentDocument?.querySelector(\"[data-testid='sentence']\")?.textContent.includes('提示词')")
        .await?;
    page.press(Key::Escape).await?;
    page.find("language").await?.select_by_value("en").await?;
    page.shows("sentence", "A request prefills").await?;
    page.until("document.documentElement.lang === 'en' && !location.hash.includes('lang=')")
        .await?;
    // What was answered stays answered.
    page.find("predict-open").await?.click().await?;
    page.shows("predict-step", "Question 1 of 7").await?;
    page.shows("predict-working", "512 + 4,000 + 300").await
}

/// What the importer says is in the language of the page, in the panels and in the first view, and changes with it.
pub(crate) async fn importer_in_another_language(page: &Page<'_>) -> Result<()> {
    let model = "%7B%22config%22:%7B%22model_type%22:%22newest%22,%22num_hidden_layers%22:2,%22num_attention_heads%22:8,%22hidden_size%22:512%7D%7D";
    page.open(&format!("#v=1&lang=zh&model={model}")).await?;
    page.shows("notes", "不认识 model_type \"newest\"").await?;
    page.find("import-open").await?.click().await?;
    page.find("import-text")
        .await?
        .send_keys("{\"weight_map\": 1}")
        .await?;
    page.find("import-use").await?.click().await?;
    page.shows("import-message", "索引不是应有的 JSON").await?;
    page.press(Key::Escape).await?;
    page.find("language").await?.select_by_value("en").await?;
    page.shows("notes", "model_type \"newest\" is not known")
        .await
}

/// Folders in which the page's Chinese is another language: what a test opens, and how it is made.
const FOLDERS: [(&str, Option<Pseudo>); 3] = [
    ("", None),
    ("../long/", Some(Pseudo::Long)),
    ("../mirrored/", Some(Pseudo::RightToLeft)),
];

/// The folders that the server shows beside the page.
pub(crate) fn folders() -> Result<Vec<Mount>> {
    let mut res = Vec::new();
    for (name, pseudo) in FOLDERS {
        let Some(pseudo) = pseudo else { continue };
        let name = name.trim_matches(['.', '/']);
        let folder = target_dir().join("browser-tests").join(name);
        if folder.exists() {
            std::fs::remove_dir_all(&folder)?;
        }
        copy_plain(&dist_dir(), &folder)?;
        for (file, words) in pseudo.exports("zh") {
            std::fs::write(hashed(&folder.join("pkg/text"), &file)?, words)?;
        }
        res.push(Mount {
            path: format!("/some/{name}/"),
            folder,
        });
    }
    Ok(res)
}

/// The file that is called `name` but for the hash in it.
fn hashed(folder: &Path, name: &str) -> Result<PathBuf> {
    let (stem, _) = name.split_once('.').context("a name with an extension")?;
    for entry in std::fs::read_dir(folder)? {
        let path = entry?.path();
        let found = path.file_name().unwrap_or_default().to_string_lossy();
        if found.starts_with(&format!("{stem}-")) {
            return Ok(path);
        }
    }
    anyhow::bail!("there is no {name} in {}", folder.display())
}

/// Copies a folder without its compressed files.
fn copy_plain(from: &Path, to: &Path) -> Result<()> {
    std::fs::create_dir_all(to)?;
    for entry in std::fs::read_dir(from)? {
        let path = entry?.path();
        let target = to.join(path.file_name().unwrap_or_default());
        let is_compressed = path
            .extension()
            .is_some_and(|extension| extension == "br" || extension == "gz");
        if path.is_dir() {
            copy_plain(&path, &target)?;
        } else if !is_compressed {
            std::fs::copy(&path, &target)?;
        }
    }
    Ok(())
}

/// Words that do not fit where they stand, and where that is.
const CLIPPED: &str = "(() => {
    const scrollers = '.scroll, pre, .formula, .steps, textarea, .hidden';
    const shown = (element) => element.checkVisibility() && !element.closest(scrollers);
    const name = (element) => `${element.tagName} ${element.className} ${element.textContent.slice(0, 60)}`;
    const found = [];
    for (const element of document.querySelectorAll('button, label, legend, summary, h2, h3, p, li, output, figcaption')) {
        if (!shown(element)) continue;
        const box = element.getBoundingClientRect();
        const isCut = getComputedStyle(element).display !== 'inline' && element.clientWidth + 1 < element.scrollWidth;
        if (isCut || box.left < -1 || innerWidth + 1 < box.right) found.push(name(element));
    }
    for (const label of document.querySelectorAll('svg.chart text')) {
        if (!shown(label)) continue;
        const [box, room] = [label, label.closest('svg')].map((element) => element.getBoundingClientRect());
        if (box.left < room.left - 3 || room.right + 3 < box.right) found.push(name(label));
    }
    return found;
})()";

/// Words of the page that are in no table: two English ones in a row, where every letter should run the other way.
const ENGLISH: &str = "(() => {
    const skipped = 'script, style, noscript, pre, code, math, textarea, select, [lang=en], a[href], .notes, details:not([open])';
    const isEnglish = (words) => /[a-z]{3,} [a-z]{3,}/.test(words);
    const found = [];
    const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
    while (walker.nextNode()) {
        const { data, parentElement } = walker.currentNode;
        if (isEnglish(data) && !parentElement.closest(skipped) && parentElement.checkVisibility()) found.push(data);
    }
    for (const name of ['aria-label', 'title', 'placeholder', 'aria-valuetext']) {
        for (const element of document.querySelectorAll(`[${name}]`)) {
            if (isEnglish(element.getAttribute(name))) found.push(`${name}: ${element.getAttribute(name)}`);
        }
    }
    return found;
})()";

async fn nothing_is_wrong_with(page: &Page<'_>, what: &str, is_mirrored: bool) -> Result<()> {
    let [content, window] = [
        page.eval("document.documentElement.scrollWidth").await?,
        page.eval("document.documentElement.clientWidth").await?,
    ];
    ensure!(
        content == window,
        "{what}: {content} px of content in {window} px"
    );
    let clipped = page.eval(CLIPPED).await?;
    ensure!(clipped == json!([]), "{what}: clipped are {clipped}");
    if is_mirrored {
        let english = page.eval(ENGLISH).await?;
        ensure!(
            english == json!([]),
            "{what}: not in the tables are {english}"
        );
    }
    Ok(())
}

/// Words that are longer, run from right to left, or are of another script find their place, on phones too.
pub(crate) async fn words_find_their_place(page: &Page<'_>) -> Result<()> {
    for (folder, pseudo) in FOLDERS {
        for width in [390, 1360] {
            let what = format!("{} at {width} px", pseudo.map_or("zh", Pseudo::lang));
            let is_mirrored = pseudo == Some(Pseudo::RightToLeft);
            page.resize(width, 900).await?;
            page.open(&format!("{folder}?{width}#v=1&lang=zh")).await?;
            page.until("document.documentElement.lang !== 'en'").await?;
            page.until("document.querySelector(\"[data-testid='working'] math\")")
                .await?;
            page.until("document.querySelector(\"[data-testid='concept-what']\")")
                .await?;
            nothing_is_wrong_with(page, &what, is_mirrored).await?;
            page.eval("document.querySelector(\"[data-testid='concept-notebook']\").open = true")
                .await?;
            page.find("notebook").await?;
            nothing_is_wrong_with(page, &format!("the course, {what}"), is_mirrored).await?;
            page.find("predict-open").await?.click().await?;
            page.find("predict-step").await?;
            page.retype("predict-answer", "4000").await?;
            page.until("document.querySelector(\"[data-testid='predict-said']\").textContent")
                .await?;
            nothing_is_wrong_with(page, &format!("predict first, {what}"), is_mirrored).await?;
        }
    }
    Ok(())
}
