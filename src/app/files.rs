//! Files as a browser or Node has them, read by the slices that the core asks for.

use js_sys::{ArrayBuffer, Reflect, Uint8Array};
use wasm_bindgen::JsCast;
use wasm_bindgen::prelude::*;
use wasm_bindgen_futures::JsFuture;
use web_sys::Blob;

use crate::core::import::Need;
use crate::core::import::files::FileReader;

/// Reads a `File`, a `Blob`, bytes or a text, as if it had this name unless that is empty. What cannot be read says so when
/// it is finished.
pub(crate) async fn read(value: &JsValue, name: &str) -> FileReader {
    if let Some(text) = value.as_string() {
        return read_bytes(name, text.as_bytes());
    }
    if let Some(blob) = value.dyn_ref::<Blob>() {
        return read_blob(blob, name).await;
    }
    let bytes = match value.dyn_ref::<ArrayBuffer>() {
        Some(buffer) => Some(Uint8Array::new(buffer)),
        None => value.dyn_ref::<Uint8Array>().cloned(),
    };
    let Some(bytes) = bytes else {
        return FileReader::failed(
            "",
            "expected a file, a blob, an ArrayBuffer, a Uint8Array or a text".to_owned(),
        );
    };
    let mut reader = FileReader::new(name, bytes.length().into());
    while let Some(Need { offset, length }) = reader.need() {
        // Within the length, which has 32 bits.
        let (from, to) = (offset as u32, (offset + length) as u32);
        reader.feed(&bytes.subarray(from, to).to_vec());
    }
    reader
}

/// Reads what is at hand as a whole.
fn read_bytes(name: &str, bytes: &[u8]) -> FileReader {
    let mut reader = FileReader::new(name, bytes.len() as u64);
    while let Some(Need { offset, length }) = reader.need() {
        // Within the length, which is a usize.
        let (from, to) = (offset as usize, (offset + length) as usize);
        reader.feed(bytes.get(from..to).unwrap_or_default());
    }
    reader
}

async fn read_blob(blob: &Blob, name: &str) -> FileReader {
    let own = Reflect::get(blob, &JsValue::from_str("name"))
        .ok()
        .and_then(|name| name.as_string())
        .unwrap_or_default();
    let name = if name.is_empty() { &own } else { name };
    // Sizes are whole numbers below 2^53.
    let mut reader = FileReader::new(name, blob.size() as u64);
    while let Some(need) = reader.need() {
        match slice(blob, need).await {
            Ok(bytes) => reader.feed(&bytes),
            Err(_) => return FileReader::unreadable(name),
        }
    }
    reader
}

async fn slice(blob: &Blob, need: Need) -> Result<Vec<u8>, JsValue> {
    // Exact below 2^53.
    let (from, to) = (need.offset as f64, (need.offset + need.length) as f64);
    let piece = blob.slice_with_f64_and_f64(from, to)?;
    let buffer = JsFuture::from(piece.array_buffer()).await?;
    Ok(Uint8Array::new(&buffer).to_vec())
}
