// In Node, after `npm install kvscope`: a figure as an SVG file, on standard output.
import init, { chartSvg } from 'kvscope';

await init();
console.log(chartSvg('growth', { thinking_tokens: 32_000 }, 720));
