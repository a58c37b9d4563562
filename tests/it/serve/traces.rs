//! Traces of all kinds: what is read of them, and what is said of those that are not.

use kvscope::core::serve::ServeError;
use kvscope::core::serve::trace::{self, TraceRow, Unit, UnitFrom};
use kvscope::view::fleet::runs;
use kvscope::view::text::{ENGLISH, zh};
use proptest::prelude::*;

/// Two requests, a second and a half apart.
fn two() -> Vec<TraceRow> {
    vec![row(0.0, 374, 0, 44), row(1.5, 396, 0, 109)]
}

/// The same, of which a part is thinking.
fn two_thinking() -> Vec<TraceRow> {
    vec![row(0.0, 374, 40, 4), row(1.5, 396, 100, 9)]
}

fn row(
    arrival_seconds: f64,
    prompt_tokens: u64,
    thinking_tokens: u64,
    answer_tokens: u64,
) -> TraceRow {
    TraceRow {
        arrival_seconds,
        prompt_tokens,
        thinking_tokens,
        answer_tokens,
    }
}

/// Rows are these; arrivals may be off by what a number from 1970 on cannot hold.
fn check(text: &str, expected: &[TraceRow], unit: Unit, from: UnitFrom) {
    let trace = trace::read(text).unwrap_or_else(|error| panic!("{error:?}: {text}"));
    assert_eq!((trace.unit, trace.unit_from), (unit, from), "{text}");
    assert_eq!(trace.rows.len(), expected.len(), "{text}");
    for (given, expected) in trace.rows.iter().zip(expected) {
        let difference = (given.arrival_seconds - expected.arrival_seconds).abs();
        assert!(difference < 1e-6, "{given:?} {expected:?} {text}");
        let arrival_seconds = expected.arrival_seconds;
        assert_eq!(
            TraceRow {
                arrival_seconds,
                ..*given
            },
            *expected,
            "{text}"
        );
    }
}

#[test]
fn formats_are_read() {
    use Unit::{Microseconds, Milliseconds, Nanoseconds, Seconds};
    use UnitFrom::{Bailian, Dates, Epoch, Mooncake, Name, Nothing};
    let plain = two();
    let rows = [
        // Ours, in any order, with an empty line, a mark of byte order, a comment and no end of line.
        (
            "arrival,prompt,answer\n2.0,396,109\n0.5,374,44\n",
            Seconds,
            Nothing,
        ),
        (
            "\u{feff}# of a server\nid,\"prompt\",answer,arrival\r\na,\"374\",44,1000.5\r\n\r\n  \n,,,\nb,396,109,1002,,\n# end",
            Seconds,
            Nothing,
        ),
        // Units in names.
        (
            "arrival_ms,prompt,answer\n500,374,44\n2000,396,109",
            Milliseconds,
            Name,
        ),
        (
            "timestamp_us;prompt;answer\n500000;374;44\n2000000;396;109",
            Microseconds,
            Name,
        ),
        (
            "Arrival Time (ns)\tprompt\tanswer\n0\t374\t44\n1500000000\t396\t109",
            Nanoseconds,
            Name,
        ),
        (
            "arrival_s|prompt|answer\n1787267980082|374|44\n1787267980083.5|396|109",
            Seconds,
            Name,
        ),
        // Counted from 1970: seconds as vLLM's arrival_time, then what other clocks write.
        (
            "arrival_time,prompt,answer\n1787267980,374,44\n1787267981.5,396,109",
            Seconds,
            Epoch,
        ),
        (
            "timestamp,prompt,answer\n1787267980082,374,44\n1787267981582,396,109",
            Milliseconds,
            Epoch,
        ),
        (
            "timestamp,prompt,answer\n1787267980082000,374,44\n1787267981582000,396,109",
            Microseconds,
            Epoch,
        ),
        (
            "timestamp,prompt,answer\n1787267980082000000,374,44\n1787267981582000000,396,109",
            Nanoseconds,
            Epoch,
        ),
        // Azure 2023 and 2024 (Azure/AzurePublicDataset, AzureLLMInferenceTrace_conv.csv and _1week.csv).
        (
            "TIMESTAMP,ContextTokens,GeneratedTokens\n2023-11-16 18:15:46.6805900,374,44\n2023-11-16 18:15:48.1805900,396,109",
            Seconds,
            Dates,
        ),
        (
            "TIMESTAMP,ContextTokens,GeneratedTokens\n2024-05-10 00:00:00.009930+00:00,374,44\n2024-05-10 00:00:01.509930+00:00,396,109",
            Seconds,
            Dates,
        ),
        (
            "timestamp,input_length,output_length,prompt\n2025-05-26T22:04:54.5Z,374,44,\"a, \"\"b\"\"\nc\"\n2025-05-27T00:04:56+02:00,396,109,Hello",
            Seconds,
            Dates,
        ),
        // BurstGPT (HPMLL/BurstGPT, README.md); a later release has session columns.
        (
            "Timestamp,Model,Request tokens,Response tokens,Total tokens,Log Type\n5,ChatGPT,374,44,418,Conversation log\n6.5,GPT-4,396,109,505,API log",
            Seconds,
            Nothing,
        ),
        (
            "Timestamp,Session ID,Elapsed time,Model,Request tokens,Response tokens,Total tokens,Log Type\n5,a,2,ChatGPT,374,44,418,API log\n6.5,b,1,GPT-4,396,109,505,API log",
            Seconds,
            Nothing,
        ),
        // Mooncake, AIPerf, Dynamo (kvcache-ai/Mooncake FAST25-release; ai-dynamo/aiperf mooncake_trace).
        (
            "{\"timestamp\": 27482, \"input_length\": 374, \"output_length\": 44, \"hash_ids\": [46, 47]}\n{\"timestamp\": 28982, \"input_length\": 396, \"output_length\": 109, \"hash_ids\": []}",
            Milliseconds,
            Mooncake,
        ),
        (
            "{\"timestamp\": 0, \"input_length\": 374, \"output_length\": 44}\n{\"timestamp\": 1500, \"input_length\": 396, \"output_length\": 109}",
            Milliseconds,
            Mooncake,
        ),
        (
            "{\"timestamp\": 0.25, \"input_length\": 374, \"output_length\": 44, \"hash_ids\": [0]}\n{\"timestamp\": 1500.25, \"input_length\": 396, \"output_length\": 109, \"hash_ids\": [0]}",
            Milliseconds,
            Mooncake,
        ),
        (
            "timestamp,input_length,output_length\n0,374,44\n1500,396,109",
            Milliseconds,
            Mooncake,
        ),
        // The same names with seconds that have fractions.
        (
            "Timestamp,input_length,output_length\n10.0,374,44\n11.5,396,109",
            Seconds,
            Nothing,
        ),
        // Qwen-Bailian, seconds (alibaba-edu/qwen-bailian-usagetraces-anon, README.md).
        (
            "{\"chat_id\": 159, \"parent_chat_id\": 55, \"timestamp\": 61, \"input_length\": 374, \"output_length\": 44, \"type\": \"text\", \"turn\": 2, \"hash_ids\": [1089]}\n{\"chat_id\": 160, \"parent_chat_id\": -1, \"timestamp\": 62.5, \"input_length\": 396, \"output_length\": 109, \"type\": \"text\", \"turn\": 1, \"hash_ids\": [1]}",
            Seconds,
            Bailian,
        ),
        // LLMServingSim: workloads, and what a run of vLLM told (casys-kaist/LLMServingSim).
        (
            "{\"input_toks\": 374, \"output_toks\": 44, \"arrival_time_ns\": 46926808, \"input_tok_ids\": [83810, 1]}\n{\"input_toks\": 396, \"output_toks\": 109, \"arrival_time_ns\": 1546926808}",
            Nanoseconds,
            Name,
        ),
        (
            "{\"request_id\": \"bench-0\", \"input_toks\": 374, \"output_toks\": 44, \"arrival_time\": 1787267980.0827403, \"queued_ts\": 27536.66}\n{\"request_id\": \"bench-1\", \"input_toks\": 396, \"output_toks\": 109, \"arrival_time\": 1787267981.5827403, \"queued_ts\": 27537.0}",
            Seconds,
            Epoch,
        ),
        (
            "queued_ts,prompt_len,output_len\n27536.66,374,44\n27538.16,396,109",
            Seconds,
            Nothing,
        ),
        // Names of benchmarks of vLLM, SGLang and others.
        (
            "start_time,num_prompt_tokens,num_output_tokens\n1,374,44\n2.5,396,109",
            Seconds,
            Nothing,
        ),
        ("arrival,ISL,OSL\n1,374,44\n2.5,396,109", Seconds, Nothing),
        (
            "arrival-time,input-len,completion_tokens\n1,374,44\n2.5,396,109",
            Seconds,
            Nothing,
        ),
        // Vidur, and Splitwise's simulator.
        (
            "arrived_at,num_prefill_tokens,num_decode_tokens\n0.0,374,44\n1.5,396,109",
            Seconds,
            Nothing,
        ),
        (
            "request_id,request_type,application_id,arrival_timestamp,batch_size,prompt_size,token_size\n0,2,0,0.0,1,374,44\n1,2,0,1.5,1,396,109",
            Seconds,
            Nothing,
        ),
        // A list, an object around a list, on one line and on many; the texts beside the counts.
        (
            "[{\"arrival\": 1, \"prompt\": \"374\", \"answer\": \"44.0\"}, {\"Arrival\": 2.5, \"PROMPT\": 396.0, \"answer\": 109}]",
            Seconds,
            Nothing,
        ),
        (
            "{\"model\": \"m\", \"created\": 1700000000, \"requests\": [{\"arrival\": 1, \"prompt\": 374, \"output\": 44}, {\"arrival\": 2.5, \"prompt\": 396, \"output\": 109}]}",
            Seconds,
            Nothing,
        ),
        (
            "# made by hand\n{\n  \"requests\": [\n# the first\n    {\n      \"arrival\": 1,\n      \"prompt_len\": 374, \"prompt\": \"Why\\n?\", \"output_len\": 44, \"output\": null\n    },\n    {\"arrival\": 2.5, \"prompt_len\": 396, \"prompt\": [1, {\"a\": 2}], \"output_len\": 109, \"output\": {\"b\": []}}\n  ]\n}\n",
            Seconds,
            Nothing,
        ),
        // What ServeGen's requests hold.
        (
            "{\"timestamp\": 1.0, \"data\": {\"input_tokens\": 374, \"output_tokens\": 44}}\n{\"timestamp\": 2.5, \"data\": {\"input_tokens\": 396, \"output_tokens\": 109}}",
            Seconds,
            Nothing,
        ),
    ];
    for (text, unit, from) in rows {
        check(text, &plain, unit, from);
    }
    let thinking = [
        (
            "arrival,prompt,thinking,answer\n0.5,374,40,4\n2,396,100,9",
            false,
        ),
        (
            "arrival,prompt,thinking,answer,output\n0.5,374,40,4,44\n2,396,100,9,109",
            false,
        ),
        // Thinking is a part of the output: what OpenAI's `usage` says, in both of its forms.
        (
            "arrival,prompt,reasoning_tokens,output_tokens\n0.5,374,40,44\n2,396,100,109",
            true,
        ),
        (
            "arrival,prompt,answer_tokens,output_tokens\n0.5,374,4,44\n2,396,9,109",
            true,
        ),
        (
            "{\"arrival\": 0.5, \"usage\": {\"prompt_tokens\": 374, \"completion_tokens\": 44, \"completion_tokens_details\": {\"reasoning_tokens\": 40}}}\n{\"arrival\": 2, \"usage\": {\"input_tokens\": 396, \"output_tokens\": 109, \"input_tokens_details\": {\"cached_tokens\": 5}, \"output_tokens_details\": {\"reasoning_tokens\": 100}}}",
            true,
        ),
        (
            "{\"response\": {\"body\": {\"created\": 1700000000, \"usage\": {\"prompt_tokens\": 374, \"completion_tokens\": 44, \"completion_tokens_details\": {\"reasoning_tokens\": 40}}}}}\n{\"response\": {\"body\": {\"created\": 1700000001.5, \"usage\": {\"prompt_tokens\": 396, \"completion_tokens\": 109, \"completion_tokens_details\": {\"reasoning_tokens\": 100}}}}}",
            true,
        ),
    ];
    for (text, is_output_split) in thinking {
        let trace = trace::read(text).unwrap_or_else(|error| panic!("{error:?}: {text}"));
        assert_eq!(trace.rows, two_thinking(), "{text}");
        assert_eq!(trace.is_output_split, is_output_split, "{text}");
    }
}

#[test]
fn how_a_trace_was_read_is_said() {
    let rows = [
        (
            "arrival,prompt,answer\n0,1,2\n1.5,3,4",
            "2 requests over 1.5 s. Arrivals were read as seconds: nothing in the trace says another unit.",
            "2 个请求，历时 1.5 秒。 到达时间按秒读取：记录中没有写明其他单位。",
        ),
        (
            "arrival_ms,prompt,thinking,output\n0,1,2,4",
            "1 request over 0 s. Arrivals were read as milliseconds: the column's name says so. Output tokens were taken as thinking and answer together.",
            "1 个请求，历时 0 秒。 到达时间按毫秒读取：列名如此写明。 输出 token 视为思考与回答之和。",
        ),
        (
            "Timestamp,Request tokens,Response tokens\n5,1,0\n5,2,2\n9,3,0\n65,2,2",
            "2 requests over 1 min. Arrivals were read as seconds: nothing in the trace says another unit. Without prompt or output, 2 more requests were left out.",
            "2 个请求，历时 1 分。 到达时间按秒读取：记录中没有写明其他单位。 另有 2 个没有提示词或输出的请求未计入。",
        ),
        (
            "TIMESTAMP,ContextTokens,GeneratedTokens\n2023-11-16 18:15:46,1,2\n2023-11-16 18:15:48,1,2",
            "2 requests over 2.0 s. Arrivals are dates with times.",
            "2 个请求，历时 2.0 秒。 到达时间为日期时间。",
        ),
        (
            "{\"timestamp\": 0, \"input_length\": 1, \"output_length\": 2, \"hash_ids\": [1]}",
            "1 request over 0 s. Arrivals were read as milliseconds: the columns are those of Mooncake's traces.",
            "1 个请求，历时 0 秒。 到达时间按毫秒读取：各列与 Mooncake 的记录相同。",
        ),
        (
            "{\"chat_id\": 1, \"timestamp\": 0, \"input_length\": 1, \"output_length\": 2, \"hash_ids\": [1]}",
            "1 request over 0 s. Arrivals were read as seconds: the columns are those of Qwen-Bailian's traces.",
            "1 个请求，历时 0 秒。 到达时间按秒读取：各列与 Qwen-Bailian 的记录相同。",
        ),
        (
            "timestamp,prompt,answer\n1787267980082,1,2\n1787267981082,1,2",
            "2 requests over 1.0 s. Arrivals were read as milliseconds: counted from 1970, they have the size of these.",
            "2 个请求，历时 1.0 秒。 到达时间按毫秒读取：从 1970 年起算，数值的大小与此相符。",
        ),
    ];
    for (text, english, chinese) in rows {
        let trace = trace::read(text).unwrap_or_else(|error| panic!("{error:?}: {text}"));
        let is_told = trace::thinks(&trace.rows);
        let said = |text: &str, untold: &str| match is_told {
            true => text.to_owned(),
            false => format!("{text} {untold}"),
        };
        let untold =
            "It does not tell thinking from answer, so more thinking cannot run beside it.";
        assert_eq!(
            runs::trace(&trace, &ENGLISH),
            said(english, untold),
            "{text}"
        );
        let untold = "它不区分思考与回答，所以旁边不能再运行思考更长的一次。";
        assert_eq!(
            runs::trace(&trace, &zh::MESSAGES),
            said(chinese, untold),
            "{text}"
        );
    }
    // The reader may know better.
    let trace = trace::read("arrival,prompt,thinking,answer\n500,1,1,2\n2000,3,0,4")
        .expect("it is a trace");
    assert!(trace.is_unit_open());
    let other = trace.read_as(Unit::Milliseconds);
    assert_eq!(other.rows, [row(0.0, 1, 1, 2), row(1.5, 3, 0, 4)]);
    assert_eq!(
        runs::trace(&other, &ENGLISH),
        "2 requests over 1.5 s. Arrivals were read as milliseconds: you said so."
    );
    assert_eq!(other.read_as(Unit::Seconds).rows, trace.rows);
    let told = trace::read("arrival_ms,prompt,answer\n500,1,2").expect("it is a trace");
    assert!(!told.is_unit_open());
}

#[test]
fn what_is_no_trace_is_said() {
    let empty = "there is no trace, or it has no rows; a trace has a line for each request";
    let arrival =
        "a column is missing or empty (one such as arrival, arrival_time, arrival_ms, timestamp)";
    let output =
        "a column is missing or empty (one such as answer, output, output_tokens, output_length)";
    let rows: &[(&str, &str)] = &[
        ("", empty),
        ("# nothing\n\n", empty),
        ("arrival,prompt,answer\n", empty),
        ("[]", empty),
        ("{\"requests\": []}", empty),
        ("prompt,answer\n1,2", "line 1 of the trace: {arrival}"),
        ("0,1,2\n1,2,3", "line 1 of the trace: {arrival}"),
        ("arrival,prompt\n1,2", "line 1 of the trace: {output}"),
        (
            "arrival,prompt,answer\n0,1,2\n1,3",
            "line 3 of the trace: {output}",
        ),
        (
            "arrival,prompt,answer\n0,many,2",
            "line 2 of the trace: \"many\" is not a number",
        ),
        (
            "\n# a\narrival,prompt,note,answer\n\n0,1,\"a\nb\",2\n# b\n\n0,-1,,2",
            "line 9 of the trace: -1 is not a number of tokens (a whole number from 0 to 1,048,576)",
        ),
        (
            "arrival,prompt,answer\n0,1.5,2",
            "line 2 of the trace: 1.5 is not a number of tokens (a whole number from 0 to 1,048,576)",
        ),
        (
            "arrival,prompt,answer\n0,1,2\n0,1048577,2",
            "line 3 of the trace: 1048577 is not a number of tokens (a whole number from 0 to 1,048,576)",
        ),
        (
            "arrival,prompt,answer\nNaN,1,2",
            "line 2 of the trace: an arrival is not a finite number of seconds",
        ),
        (
            "arrival,prompt,answer\nsoon,1,2",
            "line 2 of the trace: \"soon\" is neither a number nor a date and time such as 2024-05-10 00:00:00.5+00:00",
        ),
        // A point or a comma: nobody knows.
        (
            "arrival;prompt;answer\n0;1,024;2",
            "line 2 of the trace: \"1,024\" is not a number",
        ),
        (
            "arrival,prompt,answer\n0,1,0\n1,0,1",
            "line 2 of the trace: a request needs a prompt token and an output token",
        ),
        (
            "arrival,text,prompt,answer\n0,Well,1,2\n0,Oh, well,1,2",
            "line 3 of the trace: it has 5 cells, the header 4; a text with a comma needs quotes",
        ),
        (
            "arrival,prompt,thinking,output\n0,1,9,5",
            "line 2 of the trace: thinking or answer has 9 tokens, more than the 5 of all the output",
        ),
        (
            "arrival,prompt,answer\n0,1,2\n2024-05-10 00:00:00,1,2",
            "line 3 of the trace: its arrival is told otherwise than that of the first request: by another column, or by a date beside numbers",
        ),
        (
            "{\"arrival\": 0, \"prompt\": 1, \"answer\": 2}\n{\"arrival_ms\": 5, \"prompt\": 1, \"answer\": 2}",
            "line 2 of the trace: its arrival is told otherwise than that of the first request: by another column, or by a date beside numbers",
        ),
        // Nanoseconds without their name, and a clock that jumps.
        (
            "arrival,prompt,answer\n0,1,2\n38365607907,1,2",
            "read as seconds, the arrivals of the trace would lie 444,046 days apart; say their unit in the column's name, such as arrival_ms or arrival_ns",
        ),
        (
            "{\"arrival\": 0, \"prompt\": [1], \"answer\": 2}",
            "line 1 of the trace: \"[…]\" is not a number",
        ),
        (
            "{\"arrival\": 0, \"prompt\": true, \"answer\": 2}",
            "line 1 of the trace: \"true\" is not a number",
        ),
        (
            "{\"arrival\": 0, \"prompt\": 1, \"answer\": 2}\n{\"arrival\": 0, \"prompt\"; 1}",
            "line 2 of the trace: not JSON (expected `:`, column 24)",
        ),
        (
            "{\"arrival\": 0, \"prompt\": 1, \"answer\": 2}\n5",
            "line 2 of the trace: not a request, which is a JSON object",
        ),
        (
            "[\n{\"arrival\": 0, \"prompt\": 1, \"answer\": 2},\n{\"arrival\": 0, \"prompt\": 1}]",
            "request 2 of the trace: {output}",
        ),
        (
            "[\n{\"arrival\": 0, \"prompt\": 1, \"answer\": 2},\n{\"arrival\": 0, ",
            "line 3 of the trace: not JSON (EOF while parsing a value, column 15)",
        ),
    ];
    for (text, message) in rows {
        let message = message
            .replace("{arrival}", arrival)
            .replace("{output}", output);
        let error = trace::read(text).expect_err(text);
        assert_eq!(runs::error(&error, &ENGLISH), message, "{text}");
        assert_ne!(runs::error(&error, &zh::MESSAGES), message, "{text}");
    }
    let long = format!("arrival,prompt,answer\n{}", "0,1,1\n".repeat(100_001));
    assert_eq!(
        trace::read(&long),
        Err(ServeError::TraceTooLong {
            given: 100_001,
            max: 100_000
        })
    );
    // A list of many numbers beside the counts is not kept.
    let hashes = "1,".repeat(1 << 20);
    let text = format!(
        "[{{\"timestamp\": 1, \"hash_ids\": [{hashes}2], \"input_length\": 1, \"output_length\": 1}}]"
    );
    assert_eq!(
        trace::read(&text).map(|trace| trace.rows),
        Ok(vec![row(0.0, 1, 0, 1)])
    );
}

#[test]
fn documented_names_are_read() {
    let document = include_str!("../../../docs/serving.md");
    let names = |what: &str| -> Vec<&str> {
        let start = format!("| {what} | ");
        let line = document.lines().find_map(|line| line.strip_prefix(&start));
        let parts = line.expect("it is there").split('`');
        parts.skip(1).step_by(2).collect()
    };
    let header = [
        ("arrival", "arrival"),
        ("prompt", "prompt"),
        ("thinking", "thinking"),
        ("answer", "answer"),
        ("both together", "answer"),
    ];
    for (what, place) in header {
        let names = names(what);
        assert!(3 < names.len(), "{what}: {names:?}");
        for name in names {
            let text = "arrival,prompt,thinking,answer\n7,374,40,4\n8.5,396,100,9"
                .replacen(place, name, 1);
            let text = if what == "both together" {
                text.replacen("thinking", "else", 1)
            } else {
                text
            };
            let trace = trace::read(&text).unwrap_or_else(|error| panic!("{error:?}: {text}"));
            let expected = match what {
                "both together" => vec![row(0.0, 374, 0, 4), row(1.5, 396, 0, 9)],
                _ => two_thinking(),
            };
            assert_eq!(trace.rows, expected, "{text}");
        }
    }
}

/// How a trace may be written.
#[derive(Clone, Debug)]
struct Writing {
    unit: Unit,
    separator: char,
    is_quoted: bool,
    line_end: &'static str,
    is_json: bool,
    order: Vec<usize>,
}

fn writing() -> impl Strategy<Value = Writing> {
    let names = (0..5_usize).collect::<Vec<_>>();
    (
        proptest::sample::select(Unit::ALL.to_vec()),
        proptest::sample::select(vec![',', ';', '\t', '|']),
        any::<bool>(),
        proptest::sample::select(vec!["\n", "\r\n", "\n\n# well, yes\n"]),
        any::<bool>(),
        Just(names).prop_shuffle(),
    )
        .prop_map(
            |(unit, separator, is_quoted, line_end, is_json, order)| Writing {
                unit,
                separator,
                is_quoted,
                line_end,
                is_json,
                order,
            },
        )
}

/// The rows, whose arrivals are whole milliseconds, as a text.
fn written(rows: &[(u64, u64, u64, u64)], how: &Writing) -> String {
    let names = [
        format!("Arrival_{}", how.unit.id()),
        "prompt tokens".to_owned(),
        "thinking".to_owned(),
        "answer-tokens".to_owned(),
        "note".to_owned(),
    ];
    let cells = rows.iter().map(|(millis, prompt, thinking, answer)| {
        let arrival = match how.unit {
            Unit::Seconds => format!("{}.{:03}", millis / 1000, millis % 1000),
            Unit::Milliseconds => millis.to_string(),
            Unit::Microseconds => format!("{millis}000"),
            Unit::Nanoseconds => format!("{millis}000000.0"),
        };
        let counts = [prompt, thinking, answer].map(u64::to_string);
        let note = "a".to_owned();
        [vec![arrival], counts.to_vec(), vec![note]].concat()
    });
    let line = |cells: &[String]| {
        let cells = how.order.iter().map(|idx| match how.is_quoted {
            true if *idx == 4 => format!(
                "\"{}{}\n\"\"{}\"",
                cells[*idx], how.separator, how.separator
            ),
            true => format!("\"{}\"", cells[*idx]),
            false => cells[*idx].clone(),
        });
        cells.collect::<Vec<_>>().join(&how.separator.to_string()) + how.line_end
    };
    let object = |cells: &[String]| {
        let pairs = how
            .order
            .iter()
            .map(|idx| match how.is_quoted || *idx == 4 {
                true => format!("\"{}\": \"{}\"", names[*idx], cells[*idx]),
                false => format!("\"{}\": {}", names[*idx], cells[*idx]),
            });
        format!(
            "{{{}}}{}",
            pairs.collect::<Vec<_>>().join(", "),
            how.line_end
        )
    };
    if how.is_json {
        return cells.map(|cells| object(&cells)).collect();
    }
    let header = names.iter().zip(0..).map(|(name, idx)| match idx {
        4 if how.is_quoted => "note".to_owned(),
        _ => name.clone(),
    });
    let plain = Writing {
        is_quoted: false,
        ..how.clone()
    };
    let header = header.collect::<Vec<_>>();
    let header: Vec<String> = plain.order.iter().map(|idx| header[*idx].clone()).collect();
    let header = header.join(&how.separator.to_string()) + how.line_end;
    header + &cells.map(|cells| line(&cells)).collect::<String>()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn the_way_of_writing_changes_nothing(
        rows in proptest::collection::vec((0..100_000_000_u64, 1..9000_u64, 0..9000_u64, 1..9000_u64), 1..9),
        how in writing(),
    ) {
        let text = written(&rows, &how);
        let trace = trace::read(&text);
        prop_assert!(trace.is_ok(), "{trace:?} {text}");
        let trace = trace.expect("it is");
        prop_assert_eq!((trace.unit, trace.unit_from), (how.unit, UnitFrom::Name));
        let mut expected = rows;
        expected.sort_by_key(|row| row.0);
        prop_assert_eq!(trace.rows.len(), expected.len());
        for (given, row) in trace.rows.iter().zip(&expected) {
            let arrival = (row.0 - expected[0].0) as f64 / 1000.0;
            prop_assert!((given.arrival_seconds - arrival).abs() < 1e-9, "{} {}", given.arrival_seconds, arrival);
            prop_assert_eq!((given.prompt_tokens, given.thinking_tokens, given.answer_tokens), (row.1, row.2, row.3));
        }
    }

    #[test]
    fn any_text_is_a_trace_or_an_error(text in "((arrival|timestamp),prompt,answer\n|\\[|[{]\"arrival\":)?[-0-9a-z,.\"{}: \\[\\]#;T\n]{0,200}") {
        is_a_trace_or_an_error(&text);
    }
}

/// Whether a text is a trace; what is read is in order, and everything can be said.
pub(crate) fn is_a_trace_or_an_error(text: &str) -> bool {
    match trace::read(text) {
        Ok(trace) => {
            assert!(!trace.rows.is_empty(), "{text}");
            assert_eq!(trace.rows[0].arrival_seconds, 0.0, "{text}");
            let is_sorted = trace
                .rows
                .is_sorted_by(|a, b| a.arrival_seconds <= b.arrival_seconds);
            let is_finite = trace.rows.iter().all(|row| row.arrival_seconds.is_finite());
            assert!(is_sorted && is_finite, "{text}");
            assert!(!runs::trace(&trace, &ENGLISH).is_empty(), "{text}");
            true
        }
        Err(error) => {
            assert!(!runs::error(&error, &ENGLISH).is_empty(), "{text}");
            false
        }
    }
}
