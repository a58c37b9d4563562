// The JavaScript API in Node, as somebody would use it who has installed the package.

import assert from 'node:assert/strict';
import { readFileSync, readdirSync } from 'node:fs';
import { test } from 'node:test';
import init, { chartSvg, fromLink, importConfig, presets, report, simulate, toLink } from '../../dist/pkg/kvscope.js';

const configs = new URL('../data/configs/', import.meta.url);
const read = name => readFileSync(new URL(name, configs), 'utf8');

// The first calls come while nothing is loaded yet.
await Promise.all([init(), init()]);

test('the default scenario', () => {
    const { tokens, kv_cache, fit, warnings, errors } = report({});
    assert.deepEqual(tokens, { prompt: 512, thinking: 4000, answer: 300, total: 4812 });
    assert.equal(kv_cache.bytes_per_token, 327_680);
    assert.equal(kv_cache.per_seq_bytes, 1_576_796_160);
    assert.equal(fit.max_concurrency, 89);
    assert.deepEqual([warnings, errors], [[], []]);
    assert.deepEqual(report(), report({}), 'no argument is the default scenario');
});

test('the phases and the state sum to the request', () => {
    for (const { id } of presets().models) {
        const { kv_cache } = report({ model: id });
        const { prompt_bytes, thinking_bytes, answer_bytes, state_bytes, per_seq_bytes } = kv_cache;
        assert.equal(prompt_bytes + thinking_bytes + answer_bytes + state_bytes, per_seq_bytes, id);
        assert.ok(0 < per_seq_bytes, id);
    }
});

test('what cannot be read is said and left at its default', () => {
    const { errors, tokens } = report({ gpu: 'abacus', thinking_tokens: -1, answer_tokens: 100, colour: 'red' });
    assert.deepEqual(errors.map(error => error.field), ['gpu', 'thinking_tokens', 'colour']);
    for (const { message } of errors) assert.match(message, /\w+/);
    assert.equal(tokens.total, 512 + 4000 + 100);
});

test('every config.json becomes a model', () => {
    const names = readdirSync(configs).filter(name => name.endsWith('.json'));
    assert.ok(100 < names.length, `${names.length} files`);
    for (const name of names) {
        const { model, num_hidden_layers } = importConfig(read(name), name);
        assert.ok(0 < num_hidden_layers, name);
        assert.deepEqual(report({ model }).errors, [], name);
    }
    // 36 × 2 × 8 × 128 × 2 B.
    const { model } = importConfig(read('Qwen__Qwen3-8B.json'));
    assert.equal(report({ model }).kv_cache.bytes_per_token, 147_456);
});

test('a wrong file throws and says what it is', () => {
    assert.throws(() => importConfig('hello'), /begins with "hello"/);
    assert.throws(() => importConfig('{}'), /the object is empty/);
});

test('a link gives its scenario back', () => {
    const scenario = { thinking_tokens: 8000, gpu: 'h200-sxm-141gb', model: importConfig(read('Qwen__Qwen3-8B.json')).model };
    const link = toLink(scenario);
    const back = fromLink(link);
    assert.deepEqual(back.errors, []);
    assert.equal(toLink(back.scenario), link);
    assert.deepEqual(report(back.scenario), report(scenario));
    assert.deepEqual(report(link), report(scenario), 'a link is a scenario, too');
});

test('charts are SVG, and an unknown one throws', () => {
    for (const id of ['tokens', 'hbm', 'growth', 'sweep', 'layers', 'speed', 'price', 'turns', 'pool']) {
        const svg = chartSvg(id, {}, 600);
        assert.match(svg, /^<svg [^>]*xmlns="http:\/\/www.w3.org\/2000\/svg"/, id);
        assert.match(svg, /<\/svg>\s*$/, id);
    }
    assert.throws(() => chartSvg('nothing', {}, 600), /there is no figure "nothing"; there are tokens.*, pool/);
    assert.throws(() => chartSvg('pool', `${toLink()}&serve.arrivals=trace`, 600), /there is no trace/);
    assert.notEqual(chartSvg('pool', `${toLink()}&serve.clients=9`), chartSvg('pool'), 'the settings of a link count');
});

test('many requests, and what happens when thinking doubles', () => {
    const { runs, errors } = simulate({}, { clients: 66, requests: 132, seed: 1, colour: 'red' });
    assert.deepEqual(errors.map(error => error.field), ['colour']);
    const [first, second] = runs.map(run => run.report);
    assert.equal(first.num_finished, 132);
    assert.equal(first.preemptions, 0);
    assert.ok(0 < second.preemptions && 0 < second.recomputed_share);
    assert.equal(runs[1].scenario.thinking_tokens, 8000);
    const trace = 'arrival,prompt,output\n0,100,20\n1,100,30\n';
    const { runs: [traced] } = simulate({}, { arrivals: 'trace', lengths: 'trace', versus: 'none', trace });
    assert.equal(traced.report.num_finished, 2);
    assert.throws(() => simulate({}, { lengths: 'trace' }), /there is no trace/);
});
