
/**
 * Loads the WebAssembly, in a page, a worker and Node alike. To call it again is to wait for the
 * same module.
 */
export default async function init(source) {
    const url = new URL('kvscope_bg.wasm', import.meta.url);
    if (source === undefined && url.protocol === 'file:' && globalThis.process?.versions?.node) {
        const { readFile } = await import(/* @vite-ignore */ /* webpackIgnore: true */ 'node:fs/promises');
        source = await readFile(url);
    }
    await __wbg_init({ module_or_path: source ?? url });
}
