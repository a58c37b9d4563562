// Files and logs through the JavaScript API, in Node.

import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import init, { fromLink, importGguf, readFiles, readLog, report, toLink } from '../../dist/pkg/kvscope.js';
import { llamaHeader } from './gguf.mjs';

const config = readFileSync(new URL('../data/configs/meta-llama__Llama-3.1-8B.json', import.meta.url), 'utf8');
const INDEX = '{"metadata": {"total_size": 16060522496}, "weight_map": {"lm_head.weight": "model.safetensors"}}';
const SMI = 'GPU 0: NVIDIA H100 80GB HBM3 (UUID: GPU-1)\nGPU 1: NVIDIA H100 80GB HBM3 (UUID: GPU-2)\n';
const VLLM = `INFO 06-14 09:12:01 [core.py:69] Initializing a V1 LLM engine (v0.9.1) with config: model='Qwen/Qwen3-8B', dtype=torch.bfloat16, max_seq_len=40960, tensor_parallel_size=1, kv_cache_dtype=auto
INFO 06-14 09:12:51 [gpu_worker.py:227] Available KV cache memory: 18.69 GiB
INFO 06-14 09:12:51 [kv_cache_utils.py:715] GPU KV cache size: 136,080 tokens
INFO 06-14 09:12:51 [kv_cache_utils.py:719] Maximum concurrency for 40,960 tokens per request: 3.32x
`;
const HUNDRED_GB = 100_000_000_000;

await init();

/** A file that begins with `header` and is as large as it says, of which only slices can be had. */
class Sparse extends Blob {
    #header;
    #size;
    read = 0;

    constructor(header, size, name) {
        super([]);
        this.#header = header;
        this.#size = size;
        this.name = name;
    }

    get size() {
        return this.#size;
    }

    slice(from, to) {
        const bytes = new Uint8Array(to - from);
        bytes.set(this.#header.subarray(from, to));
        this.read += bytes.length;
        return new Blob([bytes]);
    }

    arrayBuffer() {
        throw new Error('nobody may ask for the whole file');
    }
}

test('a GGUF file costs its header', async () => {
    const { header } = llamaHeader();
    const file = new Sparse(header, HUNDRED_GB, 'llama-Q8_0.gguf');
    const { name, model_type, num_hidden_layers, model, fields, notes } = await importGguf(file);
    assert.deepEqual([name, model_type, num_hidden_layers, notes], ['Llama 3.1 8B', 'llama', 32, []]);
    assert.deepEqual(fields, { weight_format: 'q8_0' });
    assert.ok(file.read <= 2 << 20, `${file.read} bytes were read`);
    const scenario = { model, weight_format: fields.weight_format };
    const { kv_cache, errors } = report(scenario);
    assert.deepEqual([kv_cache.bytes_per_token, errors], [131_072, []]);
    // The header goes through a link.
    assert.deepEqual(report(toLink(scenario)), report(scenario));
    assert.deepEqual(fromLink(toLink(scenario)).scenario.model, model);
});

test('a GGUF file as bytes, and what is none', async () => {
    const { header, size } = llamaHeader();
    const whole = new Uint8Array(header.length + 64);
    whole.set(header);
    for (const bytes of [whole, whole.buffer, [whole]]) {
        const { notes } = await importGguf(bytes);
        assert.match(notes[0].message, new RegExp(`the file is ${size - whole.length} bytes shorter`));
    }
    await assert.rejects(importGguf(new Blob([config])), /is no GGUF file but a config; give it to readFiles/);
    await assert.rejects(importGguf(header.subarray(0, -40)), /the file ends after \d+ bytes, inside its header/);
    await assert.rejects(importGguf([]), /no file was given/);
    await assert.rejects(importGguf(17), /expected a file, a blob/);
});

test('a log fills the scenario and is compared', () => {
    const { engine, model_name, scenario, fields, comparison, notes, errors } = readLog(VLLM, { prompt_tokens: 99 });
    assert.deepEqual([engine, model_name, notes, errors], ['vllm', 'Qwen/Qwen3-8B', [], []]);
    assert.deepEqual([scenario.model, scenario.engine.kind, scenario.prompt_tokens], ['qwen3-8b', 'vllm', 99]);
    assert.equal(fields.max_model_len, '40960');
    assert.deepEqual(comparison.map(row => [row.what, row.printed, row.agrees]), [
        ['available_bytes', 20_068_234_690.56, true],
        ['kv_cache_size_tokens', 136_080, true],
        ['max_concurrency', 3.32, true],
    ]);
    const { computed, reason, message, line } = comparison[1];
    assert.ok(computed.low <= 136_080 && 136_080 <= computed.high, JSON.stringify(computed));
    assert.deepEqual(reason, { code: 'rounding' });
    assert.match(message, /^none: within/);
    assert.match(line, /GPU KV cache size/);
    assert.equal(readLog('hello').engine, null);
});

test('several files make one scenario', async () => {
    const log = new Blob([VLLM.replace('Qwen/Qwen3-8B', '/models/our-own')]);
    const read = await readFiles([config, INDEX, log, SMI, 'buy milk'], { thinking_tokens: 9000 });
    assert.deepEqual(read.files.map(file => file.kind), ['config', 'safetensors_index', 'log', 'nvidia_smi', 'unknown']);
    assert.deepEqual(read.files.map(file => file.error === null), [true, true, true, true, false]);
    assert.equal(read.files[2].engine, 'vllm');
    assert.equal(read.error, null);
    const { scenario } = read;
    assert.deepEqual([scenario.gpu, scenario.engine.kind, scenario.thinking_tokens], ['h100-sxm-80gb', 'vllm', 9000]);
    assert.equal(report(scenario).model.weight_bytes, 16_060_522_496);
    assert.deepEqual(read.devices.map(device => device.gpu), ['h100-sxm-80gb', 'h100-sxm-80gb']);
    assert.equal(read.comparison.length, 3);
    assert.deepEqual(report(scenario).errors, []);

    const wrong = await readFiles(['buy milk']);
    assert.equal(wrong.scenario, null);
    const twice = await readFiles([SMI, SMI]);
    assert.deepEqual([twice.scenario, twice.files.length], [null, 2]);
    assert.match(twice.error, /a list of GPUs was given twice/);
});
