//! `kvscope-scorm12.zip`: the offline file with what a course platform needs to record a score, SCORM 1.2.

use std::fs;
use std::io::Write;

use anyhow::{Context, Result};

use crate::{dist, dist_dir};

/// What the package shows when nobody chose: two figures and the questions.
pub(crate) const LINK: &str =
    "v=1&embed=sentence,tokens,hbm,predict&controls=thinking_tokens,num_seqs";

/// Makes the package in `dist/` anew, from the offline file there, so that it opens with another link: an address, or the
/// part of one behind `#`.
pub fn write(link: &str) -> Result<()> {
    let offline = dist_dir().join(dist::OFFLINE);
    let offline = fs::read(offline).context("run cargo xtask dist first")?;
    let file = dist_dir().join(dist::SCORM);
    let link = link.split_once('#').map_or(link, |(_, fragment)| fragment);
    fs::write(&file, package(&offline, link)?)?;
    println!("{} opens with {link}", file.display());
    Ok(())
}

/// The package; `link` is the fragment that it opens with.
pub(crate) fn package(offline: &[u8], link: &str) -> Result<Vec<u8>> {
    let escaped = link
        .replace('&', "&amp;")
        .replace('"', "&quot;")
        .replace('<', "&lt;");
    let index = include_str!("../scorm/index.html").replace("LINK", &escaped);
    zip(&[
        // Platforms look for it at the root.
        (
            "imsmanifest.xml",
            include_bytes!("../scorm/imsmanifest.xml"),
        ),
        ("index.html", index.as_bytes()),
        ("scorm.js", include_bytes!("../scorm/scorm.js")),
        ("kvscope.html", offline),
    ])
}

/// A zip file of these files, deflated. Their times are the first that the format has: the same files give the same bytes.
fn zip(files: &[(&str, &[u8])]) -> Result<Vec<u8>> {
    const VERSION: u16 = 20;
    const DEFLATED: u16 = 8;
    const UTF8: u16 = 1 << 11;
    // 1 January 1980.
    const DATE: u16 = (1 << 5) | 1;
    let size = |length: usize| u32::try_from(length).context("too large for this kind of zip");
    let (mut res, mut directory) = (Vec::new(), Vec::new());
    for (name, bytes) in files {
        let mut encoder =
            flate2::write::DeflateEncoder::new(Vec::new(), flate2::Compression::best());
        encoder.write_all(bytes)?;
        let packed = encoder.finish()?;
        let mut crc = flate2::Crc::new();
        crc.update(bytes);
        let mut head = Vec::new();
        for short in [VERSION, UTF8, DEFLATED, 0, DATE] {
            head.extend(short.to_le_bytes());
        }
        for long in [crc.sum(), size(packed.len())?, size(bytes.len())?] {
            head.extend(long.to_le_bytes());
        }
        head.extend(u16::try_from(name.len())?.to_le_bytes());
        head.extend(0_u16.to_le_bytes());
        directory.extend(b"PK\x01\x02");
        directory.extend(VERSION.to_le_bytes());
        directory.extend(&head);
        // No comment, one disk, no attributes; where the file begins.
        directory.extend([0; 10]);
        directory.extend(size(res.len())?.to_le_bytes());
        directory.extend(name.as_bytes());
        res.extend(b"PK\x03\x04");
        res.extend(head);
        res.extend(name.as_bytes());
        res.extend(packed);
    }
    let start = size(res.len())?;
    let n_files = u16::try_from(files.len())?;
    res.extend(&directory);
    res.extend(b"PK\x05\x06\0\0\0\0");
    res.extend(n_files.to_le_bytes());
    res.extend(n_files.to_le_bytes());
    res.extend(size(directory.len())?.to_le_bytes());
    res.extend(start.to_le_bytes());
    res.extend([0; 2]);
    Ok(res)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_manifest_lists_every_file() {
        let bytes = package(b"<html>", "v=1&embed=\"x\"").expect("it is small");
        let text = String::from_utf8_lossy(&bytes);
        let manifest = include_str!("../scorm/imsmanifest.xml");
        for name in ["index.html", "scorm.js", "kvscope.html"] {
            assert!(text.contains(name), "{name} is not in the package");
            assert!(
                manifest.contains(&format!("<file href=\"{name}\"/>")),
                "{name} is not in the manifest"
            );
        }
        // The directory names each file once more, and its end counts them.
        assert_eq!(text.matches("kvscope.html").count(), 2);
        assert_eq!(bytes[bytes.len() - 14..bytes.len() - 10], [4, 0, 4, 0]);
    }
}
