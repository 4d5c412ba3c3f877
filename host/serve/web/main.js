// main.js - which view is shown, who is logged in, and whether the server is there.
import {ask, follow, isLoggedIn, logIn, logOut} from './api.js';
import {fill, h, keepDays, newId, note} from './dom.js';
import {showTools} from './tools.js';
import {showTool} from './tool.js';
import {showApprovals} from './approvals.js';
import {showLog} from './log.js';
import {showPlugin, showPlugins} from './plugins.js';
import {showRun, showRuns} from './runs.js';
import {remember, showEvents} from './events.js';

const main = document.getElementById('main');
const tabs = document.querySelector('.tabs');
const leave = document.getElementById('leave');
const lost = document.getElementById('lost');
const link = document.getElementById('link');
const waiting = document.getElementById('waiting');

let view;      // what is shown: {refresh, told, leave}
let stream;    // of the host's events
let approvals; // the timer that asks for them

// ---------------------------------------------------------------- views

const views = {tools: (root, name) => name ? showTool(root, name) : showTools(root), approvals: (root) => showApprovals(root, countApprovals),
    runs: (root, id) => id ? showRun(root, id) : showRuns(root), log: showLog, plugins: (root, name) => name ? showPlugin(root, name) : showPlugins(root), events: showEvents};

function show() {
    const [, kind = 'tools', name] = /^#\/(\w+)(?:\/(.+))?$/.exec(location.hash) ?? [];
    const known = kind in views ? kind : 'tools';
    view?.leave?.();
    for (const tab of tabs.querySelectorAll('a')) {
        tab.toggleAttribute('aria-current', tab.hash === `#/${known}`);
        if (tab.hash === `#/${known}`) {
            tab.setAttribute('aria-current', 'page');
        }
    }
    fill(main);
    document.title = `${name ? decodeURIComponent(name) : known} · toolrack`;
    view = views[known](main, name && decodeURIComponent(name));
    scrollTo(0, 0);
}

addEventListener('hashchange', () => {
    if (isLoggedIn()) {
        show();
        main.focus({preventScroll: true});
    }
});

// ---------------------------------------------------------------- what happens

// What came in one moment is one refresh.
let due;
function refreshSoon() {
    due ??= setTimeout(() => { due = undefined; view?.refresh?.(); }, 150);
}

function told(event) {
    remember(event);
    if (event.kind === 'crashed' || event.kind === 'quarantined') {
        note(event.message ?? `${event.plugin} ${event.kind}`, 'bad', {brief: true});
    }
    view?.told?.(event);
    refreshSoon();
    askApprovals();
}

function linkState(state, more) {
    link.dataset.state = state;
    link.textContent = state === 'open' ? 'live' : state === 'lost' ? 'lost' : '';
    lost.hidden = state !== 'lost';
    if (state === 'lost') {
        lost.textContent = `The connection to the server was lost; what is shown may be old. The next attempt is in ${more / 1000} s.`;
    } else if (state === 'open' && more) {
        refreshSoon();
        askApprovals();
    }
}

const countApprovals = (count) => {
    waiting.hidden = count === 0;
    waiting.textContent = count;
    waiting.setAttribute('aria-label', `${count} waiting`);
};

// Nothing tells that a call waits for an answer: so the page asks, while it is seen.
async function askApprovals() {
    clearTimeout(approvals);
    if (!isLoggedIn()) {
        return;
    }
    if (!document.hidden) {
        try {
            const {approvals: list} = await ask('GET', '/api/approvals');
            countApprovals(list.length);
            view?.approvals?.(list);
        } catch { /* the stream tells that the connection was lost */ }
    }
    clearTimeout(approvals);
    approvals = setTimeout(askApprovals, 3_000);
}

// ---------------------------------------------------------------- logging in and out

function begin() {
    tabs.hidden = leave.hidden = false;
    show();
    stream?.stop();
    stream = follow('/api/events', {told, state: linkState});
    askApprovals();
}

function end(why) {
    stream?.stop();
    stream = undefined;
    clearTimeout(approvals);
    view?.leave?.();
    view = undefined;
    tabs.hidden = leave.hidden = lost.hidden = true;
    link.textContent = '';
    document.title = 'Log in · toolrack';
    const id = newId();
    const token = h('input', {id, type: 'password', autocomplete: 'current-password', required: true, spellcheck: 'false', 'aria-describedby': `${id}-help`});
    const failed = h('p', {class: 'wrong', role: 'alert'});
    const button = h('button', {type: 'submit', class: 'primary'}, 'Log in');
    fill(main, h('form', {class: 'login', on: {submit: async (event) => {
        event.preventDefault();
        button.disabled = true;
        failed.textContent = '';
        try {
            await logIn(token.value.trim());
            begin();
        } catch (error) {
            failed.textContent = `Not logged in: ${error.message}.`;
            token.select();
        }
        button.disabled = false;
    }}}, h('h1', {}, 'Log in'), why && h('p', {class: 'why'}, why),
    h('label', {for: id}, 'Token of an administrator'), token,
    h('p', {class: 'help', id: `${id}-help`}, 'Make one on the machine of the server: ', h('code', {}, 'toolrack token add NAME --admin')),
    failed, button));
    token.focus();
}

leave.addEventListener('click', logOut);
addEventListener('logged-out', () => end(tabs.hidden ? undefined : 'The session has ended.'));
addEventListener('storage', ({key}) => { // another tab has logged in or out
    if (key === 'toolrack.csrf') {
        isLoggedIn() ? begin() : end();
    }
});

// ---------------------------------------------------------------- light and dark

const themes = [['', '◐', 'as the system'], ['light', '○', 'light'], ['dark', '●', 'dark']];
const themeButton = document.getElementById('theme');

function setTheme(name) {
    const [, sign, words] = themes.find(([one]) => one === name) ?? themes[0];
    document.documentElement.dataset.theme = name;
    themeButton.textContent = sign;
    themeButton.setAttribute('aria-label', `Theme: ${words}`);
    themeButton.title = `Theme: ${words}`;
}

themeButton.addEventListener('click', () => {
    const at = themes.findIndex(([one]) => one === (localStorage.getItem('toolrack.theme') ?? ''));
    const [next] = themes[(at + 1) % themes.length];
    localStorage.setItem('toolrack.theme', next);
    setTheme(next);
});
setTheme(localStorage.getItem('toolrack.theme') ?? '');
keepDays();

isLoggedIn() ? begin() : end();
