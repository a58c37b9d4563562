// The page in a frame: what it tells the page around it, and what it takes from it. docs/embedding.md has the messages.
//
// Heights are told to whoever frames us, for they are no secret. What the reader does is told only to a page that asked,
// at the origin that it asked from. Only checked messages of the page around us change anything.

const VERSION = 1;
// The largest change that is taken, in characters and entries; a link may be as long.
const MAX_SIZE = 1 << 20;
// Milliseconds between two changes by messages. Those that come faster are taken together, the newest value of each field.
const REST = 50;

const isObject = (value) => typeof value === 'object' && value !== null && !Array.isArray(value);

// What is left of `room` after `value`. It stops when nothing is left, however large the value is.
function roomAfter(value, room) {
    if (typeof value === 'string') return room - value.length;
    if (typeof value !== 'object' || value === null) return room - 1;
    for (const key in value) {
        room = roomAfter(value[key], room - key.length - 1);
        if (room < 0) break;
    }
    return room - 1;
}

function fits(value) {
    try {
        return 0 <= roomAfter(value, MAX_SIZE);
    } catch {
        // Nested deeper than the stack, or without end.
        return false;
    }
}

// Fulfilled when any of the frame comes into view, or is to be printed.
function seen(element) {
    return new Promise((done) => {
        // What has no area is not seen everywhere.
        element.style.minHeight = '100vh';
        const observer = new IntersectionObserver(
            (entries) => {
                if (!entries.some((entry) => entry.isIntersecting)) return;
                observer.disconnect();
                done();
            },
            { rootMargin: '50%' },
        );
        observer.observe(element);
        addEventListener('beforeprint', done);
    });
}

// `mount` of the package, for a page that may be in a frame; it starts when it is seen or asked for something.
export default async function mountInFrame(mount, element, options) {
    let page;
    let wake;
    const woken = new Promise((done) => (wake = done));
    let height = 0;
    let resizer;
    let usesH5p = false;
    let listener;
    let asked = [];
    let waiting;
    let isResting = false;

    const say = (message, target = '*') => parent.postMessage(message, target);
    const tell = (type, rest, target) => say({ type: `kvscope:${type}`, version: VERSION, ...rest }, target);
    const tellState = (target, id) => tell('change', { id, link: page.link, ...page.figures }, target);
    // Its older scripts read `height`.
    const tellH5p = (action) => say({ context: 'h5p', action, height, scrollHeight: height, clientHeight: innerHeight });

    // In the dialects that there are; two of them only after the page around us has spoken them.
    function tellHeight() {
        const box = document.body.getBoundingClientRect();
        const now = Math.ceil(box.height);
        if (now === height || now === 0) return;
        height = now;
        tell('height', { height });
        say(JSON.stringify({ src: location.href, context: 'iframe.resize', height }));
        say(JSON.stringify({ subject: 'lti.frameResize', height }));
        say({ sentinel: 'amp', type: 'embed-size', height });
        say({ type: 'plugin.resize', payload: { height } });
        if (resizer !== undefined) say(`[iFrameSizer]${resizer}:${height}:${Math.ceil(box.width)}:init`);
        if (usesH5p) tellH5p('prepareResize');
    }

    function tellHeightAgain() {
        height = 0;
        if (page) tellHeight();
    }

    function change() {
        if (!page || !waiting || isResting) return;
        const { link, scenario, own } = waiting;
        waiting = undefined;
        isResting = true;
        setTimeout(() => {
            isResting = false;
            change();
        }, REST);
        if (link !== undefined) page.update(link);
        page.set(scenario, own);
    }

    function take({ link, scenario, options: own }) {
        const isWhole = typeof link === 'string';
        const before = (!isWhole && waiting) || { scenario: {}, own: {} };
        const next = {
            link: isWhole ? link : before.link,
            scenario: { ...before.scenario, ...(isObject(scenario) ? scenario : {}) },
            own: { ...before.own, ...(isObject(own) ? own : {}) },
        };
        if (!fits(next)) return;
        waiting = next;
        wake();
        change();
    }

    addEventListener('message', ({ data, origin, source }) => {
        if (source !== parent) return;
        if (typeof data === 'string') {
            // iframe-resizer puts our name before its settings.
            const name = /^\[iFrameSizer\]([^:]{1,100}):[^:]*:/.exec(data.slice(0, 200))?.[1];
            if (name !== undefined && name !== resizer) {
                resizer = name;
                tellHeightAgain();
            }
            return;
        }
        if (!isObject(data)) return;
        if (data.context === 'h5p') {
            if (data.action === 'hello') usesH5p = true;
            if (data.action === 'hello' || data.action === 'resize') tellHeightAgain();
            if (data.action === 'resizePrepared') tellH5p('resize');
            return;
        }
        // A page without an origin of its own, such as a file, cannot be named.
        const target = origin === 'null' ? '*' : origin;
        if (data.type === 'kvscope:hello') {
            listener = target;
            if (page) tellState(target);
        } else if (data.type === 'kvscope:get') {
            const id = ['string', 'number'].includes(typeof data.id) ? String(data.id).slice(0, 100) : undefined;
            if (page) tellState(target, id);
            else if (asked.length < 100) asked.push([target, id]);
            wake();
        } else if (data.type === 'kvscope:set') take(data);
    });
    tell('ready');
    say('[iFrameResizerChild]Ready');
    say({ context: 'h5p', action: 'hello' });

    await Promise.race([seen(element), woken]);
    element.style.minHeight = '';
    const mounted = mount(element, {
        ...options,
        on_change: () => {
            if (page && listener !== undefined) tellState(listener);
        },
    });
    await mounted.ready;
    page = mounted;
    // What the page tells of answers comes as an event, so that it need not know of frames.
    addEventListener('kvscope:result', ({ detail }) => {
        if (listener !== undefined) tell('result', { result: detail }, listener);
    });
    new ResizeObserver(tellHeight).observe(document.body);
    if (listener !== undefined) tellState(listener);
    for (const [target, id] of asked) tellState(target, id);
    asked = [];
    change();
}
