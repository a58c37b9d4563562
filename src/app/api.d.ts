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

/**
 * Reads the header of a GGUF file of any size, slice by slice; the weights are never read.
 *
 * @param file the file, or all files of a split model in any order
 * @returns a promise, rejected with an Error that says what the file is or what is wrong with it
 */
export function importGguf(file: FileSource | FileSource[]): Promise<ImportedGguf>;

/**
 * Reads what vLLM, SGLang, TensorRT-LLM or llama.cpp prints when it starts, and the command that starts it.
 *
 * @param scenario what is shown now; fields that the log does not decide stay
 */
export function readLog(text: string, scenario?: Scenario | Link): LogReading;

/**
 * Reads files and texts, whatever they are, and joins them into one scenario: a `config.json`, the index of its weights,
 * safetensors and GGUF files by their headers, logs, what `nvidia-smi` or `rocm-smi` prints, a link.
 *
 * @param scenario what is shown now; fields that nothing decides stay
 */
export function readFiles(files: (FileSource | string)[], scenario?: Scenario | Link): Promise<FilesReading>;

/** The models and accelerators to choose from. */
export function presets(): Presets;

/** The scenario as a fragment, without `#`: every field, so that a link means the same for ever. */
export function toLink(scenario?: Scenario | Link): Link;

/** The scenario of a fragment, with or without `#`. */
export function fromLink(link: Link): { scenario: Scenario; errors: FieldError[] };

/**
 * A figure as an SVG file with its own colours. Constants, prices, turns and the settings of the simulator are those of a
 * link that has them, else the defaults.
 *
 * @param width in pixels; 720 by default
 * @throws Error that names the figures there are, or says why there is nothing to simulate
 */
export function chartSvg(figure: Figure | FleetFigure, scenario?: Scenario | Link, width?: number, isDark?: boolean): string;

/**
 * Runs many requests through the scheduler of the scenario's engine, and beside them the same with one thing changed;
 * the same for the same seed. It takes up to a second for 10,000 requests: in a worker nothing waits for it.
 *
 * @throws Error that says why there is nothing to simulate
 */
export function simulate(scenario?: Scenario | Link, settings?: SimulationSettings): Simulation;

/** Shows a page, or the parts of it in `options.embed`, in `element`. Needs a document. */
export function mount(element: HTMLElement, options?: MountOptions): Mount;

/** A fragment such as `v=1&thinking_tokens=8000`. */
export type Link = string;

/** A figure of the page. */
export type Figure = 'tokens' | 'hbm' | 'growth' | 'sweep' | 'layers';

/** A figure of a fleet. `pool` runs the simulator, as `simulate` does. */
export type FleetFigure = 'speed' | 'price' | 'turns' | 'pool';

/** A part of the page. */
export type Part = Figure | 'sentence' | 'facts' | 'working' | 'predict' | 'concept' | 'fit' | 'speed' | 'turns' | 'serve';

/** A mounted page. It stays when this handle is forgotten. */
export interface Mount {
  /** Fulfilled when the page is there; rejected when it cannot be loaded. The functions need not wait for it. */
  readonly ready: Promise<void>;
  /** The link to what is shown; undefined until the page is there. */
  readonly link: Link | undefined;
  /** The key figures of what is shown; undefined until the page is there. */
  readonly figures: Figures | undefined;
  /** Shows another scenario. Fields that are absent have their defaults. */
  update(scenario: Scenario | Link): void;
  /** Changes these fields and page options, and leaves all else as it is. Does nothing until the page is there. */
  set(scenario: Scenario | Link, options?: PageOptions): void;
  /** Removes the page from its element. */
  unmount(): void;
}

/** The part of a [report](Report) that a mounted page tells of itself, also by message. */
export interface Figures {
  tokens: Pick<Report['tokens'], 'total'>;
  kv_cache: Pick<Report['kv_cache'], 'bytes_per_token' | 'per_seq_bytes'>;
  fit: Pick<Report['fit'], 'fits' | 'max_concurrency' | 'max_thinking_tokens'>;
}

/** How a page is mounted. */
export interface MountOptions extends PageOptions {
  /** What it opens with; the default scenario if neither this nor `link` is given. */
  scenario?: Scenario;
  /** The same as a fragment. */
  link?: Link;
  /** Whether the document's address follows what the reader changes: for a page that is alone in its document. */
  syncs_address?: boolean;
  /** Called with the link to what is shown, once it is there and after every change. */
  on_change?: (link: Link) => void;
}

/** How a page is shown. */
export interface PageOptions {
  /** The parts to show; the whole page by default. */
  embed?: Part[] | string;
  /** The fields whose controls an embed shows; none by default. */
  controls?: string[] | string;
  /** Fields that are shown and cannot be changed. */
  lock?: string[] | string;
  /** `auto`, the default, follows the system. */
  theme?: 'auto' | 'light' | 'dark';
  /** The language. Default `en`. */
  lang?: 'en' | 'zh';
  /** The questions of "predict first", by id: about the scenario, or about a new one when there is a seed. */
  predict?: string[] | string;
  /** How hard the new scenario is. Default 1. */
  predict_level?: 1 | 2 | 3;
  /** 0 to 999,999: the same seed asks everybody the same. */
  predict_seed?: number;
}

/** Everything that the reader chooses. A field that is absent has its default. */
export interface Scenario {
  /** A preset's id, a `config.json`, dimensions with the names of one, or a GGUF file's header. Default `llama-3.1-70b`. */
  model?: string | Model;
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

/**
 * A model that is not a preset, or a preset with the exact bytes of its weights. `gguf` is a header as `importGguf` gives it.
 */
export type Model = (
  | { config: object; name?: string }
  | { dims: object; name?: string }
  | { preset: string }
  | { gguf: object; name?: string }
) & {
  /** Exact bytes of the weights, from a file beside the configuration. */
  weight_bytes?: number;
};

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
  /** Room for the cache: what is left, or the pool that was given. */
  kv_pool_bytes: number;
  /** Of it what the engine allocates before it serves: all, or the cells of llama.cpp. */
  kv_allocated_bytes: number;
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
  /** Whether the requests fit, by their bytes alone. */
  fits: boolean;
  /**
   * What becomes of the requests: they run at once; they fit but the engine runs fewer at once; bytes are missing; an
   * engine does not start or does not take them, for which see `warnings`; the weights are not known.
   */
  verdict: 'fits' | 'waits' | 'missing' | 'refused' | 'unknown';
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
  /** Of it what does not depend on the length. */
  state_bytes: number;
  /** Of it the prompt's rows. */
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
  notes: ImportNote[];
  /** For a scenario's field `model`. */
  model: Model;
}

/** A file as a browser or Node has it, or its bytes. */
export type FileSource = Blob | ArrayBuffer | Uint8Array;

/** Fields of a scenario with their values, as links have them. */
export type Fields = { [field: string]: string };

/** A model that was read from the header of a GGUF file. */
export interface ImportedGguf {
  name: string;
  /** The architecture. */
  model_type: string;
  num_hidden_layers: number;
  /** Bytes of all tensors; null: not all files of a split model were given. */
  weight_bytes: number | null;
  /** What was assumed or left out. */
  notes: ImportNote[];
  /** For a scenario's field `model`. */
  model: Model;
  /** Other fields that the file decides: how the weights are stored, whether it has the keys of latent attention. */
  fields: Fields;
}

/** What a log says. */
export interface LogReading {
  /** Null when no line is one of an engine's. */
  engine: 'vllm' | 'sglang' | 'tensorrt-llm' | 'llama.cpp' | null;
  /** The model as the log names it. */
  model_name: string | null;
  /** The scenario with what the log says. */
  scenario: Scenario;
  /** The fields that it decides. */
  fields: Fields;
  /** Its figures beside ours. */
  comparison: Comparison[];
  notes: ImportNote[];
  /** Values that the scenario did not take. */
  errors: FieldError[];
}

/** What some files together say. */
export interface FilesReading {
  /** What each of them is, in order. */
  files: FileReading[];
  /** Null when nothing could be read, or what was read does not go together. */
  scenario: Scenario | null;
  /** Why what was read does not go together. */
  error: string | null;
  /** The fields that a log, the machine and a GGUF file decide. */
  fields: Fields;
  /** The figures of a log beside ours. */
  comparison: Comparison[];
  devices: Device[];
  notes: ImportNote[];
  /** Values that the scenario did not take. */
  errors: FieldError[];
}

/** One of the files. */
export interface FileReading {
  /** Empty for bytes and texts. */
  name: string;
  kind:
    | 'config'
    | 'safetensors_index'
    | 'safetensors'
    | 'gguf'
    | 'log'
    | 'nvidia_smi'
    | 'rocm_smi'
    | 'link'
    | 'unknown';
  /** The engine whose log it is. */
  engine: string | null;
  /** What is wrong with it. */
  error: string | null;
}

/** A printed figure beside ours. */
export interface Comparison {
  what:
    | 'available_bytes'
    | 'num_blocks'
    | 'kv_cache_size_tokens'
    | 'max_concurrency'
    | 'needed_bytes'
    | 'max_model_len_that_fits'
    | 'k_bytes'
    | 'v_bytes'
    | 'cache_bytes'
    | 'cache_tokens'
    | 'weight_bytes'
    | 'activation_bytes';
  /** The cache it is of, when it is of one of several. */
  cache: string | null;
  /** In bytes, tokens or times. */
  printed: number;
  /** Ours; where the log prints the pool rounded, all from `low` to `high` follow from it. Null: there is no such figure. */
  computed: { value: number; low: number; high: number } | null;
  /** Whether the two agree to the printed digits. */
  agrees: boolean;
  /** Why they differ, or under what reading they agree; null: they are the same. */
  reason: ComparisonReason | null;
  /** The reason as a sentence. */
  message: string;
  /** The line of the log. */
  line: string;
}

/** Why a printed figure differs, or how it is to be read. */
export type ComparisonReason =
  | {
      code:
        | 'rounding'
        | 'older_meaning'
        | 'smallest_rank'
        | 'units'
        | 'padding'
        | 'other_model'
        | 'not_modelled'
        | 'unknown';
    }
  | { code: 'setting'; key: string; value: string };

/** An accelerator of the machine. */
export interface Device {
  /** As it is printed. */
  name: string;
  memory_bytes: number | null;
  used_bytes: number | null;
  /** The accelerator among the presets. */
  gpu: string | null;
}

/** Something that the reader of a file should know. */
export interface ImportNote {
  code: string;
  message: string;
}

/** What there is to choose from. */
export interface Presets {
  models: { id: string; name: string; family: string; source: string; confidence: string }[];
  gpus: { id: string; name: string }[];
}

/** What is asked of the simulator. What is absent follows from the scenario. */
export interface SimulationSettings {
  /** A closed loop of clients (the default), at random at a rate, or as in the trace. */
  arrivals?: 'closed' | 'poisson' | 'trace';
  /** Requests in all. */
  requests?: number | null;
  /** Clients of a closed loop. */
  clients?: number | null;
  /** Requests per second. */
  rate?: number | null;
  /** All as the scenario's (the default), log-normal with them as median, or as in the trace. */
  lengths?: 'fixed' | 'lognormal' | 'trace';
  prompt_p95?: number | null;
  thinking_p95?: number | null;
  answer_p95?: number | null;
  /** Output tokens that clients allow. */
  max_output_tokens?: number | null;
  /** Whose rules; `engine`: those of the scenario's engine, vLLM's without one. */
  policy?:
    | 'engine'
    | 'vllm'
    | 'guaranteed_no_evict'
    | 'max_utilization'
    | 'static_batch'
    | 'sglang'
    | 'llama.cpp';
  max_num_seqs?: number | null;
  max_num_batched_tokens?: number | null;
  seed?: number;
  /** The run beside it: `none`, `thinking:2` (the default), `policy:…`, `gpu:…`. */
  versus?: string;
  /** A table with a header or JSON, as `docs/serving.md` says, or `arrival:prompt:thinking:answer;…`. */
  trace?: string | object[];
}

/** What the simulator tells. */
export interface Simulation {
  runs: { name: string; scenario: Scenario; report: ServeReport }[];
  /** How a trace that was given as text was read: its requests, the unit of its arrivals, what was left out. */
  trace: string | null;
  errors: FieldError[];
}

/** What one run tells. Times are seconds, of requests that finished. */
export interface ServeReport {
  num_requests: number;
  num_finished: number;
  /** Of the finished ones, those that reached the engine's longest sequence. */
  num_truncated: number;
  num_failed: number;
  num_refused: number;
  /** Why the first one was not taken: `reason` and its numbers. */
  first_refusal: { reason: string } | null;
  steps: number;
  makespan_seconds: number;
  time_to_first_token: Percentiles;
  time_to_first_answer_token: Percentiles;
  time_per_output_token: Percentiles;
  latency: Percentiles;
  output_tokens_per_second: number;
  reused_tokens: number;
  computed_tokens: number;
  /** Of them tokens that had been computed before and were lost. */
  recomputed_tokens: number;
  recomputed_share: number;
  preemptions: number;
  peak_running: number;
  mean_running: number;
  mean_waiting: number;
  mean_occupancy: number;
  peak_occupancy: number;
  /** Requests of the mean length that fit at once by their peak. */
  static_concurrency: number;
  pool_units: number;
  timeline: PoolPoint[];
}

/** By nearest rank. */
export interface Percentiles {
  mean: number;
  p50: number;
  p90: number;
  p95: number;
  p99: number;
}

/** The pool and the queues at a moment, in units of the pool. */
export interface PoolPoint {
  seconds: number;
  prompt_units: number;
  thinking_units: number;
  answer_units: number;
  slack_units: number;
  free_units: number;
  cached_units: number;
  running: number;
  waiting: number;
  /** Requests that lost their memory since the point before. */
  preemptions: number;
}

// End of the reports.
