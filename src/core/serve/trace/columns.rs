//! What traces call their columns, and the units that the names tell.
//!
//! Names are compared without case, spaces and punctuation. Within a list the plainest counts come first: a column such as
//! `prompt` may hold a text beside `prompt_tokens`.
//!
//! Sources of names and units, besides ours:
//! vLLM and SGLang (`prompt_len`, `num_prompt_tokens`, `queued_ts`, …);
//! LLMServingSim `input_toks`, `output_toks`, `arrival_time_ns` (casys-kaist/LLMServingSim, `workloads`);
//! Azure `TIMESTAMP,ContextTokens,GeneratedTokens` (Azure/AzurePublicDataset, `AzureLLMInferenceDataset2023.md` and 2024);
//! BurstGPT `Timestamp,Model,Request tokens,Response tokens,…`, seconds (HPMLL/BurstGPT, `README.md`);
//! Mooncake, AIPerf and Dynamo `timestamp`, `input_length`, `output_length`, `hash_ids`, milliseconds (kvcache-ai/Mooncake;
//! ai-dynamo/aiperf `mooncake_trace`; dynamo-data-gen `MooncakeRow`);
//! Qwen-Bailian the same with `chat_id` and `parent_chat_id`, seconds (alibaba-edu/qwen-bailian-usagetraces-anon, `README.md`);
//! Vidur `arrived_at,num_prefill_tokens,num_decode_tokens`; Splitwise `arrival_timestamp,prompt_size,token_size`;
//! OpenAI `usage` with `prompt_tokens` or `input_tokens` and so on.

use super::Unit;

/// What a column holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// When a request came.
    Arrival,
    /// Its prompt.
    Prompt,
    /// Its thinking.
    Thinking,
    /// Its answer.
    Answer,
    /// Thinking and answer together.
    Output,
    /// Nothing that is simulated, but Mooncake's traces have it.
    MooncakeMark,
    /// Nothing that is simulated, but Qwen-Bailian's traces have it.
    BailianMark,
}

/// Kinds that hold a value of a request: as many cells has a record.
pub(super) const N_KINDS: usize = 5;

/// What a name stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Column {
    pub(super) kind: Kind,
    /// The name, as it is compared and without its unit.
    pub(super) name: &'static str,
    /// The lower, the sooner it is taken.
    pub(super) rank: usize,
    /// The unit that the name tells.
    pub(super) unit: Option<Unit>,
}

const ARRIVAL: &[&str] = &[
    "arrival",
    "arrivaltime",
    "arrivaltimestamp",
    "arrivedat",
    "requesttime",
    "requesttimestamp",
    "submittime",
    "submittedat",
    "sendtime",
    "sentat",
    "timestamp",
    "datetime",
    "queuedts",
    "queuedat",
    "queuedtime",
    "ts",
    "createdat",
    "createdtime",
    "created",
    "starttime",
    "time",
    "t",
];
const PROMPT: &[&str] = &[
    "prompttokens",
    "inputtokens",
    "inputtoks",
    "prompttoks",
    "numprompttokens",
    "numinputtokens",
    "numprefilltokens",
    "prefilltokens",
    "contexttokens",
    "requesttokens",
    "inputlength",
    "inputlen",
    "promptlength",
    "promptlen",
    "promptsize",
    "isl",
    "prompt",
    "input",
];
const THINKING: &[&str] = &[
    "thinkingtokens",
    "reasoningtokens",
    "numthinkingtokens",
    "numreasoningtokens",
    "reasontokens",
    "thinkinglength",
    "thinkinglen",
    "reasoninglength",
    "reasoninglen",
    "thinking",
    "reasoning",
];
const ANSWER: &[&str] = &[
    "answertokens",
    "numanswertokens",
    "answerlength",
    "answerlen",
    "answer",
];
const OUTPUT: &[&str] = &[
    "outputtokens",
    "completiontokens",
    "outputtoks",
    "completiontoks",
    "numoutputtokens",
    "numcompletiontokens",
    "numgeneratedtokens",
    "numdecodetokens",
    "decodetokens",
    "generatedtokens",
    "responsetokens",
    "outputlength",
    "outputlen",
    "completionlength",
    "completionlen",
    "responselength",
    "responselen",
    "tokensize",
    "osl",
    "output",
    "completion",
    "response",
];
const KINDS: &[(Kind, &[&str])] = &[
    (Kind::Arrival, ARRIVAL),
    (Kind::Prompt, PROMPT),
    (Kind::Thinking, THINKING),
    (Kind::Answer, ANSWER),
    (Kind::Output, OUTPUT),
    (Kind::MooncakeMark, &["hashids"]),
    (Kind::BailianMark, &["chatid", "parentchatid"]),
];

/// Endings that tell a unit.
const UNITS: &[(Unit, &[&str])] = &[
    (
        Unit::Nanoseconds,
        &["ns", "nsec", "nanos", "nanosec", "nanoseconds"],
    ),
    (
        Unit::Microseconds,
        &[
            "us",
            "µs",
            "μs",
            "usec",
            "micros",
            "microsec",
            "microseconds",
        ],
    ),
    (
        Unit::Milliseconds,
        &["ms", "msec", "millis", "millisec", "milliseconds"],
    ),
    (Unit::Seconds, &["seconds", "secs", "sec"]),
];

/// Objects and lists whose contents belong to a request, or are the requests.
const OPENED: &[&str] = &[
    "usage",
    "completiontokensdetails",
    "outputtokensdetails",
    "response",
    "body",
    "data",
    "requests",
    "rows",
    "records",
    "trace",
    "traces",
    "entries",
    "items",
];

/// What a column of this name holds, if it is known.
pub(super) fn column(name: &str) -> Option<Column> {
    let plain = plain(name);
    if let Some(column) = named(&plain, None) {
        return Some(column);
    }
    let timed =
        |base: &str, unit| named(base, Some(unit)).filter(|column| column.kind == Kind::Arrival);
    for (unit, endings) in UNITS {
        let base = endings.iter().filter_map(|end| plain.strip_suffix(end));
        if let Some(column) = base.filter_map(|base| timed(base, *unit)).next() {
            return Some(column);
        }
    }
    // A mere "s" must stand apart: "arrivals" tells no unit.
    let name = name.trim_end_matches(|c: char| !c.is_alphanumeric());
    let apart = name.strip_suffix(['s', 'S'])?;
    let is_apart = apart.ends_with(|c: char| !c.is_alphanumeric());
    timed(plain.strip_suffix('s')?, Unit::Seconds).filter(|_| is_apart)
}

/// Whether what stands under this name is to be looked into.
pub(super) fn is_opened(name: &str) -> bool {
    OPENED.contains(&plain(name).as_str())
}

/// Some names of the kinds, as they are usually written.
pub(super) fn examples(kind: Kind) -> &'static [&'static str] {
    match kind {
        Kind::Arrival => &["arrival", "arrival_time", "arrival_ms", "timestamp"],
        Kind::Prompt => &["prompt", "prompt_tokens", "input_tokens", "input_length"],
        Kind::Thinking => &["thinking", "reasoning_tokens"],
        Kind::Answer | Kind::Output => &["answer", "output", "output_tokens", "output_length"],
        Kind::MooncakeMark | Kind::BailianMark => &[],
    }
}

fn plain(name: &str) -> String {
    // Longer names are none of ours.
    let letters = name.chars().filter(|c| c.is_alphanumeric()).take(40);
    letters.flat_map(char::to_lowercase).collect()
}

fn named(plain: &str, unit: Option<Unit>) -> Option<Column> {
    KINDS.iter().find_map(|(kind, names)| {
        let rank = names.iter().position(|name| *name == plain)?;
        Some(Column {
            kind: *kind,
            name: names[rank],
            rank,
            unit,
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_tell_units() {
        let rows = [
            ("arrival", Some(("arrival", None))),
            (
                "Arrival Time (ms)",
                Some(("arrivaltime", Some(Unit::Milliseconds))),
            ),
            ("arrivalMs", Some(("arrival", Some(Unit::Milliseconds)))),
            (
                "arrival_time_ns",
                Some(("arrivaltime", Some(Unit::Nanoseconds))),
            ),
            (
                "timestamp-us",
                Some(("timestamp", Some(Unit::Microseconds))),
            ),
            (
                "timestamp [µs]",
                Some(("timestamp", Some(Unit::Microseconds))),
            ),
            ("arrival_s", Some(("arrival", Some(Unit::Seconds)))),
            ("ARRIVAL (S)", Some(("arrival", Some(Unit::Seconds)))),
            ("arrival_seconds", Some(("arrival", Some(Unit::Seconds)))),
            ("ts", Some(("ts", None))),
            ("t_s", Some(("ts", None))),
            ("ts_ms", Some(("ts", Some(Unit::Milliseconds)))),
            ("queued_ts", Some(("queuedts", None))),
            ("arrivals", None),
            ("timestamps", None),
            ("latency_ms", None),
            ("ContextTokens", Some(("contexttokens", None))),
            ("Request tokens", Some(("requesttokens", None))),
            // A unit of time makes no other column.
            ("prompt_ms", None),
            ("", None),
        ];
        for (name, expected) in rows {
            let found = column(name).map(|column| (column.name, column.unit));
            assert_eq!(found, expected, "{name}");
        }
    }

    #[test]
    fn no_name_stands_for_two_things() {
        let mut names: Vec<_> = KINDS.iter().flat_map(|(_, names)| *names).collect();
        let n_names = names.len();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), n_names);
        for (kind, _) in KINDS {
            for name in examples(*kind) {
                assert!(column(name).is_some(), "{name}");
            }
        }
    }
}
