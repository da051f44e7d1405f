// A server of fastify or express that ends after so many requests: `node server.cjs NAME REQUESTS PORT-FILE`.
const { createRequire } = require('node:module');
const { join } = require('node:path');
const { renameSync, writeFileSync } = require('node:fs');

const load = createRequire(join(__dirname, '../../.programs/package.json'));
const [name, requests, portFile] = process.argv.slice(2);

const items = Array.from({ length: 40 }, (_, id) => ({
  id,
  title: `item ${id}`,
  tags: ['a', 'b'],
  price: id * 1.5,
}));

function search(query) {
  return items
    .filter(({ title }) => title.includes(query))
    .map((item) => ({ ...item, price: item.price.toFixed(2) }));
}

function total(body) {
  let sum = 0;
  for (const { id, count } of body.lines) sum += (items[id]?.price ?? 0) * count;
  return { sum, lines: body.lines.length };
}

function serveExpress() {
  const express = load('express');
  const app = express();
  app.use(express.json());
  app.get('/items/:query', (request, response) => response.json(search(request.params.query)));
  app.post('/orders', (request, response) => response.json(total(request.body)));
  return require('node:http').createServer(app);
}

async function serveFastify() {
  const app = load('fastify')();
  const text = { type: 'string' };
  const item = { type: 'object', properties: { id: { type: 'number' }, title: text, price: text } };
  const reply = { response: { 200: { type: 'array', items: item } } };
  app.get('/items/:query', { schema: reply }, async (request) => search(request.params.query));
  app.post('/orders', async (request) => total(request.body));
  await app.ready();
  return app.server;
}

async function serve() {
  const server = name === 'express' ? serveExpress() : await serveFastify();
  let answered = 0;
  server.on('request', (_, response) =>
    response.on('finish', () => {
      if (++answered < Number(requests)) return;
      server.close();
      server.closeIdleConnections();
    }),
  );
  server.listen(0, '127.0.0.1', () => {
    writeFileSync(`${portFile}.part`, String(server.address().port));
    renameSync(`${portFile}.part`, portFile);
  });
}
serve();
