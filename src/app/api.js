// The JavaScript package: one door in front of two WebAssembly modules, each loaded when it is first needed.
//
// "page" is what `mount` shows; "doors" are the functions that compute, and the importer, which a page asks for when it
// meets a configuration. The types and what everything does are in kvscope.d.ts.

const loading = {};
let doors;

// `glue` loads the module's JavaScript, `file` is where its WebAssembly lies; Node has no fetch for files.
function load(name, glue, file, source) {
    loading[name] ??= (async () => {
        const module = await glue();
        const url = file();
        if (source === undefined && url.protocol === 'file:' && globalThis.process?.versions?.node) {
            const { readFile } = await import(/* @vite-ignore */ /* webpackIgnore: true */ 'node:fs/promises');
            source = await readFile(url);
        }
        if (source === undefined && url instanceof URL && globalThis.parent !== globalThis.window) source = await shared(url);
        await module.default({ module_or_path: source ?? url });
        module.setTextLoader(loadText);
        return module;
    })().catch((error) => {
        // A download that failed may be tried again.
        delete loading[name];
        throw error;
    });
    return loading[name];
}

// In a frame: what a frame beside it, of the same site, compiles or has compiled; a copy in each would be a megabyte of
// memory.
async function shared(url) {
    for (let n = 0; n < parent.length; n++) {
        try {
            const beside = parent[n];
            const found = beside.kvscopeModules?.[url];
            if (!found) continue;
            // A frame that is taken away meanwhile never ends.
            const gone = new Promise((resolve) => beside.addEventListener('pagehide', () => resolve()));
            const module = await Promise.race([found, gone]);
            if (module) return module;
        } catch {
            // It is of another site.
        }
    }
    // Some servers do not say that it is WebAssembly, which is borne elsewhere.
    return ((self.kvscopeModules ??= {})[url] = WebAssembly.compileStreaming(fetch(url)).catch(() => undefined));
}

const loadPage = () =>
    load('page', () => import('./page.js'), () => new URL('./page_bg.wasm', import.meta.url));

// Words that are loaded when they are needed: where they are, or, in a page that is one file, the words.
const TEXTS = {
    'en-predict': () => new URL('./text/en-predict.json', import.meta.url),
    'en-concept': () => new URL('./text/en-concept.json', import.meta.url),
    'zh-page': () => new URL('./text/zh-page.txt', import.meta.url),
    'zh-panels': () => new URL('./text/zh-panels.txt', import.meta.url),
    'zh-predict': () => new URL('./text/zh-predict.json', import.meta.url),
    'zh-concept': () => new URL('./text/zh-concept.json', import.meta.url),
};

async function loadText(name) {
    const source = TEXTS[name]();
    if (typeof source === 'string') return source;
    const response = await fetch(source);
    if (!response.ok) throw new Error(`${response.status} for ${name}`);
    return response.text();
}

async function loadDoors(source) {
    doors = await load('doors', () => import('./doors.js'), () => new URL('./doors_bg.wasm', import.meta.url), source);
    return doors;
}

export default async function init(source) {
    await loadDoors(source);
}

function call(name, args) {
    if (!doors) throw new Error(`call and await the default export before ${name}`);
    return doors[name](...args);
}

export const report = (...args) => call('report', args);
export const importConfig = (...args) => call('importConfig', args);
export const importGguf = async (...args) => call('importGguf', args);
export const readLog = (...args) => call('readLog', args);
export const readFiles = async (...args) => call('readFiles', args);
export const presets = (...args) => call('presets', args);
export const toLink = (...args) => call('toLink', args);
export const fromLink = (...args) => call('fromLink', args);
export const chartSvg = (...args) => call('chartSvg', args);
export const simulate = (...args) => call('simulate', args);

// One value as a link has it.
function text(key, value) {
    if (value === null) return '';
    if (typeof value !== 'object') return String(value);
    if (key === 'kv_cache_dtype' && !Array.isArray(value)) return `${value.k}/${value.v}`;
    return JSON.stringify(value);
}

function pairs(object) {
    return Object.entries(object)
        .filter(([, value]) => value !== undefined)
        .map(([key, value]) => `${encodeURIComponent(key)}=${encodeURIComponent(text(key, value))}`);
}

// A scenario as a fragment; a fragment already is one.
function fragment(scenario) {
    if (typeof scenario === 'string') return scenario;
    const { engine, ...rest } = scenario ?? {};
    if (engine === null || typeof engine !== 'object') return pairs({ ...rest, engine }).join('&');
    const { kind, ...settings } = engine;
    return pairs({ ...rest, engine: kind, ...settings }).join('&');
}

const PAGE_OPTIONS = ['embed', 'controls', 'lock', 'theme', 'lang', 'predict', 'predict_level', 'predict_seed'];

export function mount(element, options = {}) {
    let page;
    let isGone = false;
    let latest = options.scenario;
    const own = (given) =>
        pairs(Object.fromEntries(PAGE_OPTIONS.map((key) => [key, Array.isArray(given[key]) ? given[key].join(',') : given[key]])));
    const ready = loadPage().then((module) => {
        if (isGone) return;
        page = module.mount(
            element,
            options.link,
            latest === undefined ? undefined : fragment(latest),
            own(options).join('&'),
            options.syncs_address === true,
            () => loadDoors(),
            options.on_change,
        );
    });
    return {
        ready,
        get link() {
            return page?.link;
        },
        get figures() {
            if (!page) return undefined;
            const [total, bytes_per_token, per_seq_bytes, max_concurrency, longest, fits] = page.figures;
            const max_thinking_tokens = Number.isNaN(longest) ? null : longest;
            return {
                tokens: { total },
                kv_cache: { bytes_per_token, per_seq_bytes },
                fit: { fits: fits === 1, max_concurrency, max_thinking_tokens },
            };
        },
        update(scenario) {
            latest = scenario;
            page?.update(fragment(scenario));
        },
        set(scenario, given = {}) {
            page?.set([fragment(scenario), ...own(given)].join('&'));
        },
        unmount() {
            isGone = true;
            page?.unmount();
            page = undefined;
        },
    };
}
