//! The layer map in Simplified Chinese.

use super::words;
use crate::view::text::LayersText;

/// What each layer keeps, and whether it grows.
pub(super) const LAYERS: LayersText = words!(LayersText {
    title: "逐层查看",
    subtitle: "每一层为这个请求保留多少",
    grows: "随每个 token 增长",
    capped: "以窗口为上限",
    constant: "大小恒定",
    shared: "使用另一层的缓存",
    nothing: "不保留任何内容",
    count: "{n} 层",
    summary: "共 {layers} 层，{tokens}时：{pieces}。",
    grows_sentence: "{n} 层随每个 token 增长，占 {size}（{share}）",
    capped_sentence: "{n} 层以窗口为上限，占 {size}（{share}）",
    constant_sentence: "{n} 层保留大小恒定的状态，{size}（{share}）",
    shared_sentence: "{n} 层使用另一层的缓存",
    nothing_sentence: "{n} 层不保留任何内容",
    head_layer: "层",
    head_kind: "种类",
    head_behaviour: "token 增加时",
    head_tokens: "保留的 token",
    choose: "层",
    layer: "第 {layer} 层：{caches}。",
    cache_of_tokens: "{kind}，保留 {tokens}，{size}",
    cache_of_state: "{kind}，任何长度都是 {size}",
    cache_shared: "没有自己的缓存，使用另一层的",
    cache_nothing: "没有缓存",
});
