//! Things of a header, one after another: numbers in either byte order, texts, and rows of the tensor table.

use super::keys::Value;
use super::sums::Tensor;
use crate::core::import::ImportError;
use crate::core::units::KIB;

/// Keys of a header; published files have under a hundred.
const MAX_KEYS: u64 = 10_000;
/// Tensors of a file; the largest published have some thousands.
const MAX_TENSORS: u64 = 1_000_000;
/// Bytes of a tensor's name; the specification has 64.
const MAX_NAME: u64 = KIB;
/// Dimensions of a tensor (`GGML_MAX_DIMS`).
const MAX_DIMS: u32 = 4;

/// Why a step stopped.
pub(super) enum Stop {
    /// The slice ends too early.
    Short,
    Error(ImportError),
}

impl From<ImportError> for Stop {
    fn from(err: ImportError) -> Self {
        Self::Error(err)
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Order {
    Little,
    Big,
}

#[derive(Clone, Copy, Debug)]
pub(super) struct Frame {
    pub(super) kind: u32,
    pub(super) left: u64,
}

pub(super) const TEXT: u32 = 8;
pub(super) const LIST: u32 = 9;

/// Bytes of a scalar of this type; the least of a text and of a list. Zero for a type that does not exist.
pub(super) fn size_of(kind: u32) -> u32 {
    match kind {
        0 | 1 | 7 => 1,
        2 | 3 => 2,
        4..=6 => 4,
        TEXT | 10..=12 => 8,
        LIST => 12,
        _ => 0,
    }
}

pub(super) struct Counts {
    pub(super) n_keys: u64,
    pub(super) n_tensors: u64,
}

/// A place in the slice.
#[derive(Clone)]
pub(super) struct Scan<'a> {
    pub(super) rest: &'a [u8],
    pub(super) order: Order,
    pub(super) read: u64,
}

impl<'a> Scan<'a> {
    pub(super) fn bytes(&mut self, n_bytes: u64) -> Result<&'a [u8], Stop> {
        let n = usize::try_from(n_bytes).map_err(|_| Stop::Short)?;
        let (bytes, rest) = self.rest.split_at_checked(n).ok_or(Stop::Short)?;
        self.rest = rest;
        self.read += n_bytes;
        Ok(bytes)
    }

    fn array<const N: usize>(&mut self) -> Result<[u8; N], Stop> {
        let mut res = [0; N];
        res.copy_from_slice(self.bytes(N as u64)?);
        if self.order == Order::Big {
            res.reverse();
        }
        Ok(res)
    }

    pub(super) fn u32(&mut self) -> Result<u32, Stop> {
        self.array().map(u32::from_le_bytes)
    }

    pub(super) fn u64(&mut self) -> Result<u64, Stop> {
        self.array().map(u64::from_le_bytes)
    }

    /// A text of at most `max` bytes.
    pub(super) fn text(&mut self, what: &str, max: u64) -> Result<String, Stop> {
        let n_bytes = self.u64()?;
        if max < n_bytes {
            return Err(damaged(
                "text_too_long",
                format!("{what} is {n_bytes} bytes long, and at most {max} are allowed"),
            )
            .into());
        }
        let bytes = self.bytes(n_bytes)?;
        Ok(String::from_utf8_lossy(bytes).into_owned())
    }

    /// The magic, the version with the byte order that it shows, and the counts.
    pub(super) fn start(&mut self, file_size: u64) -> Result<Counts, Stop> {
        let known = self.rest.len().min(4);
        if self.rest.get(..known) != b"GGUF".get(..known) {
            let begin = String::from_utf8_lossy(self.rest.get(..known).unwrap_or_default());
            return Err(ImportError::new(
                "not_gguf",
                format!("the file begins with {begin:?}, and a GGUF file begins with \"GGUF\"; pick a file whose name ends in .gguf"),
            )
            .into());
        }
        self.bytes(4)?;
        let mut version = self.u32()?;
        // The lower half of a version is zero only when it is read the wrong way round.
        if version & 0xffff == 0 {
            self.order = Order::Big;
            version = version.swap_bytes();
        }
        let error = |message: String| Stop::Error(ImportError::new("gguf_version", message));
        match version {
            1 => {
                return Err(error(
                    "this is version 1 of GGUF, of August 2023, which current engines do not read; download the model again in version 2 or 3".to_owned(),
                ));
            }
            2 | 3 => {}
            _ => {
                return Err(error(format!(
                    "this is version {version} of GGUF, and versions 2 and 3 are known; if an engine reads the file, please report it"
                )));
            }
        }
        let n_tensors = self.u64()?;
        let n_keys = self.u64()?;
        for (what, count, max, least) in [
            ("keys", n_keys, MAX_KEYS, 13),
            ("tensors", n_tensors, MAX_TENSORS, 24),
        ] {
            let max = max.min(file_size / least);
            if max < count {
                return Err(damaged(
                    "too_many",
                    format!(
                        "the header says that it has {count} {what}, and it can have at most {max}"
                    ),
                )
                .into());
            }
        }
        Ok(Counts { n_keys, n_tensors })
    }

    /// The type and length of a list, for which the file has room of `left` bytes.
    pub(super) fn frame(&mut self, key: &str, left: u64) -> Result<Frame, Stop> {
        let kind = self.u32()?;
        let count = self.u64()?;
        let least = size_of(kind);
        if least == 0 {
            return Err(unknown_kind(key, kind).into());
        }
        let max = left / u64::from(least);
        if max < count {
            let key = shown(key);
            return Err(damaged(
                "list_too_long",
                format!("the list {key} says that it has {count} entries, and the file has room for {max}"),
            )
            .into());
        }
        Ok(Frame { kind, left: count })
    }

    /// A number or flag; `None` for a type that does not exist.
    pub(super) fn scalar(&mut self, kind: u32) -> Result<Option<Value>, Stop> {
        let whole = |number: u64| Some(Value::Whole(number));
        let signed =
            |number: i64| Some(u64::try_from(number).map_or(Value::Below(number), Value::Whole));
        Ok(match kind {
            0 => whole(u64::from(u8::from_le_bytes(self.array()?))),
            1 => signed(i64::from(i8::from_le_bytes(self.array()?))),
            2 => whole(u64::from(u16::from_le_bytes(self.array()?))),
            3 => signed(i64::from(i16::from_le_bytes(self.array()?))),
            4 => whole(u64::from(self.u32()?)),
            5 => signed(i64::from(i32::from_le_bytes(self.array()?))),
            6 => Some(Value::Float(f64::from(f32::from_le_bytes(self.array()?)))),
            7 => Some(Value::Flag(self.array::<1>()? != [0])),
            10 => whole(self.u64()?),
            11 => signed(i64::from_le_bytes(self.array()?)),
            12 => Some(Value::Float(f64::from_le_bytes(self.array()?))),
            _ => None,
        })
    }

    /// One row of the tensor table.
    pub(super) fn tensor(&mut self) -> Result<Tensor, Stop> {
        let name = self.text("a tensor's name", MAX_NAME)?;
        let n_dims = self.u32()?;
        if MAX_DIMS < n_dims {
            let name = shown(&name);
            return Err(damaged(
                "too_many_dimensions",
                format!(
                    "tensor {name} has {n_dims} dimensions, and at most {MAX_DIMS} are allowed"
                ),
            )
            .into());
        }
        let dims = (0..n_dims).map(|_| self.u64()).collect::<Result<_, _>>()?;
        Ok(Tensor {
            name,
            dims,
            kind: self.u32()?,
            offset: self.u64()?,
        })
    }
}

pub(super) fn text_too_long(key: &str, n_bytes: u64, left: u64) -> ImportError {
    let key = shown(key);
    damaged(
        "text_too_long",
        format!(
            "the text of {key} says that it is {n_bytes} bytes long, and the file has room for {left}"
        ),
    )
}

pub(super) fn unknown_kind(key: &str, kind: u32) -> ImportError {
    let key = shown(key);
    damaged(
        "value_type",
        format!("{key} has value type {kind}, and types 0 to 12 are known"),
    )
}

/// An error that only a damaged file has.
pub(super) fn damaged(code: &'static str, what: String) -> ImportError {
    ImportError::new(
        code,
        format!("{what}; the file is damaged, download it again"),
    )
}

/// A key or name for a message.
pub(super) fn shown(text: &str) -> String {
    let text: String = text
        .chars()
        .map(|c| if c.is_control() { '\u{fffd}' } else { c })
        .collect();
    crate::core::scenario::cut(&text, 80)
}
