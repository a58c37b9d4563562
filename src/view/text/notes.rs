//! Warnings, assumptions and errors of fields: lower case, without a full stop.

use super::texts;

texts! {
    /// What the reader must know about a scenario, or did not type right.
    pub struct NoteText {
        context_above_trained: "{context_tokens} tokens are more than the {max_position_embeddings} this model was trained for; shorten the request or choose a model with a longer context",
        context_above_max_model_len: "{context_tokens} tokens are more than the {max_model_len} of max_model_len, and engines refuse such a request; shorten it or raise max_model_len",
        context_above_slot: "{context_tokens} tokens are more than the {n} cells of a slot; shorten the request, raise n_ctx or use fewer slots",
        max_model_len_does_not_fit: "vLLM does not start: a max_model_len of {len} needs {needed} on each GPU and {pool} is there; set it to {fits} at most, or use more GPUs",
        context_parallel_not_divisible: "a tensor parallel size of {tensor_parallel_size} does not divide by a decode context parallel size of {n}; engines refuse this",
        format_needs_flash_attn: "V in {format} needs flash attention: switch it on, or choose another format",
        kv_heads_above_query_heads: "{n} KV heads are more than {num_attention_heads} query {num_attention_heads?head|heads}; engines refuse this",
        too_large: "amounts over 2^63 B are not counted here: those that say so, and all that follows from them, are not known; use fewer, shorter or smaller requests",
        format_needs_latent_rows: "{format} is a layout of latent rows, which this model does not keep; engines refuse it: choose another format of the cache",
        pool_unused: "{field} has no use with this engine, which has no pages here: give the pool in bytes, or choose an engine with pages",
        kv_heads_replicated: "{tensor_parallel_size} GPUs share {num_key_value_heads} KV {num_key_value_heads?head|heads}, so some hold copies: the cache per GPU no longer shrinks",
        attention_heads_not_divisible: "{num_heads} query heads do not divide by a tensor parallel size of {tensor_parallel_size}; engines refuse this: use a divisor of {num_heads}",
        key_value_heads_not_divisible: "{num_heads} KV heads do not divide by a tensor parallel size of {tensor_parallel_size}; engines refuse this, and the fullest GPU is shown: use a divisor of {num_heads}",
        latent_replicated: "latent rows are not split by heads: each of {tensor_parallel_size} GPUs holds the whole cache",
        stages_uneven: "{num_hidden_layers} layers do not divide by {pipeline_parallel_size} stages; the fullest stage is shown",
        stages_empty: "{pipeline_parallel_size} stages are more than {num_hidden_layers} {num_hidden_layers?layer|layers}; use at most {num_hidden_layers}",
        weights_do_not_fit: "the weights and overheads alone exceed what the engine may use by {missing} on each GPU; use more GPUs, a larger one or a smaller weight format",
        cache_does_not_fit: "the requests exceed the room for KV by {missing} on each GPU; use fewer requests, shorter thinking, a smaller cache format or more GPUs",
        prefix_above_prompt: "a shared prefix of {shared_prefix_tokens} tokens is longer than the prompt; all {prompt_tokens} prompt tokens are shared",
        rows_not_whole: "a row of {row_elements} elements is not whole blocks of {block_elements}, which {format} needs; engines refuse this or pad the row",
        not_exact: "{field} is above 2^53 and is rounded where JavaScript reads it",
        layout_not_established: "how {engine} lays out the layers of this model is not established; the bytes that its tokens need are shown instead",
        nothing_grows: "nothing in this model grows with the sequence: it keeps states of constant size",
        weights_unknown: "the weights cannot be counted from these dimensions and their size is not known: they are left out, so what fits is not known either",
        weights_not_counted: "the weights could not be counted from the dimensions; the published count stands in",
        stored_in_other_format: "the model's own file stores its weights as {stored}; here they are counted as {weight_format}",

        field_error: "{field} is {given}: {problem}",
        repeated: "the link has it more than once; the last that can be read holds",
        unknown_key: "there is no such field; it was left out",
        not_a_number: "type a whole number, such as 4000, 4,000 or 32k",
        not_a_number_within: "type a whole number from {min} to {max}, such as 4000, 4,000 or 32k",
        not_bytes_within: "type an amount from {min} to {max}, such as 4.8 GiB, 512 MiB, 1.5 GB or a whole number of bytes",
        comma: "; a comma stands before each three digits, a decimal point is a full stop",
        out_of_bounds: "it may be from {min} to {max}",
        not_a_share: "type a share from {min} to {max}, such as 0.9",
        not_a_flag: "type true or false",
        not_one_of: "choose one of {choices}",
        not_a_model: "{reason}; give the id of a preset, a config or dims",
        empty: "empty",
    }
}
