//! A plain simulator: every step planned anew, every block by its number. Slow, and written apart from the real one.

use std::cmp::Reverse;
use std::collections::{HashMap, VecDeque};

use kvscope::core::serve::PoolShape;
use kvscope::core::serve::schedulers::Scheduler;
use kvscope::core::serve::schedulers::llama_cpp::LlamaCpp;
use kvscope::core::serve::schedulers::sglang::Sglang;
use kvscope::core::serve::schedulers::tensorrt_llm::{CapacityPolicy, TensorRtLlm};
use kvscope::core::serve::schedulers::vllm::Vllm;
use kvscope::core::serve::step_time::{Load, StepTime};

/// A request as it is sent.
#[derive(Clone, Copy, Debug)]
pub(super) struct Sent {
    pub(super) arrival: f64,
    pub(super) prompt: u64,
    pub(super) thinking: u64,
    pub(super) output: u64,
    pub(super) max_new: u64,
}

/// What became of it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Outcome {
    pub(super) first: Option<f64>,
    pub(super) first_answer: Option<f64>,
    pub(super) end: Option<f64>,
    pub(super) out: u64,
    pub(super) preemptions: u64,
}

#[derive(Clone, Debug)]
struct Req {
    sent: Sent,
    out: u64,
    computed: u64,
    blocks: Vec<usize>,
    /// Leading blocks that are the prefix's.
    shared: u64,
    first: Option<f64>,
    first_answer: Option<f64>,
    end: Option<f64>,
    preemptions: u64,
}

impl Req {
    fn known(&self) -> u64 {
        self.sent.prompt + self.out
    }
}

/// Whose block, and which of its sequence; `None`: the shared prefix's.
type Key = (Option<usize>, u64);

/// Blocks with numbers, and the queue of free ones.
struct Blocks {
    size: u64,
    free: VecDeque<usize>,
    key: Vec<Option<Key>>,
    table: HashMap<Key, usize>,
    refs: Vec<u32>,
    is_caching: bool,
    unhashed_first: bool,
    prefix: u64,
}

impl Blocks {
    fn new(size: u64, count: usize, is_caching: bool, unhashed_first: bool, prefix: u64) -> Self {
        Self {
            size,
            free: (0..count).collect(),
            key: vec![None; count],
            table: HashMap::new(),
            refs: vec![0; count],
            is_caching,
            unhashed_first,
            prefix: if is_caching { prefix / size } else { 0 },
        }
    }

    fn num_free(&self) -> u64 {
        self.free.len() as u64
    }

    fn of(&self, tokens: u64) -> u64 {
        tokens.div_ceil(self.size)
    }

    fn alloc(&mut self) -> usize {
        let block = self.free.pop_front().expect("checked before");
        if let Some(key) = self.key[block].take() {
            self.table.remove(&key);
        }
        self.refs[block] = 1;
        block
    }

    /// Blocks that a request finds, and how many of the first are the prefix's.
    fn find(&self, id: usize, known: u64) -> (Vec<usize>, u64) {
        let bound = (known - 1) / self.size;
        let mut res = Vec::new();
        let mut shared = 0;
        for idx in 0..bound {
            let of_prefix = self.table.get(&(None, idx));
            let Some(block) = of_prefix.or_else(|| self.table.get(&(Some(id), idx))) else {
                break;
            };
            res.push(*block);
            if of_prefix.is_some() {
                shared = idx + 1;
            }
        }
        (res, shared)
    }

    fn free_among(&self, blocks: &[usize]) -> u64 {
        blocks
            .iter()
            .filter(|block| self.refs[**block] == 0)
            .count() as u64
    }

    fn touch(&mut self, blocks: &[usize]) {
        for block in blocks {
            if self.refs[*block] == 0 {
                self.free.retain(|other| other != block);
            }
            self.refs[*block] += 1;
        }
    }

    /// Names the full blocks of a request whose first `computed` tokens are scheduled.
    fn name(&mut self, id: usize, req: &mut Req, computed: u64) {
        if !self.is_caching {
            return;
        }
        let full = computed / self.size;
        // Only the request whose block comes next names a block of the prefix.
        while req.shared < full.min(self.prefix)
            && !self.table.contains_key(&(None, req.shared))
            && (0..req.shared).all(|idx| self.table.contains_key(&(None, idx)))
        {
            let block = req.blocks[req.shared as usize];
            if let Some(key) = self.key[block].take() {
                self.table.remove(&key);
            }
            self.key[block] = Some((None, req.shared));
            self.table.insert((None, req.shared), block);
            req.shared += 1;
        }
        for idx in req.shared..full {
            let block = req.blocks[idx as usize];
            if self.key[block].is_none() {
                let key = (Some(id), idx);
                self.key[block] = Some(key);
                self.table.insert(key, block);
            }
        }
    }

    fn free_all(&mut self, req: &mut Req) {
        for block in req.blocks.drain(..).rev() {
            self.refs[block] -= 1;
            if 0 < self.refs[block] {
                continue;
            }
            if self.key[block].is_none() && (self.unhashed_first || !self.is_caching) {
                self.free.push_front(block);
            } else {
                self.free.push_back(block);
            }
        }
        req.computed = 0;
        req.shared = 0;
    }
}

/// The simulator.
pub(super) struct Oracle {
    scheduler: Scheduler,
    step_time: StepTime,
    reqs: Vec<Req>,
    waiting: VecDeque<usize>,
    running: Vec<usize>,
    blocks: Blocks,
    shared_prefix: u64,
    batch: Vec<(usize, u64)>,
    failed: Vec<usize>,
    // SGLang.
    ratio: f64,
    init_ratio: f64,
    chunked: Option<usize>,
    is_full: bool,
    // llama.cpp: the request, what is left of the one before, when it was released.
    slots: Vec<(Option<usize>, u64, u64)>,
    released: u64,
    passes: u64,
    pub(super) steps: u64,
}

impl Oracle {
    pub(super) fn new(
        scheduler: Scheduler,
        shape: &PoolShape,
        step_time: StepTime,
        shared_prefix: u64,
    ) -> Self {
        let count = usize::try_from(shape.units).expect("small");
        let (is_caching, unhashed_first) = match scheduler {
            Scheduler::Vllm(vllm) => (vllm.enable_prefix_caching, vllm.unhashed_first),
            Scheduler::TensorRtLlm(trt) => (trt.enable_block_reuse, true),
            Scheduler::Sglang(_) | Scheduler::LlamaCpp(_) => (false, true),
        };
        let init_ratio = match scheduler {
            Scheduler::Sglang(sglang) => {
                (0.7 * (sglang.schedule_conservativeness_thousandths as f64 / 1000.0)).min(1.0)
            }
            Scheduler::Vllm(_) | Scheduler::TensorRtLlm(_) | Scheduler::LlamaCpp(_) => 0.0,
        };
        let slots = match scheduler {
            Scheduler::LlamaCpp(llama) => llama.n_parallel as usize,
            Scheduler::Vllm(_) | Scheduler::Sglang(_) | Scheduler::TensorRtLlm(_) => 0,
        };
        Self {
            scheduler,
            step_time,
            reqs: Vec::new(),
            waiting: VecDeque::new(),
            running: Vec::new(),
            blocks: Blocks::new(
                shape.block_size,
                count,
                is_caching,
                unhashed_first,
                shared_prefix,
            ),
            shared_prefix,
            batch: Vec::new(),
            failed: Vec::new(),
            ratio: init_ratio,
            init_ratio,
            chunked: None,
            is_full: false,
            slots: vec![(None, 0, 0); slots],
            released: 0,
            passes: 1,
            steps: 0,
        }
    }

    /// Runs all requests. With `clients`, each is sent when one before it has ended, whatever its arrival.
    pub(super) fn run(&mut self, requests: &[Sent], clients: Option<usize>) -> Vec<Outcome> {
        let mut due: VecDeque<f64> = match clients {
            Some(clients) => vec![0.0; clients.min(requests.len())].into(),
            None => requests.iter().map(|sent| sent.arrival).collect(),
        };
        let (mut now, mut done) = (0.0_f64, 0);
        loop {
            while due.front().is_some_and(|next| *next <= now) {
                let arrival = due.pop_front().expect("checked");
                let idx = self.reqs.len();
                let (sent, is_refused) = self.bound(Sent {
                    arrival,
                    ..requests[idx]
                });
                self.reqs.push(Req {
                    sent,
                    out: 0,
                    computed: 0,
                    blocks: Vec::new(),
                    shared: 0,
                    first: None,
                    first_answer: None,
                    end: None,
                    preemptions: 0,
                });
                if is_refused {
                    done += 1;
                    if clients.is_some() && self.reqs.len() + due.len() < requests.len() {
                        due.push_back(now);
                    }
                } else {
                    self.waiting.push_back(idx);
                }
            }
            if done == requests.len() {
                break;
            }
            if self.running.is_empty() && self.waiting.is_empty() {
                now = now.max(*due.front().expect("someone is still to come"));
                self.ratio = self.init_ratio;
                self.is_full = false;
                continue;
            }
            self.batch.clear();
            self.passes = 1;
            match self.scheduler {
                Scheduler::Vllm(vllm) => self.vllm(&vllm),
                Scheduler::TensorRtLlm(trt) => self.tensorrt_llm(&trt),
                Scheduler::Sglang(sglang) => self.sglang(&sglang),
                Scheduler::LlamaCpp(llama) => self.llama_cpp(&llama),
            }
            self.steps += 1;
            let mut ended = std::mem::take(&mut self.failed);
            if self.batch.is_empty() && ended.is_empty() {
                now = *due.front().expect("it can go on");
            }
            let mut load = Load::default();
            for (id, tokens) in &self.batch {
                let req = &self.reqs[*id];
                self.step_time.add(
                    &mut load,
                    req.computed,
                    *tokens,
                    req.computed + tokens == req.known(),
                );
            }
            load.passes = self.passes;
            now += self.step_time.seconds(&load);
            for (id, tokens) in self.batch.clone() {
                let req = &mut self.reqs[id];
                req.computed += tokens;
                if req.computed == req.known() {
                    req.out += 1;
                    if req.out == 1 {
                        req.first = Some(now);
                    }
                    if req.out == req.sent.thinking + 1 {
                        req.first_answer = Some(now);
                    }
                }
            }
            if matches!(self.scheduler, Scheduler::TensorRtLlm(_)) {
                for id in self.running.clone() {
                    let computed = self.reqs[id].computed;
                    self.blocks.name(id, &mut self.reqs[id], computed);
                }
            }
            for id in self.running.clone() {
                let req = &mut self.reqs[id];
                if req.out == req.sent.output {
                    let computed = req.computed;
                    self.blocks.name(id, req, computed);
                    self.blocks.free_all(req);
                    self.running.retain(|other| *other != id);
                    self.is_full = false;
                    self.released += 1;
                    if let Some(slot) = self.slots.iter_mut().find(|slot| slot.0 == Some(id)) {
                        *slot = (None, computed, self.released);
                    }
                    ended.push(id);
                }
            }
            for id in ended {
                self.reqs[id].end = Some(now);
                done += 1;
                if clients.is_some() && self.reqs.len() + due.len() < requests.len() {
                    due.push_back(now);
                }
            }
        }
        let outcome = |req: &Req| Outcome {
            first: req.first,
            first_answer: req.first_answer,
            end: req.end,
            out: req.out,
            preemptions: req.preemptions,
        };
        self.reqs.iter().map(outcome).collect()
    }

    /// Bounds a request as the engine does; whether it can never run.
    fn bound(&self, mut sent: Sent) -> (Sent, bool) {
        let all = self.blocks.key.len() as u64;
        let peak = sent.prompt + sent.output - 1;
        let is_refused = match self.scheduler {
            Scheduler::Vllm(vllm) => {
                all < self.blocks.of(peak)
                    || !vllm.enable_chunked_prefill && vllm.max_num_batched_tokens < peak
            }
            Scheduler::TensorRtLlm(trt) => {
                let (most, in_step) = if trt.policy == CapacityPolicy::MaxUtilization {
                    (peak + 1, peak)
                } else {
                    (sent.prompt + sent.max_new, sent.prompt)
                };
                all < self.blocks.of(most)
                    || !trt.enable_chunked_context && trt.max_num_tokens < in_step
            }
            Scheduler::Sglang(_) => {
                let page = self.blocks.size;
                let room = (all * page).saturating_sub(sent.prompt + 2 * page);
                sent.max_new = sent.max_new.min(room).max(sent.output);
                all < self.blocks.of(sent.prompt + sent.output + 2 * page)
            }
            Scheduler::LlamaCpp(llama) => {
                let slot = if llama.kv_unified {
                    all
                } else {
                    all / llama.n_parallel
                };
                if slot <= sent.prompt {
                    true
                } else {
                    sent.output = sent.output.min(slot - sent.prompt);
                    false
                }
            }
        };
        (sent, is_refused)
    }

    fn grow(&mut self, id: usize, tokens: u64) -> bool {
        let blocks = self.blocks.of(tokens);
        let held = self.reqs[id].blocks.len() as u64;
        if self.blocks.num_free() < blocks.saturating_sub(held) {
            return false;
        }
        for _ in held..blocks {
            let block = self.blocks.alloc();
            self.reqs[id].blocks.push(block);
        }
        true
    }

    fn start(&mut self, id: usize, found: &[usize], shared: u64, tokens: u64) {
        self.blocks.touch(found);
        let req = &mut self.reqs[id];
        req.blocks = found.to_vec();
        req.shared = shared;
        req.computed = found.len() as u64 * self.blocks.size;
        assert!(self.grow(id, tokens), "checked before");
    }

    fn preempt(&mut self, id: usize) {
        self.running.retain(|other| *other != id);
        let req = &mut self.reqs[id];
        req.preemptions += 1;
        self.blocks.free_all(req);
    }

    fn vllm(&mut self, vllm: &Vllm) {
        let mut budget = vllm.max_num_batched_tokens;
        let mut has_preempted = false;
        let mut idx = 0;
        while idx < self.running.len() && 0 < budget {
            let id = self.running[idx];
            let tokens = (self.reqs[id].known() - self.reqs[id].computed).min(budget);
            let end = self.reqs[id].computed + tokens;
            while self.running.contains(&id) && !self.grow(id, end) {
                let victim = *self.running.last().expect("id runs");
                self.preempt(victim);
                self.waiting.push_front(victim);
                has_preempted = true;
            }
            if !self.running.contains(&id) {
                break;
            }
            self.blocks.name(id, &mut self.reqs[id], end);
            self.batch.push((id, tokens));
            budget -= tokens;
            idx += 1;
        }
        if has_preempted {
            return;
        }
        while 0 < budget && (self.running.len() as u64) < vllm.max_num_seqs {
            let Some(id) = self.waiting.front().copied() else {
                return;
            };
            let known = self.reqs[id].known();
            let (found, shared) = self.blocks.find(id, known);
            let start = found.len() as u64 * self.blocks.size;
            if !vllm.enable_chunked_prefill && budget < known - start {
                return;
            }
            let tokens = (known - start).min(budget);
            let watermark = if self.running.is_empty() {
                0
            } else {
                self.blocks.key.len() as u64 * vllm.watermark_thousandths / 1000
            };
            let gate = if vllm.reserve_full_isl {
                known
            } else {
                start + tokens
            };
            let needed = self.blocks.of(gate) - found.len() as u64 + self.blocks.free_among(&found);
            if self.blocks.num_free() < needed + watermark {
                return;
            }
            self.start(id, &found, shared, start + tokens);
            self.blocks.name(id, &mut self.reqs[id], start + tokens);
            self.batch.push((id, tokens));
            budget -= tokens;
            self.waiting.pop_front();
            self.running.push(id);
        }
    }

    fn is_decoding(&self, id: usize) -> bool {
        let req = &self.reqs[id];
        0 < req.out && req.known() - req.computed == 1
    }

    /// Whether a running request, or one that is about to run, will compute the prefix's next block.
    fn is_producing(&self, others: &[usize]) -> bool {
        let missing =
            (0..self.blocks.prefix).any(|idx| !self.blocks.table.contains_key(&(None, idx)));
        missing
            && (!others.is_empty()
                || self.running.iter().any(|id| {
                    let req = &self.reqs[*id];
                    req.shared < self.blocks.prefix
                        && req.computed < self.blocks.prefix * self.blocks.size
                }))
    }

    fn is_better_off_waiting(&self, trt: &TensorRtLlm, id: usize, others: &[usize]) -> bool {
        let known = self.reqs[id].known();
        let (_, shared) = self.blocks.find(id, known);
        trt.policy != CapacityPolicy::StaticBatch
            && trt.enable_block_reuse
            && self.is_producing(others)
            && shared < self.blocks.prefix.min(known / self.blocks.size)
    }

    fn tensorrt_llm(&mut self, trt: &TensorRtLlm) {
        let chosen = if trt.policy == CapacityPolicy::MaxUtilization {
            self.max_utilization(trt)
        } else {
            self.no_evict(trt)
        };
        let mut budget = trt.max_num_tokens;
        self.running.sort_unstable();
        for id in self.running.clone() {
            if self.is_decoding(id) && 0 < budget {
                let end = self.reqs[id].computed + 1;
                assert!(self.grow(id, end), "the capacity scheduler saw to it");
                self.batch.push((id, 1));
                budget -= 1;
            }
        }
        let chunk = |missing: u64, budget: u64, size: u64| {
            if missing <= budget {
                missing
            } else if trt.enable_chunked_context {
                budget / size * size
            } else {
                0
            }
        };
        for id in self.running.clone() {
            if !self.is_decoding(id) {
                let missing = self.reqs[id].known() - self.reqs[id].computed;
                let tokens = chunk(missing, budget, self.blocks.size);
                if 0 < tokens {
                    self.batch.push((id, tokens));
                    budget -= tokens;
                }
            }
        }
        for id in chosen {
            let known = self.reqs[id].known();
            let (found, shared) = self.blocks.find(id, known);
            let missing = known - found.len() as u64 * self.blocks.size;
            let tokens = chunk(missing, budget, self.blocks.size);
            if 0 < tokens {
                self.start(id, &found, shared, known);
                self.batch.push((id, tokens));
                budget -= tokens;
                self.waiting.retain(|other| *other != id);
                self.running.push(id);
            }
        }
        self.running.sort_unstable();
    }

    fn no_evict(&self, trt: &TensorRtLlm) -> Vec<usize> {
        let mut res = Vec::new();
        if trt.policy == CapacityPolicy::StaticBatch && !self.running.is_empty() {
            return res;
        }
        let whole = |id: usize| {
            self.blocks
                .of(self.reqs[id].sent.prompt + self.reqs[id].sent.max_new)
        };
        let reserved: u64 = self
            .running
            .iter()
            .map(|id| whole(*id) - self.reqs[*id].blocks.len() as u64)
            .sum();
        let mut free = self.blocks.num_free() - reserved;
        for id in self.waiting.iter().copied() {
            if (self.running.len() + res.len()) as u64 == trt.max_batch_size {
                break;
            }
            if self.is_better_off_waiting(trt, id, &res) {
                continue;
            }
            if free < whole(id) {
                break;
            }
            free -= whole(id);
            res.push(id);
        }
        res
    }

    fn max_utilization(&mut self, trt: &TensorRtLlm) -> Vec<usize> {
        let mut list: Vec<usize> = self.running.iter().chain(&self.waiting).copied().collect();
        list.sort_unstable();
        let (mut count, mut reserved, mut res) = (0, 0, Vec::new());
        // Who was producing the prefix when the pass began.
        let was_producing = self.is_producing(&[]);
        let mut idx = 0;
        while idx < list.len() {
            let id = list[idx];
            let is_started = self.running.contains(&id);
            let known = self.reqs[id].known();
            let (found, shared) = self.blocks.find(id, known);
            let missing_prefix =
                (0..self.blocks.prefix).any(|idx| !self.blocks.table.contains_key(&(None, idx)));
            let is_producing =
                trt.enable_block_reuse && (was_producing || missing_prefix && !res.is_empty());
            if !is_started
                && is_producing
                && shared < self.blocks.prefix.min(known / self.blocks.size)
            {
                idx += 1;
                continue;
            }
            let needed = if is_started {
                let held = self.reqs[id].blocks.len() as u64;
                self.blocks
                    .of(self.reqs[id].computed + 1)
                    .saturating_sub(held)
            } else {
                self.blocks.of(known) - found.len() as u64 + self.blocks.free_among(&found)
            };
            if count < trt.max_batch_size && reserved + needed <= self.blocks.num_free() {
                count += 1;
                reserved += needed;
                if !is_started {
                    res.push(id);
                }
                idx += 1;
                continue;
            }
            let last = (idx..list.len())
                .rev()
                .find(|at| self.running.contains(&list[*at]));
            let Some(last) = last else {
                break;
            };
            let victim = list[last];
            self.preempt(victim);
            let at = self.waiting.partition_point(|other| *other < victim);
            self.waiting.insert(at, victim);
            list.truncate(last);
        }
        res
    }

    fn sglang(&mut self, sglang: &Sglang) {
        let init = self.init_ratio;
        let min = (init * 0.14).min(1.0);
        self.sglang_prefill(sglang);
        if !self.batch.is_empty() {
            return;
        }
        let mut decoding: Vec<usize> = self
            .running
            .iter()
            .copied()
            .filter(|id| Some(*id) != self.chunked)
            .collect();
        let needed = |oracle: &Self, ids: &[usize]| -> u64 {
            ids.iter()
                .map(|id| {
                    let req = &oracle.reqs[*id];
                    oracle
                        .blocks
                        .of(req.computed + 1)
                        .saturating_sub(req.blocks.len() as u64)
                })
                .sum()
        };
        if needed(self, &decoding) <= self.blocks.num_free() {
            self.ratio = (self.ratio - (init - min) / 600.0).max(min);
        } else {
            while self.blocks.num_free() < needed(self, &decoding) {
                // The fewest outputs, then the longest prompt, then the last.
                let victim = decoding
                    .iter()
                    .copied()
                    .enumerate()
                    .min_by_key(|(at, id)| {
                        let req = &self.reqs[*id];
                        (req.out, Reverse(req.sent.prompt), Reverse(*at))
                    })
                    .map(|(_, id)| id)
                    .expect("someone decodes");
                decoding.retain(|other| *other != victim);
                if decoding.is_empty() {
                    self.running.retain(|other| *other != victim);
                    let req = &mut self.reqs[victim];
                    self.blocks.free_all(req);
                    self.failed.push(victim);
                } else {
                    self.preempt(victim);
                    self.waiting.push_back(victim);
                }
            }
            let out: u64 = decoding.iter().map(|id| self.reqs[*id].out).sum();
            let most: u64 = decoding.iter().map(|id| self.reqs[*id].sent.max_new).sum();
            self.ratio = ((out + 20 * decoding.len() as u64) as f64 / (most + 1) as f64).min(1.0);
            self.is_full = false;
        }
        for id in decoding {
            let end = self.reqs[id].computed + 1;
            assert!(self.grow(id, end), "retraction saw to it");
            self.batch.push((id, 1));
        }
    }

    fn sglang_prefill(&mut self, sglang: &Sglang) {
        if self.chunked.is_none() {
            if self.is_full || self.waiting.is_empty() {
                return;
            }
            if sglang.max_running_requests <= self.running.len() as u64 {
                self.is_full = true;
                return;
            }
        }
        let page = self.blocks.size;
        let paged = |tokens: u64| tokens.div_ceil(page) * page;
        let clip = |tokens: u64| tokens.min(4096);
        let expected: f64 = self
            .running
            .iter()
            .filter(|id| Some(**id) != self.chunked)
            .map(|id| clip(self.reqs[*id].sent.max_new - self.reqs[*id].out) as f64 * self.ratio)
            .sum();
        let free = (self.blocks.num_free() * page) as f64;
        let (mut total, mut now) = (free - expected, free);
        let (mut input, mut chunk) = (sglang.max_prefill_tokens, sglang.chunked_prefill_size);
        let mut charge =
            |total: &mut f64, now: &mut f64, chunk: &mut u64, tokens: u64, output: u64| {
                *total -= (paged(tokens) + output + page) as f64;
                *now -= paged(tokens) as f64;
                *chunk = chunk.saturating_sub(paged(tokens));
                input = input.saturating_sub(paged(tokens));
                input
            };
        if let Some(id) = self.chunked {
            let missing = self.reqs[id].known() - self.reqs[id].computed;
            let tokens = missing.min(chunk);
            let end = self.reqs[id].computed + tokens;
            if 0 < tokens && self.grow(id, end) {
                let output = if tokens < missing {
                    0
                } else {
                    clip(self.reqs[id].sent.max_new)
                };
                charge(&mut total, &mut now, &mut chunk, tokens, output);
                self.batch.push((id, tokens));
                self.chunked = (tokens < missing).then_some(id);
            }
        }
        while self.chunked.is_none() {
            let Some(id) = self.waiting.front().copied() else {
                break;
            };
            if sglang.max_running_requests <= self.running.len() as u64 {
                self.is_full = true;
                break;
            }
            let (known, sent, out) = (self.reqs[id].known(), self.reqs[id].sent, self.reqs[id].out);
            if total <= (known + clip(sent.max_new - out) + page) as f64 {
                self.is_full = true;
                break;
            }
            let (tokens, output) = if paged(known) <= chunk {
                (known, clip(sent.max_new))
            } else {
                (chunk / page * page, 0)
            };
            if tokens == 0 || self.blocks.num_free() < self.blocks.of(tokens) {
                break;
            }
            self.start(id, &[], 0, tokens);
            self.waiting.pop_front();
            self.running.push(id);
            self.batch.push((id, tokens));
            let input = charge(&mut total, &mut now, &mut chunk, tokens, output);
            if tokens < known {
                self.chunked = Some(id);
            }
            if total <= 0.0 || now <= 0.0 {
                self.is_full = true;
                break;
            }
            if input == 0 || chunk == 0 {
                break;
            }
        }
    }

    fn llama_cpp(&mut self, llama: &LlamaCpp) {
        while let Some(id) = self.waiting.front().copied() {
            let prompt = self.reqs[id].sent.prompt;
            let prefix = self.shared_prefix.min(prompt - 1);
            let mut best: Option<usize> = None;
            for (idx, slot) in self.slots.iter().enumerate() {
                let like = slot.1.min(prefix);
                let is_better = best.is_none_or(|best| self.slots[best].1.min(prefix) < like);
                if slot.0.is_none() && 0.1 < like as f64 / prompt as f64 && is_better {
                    best = Some(idx);
                }
            }
            if best.is_none() {
                for (idx, slot) in self.slots.iter().enumerate() {
                    let is_longer = best.is_none_or(|best| slot.2 < self.slots[best].2);
                    if slot.0.is_none() && is_longer {
                        best = Some(idx);
                    }
                }
            }
            let Some(best) = best else {
                break;
            };
            let found = self.slots[best].1.min(prefix);
            self.slots[best].0 = Some(id);
            self.slots[best].1 = 0;
            assert!(self.grow(id, found), "it was there");
            self.reqs[id].computed = found;
            self.waiting.pop_front();
        }
        self.running = self.slots.iter().filter_map(|slot| slot.0).collect();
        let mut budget = llama.n_batch;
        let mut batch = Vec::new();
        for id in &self.running {
            if self.is_decoding(*id) && 0 < budget {
                batch.push((*id, 1));
                budget -= 1;
            }
        }
        for id in &self.running {
            let tokens = (self.reqs[*id].known() - self.reqs[*id].computed).min(budget);
            if !self.is_decoding(*id) && 0 < tokens {
                batch.push((*id, tokens));
                budget -= tokens;
            }
        }
        let tokens: u64 = batch.iter().map(|(_, tokens)| *tokens).sum();
        let idle = |slots: &[(Option<usize>, u64, u64)]| -> u64 {
            slots
                .iter()
                .filter(|slot| slot.0.is_none())
                .map(|slot| slot.1)
                .sum()
        };
        while llama.kv_unified && self.blocks.num_free() < tokens + idle(&self.slots) {
            let slot = self
                .slots
                .iter_mut()
                .find(|slot| slot.0.is_none() && 0 < slot.1);
            match slot {
                Some(slot) => slot.1 = 0,
                None => {
                    for id in std::mem::take(&mut self.running) {
                        let req = &mut self.reqs[id];
                        self.blocks.free_all(req);
                        self.failed.push(id);
                    }
                    self.slots.fill((None, 0, 0));
                    return;
                }
            }
        }
        for (id, tokens) in batch {
            let end = self.reqs[id].computed + tokens;
            assert!(self.grow(id, end), "there is room");
            self.batch.push((id, tokens));
        }
        self.passes = tokens.div_ceil(llama.n_ubatch);
    }
}
