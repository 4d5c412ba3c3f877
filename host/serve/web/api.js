// api.js - requests to the server, by the session of this page.
//
// A browser keeps the cookie of the session, which no script can read. What is kept here is the second secret, without
// which the cookie is worth nothing; it is worth nothing without the cookie.

const key = 'toolrack.csrf';

export class Problem extends Error {
    constructor(status, problem) {
        super(problem?.detail ?? `the server answered ${status}`);
        this.status = status;
        this.problem = problem;
        this.error = problem?.error;
    }
}

export const isLoggedIn = () => localStorage.getItem(key) !== null;

function lose() {
    localStorage.removeItem(key);
    dispatchEvent(new Event('logged-out'));
}

async function send(method, path, {body, headers = {}, signal} = {}) {
    const csrf = localStorage.getItem(key);
    let response;
    try {
        response = await fetch(path, {method, signal, cache: 'no-cache', credentials: 'same-origin', redirect: 'error',
            headers: {...(csrf ? {'X-CSRF-Token': csrf} : {}),
                      ...(body !== undefined ? {'Content-Type': 'application/json'} : {}), ...headers},
            body});
    } catch (error) {
        if (error.name === 'AbortError') {
            throw error;
        }
        throw new Problem(0, {detail: 'the server cannot be reached'});
    }
    if (response.status === 401 && csrf !== null && csrf === localStorage.getItem(key)) {
        lose();
    }
    return response;
}

async function problemOf(response) {
    let problem;
    try {
        problem = await response.json();
    } catch { /* not from the server's routes */ }
    return new Problem(response.status, problem);
}

// An integer of which a number would lose digits stays as it was written, where the browser knows how it was.
const withDigits = (name, value, {source} = {}) =>
    JSON.rawJSON && typeof value === 'number' && !Number.isSafeInteger(value) && /^-?\d+$/.test(source)
        ? JSON.rawJSON(source) : value;

/** Send a request; what comes back as JSON. `body` is any value, or a text that is JSON already. With `digits` large integers
 * are no numbers: they keep their digits when they are shown as JSON. */
export async function ask(method, path, body, {signal, digits} = {}) {
    const text = body === undefined && method !== 'GET' && method !== 'DELETE' ? '{}'
        : body === undefined || typeof body === 'string' ? body : JSON.stringify(body);
    const response = await send(method, path, {body: text, signal});
    if (!response.ok) {
        throw await problemOf(response);
    }
    return digits ? JSON.parse(await response.text(), withDigits) : response.json();
}

export const part = encodeURIComponent;

/** A path with a query of what is set. */
export function withQuery(path, values) {
    const query = new URLSearchParams(Object.entries(values).filter(([, value]) => value !== undefined && value !== '' && value !== false));
    return query.size > 0 ? `${path}?${query}` : path;
}

export async function logIn(token) {
    const response = await send('POST', '/api/session', {body: '{}', headers: {Authorization: `Bearer ${token}`}});
    if (!response.ok) {
        throw await problemOf(response);
    }
    const session = await response.json();
    localStorage.setItem(key, session.csrf);
    return session;
}

export async function logOut() {
    try {
        await send('DELETE', '/api/session');
    } catch { /* it ends by itself */ }
    lose();
}

// ---------------------------------------------------------------- event streams

/** Each event of a response: its id and its data. */
async function* eventsOf(response) {
    const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
    let left = '';
    for (;;) {
        const {done, value} = await reader.read();
        if (done) {
            return;
        }
        left += value;
        for (let end; (end = left.indexOf('\n\n')) >= 0; left = left.slice(end + 2)) {
            const event = {};
            for (const line of left.slice(0, end).split('\n')) {
                const colon = line.indexOf(':');
                if (colon > 0) {
                    event[line.slice(0, colon)] = line.slice(colon + 1).replace(/^ /, '');
                }
            }
            if (event.id !== undefined || event.data) {
                yield {id: event.id, json: event.data ? JSON.parse(event.data) : undefined};
            }
        }
    }
}

/** A call of a tool: `progress` is told what it reports meanwhile. */
export async function call(path, body, {signal, progress}) {
    const response = await send('POST', path, {body, signal, headers: {Accept: 'text/event-stream'}});
    if (!response.ok) {
        throw await problemOf(response);
    }
    for await (const {json} of eventsOf(response)) {
        if (json && 'result' in json) {
            return json;
        } else if (json?.error && json.status) {
            throw new Problem(json.status, json);
        } else if (json) {
            progress(json);
        }
    }
    throw new Problem(0, {detail: 'the connection was lost before the result came'});
}

const waits_ms = [250, 500, 1000, 2000, 4000];

/** Follow a stream until `stop()`, over lost connections: it comes back with the id of the last event. Not while the page
 * is hidden, since a browser has few connections for all pages of one server.
 * @param told   of each event
 * @param state  of 'open' (with whether it was open before), 'lost' (with the wait until the next attempt), 'paused' */
export function follow(path, {told, state = () => {}}) {
    let last;
    let attempt = 0;
    let wasOpen = false;
    let stopped = false;
    let abort = new AbortController();
    let wake = () => {};

    const pause = (ms) => new Promise((resolve) => {
        const timer = setTimeout(resolve, ms);
        wake = () => { clearTimeout(timer); resolve(); };
    });
    const shown = () => new Promise((resolve) => { wake = resolve; });
    const change = () => document.hidden ? abort.abort() : wake();
    const hurry = () => wake();
    document.addEventListener('visibilitychange', change);
    addEventListener('online', hurry);

    async function once() {
        abort = new AbortController();
        const response = await send('GET', path, {signal: abort.signal,
            headers: {Accept: 'text/event-stream', ...(last !== undefined ? {'Last-Event-ID': last} : {})}});
        if (!response.ok) {
            throw await problemOf(response);
        }
        attempt = 0;
        state('open', wasOpen);
        wasOpen = true;
        for await (const event of eventsOf(response)) {
            last = event.id ?? last;
            if (event.json && !stopped) {
                told(event.json);
            }
        }
    }

    (async () => {
        while (!stopped) {
            if (document.hidden) {
                state('paused');
                await shown();
                continue;
            }
            try {
                await once();
            } catch (error) {
                if (error.status === 401 || error.status === 403) {
                    break;
                }
            }
            if (!stopped && !document.hidden) {
                const wait_ms = waits_ms[Math.min(attempt++, waits_ms.length - 1)];
                state('lost', wait_ms);
                await pause(wait_ms);
            }
        }
    })();

    return {stop: () => {
        stopped = true;
        document.removeEventListener('visibilitychange', change);
        removeEventListener('online', hurry);
        abort.abort();
        wake();
    }};
}
