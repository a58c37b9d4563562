//! Writes GGUF headers for the tests, by the specification and not by the reader.

/// A value of a key.
#[derive(Clone, Debug)]
pub(crate) enum V {
    U8(u8),
    I8(i8),
    U16(u16),
    I16(i16),
    U32(u32),
    I32(i32),
    F32(f32),
    Flag(bool),
    Text(String),
    U64(u64),
    I64(i64),
    F64(f64),
    /// The type of the entries, and the entries.
    List(u32, Vec<V>),
    /// A type with these bytes after it, whatever they mean.
    Raw(u32, Vec<u8>),
}

impl V {
    fn kind(&self) -> u32 {
        match self {
            Self::U8(_) => 0,
            Self::I8(_) => 1,
            Self::U16(_) => 2,
            Self::I16(_) => 3,
            Self::U32(_) => 4,
            Self::I32(_) => 5,
            Self::F32(_) => 6,
            Self::Flag(_) => 7,
            Self::Text(_) => 8,
            Self::List(..) => 9,
            Self::U64(_) => 10,
            Self::I64(_) => 11,
            Self::F64(_) => 12,
            Self::Raw(kind, _) => *kind,
        }
    }
}

/// A file that is made.
#[derive(Clone, Debug)]
pub(crate) struct File {
    pub(crate) version: u32,
    pub(crate) is_big: bool,
    pub(crate) keys: Vec<(String, V)>,
    /// Name, dimensions, type and bytes.
    pub(crate) tensors: Vec<(String, Vec<u64>, u32, u64)>,
    /// Counts that are written instead of the true ones.
    pub(crate) counts: Option<(u64, u64)>,
}

impl File {
    pub(crate) fn new(arch: &str) -> Self {
        let file = Self {
            version: 3,
            is_big: false,
            keys: Vec::new(),
            tensors: Vec::new(),
            counts: None,
        };
        if arch.is_empty() {
            return file;
        }
        file.key("general.architecture", V::Text(arch.to_owned()))
    }

    pub(crate) fn key(mut self, key: &str, value: V) -> Self {
        self.keys.push((key.to_owned(), value));
        self
    }

    pub(crate) fn tensor(mut self, name: &str, dims: &[u64], kind: u32, bytes: u64) -> Self {
        self.tensors
            .push((name.to_owned(), dims.to_vec(), kind, bytes));
        self
    }

    /// Keys as `name=number`, `name=[a,b,c]` repeated up to the number of layers, or `name=text`, below the architecture.
    pub(crate) fn keys(mut self, arch: &str, text: &str) -> Self {
        let words: Vec<(&str, &str)> = text
            .split_whitespace()
            .map(|word| word.split_once('=').expect("a key and a value"))
            .collect();
        let layers = words.iter().find(|(key, _)| *key == "block_count");
        let n_layers: usize = layers.map_or(0, |(_, count)| count.parse().expect("a count"));
        for (key, value) in words {
            let value = match value
                .strip_prefix('[')
                .and_then(|rest| rest.strip_suffix(']'))
            {
                Some(list) => {
                    let entries = list
                        .split(',')
                        .map(|n| V::I32(n.parse().expect("a number")));
                    let entries: Vec<V> = entries.collect();
                    V::List(5, entries.iter().cycle().take(n_layers).cloned().collect())
                }
                None => value
                    .parse()
                    .map_or_else(|_| V::Text(value.to_owned()), V::U32),
            };
            self = self.key(&format!("{arch}.{key}"), value);
        }
        self
    }

    fn number<const N: usize>(&self, bytes: [u8; N], res: &mut Vec<u8>) {
        let mut bytes = bytes;
        if self.is_big {
            bytes.reverse();
        }
        res.extend(bytes);
    }

    fn text(&self, text: &str, res: &mut Vec<u8>) {
        self.number((text.len() as u64).to_le_bytes(), res);
        res.extend(text.as_bytes());
    }

    fn value(&self, value: &V, res: &mut Vec<u8>) {
        match value {
            V::U8(x) => res.push(*x),
            V::I8(x) => self.number(x.to_le_bytes(), res),
            V::U16(x) => self.number(x.to_le_bytes(), res),
            V::I16(x) => self.number(x.to_le_bytes(), res),
            V::U32(x) => self.number(x.to_le_bytes(), res),
            V::I32(x) => self.number(x.to_le_bytes(), res),
            V::F32(x) => self.number(x.to_le_bytes(), res),
            V::Flag(x) => res.push(u8::from(*x)),
            V::Text(x) => self.text(x, res),
            V::U64(x) => self.number(x.to_le_bytes(), res),
            V::I64(x) => self.number(x.to_le_bytes(), res),
            V::F64(x) => self.number(x.to_le_bytes(), res),
            V::List(kind, entries) => {
                self.number(kind.to_le_bytes(), res);
                self.number((entries.len() as u64).to_le_bytes(), res);
                for entry in entries {
                    self.value(entry, res);
                }
            }
            V::Raw(_, bytes) => res.extend(bytes),
        }
    }

    /// The header, and the whole file's size with its tensors.
    pub(crate) fn header(&self) -> (Vec<u8>, u64) {
        let mut res = b"GGUF".to_vec();
        self.number(self.version.to_le_bytes(), &mut res);
        let counts = (self.tensors.len() as u64, self.keys.len() as u64);
        let (n_tensors, n_keys) = self.counts.unwrap_or(counts);
        self.number(n_tensors.to_le_bytes(), &mut res);
        self.number(n_keys.to_le_bytes(), &mut res);
        for (key, value) in &self.keys {
            self.text(key, &mut res);
            self.number(value.kind().to_le_bytes(), &mut res);
            self.value(value, &mut res);
        }
        let mut offset = 0_u64;
        for (name, dims, kind, bytes) in &self.tensors {
            self.text(name, &mut res);
            self.number((dims.len() as u32).to_le_bytes(), &mut res);
            for dim in dims {
                self.number(dim.to_le_bytes(), &mut res);
            }
            self.number(kind.to_le_bytes(), &mut res);
            self.number(offset.to_le_bytes(), &mut res);
            offset = offset.saturating_add(*bytes).next_multiple_of(32);
        }
        let size = (res.len() as u64)
            .next_multiple_of(32)
            .saturating_add(offset);
        (res, size)
    }
}
