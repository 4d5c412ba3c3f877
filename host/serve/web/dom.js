// dom.js - elements, and texts in them. All that tools, plugins, callers and models say comes through here as text: it is
// never read as HTML, and nothing in it is a link. What is invisible in it, or turns the direction of reading, is shown.

const hidden = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u00ad\u061c\u180e\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff]|[\u{e0000}-\u{e007f}]/gu;

export const visible = (text) => String(text).replace(hidden, (one) => `\\u{${one.codePointAt(0).toString(16)}}`);

function setProperty(element, key, value) {
    if (value === undefined || value === null || value === false) {
        return;
    }
    if (key === 'on') {
        for (const [event, listener] of Object.entries(value)) {
            element.addEventListener(event, listener);
        }
    } else if (key === 'dataset') {
        Object.assign(element.dataset, value);
    } else if (['value', 'checked', 'disabled', 'hidden', 'open', 'selected', 'indeterminate'].includes(key)) {
        element[key] = value;
    } else {
        element.setAttribute(key, value === true ? '' : value);
    }
}

const add = (element, children) => element.append(...children.flat(Infinity)
    .filter((child) => child !== null && child !== undefined && child !== false)
    .map((child) => child instanceof Node ? child : document.createTextNode(visible(child))));

/** An element with properties and children; what is no element is text. */
export function h(tag, properties = {}, ...children) {
    const element = document.createElement(tag);
    Object.entries(properties).forEach(([key, value]) => setProperty(element, key, value));
    add(element, children);
    return element;
}

export function svg(tag, properties = {}, ...children) {
    const element = document.createElementNS('http://www.w3.org/2000/svg', tag);
    Object.entries(properties).forEach(([key, value]) => setProperty(element, key, value));
    add(element, children);
    return element;
}

export function fill(element, ...children) {
    element.replaceChildren();
    add(element, children);
    return element;
}

let made = 0;
/** An id that no other element has. */
export const newId = () => `e${++made}`;

// ---------------------------------------------------------------- figures and words

export function duration(ns) {
    if (ns === null || ns === undefined) {
        return '–';
    }
    const [value, unit] = ns < 1e3 ? [ns, 'ns'] : ns < 1e6 ? [ns / 1e3, 'µs'] : ns < 1e9 ? [ns / 1e6, 'ms'] : [ns / 1e9, 's'];
    return `${value >= 100 || unit === 'ns' ? Math.round(value) : Number(value.toPrecision(value >= 10 ? 3 : 2))} ${unit}`;
}

const clock = new Intl.DateTimeFormat(undefined, {hour: '2-digit', minute: '2-digit', second: '2-digit', hourCycle: 'h23'});
const day = new Intl.DateTimeFormat(undefined, {month: 'short', day: 'numeric'});
const dayOfYear = new Intl.DateTimeFormat(undefined, {year: 'numeric', month: 'short', day: 'numeric'});

/** The day, as it is written where any may be meant: with its year if that is another than this one. */
export const dayOf = (at) => (at.getFullYear() === new Date().getFullYear() ? day : dayOfYear).format(at);

/** A time with its day before it, unless that is today. */
export const withDay = (at, time) => at.toDateString() === new Date().toDateString() ? time : `${dayOf(at)} ${time}`;

const wordsOf = (at) => withDay(at, clock.format(at));

/** A moment: its time, and its day if that is another. */
export function moment(ms) {
    const at = new Date(ms);
    return h('time', {datetime: at.toISOString(), title: at.toLocaleString()}, wordsOf(at));
}

// At midnight, and when a page that slept is seen again after it, what was today is another day.
let today = new Date().toDateString();
let midnight;
function lookAtDay() {
    const now = new Date();
    if (now.toDateString() !== today) {
        today = now.toDateString();
        document.querySelectorAll('time').forEach((element) => { element.textContent = wordsOf(new Date(element.dateTime)); });
        dispatchEvent(new Event('new-day'));
    }
    clearTimeout(midnight);
    midnight = setTimeout(lookAtDay, new Date(now.getFullYear(), now.getMonth(), now.getDate() + 1) - now);
}

/** From now on what is shown keeps its days. */
export function keepDays() {
    lookAtDay();
    document.addEventListener('visibilitychange', lookAtDay);
}

export function span(seconds) {
    const s = Math.max(0, Math.round(seconds));
    return s < 90 ? `${s} s` : s < 5400 ? `${Math.round(s / 60)} min` : s < 172800 ? `${Math.round(s / 3600)} h` : `${Math.round(s / 86400)} d`;
}

export const plural = (count, one, more = `${one}s`) => `${count} ${count === 1 ? one : more}`;

export const pretty = (value) => JSON.stringify(value, null, 2);

const indentMax = 40;

/** JSON in a text, with its lines; other text as it is. The text is laid out, not what JSON.parse() makes of it: that
 * drops digits of numbers, and all but the last of members of one name. */
export function prettyText(text) {
    try {
        JSON.parse(text);
    } catch {
        return text;
    }
    const tokens = text.match(/"(?:[^"\\]|\\.)*"|[{}[\]:,]|[^\s{}[\]:,"]+/g);
    const lines = [];
    let line = '';
    let depth = 0;
    const next = () => { lines.push(line); line = '  '.repeat(Math.min(depth, indentMax)); };
    tokens.forEach((token, i) => {
        const closes = /^[}\]]/.test(token);
        const isEmpty = closes && /^[{[]/.test(tokens[i - 1]);
        depth -= closes;
        if (closes && !isEmpty) {
            next();
        }
        line += token[0] === '"' && token.includes('\\') ? JSON.stringify(JSON.parse(token)) : token === ':' ? ': ' : token;
        depth += /^[{[]/.test(token);
        if (token === ',' || (/^[{[]/.test(token) && !/^[}\]]/.test(tokens[i + 1]))) {
            next();
        }
    });
    return [...lines, line].join('\n');
}

const tones = {loaded: 'good', listed: 'calm', kept: 'calm', shared: 'calm', disabled: 'calm', ok: 'good', safe: 'calm',
    confirm: 'warn', dangerous: 'bad', changed: 'warn', 'left-out': 'warn', needs: 'warn', stuck: 'bad', failed: 'bad', quarantined: 'bad', refused: 'bad'};

export const pill = (word, tone = tones[word] ?? 'calm') => h('span', {class: `pill ${tone}`}, word);

/** A box with text as it is: JSON, a backtrace. It can be scrolled by the keyboard. */
export const block = (text, label) => h('pre', {class: 'block', tabindex: '0', role: 'region', 'aria-label': label}, text);

const notesMax = 3; // more would cover the page of a phone

/** A few words for a short time, read out by screen readers. Of what stands elsewhere too (`brief`) two lines are shown. */
export function note(text, tone = 'calm', {brief = false} = {}) {
    const words = text.length > 400 ? `${text.slice(0, 400)}…` : text;
    const element = h('p', {class: `note ${tone}`}, h('span', {class: brief ? 'brief' : ''}, words));
    const notes = document.getElementById('notes');
    notes.append(element);
    while (notes.children.length > notesMax) {
        notes.firstElementChild.remove();
    }
    setTimeout(() => element.remove(), tone === 'bad' ? 12_000 : 5_000);
}

/** A button that does something at the server, is not pressed twice meanwhile, and says what failed. */
export function action(label, act, {kind = '', describe} = {}) {
    const button = h('button', {type: 'button', class: kind, 'aria-label': describe, on: {click: async () => {
        button.setAttribute('aria-disabled', 'true');
        try {
            await act();
        } catch (error) {
            note(error.message, 'bad');
        } finally {
            button.removeAttribute('aria-disabled');
        }
    }}}, label);
    button.addEventListener('click', (event) => button.getAttribute('aria-disabled') && event.stopImmediatePropagation(), {capture: true});
    return button;
}

/** Why there is nothing to see. */
export const empty = (...text) => h('p', {class: 'empty'}, ...text);
