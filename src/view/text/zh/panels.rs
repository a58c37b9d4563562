//! What stands behind the first view.

use super::words;
use crate::view::text::PanelText;

pub(super) const PANELS: PanelText = words!(PanelText {
    group_lengths: "典型请求",
    lengths_chat_question: "聊天提问",
    lengths_logic_puzzle: "逻辑谜题",
    lengths_aime_problem: "竞赛题",
    lengths_hard_science: "科学难题",
    lengths_long_document: "长文档",
    lengths_runs_to_the_cap: "写到上限",
    lengths_typical_prompt: "典型来源：{typical_of}；提示词从 {low} 到 {high} 个 token",
    lengths_typical_thinking: "典型来源：{typical_of}；思考从 {low} 到 {high} 个 token",
    download_svg: "SVG",
    download_png: "PNG",
    download_csv: "CSV",
    assumptions_title: "假设",
    working_title: "计算过程",
    steps_title: "每一步",
    snippets_title: "同样的计算，写成程序",
    pick_title: "选择模型",
    pick_search: "搜索模型",
    pick_none: "没有这个名字的预设。请改为导入它的 config.json。",
    share_title: "分享这个场景",
    share_help: "链接里包含整个场景；解码到哪一步、固定了哪些比较不在其中。别处不存任何内容。",
    copied: "已复制。",
    copy_refused: "浏览器不允许在这里复制；请选中链接再复制。",

    last_token_counted: "最后采样出的 token 也算在内；引擎从不把它送回模型，所以引擎里有 {engine_tokens} 个",
    windows_idealised: "滑动窗口恰好保留最新的 token；引擎会多预留，最多一个批次",
    overheads_assumed: "每块 GPU 上激活 {activations}、运行时 {runtime}，来源：{source}",
    state_dtype: "循环状态以 {state_dtype} 存储",
});
