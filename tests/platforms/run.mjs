// Builds a course on each platform as docs/embedding.md says, and opens it in a browser. README.md says how to run it.

import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { cpSync, existsSync, mkdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { createRequire } from 'node:module';
import { dirname, extname, join, normalize } from 'node:path';
import { fileURLToPath } from 'node:url';

const here = dirname(fileURLToPath(import.meta.url));
const root = join(here, '../..');
const dist = join(root, 'dist');
const work = join(root, 'target/platforms');
const site = join(work, 'site');
const word = process.argv[2] ?? '';
// What every course asks: 512 + 8,000 + 300 tokens.
const TOTAL = '8,812';

const run = (program, args, cwd = work) => execFileSync(program, args, { cwd, stdio: ['ignore', 'ignore', 'inherit'] });
const python = join(work, 'venv/bin/python');

function install() {
  mkdirSync(work, { recursive: true });
  cpSync(join(here, 'package.json'), join(work, 'package.json'));
  if (!existsSync(join(work, 'node_modules/iframe-resizer'))) run('npm', ['install', '--no-audit', '--no-fund', '--silent']);
  if (!existsSync(join(work, 'venv/bin/mkdocs'))) {
    run('python3', ['-m', 'venv', 'venv']);
    run(python, ['-m', 'pip', 'install', '--quiet', '-r', join(here, 'requirements.txt')]);
  }
}

// The blocks with a file's name below a heading of docs/embedding.md, by that name.
function blocks(heading) {
  const docs = readFileSync(join(root, 'docs/embedding.md'), 'utf8');
  const section = docs.split(`\n### ${heading}\n`)[1]?.split(/\n##+ /)[0];
  assert(section, `docs/embedding.md has no section ${heading}`);
  const found = [...section.matchAll(/^```\w+ (\S+)\n(.*?)^```$/gms)];
  assert(0 < found.length, `the section ${heading} has no file`);
  return Object.fromEntries(found.map(([, name, text]) => [name, text]));
}

// A folder with these files and, under `kvscope`, the page.
function project(name, files, kvscope) {
  const folder = join(work, name);
  rmSync(folder, { recursive: true, force: true });
  for (const [file, text] of Object.entries(files)) {
    mkdirSync(dirname(join(folder, file)), { recursive: true });
    writeFileSync(join(folder, file), text);
  }
  if (kvscope) cpSync(dist, join(folder, kvscope), { recursive: true });
  return folder;
}

const publish = (from, name) => cpSync(from, join(site, name), { recursive: true });

// Every frame of the page, also in shadow trees.
async function frames(page) {
  const handles = await page.evaluateHandle(() => {
    const all = [...document.querySelectorAll('iframe, kv-scope')];
    return all.map((element) => element.shadowRoot?.querySelector('iframe') ?? element);
  });
  return [...(await handles.getProperties()).values()].map((handle) => handle.asElement());
}

async function showsTotal(frame, total = TOTAL) {
  const shows = (total) => document.querySelector('[data-testid="total-tokens"]')?.textContent.includes(total);
  await frame.waitForFunction(shows, { timeout: 20_000 }, total);
  await frame.waitForSelector('figure svg', { timeout: 20_000 });
}

async function showsFrames(page, count) {
  const all = await frames(page);
  assert.equal(all.length, count, `${all.length} frames`);
  for (const element of all) {
    await element.evaluate((frame) => frame.scrollIntoView({ block: 'center' }));
    await showsTotal(await element.contentFrame());
  }
}

const PLATFORMS = {
  plain() {
    const files = blocks('A plain page');
    publish(project('plain', files, 'kvscope'), 'plain');
    return async (open) => showsFrames(await open('plain/'), 2);
  },

  // The same page with ten embeds of every kind.
  ten() {
    const files = blocks('A plain page');
    const parts = ['tokens', 'hbm', 'growth', 'sweep', 'working'];
    const more = parts.flatMap((part, n) => [
      `<h2>${n}</h2><kv-scope thinking="8000" show="sentence,${part === 'working' ? 'tokens,working' : part}"></kv-scope>`,
      `<iframe title="${part}" width="700" height="500" loading="lazy" src="kvscope/#v=1&amp;thinking_tokens=8000&amp;embed=sentence,tokens,${part}"></iframe>`,
    ]);
    const body = /<kv-scope.*<\/iframe>/s;
    assert.match(files['index.html'], body);
    files['index.html'] = files['index.html'].replace(body, more.join('\n'));
    publish(project('ten', files, 'kvscope'), 'ten');
    return async (open) => showsFrames(await open('ten/'), 10);
  },

  mkdocs() {
    const folder = project('mkdocs', blocks('MkDocs Material'), 'docs/kvscope');
    run(join(work, 'venv/bin/mkdocs'), ['build', '--quiet'], folder);
    publish(join(folder, 'site'), 'mkdocs');
    return async (open) => showsFrames(await open('mkdocs/lesson/'), 2);
  },

  vitepress() {
    const folder = project('vitepress', blocks('VitePress'), 'docs/public/kvscope');
    // It is meant for the root of a host; here it lies below one.
    const config = join(folder, 'docs/.vitepress/config.mjs');
    const text = readFileSync(config, 'utf8');
    writeFileSync(config, text.replace('export default {', "export default {\n  base: '/vitepress/',").replace("'/kvscope/", "'/vitepress/kvscope/"));
    const page = join(folder, 'docs/index.md');
    writeFileSync(page, readFileSync(page, 'utf8').replace('"/kvscope/', '"/vitepress/kvscope/'));
    run(process.execPath, [join(work, 'node_modules/vitepress/bin/vitepress.js'), 'build', 'docs'], folder);
    publish(join(folder, 'docs/.vitepress/dist'), 'vitepress');
    return async (open) => showsFrames(await open('vitepress/'), 2);
  },

  jupyter() {
    const files = blocks('Jupyter');
    const folder = project('jupyter', files, 'kvscope');
    const make = "import nbformat.v4 as v; import nbformat; code = open('lesson.py').read(); "
      + "nbformat.write(v.new_notebook(cells=[v.new_markdown_cell('# Lesson 4'), v.new_code_cell(code)]), 'lesson.ipynb')";
    run(python, ['-c', make], folder);
    run(python, ['-m', 'nbconvert', '--execute', '--to', 'html', '--log-level', 'ERROR', 'lesson.ipynb'], folder);
    publish(folder, 'jupyter');
    // The template asks a content network for its own scripts, which nothing of ours needs.
    return async (open) => showsFrames(await open('jupyter/lesson.html', { blocksOthers: true }), 1);
  },

  reveal() {
    const folder = project('reveal', blocks('reveal.js'), 'kvscope');
    cpSync(join(work, 'node_modules/reveal.js/dist'), join(folder, 'reveal'), { recursive: true });
    publish(folder, 'reveal');
    return async (open) => {
      const page = await open('reveal/#/1');
      const frame = await (await page.waitForSelector('section.present iframe')).contentFrame();
      await showsTotal(frame);
      // Slides are scaled: the pointer must still hit what it points at.
      const slider = await frame.waitForSelector('[data-testid="slider-thinking_tokens"]');
      const before = await slider.evaluate((input) => Number(input.value));
      const box = await slider.boundingBox();
      await page.mouse.move(box.x + box.width * 0.95, box.y + box.height / 2);
      await page.mouse.down();
      await page.mouse.up();
      await frame.waitForFunction((input, before) => before < Number(input.value), { timeout: 5000 }, slider, before);
      await page.evaluate(() => { location.hash = '#/2'; });
      const behind = await (await page.waitForSelector('.slide-background.present iframe')).contentFrame();
      await behind.waitForSelector('figure svg', { timeout: 20_000 });
    };
  },

  // The resizer that most course pages have: the frame takes the height of what it shows, whatever it shows.
  resizer() {
    const page = `<!doctype html><html lang="en"><meta charset="utf-8"><title>A resizer</title><link rel="icon" href="data:,">
      <script src="iframeResizer.js"></script>
      <iframe title="KVscope" style="width:100%" src="kvscope/#v=1&thinking_tokens=8000&embed=sentence,tokens,hbm"></iframe>
      <script>iFrameResize({}, 'iframe')</script></html>`;
    const folder = project('resizer', { 'index.html': page }, 'kvscope');
    cpSync(join(work, 'node_modules/iframe-resizer/js/iframeResizer.js'), join(folder, 'iframeResizer.js'));
    publish(folder, 'resizer');
    return async (open) => {
      const page = await open('resizer/');
      await showsFrames(page, 1);
      const fits = (least) => page.waitForFunction((least) => {
        const frame = document.querySelector('iframe');
        const height = frame.contentDocument.body.getBoundingClientRect().height;
        return least < height && Math.abs(frame.clientHeight - height) <= 1 && height;
      }, {}, least).then((height) => height.jsonValue());
      const before = await fits(0);
      await (await (await page.$('iframe')).contentFrame()).click('details.data summary');
      await fits(before);
    };
  },

  scorm() {
    const folder = project('scorm', {});
    mkdirSync(folder, { recursive: true });
    run(python, ['-m', 'zipfile', '-e', join(dist, 'kvscope-scorm12.zip'), join(folder, 'course')]);
    for (const [, file] of readFileSync(join(folder, 'course/imsmanifest.xml'), 'utf8').matchAll(/<file href="([^"]+)"/g)) {
      assert(existsSync(join(folder, 'course', file)), `${file} is not in the package`);
    }
    cpSync(join(work, 'node_modules/scorm-again/dist/scorm12.js'), join(folder, 'scorm12.js'));
    const lms = `<!doctype html><html lang="en"><meta charset="utf-8"><title>A course platform</title><link rel="icon" href="data:,">
      <script src="scorm12.js"></script>
      <script>
        // The same learner comes again with what was recorded.
        window.API = new Scorm12API({ autocommit: false, logLevel: 5 });
        window.errors = [];
        // A teacher's questions are the launch data, which platforms give to an item; each has its own records.
        const ask = new URLSearchParams(location.search).get('ask');
        const place = 'recorded' + (ask ?? '');
        if (ask) API.cmi.launch_data = 'v=1&embed=predict&predict=' + ask;
        const before = JSON.parse(sessionStorage.getItem(place) ?? 'null');
        if (before) window.API.loadFromJSON(before, '');
        window.API.on('LMSSetValue', () => { if (API.lmsGetLastError() !== '0') errors.push(API.lmsGetLastError()); });
        const keep = () => sessionStorage.setItem(place, JSON.stringify(window.API.renderCMIToJSONObject().cmi));
        window.API.on('LMSCommit', keep);
        window.API.on('LMSFinish', keep);
      </script>
      <iframe title="Course" src="course/index.html" width="1000" height="800"></iframe></html>`;
    writeFileSync(join(folder, 'index.html'), lms);
    publish(folder, 'scorm');
    return scorm;
  },
};

// A learner in a fake course platform: begins, answers, comes again and does worse.
async function scorm(open) {
  const cmi = (page) => page.evaluate(() => {
    const { core, suspend_data } = window.API.cmi;
    return { status: core.lesson_status, raw: core.score.raw, suspended: suspend_data, errors: window.errors };
  });
  const inner = async (page) => {
    const course = await (await page.waitForSelector('iframe')).contentFrame();
    return (await course.waitForSelector('iframe')).contentFrame();
  };
  const answer = (frame, score, isDone) => frame.evaluate((detail) => {
    dispatchEvent(new CustomEvent('kvscope:result', { detail }));
  }, { is_done: isDone, summary: { score }, text: 'tokens 1 0 r' });

  const page = await open('scorm/');
  let frame = await inner(page);
  await frame.waitForSelector('figure svg', { timeout: 20_000 });
  await page.waitForFunction(() => API.cmi.suspend_data.includes('thinking_tokens=4000'));
  assert.deepEqual((await cmi(page)).status, 'incomplete');

  const field = await frame.waitForSelector('[data-testid="field-thinking_tokens"]');
  await field.click({ clickCount: 3 });
  await field.type('8000');
  await page.keyboard.press('Enter');
  await page.waitForFunction(() => API.cmi.suspend_data.includes('thinking_tokens=8000'));
  await answer(frame, 70, false);
  await page.waitForFunction(() => API.cmi.suspend_data.includes('tokens 1 0 r'));
  assert.equal((await cmi(page)).status, 'incomplete');
  await answer(frame, 90, true);
  await page.waitForFunction(() => API.cmi.core.lesson_status === 'passed');
  assert.equal((await cmi(page)).raw, '90');

  // Again, where the reader was; a worse score changes nothing.
  await page.reload();
  frame = await inner(page);
  await showsTotal(frame);
  assert.equal((await cmi(page)).status, 'passed');
  await answer(frame, 20, true);
  await page.waitForFunction(() => window.API.cmi.suspend_data !== '');
  const after = await cmi(page);
  assert.deepEqual([after.status, after.raw], ['passed', '90']);
  assert.match(await page.evaluate(() => sessionStorage.getItem('recorded')), /"exit":"suspend","session_time":"00:00:\d\d"/);

  // A link that does not fit into what the standard keeps is left out.
  const config = readFileSync(join(root, 'tests/data/configs/Qwen__Qwen3-8B.json'), 'utf8');
  const name = 'x'.repeat(5000);
  await frame.evaluate((model) => {
    parent.postMessage({ type: 'kvscope:change', version: 1, link: `v=1&model=${model}` }, '*');
  }, encodeURIComponent(JSON.stringify({ config: JSON.parse(config), name })));
  await page.waitForFunction(() => !API.cmi.suspend_data.includes('link'));
  const { suspended, errors } = await cmi(page);
  assert(suspended.length <= 4096 && suspended.includes('tokens 1 0 r'), suspended.slice(0, 200));
  assert.deepEqual(errors, []);
  await page.close();
  await scormRound(open, { cmi, inner });
}

// The questions themselves: a round without a mistake, then one with every hint and none right.
async function scormRound(open, { cmi, inner }) {
  const page = await open('scorm/?ask=tokens,bytes_per_token');
  let frame = await inner(page);
  const at = (id) => frame.waitForSelector(`[data-testid="${id}"]:not([hidden] *)`, { visible: true, timeout: 20_000 });
  const type = async (id, text) => {
    await (await at(id)).type(text);
    await page.keyboard.press('Enter');
  };
  await type('predict-answer', '4812');
  await page.waitForFunction(() => API.cmi.suspend_data.includes('tokens 1 0 r'));
  assert.equal((await cmi(page)).status, 'incomplete');
  await (await at('predict-next')).click();
  await type('predict-answer', '320 KiB');
  // The right number could come of a wrong idea, so another model is asked about.
  await type('follow-up-answer', '128 KiB');
  await (await at('predict-next')).click();
  await page.waitForFunction(() => API.cmi.core.lesson_status === 'passed');
  assert.equal((await cmi(page)).raw, '100');

  await page.reload();
  frame = await inner(page);
  for (const wrong of ['5', '5 B']) {
    await type('predict-answer', wrong);
    for (let hint = 0; hint < 4; hint += 1) await (await at('predict-hint')).click();
    await (await at('predict-next')).click();
  }
  await (await at('predict-summary')).evaluate((summary) => summary.textContent);
  await page.waitForFunction(() => API.cmi.suspend_data.includes('bytes_per_token 1 3'));
  const after = await cmi(page);
  assert.deepEqual([after.status, after.raw, after.errors], ['passed', '100', []]);
  assert(after.suspended.length <= 4096);
}

const TYPES = { '.html': 'text/html; charset=utf-8', '.js': 'text/javascript', '.mjs': 'text/javascript', '.css': 'text/css', '.wasm': 'application/wasm', '.svg': 'image/svg+xml', '.json': 'application/json' };

function serve() {
  const server = createServer(({ url }, response) => {
    let file = normalize(join(site, decodeURIComponent(new URL(url, 'http://localhost').pathname)));
    if (existsSync(file) && statSync(file).isDirectory()) file = join(file, 'index.html');
    if (!file.startsWith(site) || !existsSync(file)) {
      // Browsers ask for this by themselves.
      response.writeHead(url === '/favicon.ico' ? 204 : 404).end();
      return;
    }
    response.writeHead(200, { 'content-type': TYPES[extname(file)] ?? 'application/octet-stream' }).end(readFileSync(file));
  });
  return new Promise((done) => server.listen(0, '127.0.0.1', () => done(server)));
}

install();
assert(existsSync(join(dist, 'index.html')), 'there is no dist/: run cargo xtask dist first');
rmSync(site, { recursive: true, force: true });
mkdirSync(site, { recursive: true });
const names = Object.keys(PLATFORMS).filter((name) => name.includes(word));
assert(0 < names.length, `no platform's name contains ${word}`);

const puppeteer = createRequire(join(work, 'package.json'))('puppeteer-core');
const executablePath = process.env.CHROMIUM ?? execFileSync('sh', ['-c', 'command -v chromium chromium-browser google-chrome | head -n 1']).toString().trim();
const args = ['--no-sandbox', '--disable-gpu', '--disable-background-networking', '--disable-component-update', '--disable-sync', '--no-first-run'];
const browser = await puppeteer.launch({ executablePath, args });
const server = await serve();
const base = `http://127.0.0.1:${server.address().port}/`;
let failed = 0;
for (const name of names) {
  const start = Date.now();
  const trouble = [];
  let page;
  const open = async (path, { blocksOthers = false } = {}) => {
    page = await browser.newPage();
    await page.setViewport({ width: 1100, height: 900 });
    page.on('console', (message) => { if (message.type() === 'error' && !blocksOthers) trouble.push(message.text()); });
    page.on('pageerror', (error) => trouble.push(error.message));
    await page.setRequestInterception(true);
    page.on('request', (request) => {
      const url = request.url();
      const isOurs = url.startsWith(base) || /^(data|blob|about):/.test(url);
      if (!isOurs && !blocksOthers) trouble.push(`asked for ${url}`);
      if (isOurs) request.continue();
      else request.abort();
    });
    await page.goto(base + path);
    return page;
  };
  try {
    const check = await PLATFORMS[name]();
    await check(open);
    assert.deepEqual(trouble, []);
    console.log(`ok     ${name} (${((Date.now() - start) / 1000).toFixed(1)} s)`);
  } catch (error) {
    failed += 1;
    console.log(`FAILED ${name}: ${error.stack}\n${trouble.join('\n')}`);
  }
  await page?.screenshot({ path: join(work, `${name}.png`) });
  await page?.close();
}
await browser.close();
server.close();
console.log(`${names.length - failed} passed, ${failed} failed`);
process.exit(failed === 0 ? 0 : 1);
