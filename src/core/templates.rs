//! What chat templates and providers do with earlier thinking: dated, per model family.
//!
//! Source of the rows marked `TEMPLATES`: the Jinja templates of ikawrakow/ik_llama.cpp at 8337e4c (`models/templates`),
//! rendered with Jinja2 3.1.6; a marker put in the earlier thinking was searched for in the next prompt. Repository
//! copies, some adapted for that engine; vendors update theirs.

use serde::Serialize;

use super::turns::Policy;

const TEMPLATES: &str = "ikawrakow/ik_llama.cpp models/templates, rendered with Jinja2 3.1.6";
const REVISION: &str = "8337e4c";

/// What a family's template does with earlier thinking.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Template {
    /// The family's name.
    pub family: &'static str,
    /// Parts of a model's name, lower case with dashes, by which it belongs here.
    #[serde(skip)]
    pub names: &'static [&'static str],
    /// What happens in a conversation without tools.
    pub policy: Policy,
    /// What happens in a conversation with tools.
    pub policy_with_tools: Policy,
    /// How thinking is kept on request.
    pub opt_in: Option<&'static str>,
    /// Whether the prompt of turn 1 is a prefix of turn 2's prompt to the last token; `None`: not known. When it is not,
    /// the block at the end of the old prompt can miss.
    pub is_prompt_prefix: Option<bool>,
    /// What else should be known.
    pub note: Option<&'static str>,
    /// The date at which, or the revision in which, this was so.
    pub as_of: &'static str,
    /// Where it was read.
    pub source: &'static str,
}

const fn rendered(
    family: &'static str,
    names: &'static [&'static str],
    policies: (Policy, Policy),
    is_prompt_prefix: Option<bool>,
    opt_in: Option<&'static str>,
    note: Option<&'static str>,
) -> Template {
    Template {
        family,
        names,
        policy: policies.0,
        policy_with_tools: policies.1,
        opt_in,
        is_prompt_prefix,
        note,
        as_of: REVISION,
        source: TEMPLATES,
    }
}

const STRIP: (Policy, Policy) = (Policy::Strip, Policy::Strip);
// Without tools there is nothing to interleave, so the next user message strips.
const INTERLEAVED: (Policy, Policy) = (Policy::Strip, Policy::Interleaved);
const PRESERVED: (Policy, Policy) = (Policy::Preserved, Policy::Preserved);

/// Every family, the ones with a narrower name first.
pub const ALL: &[Template] = &[
    rendered(
        "DeepSeek-R1-Distill",
        &["r1-distill"],
        STRIP,
        Some(false),
        None,
        None,
    ),
    rendered(
        "QwQ-32B",
        &["qwq"],
        STRIP,
        Some(false),
        None,
        Some("the prompt ended in <think>, the history has none"),
    ),
    rendered(
        "DeepSeek-V3.1",
        &["deepseek-v3.1"],
        STRIP,
        Some(true),
        None,
        Some("a prefix in this copy (<think></think>), not in the one of ggml-org (</think> only)"),
    ),
    rendered(
        "DeepSeek-V3.2",
        &["deepseek-v3.2"],
        INTERLEAVED,
        Some(false),
        None,
        None,
    ),
    rendered(
        "DeepSeek-V4",
        &["deepseek-v4"],
        (Policy::Strip, Policy::Preserved),
        Some(false),
        Some("drop_thinking=false"),
        Some("kept across user messages in conversations with tools"),
    ),
    rendered(
        "Qwen3.5",
        &["qwen3.5"],
        INTERLEAVED,
        Some(false),
        None,
        None,
    ),
    rendered("Qwen3", &["qwen3"], INTERLEAVED, Some(true), None, None),
    rendered("GLM-4.6", &["glm-4.6"], INTERLEAVED, Some(true), None, None),
    rendered(
        "GLM-4.7-Flash",
        &["glm-4.7"],
        INTERLEAVED,
        Some(false),
        Some("clear_thinking=false"),
        None,
    ),
    rendered(
        "GLM-5.2",
        &["glm-5"],
        INTERLEAVED,
        Some(true),
        Some("clear_thinking=false"),
        None,
    ),
    rendered(
        "Kimi K2 Thinking",
        &["kimi-k2-thinking"],
        INTERLEAVED,
        Some(true),
        None,
        Some("an empty <think></think> is left"),
    ),
    rendered(
        "gpt-oss (harmony)",
        &["gpt-oss"],
        INTERLEAVED,
        Some(true),
        None,
        None,
    ),
    rendered(
        "Nemotron-3-Nano",
        &["nemotron-3-nano"],
        INTERLEAVED,
        Some(false),
        Some("truncate_history_thinking=false"),
        None,
    ),
    rendered(
        "Seed-OSS, Cohere2MoE, Bielik v3",
        &["seed-oss", "cohere2moe", "bielik"],
        PRESERVED,
        Some(true),
        None,
        None,
    ),
    Template {
        family: "MiniMax-M2",
        names: &["minimax-m2"],
        policy: Policy::Strip,
        policy_with_tools: Policy::Interleaved,
        opt_in: None,
        is_prompt_prefix: None,
        note: Some(
            "the vendor asks to keep all thinking; the template renders it only after the last user message",
        ),
        as_of: "2026",
        source: "MiniMax-M2 README; unsloth-MiniMax-M2.jinja",
    },
    Template {
        family: "Claude Opus 4.5, Sonnet 4.6 and newer",
        names: &[],
        policy: Policy::Preserved,
        policy_with_tools: Policy::Preserved,
        opt_in: Some("clear_thinking_20251015 (keep: N or all)"),
        is_prompt_prefix: None,
        note: Some(
            "kept turns are billed as input; earlier Opus and Sonnet and all Haiku through 4.5 keep the last turn only",
        ),
        as_of: "2026-08-22",
        source: "Claude documentation, context windows and context editing (read in a mirror)",
    },
    Template {
        family: "OpenAI Responses, GPT-5.6",
        names: &[],
        policy: Policy::Preserved,
        policy_with_tools: Policy::Preserved,
        opt_in: Some("reasoning.context: current_turn, all_turns or auto"),
        is_prompt_prefix: None,
        note: Some("models before GPT-5.6 do not render earlier turns' reasoning"),
        as_of: "2026",
        source: "OpenAI reasoning guide (read in a mirror)",
    },
    Template {
        family: "DeepSeek API",
        names: &[],
        policy: Policy::Strip,
        policy_with_tools: Policy::Preserved,
        opt_in: None,
        is_prompt_prefix: None,
        note: Some(
            "with tools, reasoning_content must be sent back for all turns; the R1-era API refused it with HTTP 400",
        ),
        as_of: "2026-09-24",
        source: "api-docs.deepseek.com thinking_mode (as quoted)",
    },
];

/// The family of a model, by its name. Names differ in case, spaces and underscores; only these are ignored.
pub fn find(model_name: &str) -> Option<&'static Template> {
    let name = model_name.to_lowercase().replace([' ', '_'], "-");
    ALL.iter()
        .find(|template| template.names.iter().any(|part| name.contains(part)))
}
