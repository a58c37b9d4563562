//! Builds, serves and tests KVscope: `cargo xtask help` lists the commands.

use std::process::ExitCode;

use anyhow::{Context, Result, bail};
use xtask::{bench, dist, scorm, serve, test};

const HELP: &str = "\
cargo xtask dist [--dev]                build the page into dist/ and say how large it is
cargo xtask scorm LINK                  kvscope-scorm12.zip in dist/ that opens with this link
cargo xtask serve [--port N] [--watch]  build it and serve it on localhost (port 8080, or the next free one)
cargo xtask test [WORD]                 everything that continuous integration runs, or the steps whose name has the word
cargo xtask bench                       report() natively, and a slider drag in the browser";

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    match run(&args.iter().map(String::as_str).collect::<Vec<_>>()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(err) => {
            eprintln!("error: {err:#}");
            ExitCode::FAILURE
        }
    }
}

fn run(args: &[&str]) -> Result<()> {
    match args {
        ["dist"] => dist::dist(dist::Mode::Release)?.check(),
        ["dist", "--dev"] => dist::dist(dist::Mode::Dev).map(drop),
        ["scorm", link] => scorm::write(link),
        ["serve", options @ ..] => serve::serve(&serve_options(options)?),
        ["test"] => test::test(""),
        ["test", word] => test::test(word),
        ["bench"] => bench::bench(),
        [] | ["help" | "--help" | "-h"] => {
            println!("{HELP}");
            Ok(())
        }
        _ => bail!("unknown command {:?}\n{HELP}", args.join(" ")),
    }
}

fn serve_options(args: &[&str]) -> Result<serve::Options> {
    let mut options = serve::Options {
        port: 8080,
        watch: false,
    };
    let mut args = args.iter();
    while let Some(&arg) = args.next() {
        match arg {
            "--watch" => options.watch = true,
            "--port" => {
                let port = args.next().context("--port needs a number")?;
                options.port = port
                    .parse()
                    .with_context(|| format!("port {port:?} is not a number from 0 to 65535"))?;
            }
            _ => bail!("unknown option {arg:?} of serve\n{HELP}"),
        }
    }
    Ok(options)
}
