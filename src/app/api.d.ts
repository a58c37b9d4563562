/**
 * KVscope: what one reasoning request does to a GPU's memory.
 *
 * Sizes are whole bytes below 2^53, so they are exact. Lengths are tokens, times are seconds.
 * All but `mount` work in a page, a worker and Node alike, after `await init()`. `mount` loads what it needs by itself.
 */

/**
 * Loads the WebAssembly that lies beside this module. To call it again is to wait for the same module.
 *
 * @param source where else to take it from: an address, a response, its bytes or a compiled module
 */
export default function init(
  source?: string | URL | Request | Response | BufferSource | WebAssembly.Module | Promise<Response>,
): Promise<void>;

/** The report of a scenario. What cannot be read keeps its default and is listed in `errors`. */
export function report(scenario?: Scenario | Link): Report;

/**
 * Reads a `config.json`.
 *
 * @param name what to call the model; a file's name will do
 * @throws Error that says what is wrong with the text and what to do
 */
export function importConfig(text: string, name?: string): ImportedModel;

/** The models and accelerators to choose from. */
export function presets(): Presets;

/** The scenario as a fragment, without `#`: every field, so that a link means the same for ever. */
export function toLink(scenario?: Scenario | Link): Link;

/** The scenario of a fragment, with or without `#`. */
export function fromLink(link: Link): { scenario: Scenario; errors: FieldError[] };

/**
 * A figure as an SVG file with its own colours.
 *
 * @param width in pixels; 720 by default
 * @throws Error that names the figures there are
 */
export function chartSvg(figure: Figure, scenario?: Scenario | Link, width?: number, isDark?: boolean): string;

/** Shows a page, or the parts of it in `options.embed`, in `element`. Needs a document. */
export function mount(element: HTMLElement, options?: MountOptions): Mount;

/** A fragment such as `v=1&thinking_tokens=8000`. */
export type Link = string;

/** A figure of the page. */
export type Figure = 'tokens' | 'hbm' | 'growth' | 'sweep';

/** A part of the page. */
export type Part = Figure | 'sentence' | 'facts' | 'working';

/** A mounted page. It stays when this handle is forgotten. */
export interface Mount {
  /** Fulfilled when the page is there; rejected when it cannot be loaded. The functions need not wait for it. */
  readonly ready: Promise<void>;
  /** Shows another scenario. Fields that are absent have their defaults. */
  update(scenario: Scenario | Link): void;
  /** Removes the page from its element. */
  unmount(): void;
}

/** How a page is mounted. */
export interface MountOptions {
  /** What it opens with; the default scenario if neither this nor `link` is given. */
  scenario?: Scenario;
  /** The same as a fragment. */
  link?: Link;
  /** The parts to show; the whole page by default. */
  embed?: Part[] | string;
  /** The fields whose controls an embed shows; none by default. */
  controls?: string[] | string;
  /** Fields that are shown and cannot be changed. */
  lock?: string[] | string;
  /** `auto`, the default, follows the system. */
  theme?: 'auto' | 'light' | 'dark';
  /** Whether the document's address follows what the reader changes: for a page that is alone in its document. */
  syncs_address?: boolean;
}

/** Everything that the reader chooses. A field that is absent has its default. */
export interface Scenario {
  /** A preset's id, a `config.json`, or dimensions with the names of one. Default `llama-3.1-70b`. */
  model?: string | { config: object; name?: string } | { dims: object; name?: string };
  /** Storage of the weights. Default `bf16`. */
  weight_format?: string;
  /** Storage of the cache, for K and V apart if need be. Default `bf16`. */
  kv_cache_dtype?: string | { k: string; v: string };
  /** Storage of recurrent states. Default `float32`. */
  state_dtype?: string;
  /** Tokens that are prefilled. Default 512. */
  prompt_tokens?: number;
  /** Tokens of reasoning. Default 4000. */
  thinking_tokens?: number;
  /** Tokens of the answer. Default 300. */
  answer_tokens?: number;
  /** Answers sampled from one prompt, which they share. Default 1. */
  num_samples?: number;
  /** Requests at once. Default 1. */
  num_seqs?: number;
  /** Prompt tokens common to all requests, stored once. Default 0. */
  shared_prefix_tokens?: number;
  /** An accelerator's id. Default `h100-sxm-80gb`. */
  gpu?: string;
  /** `auto`, the default, is the smallest power of two on which the scenario fits. */
  tensor_parallel_size?: number | 'auto';
  /** Pipeline stages. Default 1. */
  pipeline_parallel_size?: number;
  /** Replicas. Default 1. */
  data_parallel_size?: number;
  /** Share of a GPU's memory that the engine may use, from 0.01 to 1. Default 0.9. */
  gpu_memory_utilization?: number;
  /** Activations per GPU; absent or null: the engine's stated default. */
  activation_bytes?: number | null;
  /** Runtime per GPU; absent or null: the engine's stated default. */
  overhead_bytes?: number | null;
  /** Draft tokens of speculative decoding. Default 0. */
  num_speculative_tokens?: number;
  /** Layers that draft them. Default 0. */
  draft_layers?: number;
  /** Which engine lays the cache out. Default `{ kind: 'exact' }`. */
  engine?: Engine;
}

/** An engine and its settings; their names are the engine's own. */
export type Engine = EngineKind & {
  /** The pool in bytes; absent or null: what the memory leaves. */
  available_kv_cache_bytes?: number | null;
  /** The pool in blocks; absent or null: what the memory leaves. */
  num_blocks?: number | null;
  /** The pool in tokens; absent or null: what the memory leaves. */
  num_tokens?: number | null;
  /** The longest sequence; absent or null: what the model was trained for. */
  max_model_len?: number | null;
};

/** The settings that each engine has. */
export type EngineKind =
  | { kind: 'exact' }
  | {
      kind: 'vllm';
      block_size?: number | null;
      max_num_batched_tokens?: number | null;
      async_scheduling?: boolean;
      decode_context_parallel_size?: number;
      mamba_cache_mode?: 'none' | 'align' | 'all';
      hybrid_kv_cache_manager?: boolean;
    }
  | {
      kind: 'sglang';
      mem_fraction_static?: number | null;
      page_size?: number;
      swa_full_tokens_ratio?: number;
      dp_attention?: boolean;
      max_mamba_cache_size?: number | null;
    }
  | { kind: 'tensorrt-llm'; tokens_per_block?: number; free_gpu_memory_fraction?: number }
  | {
      kind: 'llama.cpp';
      n_ctx?: number | null;
      n_seq_max?: number | null;
      kv_unified?: boolean;
      n_ubatch?: number;
      flash_attn?: boolean;
      swa_full?: boolean;
      mla?: boolean;
      mla_attn?: number | null;
      variant?: 'llama.cpp' | 'ik_llama.cpp' | 'ollama';
      /** The month of the build, `YYYY-MM`. */
      version?: string;
    };

/** Everything about a scenario. */
export interface Report {
  model: ModelReport;
  tokens: TokenReport;
  kv_cache: KvCacheReport;
  hardware: HardwareReport;
  hbm: HbmReport;
  fit: FitReport;
  engine: EngineReport;
  speed: RequestSpeed;
  /** The cache over the request's life: straight lines between these points. */
  life: LifePoint[];
  /** What the reader must know. */
  warnings: Note[];
  /** What is taken for granted. */
  assumptions: Note[];
  /** What could not be read. */
  errors: FieldError[];
}

/** Parameters of the model. */
export interface ModelReport {
  num_hidden_layers: number;
  num_params: number;
  /** Parameters that one token uses. */
  num_active_params: number;
  weight_bytes: number;
  /** The context that the model was trained for. */
  max_position_embeddings: number | null;
}

/** Tokens of one request. */
export interface TokenReport {
  prompt: number;
  /** Of all samples. */
  thinking: number;
  /** Of all samples. */
  answer: number;
  /** Their sum: what the cache holds when the last token is done. */
  total: number;
}

/** The KV cache of one request and of all of them. */
export interface KvCacheReport {
  /** What one more token adds once every window is full, index keys apart. */
  bytes_per_token: number;
  /** What one more token adds in index keys. */
  index_bytes_per_token: number;
  prompt_bytes: number;
  thinking_bytes: number;
  answer_bytes: number;
  /** What does not depend on the length. */
  state_bytes: number;
  /** Sum of the four. */
  per_seq_bytes: number;
  /** The mean over the request's decode steps. */
  mean_bytes: number;
  /** All requests at once, the shared prefix once for each replica. */
  total_bytes: number;
  /** On the fullest GPU. */
  per_gpu_bytes: number;
  layers: LayerReport[];
}

/** One kind of layer and what all layers of it keep for one request. */
export interface LayerReport {
  kind: string;
  /** Layers of the kind. */
  count: number;
  /** Before tensor parallelism. */
  num_key_value_heads?: number;
  /** Elements of K in one row. */
  k_elements: number;
  /** Elements of V in one row; zero when one row serves as both. */
  v_elements: number;
  /** Elements of the indexer's key in one row. */
  index_elements: number;
  /** Rows kept in one layer at the end, all samples. */
  rows: number;
  /** Tokens at which the layer stops growing, or of its uncompressed window. */
  window?: number;
  /** Tokens that share a row. */
  compress_ratio?: number;
  /** Elements of a recurrent state in `state_dtype`. */
  state_elements: number;
  /** Elements of a convolution state in the model's type. */
  conv_elements: number;
  bytes: number;
}

/** The hardware as it was decided. */
export interface HardwareReport {
  num_gpus: number;
  tensor_parallel_size: number;
  /** Whether the tensor parallel size was chosen for the reader. */
  is_tensor_parallel_auto: boolean;
  pipeline_parallel_size: number;
  data_parallel_size: number;
}

/** The memory of the fullest GPU. */
export interface HbmReport {
  /** What the driver reports. */
  capacity_bytes: number;
  /** What the engine may use. */
  usable_bytes: number;
  weight_bytes: number;
  activation_bytes: number;
  overhead_bytes: number;
  /** The pool that the engine reserves for the cache. */
  kv_pool_bytes: number;
  /** What the scenario's requests hold: the sum of the next four. */
  kv_held_bytes: number;
  kv_prompt_bytes: number;
  kv_thinking_bytes: number;
  kv_answer_bytes: number;
  kv_state_bytes: number;
  /** What the engine reserves for these requests, padding included. */
  kv_reserved_bytes: number;
  /** What is left; negative: how much is missing. */
  free_bytes: number;
}

/** What fits. */
export interface FitReport {
  fits: boolean;
  /** Requests at once, by peak. */
  max_concurrency: number;
  /** Requests at once, by the mean over their life. */
  max_concurrency_mean: number;
  /** The same requests with 32,000 thinking tokens. */
  max_concurrency_at_32000: number;
  /** The longest thinking that fits; null: not even none. */
  max_thinking_tokens: number | null;
  /** Whether the trained context, and not memory, ends the thinking. */
  is_limited_by_context: boolean;
  /** The smallest power of two, up to 64, on which the scenario fits. */
  min_tensor_parallel_size: number | null;
}

/** What the engine would allocate and print, to the token and byte. */
export interface EngineReport {
  kind: EngineKind['kind'];
  block_size: number | null;
  num_blocks: number | null;
  /** In the engine's newest meaning. */
  kv_cache_size_tokens: number | null;
  /** In the engine's older meaning. */
  kv_cache_size_tokens_legacy: number | null;
  /** Longest sequences that fit at once. */
  max_concurrency: number | null;
  /** What one sequence of the longest length needs. */
  needed_bytes: number | null;
  max_model_len_that_fits: number | null;
  /** What the scenario's requests reserve on the fullest GPU, padding included. */
  reserved_bytes: number;
  caches: EngineCache[];
  log_lines: string[];
}

/** One cache as the engine lists it, per GPU. */
export interface EngineCache {
  label: string;
  /** Tokens or cells. */
  tokens: number;
  /** Layers it serves. */
  layers: number;
  k_bytes: number;
  v_bytes: number;
  state_bytes: number;
}

/** Estimated times of requests that run `num_seqs` at once. */
export interface RequestSpeed {
  /** From the start of one request's own prefill, if nothing goes before it. */
  time_to_first_token: Estimate;
  /** A decode step at the start of thinking. */
  thinking_start_step: Estimate;
  /** A decode step at the end of thinking. */
  thinking_end_step: Estimate;
  /** The last decode step, at the end of the answer. */
  last_step: Estimate;
  /** From the first prefill to the last token, the prefills of all requests included. */
  total: Estimate;
  /** The decode steps of thinking, a part of `total`. */
  thinking: Estimate;
  /** `total` for each thinking and answer token. */
  per_output_token: Estimate;
  /** Thinking and answer tokens of all requests per second; here the roofline is the upper bound. */
  tokens_per_second: Estimate;
  /** Context at which a step reads as many bytes of caches as of weights; null: never. */
  crossing_tokens: number | null;
}

/** An estimate, the range that holds nine runs in ten, and the bound of the data sheet. */
export interface Estimate {
  low: number;
  likely: number;
  high: number;
  roofline: number;
}

/** A point of the cache's growth. */
export interface LifePoint {
  /** Decode steps done. */
  step: number;
  /** Tokens of one sample's sequence. */
  tokens: number;
  /** What the request keeps on all GPUs together. */
  bytes: number;
  /** Of it the prompt's rows and the constant state. */
  prompt_bytes: number;
  thinking_bytes: number;
  answer_bytes: number;
  /** Estimated, since the request was admitted. */
  seconds: number;
}

/** A warning or an assumption: its code, its numbers under their own names, and a sentence. */
export interface Note {
  code: string;
  message: string;
  [number: string]: string | number | boolean | null;
}

/** A field that could not be read. */
export interface FieldError {
  field: string;
  given: string;
  /** What was given, what is allowed and what to do. */
  message: string;
}

/** A model that was read from a file. */
export interface ImportedModel {
  name: string;
  model_type: string;
  num_hidden_layers: number;
  /** What was assumed or left out. */
  notes: unknown[];
  /** For a scenario's field `model`. */
  model: { config: object; name: string };
}

/** What there is to choose from. */
export interface Presets {
  models: { id: string; name: string; family: string; source: string; confidence: string }[];
  gpus: { id: string; name: string }[];
}
