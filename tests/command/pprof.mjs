// A profile of pprof, read by npm's pprof-format: node tests/command/pprof.mjs PACKAGES FILE.pb.gz
// Prints the types of samples and the sums of their values.
import {createRequire} from 'node:module';
import {readFileSync} from 'node:fs';
import {gunzipSync} from 'node:zlib';

const [packages, file] = process.argv.slice(2);
const {Profile} = createRequire(packages + '/')('pprof-format');
const profile = Profile.decode(gunzipSync(readFileSync(file)));
const text = (number) => profile.stringTable.strings[Number(number)];
const sums = profile.sampleType.map(() => 0n);
for (const sample of profile.sample) sample.value.forEach((value, i) => { sums[i] += BigInt(value); });
console.log(profile.sampleType.map((type, i) => `${text(type.type)}=${sums[i]}`).join(' '));
