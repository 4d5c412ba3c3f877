// form.js - a form made from a JSON Schema, with the same value as JSON beside it.
//
// Each field has `element`, `get()` (undefined: it is left out), `set(value)` and `find(path)`, the control of a place in
// the value. A keyword that forms do not know changes nothing: the server checks the arguments. What cannot be a form, such
// as a schema that says nothing, is JSON in a text field.
import {fill, h, newId, plural} from './dom.js';

const depthMax = 12;

/** The schema itself, without references; those that lead nowhere or in a circle say nothing. */
function resolve(schema, root) {
    let at = schema;
    for (let i = 0; i < depthMax && at && typeof at === 'object' && '$ref' in at; i++) {
        const {$ref, ...rest} = at;
        const target = $ref.startsWith('#/') && $ref.slice(2).split('/').map((part) => decodeURIComponent(part).replaceAll('~1', '/').replaceAll('~0', '~'))
            .reduce((value, part) => Object.hasOwn(Object(value), part) ? value[part] : undefined, root);
        at = {...(target && typeof target === 'object' ? target : {}), ...rest};
    }
    at = at && typeof at === 'object' ? at : {};
    return Array.isArray(at.allOf) ? at.allOf.reduce((all, one) => {
        const other = resolve(one, root);
        return {...all, ...other, properties: {...all.properties, ...other.properties}, required: [...(all.required ?? []), ...(other.required ?? [])]};
    }, {...at, allOf: undefined}) : at;
}

const typesOf = (schema) => Array.isArray(schema.type) ? schema.type : schema.type ? [schema.type]
    : 'enum' in schema || 'const' in schema ? [] : schema.properties ? ['object'] : schema.items ? ['array'] : [];

/** What a schema demands, in words. */
function rulesOf(schema) {
    const rules = [];
    const say = (key, words) => key in schema && rules.push(words(schema[key]));
    say('minimum', (n) => `at least ${n}`);
    say('exclusiveMinimum', (n) => `more than ${n}`);
    say('maximum', (n) => `at most ${n}`);
    say('exclusiveMaximum', (n) => `less than ${n}`);
    say('multipleOf', (n) => `a multiple of ${n}`);
    say('minLength', (n) => `at least ${plural(n, 'character')}`);
    say('maxLength', (n) => `at most ${plural(n, 'character')}`);
    say('pattern', (text) => `like ${text}`);
    say('format', (text) => text);
    say('minItems', (n) => `at least ${plural(n, 'item')}`);
    say('maxItems', (n) => `at most ${plural(n, 'item')}`);
    say('uniqueItems', (yes) => yes ? 'each once' : '');
    say('minProperties', (n) => `at least ${plural(n, 'member')}`);
    say('maxProperties', (n) => `at most ${plural(n, 'member')}`);
    say('default', (value) => `else ${JSON.stringify(value)}`);
    return rules.filter(Boolean).join(', ');
}

// ---------------------------------------------------------------- single values

/** A control with its label, description and rules. */
function labelled(label, schema, required, control, more = []) {
    const id = control.id || (control.id = newId());
    const words = [schema.description, rulesOf(schema)].filter(Boolean);
    const help = words.length > 0 && h('p', {class: 'help', id: `${id}-help`}, words.map((text, i) => h('span', {class: i === 0 && schema.description ? '' : 'rules'}, text)));
    if (help) {
        control.setAttribute('aria-describedby', `${id}-help`);
    }
    if (required) {
        control.setAttribute('aria-required', 'true');
    }
    return h('div', {class: 'field'}, h('label', {for: id}, label, required && !/^Item \d+$/.test(label) && h('span', {class: 'must', 'aria-hidden': 'true'}, ' *')), control, help, more);
}

const leaf = (element, control, get, set) => ({element, get, set, find: () => control});

function textField(label, schema, required) {
    const isLong = (schema.maxLength ?? 0) > 200 || (schema.maxLength === undefined && !schema.pattern && !schema.format);
    const control = isLong ? h('textarea', {rows: '1', spellcheck: 'false'})
        : h('input', {type: {date: 'date', time: 'text', email: 'email'}[schema.format] ?? 'text', spellcheck: 'false', autocomplete: 'off'});
    if (schema.default !== undefined) {
        control.placeholder = String(schema.default);
    }
    return leaf(labelled(label, schema, required, control), control,
        () => control.value !== '' || required ? control.value : undefined,
        (value) => { control.value = typeof value === 'string' ? value : ''; });
}

function numberField(label, schema, required, isInteger) {
    const control = h('input', {type: 'number', step: isInteger ? schema.multipleOf ?? 1 : 'any', min: schema.minimum, max: schema.maximum, autocomplete: 'off'});
    if (schema.default !== undefined) {
        control.placeholder = String(schema.default);
    }
    return leaf(labelled(label, schema, required, control), control,
        () => control.value === '' ? undefined : Number(control.value),
        (value) => { control.value = typeof value === 'number' ? value : ''; });
}

function choiceField(label, schema, required, values) {
    const control = h('select', {}, [!required && h('option', {value: ''}, schema.default !== undefined ? `(${JSON.stringify(schema.default)})` : '(left out)'),
        values.map((value, i) => h('option', {value: String(i)}, typeof value === 'string' ? value : JSON.stringify(value)))]);
    return leaf(labelled(label, schema, required, control), control,
        () => control.value === '' ? undefined : values[Number(control.value)],
        (value) => {
            const at = values.findIndex((one) => JSON.stringify(one) === JSON.stringify(value));
            control.value = at >= 0 ? String(at) : required ? '0' : '';
        });
}

function jsonField(label, schema, required) {
    const control = h('textarea', {rows: '2', class: 'code', spellcheck: 'false', placeholder: 'JSON'});
    return leaf(labelled(label, schema, required, control), control,
        () => {
            try {
                return control.value.trim() === '' ? undefined : JSON.parse(control.value);
            } catch {
                return undefined;
            }
        },
        (value) => { control.value = value === undefined ? '' : JSON.stringify(value); });
}

// ---------------------------------------------------------------- composed values

const group = (label, schema, required, ...inside) => h('fieldset', {class: 'group'},
    h('legend', {}, label, required && h('span', {class: 'must', 'aria-hidden': 'true'}, ' *')),
    schema.description && h('p', {class: 'help'}, schema.description), ...inside);

function members(schema, root, depth, changed) {
    const required = schema.required ?? [];
    return Object.entries(schema.properties ?? {}).map(([name, one]) => [name, field(name, one, root, required.includes(name), depth + 1, changed)]);
}

function objectField(label, schema, root, required, depth, changed) {
    const fields = members(schema, root, depth, changed);
    const known = new Set(fields.map(([name]) => name));
    const isOpen = schema.additionalProperties !== false && (fields.length === 0 || typeof schema.additionalProperties === 'object');
    const more = isOpen ? jsonField('More members', {description: 'An object of JSON'}, false) : undefined;
    return {
        element: group(label, schema, required, fields.map(([, one]) => one.element), more?.element),
        get: () => {
            const entries = fields.map(([name, one]) => [name, one.get()]).filter(([, value]) => value !== undefined);
            const others = Object.entries(Object(more?.get()));
            return entries.length > 0 || others.length > 0 || required ? Object.fromEntries([...others, ...entries]) : undefined;
        },
        set: (value) => {
            const members = value && typeof value === 'object' ? value : {};
            fields.forEach(([name, one]) => one.set(Object.hasOwn(members, name) ? members[name] : undefined));
            const others = Object.entries(members).filter(([name]) => !known.has(name));
            more?.set(others.length > 0 ? Object.fromEntries(others) : undefined);
        },
        find: ([name, ...rest]) => fields.find(([one]) => one === name)?.[1].find(rest),
    };
}

function arrayField(label, schema, root, required, depth, changed) {
    const list = h('ol', {class: 'items'});
    let items = [];
    const schemaOf = (index) => schema.prefixItems?.[index] ?? schema.items ?? {};
    function append(value) {
        const one = field(`Item ${items.length + 1}`, schemaOf(items.length), root, true, depth + 1, changed);
        const row = h('li', {}, one.element, h('button', {type: 'button', class: 'quiet', 'aria-label': `Remove this item of ${label}`, on: {click: () => {
            items = items.filter((other) => other !== one);
            row.remove();
            add.focus();
            changed();
        }}}, '✕'));
        one.set(value);
        items.push(one);
        list.append(row);
        return one;
    }
    const add = h('button', {type: 'button', class: 'quiet', on: {click: () => {
        append(undefined).find([])?.focus?.();
        changed();
    }}}, `+ Item of ${label}`);
    return {
        element: group(label, schema, required, list, h('p', {class: 'help'}, h('span', {class: 'rules'}, rulesOf(schema))), add),
        get: () => items.length > 0 || required ? items.map((one) => one.get() ?? null) : undefined,
        set: (value) => {
            items = [];
            fill(list);
            (Array.isArray(value) ? value : []).forEach(append);
        },
        find: ([index, ...rest]) => index === undefined ? list.querySelector('input, select, textarea') : items[index]?.find(rest),
    };
}

/** One of several schemas: of alternatives, or of types. */
function variantField(label, schema, root, required, depth, changed, variants) {
    const inside = h('div', {class: 'variant'});
    let one;
    const choice = h('select', {on: {change: () => { choose(choice.value); changed(); }}},
        [!required && h('option', {value: ''}, '(left out)'), variants.map((variant, i) => h('option', {value: String(i)},
            variant.title ?? (typesOf(variant).join(' or ') || ('const' in variant ? JSON.stringify(variant.const) : `Variant ${i + 1}`))))]);
    function choose(index) {
        choice.value = index;
        one = index === '' ? undefined : field('Value', variants[Number(index)], root, true, depth + 1, changed);
        fill(inside, one?.element);
    }
    choose(required ? '0' : '');
    return {
        element: h('div', {class: 'variants'}, labelled(label, schema, required, choice), inside),
        get: () => one?.get(),
        set: (value) => {
            if (value === undefined) {
                choose(required ? '0' : '');
                return;
            }
            const at = variants.findIndex((variant) => mayBe(variant, value));
            choose(String(at < 0 ? 0 : at));
            one.set(value);
        },
        find: (path) => one?.find(path) ?? choice,
    };
}

const typeOf = (value) => value === null ? 'null' : Array.isArray(value) ? 'array' : Number.isInteger(value) ? 'integer' : typeof value;

function mayBe(schema, value) {
    const types = typesOf(schema);
    const type = typeOf(value);
    return 'const' in schema ? JSON.stringify(schema.const) === JSON.stringify(value)
        : Array.isArray(schema.enum) ? schema.enum.some((one) => JSON.stringify(one) === JSON.stringify(value))
            : (types.length === 0 || types.includes(type) || (type === 'integer' && types.includes('number'))) &&
              (type !== 'object' || (schema.required ?? []).every((name) => name in value));
}

function field(label, given, root, required, depth, changed) {
    const schema = resolve(given, root);
    const types = typesOf(schema);
    const alternatives = schema.oneOf ?? schema.anyOf;
    if (depth > depthMax) {
        return jsonField(label, schema, required);
    }
    if (Array.isArray(schema.enum)) {
        return choiceField(label, schema, required, schema.enum);
    }
    if ('const' in schema) {
        return choiceField(label, schema, required, [schema.const]);
    }
    if (Array.isArray(alternatives) && alternatives.length > 0) {
        return variantField(label, schema, root, required, depth, changed, alternatives.map((one) => {
            const {oneOf, anyOf, title, description, ...common} = schema;
            return {...common, ...resolve(one, root)};
        }));
    }
    const {type, ...rest} = schema;
    if (types.length === 2 && types.includes('null') && !required) {
        return field(label, {...rest, type: types.find((one) => one !== 'null')}, root, required, depth, changed);
    }
    if (types.length > 1) {
        return variantField(label, schema, root, required, depth, changed, types.map((one) => one === 'null' ? {type: 'null', const: null} : {...rest, type: one, description: undefined}));
    }
    switch (types[0]) {
    case 'string': return textField(label, schema, required);
    case 'number': return numberField(label, schema, required, false);
    case 'integer': return numberField(label, schema, required, true);
    case 'boolean': return choiceField(label, schema, required, [true, false]);
    case 'null': return choiceField(label, schema, required, [null]);
    case 'object': return objectField(label, schema, root, required, depth, changed);
    case 'array': return arrayField(label, schema, root, required, depth, changed);
    default: return jsonField(label, schema, required);
    }
}

/** The form of the arguments of a tool, and their JSON. `text()` is the JSON as it is; `mark(pointer)` shows where the
 * server found something wrong. */
export function argumentsForm(schema) {
    const root = schema && typeof schema === 'object' ? schema : {};
    const json = h('textarea', {class: 'code', spellcheck: 'false', 'aria-label': 'Arguments as JSON', rows: '8', on: {input: takeJson}});
    const wrong = h('p', {class: 'wrong', role: 'alert'});
    const form = h('div', {class: 'form', on: {input: takeForm}});
    const top = resolve(root, root);
    const isForm = typesOf(top)[0] === 'object' || Object.keys(top).length === 0;
    const fields = isForm && !top.oneOf && !top.anyOf ? members(top, root, 0, takeForm) : undefined;
    const whole = fields ? undefined : field('Arguments', top, root, true, 0, takeForm);
    const isOpen = top.additionalProperties !== false && fields && (fields.length === 0 || typeof top.additionalProperties === 'object') && Object.keys(top).length > 2;
    const none = fields?.length === 0 && h('p', {class: 'help'}, isOpen ? 'Any members: write them as JSON.' : 'It takes no arguments.');
    fill(form, fields ? fields.map(([, one]) => one.element) : whole.element, none);

    let others = {}; // members of the JSON that the form has not
    const get = () => fields ? {...others, ...Object.fromEntries(fields.map(([name, one]) => [name, one.get()]).filter(([, value]) => value !== undefined))} : whole.get();
    const clear = () => {
        wrong.textContent = '';
        form.querySelectorAll('[aria-invalid]').forEach((element) => element.removeAttribute('aria-invalid'));
    };

    function takeForm() {
        json.value = JSON.stringify(get() ?? {}, null, 2);
        clear();
    }
    function setForm(value) {
        if (fields) {
            const known = Object(value);
            others = Object.fromEntries(Object.entries(known).filter(([name]) => !fields.some(([one]) => one === name)));
            fields.forEach(([name, one]) => one.set(Object.hasOwn(known, name) ? known[name] : undefined));
        } else {
            whole.set(value);
        }
    }
    function takeJson() {
        clear();
        try {
            setForm(JSON.parse(json.value));
        } catch (error) {
            wrong.textContent = `This is no JSON: ${error.message}`;
        }
    }
    setForm({});
    takeForm();

    return {
        element: h('div', {class: 'arguments'}, form, h('div', {class: 'raw'}, h('p', {class: 'caption', 'aria-hidden': 'true'}, 'JSON'), json, wrong)),
        text: () => json.value.trim() || '{}',
        set: (value) => {
            setForm(value);
            json.value = JSON.stringify(value, null, 2);
            clear();
        },
        mark: (pointer, message) => {
            wrong.textContent = message;
            const path = pointer.split('/').slice(1).map((one) => one.replaceAll('~1', '/').replaceAll('~0', '~'));
            const control = fields ? fields.find(([name]) => name === path[0])?.[1].find(path.slice(1)) : whole.find(path);
            control?.setAttribute?.('aria-invalid', 'true');
        },
    };
}
