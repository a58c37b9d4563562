//! The browser's driver: starting it, a session of it, and what WebDriver itself cannot say.

use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use fantoccini::error::NewSessionError;
use fantoccini::wd::WebDriverCompatibleCommand;
use fantoccini::{Client, ClientBuilder};
use http::Method;
use hyper_util::client::legacy::connect::HttpConnector;
use serde_json::{Value, json};
use url::{ParseError, Url};
use xtask::setup::Browser;

/// A running driver; it ends with this value.
pub(crate) struct Driver {
    process: Child,
    port: u16,
    browser: Browser,
}

impl Driver {
    /// Starts the driver on a port that is free.
    pub(crate) fn start(browser: Browser) -> Result<Self> {
        let mut process = Command::new(&browser.driver)
            .arg("--port=0")
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .with_context(|| format!("could not start {}", browser.driver.display()))?;
        let stdout = process.stdout.take().context("the driver has no output")?;
        let port = BufReader::new(stdout)
            .lines()
            .map_while(Result::ok)
            .find_map(|line| {
                line.split_once("started successfully on port ")?
                    .1
                    .trim_end_matches('.')
                    .parse()
                    .ok()
            });
        let port = port.context("the driver names no port: is its version the browser's?")?;
        Ok(Self {
            process,
            port,
            browser,
        })
    }

    /// The process, of which the browsers are children.
    pub(crate) fn pid(&self) -> u32 {
        self.process.id()
    }

    /// A browser with nothing in it yet, whose logs are kept. With `trace`, the performance log also
    /// holds what the browser's threads do.
    pub(crate) async fn session(&self, trace: bool) -> Result<Client> {
        let vendor = self.browser.vendor;
        let options = if vendor == "ms" {
            "ms:edgeOptions"
        } else {
            "goog:chromeOptions"
        };
        let mut capabilities = json!({
            options: {
                "binary": self.browser.browser,
                "args": [
                    "--headless",
                    "--no-sandbox",
                    "--disable-gpu",
                    "--disable-quic",
                    "--no-first-run",
                    "--disable-background-networking",
                    "--disable-component-update",
                    "--disable-sync",
                    "--disable-dev-shm-usage",
                    "--force-device-scale-factor=1",
                    "--window-size=1280,1000",
                ],
            },
            format!("{vendor}:loggingPrefs"): { "browser": "ALL", "performance": "ALL" },
        });
        if trace {
            let categories = "devtools.timeline,blink.user_timing";
            capabilities[options]["perfLoggingPrefs"] = json!({ "traceCategories": categories });
        }
        let Value::Object(capabilities) = capabilities else {
            unreachable!("written as an object")
        };
        let mut builder = ClientBuilder::new(HttpConnector::new());
        builder.capabilities(capabilities);
        // The driver says that it has started before it takes its first request.
        let deadline = Instant::now() + Duration::from_secs(20);
        loop {
            match builder
                .connect(&format!("http://127.0.0.1:{}", self.port))
                .await
            {
                Err(NewSessionError::Lost(_) | NewSessionError::FailedC(_))
                    if Instant::now() < deadline =>
                {
                    tokio::time::sleep(Duration::from_millis(50)).await;
                }
                client => return client.context("the driver opened no browser"),
            }
        }
    }

    /// Asks the browser something in its own protocol.
    pub(crate) async fn cdp(&self, client: &Client, method: &str, params: Value) -> Result<Value> {
        let path = format!("{}/cdp/execute", self.browser.vendor);
        let body = json!({ "cmd": method, "params": params });
        Ok(client.issue_cmd(Post { path, body }).await?)
    }

    /// What was logged since the last call: `browser` is the console, `performance` the network.
    pub(crate) async fn log(&self, client: &Client, kind: &str) -> Result<Vec<Value>> {
        let entries = client
            .issue_cmd(Post {
                path: "se/log".into(),
                body: json!({ "type": kind }),
            })
            .await?;
        let Value::Array(entries) = entries else {
            anyhow::bail!("the driver's log is no list: {entries}")
        };
        Ok(entries)
    }
}

impl Drop for Driver {
    fn drop(&mut self) {
        // Its sessions are closed by then; nothing is left to do when it has ended by itself.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// A command that WebDriver leaves to the vendors.
#[derive(Debug)]
struct Post {
    path: String,
    body: Value,
}

impl WebDriverCompatibleCommand for Post {
    fn endpoint(&self, base: &Url, session: Option<&str>) -> Result<Url, ParseError> {
        base.join(&format!(
            "session/{}/{}",
            session.unwrap_or_default(),
            self.path
        ))
    }

    fn method_and_body(&self, _: &Url) -> (Method, Option<String>) {
        (Method::POST, Some(self.body.to_string()))
    }
}
