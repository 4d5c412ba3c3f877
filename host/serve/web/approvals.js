// approvals.js - calls that wait for a person: what exactly would run, and the answers.
import {ask, part} from './api.js';
import {action, block, empty, fill, h, note, pill, plural, prettyText, span} from './dom.js';

export function showApprovals(root, told) {
    const list = h('div', {class: 'cards'});
    const count = h('p', {class: 'count', role: 'status'});
    const shown = new Map();
    fill(root, h('div', {class: 'head'}, h('h1', {}, 'Approvals'), count), list);

    async function answer(one, word, words) {
        try {
            await ask('POST', `/api/approvals/${part(one.id)}`, {answer: word});
            note(`${one.tool}: ${words}`);
        } catch (error) {
            note(error.message, 'bad');
        }
        await refresh();
    }

    function card(one) {
        const isPlan = one.plugin === 'plan' && /^plan( |$)/.test(one.tool); // its version is a hash of all that it does
        const version = isPlan ? one.version.slice(0, 12) : one.version;
        const what = `${one.tool} ${version}`;
        const button = (word, label, words, kind) => action(label, () => answer(one, word, words), {kind, describe: `${label}: ${what}`});
        const line = (term, value) => value && [h('dt', {}, term), h('dd', {}, value)];
        const age = h('span', {class: 'age'});
        const element = h('article', {class: 'card approval', 'aria-label': what},
            h('div', {class: 'card-head'}, h('h2', {}, isPlan ? one.tool : h('a', {href: `#/tools/${part(`${one.tool}@${one.version}`)}`}, one.tool), ' ', h('span', {class: 'version'}, version)), age),
            h('p', {}, one.reason ?? ''),
            h('dl', {class: 'pairs'}, line('Caller', one.caller), line('Channel', one.channel), line('Conversation', one.conversation), line('Plugin', `${one.plugin ?? ''}${one.origin ? ` (${one.origin})` : ''}`)),
            h('h3', {}, 'It would run with'), block(prettyText(one.arguments_text), `Arguments of ${what}`),
            h('div', {class: 'row'}, button('once', 'Allow once', 'allowed once', 'primary'),
                one.conversation && button('conversation', 'Allow in this conversation', 'allowed in its conversation'),
                button('always', 'Always allow', 'allowed from now on'), button('deny', 'Deny', 'denied', 'danger')));
        return {element, tick: () => {
            const now_s = Date.now() / 1000;
            age.textContent = `waits for ${span(now_s - one.since_s)}, ${span(one.expires_s - now_s)} left`;
        }};
    }

    function take(approvals) {
        told(approvals.length);
        count.textContent = approvals.length > 0 ? `${plural(approvals.length, 'call')} waiting` : '';
        const gone = new Set(shown.keys());
        for (const one of approvals) {
            gone.delete(one.id);
            if (!shown.has(one.id)) {
                shown.set(one.id, card(one));
                list.append(shown.get(one.id).element);
            }
            shown.get(one.id).tick();
        }
        for (const id of gone) {
            shown.get(id).element.remove();
            shown.delete(id);
        }
        none.hidden = approvals.length > 0;
    }
    const none = empty('No call waits for an answer.');
    none.hidden = true;
    root.append(none);

    async function refresh() {
        try {
            take((await ask('GET', '/api/approvals')).approvals);
        } catch (error) {
            if (error.status !== 0) {
                note(error.message, 'bad');
            }
        }
    }

    refresh();
    return {refresh, approvals: take};
}
