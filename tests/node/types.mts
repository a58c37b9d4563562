// How the hand-written types are meant to be used; the compiler checks it, nothing runs it.

import init, {
  chartSvg,
  fromLink,
  importConfig,
  importGguf,
  mount,
  presets,
  readFiles,
  readLog,
  report,
  toLink,
} from '../../dist/pkg/kvscope.js';
import type { Comparison, Estimate, FilesReading, Report, Scenario } from '../../dist/pkg/kvscope.js';

await init();
await init(new URL('kvscope_bg.wasm', import.meta.url));

const scenario: Scenario = {
  model: 'llama-3.1-70b',
  thinking_tokens: 8000,
  kv_cache_dtype: { k: 'q8_0', v: 'q4_0' },
  tensor_parallel_size: 'auto',
  engine: { kind: 'vllm', block_size: 16, num_blocks: null },
};
const { kv_cache, fit, warnings }: Report = report(scenario);
const bytes: number = kv_cache.per_seq_bytes;
const total: Estimate = report().speed.total;
const sentence: string | undefined = warnings[0]?.message;
const longest: number | null = fit.max_thinking_tokens;
const { model, notes } = importConfig('{}', 'mine');
const svg: string = chartSvg('hbm', { ...scenario, model }, 600, true);
const pool: string = chartSvg('pool', toLink(scenario));
const gguf = await importGguf(new Blob([]));
const layers: number = report({ model: gguf.model, weight_format: gguf.fields.weight_format }).model.num_hidden_layers;
const split = await importGguf([new Uint8Array(8), new ArrayBuffer(8)]);
const rows: Comparison[] = readLog('INFO', scenario).comparison;
const setting: string | undefined = rows[0]?.reason?.code === 'setting' ? rows[0].reason.key : undefined;
const read: FilesReading = await readFiles([new File([], 'config.json'), 'text'], toLink(scenario));
const joined: Report | null = read.scenario && report(read.scenario);
const { errors } = fromLink(toLink(scenario));
const first: string | undefined = presets().models[0]?.id;

const page = mount(document.body, { embed: ['sentence', 'tokens'], controls: 'thinking_tokens', theme: 'dark' });
await page.ready;
page.update({ thinking_tokens: 16_000 });
page.update(toLink(scenario));
page.set({ answer_tokens: 1000 }, { theme: 'light' });
const link: string | undefined = page.link;
const atOnce: number | undefined = page.figures?.fit.max_concurrency;
page.unmount();
mount(document.body, { on_change: (link) => console.log(link.length) });

// @ts-expect-error A field that does not exist.
report({ thinking: 8000 });
// @ts-expect-error A page's option is no field.
page.set({ theme: 'light' });
// @ts-expect-error A setting of another engine.
report({ engine: { kind: 'exact', page_size: 16 } });
// @ts-expect-error A path is no file.
importGguf('model.gguf');
// @ts-expect-error A figure that does not exist.
chartSvg('pie');

export { atOnce, bytes, errors, first, joined, layers, link, longest, notes, pool, sentence, setting, split, svg, total };
