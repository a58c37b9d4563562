//! The page as a person meets it: what it shows, and pointer and keys to use it with.

use std::cell::RefCell;
use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};
use fantoccini::actions::{
    Actions, InputSource, KeyAction, KeyActions, MOUSE_BUTTON_LEFT, MouseActions, PointerAction,
};
use fantoccini::elements::Element;
use fantoccini::key::Key;
use fantoccini::{Client, Locator};
use serde_json::{Value, json};

use crate::driver::Driver;

/// How long anything on the page may take before a test gives up on it.
const DEADLINE: Duration = Duration::from_secs(10);

/// One browser window.
pub(crate) struct Page<'a> {
    driver: &'a Driver,
    client: Client,
    /// The address of `dist/`.
    base: String,
    requests: RefCell<Vec<String>>,
    console: RefCell<Vec<String>>,
}

impl<'a> Page<'a> {
    /// An empty window; `base` is where `dist/` is served, with a slash at its end.
    pub(crate) async fn new(driver: &'a Driver, base: &str) -> Result<Self> {
        Self::with(driver.session(false).await?, driver, base)
    }

    /// The same with a trace of what the browser does.
    pub(crate) async fn traced(driver: &'a Driver, base: &str) -> Result<Self> {
        Self::with(driver.session(true).await?, driver, base)
    }

    fn with(client: Client, driver: &'a Driver, base: &str) -> Result<Self> {
        Ok(Self {
            driver,
            client,
            base: base.into(),
            requests: RefCell::default(),
            console: RefCell::default(),
        })
    }

    /// Another window, in a browser of its own.
    pub(crate) async fn another(&self) -> Result<Page<'a>> {
        Page::new(self.driver, &self.base).await
    }

    /// Opens `path` below `dist/`, for example `""` or `"#v=1&thinking_tokens=8000"`.
    pub(crate) async fn open(&self, path: &str) -> Result<()> {
        Ok(self.client.goto(&format!("{}{path}", self.base)).await?)
    }

    /// The driver's client, for what has no helper here.
    pub(crate) fn client(&self) -> &Client {
        &self.client
    }

    /// Asks the browser something in its own protocol.
    pub(crate) async fn cdp(&self, method: &str, params: Value) -> Result<Value> {
        self.driver.cdp(&self.client, method, params).await
    }

    /// The value of a JavaScript expression.
    pub(crate) async fn eval(&self, expression: &str) -> Result<Value> {
        Ok(self
            .client
            .execute(&format!("return ({expression})"), vec![])
            .await?)
    }

    /// What the body of an async JavaScript function returns.
    pub(crate) async fn eval_async(&self, body: &str) -> Result<Value> {
        let script = format!(
            "const done = arguments[arguments.length - 1];
             (async () => {{ {body} }})().then(done, error => done(String(error)))"
        );
        Ok(self.client.execute_async(&script, vec![]).await?)
    }

    /// Waits until a JavaScript expression is truthy.
    pub(crate) async fn until(&self, expression: &str) -> Result<()> {
        let truth = format!("Boolean({expression})");
        let deadline = Instant::now() + DEADLINE;
        while self.eval(&truth).await? != Value::Bool(true) {
            ensure!(
                Instant::now() < deadline,
                "still not so after {DEADLINE:?}: {expression}"
            );
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        Ok(())
    }

    /// The element with this `data-testid`, once it is there.
    pub(crate) async fn find(&self, id: &str) -> Result<Element> {
        let css = format!("[data-testid='{id}']");
        let found = self
            .client
            .wait()
            .at_most(DEADLINE)
            .for_element(Locator::Css(&css))
            .await;
        found.with_context(|| format!("nothing on the page has the data-testid {id:?}"))
    }

    /// What the element shows. An element that the page is just replacing is asked for again.
    pub(crate) async fn text(&self, id: &str) -> Result<String> {
        loop {
            match self.find(id).await?.text().await {
                Err(err) if err.is_stale_element_reference() => {}
                text => return Ok(text?),
            }
        }
    }

    /// What the element's `value` is.
    pub(crate) async fn value(&self, id: &str) -> Result<String> {
        Ok(self
            .find(id)
            .await?
            .prop("value")
            .await?
            .unwrap_or_default())
    }

    /// Waits until what the element shows contains `part`.
    pub(crate) async fn shows(&self, id: &str, part: &str) -> Result<()> {
        let deadline = Instant::now() + DEADLINE;
        loop {
            let text = self.text(id).await?;
            if text.contains(part) {
                return Ok(());
            }
            ensure!(
                Instant::now() < deadline,
                "{id} shows {text:?}, which does not contain {part:?}"
            );
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }

    /// Presses and releases each key, with the focus on the element.
    pub(crate) async fn keys(&self, id: &str, keys: &[Key]) -> Result<()> {
        self.find(id).await?;
        self.client
            .execute(
                &format!("document.querySelector(\"[data-testid='{id}']\").focus()"),
                vec![],
            )
            .await?;
        let mut keyboard = KeyActions::new("keyboard".into());
        for key in keys {
            let value = char::from(*key);
            keyboard = keyboard
                .then(KeyAction::Down { value })
                .then(KeyAction::Up { value });
        }
        Ok(self.client.perform_actions(Actions::from(keyboard)).await?)
    }

    /// Presses and releases one key, wherever the focus is.
    pub(crate) async fn press(&self, key: Key) -> Result<()> {
        let value = char::from(key);
        let keyboard = KeyActions::new("keyboard".into())
            .then(KeyAction::Down { value })
            .then(KeyAction::Up { value });
        Ok(self.client.perform_actions(Actions::from(keyboard)).await?)
    }

    /// Replaces what is in a field, and leaves it with Enter.
    pub(crate) async fn retype(&self, id: &str, text: &str) -> Result<()> {
        let element = self.find(id).await?;
        element.click().await?;
        let all = format!("{}a{}", char::from(Key::Control), char::from(Key::Null));
        element
            .send_keys(&format!("{all}{text}{}", char::from(Key::Enter)))
            .await?;
        Ok(())
    }

    /// Drags a slider's thumb from where it is by `dx` pixels, in `steps` real moves.
    pub(crate) async fn drag_slider(&self, id: &str, dx: f64, steps: u32) -> Result<()> {
        let [x, y] = self.thumb(id).await?;
        self.drag([x, y], [x + dx, y], steps).await
    }

    /// Drags a slider's thumb to and fro, one pixel a move and never further than `reach` pixels.
    pub(crate) async fn drag_slider_to_and_fro(
        &self,
        id: &str,
        reach: u32,
        steps: u32,
    ) -> Result<()> {
        let [x, y] = self.thumb(id).await?;
        let path = (0..=steps).map(|step| {
            let way = step % (2 * reach);
            [x + f64::from(way.min(2 * reach - way)), y]
        });
        self.drag_along(path).await
    }

    /// The middle of a slider's thumb in the window, into which it is scrolled.
    async fn thumb(&self, id: &str) -> Result<[f64; 2]> {
        let element = self.find(id).await?;
        let at = self
            .client
            .execute(
                "const input = arguments[0];
                 input.scrollIntoView({ block: 'center', behavior: 'instant' });
                 const box = input.getBoundingClientRect();
                 const [min, max] = [Number(input.min), Number(input.max)];
                 const part = (Number(input.value) - min) / (max - min);
                 const thumb = 16;
                 return [box.left + thumb / 2 + part * (box.width - thumb), box.top + box.height / 2];",
                vec![serde_json::to_value(&element)?],
            )
            .await?;
        point(&at)
    }

    /// Drags from the middle of the element by `dx` pixels, in `steps` real moves.
    pub(crate) async fn drag_element(&self, id: &str, dx: f64, steps: u32) -> Result<()> {
        let [x, y] = self.middle(id).await?;
        self.drag([x, y], [x + dx, y], steps).await
    }

    /// The middle of the element in the window, into which it is scrolled.
    async fn middle(&self, id: &str) -> Result<[f64; 2]> {
        let element = serde_json::to_value(self.find(id).await?)?;
        let at = self
            .client
            .execute(
                "arguments[0].scrollIntoView({ block: 'center', behavior: 'instant' });
                 const box = arguments[0].getBoundingClientRect();
                 return [box.left + box.width / 2, box.top + box.height / 2];",
                vec![element],
            )
            .await?;
        point(&at)
    }

    /// Presses the pointer at one place of the window and releases it at another.
    async fn drag(&self, from: [f64; 2], to: [f64; 2], steps: u32) -> Result<()> {
        let path = (0..=steps).map(|step| {
            let part = f64::from(step) / f64::from(steps);
            [0, 1].map(|axis| from[axis] + part * (to[axis] - from[axis]))
        });
        self.drag_along(path).await
    }

    /// Presses the pointer at the first place and releases it at the last.
    async fn drag_along(&self, path: impl IntoIterator<Item = [f64; 2]>) -> Result<()> {
        let button = MOUSE_BUTTON_LEFT;
        let mut pointer = MouseActions::new("pointer".into());
        for (idx, [x, y]) in path.into_iter().enumerate() {
            pointer = pointer.then(PointerAction::MoveTo {
                duration: None,
                x,
                y,
            });
            if idx == 0 {
                pointer = pointer.then(PointerAction::Down { button });
            }
        }
        let pointer = pointer.then(PointerAction::Up { button });
        Ok(self.client.perform_actions(Actions::from(pointer)).await?)
    }

    /// Drops a file from the desktop onto the element.
    pub(crate) async fn drop_file(&self, id: &str, file: &Path) -> Result<()> {
        self.drop_files(id, &[file]).await
    }

    /// Drops files from the desktop onto the element, all at once.
    pub(crate) async fn drop_files(&self, id: &str, files: &[&Path]) -> Result<()> {
        let [x, y] = self.middle(id).await?;
        for kind in ["dragEnter", "dragOver", "drop"] {
            let params = json!({
                "type": kind,
                "x": x,
                "y": y,
                "data": { "items": [], "files": files, "dragOperationsMask": 1 },
            });
            self.cdp("Input.dispatchDragEvent", params).await?;
        }
        Ok(())
    }

    /// Shows the page in a window of this many CSS pixels.
    pub(crate) async fn resize(&self, width: u32, height: u32) -> Result<()> {
        let params =
            json!({ "width": width, "height": height, "deviceScaleFactor": 1, "mobile": false });
        self.cdp("Emulation.setDeviceMetricsOverride", params)
            .await
            .map(drop)
    }

    /// Makes the system's theme `light` or `dark`.
    pub(crate) async fn theme(&self, theme: &str) -> Result<()> {
        let params = json!({ "features": [{ "name": "prefers-color-scheme", "value": theme }] });
        self.cdp("Emulation.setEmulatedMedia", params)
            .await
            .map(drop)
    }

    /// Fails on what axe-core calls a serious or critical barrier.
    pub(crate) async fn accessible(&self) -> Result<()> {
        let axe = xtask::setup::node_modules()?.join("axe-core/axe.min.js");
        let axe = std::fs::read_to_string(axe).context("no axe-core")?;
        self.client.execute(&axe, vec![]).await?;
        let violations = self
            .client
            .execute_async(
                "const done = arguments[arguments.length - 1];
                 axe.run(document, { resultTypes: ['violations'] }).then(
                     result => done(result.violations
                         .filter(found => ['serious', 'critical'].includes(found.impact))
                         .map(found => `${found.id} (${found.impact}): `
                             + found.nodes.map(node => node.target.join(' ')).join(', '))),
                     error => done([String(error)]))",
                vec![],
            )
            .await?;
        let violations = violations.as_array().context("axe-core gave no list")?;
        ensure!(violations.is_empty(), "axe-core: {}", json!(violations));
        Ok(())
    }

    /// The addresses requested since the page was opened, in order.
    pub(crate) async fn requests(&self) -> Result<Vec<String>> {
        for entry in self.driver.log(&self.client, "performance").await? {
            let message: Value =
                serde_json::from_str(entry["message"].as_str().unwrap_or_default())?;
            let message = &message["message"];
            if message["method"] == "Network.requestWillBeSent" {
                let url = message["params"]["request"]["url"]
                    .as_str()
                    .unwrap_or_default();
                self.requests.borrow_mut().push(url.to_owned());
            }
        }
        Ok(self.requests.borrow().clone())
    }

    /// What a traced browser did since it was opened, in the trace's own form. The trace ends here.
    pub(crate) async fn trace(&self) -> Result<Vec<Value>> {
        let mut events = Vec::new();
        for entry in self.driver.log(&self.client, "performance").await? {
            let mut message: Value =
                serde_json::from_str(entry["message"].as_str().unwrap_or_default())?;
            if message["message"]["method"] == "Tracing.dataCollected" {
                events.push(message["message"]["params"].take());
            }
        }
        Ok(events)
    }

    /// The console's errors since the window was opened.
    pub(crate) async fn errors(&self) -> Result<Vec<String>> {
        for entry in self.driver.log(&self.client, "browser").await? {
            if entry["level"] == "SEVERE" {
                let message = entry["message"].as_str().unwrap_or_default();
                self.console.borrow_mut().push(message.to_owned());
            }
        }
        Ok(self.console.borrow().clone())
    }

    /// Fails if the console holds an error or anything was asked of another host.
    pub(crate) async fn clean(&self) -> Result<()> {
        let errors = self.errors().await?;
        ensure!(errors.is_empty(), "the console says {errors:?}");
        let host = url::Url::parse(&self.base)?.origin();
        for request in self.requests().await? {
            let url = url::Url::parse(&request)?;
            if ["http", "https", "ws", "wss"].contains(&url.scheme()) && url.origin() != host {
                bail!("the page asked for {request}");
            }
        }
        Ok(())
    }

    /// Saves what the window shows.
    pub(crate) async fn screenshot(&self, file: &Path) -> Result<()> {
        Ok(std::fs::write(file, self.client.screenshot().await?)?)
    }

    /// Closes the window.
    pub(crate) async fn close(self) -> Result<()> {
        Ok(self.client.close().await?)
    }
}

/// Two numbers that JavaScript gave as a list.
fn point(value: &Value) -> Result<[f64; 2]> {
    match (value[0].as_f64(), value[1].as_f64()) {
        (Some(x), Some(y)) => Ok([x, y]),
        _ => bail!("{value} is not a place"),
    }
}
