// A module worker: takes lengths of thinking, gives a line for each.
import init, { report } from '../pkg/kvscope.js';

addEventListener('message', async ({ data: lengths }) => {
  await init();
  const line = (thinking_tokens) => `${thinking_tokens}: ${report({ thinking_tokens }).fit.max_concurrency} at once`;
  postMessage(lengths.map(line).join('\n'));
});
