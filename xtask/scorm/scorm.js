// Between KVscope, in the frame, and a course platform that speaks SCORM 1.2.
//
// It records the state (passed, completed or incomplete; never less than it was), the best score, and where the reader was.
(() => {
  // The standard keeps 4,096 characters of it; platforms cut or refuse more.
  const MAX_SUSPEND = 4096;
  const RANKS = ['not attempted', 'browsed', 'incomplete', 'failed', 'completed', 'passed'];
  const DEFAULT_MASTERY = 80;
  const frame = document.querySelector('iframe');
  const started = Date.now();

  // The platform's object is in a window around this one, or around the one that opened it. Foreign windows throw.
  function found(from) {
    for (let at = from, depth = 0; at && depth < 500; depth++) {
      try {
        if (at.API) return at.API;
      } catch {
        return undefined;
      }
      if (at.parent === at) return undefined;
      at = at.parent;
    }
    return undefined;
  }

  let api = found(window.parent) ?? found(window.opener);
  if (api?.LMSInitialize('') !== 'true') api = undefined;
  document.getElementById('unrecorded').hidden = api !== undefined;

  const get = (element) => String(api?.LMSGetValue(element) ?? '');
  const set = (element, value) => api?.LMSSetValue(element, String(value));

  function raise(status) {
    if (RANKS.indexOf(get('cmi.core.lesson_status')) < RANKS.indexOf(status)) set('cmi.core.lesson_status', status);
  }

  function saved() {
    try {
      return JSON.parse(get('cmi.suspend_data')) ?? {};
    } catch {
      return {};
    }
  }

  let state = saved();
  const given = get('cmi.launch_data').trim() || document.querySelector('meta[name="kvscope-link"]').content;
  const asks = /(^|,|=)predict(,|&|$)/.test(new URLSearchParams(given).get('embed') ?? 'predict');

  function save(next) {
    state = { ...state, ...next };
    const whole = JSON.stringify(state);
    // A link that holds a whole configuration does not fit; the answers always do.
    const text = whole.length <= MAX_SUSPEND ? whole : JSON.stringify({ text: state.text });
    if (text.length <= MAX_SUSPEND) set('cmi.suspend_data', text);
    api?.LMSCommit('');
  }

  function record({ is_done: isDone, summary, text }) {
    const score = Math.min(Math.max(Math.round(summary?.score), 0), 100);
    if (isDone && Number.isFinite(score)) {
      set('cmi.core.score.min', 0);
      set('cmi.core.score.max', 100);
      const before = get('cmi.core.score.raw');
      if (before === '' || Number(before) < score) set('cmi.core.score.raw', score);
      const mastery = Number(get('cmi.student_data.mastery_score') || DEFAULT_MASTERY);
      raise(mastery <= score ? 'passed' : 'completed');
    }
    save({ text: typeof text === 'string' ? text : undefined });
  }

  addEventListener('message', ({ data, source }) => {
    if (source !== frame.contentWindow || typeof data !== 'object' || data === null) return;
    if (data.type === 'kvscope:ready') source.postMessage({ type: 'kvscope:hello', version: 1 }, '*');
    if (data.type === 'kvscope:change' && typeof data.link === 'string') {
      // Without questions, to have seen it is to have done it.
      if (!asks) raise('completed');
      save({ link: data.link });
    }
    if (data.type === 'kvscope:result' && typeof data.result === 'object' && data.result !== null) record(data.result);
  });

  // HHHH:MM:SS.SS
  function sessionTime() {
    const seconds = Math.floor((Date.now() - started) / 1000);
    const two = (number) => String(Math.floor(number) % 60).padStart(2, '0');
    return `${String(Math.floor(seconds / 3600)).padStart(4, '0')}:${two(seconds / 60)}:${two(seconds)}.00`;
  }

  addEventListener('pagehide', () => {
    set('cmi.core.session_time', sessionTime());
    set('cmi.core.exit', 'suspend');
    api?.LMSCommit('');
    api?.LMSFinish('');
    api = undefined;
  });

  raise('incomplete');
  api?.LMSCommit('');
  frame.src = `kvscope.html#${state.link ?? given}`;
})();
