//! What a fresh machine lacks: added here where that is possible, named in one line where not.

use std::env;
use std::fs;
use std::path::PathBuf;
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail};

use crate::run;

/// The target that the page is compiled for.
pub const WASM_TARGET: &str = "wasm32-unknown-unknown";

/// Adds the wasm target when it is missing: rustup's automatic installation may be switched off.
pub fn wasm_target() -> Result<()> {
    let sysroot = PathBuf::from(run::read(
        Command::new(rustc()).args(["--print", "sysroot"]),
    )?);
    if sysroot.join("lib/rustlib").join(WASM_TARGET).is_dir() {
        return Ok(());
    }
    if find(&["rustup"]).is_none() {
        bail!(
            "the Rust target {WASM_TARGET} is missing: install Rust through rustup, or add the target to {}",
            sysroot.display()
        );
    }
    run::run(
        Command::new("rustup")
            .args(["target", "add", WASM_TARGET])
            .current_dir(crate::root()),
    )
}

/// The compiler that cargo runs us with.
pub fn rustc() -> PathBuf {
    env::var_os("RUSTC").map_or_else(|| "rustc".into(), PathBuf::from)
}

/// The cargo that runs us.
pub fn cargo() -> Command {
    let mut cargo = Command::new(env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    cargo.current_dir(crate::root());
    cargo
}

/// The first of `names` that is a file in a folder of `PATH`, or itself a path to a file.
pub fn find(names: &[&str]) -> Option<PathBuf> {
    let path = env::var_os("PATH").unwrap_or_default();
    let folders: Vec<PathBuf> = env::split_paths(&path).collect();
    names.iter().find_map(|name| {
        let in_path = folders.iter().map(|folder| folder.join(name));
        in_path
            .map(|file| file.with_extension(env::consts::EXE_EXTENSION))
            .find(|file| file.is_file())
    })
}

/// A browser and the program that drives it.
pub struct Browser {
    /// The browser itself.
    pub browser: PathBuf,
    /// Its WebDriver.
    pub driver: PathBuf,
    /// Where its driver reads options: `goog:chromeOptions`, or `ms:edgeOptions` for Edge.
    pub vendor: &'static str,
}

/// Names of a browser and of its driver, and the vendor's prefix in WebDriver.
const BROWSERS: [(&[&str], &[&str], &str); 2] = [
    (
        &[
            "chromium",
            "chromium-browser",
            "google-chrome",
            "google-chrome-stable",
            "chrome",
            "/Applications/Google Chrome.app/Contents/MacOS/Google Chrome",
            "/Applications/Chromium.app/Contents/MacOS/Chromium",
            "C:/Program Files/Google/Chrome/Application/chrome.exe",
        ],
        &["chromedriver", "/usr/lib/chromium/chromedriver"],
        "goog",
    ),
    (
        &[
            "microsoft-edge",
            "microsoft-edge-stable",
            "msedge",
            "/Applications/Microsoft Edge.app/Contents/MacOS/Microsoft Edge",
            "C:/Program Files (x86)/Microsoft/Edge/Application/msedge.exe",
        ],
        &["msedgedriver"],
        "ms",
    ),
];

/// An installed browser with its driver; on Debian and Ubuntu, root installs Chromium.
pub fn browser() -> Result<Browser> {
    let installed = || {
        BROWSERS.iter().find_map(|&(browser, driver, vendor)| {
            Some(Browser {
                browser: find(browser)?,
                driver: find(driver)?,
                vendor,
            })
        })
    };
    if let Some(browser) = installed() {
        return Ok(browser);
    }
    // A bare system has no font either, and text without a font has no width.
    match distribution().as_deref() {
        Some("debian") => apt_install(&["chromium", "chromium-driver", "fonts-liberation"])?,
        Some("ubuntu") => apt_install(&[
            "chromium-browser",
            "chromium-chromedriver",
            "fonts-liberation",
        ])?,
        _ => {}
    }
    installed().context("install Chromium, Chrome or Edge and the driver of the same version (chromedriver or msedgedriver), both on PATH")
}

/// Node.js, which runs the tests of the JavaScript API; on Debian and Ubuntu, root installs it.
pub fn node() -> Result<PathBuf> {
    find_or_install("node", "nodejs")
}

/// npm, which fetches the packages that only the tests use.
pub fn npm() -> Result<PathBuf> {
    find_or_install("npm", "npm")
}

fn find_or_install(program: &str, package: &str) -> Result<PathBuf> {
    if find(&[program]).is_none() && distribution().is_some() {
        apt_install(&[package])?;
    }
    find(&[program]).with_context(|| {
        format!("install Node.js 18 or newer with npm: there is no {program} on PATH")
    })
}

/// `debian` or `ubuntu`, where we may install packages.
fn distribution() -> Option<String> {
    let release = fs::read_to_string("/etc/os-release").ok()?;
    let id = release
        .lines()
        .find_map(|line| line.strip_prefix("ID="))?
        .trim_matches('"');
    let root = run::read(Command::new("id").arg("-u")).ok()? == "0";
    (root && ["debian", "ubuntu"].contains(&id)).then(|| id.to_owned())
}

fn apt_install(packages: &[&str]) -> Result<()> {
    println!("installing {}", packages.join(" "));
    let apt = |args: &[&str]| {
        let mut apt = Command::new("apt-get");
        run::run(
            apt.args(args)
                .env("DEBIAN_FRONTEND", "noninteractive")
                .stdout(Stdio::null()),
        )
    };
    apt(&["update", "-q"])?;
    apt(&[
        &["install", "-q", "-y", "--no-install-recommends"],
        packages,
    ]
    .concat())
}

/// The folder with the npm packages of `tests/browser/package.json`, in the locked versions.
pub fn node_modules() -> Result<PathBuf> {
    let from = crate::root().join("tests/browser");
    let to = crate::target_dir().join("browser-tests");
    let read = |name: &str| {
        fs::read(from.join(name)).with_context(|| format!("no {name} in tests/browser"))
    };
    let lock = read("package-lock.json")?;
    let installed = to.join("installed.json");
    if fs::read(&installed).ok().as_ref() != Some(&lock) {
        fs::create_dir_all(&to)?;
        fs::write(to.join("package.json"), read("package.json")?)?;
        fs::write(to.join("package-lock.json"), &lock)?;
        let mut npm = Command::new(npm()?);
        run::run(
            npm.args(["ci", "--ignore-scripts", "--no-audit", "--no-fund"])
                .current_dir(&to),
        )?;
        fs::write(installed, lock)?;
    }
    Ok(to.join("node_modules"))
}
