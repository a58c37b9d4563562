//! What the importer says, in one table: a key for each sentence and its English. Other languages have the same keys, in
//! `view/text`.
//!
//! A sentence is lower case, without a full stop. Errors say what was given, what is allowed and what to do.

use std::fmt;

use crate::core::fill::fill;

/// Hands the table to a macro: `key: "English, with {values}",` for each sentence.
macro_rules! all {
    ($then:ident) => {
        $then! {
            web_page: "this is a web page, not the file it shows; use its download link, or copy from the first {open} to the last {close}",
            gguf_pasted: "this is a GGUF file, which is not text; open it as a file instead of pasting it",
            lfs_pointer: "this is a Git LFS pointer, not the file it points to; run {command}, or download the file itself",
            binary: "this is not text but a picture, an archive or another binary file; pick the file named config.json beside it",
            document: "this is a text document such as a README, not JSON; pick the file named config.json beside it",
            zip: "this is a zip archive, not JSON; pick the file named config.json beside it",
            weights_pasted: "this is a safetensors file, which holds weights; pick the file named config.json beside it",
            empty_object: "the object is empty; paste the whole config.json of a model, from the first {open} to the last {close}",
            lora_of: "this is a LoRA adapter's configuration; import the config.json of its base model, {base}",
            lora: "this is a LoRA adapter's configuration; import the config.json of its base model",
            diffusers: "this is a diffusers configuration, of a model that makes images, video or sound and keeps no KV cache; pick the config.json of a language model",
            gguf_dump: "this is a dump of a GGUF file's metadata; open the GGUF file itself",
            other_file: "this is {what}; pick the file named config.json beside it",
            a_file: "a {name}",
            an_index: "the index of safetensors files",
            a_header: "the header of a safetensors file",
            a_tokenizer: "a tokenizer's file",
            a_quantization: "a quantization configuration",
            a_training: "a training configuration",
            a_hub_answer: "a hub's answer about a repository",
            encoder: "model_type {model_type} is an encoder: it reads its whole input at once and keeps no cache; pick a model that generates text",

            empty_text: "the text is empty; paste the whole config.json of a model, from the first {open} to the last {close}",
            config_too_long: "the text has {given} bytes, and a config.json has at most {max}; pick the file named config.json",
            not_json: "the text is not JSON: {error}; paste the whole config.json of a model, from the first {open} to the last {close}",
            not_a_config: "the text begins with \"{head}\", and a config.json begins with {open}; paste it from the first {open} to the last {close}",
            not_an_object: "the text is {kind}, and a config.json is an object; paste it from the first {open} to the last {close}",
            model_not_json: "not JSON: {error}",
            no_model: "expected a preset id, {open}\"config\": …{close}, {open}\"dims\": …{close} or {open}\"gguf\": …{close}",
            a_list: "a list",
            a_long_list: "a long list or text",
            an_object: "an object",
            a_string: "a string",
            a_number: "a number",
            a_word: "a single word",
            too_large: "{name} is {given}, and must be at most {max}",
            not_a_flag: "{name} is {given}, and must be true or false",
            not_a_whole_number: "{name} is {given}, and must be a whole number from 0 to {max}",
            outside: "{name} is {given}, and must be from {min} to {max}",
            zero: "{name} is 0, and must be at least 1",
            missing: "{name} is missing; add it",
            missing_in: "{name} is missing, and no default is known for model_type {model_type}; add it, or type the dimensions by hand",
            short_list: "{name} has {entries} entries for {layers} layers; give one number for each layer, or one for all",
            other_length: "{name} is {entries} long for {layers} layers; it must have an entry for each layer",
            head_dim: "head_dim is missing, and hidden_size {hidden_size} is not a multiple of num_attention_heads {num_attention_heads}; add head_dim, or type the dimensions by hand",
            layer_type: "layer {layer} has layer type {given}, which this version does not know (known: {known}); please report it with the config.json",
            layer_letter: "{name} has {given} for layer {layer}, which this version does not know (known: {known}); please report it with the config.json",
            window_letter: "{name} has {given}, which this version does not know (known: {known}); please report it with the config.json",
            block_window: "layer {layer} has window_length {given} in block_configs, which this version does not know; please report it with the config.json",
            unknown_state: "layer {layer} keeps a recurrent state, and nothing in the file gives its dimensions in a way this version knows; please report it with the config.json",
            untrimmed: "the configuration has {bytes} bytes that matter, and a link holds a third of a MiB; take out what is not about the layers and their sizes",

            context_of_class: "the file does not say the context the model was trained for; {tokens} tokens are the default of its class",
            context_of_vllm: "max_position_embeddings is {given}, and model_max_length {longer} is taken, as vLLM does",
            context_understated: "max_position_embeddings is 8192 although the model was made for 128k; the file is known to understate it",
            context_yarn: "max_position_embeddings is {given}, and YaRN extends it to {scaled}",
            context_scaled: "max_position_embeddings is {given}; {kind} rope scaling lets vLLM serve {scaled}",
            unknown_architecture: "model_type {model_type} is not known; its layers were read by the general rules, so check the working",
            layer_count: "layer_types has {types} entries and num_hidden_layers is {layers}; the first {layers} are taken, so check which is right",
            unknown_key: "the key {name} was not understood; it may change what the cache keeps",
            state_dtype: "the file says float32; convolution states are counted in bf16, in which such models are served",
            index_keys: "the index keys of sparse_attention_config are not counted: how engines store them is not established",
            index_pool: "index keys are counted for every token, although they are pooled (index_kpool)",
            state_not_counted: "the convolution state beside the attention of model_type {model_type} is not counted",
            encoder_tokens: "cross attention is counted for {tokens} encoder tokens, {why}",
            encoder_most: "the most its encoder takes (max_source_positions)",
            encoder_image: "one image of four tiles; without an image it keeps none",
            encoder_context: "as many as its context",
            encoder_assumed: "an assumption: the file does not say how many",
            window_of_none: "sliding_window {window} was ignored: model_type {model_type} has no window",
            heads_assumed: "num_key_value_heads is missing; as many as num_attention_heads are assumed",
            class_defaults: "the file leaves these out, and the defaults of model_type {model_type} were taken: {names}",
            weights_not_counted: "the weights are not counted, because the file does not hold {name}",
            weights_assumed: "the weights are counted as those of Llama with these dimensions, because model_type {model_type} is not known",
            tower_not_counted: "the weights of {name} are not counted",
            encoder_not_counted: "the weights of the encoder are not counted",
            mtp_not_counted: "the weights of multi-token prediction, {layers} layers, are not counted",
            weights_from_defaults: "the weights are counted for hidden_size {hidden_size}, the default of model_type {model_type}, because the file does not hold it",
            zero_experts: "active weights are counted as if no token went to an expert without weights",
            quant_method: "the file's quantization, quant_method {method}, is not known",

            gguf_other: "{what}; pick the GGUF file of a language model",
            gguf_adapter: "this is a LoRA adapter",
            gguf_imatrix: "this is an importance matrix for quantizing",
            gguf_mmproj: "this is the encoder of pictures or sound beside a language model",
            gguf_no_architecture: "general.architecture is missing, so that nothing says which model this is",
            gguf_encoder: "architecture \"{architecture}\" is an encoder: it reads its whole input at once and keeps no cache",
            gguf_diffusion: "architecture \"{architecture}\" is a diffusion model: llama.cpp computes all its tokens anew at each step and keeps no cache",
            gguf_tower: "architecture \"{architecture}\" is the encoder of pictures or sound beside a language model, and keeps no cache",
            gguf_voice: "architecture \"{architecture}\" is the decoder of a voice, and keeps no cache",
            gguf_part: "this is part {part} of {parts} of a split model, and what the model is stands in part 1; pick that, or all parts together",
            gguf_parts_differ: "the files are not parts of one model: part {part} of {parts} stands beside part {other} of {others}; pick the parts of one model",
            gguf_parts_missing: "{read} of {parts} parts of the model were read, so that the bytes of all weights are not known; pick all parts together",
            gguf_none: "no file was given; pick a GGUF file",
            gguf_no_heads: "no layer has heads",
            gguf_missing: "{name} is missing, and the cache cannot be computed without it; convert the model again with a current llama.cpp",
            gguf_short_list: "the list {name} has {entries} entries, and the model has more layers; convert the model again with a current llama.cpp",
            gguf_draft: "{name} is {given}, and must be less than the {layers} layers of the file",
            gguf_window: "{name} is {window}, and nothing says which layers have it; all are counted as keeping everything, as llama.cpp does",
            gguf_begins: "the file begins with {head}, and a GGUF file begins with \"GGUF\"; pick a file whose name ends in .gguf",
            gguf_version_1: "this is version 1 of GGUF, of August 2023, which current engines do not read; download the model again in version 2 or 3",
            gguf_version: "this is version {version} of GGUF, and versions 2 and 3 are known; if an engine reads the file, please report it",
            gguf_header_cannot: "the GGUF header cannot be: {error}; pick the file itself",
            gguf_header_part: "the GGUF header has no part {name}; pick the file itself",
            gguf_header_layers: "the GGUF header has more than {max} layers; pick the file itself",
            damaged: "{what}; the file is damaged, download it again",
            header_cut: "the file ends after {bytes} bytes, inside its header; download it again",
            header_endless: "the header goes on after {max} bytes",
            a_tensor_name: "a tensor's name",
            a_key: "a key in the header",
            text_too_long: "{what} is {bytes} bytes long, and at most {max} are allowed",
            too_many_keys: "the header says that it has {given} keys, and it can have at most {max}",
            too_many_tensors: "the header says that it has {given} tensors, and it can have at most {max}",
            list_too_long: "the list {name} says that it has {given} entries, and the file has room for {max}",
            text_beyond: "the text of {name} says that it is {bytes} bytes long, and the file has room for {max}",
            value_type: "{name} has value type {given}, and types 0 to 12 are known",
            key_twice: "the key {name} is there twice",
            too_deep: "the list {name} holds lists within lists, and at most {max} are read",
            too_many_dimensions: "tensor {name} has {given} dimensions, and at most {max} are allowed",
            too_many_elements: "tensor {name} says that it has more than 2^60 elements",
            tensor_types: "{tensors} tensors have a type that is not known; their bytes are those up to the next tensor",
            file_short: "the file is {bytes} bytes shorter than its table of tensors says; it was not downloaded whole",
            other_format: "most weights are of type {given}, which has no entry of its own; {shown} is shown, with the file's own bytes",

            index_too_long: "the text has {given} bytes, and an index has at most {max}; pick the file named model.safetensors.index.json",
            index_not_json: "the index is not JSON as it should be: {error}; download model.safetensors.index.json again",
            no_weight_map: "weight_map is missing, which names the file of each tensor; pick the file named model.safetensors.index.json",
            no_total_size: "model.safetensors.index.json has no total_size, so that it does not say how many bytes the weights have",
            header_too_long: "the file says that its header has {given} bytes, and at most {max} are read; it is damaged or no safetensors file, download it again",
            header_not_json: "the header is not JSON as it should be: {error}; download the file again",
            tensor_bytes: "tensor {name} of type {dtype} and its shape does not fill the bytes {from} to {to}; the file is damaged, download it again",
            shards_missing: "{read} of {files} safetensors files of the model were read, so that the bytes of all weights are not known; give all of them, or model.safetensors.index.json",
            headers_of: "the headers of {files} files",
            weights_alone: "{source} gives {bytes} bytes of weights, which are taken; the dimensions do not say how many there are",
            weights_of_another: "{source} gives {bytes} bytes of weights, and the dimensions give {counted} in {format}; they are not of one model, and the counted ones stay",
            weights_same: "{source} gives {bytes} bytes of weights, and the dimensions give {counted} in {format}; those of the file are taken",
            weights_less: "{source} gives {bytes} bytes of weights, and the dimensions give {counted} in {format}, {percent} % less; a part may be stored in fewer bits than config.json says; those of the file are taken",
            weights_more: "{source} gives {bytes} bytes of weights, and the dimensions give {counted} in {format}, {percent} % more; an encoder of pictures, draft layers or parts left unquantized may be the reason; those of the file are taken",

            not_recognized: "{what} is not recognized; a config.json, model.safetensors.index.json, a GGUF or safetensors file, the command that starts a server, what it prints then, what nvidia-smi or rocm-smi prints, and a link to a scenario are",
            the_text: "the text that begins with {head}",
            the_file: "the file {name}",
            given_twice: "a {what} was given twice, and one of a kind is read at a time; give only one",
            kind_config: "config.json",
            kind_index: "index of weights",
            kind_safetensors: "safetensors file",
            kind_gguf: "GGUF file",
            kind_log: "log",
            kind_devices: "list of GPUs",
            kind_link: "link",
            config_unused: "the GGUF file says all that config.json does; config.json was not used",
            index_unused: "the bytes of the weights are those of the GGUF file; the safetensors files were not used",
            unreadable: "the file could not be read; the browser refused it, or it is gone",
            file_shrank: "the file has become shorter while it was read; give it again",
            no_gpu: "no GPU was found in this text; paste what nvidia-smi, nvidia-smi -L or {command} prints",
            unknown_gpu: "the GPU {name} is not in the list; choose one of about its memory",
            unknown_gpu_of: "the GPU {name}, {mib} MiB is not in the list; choose one of about its memory",
            gpus_differ: "the machine's GPUs are not all of one kind; all are counted as the first",

            log_cut: "the log is longer than {mib} MiB; its beginning was read",
            no_engine: "no line of vLLM, SGLang, TensorRT-LLM or llama.cpp was found; paste what the server prints when it starts",
            log_model: "the log names the model {name}, which is not among the presets; choose it, or drop its config.json",
            log_no_model: "the log does not name the model; choose it, or drop its config.json",
            ranks: "ranks print different memory; the smallest pool decides how many blocks all of them have",
            flag: "the value of {flag} was not read, so this field stayed as it was",
            flags: "the values of {flags} and {flag} were not read, so these fields stayed as they were",
            flag_value: "{flag} ({value})",
            flags_between: "{flags}, {flag}",
            no_value: "no value",
        }
    };
}
pub(crate) use all;

macro_rules! keys {
    ($($key:ident: $english:literal,)*) => {
        /// Which sentence.
        #[expect(non_camel_case_types, reason = "the fields of a table of words")]
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum Key { $(#[doc = concat!("English: `", $english, "`")] $key,)* }

        impl Key {
            /// Every sentence.
            pub const ALL: &'static [Self] = &[$(Self::$key),*];

            /// Its name in the tables of words.
            pub fn name(self) -> &'static str {
                match self { $(Self::$key => stringify!($key),)* }
            }

            fn english(self) -> &'static str {
                match self { $(Self::$key => $english,)* }
            }
        }
    };
}
all!(keys);

/// What stands in a sentence.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Part {
    /// A name, a number, a piece of what was given: the same in every language.
    Text(String),
    /// Other words.
    Words(Sentence),
}

/// A sentence for the reader: which one, and what stands in it. [`Display`](fmt::Display) gives its English.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sentence {
    key: Key,
    parts: Vec<(&'static str, Part)>,
}

impl Sentence {
    pub(in crate::core) fn new(key: Key, parts: Vec<(&'static str, Part)>) -> Self {
        Self { key, parts }
    }

    /// The sentence in the language whose templates `template` knows.
    pub fn say<'a>(&self, template: &dyn Fn(Key) -> &'a str) -> String {
        // A template cannot hold a brace of its own.
        let braces = [("open", "{".to_owned()), ("close", "}".to_owned())];
        let parts = self.parts.iter().map(|(name, part)| match part {
            Part::Text(text) => (*name, text.clone()),
            Part::Words(words) => (*name, words.say(template)),
        });
        let parts: Vec<(&str, String)> = parts.chain(braces).collect();
        let parts: Vec<(&str, &str)> = parts.iter().map(|(name, text)| (*name, &**text)).collect();
        fill(template(self.key), &parts)
    }
}

impl fmt::Display for Sentence {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.say(&Key::english))
    }
}

impl serde::Serialize for Sentence {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl From<Sentence> for Part {
    fn from(words: Sentence) -> Self {
        Self::Words(words)
    }
}

impl From<Key> for Part {
    fn from(key: Key) -> Self {
        Self::Words(Sentence::new(key, Vec::new()))
    }
}

/// A value's text.
macro_rules! text_parts {
    ($($kind:ty),*) => {
        $(
            impl From<$kind> for Part {
                fn from(value: $kind) -> Self {
                    Self::Text(value.to_string())
                }
            }
        )*
    };
}
text_parts!(
    String,
    &str,
    u64,
    u32,
    usize,
    crate::core::units::Tokens,
    serde_json::Error
);

/// A sentence of the table with its values, as [`format!`] takes them: `say!(zero, name)`, `say!(zero, name = key)`.
macro_rules! say {
    ($key:ident $(, $name:ident $(= $value:expr)?)* $(,)?) => {
        $crate::core::import::sentences::Sentence::new(
            $crate::core::import::sentences::Key::$key,
            vec![$((stringify!($name), say!(@part $name $(, $value)?))),*],
        )
    };
    (@part $name:ident) => { $crate::core::import::sentences::Part::from($name) };
    (@part $name:ident, $value:expr) => { $crate::core::import::sentences::Part::from($value) };
}
pub(in crate::core) use say;
