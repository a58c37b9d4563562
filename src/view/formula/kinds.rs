//! The formula of each kind of layer.

use crate::core::layer::{CacheFormats, IndexStorage, LayerKind, RecurrentState, Rows};
use crate::core::model::LayerGroup;
use crate::core::setup::Request;
use crate::core::units::{ElementFormat, Scale, Tokens};

use super::expr::{Expr, Symbol, bytes, count, named};

/// Rows of a layer, as a formula and as a number. A formula of one row leaves the factor out.
#[derive(Clone)]
struct RowCount {
    expr: Option<Expr>,
    n: u64,
}

impl RowCount {
    fn one() -> Self {
        Self { expr: None, n: 1 }
    }
}

/// What all layers of a kind keep of one request.
pub(super) fn expr(group: LayerGroup, request: &Request, formats: CacheFormats) -> Expr {
    let (main, window) = rows(group.kind, request);
    let layers = named(u64::from(group.count), "L", "");
    match group.kind {
        LayerKind::Recurrent(state) => recurrent(layers, state, request.num_samples, formats),
        kind => of_rows(layers, kind, &main, &window, formats),
    }
}

/// What one more token adds, where that is a plain product; `None` where it is nothing or depends on the length.
pub(super) fn per_token(group: LayerGroup, formats: CacheFormats) -> Option<Expr> {
    let layers = named(u64::from(group.count), "L", "");
    match group.kind {
        LayerKind::Full { .. } | LayerKind::Latent { .. } => Some(of_rows(
            layers,
            group.kind,
            &RowCount::one(),
            &RowCount::one(),
            formats,
        )),
        LayerKind::Sliding { .. }
        | LayerKind::Chunked { .. }
        | LayerKind::Compressed { .. }
        | LayerKind::Recurrent(_)
        | LayerKind::Cross { .. }
        | LayerKind::Shared => None,
    }
}

/// The rows that one request keeps in a layer, and the uncompressed ones of a compressed layer.
fn rows(kind: LayerKind, request: &Request) -> (RowCount, RowCount) {
    let n = request.context();
    let kept = |from, to| kind.kept_rows(from, to, n);
    let (prompt, tail) = (kept(Tokens(0), request.prompt), kept(request.prompt, n));
    let all = |of: fn(&Rows) -> u64| {
        of(&prompt).saturating_add(of(&tail).saturating_mul(request.num_samples))
    };
    let (main_n, window_n) = (all(|rows| rows.main), all(|rows| rows.window));
    let tail_tokens = request.thinking.plus(request.answer).0;
    let tokens = || {
        Expr::Count(
            request
                .prompt
                .0
                .saturating_add(tail_tokens.saturating_mul(request.num_samples)),
            Some(Symbol::tokens()),
        )
    };
    let least =
        |cap: Tokens, name: &str| Expr::Least(Box::new(tokens()), Box::new(named(cap.0, name, "")));
    let is_one = request.num_samples == 1;
    let main = match kind {
        LayerKind::Full { .. } | LayerKind::Latent { .. } => tokens(),
        LayerKind::Sliding { window, .. } if is_one => least(window, "W"),
        LayerKind::Chunked {
            attention_chunk_size,
            ..
        } if is_one => least(attention_chunk_size, "C"),
        LayerKind::Compressed { compress_ratio, .. } if is_one => {
            let ratio = named(u64::from(compress_ratio.max(1)), "m", "");
            Expr::Floor(Box::new(Expr::Quotient(
                Box::new(tokens()),
                Box::new(ratio),
            )))
        }
        LayerKind::Cross { encoder_tokens, .. } => named(encoder_tokens.0, "E", ""),
        // Samples share the prompt's rows and have their own windows: the rows are counted, not derived.
        LayerKind::Sliding { .. }
        | LayerKind::Chunked { .. }
        | LayerKind::Compressed { .. }
        | LayerKind::Recurrent(_)
        | LayerKind::Shared => named(main_n, "R", ""),
    };
    let main_n = match kind {
        LayerKind::Cross { encoder_tokens, .. } => encoder_tokens.0,
        _ => main_n,
    };
    let window = match kind {
        LayerKind::Compressed { window, .. } if is_one => least(window, "W"),
        _ => named(window_n, "R", "w"),
    };
    (
        RowCount {
            expr: Some(main),
            n: main_n,
        },
        RowCount {
            expr: Some(window),
            n: window_n,
        },
    )
}

fn of_rows(
    layers: Expr,
    kind: LayerKind,
    main: &RowCount,
    window: &RowCount,
    formats: CacheFormats,
) -> Expr {
    let (k, v) = (formats.kv.k, formats.kv.v);
    match kind {
        LayerKind::Full {
            num_key_value_heads,
            head_dim,
            v_head_dim,
        }
        | LayerKind::Sliding {
            num_key_value_heads,
            head_dim,
            v_head_dim,
            ..
        }
        | LayerKind::Chunked {
            num_key_value_heads,
            head_dim,
            v_head_dim,
            ..
        }
        | LayerKind::Cross {
            num_key_value_heads,
            head_dim,
            v_head_dim,
            ..
        } => {
            let widths = (u64::from(head_dim), u64::from(v_head_dim));
            heads(layers, u64::from(num_key_value_heads), widths, (k, v), main)
        }
        LayerKind::Latent {
            kv_lora_rank,
            qk_rope_head_dim,
            index_head_dim,
        } => {
            let latent = latent(
                layers.clone(),
                u64::from(kv_lora_rank),
                u64::from(qk_rope_head_dim),
                k,
                main,
            );
            match index(layers, u64::from(index_head_dim), formats, main) {
                Some(index) => Expr::Sum(vec![latent, index]),
                None => latent,
            }
        }
        LayerKind::Compressed {
            head_dim,
            index_head_dim,
            ..
        } => {
            let (row, index) = (u64::from(head_dim), u64::from(index_head_dim));
            let d_h = named(row, "d", "h");
            let width = if index == 0 {
                d_h.clone()
            } else {
                Expr::Sum(vec![d_h.clone(), named(index, "d", "i")])
            };
            let compressed = side(main, None, (width, row.saturating_add(index)), k, "");
            Expr::Product(vec![
                layers,
                Expr::Sum(vec![compressed, side(window, None, (d_h, row), k, "")]),
            ])
        }
        LayerKind::Recurrent(_) | LayerKind::Shared => Expr::Product(vec![layers, bytes(0)]),
    }
}

/// Rows × heads × width × bytes of an element, whole blocks, with what lies beside the elements.
fn side(
    rows: &RowCount,
    heads: Option<u64>,
    (width, n): (Expr, u64),
    format: ElementFormat,
    index: &'static str,
) -> Expr {
    let elements = u128::from(rows.n) * u128::from(heads.unwrap_or(1)) * u128::from(n);
    let of_rows = |mut factors: Vec<Expr>| {
        factors.extend(rows.expr.clone());
        Expr::Product(factors)
    };
    let heads = heads.map(|heads| named(heads, "H", "kv"));
    let mut factors: Vec<Expr> = heads.clone().into_iter().collect();
    factors.extend([width, element(format, index)]);
    let all = of_rows(factors);
    let is_whole = (elements * u128::from(format.block_bytes))
        .is_multiple_of(u128::from(format.block_elements.max(1)));
    let all = if is_whole {
        all
    } else {
        Expr::Ceil(Box::new(all))
    };
    let beside = match format.scale {
        Scale::PerTokenHead => 4,
        Scale::PerRow if 0 < elements => 8,
        Scale::PerRow | Scale::InBlock | Scale::LatentTile => return all,
    };
    let mut factors: Vec<Expr> = heads.into_iter().collect();
    factors.push(bytes(beside));
    Expr::Sum(vec![all, of_rows(factors)])
}

fn element(format: ElementFormat, index: &'static str) -> Expr {
    let symbol = Symbol {
        name: "b".to_owned(),
        index,
    };
    Expr::Bytes(
        u64::from(format.block_bytes),
        u64::from(format.block_elements),
        Some(symbol),
    )
}

fn heads(
    layers: Expr,
    heads: u64,
    (k_width, v_width): (u64, u64),
    (k, v): (ElementFormat, ElementFormat),
    rows: &RowCount,
) -> Expr {
    let is_same = k_width == v_width && k == v;
    let (k_name, v_name) = if is_same { ("h", "h") } else { ("k", "v") };
    let (k_index, v_index) = if k == v { ("", "") } else { ("k", "v") };
    let d_k = named(k_width, "d", k_name);
    let k_side = side(rows, Some(heads), (d_k.clone(), k_width), k, k_index);
    let d_v = named(v_width, "d", v_name);
    let v_side = side(rows, Some(heads), (d_v.clone(), v_width), v, v_index);
    let is_plain = |side: &Expr| matches!(side, Expr::Product(_));
    if !(k == v && is_plain(&k_side) && is_plain(&v_side)) {
        return if is_same {
            Expr::Product(vec![count(2), layers, k_side])
        } else {
            Expr::Product(vec![layers, Expr::Sum(vec![k_side, v_side])])
        };
    }
    let width = if is_same {
        d_k
    } else {
        Expr::Sum(vec![d_k, d_v])
    };
    let mut factors = if is_same { vec![count(2)] } else { Vec::new() };
    factors.extend([layers, named(heads, "H", "kv"), width, element(k, "")]);
    factors.extend(rows.expr.clone());
    Expr::Product(factors)
}

/// One row for K and V together.
fn latent(layers: Expr, lora: u64, rope: u64, format: ElementFormat, rows: &RowCount) -> Expr {
    let (d_c, d_r) = (named(lora, "d", "c"), named(rope, "d", "r"));
    if format.scale == Scale::LatentTile {
        let row = Expr::Sum(vec![
            Expr::Product(vec![d_c, bytes(1)]),
            Expr::Product(vec![count(lora.div_ceil(128)), bytes(4)]),
            Expr::Product(vec![d_r, bytes(2)]),
        ]);
        let mut factors = vec![layers, row];
        factors.extend(rows.expr.clone());
        return Expr::Product(factors);
    }
    let width = if rope == 0 {
        d_c
    } else {
        Expr::Sum(vec![d_c, d_r])
    };
    match side(rows, None, (width, lora.saturating_add(rope)), format, "") {
        Expr::Product(factors) => Expr::Product([vec![layers], factors].concat()),
        other => Expr::Product(vec![layers, other]),
    }
}

/// The keys of a sparse indexer.
fn index(layers: Expr, width: u64, formats: CacheFormats, rows: &RowCount) -> Option<Expr> {
    let k = formats.kv.k;
    if width == 0 || formats.index == IndexStorage::Nothing {
        return None;
    }
    let d_i = named(width, "d", "i");
    let is_fp8 = formats.index == IndexStorage::Fp8 || k.block_bytes == k.block_elements;
    if !is_fp8 {
        return Some(match side(rows, None, (d_i, width), k, "") {
            Expr::Product(factors) => Expr::Product([vec![layers], factors].concat()),
            other => Expr::Product(vec![layers, other]),
        });
    }
    let key = Expr::Sum(vec![Expr::Product(vec![d_i, bytes(1)]), bytes(4)]);
    let mut factors = vec![layers, key];
    factors.extend(rows.expr.clone());
    Some(Expr::Product(factors))
}

/// A state of constant size for each sample.
fn recurrent(layers: Expr, state: RecurrentState, num_samples: u64, formats: CacheFormats) -> Expr {
    let mut parts = Vec::new();
    if 0 < state.state_elements() {
        let mut factors: Vec<Expr> = [state.state_heads, state.state_rows, state.state_columns]
            .into_iter()
            .filter(|n| *n != 1)
            .map(count)
            .collect();
        factors.push(element(formats.state, "s"));
        parts.push(Expr::Product(factors));
    }
    if 0 < state.conv_elements() {
        let factors = vec![
            count(state.conv_dim),
            count(state.conv_columns),
            element(formats.conv, "c"),
        ];
        parts.push(Expr::Product(factors));
    }
    let mut factors = vec![layers];
    if 1 < num_samples {
        factors.push(named(num_samples, "n", ""));
    }
    if parts.len() == 1 {
        factors.extend(parts.into_iter().flat_map(|part| match part {
            Expr::Product(inner) => inner,
            other => vec![other],
        }));
    } else {
        factors.push(Expr::Sum(parts));
    }
    Expr::Product(factors)
}
