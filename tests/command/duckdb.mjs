// Queries in DuckDB, as lines with tabs: node tests/command/duckdb.mjs PACKAGES SQL...
// SQL "hyparquet:FILE": of a Parquet file read by hyparquet the number of rows, and of each column the sum, or of texts
// the number of letters.
import {createRequire} from 'node:module';
import {pathToFileURL} from 'node:url';
import {gunzipSync} from 'node:zlib';

const [packages, ...queries] = process.argv.slice(2);
const require = createRequire(packages + '/');

async function sums(file) {
  const {parquetReadObjects, asyncBufferFromFile} =
      await import(pathToFileURL(`${packages}/node_modules/hyparquet/src/node.js`).href);
  const compressors = {GZIP: (bytes) => gunzipSync(bytes)};
  const rows = await parquetReadObjects({file: await asyncBufferFromFile(file), compressors});
  const names = Object.keys(rows[0] ?? {});
  return [[rows.length, ...names.map((name) => {
    const values = rows.map((row) => row[name]).filter((value) => value !== null && value !== undefined);
    return typeof values[0] === 'string' ? values.reduce((n, text) => n + text.length, 0)
        : values.reduce((n, value) => n + BigInt(value), 0n);
  })]];
}

const {DuckDBInstance} = require('@duckdb/node-api');
const connection = await (await DuckDBInstance.create(':memory:')).connect();
for (const sql of queries) {
  const rows = sql.startsWith('hyparquet:') ? await sums(sql.slice(10))
      : (await connection.runAndReadAll(sql)).getRows();
  for (const row of rows) console.log(row.map(String).join('\t'));
}
