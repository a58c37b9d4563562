// The JavaScript API in Node, as somebody would use it who has installed the package.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import init, * as api from '../../dist/pkg/kvscope.js';

test('the default export loads the WebAssembly by itself, however often', async () => {
    await Promise.all([init(), init()]);
    assert.equal(typeof api.mount, 'function');
});
