// bergamot for student_speed.py: node student_speed.mjs PACKAGE FOLDER
// Answers each line, the texts and `alone`, by the seconds that they take. Settings are those of
// the folder's config.intgemm8bitalpha.yml, over which the package puts its own.
import {readFileSync, readdirSync} from 'fs';
import {createInterface} from 'readline';
import {join} from 'path';

const [, , place, folder] = process.argv;
const {TranslatorBacking} = await import(join(place, 'translator.js'));

class Local extends TranslatorBacking {
    async loadModelRegistery() { return []; }
}

const names = readdirSync(folder);
const read = pattern => {
    const data = readFileSync(join(folder, names.find(name => pattern.test(name))));
    return data.buffer.slice(data.byteOffset, data.byteOffset + data.byteLength);
};

// The lines `name: value` of the file; its lists only name the files.
const settings = Object.fromEntries(
    readFileSync(join(folder, 'config.intgemm8bitalpha.yml'), 'utf8').split('\n')
        .map(line => line.match(/^([a-z-]+): (.+)$/)).filter(found => found)
        .map(([, name, value]) => [name, isNaN(value) ? value : Number(value)]));
const {worker, exports: engine} = await new Local({}).loadWorker();
const model = {from: 'xx', to: 'yy'};
await engine.loadTranslationModel(model, {
    model: read(/^model.*bin$/),
    shortlist: read(/^lex.*bin$/),
    vocabs: names.some(name => name.startsWith('trg'))
        ? [read(/^src.*spm$/), read(/^trg.*spm$/)] : [read(/spm$/)],
    config: {...settings, 'ssplit-mode': 'sentence'},
});
const translate = texts =>
    engine.translate({models: [model], texts: texts.map(text => ({text, html: false}))});

for await (const line of createInterface({input: process.stdin})) {
    const [texts, alone] = JSON.parse(line);
    const begin = performance.now();
    if (alone)
        for (const text of texts) await translate([text]);
    else
        await translate(texts);
    console.log((performance.now() - begin) / 1000);
}
process.exit(0);
