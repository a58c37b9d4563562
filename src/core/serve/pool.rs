//! The pool of blocks: what is held, what is free, and which free blocks still hold something that can be found again.

use std::collections::{BTreeMap, VecDeque};

/// What blocks of one kind of layer take of the pool.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BlockKind {
    /// Units of the pool for each block.
    pub units: u64,
    /// Blocks that a request holds at most, where a window bounds them.
    pub max_blocks: Option<u64>,
}

/// What a request takes of a pool, by the blocks that its tokens fill. Units are what the pool is counted in: whole
/// blocks where all layers are alike, else bytes.
///
/// A window's blocks are counted at their most and are not given back while the request runs: an engine gives back the
/// block behind the window when it takes the one before it, so that it holds the same number or one less.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PoolShape {
    /// Tokens of a block.
    pub block_size: u64,
    /// Units of the whole pool.
    pub units: u64,
    /// Kinds of blocks.
    pub kinds: Vec<BlockKind>,
    /// Units of each request, whatever its length: recurrent states.
    pub units_per_seq: u64,
}

impl PoolShape {
    /// A pool of `num_blocks` blocks of which all layers need the same number.
    pub fn uniform(block_size: u64, num_blocks: u64) -> Self {
        Self {
            block_size: block_size.max(1),
            units: num_blocks,
            kinds: vec![BlockKind {
                units: 1,
                max_blocks: None,
            }],
            units_per_seq: 0,
        }
    }

    /// Blocks that `tokens` tokens fill, the last one in part.
    pub fn blocks(&self, tokens: u64) -> u64 {
        tokens.div_ceil(self.block_size.max(1))
    }

    /// Units of the blocks `from..to` of a request.
    pub fn units_of(&self, from: u64, to: u64) -> u64 {
        self.kinds.iter().fold(0, |sum, kind| {
            let bound = kind.max_blocks.unwrap_or(u64::MAX);
            let blocks = to.min(bound).saturating_sub(from.min(bound));
            // Where blocks are counted, none is multiplied: that is slow where numbers are 32 bits wide.
            let units = if kind.units == 1 {
                blocks
            } else {
                blocks.saturating_mul(kind.units)
            };
            sum.saturating_add(units)
        })
    }

    /// Units of a request that holds `blocks` blocks.
    pub fn units_of_request(&self, blocks: u64) -> u64 {
        self.units_of(0, blocks).saturating_add(self.units_per_seq)
    }

    /// Units of each block, when all blocks are alike.
    pub(super) fn units_of_each(&self) -> Option<u64> {
        match self.kinds.as_slice() {
            [
                BlockKind {
                    units,
                    max_blocks: None,
                },
            ] => Some(*units),
            _ => None,
        }
    }
}

/// Whose blocks a run of free blocks was.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Owner {
    Request,
    SharedPrefix,
}

/// Free blocks that still hold what was computed in them. They are overwritten from the end: an engine frees a request's
/// last block first, and takes the block that was freed longest ago.
#[derive(Clone, Copy, Debug)]
struct Run {
    owner: Owner,
    /// First and past-the-last block of the sequence.
    from: u64,
    to: u64,
    /// Units of the partly filled block behind them, which nothing can find again.
    loose: u64,
}

/// Where a request's own blocks stand in the queue of free ones.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct RunId(u64);

/// What a request finds in the cache.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Hit {
    /// Whole blocks from the start.
    pub(super) blocks: u64,
    /// Of them blocks of the shared prefix.
    pub(super) shared: u64,
    /// Units of the found blocks that are free now and will not be.
    pub(super) free_units: u64,
}

/// The pool.
#[derive(Clone, Debug)]
pub(super) struct Pool {
    pub(super) shape: PoolShape,
    free: u64,
    /// Free units that hold nothing; they are taken first.
    blank: u64,
    runs: VecDeque<Run>,
    /// Runs that left the front of the queue.
    popped: u64,
    /// Whether what is freed can be found again.
    is_caching: bool,
    /// Whether freed blocks that cannot be found again are taken next, as vLLM does since 0.24.
    unhashed_first: bool,
    /// Whole blocks that all requests begin with, and how many of them are in the pool.
    prefix_blocks: u64,
    resident: u64,
    /// Requests that hold this many blocks of the prefix.
    holders: BTreeMap<u64, u64>,
    prefix_runs: Vec<RunId>,
}

impl Pool {
    pub(super) fn new(shape: PoolShape, is_caching: bool, unhashed_first: bool) -> Self {
        Self {
            free: shape.units,
            blank: shape.units,
            shape,
            runs: VecDeque::new(),
            popped: 0,
            is_caching,
            unhashed_first,
            prefix_blocks: 0,
            resident: 0,
            holders: BTreeMap::new(),
            prefix_runs: Vec::new(),
        }
    }

    /// Makes the first `tokens` tokens of all requests the same.
    pub(super) fn share_prefix(&mut self, tokens: u64) {
        self.prefix_blocks = tokens / self.shape.block_size.max(1);
    }

    /// Units that nobody holds.
    pub(super) fn free(&self) -> u64 {
        self.free
    }

    /// Of them, units that hold something that could be found again.
    pub(super) fn cached(&self) -> u64 {
        self.free - self.blank
    }

    /// Tokens that `units` are, at what the first block of a request takes.
    pub(super) fn tokens_in(&self, units: u64) -> f64 {
        let block = self.shape.units_of(0, 1).max(1);
        units as f64 * self.shape.block_size as f64 / block as f64
    }

    /// Blocks of the shared prefix that are held, once.
    pub(super) fn held_prefix(&self) -> u64 {
        self.holders.last_key_value().map_or(0, |(held, _)| *held)
    }

    /// Whole blocks of the shared prefix that are in the pool.
    pub(super) fn resident_prefix(&self) -> u64 {
        self.resident
    }

    /// Whole blocks that all requests begin with.
    pub(super) fn prefix_blocks(&self) -> u64 {
        self.prefix_blocks
    }

    /// Takes `units`; false, and nothing happens, when there are not as many.
    pub(super) fn take(&mut self, units: u64) -> bool {
        if self.free < units {
            return false;
        }
        while self.blank < units && self.overwrite(units - self.blank) {}
        self.blank = self.blank.saturating_sub(units);
        self.free -= units;
        true
    }

    /// Overwrites blocks at the front of the queue, `wanted` units at most when all blocks are alike, else one block.
    /// False when the queue is empty.
    fn overwrite(&mut self, wanted: u64) -> bool {
        let each = self.shape.units_of_each();
        let Some(run) = self.runs.front_mut() else {
            return false;
        };
        if 0 < run.loose {
            self.blank += run.loose;
            run.loose = 0;
        } else if run.from < run.to {
            let blocks = match each {
                Some(units) if 0 < units => wanted.div_ceil(units).min(run.to - run.from),
                Some(_) | None => 1,
            };
            let to = run.to - blocks;
            self.blank += self.shape.units_of(to, run.to);
            run.to = to;
            if run.owner == Owner::SharedPrefix {
                self.resident = self.resident.min(to);
            }
        }
        if run.from == run.to {
            self.runs.pop_front();
            self.popped += 1;
        }
        true
    }

    /// What a request of `known` tokens finds. Its last token is always computed again.
    pub(super) fn find(&self, known: u64, own: Option<RunId>) -> Hit {
        if !self.is_caching && self.prefix_blocks == 0 {
            return Hit::default();
        }
        let bound = known.saturating_sub(1) / self.shape.block_size.max(1);
        let shared = self.resident.min(self.prefix_blocks).min(bound);
        // Its own blocks go on where the prefix ends, or somewhere before.
        let blocks = own
            .and_then(|id| self.run(id))
            .filter(|run| run.from <= shared && shared < run.to)
            .map_or(shared, |run| run.to.min(bound).max(shared));
        let held = self.held_prefix();
        Hit {
            blocks,
            shared,
            free_units: self.shape.units_of(held.min(shared), shared)
                + self.shape.units_of(shared, blocks),
        }
    }

    fn run(&self, id: RunId) -> Option<&Run> {
        let idx = usize::try_from(id.0.checked_sub(self.popped)?).ok()?;
        self.runs.get(idx)
    }

    fn run_mut(&mut self, id: RunId) -> Option<&mut Run> {
        let idx = usize::try_from(id.0.checked_sub(self.popped)?).ok()?;
        self.runs.get_mut(idx)
    }

    /// Makes the found blocks the request's again. What is left of its run stays free.
    pub(super) fn hold_found(&mut self, hit: Hit, own: Option<RunId>) {
        self.free -= hit.free_units;
        if hit.shared < hit.blocks
            && let Some(run) = own.and_then(|id| self.run_mut(id))
        {
            // The partly filled block behind them stays free, and so does a second copy of the prefix's blocks.
            run.to = hit.shared;
        }
        if 0 < hit.shared {
            self.hold_prefix(hit.shared);
        }
    }

    /// Lets other requests find the prefix blocks that a request of `computed` tokens filled. Gives how many blocks of
    /// the prefix it then holds; `already` is how many it held.
    pub(super) fn publish(&mut self, already: u64, computed: u64) -> u64 {
        let full = (computed / self.shape.block_size.max(1)).min(self.prefix_blocks);
        // Another request may have published these blocks before; then this one keeps its own copy.
        if full <= already || self.resident != already {
            return already;
        }
        self.resident = full;
        self.let_go(already);
        *self.holders.entry(full).or_default() += 1;
        full
    }

    /// Swaps a request's own copies of prefix blocks among its first `computed` tokens for those that another request
    /// published. Gives how many blocks of the prefix it then holds.
    pub(super) fn adopt(&mut self, already: u64, computed: u64) -> u64 {
        let full = computed / self.shape.block_size.max(1);
        let to = full.min(self.prefix_blocks).min(self.resident);
        if to <= already {
            return already;
        }
        let copies = self.shape.units_of(already, to);
        self.free += copies;
        self.blank += copies;
        let held = self.held_prefix();
        self.free -= self.shape.units_of(held.min(to), to);
        self.hold_prefix(to);
        self.let_go(already);
        to
    }

    /// Takes the first `blocks` blocks of the prefix out of the queue for one more request.
    fn hold_prefix(&mut self, blocks: u64) {
        for id in std::mem::take(&mut self.prefix_runs) {
            if let Some(run) = self.run_mut(id) {
                run.from = run.from.max(blocks).min(run.to);
                self.prefix_runs.push(id);
            }
        }
        *self.holders.entry(blocks).or_default() += 1;
    }

    fn let_go(&mut self, shared: u64) {
        if let Some(count) = self.holders.get_mut(&shared) {
            *count -= 1;
            if *count == 0 {
                self.holders.remove(&shared);
            }
        }
    }

    /// Frees what a request holds: `held` blocks, of which it filled `full`, the first `shared` of them the prefix's.
    /// Gives where its own blocks can be found.
    pub(super) fn release(&mut self, shared: u64, full: u64, held: u64) -> Option<RunId> {
        let full = full.clamp(shared, held.max(shared));
        let (own, rest) = (
            self.shape.units_of(shared, full),
            self.shape.units_of(full, held.max(full)),
        );
        self.free += own + rest + self.shape.units_per_seq;
        self.blank += self.shape.units_per_seq;
        let loose = if self.is_caching && !self.unhashed_first {
            rest
        } else {
            self.blank += rest;
            0
        };
        let mut res = None;
        if !self.is_caching {
            self.blank += own;
        } else if shared < full || 0 < loose {
            res = Some(self.push(Owner::Request, shared, full, loose));
        }
        if 0 < shared {
            let held_before = self.held_prefix();
            self.let_go(shared);
            let held_after = self.held_prefix();
            if held_after < held_before {
                self.free += self.shape.units_of(held_after, held_before);
                let id = self.push(Owner::SharedPrefix, held_after, held_before, 0);
                self.prefix_runs.push(id);
            }
        }
        res
    }

    fn push(&mut self, owner: Owner, from: u64, to: u64, loose: u64) -> RunId {
        let id = RunId(self.popped + self.runs.len() as u64);
        self.runs.push_back(Run {
            owner,
            from,
            to,
            loose,
        });
        id
    }

    /// What is wrong with the books, if anything.
    pub(super) fn audit(&self, held_units: u64) -> Result<(), String> {
        let in_runs = self.runs.iter().fold(0, |sum, run| {
            sum + run.loose + self.shape.units_of(run.from, run.to)
        });
        if self.blank + in_runs != self.free {
            return Err(format!(
                "{} units are free but {} blank and {in_runs} in runs",
                self.free, self.blank
            ));
        }
        if held_units + self.free != self.shape.units {
            return Err(format!(
                "{held_units} units are held and {} free, of {}",
                self.free, self.shape.units
            ));
        }
        Ok(())
    }
}
