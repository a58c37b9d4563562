//! What stands behind the first view: will it fit, speed and price, after the answer, many requests.

use anyhow::{Context, Result, ensure};
use fantoccini::key::Key;

use crate::page::Page;

/// Brings a section into view, which is worked out from then on.
async fn show(page: &Page<'_>, id: &str) -> Result<()> {
    page.until(&format!(
        "document.querySelector('[data-testid=section-{id}]')"
    ))
    .await?;
    page.eval(&format!(
        "document.querySelector('[data-testid=section-{id}]').scrollIntoView()"
    ))
    .await?;
    Ok(())
}

async fn address(page: &Page<'_>) -> Result<String> {
    let address = page.eval("location.hash").await?;
    Ok(address.as_str().context("an address")?.to_owned())
}

/// What one sees when thinking doubles; then a long run is cancelled; and the link opens with the same settings.
pub(crate) async fn many_requests(page: &Page<'_>) -> Result<()> {
    page.open("").await?;
    show(page, "serve").await?;
    page.shows("serve-metrics", "8,000 thinking tokens").await?;
    page.shows("serve-metrics", "4,000 thinking tokens").await?;
    let preemptions = "[...document.querySelectorAll('[data-testid=serve-metrics] tr')]
        .find(row => row.textContent.startsWith('preemptions'))?.textContent";
    page.until(&format!(
        "({preemptions})?.startsWith('preemptions0') && '0' !== ({preemptions}).slice(12)"
    ))
    .await?;
    page.until("document.querySelector('[data-testid=figure-pool] svg path')")
        .await?;
    page.retype("setting-serve.requests", "100000").await?;
    page.until("!document.querySelector('[data-testid=serve-cancel]').disabled")
        .await?;
    page.find("serve-cancel").await?.click().await?;
    page.shows("serve-status", "Cancelled after").await?;
    page.until("location.hash.includes('serve.requests=100000')")
        .await?;
    page.retype("setting-serve.requests", "40").await?;
    page.until("location.hash.includes('serve.requests=40&')")
        .await?;
    let link = address(page).await?;
    ensure!(link.contains("&serve.versus=thinking:2"), "{link}");
    let other = page.another().await?;
    other.open(&link).await?;
    show(&other, "serve").await?;
    other
        .shows("serve-metrics", "8,000 thinking tokens")
        .await?;
    let value = other.value("setting-serve.requests").await?;
    ensure!(value == "40", "the link opens with {value} requests");
    other.until("document.querySelector('[data-testid=serve-metrics]').textContent.includes('finished40')")
        .await?;
    other.close().await?;
    page.retype("setting-serve.requests", "none").await?;
    page.until(
        "document.querySelector('[data-testid=\"setting-serve.requests\"]').ariaInvalid === 'true'",
    )
    .await
}

/// A pasted trace says how it was read, which the reader may correct; what is none says why; a dropped file is read likewise.
pub(crate) async fn traces(page: &Page<'_>) -> Result<()> {
    page.open("").await?;
    show(page, "serve").await?;
    page.shows("serve-metrics", "8,000 thinking tokens").await?;
    let paste = |text: &str| {
        format!(
            "(() => {{ const field = document.querySelector('[data-testid=serve-trace]');
                field.closest('details').open = true;
                field.value = {};
                field.dispatchEvent(new Event('change', {{ bubbles: true }})); }})()",
            serde_json::Value::from(text)
        )
    };
    let unit = "document.querySelector('[data-testid=serve-trace-unit]')";
    let mooncake = "{\"timestamp\": 0, \"input_length\": 6758, \"output_length\": 500, \"hash_ids\": [0, 1]}\n{\"timestamp\": 30000, \"input_length\": 7322, \"output_length\": 490, \"hash_ids\": [0, 2]}\n";
    page.eval(&paste(mooncake)).await?;
    page.shows("serve-trace-note", "2 requests over 30 s. Arrivals were read as milliseconds: the columns are those of Mooncake's traces.")
        .await?;
    page.until("location.hash.includes('serve.trace=0:6758:0:500;30:7322:0:490')")
        .await?;
    page.until(
        "document.querySelector('[data-testid=serve-metrics]').textContent.includes('finished2')",
    )
    .await?;
    page.until(&format!(
        "{unit}.checkVisibility() && {unit}.value === 'ms'"
    ))
    .await?;
    page.eval(&format!(
        "({unit}.value = 's', {unit}.dispatchEvent(new Event('change', {{ bubbles: true }})))"
    ))
    .await?;
    page.shows(
        "serve-trace-note",
        "Arrivals were read as seconds: you said so.",
    )
    .await?;
    page.until("location.hash.includes('serve.trace=0:6758:0:500;30000:7322:0:490')")
        .await?;
    page.eval(&paste("TIMESTAMP,ContextTokens,GeneratedTokens\n2023-11-16 18:15:46.6805900,374,44\n2023-11-16 18:15:50.9951690,396,109\n"))
        .await?;
    page.shows("serve-trace-note", "Arrivals are dates with times.")
        .await?;
    page.until(&format!("!{unit}.checkVisibility()")).await?;
    page.eval(&paste("arrival,prompt,answer\n0,many,2\n"))
        .await?;
    page.shows(
        "serve-trace-note",
        "line 2 of the trace: \"many\" is not a number. The trace from before stays.",
    )
    .await?;
    page.eval(&paste(" \n")).await?;
    page.until("document.querySelector('[data-testid=serve-trace-note]').textContent === '' && !location.hash.includes('serve.trace=0')")
        .await?;
    let file = std::env::temp_dir().join(format!("kvscope-trace-{}.csv", std::process::id()));
    std::fs::write(
        &file,
        "Timestamp,Model,Request tokens,Response tokens,Total tokens,Log Type\n5,ChatGPT,472,18,490,Conversation log\n45,GPT-4,300,0,300,API log\n65,GPT-4,417,276,693,API log\n",
    )?;
    page.drop_file("serve-trace", &file).await?;
    page.shows(
        "serve-trace-note",
        "2 requests over 1 min. Arrivals were read as seconds: nothing in the trace says another unit. Without prompt or output, 1 more request was left out.",
    )
    .await?;
    std::fs::remove_file(&file)?;
    let said = page
        .eval_async(
            "const kvscope = await import('./pkg/kvscope.js');
             await kvscope.default();
             const trace = [{ arrival_ms: 0, isl: 512, osl: 40 }, { arrival_ms: 1500, isl: '512', osl: 40 }];
             const res = kvscope.simulate({}, { arrivals: 'trace', lengths: 'trace', trace });
             return `${res.trace} ${res.errors.length} ${res.runs[0].report.num_finished}`;",
        )
        .await?;
    ensure!(
        said == "2 requests over 1.5 s. Arrivals were read as milliseconds: the column's name says so. It does not tell thinking from answer, so more thinking cannot run beside it. 0 2",
        "{said}"
    );
    Ok(())
}

/// A scenario that does not fit is mended by a button, and the page follows.
pub(crate) async fn fixed_by_a_button(page: &Page<'_>) -> Result<()> {
    page.open("#v=1&num_seqs=200&tensor_parallel_size=4")
        .await?;
    show(page, "fit").await?;
    page.shows("verdict", "does not fit").await?;
    let fixes = page
        .eval("[...document.querySelectorAll('[data-testid=fix]')].map(fix => fix.textContent)")
        .await?;
    let n_fixes = fixes.as_array().map_or(0, Vec::len);
    ensure!(n_fixes == 5, "five fixes: {fixes}");
    page.eval("[...document.querySelectorAll('[data-testid=fix]')].find(fix => fix.textContent.includes('at once')).click()")
        .await?;
    page.shows("verdict", "It fits on").await?;
    let requests = page.value("field-num_seqs").await?;
    ensure!(requests == "89", "the page shows {requests} requests");
    page.until("location.hash.includes('num_seqs=89&')").await
}

/// Prices and turns are typed over by keyboard, and stand in the link.
pub(crate) async fn price_and_turns(page: &Page<'_>) -> Result<()> {
    page.open("").await?;
    show(page, "speed").await?;
    page.shows("figure-price", "$0.0436").await?;
    page.retype("setting-price.output", "20").await?;
    page.shows("figure-price", "$0.0866").await?;
    show(page, "turns").await?;
    page.shows("figure-turns", "400 and 112").await?;
    page.keys("setting-turns.num_turns", &[Key::Up]).await?;
    page.shows("figure-turns", "call 3 of 3").await?;
    page.until("location.hash.includes('price.output=20&') && location.hash.includes('turns.num_turns=3&')")
        .await?;
    let barriers = page
        .eval("document.querySelectorAll('.about input:not([id]):not([aria-label])').length")
        .await?;
    ensure!(barriers == 0, "{barriers} fields without a name");
    Ok(())
}
