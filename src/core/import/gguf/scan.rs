//! Things of a header, one after another: numbers in either byte order, texts, and rows of the tensor table.

use super::keys::Value;
use super::sums::Tensor;
use crate::core::import::ImportError;
use crate::core::import::sentences::{Key, Part, Sentence, say};
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
    pub(super) fn text(&mut self, what: Key, max: u64) -> Result<String, Stop> {
        let n_bytes = self.u64()?;
        if max < n_bytes {
            return Err(damaged(
                "text_too_long",
                say!(text_too_long, what, bytes = n_bytes, max),
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
                say!(gguf_begins, head = format!("{begin:?}")),
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
        let error = |message: Sentence| Stop::Error(ImportError::new("gguf_version", message));
        match version {
            1 => {
                return Err(error(say!(gguf_version_1)));
            }
            2 | 3 => {}
            _ => {
                return Err(error(say!(gguf_version, version)));
            }
        }
        let n_tensors = self.u64()?;
        let n_keys = self.u64()?;
        for (key, given, max, least) in [
            (Key::too_many_keys, n_keys, MAX_KEYS, 13),
            (Key::too_many_tensors, n_tensors, MAX_TENSORS, 24),
        ] {
            let max = max.min(file_size / least);
            if max < given {
                let parts = vec![("given", Part::from(given)), ("max", Part::from(max))];
                return Err(damaged("too_many", Sentence::new(key, parts)).into());
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
                say!(list_too_long, name = key, given = count, max),
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
        let name = self.text(Key::a_tensor_name, MAX_NAME)?;
        let n_dims = self.u32()?;
        if MAX_DIMS < n_dims {
            let name = shown(&name);
            return Err(damaged(
                "too_many_dimensions",
                say!(too_many_dimensions, name, given = n_dims, max = MAX_DIMS),
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
        say!(text_beyond, name = key, bytes = n_bytes, max = left),
    )
}

pub(super) fn unknown_kind(key: &str, kind: u32) -> ImportError {
    let key = shown(key);
    damaged("value_type", say!(value_type, name = key, given = kind))
}

/// An error that only a damaged file has.
pub(super) fn damaged(code: &'static str, what: Sentence) -> ImportError {
    ImportError::new(code, say!(damaged, what))
}

/// A key or name for a message.
pub(super) fn shown(text: &str) -> String {
    let text: String = text
        .chars()
        .map(|c| if c.is_control() { '\u{fffd}' } else { c })
        .collect();
    crate::core::scenario::cut(&text, 80)
}
