//! Child processes, with the command named when one fails.

use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail};

/// Runs `command` to its end, its output going where ours goes.
pub fn run(command: &mut Command) -> Result<()> {
    let status = command
        .status()
        .with_context(|| format!("could not start {}", name(command)))?;
    if !status.success() {
        bail!("{} failed ({status})", name(command));
    }
    Ok(())
}

/// What `command` prints on standard output, trimmed.
pub fn read(command: &mut Command) -> Result<String> {
    let output = command
        .stderr(Stdio::inherit())
        .output()
        .with_context(|| format!("could not start {}", name(command)))?;
    if !output.status.success() {
        bail!("{} failed ({})", name(command), output.status);
    }
    Ok(String::from_utf8_lossy(&output.stdout).trim().to_owned())
}

/// The command as one would type it.
fn name(command: &Command) -> String {
    let words = [command.get_program()]
        .into_iter()
        .chain(command.get_args());
    words
        .map(|word| word.to_string_lossy())
        .collect::<Vec<_>>()
        .join(" ")
}
