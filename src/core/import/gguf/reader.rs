//! The header by slices: says which bytes it needs next, and keeps only what the model is made of.

use super::keys::{Keys, Value};
use super::scan::{
    Frame, LIST, Order, Scan, Stop, TEXT, damaged, shown, size_of, text_too_long, unknown_kind,
};
use super::sums::{GgufHeader, Sums};
use crate::core::import::sentences::{Key, say};
use crate::core::import::{ImportError, Need};
use crate::core::units::{KIB, MIB};

/// Bytes that are asked for at once.
const SLICE: u64 = MIB;
/// Bytes of a header that are read; what is passed over unread does not count. The longest known, of 262,144 words, take
/// some 20 MiB.
const MAX_HEADER: u64 = 64 * MIB;
/// Bytes of a key, by the specification.
const MAX_KEY: u64 = 65_535;
/// Bytes of a text that are kept; a longer one is passed over.
const MAX_TEXT: u64 = KIB;
/// Entries of a list that are kept; a longer one is counted. A model has at most some hundred layers.
const MAX_LIST: u64 = 4 * KIB;
/// Bytes of a text in a list that are kept.
const MAX_ENTRY: usize = 64;
/// Entries of lists that are kept of the whole header.
const MAX_KEPT: u64 = 64 * KIB;
/// Lists within lists; published files have none.
const MAX_DEPTH: usize = 8;

/// Reads the header of a GGUF file of any size without ever holding the file.
///
/// ```
/// # use kvscope::core::import::gguf::GgufReader;
/// let file = b"GGUF\x03\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0";
/// let mut reader = GgufReader::new(file.len() as u64);
/// while let Some(need) = reader.need() {
///     let from = need.offset as usize;
///     reader.feed(&file[from..from + need.length as usize])?;
/// }
/// assert_eq!(reader.finish()?.tensor_count(), 0);
/// # Ok::<(), kvscope::core::import::ImportError>(())
/// ```
#[derive(Debug)]
pub struct GgufReader {
    file_size: u64,
    /// Bytes that were fed, and how many of them are read.
    slice: Vec<u8>,
    n_read: usize,
    /// Where in the file the next thing begins.
    position: u64,
    fed: u64,
    order: Order,
    phase: Phase,
    n_keys: u64,
    n_tensors: u64,
    /// Entries of lists that may still be kept.
    n_keepable: u64,
    keys: Keys,
    sums: Sums,
}

#[derive(Debug)]
enum Phase {
    Start,
    Key,
    List(List),
    Tensor,
    Done,
    Failed,
}

/// The list that is being read, and the lists around it.
#[derive(Debug)]
struct List {
    key: String,
    frames: Vec<Frame>,
    /// Entries so far, when the list is kept.
    kept: Option<Vec<Value>>,
}

impl GgufReader {
    /// A reader for a file of this many bytes.
    pub fn new(file_size: u64) -> Self {
        Self {
            file_size,
            slice: Vec::new(),
            n_read: 0,
            position: 0,
            fed: 0,
            order: Order::Little,
            phase: Phase::Start,
            n_keys: 0,
            n_tensors: 0,
            n_keepable: MAX_KEPT,
            keys: Keys::default(),
            sums: Sums::default(),
        }
    }

    /// What to feed next; `None` when the header is read or the reader has failed.
    pub fn need(&self) -> Option<Need> {
        if matches!(self.phase, Phase::Done | Phase::Failed) {
            return None;
        }
        let offset = self.position.saturating_add(self.unread().len() as u64);
        let length = self.file_size.saturating_sub(offset).min(SLICE);
        Some(Need { offset, length })
    }

    /// Takes bytes from where [`Self::need`] said, all of them or the first of them.
    ///
    /// # Errors
    ///
    /// A sentence that says what is wrong with the file; the reader needs nothing more then.
    pub fn feed(&mut self, bytes: &[u8]) -> Result<(), ImportError> {
        let res = self.take(bytes);
        if res.is_err() {
            self.phase = Phase::Failed;
            self.slice = Vec::new();
        }
        res
    }

    /// The header, once [`Self::need`] is `None`.
    ///
    /// # Errors
    ///
    /// When the header was not read to its end.
    pub fn finish(self) -> Result<GgufHeader, ImportError> {
        match self.phase {
            Phase::Done => Ok(self.sums.finish(self.keys, self.file_size)),
            Phase::Start | Phase::Key | Phase::List(_) | Phase::Tensor | Phase::Failed => {
                Err(self.cut())
            }
        }
    }

    fn take(&mut self, bytes: &[u8]) -> Result<(), ImportError> {
        let Some(need) = self.need() else {
            return Ok(());
        };
        let n_bytes = bytes.len().min(usize::try_from(need.length).unwrap_or(0));
        let bytes = bytes.get(..n_bytes).unwrap_or_default();
        if bytes.is_empty() {
            return Err(self.cut());
        }
        self.fed = self.fed.saturating_add(bytes.len() as u64);
        if MAX_HEADER < self.fed {
            return Err(damaged("too_long", say!(header_endless, max = MAX_HEADER)));
        }
        self.slice.drain(..self.n_read.min(self.slice.len()));
        self.n_read = 0;
        self.slice.extend_from_slice(bytes);
        loop {
            match self.step() {
                Ok(()) if matches!(self.phase, Phase::Done) => {
                    self.slice = Vec::new();
                    return Ok(());
                }
                Ok(()) => {}
                Err(Stop::Short) => break,
                Err(Stop::Error(err)) => return Err(err),
            }
        }
        match self.need() {
            Some(need) if need.length == 0 => Err(self.cut()),
            Some(_) | None => Ok(()),
        }
    }

    fn unread(&self) -> &[u8] {
        self.slice.get(self.n_read..).unwrap_or_default()
    }

    /// Reads one thing: the beginning, a key with its value, a piece of a list, or a tensor's row.
    fn step(&mut self) -> Result<(), Stop> {
        let mut scan = Scan {
            rest: self.slice.get(self.n_read..).unwrap_or_default(),
            order: self.order,
            read: 0,
        };
        let (phase, skipped) = match &mut self.phase {
            Phase::Done | Phase::Failed => return Ok(()),
            Phase::Start => {
                let counts = scan.start(self.file_size)?;
                self.order = scan.order;
                self.n_keys = counts.n_keys;
                self.n_tensors = counts.n_tensors;
                (None, 0)
            }
            Phase::Key => {
                let key = scan.text(Key::a_key, MAX_KEY)?;
                let kind = scan.u32()?;
                let at = self.position.saturating_add(scan.read);
                let left = self.file_size.saturating_sub(at);
                let read = read_value(&mut scan, &key, kind, left)?;
                self.n_keys = self.n_keys.saturating_sub(1);
                let (value, list, skipped) = match read {
                    Read::Value(value) => (value, None, 0),
                    Read::Skip(n_bytes) => (Value::Long(n_bytes), None, n_bytes),
                    Read::List(frame) => {
                        let is_kept = frame.left <= MAX_LIST.min(self.n_keepable)
                            && !key.starts_with("tokenizer.");
                        if is_kept {
                            self.n_keepable -= frame.left;
                        }
                        let list = List {
                            key: key.clone(),
                            frames: vec![frame],
                            kept: is_kept.then(Vec::new),
                        };
                        (Value::Long(frame.left), Some(Phase::List(list)), 0)
                    }
                };
                if let Some(key) = self.keys.insert(key, value) {
                    let key = shown(&key);
                    let what = say!(key_twice, name = key);
                    return Err(damaged("duplicate_key", what).into());
                }
                (list, skipped)
            }
            Phase::List(list) => {
                let n_skipped = read_list(&mut scan, list, self.position, self.file_size)?;
                if !list.frames.is_empty() {
                    let passed = scan.read.saturating_add(n_skipped);
                    self.pass(passed);
                    return if passed == 0 {
                        Err(Stop::Short)
                    } else {
                        Ok(())
                    };
                }
                if let Some(kept) = list.kept.take() {
                    self.keys.replace(&list.key, Value::List(kept));
                }
                (None, n_skipped)
            }
            Phase::Tensor => {
                self.sums.add(&scan.tensor()?)?;
                self.n_tensors = self.n_tensors.saturating_sub(1);
                (None, 0)
            }
        };
        let read = scan.read;
        self.pass(read.saturating_add(skipped));
        self.phase = match (phase, self.n_keys, self.n_tensors) {
            (Some(phase), ..) => phase,
            (None, 0, 0) => Phase::Done,
            (None, 0, _) => Phase::Tensor,
            (None, ..) => Phase::Key,
        };
        if matches!(self.phase, Phase::Done) {
            self.sums.table_end = self.position;
        }
        Ok(())
    }

    /// Goes on by `n_bytes`, which may be beyond what was fed.
    fn pass(&mut self, n_bytes: u64) {
        self.position = self.position.saturating_add(n_bytes);
        let n_bytes = usize::try_from(n_bytes).unwrap_or(usize::MAX);
        self.n_read = self.n_read.saturating_add(n_bytes).min(self.slice.len());
    }

    fn cut(&self) -> ImportError {
        ImportError::new("cut", say!(header_cut, bytes = self.file_size))
    }
}

/// What stands for a key.
enum Read {
    Value(Value),
    /// A value that is not kept, of this many bytes.
    Skip(u64),
    List(Frame),
}

/// A value that is no list, or the beginning of a list. `left` is how far the file goes on.
fn read_value(scan: &mut Scan<'_>, key: &str, kind: u32, left: u64) -> Result<Read, Stop> {
    match kind {
        LIST => {
            let frame = scan.frame(key, left.saturating_sub(12))?;
            Ok(Read::List(frame))
        }
        TEXT => {
            let n_bytes = scan.u64()?;
            if left.saturating_sub(8) < n_bytes {
                return Err(text_too_long(key, n_bytes, left.saturating_sub(8)).into());
            }
            if MAX_TEXT < n_bytes || key.starts_with("tokenizer.") {
                return Ok(Read::Skip(n_bytes));
            }
            let bytes = scan.bytes(n_bytes)?;
            Ok(Read::Value(Value::Text(
                String::from_utf8_lossy(bytes).into_owned(),
            )))
        }
        _ => match scan.scalar(kind)? {
            Some(value) => Ok(Read::Value(value)),
            None => Err(unknown_kind(key, kind).into()),
        },
    }
}

/// Reads on in a list as far as the slice goes, and gives the bytes to pass over after that. `at` is where the slice
/// begins in the file.
fn read_list(
    scan: &mut Scan<'_>,
    list: &mut List,
    at: u64,
    file_size: u64,
) -> Result<u64, ImportError> {
    let mut depth = list.frames.len();
    while let Some(frame) = list.frames.last_mut() {
        if frame.left == 0 {
            list.frames.pop();
            depth = list.frames.len();
            continue;
        }
        let kind = frame.kind;
        let before = scan.clone();
        let left = file_size.saturating_sub(at.saturating_add(scan.read));
        let res = match kind {
            LIST => scan
                .frame(&list.key, left.saturating_sub(12))
                .map(Read::List),
            TEXT => read_value(scan, &list.key, TEXT, left),
            // Scalars that are not kept are passed over all at once.
            _ if list.kept.is_none() || 1 < depth => {
                let n_bytes = frame.left.saturating_mul(u64::from(size_of(kind)));
                frame.left = 0;
                return Ok(n_bytes);
            }
            _ => read_value(scan, &list.key, kind, left),
        };
        match res {
            Ok(Read::List(inner)) => {
                frame.left -= 1;
                if MAX_DEPTH <= depth {
                    let key = shown(&list.key);
                    return Err(damaged(
                        "too_deep",
                        say!(too_deep, name = key, max = MAX_DEPTH),
                    ));
                }
                // Only the outermost list is kept.
                list.kept = None;
                list.frames.push(inner);
                depth += 1;
            }
            Ok(Read::Value(value)) => {
                frame.left -= 1;
                if let Some(kept) = &mut list.kept {
                    kept.push(match value {
                        Value::Text(text) if MAX_ENTRY < text.len() => {
                            Value::Long(text.len() as u64)
                        }
                        other => other,
                    });
                }
            }
            Ok(Read::Skip(n_bytes)) => {
                frame.left -= 1;
                if let Some(kept) = &mut list.kept {
                    kept.push(Value::Long(n_bytes));
                }
                if scan.bytes(n_bytes).is_err() {
                    return Ok(n_bytes);
                }
            }
            Err(Stop::Short) => {
                *scan = before;
                break;
            }
            Err(Stop::Error(err)) => return Err(err),
        }
    }
    Ok(0)
}
