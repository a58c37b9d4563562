//! Tests of the tests: that their tools use real events, and that their checks can fail.

use anyhow::{Result, ensure};
use fantoccini::key::Key;

use crate::page::Page;

/// The tools of these tests, on a page of their own.
pub(crate) async fn tools_use_real_events(page: &Page<'_>) -> Result<()> {
    page.open("../pages/harness.html").await?;
    page.drag_slider("slider", 40.0, 4).await?;
    page.shows("log", "down:true input:").await?;
    let dragged: i32 = page.value("slider").await?.parse()?;
    ensure!(10 < dragged, "the slider was dragged to {dragged}");
    page.keys("slider", &[Key::Home, Key::Right]).await?;
    page.shows("log", "input:0 input:1").await?;
    page.retype("field", "new").await?;
    page.shows("log", "typed:new").await?;
    let file = xtask::root().join("rust-toolchain.toml");
    page.drop_file("drop", &file).await?;
    let bytes = std::fs::metadata(&file)?.len();
    page.shows("log", &format!("dropped:rust-toolchain.toml:{bytes}"))
        .await?;
    page.resize(390, 800).await?;
    page.until("innerWidth === 390").await?;
    page.theme("dark").await?;
    page.until("matchMedia('(prefers-color-scheme: dark)').matches")
        .await?;
    page.accessible().await
}

/// That the checks which end every test can fail.
pub(crate) async fn tools_see_trouble(page: &Page<'_>) -> Result<()> {
    for (fragment, trouble) in [
        ("#error", "on purpose"),
        ("#foreign", "elsewhere.png"),
        ("#barrier", "button-name"),
    ] {
        let window = page.another().await?;
        window
            .open(&format!("../pages/harness.html{fragment}"))
            .await?;
        window.until("document.readyState === 'complete'").await?;
        let found = match window.accessible().await {
            Ok(()) => window.clean().await,
            barrier => barrier,
        };
        window.close().await?;
        let found = format!("{:?}", found.err());
        ensure!(found.contains(trouble), "{fragment} was told as {found}");
    }
    Ok(())
}
