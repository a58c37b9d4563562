// In Node, after `npm install kvscope`: what one request keeps in the cache of several models.
import init, { report } from 'kvscope';

await init();
const bytes = new Intl.NumberFormat('en');
for (const model of ['llama-3.1-8b', 'llama-3.1-70b', 'deepseek-v3', 'gpt-oss-120b']) {
  const { tokens, kv_cache, fit } = report({ model, prompt_tokens: 512, thinking_tokens: 4000, answer_tokens: 300 });
  console.log(`${model}: ${bytes.format(kv_cache.per_seq_bytes)} B for ${tokens.total} tokens, ${fit.max_concurrency} requests at once`);
}
