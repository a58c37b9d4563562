// <kv-scope thinking="8000" show="sentence,hbm" controls="thinking">: KVscope in a course page, as an element.
//
// It makes a frame of the page that lies beside this script, keeps room for it, gives it the height that it asks for, and
// hands changes to and fro. docs/embedding.md has the attributes, events and messages.
(() => {
  const script = document.currentScript ?? document.querySelector('script[src*="embed.js"]');
  const home = new URL('.', script?.src || location.href);

  // Attributes are called as the scenario's fields, with _ or -.
  const FIELDS =
    'model weight_format kv_cache_dtype state_dtype prompt_tokens thinking_tokens answer_tokens num_samples num_seqs shared_prefix_tokens gpu tensor_parallel_size pipeline_parallel_size data_parallel_size gpu_memory_utilization activation_bytes overhead_bytes num_speculative_tokens draft_layers engine available_kv_cache_bytes num_blocks num_tokens block_size max_model_len max_num_batched_tokens async_scheduling decode_context_parallel_size mamba_cache_mode hybrid_kv_cache_manager mem_fraction_static page_size swa_full_tokens_ratio dp_attention max_mamba_cache_size tokens_per_block free_gpu_memory_fraction n_ctx n_seq_max kv_unified n_ubatch flash_attn swa_full mla mla_attn variant version';
  const OPTIONS = ['embed', 'controls', 'lock', 'theme', 'lang', 'predict', 'predict_level', 'predict_seed'];
  const KEYS = { show: 'embed', prompt: 'prompt_tokens', thinking: 'thinking_tokens', answer: 'answer_tokens' };
  for (const field of [...OPTIONS, ...FIELDS.split(' ')]) KEYS[field] = KEYS[field.replaceAll('_', '-')] = field;

  const SHOW = 'sentence,tokens';
  // Pixels of the parts in a column of 700; what they take elsewhere they say when they are there.
  const HEIGHTS = {
    sentence: 180, facts: 112, tokens: 202, hbm: 360, growth: 392, sweep: 477, layers: 336, working: 242, predict: 346,
    concept: 671, fit: 137, speed: 1083, turns: 623, serve: 1508,
  };
  const CONTROL = 40;
  const MAX_HEIGHT = 20_000;

  const sheet = new CSSStyleSheet();
  sheet.replaceSync(':host { display: block } :host([hidden]) { display: none } iframe { display: block; width: 100%; border: 0 }');

  const items = (text) => (text ?? '').split(',').filter((item) => item.trim() !== '');
  const pair = (key, value) => `${key}=${encodeURIComponent(value)}`;
  const isOption = (key) => OPTIONS.includes(key);
  // A setting of a section, such as serve.clients, has a dot and is called so.
  const keyOf = (name) => KEYS[name] ?? (name.includes('.') ? name : undefined);

  class KvScope extends HTMLElement {
    static observedAttributes = [...Object.keys(KEYS), 'link', 'src', 'height', 'title'];

    #frame;
    #origin;
    #value = null;
    // What a program set while there was no page to tell.
    #set;

    // The state: { link, tokens, kv_cache, fit } once the page is there. Takes a scenario's fields, or a whole link.
    get value() {
      return this.#value;
    }

    set value(value) {
      const change = typeof value === 'string' ? { link: value } : { scenario: value };
      if (this.#value) this.#post('set', change);
      else this.#set = change;
    }

    connectedCallback() {
      const root = this.shadowRoot ?? this.attachShadow({ mode: 'open' });
      root.adoptedStyleSheets = [sheet];
      this.#frame = document.createElement('iframe');
      Object.assign(this.#frame, { loading: 'lazy', allow: 'clipboard-write; fullscreen' });
      // The element moves with what the reader made of it: a frame that moves loads anew.
      this.#load(this.#value?.link);
      root.replaceChildren(this.#frame);
      addEventListener('message', this);
    }

    disconnectedCallback() {
      removeEventListener('message', this);
      this.#frame = undefined;
    }

    attributeChangedCallback(name, before, now) {
      if (!this.#frame || before === now) return;
      const key = KEYS[name];
      if (name === 'height' || name === 'title') this.#dress();
      else if (key === undefined || now === null || !this.#value) this.#load();
      else this.#post('set', { [isOption(key) ? 'options' : 'scenario']: { [key]: now } });
    }

    handleEvent({ data, origin, source }) {
      if (!this.#frame || source !== this.#frame.contentWindow || origin !== this.#origin) return;
      if (typeof data !== 'object' || data === null) return;
      const { type, version, id, ...rest } = data;
      if (type === 'kvscope:ready') this.#post('hello');
      else if (type === 'kvscope:height') this.#grow(rest.height);
      else if (type === 'kvscope:change') {
        this.#value = rest;
        if (this.#set) this.#post('set', this.#set);
        this.#set = undefined;
        this.dispatchEvent(new CustomEvent('change', { bubbles: true, detail: rest }));
      } else if (type === 'kvscope:result') {
        this.dispatchEvent(new CustomEvent('result', { bubbles: true, detail: rest.result }));
      }
    }

    #post(type, rest) {
      // An origin of null has no name to send to.
      const target = this.#origin === 'null' ? '*' : this.#origin;
      this.#frame?.contentWindow?.postMessage({ type: `kvscope:${type}`, version: 1, ...rest }, target);
    }

    // The page with what the attributes say, or with this link.
    #load(link) {
      const given = [...this.attributes].filter(({ name }) => keyOf(name));
      const pairs = (wanted) => given.filter(({ name }) => isOption(keyOf(name)) === wanted).map(({ name, value }) => pair(keyOf(name), value));
      // An attribute takes the place of what the link says about it.
      const isLeft = (text) => !given.some(({ name }) => text.startsWith(`${keyOf(name)}=`));
      const base = (this.getAttribute('link') ?? 'v=1').split('&').filter(isLeft);
      const scenario = link ?? [...base, ...pairs(false)].join('&');
      const own = this.hasAttribute('show') ? pairs(true) : [pair('embed', SHOW), ...pairs(true)];
      const page = new URL(this.getAttribute('src') ?? home, location.href);
      page.hash = [scenario, ...own].join('&');
      this.#origin = page.origin;
      this.#value = null;
      this.#dress();
      this.#frame.src = page.href;
    }

    #dress() {
      const parts = items(this.getAttribute('show') ?? SHOW);
      const rooms = parts.map((part) => HEIGHTS[part.trim()] ?? 0);
      const guess = rooms.reduce((sum, room) => sum + room, 16) + CONTROL * items(this.getAttribute('controls')).length;
      this.#frame.title = this.title || 'KVscope: the KV cache of a reasoning request';
      this.#frame.style.height = `${Number(this.getAttribute('height')) || guess}px`;
    }

    #grow(height) {
      const isFixed = this.hasAttribute('height');
      if (!isFixed && Number.isFinite(height) && 0 < height) this.#frame.style.height = `${Math.min(height, MAX_HEIGHT)}px`;
    }
  }

  if (!customElements.get('kv-scope')) customElements.define('kv-scope', KvScope);
})();
